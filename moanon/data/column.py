"""One column of a source: its distinct texts and one code per row.

Typed values get canonical texts: different values different ones and equal values the same, in
whatever type they are held. 39 stays 39 in a column of floats, a date has no midnight, instants are
in UTC. A column holds one kind of value; what has no such text is refused.

Also what concerns columns by their names alone: which are asked for, and what to say where one is
absent.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cached_property
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from moanon.arrays import Ints, Outlined, Values
from moanon.data.strict_yaml import HALF
from moanon.errors import DataError

KINDS_READ = "read are text, numbers, booleans, dates and times"
#: NUL and halves of characters: a release with them could not be written and read again.
_NOT_TEXT = re.compile(f"\0|{HALF.pattern}")
#: What a column may hold. The order matters: a bool is an int to Python, a datetime a date.
_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "bool": (bool, np.bool_),
    "int": (int, np.integer),
    "float": (float, np.floating),
    "Decimal": (Decimal,),
    "datetime": (datetime, np.datetime64),
    "date": (date,),
    "time": (time,),
    "UUID": (UUID,),
}
#: Types of released columns that are asked for by name.
TEXT, ZONED_TIME = "VARCHAR", "TIMESTAMP WITH TIME ZONE"
#: Floats hold every whole number up to here.
_WHOLE = 2**53
_SIGNS = {"\0": "a NUL character", "\ufeff": "a byte order mark"}
_UNSEEN = re.compile("[\0\ufeff]")


@dataclass(frozen=True, eq=False, repr=False)
class ColumnProfile(Outlined):
    """What is known of a column whose rows are elsewhere; see `Column`."""

    name: str
    values: tuple[str, ...]
    native: Values | None
    counts: Ints  # rows with each value
    missing: int  # rows without one


@dataclass(frozen=True, eq=False, repr=False)
class Column(Outlined):
    """One column, factorized: a profile with its rows."""

    name: str  # in the source, literally
    codes: NDArray[np.int32]  # per row the index into `values`; -1 where the value is missing
    values: tuple[str, ...]  # the distinct texts that occur, sorted; some row has each of them
    native: Values | None  # the same values in their own type; None for text sources
    sql_type: str | None = None  # in a release; None where only values say it, and no schema

    @property
    def missing(self) -> int:
        """Number of rows without a value."""
        return int(np.count_nonzero(self.codes < 0))

    @cached_property
    def counts(self) -> Ints:
        """Number of rows with each value."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))


#: What is known of a column without looking at rows.
Profile = Column | ColumnProfile


def sorted_column(
    name: str,
    texts: Sequence[str | None],
    native: Values | None,
    codes: NDArray[np.int32],
    sql_type: str | None = None,
) -> Column:
    """Sort the texts that codes point to; None means missing, equal texts become one value."""
    present = {i: text for i, text in enumerate(texts) if text is not None}
    recode = np.full(len(texts) + 1, -1, dtype=np.int32)  # the code -1 points to the last
    values: list[str] = []
    first: list[int] = []
    for i in sorted(present, key=lambda i: present[i]):
        if not values or values[-1] != present[i]:
            values.append(present[i])
            first.append(i)
        recode[i] = len(first) - 1
    chosen = None if native is None else native[first]
    return Column(name, recode[codes], tuple(values), chosen, sql_type)


# -- typed values ---------------------------------------------------------------------------------


def one_kind(source: str, name: str, types: Iterable[type]) -> str:
    """Name the one kind of value that a column holds; a mixture or a stranger is refused."""
    kinds = set()
    for cls in set(types):
        kind = next((kind for kind, known in _KINDS.items() if issubclass(cls, known)), None)
        if issubclass(cls, np.longdouble):  # cut to 64 bits on the way, two values may become one
            raise DataError(
                f"{source}: column {name!r} holds longdouble values, of which only the first 64 "
                "bits would be read; round them to float64"
            )
        if kind is None:
            raise DataError(f"{source}: column {name!r} holds {cls.__name__} values; {KINDS_READ}")
        kinds.add(kind)
    if len(kinds) > 1:
        raise DataError(
            f"{source}: column {name!r} mixes {' and '.join(sorted(kinds))} values; "
            "one column holds one type"
        )
    return kinds.pop() if kinds else "str"


