"""The table: declared columns with their roles; what becomes of missing values is decided.

Only declared columns go on from here. What nobody declared is named, so that a publisher can see
it, and is never released.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Literal, get_args

from moanon.arrays import Bools, Outlined
from moanon.data.column import Column, Profile, absent_column, did_you_mean
from moanon.data.file_form import DEFAULT_ENCODING
from moanon.data.rows import RowStore
from moanon.data.source import Source
from moanon.errors import DataError

#: What becomes of rows that miss a quasi-identifying or sensitive value.
MissingPolicy = Literal["drop", "category", "error"]


class Role(StrEnum):
    """What a column is to the people in the table."""

    IDENTIFYING = "identifying"
    QUASI = "quasi"
    SENSITIVE = "sensitive"
    INSENSITIVE = "insensitive"


#: A missing value counts in these: it would decide who shares a group with whom, or what a group
#: reveals.
_COUNTED = (Role.QUASI, Role.SENSITIVE)


@dataclass(frozen=True, eq=False, repr=False)
class Table(Outlined):
    """Declared columns, ready to be generalized."""

    source: str  # what was read
    digest: str  # its SHA-256; of a database that of counts, see `moanon.data.source`
    roles: Mapping[str, Role]  # the declared columns, in file order
    store: RowStore  # where its rows are
    rows_in: int  # rows that were read: those here and those that were dropped
    rows_dropped: int  # for a missing value
    undeclared: tuple[str, ...]  # columns of the source without a role, which are never released
    files: tuple[Path, ...] = ()  # that were read, absolute; a release must not replace them
    encoding: str = DEFAULT_ENCODING  # of files that are text

    @property
    def columns(self) -> Mapping[str, Profile]:
        """Profiles of the declared columns.

        Under the policies ``drop`` and ``error`` the quasi-identifying and sensitive ones have no
        missing value; under ``category`` the column's domain gives it a base value of its own.
        """
        return self.store.columns

    @property
    def rows(self) -> int:
        """Rows here."""
        return self.store.rows

    def column(self, name: str) -> Column:
        """Give a declared column with its rows; see `known`."""
        return self.store.column(self.known(name))

    def checked(self, name: str) -> Profile:
        """Give the profile of a declared column; see `known`."""
        return self.columns[self.known(name)]

    def known(self, name: str) -> str:
        """Take the name of a declared column; an unknown one is refused with the nearest."""
        if name not in self.columns:
            raise absent_column(f"the table from {self.source}", name, self.columns)
        return name

    @property
    def identifying(self) -> tuple[str, ...]:
        """Columns that point to one person; dropped on release."""
        return self._with(Role.IDENTIFYING)

    @property
    def quasi(self) -> tuple[str, ...]:
        """Quasi-identifiers, in file order; generalized on release."""
        return self._with(Role.QUASI)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Columns whose values must not be learnt about a person; kept on release."""
        return self._with(Role.SENSITIVE)

    @property
    def insensitive(self) -> tuple[str, ...]:
        """Columns that matter to nobody; kept on release."""
        return self._with(Role.INSENSITIVE)

    def only(self, rows: Bools) -> Table:
        """Give the table with some of its rows, as if the others had not been read.

        Identifying columns stay behind.
        """
        shown = [name for name, role in self.roles.items() if role is not Role.IDENTIFYING]
        return self._over(self.store.held(shown).only(rows))

    def without(self, values: Mapping[str, Bools]) -> Table:
        """Give the table without the rows that hold one of some values; see `RowStore`."""
        return self._over(self.store.without(values))

    def _over(self, store: RowStore) -> Table:
        return replace(self, store=store, rows_in=self.rows_in - self.rows + store.rows)

    @property
    def dropped(self) -> str:
        """Say how many rows were dropped; nothing where none was."""
        return dropped_note(self.rows_dropped, self.rows_in)

    def _with(self, role: Role) -> tuple[str, ...]:
        return tuple(name for name, given in self.roles.items() if given is role)


def dropped_note(dropped: int, rows_in: int) -> str:
    """Say how many of the rows that were read were dropped; nothing where none was."""
    were = "was" if dropped == 1 else "were"
    return f"{dropped:,} of {_rows(rows_in)} {were} dropped for missing values" if dropped else ""


def give_roles(
    source: Source, roles: Mapping[str, Role | str], missing: MissingPolicy = "error"
) -> Table:
    """Give columns their roles and decide about missing values.

    See :func:`moanon.engines.read_table`. After rows are dropped, a column's values are again
    exactly those that occur: a value known only from dropped rows would otherwise widen an interval
    or show up as an empty category.
    """
    given = check_roles(roles)
    check_policy(missing)
    present = source.store.columns
    for name in given:
        if name not in present:
            raise absent_column(source.name, name, [*present, *source.unread])
    store = source.store.chosen(list(given))
    ordered = {name: given[name] for name in store.columns}
    counted = [store.columns[name] for name, role in ordered.items() if role in _COUNTED]
    for column in counted:
        if not column.values:
            raise DataError(
                f"{source.name}: the {given[column.name]} column {column.name!r} has no value in "
                f"any of its {_rows(store.rows)}"
            )
    complete = store
    if missing != "category" and any(column.missing for column in counted):
        complete = _complete_rows(store, counted, missing, source.name)
    return Table(
        source=source.name,
        digest=source.digest,
        roles=ordered,
        store=complete,
        rows_in=store.rows,
        rows_dropped=store.rows - complete.rows,
        undeclared=(*(name for name in present if name not in given), *source.unread),
        files=source.files,
    )


def check_roles(roles: Mapping[str, Role | str]) -> dict[str, Role]:
    """Take roles by their names; refused where one is none, or no column is quasi."""
    known = [role.value for role in Role]
    if not isinstance(roles, Mapping):
        raise DataError(
            "roles must be a mapping of column names to roles, such as {'age': 'quasi'}. "
            f"Got {type(roles).__name__}"
        )
    for name, role in roles.items():
        if role not in known:
            raise DataError(
                f"the role of column {name!r} must be one of {', '.join(known)}. "
                f"Got {role!r}{did_you_mean(str(role), known)}"
            )
    given = {name: Role(role) for name, role in roles.items()}
    if Role.QUASI not in given.values():
        raise DataError("there is no quasi-identifier: give at least one column the role quasi")
    return given


def check_policy(missing: str) -> None:
    """Refuse what is no policy for missing values."""
    known = get_args(MissingPolicy)
    if missing not in known:
        raise DataError(
            f"missing must be one of {', '.join(known)}. "
            f"Got {missing!r}{did_you_mean(str(missing), known)}"
        )


def _complete_rows(
    store: RowStore, counted: Sequence[Profile], missing: MissingPolicy, source: str
) -> RowStore:
    """Leave out the rows that miss a value, or refuse them."""
    gaps = _listed(f"{c.name!r} ({_rows(c.missing)})" for c in counted if c.missing)
    if missing == "error":
        raise DataError(
            f"{source} misses values in {gaps}; complete the data, or say what becomes of "
            "such rows with missing: drop (they are left out), category (missing is a value of its "
            "own) or error (they are refused, as now)"
        )
    complete = store.complete([column.name for column in counted if column.missing])
    if not complete.rows:
        raise DataError(
            f"{source} has no row left: all {_rows(store.rows)} were dropped for missing "
            f"values in {gaps}"
        )
    return complete


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def _listed(parts: Iterable[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
