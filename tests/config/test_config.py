"""Configurations: what is read, what is refused and in which words."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon import config
from moanon.config import Config, config_schema, name_from
from moanon.data.domain import IntervalSpec, OrderedSpec, TreeSpec
from moanon.data.table import Role
from moanon.errors import ConfigError, DataError, MoanonError
from tests.checkout import QUICKSTART
from tests.config.loading import refusal, write

BASE = "data: {source: adult}\ncolumns:\n  age: {role: quasi, kind: interval}\n"


def b(keys: str) -> str:
    return f"{BASE}  b: {{{keys}}}\n"


def with_data(folder: Path, rows: str, columns: str, data: str = "") -> Config:
    write(folder, rows, "t.csv")
    return Config.load(write(folder, f"data: {{source: t.csv{data}}}\ncolumns: {{{columns}}}\n"))


# -- what is read --------------------------------------------------------------------------------


def test_quickstart_is_the_papers_table() -> None:
    instance = Config.load(QUICKSTART).instance()
    sizes = dict(zip(instance.layout.columns, instance.layout.sizes.tolist(), strict=True))
    assert sizes == {
        "age": 16,
        "workclass": 7,
        "education": 16,
        "marital-status": 7,
        "occupation": 14,
        "race": 5,
        "sex": 2,
        "native-country": 41,
        "salary-class": 2,
    }
    assert instance.cells.rows == 30_162
    assert len(instance.cells) == 13_334


def test_optional_sections_have_defaults(tmp_path: Path) -> None:
    config = Config.load(write(tmp_path, BASE, "my table.yaml"))
    assert config.name == "my-table"
    assert config.data.missing == "error"
    assert config.data.missing_tokens == ("",)
    assert (config.problem.preset, config.problem.eta) == ("k-suppression", 0.0)
    assert config.problem.diversity == "distinct"
    assert config.search.algorithm == "auto"
    assert (config.search.population, config.search.evaluations) == (200, None)
    assert (config.search.crossover, config.search.mutation, config.search.seed) == (0.9, 0.1, 1)
    assert config.output.dir == "results/my-table"


@pytest.mark.parametrize(
    ("keys", "limits"),
    [
        ("evaluations: 5000", (None, 5000, None)),
        ("seconds: 1.5", (None, None, 1.5)),
        ("generations: 7, seconds: 60", (7, None, 60)),
        ("stall: 20", (None, None, None)),
        ("algorithm: exhaustive", (None, None, None)),
    ],
)
def test_any_limit_replaces_the_default_one(
    tmp_path: Path, keys: str, limits: tuple[object, ...]
) -> None:
    search = Config.load(write(tmp_path, f"{BASE}search: {{{keys}}}")).search
    assert (search.generations, search.evaluations, search.seconds) == limits


def test_kl_safety_has_its_own_defaults(tmp_path: Path) -> None:
    text = f"{BASE}  sex: {{role: sensitive}}\nproblem: {{preset: kl-safety, prefer: l}}"
    problem = Config.load(write(tmp_path, text)).problem
    assert (problem.eta, problem.prefer, problem.safety) == (0.0, "l", "strict")


def test_several_etas_and_other_objectives(tmp_path: Path) -> None:
    text = f"{BASE}problem: {{eta: [0, 0.1], objectives: [k, gl]}}"
    problem = Config.load(write(tmp_path, text)).problem
    assert problem.eta == (0.0, 0.1)
    assert problem.objectives == ("k", "gl")


def test_categories_keep_their_written_text(tmp_path: Path) -> None:
    text = BASE + (
        "  No: {role: quasi, kind: ordered, order: [No, Yes, 01, 1e3, null, ~, true, '']}\n"
        "  1: {role: identifying}\n"
    )
    text = text.replace("source: adult", "source: adult, missing_tokens: ['', NA, null, -9, no]")
    config = Config.load(write(tmp_path, text))
    assert config.columns["No"].order == ("No", "Yes", "01", "1e3", "null", "~", "true", "")
    assert config.columns["1"].role == "identifying"
    assert config.data.missing_tokens == ("", "NA", "null", "-9", "no")


def test_specs_declare_the_domains(tmp_path: Path) -> None:
    write(tmp_path, "Any: [a, b]", "tree.yaml")
    text = b("role: quasi, kind: tree, hierarchy: tree.yaml") + (
        "  c: {role: quasi, kind: ordered, order: adult/sex}\n"
        "  d: {role: quasi, kind: tree, hierarchy: adult/workclass}\n"
        "  e: {role: quasi, kind: interval, granularity: month, range: [2020-01-01, 2021-12-31]}\n"
        "  f: {role: quasi, kind: interval, granularity: 0.5, origin: 1, type: decimal}\n"
        "  g: {role: sensitive}\n"
    )
    config = Config.load(write(tmp_path, text))
    specs = config.specs()
    assert list(specs) == ["age", "b", "c", "d", "e", "f"]
    assert specs["age"] == IntervalSpec()
    assert specs["c"] == OrderedSpec(("Female", "Male"))
    assert isinstance(specs["b"], TreeSpec)
    assert specs["b"].hierarchy.leaves == ("a", "b")
    assert isinstance(specs["d"], TreeSpec)
    assert specs["e"] == IntervalSpec("month", ("2020-01-01", "2021-12-31"))
    assert specs["f"] == IntervalSpec(0.5, None, 1, "decimal")
    assert config.roles["g"] is Role.SENSITIVE


def test_paths_are_relative_to_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data[1]").mkdir()
    write(tmp_path / "data[1]", "x\n1\n", "t1.csv")
    write(tmp_path / "data[1]", "x\n2\n", "t2.csv")
    text = "data: {source: ./t*.csv}\ncolumns: {x: {role: quasi, kind: interval}}"
    file = write(tmp_path / "data[1]", text)
    monkeypatch.chdir(tmp_path)
    config = Config.load(Path("data[1]") / file.name)
    monkeypatch.chdir("/")
    assert config.read_table().rows == 2


def test_an_embedded_name_wins_over_a_file(tmp_path: Path) -> None:
    (tmp_path / "adult").mkdir()
    write(tmp_path / "adult", "age\n30\n", "t.csv")
    assert Config.load(write(tmp_path, BASE)).read_table().rows == 30_162
    local = BASE.replace("source: adult", "source: ./adult")
    assert Config.load(write(tmp_path, local)).read_table().rows == 1


def test_an_embedded_table_keeps_its_name(tmp_path: Path) -> None:
    assert Config.load(write(tmp_path, BASE)).read_table().source == "adult"


def test_the_delimiter_and_missing_policy_reach_the_table(tmp_path: Path) -> None:
    column = "x: {role: quasi, kind: interval}"
    data = ", delimiter: ;, missing: category, missing_tokens: [NA]"
    table = with_data(tmp_path, "x;y,z\n1;2\nNA;3\n", column, data).read_table()
    assert (table.rows, table.columns["x"].missing, table.undeclared) == (2, 1, ("y,z",))


def test_from_dict_reads_python_values(tmp_path: Path) -> None:
    write(tmp_path, "x\n1\n", "t.csv")
    config = Config.from_dict(
        {
            "data": {"source": "t.csv"},
            "columns": {"x": {"role": "quasi", "kind": "interval", "range": (0, 9)}},
            "problem": {"eta": [0.1, 0.2]},
        },
        tmp_path,
    )
    assert config.columns["x"].range == (0, 9)
    assert config.problem.eta == (0.1, 0.2)
    assert config.output.dir == "results/unnamed"
    assert config.read_table().rows == 1


def test_a_null_sets_an_optional_key_back(tmp_path: Path) -> None:
    text = f"{BASE}problem: {{preset: zero-suppression, eta: null}}"
    assert Config.load(write(tmp_path, text)).problem.eta is None


def test_a_preset_set_back_has_its_defaults(tmp_path: Path) -> None:
    problem = Config.load(write(tmp_path, f"{BASE}problem: {{preset: null}}")).problem
    assert (problem.preset, problem.eta) == ("k-suppression", 0.0)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("a.yaml", "a"),
        ("my (new) table.yaml", "my-new-table"),
        ("é_1.2.yaml", "é_1.2"),
        ("..", "unnamed"),
    ],
)
def test_a_file_names_its_configuration(file: str, name: str) -> None:
    assert name_from(Path(file)) == name


# -- overrides -----------------------------------------------------------------------------------


def test_sets_replace_and_add_values(tmp_path: Path) -> None:
    sets = ["problem.eta=[0.1, 0.2]", "search.seed=3", "search.seed=7", "columns.age.granularity=5"]
    config = Config.load(write(tmp_path, f"{BASE}problem: {{eta: 0.5}}"), sets)
    assert config.problem.eta == (0.1, 0.2)
    assert config.search.seed == 7
    assert config.columns["age"].granularity == 5


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("problem.etaa=1", "sets=…: unknown key problem.etaa; did you mean problem.eta?"),
        ("problem.eta=1.5", "eta must be in [0, 1). Got 1.5 (sets=…: problem.eta)"),
        (
            "columns.agee.granularity=5",
            "sets=… columns.agee.granularity=5: unknown key columns.agee; did you mean "
            "columns.age?",
        ),
        ("problem.eta=", "sets=…: problem.eta has no value; an empty text is written ''"),
        ("eta", "sets=… must be key.path=value, e.g. problem.eta=0.1. Got 'eta'"),
    ],
)
def test_a_wrong_set_is_refused(tmp_path: Path, setting: str, message: str) -> None:
    assert refusal(tmp_path, BASE, setting) == message


# -- what is refused -----------------------------------------------------------------------------

GRANULARITY = (
    "granularity must be a number > 0 or, for dates, one of day, week, month, quarter, year, decade"
)
RANGE = "range must be two numbers or two dates (YYYY-MM-DD), the lower one first"
ORDER = (
    "order must be a list of texts or an embedded order "
    "(adult/education, adult/race, adult/salary-class, adult/sex)"
)
HIERARCHY = (
    "hierarchy must be an embedded hierarchy (adult/education, adult/marital-status, "
    "adult/native-country, adult/occupation, adult/workclass), a .yaml, .yml, .csv file, or a rule "
    "such as {mask: right}"
)
ETA = "eta must be a number or a list of numbers in [0, 1)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        # keys
        (
            f"{BASE}problem:\n  etaa: 0.1",
            "a.yaml, line 5: unknown key problem.etaa; did you mean problem.eta?",
        ),
        (f"{BASE}eta: 0.1", "a.yaml, line 4: unknown key eta; did you mean problem.eta?"),
        (
            b("role: quasi, knid: tree"),
            "a.yaml, line 4: unknown key columns.b.knid; did you mean columns.b.kind?",
        ),
        (
            f"{BASE}output: {{xyz: 1}}",
            "a.yaml, line 4: unknown key output.xyz; known here are dir, plots, report",
        ),
        (
            f'{BASE}  "a.b": {{role: insensitive, x: 1}}',
            'a.yaml, line 4: unknown key columns."a.b".x; known here are role, kind, granularity, '
            "range, outside, origin, type, format, decimal, thousands, unit, order, hierarchy, "
            "labels, weight, ancestors",
        ),
        (
            f"{BASE}  age: {{role: sensitive}}",
            "a.yaml, line 4: key columns.age appears twice (first in line 3)",
        ),
        (
            "data: {}\ncolumns: {x: {role: quasi, kind: interval}}",
            "a.yaml: key data.source is missing; it must be an embedded table (adult, adult-full, "
            "credit), a file, a folder, a glob or the address of a database",
        ),
        (
            "data: {source: adult}",
            "a.yaml: key columns is missing; it must be a mapping of keys to values",
        ),
        (f"{BASE}problem:", "a.yaml, line 4: problem has no value; an empty text is written ''"),
        (
            b("role: quasi, kind: ordered, order: [a, '', ~], type: "),
            "a.yaml, line 4: columns.b.type has no value; an empty text is written ''",
        ),
        (
            f"{BASE}  b:\n    order:\n      - a\n      -\n",
            "a.yaml, line 7: columns.b.order has no value; an empty text is written ''",
        ),
        ("- data", "a.yaml must be a mapping with the keys data and columns. Got [data]"),
        # sections
        (
            "data: adult\ncolumns: {x: {role: quasi, kind: interval}}",
            "data must be a mapping of keys to values. Got adult (a.yaml: data)",
        ),
        (
            "data: {source: adult}\ncolumns: [age]",
            "columns must be a mapping of keys to values. Got [age] (a.yaml: columns)",
        ),
        (
            f"{BASE}  b: quasi",
            "b must be a mapping of keys to values. Got quasi (a.yaml: columns.b)",
        ),
        # types
        (f"{BASE}problem: {{eta: 1.5}}", "eta must be in [0, 1). Got 1.5 (a.yaml: problem.eta)"),
        (f"{BASE}problem: {{eta: 1}}", "eta must be in [0, 1). Got 1 (a.yaml: problem.eta)"),
        (f"{BASE}problem: {{eta: -0.1}}", "eta must be in [0, 1). Got -0.1 (a.yaml: problem.eta)"),
        (
            f"{BASE}problem: {{eta: [0.1, 1.5]}}",
            "eta must be in [0, 1). Got 1.5 (a.yaml: problem.eta)",
        ),
        (f"{BASE}problem: {{eta: true}}", f"{ETA}. Got true (a.yaml: problem.eta)"),
        (f"{BASE}problem: {{eta: [0, no]}}", f"{ETA}. Got no (a.yaml: problem.eta)"),
        (f'{BASE}problem: {{eta: "0.1"}}', f'{ETA}. Got "0.1" (a.yaml: problem.eta)'),
        (f"{BASE}problem: {{eta: []}}", f"{ETA}. Got [] (a.yaml: problem.eta)"),
        (f"{BASE}problem: {{eta: [0.1, 0.1]}}", "eta names 0.1 twice (a.yaml: problem.eta)"),
        (
            f"{BASE}search: {{population: true}}",
            "population must be a whole number in [2, 1000000]. Got true (a.yaml: "
            "search.population)",
        ),
        (
            f"{BASE}search: {{population: 1e3}}",
            "population must be a whole number in [2, 1000000]. Got 1e3 (a.yaml: "
            "search.population)",
        ),
        (
            f"{BASE}search: {{population: 1}}",
            "population must be in [2, 1000000]. Got 1 (a.yaml: search.population)",
        ),
        (
            f"{BASE}search: {{seed: '5'}}",
            'seed must be a whole number >= 0. Got "5" (a.yaml: search.seed)',
        ),
        (
            f"{BASE}search: {{crossover: 1.1}}",
            "crossover must be in [0, 1]. Got 1.1 (a.yaml: search.crossover)",
        ),
        (
            f"{BASE}search: {{seconds: 0}}",
            "seconds must be > 0. Got 0 (a.yaml: search.seconds)",
        ),
        (
            f"{BASE}search: {{algorithm: nsag2}}",
            "algorithm must be one of auto, archive, exhaustive, nsga2, nsga3, unsga3, smsemoa, "
            "agemoea, moead, local. Got nsag2; did you mean nsga2? (a.yaml: search.algorithm)",
        ),
        (
            f"{BASE}problem: {{objectives: [loss]}}\nsearch: {{algorithm: smsemoa}}",
            "the algorithm smsemoa takes 2 to 4 objectives. Got 1 (a.yaml: search.algorithm)",
        ),
        (
            f"{BASE}problem: {{constraints: {{k: {{min: 2}}}}}}\nsearch: {{algorithm: moead}}",
            "the algorithm moead takes no constraints, nor objectives that can be infinite; take "
            "nsga2 (a.yaml: search.algorithm)",
        ),
        (
            f"{BASE}search: {{algorithm: nsga3, population: 20, partitions: 30}}",
            "partitions 30 give 31 reference directions for 2 objectives, and the population is "
            "20; at most 19 fit (a.yaml: search.algorithm)",
        ),
        (
            f"{BASE}search: {{moves: 1}}",
            "moves must be true or false. Got 1 (a.yaml: search.moves)",
        ),
        (
            f"{BASE}name: a/b",
            "name must be a name of letters, digits, '.', '_' and '-'. Got a/b (a.yaml: name)",
        ),
        (
            f"{BASE}output: {{dir: ''}}",
            'dir must be the path of a folder. Got "" (a.yaml: output.dir)',
        ),
        (
            BASE.replace("adult", "adult, missing: skip"),
            "missing must be one of drop, category, error. Got skip (a.yaml: data.missing)",
        ),
        (
            BASE.replace("adult", "adult, missing_tokens: NA"),
            'missing_tokens must be a list of texts, e.g. ["", NA]. Got NA '
            "(a.yaml: data.missing_tokens)",
        ),
        (
            BASE.replace("adult", "adult, delimiter: tab"),
            'delimiter must be one character, no quote and no line end, e.g. ";". Got tab '
            "(a.yaml: data.delimiter)",
        ),
        # columns
        (
            b("role: qausi"),
            "role must be one of identifying, quasi, sensitive, insensitive. Got qausi; did you "
            "mean quasi? (a.yaml: columns.b.role)",
        ),
        (
            b(""),
            "a.yaml: key columns.b.role is missing; it must be one of identifying, quasi, "
            "sensitive, insensitive",
        ),
        (
            b("role: quasi"),
            "kind is missing; a quasi column is interval, ordered or tree (a.yaml: columns.b.kind)",
        ),
        (
            b("role: insensitive, kind: tree"),
            "kind is for quasi and sensitive columns only. Got role insensitive "
            "(a.yaml: columns.b.kind)",
        ),
        (
            b("role: sensitive, kind: tree"),
            "hierarchy is missing; a tree column names its tree (a.yaml: columns.b.hierarchy)",
        ),
        (
            b("role: sensitive, order: [x, y]"),
            "kind is missing; a sensitive column is interval, ordered or tree "
            "(a.yaml: columns.b.kind)",
        ),
        (
            b("role: sensitive, weight: 2"),
            "weight is for quasi columns only. Got role sensitive (a.yaml: columns.b.weight)",
        ),
        (
            b("role: quasi, kind: interval, weight: -1"),
            "weight must be >= 0. Got -1 (a.yaml: columns.b.weight)",
        ),
        (
            b("role: identifying, granularity: 5"),
            "granularity is for quasi and sensitive columns only. Got role identifying "
            "(a.yaml: columns.b.granularity)",
        ),
        (
            b("role: quasi, kind: tree, range: [1, 2]"),
            "range is for kind interval only. Got kind tree (a.yaml: columns.b.range)",
        ),
        (
            b("role: quasi, kind: interval, order: [a]"),
            "order is for kind ordered only. Got kind interval (a.yaml: columns.b.order)",
        ),
        (
            b("role: quasi, kind: ordered"),
            "order is missing; an ordered column lists its values (a.yaml: columns.b.order)",
        ),
        (
            b("role: quasi, kind: tree"),
            "hierarchy is missing; a tree column names its tree (a.yaml: columns.b.hierarchy)",
        ),
        (
            b("role: quasi, kind: interval, granularity: 0"),
            f"{GRANULARITY}. Got 0 (a.yaml: columns.b.granularity)",
        ),
        (
            b("role: quasi, kind: interval, granularity: -2.5"),
            f"{GRANULARITY}. Got -2.5 (a.yaml: columns.b.granularity)",
        ),
        (
            b("role: quasi, kind: interval, granularity: true"),
            f"{GRANULARITY}. Got true (a.yaml: columns.b.granularity)",
        ),
        (
            b('role: quasi, kind: interval, granularity: "5"'),
            f'{GRANULARITY}. Got "5" (a.yaml: columns.b.granularity)',
        ),
        (
            b("role: quasi, kind: interval, granularity: months"),
            f"{GRANULARITY}. Got months (a.yaml: columns.b.granularity)",
        ),
        (
            b("role: quasi, kind: interval, range: [5, 1]"),
            f"{RANGE}. Got [5, 1] (a.yaml: columns.b.range)",
        ),
        (
            b("role: quasi, kind: interval, range: [5]"),
            f"{RANGE}. Got [5] (a.yaml: columns.b.range)",
        ),
        (
            b("role: quasi, kind: interval, range: [1, 2021-01-01]"),
            f"{RANGE}. Got [1, 2021-01-01] (a.yaml: columns.b.range)",
        ),
        (
            b("role: quasi, kind: interval, range: [2021-02-30, 2021-03-01]"),
            f"{RANGE}. Got 2021-02-30 (a.yaml: columns.b.range)",
        ),
        (
            b("role: quasi, kind: interval, origin: [1]"),
            "origin must be a number or a date (YYYY-MM-DD). Got [1] (a.yaml: columns.b.origin)",
        ),
        (
            b("role: quasi, kind: ordered, order: adult/eduction"),
            f"{ORDER}. Got adult/eduction; did you mean adult/education? (a.yaml: columns.b.order)",
        ),
        (
            b("role: quasi, kind: ordered, order: []"),
            f"{ORDER}. Got [] (a.yaml: columns.b.order)",
        ),
        (
            b("role: quasi, kind: ordered, order: [x, y, x]"),
            "order names x twice (a.yaml: columns.b.order)",
        ),
        (
            b("role: quasi, kind: tree, hierarchy: adult/workclas"),
            f"{HIERARCHY}. Got adult/workclas; did you mean adult/workclass? "
            "(a.yaml: columns.b.hierarchy)",
        ),
        # several keys together
        (
            "data: {source: adult}\ncolumns: {age: {role: sensitive}}",
            "no column has the role quasi; there is nothing to generalize (a.yaml: columns)",
        ),
        (
            "data: {source: adult}\ncolumns: {}",
            "no column has the role quasi; there is nothing to generalize (a.yaml: columns)",
        ),
        (
            f"{BASE}problem: {{preset: kl-safety}}",
            "the preset kl-safety needs a column with the role sensitive (a.yaml: problem.preset)",
        ),
        (
            f"{BASE}problem: {{preset: zero-suppression, eta: 0.1}}",
            "eta is for the presets k-suppression and kl-safety only. Got preset zero-suppression "
            "(a.yaml: problem.eta)",
        ),
        (
            f"{BASE}problem: {{objectives: [k, l]}}",
            "the objective l needs a column with the role sensitive (a.yaml: problem.objectives)",
        ),
        (
            f"{BASE}problem: {{safety: strict}}",
            "safety is for the preset kl-safety only. Got k-suppression (a.yaml: problem.safety)",
        ),
    ],
)
def test_refuses(tmp_path: Path, text: str, message: str) -> None:
    assert refusal(tmp_path, text) == message


def test_an_unknown_objective_is_refused(tmp_path: Path) -> None:
    message = refusal(tmp_path, f"{BASE}problem: {{objectives: [k, los]}}")
    assert message.startswith("objectives must be among weighted_k, ")
    assert message.endswith("Got los; did you mean loss? (a.yaml: problem.objectives)")


def test_tells_the_first_error_of_the_file_and_counts_the_others(tmp_path: Path) -> None:
    text = "search: {seed: -1}\n" + b("role: x") + "problem: {etaa: 1}\nnam: y\n"
    assert refusal(tmp_path, text) == (
        "seed must be >= 0. Got -1 (a.yaml: search.seed) (and 3 more errors)"
    )


def test_a_long_value_is_shortened(tmp_path: Path) -> None:
    text = f"{BASE}problem: {{preset: {'x' * 500}}}"
    assert f"Got {'x' * 80}… (a.yaml" in refusal(tmp_path, text)


@pytest.mark.parametrize("key", ['order: [a, "b\\udfff"]', '"ord\\udfffer": [a]'])
def test_half_a_character_in_a_file_is_refused_with_its_line(tmp_path: Path, key: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        f"data: {{source: t.csv}}\ncolumns:\n  a: {{role: quasi, kind: ordered, {key}}}\n"
    )
    with pytest.raises(ConfigError, match=r"c\.yaml, line 3: the escape of U\+DFFF is half a"):
        Config.load(path)


def test_half_a_character_from_python_is_refused_with_its_key() -> None:
    column = {"role": "quasi", "kind": "ordered", "order": ["a", "b\ud800"]}
    with pytest.raises(ConfigError, match=r"^'b\\ud800' holds half .* \(columns\.x\.order\)$"):
        Config.from_dict({"data": {"source": "adult"}, "columns": {"x": column}})
    column["order"] = ["a", "b"]
    with pytest.raises(ConfigError, match=r"^'x\\ud800' holds half a character"):
        Config.from_dict({"data": {"source": "adult"}, "columns": {"x\ud800": column}})


def test_a_folder_whose_name_is_not_utf8_cannot_be_written_down(tmp_path: Path) -> None:
    folder = tmp_path / "caf\udce9"
    folder.mkdir()
    path = folder / "c.yaml"
    path.write_text("data: {source: t.csv}\ncolumns: {a: {role: quasi, kind: interval}}\n")
    with pytest.raises(ConfigError, match=r"t\.csv' holds half a character, .*: data\.source\)$"):
        Config.load(path)


def test_from_dict_names_the_key() -> None:
    columns = {"x": {"role": "quasi", "kind": "interval", "granularity": True}}
    with pytest.raises(ConfigError) as refused:
        Config.from_dict({"data": {"source": "adult"}, "columns": columns})
    assert str(refused.value) == f"{GRANULARITY}. Got True (columns.x.granularity)"


@pytest.mark.parametrize("section", ["name", "data", "columns", "problem", "search", "output"])
def test_every_key_says_what_it_wants(section: str) -> None:
    column = {"role": "quasi", "kind": "interval"}
    keys = {
        "data": config.DataSection,
        "columns": config.ColumnSection,
        "problem": config.ProblemSection,
        "search": config.SearchSection,
        "output": config.OutputSection,
    }
    for key in keys[section].model_fields if section in keys else ["name"]:
        given: dict[str, Any] = {"data": {"source": "adult"}, "columns": {"x": column}}
        if section == "name":
            given["name"] = ...
        elif section == "columns":
            given["columns"] = {"x": {**column, key: ...}}
        else:
            given[section] = {**given.get(section, {}), key: ...}
        with pytest.raises(ConfigError) as refused:
            Config.from_dict(given)
        assert re.match(rf"{key} must be (a|an|one|two|the|true|bounds) ", str(refused.value)), key
        assert "Got Ellipsis" in str(refused.value)


def test_from_dict_takes_no_infinite_number() -> None:
    columns = {"x": {"role": "quasi", "kind": "interval", "granularity": float("inf")}}
    with pytest.raises(ConfigError, match=r"Got inf \(columns\.x\.granularity\)"):
        Config.from_dict({"data": {"source": "adult"}, "columns": columns})


# -- data and hierarchies that do not fit --------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        ("x\n1\n", "y: {role: quasi, kind: interval}", "t.csv has no column 'y'"),
        ("x,x\n1,2\n", "x: {role: quasi, kind: interval}", "t.csv has two columns named 'x'"),
        ("x\n", "x: {role: quasi, kind: interval}", "t.csv has no rows"),
        ("", "x: {role: quasi, kind: interval}", "t.csv is empty: it has no rows"),
        (
            "x,y\n,1\n,2\n",
            "x: {role: quasi, kind: interval}",
            "t.csv: the quasi column 'x' has no value in any of its 2 rows",
        ),
        (
            "x\n1\n2\n2\n30\n40\n50\n60\n",
            "x: {role: quasi, kind: interval, range: [1, 9]}",
            "column 'x': 4 rows hold values outside its interval domain (1 … 9): '30', '40', '50' "
            "and 1 more",
        ),
        (
            "x\na\nb\nc\nc\n",
            "x: {role: quasi, kind: ordered, order: [a, b]}",
            "column 'x': 2 rows hold values outside its ordered domain (a … b): 'c'",
        ),
        (
            "x\nPrivate\nArmy\nNavy\n",
            "x: {role: quasi, kind: tree, hierarchy: adult/workclass}",
            "column 'x': 2 rows hold values outside its tree domain (the 7 leaves of 'Any'): "
            "'Army', 'Navy'",
        ),
    ],
)
def test_data_that_do_not_fit_are_refused(
    tmp_path: Path, rows: str, columns: str, message: str
) -> None:
    config = with_data(tmp_path, rows, columns)
    with pytest.raises(DataError) as refused:
        config.instance()
    assert message in str(refused.value)


def test_a_source_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "x\n1\n", "table.csv")
    config = Config.load(write(tmp_path, BASE.replace("adult", "tabel.csv")))
    with pytest.raises(
        DataError, match=r"tabel\.csv does not exist \(did you mean 'table\.csv'\?\)"
    ):
        config.read_table()


def test_a_hierarchy_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    config = Config.load(write(tmp_path, b("role: quasi, kind: tree, hierarchy: none.yaml")))
    with pytest.raises(ConfigError, match=r"none\.yaml does not exist or is not a file"):
        config.specs()


# -- what is written -----------------------------------------------------------------------------


def test_quickstart_round_trips(tmp_path: Path) -> None:
    config = Config.load(QUICKSTART)
    again = Config.load(write(tmp_path, config.to_yaml(), "other.yaml"))
    assert again == config
    assert again.digest == config.digest


def test_the_resolved_text_runs_from_anywhere(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    write(tmp_path, "Any: [a, b]", "tree.yaml")
    column = "x: {role: quasi, kind: tree, hierarchy: tree.yaml}"
    config = with_data(tmp_path, "x\na\n", column)
    again = Config.load(write(tmp_path / "elsewhere", config.to_yaml()))
    assert again.instance().cells.rows == 1


def test_the_digest_follows_the_meaning(tmp_path: Path) -> None:
    one = f"{BASE}  sex: {{role: sensitive}}\nname: x\n"
    same = (
        "name: x # a comment\ndata:\n  missing: error\n  source: adult\ncolumns:\n"
        "  sex: {role: sensitive}\n  age: {kind: interval, role: quasi}\n"
    )
    other = one.replace("adult", "adult-full")
    digests = [Config.load(write(tmp_path, text)).digest for text in (one, same, other)]
    assert digests[0] == digests[1] != digests[2]
    assert len(digests[0]) == 64


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
places = st.integers(-(10**17), 10**17) | st.floats(-1e9, 1e9, allow_nan=False)
quasi = st.one_of(
    st.lists(names, min_size=1, unique=True).map(lambda order: {"kind": "ordered", "order": order}),
    st.tuples(places, places).map(
        lambda ends: {"kind": "interval", "granularity": 0.1, "range": sorted(ends)}
    ),
    st.dates().map(lambda day: {"kind": "interval", "origin": day.isoformat(), "type": "date"}),
)


@given(
    columns=st.dictionaries(names, quasi, min_size=1, max_size=4),
    tokens=st.lists(names, max_size=3),
    eta=st.floats(0, 1, exclude_max=True) | st.just([0.0, 0.5]),
    seed=st.integers(0, 2**70),
)
def test_any_configuration_round_trips(
    tmp_path_factory: pytest.TempPathFactory,
    columns: dict[str, dict[str, Any]],
    tokens: list[str],
    eta: object,
    seed: int,
) -> None:
    given = {
        "data": {"source": "some*.csv", "missing_tokens": tokens},
        "columns": {name: {"role": "quasi", **keys} for name, keys in columns.items()},
        "problem": {"eta": eta},
        "search": {"seed": seed},
    }
    config = Config.from_dict(given)
    folder = tmp_path_factory.getbasetemp()
    assert Config.load(write(folder, config.to_yaml())) == config


# -- the schema ----------------------------------------------------------------------------------


def test_the_schema_knows_every_key_and_says_what_it_is_for() -> None:
    schema = json.loads(json.dumps(config_schema()))
    assert schema["required"] == ["data", "columns"]
    assert set(schema["properties"]) == {"name", "data", "columns", "problem", "search", "output"}
    assert schema["additionalProperties"] is False
    assert len(schema["$defs"]) == 5
    for section in schema["$defs"].values():
        assert section["additionalProperties"] is False
        for key, rule in section["properties"].items():
            assert rule.get("description"), key


def test_every_error_is_one_sentence(tmp_path: Path) -> None:
    for text in (b("role: 'a\n\n\n      b'"), f"{BASE}'x\\n\ny': 1"):
        with pytest.raises(MoanonError) as refused:
            Config.load(write(tmp_path, text))
        assert "\n" not in str(refused.value)
