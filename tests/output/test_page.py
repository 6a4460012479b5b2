"""The page of a report, as a file: what it holds, how small it is, that nothing in it is markup."""

from __future__ import annotations

import json
import re
import shlex
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.config import Config
from moanon.errors import OutputError
from moanon.front import Front
from moanon.output import page as pages
from moanon.output.page import MAX_LABELS, Tab, part, report_html, write_report
from tests import naive
from tests.checkout import QUICKSTART
from tests.output.fronts import HOSTILE, RECORD, hostile_instance, sampled_front
from tests.search.people import found_front


class Elements(HTMLParser):
    """The elements of a page, as a parser for HTML sees them, and the texts of its scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self._inside = tag == "script"
        if self._inside:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.scripts[-1] += data


def elements_of(page: str) -> Elements:
    parser = Elements()
    parser.feed(page)
    return parser


def data_of(page: str) -> dict[str, Any]:
    """What the page was given to show."""
    found: dict[str, Any] = json.loads(elements_of(page).scripts[0])
    return found


@pytest.fixture(scope="module")
def tab(front: Front) -> Tab:
    return Tab("people", front, RECORD, "results/people")


@pytest.fixture(scope="module")
def page(tab: Tab) -> str:
    return report_html([tab])


# -- what the page holds -------------------------------------------------------------------------


def test_every_solution_is_there_with_all_its_measures(front: Front, page: str) -> None:
    (told,) = data_of(page)["tabs"]
    assert list(told["values"]) == list(front.measures)
    for name, values in front.measures.items():
        shown = [float(value) for value in told["values"][name]]  # JSON has no infinity
        assert shown == pytest.approx(values.tolist(), rel=1e-8)
    assert told["values"]["k"] == front.measures["k"].tolist()


def test_the_labels_of_every_solution_can_be_put_together_again(front: Front, page: str) -> None:
    (told,) = data_of(page)["tabs"]
    for i, blocks in enumerate(front.labels):
        for column, way in zip(told["columns"], told["ways"][i], strict=True):
            number, places, widths = column["ways"][way]
            labels = tuple(column["labels"][place] for place in places)
            assert labels == blocks[column["name"]]
            assert number == len(labels) == len(widths)


def test_what_solutions_share_is_told_once(front: Front, page: str) -> None:
    (told,) = data_of(page)["tabs"]
    for column in told["columns"]:
        distinct = {blocks[column["name"]] for blocks in front.labels}
        assert len(column["ways"]) == len(distinct)
        assert len(column["labels"]) == len({label for labels in distinct for label in labels})


def test_group_sizes_are_those_of_the_oracle(front: Front, page: str) -> None:
    (told,) = data_of(page)["tabs"]
    assert front.instance is not None
    for i, steps in enumerate(told["sizes"]):
        groups = naive.groups_with_loss(front.instance, front.recoding(i + 1)["genome"], "distinct")
        least = front.recoding(i + 1)["thresholds"]["size"]
        kept = [size for size, _, _ in groups if size >= least]
        sizes = np.cumsum(steps[::2]).tolist()
        rows = {size: kept.count(size) * size for size in sorted(set(kept))}
        assert dict(zip(sizes, steps[1::2], strict=True)) == rows


def test_without_the_table_the_page_says_why_group_sizes_are_missing(tab: Tab) -> None:
    alone = replace(tab, front=replace(tab.front, instance=None), without_table="no such file")
    (told,) = data_of(report_html([alone]))["tabs"]
    assert told["sizes"] is None
    assert told["without"] == "no such file"
    assert all(widths == [] for column in told["columns"] for _, _, widths in column["ways"])


def test_long_lists_of_labels_are_counted_not_told(tab: Tab) -> None:
    labels = tuple(str(i) for i in range(MAX_LABELS + 50))
    blocks = ({"many": labels}, *({"many": ("*",)} for _ in range(len(tab.front) - 1)))
    told = data_of(
        report_html([replace(tab, front=replace(tab.front, instance=None, labels=blocks))])
    )
    (column,) = told["tabs"][0]["columns"]
    assert [number for number, _, _ in column["ways"]] == [MAX_LABELS + 50, 1]
    assert len(column["labels"]) == MAX_LABELS + 1


def test_numbers_that_json_does_not_know_are_told_as_words(tab: Tab) -> None:
    values = np.linspace(0, 1, len(tab.front))
    values[:3] = np.inf, -np.inf, np.nan
    odd = replace(tab.front, measures={**tab.front.measures, "delta": values})
    told = data_of(report_html([replace(tab, front=odd)]))
    assert told["tabs"][0]["values"]["delta"][:3] == ["inf", "-inf", None]


@pytest.mark.parametrize(
    "folder", ["results/people", "my results/o'brien", "-x", "a\nb", HOSTILE[0]]
)
def test_the_export_command_survives_a_shell(tab: Tab, folder: str) -> None:
    (told,) = data_of(report_html([replace(tab, folder=folder)]))["tabs"]
    named = f"./{folder}" if folder.startswith("-") else folder
    assert shlex.split(told["command"]) == ["moanon", "export", named]


def test_fronts_with_the_same_objectives_are_compared(tab: Tab) -> None:
    other = replace(tab, front=found_front("zero-suppression"))
    assert data_of(report_html([tab, other]))["comparisons"] == []
    assert data_of(report_html([tab, other, tab]))["comparisons"] == [
        {"members": [0, 2], "axes": None, "note": ""}
    ]


def test_all_fronts_are_compared_on_given_axes(tab: Tab) -> None:
    other = replace(tab, front=found_front("kl-safety"))
    (compared,) = data_of(report_html([tab, other], ("k", "loss")))["comparisons"]
    assert compared == {"members": [0, 1], "axes": {"x": "k", "y": "loss"}, "note": ""}


def test_a_page_is_named_after_what_its_tabs_have_in_common(tab: Tab) -> None:
    other = replace(tab, record={**RECORD, "name": "others"})
    assert "<title>people</title>" in report_html([tab, tab])
    assert "<title>2 fronts</title>" in report_html([tab, other])


# -- nothing in it is markup ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile_tab() -> Tab:
    record = {**RECORD, "name": HOSTILE[0], "notes": list(HOSTILE)}
    record["data"] = {**RECORD["data"], "source": HOSTILE[1]}
    front = sampled_front(hostile_instance(), 40)
    marks = {3: HOSTILE[5]}
    return Tab(HOSTILE[1], front, record, HOSTILE[2], "\n".join(HOSTILE), marks, HOSTILE[3])


def test_hostile_values_add_no_element_and_no_attribute(page: str, hostile_tab: Tab) -> None:
    plain, hostile = elements_of(page), elements_of(report_html([hostile_tab]))
    assert hostile.tags == plain.tags
    assert [name for name, _ in hostile.attributes] == [name for name, _ in plain.attributes]
    assert hostile.scripts[1:] == plain.scripts[1:]


def test_hostile_values_arrive_as_they_are(hostile_tab: Tab) -> None:
    (told,) = data_of(report_html([hostile_tab]))["tabs"]
    assert [column["name"] for column in told["columns"]] == list(hostile_tab.front.labels[0])
    assert told["title"] == HOSTILE[1]
    assert told["config"] == "\n".join(HOSTILE)
    assert told["marks"] == {"3": HOSTILE[5]}


@given(text=st.text())
def test_no_text_ends_the_element_it_stands_in(front: Front, text: str) -> None:
    front = replace(front, instance=None)
    page = report_html([Tab(text, front, {"name": text}, text, text, {1: text}, text)])
    found = elements_of(page)
    assert found.tags.count("script") == 2
    (told,) = json.loads(found.scripts[0])["tabs"]
    assert (told["title"], told["config"], told["marks"]) == (text, text, {"1": text})


@pytest.mark.parametrize(
    "script", ["'</script>'", "'</SCRIPT >'", "'<!-- <script>'", "'a\r\nb\rc'"]
)
def test_the_script_cannot_end_its_element(tab: Tab, script: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("moanon.output.page._SCRIPTS", ("main.js",))
        patch.setattr(pages, "part", lambda name: script if name.endswith(".js") else part(name))
        found = elements_of(report_html([tab]))
    assert found.tags.count("script") == 2
    assert "\r" not in found.scripts[1]


def test_a_page_is_the_same_each_time(tab: Tab, page: str) -> None:
    assert report_html([tab]) == page


def test_a_name_that_is_not_unicode_can_be_shown(tab: Tab, tmp_path: Path) -> None:
    name = b"caf\xe9".decode("utf-8", "surrogateescape")  # as Python reads such a file name
    odd = replace(tab, title=name, folder=name, record={"name": name})
    write_report([odd], tmp_path / "report.html")
    written = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert data_of(written)["tabs"][0]["title"] == name


def test_the_policy_names_the_script_and_forbids_the_rest(page: str) -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    _, program = elements_of(page).scripts
    digest = b64encode(sha256(program.encode()).digest()).decode()
    assert rules["script-src"] == f"'sha256-{digest}'"
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    assert {"connect-src", "font-src", "frame-src"}.isdisjoint(rules)


# -- size ----------------------------------------------------------------------------------------


def test_five_hundred_solutions_of_a_census_table_fit_in_one_megabyte() -> None:
    instance = Config.load(QUICKSTART).instance()
    front = sampled_front(instance, 500)
    assert len(front) == 500
    page = report_html([Tab("census", front, RECORD, "results/census")])
    assert len(page.encode()) <= 1_000_000


# -- files ---------------------------------------------------------------------------------------


def test_a_report_replaces_another_file_only_with_force(
    tab: Tab, page: str, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_text("mine")
    with pytest.raises(OutputError, match=r"report\.html exists already"):
        write_report([tab], path)
    assert path.read_text() == "mine"
    write_report([tab], path, force=True)
    assert path.read_text(encoding="utf-8") == page


def test_nothing_to_show_is_refused(tab: Tab) -> None:
    with pytest.raises(OutputError, match="a report needs at least one front"):
        report_html([])
    nothing = tab.front.recodings.take(np.zeros(0, dtype=np.int64))
    none = replace(tab.front, recodings=nothing, labels=())
    with pytest.raises(OutputError, match="front 'people' has no solutions"):
        report_html([replace(tab, front=none)])
