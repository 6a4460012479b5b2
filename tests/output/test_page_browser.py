"""The page of a report in a real browser: what people see, press and are protected from."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import StringIO
from math import log, log10
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import pytest

from moanon.config import Config
from moanon.experiment.runner import optimize
from moanon.front import Front
from moanon.measures import MEASURES
from moanon.measures.column_effects import column_effects
from moanon.output.page import Tab, write_report
from tests.checkout import QUICKSTART
from tests.output.browser import Browser, Page
from tests.output.fronts import HOSTILE, RECORD, hostile_instance, sampled_front
from tests.search.people import found_front

SELECTED_ROW = "tr[aria-selected=true]"
#: From where to where the axes of a plot go, first the horizontal one.
View = tuple[float, float, float, float]


def shown(selector: str) -> str:
    """An expression for what is shown of several things of one kind, such as the plots of tabs."""
    return f"Array.from(document.querySelectorAll('{selector}')).find(e => e.checkVisibility())"


@dataclass(frozen=True)
class DrawnAxis:
    """An axis as it is seen: its title, numbers and where they stand, and both ends of the frame.

    Everything about a plot is worked out from this, not from what the page believes to have drawn.
    """

    title: str
    ticks: dict[float, float]
    ends: tuple[float, float]

    @property
    def measure(self) -> str:
        return self.title.split(",")[0]

    @property
    def is_log(self) -> bool:
        """Whether equal steps on the screen are equal factors, by the first, middle and last."""
        values = sorted(self.ticks.items())
        (a, x), (b, y), (c, z) = values[0], values[len(values) // 2], values[-1]
        return abs((y - x) / (z - x) - (b - a) / (c - a)) > 0.02

    def scale(self, value: float) -> float:
        return log10(value) if self.is_log else value

    def place(self, value: float) -> float:
        """Where a value of the measure is drawn."""
        shown = 100 * value if self.title.endswith(", %") else value
        (low, start), (high, stop) = min(self.ticks.items()), max(self.ticks.items())
        share = (self.scale(shown) - self.scale(low)) / (self.scale(high) - self.scale(low))
        return start + share * (stop - start)

    def view(self) -> list[float]:
        """What the frame shows, from end to end, in the axis's own numbers."""
        (low, start), (high, stop) = min(self.ticks.items()), max(self.ticks.items())
        whole = self.scale(high) - self.scale(low)
        return [self.scale(low) + (end - start) / (stop - start) * whole for end in self.ends]


