"""The page to attach to a release: what it says, what it never says, and that it is one sheet."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from moanon.data.domain import IntervalSpec, OrderedSpec
from moanon.engines import read_table
from moanon.genome import Instance
from moanon.output.summary import summary_html
from moanon.release import Release
from tests.output.browser import Browser
from tests.output.fronts import HOSTILE, hostile_instance
from tests.search.people import people


def page_of(release: Release, folder: Path) -> str:
    certificate = release.write(folder / "release.csv")
    return summary_html(release, certificate, "solution 3 of people")


def words_of(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page.partition("<body")[2])).split())


@pytest.fixture
def release() -> Release:
    """Ages in two bands, sizes as they are, places not shown."""
    instance = people()
    blocks = {
        "age": ((0, 4), (4, 8)),
        "size": ((0, 1), (1, 2), (2, 3), (3, 4)),
        "place": ((0, 5),),
    }
    return Release.of(instance, instance.layout.encode(blocks), k=6)


def test_it_says_what_was_done_and_what_came_of_it(release: Release, tmp_path: Path) -> None:
    text = words_of(page_of(release, tmp_path))
    rows, k = release.grouping.kept_rows, release.grouping.k
    assert f"{rows} of 120 rows are published: 3 columns generalized, 1 published" in text
    assert f"every published row looks like at least {k - 1} others" in text
    assert "ℓ of ill" in text
    assert "t of ill" in text
    assert re.search(r"age grouped: \[2\d-2\d\], \[2\d-2\d\] 2 \d\d\.\d%", text)
    assert re.search(r"size shown as it is 4 \d\d\.\d%", text)
    assert "place the same in every row (*) 1 100.0%" in text
    assert "ill published unchanged (sensitive)" in text
    assert "k-anonymity is not differential privacy" in text
    assert "Made by moanon" in text


def test_it_names_no_value_that_the_file_does_not_show(release: Release, tmp_path: Path) -> None:
    page = page_of(release, tmp_path)
    for place in ("Oslo", "Bergen", "Rome", "Bari", "Pisa", "North", "South", "flu", "gout"):
        assert place not in page


def test_markup_in_names_and_labels_is_text(tmp_path: Path) -> None:
    instance = hostile_instance()
    page = page_of(Release.of(instance, np.ones(instance.layout.bits, dtype=np.uint8)), tmp_path)
    for text in HOSTILE[:6]:
        assert text not in page
    assert "<script" not in page


def test_it_tells_what_steps_had_merged_and_what_was_removed(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": ["21", "23", "37", "38"], "name": list("abcd"), "x": list("1234")})
    table = read_table(frame, {"age": "quasi", "name": "identifying"})
    instance = Instance.build(table, {"age": IntervalSpec(granularity=10)})
    text = words_of(page_of(Release.of(instance, [1]), tmp_path))
    assert "age grouped: [20-29], [30-39] 2 50.0%" in text
    assert "2 removed name, x" in text


@pytest.mark.parametrize(
    ("columns", "sensitive", "named"),
    [
        (2, 0, "column number"),
        (16, 4, "column number"),
        (60, 15, "column number"),
        (20, 3, "a column whose name takes up much room, and goes on and on, number"),
    ],
)
def test_it_prints_to_one_page(
    browser: Browser, tmp_path: Path, columns: int, sensitive: int, named: str
) -> None:
    rng = np.random.default_rng(0)
    values = [f"a value of some length, number {i}" for i in range(9)]
    frame = pd.DataFrame({f"{named} {i}": rng.choice(values, 40) for i in range(columns)})
    hidden = dict.fromkeys(list(frame)[columns - sensitive :], "sensitive")
    roles = dict.fromkeys(frame, "quasi") | hidden
    table = read_table(frame, roles)
    instance = Instance.build(table, {name: OrderedSpec(tuple(values)) for name in table.quasi})
    genome = np.zeros(instance.layout.bits, dtype=np.uint8)
    genome[: 8 * (len(table.quasi) // 2)] = 1
    path = tmp_path / "summary.html"
    path.write_text(page_of(Release.of(instance, genome), tmp_path), encoding="utf-8")
    with browser.page() as page:
        page.open(path, "document.querySelector('footer') !== null")
        page.print(tmp_path / "summary.pdf")
        assert page.complaints() == []
    printed = (tmp_path / "summary.pdf").read_bytes()
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", printed)) == 1
