"""The functions and classes of `hearth`, over its compiled part."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

try:
    from . import _hearth
except ImportError as error:
    raise ImportError(
        f"the compiled part of hearth cannot be loaded ({error}); install the wheel, or build it: pip install ./python"
    ) from error

from ._hearth import (
    Error,
    Machine,
    Policy,
    Prediction,
    Simulation,
    Study,
    Table,
    Trace,
    Workload,
    machines,
    policies,
    products,
    read_study,
    workloads,
)

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

StrPath: TypeAlias = "str | os.PathLike[str]"
Noun = TypeVar("Noun", Policy, Machine, Workload)

__all__ = [  # noqa: RUF022, nouns, then verbs
    "Policy",
    "Machine",
    "Workload",
    "Trace",
    "policies",
    "products",
    "machines",
    "workloads",
    "simulate",
    "Simulation",
    "predict",
    "Prediction",
    "study",
    "read_study",
    "Study",
    "Table",
    "Error",
]


def simulate(
    workload: StrPath | Workload | Trace,
    machine: StrPath | Machine,
    policy: StrPath | Policy,
    *,
    governor: str = "schedutil",
    seed: int = 1,
    noise: float = 0.02,
    world: str | None = None,
    trace: bool = False,
) -> Simulation:
    """Simulates a workload once. The same arguments give the same trace, to the byte.

    Args:
        workload: a workload, or the argument of `Workload`; or a trace, whose workload is extracted.
        machine: a machine, or the argument of `Machine`.
        policy: a policy, or the argument of `Policy`.
        governor: `schedutil`, `performance` or `powersave`.
        seed: seed of the random variation of work.
        noise: largest random variation of each piece of work, as a share of its cycles: 0 to 0.5.
        world: what surrounds the workload: `all`, `empty`, or parts separated by commas: `warm` (a run before it),
            `daemons`, `search` (placements take time), `races` (placements at the same time collide), `handovers` (a
            thread runs on after it has woken another). Default: `handovers`.
        trace: keep the trace in memory, as `Simulation.trace`.

    Raises:
        Error: an argument is not valid, or the run cannot complete.
    """
    return _hearth.simulate(
        _workload(workload), _one(Machine, machine), _one(Policy, policy), governor, seed, noise, world, trace
    )


def predict(
    workload: StrPath | Workload | Trace,
    machines: StrPath | Machine | Iterable[StrPath | Machine],
    policies: StrPath | Policy | Iterable[StrPath | Policy] | None = None,
    *,
    governors: str | Iterable[str] = "schedutil",
    runs: int = 5,
    seed: int = 1,
    noise: float = 0.02,
    world: str | None = None,
    jobs: int = 0,
) -> Prediction:
    """Predicts what each policy would do for a workload on each machine, as `hearth predict` and `hearth sim`.

    Args:
        workload: as for `simulate`.
        machines: one or several.
        policies: one or several; all built-in ones by default. The first, under the first governor, is the baseline.
        governors: one or several, each alone or after one of the machine's drivers: `amd-pstate/schedutil`.
        runs: number of runs of each setting, with successive seeds.
        seed: seed of the first run. All policies have the same random numbers.
        noise: as for `simulate`.
        world: as for `simulate`.
        jobs: number of simulations at the same time; 0 is one per core.

    Raises:
        Error: an argument is not valid, or a run cannot complete.
        KeyboardInterrupt: Ctrl-C stops it after the runs that have started.
    """
    settings = _settings(machines, policies, governors, runs, seed, noise, world, jobs)
    return _hearth.predict(_workload(workload), settings)


def study(
    workloads: StrPath | Workload | Trace | Iterable[StrPath | Workload | Trace],
    machines: StrPath | Machine | Iterable[StrPath | Machine],
    policies: StrPath | Policy | Iterable[StrPath | Policy] | None = None,
    *,
    governors: str | Iterable[str] = "schedutil",
    runs: int = 10,
    seed: int = 1,
    noise: float = 0.02,
    world: str | None = None,
    jobs: int = 0,
    give_up: float | None = None,
) -> Study:
    """Simulates many workloads under many policies: a row for each run, as `hearth study run`.

    A run that cannot complete is a row without metrics; its column `end` says why. A run ends when it takes 20 times
    as long as the longest run of the first policy.

    Args:
        workloads: one or several.
        machines: one or several.
        policies: one or several, for example `["cfs-5-4", *products()["name"]]`. The first is the baseline.
        give_up: run a policy with no more seeds if the first three show with 95% confidence that it is slower than the
            baseline by more than this share; 0.5 is half as long again.

    The other arguments and the exceptions are those of `predict`.
    """
    if isinstance(workloads, (str, os.PathLike, Workload, Trace)):
        workloads = [workloads]
    settings = _settings(machines, policies, governors, runs, seed, noise, world, jobs)
    return _hearth.study([_workload(one) for one in workloads], settings, give_up)


def _settings(
    machines: Any, policies: Any, governors: Any, runs: int, seed: int, noise: float, world: Any, jobs: int
) -> dict[str, Any]:
    if policies is None:
        policies = _hearth.policies()["name"]
    return {
        "machines": _several(Machine, machines),
        "governors": [governors] if isinstance(governors, str) else list(governors),
        "policies": _several(Policy, policies),
        "runs": runs,
        "seed": seed,
        "noise": noise,
        "world": world,
        "jobs": jobs,
    }


def _workload(given: StrPath | Workload | Trace) -> Workload:
    return given.workload() if isinstance(given, Trace) else _one(Workload, given)


def _one(kind: type[Noun], given: StrPath | Noun) -> Noun:
    return given if isinstance(given, kind) else kind(given)


def _several(kind: type[Noun], given: Any) -> list[Noun]:
    alone = isinstance(given, (str, os.PathLike, kind))
    return [_one(kind, one) for one in ([given] if alone else given)]
