"""Multi-objective anonymization: the whole trade-off between privacy and loss.

The stations of the data, and where each of them is::

    rows → Table → Cells → recoding → Grouping → measures → Front → Release → rows

- ``moanon.data``: reads a file into a `Table` with roles (`read_table`, `Role`), declares what the
  values of its quasi-identifiers are (`IntervalSpec`, `OrderedSpec`, `TreeSpec`, `Hierarchy`) and
  how blocks of them are labelled (``[20-29]``: ``domain``, ``steps``), and counts the distinct
  cells. ``moanon.datasets``: two public tables with their hierarchies.
- ``moanon.engines``: where rows are kept, read and written: DuckDB for files and frames, ibis for
  databases and clusters.
- ``moanon.genome``: a `Layout` of bits generalizes the whole table; an `Instance` is a table with
  its layout and cells, ready for everything that follows.
- ``moanon.grouping``: a `Grouping` says which rows share a released tuple, what that shows, and
  which rows are suppressed; from a genome, from boxes, or from a released file. Everything after it
  takes one.
- ``moanon.kernels``: compiled loops that group cells, measure groups and decide which are kept,
  many genomes at once; or split boxes and move cells between them.
- ``moanon.measures``: named numbers of a grouping, for privacy, risk and loss; what is true of each
  and when a bound on it is met (``measure``); which groups are suppressed (``suppression``:
  presets, ``suppress_by``, η); what a grouping does to each column (``column_effects``).
- ``moanon.recoding``: how the solutions of a front become groupings: genomes, or boxes.
- ``moanon.proofs``: lower bounds, and branch and bound: how far a front is from the optimum.
- ``moanon.search``: the problem and operators of pymoo, the algorithms and their budget
  (``algorithms``), local recoding (``local``), checkpoints.
- ``moanon.front``: what a search finds, a `Front` to look at and to ask.
- ``moanon.baselines``: the classical algorithms (Mondrian, Datafly, Incognito, OLA, Flash, MinGen);
  ``find_baseline("mondrian").run(instance, 5)`` gives a release with its ``grouping``, and
  ``moanon.experiment.baseline`` puts one for each k on a `Front`.
- ``moanon.release``: applies a grouping to the rows and writes the file (`Release`); reads labels
  back, also from files of others (``labels``, ``matching``), and states what the written file was
  measured to be (`Certificate`).
- ``moanon.config``: a run described in YAML (`Config`); ``moanon.experiment``: from there to fronts
  and results folders, or to a front in one call (`optimize`), and back from folders and files.
- ``moanon.output``: figures, the page on which a front can be explored, and a sheet for whoever
  signs a release (``summary``).
- ``moanon.compare``: which of several anonymizations of a table is better, and for whom.
- ``moanon.frontier``: privacy loss of individuals against utility loss for large subpopulations
  (`place_releases`), and COUNT queries.
- ``moanon.diagnosis``: how exposed a table is, before anything is generalized (`Diagnosis`).
- ``moanon.learning``: what models still learn from a release, and which losses say so (`Study`).
- ``moanon.cli``: the command ``moanon``; ``guide/``: the manual in Markdown, which ``moanon guide``
  shows.
- ``moanon.arrays``, ``errors``, ``atomic``, ``sealing``, ``progress``: types of arrays; what can go
  wrong; files that appear whole or not at all, and temporary folders; texts that only whoever has
  the table can read; how far a run is, and a request to stop.

The words, each with one meaning:

=============== ====================================================================================
quasi           column that others may know (age, sex, …): generalized
sensitive       column that must not be learnt about a person: released as it is
base value      smallest unit of a quasi column: a step of numbers, a category, a leaf of a tree
domain          all base values of a column, in order
tree rule       what makes a hierarchy from the values of a column, such as ``{mask: right}``
block           neighbouring base values that are shown as one; in a tree, a node
cell            distinct tuple of base values, with its number of rows; also one field of a table
generalization  blocks of every column; *global* if the same for all rows, *local* if not
genome          a global generalization as bits: 1 keeps two neighbouring base values apart
population      the genomes of one generation of a search
box             the blocks of one group of a local generalization, the smallest around its rows
group           rows that show the same tuple of labels (the papers' equivalence class)
suppressed      left out of the release: row, or group with all its rows
η (eta)         largest share of rows that may be suppressed
rule            which groups are suppressed
threshold       size or diversity below which groups are suppressed
staircase       what one genome offers: a solution for every threshold within η (``selection``)
measure         named number of a grouping; can be an objective, a constraint, a column of a result
tally           sum over the rows of all groups, which kernels add up for measures to read
goodness        a privacy model as kernels see it: turned so that more is better
bound           what a constraint demands of a measure: its least, or its largest, allowed value
lower bound     loss that no generalization with a given k goes below, as proven
subpopulation   rows that meet a conjunction of nodes of some columns; *large* if they are enough
bucket          group whose rows show their own quasi values, and only together the sensitive ones
front           solutions that no other one beats in all objectives; a *solution* is one of them
release         a grouping applied to the rows; *certified* once its file was read back and measured
=============== ====================================================================================

Short names of sources: D, the multi-objective paper of Dewri et al.; C, their comparison of
anonymizations; L, Li and Li on privacy against utility; Z, the k-anonymity Diagnosis Centre; M,
Marchand on the limits of loss metrics. n is the number of rows, q that of quasi-identifiers.

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
    from moanon.data.table import Role, Table
    from moanon.diagnosis import Diagnosis
    from moanon.engines import read_table
    from moanon.errors import MoanonError
    from moanon.experiment.runner import optimize
    from moanon.front import Front
    from moanon.genome import Instance, Layout
    from moanon.grouping import Grouping
    from moanon.release import Certificate, Release

__all__ = [
    "Certificate",
    "Config",
    "Diagnosis",
    "Front",
    "Grouping",
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
    "Diagnosis": "moanon.diagnosis",
    "Front": "moanon.front",
    "Grouping": "moanon.grouping",
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
    "optimize": "moanon.experiment.runner",
    "read_table": "moanon.engines",
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
