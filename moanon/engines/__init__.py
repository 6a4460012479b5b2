"""Rows that stay where they are: in files larger than memory, in a database, in a cluster.

Everything after a `moanon.data.table.Table` asks its rows for profiles of columns and for counts of
tuples (`moanon.data.rows.RowStore`). Here these are answered by an engine:

- ``opening`` decides where the rows of a table are left: small files are read into memory.
- ``elsewhere``: what all engines share, so that texts, missing values and domains are the same
  wherever rows are.
- ``files``: Parquet and CSV through DuckDB (``duck``), out of core; ``plain_csv`` finds the CSV
  files that DuckDB reads as the strict reader does, which writes others again (``rewritten_csv``).
"""

from moanon.engines.opening import OpenedSource, open_source, read_table

__all__ = ["OpenedSource", "open_source", "read_table"]
