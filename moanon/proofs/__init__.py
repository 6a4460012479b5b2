"""Bounds, and branch and bound: how far solutions are from the optimum, and better ones on the way.

- ``cut_table``: the table as proofs take it: exact losses, bounds of partly decided genomes, and
  the best cut of one column after the other, the others being as they are; and of which fronts
  anything can be proven, and why not of others.
- ``proof``: branch and bound for one k; the largest k, as the end of a long search.
- ``front_proof``: proofs for all k of a front, as far as a budget goes.

The compiled loops are in ``moanon.kernels`` (``cuts``, ``lower_bounds``), what
a bound says of a solution in ``moanon.measures.loss``, and proofs of results folders in
``moanon.experiment.proving``.
"""
