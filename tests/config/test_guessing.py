"""What columns are is guessed from names and values, on the safe side."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest
import yaml

from moanon.config import Config
from moanon.config.guessing import guess, missing_tokens
from moanon.config.starter import write_starter
from tests.data.columns import column_of

ROWS = 600
FIRST = ["Anna", "Bert", "Carla", "Dirk", "Eva", "Fritz", "Grete", "Hans", "Ida", "Jens"]
LAST = ["Schmidt", "Müller", "Olsen", "Rossi", "Dubois", "Novak", "Smith", "Larsen", "Costa"]
WORDS = ["the", "patient", "was", "seen", "after", "some", "weeks", "and", "felt", "better"]
ICD = [f"{letter}{i:02d}.{j}" for letter in "EIJ" for i in range(10, 20) for j in range(3)]
NAICS = [f"{i}" for i in range(111110, 111120)] + [f"{i}" for i in range(541110, 541190, 3)]
LIKERT = ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"]


def _day(rng: random.Random) -> date:
    return date(1935, 1, 1) + timedelta(days=rng.randrange(27_000))


def _money(rng: random.Random, form: str) -> str:
    text = f"{rng.randrange(50_000, 900_000) / 100:,.2f}"
    if form == "german":
        return text.translate(str.maketrans(",.", ".,"))
    return f"${text}" if form == "dollars" else text.replace(",", "")


Maker = Callable[[random.Random], object]
#: Columns as people have them: how a cell is made, the role, and the kind of domain.
COLUMNS: dict[str, tuple[Maker, str, str | None]] = {
    "zip": (lambda r: f"{r.randrange(1000, 1400):05d}", "quasi", "tree"),
    "icd10": (lambda r: r.choice(ICD), "sensitive", "tree"),
    "naics": (lambda r: r.choice(NAICS), "quasi", "tree"),
    "contact": (lambda r: f"+49 {r.randrange(100, 999)} {r.randrange(10**6)}", "identifying", None),
    "reach": (
        lambda r: f"{r.choice(FIRST).lower()}{r.randrange(99)}@mail.org",
        "identifying",
        None,
    ),
    "bank": (lambda r: f"DE{r.randrange(10, 99)}{r.randrange(10**18):018d}", "identifying", None),
    "born": (lambda r: _day(r).isoformat(), "quasi", "interval"),
    "admitted": (lambda r: _day(r).strftime("%d.%m.%Y"), "quasi", "interval"),
    "discharged": (lambda r: _day(r).strftime("%m/%d/%Y"), "quasi", "interval"),
    "seen": (lambda r: _day(r).strftime("%Y%m%d"), "quasi", "interval"),
    "moved": (lambda r: _day(r).strftime("%d %b %Y"), "quasi", "interval"),
    "rent": (lambda r: _money(r, "german"), "quasi", "interval"),
    "premium": (lambda r: _money(r, "dollars"), "quasi", "interval"),
    "bill": (lambda r: _money(r, "plain"), "quasi", "interval"),
    "age": (lambda r: r.randrange(18, 95), "quasi", "interval"),
    "year": (lambda r: r.randrange(1950, 2020), "quasi", "interval"),
    "smoker": (lambda r: r.choice(["yes", "no"]), "quasi", "ordered"),
    "trust": (lambda r: r.choice(LIKERT), "quasi", "ordered"),
    "who": (lambda r: f"{r.choice(FIRST)} {r.choice(LAST)}", "identifying", None),
    "remark": (lambda r: " ".join(r.choices(WORDS, k=9)), "identifying", None),
    "latitude": (lambda r: f"{r.uniform(47, 55):.5f}", "quasi", "interval"),
    "longitude": (lambda r: f"{r.uniform(-2, 15):.5f}", "quasi", "interval"),
    "record": (lambda r: f"{r.randrange(16**12):012x}", "identifying", None),
    "host": (
        lambda r: f"10.{r.randrange(9)}.{r.randrange(99)}.{r.randrange(9)}",
        "identifying",
        None,
    ),
    "town": (lambda r: f"{r.choice(LAST)}{r.choice(['burg', 'dorf', ''])}", "quasi", "ordered"),
}


@pytest.fixture(scope="module")
def proposed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rng = tmp_path_factory.mktemp("people"), random.Random(1)
    with (folder / "people.csv").open("w", encoding="cp1252", newline="") as stream:
        writer = csv.writer(stream, delimiter=";")
        writer.writerow(COLUMNS)
        for _ in range(ROWS):
            writer.writerow([make(rng) for make, _, _ in COLUMNS.values()])
    return write_starter(folder / "people.csv")[0]


def test_columns_as_people_have_them_are_recognized(proposed: Path) -> None:
    columns = yaml.safe_load(proposed.read_text())["columns"]
    found = {name: (entry["role"], entry.get("kind")) for name, entry in columns.items()}
    expected = {name: (role, kind) for name, (_, role, kind) in COLUMNS.items()}
    assert len(expected) == 25
    assert found == expected


def test_what_is_proposed_says_how_the_file_is_written(proposed: Path) -> None:
    config = yaml.safe_load(proposed.read_text())
    assert config["data"]["encoding"] == "latin-1"
    columns = config["columns"]
    assert [columns[name]["format"] for name in ("admitted", "discharged", "seen", "moved")] == [
        *("%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "%d %b %Y"),
    ]
    assert columns["premium"]["unit"] == "$"
    assert columns["trust"]["order"] == LIKERT
    assert columns["zip"]["hierarchy"] == {"mask": "right"}
    assert Config.load(proposed).instance().table.rows == ROWS


def test_comments_tell_levels_and_what_is_merged(proposed: Path) -> None:
    text = " ".join(proposed.read_text().replace("#", " ").split())
    assert "codes by the name of the column; levels of the hierarchy: 40 such as 0100*" in text
    assert "before anything is searched" in text


def _french(number: float) -> str:
    return f"{number:,.2f} €".translate(str.maketrans(",.", " ,"))


def _digits(rng: random.Random, *lengths: int, by: str = " ") -> str:
    return by.join(f"{rng.randrange(10**length):0{length}d}" for length in lengths)


SATISFIED = ["sehr unzufrieden", "unzufrieden", "neutral", "zufrieden", "sehr zufrieden"]
BANDS = ["Under 18", "18 to 24", "25-44", "45-64", "65+"]
#: Others, under headers in other languages and with other spellings.
FOREIGN: dict[str, tuple[Maker, str, str | None]] = {
    "postcode": (
        lambda r: f"{r.choice('EN')}{r.randrange(1, 9)} {r.randrange(9)}AB",
        "quasi",
        "tree",
    ),
    "Hauptdiagnose": (lambda r: r.choice(ICD).lower(), "sensitive", "tree"),
    "Branche (NACE)": (lambda r: _digits(r, 2, 2, by="."), "quasi", "tree"),
    "Téléphone": (lambda r: _digits(r, 2, 2, 2, 2, 2, by="."), "identifying", None),
    "cell": (lambda r: f"({_digits(r, 3)}) {_digits(r, 3, 4, by='-')}", "identifying", None),
    "Courriel": (lambda r: f"{r.choice(LAST)}_{r.randrange(50)}@EXEMPLE.FR", "identifying", None),
    "giro": (lambda r: f"GB29 NWBK {_digits(r, 4, 4, 4, 2)}", "identifying", None),
    "Geburtsdatum": (lambda r: f"{(d := _day(r)).day}.{d.month}.{d.year}", "quasi", "interval"),
    "date FR": (lambda r: _day(r).strftime("%d/%m/%y"), "quasi", "interval"),
    "visit": (lambda r: _day(r).strftime("%b %d, %Y"), "quasi", "interval"),
    "timestamp": (lambda r: f"{_day(r)}T{r.randrange(24):02d}:30:00", "quasi", "interval"),
    "since": (lambda r: _day(r).strftime("%Y-%m"), "quasi", "interval"),
    "Loyer": (lambda r: _french(r.uniform(300, 4000)), "quasi", "interval"),
    "Miete": (lambda r: f"CHF {r.uniform(300, 4000):,.2f}".replace(",", "'"), "quasi", "interval"),
    "Gehalt": (lambda r: _money(r, "german"), "sensitive", None),
    "Alter": (lambda r: r.randrange(100), "quasi", "interval"),
    "Baujahr": (lambda r: r.randrange(1900, 2024), "quasi", "interval"),
    "fumeur": (lambda r: r.choice(["oui", "non"]), "quasi", "ordered"),
    "Zufriedenheit": (lambda r: r.choice(SATISFIED), "quasi", "ordered"),
    "age_group": (lambda r: r.choice(BANDS), "quasi", "ordered"),
    "Patient": (lambda r: f"{r.choice(LAST)}, {r.choice(FIRST)}", "identifying", None),
    "NOM": (lambda r: r.choice(LAST).upper(), "identifying", None),
    "home": (lambda r: f"{r.randrange(1, 9)} {r.choice(LAST)} Street", "identifying", None),
    "Bemerkung": (lambda r: " ".join(r.choices(WORDS, k=7)), "identifying", None),
    "lat": (lambda r: f"{r.uniform(43, 50):.6f}".replace(".", ","), "quasi", "interval"),
    "Kundennr": (lambda r: r.randrange(10_000, 99_999), "identifying", None),
    "DUPERSID": (lambda r: r.randrange(60_000_000, 80_000_000), "identifying", None),
    "telephone": (lambda r: r.choice(["A191", "A192"]), "quasi", "ordered"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_other_spellings_are_recognized(name: str) -> None:
    make, role, kind = FOREIGN[name]
    rng = random.Random(name)
    entry = guess(column_of([str(make(rng)) for _ in range(ROWS)], name)).entry
    assert (entry["role"], entry.get("kind")) == (role, kind)


@pytest.mark.parametrize(
    "order",
    [
        SATISFIED,
        BANDS,
        ["Less than 25", "25 - 45", "Greater than 45"],
        ["<1,000", "1,000 - 9,999", "10,000 and over"],
        ["no", "yes", "unknown"],
    ],
)
def test_scales_and_bands_keep_their_order(order: list[str]) -> None:
    assert guess(column_of(sorted(order) * 20)).entry["order"] == order


def test_months_are_never_shown_as_days() -> None:
    cells = [f"2020-{month:02d}" for month in (1, 2, 3)] * 20
    assert guess(column_of(cells)).entry["granularity"] == "month"


@pytest.mark.parametrize(
    ("cells", "tokens"),
    [
        (["1", "2", "-9"], ["-9"]),
        (["1", "2", "-1", "-8"], ["-1", "-8"]),
        (["1", "-1"], []),
        (["1", "-9", "-12"], []),
        (["a", "b", "?", "NA"], ["?", "NA"]),
        (["a", "b", "-9"], ["-9"]),
        (["none", "some"], []),
        (["1,5", "2,5", "none"], ["none"]),
        (["31.12.1999", "unknown"], ["unknown"]),
    ],
)
def test_texts_that_mean_no_value_are_found(cells: list[str], tokens: list[str]) -> None:
    assert missing_tokens([column_of(cells)]) == tokens


def test_a_token_that_is_a_value_elsewhere_is_left_alone() -> None:
    assert missing_tokens([column_of(["1", "-9"]), column_of(["-9", "-12"], "y")]) == []


def test_a_number_that_may_mean_no_value_does_so_where_others_say_it() -> None:
    assert missing_tokens([column_of(["1", "-1"]), column_of(["2", "-1", "-8"], "y")]) == [
        "-1",
        "-8",
    ]


def test_a_second_reading_of_dates_is_told() -> None:
    cells = [f"{day:02d}/{month:02d}/2020" for day in range(1, 12) for month in (3, 4)] * 2
    assert "(or written as format: '%m/%d/%Y')" in guess(column_of(cells)).reason


def test_parts_of_names_are_identifying_where_they_are_texts() -> None:
    names = column_of(["Anna", "Bert", "Carla"] * 30, "first")
    assert guess(names).role == "identifying"
    assert guess(column_of(["1", "2", "3"] * 30, "first")).role == "quasi"


def test_days_are_known_to_others_however_sensitive_what_happened_is() -> None:
    days = [f"2020-{month:02d}-{day:02d}" for month in range(1, 13) for day in range(1, 29)]
    assert guess(column_of(days, "offense_date")).entry["role"] == "quasi"


def test_codes_of_one_letter_are_no_diagnoses() -> None:
    assert guess(column_of(["A11", "A12", "A13"] * 20, "c1")).role == "quasi"
    assert guess(column_of(["A11", "E11", "I10"] * 20, "c1")).role == "sensitive"


def test_long_texts_that_many_rows_have_are_categories() -> None:
    texts = ["Native- Born in the United States", "Foreign born- Not a citizen of U S"]
    assert guess(column_of(texts * 100, "citizenship")).entry["kind"] == "ordered"
    assert guess(column_of(texts * 10, "citizenship")).role == "identifying"


def test_towns_are_no_people() -> None:
    towns = [
        f"{new} {town}{end}"
        for new in ("New", "Old", "East", "West")
        for town in ("Haven", "Bridge", "Port", "Ford", "Mill")
        for end in ("", "ton", "ville")
    ]
    assert guess(column_of(towns * 5, "city")).entry["kind"] == "tree"
    assert guess(column_of(towns * 5, "who")).role == "identifying"
