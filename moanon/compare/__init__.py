"""Comparing anonymizations of one table: which is better, and for whom (C).

Two tables of the same k are not equally good for everyone in them. A *property vector* says for
each row of the original how well off it is; *comparators* say which of two vectors is better.

- ``moanon.measures.people``: `PROPERTIES`, such as the size of a row's group, and
  `property_vectors`.
- ``indices``: `INDICES`, from the mean of a vector to the product over all people.
- ``preferences``: several properties at once, by weights, by order or by goals.
- ``comparison``: `compare` does all of it for two or more anonymizations; ``verdicts``: what it
  finds (`Comparison`), what each of the `COMPARATORS` says about a pair, and who is better off.
"""

from __future__ import annotations

from moanon.compare.comparison import COMPARATORS, compare
from moanon.compare.indices import INDICES, LogVolume, find_index
from moanon.compare.preferences import Preferences, read_vectors
from moanon.compare.verdicts import Comparison, Headcount, Verdict
from moanon.measures.people import PROPERTIES, PropertyVector, property_vectors

__all__ = [
    "COMPARATORS",
    "INDICES",
    "PROPERTIES",
    "Comparison",
    "Headcount",
    "LogVolume",
    "Preferences",
    "PropertyVector",
    "Verdict",
    "compare",
    "find_index",
    "property_vectors",
    "read_vectors",
]
