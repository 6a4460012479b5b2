"""Measures: named numbers of a grouping, for privacy, risk and loss.

``measure`` says what a `Measure` is and keeps the register; ``privacy``, ``loss`` and ``people``
define them, each with everything that is true of it. ``suppression`` says which groups are
suppressed (the four problems of D §5, and constraints). ``evaluate`` scores genomes
under a suppression rule, and groupings of any origin; it asks the kernels for no more than measures
need. ``column_effects`` says for each column what a grouping does to it.

What is true of a measure is known without the compiler: only what evaluates needs it.
"""

from __future__ import annotations

# In this order measures stand in every table: they register themselves.
from moanon.measures import privacy  # noqa: F401

# isort: split
from moanon.measures import loss  # noqa: F401

# isort: split
from moanon.measures import people  # noqa: F401

# isort: split
from moanon.measures.measure import MEASURES, Measure, applicable, find_measure

__all__ = ["MEASURES", "Measure", "applicable", "find_measure"]
