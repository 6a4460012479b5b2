"""Measures in a configuration: objectives, constraints, distances, weights, classes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from moanon.config import Config, config_schema
from moanon.errors import InfeasibleError, MoanonError
from moanon.experiment import make_problem
from moanon.genome import Instance
from moanon.measures import MEASURES
from tests.config.loading import refusal, write

ADULT = """\
data: {source: adult}
columns:
  age: {role: quasi, kind: interval, granularity: 10, weight: 2}
  sex: {role: quasi, kind: ordered, order: adult/sex}
  workclass: {role: quasi, kind: tree, hierarchy: adult/workclass}
  occupation: {role: sensitive, kind: tree, hierarchy: adult/occupation}
  education: {role: sensitive, kind: ordered, order: adult/education}
  race: {role: sensitive}
  salary-class: {role: insensitive}
"""
PLAIN = "data: {source: adult}\ncolumns:\n  age: {role: quasi, kind: interval}\n"


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    return Config.load(write(tmp_path_factory.mktemp("adult"), ADULT)).instance()


def test_columns_say_how_far_apart_their_values_are(tmp_path: Path) -> None:
    instance = Config.load(write(tmp_path, ADULT)).instance()
    found = {name: instance.distance_of(name) for name in instance.table.sensitive}
    assert found == {"occupation": "tree", "education": "ordered", "race": "equal"}
    assert instance.distances["education"].size == 16
    assert instance.weights == {"age": 2.0}
    assert instance.label is None


def test_a_problem_has_objectives_constraints_and_a_rule(tmp_path: Path) -> None:
    text = (
        ADULT
        + """\
problem:
  eta: 0.1
  objectives: [t_closeness, loss_weighted, cm]
  constraints: {l_entropy: {min: 3}, k: {min: 5}, prec: {min: 0.2}}
  class_column: salary-class
  recursive_c: 2.5
