"""Cells of files as the strict reader would write them, in SQL.

Most types have texts that DuckDB writes in the same way. Others go through a table of their
distinct values, whose texts are made here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from moanon.data.readers import released_type
from moanon.engines.duck import literal

if TYPE_CHECKING:
    from moanon.engines.files import RowsInFiles

#: Whole numbers of at most 64 bits, with a sign.
WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
#: SQL type → how its values are written as the strict reader writes them.
_DIRECT = {
    **dict.fromkeys((*WHOLE, "DECIMAL", "UUID"), "{0}::VARCHAR"),
    "BOOLEAN": "CASE WHEN {0} THEN 'True' WHEN NOT {0} THEN 'False' END",
    "VARCHAR": "{0}",
}


def direct_text(store: RowsInFiles, name: str) -> tuple[str, str] | None:
    """SQL of the text of a cell of row ``r``, NULL where it is missing, and its type in a release.

    None where only a table of distinct values has the texts.
    """
    kind = re.sub(r"\(.*", "", store.relation.type_of(name))
    if kind not in _DIRECT or is_respelled(store, name):
        return None
    shown = _DIRECT[kind].format(f"r.{store.relation.place(name)}")
    if store.reading.tokens:
        tokens = ", ".join(map(literal, sorted(store.reading.tokens)))
        shown = f"CASE WHEN {shown} IN ({tokens}) THEN NULL ELSE {shown} END"
    return shown, released_type(kind)


def is_respelled(store: RowsInFiles, name: str) -> bool:
    """Whether the texts of a column are other ones in its profile than in its files."""
    return store.reading.normalize and store.relation.type_of(name) == "VARCHAR"


def text_table(store: RowsInFiles, name: str, texts: Sequence[str]) -> str:
    """Put the distinct values of a column (v) beside texts, one for each value of its profile."""
    value_of, session = store.value_of(name), store.session
    there = np.flatnonzero(value_of[:-1] >= 0)
    chosen = np.array([texts[value_of[i]] for i in there], dtype=object)
    # As a type of its own, which holds each text once.
    numbered = session.store({"number": there.astype(np.int32), "text": chosen})
    table = session.new_name("shown")
    session.execute(
        f"CREATE TEMP TABLE {table} AS SELECT v, text::VARCHAR AS text "
        f"FROM {store.distinct_table(name)} JOIN {numbered} USING (number)"
    )
    session.drop([numbered])
    return table
