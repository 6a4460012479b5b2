"""What a column seems to be: its role, and the domain of its values.

Guesses lean to the safe side: what may point to a person is dropped, what others may know is
generalized, and nothing is kept as it is unless its name says that the table is about it. Names of
columns count, and so does the shape of values: an address of mail is one whatever its column is
called. A guess is an entry of a configuration, with what was seen, in counts: values are not shown,
except as far as the entry itself needs them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Any

from pydantic import ValidationError

from moanon.config.sections import ColumnSection
from moanon.data.cell_reading import PLAIN, Notation, recognize
from moanon.data.column import Profile
from moanon.data.domain import Domain, TreeDomain
from moanon.data.steps import DATE_UNITS, Kind, Scale
from moanon.errors import MoanonError
from moanon.wording import counted

#: Guessed orders have at most so many values: more would be slow to read and to put right.
MAX_BASE = 50
#: Guessed steps are at most so many: more would be slow to search.
MAX_STEPS = 100
#: Longer texts are sentences, not categories; so are those of more words on average.
_MAX_CATEGORY = 80
_MAX_WORDS = 4
#: What is repeated so often on average is a category, however long.
_OFTEN = 50
_MONDAY = 1  # the day number 1 is one
_LEADING_ZERO = re.compile(r"[+-]?0[0-9]")
_NUMBER = re.compile(r"([0-9]{1,18})")

#: Texts that often stand for "no value" among categories, where "none" may well be one, ...
_AMONG_CATEGORIES = frozenset(
    ["?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "#N/A", "<NA>"]
)
#: ... among numbers and dates ...
_AMONG_NUMBERS = _AMONG_CATEGORIES.union(["-", ".", "None", "none", "unknown"])
#: ... and, if no other number is below 0, among numbers; some of these are strong hints.
_NEGATIVE = frozenset(["-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8", "-9"])
_TELLING = frozenset(["-7", "-8", "-9", "-99", "-999", "-9999", "-99999"])

#: A column with one of these words in its name is about who a person is ...
_IDENTIFYING = re.compile(
    "[a-z]?[ug]?uid|p?id|ssn|mrn|e?mail|courriel|phone|telephone|telefono?|tel|mobile|handy|fax|"
    "passport|iban|account|login|ip|license|plate|address|adresse|street|strasse|"
    r"\w*(person|pers|patient|customer|client|user|member|employee|student|subject|case)id|"
    r"\w+(nummer|nr)"
)
#: ... or with one of these, even if there are few of them, how people are called.
_CALLED = re.compile(r"\w+name|nom|prenom|apellidos?|nombre|cognome")
_NAMES = [{"name"}, *({word, "name"} for word in ("first", "last", "full", "family", "given"))]
_WHOSE = (
    *("patient", "person", "customer", "client", "employee", "staff", "member", "student", "case"),
    *("insurance", "security", "policy", "card", "tax", "record", "file", "invoice", "order"),
)
_NAMES += [{"name", whose} for whose in _WHOSE]
_NUMBERS = [{word, whose} for whose in _WHOSE for word in ("number", "no", "nr", "num", "numero")]
#: Of what a column is named after there are more than so many, each in fewer rows; else its values
#: tell something about it, such as whether there is a telephone.
_FEW = 10
_IN_MANY = 20
#: Columns that are called only so hold names where they hold texts.
_PARTS_OF_NAMES = [{word} for word in ("first", "last", "middle", "family", "given", "maiden")]
#: ... with one of these, about what others should not learn ...
_SENSITIVE = re.compile(
    r"diseases?|\w*diagnos[ie]s|\w*diagnosen?|diagnostic|krankheit|maladie|illness|disorder|symptoms?|condition|treatment|"
    "medication|drug|hiv|icd|disability|pregnant|salary|salaire|gehalt|lohn|einkommen|income|wages?|"
    "revenu|earnings|debt|religio(n|us)|faith|party|politic(s|al)|sexual|orientation|conviction|"
    "offen[cs]e"
)
#: ... and with one of these, codes whose first characters say most.
_CODES = re.compile(
    "zip|zipcode|plz|postcode|postal|postleitzahl|naics|sic|nace|isco|soc|fips|icd|atc|cpt|codes?"
)
#: Places are called like people, first and last.
_PLACES = re.compile(
    "city|cities|town|village|municipality|county|district|state|province|region|country|nation|"
    "place|birthplace|stadt|ort|gemeinde|kreis|land|ville|ciudad|pais"
)
#: Values that point to one person, whatever the column is called.
_POINTERS = {
    "addresses of mail": re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+"),
    "account numbers": re.compile(r"[A-Z]{2}[0-9]{2}( ?[A-Z0-9]){10,30}"),
    "numbers of telephones": re.compile(
        r"(\+|00)[0-9][0-9 ()/.-]{6,}|\(?0?[0-9]{2,5}\)?[ /-][0-9 -]{5,}"
    ),
    "addresses of houses": re.compile(
        r"[0-9]+[a-z]?,? (rue|avenue|boulevard|place|chemin|impasse|quai) .+|"
        r"[0-9]+[a-z]? .*\b(st|street|ave|avenue|rd|road|blvd|lane|ln|drive|dr|way|court|ct)\b.*|"
        r".*(stra(ss|ß)e|str\.|weg|platz|allee|gasse|ufer|damm) [0-9]+ ?[a-z]?(,.*)?",
        re.IGNORECASE,
    ),
    "addresses of computers": re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){3}"),
    "addresses of pages": re.compile(r"(https?://|www\.)\S+"),
    "identifiers": re.compile(r"[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"),
}
#: First and last names; so many different ones are hardly anything else.
_PERSON = re.compile(r"[^\W\d_a-z][\w.'’-]*(,? [^\W\d_a-z][\w.'’-]*){1,3}")
#: A diagnosis as ICD-10 writes it.
_ICD = re.compile(r"[A-TV-Z][0-9][0-9AB](\.?[0-9A-TV-Z]{1,4})?", re.IGNORECASE)
#: A code: a digit in it, and no blank, unless the column is called one.
_CODE = re.compile(r"(?=.*[0-9])[0-9A-Za-z./-]{2,20}")
_NAMED_CODE = re.compile(r"(?=..)(?=.*[0-9])[0-9A-Za-z./-]+( [0-9A-Za-z./-]+)?")
#: A band of numbers: below one, from one to another, above one.
_BAND = re.compile(
    r"(?P<below><=?|≤|under|below|less than|up to|unter|bis|moins de)?"
    r"(?P<above>>=?|≥|over|above|more than|greater than|from|über|ab|plus de)?"
    r"\s*[$€£]?(?P<first>[0-9]{1,18}(?:[.,][0-9]{3})*)(?P<rest>.*)"
)
_UPWARDS = re.compile(r"\s*(\+|(and|or) (over|more|older|above|up)|und (älter|mehr)|et plus)\W*.*")

#: Answers that are no place on a scale and stand behind it.
_NO_ANSWERS = {"unknown", "other", "refused", "don't know", "do not know"}
_NO_ANSWERS |= {"not applicable", "not in universe"}
#: Answers that have an order of their own, whatever that of the alphabet.
_ORDERS = [
    scale.split(", ")
    for scale in (
        "strongly disagree, disagree, somewhat disagree, slightly disagree, neutral, neither agree "
        "nor disagree, undecided, slightly agree, somewhat agree, agree, strongly agree",
        "very dissatisfied, dissatisfied, neutral, satisfied, very satisfied",
        "never, rarely, seldom, sometimes, often, usually, always",
        "very poor, poor, fair, average, good, very good, excellent",
        "very low, low, medium, moderate, high, very high",
        "no, maybe, yes",
        "none, mild, moderate, severe",
        "small, medium, large",
        "sehr unzufrieden, unzufrieden, eher unzufrieden, neutral, teils teils, eher zufrieden, "
        "zufrieden, sehr zufrieden",
        "nie, selten, manchmal, oft, immer",
        "sehr niedrig, niedrig, mittel, hoch, sehr hoch",
        "nein, vielleicht, ja",
        "très insatisfait, insatisfait, neutre, satisfait, très satisfait",
        "jamais, rarement, parfois, souvent, toujours",
        "faible, moyen, élevé",
        "mon, tue, wed, thu, fri, sat, sun",
        "monday, tuesday, wednesday, thursday, friday, saturday, sunday",
        "jan, feb, mar, apr, may, jun, jul, aug, sep, oct, nov, dec",
        "january, february, march, april, may, june, july, august, september, october, november, "
        "december",
    )
]


@dataclass(frozen=True)
class Guess:
    """What a column seems to be: its entry of a configuration, the reason, and its notation."""

    entry: dict[str, Any]
    reason: str
    notation: Notation = PLAIN

    @property
    def role(self) -> str:
        """The guessed role."""
        return str(self.entry["role"])

    def written(self, common: Notation) -> dict[str, Any]:
        """The entry with those parts of its notation that are not common to all columns."""
        if "kind" not in self.entry:
            return self.entry
        own = {"format": self.notation.format, "unit": self.notation.unit or None}
        if self.notation.format is None and _has_signs(self.entry):
            for key in ("decimal", "thousands"):
                if (sign := getattr(self.notation, key)) != getattr(common, key):
                    own[key] = sign
        return self.entry | {key: value for key, value in own.items() if value is not None}


def _has_signs(entry: Mapping[str, Any]) -> bool:
    """Whether an entry is about numbers, whose signs count."""
    rule = entry.get("hierarchy")
    if entry["kind"] == "interval":
        return entry["granularity"] not in DATE_UNITS
    return isinstance(rule, Mapping) and "intervals" in rule


def missing_tokens(columns: Sequence[Profile]) -> list[str]:
    """Texts that seem to mean "no value"."""
    found: set[str] = set()
    kept: set[str] = set()  # true values of some column
    for column in columns:
        tokens = _AMONG_NUMBERS.intersection(column.values)
        others = [value for value in column.values if value not in tokens]
        kind, _ = _read(others)
        found |= tokens if kind else _tokens_of_categories(column.values)
        if kind in ("integer", "decimal"):
            negative = {value for value in others if value.startswith("-")}
            if not negative <= _NEGATIVE | _TELLING:
                kept |= negative
            elif negative & _TELLING:
                found |= negative
    return sorted(found - kept)


def _tokens_of_categories(values: Sequence[str]) -> frozenset[str]:
    """A single number below 0 is no category among words."""
    numbers = [value for value in values if value.lstrip("-").isdecimal()]
    lonely = _TELLING.intersection(numbers) if len(numbers) == 1 < len(values) else frozenset()
    return _AMONG_CATEGORIES.intersection(values) | lonely


def guess(column: Profile) -> Guess:
    """Guess the role of a column and, where it can be generalized, its domain."""
    try:
        found = _guess(column)
        if "kind" in found.entry:
            section = ColumnSection.model_validate(found.written(PLAIN))
            domain = section.spec().build(column)
            domain.codes(column)
            return replace(found, reason=found.reason + _coarsened(column, domain))
    except (MoanonError, OverflowError, ValidationError):  # reserved labels, too large numbers
        reason = f"{_seen(column)} that cannot be generalized as they stand"
        return Guess({"role": "identifying"}, reason)
    return found


def _coarsened(column: Profile, domain: Domain) -> str:
    """Say what the base values of a domain merge already, and the first levels of a tree."""
    text = ""
    present = domain.size - domain.has_missing
    if domain.kind == "interval" or getattr(domain, "steps", None) is not None:
        used = len(set(domain.find(column.values).tolist()))
        if used < len(column.values):
            text = f"; they are merged to {counted(used, 'step')} before anything is searched"
    if isinstance(domain, TreeDomain):
        tree = domain.hierarchy
        levels = list(dict.fromkeys(zip(tree.levels, tree.level_labels, strict=True)))
        shown = [
            f"{len(cut):,} such as {labels[0]}"
            for cut, labels in islice(levels, 1, 4)
            if 1 < len(cut) < present
        ]
        if shown:
            text += f"; levels of the hierarchy: {', then '.join(shown)}"
    return text


def _guess(column: Profile) -> Guess:
    seen, words = _seen(column), words_of(column.name)
    identifying = {"role": "identifying"}
    filled = int(column.counts.sum())
    if not column.values:
        return Guess(identifying, "no value in any row")
    kind, (notation, *others) = _read(column.values)
    doubt = f" (or written as {others[0].declared})" if others else ""
    if kind != "date" and (pointer := _pointer(column.values, words)):
        return Guess(identifying, f"{seen}, {pointer}")
    if any(map(_CALLED.fullmatch, words)) or words in _NAMES:
        return Guess(identifying, f"{seen}; the name suggests an identifier")
    are_few = len(column.values) <= _FEW and filled >= _IN_MANY * len(column.values)
    if (any(map(_IDENTIFYING.fullmatch, words)) or words in _NUMBERS) and not are_few:
        return Guess(identifying, f"{seen}; the name suggests an identifier")
    if kind is None and words in _PARTS_OF_NAMES and len(column.values) > 2:
        return Guess(identifying, f"{seen}; the name suggests a part of names")
    repeated = len(column.values) <= max(filled / 2, 1) or len(column.values) < min(filled, 4)
    # A day on which something happened is known to others, however sensitive what happened is.
    diagnoses = _are_diagnoses(column.values)
    if any(map(_SENSITIVE.fullmatch, words)) and kind != "date" and (repeated or kind or diagnoses):
        return _sensitive(column, f"{seen}; the name suggests a sensitive matter")
    if diagnoses and (repeated or filled < 10):
        return _sensitive(column, f"{seen} that look like diagnoses")
    if any(map(_CODES.fullmatch, words)) and all(map(_NAMED_CODE.fullmatch, column.values)):
        return Guess(_masked(), f"{seen}, codes by the name of the column")
    if kind == "date":
        return Guess(_quasi(_dates(column.values, notation)), f"{seen}, all dates{doubt}", notation)
    if kind is not None:
        return _guess_numbers(column, kind, notation, doubt)
    if not repeated:
        return Guess(identifying, f"{seen}, nearly one for each row: look at it")
    return _guess_categories(column)


def _quasi(domain: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": "quasi", **domain}


def _masked() -> dict[str, Any]:
    return _quasi({"kind": "tree", "hierarchy": {"mask": "right"}})


def _sensitive(column: Profile, reason: str) -> Guess:
    """A sensitive column; between codes of diagnoses distances are known."""
    entry: dict[str, Any] = {"role": "sensitive"}
    if len(column.values) > 1 and all(map(_ICD.fullmatch, column.values)):
        entry |= {"kind": "tree", "hierarchy": {"mask": "right"}}
    return Guess(entry, reason)


def _are_diagnoses(values: Sequence[str]) -> bool:
    """Whether values are diagnoses by their shape; codes of one letter may be anything."""
    return all(map(_ICD.fullmatch, values)) and len({value[0] for value in values}) > 1


def _pointer(values: Sequence[str], words: set[str]) -> str:
    """Name what nearly all values are that point to one person; nothing if they are not."""
    for what, pattern in _POINTERS.items():
        matched = sum(pattern.fullmatch(value.strip()) is not None for value in values)
        if matched > 0.8 * len(values):
            return what
    if any(map(_PLACES.fullmatch, words)):
        return ""
    persons = sum(_PERSON.fullmatch(value.strip()) is not None for value in values)
    if persons > max(0.8 * len(values), MAX_BASE):
        return "which look like names of people"
    return ""


def _guess_numbers(column: Profile, kind: Kind, notation: Notation, doubt: str) -> Guess:
    seen, filled = _seen(column), int(column.counts.sum())
    scale = Scale(kind, notation=notation)
    if kind == "integer" and _is_numbering(scale, column.values, filled):
        return Guess({"role": "identifying"}, f"{seen}, one for each row like a number")
    numbers = _numbers(scale, column.values)
    return Guess(_quasi(numbers), f"{seen}, all {kind}s{doubt}", notation)


def _guess_categories(column: Profile) -> Guess:
    seen, values = _seen(column), column.values
    words = sum(len(value.split()) for value in values) / len(values)
    long = max(map(len, values)) > _MAX_CATEGORY or words > _MAX_WORDS
    if long and column.counts.sum() < _OFTEN * len(values):
        return Guess({"role": "identifying"}, f"{seen}, texts rather than categories: look at them")
    if len(values) > MAX_BASE:
        if all(map(_CODE.fullmatch, values)):
            return Guess(_masked(), f"{seen}, codes: their last characters are hidden first")
        rule = {"kind": "tree", "hierarchy": {"frequency": 4}}
        why = "too many to put in order: rare ones are merged first, unless you give a hierarchy"
        return Guess(_quasi(rule), f"{seen}, {why}")
    order = _known_order(values) or sorted(values, key=_natural)
    if len(order) > 2 and not _known_order(values):
        seen += ", in the order of the alphabet: put like beside like, or give a hierarchy"
    return Guess(_quasi({"kind": "ordered", "order": order}), seen)


def _known_order(values: Sequence[str]) -> list[str]:
    """Values in the order of a scale that has them all, or of numbers; nothing if there is none.

    Those that are no answers come last.

    Examples
    --------
    >>> _known_order(["25 - 45", "Greater than 45", "Less than 25", "unknown"])
    ['Less than 25', '25 - 45', 'Greater than 45', 'unknown']
    """
    last = [value for value in values if value.casefold().strip() in _NO_ANSWERS]
    placed = [value for value in values if value not in last]
    if len(placed) < 2:
        return []
    for scale in _ORDERS:
        if all(value.casefold().strip() in scale for value in placed):
            order = sorted(placed, key=lambda value: (scale.index(value.casefold().strip()), value))
            return order + last
    bands = [(place, value) for value in placed if (place := _band(value)) is not None]
    return [value for _, value in sorted(bands)] + last if len(bands) == len(placed) else []


def _band(value: str) -> tuple[int, int] | None:
    """The first number of a band, and whether the band is below it, from there on, or above it."""
    match = _BAND.fullmatch(value.casefold().strip())
    if match is None:
        return None
    first = int(re.sub("[.,]", "", match["first"]))
    above = bool(match["above"] or _UPWARDS.fullmatch(match["rest"]))
    return first, above - bool(match["below"])


def _seen(column: Profile) -> str:
    return counted(len(column.values), "different value")


def words_of(name: str) -> set[str]:
    """Words of a column's name, in lower case without accents; ``PatientID`` has two."""
    parts = unicodedata.normalize("NFKD", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).casefold())
    letters = "".join(each for each in parts if not unicodedata.combining(each))
    return set(re.findall(r"[^\W\d_]+", letters))