def plain_value(value: Any) -> Any:
    """Choose one object for all that are equal, whichever of them a column happens to show first.

    Objects can be equal and look different: 100 and 100.000, 03:00+02:00 and 01:00+00:00. Which of
    them stands for all must not depend on a row that may be suppressed.
    """
    if isinstance(value, Decimal):
        text = f"{value:f}"
        short = text.rstrip("0").rstrip(".") if "." in text else text
        return abs(Decimal(short)) if not value else Decimal(short)
    if isinstance(value, time) and (ahead := value.utcoffset()) is not None:
        day = datetime.combine(date(2000, 1, 2), value.replace(tzinfo=None))
        return (day - ahead).time().replace(tzinfo=UTC)
    if isinstance(value, np.floating):
        return float(value)  # 0.1 of 32 bits is not that of 64, and must not look like it
    if isinstance(value, np.datetime64):  # a day with a time of day beside it is a time, too
        return value.astype(np.promote_types(value.dtype, "M8[s]"))
    return value


def typed_column(
    source: str,
    name: str,
    values: Sequence[Any],
    codes: NDArray[np.int32],
    utc: bool = False,
    sql_type: str | None = None,
) -> Column:
    """Write distinct native values as text, so that different values get different texts."""
    kind = one_kind(source, name, map(type, values))
    native: Values
    texts: Sequence[str | None]
    if kind == "float":
        native = np.array(values) + 0.0  # -0.0 becomes 0.0, its equal
        texts = _float_texts(native, frozenset())
    elif kind in ("date", "datetime"):
        native, texts = _date_texts(source, name, values, utc)
    elif kind in ("bool", "int"):
        values = [bool(v) if kind == "bool" else int(v) for v in values]
        small = min(values) >= -(2**63) and max(values) < 2**63
        native = np.array(values, dtype=bool if kind == "bool" else np.int64 if small else object)
        texts = [str(v) for v in values]
    else:
        native = np.array(values, dtype=object)
        write = {"str": str.__str__, "Decimal": "{:f}".format, "time": _short_time}.get(kind, str)
        texts = [write(value) for value in values]
        if broken := next((text for text in texts if _NOT_TEXT.search(str(text))), None):
            raise DataError(f"{source}: column {name!r} holds {broken!a}, which no file can hold")
    return sorted_column(name, texts, native, codes, sql_type)


def _float_texts(native: Values, tokens: frozenset[str]) -> list[str | None]:
    """Write floats, each by itself; whole ones as integers.

    Frames turn integers with gaps into floats, and 39 must not become 39.0 because another row
    misses its age, nor because another one, which may be suppressed, has a fraction.
    """
    texts: list[str | None] = []
    for value, short in zip(native.tolist(), map(str, native), strict=True):
        whole = str(int(value)) if value.is_integer() and abs(value) < _WHOLE else short
        is_gone = value != value or short in tokens or whole in tokens
        texts.append(None if is_gone else whole)
    return texts


def _date_texts(
    source: str, name: str, values: Sequence[Any], utc: bool
) -> tuple[Values, list[str | None]]:
    """Write dates, and times of day only where they are not midnight; zoned ones in UTC."""
    zoned = {getattr(value, "tzinfo", None) is not None for value in values}
    if len(zoned) > 1:
        raise DataError(
            f"{source}: column {name!r} mixes times with and without a time zone; "
            "one column holds one type"
        )
    if zoned == {True}:
        utc = True
        values = [value.astimezone(UTC).replace(tzinfo=None) for value in values]
    exact = [np.datetime64(getattr(v, "isoformat", v.__str__)()) for v in values]
    native = _in_one_unit(source, name, exact)
    times = map(_short_time, np.datetime_as_string(native).tolist())
    return native, [f"{t}+00:00" if utc else t.removesuffix("T00:00:00") for t in times]


