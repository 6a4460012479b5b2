"""The diagnosis centre: a table, and the questions one can ask about it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from moanon.data.column import Column, absent_column, did_you_mean
from moanon.data.source import Source, read_source
from moanon.data.table import Table
from moanon.diagnosis import lattice
from moanon.diagnosis.answers import Answer, Step, SubsetAnswer
from moanon.diagnosis.asked import Asked
from moanon.diagnosis.curves import Curve, Levels
from moanon.diagnosis.models import ANONYMITY, RULES, Form, Model
from moanon.diagnosis.questions import choose_question
from moanon.diagnosis.risk import Risk
from moanon.diagnosis.sheet import Refiner, Sheet
from moanon.diagnosis.walk import Progress
from moanon.errors import DataError, QuestionError
from moanon.measures.suppression import row_limit

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MAX_COLUMNS", "Diagnosis"]

#: Sets of columns are bit masks of one machine word.
MAX_COLUMNS = 62


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """A table under examination, values as they were read.

    Attributes
    ----------
    source : str
        What was read.
    columns : tuple of str
        The columns that sets are made of (the papers' R).
    sensitive : tuple of str
        The sensitive columns; none of them is in a set.
    missing : mapping of str to int
        Rows without a value, for each of these columns that has any. A missing value is a value of
        its own here; no row is dropped.
    sheet : Sheet
        The distinct rows.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": ["30", "30", "40", "40"], "sex": ["f", "f", "f", "m"]})
    >>> diagnosis = Diagnosis.read(table)
    >>> answer = diagnosis.ask(level=2)
    >>> answer.asked.question.number, [each.columns for each in answer.safe]
    (3, [('age',)])
    """

    source: str
    columns: tuple[str, ...]
    sensitive: tuple[str, ...]
    missing: Mapping[str, int]
    sheet: Sheet

    # -- reading ---------------------------------------------------------------------------------

    @classmethod
    def read(
        cls,
        source: str | os.PathLike[str] | pd.DataFrame,
        columns: Sequence[str] | None = None,
        sensitive: Sequence[str] = (),
        *,
        missing_tokens: Sequence[str] = ("",),
        delimiter: str | None = None,
    ) -> Diagnosis:
        """Read a file, a folder, a glob or a frame; see :func:`moanon.data.source.read_source`.

        Parameters
        ----------
        source
            The table; a released one will do as well, its labels are values like any other.
        columns
            The columns that sets are made of; by default all that are not sensitive.
        sensitive
            Columns whose values must not be learnt, for questions about ℓ and t.
        missing_tokens, delimiter
            As for `read_source`.
        """
        wanted = None if columns is None else tuple(dict.fromkeys((*columns, *sensitive)))
        read = read_source(
            source, missing_tokens=missing_tokens, delimiter=delimiter, columns=wanted
        )
        return cls.of(read, columns, sensitive)

    @classmethod
    def of(
        cls,
        table: Source | Table,
        columns: Sequence[str] | None = None,
        sensitive: Sequence[str] | None = None,
    ) -> Diagnosis:
        """Examine what was read already; of a `Table` by default its quasi-identifiers."""
        if isinstance(table, Table):
            name, present = table.source, dict(table.columns)
            columns = table.quasi if columns is None else columns
            sensitive = table.sensitive if sensitive is None else sensitive
        else:
            name, present = table.name, {column.name: column for column in table.columns}
        hidden = tuple(sensitive or ())
        chosen = tuple(present) if columns is None else tuple(columns)
        _refuse_twice("columns", chosen)
        _refuse_twice("sensitive", hidden)
        for column in (*chosen, *hidden):
            if column not in present:
                raise absent_column(name, column, present)
        if columns is None:
            chosen = tuple(column for column in chosen if column not in hidden)
        for column in hidden:
            if column in chosen:
                raise QuestionError(
                    f"column {column!r} is sensitive and cannot be one of the columns that people "
                    "are recognized by"
                )
        if not chosen:
            raise QuestionError(f"{name} has no column left to examine")
        if len(chosen) > MAX_COLUMNS:
            raise QuestionError(
                f"at most {MAX_COLUMNS} columns can be examined together. Got {len(chosen)} of "
                f"{name}; name those that others may know"
            )
        return cls._build(name, [present[c] for c in chosen], [present[c] for c in hidden])

    @classmethod
    def _build(cls, name: str, columns: Sequence[Column], sensitive: Sequence[Column]) -> Diagnosis:
        if not len(columns[0].codes):
            raise DataError(f"{name} has no rows")
        return cls(
            name,
            tuple(column.name for column in columns),
            tuple(column.name for column in sensitive),
            {c.name: c.missing for c in (*columns, *sensitive) if c.missing},
            Sheet.build(columns, sensitive),
        )

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return self.sheet.rows

    # -- the twelve questions --------------------------------------------------------------------

    def ask(
        self,
        *,
        subset: Iterable[str] | None = None,
        level: float | None = None,
        delta: float | Literal["ask"] | None = None,
        form: Form | None = None,
        model: Model = ANONYMITY,
        question: int | None = None,
        largest: int | None = None,
        progress: Progress | None = None,
    ) -> Answer:
        """Answer the question that goes with what is given and what is left out (Z §4.1).

        Parameters
        ----------
        subset : iterable of str, optional
            The set of columns; left out, it is asked for.
        level : float, optional
            k, ℓ or t; left out, it is asked for.
        delta : float or "ask", optional
            Largest share of rows that may be suppressed, in [0, 1); ``"ask"`` where it is asked
            for; left out, nothing is suppressed.
        form : {"at least", "at most"}, optional
            How `level` is meant; by default as a protection: k and ℓ at least, t at most.
        model : Model
            What a level is; k-anonymity by default.
        question : int, optional
            1 to 12: what is given must then fit.
        largest : int, optional
            Look at sets of at most so many columns; by default at all.
        progress : callable, optional
            Called with the number of settled sets and of all sets.

        Returns
        -------
        SubsetAnswer, BorderAnswer, SetsAnswer or CurvesAnswer
            See :mod:`moanon.diagnosis.answers`.

        Raises
        ------
        QuestionError
            If what is given is impossible or contradictory.
        """
        asked = self._asked(subset, level, delta, form, model, question, largest)
        if asked.subset is not None:
            return SubsetAnswer(asked, self.curve(asked.subset, model))
        number = asked.question.number
        if number in (3, 7):
            return lattice.find_border(self.sheet, asked, progress)
        if number == 12:
            return lattice.draw_curves(self.sheet, asked, progress)
        return lattice.rate_sets(self.sheet, asked, progress)

    def _asked(
        self,
        subset: Iterable[str] | None,
        level: float | None,
        delta: float | Literal["ask"] | None,
        form: Form | None,
        model: Model,
        question: int | None,
        largest: int | None,
    ) -> Asked:
        chosen = None if subset is None else self._checked_subset(subset)
        wanted = None if level is None else model.check_level(level)
        share = None if delta is None or delta == "ask" else _checked_share(delta)
        if form not in (None, "at least", "at most"):
            raise QuestionError(f"form must be 'at least' or 'at most'. Got {form!r}")
        if form is not None and level is None:
            raise QuestionError(f"{form} needs a level to go with: give {model.measure}")
        if largest is not None and (largest < 1 or chosen is not None):
            raise QuestionError(
                f"the largest size of sets must be at least 1. Got {largest}"
                if largest < 1
                else "the largest size of sets has no place where the subset is given"
            )
        return Asked(
            question=choose_question(
                level=level, subset=chosen, delta=delta, number=question, measure=model.measure
            ),
            model=model,
            form=form or model.protective,
            rows=self.rows,
            columns=self.columns,
            sensitive=self.sensitive if model.measure != "k" else (),
            level=wanted,
            subset=chosen,
            delta=share,
            limit=0 if share is None else row_limit(share, self.rows),
            largest=min(largest or len(self.columns), len(self.columns)),
        )

    def _checked_subset(self, subset: Iterable[str]) -> tuple[str, ...]:
        if isinstance(subset, str):
            raise QuestionError(f"subset must be a list of columns. Got the text {subset!r}")
        chosen = tuple(subset)
        if not chosen:
            raise QuestionError("subset must name at least one column")
        _refuse_twice("subset", chosen)
        for name in chosen:
            if name in self.sensitive:
                raise QuestionError(f"column {name!r} is sensitive and cannot be in the subset")
            if name not in self.columns:
                raise QuestionError(
                    f"subset names {name!r}, which is not among the columns examined of "
                    f"{self.source}{did_you_mean(name, self.columns)}"
                )
        return tuple(name for name in self.columns if name in chosen)

    # -- one set, looked at closely --------------------------------------------------------------

    def curve(self, subset: Iterable[str], model: Model = ANONYMITY) -> Curve:
        """Return the curve of a set of columns."""
        chosen = self._checked_subset(subset)
        return Refiner(self.sheet, model, len(chosen)).curve(self.sheet.mask(chosen))

    def risk(self, subset: Iterable[str]) -> Risk:
        """How easily people are recognized by a set of columns."""
        return Risk.of(self.curve(subset))

    def row_levels(self, subset: Iterable[str], model: Model = ANONYMITY) -> Levels:
        """Level of each row's group: with k its size, one over which is the row's risk."""
        strengths = self.sheet.row_strengths(self.sheet.mask(self._checked_subset(subset)), model)
        return strengths if model.sign > 0 else np.abs(strengths)

    def rows_in_the_way(
        self, subset: Iterable[str], level: float, model: Model = ANONYMITY
    ) -> npt.NDArray[np.int64]:
        """Rows, counted from 0, that must be suppressed for a level; none for l = 0."""
        if level != 0 or model.measure == "t":  # a group can have l = 0, so an answer can be 0
            level = model.check_level(level)
        wanted = min(level, self.rows + 1) * model.sign
        mask = self.sheet.mask(self._checked_subset(subset))
        return np.flatnonzero(self.sheet.row_strengths(mask, model) < wanted)

    def additions(
        self, subset: Iterable[str], *, delta: float = 0.0, model: Model = ANONYMITY
    ) -> tuple[Step, ...]:
        """What each further column does to a set, most dangerous first.

        With k, of columns that lead to the same k the one that leaves most rows alone comes first.
        """
        chosen = self._checked_subset(subset)
        limit = row_limit(_checked_share(delta), self.rows)
        refiner = Refiner(self.sheet, model, len(chosen) + 1)
        mask = self.sheet.mask(chosen)
        without = refiner.curve(mask)
        before, alone = without.within(limit)[0], _alone(without)
        steps = []
        for name in self.columns:
            if name not in chosen:
                curve = refiner.curve(mask | self.sheet.mask([name]))
                both = (alone, _alone(curve)) if model.measure == "k" else None
                steps.append(Step(name, chosen, before, curve.within(limit)[0], both))
        steps.sort(key=lambda step: (step.after * model.sign, -step.alone[1] if step.alone else 0))
        return tuple(steps)

    def profile(self, subset: Iterable[str], *, c: float = Model.c) -> dict[str, float]:
        """Level of a set by every rule that its sensitive columns allow; k always.

        Parameters
        ----------
        subset : iterable of str
        c : float
            Constant of the rule ``recursive``.
        """
        chosen = tuple(subset)
        levels: dict[str, float] = {"k": self.curve(chosen).level}
        if self.sensitive:
            for rule, (measure, _, _) in RULES.items():
                if rule != "tree":
                    model = Model(measure, rule, c)
                    try:
                        level = self.curve(chosen, model).level
                    except QuestionError:  # no order among the values
                        continue
                    levels[f"{measure}_{rule}"] = level
        return levels


def _alone(curve: Curve) -> int:
    """Rows in groups of one, where the curve is one of k."""
    return int(curve.rows[0]) if curve.strengths[0] == 1 else 0


def _refuse_twice(what: str, names: Sequence[str]) -> None:
    for at, name in enumerate(names):
        if name in names[:at]:
            raise QuestionError(f"{what} names {name!r} twice")


def _checked_share(delta: float) -> float:
    if isinstance(delta, bool) or not isinstance(delta, (int, float)) or not 0 <= delta < 1:
        raise QuestionError(f"delta must be in [0, 1). Got {delta}")
    return float(delta)
