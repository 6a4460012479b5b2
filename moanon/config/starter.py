"""A first configuration for a file that nobody has described yet.

`write_starter` looks at every column of a table, guesses its role and its domain, and writes a
configuration with a comment for each guess. The guesses lean to the safe side: what may point to a
person is dropped, what others may know is generalized, and nothing is kept as it is unless its name
says that the table is about it. The comments count; they never show a value. Only the categories of
an ordered column and the rounded range of an interval are written out, because a configuration
needs them.

What is written passes ``moanon check``: it is loaded and built before it gets its name.
"""

from __future__ import annotations

import glob
import os
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from moanon import datasets
from moanon.atomic import StagedFiles
from moanon.config import ColumnSection, Config, name_from
from moanon.config.reading import MAX_BYTES
from moanon.data.column import Column
from moanon.data.source import read_source
from moanon.data.steps import DATE_UNITS, Kind, Scale
from moanon.data.strict_yaml import dump
from moanon.errors import DataError, MoanonError, OutputError
from moanon.paths import checked_path

#: Guessed domains have at most so many base values: more would be slow to read and to search.
MAX_BASE = 50
#: Longer texts are sentences, not categories.
_MAX_CATEGORY = 80
_MONDAY = 1  # the day number 1 is one
_ENDINGS = (".csv.gz", ".csv", ".tsv", ".txt", ".parquet")
_CODE = re.compile(r"[+-]?0[0-9]")
_NUMBER = re.compile(r"([0-9]{1,18})")

#: Texts that often stand for "no value"; taken so where all else in a column is numbers or dates.
_TOKENS = frozenset(
    ["?", "-", ".", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "none", "unknown"]
)
#: A column with one of these words in its name is about who a person is ...
_IDENTIFYING = re.compile(
    "id|uuid|guid|ssn|e?mail|phone|telephone|mobile|passport|iban|surname|forename|firstname|"
    "lastname|fullname|username|login|address|street|ip"
)
_NAMES = [{"name"}, *({word, "name"} for word in ("first", "last", "full", "family", "given"))]
#: ... and with one of these, about what others should not learn.
_SENSITIVE = re.compile(
    "diseases?|diagnos[ie]s|illness|disorder|symptoms?|condition|treatment|medication|drug|hiv|"
    "disability|pregnant|salary|income|wages?|earnings|debt|religio(n|us)|faith|party|politic(s|al)|"
    "sexual|orientation|conviction|offen[cs]e"
)

#: What a column seems to be: its entry in a configuration, and what was seen, in counts.
Guess = tuple[dict[str, Any], str]


def write_starter(
    file: str | Path, out: str | Path | None = None, delimiter: str | None = None
) -> tuple[Path, dict[str, int]]:
    """Profile a table and write a configuration for it.

    Parameters
    ----------
    file : str or Path
        A CSV or Parquet file, a folder or a glob.
    out : str or Path, optional
        The configuration, never overwritten; by default beside the file, with its name and
        ``.yaml``.
    delimiter : str, optional
        As for `moanon.data.source.read_source`.

    Returns
    -------
    path : Path
        What was written.
    roles : dict of str to int
        How many columns have each role.
    """
    target = _target(os.fspath(file)) if out is None else Path(out)
    if os.path.lexists(target):
        raise OutputError(f"{target} exists already and is left as it is; name another with --out")
    source = read_source(file, delimiter=delimiter)
    tokens = ("", *_missing_tokens(source.columns))
    if len(tokens) > 1:
        source = read_source(file, delimiter=delimiter, missing_tokens=tokens)
    guesses = [guess(column) for column in source.columns]
    roles = Counter(entry["role"] for entry, _ in guesses)
    if not roles["quasi"]:
        raise DataError(
            f"{file}: no column could be generalized as it stands (those seen are identifiers, "
            "sensitive values or free text), so no configuration was written"
        )
    data = {"source": _relative(file, target)}
    if delimiter is not None:
        data["delimiter"] = delimiter
    text = _starter_text(name_from(target), data, source.columns, guesses, tokens)
    if (size := len(text.encode())) > MAX_BYTES:
        raise DataError(
            f"{file} has {len(source.columns):,} columns, and a configuration of all of them would "
            f"have {size:,} bytes, of which at most {MAX_BYTES:,} are read; take out columns that "
            "nobody needs"
        )
    with StagedFiles(target, force=False) as staged:
        staged[target].write_text(text, encoding="utf-8")
        Config.load(staged[target]).instance()
        staged.move()
    return target, dict(roles)


def _target(file: str) -> Path:
    if glob.has_magic(file) and not os.path.exists(file):  # noqa: PTH110 (pathlib raises for some)
        raise OutputError(f"{file} stands for several files; name the configuration with --out")
    path = checked_path(file, DataError)
    for ending in _ENDINGS:
        if path.name.lower().endswith(ending) and not path.is_dir():
            return path.with_name(path.name[: -len(ending)] + ".yaml")
    folder = path.absolute()
    return folder.with_name(folder.name + ".yaml")


