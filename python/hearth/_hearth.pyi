import os
from pathlib import Path
from typing import Any, final

_StrPath = str | os.PathLike[str]

# The colours of all pages and plots, as JSON.
COLOURS: str

class Error(Exception):
    """What went wrong, where, and what to do."""

class Table:
    """Named columns.

    Whatever reads Arrow's PyCapsule interface takes it without a copy: polars, pandas, pyarrow, DuckDB.
    """

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
    def __len__(self) -> int: ...
    def __getitem__(self, name: str, /) -> list[Any]:
        """The values of a column.

        Raises:
            KeyError: there is no such column.
        """
    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class Policy:
    """A policy and values of its parameters.

    Args:
        source: the name of a built-in policy (`policies()`) or of a product of a feature model (`products()`), or the
            path of an .ipa file. May be followed by parameters: `nest:r_max=0`.
        params: values by name, with units as on the command line: `r_max=0`, `s_max="4ticks"`, `attachment=False`.

    Raises:
        Error: it cannot be loaded, or a parameter is not valid.
    """

    def __new__(cls, source: _StrPath, /, **params: str | int | bool) -> Policy: ...
    @property
    def name(self) -> str: ...
    @property
    def doc(self) -> str:
        """The comment at its declaration."""
    @property
    def base(self) -> str | None:
        """The policy that it extends."""
    @property
    def settings(self) -> dict[str, str]:
        """Parameters that differ from their defaults."""
    @property
    def reasons(self) -> list[str]:
        """Reasons for placements, by number."""
    @property
    def sets(self) -> list[str]:
        """Names of its core sets, by number."""
    def params(self) -> Table:
        """A row for each parameter: `name`, `value`, `default`, `min`, `max`, `doc`."""
    def c(self) -> str:
        """The C code that the simulator and the kernel run."""

@final
class Machine:
    """Topology, frequencies and power of a machine.

    Args:
        source: the name of a built-in machine (`machines()`), or the path of a TOML file. May be followed by other
            values: `xeon-5218:frequency.turbo.release_us=0`.

    Raises:
        Error: it cannot be loaded.
    """

    def __new__(cls, source: _StrPath) -> Machine: ...
    @property
    def name(self) -> str: ...
    @property
    def model(self) -> str:
        """Product name of the processor."""
    @property
    def sockets(self) -> int: ...
    @property
    def cores(self) -> int:
        """Number of hardware threads."""
    @property
    def min_ghz(self) -> float: ...
    @property
    def nominal_ghz(self) -> float: ...
    @property
    def turbo_ghz(self) -> float: ...
    def topology(self) -> Table:
        """A row for each core: `core`, `physical`, `llc`, `numa`, `socket`."""
    def to_toml(self) -> str:
        """The text of its machine file, without comments."""

@final
class Workload:
    """A graph of threads.

    Args:
        source: a generator or a recorded program (`workloads()`), with parameters as in `configure:tests=20`; the path
            of a workload file or of an rt-app document (an argument that ends in .json, or contains a `/`); or `A + B`.

    Raises:
        Error: it cannot be loaded.
    """

    def __new__(cls, source: _StrPath) -> Workload: ...
    @property
    def name(self) -> str: ...
    @property
    def origin(self) -> str:
        """The recorded command, or the generator with its parameters."""
    @property
    def threads(self) -> int: ...
    @property
    def steps(self) -> int:
        """Number of steps, with repeats expanded."""
    @property
    def cycles(self) -> int: ...
    @property
    def delay_s(self) -> float:
        """Sum of all delays, in seconds."""
    @property
    def notes(self) -> list[str]:
        """What extraction or an importer could not represent."""
    def save(self, path: _StrPath) -> None:
        """Writes a workload file; it is compressed if the name ends in .zst."""

