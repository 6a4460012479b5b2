"""What certificates and records say about any front, against an oracle that reads the file.

The oracle takes the released file as text, groups its rows by their labels, and works out every
privacy model from its definition: with the sensitive values of all released rows beside it, as a
certificate does, and with those of all rows of the original, as a record does.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from moanon.data.cell_reading import Notation
from moanon.data.domain import DomainSpec, IntervalSpec, OrderedSpec, TreeDomain, TreeSpec
from moanon.data.rules import rule_of
from moanon.engines import read_table
from moanon.errors import ConfigError, InfeasibleError, OutputError
from moanon.front import Front
from moanon.genome import Instance
from moanon.measures import MEASURES
from moanon.measures.evaluate import measure_grouping
from moanon.measures.suppression import Suppression
from moanon.release import Certificate, Release
from moanon.release.certificate import front_measures
from moanon.search.problem import INFEASIBLE, AnonymizationProblem
from tests import naive, naive_measures
from tests.release.tables import one_database
from tests.strategies import few, populations, rich_instances

#: Privacy models, which every group has a value of.
MODELS = [measure.name for measure in MEASURES.values() if measure.group]
#: Quotients of whole numbers, which must agree to the last bit.
EXACT = [name for name in MODELS if MEASURES[name].precision in ("exact", "quotient")]
#: Bounds from easy to hard; some are met by nothing.
BOUNDS: dict[str, tuple[float, ...]] = dict.fromkeys(MODELS, (3, 1, 0.5)) | {
    "k": (1, 2, 4),
    "l": (1, 2),
    "l_distinct": (1, 2),
    "l_frequency": (1, 2),
    "l_entropy": (1, 1.5, 2),
    "l_recursive": (0, 1, 2),
    "p_sensitive": (1, 2),
    "alpha": (1, 0.75, 0.5),
    "t_closeness": (1, 0.5, 0.25),
    "t_equal": (1, 0.5, 0.3),
    "t_js": (0.69, 0.3, 0.1),
    "delta": (5, 1, 0.5),
    "delta_present": (5, 1, 0.5),
    "loss": (1, 0.7, 0.4),
    "dm": (1600, 300, 60),
    "suppressed": (20, 3, 0),
    "c_avg": (40, 3, 1),
    "prec": (0, 0.3, 0.8),
    "ncp": (1, 0.6, 0.3),
    "cm": (40, 8, 2),
    "conditional_entropy": (500, 40, 5),
    "entropy_loss": (1, 0.5, 0.2),
    "groups": (1, 3),
    "weighted_k": (1, 3),
    "absdist": (9, 2),
    "loss_weighted": (1, 0.5),
}


# -- the oracle ----------------------------------------------------------------------------------


def shown_groups(path: Path, quasi: Sequence[str]) -> list[list[dict[str, str]]]:
    """Rows of a CSV file that look alike."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    alike = naive.groups_of([tuple(row[name] for name in quasi) for row in rows])
    return [[rows[i] for i in members] for members in alike.values()]


def distance(
    instance: Instance, name: str, values: Sequence[str], whole: Sequence[str], shown: bool
) -> Fraction:
    """EMD of released values from all others, over the domain or over what is shown of it."""
    if name not in instance.distances:
        return naive_measures.emd_equal(values, whole)
    domain = instance.distances[name]
    here, there = (domain.find(texts).tolist() for texts in (values, whole))
    if isinstance(domain, TreeDomain):
        return naive_measures.emd_tree(here, there, domain.hierarchy)
    first, size = 0, domain.size
    if shown and not domain.is_declared:
        first, size = min(there), max(there) - min(there) + 1
    here, there = ([place - first for place in places] for places in (here, there))
    return naive_measures.emd_ordered(here, there, size)


def column_models(
    instance: Instance,
    name: str,
    groups: Sequence[Sequence[str]],
    c: Fraction,
    whole: Sequence[str],
    shown: bool,
) -> dict[str, float]:
    """Every privacy model of a sensitive column beside all rows, of its worst group."""
    closest = float(max(distance(instance, name, values, whole, shown) for values in groups))
    return naive_measures.column_models(groups, whole, c) | {"t_closeness": closest}


