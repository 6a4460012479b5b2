"""Which cells must be in a table, to whoever holds its results folder of boxes and not the table.

A cell that must be there is *recovered* if the releases of the front do not show as much to whoever
has all of them. The attacker reads the files as they are and takes nothing on trust. All he infers
has the same form: *candidates*, outside of which there is no cell, and *clauses*, sets of
candidates of which at least one is a cell. A clause of one candidate recovers it.

- Releases tell their boxes. Every box is the smallest around its cells, so each end of an ordered
  block is a clause, and so is what a node holds beside each of its children. Where no row is
  suppressed, there is no cell outside of the boxes. Their rows are not linked with each other.
- ``boxes.npz`` might tell the box of every cell: as an array with a number for each cell, or hidden
  by nothing, by a key that stands in the folder, or by the same stream in two solutions. The boxes
  of a cell are then intersected, cells stand in lexicographic order, and ends of blocks are cells.
- ``run.json`` might tell how many cells there are: if as many as candidates, these are all.
- ``solutions.json`` and ``front.csv`` might tell blocks that no box has, ``config.yaml`` and
  ``domains.json`` values that nobody declared, and ``report.html`` the rows of each base value.

Not tried is what a guess of the whole table could be tested with: digests, exact measures, the key.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import yaml

from moanon.arrays import Bools, Ints
from moanon.cli import main
from moanon.data.domain import Domain, TreeDomain, domain_from
from moanon.experiment import load_front
from moanon.front.results import find_fronts
from moanon.release.labels import label_rules
from moanon.sealing import unseal

#: For each column of a box its base values, from and to.
Box = tuple[slice, ...]
#: Bytes of a sealed text that stand before what it hides.
_TAG = 16


@dataclass(frozen=True)
class Finding:
    """What an attack on a folder came to, in cells.

    Attributes
    ----------
    cells : int
        Of the table.
    shown : int
        That the releases show.
    recovered : tuple of tuple of int
        That the folder tells beyond these, as base values.
    wrong : int
        That are in no row, so the attacker erred.
    """

    cells: int
    shown: int
    recovered: tuple[tuple[int, ...], ...]
    wrong: int


class Knowledge:
    """Candidates and clauses over all tuples of base values, numbered lexicographically."""

    def __init__(self, domains: Sequence[Domain]) -> None:
        self.domains = domains
        self.shape = tuple(domain.size for domain in domains)
        self.number = np.arange(np.prod(self.shape)).reshape(self.shape)
        self.candidates = np.ones(self.shape, dtype=bool)
        self.clauses: list[Ints] = []

    def hit(self, tuples: Ints) -> None:
        """At least one of these is a cell."""
        self.clauses.append(tuples.reshape(-1))

    def take_boxes(self, boxes: Sequence[Box], *, suppressed: bool) -> None:
        """Learn what a release shows."""
        covered = np.zeros(self.shape, dtype=bool)
        for box in boxes:
            covered[box] = True
            self.hit(self.number[box])
            for part in self.ends(box):
                self.hit(part)
        if not suppressed:
            self.candidates &= covered

    def ends(self, box: Box) -> Iterator[Ints]:
        """Parts of a box in which there must be a cell, as no smaller box would do."""
        for column, (block, domain) in enumerate(zip(box, self.domains, strict=True)):
            if block.stop - block.start > 1:
                for values in _needed(domain, block):
                    index: list[Any] = list(box)
                    index[column] = values
                    yield self.number[tuple(index)]

    def certain(self) -> set[int]:
        """Tuples that must be in the table."""
        open_to = self.candidates.reshape(-1)
        left = (clause[open_to[clause]] for clause in self.clauses)
        return {int(clause[0]) for clause in left if len(clause) == 1}


def _needed(domain: Domain, block: slice) -> Iterator[list[int]]:
    """Sets of values of a block that must each have a row."""
    tree = domain.hierarchy if isinstance(domain, TreeDomain) else None
    nodes = [] if tree is None else list(zip(tree.starts, tree.stops, strict=True))
    if tree is not None and (block.start, block.stop) in nodes:  # baselines do not cut sets
        node = nodes.index((block.start, block.stop))
        for child, parent in enumerate(tree.parents):
            if parent == node:
                within = range(*nodes[child])
                yield [value for value in range(block.start, block.stop) if value not in within]
    else:
        yield [block.start]
        yield [block.stop - 1]


# -- what the folder tells -------------------------------------------------------------------------


class Attacker:
    """Whoever has the results of one run, and nothing else.

    Parameters
    ----------
    folder : Path
        Of the results; with several limits of suppression, the one above theirs.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        fronts = find_fronts(folder)
        self.record = json.loads((fronts[0] / "run.json").read_text("utf-8"))
        stored = json.loads((fronts[0] / "domains.json").read_text("utf-8"))["quasi"]
        self.names, self.domains = list(stored), [domain_from(each) for each in stored.values()]
        self.solutions = [solution for front in fronts for solution in _solutions(front)]

    def releases(self) -> Knowledge:
        """What whoever has all releases knows."""
        known = Knowledge(self.domains)
        for solution in self.solutions:
            known.take_boxes(solution.boxes, suppressed=solution.suppressed)
        return known

    def recovered(self) -> set[int]:
        """What the folder tells, that of the releases included."""
        known = self.releases()
        self._take_labels(known)
        self._take_declarations(known)
        self._take_pages(known)
        found = known.certain()
        if known.candidates.sum() == self.record["data"].get("cells"):
            found |= set(known.number[known.candidates].tolist())
        for groups in self._groups_of_cells():
            with suppress(_ImpossibleError):
                found |= self._linked(groups, known)
        return found

    def _take_labels(self, known: Knowledge) -> None:
        """A label in ``solutions.json`` that no box has would tell of rows beyond the release."""
        rules = [label_rules(domain) for domain in self.domains]
        for solution in self.solutions:
            for column, name in enumerate(self.names):
                blocks = {(box[column].start, box[column].stop) for box in solution.boxes}
                labels = {rules[column].find(label) for label in solution.labels[name]}
                for block in labels - blocks:
                    if block is not None:
                        known.hit(_slab(known, column, range(*block)))

    def _take_declarations(self, known: Knowledge) -> None:
        """Both ends of a range that nobody declared are in the table."""
        (path, *_) = self.folder.rglob("config.yaml")
        columns = yaml.safe_load(path.read_text("utf-8"))["columns"]
        for column, (name, domain) in enumerate(zip(self.names, self.domains, strict=True)):
            if columns[name]["kind"] == "interval" and "range" not in columns[name]:
                for value in {0, domain.size - 1}:
                    known.hit(_slab(known, column, [value]))

    def _take_pages(self, known: Knowledge) -> None:
        """Pages may tell how many rows have each base value."""
        texts = [page.read_text("utf-8") for page in self.folder.rglob("report.html")]
        for text in re.findall(r'"before":\s*(\[\[.*?\]\])', "".join(texts)):
            for column, rows in enumerate(json.loads(text)):
                if len(rows) != known.shape[column]:
                    continue
                for value, number in enumerate(rows):
                    slab = _slab(known, column, [value])
                    if number:
                        known.hit(slab)
                    else:
                        known.candidates.reshape(-1)[slab] = False

    # -- the boxes of each cell --------------------------------------------------------------------

    def _groups_of_cells(self) -> Iterator[list[Ints]]:
        """What may be, for each solution, the box of each cell from 1 on, or 0."""
        for kind in {kind for solution in self.solutions for kind in solution.arrays}:
            arrays = [solution.arrays.get(kind, np.zeros(0)) for solution in self.solutions]
            if len({array.shape for array in arrays}) == 1 == arrays[0].ndim:
                yield [array.astype(np.int64) for array in arrays]
            if all(array.ndim == 1 and len(array) > _TAG for array in arrays):
                texts = [array.astype(np.uint8) for array in arrays]
                yield from self._opened(texts)

    def _opened(self, sealed: Sequence[npt.NDArray[np.uint8]]) -> Iterator[list[Ints]]:
        """Read sealed texts as they are, with keys from the folder, or with each other."""
        bodies = [text[_TAG:] for text in sealed]
        widest = max(map(len, bodies))
        streams = [np.zeros(widest, dtype=np.uint8)]  # or one stream for all of them
        streams += [body for body in bodies if len(body) == widest]
        for stream in streams:
            yield self._numbers(body ^ stream[: len(body)] for body in bodies)
        for told in (self.record["data"]["digest"], self.record["config"]["digest"], ""):
            for key in (told.encode(), bytes.fromhex(told)):
                with suppress(ValueError):
                    pairs = zip(sealed, self.solutions, strict=True)
                    yield self._numbers(solution.opened(key, text) for text, solution in pairs)

    def _numbers(self, texts: Iterable[npt.NDArray[np.uint8]]) -> list[Ints]:
        """Numbers that stand in each text, in as many bits as its boxes need; without filling."""
        found = []
        for text, solution in zip(texts, self.solutions, strict=True):
            width = len(solution.boxes).bit_length()
            number = len(text) * 8 // width
            bits = np.unpackbits(text, count=number * width).reshape(number, width)
            found.append(bits.astype(np.int64) @ (1 << np.arange(width)[::-1]))
        least = min(map(len, found))
        used = np.flatnonzero(np.any([numbers[:least] for numbers in found], axis=0))
        return [numbers[: used.max(initial=-1) + 1] for numbers in found]

    def _linked(self, groups: Sequence[Ints], known: Knowledge) -> set[int]:
        """Intersect the boxes of each cell, and use the order of cells and the ends of blocks."""
        pairs = [(group, each.boxes) for group, each in zip(groups, self.solutions, strict=True)]
        if any(set(group.tolist()) - {0} != {*range(1, len(boxes) + 1)} for group, boxes in pairs):
            raise _ImpossibleError
        possible = [known.number[known.candidates]] * len(groups[0])
        for group, boxes in pairs:
            inside = [known.number[box].reshape(-1) for box in boxes]
            for cell in np.flatnonzero(group).tolist():
                possible[cell] = np.intersect1d(possible[cell], inside[group[cell] - 1])
        needed = [
            (np.flatnonzero(group == number).tolist(), end.reshape(-1))
            for group, boxes in pairs
            for number, box in enumerate(boxes, 1)
            for end in known.ends(box)
        ]
        before = -1
        while (left := sum(map(len, possible))) != before:
            before = left
            _order(possible)
            for members, end in needed:
                able = [cell for cell in members if np.isin(possible[cell], end).any()]
                if len(able) == 1:
                    possible[able[0]] = np.intersect1d(possible[able[0]], end)
        return {int(each[0]) for each in possible if len(each) == 1}


