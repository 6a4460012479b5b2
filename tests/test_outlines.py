"""What is shown of objects: one line, and no value of anybody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import pandas as pd
import pytest

from moanon import Config, Diagnosis, Front, Hierarchy, read_table
from moanon.compare import compare
from moanon.diagnosis import Findings, look_over
from moanon.engines import open_source
from moanon.experiment import Experiment
from moanon.experiment.checking import check_config
from moanon.front.landmarks import TradeOff, find_landmarks
from moanon.measures import MEASURES
from moanon.measures.evaluate import score_grouping

#: In every value of the table and in nothing else; ages are written with the same digits.
SECRET, DIGITS = "Zyx", "98765"
CONFIG = {
    "name": "shown",
    "columns": {
        "name": {"role": "identifying"},
        "age": {"role": "quasi", "kind": "interval"},
        "size": {"role": "quasi", "kind": "ordered", "order": [f"{SECRET}S", f"{SECRET}M"]},
        "place": {"role": "quasi", "kind": "tree", "hierarchy": "place.yaml"},
        "ill": {"role": "sensitive"},
        "note": {"role": "insensitive"},
    },
    "problem": {"preset": "k-suppression", "eta": 0.3},
    "search": {"algorithm": "exhaustive"},
    "output": {"dir": "out", "plots": False, "report": False},
}


def people() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "name": [f"{SECRET}Ann{i}" for i in range(12)],
            "age": [f"{DIGITS}{i % 3}" for i in range(12)],
            "size": [f"{SECRET}{'SM'[i % 2]}" for i in range(12)],
            "place": [f"{SECRET}{place}" for place in ["Rome", "Oslo", "Bari"] * 4],
            "ill": [f"{SECRET}{ill}" for ill in ["flu", "gout", "flu", "cold"] * 3],
            "note": [f"{SECRET}-{i}" for i in range(12)],
        }
    )


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Objects from every station, and all that can be reached from them."""
    folder = tmp_path_factory.mktemp("shown")
    frame = people()
    frame.to_csv(folder / "people.csv", index=False)
    tree = f"Any: {{{SECRET}N: [{SECRET}Oslo], {SECRET}S: [{SECRET}Rome, {SECRET}Bari]}}"
    (folder / "place.yaml").write_text(tree)
    given = {**CONFIG, "data": {"source": "people.csv", "missing": "error"}}
    config = Config.from_dict(given, folder)
    config = config.model_copy(
        update={"output": config.output.model_copy(update={"dir": str(folder / "out")})}
    )
    experiment = Experiment.prepare(config)
    result = experiment.run()
    front = result.front
    assert isinstance(front, Front)
    assert front.instance is not None
    release = front.release(1)
    groupings = [front.grouping(1), front.grouping(len(front))]
    measures = [m for m in MEASURES.values() if m.why_not(front.instance) is None]
    diagnosis = Diagnosis.read(folder / "people.csv", ("age", "size"), ("ill",))
    columns = open_source(folder / "people.csv").columns
    found: list[Any] = [
        config, experiment, result, front, front.ask(max_loss=0.9), release,
        release.write(folder / "r.csv"), release._labelling("star"), groupings,
        compare(groupings), score_grouping(groupings[0], measures), diagnosis,
        diagnosis.ask(subset=("age", "size")), diagnosis.ask(), diagnosis.ask(delta="ask"),
        TradeOff.of(front), find_landmarks(front), columns, open_source(frame), front.chosen(1),
        release._reading("csv", tuple(front.instance.table.roles), stars=False, defused=False),
        read_table(frame, {"age": "quasi"}), Hierarchy.read(folder / "place.yaml"),
        check_config(config), Findings(diagnosis, diagnosis.ask(), look_over(diagnosis)),
        Findings(diagnosis, diagnosis.ask(subset=("age",))),
        front.instance.kernel, front.instance.losses, *config.specs().values(),
    ]  # fmt: skip
    return list(reached(found, set()))


def reached(value: Any, seen: set[int]) -> Iterator[Any]:
    """Objects of the package in what they hold, each once."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Mapping):
        for each in value.values():
            yield from reached(each, seen)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from reached(each, seen)
    elif type(value).__module__.startswith("moanon."):
        yield value
        if is_dataclass(value):
            for each in fields(value):
                yield from reached(getattr(value, each.name), seen)


def test_the_last_line_of_a_notebook_cell_shows_no_value(shown: list[Any]) -> None:
    names = {type(each).__name__ for each in shown}
    expected = {"Table", "Column", "Cells", "Instance", "Layout", "Release", "Grouping", "Front"}
    assert expected <= names
    for each in shown:
        for text in (repr(each), getattr(each, "_repr_html_", str)() or ""):
            assert SECRET not in text, type(each)
            assert DIGITS not in text, type(each)


def test_it_is_one_line(shown: list[Any]) -> None:
    for each in shown:
        assert "\n" not in repr(each), type(each)
        assert len(repr(each)) < 2500, (type(each), repr(each))


def test_an_outline_says_how_much_there_is(shown: list[Any]) -> None:
    texts = {type(each).__name__: repr(each) for each in shown}
    assert "rows_in=12, rows_dropped=0" in texts["Table"]
    assert texts["Release"].startswith("Release(grouping=Grouping(")
    assert texts["Cells"].startswith("Cells(columns=<3>, codes=<3 x ")
    assert texts["OrderedDomain"] == "OrderedDomain(order=<2>, has_missing=False)"
    assert texts["Config"].endswith("people.csv', 6 columns)")