"""
    )
    config = Config.load(write(tmp_path, text))
    assert config.bounds == {"l_entropy": 3.0, "k": 5.0, "prec": 0.2}
    problem = make_problem(config, config.instance())
    assert problem.objectives == ("t_closeness", "loss_weighted", "cm")
    assert problem.suppression.constraints == (("l_entropy", 3.0), ("k", 5.0))
    assert {measure.name: bound for measure, bound in problem.table_bounds.items()} == {"prec": 0.2}
    assert problem.suppression.by == "t_closeness"  # the first objective that groups have
    assert problem.suppression.recursive_c == 2.5
    assert Config.load(write(tmp_path, config.to_yaml())) == config


@pytest.mark.parametrize(
    ("problem", "by"),
    [
        ("objectives: [loss, l_entropy, k]", "l_entropy"),
        ("objectives: [k, t_closeness, loss]", "k"),
        ("objectives: [gl, dm]", "k"),
        ("objectives: [k, t_closeness], suppress_by: t_closeness", "t_closeness"),
        ("suppress_by: alpha", "alpha"),
    ],
)
def test_groups_are_suppressed_by_the_first_objective_that_they_have(
    tmp_path: Path, problem: str, by: str
) -> None:
    config = Config.load(write(tmp_path, f"{ADULT}problem: {{eta: 0.1, {problem}}}"))
    assert make_problem(config, config.instance()).suppression.by == by


@pytest.mark.parametrize("preset", ["zero-suppression", "any-suppression", "kl-safety"])
def test_other_presets_go_by_their_own_rule(tmp_path: Path, preset: str) -> None:
    config = Config.load(
        write(tmp_path, f"{ADULT}problem: {{preset: {preset}, objectives: [alpha, loss]}}")
    )
    assert make_problem(config, config.instance()).suppression.by == "k"


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (
            "constraints: {t_closenes: {max: 0.2}}",
            "constraints names t_closenes, which is no measure; did you mean t_closeness? "
            "(a.yaml: problem.constraints)",
        ),
        (
            "constraints: {k: {max: 5}}",
            "constraints are wrong: the bound of k must be {min: a number}, because more is "
            "better. Got {max: 5} (a.yaml: problem.constraints)",
        ),
        (
            "constraints: {loss: {min: 0.1}}",
            "constraints are wrong: the bound of loss must be {max: a number}, because less is "
            "better. Got {min: 0.1} (a.yaml: problem.constraints)",
        ),
        (
            "constraints: {k: 5}",
            "constraints are wrong: the bound of k must be {min: a number}, because more is "
            "better. Got 5 (a.yaml: problem.constraints)",
        ),
        (
            "constraints: {k: {min: five}}",
            "constraints are wrong: the bound of k must be {min: a number}, because more is "
            "better. Got {min: five} (a.yaml: problem.constraints)",
        ),
        (
            "constraints: {k: {min: .inf}}",
            "constraints are wrong: the bound of k must be {min: a number}, because more is "
            "better. Got {min: .inf} (a.yaml: problem.constraints)",
        ),
        (
            f"constraints: {{k: {{min: 1{'0' * 400}}}}}",
            f"constraints are wrong: k is at most 1e+18 in any table. Got {{min: 1{'0' * 79}…}} "
            "(a.yaml: problem.constraints)",
        ),
        (
            f"constraints: {{loss: {{max: 1{'0' * 400}}}}}",
            f"constraints are wrong: loss is at most 1. Got {{max: 1{'0' * 79}…}} "
            "(a.yaml: problem.constraints)",
        ),
        (
            "constraints: {l_entropy: {min: 0}}",
            "constraints are wrong: l_entropy is at least 1. Got {min: 0} "
            "(a.yaml: problem.constraints)",
        ),
        (
            "constraints: {t_closeness: {max: -1}}",
            "constraints are wrong: t_closeness is at least 0. Got {max: -1} "
            "(a.yaml: problem.constraints)",
        ),
        (
            "constraints: {alpha: {max: 0}}",
            "constraints are wrong: alpha is above 0. Got {max: 0} (a.yaml: problem.constraints)",
        ),
        (
            "constraints: {k: {min: -3}}",
            "constraints are wrong: k is at least 1. Got {min: -3} (a.yaml: problem.constraints)",
        ),
        (
            "constraints: {k: {min: 5}, loss: {max: 30}}",
            "constraints are wrong: loss is at most 1. Got {max: 30} (a.yaml: problem.constraints)",
        ),
        (
            "constraints: {t_js: {max: 0.7}}",
            "constraints are wrong: t_js is at most ln 2. Got {max: 0.7} "
            "(a.yaml: problem.constraints)",
        ),
        (
            "constraints: {prec: {min: 1.1}}",
            "constraints are wrong: prec is at most 1. Got {min: 1.1} "
            "(a.yaml: problem.constraints)",
        ),
        (
            "constraints: {suppressed: {max: -1}}",
            "constraints are wrong: suppressed is at least 0. Got {max: -1} "
            "(a.yaml: problem.constraints)",
        ),
        (
            "constraints: [k, 5]",
            "constraints must be bounds of measures, e.g. {k: {min: 5}, t_closeness: {max: 0.2}}. "
            "Got [k, 5] (a.yaml: problem.constraints)",
        ),
        (
            "suppress_by: loss",
            "suppress_by must be among k, l, l_distinct, l_frequency, l_entropy, l_recursive, "
            "alpha, p_sensitive, t_closeness, t_equal, t_js, delta, delta_present, beta, "
            "beta_enhanced. Got loss (a.yaml: problem.suppress_by)",
        ),
        (
            "preset: zero-suppression, suppress_by: k",
            "suppress_by is for the presets k-suppression and any-suppression only. Got "
            "zero-suppression "
            "(a.yaml: problem.suppress_by)",
        ),
        (
            "preset: any-suppression, suppress_by: alpha",
            "suppress_by must be k or l for the preset any-suppression. Got alpha "
            "(a.yaml: problem.suppress_by)",
        ),
        (
            "recursive_c: 0",
            "recursive_c must be in (0, 1000]. Got 0 (a.yaml: problem.recursive_c)",
        ),
        (
            "class_column: salary-clas",
            "class_column names salary-clas, which is not declared; did you mean salary-class? "
            "(a.yaml: problem.class_column)",
        ),
        (
            "class_column: age",
            "class_column must be released as it is: a sensitive or insensitive column. Got age, "
            "which is quasi (a.yaml: problem.class_column)",
        ),
        (
            "objectives: [cm, loss]",
            "the objective cm needs class_column, the column of class labels "
            "(a.yaml: problem.objectives)",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, problem: str, message: str) -> None:
    assert refusal(tmp_path, f"{ADULT}problem: {{{problem}}}") == message


@pytest.mark.parametrize(
    "constraints",
    [
        "alpha: {max: 1}",
        "t_equal: {max: 1}",  # which nothing reaches: a bound that asks for nothing
        "sl: {max: 1}",
        "t_closeness: {max: 0}",
        "delta: {max: 1000}",
        "l_recursive: {min: 0}",
        "k: {min: 1}",
        "dm: {max: 1e12}",
        "absdist: {max: 99}",
        "conditional_entropy: {max: 0}",
    ],
)
def test_a_bound_at_the_end_of_a_range_is_one(tmp_path: Path, constraints: str) -> None:
    text = f"{ADULT}problem: {{constraints: {{{constraints}}}}}"
    assert len(Config.load(write(tmp_path, text)).bounds) == 1


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ("groups: {min: 30163}", "groups at least 30163: it is at most 30162"),
        ("weighted_k: {min: 30162.5}", "weighted_k at least 30162.5: it is at most 30162"),
        ("d: {min: 30162}", "d at least 30162: it is at most 30161"),
        ("dm: {max: 30161}", "dm at most 30161: it is at least 30162"),
    ],
)
def test_a_bound_that_the_table_cannot_meet_is_refused(
    tmp_path: Path, instance: Instance, constraints: str, message: str
) -> None:
    config = Config.load(write(tmp_path, f"{ADULT}problem: {{constraints: {{{constraints}}}}}"))
    with pytest.raises(InfeasibleError) as refused:
        make_problem(config, instance)
    assert str(refused.value) == f"no release of this table of 30,162 rows can have {message}"


def test_a_bound_that_any_release_meets_is_none_of_the_tables_business(tmp_path: Path) -> None:
    bounds = "{suppressed: {max: 99999}, cm: {max: 99999}, average_class_size: {max: 99999}}"
    text = f"{ADULT}problem: {{class_column: salary-class, constraints: {bounds}}}"
    config = Config.load(write(tmp_path, text))
    problem = make_problem(config, config.instance())
    demanded = {measure.name: bound for measure, bound in problem.table_bounds.items()}
    assert demanded == dict.fromkeys(("suppressed", "cm", "average_class_size"), 99999.0)


def test_every_range_is_understood() -> None:
    """Of a measure whose range cannot be read, any bound would be searched for."""
    for measure in MEASURES.values():
        sizes = {"n": 10, "n-1": 9, "values": 3}
        below = measure.range.beyond(-1.0, "min", sizes)
        assert below is not None, measure.name
        assert str(measure.range.high), measure.name


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (
            "constraints: {alpha: {max: 0.5}}",
            "the constraint alpha needs a column with the role sensitive "
            "(a.yaml: problem.constraints)",
        ),
        (
            "suppress_by: t_closeness",
            "the measure t_closeness needs a column with the role sensitive "
            "(a.yaml: problem.suppress_by)",
        ),
        (
            "objectives: [k, prec]",
            "the objective prec needs a quasi column of the kind tree (a.yaml: problem.objectives)",
        ),
        (
            "objectives: [k, loss_weighted]",
            "the objective loss_weighted needs a quasi column with a weight "
            "(a.yaml: problem.objectives)",
        ),
    ],
)
def test_a_measure_that_the_columns_have_nothing_for_is_refused(
    tmp_path: Path, problem: str, message: str
) -> None:
    assert refusal(tmp_path, f"{PLAIN}problem: {{{problem}}}") == message


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        ("objectives: [d2, loss]", r"'d2' is a threshold of kl-safety, and the rule is limit"),
        ("constraints: {d2: {min: 5}}", r"constraint 'd2' is a threshold of kl-safety"),
        (
            "objectives: [t_closeness, loss], constraints: {d: {min: 5}}",
            r"'d' is a threshold of sizes, and groups are given up by t_closeness",
        ),
    ],
)
def test_thresholds_that_a_rule_does_not_have_are_refused(
    tmp_path: Path, problem: str, message: str
) -> None:
    config = Config.load(write(tmp_path, f"{ADULT}problem: {{eta: 0.1, {problem}}}"))
    with pytest.raises(MoanonError, match=message):
        make_problem(config, config.instance())


def test_the_schema_describes_bounds() -> None:
    schema = json.loads(json.dumps(config_schema()))
    problem = schema["$defs"]["ProblemSection"]["properties"]
    bound = problem["constraints"]["additionalProperties"]
    assert set(bound["properties"]) == {"min", "max"}
    assert bound["additionalProperties"] is False
    assert set(problem) >= {"suppress_by", "class_column", "recursive_c"}
    assert "weight" in schema["$defs"]["ColumnSection"]["properties"]