def check_certificate(
    release: Release, certificate: Certificate, instance: Instance, path: Path
) -> None:
    """Compare all that a certificate and a record say about privacy with the oracle's."""
    groups, c = shown_groups(path, instance.layout.columns), Fraction(str(release.recursive_c))
    assert certificate.k == min(map(len, groups))
    record = release.record(certificate)
    expected, hidden = {}, {}
    for name in instance.table.sensitive:
        values = [[row[name] for row in rows] for rows in groups]
        released = [value for group in values for value in group]
        expected[name] = column_models(instance, name, values, c, released, True)
        agree(certificate.privacy_of(name), expected[name])
        domain = instance.distances.get(name)
        kind = "equal" if domain is None else domain.kind
        assert certificate.distances[name] == {"interval": "ordered"}.get(kind, kind)
        declared = domain is None or domain.is_declared
        assert certificate.scales[name] == ("declared" if declared else "shown")
        whole = naive.sensitive_rows(instance, name)
        hidden[name] = column_models(instance, name, values, c, whole, False)
        agree(plain(record["columns"][name]), hidden[name])
    agree(certificate.privacy, worst(expected) | {"k": certificate.k})
    measures = plain(record["measures"])
    agree({name: measures[name] for name in worst(hidden)}, worst(hidden))


