"""Fronts: undominated solutions with all their measures.

A solution is a genome *and* its thresholds: the same generalization, with more or fewer of its
small groups given up, is another solution. Its number (``id``) is its place in the order of the
objectives, from 1. Every measure of a front comes from one evaluation of exactly these solutions,
and must agree with what the search saw.

On disk a front is three files: ``front.csv``, one row per solution; ``solutions.json``, what each
does to the columns; and, in ``run.json``, which objectives and suppression rule they belong to.
The first two are the same bytes for the same front.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from moanon.atomic import Beside
from moanon.errors import ConfigError, DataError, SearchError
from moanon.genome import Instance, Layout
from moanon.measures.evaluate import Evaluator
from moanon.measures.groups import Groups
from moanon.measures.kept import kept_groups
from moanon.measures.registry import applicable, find_measure, objective_matrix
from moanon.measures.suppression import Suppression
from moanon.release import Release

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Front"]

Genomes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
#: What released cells can show, column by column.
Blocks = Mapping[str, tuple[str, ...]]

_TABLE, _SOLUTIONS, _RECORD = "front.csv", "solutions.json", "run.json"


@dataclass(frozen=True, eq=False)
class Front:
    """Undominated solutions of one table, in the order of their objectives.

    Attributes
    ----------
    objectives : tuple of str
        Names of the measures that were optimized.
    suppression : Suppression
        The rule that the thresholds come from.
    genomes : array (solutions, bits)
    thresholds : array (solutions, 2)
        Smallest size and smallest diversity (or class of what the rule goes by) of the groups that
        are kept; constraints are the rule's own.
    measures : dict of str to array (solutions,)
        All measures that apply to the table, by name: the objectives first, in their direction.
    blocks : tuple of dict
        For each solution, what released cells can show, column by column.
    found : int
        Undominated solutions before a cap was applied; more than there are here if one was.
    instance : Instance or None
        The table; without it there is no release.
    """

    objectives: tuple[str, ...]
    suppression: Suppression
    genomes: Genomes
    thresholds: Ints
    measures: Mapping[str, npt.NDArray[Any]]
    blocks: tuple[Blocks, ...]
    found: int
    instance: Instance | None = None

    @classmethod
    def of(
        cls,
        evaluator: Evaluator,
        suppression: Suppression,
        objectives: tuple[str, ...],
        genomes: Genomes,
        thresholds: Ints,
        *,
        values: Floats | None = None,
        found: int | None = None,
    ) -> Front:
        """Measure solutions and put them in order.

        Parameters
        ----------
        evaluator : Evaluator
            Of the table.
        suppression, objectives, genomes, thresholds
            As the attributes; the solutions in any order.
        values : array (solutions, objectives), optional
            What the search saw, turned so that smaller is better.
        found : int, optional
            As the attribute. Default: the number of solutions.

        Raises
        ------
        SearchError
            If a solution does not measure as the search saw it.
        """
        instance = evaluator.instance
        names = list(dict.fromkeys((*objectives, *(m.name for m in applicable(instance)))))
        scores = evaluator.evaluate_at(genomes, thresholds, suppression, measures=names)
        again = objective_matrix(scores, objectives)
        if values is not None and not np.array_equal(again, values):
            raise _contradiction(objectives, again, values, genomes, instance.layout)
        measures = {name: find_measure(name).of(scores) for name in names}
        order = np.lexsort([measures[name] for name in reversed(objectives)])
        return cls(
            objectives,
            suppression,
            genomes[order],
            thresholds[order],
            {name: column[order] for name, column in measures.items()},
            _labels(instance.layout, genomes[order]),
            len(genomes) if found is None else found,
            instance,
        )

    def __len__(self) -> int:
        return len(self.genomes)

    # -- looking ---------------------------------------------------------------------------------

    @property
    def ids(self) -> Ints:
        """Numbers of the solutions."""
        return np.arange(1, len(self) + 1)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per solution: ``id``, the objectives, all other measures."""
        import pandas as pd  # here, because a front can be written without it

        return pd.DataFrame({"id": self.ids, **self.measures})

    def genome(self, solution: int) -> str:
        """Return the genome of a solution, as 0 and 1."""
        return _text(self.genomes[self._row(solution)])

    def release(self, solution: int, *, recursive_c: float | None = None) -> Release:
        """Apply a solution to the rows: its genome, without exactly the groups it gives up.

        Recursive diversity is promised for the constant of the front unless another is given.

        Raises
        ------
        ConfigError
            If there is no such solution, or the front was loaded without its table.
        """
        row = self._row(solution)
        if self.instance is None:
            raise ConfigError("this front was loaded without its table; a release needs the rows")
        groups = Groups.of(self.instance, self.genomes[row])
        kept = kept_groups(groups, self.thresholds[row], self.suppression)
        c = self.suppression.recursive_c if recursive_c is None else recursive_c
        return Release.of(self.instance, self.genomes[row], suppressed=~kept, recursive_c=c)

    def _row(self, solution: int) -> int:
        if not 1 <= solution <= len(self):
            raise ConfigError(f"solutions of this front are 1 to {len(self)}. Got {solution}")
        return solution - 1

    # -- writing ---------------------------------------------------------------------------------

    def save(
        self,
        folder: str | Path,
        *,
        record: Mapping[str, Any] | None = None,
        texts: Mapping[str, str] | None = None,
        force: bool = False,
    ) -> None:
        """Write ``front.csv``, ``solutions.json`` and ``run.json`` into a folder, together.

        Parameters
        ----------
        folder : path
            Must exist.
        record : mapping, optional
            What else ``run.json`` should tell.
        texts : mapping of str to str, optional
            More files, by name, that appear in the same move.
        force : bool
            Replace files that exist.

        Raises
        ------
        OutputError
            If a file exists and `force` is not set, or cannot be written.
        """
        written = {_TABLE: self._csv(), _SOLUTIONS: self._json(), **(texts or {})}
        digests = {name: _digest(text.encode()) for name, text in written.items()}
        told = {
            **(record or {}),
            "problem": {
                "objectives": list(self.objectives),
                "suppression": asdict(self.suppression),
            },
            "front": {"solutions": len(self), "found": self.found},
            "files": digests,
        }
        # Last, so that a folder with this file in it is complete.
        written[_RECORD] = json.dumps(told, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        paths = {Path(folder) / name: text for name, text in written.items()}
        with Beside(*paths, force=force) as beside:
            for path, text in paths.items():
                beside[path].write_text(text, encoding="utf-8", newline="\n")
            beside.move()

    def _csv(self) -> str:
        columns = [self.ids.tolist(), *(column.tolist() for column in self.measures.values())]
        # repr is the shortest text that is read back as the same number.
        rows = (",".join(map(repr, row)) for row in zip(*columns, strict=True))
        return "\n".join([",".join(("id", *self.measures)), *rows]) + "\n"

    def _json(self) -> str:
        lines = []
        for i, blocks in enumerate(self.blocks):
            size, diversity = self.thresholds[i].tolist()
            entry = {
                "genome": _text(self.genomes[i]),
                "thresholds": {"size": size, "diversity": diversity},
                "columns": blocks,
            }
            lines.append(f'"{i + 1}": {json.dumps(entry, ensure_ascii=False)}')
        return "{\n" + ",\n".join(lines) + "\n}\n"

    # -- reading ---------------------------------------------------------------------------------

    @classmethod
    def load(cls, folder: str | Path, instance: Instance | None = None) -> Front:
        """Read a front from a results folder.

        Parameters
        ----------
        folder : path
        instance : Instance, optional
            The table it belongs to; needed for releases only.

        Raises
        ------
        DataError
            If a file is missing, was changed, or belongs to another table.
        """
        folder = Path(folder)
        record = _read_json(folder / _RECORD, _read(folder / _RECORD))
        try:
            objectives = tuple(record["problem"]["objectives"])
            suppression = Suppression(**record["problem"]["suppression"])
            found = int(record["front"]["found"])
            texts = {name: _read(folder / name) for name in (_TABLE, _SOLUTIONS)}
            for name, text in texts.items():
                if _digest(text) != record["files"][name]:
                    raise DataError(
                        f"{folder / name} is not the file that {folder / _RECORD} belongs to; it "
                        "was changed, or is of another run"
                    )
            measures = _columns(texts[_TABLE].decode())
            solutions = _read_json(folder / _SOLUTIONS, texts[_SOLUTIONS])
            entries = [solutions[str(number)] for number in measures.pop("id").tolist()]
            genomes = np.array([[int(bit) for bit in entry["genome"]] for entry in entries])
            thresholds = np.array(
                [[entry["thresholds"][key] for key in ("size", "diversity")] for entry in entries]
            )
            blocks = tuple(
                {name: tuple(labels) for name, labels in entry["columns"].items()}
                for entry in entries
            )
        except (IndexError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"{folder} holds no front of moanon: {error!r}") from None
        if instance is not None:
            _check_table(folder, record, instance)
        return cls(
            objectives,
            suppression,
            genomes.astype(np.uint8).reshape(len(entries), -1),
            thresholds.astype(np.int64).reshape(len(entries), 2),
            measures,
            blocks,
            found,
            instance,
        )


# -- solutions -----------------------------------------------------------------------------------


def _text(genome: Genomes) -> str:
    return "".join("1" if bit else "0" for bit in genome)


def _labels(layout: Layout, genomes: Genomes) -> tuple[Blocks, ...]:
    """What released cells can show; each generalization of a column is spelled out once."""
    known: dict[tuple[str, bytes], tuple[str, ...]] = {}
    found = []
    for genome in genomes:
        blocks = {}
        for name, domain, place in layout.slices():
            bits = genome[place]
            key = name, bits.tobytes()
            if key not in known:
                edges = [0, *(np.flatnonzero(bits) + 1).tolist(), domain.size]
                known[key] = tuple(domain.label(start, stop) for start, stop in pairwise(edges))
            blocks[name] = known[key]
        found.append(blocks)
    return tuple(found)


def _contradiction(
    objectives: tuple[str, ...], again: Floats, values: Floats, genomes: Genomes, layout: Layout
) -> SearchError:
    row, column = np.argwhere(again != values)[0]
    return SearchError(
        f"the solution {layout.text(genomes[row])} measures {abs(again[row, column])} in "
        f"{objectives[column]!r}, and the search saw {abs(values[row, column])}; nothing was "
        "written, because one of the two is wrong"
    )


# -- files ---------------------------------------------------------------------------------------


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None


def _read_json(path: Path, content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except ValueError as error:
        raise DataError(f"{path} is not valid JSON: {error}") from None
    if not isinstance(found, dict):
        raise DataError(f"{path} must hold a JSON object. Got {type(found).__name__}")
    return found


def _columns(text: str) -> dict[str, npt.NDArray[Any]]:
    """Columns of a table of numbers; those written without a point or exponent are integers."""
    header, *rows = (line.split(",") for line in text.splitlines())
    columns: dict[str, npt.NDArray[Any]] = {}
    for i, name in enumerate(header):
        cells = [row[i] for row in rows]
        whole = all(cell.lstrip("-").isdigit() for cell in cells)
        columns[name] = np.array([int(c) if whole else float(c) for c in cells])
    return columns


def _check_table(folder: Path, record: Mapping[str, Any], instance: Instance) -> None:
    digest = record.get("data", {}).get("digest")
    if digest is not None and digest != instance.table.digest:
        raise DataError(
            f"the front in {folder} belongs to other data than {instance.table.source} holds now"
        )