@final
class Trace:
    """A recorded or simulated trace. Its events are read when they are needed.

    Args:
        path: the folder of the trace.

    Raises:
        Error: it is no trace, or damaged. Methods that read events raise it too.
    """

    def __new__(cls, path: _StrPath) -> Trace: ...
    def __len__(self) -> int:
        """Number of events."""
    @property
    def path(self) -> Path | None:
        """`None` if the trace is in memory only."""
    @property
    def machine(self) -> str: ...
    @property
    def source(self) -> dict[str, Any]:
        """Where the trace comes from, as in its trace.json."""
    @property
    def duration_s(self) -> float: ...
    @property
    def ghz_range(self) -> tuple[float, float] | None:
        """Lowest and highest frequency of the machine; `None` if they are unknown."""
    @property
    def complete(self) -> bool:
        """False if its writer was interrupted."""
    @property
    def reasons(self) -> list[str]:
        """Reasons for placements, by number."""
    def events(self) -> Table:
        """All events, with the columns of the trace's files. `kind` is a name. Times are nanoseconds."""
    def slices(self) -> Table:
        """Intervals in which a core ran one thread at one frequency.

        The columns are `core`, `thread`, `name`, `start`, `stop` and `ghz`. Times are nanoseconds.
        """
    def threads(self) -> Table:
        """A row for each thread: `thread`, `name`, `parent`, `traced`, `tid`, `pid`, `process`.

        Unknown numbers are null.
        """
    def cores(self) -> Table:
        """A row for each core: `core`, `physical`, `llc`, `numa`, `socket`."""
    def metrics(self) -> dict[str, Any]:
        """The metrics of `hearth report`. What the trace cannot tell is None."""
    def workload(self) -> Workload:
        """The workload that the trace shows."""
    def save(self, path: _StrPath) -> None:
        """Writes the trace to a new folder."""

@final
class Simulation:
    """The result of `simulate`."""

    @property
    def time_s(self) -> float:
        """From the start of the workload to its last exit, in seconds."""
    @property
    def energy_j(self) -> float:
        """Energy of the whole machine, in joules."""
    @property
    def events(self) -> int:
        """Number of events of the trace."""
    @property
    def trace_hash(self) -> str: ...
    @property
    def metrics(self) -> dict[str, Any]:
        """The metrics of `hearth report`. Latencies have a mean and no percentiles, which are None."""
    @property
    def trace(self) -> Trace | None:
        """The trace, if it was requested."""

@final
class Prediction(Table):
    """The result of `predict`: a row for each setting, with means over its runs.

    `speedup` and `energy_saving` compare with the baseline of the machine: 0.1 is 10% better. `_low` and `_high` are
    the ends of the 95% confidence interval. All are null for the baseline.
    """

    @property
    def workload(self) -> str: ...
    @property
    def notes(self) -> list[str]:
        """What extraction or an importer could not represent."""
    def runs(self) -> Table:
        """A row for each run."""

@final
class Study(Table):
    """The result of `study`: a row for each run, with the columns of `hearth study run`."""

    def features(self, model: str = "family") -> Table:
        """Which features of a feature model are good or bad for each application, as `hearth study report`.

        `best` is the number of schedulers with the feature among those at most 10% slower than the best one.
        """
    def effects(self, model: str = "family") -> Table:
        """The share of the variance of log(time) that each slot of a feature model explains, or two together."""

def policies() -> Table:
    """The built-in policies: `name`, `summary`, `base`."""

def products(model: str = "family") -> Table:
    """A row for each product of a feature model: its `name`, and its feature in each slot."""

def machines() -> Table:
    """The built-in machines: `name`, `model`, `sockets`, `cores`, and frequencies."""

def workloads() -> Table:
    """The generators of workloads and the recorded programs: `name`, `summary`, `params`."""

def read_study(path: _StrPath) -> Study:
    """Reads a table that `hearth study run` wrote.

    Raises:
        Error: it is no such table.
    """

def simulate(
    workload: Workload,
    machine: Machine,
    policy: Policy,
    governor: str,
    seed: int,
    noise: float,
    world: str | None,
    trace: bool,
) -> Simulation: ...
def predict(workload: Workload, settings: dict[str, Any]) -> Prediction: ...
def study(workloads: list[Workload], settings: dict[str, Any], slower: float | None) -> Study: ...
