"""Reading results again, together with the table they belong to."""

from __future__ import annotations

import glob
from pathlib import Path

from moanon import datasets
from moanon.config import Config
from moanon.data.table import Table
from moanon.errors import DataError, MoanonError
from moanon.front import Front
from moanon.front.results import check_data, read_listed, read_record

__all__ = ["load_front", "read_rows"]


def load_front(
    folder: str | Path,
    data: str | Path | None = None,
    *,
    fallback: str | Path | None = None,
    advise: bool = True,
    option: str = "--data",
) -> Front:
    """Read the front of a results folder together with its table, as its configuration says.

    Parameters
    ----------
    folder : path
    data : path, optional
        Where the table is now, if it has moved; it must be the same.
    fallback : path, optional
        The same, for a table that need not have moved.
    advise : bool
        Whether to say how a command can be told where the table is now.
    option : str
        Which of its options takes that.

    Raises
    ------
    MoanonError
        If there are no results, or not whole ones; if the data or hierarchies are gone or are not
        what they were.
    """
    config = _config_of(folder, data)
    if data is None and fallback is not None and _is_gone(config):
        config = _config_of(folder, fallback)
    try:
        config.specs()  # a hierarchy that is gone is told before a large table is read
        table = config.read_table()
    except MoanonError as error:
        asked = isinstance(error, DataError) and data is None and fallback is None
        moved = asked and advise and _is_gone(config)
        hint = f"; if it has moved, say where with {option}" if moved else ""
        raise type(error)(f"the table of {folder} cannot be read: {error}{hint}") from None
    # First, since other data may also be at odds with the domains, which would explain less.
    check_data(folder, read_record(folder), table.source, table.digest)
    return Front.load(folder, config.instance_of(table))


def _is_gone(config: Config) -> bool:
    """Whether the table is neither embedded nor where the configuration says."""
    source = config.data.source
    if source in datasets.names() or Path(source).exists():
        return False
    return not glob.glob(source, recursive=True)  # noqa: PTH207 (absolute globs)


def read_rows(folder: str | Path, data: str | Path) -> Table:
    """Read other data the way the table of a results folder was read.

    Identifying columns are left out: they are not released, and the data need not have them.

    Raises
    ------
    MoanonError
        As for `load_front`; if the data lack a column, or cannot be read.
    """
    config = _config_of(folder, data)
    columns = {name: c for name, c in config.columns.items() if c.role != "identifying"}
    return config.model_copy(update={"columns": columns}).read_table()


def _config_of(folder: str | Path, data: str | Path | None) -> Config:
    """Read the configuration of a finished run, for its own data or for others."""
    folder = Path(folder)
    read_listed(folder, read_record(folder), "config.yaml")
    config = Config.load(folder / "config.yaml")
    if data is None:
        return config
    moved = config.data.model_copy(update={"source": str(data)})
    return config.model_copy(update={"data": moved})
