"""Rows that stay in their files, read by DuckDB out of core.

`open_files` takes Parquet and CSV: plain files (see ``plain_csv``) as they are, others after the
strict reader has written them again (``rewritten_csv``). Of the rows only distinct values and
counts of tuples come back.

Parquet is read column by column whenever something is asked. CSV is parsed once: of the columns
that are asked about, the distinct rows with their counts stay in a temporary table; or, where
nearly all rows differ, all rows in a temporary Parquet file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np

from moanon.arrays import Bools, Ints, Values
from moanon.data.cell_reading import CellReading
from moanon.data.column import Column, refuse_bad_names, typed_column
from moanon.data.decoding import DEFAULT_ENCODING
from moanon.data.file_form import BLANKS, FileForm
from moanon.data.readers import FETCH, NATIVE, ZONED, released_type, top_level
from moanon.data.rows import Labelling, RowOrder
from moanon.engines.duck import DuckSession, TupleKeys, copy_columns, copy_lines, key_order, literal
from moanon.engines.elsewhere import DistinctValues, RowsElsewhere
from moanon.engines.labelled import LabelledRows
from moanon.engines.plain_csv import PlainCsv, look_at
from moanon.engines.rewritten_csv import rewrite
from moanon.errors import DataError

_FLOATS = ("DOUBLE", "FLOAT")
#: So many rows tell whether nearly all differ.
_SAMPLE = 200_000
_MOSTLY = 0.3


@dataclass
class Relation:
    """Files as SQL: a relation whose columns are named by their places in the header."""

    session: DuckSession
    files: tuple[Path, ...]
    header: tuple[str, ...]
    types: tuple[str, ...]
    rows: str  # SQL of all rows, in the order of the files
    staged: tuple[str, str] | None = (
        None  # where some columns were put, and how to count rows there
    )
    staged_columns: frozenset[str] = field(default_factory=frozenset)

    def of(self, names: Sequence[str]) -> tuple[str, str]:
        """Where to read columns, and how rows are counted there."""
        if self.staged and self.staged_columns.issuperset(names):
            return self.staged
        return self.rows, "count(*)"

    def place(self, name: str) -> str:
        """What SQL calls a column."""
        if name not in self.header:
            raise DataError(
                f"{self.files[0]}: no copy is made of the identifying column {name!r}; read it in "
                "another role"
            )
        return f"c{self.header.index(name)}"

    def type_of(self, name: str) -> str:
        """Its SQL type."""
        return self.types[self.header.index(name)]


def open_files(
    files: Sequence[Path],
    names: Sequence[str] | None,
    asked: Sequence[str] | None,
    *,
    session: DuckSession,
    reading: CellReading,
    form: FileForm,
    uncopied: Collection[str] = (),
) -> tuple[RowsInFiles, tuple[str, ...]] | None:
    """Open files of one kind as one table.

    Parameters
    ----------
    files : sequence of Path
    names : sequence of str or None
        The columns that are read at all; None for all there are.
    asked : sequence of str or None
        Those of them that tuples will be counted of.
    session : DuckSession
        The database that reads them.
    reading : CellReading
        How cells become values.
    form : FileForm
        How the files are written.
    uncopied : collection of str
        Columns that are in no temporary file. Where the files are not read as they are, nobody can
        ask for such a column.

    Returns
    -------
    The rows and the names of all columns of the files; or None where only the strict reader, into
    memory, can read them or say what is wrong with them.
    """
    if _is_parquet(files):
        form.refuse_names(str(files[0]))
        relation = _of_parquet(session, tuple(files))
        if relation is None or not set(names or ()) <= set(relation.header):
            return None
        header = relation.header
    else:
        found = _open_csv(files, names, asked, form, session, uncopied)
        if found is None:
            return None
        relation, header = found
    ordered = [name for name in header if names is None or name in set(names)]
    return RowsInFiles(relation, ordered, reading), header


def _open_csv(
    files: Sequence[Path],
    names: Sequence[str] | None,
    asked: Sequence[str] | None,
    form: FileForm,
    session: DuckSession,
    uncopied: Collection[str],
) -> tuple[Relation, tuple[str, ...]] | None:
    """Open CSV files as they are or, unless they are plain, as the strict reader writes them."""

    def is_staged(relation: Relation, rows: int) -> bool:
        wanted = [name for name in relation.header if asked is None or name in set(asked)]
        return _stage(relation, wanted, rows)

    is_readable = form.encoding == DEFAULT_ENCODING and files[0].suffix.lower() != ".zst"
    plain = look_at(files, form) if is_readable else None
    if plain is not None and set(names or ()) <= set(plain.header):
        relation = _of_csv(session, tuple(files), plain, form)
        if is_staged(relation, plain.rows):
            return relation, plain.header
    place = session.folder / f"{session.new_name('rewritten')}.csv"
    plain, header = rewrite(files, names, form, place, uncopied)
    if not plain.rows:
        return None
    relation = _of_csv(session, (place,), plain, FileForm(trim=form.trim))
    relation.files = tuple(files)
    if not is_staged(relation, plain.rows):
        return None
    return relation, header


def _is_parquet(files: Sequence[Path]) -> bool:
    return files[0].suffix.lower() == ".parquet"


def _paths(files: Sequence[Path]) -> str:
    """A list of files in SQL, where a path is a glob: brackets make its signs plain."""
    plain = [re.sub(r"([*?[])", r"[\1]", str(file.absolute())) for file in files]
    return f"[{', '.join(map(literal, plain))}]"


def _of_parquet(session: DuckSession, files: tuple[Path, ...]) -> Relation | None:
    """Parquet files of the same columns and types; None where they are not."""
    import duckdb

    forms = set()
    for file in files:
        try:
            schema = session.database.execute(
                f"SELECT name, num_children FROM parquet_schema({_paths([file])})"
            ).fetchall()
            described = session.database.execute(
                f"DESCRIBE FROM read_parquet({_paths([file])}, hive_partitioning = false)"
            ).fetchall()
        except duckdb.Error:
            return None
        forms.add((top_level(schema), tuple(str(row[1]) for row in described)))
    if len(forms) > 1:
        return None
    ((header, types),) = forms
    try:
        refuse_bad_names(str(files[0]), header)
    except DataError:
        return None  # the strict reader says it
    lower = {name.lower() for name in header}
    readable = all(_plain_type(sql_type) in FETCH for sql_type in types)
    # Several files go by names, which DuckDB takes for the same if they differ in case only.
    if not readable or len(types) != len(header) or (len(files) > 1 and len(lower) < len(header)):
        return None
    given = ", ".join(f"a{i}" for i in range(len(header)))
    columns = ", ".join(f"{_cleaned(f'a{i}', t)} AS c{i}" for i, t in enumerate(types))
    table = f"read_parquet({_paths(files)}, hive_partitioning = false) AS t({given})"
    return Relation(session, files, header, types, f"(SELECT {columns} FROM {table})")


def _plain_type(sql_type: str) -> str:
    """DECIMAL(10,2) is a DECIMAL."""
    return re.sub(r"\(\d+,\s*\d+\)$", "", sql_type)


def _cleaned(column: str, sql_type: str) -> str:
    """A number that is none is no value, and there is but one zero.

    Some versions of DuckDB take it from the least and the greatest number of a file, which are
    numbers, that none of them is none.
    """
    if sql_type in _FLOATS:
        return f"CASE WHEN isfinite({column}) OR isinf({column}) THEN {column} + 0 END"
    return column


def _of_csv(
    session: DuckSession, files: tuple[Path, ...], plain: PlainCsv, form: FileForm
) -> Relation:
    width = len(plain.header)
    columns = ", ".join(f"c{i}: 'VARCHAR'" for i in range(width))
    names = ", ".join(f"'c{i}'" for i in range(width))
    options = (
        f"auto_detect = false, header = {str(form.first_line_names).lower()}, "
        f"delim = {literal(plain.delimiter)}, "
        f"quote = '\"', escape = '\"', strict_mode = true, null_padding = false, "
        f"columns = {{{columns}}}, force_not_null = [{names}]"
    )
    cells = "*"
    if form.trim:
        cells = ", ".join(f"trim(c{i}, {literal(BLANKS)}) AS c{i}" for i in range(width))
    rows = f"(SELECT {cells} FROM read_csv({_paths(files)}, {options}))"
    return Relation(session, files, plain.header, ("VARCHAR",) * width, rows)


def _stage(relation: Relation, asked: Sequence[str], rows: int) -> bool:
    """Parse CSV files once; False if DuckDB does not read as many rows as are there.

    A file that looks plain and is not to DuckDB (a line longer than it takes) is left alone.
    """
    import duckdb

    session = relation.session
    columns = ", ".join(map(relation.place, asked))
    first = f"SELECT {columns} FROM {relation.rows} LIMIT {_SAMPLE}"
    try:
        differ = session.database.execute(
            f"SELECT count(*) FROM (SELECT DISTINCT * FROM ({first}))"
        )
        if differ.fetchall()[0][0] > _SAMPLE * _MOSTLY:
            file = literal(str(session.folder / f"{session.new_name('staged')}.parquet"))
            session.database.execute(
                f"COPY (SELECT {columns} FROM {relation.rows}) TO {file} (FORMAT PARQUET)"
            )
            relation.staged = f"read_parquet({file})", "count(*)"
        else:
            table = session.new_name("counted")
            session.database.execute(
                f"CREATE TEMP TABLE {table} AS SELECT {columns}, count(*) AS n "
                f"FROM {relation.rows} GROUP BY ALL"
            )
            relation.staged = table, "sum(n)::BIGINT"
    except duckdb.InvalidInputException:
        return False
    except duckdb.Error as error:
        raise session.told(error) from None
    relation.staged_columns = frozenset(asked)
    table, number = relation.staged
    return int(session.value(f"SELECT {number} FROM {table}") or 0) == rows


class RowsInFiles(RowsElsewhere):
    """Rows of Parquet and CSV files."""

    def __init__(self, relation: Relation, names: Sequence[str], reading: CellReading) -> None:
        super().__init__(names)
        self.relation = relation
        self.reading = reading
        self._tables: dict[str, str] = {}  # of the distinct values of a column: v, number

    @property
    def session(self) -> DuckSession:
        """The database that reads the files."""
        return self.relation.session

    def count_all(self) -> int:
        """Count all rows, whatever is left out."""
        rows, number = self.relation.staged or (self.relation.rows, "count(*)")
        return int(self.session.value(f"SELECT {number} FROM {rows}") or 0)

    def distinct_table(self, name: str) -> str:
        """The table of a column's distinct values (v) and their numbers."""
        self.distinct(name)
        return self._tables[name]

    def joined(self, codes: Mapping[str, Ints], texts: Mapping[str, Sequence[str]]) -> JoinedCodes:
        """Bring codes of the values in profiles to rows, those outside among them.

        Of some columns also a text for each code.
        """
        by_number = {name: code[self.value_of(name)] for name, code in codes.items()}
        return JoinedCodes(self, by_number, self._incomplete, self._outside, texts)

    def write(
        self, labelling: Labelling, path: Path, spell: Callable[[str], str] | None
    ) -> tuple[int, RowOrder]:
        rows = LabelledRows(self, labelling, spell)
        try:
            statement = (
                copy_lines(rows.lines(), path) if spell else copy_columns(rows.query(), path)
            )
            with self.session.in_order():
                self.session.write(statement, path)
            return rows.formula_cells(), "source" if labelling.shuffle is None else "shuffled"
        finally:
            rows.drop()

    def look_up(self, name: str) -> DistinctValues:
        session, column = self.session, self.relation.place(name)
        rows, number = self.relation.of([name])
        found, table = session.new_name("found"), session.new_name("distinct")
        session.execute(
            f"CREATE TEMP TABLE {found} AS "
            f"SELECT {column} AS v, {number} AS n FROM {rows} GROUP BY 1"
        )
        session.execute(
            f"CREATE TEMP TABLE {table} AS SELECT v, n, "
            f"(row_number() OVER () - 1)::INTEGER AS number FROM {found} WHERE v IS NOT NULL"
        )
        nothing = session.value(f"SELECT sum(n)::BIGINT FROM {found} WHERE v IS NULL") or 0
        session.drop([found])
        self._tables[name] = table
        sql_type = self.relation.type_of(name)
        fetch = FETCH[_plain_type(sql_type)].format("v")
        pairs = session.execute(f"SELECT {fetch}, n FROM {table} ORDER BY number").fetchall()
        counts = np.array([count for _, count in pairs] + [nothing], dtype=np.int64)
        return DistinctValues(self._texts(name, [value for value, _ in pairs], sql_type), counts)

    def _texts(self, name: str, values: list[object], sql_type: str) -> Column:
        """Write the distinct values of a column as the strict reader does."""
        first = str(self.relation.files[0])
        native = NATIVE.get(sql_type)
        try:
            values = [native(value) for value in values] if native else values
        except ValueError as error:
            raise DataError(f"{first}: column {name!r} cannot be read: {error}") from None
        numbers = np.arange(len(values), dtype=np.int32)
        column = typed_column(first, name, values, numbers, utc=sql_type in ZONED)
        if not _is_parquet(self.relation.files):
            column = Column(column.name, column.codes, column.values, None)  # texts have no type
        return self.reading.settle(column)

    def tally(
        self, codes: Mapping[str, Ints], left_out: Mapping[str, Bools]
    ) -> tuple[Values, Ints]:
        names = [*codes, *(name for name in left_out if name not in codes)]
        joined = JoinedCodes(self, codes, left_out, {})
        keys = TupleKeys([int(code.max(initial=0)) + 1 for code in codes.values()])
        expressions = keys.expressions([joined.code(name) for name in codes])
        columns = ", ".join(f"{each} AS k{i}" for i, each in enumerate(expressions))
        rows, number = self.relation.of(names)
        try:
            found = self.session.fetch(
                f"SELECT {columns}, {number} AS rows FROM {rows} AS r {joined.joins} "
                f"{joined.where} GROUP BY ALL"
            )
        finally:
            self.session.drop(joined.tables)
        parts = [np.asarray(found.pop(f"k{i}"), np.int64) for i in range(len(expressions))]
        self.session.give_back()
        order = key_order(parts)
        return keys.tuples(parts, order), np.asarray(found.pop("rows"), np.int64)[order]

    def find(self, codes: Mapping[str, Ints], tuples: Values) -> tuple[Ints, Ints]:
        joined = self.joined(codes, {})
        keys = TupleKeys([int(code.max(initial=0)) + 1 for code in codes.values()])
        wanted = {f"k{i}": key for i, key in enumerate(keys.of(tuples))}
        marked = self.session.store({**wanted, "which": np.arange(tuples.shape[1])})
        expressions = keys.expressions([joined.code(name) for name in codes])
        columns = ", ".join(f"{each} AS k{i}" for i, each in enumerate(expressions))
        query = (
            f"SELECT place, which FROM (SELECT {columns}, row_number() OVER () - 1 AS place "
            f"FROM {self.relation.rows} AS r {joined.joins} {joined.where}) "
            f"JOIN {marked} USING ({', '.join(wanted)})"
        )
        try:
            with self.session.in_order():
                found = self.session.fetch(query)
        finally:
            self.session.drop([*joined.tables, marked])
        rows, which = (np.asarray(found[key], np.int64) for key in ("place", "which"))
        order = np.argsort(rows)
        return rows[order], which[order]

    def column(self, name: str) -> Column:
        """Fetch a column row by row, in the order of the files."""
        profile, value_of = self._columns.numbered(name)
        joined = JoinedCodes(self, {name: value_of}, self._left_out, {})
        rows = self.relation.rows
        try:
            with self.session.in_order():
                found = self.session.fetch(
                    f"SELECT {joined.code(name)}::INTEGER AS code FROM {rows} AS r {joined.joins} "
                    f"{joined.where}"
                )
        finally:
            self.session.drop(joined.tables)
        codes = np.asarray(found["code"]).astype(np.int32)
        sql_type = released_type(self.relation.type_of(name))
        return Column(name, codes, profile.values, profile.native, sql_type)


