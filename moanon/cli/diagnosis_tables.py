"""How the answers of the diagnosis centre look in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import typer

from moanon.cli.printing import counted, on_one_line, show_grid

if TYPE_CHECKING:
    from moanon.diagnosis import (
        AddedColumn,
        BorderAnswer,
        Curve,
        CurvesAnswer,
        Diagnosis,
        DiagnosisAnswer,
        Overview,
        RatedSet,
        SetsAnswer,
        SubsetAnswer,
    )

#: Lines of a table of sets, unless all are wanted.
_SHOWN = 40
#: Columns and pairs of an overview.
_RISKIEST = 8
#: Columns whose effect is told.
_TOLD = 8
#: Levels of k at which a curve is read, up to those that occur.
_ROUND = [1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70]
_ROUND += [step * 10**power for power in range(2, 11) for step in (1, 2, 3, 5, 7)]


def show_answer(
    diagnosis: Diagnosis,
    answer: DiagnosisAnswer,
    *,
    everything: bool,
    overview: Overview | None = None,
) -> None:
    """Show the question in words, the answer, and what it cost; before it what matters most."""
    from moanon.diagnosis import BorderAnswer, CurvesAnswer, SubsetAnswer

    distinct = len(diagnosis.table.counts)
    _say(
        f"{diagnosis.source}: {counted(diagnosis.rows, 'row')}, {distinct:,} distinct in "
        f"{counted(len(diagnosis.columns), 'column')}"
    )
    for note in diagnosis.notes:
        _say(f"note: {note}")
    if overview is not None:
        _show_overview(overview)
    _say(f"Question {answer.asked.number}: {answer.asked.words()}")
    if overview is not None and answer.asked.largest < len(diagnosis.columns):
        _say(f"Sets of up to {answer.asked.largest} columns; --max-size looks at larger ones")
    shown = None if everything else _SHOWN
    if isinstance(answer, SubsetAnswer):
        _show_subset(diagnosis, answer, shown)
    elif isinstance(answer, BorderAnswer):
        _show_border(answer, shown)
    elif isinstance(answer, CurvesAnswer):
        _show_curves(answer, shown)
    else:
        _show_sets(answer, shown)


def _show_overview(found: Overview) -> None:
    """Who is alone by all columns together, by each, and by the riskiest pairs."""
    risk, columns = found.whole.risk, len(found.columns)
    _say(
        f"Whoever knows all {counted(columns, 'column')} finds {_rows(risk.unique, risk.rows)} "
        f"alone, and {_rows(risk.small, risk.rows)} in groups below 5"
    )
    for title, sets in (("riskiest columns", found.columns), ("riskiest pairs", found.pairs)):
        if not sets:
            continue
        rows = []
        for each in sets[:_RISKIEST]:
            shares = (_share(number, risk.rows) for number in (each.risk.unique, each.risk.small))
            mean = _percent(100 * each.risk.mean)
            rows.append((_named(each.columns), f"{each.groups:,}", *shares, mean, f"{each.k:,}"))
        _grid((title, "values", "rows alone", "in groups below 5", "mean risk", "k"), rows)
    if found.sufficient:
        _say(f"Each enough to find nearly everybody, so in no pair: {_named(found.sufficient)}")


def _say(line: str) -> None:
    typer.echo(f" {on_one_line(line)}")


def _named(columns: Iterable[str]) -> str:
    from moanon.diagnosis import listed

    return on_one_line(listed(columns))


def _share(rows: int, of: int) -> str:
    """Write a share of rows; never rounded down to nothing, nor up to all."""
    return _percent(100 * rows / of)


def _percent(percent: float) -> str:
    if 0 < percent < 0.1:
        return "less than 0.1%"
    return "more than 99.9%" if 99.9 < percent < 100 else f"{percent:.1f}%"


def _rows(rows: int, of: int) -> str:
    return f"{counted(rows, 'row')} ({_share(rows, of)})"


def _grid(headers: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> None:
    """Print a table; the first `left` columns hold texts, the others numbers."""
    show_grid(headers, rows, right=range(left, len(headers)), overflow="fold")


# -- one set ---------------------------------------------------------------------------------------


def _show_subset(diagnosis: Diagnosis, answer: SubsetAnswer, shown: int | None) -> None:
    for line in _verdict(answer):
        _say(line)
    asked = answer.asked
    assert asked.subset is not None
    if asked.number == 11:
        _show_curve(answer.curve, shown)
    risk = diagnosis.risk(asked.subset)
    facts = {
        "alone in their group": _rows(risk.unique, risk.rows),
        "in groups below 5": _rows(risk.small, risk.rows),
        "mean risk": f"{risk.mean:.4f}, one over the size of a row's group",
        "highest risk": f"{risk.highest:.4f}",
    }
    if diagnosis.sensitive:
        facts |= dict(_profile(diagnosis, asked.subset, asked.model.c))
    _say("As the table is, on these columns:")
    width = max(map(len, facts)) + 2
    for fact, value in facts.items():
        _say(f"  {fact:<{width}}{value}")
    added = diagnosis.additions(asked.subset, delta=asked.delta or 0.0, model=asked.model)
    _say_additions(added, answer)


def _profile(diagnosis: Diagnosis, subset: Sequence[str], c: float) -> Iterator[tuple[str, str]]:
    from moanon.diagnosis import PrivacyModel, choose_rule

    for name, level in diagnosis.profile(subset, c=c).items():
        _, _, rule = name.partition("_")
        if rule:
            model = PrivacyModel(*choose_rule(None, rule), c)
            constant = f", c = {model.c:g}" if rule == "recursive" else ""
            yield f"{model.symbol} ({rule}{constant})", model.show(level)


def _verdict(answer: SubsetAnswer) -> Iterator[str]:
    """Say the answer in words, with the numbers behind it."""
    asked, model = answer.asked, answer.asked.model
    symbol, rows = model.symbol, asked.rows
    if asked.asks_delta:
        if asked.level is not None:
            yield _cost_words(answer)
        return

    def given_up(level: float, number: int) -> str:
        suppressed = f", with {_rows(number, rows)} suppressed" if asked.limit else ""
        return f"{symbol} = {model.show(level)}{suppressed}"

    found = given_up(answer.level, answer.suppressed or 0)
    if asked.level is None:
        yield found
    elif not asked.is_protective or not answer.yes:
        yield f"{'Yes' if answer.yes else 'No'}: {found}"
    else:
        reached = given_up(answer.curve.within(answer.needed or 0)[0], answer.needed or 0)
        yield f"Yes: {reached}"
        if reached != found:
            yield f"The most within that share: {found}"
    if asked.level is not None and asked.is_protective and not answer.yes:
        cost = answer.needed
        yield (
            "No suppression short of all rows would do"
            if cost is None
            else f"{_rows(cost, rows)} would have to be suppressed"
        )


def _cost_words(answer: SubsetAnswer) -> str:
    asked, model = answer.asked, answer.asked.model
    if answer.suppressed is None:
        if asked.is_protective:
            return "No: nothing would be left"
        level = model.show(answer.curve.level)
        return f"No: it is safer than that as it is, {model.symbol} = {level}"
    delta = _delta(answer.suppressed, asked.rows, upwards=asked.is_protective)
    verb = "must" if asked.is_protective else "can"
    return f"delta = {delta}: {counted(answer.suppressed, 'row')} of {asked.rows:,} {verb} go"


def _delta(rows: int | None, of: int, *, upwards: bool = True) -> str:
    """Write a share with four digits, rounded so that it still does when given as --delta.

    A share that must be reached is rounded up, but never to 1, one that must not be exceeded down.
    """
    if rows is None:
        return ""
    digits = 4
    while upwards and rows < of and -(-rows * 10**digits // of) == 10**digits:
        digits += 1
    scaled = -(-rows * 10**digits // of) if upwards else rows * 10**digits // of
    return f"{scaled / 10**digits:.{digits}f}"


def _show_curve(curve: Curve, shown: int | None) -> None:
    model, lines = curve.model, []
    for level, rows in _curve_points(curve, shown):
        cells = ("not possible", "", "")
        if rows is not None:
            cells = (f"{rows:,}", _delta(rows, curve.table_rows), f"{curve.table_rows - rows:,}")
        lines.append((model.show(level), *cells))
    header = f"{model.symbol} {model.protective}"
    _grid((header, "rows to suppress", "delta", "rows left"), lines, left=0)


def _curve_points(curve: Curve, shown: int | None) -> Iterator[tuple[float, int | None]]:
    """Levels and what they cost: round ones of k, or those that occur."""
    levels: list[float] = [abs(strength) for strength in curve.strengths.tolist()]
    if curve.model.measure == "k" and shown is not None:
        levels = [level for level in _ROUND if level <= levels[-1]]
    elif shown is not None:
        levels = levels[:: -(-len(levels) // shown)]
    for level in levels:
        yield level, curve.cost(level)


def _say_additions(added: Sequence[AddedColumn], answer: DiagnosisAnswer) -> None:
    """Say what adding a column does, worst first; nothing where it does nothing."""
    model, lines = answer.asked.model, []
    # Who is alone is counted as the table is: after suppression nobody is, or all of them are.
    after, before = (" after suppression", " before it") if answer.asked.limit else ("", "")
    for each in added:
        effects = []
        if each.before != each.after:
            levels = f"{model.show(each.before)} to {model.show(each.after)}"
            effects.append(f"{model.symbol}{after} from {levels}")
        if each.alone and len(set(each.alone)) > 1:
            when = before if effects else before.replace("it", "suppression")
            rows = f"{each.alone[0]:,} to {each.alone[1]:,}"
            effects.append(f"the rows alone in their group{when} from {rows}")
        if effects:
            takes = " and ".join(effects)
            lines.append(f"adding {each.column} to {{{_named(each.to)}}} takes {takes}")
    for line in lines[:_TOLD]:
        _say(line)


# -- all sets --------------------------------------------------------------------------------------


def _show_border(answer: BorderAnswer, shown: int | None) -> None:
    asked = answer.asked
    if not answer.yes:
        _say("None" if asked.is_protective else "None: all sets are safer than that")
    sides = [("largest safe sets", answer.safe), ("smallest unsafe sets", answer.unsafe)]
    for title, sets in sides if asked.is_protective else reversed(sides):
        if sets:
            _show_rated(f"{title} ({len(sets):,})", sets, answer, shown)
    if any(len(each.columns) > 1 for each in answer.unsafe):
        _say("Columns by the smallest unsafe sets they are in:")
        threats = [threat for threat in answer.threats() if threat[2]]
        rows = [(on_one_line(name), f"{number:,}", str(size)) for name, size, number in threats]
        _grid(("column", "in so many", "from size"), rows)
    _say_effort(answer, monotone=answer.is_monotone)
    if not answer.is_monotone:
        _say("note: a set within a safe set need not be safe here")


def _show_rated(
    title: str, sets: Sequence[RatedSet], answer: BorderAnswer, shown: int | None
) -> None:
    model, limit = answer.asked.model, answer.asked.limit
    rows = [(title, "size", model.symbol, "suppressed")]
    for each in islice(sets, shown):
        level, size = model.show(each.level), str(len(each.columns))
        rows.append((_named(each.columns), size, level, f"{each.suppressed:,}"))
    headers, *rest = (row if limit else row[:-1] for row in rows)
    _grid(headers, rest)
    _say_more(len(sets), shown)


def _show_sets(answer: SetsAnswer, shown: int | None) -> None:
    asked, model = answer.asked, answer.asked.model
    worst = None if shown is None or answer.levels is None else _crowd(answer)
    lines: list[tuple[str, ...]] = []
    for columns, level, suppressed in answer.records():
        name, size = _named(columns), str(len(columns))
        if level is None:
            cost = "not possible" if suppressed is None else f"{suppressed:,}"
            delta = _delta(suppressed, asked.rows, upwards=asked.is_protective)
            lines.append((name, size, cost, delta))
        elif level != worst:
            lines.append((name, size, model.show(level)))
    if not answer.yes:
        none = "no set of columns reaches that, whatever is suppressed"
        _say(f"None: {none if asked.is_protective else 'all sets are safer than that'}")
    must = "rows to suppress" if asked.is_protective else "rows that can go"
    values = (must, "delta") if answer.levels is None else (model.symbol,)
    if lines:
        _grid(("columns", "size", *values), islice(lines, shown))
        _say_more(len(lines), shown)
    if worst is not None:
        others = f"The other {counted(len(answer) - len(lines), 'set')}" if lines else "All sets"
        alone = ", someone is alone" if model.measure == "k" and worst == 1 else ""
        _say(f"{others}: {model.symbol} = {model.show(worst)}{alone} (--all lists them)")
    _say_additions(answer.worst_additions(), answer)
    suppressing = answer.levels is None or asked.limit > 0
    _say_effort(answer, monotone=model.is_monotone(suppressing=suppressing))


def _crowd(answer: SetsAnswer) -> float | None:
    """The worst level, where so many sets have it that they would hide the others."""
    assert answer.levels is not None
    levels = answer.levels
    worst: float = (levels.min() if answer.asked.model.sign > 0 else levels.max()).item()
    crowded = (levels == worst).sum() > max(_SHOWN // 2, len(answer) // 3)
    return worst if crowded else None


def _show_curves(answer: CurvesAnswer, shown: int | None) -> None:
    """Show what some levels cost on each set."""
    curves, model = answer.curves, answer.asked.model
    if model.measure == "k":
        levels: list[float] = [2, 3, 5, 10, 20, 50, 100]
    else:
        steps = sorted({abs(s) for curve in curves for s in curve.strengths.tolist()})
        levels = steps[:: max(1, len(steps) // 7)][:8]
    lines = []
    for mask, curve in islice(zip(answer.masks.tolist(), curves, strict=True), shown):
        costs = (_delta(curve.cost(level), answer.asked.rows) for level in levels)
        lines.append((_named(answer.columns_of(mask)), *(c or "not possible" for c in costs)))
    sign = "≥" if model.sign > 0 else "≤"
    _say(f"delta for each {model.symbol}:")
    _grid(("columns", *(f"{model.symbol} {sign} {model.show(level)}" for level in levels)), lines)
    _say_more(len(answer), shown)
    _say_effort(answer, monotone=model.is_monotone(suppressing=True))


def _say_more(number: int, shown: int | None) -> None:
    if shown is not None and number > shown:
        _say(f"… and {number - shown:,} more (--all shows them, --json lists them)")


def _say_effort(answer: BorderAnswer | SetsAnswer | CurvesAnswer, *, monotone: bool) -> None:
    effort, model = answer.effort, answer.asked.model
    why = ", as a set is never safer than its subsets" if effort.avoided else ""
    if not monotone:
        why = (
            f": with suppression, {model.symbol} by the rule {model.rule} can get better when a "
            "column is added"
        )
    _say(
        f"{counted(effort.sets, 'set')} of columns: {effort.grouped:,} grouped, "
        f"{effort.avoided:,} avoided{why}"
    )
