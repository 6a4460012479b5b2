"""Values that look the same: named by check and run, and made one by ``normalize``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from moanon.cli import main
from tests.cli.commands import Captured, done, refused

#: Two groups that each show one illness, in five spellings or in three.
ROWS = [
    *(("30", "f", ill) for ill in ("HIV", "HIV ", "hiv", "H\u200bIV", "HIV\xa0")),
    *(("50", "F\xa0", ill) for ill in ("Flu", "flu", "flu\ufeff", "flu", "flu")),
]
CONFIG = """
data: {source: t.csv}
columns:
  age: {role: quasi, kind: interval, granularity: 10, range: [0, 99]}
  sex: {role: quasi, kind: tree, hierarchy: {frequency: 2}}
  ill: {role: sensitive}
search: {evaluations: 100}
output: {dir: results, plots: false, report: false}
"""
NORMALIZED = ("--set", "data.normalize=true")
ILL = (
    "column 'ill': 8 of its 8 values differ from another one only in white space, invisible "
    "characters, Unicode form or case: whoever looks at them sees 2 values, while l and t count 8"
)
MEND = "; data: {normalize: true} makes such values one"


@pytest.fixture(autouse=True)
def _table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("t.csv", ROWS)
    Path("t.yaml").write_text(CONFIG)


def write(name: str, rows: list[tuple[str, ...]]) -> None:
    lines = [",".join(row) for row in [("age", "sex", "ill"), *rows]]
    Path(name).write_text("\n".join(lines) + "\n")


def test_check_names_columns_with_such_values_and_some_of_them(capsys: Captured) -> None:
    notes = [line for line in done(capsys, "check", "t.yaml") if line.startswith(" note: ")]
    assert notes == [
        " note: column 'sex': 2 of its 2 values differ from another one only in white space, "
        "invisible characters, Unicode form or case: whoever looks at them sees 1 value "
        f"('F\\xa0', 'f'){MEND}",
        f" note: {ILL} ('Flu', 'flu', 'flu\\ufeff'){MEND}",
    ]


def test_run_names_the_columns_and_no_value(capsys: Captured) -> None:
    assert main(["run", "t.yaml"]) == 0
    told = capsys.readouterr().err
    assert f"note: {ILL}{MEND}" in told
    assert not re.search("HIV|Flu", told)
    notes = json.loads(Path("results/run.json").read_text())["notes"]
    assert f"{ILL}{MEND}" in notes


def test_numbers_and_dates_that_look_the_same_are_nothing_to_tell(capsys: Captured) -> None:
    write("t.csv", [("1 000", "f", "flu"), ("1\xa0000", "f", "gout")])
    paid = "age: {thousands: ' ', "
    Path("t.yaml").write_text(CONFIG.replace("age: {", paid).replace("99]", "9999]"))
    for given in ((), NORMALIZED):
        assert not any("differ" in line for line in done(capsys, "check", "t.yaml", *given))


def test_normalized_values_are_counted_as_they_look(capsys: Captured) -> None:
    assert not any("differ" in line for line in done(capsys, "check", "t.yaml", *NORMALIZED))
    for given, l_distinct in (((), 3), (NORMALIZED, 1)):
        done(capsys, "run", "t.yaml", "--force", "--quiet", *given)
        front = Path("results/front.csv").read_text().splitlines()
        finest = dict(zip(front[0].split(","), front[1].split(","), strict=True))
        assert (int(finest["k"]), int(finest["l_distinct"])) == (5, l_distinct)


def test_a_release_and_new_rows_show_one_spelling(capsys: Captured) -> None:
    done(capsys, "run", "t.yaml", "--quiet", *NORMALIZED)
    done(capsys, "export", "results", "1", "--out", "r.csv")
    assert set(Path("r.csv").read_text().splitlines()[1:]) == {"[30-39],f,hiv", "[50-59],f,flu"}
    write("new.csv", [("\xa030", "F", "ＨＩＶ"), *ROWS])
    done(capsys, "apply", "results", "1", "new.csv", "--out", "n.csv", "--keep-order")
    assert Path("n.csv").read_text().splitlines()[1] == "[30-39],f,hiv"
    measured = done(capsys, "measure", "t.csv", "r.csv", "--config", "results/config.yaml")
    assert any(re.match(r" l_distinct +1 ", line) for line in measured)
    assert main(["compare", "r.csv", "results#1", "--original", "t.csv"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith(" A  r.csv: k 5 in 2 groups")


def test_a_diagnosis_reads_as_the_configuration_says(capsys: Captured) -> None:
    Path("n.yaml").write_text(CONFIG.replace("t.csv}", "t.csv, normalize: true}"))
    sizes = [
        next(line for line in done(capsys, "diagnose", each) if re.match(" sex  +[0-9]", line))
        for each in ("t.yaml", "n.yaml")
    ]
    assert [line.split()[1] for line in sizes] == ["2", "1"]


def test_declared_values_that_look_the_same_are_refused(capsys: Captured) -> None:
    Path("t.yaml").write_text(CONFIG.replace("ill: {", "ill: {kind: ordered, order: [HIV, hiv], "))
    said = refused(capsys, "check", "t.yaml", *NORMALIZED)
    assert "column 'ill': 'HIV' and 'hiv' are declared as two values and differ only in" in said


def test_normalize_is_true_or_false(capsys: Captured) -> None:
    assert "data.normalize" in refused(capsys, "check", "t.yaml", "--set", "data.normalize=NFKC")
    assert "normalize" in "\n".join(done(capsys, "schema"))