class Report:
    """A report in the browser, with the files of its results."""

    def __init__(
        self, page: Page, path: Path, csv: pd.DataFrame, solutions: dict[str, Any]
    ) -> None:
        self.page, self.path, self.csv, self.solutions = page, path, csv, solutions
        #: Of further tabs, where there are any.
        self.others = self.third = pd.DataFrame()

    # -- the plot --------------------------------------------------------------------------------

    def axes(self) -> tuple[DrawnAxis, DrawnAxis]:
        """Both axes of the plot, scrolled into view."""
        told = self.page.run(
            "(p => { scrollTo(0, 0); const r = p.getBoundingClientRect(),"
            "f = p.querySelector('.frame').getBoundingClientRect();"
            "const axis = (a, ends) => ({ title: p.querySelector(`.${a}title`).textContent, ends,"
            "ticks: Array.from(p.querySelectorAll(`.${a}tick`), e => [e.textContent,"
            "r[a] + Number(e.getAttribute(a))]) });"
            "return [axis('x', [f.left, f.right]), axis('y', [f.bottom, f.top])]; })"
            f"({shown('.plot')})"
        )
        # Numbers beside a vertical axis stand with their middle, not their foot, at the place.
        x, y = (
            DrawnAxis(
                axis["title"],
                {float(text.replace(",", "")): at - foot for text, at in axis["ticks"]},
                tuple(axis["ends"]),
            )
            for axis, foot in zip(told, (0, 4), strict=True)
        )
        return x, y

    def point(self, solution: int) -> tuple[float, float]:
        """Where a solution is drawn."""
        x, y = (axis.place(float(self.csv.loc[solution, axis.measure])) for axis in self.axes())
        return x, y

    def inside(self, right: float, down: float) -> tuple[float, float]:
        """A place in the plot, as shares of its frame."""
        (left, most), (bottom, top) = (axis.ends for axis in self.axes())
        return left + right * (most - left), top + down * (bottom - top)

    def view(self) -> View:
        """What the frame shows: both ends of both axes, in the axes' own numbers."""
        x, y = self.axes()
        left, right, low, high = *x.view(), *y.view()
        return left, right, low, high

    def colour(self, solution: int) -> list[int]:
        """Red, green, blue and opacity of what is painted where a solution is drawn."""
        x, y = self.point(solution)
        # By way of another canvas: reading the plot's own often would slow it down.
        found: list[int] = self.page.run(
            "(c => { const r = c.getBoundingClientRect(), s = c.width / r.width,"
            "p = new OffscreenCanvas(1, 1).getContext('2d');"
            f"p.drawImage(c, ({x} - r.x) * s, ({y} - r.y) * s, 1, 1, 0, 0, 1, 1);"
            f"return Array.from(p.getImageData(0, 0, 1, 1).data); }})({shown('.plot canvas')})"
        )
        return found

    def blueness(self, solution: int) -> float:
        """How strongly a solution is painted."""
        red, _, blue, opacity = self.colour(solution)
        return (blue - red) * opacity / 255

    def ring(self) -> tuple[float, float]:
        """Where the ring around the selected solution is drawn."""
        self.page.run("scrollTo(0, 0)")
        place = f"(() => {{ const r = {shown('.ring')}.getBoundingClientRect();"
        x, y = self.page.run(place + "return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        return x, y

    def put(self, axis: str, measure: str) -> None:
        """Choose what an axis, or the colour, shows."""
        self.page.run(
            f"(() => {{ const s = document.querySelector('[data-axis={axis}] select');"
            f"s.value = '{measure}'; s.dispatchEvent(new Event('change')); }})()"
        )

    def drag_to(self, what: str) -> None:
        """Choose what a drag does."""
        self.page.run(
            "Array.from(document.querySelectorAll('.joined button')).find(b => "
            f"b.checkVisibility() && b.textContent === '{what}').click()"
        )

    def listed(self) -> list[int]:
        """Numbers of the solutions that the table lists, as far as they are elements."""
        return [int(row[0]) for row in self.rows()]

    def told(self) -> str:
        """What a plot tells about the point under the pointer."""
        return str(self.page.run(f"{shown('.tip')}?.textContent"))

    # -- the rest --------------------------------------------------------------------------------

    def click_point(self, solution: int) -> None:
        self.page.click_at(*self.point(solution))

    def shown(self) -> int:
        """Number of the solution that is shown in detail."""
        return int(self.page.text(".solution h2").split()[1])

    def numbers(self) -> dict[str, str]:
        """All measures of the solution that is shown in detail."""
        tiles = (pair.split("\n") for pair in self.page.text(".solution .tiles").split("\n\n"))
        found = {}
        flat = [part for pair in tiles for part in pair if part]
        for name, value in zip(flat[::2], flat[1::2], strict=True):
            found[name] = value
        names, values = self.page.texts(".solution dt"), self.page.texts(".solution dd")
        return found | dict(zip(names, values, strict=True))

    def labels(self) -> dict[str, list[str]]:
        """What the columns of that solution show, also where it is folded."""
        found: dict[str, list[str]] = self.page.run(
            "Object.fromEntries(Array.from(document.querySelectorAll('.column')).map(c =>"
            "[c.querySelector('.name').textContent,"
            "Array.from(c.querySelectorAll('.chips li')).map(e =>"
            "(e.querySelector('span') ?? e).textContent)]))"
        )
        return found

    def rows(self) -> list[list[str]]:
        """The rows of the table that are elements."""
        found: list[list[str]] = self.page.run(
            "Array.from(document.querySelectorAll('table[role=grid] tbody tr:not(.gap)'))"
            ".filter(e => e.checkVisibility())"
            ".map(r => Array.from(r.children).map(c => c.textContent))"
        )
        return found


def make_report(page: Page, folder: Path, tabs: list[Tab]) -> Report:
    front = tabs[0].front
    front.save(folder)
    write_report(tabs, folder / "report.html")
    page.open(folder / "report.html")
    solutions = json.loads((folder / "solutions.json").read_text(encoding="utf-8"))
    csv = pd.read_csv(folder / "front.csv", index_col="id")
    return Report(page, folder / "report.html", csv, solutions)


def silent(report: Report) -> bool:
    """Whether the page asked for nothing but itself, and nobody complained."""
    assert report.page.complaints() == []
    assert set(report.page.requests()) == {report.path.as_uri()}
    return True


@pytest.fixture(scope="module")
def report(
    browser: Browser, front: Front, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Report]:
    """One front; each test brings the page to where it wants it."""
    with browser.page() as page:
        tab = Tab("people", front, RECORD, "results/my people", "name: people\n", {2: "knee"})
        yield make_report(page, tmp_path_factory.mktemp("report"), [tab])


@pytest.fixture(scope="module")
def spare(browser: Browser) -> Iterator[Page]:
    """A page for reports that one test looks at."""
    with browser.page() as page:
        yield page


@pytest.fixture(scope="module")
def phone(browser: Browser) -> Iterator[Page]:
    with browser.page() as page:
        page.resize(390, 844, mobile=True)
        yield page


@pytest.fixture(scope="module")
def several(
    browser: Browser, front: Front, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Report]:
    """Two η, and another problem."""
    fronts = [front, found_front(eta=0.3), found_front("any-suppression")]
    titles = ["η = 10 %", "η = 30 %", "any"]
    tabs = [Tab(t, f, RECORD, f"results/{t}") for t, f in zip(titles, fronts, strict=True)]
    with browser.page() as page:
        report = make_report(page, tmp_path_factory.mktemp("several"), tabs)
        report.others, report.third = (front.to_frame().set_index("id") for front in fronts[1:])
        yield report


# -- the front -----------------------------------------------------------------------------------


def test_every_solution_is_a_point_where_its_numbers_say(report: Report, front: Front) -> None:
    report.page.open(report.path)
    for solution in range(1, len(front) + 1):
        assert report.blueness(solution) > 100
        report.click_point(solution)
        assert report.shown() == solution
        assert report.ring() == pytest.approx(report.point(solution), abs=1)
    assert silent(report)


def test_axes_are_named_and_have_round_numbers(report: Report) -> None:
    """Losses from 8.7 % to 100 %, k from 1 to 120 on a logarithmic axis."""
    report.page.open(report.path)
    assert report.page.text(".plot .xtitle") == "k, rows"
    assert report.page.text(".plot .ytitle") == "loss, %"
    assert report.page.texts(".plot .xtick") == ["1", "10", "100"]
    assert report.page.texts(".plot .ytick") == ["20", "40", "60", "80", "100"]
    assert [axis.is_log for axis in report.axes()] == [True, False]


def test_an_axis_can_be_made_linear_and_logarithmic(report: Report) -> None:
    report.page.open(report.path)
    for axis, now in (("x", [False, False]), ("y", [False, True]), ("x", [True, True])):
        report.page.click(f"input[aria-label='{axis} axis logarithmic']")
        assert [axis.is_log for axis in report.axes()] == now
    report.click_point(4)
    assert report.shown() == 4


def test_solutions_without_a_place_on_an_axis_are_left_out(
    spare: Page, front: Front, tmp_path: Path
) -> None:
    """An infinite or unknown measure has no place; the others have theirs."""
    values = front.measures["groups"].astype(float)
    values[1], values[3] = float("inf"), float("nan")
    odd = replace(front, measures={**front.measures, "groups": values}, instance=None)
    report = make_report(spare, tmp_path, [Tab("odd", odd, RECORD, "x", marks={2: "knee"})])
    report.put("x", "groups")
    report.put("colour", "groups")
    spare.run("document.querySelector('.plot').focus()")
    spare.press("Home")
    spare.press("End", shift=True)
    assert spare.text(".all .mark") == f"{len(front) - 2} of {len(front)} chosen"
    assert {2, 4}.isdisjoint(report.listed())
    assert silent(report)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 1.0])
def test_a_click_on_a_point_shows_that_solution(report: Report, front: Front, share: float) -> None:
    solution = 1 + round(share * (len(front) - 1))
    report.click_point(solution)
    assert report.shown() == solution
    row = report.csv.loc[solution]
    numbers = report.numbers()
    assert set(numbers) == set(report.csv.columns)
    assert numbers["k"] == f"{int(row['k']):,}"
    for name in ("loss", "gl", "sl"):
        assert numbers[name] == f"{100 * row[name]:.2f}\u202f%"
    assert numbers["suppressed"] == f"{int(row['suppressed']):,}"
    assert float(numbers["weighted_k"].replace(",", "")) == pytest.approx(
        row["weighted_k"], abs=0.006
    )
    assert report.labels() == report.solutions[str(solution)]["columns"]


