"""Measures: named numbers of a grouping, for privacy, risk and loss.

``measure`` says what a `Measure` is and keeps the register; ``privacy``, ``risk``, ``loss``,
``utility`` and ``people`` define them, each with everything that is true of it. ``suppression``
says which groups are given up (the four problems of D §5, and constraints). ``evaluate`` scores
populations of genomes under such a rule, ``measuring`` one grouping of any origin; both give
`Scores` (``scores``), which measures are read off, and ask the kernels for no more than is needed
(``demand``).

``column_effects`` tells of each column what a grouping does to it, and ``solutions`` takes all
measures of many solutions.

What is true of a measure is known without the compiler: only what evaluates needs it.
"""

from __future__ import annotations

# In this order measures stand in every table: they register themselves.
from moanon.measures import privacy  # noqa: F401

# isort: split
from moanon.measures import risk  # noqa: F401

# isort: split
from moanon.measures import loss  # noqa: F401

# isort: split
from moanon.measures import utility  # noqa: F401

# isort: split
from moanon.measures import people  # noqa: F401

# isort: split
from moanon.measures.measure import MEASURES, Measure, applicable, find_measure

__all__ = ["MEASURES", "Measure", "applicable", "find_measure"]
