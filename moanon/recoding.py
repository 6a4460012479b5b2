"""Recodings: how the solutions of a front turn a table into groups.

A front does not care how its solutions were made. It asks both kinds of `Recodings` the same: the
grouping of a solution, the sizes of the groups that each keeps, what ``solutions.json`` says of it.

- `GlobalRecodings` are genomes: one generalization of each column for the whole table, and
  thresholds below which groups are suppressed.
- `LocalRecodings` are boxes: every group has blocks of its own, which may overlap those of others.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from moanon.arrays import Bits, Ints, Outlined, Values
from moanon.data.domain import NOT_SHOWN
from moanon.errors import DataError, GenomeError, got
from moanon.measures.suppression import Suppression
from moanon.sealing import packed_numbers, seal, unpacked_numbers, unseal

if TYPE_CHECKING:  # a front can be read and asked without the compiler, which these wait for
    from moanon.genome import Generalization, Instance, Layout
    from moanon.grouping import Grouping

#: The file that holds boxes.
BOXES = "boxes.npz"
#: Blocks of base values that released cells can show, column by column: ``start .. stop - 1``.
Blocks = Mapping[str, tuple[tuple[int, int], ...]]
#: The same in words.
Labels = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, eq=False, repr=False)
class GlobalRecodings(Outlined):
    """Genomes, each with the thresholds that decide which groups it suppresses."""

    genomes: Bits  # (solutions, bits)
    # (solutions, 2): least size and diversity (or class of what the rule goes by) kept
    thresholds: Ints
    suppression: Suppression  # the rule that the thresholds come from; constraints are its own

    @classmethod
    def of_entries(
        cls, entries: Sequence[Mapping[str, Any]], suppression: Suppression
    ) -> GlobalRecodings:
        """Read what `entry` wrote; a KeyError, TypeError or ValueError for anything else."""
        genomes = np.array([_bits(entry["genome"]) for entry in entries], dtype=np.uint8)
        keys = ("size", "diversity")
        thresholds = [[_whole(entry["thresholds"][key], key) for key in keys] for entry in entries]
        return cls(
            genomes.reshape(len(entries), -1),
            np.array(thresholds, dtype=np.int64).reshape(len(entries), 2),
            suppression,
        )

    def __len__(self) -> int:
        return len(self.genomes)

    def take(self, rows: Ints) -> GlobalRecodings:
        """Some of them, in that order."""
        return GlobalRecodings(self.genomes[rows], self.thresholds[rows], self.suppression)

    def all_groups(self, row: int, instance: Instance) -> Grouping:
        """All groups of a solution, before any of them is suppressed."""
        from moanon.grouping import Grouping

        return Grouping.of_genome(instance, self.genomes[row])

    def groups_of_new(self, row: int, instance: Instance) -> Grouping:
        """All groups of new rows, which are generalized as all others are."""
        return self.all_groups(row, instance)

    def grouping(self, row: int, instance: Instance) -> Grouping:
        """Its groups, with those marked that it suppresses."""
        from moanon.measures.evaluate import suppress_groups

        return suppress_groups(
            self.all_groups(row, instance), self.suppression, self.thresholds[row]
        )

    def groupings(self, instance: Instance) -> Iterator[Grouping]:
        """The `grouping` of each solution, in order; much faster than one at a time."""
        from moanon.grouping import Grouping
        from moanon.measures.evaluate import suppress_each

        every = Grouping.of_genomes(instance, self.genomes)
        return suppress_each(every, self.suppression, self.thresholds, instance.cells.rows)

    def kept_sizes(self, instance: Instance) -> list[Ints]:
        """Sizes of the groups that each solution keeps, from one pass over all of them."""
        from moanon.measures.evaluate import Evaluator

        return Evaluator(instance).kept_sizes(self.genomes, self.thresholds, self.suppression)

    def blocks(self, instance: Instance) -> tuple[Blocks, ...]:
        """Blocks that released cells can show; a GenomeError if they do not fit the table."""
        return _blocks(instance.layout, instance.layout.check(self.genomes))

    def generalization(self, row: int, instance: Instance) -> Generalization | None:
        """The blocks of each column, where they are the same for all rows."""
        return instance.layout.decode(self.genomes[row])

    def entry(self, row: int) -> dict[str, Any]:
        """A solution as numbers, texts, lists and dicts only; see `of_entries`."""
        size, diversity = self.thresholds[row].tolist()
        genome = "".join("1" if bit else "0" for bit in self.genomes[row])
        return {"genome": genome, "thresholds": {"size": size, "diversity": diversity}}

    def files(self) -> Mapping[str, bytes]:
        """What is too large for such entries, as files by name; the same bytes every time."""
        return {}


@dataclass(frozen=True, eq=False, repr=False)
class LocalRecodings(Outlined):
    """Boxes of one table, and which of them each of its cells is in.

    The boxes are what releases show. Which one a cell is in is sealed, solution by solution (see
    `moanon.sealing`): with the table at hand it can be read, and its file does not reveal the
    table. A new row goes into the box that loses least of those that hold it.
    """

    # for each solution the box of each cell, counted from 1; 0 where it is suppressed
    sealed: tuple[bytes, ...]
    # (columns, boxes) of each; in an order that says nothing of the cells in them
    starts: tuple[Ints, ...]
    stops: tuple[Ints, ...]  # behind the last base value of each box

    @classmethod
    def of_groupings(cls, groupings: Iterable[Grouping]) -> LocalRecodings:
        """Keep what is released of some groupings of one table, each of whole cells."""
        from moanon.grouping import Grouping

        sealed, starts, stops = [], [], []
        for grouping in groupings:
            instance, released = grouping.instance, grouping.released()
            if released.matched_by != "boxes":  # others stand in the order of their cells
                parts = released.cell_group, released.starts, released.stops
                released = Grouping.of_boxes(instance, *map(np.asarray, parts))
            assert released.cell_group is not None
            assert released.starts is not None
            assert released.stops is not None
            text = packed_numbers(released.cell_group + 1, len(released) + 1)
            context = _context(released.starts, released.stops)
            sealed.append(seal(instance.key, text, context))
            starts.append(released.starts)
            stops.append(released.stops)
        return cls(tuple(sealed), tuple(starts), tuple(stops))

    @classmethod
    def of_file(cls, content: bytes) -> LocalRecodings:
        """Read them from what `files` wrote.

        A KeyError, TypeError, ValueError or BadZipFile if it is something else, damaged, or of a
        version that sealed nothing.
        """
        try:
            return cls._of_arrays(content)
        except (EOFError, NotImplementedError, RuntimeError, zlib.error) as error:
            raise ValueError(f"{BOXES} is damaged: {error}") from None

    @classmethod
    def _of_arrays(cls, content: bytes) -> LocalRecodings:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            if "group0" in arrays:
                raise ValueError(
                    f"{BOXES} is of an earlier version, and gives rows of the table away; run it "
                    "again with force=True"
                )
            number = int(arrays["solutions"])
            sealed = tuple(arrays[f"sealed{i}"].tobytes() for i in range(number))
            boxes = [arrays[f"boxes{i}"].astype(np.int64) for i in range(number)]
        for first, last in boxes:
            if first.ndim != 2 or first.size == 0:
                raise ValueError(f"boxes of shape {first.shape}")
            if first.min() < 0:
                raise ValueError("blocks are counted from 0")
            if not (first < last).all():
                raise ValueError("a block without values")
        starts, stops = zip(*boxes, strict=True) if boxes else ((), ())
        return cls(sealed, starts, stops)

    def __len__(self) -> int:
        return len(self.sealed)

    def take(self, rows: Ints) -> LocalRecodings:
        chosen = rows.tolist()
        return LocalRecodings(
            tuple(self.sealed[row] for row in chosen),
            tuple(self.starts[row] for row in chosen),
            tuple(self.stops[row] for row in chosen),
        )

    def all_groups(self, row: int, instance: Instance) -> Grouping:
        from moanon.grouping import Grouping

        box = self.cell_group(row, instance)
        return Grouping.of_boxes(instance, box, self.starts[row], self.stops[row])

    def groups_of_new(self, row: int, instance: Instance) -> Grouping:
        """All groups of new rows.

        They follow from the rows alone, also where these are the run's own: what was sealed is not
        looked at, as names and suppressed rows would decide whether it can be read.
        """
        from moanon.grouping import Grouping

        starts, stops = self.starts[row], self.stops[row]
        box = _find_boxes(instance, starts, stops)
        used = np.unique(box[box >= 0])
        number = np.full(starts.shape[1] + 1, -1, dtype=np.int64)  # the last: in no box
        number[used] = np.arange(len(used))
        return Grouping.of_boxes(instance, number[box], starts[:, used], stops[:, used])

    def cell_group(self, row: int, instance: Instance) -> Ints:
        """The box of each cell of the table, or `moanon.grouping.NO_GROUP` where it is suppressed.

        A DataError if these are not the cells that the boxes were found on.
        """
        starts, stops = self.starts[row], self.stops[row]
        try:
            text = unseal(instance.key, self.sealed[row], _context(starts, stops))
        except ValueError:
            raise DataError(
                f"the boxes were found on other cells than {instance.table.source} has as it is "
                "read now; bring back the data and the hierarchies of the run, or run it again"
            ) from None
        return unpacked_numbers(text, len(instance.cells), starts.shape[1] + 1) - 1

    def grouping(self, row: int, instance: Instance) -> Grouping:
        return self.all_groups(row, instance)

    def groupings(self, instance: Instance) -> Iterator[Grouping]:
        return (self.grouping(row, instance) for row in range(len(self)))

    def kept_sizes(self, instance: Instance) -> list[Ints]:
        return [grouping.sizes for grouping in self.groupings(instance)]

    def blocks(self, instance: Instance) -> tuple[Blocks, ...]:
        found = []
        domains = instance.layout.domains.items()
        for starts, stops in zip(self.starts, self.stops, strict=True):
            if len(starts) != len(domains) or (stops > instance.layout.sizes[:, None]).any():
                raise GenomeError("its boxes do not fit the columns")
            blocks = {}
            for (name, domain), first, last in zip(domains, starts, stops, strict=True):
                ends = np.unique(np.stack([first, last]), axis=1).T.tolist()
                if not all(domain.allows(start, stop) for start, stop in ends):
                    raise GenomeError(f"a box of column {name!r} is no node of its tree")
                blocks[name] = tuple((start, stop) for start, stop in ends)
            found.append(blocks)
        return tuple(found)

    def generalization(self, row: int, instance: Instance) -> Generalization | None:
        return None

    def entry(self, row: int) -> dict[str, Any]:
        return {"boxes": self.starts[row].shape[1]}

    def files(self) -> Mapping[str, bytes]:
        arrays: dict[str, npt.NDArray[Any]] = {"solutions": np.array(len(self))}
        for i, sealed in enumerate(self.sealed):
            arrays[f"sealed{i}"] = np.frombuffer(sealed, dtype=np.uint8)
            arrays[f"boxes{i}"] = np.stack([self.starts[i], self.stops[i]]).astype(np.uint32)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **arrays)
        return {BOXES: buffer.getvalue()}


#: How each of some solutions turns a table into groups.
Recodings = GlobalRecodings | LocalRecodings


def joined(several: Sequence[Recodings]) -> Recodings:
    """The solutions of several recodings of one table and one kind, one after the other."""
    first = several[0]
    if isinstance(first, GlobalRecodings):
        genomes = [each for each in several if isinstance(each, GlobalRecodings)]
        return GlobalRecodings(
            np.concatenate([each.genomes for each in genomes]),
            np.concatenate([each.thresholds for each in genomes]),
            first.suppression,
        )
    boxes = [each for each in several if isinstance(each, LocalRecodings)]
    return LocalRecodings(
        tuple(sealed for each in boxes for sealed in each.sealed),
        tuple(starts for each in boxes for starts in each.starts),
        tuple(stops for each in boxes for stops in each.stops),
    )


def _context(starts: Values, stops: Values) -> bytes:
    """The boxes of a solution, to which its groups belong."""
    return np.stack([starts, stops]).astype("<i8").tobytes()


def _find_boxes(instance: Instance, starts: Ints, stops: Ints) -> Ints:
    """For each cell the box that loses least of those that hold it; -1 where none does."""
    losses = sum(instance.losses.of_blocks(i, starts[i], stops[i]) for i in range(len(starts)))
    order = np.argsort(losses, kind="stable")
    first, last = starts[:, order], stops[:, order]
    found = np.full(len(instance.cells), -1, dtype=np.int64)
    for cell, codes in enumerate(instance.cells.codes.T.astype(np.int64)):
        holds = ((first <= codes[:, None]) & (codes[:, None] < last)).all(axis=0)
        if holds.any():
            found[cell] = order[holds.argmax()]
    return found


def _bits(genome: object) -> list[int]:
    if not isinstance(genome, str) or not set(genome) <= {"0", "1"}:
        raise ValueError(f"a genome must be a text of 0 and 1. Got {got(genome)}")
    return [int(bit) for bit in genome]


def _whole(value: object, key: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
        raise ValueError(f"thresholds.{key} must be a whole number. Got {got(value)}")
    return value


def _blocks(layout: Layout, genomes: Bits) -> tuple[Blocks, ...]:
    """The blocks of each genome; solutions with the same ones in a column share them."""
    known: dict[tuple[str, bytes], tuple[tuple[int, int], ...]] = {}
    found = []
    for genome in genomes:
        blocks = {}
        for name, domain, place in layout.slices():
            bits = genome[place]
            key = name, bits.tobytes()
            if key not in known:
                known[key] = tuple(pairwise([0, *(np.flatnonzero(bits) + 1).tolist(), domain.size]))
            blocks[name] = known[key]
        found.append(blocks)
    return tuple(found)


def spelled(blocks: Sequence[Blocks], instance: Instance) -> tuple[Labels, ...]:
    """The labels of the blocks of some solutions, each block spelled once."""
    known: dict[tuple[str, int, int], str] = {}
    # By identity: solutions share what they have in common, and a tuple of a thousand blocks would
    # be hashed for every one of them.
    shared: dict[int, tuple[str, ...]] = {}
    found = []
    for each in blocks:
        for name, shown in each.items():
            if id(shown) in shared:
                continue
            spell = instance.layout.domains[name].label
            for start, stop in shown:
                if (name, start, stop) not in known:
                    known[name, start, stop] = spell(start, stop)
            shared[id(shown)] = tuple(known[name, start, stop] for start, stop in shown)
        found.append({name: shared[id(shown)] for name, shown in each.items()})
    return tuple(found)


def public_labels(recodings: Recodings, instance: Instance) -> tuple[Labels, ...]:
    """For each solution, what released cells can show, in labels that anybody may read.

    A rule that makes a tree from the values of a column names its nodes after these. A block of
    such a tree whose rows a solution all suppresses would reveal a value that its release does not
    contain, so it is called ``(not shown)``. Other blocks have their labels, because whoever
    described the table chose these.
    """
    from moanon.measures.column_effects import column_effects, columns_before

    every = spelled(recodings.blocks(instance), instance)
    domains = instance.layout.domains
    if not isinstance(recodings, GlobalRecodings) or not any(
        domain.reveals(0, 1) for domain in domains.values()
    ):
        return every  # boxes are those of released groups
    before = columns_before(instance)
    found = []
    for labels, grouping in zip(every, recodings.groupings(instance), strict=True):
        shown = dict(labels)
        for effect in column_effects(grouping, before):
            if effect.rows.all() or not effect.domain.reveals(0, 1):
                continue
            ends = zip(effect.rows, effect.starts.tolist(), effect.stops.tolist(), strict=True)
            shown[effect.name] = tuple(
                NOT_SHOWN if not rows and effect.domain.reveals(start, stop) else label
                for label, (rows, start, stop) in zip(labels[effect.name], ends, strict=True)
            )
        found.append(shown)
    return tuple(found)
