"""From a file to cells: everything that happens before a genome is looked at.

- ``cell_reading`` says how files are written and their cells become values: which texts mean that
  there is none, which are the same one because they look alike, and how numbers and dates are
  written. ``file_form`` finds that out and decodes files; ``readers`` parses text files strictly,
  ``spreadsheets`` Excel files. A ``column`` comes out as distinct texts and one code per row.
  DuckDB reads Parquet and large text files: see `moanon.engines`.
- ``rows`` says what is asked of the rows of a table, and answers it for rows in memory.
- ``table`` finds files and reads frames, gives columns roles and decides about missing values.
- ``domain`` says what a column's values are and what blocks of them are called: numbers and dates
  in ``steps``, categories in order, or a ``hierarchy``, which a file has (``treefile``) or a rule
  makes from the values (``rules``).
- ``cells`` counts the distinct base tuples; ``populations`` finds the large subpopulations.
- ``strict_yaml`` reads and writes YAML, for hierarchies and for configurations.
"""
