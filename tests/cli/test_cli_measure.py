"""The command ``moanon measure``: what it prints, and what it refuses."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pandas as pd
import pytest

from moanon import Config, Release, datasets
from moanon.cli import main
from moanon.measures import MEASURES
from tests.cli.commands import Captured
from tests.compare.source import PEOPLE

CONFIG = """\
data: {source: people.csv}
columns:
  zip: {role: quasi, kind: ordered, order: ["13052", "13053", "13250", "13253", "13268", "13269"]}
  age: {role: quasi, kind: interval, range: [20, 59], granularity: 10}
  status: {role: sensitive}
"""
ZIPS = "".join(
    f"{zip_};{zip_[:4]}*;{zip_[:3]}**;*\n"
    for zip_ in ("13052", "13053", "13250", "13253", "13268", "13269")
)


@pytest.fixture(autouse=True)
def releases(folder: Path) -> None:
    """Ten people, what is known about them, and a release of ours with three rows left out."""
    PEOPLE.rename_axis("nr").to_csv("people.csv")
    Path("people.yaml").write_text(CONFIG)
    Path("zip.csv").write_text(ZIPS)
    instance = Config.load("people.yaml").instance()
    # Zip codes 13052-13053 and the others; ages 20-39 and the decades from 40 on.
    release = Release.of(instance, instance.layout.parse("01000" + "011"), k=3)
    release.write("ours.csv", shuffle=1)
    release.write("stars.csv", suppressed="star", keep_order=True)
    Path("theirs.csv").write_text(
        "nr;zip;status\n" + "".join(f"{i};132**;{s}\n" for i, s in enumerate(PEOPLE["status"]))
    )


def measured(capsys: Captured, *arguments: str) -> dict:
    assert main(["measure", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_measure_is_shown_with_its_meaning(capsys: Captured) -> None:
    assert main(["measure", "people.csv", "ours.csv", "--config", "people.yaml"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == " ours.csv: 7 of 10 rows released; rows found by labels"
    assert lines[1].split() == ["quasi-identifiers", "zip,", "age"]
    assert lines[2].split() == ["sensitive", "status"]
    (k,) = (line for line in lines if line.startswith(" k "))
    assert k.split() == ["k", "3", "higher", *["size", "of", "the", "smallest", "kept", "group"]]
    (sl,) = (line for line in lines if line.startswith(" sl "))
    assert sl.split()[1] == "30.00%"
    assert err == ""


TOWNS = "place,sex\nKöln,f\nKöln,m\nBonn,f\nBonn,m\n"


def write_towns(encoding: str, data: str = "") -> None:
    Path("towns.csv").write_text(TOWNS, encoding=encoding)
    Path("towns.yaml").write_text(
        f"data: {{source: towns.csv, {data}}}\n"
        "columns:\n"
        "  place: {role: quasi, kind: ordered, order: [Köln, Bonn]}\n"
        "  sex: {role: quasi, kind: ordered, order: [f, m]}\n",
        encoding="utf-8",
    )


@pytest.mark.parametrize("memory", ["", ", memory: 100MB"])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_release_is_utf8_or_in_the_encoding_of_its_original(
    encoding: str, memory: str, capsys: Captured
) -> None:
    write_towns("latin-1", f"encoding: latin-1{memory}")
    Path("released.csv").write_text(TOWNS, encoding=encoding)
    found = measured(capsys, "towns.csv", "released.csv", "--config", "towns.yaml")
    assert (found["measures"]["k"], found["measures"]["loss"]) == (1, 0)


@pytest.mark.parametrize("options", [[], ["--config", "towns.yaml"]])
def test_a_release_in_an_encoding_that_nobody_declared_is_refused(
    options: list[str], capsys: Captured
) -> None:
    write_towns("utf-8")
    Path("released.csv").write_text(TOWNS, encoding="latin-1")
    assert main(["measure", "towns.csv", "released.csv", *options]) == 2
    assert capsys.readouterr().err == (
        "moanon: released.csv is not UTF-8 (byte 0xF6 at offset 11): save it as UTF-8\n"
    )


def test_however_suppressed_rows_are_shown_the_numbers_are_the_same(capsys: Captured) -> None:
    absent = measured(capsys, "people.csv", "ours.csv", "--config", "people.yaml")
    starred = measured(capsys, "people.csv", "stars.csv", "--config", "people.yaml")
    assert (absent["matched_by"], starred["matched_by"]) == ("labels", "labels")
    assert absent["measures"] == starred["measures"]
    # Ages 20-39: 1, 4, 8 in 1305*, alone 3; 40-49: 2, 7, 9, 10; 50-59: 5, 6.
    assert absent["measures"]["k"] == 3
    assert absent["measures"]["suppressed"] == 3


def test_a_file_of_arx_is_measured_with_its_hierarchies(capsys: Captured) -> None:
    rows = ["130**"] * 10
    for i in (1, 2, 4, 5, 6, 8, 9):
        rows[i] = "132**"
    Path("arx.csv").write_text("zip;age\n" + "".join(f"{zip_};x\n" for zip_ in rows))
    found = measured(capsys, "people.csv", "arx.csv", "--hierarchy", "zip=zip.csv")
    assert found["quasi"] == ["zip"]
    assert found["measures"]["k"] == 3
    # Three rows of 2 zip codes, seven of 4, out of 6: (3·1/5 + 7·3/5) / 10.
    assert found["measures"]["loss"] == pytest.approx(0.48)


def test_without_meaning_labels_are_counted(capsys: Captured) -> None:
    arguments = ["people.csv", "theirs.csv", "--quasi", "zip", "--sensitive", "status"]
    found = measured(capsys, *arguments)
    assert found["measures"]["k"] == 10
    assert found["measures"]["l_distinct"] == 6
    assert "loss" not in found["measures"]
    assert main(["measure", *arguments]) == 0
    assert capsys.readouterr().err == (
        "note: theirs.csv: not counted as quasi-identifiers: nr; whoever knows such values can "
        "tell apart more rows than k says\n"
        "note: without --config or --hierarchy it is not known what labels mean, so losses are "
        "left out\n"
    )


def test_what_is_measured_without_meaning_is_as_with_it(capsys: Captured) -> None:
    known = measured(capsys, "people.csv", "stars.csv", "--config", "people.yaml")["measures"]
    columns = ["--quasi", "zip,age", "--sensitive", "status"]
    blind = measured(capsys, "people.csv", "stars.csv", *columns)["measures"]
    assert {name: known[name] for name in blind} == blind
    left_out = {"gl", "loss", "ncp", "utility_min", "utility_mean", "utility_rank"}
    assert left_out <= known.keys() - blind.keys()
    assert "size_rank" in blind


def test_other_columns_can_be_sensitive_than_the_configuration_says(capsys: Captured) -> None:
    config = ["people.csv", "ours.csv", "--config", "people.yaml"]
    assert measured(capsys, *config)["sensitive"] == ["status"]
    found = measured(capsys, *config, "--sensitive", "marital")
    assert found["sensitive"] == ["marital"]  # not even declared
    assert found["measures"] == measured(capsys, *config)["measures"]  # but the same values
    assert measured(capsys, *config, "--sensitive", "")["sensitive"] == []


def without(name: str, *columns: str) -> None:
    pd.read_csv("ours.csv", dtype=str).drop(columns=list(columns)).to_csv(name, index=False)


def test_a_sensitive_column_that_was_not_released_is_not_measured(capsys: Captured) -> None:
    without("bare.csv", "status")
    arguments = ["people.csv", "bare.csv", "--config", "people.yaml"]
    assert main(["measure", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == (
        "note: bare.csv has no column 'status', so diversity, closeness and the like are not "
        "measured for it\n"
    )
    assert "sensitive  " not in out
    found = measured(capsys, *arguments)
    assert found["sensitive"] == []
    there = measured(capsys, "people.csv", "ours.csv", "--config", "people.yaml")["measures"]
    assert found["measures"] == {
        name: value for name, value in there.items() if MEASURES[name].requires != "sensitive"
    }


def test_a_column_that_was_not_released_is_measured_where_it_is_asked_for(
    capsys: Captured,
) -> None:
    without("bare.csv", "status")
    arguments = ["people.csv", "bare.csv", "--config", "people.yaml", "--sensitive", "status"]
    assert main(["measure", *arguments]) == 0
    assert capsys.readouterr().err == (
        "note: bare.csv has no column 'status'; diversity, closeness and the like go by the "
        "original's values\n"
    )
    there = measured(capsys, "people.csv", "ours.csv", "--config", "people.yaml")
    assert measured(capsys, *arguments)["measures"] == there["measures"]


def test_classes_that_were_not_released_are_not_measured(capsys: Captured) -> None:
    text = CONFIG + "  marital: {role: insensitive}\nproblem: {class_column: marital}\n"
    Path("people.yaml").write_text(text)
    assert main(["measure", "people.csv", "ours.csv", "--config", "people.yaml"]) == 0
    out, err = capsys.readouterr()
    assert err == "note: ours.csv has no column 'marital', so cm is not measured\n"
    assert " cm " not in out
    assert " l_distinct " in out


def test_by_default_all_shared_columns_make_groups(capsys: Captured) -> None:
    found = measured(capsys, "people.csv", "theirs.csv", "--key", "nr")
    assert (found["quasi"], found["matched_by"]) == (["zip", "status"], "key")
    assert found["measures"]["k"] == 1


def test_what_separates_fields_can_be_said(capsys: Captured) -> None:
    # three fields at commas, three at semicolons
    Path("either.csv").write_text("a,b;c,d;e\n1,2;3,4;5\n1,2;5,4;6\n")
    assert main(["measure", "either.csv", "either.csv"]) == 2
    assert "name the delimiter" in capsys.readouterr().err
    found = measured(capsys, "either.csv", "either.csv", "--delimiter", ";")
    assert found["quasi"] == ["a,b", "c,d", "e"]
    assert found["measures"]["k"] == 1


def test_notes_are_in_the_json(capsys: Captured) -> None:
    Path("plain.csv").write_text("a,b\n1,2\n1,2\n")
    notes = measured(capsys, "plain.csv", "plain.csv")["notes"]
    assert any("losses are left out" in note for note in notes)
    assert any("no column is sensitive" in note for note in notes)


def test_what_has_no_bound_is_said_in_words(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "moanon.experiment.anonymizations.measure_grouping", lambda found, rule: {"k": math.inf}
    )
    arguments = ["people.csv", "ours.csv", "--config", "people.yaml"]
    assert measured(capsys, *arguments)["measures"] == {"k": "inf"}
    assert main(["measure", *arguments]) == 0
    assert " k         no bound   higher " in capsys.readouterr().out


def test_what_arx_left_and_what_it_hid_are_told_apart(capsys: Captured) -> None:
    # Interval labels between commas, a column of stars for a name, and a row that is hidden.
    Path("in.csv").write_text("name;age;ill\nAnn;20;flu\nBob;31;gout\nCid;;flu\nDan;35;flu\n")
    Path("age.csv").write_text('20,"[20, 30[",any\n31,"[30, 40[",any\n35,"[30, 40[",any\n')
    Path("out.csv").write_text("name;age;ill\n*;*;flu\n*;[30, 40[;gout\n*;;flu\n*;[30, 40[;flu\n")
    arguments = ["in.csv", "out.csv", "--hierarchy", "age=age.csv", "--sensitive", "ill"]
    found = measured(capsys, *arguments, "--stars", "quasi")["measures"]
    assert (found["k"], found["groups"], found["suppressed"]) == (1, 2, 1)
    # Ages 20, 31, 35 and none: a row in full, two of 2 values, 1/3 each, and one of its own.
    assert found["loss"] == pytest.approx((1 + 2 / 3) / 4)
    # The thirties are 2 of 4 values and a step of 2 up; the hidden row is at the top.
    assert found["ncp"] == pytest.approx((1 + 2 * 2 / 4) / 4)
    assert found["prec"] == pytest.approx(1 - (1 + 2 * 1 / 2) / 4)
    assert main(["measure", *arguments]) == 0
    assert (
        "in every quasi-identifier, but not in all cells (1), are measured as a group"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ours.csv"], "ours.csv cannot be matched row by row: it has 7 rows and people.csv has"),
        (["nothing.csv"], "nothing.csv does not exist"),
        (["ours.csv", "--config", "no.yaml"], "config file no.yaml does not exist"),
        (
            ["ours.csv", "--config", "people.yaml", "--quasi", "zip"],
            "--quasi states what the configuration states already; leave one out",
        ),
        (
            ["theirs.csv", "--config", "people.yaml"],
            "theirs.csv has no column 'age'",
        ),
        (["theirs.csv", "--hierarchy", "zip=zip.csv", "--quasi", "zip,age"],
         "column 'age' is a quasi-identifier and has no hierarchy"),
        (["theirs.csv", "--hierarchy", "zip=zip.csv", "--quasi", "age"],
         "column 'age' is a quasi-identifier and has no hierarchy"),
        (["theirs.csv", "--hierarchy", "zip"], "--hierarchy must be COLUMN=FILE. Got 'zip'"),
        (["theirs.csv", "--hierarchy", "zip=zip.csv", "--hierarchy", "zip=zip.csv"],
         "--hierarchy names the column 'zip' twice"),
        (["ours.csv", "--config", "people.yaml", "--sensitive", "age"],
         "column 'age' is a quasi-identifier; it cannot be sensitive, too"),
        (["theirs.csv", "--sensitive", "statsu"], "people.csv has no column 'statsu'"),
        (["theirs.csv", "--stars", "some"], "Invalid value for '--stars'"),
        (["theirs.csv", "--sensitive", "status,status"], "--sensitive names the column 'status'"),
        (["theirs.csv", "--quasi", "zip", "--quasi", "zip"], "--quasi names the column 'zip'"),
        (["theirs.csv", "--key", ""], "--key must name a column. Got an empty name"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(capsys: Captured, arguments: list[str], message: str) -> None:
    assert main(["measure", "people.csv", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"moanon: {message}")
    assert err.count("\n") == 1


def test_results_are_no_released_file(capsys: Captured) -> None:
    assert main(["run", "people.yaml", "--out", "found", "--quiet"]) == 0
    capsys.readouterr()
    for arguments, message in (
        (["people.csv", "found"], "found is a results folder, and measured are released files; "),
        (["people.csv", "found#2"], "found#2 is a solution, and measured are released files; "),
        (["found", "ours.csv"], "found is a results folder, and an original is the table before "),
    ):
        assert main(["measure", *arguments, "--config", "people.yaml"]) == 2
        assert capsys.readouterr().err.startswith(f"moanon: {message}")
    Path("found").rename("adult")  # which the embedded table is called
    assert main(["measure", "adult", "ours.csv", "--quasi", "age"]) == 2
    assert capsys.readouterr().err.startswith("moanon: ours.csv cannot be matched row by row: it ")


def test_a_label_that_no_domain_explains_is_refused(capsys: Captured) -> None:
    text = Path("stars.csv").read_text().replace("[20-39]", "[2-39]")
    Path("stars.csv").write_text(text)
    assert main(["measure", "people.csv", "stars.csv", "--config", "people.yaml"]) == 2
    assert "column 'age': the label '[2-39]' stands for no block of its interval domain" in (
        capsys.readouterr().err
    )


def test_another_original_is_refused(capsys: Captured) -> None:
    PEOPLE[::-1].reset_index(drop=True).assign(age=PEOPLE["age"]).to_csv("other.csv", index=False)
    assert main(["measure", "other.csv", "ours.csv", "--config", "people.yaml"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("moanon: ours.csv does not fit ")
    assert "other.csv: it has " in err


def test_the_hierarchies_of_arx_explain_a_table_of_adult(
    capsys: Captured, shared: Path, tmp_path: Path
) -> None:
    table = datasets.load("adult")
    levels = {"age": 3, "sex": 0, "race": 1, "marital-status": 2, "education": 3}
    options = []
    for name, level in levels.items():
        file = shared / "arx" / f"adult_hierarchy_{name}.csv"
        with file.open(newline="") as stream:
            labels = {row[0]: row[level] for row in csv.reader(stream, delimiter=";")}
        table[name] = table[name].map(labels)
        options += ["--hierarchy", f"{name}={file}"]
    sizes = table.groupby(list(levels))["sex"].transform("size")
    table.loc[sizes < 100, list(levels)] = "*"  # as ARX suppresses: the occupation stays
    table.to_csv("arx.csv", sep=";", index=False)
    options += ["--sensitive", "occupation", "--stars", "quasi"]
    found = measured(capsys, "adult", "arx.csv", *options)["measures"]
    assert found["k"] == sizes[sizes >= 100].min()
    assert found["suppressed"] == (sizes < 100).sum()
    kept = table[sizes >= 100]
    assert found["l_distinct"] == kept.groupby(list(levels))["occupation"].nunique().min()


def test_cells_of_arx_at_different_levels_lose_what_they_hide(
    capsys: Captured, shared: Path, tmp_path: Path
) -> None:
    """ARX may generalize each part of a table in its own way; counted cell by cell."""
    table = datasets.load("adult")[:3_000]
    table.to_csv("in.csv", sep=";", index=False)
    quasi, options, losses = ["age", "education", "workclass"], [], []
    levels = {"Male": (2, 1, 2), "Female": (1, 3, 0)}
    for place, name in enumerate(quasi):
        file = shared / "arx" / f"adult_hierarchy_{name}.csv"
        with file.open(newline="") as stream:
            rows = list(csv.reader(stream, delimiter=";"))
        options += ["--hierarchy", f"{name}={file}"]
        shown = [
            next(row for row in rows if row[0] == value)[levels[sex][place]]
            for value, sex in zip(table[name].astype(str), table["sex"], strict=True)
        ]
        held = {label: len({row[0] for row in rows if label in row}) for label in set(shown)}
        losses.append([(held[label] - 1) / (len(rows) - 1) for label in shown])
        table[name] = shown
    sizes = table.groupby(quasi)["sex"].transform("size")
    table.loc[sizes < 5, quasi] = "*"
    table.to_csv("out.csv", sep=";", index=False)
    options += ["--sensitive", "occupation", "--stars", "quasi"]
    told = measured(capsys, "in.csv", "out.csv", *options)
    found, gone = told["measures"], int((sizes < 5).sum())
    assert (told["matched_by"], found["suppressed"]) == ("position", gone)
    assert found["k"] == sizes[sizes >= 5].min()
    kept = [
        sum(row) for row, size in zip(zip(*losses, strict=True), sizes, strict=True) if size > 4
    ]
    assert found["loss"] == pytest.approx((math.fsum(kept) + 3 * gone) / (3 * 3_000))
    assert found["dm"] == int(sizes[sizes >= 5].sum()) + gone * 3_000
