"""The diagnosis centre: a table, and the questions one can ask about it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from moanon import datasets
from moanon.arrays import Ints, Outlined
from moanon.data.cell_reading import FileForm, FormKeys
from moanon.data.cells import check_rows
from moanon.data.column import absent_column, did_you_mean
from moanon.data.table import Table, is_address, likely_form
from moanon.diagnosis.column_groups import DistinctRows
from moanon.diagnosis.column_sets import SetsProgress, draw_curves, find_border, rate_sets
from moanon.diagnosis.diagnosis_answers import (
    AddedColumn,
    Curve,
    DiagnosisAnswer,
    Levels,
    ReidentificationRisk,
    SubsetAnswer,
)
from moanon.diagnosis.questions import (
    ANONYMITY,
    DiagnosisQuestion,
    Form,
    PrivacyModel,
    choose_question,
    choose_rule,
    rule_measures,
)
from moanon.engines import Source, open_source
from moanon.errors import ConfigError, DataError
from moanon.measures.suppression import row_limit

if TYPE_CHECKING:
    import pandas as pd

#: Sets of columns are bit masks of one machine word.
MAX_COLUMNS = 62


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Outlined):
    """A table under examination, values as they were read.

    Sets are made of `columns` (the papers' R); no `sensitive` column is in one. `missing` counts
    the rows without a value for each column that has any: a missing value is a value of its own
    here, no row is dropped. `notes` say what should be known about the table besides.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": ["30", "30", "40", "40"], "sex": ["f", "f", "f", "m"]})
    >>> diagnosis = Diagnosis.read(table)
    >>> answer = diagnosis.ask(level=2)
    >>> answer.asked.number, [each.columns for each in answer.safe]
    (3, [('age',)])
    """

    source: str
    columns: tuple[str, ...]
    sensitive: tuple[str, ...]
    missing: Mapping[str, int]
    table: DistinctRows
    files: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()

    # -- reading ---------------------------------------------------------------------------------

    @classmethod
    def read(
        cls,
        source: str | os.PathLike[str] | pd.DataFrame,
        columns: Sequence[str] | None = None,
        sensitive: Sequence[str] = (),
        *,
        also: Sequence[str] = (),
        missing_tokens: Sequence[str] | None = None,
        delimiter: str | None = None,
    ) -> Diagnosis:
        """Read a table, the table of a configuration (YAML), or an embedded one.

        Parameters
        ----------
        source
            A file, a folder, a glob or a frame (see :func:`moanon.engines.open_source`), a
            configuration, or the name of an embedded table. A released table will do as well, its
            labels are values like any other.
        columns
            The columns that sets are made of; by default all that are not sensitive, or the
            quasi-identifiers of a configuration.
        sensitive
            Columns whose values must not be learnt, for questions about ℓ and t; by default those
            of a configuration.
        also
            Columns that must be in the source too, such as those of a set to be asked about.
        missing_tokens, delimiter
            As for `open_source`; where given, they win over those of a configuration. How else a
            file is written is found out, and noted where it is unusual.
        """
        if isinstance(source, (str, os.PathLike)):
            path = os.fspath(source)
            if path.lower().endswith((".yaml", ".yml")):
                return cls._of_config(path, columns, sensitive, also, missing_tokens, delimiter)
        wanted = None if columns is None else (*columns, *sensitive, *also)
        tokens = ("",) if missing_tokens is None else missing_tokens
        form: FormKeys = {} if delimiter is None else {"delimiter": delimiter}
        if isinstance(source, (str, os.PathLike)) and not (
            source in datasets.names() or is_address(os.fspath(source))
        ):
            form = likely_form(source, **form)
        found = cls.of(_read(source, wanted, tokens, form), columns, sensitive)
        return replace(found, notes=(*_how_read(form), *found.notes))

    @classmethod
    def _of_config(
        cls,
        file: str,
        columns: Sequence[str] | None,
        sensitive: Sequence[str],
        also: Sequence[str],
        missing_tokens: Sequence[str] | None,
        delimiter: str | None,
    ) -> Diagnosis:
        from moanon.config import Config  # here, because a table need not wait for it

        config = Config.load(file)
        quasi, own = (
            tuple(name for name, role in config.roles.items() if role == wanted)
            for wanted in ("quasi", "sensitive")
        )
        notes = [] if columns is None else _named_though_sensitive(file, own, columns, sensitive)
        chosen, hidden = quasi if columns is None else columns, sensitive or own
        data = config.data
        required = (*quasi, *own) if data.missing != "category" else ()
        wanted = (*chosen, *required, *hidden, *also)
        tokens = data.missing_tokens if missing_tokens is None else missing_tokens
        form = config.form
        if delimiter is not None:
            form["delimiter"] = delimiter
        read = _read(
            data.source,
            wanted,
            tokens,
            form,
            data.memory,
            data.table,
            data.query,
        )
        found = cls.of(read, chosen, hidden)
        return replace(
            found,
            files=(*found.files, Path(file).resolve()),
            notes=(*notes, *found.notes, *_not_anonymized(read, required, data.missing)),
        )

    @classmethod
    def of(
        cls,
        table: Source | Table,
        columns: Sequence[str] | None = None,
        sensitive: Sequence[str] | None = None,
    ) -> Diagnosis:
        """Examine what was read already; of a `Table` by default its quasi-identifiers."""
        if isinstance(table, Table):
            name, store = table.source, table.store
            columns = table.quasi if columns is None else columns
            sensitive = table.sensitive if sensitive is None else sensitive
        else:
            name, store = table.name, table.store
        present = store.columns
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
                raise ConfigError(
                    f"column {column!r} is sensitive and cannot be one of the columns that people "
                    "are recognized by"
                )
        if not chosen:
            raise ConfigError(f"{name} has no column left to examine")
        if len(chosen) > MAX_COLUMNS:
            raise ConfigError(
                f"at most {MAX_COLUMNS} columns can be examined together. Got {len(chosen)} of "
                f"{name}; name those that others may know"
            )
        if not store.rows:
            raise DataError(f"{name} has no rows")
        check_rows(name, store.rows)
        missing = {c: present[c].missing for c in (*chosen, *hidden) if present[c].missing}
        distinct = DistinctRows.count(store, chosen, hidden)
        files = () if isinstance(table, Table) else table.files
        return cls(name, chosen, hidden, missing, distinct, files, tuple(_gaps(missing)))

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return self.table.rows

    # -- the twelve questions --------------------------------------------------------------------

    def ask(
        self,
        *,
        subset: Iterable[str] | None = None,
        level: float | None = None,
        delta: float | Literal["ask"] | None = None,
        form: Form | None = None,
        model: PrivacyModel = ANONYMITY,
        question: int | None = None,
        largest: int | None = None,
        progress: SetsProgress | None = None,
    ) -> DiagnosisAnswer:
        """Answer the question that goes with what is given and what is left out (Z §4.1).

        Parameters
        ----------
        subset, level
            The set of columns, and k, ℓ or t; what is left out is asked for.
        delta
            Largest share of rows that may be suppressed, in [0, 1); ``"ask"`` where it is asked
            for; left out, nothing is suppressed.
        form
            How `level` is meant; by default as a protection: k and ℓ at least, t at most.
        model
            What a level is; k-anonymity by default.
        question
            1 to 12: what is given must then fit.
        largest
            Look at sets of at most so many columns; by default at all.
        progress
            Called with the number of decided sets and of all sets.

        Raises
        ------
        ConfigError
            If what is given is impossible or contradictory.
        """
        chosen = None if subset is None else self._checked_subset(subset)
        wanted = None if level is None else model.check_level(level)
        share = None if delta is None or delta == "ask" else _checked_share(delta)
        _check_form(form, level, model)
        _check_largest(largest, chosen)
        asked = DiagnosisQuestion(
            number=choose_question(level, chosen, delta, question, model.measure),
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
        if chosen is not None:
            return SubsetAnswer(asked, self.curve(chosen, model))
        if asked.number in (3, 7):
            return find_border(self.table, asked, progress)
        if asked.number == 12:
            return draw_curves(self.table, asked, progress)
        return rate_sets(self.table, asked, progress)

    def _checked_subset(self, subset: Iterable[str]) -> tuple[str, ...]:
        if isinstance(subset, str):
            raise ConfigError(f"subset must be a list of columns. Got the text {subset!r}")
        chosen = tuple(subset)
        if not chosen:
            raise ConfigError("subset must name at least one column")
        _refuse_twice("subset", chosen)
        for name in chosen:
            if name in self.sensitive:
                raise ConfigError(f"column {name!r} is sensitive and cannot be in the subset")
            if name not in self.columns:
                raise ConfigError(
                    f"subset names {name!r}, which is not among the columns examined of "
                    f"{self.source}{did_you_mean(name, self.columns)}"
                )
        return tuple(name for name in self.columns if name in chosen)

    # -- one set, looked at closely --------------------------------------------------------------

    def curve(self, subset: Iterable[str], model: PrivacyModel = ANONYMITY) -> Curve:
        """Return the curve of a set of columns."""
        chosen = self._checked_subset(subset)
        return self.table.refine(model, len(chosen)).curve(self.table.mask(chosen))

    def risk(self, subset: Iterable[str]) -> ReidentificationRisk:
        """How easily people are recognized by a set of columns."""
        chosen = tuple(subset)
        return ReidentificationRisk.of(chosen, self.curve(chosen))

    def row_levels(self, subset: Iterable[str], model: PrivacyModel = ANONYMITY) -> Levels:
        """Level of each row's group: with k its size, one over which is the row's risk."""
        return self._levels_below(subset, None, model)[1]

    def rows_in_the_way(
        self, subset: Iterable[str], level: float, model: PrivacyModel = ANONYMITY
    ) -> tuple[Ints, Levels]:
        """Rows, counted from 0, that must be suppressed for a level, and their groups' levels.

        There are none for l = 0.
        """
        if level != 0 or model.measure == "t":  # a group can have l = 0, so an answer can be 0
            level = model.check_level(level)
        return self._levels_below(subset, min(level, self.rows + 1) * model.sign, model)

    def _levels_below(
        self, subset: Iterable[str], wanted: float | None, model: PrivacyModel
    ) -> tuple[Ints, Levels]:
        """Rows, all or those whose groups are less safe than wanted, and their groups' levels."""
        mask = self.table.mask(self._checked_subset(subset))
        strengths = self.table.cell_strengths(mask, model)
        cells = np.arange(len(strengths))
        rows, cell = self.table.rows_of(cells if wanted is None else cells[strengths < wanted])
        found = strengths[cell]
        return rows, found if model.sign > 0 else np.abs(found)

    def additions(
        self, subset: Iterable[str], *, delta: float = 0.0, model: PrivacyModel = ANONYMITY
    ) -> tuple[AddedColumn, ...]:
        """What each further column does to a set, most dangerous first.

        With k, of columns that lead to the same k the one that leaves most rows alone comes first.
        """
        chosen = self._checked_subset(subset)
        limit = row_limit(_checked_share(delta), self.rows)
        refiner = self.table.refine(model, len(chosen) + 1)
        mask = self.table.mask(chosen)
        without = refiner.curve(mask)
        before, alone = without.within(limit)[0], _alone(without)
        found = []
        for name in self.columns:
            if name not in chosen:
                curve = refiner.curve(mask | self.table.mask([name]))
                both = (alone, _alone(curve)) if model.measure == "k" else None
                found.append(AddedColumn(name, chosen, before, curve.within(limit)[0], both))
        found.sort(key=lambda each: (each.after * model.sign, -each.alone[1] if each.alone else 0))
        return tuple(found)

    def profile(self, subset: Iterable[str], *, c: float = PrivacyModel.c) -> dict[str, float]:
        """Level of a set by every rule that its sensitive columns allow; k always.

        `c` is the constant of the rule ``recursive``.
        """
        chosen = tuple(subset)
        levels: dict[str, float] = {"k": self.curve(chosen).level}
        for rule in rule_measures() if self.sensitive else ():
            if rule != "tree":
                letter, _ = choose_rule(None, rule)
                try:
                    level = self.curve(chosen, PrivacyModel(letter, rule, c)).level
                except ConfigError:  # no order among the values
                    continue
                levels[f"{letter}_{rule}"] = level
        return levels


def _alone(curve: Curve) -> int:
    """Rows in groups of one, where the curve is one of k."""
    return int(curve.rows[0]) if curve.strengths[0] == 1 else 0


def _refuse_twice(what: str, names: Sequence[str]) -> None:
    for at, name in enumerate(names):
        if name in names[:at]:
            raise ConfigError(f"{what} names {name!r} twice")


def _checked_share(delta: float) -> float:
    if isinstance(delta, bool) or not isinstance(delta, (int, float)) or not 0 <= delta < 1:
        raise ConfigError(f"delta must be in [0, 1). Got {delta}")
    return float(delta)


def _check_form(form: Form | None, level: float | None, model: PrivacyModel) -> None:
    if form not in (None, "at least", "at most"):
        raise ConfigError(f"form must be 'at least' or 'at most'. Got {form!r}")
    if form is not None and level is None:
        raise ConfigError(f"{form} needs a level to go with: give {model.measure}")


def _check_largest(largest: int | None, subset: tuple[str, ...] | None) -> None:
    if largest is not None and largest < 1:
        raise ConfigError(f"the largest size of sets must be at least 1. Got {largest}")
    if largest is not None and subset is not None:
        raise ConfigError("the largest size of sets has no place where the subset is given")


# -- reading, and what must be said about what was read --------------------------------------------


def _read(
    source: str | os.PathLike[str] | pd.DataFrame,
    columns: Sequence[str] | None,
    tokens: Sequence[str],
    form: FormKeys,
    memory: str | None = None,
    table: str | None = None,
    query: str | None = None,
) -> Source:
    name = source if isinstance(source, str) else None
    return open_source(
        datasets.load(name) if name in datasets.names() else source,
        None if columns is None else tuple(dict.fromkeys(columns)),
        name=name,
        missing_tokens=tokens,
        memory=memory,
        table=table,
        query=query,
        **form,
    )


def _named_though_sensitive(
    file: str, own: Sequence[str], columns: Sequence[str], sensitive: Sequence[str]
) -> list[str]:
    """Refuse a column that the configuration calls sensitive; note it where others were named."""
    named = [name for name in own if name in columns and name not in sensitive]
    if named and not sensitive:
        raise ConfigError(
            f"column {named[0]!r} is sensitive in {file} and cannot be one of the columns that "
            "people are recognized by; leave it out of the columns, or say with sensitive=… "
            "which one is"
        )
    return [
        f"{name} is sensitive in {file}; here it counts among what others may know"
        for name in named
    ]


def _how_read(form: FormKeys) -> Iterator[str]:
    """Note what was found out of how a file is written, as far as it is not usual."""
    usual = asdict(FileForm())
    unusual = [f"{key}: {value!r}" for key, value in form.items() if value != usual[key]]
    if unusual:
        yield f"the file was read with {', '.join(unusual)}"


def _gaps(missing: Mapping[str, int]) -> Iterator[str]:
    if missing:
        gaps = ", ".join(f"{name} ({rows:,})" for name, rows in missing.items())
        yield f"missing values count as a value of their own, no row is dropped: {gaps}"


def _not_anonymized(read: Source, required: Sequence[str], missing: str) -> Iterator[str]:
    """Say which rows the configuration would not anonymize, examined columns or not."""
    columns = read.store.columns
    gaps = [name for name in columns if name in required and columns[name].missing]
    if gaps:
        rows = read.rows - read.store.complete(gaps).rows
        names = ", ".join(gaps)
        found = f"{rows:,} {'row' if rows == 1 else 'rows'} without a value in {names}"
        if missing == "drop":
            found = f"drops {found} before it anonymizes"
        else:
            found = f"refuses {found} (data.missing: {missing})"
        yield f"the configuration {found}; here they are examined"
