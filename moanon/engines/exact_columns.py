"""Columns of a database, so that equal values are the same ones.

A collation may take HIV and hiv for one value, or texts that differ in the blanks at their end. The
spelling that such a group shows may be that of a row that is suppressed. So texts are compared by
their bytes; a column of which that cannot be had is refused.

SQLite keeps in a column whatever is put there, and dates, times and decimal numbers as texts or
numbers of any form. They are compared as they are stored, and become what they are declared as only
here. A value that the database would not find again is refused: it must not become a missing one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from moanon.arrays import Ints
from moanon.errors import DataError

if TYPE_CHECKING:
    from moanon.engines.databases import Database

#: Columns of a table of PostgreSQL whose texts are equal although they differ: by a collation
#: (before version 12 there was none such) or by their type.
_LOOSE = """
    SELECT a.attname FROM pg_attribute a
    JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_type base ON base.oid = t.typbasetype
    LEFT JOIN pg_collation c ON c.oid = a.attcollation
    WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped AND (
        NOT coalesce((to_jsonb(c) ->> 'collisdeterministic')::boolean, true)
        OR 'citext' IN (t.typname, base.typname)
    )
"""
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"\d\d:\d\d(:\d\d(\.\d{1,6})?)?")
_INSTANT = re.compile(rf"{_DAY.pattern}([ T]{_TIME.pattern}(Z|[+-]\d\d:\d\d)?)?")
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?(e[+-]?\d+)?", re.IGNORECASE)


class ExactColumns:
    """Columns of a source as expressions that are compared exactly.

    Parameters
    ----------
    database : Database
    rows : expression of ibis
        The source.
    """

    def __init__(self, database: Database, rows: Any) -> None:
        self._database, self._rows = database, rows
        self._backend = database.connection.name

    def __getitem__(self, name: str) -> Any:
        """Give the column as it is to be grouped, joined and shown."""
        import ibis

        column = self._rows[name]
        kind = column.type()
        if self._backend == "sqlite":
            if kind.is_string():
                return column + ""  # an expression has no collation
            return column.cast("string") + "" if self._parser(name) else column
        if self._backend == "postgres" and name in self._loose:
            return _from_bytes_in_postgres(column.cast("string"))
        if self._backend == "duckdb" and kind.is_string():
            return _from_bytes_in_duckdb(column)
        if kind.is_floating():  # a number that is none is no value; SQLite has no such number
            return ibis.ifelse(column.isnan(), ibis.null(kind), column + 0.0)
        return column

    @cached_property
    def _loose(self) -> frozenset[str]:
        """Columns in PostgreSQL of which different texts can be equal."""
        connection = self._database.connection
        with connection.con.cursor() as cursor:
            cursor.execute(connection.compile(self._rows.limit(0)))
            table = cursor.pgresult.ftable(0)
            return frozenset(name for (name,) in cursor.execute(_LOOSE, [table]).fetchall())

    def _parser(self, name: str) -> Callable[[str], Any] | None:
        """What makes values of texts that SQLite holds; None if it is not asked for texts."""
        kind = self._rows[name].type()
        if kind.is_date():
            return _parser(_DAY, date.fromisoformat)
        if kind.is_timestamp():
            return _parser(_INSTANT, datetime.fromisoformat)
        if kind.is_time():
            return _parser(_TIME, time.fromisoformat)
        if kind.is_decimal():
            return _parser(_NUMBER, Decimal)
        return (
            str if kind.is_null() else None
        )  # where nothing is declared, and the first is missing

    def distinct(self, name: str) -> tuple[Any, Ints]:
        """Give the distinct values of a column as the database has them, and rows of each."""
        rows = self._rows.select(v=self[name])
        grouped = rows.group_by("v").aggregate(n=rows.count())
        if self._backend == "sqlite":
            return self._stored(name, grouped)
        found = grouped.to_pyarrow()
        return found["v"].combine_chunks(), found["n"].to_numpy()

    def _stored(self, name: str, grouped: Any) -> tuple[Any, Ints]:
        """Ask SQLite itself: by ibis, a whole number beside a missing one becomes a float."""
        import pyarrow as pa

        connection, kind = self._database.connection, self[name].type()
        found = connection.con.execute(connection.compile(grouped)).fetchall()
        values = [value for value, _ in found]
        for fits, make in ((kind.is_integer(), _whole), (kind.is_boolean(), _truth),
                           (kind.is_floating(), _float)):  # fmt: skip
            if fits:
                values = [v if v is None else self._parsed(name, make, v) for v in values]
        return pa.array(values), np.array([count for _, count in found], dtype=np.int64)

    def values(self, name: str, raw: Any) -> list[Any]:
        """Give what the distinct values of a column are, of an array of what the database has.

        Raises
        ------
        DataError
            If the database takes different ones for the same, or does not find them again.
        """
        texts: list[Any] = raw.to_pylist()
        kind = self._rows[name].type()
        if self._backend == "sqlite":
            parse = self._parser(name)
            return [self._parsed(name, parse, text) for text in texts] if parse else texts
        if kind.is_string():
            if self._backend not in ("postgres", "duckdb"):
                self._refuse_united(name, texts)
        elif not kind.is_integer():
            self._refuse_lost(name, raw)
        return texts

    def _parsed(self, name: str, parse: Callable[[Any], Any], stored: object) -> Any:
        try:
            return parse(stored)
        except ValueError:
            raise self._unfit(name, str(stored)) from None

    def _refuse_united(self, name: str, texts: list[str]) -> None:
        """Refuse a column in which a text equals the same one in other letters or with a blank."""
        text = next((text for text in texts if text.swapcase() != text), None)
        if text is None:
            return
        v = self[name]
        same = (v == text) & ((v == text.swapcase()) | (v == f"{text} "))
        if self._rows.filter(same).limit(1).count().to_pyarrow().as_py():
            raise DataError(
                f"{self._database.address}: column {name!r} has a collation that takes texts for "
                "the same which differ in case or in blanks at the end; name a query that gives it "
                "one by bytes"
            )

    def _refuse_lost(self, name: str, raw: Any) -> None:
        """Refuse a column that holds what equals none of the values that came of it."""
        import ibis
        import pyarrow as pa

        rows = self._rows.select(v=self[name])
        known = ibis.memtable(pa.table({"w": raw}))
        lost = rows.filter(rows.v.notnull()).anti_join(known, rows.v == known.w)
        found = lost.limit(1).select(text=lost.v.cast("string")).to_pyarrow()["text"].to_pylist()
        if found:
            raise self._unfit(name, found[0])

    def _unfit(self, name: str, text: str) -> DataError:
        return DataError(
            f"{self._database.address}: column {name!r} is declared {self._rows[name].type()} and "
            f"holds {text!r}, which is none; name a query that reads it as text, or mend the value"
        )


def _parser(form: re.Pattern[str], make: Callable[[str], Any]) -> Callable[[str], Any]:
    """Make values of texts of one form alone: Python's own functions take more, and cut some."""

    def parse(text: str) -> Any:
        if form.fullmatch(text) is None:
            raise ValueError(text)
        return make(text)

    return parse


def _whole(stored: object) -> int:
    if not isinstance(stored, int):
        raise ValueError(stored)
    return stored


def _truth(stored: object) -> bool:
    if stored not in (0, 1):
        raise ValueError(stored)
    return bool(stored)


def _float(stored: object) -> float:
    if not isinstance(stored, int | float) or float(stored) != stored:
        raise ValueError(stored)
    return float(stored)


def _from_bytes_in_duckdb(column: Any) -> Any:
    """A text without its collation, which goes with any other function."""
    from ibis import udf

    encode = udf.scalar.builtin(lambda text: text, name="encode", signature=(("string",), "binary"))
    decode = udf.scalar.builtin(
        lambda given: given, name="decode", signature=(("binary",), "string")
    )
    return decode(encode(column))


def _from_bytes_in_postgres(column: Any) -> Any:
    """A text in the collation of the database, where different texts differ."""
    from ibis import udf

    takes, name = ("string", "string"), "convert_to"
    encode = udf.scalar.builtin(lambda text, code: text, name=name, signature=(takes, "binary"))
    takes, name = ("binary", "string"), "convert_from"
    decode = udf.scalar.builtin(lambda given, code: given, name=name, signature=(takes, "string"))
    return decode(encode(column, "UTF8"), "UTF8")