@dataclass(frozen=True)
class _Solution:
    """What a folder has of a solution: boxes, labels, and arrays by name without its number."""

    boxes: list[Box]
    suppressed: bool
    labels: dict[str, list[str]]
    arrays: dict[str, npt.NDArray[Any]]

    def opened(self, key: bytes, text: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """What is sealed in a text, if the key is right."""
        found = unseal(key, text.tobytes(), self.arrays["boxes"].astype("<i8").tobytes())
        return np.frombuffer(found, dtype=np.uint8)


def _solutions(folder: Path) -> Iterator[_Solution]:
    told = json.loads((folder / "solutions.json").read_text("utf-8"))
    with (folder / "front.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    with np.load(folder / "boxes.npz") as stored:
        for number, row in enumerate(rows):
            own = re.compile(rf"([a-z]+){number}")
            names = {found[1]: found[0] for name in stored.files if (found := own.fullmatch(name))}
            arrays = {kind: stored[name] for kind, name in names.items()}
            labels = told[str(number + 1)]["columns"]
            suppressed = int(row["suppressed"]) > 0
            yield _Solution(_slices(arrays["boxes"]), suppressed, labels, arrays)


class _ImpossibleError(Exception):
    """What was taken for the boxes of cells is something else."""


def _order(possible: list[Ints]) -> None:
    """Leave each cell what lies behind the one before it, and before the one behind it."""
    for step, ends in ((1, 0), (-1, -1)):
        for one, other in pairwise(range(len(possible))[::step]):
            if not len(possible[one]):
                raise _ImpossibleError
            end, here = possible[one][ends], possible[other]
            possible[other] = here[here > end] if step > 0 else here[here < end]
    if not all(map(len, possible)):
        raise _ImpossibleError


def _slices(boxes: Ints) -> list[Box]:
    starts, stops = boxes.astype(np.int64).tolist()
    return [
        tuple(map(slice, *ends))
        for ends in zip(zip(*starts, strict=True), zip(*stops, strict=True), strict=True)
    ]


def _slab(known: Knowledge, column: int, values: Iterable[int]) -> Ints:
    return known.number.take(list(values), axis=column).reshape(-1)


# -- trying it -------------------------------------------------------------------------------------


def attack(folder: Path, cells: Bools) -> Finding:
    """Attack a folder; `cells` says of every tuple of base values whether a row has it."""
    attacker = Attacker(folder)
    shown, told = attacker.releases().certain(), attacker.recovered()
    is_cell = cells.reshape(-1)
    recovered = [np.unravel_index(number, cells.shape) for number in sorted(told - shown)]
    return Finding(
        int(is_cell.sum()),
        len(shown),
        tuple(tuple(map(int, each)) for each in recovered),
        sum(not is_cell[number] for number in told),
    )


def cells_of(folder: Path) -> Bools:
    """For every tuple of base values whether the table of a results folder has it."""
    instance = load_front(find_fronts(folder)[0]).instance
    assert instance is not None
    found = np.zeros(instance.layout.sizes, dtype=bool)
    found[tuple(instance.cells.codes)] = True
    return found


_TREES = {
    "flat": {"*": ["a", "b", "c", "d"]},
    "pairs": {"*": {"north": ["a", "b"], "south": ["c", "d"]}},
    "deep": {"*": {"north": ["a", {"east": ["b", "c"]}], "south": ["d", "e", "f"]}},
}


def write_case(folder: Path, seed: int) -> list[str]:
    """Write a random table with its configuration; the command that makes results of it."""
    rng = Random(seed)
    columns, values = {}, {}
    for number in range(rng.choice([1, 2, 3, 3, 4])):
        declared, drawn = _column(rng, folder, number)
        columns[f"q{number}"], values[f"q{number}"] = {"role": "quasi", **declared}, drawn
    if rng.random() < 0.5:
        columns["ill"], values["ill"] = {"role": "sensitive"}, ["flu", "hiv", "none"]
    with (folder / "table.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for _ in range(rng.randint(20, 160)):
            shares = (
                [rng.choice([1, 2.0**-place]) for place in range(len(v))] for v in values.values()
            )
            writer.writerow(
                rng.choices(*each)[0] for each in zip(values.values(), shares, strict=True)
            )
    k = rng.choice([2, 2, 3, 5, 8])
    eta = rng.choice([0, 0.05, 0.1, 0.3, [0, 0.1]])
    problem = {"preset": "k-suppression", "recoding": "local", "constraints": {"k": {"min": k}}}
    config = str(folder / "config.yaml")
    words = ["run", config]
    if rng.random() < 0.2:
        eta, words = 0, ["baseline", "mondrian", config, "--k", str(k), "--k", str(k + 3)]
    declared = {
        "data": {"source": str(folder / "table.csv")},
        "columns": columns,
        "problem": {**problem, "eta": eta},
        "output": {"plots": False, "report": True},
    }
    Path(config).write_text(yaml.safe_dump(declared, sort_keys=False), "utf-8")
    return [*words, "--out", str(folder / "results"), "--quiet"]


def _column(rng: Random, folder: Path, number: int) -> tuple[dict[str, Any], list[Any]]:
    """Declare a column of some kind; what it is, and values to draw from."""
    kind = rng.choice(["interval", "interval", "ordered", "tree"])
    if kind == "interval":
        numbers = list(range(20, 20 + rng.randint(4, 20)))
        rng.shuffle(numbers)
        declared: dict[str, Any] = {"granularity": rng.choice([1, 1, 2])}
        if rng.random() < 0.6:
            declared["range"] = [20, 44]
        return {"kind": kind, **declared}, numbers
    if kind == "ordered":
        sizes = list("SMLXY")[: rng.randint(2, 5)]
        return {"kind": kind, "order": sizes}, sizes
    tree = _TREES[rng.choice([*_TREES])]
    path = folder / f"tree{number}.yaml"
    path.write_text(yaml.safe_dump(tree), "utf-8")
    declared = {"hierarchy": str(path)}
    if rng.random() < 0.4:
        declared["labels"] = "sets"
    return {"kind": kind, **declared}, [leaf for leaf in "abcdef" if leaf in yaml.safe_dump(tree)]


def attack_random(folder: Path, seed: int) -> Finding | None:
    """Make results of a random table in an empty folder and attack them; None if it has none."""
    words = write_case(folder, seed)
    if main(words) != 0:
        return None
    return attack(folder / "results", cells_of(folder / "results"))
