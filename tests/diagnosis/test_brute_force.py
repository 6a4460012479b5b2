"""Answers about one set, against every way to leave rows out, and the rows that are listed."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from moanon.diagnosis import SubsetAnswer
from moanon.measures.suppression import row_limit
from tests.diagnosis.oracle import Row
from tests.diagnosis.tables import MODELS, examined, tables
from tests.diagnosis.test_twelve_questions import DELTAS, FORMS, case, drawn_level

few_rows = settings(max_examples=settings().max_examples // 2)


def most_anonymous(rows: list[Row], columns: list[str], limit: int) -> int:
    """The largest k that any choice of at most `limit` rows to leave out gives, groups or not."""
    shown = [tuple(row[name] for name in columns) for row in rows]
    return max(
        min(Counter(left).values())
        for number in range(min(limit, len(rows) - 1) + 1)
        for left in combinations(shown, len(rows) - number)
    )


@few_rows
@given(st.data())
def test_at_least_and_at_most_hold_for_every_choice_of_rows(data):
    rows, columns, _ = data.draw(tables(most_columns=2).filter(lambda table: len(table[0]) <= 8))
    diagnosis = examined(rows, columns, [])
    delta, k = data.draw(st.sampled_from(DELTAS)), data.draw(st.integers(1, 8))
    best = {m: most_anonymous(rows, columns, m) for m in range(len(rows))}
    found = best[row_limit(delta, len(rows))]
    assert diagnosis.ask(subset=columns, delta=delta).level == found  # 6
    for form in FORMS:
        holds = {m: best[m] >= k if form == "at least" else best[m] <= k for m in best}
        answer = diagnosis.ask(subset=columns, level=k, form=form)  # 1
        assert answer.yes == holds[0]
        answer = diagnosis.ask(subset=columns, level=k, form=form, delta=delta)  # 5
        assert answer.yes == holds[row_limit(delta, len(rows))]
        answer = diagnosis.ask(subset=columns, level=k, form=form, delta="ask")  # 9
        numbers = [m for m in holds if holds[m]]
        wanted = (min if form == "at least" else max)(numbers, default=None)
        assert answer.suppressed == wanted


@given(st.sampled_from(MODELS), st.data())
def test_the_rows_that_are_listed_are_those_that_the_answer_counts(model, data):
    (rows, columns, _), diagnosis, oracle = case(data, model)
    subset = data.draw(st.lists(st.sampled_from(columns), min_size=1, unique=True))
    level = {"level": drawn_level(data, model, oracle)}
    delta = {"delta": data.draw(st.sampled_from(DELTAS))}
    other = {"form": next(form for form in FORMS if form != model.protective)}
    questions = [level, level | delta, delta, level | {"delta": "ask"}]  # 1, 5, 6, 9
    for asked in (*questions, level | other, level | delta | other):
        answer = diagnosis.ask(subset=subset, model=model, **asked)
        assert isinstance(answer, SubsetAnswer)
        listed, _ = diagnosis.rows_in_the_way(subset, answer.listed_level, model)
        wanted = answer.asked.is_protective and "level" in asked
        counted = answer.needed if wanted else answer.suppressed
        assert len(listed) == (len(rows) if counted is None else counted)
        # Whoever is listed is worse off than all others.
        levels = diagnosis.row_levels(subset, model) * model.sign
        others = [levels[row] for row in range(len(rows)) if row not in listed]
        assert all(levels[row] < other for row in listed for other in others)
