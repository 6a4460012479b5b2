"""The commands ``moanon export`` and ``apply``: certified files, or one sentence and nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from moanon import Certificate, __version__
from moanon.cli import main
from moanon.experiment import Experiment, load_front, plan
from moanon.front import Front
from tests.cli.commands import Captured, done, refused
from tests.search.people import COLUMNS, PLACES, config_text, people_frame

pytestmark = pytest.mark.usefixtures("finished_here")

CONFIG = config_text(
    COLUMNS | {"age": "{role: quasi, kind: interval}"},
    data="{source: people.csv, missing: drop}",
    problem="{preset: k-suppression, eta: 0.1}",
)


@pytest.fixture
def stored() -> Front:
    return load_front("people")


def middle(front: Front) -> int:
    """A solution that suppresses something and has a k above 2."""
    suppressed, k = front.measures["suppressed"], front.measures["k"]
    return int(np.flatnonzero((suppressed > 0) & (k > 2))[0]) + 1


def rewrite_config(old: str, new: str) -> None:
    """Change ``config.yaml``, and its digest with it."""
    path, record = Path("people/config.yaml"), json.loads(Path("people/run.json").read_text())
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    record["files"]["config.yaml"] = hashlib.sha256(path.read_bytes()).hexdigest()
    Path("people/run.json").write_text(json.dumps(record))


@pytest.mark.parametrize(
    "command", [["export", "people", "1"], ["apply", "people", "1", "people.csv"]]
)
def test_roles_that_are_not_those_of_the_run_are_refused(
    command: list[str], capsys: Captured
) -> None:
    rewrite_config("role: sensitive", "role: insensitive")
    assert refused(capsys, *command, "--out", "r.csv") == (
        "moanon: the column 'ill' is insensitive in people/config.yaml and was sensitive in the "
        "run; one of its files was changed, so run it again\n"
    )


def test_a_column_that_the_run_did_not_declare_is_refused(capsys: Captured) -> None:
    people_frame().assign(name="Ada").to_csv("people.csv", index=False)
    rewrite_config("  ill:", "  name:\n    role: insensitive\n  ill:")
    said = refused(capsys, "apply", "people", "1", "people.csv", "--out", "r.csv")
    assert "the column 'name' is insensitive in people/config.yaml and was not declared" in said


def test_nothing_is_released_where_the_roles_of_the_run_are_unknown(capsys: Captured) -> None:
    record = json.loads(Path("people/run.json").read_text())
    del record["roles"]
    Path("people/run.json").write_text(json.dumps(record))
    assert "people/run.json does not state the roles of the columns" in refused(
        capsys, "export", "people", "1", "--out", "r.csv"
    )


# -- export --------------------------------------------------------------------------------------


def test_export_writes_what_front_csv_says_and_shows_it(stored: Front, capsys: Captured) -> None:
    solution = middle(stored)
    row = stored.to_frame().loc[solution - 1]
    lines = done(capsys, "export", "people", str(solution), "--out", "r.csv")
    certificate = Certificate.load("r.csv.certificate.json")
    assert len(pd.read_csv("r.csv")) == 120 - row["suppressed"]
    assert (certificate.k, certificate.suppressed) == (row["k"], row["suppressed"])
    record = json.loads(
        Path(f"people/releases/{certificate.output_digest[:16]}-1.json").read_text()
    )
    run = json.loads(Path("people/run.json").read_text())
    assert record["digests"] == {
        "input": run["data"]["digest"],
        "config": run["config"]["digest"],
        "output": certificate.output_digest,
    }
    assert record["file"] == "r.csv"
    assert record["measures"]["loss"] == row["loss"]
    n, share = int(row["suppressed"]), row["suppressed"] / 120
    assert lines[:6] == [
        f" Wrote r.csv ({120 - n} rows) and r.csv.certificate.json",
        f"  k                   {int(row['k'])}",
        f"  l                   {int(row['l'])} distinct (ill)",
        f"  loss                {row['loss']:.1%} (generalization {row['gl']:.1%}, suppression "
        f"{row['sl']:.1%})",
        f"  suppressed          {n} row{'s' * (n > 1)} ({share:.1%})",
        "  checked             23 measures of the file, all as in front.csv",
    ]


def test_every_solution_can_be_exported(stored: Front, capsys: Captured) -> None:
    for solution in stored.ids.tolist():
        assert main(["export", "people", str(solution), "--out", f"{solution}.csv"]) == 0
        found = pd.read_csv(f"{solution}.csv").groupby(["age", "size", "place"]).size()
        assert found.min() == stored.measures["k"][solution - 1]


def test_another_k_says_what_it_costs(stored: Front, capsys: Captured) -> None:
    solution = middle(stored)
    k = int(stored.measures["k"][solution - 1])
    lines = done(capsys, "export", "people", str(solution), "--out", "r.csv", "--k", str(k - 1))
    got = Certificate.load("r.csv.certificate.json")
    assert got.k >= k - 1
    assert lines[1] == f"  k                   {got.k}; solution {solution} has {k}"
    loss = stored.measures["loss"][solution - 1]
    assert lines[3].endswith(f"; solution {solution} has {loss:.1%}")
    assert not any("front.csv" in line for line in lines)


def test_a_k_that_suppresses_too_much_is_refused_unless_allowed(
    stored: Front, capsys: Captured
) -> None:
    words = ["export", "people", "2", "--out", "r.csv", "--k", "6"]
    assert "its largest k within that is " in refused(capsys, *words)
    done(capsys, *words, "--max-suppression", "99%")
    assert Certificate.load("r.csv.certificate.json").k >= 6


def test_stars_and_shuffling(stored: Front, capsys: Captured) -> None:
    solution = str(middle(stored))
    done(capsys, "export", "people", solution, "--out", "a.csv", "--suppressed", "stars")
    assert len(pd.read_csv("a.csv")) == 120
    done(capsys, "export", "people", solution, "--out", "b.csv", "--keep-order")
    done(capsys, "export", "people", solution, "--out", "c.csv", "--shuffle", "7")
    done(capsys, "export", "people", solution, "--out", "d.csv")
    done(capsys, "export", "people", solution, "--out", "e.csv", "--shuffle", "7")
    b, c, d, e = (Path(f"{name}.csv").read_text().splitlines() for name in "bcde")
    assert sorted(b) == sorted(c) == sorted(d)
    assert b != c != d
    assert c == e
    orders = [Certificate.load(f"{name}.csv.certificate.json").row_order for name in "bcd"]
    assert orders == ["source", "shuffled", "shuffled"]
    assert b[1:] == [
        ",".join(row)
        for row in stored.release(int(solution)).to_frame().astype(str).to_numpy().tolist()
    ]


@pytest.fixture
def formulas(folder: Path) -> Path:
    """A run of a table, some of whose sensitive values a spreadsheet would run."""
    frame = people_frame()
    frame["ill"] = frame["ill"].where(frame["ill"] != frame["ill"][0], "- 50000.")
    frame.to_csv("formulas.csv", index=False)
    Path("formulas.yaml").write_text(CONFIG.replace("people.csv", "formulas.csv"))
    (config,) = plan(["formulas.yaml"], out="formulas")
    Experiment.prepare(config).run()
    return Path("formulas")


@pytest.mark.parametrize("command", ["export", "apply"])
def test_cells_that_a_spreadsheet_would_run_are_told(
    formulas: Path, capsys: Captured, command: str
) -> None:
    words = [command, formulas, 1, *(["formulas.csv"] if command == "apply" else [])]
    lines = done(capsys, *words, "--out", "r.csv")
    cells = (pd.read_csv("r.csv")["ill"] == "- 50000.").sum()
    told = f" note: cells that a spreadsheet would run: {cells}, released "
    assert cells > 1
    assert f"{told}as they are (--spreadsheet-safe puts an apostrophe before each)" in lines
    lines = done(capsys, *words, "--out", "safe.csv", "--spreadsheet-safe")
    assert (pd.read_csv("safe.csv")["ill"] == "'- 50000.").sum() == cells
    assert f"{told}with an apostrophe before each" in lines
    assert Certificate.load("safe.csv.certificate.json").spreadsheet_safe


def test_a_release_is_replaced_only_with_force(capsys: Captured) -> None:
    done(capsys, "export", "people", "2", "--out", "r.csv")
    words = ["export", "people", "3", "--out", "r.csv"]
    before = Path("r.csv").read_bytes()
    assert "r.csv exists already; it is replaced only with --force" in refused(capsys, *words)
    assert Path("r.csv").read_bytes() == before
    done(capsys, *words, "--force")
    assert Path("r.csv").read_bytes() != before


def test_data_that_moved_are_found_where_they_are_said_to_be(capsys: Captured) -> None:
    Path("people.csv").rename("moved.csv")
    words = ["export", "people", "2", "--out", "r.csv"]
    assert "if it has moved, say where with --data" in refused(capsys, *words)
    done(capsys, *words, "--data", "moved.csv")
    assert Path("r.csv").is_file()


def test_a_file_that_does_not_show_what_the_front_says_is_not_left(
    stored: Front, capsys: Captured
) -> None:
    measures = dict(stored.measures)
    measures["k"] = measures["k"] + 1
    wrong = Front(**{**vars(stored), "measures": measures})
    record, text = Path("people/run.json").read_text(), Path("people/config.yaml").read_text()
    wrong.save("people", record=json.loads(record), texts={"config.yaml": text}, force=True)
    err = refused(capsys, "export", "people", "3", "--out", "r.csv")
    k = stored.measures["k"][2]
    assert err.endswith(f"as the front says: k is {k} in the file and {k + 1} in the front\n")


# -- apply ---------------------------------------------------------------------------------------


def test_apply_generalizes_new_rows_as_the_run(stored: Front, capsys: Captured) -> None:
    solution = middle(stored)
    new = people_frame(300, seed=5)[["ill", "place", "size", "age"]]
    new.to_csv("new.csv", index=False)
    lines = done(capsys, "apply", "people", str(solution), "new.csv", "--out", "r.csv")
    released = pd.read_csv("r.csv", dtype=str)
    assert list(released) == ["age", "size", "place", "ill"]
    for name in ("age", "size", "place"):
        assert set(released[name]) <= set(stored.labels[solution - 1][name])
    k, found = (
        int(stored.measures["k"][solution - 1]),
        Certificate.load("r.csv.certificate.json"),
    )
    assert found.k == released.groupby(["age", "size", "place"]).size().min() >= k
    assert found.rows + found.suppressed == 300
    assert lines[1] == f"  k                   {found.k}; solution {solution} has {k}"
    if found.suppressed:
        assert lines[4].endswith(f": {found.suppressed} in groups that have too little")


def test_apply_to_rows_outside_the_domains(stored: Front, capsys: Captured) -> None:
    new = people_frame(300, seed=5)
    new.loc[[0, 1], "age"] = [99, 3]  # the run has seen 20 to 27
    new.loc[2, "place"] = "Paris"
    new["size"] = new["size"].where(new.index != 3, None)
    new.to_csv("new.csv", index=False)
    solution = str(middle(stored))
    words = ["apply", "people", solution, "new.csv", "--out", "r.csv"]
    err = refused(capsys, *words)
    assert "new.csv: column 'age': 2 rows hold values outside its interval domain (20" in err
    assert "'3', '99'; correct them, or suppress such rows (--outside suppress)" in err
    lines = done(capsys, *words, "--outside", "suppress")
    found = Certificate.load("r.csv.certificate.json")
    assert (found.rows_in, found.rows_dropped) == (300, 1)
    assert found.rows + found.suppressed == 299
    assert "3 with values outside the run's domains" in lines[4]
    assert lines[5] == "  dropped             1 row for missing values"


def test_apply_keeps_small_groups_on_request(stored: Front, capsys: Captured) -> None:
    people_frame(30, seed=5).to_csv("new.csv", index=False)
    solution = str(len(stored))  # one group of all 120
    words = ["apply", "people", solution, "new.csv", "--out", "r.csv"]
    err = refused(capsys, *words)
    assert "none of its 1 groups has k = 120; choose a smaller k, or keep small groups" in err
    lines = done(capsys, *words, "--small", "keep")
    assert lines[1] == f"  k                   30; solution {solution} has 120"
    done(capsys, *words, "--k", "25", "--force")


def test_apply_notes_that_more_is_suppressed_than_the_run_allows(
    stored: Front, capsys: Captured
) -> None:
    people_frame(40, seed=5).to_csv("new.csv", index=False)
    *_, note = done(capsys, "apply", "people", str(middle(stored)), "new.csv", "--out", "r.csv")
    share = Certificate.load("r.csv.certificate.json").sl
    assert note == (
        f" note: the run suppresses at most 10% of its rows, this file {share:.1%}; with a "
        "smaller --k it would be fewer"
    )


@pytest.fixture
def arx(folder: Path) -> Path:
    """A run with a hierarchy as ARX writes it, which has the ending of a release."""
    Path("place.csv").write_text(PLACES.to_arx())
    Path("arx.yaml").write_text(
        CONFIG.replace("place.yaml", "place.csv").replace("people.csv", "folder")
    )
    Path("folder").mkdir()
    people_frame().to_csv("folder/a.csv", index=False)
    (config,) = plan(["arx.yaml"], out="arx")
    Experiment.prepare(config).run()
    Path("link.csv").symlink_to("place.csv")
    Path("same.csv").hardlink_to("folder/a.csv")
    return Path("arx")


@pytest.mark.parametrize("command", ["export", "apply"])
@pytest.mark.parametrize(
    "name", ["place.csv", "folder/a.csv", "arx/front.csv", "new.csv", "link.csv", "same.csv"]
)
def test_what_a_run_was_made_from_is_not_replaced(
    arx: Path, capsys: Captured, command: str, name: str
) -> None:
    people_frame(300, seed=5).to_csv("new.csv", index=False)
    words = [command, arx, "2", *(["new.csv"] if command == "apply" else [])]
    if (command, name) == ("export", "new.csv"):  # is any file to it
        done(capsys, *words, "--out", name, "--force")
        return
    told = refused(capsys, *words, "--out", name, "--force")
    assert told == (
        f"moanon: {name} is not replaced: it was read for what would take its place; name another "
        "file\n"
    )


def test_a_certificate_does_not_replace_what_was_read_either(capsys: Captured) -> None:
    Path("r.csv.certificate.json").hardlink_to("place.yaml")
    told = refused(capsys, "export", "people", "2", "--out", "r.csv", "--force")
    assert "r.csv.certificate.json is not replaced: it was read" in told


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ("age,size,place\n20,S,Oslo\n", "new.csv has no column 'ill'"),
        ("age,size,place,ill\n", "new.csv has no rows"),
        (None, "new.csv does not exist"),
    ],
)
def test_apply_to_a_table_of_other_columns(capsys: Captured, new: str | None, message: str) -> None:
    if new is not None:
        Path("new.csv").write_text(new)
    assert message in refused(capsys, "apply", "people", "2", "new.csv", "--out", "r.csv")


# -- bad input, of both --------------------------------------------------------------------------


def change_record(**entries: Any) -> None:
    path = Path("people/run.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


def change(path: str, old: str, new: str) -> None:
    text = Path(path).read_text()
    assert old in text
    Path(path).write_text(text.replace(old, new, 1))


@pytest.mark.parametrize("command", ["export", "apply"])
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda: Path("people/run.json").unlink(), "not complete (run.json is missing)"),
        (lambda: Path("people/checkpoint.npz").touch(), "people holds an unfinished run"),
        (lambda: Path("people/config.yaml").unlink(), "people/config.yaml cannot be read: No such"),
        (lambda: change_record(format=1), "in format 1, and this is moanon"),
        (lambda: change_record(moanon="0.9.3"), f"moanon 0.9.3, and this is {__version__}"),
        (lambda: change("people/front.csv", ",", ";"), "people/front.csv is not the file that"),
        (lambda: change("people/solutions.json", "1", "0"), "solutions.json is not the file that"),
        (
            lambda: change("people/config.yaml", "role: sensitive", "role: insensitive"),
            "people/config.yaml is not the file that people/run.json belongs to",
        ),
        (lambda: Path("people.csv").unlink(), "; if it has moved, say where with --data"),
        (lambda: Path("people.csv").unlink(), "the table of people cannot be read: "),
        (lambda: Path("people.csv").unlink(), "people.csv does not exist"),
        (lambda: Path("place.yaml").unlink(), "the table of people cannot be read: hierarchy "),
        (
            lambda: change("people.csv", "S", "M"),
            "people.csv holds now; bring back the data of the run, or run it again",
        ),
        (lambda: change("people.csv", "S", "XXL"), "belongs to other data than "),
        (lambda: change("place.yaml", "Bari, Pisa", "Pisa, Bari"), "other labels"),
        (lambda: change("place.yaml", "North", "Nord"), "other labels"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(
    capsys: Captured, command: str, spoil: Callable[[], object], message: str
) -> None:
    people_frame(50, seed=5).to_csv("new.csv", index=False)
    spoil()
    rest = ["new.csv"] if command == "apply" else []
    assert message in refused(capsys, command, "people", "2", *rest, "--out", "r.csv")


@pytest.mark.parametrize("command", ["export", "apply"])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["people", "0", "r.csv"], "solutions of this front are 1 to "),
        (["people", "9999", "r.csv"], ". Got 9999"),
        (["people", "two", "r.csv"], "Invalid value for 'ID'"),
        (["people", "2", "r.txt"], "a release is a .csv or a .parquet file, or a folder of parts"),
        (["people", "2", "gone/r.csv"], "cannot be written: the folder gone does not exist"),
        (["people", "2", "/proc/r.csv"], "/proc/r.csv cannot be written: "),
        (["people", "2", "people/front.csv"], "people/front.csv is not replaced: it was read for"),
        (["gone", "2", "r.csv"], "gone does not exist; name a folder that moanon run has written"),
        ([".", "2", "r.csv"], ". holds no results; name a folder that moanon run has written"),
        (["people.csv", "2", "r.csv"], "people.csv is a file; name a folder that moanon run"),
    ],
)
def test_bad_words_are_one_sentence(
    capsys: Captured, command: str, words: list[str], message: str
) -> None:
    people_frame(300, seed=5).to_csv("new.csv", index=False)
    results, solution, out = words
    rest = ["new.csv"] if command == "apply" else []
    options = ["--out", out, "--force"]
    assert message in refused(capsys, command, results, solution, *rest, *options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--k", "0"], "Invalid value for '--k'"),
        (["--max-suppression", "20%"], "--max-suppression goes with --k"),
        (["--k", "2", "--max-suppression", "2"], "a share is from 0 to 1"),
        (["--shuffle", "x"], "Invalid value for '--shuffle'"),
        (["--shuffle", "-3"], "Invalid value for '--shuffle'"),
        (["--shuffle", "1", "--keep-order"], "--shuffle and --keep-order exclude each other"),
        (["--suppressed", "gone"], "Invalid value for '--suppressed'"),
        (["--data", "place.yaml"], "place.yaml has an ending that is not read"),
        (["--data", "gone.csv"], "gone.csv does not exist"),
    ],
)
def test_bad_options_are_one_sentence(capsys: Captured, options: list[str], message: str) -> None:
    assert message in refused(capsys, "export", "people", "2", "--out", "r.csv", *options)


def test_results_for_several_limits_are_named_one_by_one(capsys: Captured) -> None:
    Path("all").mkdir()
    Path("people").rename("all/eta-0.1")
    err = refused(capsys, "export", "all", "2", "--out", "r.csv")
    assert (
        "all holds results for several limits (eta-0.1); name one of them, such as all/eta" in err
    )
    done(capsys, "export", "all/eta-0.1", "2", "--out", "r.csv")


# -- for whoever signs -----------------------------------------------------------------------------


def test_a_release_comes_with_its_columns_and_a_summary(capsys: Captured, stored: Front) -> None:
    number = str(middle(stored))
    told = done(capsys, "export", "people", number, "--out", "r.csv", "--summary")
    assert " Wrote r.csv.summary.html, a page for whoever signs it" in told
    lines = [line.split() for line in told]
    for effect in ("age", "size", "place"):
        assert any(line[:1] == [effect] for line in lines)
    page = Path("r.csv.summary.html").read_text(encoding="utf-8")
    assert f"from solution {number} of people" in page


def test_a_summary_replaces_nothing_unless_told(capsys: Captured, stored: Front) -> None:
    Path("r.csv.summary.html").write_text("mine")
    told = refused(capsys, "export", "people", "1", "--out", "r.csv", "--summary")
    assert "r.csv.summary.html" in told
    assert not Path("r.csv").exists()
    assert Path("r.csv.summary.html").read_text() == "mine"