def _read(values: Sequence[str]) -> tuple[Kind | None, list[Notation]]:
    """Narrowest type that fits all values, and how they are written, or else might be.

    Numbers with leading zeros are codes, hence text; dates may have them.
    """
    found, notations = recognize(values) or ("", [PLAIN])
    are_codes = any(map(_LEADING_ZERO.match, values))
    kinds: tuple[Kind, ...] = ("date",) if are_codes else ("date", "integer", "decimal")
    for kind in kinds if values else ():
        if found and (kind == "date") != (found == "date"):
            continue
        if not Scale(kind, notation=notations[0]).misfits(values):
            return kind, notations
    return None, [PLAIN]


def _places(scale: Scale, values: Sequence[str]) -> list[Fraction]:
    return sorted(Fraction(place) for place in scale.places(values) if place is not None)


def _is_numbering(scale: Scale, values: Sequence[str], filled: int) -> bool:
    """Whether integers look like identifiers: no two rows alike and dense, or long.

    Amounts differ in length where none is repeated.
    """
    if filled < 10:
        return False
    places = _places(scale, values)
    if len(values) > filled / 2 and places[0] >= 10**8:
        return True
    lengths = {len(value) for value in values}
    if len(values) > 0.95 * filled and filled >= 100 and len(lengths) == 1 and max(lengths) > 5:
        return True
    if len(values) < filled:
        return False
    span = places[-1] - places[0] + 1
    return span == filled or (filled >= 100 and span <= 2 * filled)


