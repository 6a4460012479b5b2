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
- ``row_order``: rows as in the ``source``, or ``shuffled``.
- ``k``, ``groups``: rows in the smallest group, and the number of groups.
- ``weighted_k_released``: of the released rows. ``weighted_k``: of all rows, before suppression;
  the only measure that the file cannot show. Both also exactly, as ``…_exact: "29/7"``.
- ``privacy``: every privacy model by its name in a front, of the worst group and the worst of the
  sensitive columns; what follows says it for each column.
- ``l``: the diversity by the rules ``distinct`` (also the p of p-sensitive k-anonymity),
  ``frequency``, ``entropy`` and ``recursive`` (largest ℓ for the constant ``recursive_c``).
- ``alpha``: the largest share of one value in a group.
- ``closeness``: how far a group is from the whole table: ``t_closeness`` by the ground ``distance``
  (``equal``, ``ordered`` or ``tree``), ``t_equal``, ``t_js`` and ``delta``, which is ``"inf"``
  where a group lacks a value. ``compared_with``: what the whole table is, in words. The file alone
  does not show what was suppressed, so only who has the original can check these.
- ``gl``, ``sl``, ``loss``: fractions of all cells of the quasi-identifiers.
- ``quasi``, ``sensitive``: columns. ``genome``: the generalization, as 0 and 1.
- ``digests``: SHA-256 of ``input``, ``config`` (null where there was none) and ``output``.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from moanon import __version__
from moanon.errors import CertificateError, DataError
from moanon.measures.groupwise import TOLERANCE
from moanon.release.models import Closeness, Diversity
from moanon.release.readback import Measurement, Reading, measure_file

__all__ = ["Certificate", "Promise", "certify_file"]

#: Whether rows stand as in the source.
RowOrder = Literal["source", "shuffled"]
#: Fractions of loss and logarithms are floats and may differ by `TOLERANCE` of themselves, or by so
#: little that it is below what integer losses resolve on a very large table.
_ABSOLUTE = 1e-10
#: Quotients of whole numbers, correctly rounded: compared exactly, as whole numbers are …
_SHARES = frozenset({"alpha", "average_class_size", "sl"})
#: … and so are these, unless the whole numbers of a very large table are too large for floats.
_QUOTIENTS = frozenset({"t_closeness", "t_equal", "weighted_k", "weighted_k_kept"})
#: Privacy models of which the worst is the least.
_MORE_IS_BETTER = ("l_distinct", "l_frequency", "l_entropy", "l_recursive", "p_sensitive")


