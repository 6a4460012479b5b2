"""Compiled loops: arrays in, arrays out, no Python objects.

A table reaches this room as its cells and leaves it as integers. ``jit`` holds the compiler flags;
``join`` lays the columns of the cells out as a tree of pairs, once per table; ``grouping`` merges
the cells under a genome; ``scoring`` turns groups into counts, thresholds and staircases;
``clusters`` puts similar genomes side by side; ``population`` drives all of it over many genomes
and threads. ``refinement`` splits groups column by column, for the many sets of columns of a
diagnosis; ``sensitive`` says what a group reveals about a sensitive value.

Everything is counted in integers, losses too (see `join.LossScale`). Sums of integers do not depend
on their order, so the flat and the roll-up evaluation, one thread and many, give the same bits.
"""