class JoinedCodes:
    """Joins that bring the codes of values to rows, and tell rows that are left out.

    Attributes
    ----------
    tables : list of str
        What is joined, to be dropped afterwards.
    joins, where, outside : str
        SQL: the joins; which rows there are; which of them hold values that have no place.
    """

    def __init__(
        self,
        store: RowsInFiles,
        codes: Mapping[str, Ints],
        left_out: Mapping[str, Bools],
        outside: Mapping[str, Bools],
        texts: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        self._session = store.session
        self._texts = texts
        self._aliases: dict[str, str] = {}
        self._nothing: dict[str, int] = {}
        self.tables: list[str] = []
        joins: list[str] = []
        conditions: dict[str, list[str]] = {"left_out": [], "outside": []}
        for name in dict.fromkeys([*codes, *left_out, *outside]):
            numbers = len(store.distinct(name).counts)
            code = codes.get(name, np.zeros(numbers, dtype=np.int64))
            nothing = np.zeros(numbers, dtype=bool)
            marks = {"left_out": left_out.get(name, nothing), "outside": outside.get(name, nothing)}
            table, alias = self._store(store, name, code, marks), f"j{len(joins)}"
            self._aliases[name] = alias
            self._nothing[name] = int(code[-1])
            joins.append(
                f"LEFT JOIN {table} AS {alias} ON r.{store.relation.place(name)} = {alias}.v"
            )
            for kind, marked in marks.items():
                if marked.any():
                    gap = str(bool(marked[-1])).lower()
                    conditions[kind].append(f"coalesce({alias}.{kind}, {gap})")
        self.joins = " ".join(joins)
        wanted = " AND ".join(f"NOT {each}" for each in conditions["left_out"])
        self.where = f"WHERE {wanted}" if wanted else ""
        self.outside = " OR ".join(conditions["outside"])

    def _store(self, store: RowsInFiles, name: str, code: Ints, marks: Mapping[str, Bools]) -> str:
        columns: dict[str, Values] = {
            "number": np.arange(len(code) - 1, dtype=np.int32),
            "code": code[:-1].astype(np.int64),
            **{kind: marked[:-1] for kind, marked in marks.items()},
        }
        if name in self._texts:
            columns["text"] = np.array(self._texts[name], dtype=object)[code[:-1]]
        given = self._session.store(columns)
        table = self._session.new_name("codes")
        found = ", ".join(
            f"{each}::VARCHAR AS text" if each == "text" else each for each in columns
        )
        self._session.execute(
            f"CREATE TEMP TABLE {table} AS SELECT v, {found} "
            f"FROM {store.distinct_table(name)} JOIN {given} USING (number)"
        )
        self._session.drop([given])
        self.tables.append(table)
        return table

    def code(self, name: str) -> str:
        """SQL of the code of a row in a column."""
        return f"coalesce({self._aliases[name]}.code, {self._nothing[name]})"

    def text(self, name: str) -> str:
        """SQL of the text that goes with it."""
        nothing = literal(self._texts[name][self._nothing[name]])
        return f"coalesce({self._aliases[name]}.text, {nothing})"
