"""Measures: named numbers of groups.

``groups`` holds the groups of one genome for a close look; ``suppression`` says which of them are
given up (the four problems of D §5, and constraints), ``kept`` which ones a solution keeps, and
``groupwise`` which measures every group has a value of. ``evaluate`` scores populations of genomes
under such a rule (`scores`), ``grouped`` any other grouping of the rows. ``registry`` names every
number that comes out, with its direction, range, unit and citation; ``privacy``, ``loss`` and
``individual`` define them, ``demand`` says what kernels must measure for them. ``presets`` are
the four problems as lists of objectives.
"""
