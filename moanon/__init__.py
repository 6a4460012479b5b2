"""Multi-objective anonymization: the whole trade-off between privacy and loss.

A table goes this way, and each station has its module::

    file → Table → Cells → genome → groups → measures → Front → Release → file

- ``moanon.data``: reads a file into a `Table` with roles (`read_table`, `Role`), declares what the
  values of its quasi-identifiers are (`IntervalSpec`, `OrderedSpec`, `TreeSpec`, `Hierarchy`) and
  counts the distinct cells.
- ``moanon.genome``: a `Layout` of bits generalizes the whole table; an `Instance` is a table with
  its layout and cells, ready for a search.
- ``moanon.measures``: named numbers of the groups under a genome, for privacy and for loss.
- ``moanon.questions``: which solution of a front answers a publisher's question, and what is near;
  ``moanon.results``: whether a results folder can be used.
- ``moanon.search``: the algorithms; ``moanon.front``: what they find, a `Front` to look at and ask;
  ``moanon.landmarks``: its knees and flat stretches.
- ``moanon.release``: applies a genome to the rows and writes the file (`Release`), and states what
  the written file was measured to be (`Certificate`).
- ``moanon.config``: all of it said in a YAML file (`Config`); ``moanon.experiment``: from there to
  a results folder, or to a front in one call (`optimize`).
- ``moanon.output``: figures, and the page on which a front can be explored.
- ``moanon.compare``: which of several anonymizations of a table is better, and for whom.
- ``moanon.diagnosis``: how exposed a table is, before anything is generalized (`Diagnosis`).
- ``moanon.datasets``: two public tables with their hierarchies.
- ``moanon.starter``: a first configuration for a table.
- ``moanon.cli``: the command ``moanon``.

Whatever goes wrong on the way is a `MoanonError` with one sentence. The names above can be
imported from here; each is loaded when it is first used, so that ``import moanon`` is instant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moanon.config import Config
    from moanon.data.domain import IntervalSpec, OrderedSpec, TreeSpec
    from moanon.data.hierarchy import Hierarchy
    from moanon.data.table import Role, Table, read_table
    from moanon.diagnosis import Diagnosis
    from moanon.errors import MoanonError
    from moanon.experiment.optimization import optimize
    from moanon.front import Front
    from moanon.genome import Instance, Layout
    from moanon.release import Certificate, Release

__all__ = [
    "Certificate",
    "Config",
    "Diagnosis",
    "Front",
    "Hierarchy",
    "Instance",
    "IntervalSpec",
    "Layout",
    "MoanonError",
    "OrderedSpec",
    "Release",
    "Role",
    "Table",
    "TreeSpec",
    "__version__",
    "optimize",
    "read_table",
]

__version__ = "0.1.0"

#: Where each public name lives.
_HOMES = {
    "Certificate": "moanon.release",
    "Config": "moanon.config",
    "Front": "moanon.front",
    "Diagnosis": "moanon.diagnosis",
    "Hierarchy": "moanon.data.hierarchy",
    "Instance": "moanon.genome",
    "IntervalSpec": "moanon.data.domain",
    "Layout": "moanon.genome",
    "MoanonError": "moanon.errors",
    "OrderedSpec": "moanon.data.domain",
    "Release": "moanon.release",
    "Role": "moanon.data.table",
    "Table": "moanon.data.table",
    "TreeSpec": "moanon.data.domain",
    "optimize": "moanon.experiment.optimization",
    "read_table": "moanon.data.table",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