@dataclass(frozen=True)
class Promise:
    """What a release should measure as, and where it comes from.

    Attributes
    ----------
    measurement : Measurement
        What the file must show.
    weighted_k : Fraction
        Weighted-k of all rows before suppression.
    rows_in, rows_dropped : int
        Rows of the source, and those dropped for missing values.
    genome : str
        The generalization.
    input_digest : str
        SHA-256 of the source.
    config_digest : str or None
        SHA-256 of the configuration, where there was one.
    row_order : {"source", "shuffled"}
        How the rows are ordered.
    stated : tuple of (str, number)
        What a front says about the release, by names of measures; those that a file shows are
        compared with it.
    """

    measurement: Measurement
    weighted_k: Fraction
    rows_in: int
    rows_dropped: int
    genome: str
    input_digest: str
    config_digest: str | None = None
    row_order: RowOrder = "source"
    stated: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Certificate:
    """What a released file was measured to be; see the module for what each entry means."""

    moanon: str
    file: str
    rows_in: int
    rows_dropped_missing: int
    rows: int
    suppressed: int
    suppressed_rows: Literal["absent", "star"]
    row_order: RowOrder
    k: int
    groups: int
    weighted_k: Fraction
    weighted_k_released: Fraction
    l: Mapping[str, Diversity]  # noqa: E741 (the name of the measure)
    recursive_c: float
    alpha: Mapping[str, float]
    closeness: Mapping[str, Closeness]
    compared_with: str | None
    gl: float
    sl: float
    loss: float
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    genome: str
    digests: Mapping[str, str | None]

    def privacy_of(self, column: str) -> dict[str, float]:
        """Privacy models of a sensitive column, by the names they have in a front."""
        diversity, closeness = self.l[column], self.closeness[column]
        return {
            "l_distinct": diversity.distinct,
            "l_frequency": diversity.frequency,
            "l_entropy": diversity.entropy,
            "l_recursive": diversity.recursive,
            "p_sensitive": diversity.distinct,
            "alpha": self.alpha[column],
            "t_closeness": closeness.t_closeness,
            "t_equal": closeness.t_equal,
            "t_js": closeness.t_js,
            "delta": closeness.delta,
        }

    @property
    def privacy(self) -> dict[str, float]:
        """Every privacy model by the name it has in a front; with several columns, of the worst."""
        shown: dict[str, float] = {"k": self.k}
        for column in self.sensitive:
            for name, value in self.privacy_of(column).items():
                worse = min if name in _MORE_IS_BETTER else max
                shown[name] = worse(shown.get(name, value), value)
        return shown

    @property
    def measures(self) -> dict[str, float]:
        """What the file shows, by the names that measures have in a front."""
        return {
            **self.privacy,
            "weighted_k": float(self.weighted_k),
            "weighted_k_kept": float(self.weighted_k_released),
            "groups": self.groups,
            "average_class_size": self.rows / self.groups,
            "c_avg": self.rows / self.groups / self.k,
            "dm": self._discernibility,
            "suppressed": self.suppressed,
            "gl": self.gl,
            "sl": self.sl,
            "loss": self.loss,
        }

    @property
    def _discernibility(self) -> int:
        squares = self.weighted_k_released * self.rows
        return int(squares) + (self.rows + self.suppressed) * self.suppressed

    def to_dict(self) -> dict[str, Any]:
        """Return the entries as numbers, texts, lists and dicts only."""
        entries: dict[str, Any] = {}
        for name, value in vars(self).items():
            if name == "l":  # all models at a glance, before those of each column
                entries["privacy"] = {
                    model: _written(found) for model, found in self.privacy.items()
                }
            if isinstance(value, Fraction):
                entries[name] = float(value)
                entries[f"{name}_exact"] = f"{value.numerator}/{value.denominator}"
            elif isinstance(value, tuple):
                entries[name] = list(value)
            elif isinstance(value, Mapping):
                entries[name] = {key: _written(each) for key, each in value.items()}
            else:
                entries[name] = value
        return entries

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
            fields = {name: entries[name] for name in cls.__dataclass_fields__}
            for name in ("weighted_k", "weighted_k_released"):
                fields[name] = Fraction(entries[f"{name}_exact"])
            fields["l"] = {name: Diversity(**each) for name, each in entries["l"].items()}
            fields["closeness"] = {
                name: Closeness(**{**each, "delta": float(each["delta"])})
                for name, each in entries["closeness"].items()
            }
            fields["quasi"] = tuple(entries["quasi"])
            fields["sensitive"] = tuple(entries["sensitive"])
        except KeyError as error:
            raise DataError(f"certificate {path} has no entry {error}") from None
        except (AttributeError, TypeError, ValueError) as error:
            raise DataError(f"certificate {path} is not one of moanon: {error}") from None
        return cls(**fields)