def test_the_selected_solution_can_be_exported_by_its_command(report: Report) -> None:
    report.click_point(3)
    command = report.page.text(".command code")
    assert command == "moanon export 'results/my people' 3 --out release-3.csv"


def test_without_a_configuration_the_release_is_made_in_python(
    spare: Page, front: Front, tmp_path: Path
) -> None:
    tab = Tab("people", front, RECORD, "x", exportable=False)
    report = make_report(spare, tmp_path, [tab])
    report.click_point(3)
    assert spare.text(".command code") == 'front.release(3).write("release-3.csv")'
    assert "Export it, in Python" in spare.texts(".solution h3")


def test_the_command_is_copied(report: Report) -> None:
    report.page.allow("clipboardReadWrite", "clipboardSanitizedWrite")
    report.click_point(4)
    report.page.click(".command button")
    report.page.wait_for("document.querySelector('.command button').textContent === 'Copied'")
    assert report.page.run("navigator.clipboard.readText()") == report.page.text(".command code")


def test_the_sizes_of_the_groups_are_drawn_and_told(report: Report, front: Front) -> None:
    report.click_point(5)
    (sizes,) = front.kept_sizes([5])
    text = report.page.text(".sizes p")
    assert f"the {sizes.sum():,} kept rows" in text
    assert f"smallest group has {sizes.min():,} rows, the largest {sizes.max():,} rows" in text
    titles = report.page.texts(".sizes title")
    rows = [int(title.split(": ")[1].split()[0].replace(",", "")) for title in titles]
    assert sum(rows) == sizes.sum()
    assert f": {sizes[(sizes >= 8) & (sizes < 16)].sum():,} rows" in " ".join(titles)


def test_a_marked_solution_is_shown_first_and_says_why(report: Report) -> None:
    report.page.open(report.path)
    assert report.page.text(".solution h2") == "Solution 2 knee"
    assert "knee" in report.page.texts(".plot .mark text")


def test_a_privacy_that_is_better_when_lower(spare: Page, front: Front, tmp_path: Path) -> None:
    """Its lowest value is the best within a loss; of two marks the first is shown first."""
    ranked = replace(front, objectives=("size_rank", "loss"))
    rank, loss = (ranked.measures[name] for name in ranked.objectives)
    last = len(ranked)
    tab = Tab("rank", ranked, RECORD, "x", marks={last: "knee", 2: "knee"})
    report = make_report(spare, tmp_path, [tab])
    assert report.shown() == last
    assert spare.text(".answers .asked") == "Lowest size_rank for a loss of at most"
    assert spare.text(".plot .xtitle").startswith("size_rank")
    spare.click(".answers button:last-child")
    within = loss <= 0.5
    assert rank[report.shown() - 1] == rank[within].min() < rank[within].max()
    assert silent(report)


def test_arrow_keys_go_along_the_front_and_enter_selects(report: Report, front: Front) -> None:
    report.click_point(3)
    report.page.run("document.querySelector('.plot').focus()")
    report.page.press("ArrowRight")
    assert report.shown() == 4
    assert report.told().startswith("Solution 4")
    report.page.press("ArrowLeft")
    report.page.press("ArrowLeft")
    assert report.shown() == 2
    report.page.press("Enter")
    assert report.shown() == 2
    report.page.press("End")
    assert report.shown() == len(front)
    report.page.press("ArrowRight")
    assert report.shown() == len(front)  # there is no further one


# -- zooming and moving --------------------------------------------------------------------------


@pytest.fixture
def whole(report: Report) -> View:
    """The page anew, and what its plot shows."""
    report.page.open(report.path)
    return report.view()


def spans(view: View) -> tuple[float, float]:
    return view[1] - view[0], view[3] - view[2]


def test_zooming_shows_less_and_resetting_shows_all(report: Report, whole: View) -> None:
    half = [span / 2 for span in spans(whole)]
    report.page.click("button[aria-label='Zoom in']")
    assert spans(report.view()) == pytest.approx(half, rel=0.02)
    assert report.ring() == pytest.approx(report.point(report.shown()), abs=1)
    report.page.click("button[aria-label='Zoom out']")
    assert report.view() == pytest.approx(whole, abs=0.02)
    for reset in (
        lambda: report.page.click("button[aria-label='Show the whole front']"),
        lambda: report.page.press("0"),
        lambda: report.page.click_at(*report.inside(0.9, 0.9), times=2),
    ):
        report.page.run("document.querySelector('.plot').focus()")
        report.page.press("+")
        assert spans(report.view()) == pytest.approx(half, rel=0.02)
        reset()
        assert report.view() == pytest.approx(whole, abs=0.02)
    report.page.click("button[aria-label='Zoom out']")  # there is no more to see
    assert report.view() == pytest.approx(whole, abs=0.02)
    assert silent(report)


def test_a_box_is_zoomed_into(report: Report, whole: View) -> None:
    before = report.shown()
    report.page.drag(report.inside(0.2, 0.3), report.inside(0.7, 0.8))
    # Half of each axis: from 20 % to 70 % and, counted from below, from 20 % to 70 %.
    width, height = spans(whole)
    expected = (
        whole[0] + 0.2 * width,
        whole[0] + 0.7 * width,
        whole[2] + 0.2 * height,
        whole[2] + 0.7 * height,
    )
    assert report.view() == pytest.approx(expected, rel=0.02)
    assert report.shown() == before
    near = np.flatnonzero(report.csv["loss"].between(0.4, 0.6)) + 1
    report.click_point(int(near[0]))  # what is in view can be clicked, where it is now
    assert report.shown() == near[0]
    assert silent(report)


def test_a_narrow_box_zooms_one_axis(report: Report, whole: View) -> None:
    report.page.drag(report.inside(0.25, 0.5), report.inside(0.75, 0.505))
    found = report.view()
    assert found[1] - found[0] == pytest.approx((whole[1] - whole[0]) / 2, rel=0.02)
    assert found[2:] == pytest.approx(whole[2:], abs=0.02)


def test_the_wheel_zooms_at_the_pointer(report: Report, whole: View) -> None:
    solution = 9
    place = report.point(solution)
    ticks = (
        "Array.from(document.querySelectorAll('.plot .xtick, .plot .ytick'), e => e.textContent)"
    )
    before = report.page.run(f"{ticks}.join()")
    report.page.turn_wheel(*place, -200)
    report.page.wait_for(f"{ticks}.join() !== '{before}'")
    assert spans(report.view()) < spans(whole)
    assert report.point(solution) == pytest.approx(place, abs=1.5)
    assert report.page.run("scrollY") == 0
    report.page.turn_wheel(*place, 150)
    report.page.turn_wheel(*place, 150)
    report.page.wait_for(f"{ticks}.join() === '{before}'")
    assert report.view() == pytest.approx(whole, abs=0.02)


