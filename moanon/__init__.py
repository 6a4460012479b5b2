"""Multi-objective anonymization: the whole trade-off between privacy and loss.

A table goes this way, and each station has its module::

    file → Table → Cells → genome → groups → measures → Front → Release → file

- ``moanon.data``: reads a file into a `Table` with roles (`read_table`, `Role`), declares what the
  values of its quasi-identifiers are (`IntervalSpec`, `OrderedSpec`, `TreeSpec`, `Hierarchy`) and
  counts the distinct cells.
- ``moanon.genome``: a `Layout` of bits generalizes the whole table; an `Instance` is a table with
  its layout and cells, ready for a search.
- ``moanon.measures``: named numbers of the groups under a genome, for privacy and for loss.
- ``moanon.release``: applies a genome to the rows and writes the file (`Release`), and states what
  the written file was measured to be (`Certificate`).
- ``moanon.config``: the same from a YAML file (`Config`).
- ``moanon.diagnosis``: how exposed a table is, before anything is generalized (`Diagnosis`).
- ``moanon.datasets``: two public tables with their hierarchies.
- ``moanon.starter``: a first configuration for a table; ``moanon.bench``: what an evaluation costs.
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
    from moanon.genome import Instance, Layout
    from moanon.release import Certificate, Release

__all__ = [
    "Certificate",
    "Config",
    "Diagnosis",
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
    "read_table",
]

__version__ = "0.1.0"

#: Where each public name lives.
_HOMES = {
    "Certificate": "moanon.release",
    "Config": "moanon.config",
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