def _in_one_unit(source: str, name: str, exact: list[np.datetime64]) -> Values:
    """Put times in the unit of the finest, which must reach as far as the farthest of them.

    64 bits of nanoseconds end in 1677 and in 2262, and NumPy goes round there without a word.
    """
    try:
        native = np.array(exact)
        fits = len({value.dtype for value in exact}) == 1 or all(
            there.astype(value.dtype) == value for there, value in zip(native, exact, strict=True)
        )
    except OverflowError:
        fits = False
    if not fits:
        raise DataError(
            f"{source}: column {name!r} holds times to the nanosecond beside times before 1678 or "
            "after 2262, which do not fit together; round them to microseconds"
        )
    return native


def _short_time(value: object) -> str:
    """Write a time without the zeros that end its fraction of a second."""
    seconds, _, fraction = str(value).partition(".")
    return f"{seconds}.{fraction.rstrip('0')}".rstrip(".")


def holds_texts(column: Profile) -> bool:
    """Whether the values of a column are texts in their source, and not numbers, dates or such."""
    native = column.native
    return native is None or (
        native.dtype.kind == "O" and all(isinstance(value, str) for value in native)
    )


def type_of_values(native: Values, texts: Sequence[str]) -> str:
    """Type in a release of values that are all of one kind, as they alone tell it.

    Whole numbers are such whether their source holds them as integers or as floats: which of the
    two may depend on a gap or a fraction elsewhere in their column.
    """
    kind = native.dtype.kind
    if not len(native):
        return TEXT
    if kind == "M":
        if texts[0].endswith("+00:00"):
            return ZONED_TIME
        if np.datetime_data(native.dtype)[0] == "D":
            return "DATE"
        return "TIMESTAMP" if (native.astype("M8[us]") == native).all() else "TIMESTAMP_NS"
    if kind in "bi":
        return "BOOLEAN" if kind == "b" else "BIGINT"
    if kind == "f":
        if (np.trunc(native) == native).all() and (np.abs(native) < _WHOLE).all():
            return "BIGINT"
        return "FLOAT" if native.dtype.itemsize < 8 else "DOUBLE"
    if all(isinstance(value, (int, np.integer)) and -(2**63) <= value < 2**63 for value in native):
        return "BIGINT"
    return TEXT


def without_tokens(column: Column, tokens: frozenset[str]) -> Column:
    """Mark the values that a publisher declared to mean "no value"."""
    texts: list[str | None]
    if column.native is not None and column.native.dtype.kind == "f":
        texts = _float_texts(column.native, tokens)
    else:
        texts = [None if text in tokens else text for text in column.values]
    if texts == list(column.values):
        return column
    return sorted_column(column.name, texts, column.native, column.codes, column.sql_type)


# -- names ---------------------------------------------------------------------------------------


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Give the end of an error sentence: the nearest known name, or nothing."""
    near = difflib.get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f" (did you mean {near[0]!r}?)" if near else ""


def absent_column(source: str, name: str, names: Iterable[str]) -> DataError:
    """Say that a source lacks a column that was asked for."""
    return DataError(f"{source} has no column {name!r}{did_you_mean(name, names)}")


def refuse_bad_names(source: str, names: Sequence[str], mend: str = "") -> None:
    """Refuse a header that does not name each column once; `mend` says what would help."""
    seen: set[str] = set()
    for position, name in enumerate(names):
        if not name:
            raise DataError(f"{source}: column {position + 1} has an empty name{mend}")
        if sign := _UNSEEN.search(name):
            raise DataError(
                f"{source}: the name of column {position + 1}, {name!a}, holds "
                f"{_SIGNS[sign[0]]}, which nobody sees; take it out of the name"
            )
        if HALF.search(name):
            raise DataError(
                f"{source}: the name of column {position + 1}, {name!a}, holds half a character, "
                "which no file can hold"
            )
        if name in seen:
            raise DataError(f"{source} has two columns named {name!r}{mend}")
        seen.add(name)


def chosen_positions(
    source: str, header: Sequence[str], columns: Sequence[str] | None
) -> list[int]:
    """Positions of the wanted columns, in file order."""
    if columns is None:
        return list(range(len(header)))
    there, wanted = set(header), set(columns)
    for name in columns:
        if name not in there:
            raise absent_column(source, name, header)
    return [position for position, name in enumerate(header) if name in wanted]
