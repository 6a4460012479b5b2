"""Answers in words: plain text, HTML, and what the printer makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from moanon.cli.application import show
from moanon.wording import Grid, Part, Worded, counted, facts
from tests.cli.commands import Captured


@dataclass(frozen=True)
class _Answer(Worded):
    def parts(self, *, everything: bool = False) -> Iterator[Part]:
        yield "Two <groups>; replace them with force=True"
        rows = [("a\nb", "5"), ("c", "1,200")]
        yield Grid(("name", "k"), rows if everything else rows[:1], right=(1,))
        yield "note: that is all"


def test_an_answer_is_its_text() -> None:
    first, *grid, note = str(_Answer()).split("\n")
    assert first == "Two <groups>; replace them with force=True"
    assert grid[-1].split() == ["b", "5"]
    assert note == "note: that is all"
    assert "1,200" in _Answer().text(everything=True)


def test_numbers_stand_on_the_right_of_a_plain_grid() -> None:
    @dataclass(frozen=True)
    class Aligned(Worded):
        def parts(self, *, everything: bool = False) -> Iterator[Part]:
            yield Grid(("name", "k"), [("a", "5"), ("b", "1,200")], right=(1,))

    assert str(Aligned()).split("\n") == ["name      k", "a         5", "b     1,200"]


def test_a_notebook_shows_an_answer_and_runs_nothing_in_it() -> None:
    page = _Answer()._repr_html_()
    assert "<p>Two &lt;groups&gt;; replace them with force=True</p>" in page
    assert "<th>name</th><th>k</th>" in page
    assert "<td>5</td>" in page


def test_the_printer_escapes_cells_and_names_options(capsys: Captured) -> None:
    show(_Answer())
    out, err = capsys.readouterr()
    assert out.startswith(" Two <groups>; replace them with --force\n")
    assert r"a\nb" in out
    assert " note: that is all\n" in out
    assert err == ""


def test_notes_can_go_aside(capsys: Captured) -> None:
    show(_Answer(), notes_aside=True)
    out, err = capsys.readouterr()
    assert "note" not in out
    assert err == "note: that is all\n"


def test_counts_and_facts_are_written_for_people() -> None:
    assert [counted(1, "row"), counted(2000, "row")] == ["1 row", "2,000 rows"]
    assert list(facts({"k": "5", "loss": "10%"}, " ")) == [
        " k                   5",
        " loss                10%",
    ]