def test_the_wheel_beside_an_axis_zooms_that_axis(report: Report, whole: View) -> None:
    x, y = report.inside(0.5, 1)
    report.page.turn_wheel(x, y + 20, -200)
    report.page.wait_for("document.querySelector('.xtick').textContent !== '20'")
    found = report.view()
    assert found[1] - found[0] < 0.8 * (whole[1] - whole[0])
    assert found[2:] == pytest.approx(whole[2:], abs=0.02)


def test_where_there_is_no_more_to_see_the_wheel_scrolls_the_page(report: Report) -> None:
    report.page.open(report.path)
    place = report.inside(0.5, 0.5)
    report.page.turn_wheel(*place, 200)
    report.page.wait_for("scrollY > 0")
    # The plot is under the pointer still, and does not catch the wheel of somebody who scrolls.
    before = report.page.texts(".plot .xtick")
    report.page.ask("Input.dispatchMouseEvent", type="mouseWheel", x=place[0], y=place[1],
                    deltaX=0, deltaY=-200)  # fmt: skip
    report.page.wait_for("scrollY === 0")
    assert report.page.texts(".plot .xtick") == before


@pytest.mark.parametrize("button", ["left", "middle"])
def test_what_is_in_view_can_be_moved(report: Report, whole: View, button: str) -> None:
    if button == "left":
        report.drag_to("move")
    report.page.run("document.querySelector('.plot').focus()")
    report.page.press("+")
    before, solution = report.view(), report.shown()
    place = report.ring()
    report.page.drag(report.inside(0.5, 0.5), report.inside(0.6, 0.4), button=button)
    width, height = spans(before)
    moved = (-0.1 * width, -0.1 * width, -0.1 * height, -0.1 * height)
    assert np.subtract(report.view(), before) == pytest.approx(moved, rel=0.1)
    assert report.ring()[0] > place[0]
    assert report.ring() == pytest.approx(report.point(solution), abs=1)
    for _ in range(4):  # no further than there is something
        report.page.drag(report.inside(0.1, 0.9), report.inside(0.9, 0.1), button=button)
    assert report.view()[::2] == pytest.approx(whole[::2], abs=0.02)
    assert report.shown() == solution


def test_a_zoomed_plot_follows_the_arrow_keys(report: Report, whole: View, front: Front) -> None:
    report.page.run("document.querySelector('.plot').focus()")
    report.page.press("Home")
    for _ in range(3):
        report.page.press("+")
    report.page.press("End")
    x, y = report.ring()
    left, top = report.inside(0, 0)
    right, bottom = report.inside(1, 1)
    assert left <= x <= right
    assert top <= y <= bottom
    assert report.shown() == len(front)


# -- what becomes of the columns ------------------------------------------------------------------


