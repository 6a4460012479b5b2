"""All twelve questions, for every model and in both forms, against the slow oracle."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moanon.diagnosis import BorderAnswer, CurvesAnswer, PrivacyModel, SetsAnswer, SubsetAnswer
from moanon.measures.suppression import row_limit
from tests.diagnosis.tables import MODELS, examined, oracle_of, tables

DELTAS = (0.0, 0.1, 0.2, 1 / 3, 0.5, 0.75, 0.99)
FORMS = ("at least", "at most")
# Ten models times four tests: each looks at fewer tables than other property tests do.
few = settings(max_examples=settings().max_examples // 2)
by_model = pytest.mark.parametrize(
    "model", MODELS, ids=lambda m: f"{m.measure}-{m.rule}-{m.c}" if m.rule else "k"
)


def case(data: st.DataObject, model: PrivacyModel):
    """A table, its diagnosis, its oracle."""
    if model.measure == "k":
        table = data.draw(tables())
    else:
        table = data.draw(tables(sensitive=data.draw(st.integers(1, 2)), most_columns=3))
    return table, examined(*table), oracle_of(model, *table)


def drawn_level(data: st.DataObject, model: PrivacyModel, oracle) -> float:
    """A level that occurs, or one beside it."""
    if model.measure == "t":
        levels = [0, 0.1, 0.25, 0.3, 0.5, 0.75, 1]
        if model.rule != "js":
            everything = frozenset(oracle.columns)
            levels += [float(level) for level, _ in oracle.rated(everything)]
        return data.draw(st.sampled_from(levels))
    if model.rule == "entropy":
        return data.draw(st.sampled_from([1, 1.5, 2, 2.5, 3, 4]))
    return data.draw(st.integers(1, 8))


def same(found: float | None, expected: float | Fraction | None) -> bool:
    if found is None or expected is None:
        return found is expected
    return found == pytest.approx(float(expected), abs=1e-11)


@by_model
@few
@given(st.data())
def test_one_set(model, data):
    (_, columns, _), diagnosis, oracle = case(data, model)
    subset = data.draw(st.lists(st.sampled_from(columns), min_size=1, unique=True))
    chosen = frozenset(subset)
    level, delta = drawn_level(data, model, oracle), data.draw(st.sampled_from(DELTAS))
    form = data.draw(st.sampled_from(FORMS))
    limit = row_limit(delta, diagnosis.rows)
    given_level = {"level": level, "form": form, "subset": subset, "model": model}

    answers = [
        (1, diagnosis.ask(**given_level)),
        (2, diagnosis.ask(subset=subset, model=model)),
        (5, diagnosis.ask(**given_level, delta=delta)),
        (6, diagnosis.ask(subset=subset, model=model, delta=delta)),
        (9, diagnosis.ask(**given_level, delta="ask")),
        (11, diagnosis.ask(subset=subset, model=model, delta="ask")),
    ]
    for number, answer in answers:
        assert isinstance(answer, SubsetAnswer)
        assert answer.asked.number == number
    first, second, fifth, sixth, ninth, eleventh = (answer for _, answer in answers)
    level = Fraction(str(level)) if model.rule not in ("entropy", "js") else level
    if model.measure == "t" and model.rule != "js":  # levels that occur are floats of fractions
        level = level.limit_denominator(10**6)
    assert first.yes == oracle.holds(chosen, level, 0, form)
    assert same(second.level, oracle.within(chosen, 0))
    assert fifth.yes == oracle.holds(chosen, level, limit, form)
    assert same(sixth.level, oracle.within(chosen, limit))
    assert ninth.suppressed == oracle.rows_to_suppress(chosen, level, form)
    assert ninth.yes == (ninth.suppressed is not None)
    frame = eleventh.to_frame()
    expected = sorted(oracle.curve(chosen).items(), key=lambda item: item[0] * model.sign)
    assert len(frame) == len(expected)
    for (wanted, rows), found, suppressed, share in zip(
        expected, frame[model.measure], frame["suppressed"], frame["delta"], strict=True
    ):
        assert same(found, wanted)
        assert suppressed == rows
        assert share == rows / diagnosis.rows


@by_model
@few
@given(st.data())
def test_the_border(model, data):
    (_, columns, _), diagnosis, oracle = case(data, model)
    level = drawn_level(data, model, oracle)
    form = data.draw(st.sampled_from(FORMS))
    delta = data.draw(st.sampled_from((None, *DELTAS)))
    largest = data.draw(st.integers(1, len(columns)))
    exact = Fraction(str(level)).limit_denominator(10**6)
    wanted = level if model.rule in ("entropy", "js") else exact
    limit = 0 if delta is None else row_limit(delta, diagnosis.rows)

    answer = diagnosis.ask(level=level, form=form, delta=delta, model=model, largest=largest)
    assert isinstance(answer, BorderAnswer)
    assert answer.asked.number == (3 if delta is None else 7)
    safe, unsafe = oracle.border(wanted, limit, form, largest)
    assert {frozenset(each.columns) for each in answer.safe} == safe
    assert {frozenset(each.columns) for each in answer.unsafe} == unsafe
    for each in (*answer.safe, *answer.unsafe):
        assert same(each.level, oracle.within(frozenset(each.columns), limit))
    assert answer.yes == bool(safe if form == model.protective else unsafe)
    for size, (good, bad) in answer.sizes.items():
        sets = [s for s in oracle.sets if len(s) == size]
        found = [oracle.holds(s, wanted, limit, form) == (form == model.protective) for s in sets]
        assert (good, bad) == (sum(found), len(sets) - sum(found))
    assert answer.effort.sets == sum(len(s) <= largest for s in oracle.sets)
    if not model.is_monotone(suppressing=limit > 0):
        assert answer.effort.avoided == 0
    elif largest == len(columns):
        # Where all columns together are safe, there is nothing to look for.
        everything = {frozenset(columns)}
        calls = 0 if safe == everything else oracle.apriori_calls(wanted, limit, form)
        assert answer.effort.grouped == calls


@by_model
@few
@given(st.data())
def test_every_set(model, data):
    (_, columns, _), diagnosis, oracle = case(data, model)
    level = drawn_level(data, model, oracle)
    form = data.draw(st.sampled_from(FORMS))
    delta = data.draw(st.sampled_from(DELTAS))
    largest = data.draw(st.integers(1, len(columns)))
    exact = Fraction(str(level)).limit_denominator(10**6)
    wanted = level if model.rule in ("entropy", "js") else exact
    limit = row_limit(delta, diagnosis.rows)

    fourth = diagnosis.ask(model=model, largest=largest)
    eighth = diagnosis.ask(model=model, delta=delta, largest=largest)
    tenth = diagnosis.ask(level=level, form=form, delta="ask", model=model, largest=largest)
    sets = [s for s in oracle.sets if len(s) <= largest]
    for number, answer, rows in ((4, fourth, 0), (8, eighth, limit)):
        assert isinstance(answer, SetsAnswer)
        assert answer.asked.number == number
        assert [frozenset(c) for c, _, _ in answer.records()] == sets
        for chosen, found, suppressed in answer.records():
            best = oracle.within(frozenset(chosen), rows)
            assert same(found, best)
            if suppressed is not None:
                assert suppressed == oracle.curve(frozenset(chosen))[best]
        assert answer.effort.grouped == answer.grouped.sum()
        assert answer.effort.sets == len(sets)
        assert all(r is not None for _, _, r in answer.records() if number == 4)
    assert isinstance(tenth, SetsAnswer)
    assert tenth.asked.number == 10
    assert [frozenset(c) for c, _, _ in tenth.records()] == sets
    for chosen, _, suppressed in tenth.records():
        assert suppressed == oracle.rows_to_suppress(frozenset(chosen), wanted, form)


@by_model
@few
@given(st.data())
def test_the_curve_of_every_set(model, data):
    (_, columns, _), diagnosis, oracle = case(data, model)
    answer = diagnosis.ask(delta="ask", model=model)
    assert isinstance(answer, CurvesAnswer)
    assert answer.asked.number == 12
    assert len(answer) == 2 ** len(columns) - 1
    for mask, curve in zip(answer.masks.tolist(), answer.curves, strict=True):
        chosen = frozenset(answer.columns_of(mask))
        expected = sorted(oracle.curve(chosen).items(), key=lambda item: item[0] * model.sign)
        frame = curve.to_frame()
        assert frame["suppressed"].tolist() == [rows for _, rows in expected]
        assert frame[model.measure].tolist() == pytest.approx(
            [float(level) for level, _ in expected], abs=1e-11
        )
