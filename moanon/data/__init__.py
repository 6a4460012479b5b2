"""From a file to cells: everything that happens before a genome is looked at.

- ``source`` reads files and frames into columns of text (``column``), by way of ``csvfile`` and
  ``parquet``, which share a ``reader``; ``text`` says how typed values are written.
- ``table`` gives the columns roles and settles missing values.
- ``hierarchy`` (read and written by ``treefile``), ``steps`` and ``domain`` say what a column's
  values are and how blocks of them are called.
- ``cells`` counts the distinct base tuples.
"""
