"""The twelve questions of the diagnosis centre (Z §4.1), and one of them as it was asked.

They are every way to fix or to ask for three things: a level k, a set of columns S, and the share δ
of rows that may be suppressed. So what is given and what is left out selects the question.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from moanon.diagnosis.privacy_model import Form, PrivacyModel
from moanon.errors import QuestionError

#: Nothing is suppressed; at most a given share is; or the share is what is asked for.
Suppressing = Literal["none", "given", "asked"]


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
        raise QuestionError(f"question must be one of 1 to 12. Got {number}")
    has_level, has_subset, known = QUESTIONS[number]
    for name, given, needed in ((measure, has[0], has_level), ("subset", has[1], has_subset)):
        if needed and not given:
            raise QuestionError(f"question {number} needs {name}")
        if given and not needed:
            raise QuestionError(f"question {number} asks for {name}; leave it out")
    if known == "given" and suppressing != "given":
        raise QuestionError(f"question {number} needs delta, the share that may be suppressed")
    if known == "none" and suppressing != "none":
        raise QuestionError(f"question {number} suppresses nothing; leave delta out")
    if known == "asked" and suppressing == "given":
        raise QuestionError(f"question {number} asks for delta; leave it out")
    return number


def listed(names: Iterable[str]) -> str:
    """Write names as a list; one with a comma goes in quotes, as it does on the command line."""
    return ", ".join(f'"{name}"' if "," in name else name for name in names)


@dataclass(frozen=True)
class DiagnosisQuestion:
    """A question as it was asked, with everything that belongs to it.

    Attributes
    ----------
    number : int
        Which of the twelve; 1 to 12, as in Z.
    model, form, level, subset, delta
        As for `Diagnosis.ask`; None where they are asked for or not given.
    rows : int
        Rows of the table.
    columns, sensitive : tuple of str
        The columns that sets are made of, and the sensitive ones.
    limit : int
        `delta` in rows; 0 where nothing may be suppressed.
    largest : int
        Largest size of the sets that were looked at.
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
