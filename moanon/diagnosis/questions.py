"""What can be asked about a table: the twelve questions (Z §4.1), about k, ℓ or t.

A group of rows has a *level* of a privacy model (`PrivacyModel`): k, ℓ by a rule, or t by a
distance. A table is as good as its worst group, and suppressing the worst groups makes it better.
So every question about k can be asked about the others once a sensitive column is named. What is
true of them as measures stands at their definitions in `moanon.measures`, and is looked up there.

The questions are every way to fix or to ask for three things: a level, a set of columns S, and the
share δ of rows that may be suppressed. So what is given and what is left out selects the question
(`choose_question`, `DiagnosisQuestion`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from moanon.arrays import Floats
from moanon.data.column import did_you_mean
from moanon.data.hierarchy import Hierarchy
from moanon.errors import ConfigError, got
from moanon.kernels.histograms import Distance
from moanon.measures import MEASURES, Measure
from moanon.measures.measure import is_number

#: Nothing is suppressed; at most a given share is; or the share is what is asked for.
Suppressing = Literal["none", "given", "asked"]
Letter = Literal["k", "l", "t"]
Form = Literal["at least", "at most"]

#: How a letter is written, what a table is called by it, and the rule that goes without saying.
_SYMBOL: dict[Letter, str] = {"k": "k", "l": "ℓ", "t": "t"}
_WORD: dict[Letter, str] = {"k": "anonymous", "l": "diverse", "t": "close"}
_USUAL_RULE: dict[Letter, str] = {"k": "", "l": "distinct", "t": "equal"}

#: Constants of recursive diversity are kept small enough for exact products of integers.
_C_DIGITS = 10**6
#: Levels that come from logarithms are rounded to so many decimals.
_DECIMALS = 12
#: Larger levels cannot be drawn; to most that are smaller, too, the answer is no.
_MOST = 1e100


def rule_measures() -> dict[str, Measure]:
    """Return each rule of ℓ and each distance of t, with the measure that it stands for.

    They are the measures that every group has a value of, named ``l_rule`` and ``t_rule``; each
    ground distance of `t_closeness` is a rule of its own.
    """
    rules: dict[str, Measure] = {}
    for name, measure in MEASURES.items():
        letter, _, rule = name.partition("_")
        if letter in ("l", "t") and rule and measure.group:
            rules |= dict.fromkeys(get_args(Distance) if rule == "closeness" else [rule], measure)
    return rules


def choose_rule(letter: Letter | None, rule: str | None) -> tuple[Letter, str]:
    """Fill in what was left out: a rule belongs to one letter, and a letter has a usual rule.

    >>> choose_rule(None, None), choose_rule("l", None), choose_rule(None, "js")
    (('k', ''), ('l', 'distinct'), ('t', 'js'))
    """
    if rule is None:
        letter = letter or "k"
        return letter, _USUAL_RULE[letter]
    rules = rule_measures()
    if rule not in rules:
        hint = did_you_mean(rule, rules)
        raise ConfigError(f"rule must be one of {', '.join(rules)}. Got {rule!r}{hint}")
    owner: Letter = "l" if rules[rule].name.startswith("l") else "t"
    if letter not in (None, owner):
        raise ConfigError(f"the rule {rule} is one of {owner}, and the question is about {letter}")
    return owner, rule


@dataclass(frozen=True)
class PrivacyModel:
    """A privacy model: which number of a group is meant.

    Parameters
    ----------
    measure : {"k", "l", "t"}
        ``k``: rows in the group (D def. 3). ``l``: diversity of its sensitive values (D §4.2).
        ``t``: distance of its sensitive values from those of the whole table (t-closeness). With
        several sensitive columns the worst counts.
    rule : str
        ``l``: ``distinct`` (number of values), ``frequency`` (floor of size over the largest count,
        D def. 4), ``entropy`` (exp of the entropy) or ``recursive`` (largest ℓ with
        ``r1 < c (r_ℓ + … + r_m)``, a sum). ``t``: earth mover's distance with ``equal``,
        ``ordered`` or ``tree`` ground distance, or ``js`` (Jensen-Shannon, natural logarithm).
    c : float
        Constant of the rule ``recursive``.
    hierarchy : Hierarchy, optional
        Tree of the rule ``tree``.

    Notes
    -----
    With t the table's own distribution is that of all rows, before any suppression: what a group
    reveals then does not depend on which other groups are suppressed.

    A set of columns never has a better level than its subsets. For k and distinct values this holds
    row by row, so it holds with suppression too. For all other rules it holds for the worst group
    only: splitting a bad group can leave a good part that need not be suppressed, and a *larger*
    set can then do with less suppression. So `is_monotone` depends on whether rows may be
    suppressed.
    """

    measure: Letter = "k"
    rule: str = ""
    c: float = 3.0
    hierarchy: Hierarchy | None = None

    def __post_init__(self) -> None:
        """Refuse what means nothing, before it is taken for something else."""
        if self.measure == "k":
            if self.rule:
                raise ConfigError(f"k has no rules. Got {self.rule!r}")
            return
        known = [rule for rule, m in rule_measures().items() if m.name[0] == self.measure]
        if not known:
            raise ConfigError(f"measure must be one of k, l, t. Got {self.measure!r}")
        if self.rule not in known:
            raise ConfigError(
                f"the rule of {self.measure} must be one of {', '.join(known)}. Got {self.rule!r}"
            )
        if (self.rule == "tree") != (self.hierarchy is not None):
            raise ConfigError("the rule tree, and no other, needs a hierarchy")
        self.c_fraction  # noqa: B018 (checked here)

    @cached_property
    def registered(self) -> Measure:
        """The measure of the package that the level of a table is."""
        return rule_measures()[self.rule] if self.rule else MEASURES["k"]

    @cached_property
    def sign(self) -> int:
        """1 where a higher level is safer, -1 where a lower one is."""
        return 1 if self.registered.higher_is_better else -1

    @cached_property
    def is_whole(self) -> bool:
        """Whether levels are whole numbers."""
        return self.registered.range.whole

    @property
    def symbol(self) -> str:
        """The letter of the papers."""
        return _SYMBOL[self.measure]

    @property
    def protective(self) -> Form:
        """The form of a question whose answer yes means safety."""
        return "at least" if self.sign == 1 else "at most"

    @property
    def c_fraction(self) -> Fraction:
        """The constant of recursive diversity, exactly as written."""
        try:
            exact = Fraction(repr(float(self.c)))
        except (ValueError, OverflowError):  # not a number, infinite
            exact = Fraction(0)
        if not (0 < exact <= 1000 and _C_DIGITS % exact.denominator == 0):
            raise ConfigError(
                f"c must be a number above 0 and up to 1000, with at most six decimals. "
                f"Got {self.c}"
            )
        return exact

    def strengths(self, goodness: Floats) -> Floats:
        """Turn what kernels measure of groups into levels, with a minus sign where lower is safer.

        The two rules with logarithms are rounded: two values of equal share must have an entropy
        diversity of 2, not of 1.9999999999999998, and groups of equal shares the same distance.
        """
        if self.rule not in ("entropy", "js"):
            return goodness
        strengths: Floats = np.exp(goodness) if self.rule == "entropy" else goodness
        return strengths.round(_DECIMALS)

    def is_monotone(self, *, suppressing: bool) -> bool:
        """Whether a set of columns can never be better than its subsets."""
        return not suppressing or self.measure == "k" or self.rule == "distinct"

    def check_level(self, level: float) -> float:
        """Return a level that can be asked for, or say what is wrong with it."""
        name = self.measure
        if not is_number(level, _MOST):
            raise ConfigError(f"{name} must be a number, at most {_MOST:g}. Got {got(level)}")
        if name == "t" and not 0 <= level <= 1:
            raise ConfigError(f"t must be in [0, 1]. Got {level}")
        if name != "t" and level < 1:
            raise ConfigError(f"{name} must be at least 1. Got {level}")
        if self.is_whole and level != int(level):
            raise ConfigError(f"{name} must be a whole number here. Got {level}")
        return int(level) if self.is_whole else float(level)

    def show(self, level: float) -> str:
        """Write a level for people; rounded so that nobody takes the table for safer than it is."""
        if self.is_whole:
            return f"{int(level):,}"
        thousandths = level * 1000
        rounded = math.ceil(thousandths - 1e-9) if self.sign < 0 else math.floor(thousandths + 1e-9)
        return f"{rounded / 1000:.3f}"

    def phrase(self, level: float | None, form: Form) -> str:
        """Say what a table is asked to be: at least 3-anonymous, 0.2-close."""
        word = _WORD[self.measure]
        if level is None:
            return f"{self.symbol}-{word}"
        shown = f"{level:,}" if self.is_whole else f"{level:.10g}"
        if self.measure != "t":
            return f"{form} {shown}-{word}"
        return f"{shown}-{word}" if form == self.protective else f"no closer than {shown}"


#: k-anonymity, which all questions are about unless another model is named.
ANONYMITY = PrivacyModel()


# -- the twelve questions --------------------------------------------------------------------------

#: The twelve by their numbers in Z: whether the level is given, whether the set of columns is
#: (otherwise they are asked for), and what is known about suppression.
QUESTIONS: dict[int, tuple[bool, bool, Suppressing]] = {
    1: (True, True, "none"),
    2: (False, True, "none"),
    3: (True, False, "none"),
    4: (False, False, "none"),
    5: (True, True, "given"),
    6: (False, True, "given"),
    7: (True, False, "given"),
    8: (False, False, "given"),
    9: (True, True, "asked"),
    10: (True, False, "asked"),
    11: (False, True, "asked"),
    12: (False, False, "asked"),
}


def choose_question(
    level: float | None,
    subset: tuple[str, ...] | None,
    delta: float | Literal["ask"] | None,
    number: int | None = None,
    measure: str = "k",
) -> int:
    """Find the number of the question that goes with what is given, or check the one named.

    A level and a set that are None are asked for. Where the question that was named asks for δ,
    `delta` may be left out. `measure` is what the level is called in an error.

    Examples
    --------
    >>> choose_question(3, ("age",), None), choose_question(3, None, 0.1)
    (1, 7)
    >>> choose_question(None, ("age",), "ask")
    11
    """
    suppressing: Suppressing = "none" if delta is None else "asked" if delta == "ask" else "given"
    has = (level is not None, subset is not None, suppressing)
    if number is None:
        return next(number for number, needed in QUESTIONS.items() if needed == has)
    if number not in QUESTIONS:
        raise ConfigError(f"question must be one of 1 to 12. Got {number}")
    has_level, has_subset, known = QUESTIONS[number]
    for name, given, needed in ((measure, has[0], has_level), ("subset", has[1], has_subset)):
        if needed and not given:
            raise ConfigError(f"question {number} needs {name}")
        if given and not needed:
            raise ConfigError(f"question {number} asks for {name}; leave it out")
    if known == "given" and suppressing != "given":
        raise ConfigError(f"question {number} needs delta, the share that may be suppressed")
    if known == "none" and suppressing != "none":
        raise ConfigError(f"question {number} suppresses nothing; leave delta out")
    if known == "asked" and suppressing == "given":
        raise ConfigError(f"question {number} asks for delta; leave it out")
    return number


def listed(names: Iterable[str]) -> str:
    """Write names as a list; one with a comma goes in quotes, as it does on the command line."""
    return ", ".join(f'"{name}"' if "," in name else name for name in names)


@dataclass(frozen=True)
class DiagnosisQuestion:
    """A question as it was asked, with everything that belongs to it.

    `number` is one of the twelve, as in Z; `level`, `subset` and `delta` are None where they are
    asked for or not given. `limit` is `delta` in rows, 0 where nothing may be suppressed;
    `largest` the largest size of the sets that were looked at.
    """

    number: int
    model: PrivacyModel
    form: Form
    rows: int
    columns: tuple[str, ...]
    sensitive: tuple[str, ...]
    level: float | None
    subset: tuple[str, ...] | None
    delta: float | None
    limit: int
    largest: int

    @property
    def is_protective(self) -> bool:
        """Whether the level is one to be reached, not one to stay below."""
        return self.form == self.model.protective

    @property
    def asks_delta(self) -> bool:
        """Whether the share of rows to suppress is what is asked for."""
        return QUESTIONS[self.number][2] == "asked"

    def words(self) -> str:
        """Say the question."""
        model = self.model
        phrase = model.phrase(self.level, self.form)
        if self.subset is not None:
            where = f"on {listed(self.subset)}"
        elif self.largest < len(self.columns):
            where = f"on each set of at most {self.largest} of the {len(self.columns)} columns"
        else:
            where = "on each set of columns"
        by = ""
        if model.measure != "k":
            constant = f" with c = {model.c:g}" if model.rule == "recursive" else ""
            by = f" ({model.symbol} of {listed(self.sensitive)}, rule {model.rule}{constant})"
        if self.asks_delta:
            if self.level is None:
                return f"What does each {model.symbol} cost in suppressed rows {where}{by}?"
            if self.is_protective:
                return f"How many rows must be suppressed to be {phrase} {where}{by}?"
            return f"How many rows can be suppressed and the table still be {phrase} {where}{by}?"
        after = ""
        if self.delta is not None:
            share = f"{self.delta:.10g} of its rows ({self.limit:,} of {self.rows:,})"
            after = f" after suppressing at most {share}"
        if self.level is None:
            return f"For which {model.symbol} is the table {phrase} {where}{after}{by}?"
        if self.subset is not None:
            return f"Is the table {phrase} {where}{after}{by}?"
        kind = "largest" if self.is_protective else "smallest"
        bound = where.removeprefix("on each set").removeprefix(" of columns")
        return f"On which {kind} sets of columns{bound} is the table {phrase}{after}{by}?"

    def to_dict(self) -> dict[str, Any]:
        """Return the question as plain values."""
        return {
            "question": self.number,
            "asked": self.words(),
            "measure": self.model.measure,
            "rule": self.model.rule or None,
            "form": self.form if self.level is not None else None,
            "level": self.level,
            "subset": None if self.subset is None else list(self.subset),
            "delta": self.delta,
            "limit_rows": self.limit if self.delta is not None else None,
            "rows": self.rows,
            "columns": list(self.columns),
            "sensitive": list(self.sensitive),
            "largest": self.largest if self.subset is None else None,
        }