def test_labels_have_their_rows_and_empty_ones_are_pale(report: Report, front: Front) -> None:
    report.page.open(report.path)
    for solution in (1, len(front) // 2, len(front)):
        report.click_point(solution)
        effects = column_effects(front.grouping(solution))
        shown = report.page.run(
            "Array.from(document.querySelectorAll('.column')).map(c => [c.querySelector('.effect')"
            ".textContent, Array.from(c.querySelectorAll('.chips li')).map(e => "
            "[e.querySelector('.rows').textContent, e.classList.contains('empty')])])"
        )
        for effect, (told, rows) in zip(effects, shown, strict=True):
            assert rows == [[f"{number:,}", number == 0] for number in effect.rows.tolist()]
            loss, kept = (f"{100 * each:.1f}\u202f%" for each in (effect.loss, effect.entropy_kept))
            assert told == f"own loss {loss}, entropy kept {kept}"
        counts = report.page.texts(".column .count")
        for effect, told in zip(effects, counts, strict=True):
            values = f"{effect.shown:,} of {effect.base_values:,} values"
            assert told == ("not shown" if effect.labels == ("*",) else values)


def test_examples_are_groups_of_the_release_and_nothing_else(report: Report, front: Front) -> None:
    report.page.open(report.path)
    solution = len(front) // 2
    report.click_point(solution)
    lines = report.page.run(
        "Array.from(document.querySelectorAll('.solution tbody tr')).map(r => "
        "Array.from(r.children).map(c => c.textContent))"
    )
    grouping = front.grouping(solution)
    groups = {
        (f"{int(grouping.sizes[i]):,}", *(texts[i] for texts in grouping.labels.values()))
        for i in np.flatnonzero(grouping.kept)
    }
    assert {tuple(line) for line in lines} <= groups
    assert lines[0][0] == f"{grouping.k:,}"
    assert report.page.texts(".solution thead th") == ["rows", "age", "size", "place"]


# -- limits, files and pairs -----------------------------------------------------------------------


def limit(report: Report, name: str, value: str) -> None:
    report.page.run(
        f"(e => {{ e.value = '{value}'; e.dispatchEvent(new Event('input')); }})"
        f"(document.querySelector('.filters input[aria-label^=\"{name} at\"]'))"
    )


def test_limits_list_what_is_within_all_of_them(report: Report, whole: View) -> None:
    limit(report, "k", "5")
    limit(report, "loss", "60")
    csv = report.csv
    expected = csv.index[(csv["k"] >= 5) & (csv["loss"] <= 0.6)].tolist()
    assert 0 < len(expected) < len(csv)
    assert report.listed() == expected
    others = [solution for solution in csv.index if solution not in expected]
    assert report.blueness(expected[0]) > 2 * report.blueness(others[0])
    report.page.click("button[aria-label='List all solutions again']")
    assert len(report.listed()) == len(csv)
    assert silent(report)


def test_the_listed_solutions_are_saved_as_they_are(report: Report, whole: View) -> None:
    """What would be saved is caught on its way: the browser asks nobody here where to."""
    limit(report, "k", "5")
    report.page.run(
        "(() => { window.saved = []; const make = URL.createObjectURL;"
        "URL.createObjectURL = (blob) => { window.saved.push(blob); return make(blob); }; })()"
    )
    report.page.click("button[aria-label='Save the listed solutions with all measures']")
    text = report.page.run("window.saved[0].text()")
    saved = pd.read_csv(StringIO(text), index_col="id")
    expected = report.csv[report.csv["k"] >= 5]
    assert set(saved.columns) == set(expected.columns)
    pd.testing.assert_frame_equal(saved[expected.columns], expected, check_dtype=False, rtol=1e-8)
    report.page.click("button[aria-label='List all solutions again']")
    assert silent(report)


def test_two_solutions_stand_side_by_side(report: Report, front: Front) -> None:
    report.page.open(report.path)
    report.click_point(2)
    report.page.click("button[aria-label='Keep this solution beside the next ones']")
    report.click_point(4)
    assert report.page.texts(".pair thead th")[1:] == ["solution 2", "solution 4"]
    rows = {
        line[0]: line[1:]
        for line in report.page.run(
            "Array.from(document.querySelectorAll('.pair tbody tr')).map(r => "
            "Array.from(r.children).map(c => c.textContent))"
        )
    }
    assert rows["k"] == [f"{front.measures['k'][i]:,}" for i in (1, 3)]
    labels = [column_effects(front.grouping(i))[0].shown for i in (2, 4)]
    for text, number in zip(rows["age"], labels, strict=True):
        assert text.startswith(f"{number} label")
    report.page.click("button[aria-label='Stop comparing']")
    assert report.page.run("document.querySelector('.pair').hidden")
    assert silent(report)


def test_measures_are_grouped_common_ones_first_and_sources_are_folded(report: Report) -> None:
    report.page.open(report.path)
    groups = report.page.run(
        "Array.from(document.querySelectorAll('[data-axis=x] optgroup')).map(g => g.label)"
    )
    assert groups[:4] == ["Objectives", "Common", "Privacy and risk", "Loss"]
    tips = report.page.run(
        "Array.from(document.querySelectorAll('[title]')).map(e => e.title).join(' ')"
    )
    assert " eq. " not in tips
    assert "D eq. 3" in report.page.run("document.querySelector('main').textContent")


# -- choosing several ----------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["choose", "Shift"])
def test_a_box_chooses_the_solutions_in_it(report: Report, whole: View, how: str) -> None:
    before = report.shown()
    if how == "choose":
        report.drag_to("choose")
    report.page.drag(report.inside(0, 0.3), report.inside(1, 0.7), shift=how == "Shift")
    height = whole[3] - whole[2]
    low, high = ((whole[2] + share * height) / 100 for share in (0.3, 0.7))
    expected = report.csv.index[report.csv["loss"].between(low, high)].tolist()
    assert 0 < len(expected) < len(report.csv)
    assert report.listed() == expected
    assert report.page.text(".all .mark") == f"{len(expected)} of {len(report.csv)} chosen"
    assert report.view() == pytest.approx(whole)
    assert report.shown() == before
    others = [solution for solution in report.csv.index if solution not in expected]
    assert report.blueness(expected[1]) > 2 * report.blueness(others[0])
    # What is listed is sorted as everything would be; all come back at a click.
    report.page.click("table[role=grid] thead th:nth-child(3) button")
    assert report.page.run("document.querySelector('th[aria-sort=ascending]') !== null")
    assert report.listed() == report.csv.loc[expected].sort_values("loss").index.tolist()
    report.page.click("button[aria-label='List all solutions again']")
    assert len(report.listed()) == len(report.csv)
    assert report.blueness(others[0]) > 100
    assert silent(report)


def test_a_solution_that_is_not_listed_can_be_shown(report: Report, whole: View) -> None:
    report.drag_to("choose")
    report.page.drag(report.inside(0, 0), report.inside(0.3, 1))
    listed = report.listed()
    last = len(report.csv)
    assert last not in listed
    report.click_point(last)
    assert report.shown() == last
    assert report.listed() == listed
    report.page.run("document.querySelector('table[role=grid]').parentElement.focus()")
    report.page.press("ArrowDown")
    assert report.shown() == listed[0]


def test_a_box_around_nothing_lists_all(report: Report, whole: View) -> None:
    report.drag_to("choose")
    report.page.drag(report.inside(0.01, 0.01), report.inside(0.05, 0.2))
    assert len(report.listed()) == len(report.csv)


def test_the_keyboard_chooses_what_it_passes_with_shift(report: Report) -> None:
    report.page.open(report.path)
    report.click_point(3)
    report.page.run("document.querySelector('.plot').focus()")
    for _ in range(3):
        report.page.press("ArrowRight", shift=True)
    assert report.listed() == [3, 4, 5, 6]
    report.page.press("ArrowLeft", shift=True)
    assert report.listed() == [3, 4, 5]
    report.page.press("Escape")
    assert len(report.listed()) == len(report.csv)


# -- what is drawn -------------------------------------------------------------------------------


def test_other_measures_can_be_put_on_the_axes(report: Report, front: Front) -> None:
    report.page.open(report.path)
    report.page.press("+")
    report.put("x", "groups")
    assert report.page.text(".plot .xtitle") == "groups, groups"
    # From 1 to 52 groups on a logarithmic axis: 7 groups lie at ln 7 / ln 52 = 49 % of the way.
    groups = front.measures["groups"]
    assert (groups.min(), groups[6], groups.max()) == (1, 7, 52)
    (left, _), (right, _) = (report.point(int(at) + 1) for at in (groups.argmin(), groups.argmax()))
    assert report.point(7)[0] == pytest.approx(left + log(7) / log(52) * (right - left), abs=1)
    report.click_point(len(front))
    assert report.shown() == len(front)
    assert silent(report)


def test_hovering_tells_the_numbers(report: Report) -> None:
    report.page.open(report.path)
    report.page.hover_at(*report.point(4))
    assert report.told().startswith(f"Solution 4k {report.csv.loc[4, 'k']:.0f}loss ")


def test_the_page_draws_by_itself(report: Report) -> None:
    """One script, of a hundred kilobytes at most, and no library in it."""
    report.page.open(report.path)
    assert report.page.run("document.scripts.length") == 2
    assert report.page.run("document.scripts[1].text.length") < 100_000
    assert report.page.run("['Plotly', 'd3', 'Chart'].filter(name => name in window)") == []


def test_there_is_no_way_out_of_the_page(report: Report) -> None:
    assert report.page.run("document.querySelectorAll('main a').length") == 0


# -- the table -----------------------------------------------------------------------------------


def test_rows_are_those_of_the_front(report: Report) -> None:
    report.page.open(report.path)
    heads = report.page.texts("table[role=grid] thead button")
    names = [head.rstrip("↑↓") for head in heads]
    assert names[:3] == ["id", "k", "loss"]
    for row in report.rows():
        cells = dict(zip(names, row, strict=True))
        solution = report.csv.loc[int(cells["id"])]
        assert cells["k"] == f"{solution['k']:,.0f}"
        assert cells["loss"] == f"{100 * solution['loss']:.2f}\u202f%"


def test_a_click_on_a_head_sorts_and_a_second_one_turns_it_round(report: Report) -> None:
    report.page.open(report.path)
    column = 1 + report.page.texts("table[role=grid] thead button").index("groups")
    report.page.click(f"table[role=grid] thead th:nth-child({column}) button")
    report.page.run("document.querySelector('table[role=grid]').parentElement.scrollTo(0, 0)")
    report.page.wait_for("document.querySelector('th[aria-sort=descending]') !== null")
    found = [int(row[column - 1].replace(",", "")) for row in report.rows()]
    best = report.csv["groups"].sort_values(ascending=False).tolist()
    assert found == best[: len(found)]
    report.page.click(f"table[role=grid] thead th:nth-child({column}) button")
    assert report.page.run("document.querySelector('th[aria-sort=ascending]') !== null")
    report.page.run("document.querySelector('table[role=grid]').parentElement.scrollTo(0, 0)")
    report.page.wait_for(
        "document.querySelector('table[role=grid] tbody tr:not(.gap)').ariaRowIndex === '2'"
    )
    found = [int(row[column - 1].replace(",", "")) for row in report.rows()]
    assert found == best[::-1][: len(found)]


def test_a_click_on_a_row_selects_it_in_the_plot(report: Report) -> None:
    report.page.open(report.path)
    report.page.click("table[role=grid] tbody tr:not(.gap):nth-child(5)")
    chosen = int(report.page.text(f"{SELECTED_ROW} th"))
    assert report.shown() == chosen
    assert report.ring() == pytest.approx(report.point(chosen), abs=1)


def test_a_click_on_a_point_selects_its_row(report: Report, front: Front) -> None:
    for solution in (1, len(front)):
        report.click_point(solution)
        assert report.page.text(f"{SELECTED_ROW} th") == str(solution)


def test_the_keyboard_goes_from_row_to_row(report: Report, front: Front) -> None:
    report.page.open(report.path)
    report.page.run("document.querySelector('table[role=grid]').parentElement.focus()")
    report.page.press("Home")
    assert report.shown() == 1
    report.page.press("ArrowDown")
    report.page.press("ArrowDown")
    assert report.shown() == 3
    report.page.press("End")
    assert report.shown() == len(front)
    assert report.page.text(f"{SELECTED_ROW} th") == str(len(front))


def test_thousands_of_rows_are_scrolled_through(spare: Page, front: Front, tmp_path: Path) -> None:
    assert front.instance is not None
    front = replace(sampled_front(front.instance, 2000), instance=None)
    report = make_report(spare, tmp_path, [Tab("many", front, RECORD, "x")])
    assert len(report.rows()) < 100
    spare.run("document.querySelector('table[role=grid]').parentElement.focus()")
    spare.press("End")
    assert report.shown() == 2000
    assert spare.text(f"{SELECTED_ROW} th") == "2000"
    spare.press("ArrowUp")
    assert spare.text(f"{SELECTED_ROW} th") == "1999"
    assert "Not shown: this front was loaded without its table" in spare.text(".sizes")
    assert silent(report)


# -- tabs ----------------------------------------------------------------------------------------


def test_tabs_are_opened_by_arrow_keys(several: Report) -> None:
    several.page.open(several.path)
    several.page.run("document.querySelector('[role=tab]').focus()")
    opened = []
    for _ in range(5):
        opened.append(several.page.text("[role=tab][aria-selected=true]"))
        several.page.press("ArrowRight")
    assert opened == ["η = 10 %", "η = 30 %", "any", "Compare k, loss", "η = 10 %"]
    assert silent(several)


def test_each_tab_keeps_its_own_selection(several: Report) -> None:
    several.page.open(several.path)
    several.click_point(4)
    several.page.click("[role=tab]:nth-child(2)")
    several.click_point(2)
    assert "results/η = 30 %" in several.page.text(".command code")
    several.page.click("[role=tab]:nth-child(1)")
    assert several.shown() == 4


def test_fronts_with_the_same_axes_are_laid_over_each_other(several: Report) -> None:
    several.page.open(several.path)
    several.page.click("[role=tab]:last-child")
    assert several.page.texts(".legend button") == ["η = 10 %", "η = 30 %"]
    # The best k at a loss of at most 40 %, once for each η; a click opens that solution.
    within = several.csv[several.csv["loss"] <= 0.4]
    row = ".limits tbody tr:nth-child(7)"
    assert several.page.text(f"{row} th") == "40\u202f%"
    assert several.page.text(f"{row} td:nth-child(2)") == str(within["k"].max())
    several.page.click(f"{row} td:nth-child(2) button")
    assert several.shown() == within["k"].idxmax()
    assert several.page.text("[role=tab][aria-selected=true]") == "η = 10 %"


def test_what_a_chosen_k_costs_is_told_of_each_front(several: Report) -> None:
    several.page.open(several.path)
    several.page.click("[role=tab]:last-child")
    several.page.run(
        "(() => { const asked = document.querySelector('.single .choice input');"
        " asked.value = 9; asked.dispatchEvent(new Event('input')); })()"
    )
    for place, (title, csv) in enumerate(
        {"η = 10 %": several.csv, "η = 30 %": several.others}.items(), 1
    ):
        enough = csv[csv["k"] >= 9]
        cheapest = enough[enough["loss"] == enough["loss"].min()]["k"].idxmax()
        row = f".prices tbody tr:nth-child({place})"
        assert several.page.text(f"{row} th") == title
        percent = f"{100 * csv['loss'][cheapest]:.2f}\u202f%"
        assert several.page.text(f"{row} td:nth-child(2)") == percent
        assert several.page.text(f"{row} td:nth-child(5)") == str(cheapest)
    several.page.click(f"{row} td:nth-child(5) button")
    assert several.shown() == cheapest
    assert several.page.text("[role=tab][aria-selected=true]") == "η = 30 %"
    assert silent(several)


def test_a_k_that_nobody_has_costs_nothing_known(several: Report) -> None:
    several.page.open(several.path)
    several.page.click("[role=tab]:last-child")
    several.page.run(
        "(() => { const asked = document.querySelector('.single .choice input');"
        " asked.value = 121; asked.dispatchEvent(new Event('input')); })()"
    )
    assert several.page.texts(".prices tbody td") == ["–"] * 8


def test_fronts_of_other_objectives_are_laid_over_each_other_on_given_axes(
    spare: Page, front: Front, kl_front: Front, tmp_path: Path
) -> None:
    tabs = [Tab("k and l", kl_front, RECORD, "a"), Tab("k", front, RECORD, "b")]
    write_report(tabs, tmp_path / "report.html", axes=("k", "loss"))
    spare.open(tmp_path / "report.html")
    assert spare.text("[role=tab][aria-selected=true]") == "Compare"
    assert spare.texts(".legend button") == ["k and l", "k"]
    assert "Highest k within a limit of loss" in spare.texts("h2")
    assert spare.complaints() == []


def test_a_front_that_is_laid_over_another_can_be_hidden_and_clicked(several: Report) -> None:
    several.page.open(several.path)
    several.page.click("[role=tab]:last-child")
    only_second = several.others.index[~several.others["loss"].isin(several.csv["loss"])]
    both = Report(several.page, several.path, several.others, {})
    orange = both.colour(int(only_second[0]))
    assert orange[0] > orange[2]
    several.page.click(".legend button:nth-child(1)")
    assert several.page.run("document.querySelector('.legend button').ariaPressed") == "false"
    both.click_point(3)
    assert several.page.text("[role=tab][aria-selected=true]") == "η = 30 %"
    assert several.shown() == 3
    several.page.click("[role=tab]:last-child")
    several.page.click(".legend button:nth-child(2)")
    assert both.colour(int(only_second[0]))[3] < 50
    assert silent(several)


def test_the_keyboard_goes_from_front_to_front_and_opens_a_solution(several: Report) -> None:
    several.page.open(several.path)
    several.page.click("[role=tab]:last-child")
    several.page.run(f"{shown('.plot')}.focus()")
    for key in ("ArrowRight", "ArrowRight"):
        several.page.press(key)
    assert several.told().startswith("η = 10 %Solution 2")
    several.page.press("ArrowUp")
    assert several.told().startswith("η = 30 %Solution 2")
    assert several.page.text("[role=tab][aria-selected=true]") == "Compare k, loss"
    several.page.press("Enter")
    assert several.page.text("[role=tab][aria-selected=true]") == "η = 30 %"
    assert several.shown() == 2


def test_a_third_objective_is_a_colour(several: Report) -> None:
    several.page.open(several.path)
    several.page.click("[role=tab]:nth-child(3)")
    assert several.page.text(".plot .cbtitle") == "sl, %"
    third = Report(several.page, several.path, several.third, {})
    shares = several.third["sl"]
    low, high = third.colour(int(shares.idxmin())), third.colour(int(shares.idxmax()))
    assert low[2] > low[0]  # from blue
    assert high[0] > high[2]  # to yellow
    assert silent(several)


# -- nothing in the data runs --------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Report]:
    record = {**RECORD, "name": HOSTILE[0], "notes": list(HOSTILE)}
    front = sampled_front(hostile_instance(), 40)
    tabs = [
        Tab(title, front, record, HOSTILE[6], "\n".join(HOSTILE), {3: HOSTILE[4], 4: HOSTILE[5]})
        for title in (HOSTILE[1], HOSTILE[5])
    ]
    with browser.page() as page:
        yield make_report(page, tmp_path_factory.mktemp("hostile"), tabs)


def test_markup_from_the_data_is_shown_as_it_is_written(hostile: Report) -> None:
    hostile.page.open(hostile.path)
    hostile.page.run("document.querySelector('table[role=grid]').parentElement.focus()")
    for key, solution in (("Home", 1), ("ArrowDown", 2), ("End", 40), ("ArrowUp", 39)):
        hostile.page.press(key)
        columns = hostile.solutions[str(solution)]["columns"]
        # Labels that have rows stand first.
        found = {name: sorted(labels) for name, labels in hostile.labels().items()}
        assert found == {name: sorted(labels) for name, labels in columns.items()}
    assert hostile.page.text("h1") == HOSTILE[0]
    assert hostile.page.texts("[role=tab]") == [HOSTILE[1], HOSTILE[5], "Compare"]
    assert hostile.page.texts("pre") == ["\n".join(HOSTILE)]
    assert "; ".join(HOSTILE) in hostile.page.texts(".facts dd")
    hostile.page.click("[role=tab]:last-child")
    assert hostile.page.texts(".limits thead th")[1:] == [HOSTILE[1], HOSTILE[5]]


def test_markup_in_plots_is_shown_as_it_is_written(hostile: Report) -> None:
    hostile.page.open(hostile.path)
    assert hostile.page.texts(".plot .mark text") == [HOSTILE[4], HOSTILE[5]]
    hostile.page.hover_at(*hostile.point(3))
    assert HOSTILE[4] in hostile.told()
    hostile.page.click("[role=tab]:last-child")
    assert hostile.page.texts(".legend button") == [HOSTILE[1], HOSTILE[5]]
    assert hostile.page.run("window.hit") is None
    assert silent(hostile)


def test_nothing_from_the_data_runs_or_loads(hostile: Report) -> None:
    hostile.page.open(hostile.path)
    for tab in (1, 2, 3):
        hostile.page.click(f"[role=tab]:nth-child({tab})")
    assert hostile.page.run("window.hit") is None
    assert (
        hostile.page.run("document.querySelectorAll('main img, main a, main script').length") == 0
    )
    assert hostile.page.run("document.scripts.length") == 2
    assert silent(hostile)


def test_the_policy_stops_a_script_and_a_request_that_got_in(hostile: Report) -> None:
    """The last line of defence, tried by breaking in with the test's own hands."""
    page = hostile.page
    page.run(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.hit = 9';"
        "document.body.append(s); const i = document.createElement('img');"
        "i.src = 'http://localhost:9/x.png'; document.body.append(i); })()"
    )
    page.run("fetch('http://localhost:9/').then(() => 1, () => 2)")
    assert page.run("window.hit") is None
    complaints = " ".join(page.complaints())
    for stopped in ("inline script", "loading the image", "connect-src"):
        assert stopped in complaints.lower()


# -- people and their machines -------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_and_the_button(report: Report, scheme: str) -> None:
    def brightness() -> int:
        colour = report.page.run("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour[4:-1].split(","))

    def plot_text() -> str:
        return str(
            report.page.run("getComputedStyle(document.querySelector('.plot .xtitle')).fill")
        )

    report.page.prefer(scheme)
    report.page.run("localStorage.clear()")
    report.page.open(report.path)
    before, text, point = brightness(), plot_text(), report.colour(3)
    assert (before > 600) == (scheme == "light")
    report.page.click("#theme")
    assert (brightness() > 600) != (scheme == "light")
    assert plot_text() != text
    assert report.colour(3) != point
    report.page.run("localStorage.clear()")
    report.page.prefer("light")


def test_everything_is_reached_by_tab_and_shows_it(report: Report) -> None:
    report.page.open(report.path)
    reached = []
    for _ in range(60):
        report.page.press("Tab")
        told = report.page.run(
            "(() => { const e = document.activeElement; const s = getComputedStyle(e);"
            "return [e.className || e.tagName, e.tagName === 'BODY' || s.outlineStyle]; })()"
        )
        if told[0] == "BODY":
            break
        assert told[1] != "none", told
        reached.append(told[0])
    for stop in ("plot", "window", "SELECT", "SUMMARY", "INPUT", "quiet"):
        assert stop in reached


def test_on_a_phone_nothing_is_wider_than_the_screen(phone: Page, several: Report) -> None:
    phone.open(several.path)
    for tab in (1, 3, 4):
        phone.click(f"[role=tab]:nth-child({tab})")
        assert phone.run("document.documentElement.scrollWidth") == 390
        assert phone.run("document.querySelector('.plot').clientWidth") <= 390
    assert phone.complaints() == []


def test_on_a_phone_a_finger_scrolls_the_page_until_it_is_told_otherwise(
    phone: Page, report: Report
) -> None:
    phone.open(report.path)
    touched = "getComputedStyle(document.querySelector('.plot')).touchAction"
    assert phone.run(touched) == "auto"
    for action in ("none", "auto"):  # pressed, and released again
        phone.click(".joined button")
        assert phone.run(touched) == action


def test_without_javascript_the_page_says_so(browser: Browser, report: Report) -> None:
    with browser.page() as page:
        page.ask("Emulation.setScriptExecutionDisabled", value=True)
        page.ask("Page.navigate", url=report.path.as_uri())
        page.wait_for("document.readyState === 'complete'")
        assert "JavaScript, which is switched off here" in page.run("document.body.innerText")
        assert "is not differential privacy" in page.run("document.body.innerText")


def test_on_paper_there_is_every_row(report: Report, front: Front) -> None:
    report.page.open(report.path)
    report.page.run("dispatchEvent(new Event('beforeprint'))")
    assert len(report.rows()) == len(front)
    report.page.run("dispatchEvent(new Event('afterprint'))")
    assert len(report.rows()) <= len(front)
    assert silent(report)


def test_on_paper_nothing_is_wider_than_the_page(browser: Browser, tmp_path: Path) -> None:
    names = [f"a_column_whose_name_takes_much_room_{i}" for i in range(16)]
    frame = pd.DataFrame({name: ["2000-01-01", "2009-12-31"] * 6 for name in names})
    columns = {name: {"role": "quasi", "kind": "interval", "granularity": "year"} for name in names}
    front = optimize(frame, columns, search={"evaluations": 200})
    write_report([Tab("wide", front, RECORD, "x")], tmp_path / "report.html")
    with browser.page(width=794, height=1123) as page:  # A4
        page.ask("Emulation.setEmulatedMedia", media="print")
        page.open(tmp_path / "report.html")
        page.run("dispatchEvent(new Event('beforeprint'))")
        assert page.run("document.documentElement.scrollWidth") <= 794
        assert page.complaints() == []


# -- speed ---------------------------------------------------------------------------------------


def many_measures(number: int) -> Front:
    """So many solutions with 46 measures: some of a front's, others under further names."""
    front = sampled_front(Config.load(QUICKSTART).instance(), number)
    spare = [name for name in MEASURES if name not in front.measures]
    more = dict(zip(spare, list(front.measures.values()) * 2, strict=False))
    names = {**front.measures, **more}
    return replace(front, measures=dict(list(names.items())[:46]))


@pytest.mark.slow
def test_two_thousand_solutions_with_46_measures_can_be_used(
    browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a click until everything about the solution is there, by the browser's own clock.

    No limit is asserted, since machines differ; the figures are printed.
    """
    path, front = tmp_path / "report.html", many_measures(2000)
    write_report([Tab("census", front, RECORD, "x")], path)
    took = []
    for _ in range(3):
        with browser.page(width=1400, height=1000) as page:
            page.open(path)
            ready = page.run("performance.getEntriesByName('ready')[0].startTime / 1e3")
            click = page.run(
                "new Promise(done => { const rows = document.querySelectorAll("
                "'table[role=grid] tbody tr:not(.gap)'), from = performance.now(); rows[5].click();"
                "requestAnimationFrame(() => setTimeout(() => done((performance.now() - from) / 1e3"
                "))); })"
            )
            took.append((ready, click))
            assert page.text(".solution h2").startswith("Solution ")
            assert page.complaints() == []
    ready, click = (min(times) for times in zip(*took, strict=True))
    with capsys.disabled():
        told = f"{path.stat().st_size / 1e6:.2f} MB; drawn after {ready:.2f} s"
        sys.stdout.write(f"\n{told}, a click is answered after {click:.3f} s\n")


@pytest.mark.slow
@pytest.mark.parametrize("number", [500, 12_000])
def test_how_long_it_takes_until_a_large_front_can_be_used(
    browser: Browser, number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No limit is asserted, since machines differ; the figures are printed."""
    instance = Config.load(QUICKSTART).instance()
    front = sampled_front(instance, number)
    if number > 500:  # group sizes of so many would take a while
        front = replace(front, instance=None)
    path = tmp_path / "report.html"
    write_report([Tab("census", front, RECORD, "x")], path)
    ready, answered, busy, zoomed = [], [], [], []
    for _ in range(5):
        with browser.page() as page:
            page.ask("Performance.enable", timeDomain="threadTicks")
            page.open(path)
            report = Report(page, path, front.to_frame().set_index("id"), {})
            before = time.monotonic()
            report.click_point(400)
            # From the beginning of the navigation until the front is drawn; from a click on it
            # until its solution is there.
            ready.append(page.run("performance.getEntriesByName('ready')[0].startTime / 1e3"))
            assert report.page.text(".solution h2").startswith("Solution ")
            answered.append(time.monotonic() - before)
            told = page.ask("Performance.getMetrics")["metrics"]
            busy += [entry["value"] for entry in told if entry["name"] == "TaskDuration"]
            before = time.monotonic()
            report.page.click("button[aria-label='Zoom in']")
            zoomed.append(time.monotonic() - before)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{number} solutions: {path.stat().st_size / 1e6:.2f} MB; all is drawn after "
            f"{median(ready):.2f} s (best {min(ready):.2f}), a click is answered "
            f"{median(answered):.2f} s later; the page's main thread worked {median(busy):.2f} s; "
            f"zooming takes {median(zoomed):.3f} s\n"
        )
    assert len(ready) == len(zoomed) == 5
