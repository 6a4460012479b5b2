"""From a file to cells: everything that happens before a genome is looked at.

``source`` reads files and frames into columns of text; ``table`` gives them roles and settles
missing values; ``hierarchy``, ``steps`` and ``domain`` say what a column's values are and how
blocks of them are called; ``cells`` counts the distinct base tuples.
"""
