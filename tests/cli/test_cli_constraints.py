"""What a run demands of its solutions holds for every file that is made of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from moanon import Certificate
from moanon.cli import main
from moanon.experiment import load_front
from moanon.front import Front
from moanon.measures import MEASURES
from moanon.release.certificate import front_measures
from tests.cli.commands import Captured, done, refused
from tests.release.test_certified_models import check_certificate
from tests.search.people import AGE_AND_SIZE, ILL_TREE, config_text, people_frame

NAMED = {
    "name": "{role: identifying}",
    **AGE_AND_SIZE,
    "ill": "{role: sensitive, kind: tree, hierarchy: ill.yaml}",
    "pay": "{role: sensitive, kind: ordered, order: [low, middle, high]}",
}
SEARCH = "{algorithm: archive, population: 30, generations: 4}"


def frame(rows: int = 120, seed: int = 0) -> pd.DataFrame:
    found = people_frame(rows, seed).drop(columns="place")
    found["pay"] = np.random.default_rng(seed).choice(["low", "middle", "high"], rows)
    found.insert(0, "name", [f"person {i}" for i in range(rows)])
    return found


@pytest.fixture(autouse=True)
def table(folder: Path) -> None:
    frame().to_csv("people.csv", index=False)
    Path("ill.yaml").write_text(ILL_TREE)


def run(problem: str) -> Front:
    Path("people.yaml").write_text(config_text(NAMED, search=SEARCH, problem=problem))
    assert main(["run", "people.yaml", "--quiet", "--out", "results"]) == 0
    return load_front("results")


# -- certificates ----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["k", "l", "l_entropy", "t_closeness", "delta"])
def test_ids_of_a_front_over_a_model_are_certified(model: str, capsys: Captured) -> None:
    bound = {
        "k": "{min: 2}",
        "t_js": "{max: 0.3}",
        "delta": "{max: 2}",
        "l_entropy": "{min: 1.2}",
    }.get(model, "{max: 0.6}" if MEASURES[model].direction == "min" else "{min: 1}")
    front = run(
        f"{{preset: k-suppression, eta: 0.3, objectives: [{model}, loss], recursive_c: 2.5, "
        f"constraints: {{{model}: {bound}}}}}"
    )
    assert front.instance is not None
    for solution in {1, len(front) // 2 + 1, len(front)}:
        path = Path(f"{solution}.csv")
        said = done(capsys, "export", "results", solution, "--out", path)
        assert "  checked             23 measures of the file, all as in front.csv" in said
        certificate = Certificate.load(f"{path}.certificate.json")
        release = front.release(solution)
        assert release.recursive_c == 2.5
        check_certificate(release, certificate, front.instance, path)
        promised = [each["measure"] for each in certificate.to_dict()["promises"]]
        name = "l_distinct" if model == "l" else model
        assert promised == [name]
        stated = front.measures[model][solution - 1]
        if name in ("l_entropy", "t_js", "delta", "delta_present"):  # logarithms
            stated = pytest.approx(stated, rel=1e-9, abs=1e-10)
        assert front_measures(release.promised)[name] == stated
        if not MEASURES[name].beside_table:
            assert certificate.privacy[name] == stated


def test_export_shows_the_models_that_were_searched_for(capsys: Captured) -> None:
    front = run(
        "{preset: k-suppression, eta: 0.3, objectives: [t_closeness, loss], "
        "constraints: {alpha: {max: 0.9}, l_entropy: {min: 1.2}}}"
    )
    solution = len(front) // 2
    lines = done(capsys, "export", "results", solution, "--out", "r.csv")
    # for the publisher: beside the whole table, as on the front
    certificate = Certificate.load("r.csv.certificate.json")
    columns = front.release(solution).record(certificate)["columns"]
    ill, pay = columns["ill"], columns["pay"]
    assert lines[3:6] == [
        f"  t_closeness         {ill['t_closeness']:.3f} by the tree distance (ill), "
        f"{pay['t_closeness']:.3f} by the ordered distance (pay)",
        f"  alpha               {ill['alpha']:.1%} (ill), {pay['alpha']:.1%} (pay)",
        f"  l_entropy           {ill['l_entropy']:.3f} (ill), {pay['l_entropy']:.3f} (pay)",
    ]
    own = front.measures["t_closeness"][solution - 1]
    lines = done(capsys, "export", "results", solution, "--out", "s.csv", "--k", 1)
    assert lines[3].endswith(f"; solution {solution} has {own:.3f}")


def test_a_front_that_says_less_than_the_file_shows_is_not_exported(capsys: Captured) -> None:
    front = run("{preset: k-suppression, eta: 0.3, objectives: [t_closeness, loss]}")
    column = np.nextafter(front.measures["t_closeness"], 0)  # closer by one bit
    wrong = Front(**{**vars(front), "measures": {**front.measures, "t_closeness": column}})
    record = json.loads(Path("results/run.json").read_text())
    texts = {"config.yaml": Path("results/config.yaml").read_text()}
    wrong.save("results", record=record, texts=texts, force=True)
    err = refused(capsys, "export", "results", len(front), "--out", "r.csv")
    assert "r.csv does not measure as the front says: t_closeness is " in err


# -- bounds on the whole table -------------------------------------------------------------------


LOSS = "{preset: k-suppression, eta: 0.1, constraints: {loss: {max: 0.4}, dm: {max: 4000}}}"


def test_bounds_are_kept_with_the_front(capsys: Captured) -> None:
    front = run(LOSS)
    assert front.bounds == {"loss": 0.4, "dm": 4000.0}
    assert json.loads(Path("results/run.json").read_text())["problem"]["bounds"] == front.bounds
    assert Front.load("results").bounds == front.bounds


def test_another_k_that_breaks_a_bound_is_refused(capsys: Captured) -> None:
    front = run(LOSS)
    words = ["export", "results", len(front), "--out", "r.csv", "--max-suppression", "99%", "--k"]
    sizes = np.sort(load_front("results").grouping(len(front)).sizes)
    k = int(sizes[-1])  # the largest group alone
    err = refused(capsys, *words, k)
    assert err.startswith(
        f"moanon: solution {len(front)} with k = {k} does not meet the constraints of the run: "
        "loss is 0."
    )
    assert " (at most 0.4) and dm is 1" in err
    assert err.endswith(" (at most 4000)\n")
    own = int(front.measures["k"][-1])
    done(capsys, *words, own)
    assert Certificate.load("r.csv.certificate.json").loss <= 0.4


def test_new_rows_that_break_a_bound_are_refused(capsys: Captured) -> None:
    front = run(LOSS)
    frame(120, seed=7).to_csv("new.csv", index=False)
    frame(4000, seed=7).to_csv("many.csv", index=False)
    words = ["--out", "r.csv", "--small"]
    err = refused(capsys, "apply", "results", len(front), "many.csv", *words, "keep")
    assert f"solution {len(front)} on " in err
    assert "many.csv does not meet the constraints of the run: dm is " in err
    assert err.endswith(" (at most 4000)\n")
    solution = 2
    done(capsys, "apply", "results", solution, "new.csv", *words, "keep")
    certificate = Certificate.load("r.csv.certificate.json")
    assert certificate.promises == (("loss", 0.4), ("dm", 4000))
    (record,) = Path("results/releases").iterdir()
    measures = json.loads(record.read_text())["measures"]
    assert measures["loss"] <= 0.4
    assert measures["dm"] <= 4000


def test_rows_outside_the_domains_count_against_a_bound(capsys: Captured) -> None:
    run(LOSS)
    new = frame(100, seed=7)
    new.loc[:59, "age"] = 99
    new.to_csv("new.csv", index=False)
    words = ["apply", "results", 1, "new.csv", "--out", "r.csv", "--outside", "suppress", "--k", 1]
    assert "loss is 0.6 (at most 0.4) and dm is " in refused(capsys, *words)


def test_groups_that_break_a_constraint_are_suppressed_or_refused(capsys: Captured) -> None:
    run("{preset: k-suppression, eta: 0.2, constraints: {k: {min: 3}, alpha: {max: 0.8}}}")
    frame(24, seed=3).to_csv("new.csv", index=False)
    words = ["apply", "results", 1, "new.csv", "--out", "r.csv"]
    done(capsys, *words, "--k", 1)
    certificate = Certificate.load("r.csv.certificate.json")
    assert certificate.k >= 3
    assert certificate.privacy["alpha"] <= 0.8
    err = refused(capsys, *words, "--small", "keep", "--force")
    assert "does not meet the constraints of the run: k is 2 (at least 3) and alpha is 1 (at" in err
    done(capsys, "export", "results", 1, "--out", "s.csv", "--k", 1)
    certificate = Certificate.load("s.csv.certificate.json")
    assert certificate.k >= 3
    assert certificate.privacy["alpha"] <= 0.8
    assert dict(certificate.promises) == {"k": 3, "alpha": 0.8}  # not the k of the command


def test_what_is_infinite_was_not_promised(capsys: Captured) -> None:
    front = run("{preset: k-suppression, eta: 0.2, suppress_by: delta}")
    assert np.isinf(front.measures["delta"][0])
    done(capsys, "export", "results", 1, "--out", "r.csv", "--k", 1)


# -- new rows ------------------------------------------------------------------------------------


def test_new_rows_need_no_identifying_columns(capsys: Captured) -> None:
    front = run("{preset: k-suppression, eta: 0.1}")
    new = frame(300, seed=5)
    new.to_csv("named.csv", index=False)
    new.drop(columns="name").to_csv("new.csv", index=False)
    for name in ("named", "new"):
        words = [f"{name}.csv", "--out", f"{name}-r.csv", "--shuffle", 1]
        done(capsys, "apply", "results", len(front), *words)
    assert list(pd.read_csv("new-r.csv")) == ["age", "size", "ill", "pay"]
    assert Path("new-r.csv").read_bytes() == Path("named-r.csv").read_bytes()


def test_a_sensitive_value_that_no_distance_knows_is_outside(capsys: Captured) -> None:
    front = run("{preset: k-suppression, eta: 0.1}")
    new = frame(300, seed=5)
    new.loc[0, "ill"] = "plague"
    new.to_csv("new.csv", index=False)
    words = ["apply", "results", len(front), "new.csv", "--out", "r.csv"]
    assert "column 'ill': 1 row holds a value outside its tree domain" in refused(capsys, *words)
    done(capsys, *words, "--outside", "suppress")
    certificate = Certificate.load("r.csv.certificate.json")
    assert certificate.rows_in == 300
    assert (certificate.rows + certificate.suppressed, certificate.suppressed >= 1) == (300, True)
    assert "plague" not in Path("r.csv").read_text()
