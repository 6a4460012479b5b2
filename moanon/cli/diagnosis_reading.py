"""Which table ``moanon diagnose`` examines, and what must be said about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moanon.config import Config
    from moanon.data.source import Source
    from moanon.diagnosis import Diagnosis

__all__ = ["Examined", "examine"]


@dataclass(frozen=True)
class Examined:
    """A table, the files it came from, and what must be said about it."""

    diagnosis: Diagnosis
    files: tuple[Path, ...]
    notes: tuple[str, ...]


def examine(
    file: str,
    columns: tuple[str, ...] | None,
    sensitive: tuple[str, ...],
    subset: tuple[str, ...],
    delimiter: str | None,
) -> Examined:
    """Read a table, the table of a configuration, or an embedded one."""
    from moanon.diagnosis import Diagnosis

    config = _config(file)
    if config is None:
        read = _read(file, _wanted(columns, sensitive, subset), ("",), delimiter)
        diagnosis = Diagnosis.of(read, columns, sensitive)
        return Examined(diagnosis, read.files, tuple(_gaps(diagnosis)))
    roles = config.roles
    notes: list[str] = []
    own = tuple(name for name, role in roles.items() if role == "sensitive")
    quasi = tuple(name for name, role in roles.items() if role == "quasi")
    if columns is not None:
        notes += _named_though_sensitive(file, own, columns, sensitive)
    examined, hidden = columns or quasi, sensitive or own
    data = config.data
    settled = (*quasi, *own) if data.missing == "drop" else ()
    wanted = _wanted((*examined, *settled), hidden, subset)
    read = _read(data.source, wanted, data.missing_tokens, delimiter or data.delimiter)
    diagnosis = Diagnosis.of(read, examined, hidden)
    notes += [*_gaps(diagnosis), *_dropped(read, settled)]
    return Examined(diagnosis, (*read.files, Path(file).resolve()), tuple(notes))


def _config(file: str) -> Config | None:
    from moanon.config import Config

    return Config.load(file) if file.lower().endswith((".yaml", ".yml")) else None


def _wanted(columns: tuple[str, ...] | None, *more: tuple[str, ...]) -> tuple[str, ...] | None:
    """List the columns to read, each once; None for all."""
    if columns is None:
        return None
    return tuple(dict.fromkeys(name for names in (columns, *more) for name in names))


def _read(
    source: str, columns: tuple[str, ...] | None, tokens: Sequence[str], delimiter: str | None
) -> Source:
    from moanon import datasets
    from moanon.data.source import read_source

    return read_source(
        datasets.load(source) if source in datasets.names() else source,
        name=source,
        missing_tokens=tokens,
        delimiter=delimiter,
        columns=columns,
    )


# -- what must be said -----------------------------------------------------------------------------


def _named_though_sensitive(
    file: str, own: Sequence[str], columns: Sequence[str], sensitive: Sequence[str]
) -> Iterator[str]:
    """Refuse a column that the configuration calls sensitive; note it where others were named."""
    from moanon.errors import QuestionError

    for name in own:
        if name in columns and name not in sensitive:  # who names it twice is refused anyway
            if not sensitive:
                raise QuestionError(
                    f"column {name!r} is sensitive in {file} and cannot be one of the columns that "
                    "people are recognized by; leave it out of --columns, or say with --sensitive "
                    "which one is"
                )
            yield f"{name} is sensitive in {file}; here it counts among what others may know"


def _gaps(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.missing:
        gaps = ", ".join(f"{name} ({rows:,})" for name, rows in diagnosis.missing.items())
        yield f"missing values count as a value of their own, no row is dropped: {gaps}"


def _dropped(read: Source, settled: Sequence[str]) -> Iterator[str]:
    """Say which rows the configuration would not anonymize, examined columns or not."""
    import numpy as np

    gaps = [column for column in read.columns if column.name in settled and column.missing]
    if gaps:
        rows = int(np.logical_or.reduce([column.codes < 0 for column in gaps]).sum())
        names = ", ".join(column.name for column in gaps)
        yield (
            f"the configuration drops {rows:,} {'row' if rows == 1 else 'rows'} without a value in "
            f"{names} before it anonymizes; here they are examined"
        )
