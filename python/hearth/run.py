"""Entry point of `hearth query` and of the viewer: reads {"views", "query", "format"} as JSON from standard input.

With "folder", the query is a single SELECT that reads only below this folder, and "limit" bounds its rows.

DuckDB is a module of this Python, or is in "packages": {"folder", "requirement"}, where {"install": true} puts it.
Exit status: 3 if DuckDB is in neither.
"""

import sys

# With `-c`, Python looks for modules in the current folder first, where others may have put theirs.
sys.path = [entry for entry in sys.path if entry.startswith("/")]

import csv  # noqa: E402
import importlib.util  # noqa: E402
import itertools  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import platform  # noqa: E402
import re  # noqa: E402
import subprocess  # noqa: E402
import tempfile  # noqa: E402

NO_DATABASE = 3


def place(packages):
    """The folder of DuckDB's modules for this Python and processor."""
    name = packages["requirement"].split()[0].replace("==", "-")
    return os.path.join(packages["folder"], f"{name}-{sys.implementation.cache_tag}-{platform.machine()}")


def database(packages):
    """The module duckdb: the one of this Python if it has one."""
    if packages:
        sys.path.append(place(packages))
    try:
        return importlib.import_module("duckdb")
    except ImportError:
        sys.exit(NO_DATABASE)


def pip(work):
    """The command that runs pip: of this Python, or of an environment in the folder `work`."""
    # Isolated (-I), Python finds no modules in folders of the environment or of the user.
    isolated = [sys.executable, "-I", "-m"]
    if importlib.util.find_spec("pip"):
        return [*isolated, "pip"]
    if not importlib.util.find_spec("ensurepip"):
        sys.exit(f"{sys.executable} has neither pip nor ensurepip")
    environment = os.path.join(work, "pip")
    made = subprocess.run([*isolated, "venv", environment], check=False, capture_output=True, text=True, cwd=work)
    if made.returncode:
        sys.exit(f"{sys.executable} cannot make an environment for pip: {last_line(made.stdout + made.stderr)}")
    return [os.path.join(environment, "bin/python"), "-I", "-m", "pip"]


def last_line(text):
    return (text.strip().splitlines() or ["no message"])[-1].removeprefix("ERROR: ")


def why(errors):
    """The reason in pip's messages. Without a connection, pip only says that it found nothing."""
    if "connection broken by" not in errors:
        return last_line(errors)
    system = re.search(r"\[Errno -?\d+\] ([^')]+)", errors)
    return "the package index cannot be reached" + (f" ({system[1]})" if system else "")


def install(packages):
    """Install DuckDB into its place, at once or not at all. If that fails, end the program with a message."""
    with tempfile.TemporaryDirectory(dir=packages["folder"], prefix=".new-") as work:
        new, requirements = os.path.join(work, "new"), os.path.join(work, "requirements.txt")
        with open(requirements, "w", encoding="utf-8") as file:
            file.write(packages["requirement"])
        flags = "--quiet --no-input --retries=1 --no-deps --require-hashes --only-binary=:all: --target"
        command = [*pip(work), "install", *flags.split(), new, "--requirement", requirements]
        # These settings contradict `--target`.
        environment = {**os.environ, "PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0"}
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=work, env=environment)
        if done.returncode:
            sys.exit(f"pip cannot install {packages['requirement'].split()[0]}: {why(done.stderr)}")
        try:
            os.rename(new, place(packages))
        except OSError:
            if not os.path.isdir(place(packages)):  # Another process may have been faster.
                raise


def plain(value):
    """Convert a value to one that JSON can represent."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if type(value).__name__ == "Decimal":
        return int(value) if value == value.to_integral_value() else float(value)
    return str(value)


def text(value):
    """A value as a cell of a table."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.0f}"
    return str(plain(value)).replace("\n", " ")


def rows(result):
    while chunk := result.fetchmany(10000):
        yield from chunk


def confine(con, folder):
    """Leave the connection no right but to read below `folder`."""
    # The views name the files with a pattern, in which these characters are escaped.
    pattern = re.sub(r"[*?\[]", lambda found: f"[{found[0]}]", folder)
    con.execute("SET temp_directory = ''")
    con.execute("SET allowed_directories = ?", [[folder, pattern]])
    con.execute("SET enable_external_access = false")
    con.execute("SET lock_configuration = true")


def only_select(duckdb, con, query):
    """End the program unless the query is one SELECT."""
    statements = con.extract_statements(query)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        sys.stderr.write("error: only a single SELECT is allowed here\n")
        sys.exit(1)


def table(columns, result):
    lines = list(rows(result))
    cells = [[text(value) for value in line] for line in lines]
    right = [
        any(isinstance(line[at], (int, float)) for line in lines)
        and not any(isinstance(line[at], (str, bool)) for line in lines)
        for at in range(len(columns))
    ]
    widths = [max(len(line[at]) for line in [columns, *cells]) for at in range(len(columns))]
    for line in [columns, ["-" * width for width in widths], *cells]:
        padded = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(line, widths, right)]
        print("  ".join(padded).rstrip())


def document(columns, result):
    print('{"schema": "hearth.query/1", "columns": ' + json.dumps(columns) + ', "rows": [', end="")
    separator = "\n"
    for row in rows(result):
        print(separator + json.dumps([plain(value) for value in row]), end="")
        separator = ",\n"
    print("\n]}")


def page(columns, result, limit):
    """The first rows, for the viewer."""
    first = list(itertools.islice(rows(result), limit + 1))
    lines = [[plain(value) for value in row] for row in first[:limit]]
    json.dump({"columns": columns, "rows": lines, "truncated": len(first) > limit}, sys.stdout)


def main():
    sys.stdin.reconfigure(encoding="utf-8")
    sys.stdout.reconfigure(encoding="utf-8")
    request = json.load(sys.stdin)
    if request.get("install"):
        install(request["packages"])
        return
    duckdb = database(request.get("packages"))
    con = duckdb.connect()
    # It would be drawn on standard output, in the middle of the answer.
    con.execute("SET enable_progress_bar = false")
    try:
        con.execute(request["views"])
        if folder := request.get("folder"):
            confine(con, folder)
            only_select(duckdb, con, request["query"])
        result = con.execute(request["query"])
        columns = [column[0] for column in result.description or []]
        if request["format"] == "page":
            page(columns, result, request["limit"])
        elif request["format"] == "json":
            document(columns, result)
        elif request["format"] == "csv":
            out = csv.writer(sys.stdout, lineterminator="\n")
            out.writerow(columns)
            out.writerows([plain(value) for value in row] for row in rows(result))
        else:
            table(columns, result)
        sys.stdout.flush()
    except duckdb.Error as error:
        sys.stderr.write(f"error: {str(error).strip()}\n")
        sys.exit(1)
    except BrokenPipeError:
        sys.stdout = None  # The reader has closed the pipe (`| head`).
    except KeyboardInterrupt:
        sys.exit(130)


main()