def _relative(file: str | Path, target: Path) -> str:
    """Path of the data as the configuration must write it."""
    try:
        path = os.path.relpath(file, target.parent)
    except ValueError:  # on another drive
        path = os.path.abspath(file)  # noqa: PTH100 (a link stays a link)
    return f"./{path}" if path in datasets.names() else path


def _missing_tokens(columns: Sequence[Column]) -> list[str]:
    """Texts that are all that keeps some column from being numbers or dates."""
    found: set[str] = set()
    for column in columns:
        tokens = _TOKENS.intersection(column.values)
        if tokens and _kind_of([value for value in column.values if value not in tokens]):
            found |= tokens
    return sorted(found)


# -- guessing ------------------------------------------------------------------------------------


def guess(column: Column) -> Guess:
    """Guess the role of a column and, where it can be generalized, its domain."""
    try:
        entry, reason = _guess(column)
        if "kind" in entry:
            ColumnSection.model_validate(entry).spec().build(column).encode(column)
    except (MoanonError, OverflowError, ValidationError):  # reserved labels, too large numbers
        return {"role": "identifying"}, f"{_seen(column)} that cannot be generalized as they stand"
    return entry, reason


def _guess(column: Column) -> Guess:
    seen, words = _seen(column), _words(column.name)
    identifying, quasi = {"role": "identifying"}, {"role": "quasi"}
    filled = len(column.codes) - column.missing
    if not column.values:
        return identifying, "no value in any row"
    if any(map(_IDENTIFYING.fullmatch, words)) or words in _NAMES:
        return identifying, f"{seen}; the name suggests an identifier"
    kind = _kind_of(column.values)
    repeated = len(column.values) <= max(filled / 2, 1) or len(column.values) < min(filled, 4)
    if any(map(_SENSITIVE.fullmatch, words)) and (repeated or kind):
        return {"role": "sensitive"}, f"{seen}; the name suggests a sensitive matter"
    if kind == "date":
        return quasi | _dates(column.values), f"{seen}, all dates"
    if kind is not None:
        if kind == "integer" and _is_numbering(column.values, filled):
            return identifying, f"{seen}, one for each row like a number"
        return quasi | _numbers(kind, column.values), f"{seen}, all {kind}s"
    if not repeated:
        return identifying, f"{seen}, nearly one for each row"
    if len(column.values) > MAX_BASE or max(map(len, column.values)) > _MAX_CATEGORY:
        return identifying, (
            f"{seen}, too many or too long to put in order; a hierarchy could generalize them"
        )
    order = sorted(column.values, key=_natural)
    if len(order) > 2:
        seen += ", in the order of the alphabet: put like beside like, or give a hierarchy"
    return {"role": "quasi", "kind": "ordered", "order": order}, seen


