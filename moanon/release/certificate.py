"""Certificates: what a released file was measured to be.

`certify_file` measures a file with the independent reader (``readback``), compares the result with
what was promised, and states it together with where the file comes from. The certificate is
published with the release, so it holds no value of the table: only counts, fractions, the names of
released columns, digests and the genome.

The keys of ``FILE.certificate.json``:

- ``moanon``: version that wrote it. ``file``: name of the release.
- ``rows_in``, ``rows_dropped_missing``: rows of the source, and those dropped for missing values.
- ``rows``, ``suppressed``: rows released, and rows of the table that are not.
- ``suppressed_rows``: how those are shown, ``absent`` or ``star``.
- ``row_order``: rows as in the ``source``, ``shuffled`` or, where the source has no order,
  ``sorted`` by what they show.
- ``formula_cells``: cells that a spreadsheet would run, because they begin with ``= + - @`` and the
  like and are no plain numbers; in a table of a database none is counted. ``spreadsheet_safe``:
  whether these carry an apostrophe; otherwise they are as they were.
- ``k``, ``groups``: rows in the smallest group, and the number of groups.
- ``weighted_k_released``: of the released rows. ``weighted_k``: of all rows, before suppression;
  the only measure that the file cannot show. Both also exactly, as ``…_exact: "29/7"``.
- ``privacy``: every privacy model by its name in a front, of the worst group and the worst of the
  sensitive columns; what follows says it for each column.
- ``l``: the diversity by the rules ``distinct`` (also the p of p-sensitive k-anonymity),
  ``frequency``, ``entropy`` and ``recursive`` (largest ℓ for the constant ``recursive_c``).
- ``alpha``: the largest share of one value in a group.
- ``closeness``: how far a group is from the whole table: ``t_closeness`` by the ground ``distance``
  (``equal``, ``ordered`` or ``tree``), ``t_equal``, ``t_js``, ``delta``, which is ``"inf"`` where a
  group lacks a value, and ``delta_present``, which passes over such values. ``compared_with``: what
  the whole table is, in words. The file alone does not show what was suppressed, so only who has
  the original can check these.
- ``gl``, ``sl``, ``loss``: fractions of all cells of the quasi-identifiers.
- ``least_loss``: a loss that no generalization of the table with as large a k goes below, within
  the same limit of suppression, and ``optimality``: how far this one can be above the optimum.
  Only where it was proven (``moanon prove``); the file does not show it.
- ``quasi``, ``sensitive``: columns. ``genome``: the generalization, as 0 and 1.
- ``digests``: SHA-256 of ``input``, ``config`` (null where there was none) and ``output``; of
  several files that of the lines ``digest  name``, in the order of their names.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from moanon import __version__
from moanon.data.rows import RowOrder
from moanon.data.source import digest_files
from moanon.errors import CertificateError, DataError
from moanon.measures import MEASURES
from moanon.measures.measure import LEAST_TOLERANCE, TOLERANCE
from moanon.release.readback import NamedValues, measure_file
from moanon.release.reading import Reading, parts_of

#: How the entries ``l`` and ``closeness`` of a certificate file call the models of a column.
_DIVERSITY = {
    "distinct": "l_distinct",
    "frequency": "l_frequency",
    "entropy": "l_entropy",
    "recursive": "l_recursive",
}
_CLOSENESS = ("t_closeness", "t_equal", "t_js", "delta", "delta_present")


@dataclass(frozen=True)
class Origin:
    """Where a release comes from: what its file cannot show.

    The entries of a certificate say what each is. `weighted_k` is known where suppressed groups
    are, a genome is there if the generalization is one of the whole table, and the digest of a
    configuration if there was one.
    """

    rows_in: int
    rows_dropped: int
    weighted_k: Fraction | None
    genome: str | None
    input_digest: str
    config_digest: str | None = None
    row_order: RowOrder = "source"
    formula_cells: int = 0
    least_loss: float | None = None
    optimality: str | None = None


@dataclass(frozen=True)
class Certificate:
    """What a released file was measured to be; see the module for what is written to its file.

    Attributes
    ----------
    values : mapping of (str, str) to number
        Everything that was found in the file: by the names of measures, each with the sensitive
        column that it is of, or an empty name.
    origin : Origin
        What the file cannot show.
    distances : mapping of str to str
        The ground distance of each sensitive column.
    file, quasi, sensitive, recursive_c, compared_with, suppressed_rows, spreadsheet_safe
        As in the file.
    output_digest, moanon
        Likewise.
    """

    file: str
    values: Mapping[tuple[str, str], int | float | Fraction]
    origin: Origin
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    distances: Mapping[str, str]
    recursive_c: float
    compared_with: str | None
    suppressed_rows: Literal["absent", "star"]
    spreadsheet_safe: bool
    output_digest: str
    moanon: str = __version__

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
    def gl(self) -> float:
        """Generalization loss of the released rows, as a fraction of all cells."""
        return float(self.values["gl", ""])

    @property
    def sl(self) -> float:
        """Suppression loss, likewise."""
        return float(self.values["sl", ""])

    @property
    def loss(self) -> float:
        """Both together."""
        return float(self.values["loss", ""])

    @property
    def digests(self) -> dict[str, str | None]:
        """SHA-256 of the source, of the configuration where there was one, and of the file."""
        source, config = self.origin.input_digest, self.origin.config_digest
        return {"input": source, "config": config, "output": self.output_digest}

    def privacy_of(self, column: str) -> dict[str, float]:
        """Privacy models of a sensitive column, by the names they have in a front."""
        return {name: float(v) if isinstance(v, Fraction) else v for name, v in self._of(column)}

    def _of(self, column: str) -> list[tuple[str, Any]]:
        return [(name, value) for (name, of), value in self.values.items() if of == column]

    @property
    def privacy(self) -> dict[str, float]:
        """Every privacy model by the name it has in a front; with several columns, of the worst."""
        shown: dict[str, float] = {"k": self.k}
        for column in self.sensitive:
            for name, value in self.privacy_of(column).items():
                worse = min if MEASURES[name].higher_is_better else max
                shown[name] = worse(shown.get(name, value), value)
        return shown

    @property
    def measures(self) -> dict[str, float]:
        """What the file shows, by the names that measures have in a front."""
        squares = self.values["weighted_k_kept", ""] * self.rows
        whole = {
            name: float(value) if isinstance(value, Fraction) else value
            for name, value in self._of("")
            if name != "rows"
        }
        known = {} if self.origin.weighted_k is None else {"weighted_k": self.origin.weighted_k}
        return {
            **self.privacy,
            **{name: float(value) for name, value in known.items()},
            **whole,
            "average_class_size": self.rows / self.groups,
            "c_avg": self.rows / self.groups / self.k,
            "dm": int(squares) + (self.rows + self.suppressed) * self.suppressed,
        }

    # -- files -------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the entries as numbers, texts, lists and dicts only."""
        origin, models = self.origin, {name: self.privacy_of(name) for name in self.sensitive}
        entries = {
            "moanon": self.moanon,
            "file": self.file,
            "rows_in": origin.rows_in,
            "rows_dropped_missing": origin.rows_dropped,
            "rows": self.rows,
            "suppressed": self.suppressed,
            "suppressed_rows": self.suppressed_rows,
            "row_order": origin.row_order,
            "formula_cells": origin.formula_cells,
            "spreadsheet_safe": self.spreadsheet_safe,
            "k": self.k,
            "groups": self.groups,
            **_exactly("weighted_k", origin.weighted_k),
            **_exactly("weighted_k_released", Fraction(self.values["weighted_k_kept", ""])),
            "privacy": self.privacy,
            "l": {
                column: {rule: found[name] for rule, name in _DIVERSITY.items()}
                for column, found in models.items()
            },
            "recursive_c": self.recursive_c,
            "alpha": {column: found["alpha"] for column, found in models.items()},
            "closeness": {
                column: {
                    "distance": self.distances[column],
                    **{name: found[name] for name in _CLOSENESS},
                }
                for column, found in models.items()
            },
            "compared_with": self.compared_with,
            "gl": self.gl,
            "sl": self.sl,
            "loss": self.loss,
            "quasi": list(self.quasi),
            "sensitive": list(self.sensitive),
            "genome": origin.genome,
            "digests": self.digests,
        }
        if origin.least_loss is not None:
            entries["least_loss"] = origin.least_loss
            entries["optimality"] = origin.optimality
        written: dict[str, Any] = _written(entries)
        return written

    def to_json(self) -> str:
        """Return the text of a certificate file."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a certificate file.

        Raises
        ------
        DataError
            If it cannot be read, or an entry is absent or of the wrong form.
        """
        try:
            entries = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise DataError(f"certificate {path} cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise DataError(f"certificate {path} is not valid JSON: {error}") from None
        try:
            return cls._of_entries(entries)
        except KeyError as error:
            raise DataError(f"certificate {path} has no entry {error}") from None
        except (AttributeError, TypeError, ValueError) as error:
            raise DataError(f"certificate {path} is not one of moanon: {error}") from None

    @classmethod
    def _of_entries(cls, entries: Mapping[str, Any]) -> Certificate:
        """Undo `to_dict`."""
        released = Fraction(entries["weighted_k_released_exact"])
        values: NamedValues = {(name, ""): entries[name] for name in ("rows", "suppressed")}
        values |= {("groups", ""): entries["groups"], ("k", ""): entries["k"]}
        values["weighted_k_kept", ""] = released
        values |= {(name, ""): entries[name] for name in ("gl", "sl", "loss")}
        for column in entries["sensitive"]:
            diversity, closeness = entries["l"][column], entries["closeness"][column]
            found = {name: diversity[rule] for rule, name in _DIVERSITY.items()}
            found |= {"p_sensitive": found["l_distinct"], "alpha": entries["alpha"][column]}
            found |= {name: closeness[name] for name in _CLOSENESS}
            found["delta"] = float(found["delta"])
            values |= {(name, column): value for name, value in found.items()}
        before, digests = entries["weighted_k_exact"], entries["digests"]
        return cls(
            file=entries["file"],
            values=values,
            origin=Origin(
                entries["rows_in"],
                entries["rows_dropped_missing"],
                None if before is None else Fraction(before),
                entries["genome"],
                digests["input"],
                digests["config"],
                entries["row_order"],
                entries["formula_cells"],
                entries.get("least_loss"),
                entries.get("optimality"),
            ),
            quasi=tuple(entries["quasi"]),
            sensitive=tuple(entries["sensitive"]),
            distances={name: each["distance"] for name, each in entries["closeness"].items()},
            recursive_c=entries["recursive_c"],
            compared_with=entries["compared_with"],
            suppressed_rows=entries["suppressed_rows"],
            spreadsheet_safe=entries["spreadsheet_safe"],
            output_digest=digests["output"],
            moanon=entries["moanon"],
        )


def _exactly(name: str, value: Fraction | None) -> dict[str, Any]:
    """A quotient as a number, and in all its digits."""
    if value is None:
        return {name: None, f"{name}_exact": None}
    return {name: float(value), f"{name}_exact": f"{value.numerator}/{value.denominator}"}


def _written(value: Any) -> Any:
    """Turn an entry into what JSON has, which knows no infinity."""
    if isinstance(value, dict):
        return {name: _written(part) for name, part in value.items()}
    return str(value) if value == math.inf else value


# -- measuring -------------------------------------------------------------------------------------


def certify_file(
    path: Path,
    reading: Reading,
    promised: NamedValues,
    origin: Origin,
    *,
    stated: Iterable[tuple[str, float]],
    name: str,
) -> Certificate:
    """Measure a released file and certify it, if it is what was promised.

    What a front says about the release (`stated`, by names of measures) is compared with it, as far
    as a file shows it. The certificate calls it `name`, wherever it lies for now.

    Raises
    ------
    CertificateError
        If the file cannot be read as a release, or measures otherwise than was promised or than a
        front says: names the first quantity that differs, with both numbers.
    """
    return certify(
        lambda: measure_file(path, reading),
        reading,
        promised,
        origin,
        stated=stated,
        name=name,
        digest=digest_files(parts_of(path)),
    )


def certify(
    measure_it: Callable[[], NamedValues],
    reading: Reading,
    promised: NamedValues,
    origin: Origin,
    *,
    stated: Iterable[tuple[str, float]],
    name: str,
    digest: str,
) -> Certificate:
    """Measure a release by whatever reads it, and certify it; see `certify_file`."""
    try:
        found = measure_it()
        for (measure, column), here in found.items():
            there = promised[measure, column]
            if not _agree(measure, here, there, reading):
                where = f" of column {column!r}" if column else ""
                raise CertificateError(
                    f"{measure}{where} is {here} in the file, {there} was promised"
                )
    except CertificateError as error:
        raise CertificateError(f"{name} does not measure as promised: {error}") from None
    certificate = Certificate(
        file=name,
        values=found,
        origin=origin,
        quasi=tuple(reading.quasi),
        sensitive=tuple(reading.sensitive),
        distances={column: facts.distance for column, facts in reading.sensitive.items()},
        recursive_c=reading.c,
        compared_with=_whole_table(reading),
        suppressed_rows="star" if reading.stars else "absent",
        spreadsheet_safe=reading.defused,
        output_digest=digest,
    )
    shown = certificate.measures
    for measure, said in stated:
        if measure in shown and not _agree(measure, shown[measure], said, reading):
            raise CertificateError(
                f"{name} does not measure as the front says: {measure} is {shown[measure]} in the "
                f"file and {said} in the front"
            )
    return certificate


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


def _whole_table(reading: Reading) -> str | None:
    """Say what groups are compared with; nothing where no column is sensitive."""
    facts = next(iter(reading.sensitive.values()), None)
    if facts is None:
        return None
    outside = reading.table_rows - facts.table_rows
    what = f"all {facts.table_rows} rows of the table, suppressed ones included"
    return f"{what}, without {outside} outside its domains" if outside else what
