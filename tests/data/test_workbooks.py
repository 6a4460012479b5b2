"""Workbooks that say something else than they hold, or hold more than they should."""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import openpyxl
import pytest

from moanon.cli import main
from moanon.data import spreadsheets
from tests.data.reading import open_source, refusal, rows

HEAD = '<?xml version="1.0"?>'
MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
SHEET = "xl/worksheets/sheet1.xml"
PEOPLE = (
    '<row r="1"><c r="A1" t="inlineStr"><is><t>age</t></is></c></row>'
    '<row r="2"><c r="A2"><v>39</v></c></row>'
)
LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in pairwise("abcdefghi"))
    + "]>"
)


def parts_of(folder: Path) -> dict[str, bytes]:
    """The parts of an ordinary workbook."""
    openpyxl.Workbook().save(folder / "plain.xlsx")
    with ZipFile(folder / "plain.xlsx") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def book(folder: Path, sheet: str, **others: str) -> Path:
    """A workbook whose sheet is written by hand, as may be other parts."""
    parts = parts_of(folder) | {SHEET: sheet.encode()}
    parts |= {f"xl/{name}.xml": text.encode() for name, text in others.items()}
    with ZipFile(folder / "t.xlsx", "w", ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return folder / "t.xlsx"


def sheet(data: str, claimed: str = "") -> str:
    dimension = f'<dimension ref="{claimed}"/>' if claimed else ""
    return f"{HEAD}<worksheet {MAIN}>{dimension}<sheetData>{data}</sheetData></worksheet>"


def lines(count: int) -> str:
    """A line of names and as many rows of two cells."""
    named = '<c r="{0}1" t="inlineStr"><is><t>{1}</t></is></c>'
    first = "".join(named.format(*pair) for pair in ("Aa", "Bb"))
    others = (
        f'<row r="{r}"><c r="A{r}"><v>{r}</v></c><c r="B{r}"><v>{r % 3}</v></c></row>'
        for r in range(2, count + 2)
    )
    return f'<row r="1">{first}</row>{"".join(others)}'


@pytest.mark.parametrize("claimed", ["", "A1", "A1:B11", "A1:A21", "B3:B4", "A1:XFD1048576"])
def test_what_is_written_counts_whatever_the_sheet_claims(tmp_path: Path, claimed: str) -> None:
    path = book(tmp_path, sheet(lines(20), claimed))
    assert rows(open_source(path)) == [(str(r), str(r % 3)) for r in range(2, 22)]


def test_rows_and_cells_need_no_numbers(tmp_path: Path) -> None:
    bare = "<row><c t='str'><v>a</v></c></row><row/><row><c><v>1</v></c></row>"
    assert rows(open_source(book(tmp_path, sheet(bare)))) == [("1",)]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ('<row r="2"><c><v>7</v></c></row>', "row 2 of the sheet 'Sheet' is written behind row 2"),
        ('<row r="1"><c><v>7</v></c></row>', "row 1 of the sheet 'Sheet' is written behind row 2"),
        ('<row r="1048577"><c><v>7</v></c></row>', "is behind the last that a sheet can have"),
        ('<row r="99999999999"><c><v>7</v></c></row>', "is behind the last that a sheet can have"),
        ('<row><c r="A3"><v>7</v></c><c r="A3"><v>8</v></c></row>', "has two values in column 1"),
        ('<row><c r="XFE3"><v>7</v></c></row>', "behind the last column that a sheet can have"),
    ],
)
def test_a_row_that_cannot_be_is_refused(tmp_path: Path, data: str, said: str) -> None:
    path = book(tmp_path, sheet(PEOPLE + data))
    assert refusal(path).startswith(f"{path}, row ")
    assert said in refusal(path)


# -- bombs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [SHEET, "xl/workbook.xml", "xl/styles.xml", "[Content_Types].xml"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_document_types_are_refused(tmp_path: Path, part: str, encoding: str) -> None:
    path, parts = tmp_path / "t.xlsx", parts_of(tmp_path)
    text = (
        parts[part].decode().removeprefix("<?xml version='1.0' encoding='UTF-8' standalone='yes'?>")
    )
    parts[part] = f"<?xml version='1.0' encoding='{encoding}'?>{LAUGHS}{text}".encode(encoding)
    with ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    assert refusal(path) == (
        f"{path} cannot be read: its part {part} declares a document type, which no workbook "
        "needs; save it anew"
    )