def worst(models: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Of several columns."""
    names = next(iter(models.values()))
    return {
        name: naive_measures.worst(name, [each[name] for each in models.values()]) for name in names
    }


def plain(record: Mapping[str, float | str]) -> dict[str, float]:
    """Numbers of a record, where infinity is a text."""
    return {name: float(v) if isinstance(v, str) else v for name, v in record.items()}


def agree(found: Mapping[str, float], expected: Mapping[str, float]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, int) or name in EXACT:
            assert found[name] == value, name
        else:
            assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-12), name


# -- fronts over any measures --------------------------------------------------------------------


@st.composite
def suppressions(draw: st.DrawFn) -> Suppression:
    kind = draw(st.sampled_from(["limit", "limit", "limit", "none", "weighted-k", "kl-safety"]))
    by = {"limit": MODELS, "weighted-k": ["k", "l"]}.get(kind, ["k"])
    return Suppression(
        kind,
        eta=draw(st.sampled_from([0.0, 0.2, 0.5])),
        safety=draw(st.sampled_from(["ordered", "strict"])),
        prefer=draw(st.sampled_from(["k", "l"])),
        diversity=draw(st.sampled_from(["distinct", "frequency"])),
        by=draw(st.sampled_from(by)),
        recursive_c=draw(st.sampled_from([0.7, 2.0, 3.0])),
    )


@st.composite
def fronts(draw: st.DrawFn, least_rows: int = 1) -> Front:
    """Feasible solutions of a random table under random objectives and constraints."""
    instance = draw(rich_instances(20).filter(lambda each: each.table.rows >= least_rows))
    objectives = draw(
        st.lists(st.sampled_from(sorted(BOUNDS)), min_size=1, max_size=3, unique=True)
    )
    bounded = draw(st.lists(st.sampled_from(sorted(BOUNDS)), max_size=3, unique=True))
    bounds = {name: draw(st.sampled_from(BOUNDS[name])) for name in bounded}
    genomes = draw(populations(instance, most=5))
    try:
        problem = AnonymizationProblem(
            instance, objectives, draw(suppressions()), constraints=bounds
        )
    except InfeasibleError:
        assume(False)
    points = problem.points(genomes)
    feasible = points.thresholds[:, 0] != INFEASIBLE
    assume(feasible.any())
    points = points.only(feasible)
    return Front.of(
        problem.evaluator,
        problem.suppression,
        problem.objectives,
        genomes[points.genome],
        points.thresholds,
        values=points.values,
        bounds={measure.name: bound for measure, bound in problem.table_bounds.items()},
    )


@given(instance=rich_instances(7))
@settings(max_examples=5)
def test_certificates_state_every_privacy_model_there_is(instance: Instance) -> None:
    """Whoever adds a model of groups must teach it to the reader."""
    with TemporaryDirectory() as folder:
        certificate = Release.of(instance, [0] * instance.layout.bits).write(Path(folder) / "r.csv")
    assert certificate.privacy.keys() == {*MODELS} - {"l"}  # which is another one by the rule


# -- what a run demands, on other thresholds and other rows ----------------------------------------


def is_met(name: str, value: float, bound: float) -> bool | None:
    """Whether a bound is met; None where rounding decides."""
    if name not in EXACT and isinstance(value, float) and abs(value - bound) < 1e-8:
        return value == bound == 0 or None
    return value >= bound if MEASURES[name].direction == "max" else value <= bound


def promised(front: Front, solution: int) -> list[tuple[str, float]]:
    """What every group must have besides its size: the constraints, and what was attained."""
    rule = front.suppression
    names = [name for name in (*front.objectives, rule.by) if MEASURES[name].group]
    if rule.kind == "kl-safety":
        names.append("l")
    attained = [(name, front.measures[name][solution - 1].item()) for name in names if name != "k"]
    return [*rule.constraints, *((name, value) for name, value in attained if np.isfinite(value))]


def models_under(instance: Instance, rule: Suppression, rows: list[int]) -> dict[str, float]:
    models = naive_measures.group_models(instance, rows, Fraction(str(rule.recursive_c)))
    return models | {"l": models[f"l_{rule.diversity}"]}


def fitting(
    instance: Instance, front: Front, solution: int, demands: list[tuple[str, float]]
) -> list[list[int]]:
    """Groups of a table under a solution's genome that have what is demanded of them."""
    shown = naive.generalized_rows(instance, front.recoding(solution)["genome"])
    found = []
    for rows in naive.groups_of(shown).values():
        models = models_under(instance, front.suppression, rows)
        # What rounding decides was attained by the solution itself, or nearly.
        if all(is_met(name, models[name], bound) is not False for name, bound in demands):
            found.append(rows)
    return found


def measures_of(
    instance: Instance, front: Front, solution: int, kept: list[list[int]]
) -> dict[str, float]:
    """Every measure that has a bound here, of a release with these groups."""
    genome = front.recoding(solution)["genome"]
    shown = naive.generalized_rows(instance, genome)
    sizes = naive.spans_of(instance)
    n, gone = len(shown), len(shown) - sum(map(len, kept))
    lost = sum(len(rows) * naive.row_loss(shown[rows[0]], sizes) for rows in kept)
    models = [models_under(instance, front.suppression, rows) for rows in kept]
    return {
        **naive_measures.loss_measures(instance, genome, kept),
        **{name: naive_measures.worst(name, [each[name] for each in models]) for name in models[0]},
        "loss": float((lost + gone * len(sizes)) / (n * len(sizes))),
        "suppressed": gone,
        "groups": len(kept),
        "weighted_k": float(naive.weighted_k(map(len, naive.groups_of(shown).values()))),
    }


def check_release(
    release: Callable[[], Release],
    instance: Instance,
    front: Front,
    solution: int,
    kept: list[list[int]],
    bounds: Mapping[str, float],
) -> None:
    """A release has exactly these groups if it meets its bounds; else it is refused for them."""
    found = measures_of(instance, front, solution, kept)
    met = {name: is_met(name, found[name], bound) for name, bound in bounds.items()}
    assume(None not in met.values())
    broken = [name for name, met_ in met.items() if not met_]
    if broken:
        with pytest.raises(
            OutputError, match="does not meet the constraints of the run: "
        ) as error:
            release()
        told = re.findall(
            r"(\w+) is ([\d.einf+-]+) \(at (least|most) ([\d.einf+-]+)\)", str(error.value)
        )
        assert sorted(name for name, *_ in told) == sorted(broken)
        for name, value, side, bound in told:
            assert float(value) == pytest.approx(found[name], rel=1e-5)
            assert float(bound) == pytest.approx(bounds[name], rel=1e-11)
            assert side == ("least" if MEASURES[name].direction == "max" else "most")
        return
    written = release()
    assert written.recursive_c == front.suppression.recursive_c
    with TemporaryDirectory() as folder, one_database():
        path = Path(folder) / "r.csv"
        certificate = written.write(path)
        check_certificate(written, certificate, instance, path)
    for name, value in front_measures(written.promised).items():
        if name in found:
            assert value == pytest.approx(found[name], rel=1e-9, abs=1e-10), name


def tightened(front: Front, solution: int, data: st.DataObject) -> Front:
    """The front with bounds that a solution just meets, so that much else does not."""
    whole = [name for name in sorted(BOUNDS) if not MEASURES[name].group]
    some = st.lists(st.sampled_from(whole), max_size=3, unique=True)
    names = data.draw(st.one_of(st.just(whole), some))
    names += data.draw(st.lists(st.sampled_from(MODELS), max_size=2, unique=True))
    bounds, of_groups = dict(front.bounds), list(front.suppression.constraints)
    for name in names:
        value = float(front.measures[name][solution - 1])
        slack = 0.0 if name in EXACT else 1e-6 * (1 + value)  # more than rounding makes
        bound = value - slack if MEASURES[name].direction == "max" else value + slack
        if not MEASURES[name].group:
            bounds[name] = bound
        elif np.isfinite(bound):
            of_groups = [(other, b) for other, b in of_groups if other != name] + [(name, bound)]
    rule = replace(front.suppression, constraints=tuple(of_groups))
    recodings = replace(front.recodings, suppression=rule)
    return replace(front, bounds=bounds, suppression=rule, recodings=recodings)


@few
@given(fronts(least_rows=10), st.data())
def test_another_k_keeps_the_constraints_or_is_refused(front: Front, data: st.DataObject) -> None:
    instance = front.instance
    assert instance is not None
    solution = data.draw(st.sampled_from(front.ids.tolist()))
    front = tightened(front, solution, data)
    every = fitting(instance, front, solution, [])
    sizes = {1, *map(len, every)}
    k = data.draw(st.sampled_from(sorted(sizes - {front.measures["k"][solution - 1]} or sizes)))
    fit = fitting(instance, front, solution, promised(front, solution))
    kept = [rows for rows in fit if len(rows) >= k]

    def release() -> Release:
        return front.release(solution, k=k, max_suppression=0.99)

    if not kept:
        with pytest.raises(ConfigError, match="would suppress"):
            release()
        return
    check_release(release, instance, front, solution, kept, front.bounds)


@few
@given(fronts(least_rows=10), st.data())
def test_new_rows_keep_the_constraints_or_are_refused(front: Front, data: st.DataObject) -> None:
    instance = front.instance
    assert instance is not None
    rows = instance.table.rows
    some = np.array(
        data.draw(st.lists(st.sampled_from([True, True, False]), min_size=rows, max_size=rows))
    )
    some[data.draw(st.integers(0, rows - 1))] = True
    table = instance.table.only(some)
    fitted = instance.over(table)
    solution = data.draw(st.sampled_from(front.ids.tolist()))
    front = tightened(front, solution, data)
    k = data.draw(st.sampled_from([None, 1, 2]))
    size = int(front.measures["k"][solution - 1]) if k is None else k
    fit = fitting(fitted, front, solution, promised(front, solution))
    kept = [members for members in fit if len(members) >= size]

    def release() -> Release:
        return front.apply(solution, table, k=k)

    if not kept:
        with pytest.raises(OutputError, match="no row of DataFrame would be released"):
            release()
        return
    check_release(release, fitted, front, solution, kept, front.bounds)


@few
@given(fronts(least_rows=10), st.data())
def test_small_groups_that_are_kept_must_meet_the_constraints(
    front: Front, data: st.DataObject
) -> None:
    instance = front.instance
    assert instance is not None
    rows = instance.table.rows
    some = np.array(
        data.draw(st.lists(st.sampled_from([True, True, False]), min_size=rows, max_size=rows))
    )
    some[data.draw(st.integers(0, rows - 1))] = True
    table = instance.table.only(some)
    fitted = instance.over(table)
    solution = data.draw(st.sampled_from(front.ids.tolist()))
    front = tightened(front, solution, data)
    demands = {n: bound for n, bound in front.suppression.constraints if bound < 1e300}
    check_release(
        lambda: front.apply(solution, table, small="keep"),
        fitted,
        front,
        solution,
        fitting(fitted, front, solution, []),
        {**demands, **front.bounds},
    )


@pytest.mark.parametrize(
    ("spec", "scale"),
    [
        (IntervalSpec(5, (10, 30), outside="clamp", notation=Notation(unit="€")), "shown"),
        (
            TreeSpec(rule_of({"intervals": [5, 10]}, IntervalSpec(notation=Notation(unit="€")))),
            "none",
        ),
    ],
)
def test_sensitive_values_in_steps_are_read_as_the_table_writes_them(
    spec: DomainSpec, scale: str, tmp_path: Path
) -> None:
    pay = ["3 €", "12 €", "14 €", "29 €", "30 €", "95 €"]
    frame = pd.DataFrame({"size": list("SSSLLL"), "pay": pay})
    table = read_table(frame, {"size": "quasi", "pay": "sensitive"})
    sizes = OrderedSpec(("S", "L"))
    instance = Instance.build(table, {"size": sizes}, distances={"pay": spec})
    release = Release.of(instance, [1])
    certificate = release.write(tmp_path / "t.csv")  # as promised, or not at all
    measured = measure_grouping(release.grouping)["t_closeness"]
    assert release.promised["t_closeness", "pay"] == pytest.approx(measured)
    assert certificate.scales == {"pay": scale}
    # all is released, from the first place to the last
    expected = pytest.approx(measured) if scale == "shown" else None
    assert certificate.privacy.get("t_closeness") == expected
    assert certificate.to_dict()["closeness"]["pay"]["t_closeness"] == expected


def test_an_order_without_declared_ends_is_measured_along_what_is_shown(tmp_path: Path) -> None:
    # 90 stands alone under L and is suppressed: shown are the places of 10, 11 and 12.
    frame = pd.DataFrame({"size": list("SSMML"), "pay": [10, 11, 10, 12, 90]})
    table = read_table(frame, {"size": "quasi", "pay": "sensitive"})
    sizes = OrderedSpec(("S", "M", "L"))
    for spec, places in ((IntervalSpec(), 2), (IntervalSpec(range=(1, 100)), 99)):
        instance = Instance.build(table, {"size": sizes}, distances={"pay": spec})
        release = Release.of(instance, [1, 1], k=2)
        certificate = release.write(tmp_path / "r.csv", force=True)
        # Beside 10, 10, 11, 12 a quarter of {10, 12} is a place too high, of {10, 11} too low.
        assert certificate.privacy["t_closeness"] == 1 / 4 / places
        assert certificate.scales["pay"] == ("shown" if places == 2 else "declared")


def test_missing_values_stand_behind_all_that_is_shown(tmp_path: Path) -> None:
    frame = pd.DataFrame({"size": list("SSMML"), "pay": ["10", None, "10", None, "90"]})
    table = read_table(frame, {"size": "quasi", "pay": "sensitive"}, missing="category")
    spec = IntervalSpec(range=(1, 100))
    sizes = OrderedSpec(("S", "M", "L"))
    instance = Instance.build(table, {"size": sizes}, distances={"pay": spec})
    apart = Release.of(instance, [1, 1], k=2).write(tmp_path / "r.csv")
    assert (apart.scales["pay"], apart.privacy["t_closeness"]) == ("declared", 0)
    frame["size"] = list("SMSML")
    table = read_table(frame, {"size": "quasi", "pay": "sensitive"}, missing="category")
    instance = Instance.build(table, {"size": sizes}, distances={"pay": spec})
    apart = Release.of(instance, [1, 1], k=2).write(tmp_path / "r.csv", force=True)
    # 10 stands at place 9 of 0..99, missing values behind them: a half moves over 91 of 100
    assert apart.privacy["t_closeness"] == 91 / 200
