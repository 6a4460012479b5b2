"""Certificates: what a released file was measured to be, for everybody to read.

`certify` measures a file with the independent reader (``readback``), compares the result with
what was promised, and states what may be published of it. A certificate goes with the release, so
it holds only what anybody can find in the released file, what was demanded of it and checked, and
how many rows were read and left out. No number depends on suppressed rows, on identifying columns
or on values that the file does not show: two tables that differ in nothing else have the same
certificate. What the publisher wants to know beyond that is `Release.record`.

The keys of ``FILE.certificate.json``:

- ``moanon``: version that wrote it. ``certificate``: version of this list. ``file``: name of the
  release.
- ``rows_in``, ``rows_dropped_missing``: rows of the source, and those dropped for missing values.
- ``rows``, ``suppressed``: rows released, and rows of the table that are not.
- ``suppressed_rows``: how those are shown, ``absent`` or ``star``.
- ``row_order``: rows are ``shuffled``, as in the ``source`` or, where the source has no order,
  ``sorted`` by what they show; in a table of a database they are ``unordered``.
- ``formula_cells``: cells that a spreadsheet would run, because they begin with ``= + - @`` and the
  like and are no plain numbers; in a table of a database none is counted. ``spreadsheet_safe``:
  whether these carry an apostrophe; otherwise they are as they were.
- ``k``, ``groups``: rows in the smallest group, and the number of groups.
- ``weighted_k_released``: mean size of the group that a released row sits in; also exactly, as
  ``weighted_k_released_exact: "29/7"``.
- ``privacy``: every privacy model by its name in a front, of the worst group and the worst of the
  sensitive columns; what follows says it for each column.
- ``l``: the diversity by the rules ``distinct``, ``frequency``, ``entropy`` and ``recursive``
  (largest ℓ for the constant ``recursive_c``). ``p_sensitive``: the p of p-sensitive k-anonymity.
- ``alpha``: the largest share of one value in a group.
- ``closeness``: how far a group is from all released rows (``compared_with``): ``t_closeness`` by
  the ground ``distance`` (``equal``, ``ordered`` or ``tree``), ``t_equal``, ``t_js``, ``delta``,
  which is ``"inf"`` where a group lacks a value, ``delta_present``, which passes over such values,
  ``beta``, and ``beta_enhanced``, which is ``"inf"`` where a value gains too much for any β.
  ``scale``: what the distance is measured along, ``declared`` or, where nobody declared the ends of
  an order, the values that are ``shown``; ``none`` where a rule made the tree from the table, and
  ``t_closeness`` is not stated.
- ``gl``, ``sl``, ``loss``: fractions of all cells of the quasi-identifiers. ``gl`` and ``loss``
  are null where the number of values of a column was taken from the table.
- ``promises``: bounds that were demanded, and that the release meets. Where ``compared_with`` is
  the whole table, suppressed rows count there; only whoever has the table can check those.
- ``checked``: measures of the front that the file was found to have.
- ``quasi``, ``sensitive``: columns. ``notes``: what a reader of the numbers should know.
- ``digests``: SHA-256 of the ``output``; of several files that of the lines ``digest  name``, in
  the order of their names.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from moanon import __version__
from moanon.data.rows import RowOrder
from moanon.data.table import digest_files
from moanon.errors import CertificateError, DataError
from moanon.measures import MEASURES
from moanon.measures.measure import LEAST_TOLERANCE, TOLERANCE
from moanon.release.readback import (
    Measured,
    NamedValues,
    Reading,
    measure_file,
    measure_tally,
    parts_of,
)

if TYPE_CHECKING:
    from moanon.engines.addresses import Address

#: Version of the entries; the first stated numbers that depend on suppressed rows.
VERSION = 2
_WHOLE_TABLE = "the whole table, suppressed rows included"
_RELEASED = "the released rows"
#: Measures of the whole file that stand in a certificate under their own names.
_WHOLE = ("rows", "suppressed", "groups", "k", "gl", "sl", "loss")


@dataclass(frozen=True)
class Certificate:
    """What a released file was measured to be; see the module for what is written to its file.

    `values` has what was found in the file, as far as it may be published: by the names of
    measures, each with the sensitive column that it is of, or an empty name. Closeness is that to
    the released rows.
    """

    file: str
    values: Mapping[tuple[str, str], int | float | Fraction]
    rows_in: int
    rows_dropped: int
    row_order: RowOrder
    formula_cells: int
    promises: tuple[tuple[str, float], ...]  # bounds that were demanded and checked
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    distances: Mapping[str, str]  # the ground distance of each sensitive column
    scales: Mapping[str, str]  # what it is measured along
    recursive_c: float
    suppressed_rows: Literal["absent", "star"]
    spreadsheet_safe: bool
    output_digest: str
    checked: tuple[str, ...] = ()  # measures of the front that the file was found to have
    # what a reader of the numbers should know, and what was not checked
    notes: tuple[str, ...] = ()
    moanon: str = field(default=__version__)

    @property
    def rows(self) -> int:
        """Rows released."""
        return int(self.values["rows", ""])

    @property
    def suppressed(self) -> int:
        """Rows of the table that are not."""
        return int(self.values["suppressed", ""])

    @property
    def groups(self) -> int:
        """Groups among the released rows."""
        return int(self.values["groups", ""])

    @property
    def k(self) -> int:
        """Rows in the smallest group."""
        return int(self.values["k", ""])

    @property
    def sl(self) -> float:
        """Suppression loss: the share of rows that are not released."""
        return float(self.values["sl", ""])

    @property
    def loss(self) -> float | None:
        """Share of cells that is lost; None where it would depend on rows that are not there."""
        return self.values.get(("loss", ""))  # type: ignore[return-value]

    def privacy_of(self, column: str) -> dict[str, float]:
        """Privacy models of a sensitive column, by the names they have in a front."""
        return {name: value for (name, of), value in self.values.items() if of == column}  # type: ignore[misc]

    @property
    def privacy(self) -> dict[str, float]:
        """Every privacy model by the name it has in a front; with several columns, of the worst.

        What is not stated of one column is not stated of all of them.
        """
        models = [self.privacy_of(column) for column in self.sensitive]
        shown: dict[str, float] = {"k": self.k}
        for name in models[0] if models else ():
            if all(name in found for found in models):
                worse = min if MEASURES[name].higher_is_better else max
                shown[name] = worse(found[name] for found in models)
        return shown

    # -- files -------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the entries as JSON has them."""
        whole = {name: self.values.get((name, "")) for name in _WHOLE}
        squares = Fraction(self.values["weighted_k_kept", ""])
        sections: dict[str, Any] = {
            "l": {},
            "p_sensitive": {},
            "alpha": {},
            "closeness": {
                column: {"distance": self.distances[column], "scale": self.scales[column]}
                for column in self.sensitive
            },
        }
        for section, key, name in _stated_models():
            for column in self.sensitive:
                value = self.privacy_of(column).get(name)
                if key:
                    sections.setdefault(section, {}).setdefault(column, {})[key] = value
                else:
                    sections.setdefault(section, {})[column] = value
        entries = {
            "moanon": self.moanon,
            "certificate": VERSION,
            "file": self.file,
            "rows_in": self.rows_in,
            "rows_dropped_missing": self.rows_dropped,
            "rows": whole["rows"],
            "suppressed": whole["suppressed"],
            "suppressed_rows": self.suppressed_rows,
            "row_order": self.row_order,
            "formula_cells": self.formula_cells,
            "spreadsheet_safe": self.spreadsheet_safe,
            "k": whole["k"],
            "groups": whole["groups"],
            "weighted_k_released": float(squares),
            "weighted_k_released_exact": f"{squares.numerator}/{squares.denominator}",
            "privacy": self.privacy,
            **sections,
            "recursive_c": self.recursive_c,
            "compared_with": _RELEASED if self.sensitive else None,
            "gl": whole["gl"],
            "sl": whole["sl"],
            "loss": whole["loss"],
            "promises": stated_promises(self.promises),
            "checked": list(self.checked),
            "quasi": list(self.quasi),
            "sensitive": list(self.sensitive),
            "notes": list(self.notes),
            "digests": {"output": self.output_digest},
        }
        written: dict[str, Any] = _written(entries)
        return written

    def to_json(self) -> str:
        """Return the text of a certificate file."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a certificate file; a DataError if an entry is absent or of the wrong form."""
        try:
            entries = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise DataError(f"certificate {path} cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise DataError(f"certificate {path} is not valid JSON: {error}") from None
        try:
            if "k" in entries and "certificate" not in entries:
                raise DataError(
                    f"certificate {path} was written by moanon {entries.get('moanon')}, whose "
                    "certificates state numbers that depend on suppressed rows; do not publish it, "
                    "and export the release again"
                )
            return cls._of_entries(entries)
        except KeyError as error:
            raise DataError(f"certificate {path} has no entry {error}") from None
        except (AttributeError, TypeError, ValueError) as error:
            raise DataError(f"certificate {path} is not one of moanon: {error}") from None

    @classmethod
    def _of_entries(cls, entries: Mapping[str, Any]) -> Certificate:
        """Undo `to_dict`."""
        values: NamedValues = {
            (name, ""): entries[name] for name in _WHOLE if entries[name] is not None
        }
        values["weighted_k_kept", ""] = Fraction(entries["weighted_k_released_exact"])
        for section, key, name in _stated_models():
            for column, stated in entries[section].items():
                value = stated[key] if key else stated
                if value is not None:
                    values[name, column] = math.inf if value == "inf" else value
        closeness = entries["closeness"]
        return cls(
            file=entries["file"],
            values=values,
            rows_in=entries["rows_in"],
            rows_dropped=entries["rows_dropped_missing"],
            row_order=entries["row_order"],
            formula_cells=entries["formula_cells"],
            promises=tuple(
                (each["measure"], each.get("at_least", each.get("at_most")))
                for each in entries["promises"]
            ),
            quasi=tuple(entries["quasi"]),
            sensitive=tuple(entries["sensitive"]),
            distances={name: each["distance"] for name, each in closeness.items()},
            scales={name: each["scale"] for name, each in closeness.items()},
            recursive_c=entries["recursive_c"],
            suppressed_rows=entries["suppressed_rows"],
            spreadsheet_safe=entries["spreadsheet_safe"],
            output_digest=entries["digests"]["output"],
            checked=tuple(entries["checked"]),
            notes=tuple(entries["notes"]),
            moanon=entries["moanon"],
        )


def _stated_models() -> list[tuple[str, str, str]]:
    """Where a certificate states each privacy model: the entry, the key in it, and its name."""
    found = []
    for measure in MEASURES.values():
        if measure.certified and measure.requires == "sensitive":
            section, name = measure.certified, measure.name
            key = "" if section == name else name.removeprefix(f"{section}_")
            found.append((section, key, name))
    return found


def stated_promises(promises: Iterable[tuple[str, float]]) -> list[dict[str, Any]]:
    """Bounds that were demanded and checked, as a certificate states them."""
    stated = []
    for measure, bound in ((MEASURES[name], bound) for name, bound in promises):
        side = "at_least" if measure.higher_is_better else "at_most"
        whole_table = {"compared_with": _WHOLE_TABLE} if measure.beside_table else {}
        stated.append({"measure": measure.name, side: bound, **whole_table})
    return stated


def _written(value: Any) -> Any:
    """Turn an entry into what JSON has, which knows no infinity."""
    if isinstance(value, dict):
        return {name: _written(part) for name, part in value.items()}
    return str(value) if value == math.inf else value


# -- measuring -------------------------------------------------------------------------------------


def certify(
    place: Path | Address,
    reading: Reading,
    promised: NamedValues,
    *,
    stated: Iterable[tuple[str, float]],
    known: Mapping[str, float],
    file: str,
    notes: Iterable[str],
    **entries: Any,
) -> Certificate:
    """Measure a released file, or a table in a database, and certify it if it is what was promised.

    What a front says about the release (`stated`, by names of measures) is compared with it, as far
    as a file shows it or the writer knows it (`known`). The certificate calls it `file`; `entries`
    are what else it states and nobody measures, such as how many rows were read.

    A CertificateError names the first quantity that differs, with both numbers.
    """
    measured, digest = _measured(place, reading)
    try:
        found, public, alike = measured()
        for (measure, column), here in found.items():
            there = promised[measure, column]
            if not _agree(measure, here, there, reading):
                where = f" of column {column!r}" if column else ""
                raise CertificateError(
                    f"{measure}{where} is {here} in the file, {there} was promised"
                )
    except CertificateError as error:
        raise CertificateError(f"{file} does not measure as promised: {error}") from None
    shown = front_measures(found)
    stated = dict.fromkeys(stated)
    for measure, said in stated:
        here = shown.get(measure, known.get(measure, said))
        if not _agree(measure, here, said, reading):
            raise CertificateError(
                f"{file} does not measure as the front says: {measure} is {here} in the "
                f"file and {said} in the front"
            )
    return Certificate(
        file=file,
        values=public,
        quasi=tuple(reading.quasi),
        sensitive=tuple(reading.sensitive),
        distances={column: facts.distance for column, facts in reading.sensitive.items()},
        scales={column: facts.scale for column, facts in reading.sensitive.items()},
        recursive_c=reading.c,
        suppressed_rows="star" if reading.stars else "absent",
        spreadsheet_safe=reading.defused,
        output_digest=digest,
        checked=tuple(dict.fromkeys(measure for measure, _ in stated if measure in shown)),
        notes=(*alike, *notes),
        **entries,
    )


def _measured(place: Path | Address, reading: Reading) -> tuple[Callable[[], Measured], str]:
    """What measures a release, and its digest."""
    if isinstance(place, Path):
        return partial(measure_file, place, reading), digest_files(parts_of(place))
    from moanon.engines.databases import count_cells  # here, because few releases are tables

    # The database counts the table as it stands, over a connection of its own.
    counted = count_cells(place, reading.header, reading.measured)
    listed = sorted((list(map(str, cells)), rows) for cells, rows in counted.items())
    digest = hashlib.sha256(json.dumps(listed).encode()).hexdigest()
    return partial(measure_tally, counted, reading), digest


def front_measures(values: NamedValues) -> dict[str, float]:
    """What a file was measured to be, by the names that measures have in a front."""
    found: dict[str, float] = {}
    for (name, column), value in values.items():
        number = float(value) if isinstance(value, Fraction) else value
        if column and name in found:
            worse = min if MEASURES[name].higher_is_better else max
            number = worse(found[name], number)
        found[name] = number
    rows, groups, suppressed = (int(found[name]) for name in ("rows", "groups", "suppressed"))
    squares = int(values["weighted_k_kept", ""] * rows)
    del found["rows"]
    return {
        **found,
        "average_class_size": rows / groups,
        "c_avg": rows / groups / found["k"],
        "dm": squares + (rows + suppressed) * suppressed,
    }


def _agree(name: str, here: float | Fraction, there: float | Fraction, reading: Reading) -> bool:
    """Whether two values of a measure are the same, as exactly as it can be known."""
    if here == there:
        return True
    precision = MEASURES[name].precision if name in MEASURES else "exact"
    if precision == "quotient" and not reading.has_exact_quotients:
        precision = "summed"
    if isinstance(here, int | Fraction) or precision in ("exact", "quotient"):
        return False
    return math.isclose(here, there, rel_tol=TOLERANCE, abs_tol=LEAST_TOLERANCE)
