"""Compiled loops: arrays in, arrays out, no Python objects.

A table reaches this room as its cells and leaves it as numbers.

- ``join``: lays the columns of the cells out as a tree of pairs, once per table; ``forms``: merges
  the cells under a genome (`coarsen`, the hot loop).
- ``histograms``: the sensitive values of the table and of groups; ``models``: what those of a group
  give away; ``costs``: what cells cost by other measures than D's loss, and what adds up over the
  people of groups.
- ``thresholds`` and ``selection``: which groups stay under a suppression rule and constraints, and
  all that is measured of them (`FIELDS`).
- ``population``: a run of genomes on one thread, many on many threads, or groups that somebody else
  has made.
- ``boxes``: the smallest blocks around a group, what they lose, and what else a group must have;
  ``splitting``: boxes from the whole table down, looking ahead; ``moving``: cells that change
  groups.
- ``cuts``: small moves of genomes, the best cut of one column, genomes of which some bits are
  decided; ``lower_bounds``: a loss that none of their completions goes below. Proofs are made of
  these.
- ``large_populations``: conjunctions that many rows meet, and what a release says of them.
- ``refinement``: splits groups column by column, for the many sets of columns of a diagnosis.
- ``jit``: the compiler's flags and cache.

Everything is counted in integers, losses too (see `join.LossScale`), and logarithms
(``histograms``): sums of integers do not depend on their order, so the flat and the roll-up
evaluation, one thread and many, give the same bits.

**The join tree, on six cells.** Three columns: sex (f, m), age (young, middle, old), city (a, b)::

    cell  sex age city
     0     f   y   a
     1     f   m   a
     2     f   o   b
     3     m   y   a
     4     m   m   b
     5     m   o   b

City and age have only four distinct pairs between them, so they are paired first. Nodes 0, 1 and 2
are the columns; node 3 pairs city (left) with age (right); node 4, the root, pairs sex with node 3.
The entries of a pair node are its distinct pairs, stored by their left entry (compressed rows:
`row_starts` says where those of each left entry begin, `right_of` which right entry each has)::

    node 3: city a: 0 = (a, y), 1 = (a, m)    city b: 2 = (b, m), 3 = (b, o)
    root:   sex f:  0 = (f, 0), 1 = (f, 1), 2 = (f, 3)
            sex m:  3 = (m, 0), 4 = (m, 2), 5 = (m, 3)      one entry for each cell

>>> import numpy as np
>>> from moanon.kernels.join import JoinTree
>>> codes = np.array([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 0, 1, 1]], dtype=np.uint16)
>>> tree = JoinTree.build(codes, [2, 3, 2])
>>> tree.shape.left.tolist(), tree.shape.right.tolist()  # of nodes 3 and 4
([2, 0], [1, 3])
>>> place = tree.shape.place  # node t owns the places place[t] .. place[t + 1] - 1
>>> tree.right_of[place[3] : place[4]].tolist(), tree.row_starts[:3].tolist()
([0, 1, 1, 2], [0, 2, 4])
>>> tree.right_of[place[4] :].tolist(), tree.row_starts[3:].tolist()
([0, 1, 3, 0, 2, 3], [0, 3, 6])

**A coarse form.** The genome ``1 01 0`` keeps the sexes apart, merges young with middle, and merges
the cities. `coarsen` goes up from the leaves. The columns: sex f, m → groups 0, 1; age y, m, o →
0, 0, 1; city a, b → 0, 0. Node 3: both cities are one left group now, so their entries are taken
together, and the right groups that occur there are numbered as they come: (a, y) → 0, (a, m) → 0,
(b, m) → 0, (b, o) → 1. The root does the same with these numbers and counts rows: f has 0, 0, 1 and
m has 0, 0, 1, which makes four groups of 2, 1, 2 and 1 rows. Each pair cost one look-up in a table
as long as there are right groups; the full key is (left group, right group), so nothing is hashed
and nothing can overflow. The result has the same layout as the table itself: it is a coarser *form*
of it, on the next level of `Forms`.

>>> from moanon.kernels.population import PopulationKernel
>>> from moanon.kernels.selection import GroupRule
>>> from moanon.kernels.thresholds import KEEP_ALL
>>> kernel = PopulationKernel(codes, np.ones(6, dtype=np.int64), np.array([2, 3, 2]))
>>> kernel.kept_sizes(np.array([[1, 0, 1, 0]]), GroupRule(KEEP_ALL, 0))[1].tolist()
[2, 1, 2, 1]

**Roll-up.** A coarser genome can start from the form of any finer one instead of from the table:
``0 01 0`` has no boundary that ``1 01 0`` lacks, so it merges those four groups instead of six
cells. For a run of similar genomes the form of their bitwise OR, which is finer than each, is made
once, and every one of them is made from it; twice over, for 36 and for 9 of them (``population``).
"""
