"""What the independent reader of released files is told, and what it counts in them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from moanon.arrays import Outlined
from moanon.errors import CertificateError
from moanon.release.labels import BlockLabels
from moanon.release.reader_privacy import SensitiveFacts

#: An apostrophe in front of a cell that a spreadsheet would run as a formula.
_DEFUSED = re.compile("'+[=+\\-@\t\r\n＝＋－＠]")

Format = Literal["csv", "parquet", "table"]
#: For sensitive columns that a file holds in another type than text: what its cells are as texts.
Spelled = Mapping[str, Mapping[str | None, str]]
#: Floats hold every whole number up to here.
_WHOLE = 2**53


@dataclass(frozen=True, repr=False)
class Reading(Outlined):
    """What the reader is told about a released file; nothing of what was promised.

    Attributes
    ----------
    format : {"csv", "parquet", "table"}
        How the file is written, or that it is a table of a database.
    header : tuple of str
        All its columns in order.
    quasi : mapping of str to BlockLabels
        The quasi-identifiers, and what their labels may say.
    sensitive : mapping of str to SensitiveFacts
        The sensitive columns, and which values the whole table has there.
    table_rows : int
        Rows of the table before any suppression.
    stars : bool
        Whether suppressed rows are present, every cell a star.
    defused : bool
        Whether cells that a spreadsheet would run carry an apostrophe.
    c : float
        The constant of recursive (c,ℓ)-diversity.
    declared : bool
        Whether the base values of all quasi-identifiers follow from what was declared, so that a
        loss does not depend on rows that are not released.
    """

    format: Format
    header: tuple[str, ...]
    quasi: Mapping[str, BlockLabels]
    sensitive: Mapping[str, SensitiveFacts]
    table_rows: int
    stars: bool = False
    defused: bool = False
    c: float = 3
    declared: bool = True

    @property
    def measured(self) -> tuple[int, ...]:
        """Positions of the columns that are measured: quasi-identifiers, then sensitive ones."""
        return tuple(self.header.index(name) for name in (*self.quasi, *self.sensitive))

    @property
    def has_exact_quotients(self) -> bool:
        """Whether compiled loops, which divide floats, find the same quotients to the last bit."""
        spans = [facts.span for facts in self.sensitive.values()]
        return self.table_rows**2 * max([1, *spans]) < _WHOLE

    def check_header(self, header: Sequence[str]) -> None:
        """Refuse a file of other columns."""
        found = tuple(map(undefuse, header) if self.defused else header)
        if found != self.header:
            raise CertificateError(
                f"its columns are {', '.join(found)} instead of {', '.join(self.header)}"
            )

    def texts(
        self, name: str, cells: Iterable[str | None], spelled: Spelled
    ) -> dict[str | None, str]:
        """Texts that the cells of a sensitive column stand for."""
        found: dict[str | None, str] = {}
        for cell in cells:
            if cell is None:
                raise CertificateError(f"column {name!r}: a sensitive cell has no value")
            if name in spelled:
                found[cell] = spelled[name].get(cell, cell)
            else:
                found[cell] = undefuse(cell) if self.defused else cell
        return found


class Counted(ABC):
    """What was counted in a released file.

    Attributes
    ----------
    cells : mapping of str to mapping
        For each measured column the rows of each of its cells, as they stand in the file.
    starred : int
        Suppressed rows that are there as stars.
    spelled : mapping
        As `Spelled`.
    """

    cells: Mapping[str, Mapping[str | None, int]]
    starred: int = 0
    spelled: Spelled = MappingProxyType({})

    @abstractmethod
    def sizes(self) -> Mapping[int, int]:
        """For each number of rows how many groups have so many."""

    @abstractmethod
    def worst_privacy(
        self,
        name: str,
        texts: Mapping[str | None, str],
        besides: Sequence[SensitiveFacts],
        c: Fraction,
    ) -> list[dict[str, float]]:
        """Every privacy model of a sensitive column, whose cells have these texts, at its worst.

        Once for each of what groups are compared with.
        """


def undefuse(cell: str) -> str:
    """Take away the apostrophe that kept a spreadsheet from running a cell."""
    return cell[1:] if _DEFUSED.match(cell) else cell


def parts_of(path: Path) -> tuple[Path, ...]:
    """The files of a release: itself, or the parts of a folder in the order of their names."""
    parts = tuple(sorted(path.iterdir())) if path.is_dir() else (path,)
    if not parts:
        raise CertificateError(f"{path} has no parts")
    return parts