def _natural(value: str) -> tuple[list[tuple[int, int, str]], str]:
    """Sort key in which numbers inside a text count as numbers: 2nd before 10th."""
    parts = (part for part in _NUMBER.split(value) if part)
    return [(0, int(p), "") if _NUMBER.fullmatch(p) else (1, 0, p.casefold()) for p in parts], value


# -- domains -------------------------------------------------------------------------------------


def _numbers(scale: Scale, values: Sequence[str]) -> dict[str, Any]:
    """Cover numbers by steps of a round width; the range is rounded outwards."""
    places = _places(scale, values)
    low, high = places[0], places[-1]
    plain = [text for text in scale.notation.plain_numbers(values) if text is not None]
    digits = min(int(Decimal(text).normalize().as_tuple().exponent) for text in plain)
    finest = Fraction(10) ** min(digits, 0)  # no finer than the numbers are written
    for width in _round_widths(max(finest, (high - low) / MAX_STEPS)):
        first, last = low // width, high // width
        if last - first < MAX_STEPS:
            break
    start, end = first * width, (last + 1) * width
    if scale.type == "integer":
        end -= 1
    elif (
        # A range of decimals includes its end; but no two values are merged that need not be.
        high == last * width > first * width and (width > finest or places[-2] < (last - 1) * width)
    ):
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


def _dates(values: Sequence[str], notation: Notation) -> dict[str, Any]:
    """Cover dates by the finest unit of the calendar that gives few enough steps."""
    no_days = notation.format is not None and "%d" not in notation.format
    units = [unit for unit, (months, _) in DATE_UNITS.items() if months or not no_days]
    few = (unit for unit in units if _date_steps(unit, values, notation)[1] <= MAX_STEPS)
    unit = next(few, "decade")
    months, width = DATE_UNITS[unit]
    (first, count), scale = _date_steps(unit, values, notation), Scale("date", months)
    end = scale.text(Fraction(first + count * width - 1), last=True)
    return _interval(unit, scale.text(Fraction(first)), end)


def _date_steps(unit: str, values: Sequence[str], notation: Notation) -> tuple[int, int]:
    """First day or month of the steps of a unit that cover all dates, and how many steps."""
    months, width = DATE_UNITS[unit]
    offset = 0 if months else _MONDAY
    places = _places(Scale("date", months, notation), values)
    first, last = ((int(places[end]) - offset) // width for end in (0, -1))
    return first * width + offset, last - first + 1
