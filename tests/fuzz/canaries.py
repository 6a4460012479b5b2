"""Whether values that must stay with the table are in any file that moanon makes of it.

The table has values that stand nowhere else (`tests.fuzz.material`). Every command is given it, and
whatever was written or said is then searched, also inside of archives, arrays, pictures and pages:

- names, notes that no configuration mentions, exact incomes and dates are nowhere;
- towns with a single person are in no release, and in results only as labels of a solution; where
  a rule made the tree of towns from the table, only as labels that a kept row shows;
- sensitive values are in releases only, and only in those that keep a row with them.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import html
import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from random import Random

import duckdb
import numpy as np

from moanon.cli import main
from moanon.experiment import load_front
from tests import naive
from tests.fuzz.material import CONFIG, People, draw_people, make_material, write_table
from tests.release.tables import one_database

#: Files that hold the table or describe it; they were there before.
INPUTS = frozenset(
    {"people.csv", "people.parquet", "people.yaml", "town.yaml", "ill.csv", "later.csv"}
)
#: Results whose tree of towns was made from the table, and how. Nothing else is generalized, so the
#: best solutions show the common towns and suppress the rare ones.
RULES = {"masked": "{mask: right}", "ranked": "{frequency: 3}"}
_MADE = """\
data: {{source: people.csv, missing: category, missing_tokens: ['', '?'], delimiter: ','}}
columns: {{town: {{role: quasi, kind: tree, hierarchy: {rule}}}, ill: {{role: sensitive}}}}
problem: {{preset: k-suppression, eta: 0.3, constraints: {{k: {{min: 2}}}}}}
"""
#: Letters of a town that a masked one shows may be so many; more would be telling.
_HEAD = 7
_BASE64 = re.compile(rb"[A-Za-z0-9+/]{40,}={0,2}")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")


# -- looking into files ----------------------------------------------------------------------------


def found_in(path: Path, values: Iterable[str]) -> set[str]:
    """Which of some texts a file holds, in whatever form."""
    views = list(_views(path.read_bytes()))
    if path.suffix == ".parquet":
        rows = duckdb.connect().sql(f"SELECT CAST(COLUMNS(*) AS VARCHAR) FROM '{path}'").fetchall()
        views.append(repr(rows).encode())
    haystack = b"\0".join(views).lower()
    return {value for value in values if any(form in haystack for form in _forms(value))}


def _forms(value: str) -> list[bytes]:
    """How a text can be written: in letters, or as a number."""
    forms = [value.lower().encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-32-le")]
    with suppress(ValueError):
        forms += [struct.pack("<d", float(value)).lower(), struct.pack(">d", float(value)).lower()]
    return forms


def _views(content: bytes, depth: int = 3) -> Iterator[bytes]:
    """The bytes themselves, and what is packed into them."""
    yield content
    if depth == 0:
        return
    for inner in _unpacked(content):
        yield from _views(inner, depth - 1)


def _unpacked(content: bytes) -> Iterator[bytes]:
    if content[:2] == b"PK":
        with suppress(zipfile.BadZipFile), zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                yield name.encode()
                yield archive.read(name)
    elif content[:6] == b"\x93NUMPY":
        array = np.load(io.BytesIO(content), allow_pickle=False)
        yield np.ascontiguousarray(array).tobytes()
    elif content[:2] == b"\x1f\x8b":
        yield gzip.decompress(content)
    elif content[:8] == b"\x89PNG\r\n\x1a\n":
        yield from _chunks(content)
    else:
        text = content.decode("utf-8", errors="ignore")
        yield html.unescape(_ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)).encode(
            errors="ignore"
        )
        for run in _BASE64.findall(content):
            with suppress(binascii.Error):
                yield base64.b64decode(run[: len(run) // 4 * 4])


def _chunks(content: bytes) -> Iterator[bytes]:
    """What a PNG file says beside its picture, also if it was deflated."""
    at = 8
    while at + 8 <= len(content):
        (length,) = struct.unpack(">I", content[at : at + 4])
        kind, data = content[at + 4 : at + 8], content[at + 8 : at + 8 + length]
        at += length + 12
        if kind != b"IDAT":
            for start in range(len(data)):
                if data[start : start + 1] == b"\x78":
                    with suppress(zlib.error):
                        yield zlib.decompress(data[start:])


# -- making everything of a table ------------------------------------------------------------------


def leaks(folder: Path, seed: int, *, pictures: bool = True) -> tuple[int, int, list[str]]:
    """Give a table to every command in an empty folder; files searched, values, and what leaked."""
    people, others = draw_people(Random(f"now {seed}")), draw_people(Random(f"later {seed}"))
    new = {name: others.columns[name] for name in ("name", "memo")}
    later = People({**people.columns, **new}, people.towns, people.ills)
    with one_database():
        config = CONFIG
        if pictures:
            config = config.replace("plots: false, report: false", "plots: true, report: true")
        make_material(folder, people, config)
        write_table(folder / "later.csv", later)
        for number, words in enumerate(_commands(folder, pictures=pictures)):
            _say(folder / f"said-{number}-{words[0]}.txt", words)
        secrets = [
            value
            for each in (people, later)
            for name in ("name", "memo", "income", "joined")
            for value in each.columns[name]
        ]
        towns, ills = set(people.towns.leaves), set(people.ills.leaves)
        towns |= {town[:_HEAD] for town in towns}
        rules = _Rules(folder, people)
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        made = [path for path in files if path.parent != folder or path.name not in INPUTS]
        found = []
        for path in made:
            bad = found_in(path, [*secrets, *towns, *ills]) - rules.allowed(path)
            found += [f"{path.relative_to(folder)} holds {value}" for value in sorted(bad)]
    return len(made), len({*secrets, *towns, *ills}), found


def _commands(folder: Path, *, pictures: bool) -> list[list[str]]:
    run, boxes, table = (str(folder / name) for name in ("people", "boxes", "people.csv"))
    config, released = str(folder / "people.yaml"), str(folder / "released.csv")
    parquet, starred = str(folder / "release-2.parquet"), str(folder / "release-3.csv")
    commands = []
    for name, rule in RULES.items():
        made = str(folder / name)
        (folder / f"{name}.yaml").write_text(_MADE.format(rule=rule), encoding="utf-8")
        commands += [
            ["run", f"{made}.yaml", "--out", made],
            ["ask", made, "--min-k", "2", "--show"],
            ["apply", made, "1", str(folder / "later.csv"), "--out", f"{made}-1.csv"],
            ["compare", f"{made}#1", f"{made}#2"],
        ]
    commands += [
        ["export", run, "2", "--out", parquet],
        ["export", run, "3", "--out", starred, "--suppressed", "stars", "--shuffle", "5"],
        ["export", boxes, "2", "--out", str(folder / "boxed-2.csv")],
        ["apply", run, "1", str(folder / "later.csv"), "--out", str(folder / "later-1.csv")],
        ["apply", run, "1", str(folder / "later.csv"), "--out", released],  # refused: it exists
        ["export", run, "999", "--out", parquet],  # refused: no such solution
        ["check", config, "--set", "columns.age.range=[10, 30]"],  # refused: rows outside
        ["check", config, "--set", "columns.joined.kind=ordered"],
        ["ask", run, "--max-loss", "70%"],
        ["ask", boxes, "--min-k", "2", "--json"],
        ["measure", table, released, "--config", config],
        ["compare", f"{run}#1", f"{boxes}#1"],
        ["compare", released, str(folder / "other.csv"), "--original", table, "--config", config],
        ["diagnose", table, "--columns", "age,income,joined,size,town", "--k", "2"],
        ["diagnose", table, "--columns", "income,town", "--subset", "town", "--k", "2",
         "--list-rows", str(folder / "numbers.csv")],
        ["check", config, "--measures"],
        ["init", table, "--out", str(folder / "first.yaml")],
    ]  # fmt: skip
    if pictures:
        commands += [["plot", run], ["report", run], ["report", boxes]]
    return commands


def _say(path: Path, words: list[str]) -> None:
    """Run a command, and write down what it says and how it ended."""
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = main(words)
    path.write_text(f"{code}\n{said.getvalue()}", encoding="utf-8")


class _Rules:
    """Which values may be in which file."""

    def __init__(self, folder: Path, people: People) -> None:
        self._people = people
        self._towns = _shown(folder / "people") | _shown(folder / "boxes")
        self._told = {name: _told(folder / name) for name in RULES}
        fronts = {name: load_front(folder / name) for name in ("people", "boxes")}
        self._kept = {
            "released.csv": fronts["people"].grouping(1).is_kept,
            "later-1.csv": fronts["people"].grouping(1).is_kept,
            **{f"{name}-1.csv": load_front(folder / name).grouping(1).is_kept for name in RULES},
            "other.csv": fronts["people"].grouping(2).is_kept,
            "release-2.parquet": fronts["people"].grouping(2).is_kept,
            "release-3.csv": fronts["people"].grouping(3).is_kept,
            "boxed-2.csv": fronts["boxes"].grouping(2).is_kept,
        }

    def allowed(self, path: Path) -> set[str]:
        return {form for value in self._whole(path) for form in (value, value[:_HEAD])}

    def _whole(self, path: Path) -> set[str]:
        columns = self._people.columns
        common = {town for town in columns["town"] if columns["town"].count(town) > 1}
        if path.parent.name in self._told:
            return self._told[path.parent.name]
        if path.name in self._kept:
            kept = self._kept[path.name]
            return common | {ill for ill, stays in zip(columns["ill"], kept, strict=True) if stays}
        if (
            path.name == "first.yaml"
        ):  # describes the columns, which takes the order of their values
            return {*columns["town"], *columns["ill"]}
        labels = ("solutions.json", "domains.json", "report.html")
        shows_labels = path.name in labels or path.name.startswith("said")
        return self._towns.union(*self._told.values()) if shows_labels else set()


def _shown(folder: Path) -> set[str]:
    """Towns that stand alone in a solution of a results folder, by its genomes or boxes."""
    front = load_front(folder)
    assert front.instance is not None
    tree = front.instance.layout.trees["town"]
    found: set[str] = set()
    for number in front.ids.tolist():
        entry = front.recoding(number)
        if "genome" in entry:
            for block in naive.generalized_rows(front.instance, entry["genome"]):
                start, stop = block[front.instance.layout.columns.index("town")]
                found |= {tree.leaves[start]} if stop - start == 1 else set()
        else:
            found |= set(front.labels[number - 1]["town"])
    return found


def _told(folder: Path) -> set[str]:
    """Labels of towns that a row has which a solution of a results folder keeps."""
    front = load_front(folder)
    found: set[str] = set()
    for number in front.ids.tolist():
        grouping = front.grouping(number)
        found |= set(grouping.labels["town"][grouping.kept].tolist())
    return found
