"""From a file to cells: everything that happens before a genome is looked at.

- ``source`` finds files and reads frames; ``file_form`` says how files are written; ``readers``
  parses text files strictly, ``spreadsheets`` Excel files. A ``column`` comes out as distinct texts
  and one code per row. DuckDB reads Parquet and large text files: see `moanon.engines`.
- ``cell_reading`` says which texts mean that there is no value, which are the same one because they
  look alike, and how numbers and dates are written.
- ``rows`` says what is asked of the rows of a table, and answers it for rows in memory.
- ``table`` gives the columns roles and decides about missing values.
- ``domain`` says what a column's values are and what blocks of them are called: numbers and dates
  in ``steps``, categories in order, or a ``hierarchy``, which a file has (``treefile``) or a rule
  makes from the values (``rules``).
- ``cells`` counts the distinct base tuples; ``populations`` finds the large subpopulations.
- ``strict_yaml`` reads and writes YAML, for hierarchies and for configurations.
"""