def _seen(column: Column) -> str:
    return _counted(len(column.values), "different value")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _words(name: str) -> set[str]:
    """Words of a column's name, in lower case; ``PatientID`` has two."""
    return set(re.findall(r"[^\W\d_]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()))


def _kind_of(values: Sequence[str]) -> Kind | None:
    """Narrowest type that fits all values; numbers with leading zeros are codes, hence text."""
    if not values:
        return None
    kinds: tuple[Kind, ...] = ("date", "integer", "decimal")
    for kind in kinds:
        if not Scale(kind).misfits(values):
            is_code = kind != "date" and any(map(_CODE.match, values))
            return None if is_code else kind
    return None


def _places(scale: Scale, values: Sequence[str]) -> list[Fraction]:
    places = (scale.position(value) for value in values)
    return sorted(place for place in places if place is not None)


def _is_numbering(values: Sequence[str], filled: int) -> bool:
    """Whether integers look like identifiers: no two rows alike, and either dense or long."""
    if filled < 10 or len(values) < filled:
        return False
    places = _places(Scale("integer"), values)
    span = places[-1] - places[0] + 1
    return span == filled or (filled >= 100 and span <= 2 * filled) or places[0] >= 10**8


def _natural(value: str) -> tuple[list[tuple[int, int, str]], str]:
    """Sort key in which numbers inside a text count as numbers: 2nd before 10th."""
    parts = (part for part in _NUMBER.split(value) if part)
    return [(0, int(p), "") if _NUMBER.fullmatch(p) else (1, 0, p.casefold()) for p in parts], value


# -- domains -------------------------------------------------------------------------------------


def _numbers(kind: Literal["integer", "decimal"], values: Sequence[str]) -> dict[str, Any]:
    """Cover numbers by steps of a round width; the range is rounded outwards."""
    places = _places(Scale(kind), values)
    low, high = places[0], places[-1]
    digits = min(int(Decimal(value).normalize().as_tuple().exponent) for value in values)
    finest = Fraction(10) ** min(digits, 0)  # no finer than the numbers are written
    for width in _round_widths(max(finest, (high - low) / MAX_BASE)):
        first, last = low // width, high // width
        if last - first < MAX_BASE:
            break
    start, end = first * width, (last + 1) * width
    if kind == "integer":
        end -= 1
    elif high == last * width and last > first:  # a range of decimals includes its end
        end = high
    return _interval(_number(width), _number(start), _number(end))


def _interval(width: int | float | str, first: object, last: object) -> dict[str, Any]:
    return {"kind": "interval", "granularity": width, "range": [first, last]}


def _number(place: Fraction) -> int | float:
    return place.numerator if place.denominator == 1 else float(place)


def _round_widths(least: Fraction) -> Iterator[Fraction]:
    """Yield 1, 2 and 5 with zeros before or behind, from `least` on."""
    exponent = (Decimal(least.numerator) / Decimal(least.denominator)).adjusted()
    while True:
        for digit in (1, 2, 5):
            width = digit * Fraction(10) ** exponent
            if width >= least:
                yield width
        exponent += 1


def _dates(values: Sequence[str]) -> dict[str, Any]:
    """Cover dates by the finest unit of the calendar that gives few enough steps."""
    few = (unit for unit in DATE_UNITS if _date_steps(unit, values)[1] <= MAX_BASE)
    unit = next(few, "decade")
    months, width = DATE_UNITS[unit]
    (first, count), scale = _date_steps(unit, values), Scale("date", months)
    end = scale.text(Fraction(first + count * width - 1), last=True)
    return _interval(unit, scale.text(Fraction(first)), end)


def _date_steps(unit: str, values: Sequence[str]) -> tuple[int, int]:
    """First day or month of the steps of a unit that cover all dates, and how many steps."""
    months, width = DATE_UNITS[unit]
    offset = 0 if months else _MONDAY
    places = _places(Scale("date", months), values)
    first, last = ((int(places[end]) - offset) // width for end in (0, -1))
    return first * width + offset, last - first + 1


# -- writing -------------------------------------------------------------------------------------


def _starter_text(
    name: str,
    data: Mapping[str, str],
    columns: Sequence[Column],
    guesses: Sequence[Guess],
    tokens: Sequence[str],
) -> str:
    """Write the configuration with a comment for each guess."""
    rows = _counted(len(columns[0].codes), "row")
    described = []
    for column, (entry, reason) in zip(columns, guesses, strict=True):
        missing = f"; missing in {_counted(column.missing, 'row')}" if column.missing else ""
        described.append(_commented(f"{reason}{missing}", {column.name: entry}, "  "))
    parts = [
        _commented(
            f"A first configuration, guessed from {rows} and "
            f"{_counted(len(guesses), 'column')}. Every role below is a guess: go through them one "
            "by one. What points to a person is identifying and is dropped; what others may know "
            "about a person is quasi and is generalized; what must not be learnt about a person is "
            "sensitive and is kept; what matters to nobody is insensitive and is kept. A column "
            "that is not listed is dropped."
        ),
        _commented("", {"name": name}),
        "data:\n" + _commented("", data, "  ") + _missing_text(columns, guesses, tokens),
        "columns:\n" + "".join(described),
        _commented("The largest k for the smallest loss; up to 5 % of the rows may be left out.")
        + "problem: {preset: k-suppression, eta: 0.05}\n",
    ]
    return "\n".join(parts)


def _missing_text(
    columns: Sequence[Column], guesses: Sequence[Guess], tokens: Sequence[str]
) -> str:
    released = [entry["role"] in ("quasi", "sensitive") for entry, _ in guesses]
    gaps = sum(column.missing > 0 for column, kept in zip(columns, released, strict=True) if kept)
    if gaps:
        comment = (
            f"Values are missing in {_counted(gaps, 'column')} that would be released: they "
            "are kept as a category of their own. drop would leave out every row with one, error "
            "would stop."
        )
    else:
        comment = (
            "No value is missing in a column that would be released; if one ever is, error stops. "
            "drop would leave out the row, category would keep missing as a category of its own."
        )
    text = _commented(comment, {"missing": "category" if gaps else "error"}, "  ")
    if len(tokens) > 1:
        text += _commented(
            "Where all else in a column is numbers or dates, these texts were found; they are "
            "taken for missing values in every column.",
            {"missing_tokens": tokens},
            "  ",
        )
    return text


def _commented(comment: str, values: Mapping[str, object] | None = None, indent: str = "") -> str:
    """Write keys and their values below a comment."""
    lines = [f"# {line}" for line in textwrap.wrap(comment, 98 - len(indent))]
    lines += dump(values).splitlines() if values else ()
    return "".join(f"{indent}{line}\n" for line in lines)
