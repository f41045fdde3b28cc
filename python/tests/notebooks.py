"""Executes the notebooks, and leaves the executed copies in the folder OUTPUT.

python3 python/tests/notebooks.py OUTPUT
"""

import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

# No warning for each kernel that it listens on a port of this host.
QUIET = ["--log-level=ERROR"]
FOLDER = Path(__file__).resolve().parents[1] / "notebooks"


def main(output):
    output.mkdir(parents=True, exist_ok=True)
    for path in sorted(FOLDER.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        assert not any(cell.get("outputs") for cell in notebook.cells), f"{path.name} has outputs: clear them"
        started = time.monotonic()
        # The folder of the output, because there is a folder `hearth` without a compiled part beside the notebooks'.
        resources = {"metadata": {"path": str(output)}}
        NotebookClient(notebook, timeout=300, resources=resources, extra_arguments=QUIET).execute()
        nbformat.write(notebook, output / path.name)
        print(f"{path.name}: {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
