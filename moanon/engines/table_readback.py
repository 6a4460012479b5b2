"""Measuring a released table where it was written: by the database, over a connection of its own.

Nothing here is shared with what writes the table. The engine counts how often each tuple of labels
and sensitive values occurs in the table as it stands; the numbers are then those of any release.
"""

from __future__ import annotations

from moanon.engines.addresses import Address
from moanon.engines.databases import Database
from moanon.errors import CertificateError


def count_cells(
    address: Address, header: tuple[str, ...], measured: tuple[str, ...]
) -> dict[tuple[str | None, ...], int]:
    """Count the tuples of some columns of a table that must have a certain header."""
    database = Database(address)
    rows = database.rows()
    if tuple(rows.columns) != header:
        raise CertificateError(
            f"its columns are {', '.join(rows.columns)} instead of {', '.join(header)}"
        )
    with database.telling("cannot be read back", CertificateError):
        cells = rows.select(**{f"m{i}": rows[name] for i, name in enumerate(measured)})
        found = cells.group_by(list(cells.columns)).aggregate(n=cells.count()).to_pyarrow()
    columns = [found[f"m{i}"].to_pylist() for i in range(len(measured))]
    return dict(zip(zip(*columns, strict=True), found["n"].to_pylist(), strict=True))
