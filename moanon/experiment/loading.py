"""Reading results again, together with the table they belong to."""

from __future__ import annotations

from pathlib import Path

from moanon.config import Config
from moanon.data.table import Table
from moanon.errors import DataError, MoanonError
from moanon.front import Front
from moanon.results import check_data, read_listed, read_record

__all__ = ["load_front", "read_rows"]


def load_front(folder: str | Path, data: str | Path | None = None, *, advise: bool = True) -> Front:
    """Read the front of a results folder together with its table, as its configuration says.

    Parameters
    ----------
    folder : path
    data : path, optional
        Where the table is now, if it has moved; it must be the same.
    advise : bool
        Whether to say how a command can be told where the table is now.

    Raises
    ------
    MoanonError
        If there are no results, or not whole ones; if the data or hierarchies are gone or are not
        what they were.
    """
    config = _config_of(folder, data)
    try:
        config.specs()  # a hierarchy that is gone is told before a large table is read
        table = config.read_table()
    except MoanonError as error:
        gone = isinstance(error, DataError) and not Path(config.data.source).exists()
        hint = (
            "; if it has moved, say where with --data" if gone and advise and data is None else ""
        )
        raise type(error)(f"the table of {folder} cannot be read: {error}{hint}") from None
    # First, since other data may also be at odds with the domains, which would explain less.
    check_data(folder, read_record(folder), table.source, table.digest)
    return Front.load(folder, config.instance_of(table))


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
