"""The page of a report, as a file: what it holds, how small it is, that nothing in it is markup."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from base64 import b64decode, b64encode
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
from moanon.measures.suppression import Suppression
from moanon.output.report import Tab, report_html, write_report
from moanon.output.report_data import MAX_LABELS, MAX_STEPS, page_data, size_steps
from moanon.output.report_facts import facts_of, rule_in_words
from tests import naive
from tests.output.fronts import HOSTILE, RECORD, hostile_instance, people_front, sampled_front

REPOSITORY = Path(__file__).resolve().parents[2]


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


def unpacked(text: str) -> str:
    """What the browser runs when somebody zooms."""
    return gzip.decompress(b64decode(text)).decode()


def data_of(page: str) -> dict[str, Any]:
    """What the page was given to show."""
    found: dict[str, Any] = json.loads(elements_of(page).scripts[0])
    return found


@pytest.fixture(scope="module")
def front() -> Front:
    return people_front()


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
    for i, blocks in enumerate(front.blocks):
        for column, way in zip(told["columns"], told["ways"][i], strict=True):
            number, places, widths = column["ways"][way]
            labels = tuple(column["labels"][place] for place in places)
            assert labels == blocks[column["name"]]
            assert number == len(labels) == len(widths)


def test_what_solutions_share_is_told_once(front: Front, page: str) -> None:
    (told,) = data_of(page)["tabs"]
    for column in told["columns"]:
        distinct = {blocks[column["name"]] for blocks in front.blocks}
        assert len(column["ways"]) == len(distinct)
        assert len(column["labels"]) == len({label for labels in distinct for label in labels})


def test_group_sizes_are_those_of_the_oracle(front: Front, page: str) -> None:
    (told,) = data_of(page)["tabs"]
    assert front.instance is not None
    for i, steps in enumerate(told["sizes"]):
        groups = naive.groups_with_loss(front.instance, front.genome(i + 1), "distinct")
        kept = [size for size, _, _ in groups if size >= front.thresholds[i, 0]]
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
        report_html([replace(tab, front=replace(tab.front, instance=None, blocks=blocks))])
    )
    (column,) = told["tabs"][0]["columns"]
    assert [number for number, _, _ in column["ways"]] == [MAX_LABELS + 50, 1]
    assert len(column["labels"]) == MAX_LABELS + 1


def test_numbers_that_json_does_not_know_are_told_as_words(tab: Tab) -> None:
    values = np.linspace(0, 1, len(tab.front))
    values[:3] = np.inf, -np.inf, np.nan
    odd = replace(tab.front, measures={**tab.front.measures, "odd": values})
    told = data_of(report_html([replace(tab, front=odd)]))
    assert told["tabs"][0]["values"]["odd"][:3] == ["inf", "-inf", None]
    assert told["measures"]["odd"]["meaning"] == ""  # of a version that knows more measures


@pytest.mark.parametrize(
    "folder", ["results/people", "my results/o'brien", "-x", "a\nb", HOSTILE[0]]
)
def test_the_export_command_survives_a_shell(tab: Tab, folder: str) -> None:
    (told,) = data_of(report_html([replace(tab, folder=folder)]))["tabs"]
    named = f"./{folder}" if folder.startswith("-") else folder
    assert shlex.split(told["command"]) == ["moanon", "export", named]


def test_fronts_with_the_same_objectives_are_compared(tab: Tab) -> None:
    other = replace(tab, front=people_front("zero-suppression"))
    assert data_of(report_html([tab, other]))["comparisons"] == []
    assert data_of(report_html([tab, other, tab]))["comparisons"] == [[0, 2]]


def test_a_page_is_named_after_what_its_tabs_have_in_common(tab: Tab) -> None:
    other = replace(tab, record={**RECORD, "name": "others"})
    assert "<title>people</title>" in report_html([tab, tab])
    assert "<title>2 fronts</title>" in report_html([tab, other])


# -- group sizes ---------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=400))
def test_steps_are_exact_points_of_the_cumulative_curve(sizes: list[int]) -> None:
    steps = size_steps(np.array(sizes))
    at, rows = np.cumsum(steps[::2]).tolist(), np.cumsum(steps[1::2]).tolist()
    assert at[-1] == max(sizes)
    assert rows == [sum(size for size in sizes if size <= mark) for mark in at]
    if len(set(sizes)) <= MAX_STEPS:
        assert at == sorted(set(sizes))
    assert len(at) <= MAX_STEPS


def test_thinned_steps_never_cross_a_doubling() -> None:
    steps = size_steps(np.arange(1, 2**12))
    # sizes 2^j .. 2^(j+1)-1, each once: 2^j * (3 * 2^j - 1) / 2 rows
    marks = np.cumsum(steps[::2])
    for j in range(12):
        inside = (marks >= 2**j) & (marks < 2 ** (j + 1))
        assert np.array(steps[1::2])[inside].sum() == 2**j * (3 * 2**j - 1) // 2


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
    assert [column["name"] for column in told["columns"]] == list(hostile_tab.front.blocks[0])
    assert told["title"] == HOSTILE[1]
    assert told["config"] == "\n".join(HOSTILE)
    assert told["marks"] == {"3": HOSTILE[5]}


@given(text=st.text())
def test_no_text_ends_the_element_it_stands_in(front: Front, text: str) -> None:
    front = replace(front, instance=None)
    with pytest.MonkeyPatch.context() as patch:  # a small page is read faster
        patch.setattr("plotly.offline.get_plotlyjs", lambda: "plotly")
        page = report_html([Tab(text, front, {"name": text}, text, text, {1: text}, text)])
    found = elements_of(page)
    assert found.tags.count("script") == 3
    (told,) = json.loads(found.scripts[0])["tabs"]
    assert (told["title"], told["config"], told["marks"]) == (text, text, {"1": text})


@pytest.mark.parametrize(
    "script", ["'</script>'", "'</SCRIPT >'", "'<!-- <script>'", "'a\r\nb\rc'"]
)
def test_the_library_is_packed_whole_and_cannot_end_its_element(tab: Tab, script: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plotly.offline.get_plotlyjs", lambda: script)
        found = elements_of(report_html([tab]))
    assert found.tags.count("script") == 3
    assert unpacked(found.scripts[2]) == script


def test_a_page_is_the_same_each_time(tab: Tab, page: str) -> None:
    assert report_html([tab]) == page


def test_a_name_that_is_not_unicode_can_be_shown(tab: Tab, tmp_path: Path) -> None:
    name = b"caf\xe9".decode("utf-8", "surrogateescape")  # as Python reads such a file name
    odd = replace(tab, title=name, folder=name, record={"name": name})
    write_report([odd], tmp_path / "report.html")
    written = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert data_of(written)["tabs"][0]["title"] == name


def test_the_policy_names_the_scripts_and_forbids_the_rest(page: str) -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    _, program, packed = elements_of(page).scripts
    scripts = (program, unpacked(packed))
    digests = [b64encode(sha256(script.encode()).digest()).decode() for script in scripts]
    assert rules["script-src"] == f"'sha256-{digests[0]}' 'sha256-{digests[1]}'"
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data: blob:"
    assert {"connect-src", "font-src", "frame-src"}.isdisjoint(rules)


# -- size ----------------------------------------------------------------------------------------


def test_five_hundred_solutions_of_a_census_table_fit_in_three_megabytes() -> None:
    instance = Config.load(REPOSITORY / "configs" / "quickstart.yaml").instance()
    front = sampled_front(instance, 500)
    assert len(front) == 500
    page = report_html([Tab("census", front, RECORD, "results/census")])
    assert len(page.encode()) <= 3_000_000


# -- in words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Suppression("none"), "No row is suppressed."),
        (Suppression("limit"), "plain k-anonymity"),
        (
            Suppression("limit", 0.1),
            r"smaller than its k; .* at most 10 % of the rows \(12 of 120\)",
        ),
        (
            Suppression("limit", 0.1, by="t_closeness"),
            "groups with a higher t_closeness than its own; together",
        ),
        (Suppression("limit", 0.1, by="l_entropy"), "with a lower l_entropy than its own;"),
        (
            Suppression("limit", 0.1, constraints=(("k", 5), ("t_closeness", 0.2))),
            r"\(η = 0\.1\)\. Groups with k below 5 or t_closeness above 0\.2 are suppressed before "
            r"all others, and count towards that\.$",
        ),
        (
            Suppression("limit", constraints=(("l_entropy", 3),)),
            r"^No row may be suppressed \(η = 0\)\. Every group has l_entropy at least 3\.$",
        ),
        (
            Suppression("none", constraints=(("k", 5), ("alpha", 0.5))),
            r"^No row is suppressed\. Every group has k at least 5 and alpha at most 0\.5\.$",
        ),
        (
            Suppression("weighted-k", constraints=(("k", 5),)),
            r"that costs\. Groups with k below 5 are suppressed before all others\.$",
        ),
        (Suppression("weighted-k"), "smaller than weighted k is suppressed, however many"),
        (
            Suppression("kl-safety", 0.25),
            r"fewer than d2 distinct .* 25 % .* \(30 of 120\).* k comes",
        ),
        (Suppression("kl-safety", 0.2, prefer="l"), "diversity comes first"),
        (Suppression("kl-safety", 0.2, "ordered"), "ordered by diversity, then by size"),
        (Suppression("kl-safety", 0.2, "ordered", "l"), "ordered by size, then by diversity"),
    ],
)
def test_the_suppression_rule_is_told_in_words(rule: Suppression, words: str) -> None:
    assert re.search(words, rule_in_words(rule, 120))


def test_a_rule_for_a_table_of_unknown_size_names_no_rows() -> None:
    assert "10 % of the rows (η = 0.1)" in rule_in_words(Suppression("limit", 0.1), None)


def test_how_the_run_was_made_is_told(front: Front) -> None:
    facts = dict(facts_of(replace(front, found=999), RECORD))
    assert facts["Rows"] == "120; 3 more had missing values and were dropped"
    assert facts["Evaluations"] == "1,200 in 6 generations"
    assert facts["Digest of the data"] == "ab12"
    assert facts["Solutions"] == f"{len(front)}, thinned evenly from 999"
    assert facts["Seconds of search"] == "1.25 on 2 threads"
    assert facts["Finished"] == "2026-01-02 03:04:05 UTC"
    assert facts["Versions"] == "moanon 0.1.0, numpy 2.0"
    assert "Notes" not in facts
    assert "Constraints" not in facts


def test_constraints_are_told_of_groups_and_of_the_whole(front: Front) -> None:
    rule = Suppression("limit", 0.1, constraints=(("k", 5), ("l_entropy", 3)))
    bound = replace(front, suppression=rule, bounds={"loss": 0.5, "groups": 10})
    told = "k at least 5; l_entropy at least 3; loss at most 0.5; groups at least 10"
    assert dict(facts_of(bound, RECORD))["Constraints"] == told


def test_the_page_knows_the_privacy_that_was_searched_and_its_direction(front: Front) -> None:
    rank = front.measures["k"].max() - front.measures["k"].astype(float)
    measures = {**front.measures, "size_rank": rank}
    searched = replace(front, objectives=("size_rank", "loss"), measures=measures)
    told = page_data([Tab("rank", searched, RECORD, "x", marks={5: "knee", 2: "knee"})])
    assert told["tabs"][0]["privacy"] == "size_rank"
    assert told["tabs"][0]["first"] == 5
    assert told["measures"]["size_rank"]["privacy"]
    assert told["measures"]["size_rank"]["better"] == "min"
    assert not told["measures"]["loss"]["privacy"]
    aimed = replace(front, objectives=("d1", "loss"))
    assert page_data([Tab("aimed", aimed, RECORD, "x")])["tabs"][0]["privacy"] == "k"


@pytest.mark.parametrize("record", [{}, {"data": [], "search": None, "times": 3, "notes": "x"}])
def test_what_a_record_does_not_tell_is_left_out(front: Front, record: dict[str, Any]) -> None:
    assert facts_of(front, record) == [("Objectives", "k, loss"), ("Solutions", str(len(front)))]


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
    none = replace(tab.front, genomes=tab.front.genomes[:0], blocks=())
    with pytest.raises(OutputError, match="front 'people' has no solutions"):
        report_html([replace(tab, front=none)])
