"""A question with all that belongs to it, in words and as plain values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from moanon.diagnosis.models import Form, Model
from moanon.diagnosis.questions import Question

__all__ = ["Asked", "listed"]


def listed(names: Iterable[str]) -> str:
    """Write names as a list; one with a comma goes in quotes, as it does on the command line."""
    return ", ".join(f'"{name}"' if "," in name else name for name in names)


@dataclass(frozen=True)
class Asked:
    """A question with everything that belongs to it.

    Attributes
    ----------
    question : Question
        Which of the twelve.
    model : Model
        What a level is.
    form : {"at least", "at most"}
        How the level is meant, where one is given.
    rows : int
        Rows of the table.
    columns : tuple of str
        The columns that sets are made of.
    sensitive : tuple of str
        The sensitive columns.
    level : float, optional
        The level, where it is given.
    subset : tuple of str, optional
        The set of columns, where it is given.
    delta : float, optional
        Share of rows that may be suppressed, where it is given.
    limit : int
        The same in rows; 0 where nothing may be.
    largest : int
        Largest size of the sets that were looked at.
    """

    question: Question
    model: Model
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

    def words(self) -> str:
        """Say the question."""
        model, question = self.model, self.question
        phrase = model.phrase(self.level, self.form)
        if self.subset is not None:
            where = f"on {listed(self.subset)}"
        elif self.largest < len(self.columns):
            where = f"on each set of at most {self.largest} of the {len(self.columns)} columns"
        else:
            where = "on each set of columns"
        by = f" ({self._rule_words()})" if model.measure != "k" else ""
        if question.suppressing == "asked":
            if self.level is None:
                return f"What does each {model.symbol} cost in suppressed rows {where}{by}?"
            if self.is_protective:
                return f"How many rows must be suppressed to be {phrase} {where}{by}?"
            return f"How many rows can be suppressed and the table still be {phrase} {where}{by}?"
        after = "" if self.delta is None else f" after suppressing at most {self._share()}"
        if self.level is None:
            return f"For which {model.symbol} is the table {phrase} {where}{after}{by}?"
        if self.subset is not None:
            return f"Is the table {phrase} {where}{after}{by}?"
        kind = "largest" if self.is_protective else "smallest"
        bound = where.removeprefix("on each set").removeprefix(" of columns")
        return f"On which {kind} sets of columns{bound} is the table {phrase}{after}{by}?"

    def _share(self) -> str:
        return f"{self.delta:.10g} of its rows ({self.limit:,} of {self.rows:,})"

    def _rule_words(self) -> str:
        model = self.model
        constant = f" with c = {model.c:g}" if model.rule == "recursive" else ""
        return f"{model.symbol} of {listed(self.sensitive)}, rule {model.rule}{constant}"

    def to_dict(self) -> dict[str, Any]:
        """Return the question as plain values."""
        return {
            "question": self.question.number,
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