def shared(folder: Path, texts: str) -> Path:
    """A workbook with texts that cells share."""
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    listed = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/></Types>'
    path = book(folder, sheet(PEOPLE), sharedStrings=f"{HEAD}{texts}")
    with ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    types = parts["[Content_Types].xml"].decode()
    if "sharedStrings" not in types:
        parts["[Content_Types].xml"] = types.replace("</Types>", listed).encode()
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def test_entities_in_shared_texts_are_refused(tmp_path: Path) -> None:
    path = shared(tmp_path, f"{LAUGHS}<sst {MAIN}><si><t>&i;</t></si></sst>")
    assert "its part xl/sharedStrings.xml declares a document type" in refusal(path)


TOO_LARGE = "unpacks to more than a workbook should hold; save the sheet as CSV"


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that a test can reach at once."""
    monkeypatch.setattr(spreadsheets, "SMALL_PART", 1 << 18)
    monkeypatch.setattr(spreadsheets, "MOST_WHOLE", 1 << 19)
    monkeypatch.setattr(spreadsheets, "MOST_HELD", 1 << 20)
    monkeypatch.setattr(spreadsheets, "MOST_STREAMED", 1 << 21)


@pytest.mark.usefixtures("small_limits")
def test_a_part_of_nothing_but_blanks_is_refused(tmp_path: Path) -> None:
    path = book(tmp_path, sheet(PEOPLE + " " * (1 << 19)))
    assert refusal(path) == f"{path} cannot be read: its part {SHEET} {TOO_LARGE}"


@pytest.mark.usefixtures("small_limits")
def test_a_part_that_is_held_has_a_smaller_limit_than_a_sheet(tmp_path: Path) -> None:
    text = "".join(f"<!-- {number} -->" for number in range(100_000))
    data = sheet(PEOPLE).replace("</sheetData>", f"{text}</sheetData>")
    assert rows(open_source(book(tmp_path, data))) == [("39",)]
    path = shared(tmp_path, f"<sst {MAIN}>{text}</sst>")
    assert refusal(path) == f"{path} cannot be read: its part xl/sharedStrings.xml {TOO_LARGE}"
    half = f"{HEAD}<styleSheet {MAIN}>{text[: len(text) // 2]}</styleSheet>"
    path = book(tmp_path, sheet(PEOPLE), styles=half)
    assert refusal(path) == f"{path} cannot be read: its part xl/styles.xml {TOO_LARGE}"


@pytest.mark.usefixtures("small_limits")
def test_an_archive_that_hides_the_size_of_a_part_is_refused(tmp_path: Path) -> None:
    path = book(tmp_path, sheet(PEOPLE + " " * (1 << 22)))
    with ZipFile(path) as archive:
        size = archive.getinfo(SHEET).file_size
    path.write_bytes(path.read_bytes().replace(struct.pack("<I", size), struct.pack("<I", 5000)))
    assert refusal(path).startswith(f"{path} cannot be read: ")


def test_limits_are_generous() -> None:
    assert spreadsheets.MOST_STREAMED >= 1 << 31
    assert spreadsheets.MOST_HELD >= 1 << 28
    assert spreadsheets.MOST_WHOLE >= 1 << 25


@pytest.mark.parametrize("command", ["init", "check", "run"])
def test_every_command_refuses_a_bomb_with_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    path = book(tmp_path, sheet(PEOPLE).replace(HEAD, HEAD + LAUGHS))
    config = tmp_path / "t.yaml"
    config.write_text("data: {source: t.xlsx}\ncolumns: {age: {role: quasi, kind: interval}}\n")
    given = [path, "--out", tmp_path / "new.yaml"] if command == "init" else [config]
    assert main([command, *map(str, given)]) == 2
    said = capsys.readouterr()
    assert "declares a document type" in said.err
    assert len(said.err.splitlines()) == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == ["plain.xlsx", "t.xlsx", "t.yaml"]
