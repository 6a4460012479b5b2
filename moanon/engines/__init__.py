"""Where rows are: in files, in memory, in a database, in a cluster.

Everything after a `moanon.data.table.Table` asks its rows for profiles of columns, for counts of
tuples, and to be written with labels (`moanon.data.rows.RowStore`). Here an engine answers, and
nobody who asks can see which:

- ``opening``: `read_table` and `open_source`, the one way in.
- ``stores``: what all engines share, so that texts, missing values and domains are the same
  wherever rows are.
- ``files``: Parquet and CSV through DuckDB (``duck``), out of core. ``relations`` makes relations
  of DuckDB of them; CSV files that DuckDB would read otherwise than the strict reader are written
  again by that.
- ``paired``: a released file beside its original.
- ``databases``: whatever ibis connects to; ``addresses`` says where it is and connects,
  ``replacing`` has a new table take its name.
"""

from moanon.data.table import Source
from moanon.engines.opening import open_source, read_table

__all__ = ["Source", "open_source", "read_table"]
