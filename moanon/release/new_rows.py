"""A stored generalization for rows that it was not made from.

What the values of a quasi-identifier are was settled when the search ran: a range may come from its
data, and so does the place for missing values. New rows are read against exactly those domains,
never against domains of their own, since otherwise the same label would mean something else in two
files. A value without a place there is *outside*: such rows are refused, or suppressed on request.
So it is with a sensitive value that is not among those whose distances were declared: nobody could
say how close a group with it is to the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from moanon.arrays import Bools
from moanon.data.column import Profile
from moanon.data.domain import Domain
from moanon.data.table import Role, Table
from moanon.errors import ConfigError, DataError, OutputError
from moanon.genome import Instance

#: What becomes of rows with a value outside the domains.
Outside = Literal["refuse", "suppress"]


def fit_rows(
    instance: Instance, table: Table, outside: Outside = "refuse"
) -> tuple[Instance, Bools | int]:
    """Read new rows against the domains of another table.

    The columns must have the same roles; identifying ones may be absent. Returned are the rows that
    fit, their columns in the order of `instance`, and for each row whether it was left out, or how
    many were where rows are elsewhere.
    """
    if outside not in get_args(Outside):
        raise ConfigError(f"rows outside are 'refuse' or 'suppress'. Got {outside!r}")
    _check_roles(instance.table, table)
    domains = {**instance.layout.domains, **instance.distances}
    values = {name: _outside(domain, table.columns[name]) for name, domain in domains.items()}
    is_outside = table.store.holding(values)
    if np.any(is_outside):
        if outside == "refuse":
            raise _refusal(domains, table)
        if np.sum(is_outside) == table.rows:
            raise OutputError(
                f"no row of {table.source} would be released: each holds a value outside the "
                "domains of the generalization"
            )
        table = table.without(values)
    table = _in_order_of(instance.table, table)
    return instance.over(table), is_outside


def _check_roles(first: Table, table: Table) -> None:
    """Refuse other columns: a sensitive one that is absent would count as diverse enough.

    Identifying ones are not released, so it does not matter whether they are there.
    """
    for name in sorted({*first.roles, *table.roles}):
        here, there = table.roles.get(name, "absent"), first.roles.get(name, "absent")
        if here != there and {here, there} != {"absent", Role.IDENTIFYING}:
            raise DataError(
                f"{table.source} must have the columns of the run in their roles: {name!r} is "
                f"{there} there and {here} here"
            )


def _outside(domain: Domain, column: Profile) -> Bools:
    """Values of a column that a domain has no place for, and last whether it has none for gaps."""
    return np.append(domain.find(column.values) < 0, not domain.has_missing)


def _refusal(domains: Mapping[str, Domain], table: Table) -> DataError:
    """Say which values of the first column with such are outside."""
    for name, domain in domains.items():
        try:
            domain.codes(table.columns[name])
        except DataError as error:
            return DataError(
                f"{table.source}: {error}; correct them, or suppress such rows (outside='suppress')"
            )
    raise AssertionError("a row was outside, and no column says why")


def _in_order_of(first: Table, table: Table) -> Table:
    """Let two releases have their columns in one order, and neither replace the other's source."""
    names = sorted(table.roles, key=[*first.roles, *table.roles].index)
    return replace(
        table,
        roles={name: table.roles[name] for name in names},
        files=(*table.files, *first.files),
    )
