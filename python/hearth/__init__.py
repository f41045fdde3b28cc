"""Hearth in Python: simulate Linux schedulers, predict them for your workload, and study them.

    import hearth

    prediction = hearth.predict("configure:tests=20", "xeon-5218", ["eevdf", "nest"])
    prediction["speedup"]                  # a column as a list
    polars.DataFrame(prediction)           # also pandas, DuckDB, and whatever else reads Arrow

The nouns are `Policy`, `Machine`, `Workload` and `Trace`; the verbs are `simulate`, `predict` and `study`. Results are
`Table`s. `connect` opens a trace in DuckDB. The module `hearth.plot` draws results. Errors are `hearth.Error`.
"""

from typing import TYPE_CHECKING, Any

from .explore import connect, views

if TYPE_CHECKING:
    from .api import (
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
        predict,
        products,
        read_study,
        simulate,
        study,
        workloads,
    )

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
    "connect",
    "views",
]


def __getattr__(name: str) -> Any:
    """Loads the compiled part when it is first used: the tables of `hearth query` do not need it."""
    if name not in __all__:
        raise AttributeError(f"module 'hearth' has no attribute '{name}'")
    from . import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted(__all__)
