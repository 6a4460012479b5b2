"""Fronts: undominated solutions with all their measures.

A solution is a recoding of the table, mostly a genome *and* its thresholds: the same
generalization, with more or fewer of its small groups suppressed, is another solution. Its number
(``id``) is its place in the order of the objectives, from 1. Every measure of a front comes from
one evaluation of exactly these solutions, and must agree with what the search saw.

The front of a baseline is the exception: it has a solution for every k that was asked for, also
those that another one beats.

`Front.ask` answers a publisher's questions, `Front.release` applies a solution to the table it was
found on, `Front.apply` to rows that came later.

On disk a front is ``front.csv``, one row per solution; ``solutions.json``, what each does to the
columns; ``boxes.npz`` where they are boxes; in ``run.json``, their objectives, suppression rule
and bounds. All but ``run.json`` are the same bytes for the same front.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from moanon import __version__
from moanon.arrays import Bits, Bools, Floats, Ints, Outlined, Values
from moanon.atomic import StagedFiles
from moanon.errors import ConfigError, DataError, SearchError, got
from moanon.front.asking import Answer, Question, answer
from moanon.front.choices import Choice, front_html, front_sentence
from moanon.front.results import (
    FORMAT,
    RECORD,
    check_table,
    columns_of,
    read_listed,
    read_object,
    read_record,
)
from moanon.measures import applicable, find_measure
from moanon.measures.loss import BOUND, GAP, gap_above
from moanon.measures.suppression import Suppression
from moanon.recoding import BOXES, GlobalRecodings, Labels, LocalRecodings, Recodings, public_labels

if TYPE_CHECKING:  # a front can be read and asked without the compiler and without pandas
    import pandas as pd

    from moanon.data.table import Table
    from moanon.genome import Instance, Layout
    from moanon.grouping import Grouping
    from moanon.measures.evaluate import Evaluator, OnPart
    from moanon.release import Outside, Release
    from moanon.release.solution import ChosenSolution, Small

_TABLE, _SOLUTIONS = "front.csv", "solutions.json"
#: Objectives that the whole loss stands in for: gl alone gets less by suppressing rows.
_LOSSES = {"loss", "gl", "sl"}


def attained_privacy(objectives: Iterable[str]) -> tuple[str, ...]:
    """Name what is attained of the objectives that are privacy: ``k`` for ``d1``, ``l`` for ``d2``.

    Where there is none, ``k``.

    >>> attained_privacy(["d1", "d2", "loss"]), attained_privacy(["t_closeness", "loss"])
    (('k', 'l'), ('t_closeness',))
    """
    measures = [measure for measure in map(find_measure, objectives) if measure.privacy]
    wanted = (measure.attained[0] if measure.attained else measure.name for measure in measures)
    return tuple(dict.fromkeys(wanted)) or ("k",)


def searched_cost(objectives: Iterable[str]) -> str:
    """Name what privacy is paid with: the first objective that is no privacy.

    ``loss`` where any kind of it was minimized, as D §7 does in its plots, and where there is none.

    >>> searched_cost(["k", "entropy_loss"]), searched_cost(["weighted_k", "gl", "sl"])
    ('entropy_loss', 'loss')
    """
    paid = [name for name in objectives if not find_measure(name).privacy]
    return "loss" if not paid or _LOSSES & {*paid} else paid[0]


@dataclass(frozen=True, eq=False, repr=False)
class Front(Outlined):
    """Undominated solutions of one table, in the order of their objectives.

    Attributes
    ----------
    objectives : tuple of str
        Names of the measures that were optimized.
    suppression : Suppression
        The rule by which groups are suppressed.
    recodings : Recodings
        How each solution turns the table into groups.
    measures : dict of str to array (solutions,)
        All measures that apply to the table, by name: the objectives first, in their direction.
    labels : tuple of dict
        For each solution, what released cells can show, column by column (`public_labels`).
    found : int
        Undominated solutions before a cap was applied; more than there are here if one was. A
        search holds some 8,000 to 12,000 at a time, so of very large fronts it saw even more.
    instance : Instance or None
        The table; without it there is no release.
    bounds : dict of str to float
        What a solution had to have in measures of the whole table, in their better direction.
        Bounds on measures of groups are constraints of the rule.
    proven : array (solutions,) or None
        For each solution a loss that no generalization with as large a k goes below; None where
        nothing was proven. ``front.csv`` calls it ``bound``.
    """

    objectives: tuple[str, ...]
    suppression: Suppression
    recodings: Recodings
    measures: Mapping[str, Values]
    labels: tuple[Labels, ...]
    found: int
    instance: Instance | None = None
    bounds: Mapping[str, float] = field(default_factory=dict)
    proven: Floats | None = None

    @classmethod
    def of(
        cls,
        evaluator: Evaluator,
        suppression: Suppression,
        objectives: tuple[str, ...],
        genomes: Bits,
        thresholds: Ints,
        *,
        values: Floats | None = None,
        found: int | None = None,
        bounds: Mapping[str, float] | None = None,
        on_part: OnPart | None = None,
    ) -> Front:
        """Measure solutions that are genomes, in any order, and put them in order.

        `values`, of shape (solutions, objectives), are what the search saw, turned so that smaller
        is better; a solution that does not measure so is refused. By default there are no more
        solutions than these, and no bounds. `on_part` is called with how many are measured.
        """
        from moanon.measures.evaluate import measure_genomes

        instance = evaluator.instance
        names = list(dict.fromkeys((*objectives, *(m.name for m in applicable(instance)))))
        measures = measure_genomes(evaluator, genomes, thresholds, suppression, names, on_part)
        seen = [find_measure(name).turned(measures[name].astype(float)) for name in objectives]
        if values is not None and not np.array_equal(again := np.stack(seen, axis=1), values):
            raise _contradiction(objectives, again, values, genomes, instance.layout)
        recodings = GlobalRecodings(genomes, thresholds, suppression)
        return cls._ordered(instance, suppression, objectives, recodings, measures, found, bounds)

    @classmethod
    def of_recodings(
        cls,
        instance: Instance,
        suppression: Suppression,
        objectives: tuple[str, ...],
        recodings: Recodings,
        *,
        found: int | None = None,
        bounds: Mapping[str, float] | None = None,
        on_part: OnPart | None = None,
    ) -> Front:
        """Measure any recodings of a table, grouping by grouping, and put them in order.

        As `of`; `suppression` says how diversity is counted. An objective that is not known of
        every solution is refused.
        """
        from moanon.measures.evaluate import measure_groupings

        groupings = recodings.groupings(instance)
        rows = measure_groupings(groupings, len(recodings), suppression, on_part)
        shared = [m.name for m in applicable(instance) if all(m.name in row for row in rows)]
        for name in objectives:
            if name not in shared:
                reason = find_measure(name).why_not(instance) or "is not known of every solution"
                raise ConfigError(f"{name} {reason}")
        names = dict.fromkeys((*objectives, *shared))
        measures = {name: np.array([row[name] for row in rows]) for name in names}
        return cls._ordered(instance, suppression, objectives, recodings, measures, found, bounds)

    @classmethod
    def _ordered(
        cls,
        instance: Instance,
        suppression: Suppression,
        objectives: tuple[str, ...],
        recodings: Recodings,
        measures: Mapping[str, Values],
        found: int | None,
        bounds: Mapping[str, float] | None,
    ) -> Front:
        order = np.lexsort([measures[name] for name in reversed(objectives)])
        chosen = recodings.take(order)
        return cls(
            objectives,
            suppression,
            chosen,
            {name: column[order] for name, column in measures.items()},
            public_labels(chosen, instance),
            len(chosen) if found is None else found,
            instance,
            dict(bounds or {}),
        )

    def __len__(self) -> int:
        return len(self.recodings)

    def __repr__(self) -> str:
        return f"Front({front_sentence(self)})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return front_html(self)

    # -- looking ---------------------------------------------------------------------------------

    @property
    def ids(self) -> Ints:
        """Numbers of the solutions."""
        return np.arange(1, len(self) + 1)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per solution: ``id``, the objectives, all other measures, bounds."""
        import pandas as pd  # here, because a front can be written without it

        return pd.DataFrame({"id": self.ids, **self.measures, **self._optimality()})

    def _optimality(self) -> dict[str, Floats]:
        """What is proven of each loss, and how far it is above that."""
        if self.proven is None:
            return {}
        pairs = zip(self.measures["loss"].tolist(), self.proven.tolist(), strict=True)
        gaps = np.array([gap_above(loss, bound) for loss, bound in pairs], dtype=np.float64)
        return {BOUND: self.proven, GAP: gaps}

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the front and return the axes; `moanon.output.front_figures` has the options."""
        from moanon.output.front_figures import plot_front  # from above: a convenience, and slow

        return plot_front(self, ax, **options)

    def recoding(self, solution: int) -> dict[str, Any]:
        """What a solution does, as ``solutions.json`` says it: its genome and thresholds."""
        return self.recodings.entry(self.row(solution))

    def grouping(self, solution: int) -> Grouping:
        """Group the rows as a solution does, with those groups suppressed that it suppresses."""
        return self.recodings.grouping(self.row(solution), self._table())

    def kept_sizes(self, solutions: Sequence[int] | None = None) -> list[Ints]:
        """Sizes of the groups that each of some solutions keeps, in no particular order.

        By default of all, which takes one pass and not much longer. Refused as for `grouping`.
        """
        chosen = self.recodings
        if solutions is not None:
            chosen = chosen.take(np.array([self.row(solution) for solution in solutions]))
        return chosen.kept_sizes(self._table())

    def ask(
        self,
        *,
        max_loss: float | None = None,
        max_suppression: float | None = None,
        min_k: float | None = None,
        min_l: float | None = None,
        at_most: Mapping[str, float] | None = None,
        at_least: Mapping[str, float] | None = None,
        prefer: str | Sequence[str] = (),
    ) -> Answer:
        """Answer a publisher's question: which solution to take under these limits.

        Parameters
        ----------
        max_loss, max_suppression : float, optional
            Largest tolerable loss (GL + SL), and share of rows that may be suppressed; in [0, 1].
        min_k, min_l : float, optional
            What the released groups must have, as the release will be certified.
        at_most, at_least : mapping of str to number, optional
            Limits on any other measures, by name.
        prefer : str or sequence of str
            Which measures to make best, the most wanted first. Default: privacy where loss is
            limited, loss where only privacy is (see `moanon.front`).

        Raises
        ------
        ConfigError
            If a measure or a limit is impossible, or nothing was asked.

        Examples
        --------
        >>> import pandas as pd
        >>> from moanon.data.domain import OrderedSpec
        >>> from moanon.engines import read_table
        >>> from moanon.genome import Instance
        >>> from moanon.measures.evaluate import Evaluator
        >>> table = read_table(pd.DataFrame({"sex": list("fffmm")}), {"sex": "quasi"})
        >>> evaluator = Evaluator(Instance.build(table, {"sex": OrderedSpec(("f", "m"))}))
        >>> genomes, thresholds = np.array([[0], [1]], dtype=np.uint8), np.array([[5, 0], [2, 0]])
        >>> front = Front.of(evaluator, Suppression(), ("k", "loss"), genomes, thresholds)
        >>> front.ask(max_loss=0.5).choice.describe(["k", "loss"])
        'k 2, loss 0.0%'
        """
        question = Question.of(
            max_loss=max_loss,
            max_suppression=max_suppression,
            min_k=min_k,
            min_l=min_l,
            at_most=at_most,
            at_least=at_least,
            prefer=prefer,
        )
        return answer(question, self)

    # -- choosing --------------------------------------------------------------------------------

    def column(self, name: str) -> Values:
        """Values of a measure, or a sentence on why there are none."""
        if name in self.measures:
            return self.measures[name]
        lacks = find_measure(name).requires == "sensitive"
        why = "its table has no sensitive column" if lacks else "it was found before there was one"
        raise ConfigError(f"this front has no measure {name!r}: {why}")

    @property
    def privacy(self) -> tuple[str, ...]:
        """The measures that privacy means here, the more wanted first."""
        attained = attained_privacy(self.objectives)
        if self.suppression.kind == "kl-safety" and {*attained} <= {"k", "l"}:
            return ("l", "k") if self.suppression.prefer == "l" else ("k", "l")
        return attained

    @property
    def cost(self) -> str:
        """The measure that privacy is paid with here."""
        return searched_cost(self.objectives)

    def searched_for(self, name: str) -> bool:
        """Whether a measure was optimized; a constraint on it alone is none of that."""
        searched = set(self.objectives)
        if self.suppression.kind == "kl-safety":
            searched |= {"k", "l"}
        same = f"l_{self.suppression.diversity}"  # by another name
        return name in searched or (name in ("l", same) and not searched.isdisjoint({"l", same}))

    def order(self, goal: Sequence[str]) -> tuple[str, ...]:
        """What decides among solutions, the first measures first: a goal, then what breaks ties."""
        ties = (*self.privacy, self.cost, "loss", "k", "l", "weighted_k", "suppressed")
        return (*goal, *(n for n in dict.fromkeys(ties) if n in self.measures and n not in goal))

    def choice(self, row: int) -> Choice:
        """Describe one solution."""
        bound = None if self.proven is None else float(self.proven[row])
        values = {name: each[row].item() for name, each in self.measures.items()}
        return Choice(row + 1, values, bound)

    def best(self, within: Bools, goal: Sequence[str]) -> Choice | None:
        """Choose among some solutions; None if there are none."""
        rows = np.flatnonzero(within)
        if not len(rows):
            return None
        keys = [find_measure(name).turned(self.column(name)[rows]) for name in self.order(goal)]
        return self.choice(int(rows[np.lexsort(keys[::-1])[0]]))

    def undominated(self, within: Bools, names: Sequence[str]) -> list[Choice]:
        """List those that no other beats in all the named measures; of equals the cheapest."""
        keys = [find_measure(name).turned(self.column(name)) for name in (*names, self.cost)]
        sides = np.stack(keys[:-1], axis=1)
        kept: list[int] = []
        # The best in the first measure first: whoever is beaten is so by one before.
        for row in np.lexsort(keys[::-1]).tolist():
            if within[row] and not (sides[kept] <= sides[row]).all(axis=1).any():
                kept.append(row)
        return [self.choice(row) for row in kept]

    # -- releasing -------------------------------------------------------------------------------

    def release(
        self,
        solution: int,
        *,
        k: int | None = None,
        max_suppression: float | None = None,
        recursive_c: float | None = None,
    ) -> Release:
        """Apply a solution to the rows: its genome, without exactly the groups it suppresses.

        Its file must measure as the front says, or is not written.

        Parameters
        ----------
        solution : int
            Its number.
        k : int, optional
            Another threshold on the solution's staircase: suppress the groups smaller than this
            instead. Those that fall short of what the solution attains in another measure of
            groups (ℓ, t, …) or of a constraint stay suppressed.
        max_suppression : float, optional
            With `k`: share of rows that may be suppressed. Default: what the search allowed, which
            is any share under the rule ``weighted-k``.
        recursive_c : float, optional
            As for `Release`. Default: the constant of the front.

        Raises
        ------
        ConfigError
            If there is no such solution, the front was loaded without its table, or `k` would
            suppress more rows than is allowed.
        OutputError
            If with that `k` a bound on the whole table is not met.
        """
        chosen, instance = self.chosen(solution), self._table()
        if k is not None:
            return chosen.release_with(instance, k, max_suppression, recursive_c)
        if max_suppression is not None:
            raise ConfigError("max_suppression goes with another k; a solution has its own limit")
        return chosen.release(instance, recursive_c)

    def apply(
        self,
        solution: int,
        table: Table,
        *,
        outside: Outside = "refuse",
        small: Small = "suppress",
        k: int | None = None,
        recursive_c: float | None = None,
    ) -> Release:
        """Apply a solution's generalization to new rows.

        The domains are those of the table that the front was found on. By default new groups that
        are smaller than the solution's k are suppressed, and those that fall short of what it
        attains in another measure of groups that was searched for: the new file keeps what the
        solution promised, or is not made. Constraints hold for it as for the solution.

        Parameters
        ----------
        solution, k, recursive_c
            As for `release`; by default the k is the solution's own.
        table : Table
            The new rows; their columns must have the same roles.
        outside : {"refuse", "suppress"}
            What becomes of rows with a value outside the domains.
        small : {"suppress", "keep"}
            What becomes of groups that fall short. Those that are kept are certified as they are;
            they must meet the constraints all the same.

        Raises
        ------
        ConfigError
            If there is no such solution, or the front was loaded without its table.
        DataError
            If the columns are others, or rows lie outside the domains and are refused.
        OutputError
            If no row would be left, or what is left does not meet the constraints.
        """
        return self.chosen(solution).apply(
            self._table(), table, outside=outside, small=small, k=k, recursive_c=recursive_c
        )

    def _table(self) -> Instance:
        if self.instance is None:
            raise ConfigError("this front was loaded without its table; a release needs the rows")
        return self.instance

    def chosen(self, solution: int) -> ChosenSolution:
        """Take a solution with all that it promises."""
        from moanon.release.solution import ChosenSolution

        row = self.row(solution)
        return ChosenSolution(
            number=solution,
            recodings=self.recodings,
            rule=self.suppression,
            objectives=self.objectives,
            bounds=self.bounds,
            measures={name: column[row].item() for name, column in self.measures.items()},
            least=None if self.proven is None else float(self.proven[row]),
        )

    def row(self, solution: int) -> int:
        """Place of a solution, from 0; refuses numbers that the front does not have."""
        if isinstance(solution, bool) or not isinstance(solution, (int, np.integer)):
            raise ConfigError(f"a solution has a whole number. Got {got(solution)}")
        if not 1 <= solution <= len(self):
            raise ConfigError(f"solutions of this front are 1 to {len(self)}. Got {got(solution)}")
        return solution - 1

    # -- writing ---------------------------------------------------------------------------------

    def save(
        self,
        folder: str | Path,
        *,
        record: Mapping[str, Any] | None = None,
        texts: Mapping[str, str] | None = None,
        force: bool = False,
    ) -> dict[str, Any]:
        """Write ``front.csv``, ``solutions.json`` and ``run.json`` into a folder, together.

        The folder must exist. `record` is what else ``run.json`` should state; `texts` are more
        files, by name, that appear in the same move; with `force`, files that exist are replaced.
        Returns what ``run.json`` states now.
        """
        texts = {_TABLE: self._csv(), _SOLUTIONS: self._json(), **(texts or {})}
        written = {name: text.encode() for name, text in texts.items()}
        written |= self.recodings.files()
        digests = {name: sha256(content).hexdigest() for name, content in written.items()}
        record = {
            "format": FORMAT,
            "moanon": __version__,
            **(record or {}),
            "problem": {
                "objectives": list(self.objectives),
                "suppression": asdict(self.suppression),
                "bounds": dict(self.bounds),
            },
            "front": {"solutions": len(self), "found": self.found},
            "files": digests,
        }
        # Last, so that a folder with this file in it is complete.
        record_text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        written[RECORD] = record_text.encode()
        paths = {Path(folder) / name: content for name, content in written.items()}
        with StagedFiles(*paths, force=force) as staged:
            for path, content in paths.items():
                staged[path].write_bytes(content)
            staged.move()
        return record

    def _csv(self) -> str:
        columns_by_name = {**self.measures, **self._optimality()}
        columns = [self.ids.tolist(), *(column.tolist() for column in columns_by_name.values())]
        # repr is the shortest text that is read back as the same number.
        rows = (",".join(map(repr, row)) for row in zip(*columns, strict=True))
        return "\n".join([",".join(("id", *columns_by_name)), *rows]) + "\n"

    def _json(self) -> str:
        lines = []
        for i, labels in enumerate(self.labels):
            entry = {**self.recodings.entry(i), "columns": labels}
            lines.append(f'"{i + 1}": {json.dumps(entry, ensure_ascii=False)}')
        return "{\n" + ",\n".join(lines) + "\n}\n"

    # -- reading ---------------------------------------------------------------------------------

    @classmethod
    def load(cls, folder: str | Path, instance: Instance | None = None) -> Front:
        """Read a front from a results folder; the table it belongs to is for releases only.

        Raises
        ------
        DataError
            If there are no results, or unfinished ones or those of another version; if a file was
            changed, or belongs to another table.
        """
        front = cls.of_record(Path(folder), record := read_record(folder))
        return front if instance is None else front.over(instance, Path(folder), record)

    @classmethod
    def of_record(cls, folder: Path, record: Mapping[str, Any]) -> Front:
        """Read the front that the record of a results folder belongs to, without its table."""
        try:
            objectives = tuple(record["problem"]["objectives"])
            suppression = Suppression(**record["problem"]["suppression"])
            bounds = {str(name): float(b) for name, b in record["problem"]["bounds"].items()}
            found = record["front"]["found"]
            measures = columns_of(read_listed(folder, record, _TABLE).decode(), objectives)
            solutions = read_object(folder / _SOLUTIONS, read_listed(folder, record, _SOLUTIONS))
            measures.pop(GAP, None)  # which follows from the other two
            proven = measures.pop(BOUND, None)
            entries = [solutions[str(number)] for number in measures.pop("id").tolist()]
            recodings = _read_recodings(folder, record, entries, suppression)
            labels = tuple(_labels(entry["columns"], entries[0]["columns"]) for entry in entries)
        except (AttributeError, BadZipFile, KeyError, OverflowError, TypeError) as error:
            raise DataError(f"{folder} holds no front of moanon: {error!r}") from None
        except (ConfigError, ValueError) as error:
            raise DataError(f"{folder} holds no front of moanon: {error}") from None
        return cls(
            objectives, suppression, recodings, measures, labels, found, None, bounds, proven
        )

    def over(
        self,
        instance: Instance,
        folder: Path,
        record: Mapping[str, Any],
        solutions: Sequence[int] | None = None,
    ) -> Front:
        """The same front with the table it was found on, as its folder and ``run.json`` state it.

        Refused if it was found on another table, or the columns are read otherwise now: the labels
        of some solutions (default: all) are compared with what the table would show.
        """
        chosen = self.ids if solutions is None else solutions
        check_table(folder, record, self, instance, [self.row(number) for number in chosen])
        return replace(self, instance=instance)


def _contradiction(
    objectives: tuple[str, ...], again: Floats, values: Floats, genomes: Bits, layout: Layout
) -> SearchError:
    row, column = np.argwhere(again != values)[0]
    return SearchError(
        f"the solution {layout.text(genomes[row])} measures {abs(again[row, column])} in "
        f"{objectives[column]!r}, and the search saw {abs(values[row, column])}; nothing was "
        "written, because one of the two is wrong"
    )


# -- files ---------------------------------------------------------------------------------------


def _read_recodings(
    folder: Path,
    record: Mapping[str, Any],
    entries: Sequence[Mapping[str, Any]],
    suppression: Suppression,
) -> Recodings:
    """Read what solutions do; those that are boxes lie in a file of their own."""
    if BOXES not in record["files"]:
        return GlobalRecodings.of_entries(entries, suppression)
    recodings = LocalRecodings.of_file(read_listed(folder, record, BOXES))
    numbers = [recodings.entry(row) for row in range(len(recodings))]
    if numbers != [{"boxes": entry["boxes"]} for entry in entries]:
        raise ValueError(f"{BOXES} does not hold the solutions of {_SOLUTIONS}")
    return recodings


def _labels(columns: Mapping[str, Any], first: Mapping[str, Any]) -> Labels:
    """What a solution can show, column by column; of the same columns as the first one."""
    if columns.keys() != first.keys():
        raise ValueError(f"the solutions of {_SOLUTIONS} have different columns")
    for name, labels in columns.items():
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise ValueError(f"{name} in {_SOLUTIONS} must be a list of labels. Got {got(labels)}")
    return {name: tuple(labels) for name, labels in columns.items()}
