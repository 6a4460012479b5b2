"""Results folders that cannot be used say so in one sentence, and stay as they are."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from moanon import __version__
from moanon.errors import DataError
from moanon.front import Front
from moanon.front.results import find_fronts, read_listed, read_record


@pytest.fixture
def results(front: Front, tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    folder.mkdir()
    front.save(folder, texts={"config.yaml": "name: x\n"})
    return folder


def set_record(folder: Path, **entries: object) -> None:
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**record, **entries}))


def test_a_record_says_its_format_and_version(results: Path) -> None:
    record = read_record(results)
    assert (record["format"], record["moanon"]) == (2, __version__)
    assert list(record)[:2] == ["format", "moanon"]


def test_another_third_number_of_the_version_is_read(results: Path) -> None:
    set_record(results, moanon=__version__.rpartition(".")[0] + ".99")
    assert read_record(results)["format"] == 2


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: set_record(f, format=1), "was written by moanon 0.1.0 in format 1, and this is"),
        (lambda f: set_record(f, format=None), "in format None, and this is moanon"),
        (
            lambda f: set_record(f, moanon="0.0.9"),
            r"was written by moanon 0\.0\.9, and this is .*; run it again, or use that version",
        ),
        (lambda f: set_record(f, moanon="9.1.0"), r"was written by moanon 9\.1\.0, and this is"),
        (lambda f: set_record(f, moanon=7), "was written by moanon 7, and this is"),
        (
            lambda f: (f / "run.json").unlink(),
            r"holds results that are not complete \(run\.json is missing\); run it again with",
        ),
        (
            lambda f: (f / "checkpoint.npz").touch(),
            "holds an unfinished run; finish it with moanon run and resume=True, or",
        ),
        (lambda f: (f / "checkpoint.previous.npz").touch(), "holds an unfinished run"),
        (lambda f: (f / "run.json").write_text("{"), r"run\.json is not valid JSON"),
        (lambda f: (f / "run.json").write_text("[]"), "must hold a JSON object. Got list"),
        (
            lambda f: (f / "run.json").write_text("[" * 100_000),
            r"run\.json is not valid JSON: it is nested too deeply",
        ),
        (lambda f: set_record(f, files=[]), r"run\.json is damaged: files must be an object\. Got"),
        (lambda f: set_record(f, data=3), r"run\.json is damaged: data must be an object\. Got 3"),
        (
            lambda f: set_record(f, problem={"objectives": [["k"]]}),
            r"is damaged: problem\.objectives must name measures\. Got \[\['k'\]\]",
        ),
        (
            lambda f: set_record(f, config=None),
            r"run\.json is damaged: config must be an object\. Got None",
        ),
        (
            lambda f: set_record(f, config={"digest": 3}),
            r"run\.json is damaged: config\.digest must be a text\. Got 3",
        ),
        (
            lambda f: set_record(f, front={"found": 1e999}),
            r"run\.json is damaged: front\.found must be a count\. Got inf",
        ),
        (
            lambda f: set_record(f, problem={"bounds": {"loss": 10**400}}),
            r"problem\.bounds must be an object of numbers\. Got {'loss': 1000",
        ),
        (
            lambda f: set_record(f, roles=["age"]),
            r"run\.json is damaged: roles must be an object of texts\. Got \['age'\]",
        ),
        (
            lambda f: set_record(f, problem={"objectives": []}),
            r"problem\.objectives must name measures\. Got \[\]",
        ),
    ],
)
def test_what_is_no_finished_run_of_this_version_is_refused(
    results: Path, spoil: Callable[[Path], object], message: str
) -> None:
    spoil(results)
    before = {path.name: path.read_bytes() for path in results.iterdir()}
    with pytest.raises(DataError, match=message):
        read_record(results)
    with pytest.raises(DataError, match=message):
        Front.load(results)
    assert {path.name: path.read_bytes() for path in results.iterdir()} == before


def test_what_is_no_results_folder_is_refused(results: Path, tmp_path: Path) -> None:
    for path, message in [
        (tmp_path / "gone", "gone does not exist; name a folder that moanon run has written"),
        (tmp_path, "holds no results; name a folder that moanon run has written"),
        (results / "front.csv", f"front.csv is a file; name its folder, {results}"),
        (Path(__file__), r"\.py is a file; name a folder that moanon run has written"),
    ]:
        with pytest.raises(DataError, match=message):
            read_record(path)


def test_what_a_killed_write_left_is_not_complete(tmp_path: Path) -> None:
    (tmp_path / ".moanon-0123456789abcdef").touch()
    with pytest.raises(DataError, match="not complete"):
        read_record(tmp_path)


def test_a_listed_file_must_be_what_it_was(results: Path) -> None:
    record = read_record(results)
    assert read_listed(results, record, "config.yaml") == b"name: x\n"
    (results / "config.yaml").write_text("name: y\n")
    with pytest.raises(DataError, match=r"config\.yaml is not the file that .*run\.json belongs"):
        read_listed(results, record, "config.yaml")
    with pytest.raises(DataError, match="is not the file that"):
        read_listed(results, {"files": 3}, "config.yaml")


@pytest.mark.parametrize("entry", ["problem", "files", "front"])
@pytest.mark.parametrize("value", [3, None, [], "x", {"suppression": 3, "objectives": 3}])
def test_a_record_of_nonsense_is_refused(results: Path, entry: str, value: object) -> None:
    set_record(results, **{entry: value})
    with pytest.raises(DataError, match=r"holds no front of|is not the file that|is damaged"):
        Front.load(results)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"recursive_c": 10**400}, r"recursive_c must be a number > 0 and <= 1000\. Got 1000"),
        ({"eta": "0.1"}, r"eta must be in \[0, 1\)\. Got '0\.1'"),
        ({"constraints": [["k", 10**400]]}, "OverflowError"),
        ({"unheard": 1}, "TypeError.*unheard"),
    ],
)
def test_a_rule_of_nonsense_is_refused(
    results: Path, rule: dict[str, object], message: str
) -> None:
    problem = read_record(results)["problem"]
    set_record(results, problem={**problem, "suppression": {**problem["suppression"], **rule}})
    with pytest.raises(DataError, match=f"results holds no front of moanon: .*{message}"):
        Front.load(results)


def rewrite(folder: Path, name: str, text: str) -> None:
    """Change a file, and its digest with it."""
    (folder / name).write_text(text)
    digests = read_record(folder)["files"] | {name: hashlib.sha256(text.encode()).hexdigest()}
    set_record(folder, files=digests)


@pytest.mark.parametrize("value", [1e30, {}, "x", 1.5, "2", True, None, 2**63, 10**400])
def test_thresholds_are_whole_numbers(results: Path, value: object) -> None:
    solutions = json.loads((results / "solutions.json").read_text())
    solutions["2"]["thresholds"]["size"] = value
    rewrite(results, "solutions.json", json.dumps(solutions))
    with pytest.raises(DataError, match=r"thresholds\.size must be a whole number\. Got"):
        Front.load(results)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("genome", "0120", r"a genome must be a text of 0 and 1\. Got '0120'"),
        ("genome", [0, 1], r"a genome must be a text of 0 and 1\. Got \[0, 1\]"),
        ("columns", {}, "the solutions of solutions.json have different columns"),
        ("columns", [], "AttributeError"),
        ("thresholds", None, "TypeError"),
    ],
)
def test_solutions_of_nonsense_are_refused(
    results: Path, key: str, value: object, message: str
) -> None:
    solutions = json.loads((results / "solutions.json").read_text())
    solutions["2"][key] = value
    rewrite(results, "solutions.json", json.dumps(solutions))
    with pytest.raises(DataError, match=f"results holds no front of moanon: .*{message}"):
        Front.load(results)


@pytest.mark.parametrize("labels", ["age", [1], [["a"]], None])
def test_labels_are_texts(results: Path, labels: object) -> None:
    solutions = json.loads((results / "solutions.json").read_text())
    solutions["1"]["columns"]["age"] = labels
    rewrite(results, "solutions.json", json.dumps(solutions))
    with pytest.raises(DataError, match=r"age in solutions\.json must be a list of labels\. Got"):
        Front.load(results)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[1].__setitem__(1, "1" + "0" * 400), "OverflowError"),
        (lambda rows: rows[1].__setitem__(1, "1.5"), "invalid literal for int.*'1.5'"),
        (
            lambda rows: rows[1].__setitem__(2, "nan"),
            r"front\.csv has no number in the column loss",
        ),
        (lambda rows: rows[1].__setitem__(0, "2"), r"front\.csv must number its solutions from 1"),
        (lambda rows: rows[1].append("1"), "argument"),
        (lambda rows: [row.append("1") for row in rows], "there is no measure called '1'"),
        (lambda rows: [row.append(row[1]) for row in rows], r"front\.csv has two columns k"),
        (lambda rows: [row.pop(2) for row in rows], r"front\.csv has no column loss"),
        (lambda rows: rows.__delitem__(slice(1, None)), "must number its solutions from 1"),
    ],
)
def test_a_table_of_nonsense_is_refused(
    results: Path, change: Callable[[list[list[str]]], object], message: str
) -> None:
    rows = [line.split(",") for line in (results / "front.csv").read_text().splitlines()]
    assert rows[0][:3] == ["id", "k", "loss"]
    change(rows)
    rewrite(results, "front.csv", "".join(",".join(row) + "\n" for row in rows))
    with pytest.raises(DataError, match=f"results holds no front of moanon: .*{message}"):
        Front.load(results)


# -- several limits ------------------------------------------------------------------------------


def test_a_folder_of_limits_lists_them_in_order(front: Front, tmp_path: Path) -> None:
    for name in ("eta-0.1", "eta-0.05", "eta-0.2", "eta-x", "other"):
        (tmp_path / name).mkdir()
        front.save(tmp_path / name)
    names = [path.name for path in find_fronts(tmp_path)]
    assert names == ["eta-0.05", "eta-0.1", "eta-0.2", "eta-x"]
    message = r"several limits \(eta-0\.05, .*\); name one of them, such as .*eta-x"
    with pytest.raises(DataError, match=message):
        read_record(tmp_path)


def test_a_folder_with_a_front_of_its_own_is_itself(front: Front, results: Path) -> None:
    (results / "eta-0.1").mkdir()
    front.save(results / "eta-0.1")
    assert find_fronts(results) == (results,)
    assert find_fronts(results / "gone") == (results / "gone",)


# -- limits --------------------------------------------------------------------------------------


@pytest.fixture
def several(front: Front, tmp_path: Path) -> Path:
    for eta in ("0.1", "0.05"):
        folder = tmp_path / f"eta-{eta}"
        folder.mkdir()
        front.save(folder, texts={"config.yaml": "name: x\n"})
    return tmp_path


def unreadable(path: Path) -> None:
    """Make a file that the system refuses to look at, whoever asks: a link to itself."""
    path.unlink()
    path.symlink_to(path.name)


def test_a_limit_that_cannot_be_read_is_not_left_out_in_silence(several: Path) -> None:
    unreadable(several / "eta-0.1" / "run.json")
    for partly in (False, True):
        with pytest.raises(DataError, match=r"eta-0\.1 cannot be read: Too many levels"):
            find_fronts(several, partly=partly)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
@pytest.mark.parametrize("mode", [0o000, 0o400])
def test_a_folder_that_cannot_be_entered_is_told(several: Path, mode: int) -> None:
    (several / "eta-0.1").chmod(mode)
    try:
        with pytest.raises(DataError, match=r"eta-0\.1 cannot be read: Permission denied"):
            find_fronts(several)
    finally:
        (several / "eta-0.1").chmod(0o700)


def test_results_of_a_limit_in_part_are_refused_but_to_a_run_that_goes_on(several: Path) -> None:
    (several / "eta-0.1" / "run.json").unlink()
    with pytest.raises(DataError, match=r"eta-0\.1 holds .* not complete .*; run it again with"):
        find_fronts(several)
    assert find_fronts(several, partly=True) == (several / "eta-0.05",)
    (several / "checkpoint.npz").touch()
    with pytest.raises(
        DataError, match=r"eta-0\.1 holds .*; continue with moanon run and resume=True"
    ):
        find_fronts(several)


def test_an_empty_folder_of_a_limit_is_nothing(several: Path) -> None:
    (several / "eta-0.2").mkdir()
    assert [path.name for path in find_fronts(several)] == ["eta-0.05", "eta-0.1"]