def certify_file(path: Path, reading: Reading, promise: Promise, *, name: str) -> Certificate:
    """Measure a released file and certify it, if it is what was promised.

    Parameters
    ----------
    path : Path
        The file to measure, wherever it lies for now.
    reading : Reading
        How to read it.
    promise : Promise
        What it must measure as, and where it comes from.
    name : str
        What the certificate calls it.

    Raises
    ------
    CertificateError
        If the file cannot be read as a release, or measures otherwise than was promised or than a
        front says: names the first quantity that differs, with both numbers.
    """
    try:
        found = measure_file(path, reading)
        _compare(found, promise.measurement, _agreement(reading))
    except CertificateError as error:
        raise CertificateError(f"{name} does not measure as promised: {error}") from None
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    certificate = Certificate(
        moanon=__version__,
        file=name,
        rows_in=promise.rows_in,
        rows_dropped_missing=promise.rows_dropped,
        rows=found.rows,
        suppressed=found.suppressed,
        suppressed_rows="star" if reading.stars else "absent",
        row_order=promise.row_order,
        k=found.k,
        groups=found.groups,
        weighted_k=promise.weighted_k,
        weighted_k_released=Fraction(found.squares, found.rows),
        l=found.l,
        recursive_c=reading.c,
        alpha=found.alpha,
        closeness=found.closeness,
        compared_with=_whole_table(reading),
        gl=found.gl,
        sl=found.sl,
        loss=found.loss,
        quasi=tuple(reading.quasi),
        sensitive=tuple(reading.sensitive),
        genome=promise.genome,
        digests={
            "input": promise.input_digest,
            "config": promise.config_digest,
            "output": digest,
        },
    )
    _compare_stated(certificate, promise.stated, _agreement(reading))
    return certificate


def _whole_table(reading: Reading) -> str | None:
    """Say what groups are compared with; nothing where no column is sensitive."""
    facts = next(iter(reading.sensitive.values()), None)
    if facts is None:
        return None
    outside = reading.table_rows - facts.table_rows
    what = f"all {facts.table_rows} rows of the table, suppressed ones included"
    return f"{what}, without {outside} outside its domains" if outside else what


def _written(value: Any) -> Any:
    """Turn an entry into what JSON has, which knows no infinity."""
    if isinstance(value, Closeness | Diversity):
        return {name: _written(part) for name, part in vars(value).items()}
    return str(value) if value == math.inf else value


#: Whether two values of a measure are the same: its name, what is in the file, what should be.
Agreement = Callable[[str, float, float], bool]


def _agreement(reading: Reading) -> Agreement:
    exact = _SHARES | _QUOTIENTS if reading.has_exact_quotients else _SHARES

    def agree(name: str, here: float, there: float) -> bool:
        if here == there:
            return True
        if isinstance(here, int | str) or name in exact:
            return False
        return math.isclose(here, there, rel_tol=TOLERANCE, abs_tol=_ABSOLUTE)

    return agree


def _compare_stated(
    certificate: Certificate, stated: Iterable[tuple[str, float]], agree: Agreement
) -> None:
    shown = certificate.measures
    for name, there in stated:
        if name in shown and not agree(name, shown[name], there):
            raise CertificateError(
                f"{certificate.file} does not measure as the front says: {name} is {shown[name]} "
                f"in the file and {there} in the front"
            )


def _compare(found: Measurement, promised: Measurement, agree: Agreement) -> None:
    pairs = zip(_quantities(found), _quantities(promised), strict=True)
    for (name, where, here), (_, _, there) in pairs:
        if not agree(name, here, there):
            raise CertificateError(f"{name}{where} is {here} in the file, {there} was promised")


def _quantities(measurement: Measurement) -> Iterator[tuple[str, str, float]]:
    """List what is compared, the plainest first: its name, where it is found, its value."""
    by_column = {"l": measurement.l, "alpha": measurement.alpha, "closeness": measurement.closeness}
    for name, value in vars(measurement).items():
        if name == "squares":
            yield "the sum of squared group sizes", "", value
        elif name not in by_column:
            yield name, "", value
    for column, diversity in measurement.l.items():
        for rule, value in vars(diversity).items():
            yield f"{rule} l", f" of column {column!r}", value
    for column, value in measurement.alpha.items():
        yield "alpha", f" of column {column!r}", value
    for column, closeness in measurement.closeness.items():
        for name, value in vars(closeness).items():
            yield name, f" of column {column!r}", value
