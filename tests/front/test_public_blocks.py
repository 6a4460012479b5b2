"""Results do not name values that all solutions suppress, and are read and used all the same."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from moanon.data.domain import NOT_SHOWN
from moanon.experiment.finished import open_generalization
from moanon.experiment.runner import optimize
from moanon.front import Front
from moanon.front.results import _agree

CONFIG = """\
data: {source: people.csv}
columns: {zip: {role: quasi, kind: tree, hierarchy: {mask: right}}}
problem: {preset: k-suppression, eta: 0.3, constraints: {k: {min: 2}}}
output: {dir: results, plots: false, report: false}
"""
ZIPS = ["13053"] * 4 + ["13068"] * 3 + ["99777", "99001"]


def front_of(rule: dict[str, object], cells: list[str]) -> Front:
    columns = {"x": {"role": "quasi", "kind": "tree", "hierarchy": rule}}
    problem = {"preset": "k-suppression", "eta": 0.3, "constraints": {"k": {"min": 2}}}
    return optimize(pd.DataFrame({"x": cells}), columns, problem=problem)


@pytest.mark.parametrize(
    ("rule", "finest"),
    [
        # 99*** has two rows, which are suppressed where the others make up larger groups.
        ({"mask": "right"}, ("13053", "13068", NOT_SHOWN)),
        ({"frequency": 1}, ("13053", "13068", NOT_SHOWN, NOT_SHOWN)),
        ({"group": {"here": ["13053", "13068"]}, "rest": "there"}, None),
        ({"group": {"13": ["13053", "13068"], "99": ["99777", "99001"]}}, None),
    ],
    ids=["mask", "frequency", "rest", "written out"],
)
def test_labels_that_reveal_suppressed_values_are_not_shown(
    rule: dict[str, object], finest: tuple[str, ...] | None
) -> None:
    front = front_of(rule, ZIPS)
    declared = "group" in rule and "rest" not in rule
    seen = set()
    for number, blocks in zip(front.ids.tolist(), front.labels, strict=True):
        grouping = front.grouping(number)
        kept = set(grouping.labels["x"][grouping.kept].tolist())
        public = set(blocks["x"])
        seen |= {blocks["x"]}
        assert kept <= public
        secrets = {"99777", "99001", "99***"} - kept
        assert declared or not public & secrets
    assert finest is None or finest in seen


def test_stored_results_serve_rows_with_values_that_they_do_not_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from moanon.experiment import Experiment, load_front, plan

    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"zip": ZIPS}).to_csv("people.csv", index=False)
    Path("people.yaml").write_text(CONFIG, encoding="utf-8")
    (config,) = plan([Path("people.yaml")])
    Experiment.prepare(config).run()
    texts = [path.read_text() for path in Path("results").iterdir() if path.suffix == ".json"]
    assert not any("99777" in text or "99001" in text for text in texts)
    front = load_front("results")
    finest = next(n for n in front.ids.tolist() if NOT_SHOWN in front.labels[n - 1]["zip"])
    assert front.release(finest).grouping.kept.any()
    pd.DataFrame({"zip": ["99777"] * 4 + ["13053"] * 4}).to_csv("later.csv", index=False)
    Path("people.csv").unlink()
    opened = open_generalization("results", finest)
    release = opened.front.apply(finest, opened.read_rows("later.csv"))
    assert set(release.grouping.labels["zip"].tolist()) == {"99***", "13053"}


def test_labels_are_compared_as_far_as_they_are_shown() -> None:
    assert _agree(["a", "b"], ["a", NOT_SHOWN])
    assert not _agree(["a", "b"], ["b", NOT_SHOWN])
    assert not _agree(["a", "b"], ["a"])
