"""What a diagnosis found, in words: what matters first, then the answer to the question.

Nobody reads a thousand sets of columns. The overview (`look_over`) is about all columns together,
each one, and the pairs that leave most people alone or among few. `Findings` put it before the
answer, and beside the answer about one set what its columns reveal as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, islice
from math import comb
from typing import TYPE_CHECKING, Any

from moanon.arrays import Outlined
from moanon.diagnosis.centre import Diagnosis
from moanon.diagnosis.diagnosis_answers import (
    AddedColumn,
    BorderAnswer,
    Curve,
    CurvesAnswer,
    DiagnosisAnswer,
    RatedSet,
    ReidentificationRisk,
    SetsAnswer,
    SubsetAnswer,
)
from moanon.diagnosis.questions import ANONYMITY, PrivacyModel, choose_rule, listed
from moanon.wording import Grid, Part, Worded, counted

if TYPE_CHECKING:
    import pandas as pd

#: Columns whose pairs are looked at: those by which most people are alone.
_PAIRED = 16
#: Sets of columns that are gone through by default.
_MOST_SETS = 20_000
#: Lines of a table of sets, of an overview, and of columns whose effect is stated.
_SHOWN, _RISKIEST, _ADDED = 40, 8, 8
#: Levels of k at which a curve is read, up to those that occur.
_ROUND = [1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70]
_ROUND += [step * 10**power for power in range(2, 11) for step in (1, 2, 3, 5, 7)]


# -- what matters first ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Overview:
    """A table at a glance: all columns together, single columns, and pairs; the riskiest first.

    Columns by which nine in ten rows are alone are in no pair.
    """

    whole: ReidentificationRisk
    columns: tuple[ReidentificationRisk, ...]
    pairs: tuple[ReidentificationRisk, ...]

    @property
    def sufficient(self) -> tuple[str, ...]:
        """Columns that are in no pair, because each is enough to find nearly everybody."""
        return tuple(each.columns[0] for each in self.columns if each.suffices)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""

        def plain(risk: ReidentificationRisk) -> dict[str, Any]:
            found = {"columns": list(risk.columns), "values": risk.groups, "k": risk.k}
            return found | risk.to_dict()

        return {
            "all": plain(self.whole),
            "columns": [plain(each) for each in self.columns],
            "pairs": [plain(each) for each in self.pairs],
        }

    def parts(self) -> Iterator[Part]:
        """Say who is alone by all columns together, by each, and by the riskiest pairs."""
        risk = self.whole
        yield (
            f"Whoever knows all {counted(len(self.columns), 'column')} finds "
            f"{_rows(risk.unique, risk.rows)} alone, and {_rows(risk.small, risk.rows)} in groups "
            "below 5"
        )
        for title, sets in (("riskiest columns", self.columns), ("riskiest pairs", self.pairs)):
            rows = []
            for each in sets[:_RISKIEST]:
                shares = (each.unique / risk.rows, each.small / risk.rows, each.mean)
                numbers = (f"{each.groups:,}", *map(_percent, shares), f"{each.k:,}")
                rows.append((listed(each.columns), *numbers))
            if rows:
                values = ("values", "rows alone", "in groups below 5", "mean risk", "k")
                yield _grid((title, *values), rows)
        if self.sufficient:
            columns = listed(self.sufficient)
            yield f"Each enough to find nearly everybody, so in no pair: {columns}"


def look_over(diagnosis: Diagnosis) -> Overview:
    """Find who is alone by all columns, by each, and by pairs of the riskiest."""
    single = sorted(_exposed(diagnosis, 1, diagnosis.columns), key=_by_risk)
    paired = [each for each in single if not each.suffices]
    risky = [each.columns[0] for each in paired[:_PAIRED]]
    chosen = tuple(name for name in diagnosis.columns if name in risky)
    pairs = sorted(_exposed(diagnosis, 2, chosen), key=_by_risk)
    (whole,) = _exposed(diagnosis, len(diagnosis.columns), diagnosis.columns)
    return Overview(whole, tuple(single), tuple(pairs))


def _exposed(
    diagnosis: Diagnosis, size: int, columns: tuple[str, ...]
) -> Iterator[ReidentificationRisk]:
    refiner = diagnosis.table.refine(ANONYMITY, size)
    for chosen in combinations(columns, size):
        curve = refiner.curve(diagnosis.table.mask(chosen))
        yield ReidentificationRisk.of(chosen, curve)


def _by_risk(risk: ReidentificationRisk) -> tuple[float, ...]:
    """Sort sets, the riskiest first."""
    return (-risk.unique, -risk.small, -risk.mean)


def usual_size(columns: int) -> int:
    """How large sets of columns can be without being too many to go through."""
    sets, size = 0, 0
    while size < columns and sets + comb(columns, size + 1) <= _MOST_SETS:
        size += 1
        sets += comb(columns, size)
    return max(size, 1)


# -- the answer ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Findings(Worded, Outlined):
    """An answer with all that goes with it; first an overview, where nothing was asked."""

    diagnosis: Diagnosis
    answer: DiagnosisAnswer
    overview: Overview | None = None

    def to_frame(self) -> pd.DataFrame:
        """Return the answer as a frame."""
        return self.answer.to_frame()

    def to_dict(self) -> dict[str, Any]:
        """Return the answer with its question and all that goes with it, as plain values."""
        asked, effort, about = self.answer.asked, self.answer.effort, self.diagnosis
        found: dict[str, Any] = (
            {} if self.overview is None else {"overview": self.overview.to_dict()}
        )
        found |= {
            **asked.to_dict(),
            "answer": self.answer.to_dict(),
            "effort": {**asdict(effort), "avoided": effort.avoided},
            "source": about.source,
            "missing": dict(about.missing),
            "notes": list(about.notes),
        }
        if asked.subset is not None:
            found["risk"] = about.risk(asked.subset).to_dict()
            found["profile"] = about.profile(asked.subset, c=asked.model.c)
            found["additions"] = [
                {name: value for name, value in asdict(each).items() if name != "to"}
                for each in self._additions()
            ]
        return found

    def _additions(self) -> tuple[AddedColumn, ...]:
        asked = self.answer.asked
        assert asked.subset is not None
        return self.diagnosis.additions(asked.subset, delta=asked.delta or 0.0, model=asked.model)

    def parts(self, *, everything: bool = False) -> Iterator[Part]:
        """Say the question in words, the answer, and what it cost; what matters most before."""
        about, answer = self.diagnosis, self.answer
        yield (
            f"{about.source}: {counted(about.rows, 'row')}, {len(about.table.counts):,} distinct "
            f"in {counted(len(about.columns), 'column')}"
        )
        yield from (f"note: {note}" for note in about.notes)
        if self.overview is not None:
            yield from self.overview.parts()
        yield f"Question {answer.asked.number}: {answer.asked.words()}"
        if self.overview is not None and answer.asked.largest < len(about.columns):
            yield f"Sets of up to {answer.asked.largest} columns; largest=… looks at larger ones"
        most = None if everything else _SHOWN
        if isinstance(answer, SubsetAnswer):
            yield from self._subset(answer, most)
        elif isinstance(answer, BorderAnswer):
            yield from _border(answer, most)
        elif isinstance(answer, CurvesAnswer):
            yield from _curves(answer, most)
        else:
            yield from _sets(answer, most)

    def _subset(self, answer: SubsetAnswer, most: int | None) -> Iterator[Part]:
        asked, about = answer.asked, self.diagnosis
        assert asked.subset is not None
        yield from _verdict(answer)
        if asked.number == 11:
            yield _curve(answer.curve, most)
        risk = about.risk(asked.subset)
        facts = {
            "alone in their group": _rows(risk.unique, risk.rows),
            "in groups below 5": _rows(risk.small, risk.rows),
            "mean risk": f"{risk.mean:.4f}, one over the size of a row's group",
            "highest risk": f"{risk.highest:.4f}",
        }
        for name, level in about.profile(asked.subset, c=asked.model.c).items():
            if rule := name.partition("_")[2]:
                model = PrivacyModel(*choose_rule(None, rule), asked.model.c)
                constant = f", c = {model.c:g}" if rule == "recursive" else ""
                facts[f"{model.symbol} ({rule}{constant})"] = model.show(level)
        yield "As the table is, on these columns:"
        width = max(map(len, facts)) + 2
        yield from (f"  {fact:<{width}}{value}" for fact, value in facts.items())
        yield from _additions(self._additions(), answer)


def _percent(share: float) -> str:
    """Write a share; never rounded down to nothing, nor up to all."""
    if 0 < share < 0.001:
        return "less than 0.1%"
    return "more than 99.9%" if 0.999 < share < 1 else f"{share:.1%}"


def _rows(rows: int, of: int) -> str:
    return f"{counted(rows, 'row')} ({_percent(rows / of)})"


def _grid(headers: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> Grid:
    """A table whose first `left` columns hold texts, the others numbers."""
    return Grid(headers, list(rows), right=range(left, len(headers)))


def _delta(rows: int | None, of: int, *, upwards: bool = True) -> str:
    """Write a share with four digits, rounded so that it still does when asked about.

    A share that must be reached is rounded up, but never to 1, one that must not be exceeded down.
    """
    if rows is None:
        return ""
    digits = 4
    while upwards and rows < of and -(-rows * 10**digits // of) == 10**digits:
        digits += 1
    scaled = -(-rows * 10**digits // of) if upwards else rows * 10**digits // of
    return f"{scaled / 10**digits:.{digits}f}"


# -- one set ---------------------------------------------------------------------------------------


def _verdict(answer: SubsetAnswer) -> Iterator[str]:
    """Say the answer in words, with the numbers behind it."""
    asked, model = answer.asked, answer.asked.model
    if asked.asks_delta:
        if asked.level is not None:
            yield _cost_words(answer)
        return

    def reached(level: float, number: int) -> str:
        suppressed = f", with {_rows(number, asked.rows)} suppressed" if asked.limit else ""
        return f"{model.symbol} = {model.show(level)}{suppressed}"

    found = reached(answer.level, answer.suppressed or 0)
    if asked.level is None:
        yield found
        return
    if not asked.is_protective or not answer.yes:
        yield f"{'Yes' if answer.yes else 'No'}: {found}"
    else:
        needed = answer.needed or 0
        wanted = reached(answer.curve.within(needed)[0], needed)
        yield f"Yes: {wanted}"
        if wanted != found:
            yield f"The most within that share: {found}"
    if asked.is_protective and not answer.yes:
        cost = answer.needed
        yield (
            "No suppression short of all rows would do"
            if cost is None
            else f"{_rows(cost, asked.rows)} would have to be suppressed"
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
    rows = counted(answer.suppressed, "row")
    return f"delta = {delta}: {rows} of {asked.rows:,} {verb} be suppressed"


def _curve(curve: Curve, most: int | None) -> Grid:
    """What each level costs: round ones of k, or those that occur."""
    model = curve.model
    levels: list[float] = [abs(strength) for strength in curve.strengths.tolist()]
    if model.measure == "k" and most is not None:
        levels = [level for level in _ROUND if level <= levels[-1]]
    elif most is not None:
        levels = levels[:: -(-len(levels) // most)]
    lines = []
    for level in levels:
        rows, cells = curve.cost(level), ("not possible", "", "")
        if rows is not None:
            cells = (f"{rows:,}", _delta(rows, curve.table_rows), f"{curve.table_rows - rows:,}")
        lines.append((model.show(level), *cells))
    header = f"{model.symbol} {model.protective}"
    return _grid((header, "rows to suppress", "delta", "rows left"), lines, left=0)


def _additions(added: Sequence[AddedColumn], answer: DiagnosisAnswer) -> Iterator[str]:
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
            lines.append(f"adding {each.column} to {{{listed(each.to)}}} takes {takes}")
    yield from lines[:_ADDED]


# -- all sets --------------------------------------------------------------------------------------


def _border(answer: BorderAnswer, most: int | None) -> Iterator[Part]:
    asked = answer.asked
    if not answer.yes:
        yield "None" if asked.is_protective else "None: all sets are safer than that"
    sides = [("largest safe sets", answer.safe), ("smallest unsafe sets", answer.unsafe)]
    for title, sets in sides if asked.is_protective else reversed(sides):
        if sets:
            yield _rated(f"{title} ({len(sets):,})", sets, answer, most)
            yield from _more(len(sets), most)
    if any(len(each.columns) > 1 for each in answer.unsafe):
        yield "Columns by the smallest unsafe sets they are in:"
        threats = [threat for threat in answer.threats() if threat[2]]
        rows = [(name, f"{number:,}", str(size)) for name, size, number in threats]
        yield _grid(("column", "in so many", "from size"), rows)
    yield _effort(answer, monotone=answer.is_monotone)
    if not answer.is_monotone:
        yield "note: a set within a safe set need not be safe here"


def _rated(title: str, sets: Sequence[RatedSet], answer: BorderAnswer, most: int | None) -> Grid:
    model, width = answer.asked.model, 4 if answer.asked.limit else 3
    rows = [
        (listed(s.columns), str(len(s.columns)), model.show(s.level), f"{s.suppressed:,}")[:width]
        for s in islice(sets, most)
    ]
    return _grid((title, "size", model.symbol, "suppressed")[:width], rows)


def _sets(answer: SetsAnswer, most: int | None) -> Iterator[Part]:
    asked, model = answer.asked, answer.asked.model
    worst = None if most is None or answer.levels is None else _crowd(answer)
    lines: list[tuple[str, ...]] = []
    for columns, level, suppressed in answer.records():
        name, size = listed(columns), str(len(columns))
        if level is None:
            cost = "not possible" if suppressed is None else f"{suppressed:,}"
            delta = _delta(suppressed, asked.rows, upwards=asked.is_protective)
            lines.append((name, size, cost, delta))
        elif level != worst:
            lines.append((name, size, model.show(level)))
    if not answer.yes:
        none = "no set of columns reaches that, whatever is suppressed"
        yield f"None: {none if asked.is_protective else 'all sets are safer than that'}"
    must = "rows to suppress" if asked.is_protective else "rows that can go"
    values = (must, "delta") if answer.levels is None else (model.symbol,)
    if lines:
        yield _grid(("columns", "size", *values), islice(lines, most))
        yield from _more(len(lines), most)
    if worst is not None:
        others = f"The other {counted(len(answer) - len(lines), 'set')}" if lines else "All sets"
        alone = ", someone is alone" if model.measure == "k" and worst == 1 else ""
        same = f"{model.symbol} = {model.show(worst)}{alone}"
        yield f"{others}: {same} (everything=True lists them)"
    yield from _additions(answer.worst_additions(), answer)
    suppressing = answer.levels is None or asked.limit > 0
    yield _effort(answer, monotone=model.is_monotone(suppressing=suppressing))


def _crowd(answer: SetsAnswer) -> float | None:
    """The worst level, where so many sets have it that they would hide the others."""
    assert answer.levels is not None
    levels = answer.levels
    worst: float = (levels.min() if answer.asked.model.sign > 0 else levels.max()).item()
    crowded = (levels == worst).sum() > max(_SHOWN // 2, len(answer) // 3)
    return worst if crowded else None


def _curves(answer: CurvesAnswer, most: int | None) -> Iterator[Part]:
    """Say what some levels cost on each set."""
    curves, model = answer.curves, answer.asked.model
    if model.measure == "k":
        levels: list[float] = [2, 3, 5, 10, 20, 50, 100]
    else:
        steps = sorted({abs(s) for curve in curves for s in curve.strengths.tolist()})
        levels = steps[:: max(1, len(steps) // 7)][:8]
    lines = []
    for mask, curve in islice(zip(answer.masks.tolist(), curves, strict=True), most):
        costs = (_delta(curve.cost(level), answer.asked.rows) for level in levels)
        lines.append((listed(answer.columns_of(mask)), *(c or "not possible" for c in costs)))
    sign = "≥" if model.sign > 0 else "≤"
    yield f"delta for each {model.symbol}:"
    headers = (f"{model.symbol} {sign} {model.show(level)}" for level in levels)
    yield _grid(("columns", *headers), lines)
    yield from _more(len(answer), most)
    yield _effort(answer, monotone=model.is_monotone(suppressing=True))


def _more(number: int, most: int | None) -> Iterator[str]:
    if most is not None and number > most:
        yield f"… and {number - most:,} more (everything=True shows them)"


def _effort(answer: BorderAnswer | SetsAnswer | CurvesAnswer, *, monotone: bool) -> str:
    effort, model = answer.effort, answer.asked.model
    why = ", as a set is never safer than its subsets" if effort.avoided else ""
    if not monotone:
        why = (
            f": with suppression, {model.symbol} by the rule {model.rule} can get better when a "
            "column is added"
        )
    return (
        f"{counted(effort.sets, 'set')} of columns: {effort.grouped:,} grouped, "
        f"{effort.avoided:,} avoided{why}"
    )
