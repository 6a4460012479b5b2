"""Compiled loops: arrays in, arrays out, no Python objects.

A table reaches this room as its cells and leaves it as numbers. ``jit`` holds the compiler flags;
``join`` lays the columns of the cells out as a tree of pairs, once per table; ``grouping`` merges
the cells under a genome; ``scoring`` turns sizes and losses of groups into counts, thresholds and
staircases. ``plan`` knows the sensitive values of the table, ``models`` and ``closeness`` what
those of a group give away, ``tallies`` what adds up over its people, ``costs`` what cells cost by
other measures than D's loss, and ``keeping`` which groups stay under constraints. ``clusters`` puts
similar genomes side by side, ``runs`` evaluates some of them on one thread, and ``population``
drives all of it over many genomes and threads.

``refinement`` splits groups column by column, for the many sets of columns of a diagnosis.

Everything is counted in integers, losses too (see `join.LossScale`), and logarithms (`plan`): sums
of integers do not depend on their order, so the flat and the roll-up evaluation, one thread and
many, give the same bits.
"""
