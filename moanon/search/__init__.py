"""Searching for the front between privacy and loss.

What is searched:

- ``problem``: `SearchProblem`, the objectives of genomes under a suppression rule, as points.
- ``archive``: `Archive`, every undominated solution a search has come across; `front_of` makes a
  front of it.

How: each algorithm is a `Search` (``search``), which goes one generation at a time, can be saved
between any two, and says itself when it ends and what comes before and after it. A new one is a
subclass in a module of its own, and a line in the register.

- ``algorithms``: the register, by the names that configurations use; what ``auto`` means.
- ``archive_search``: breeding from the archive, the default, or every genome of a small space.
- ``nsga2``: NSGA-II, the search of the paper.
- ``operators``: how genomes are made of genomes, and which of them are new.
- ``local``: no genomes but boxes, for all sizes of groups in one run: what it reaches for
  (``targets``), and how (``box_solving``, ``utility_splits``).

How long:

- ``stopping``: `Stop`, the limits, and the hypervolume, by which a front is seen to stall.
- ``running``: `run_search` steps a search until a limit is reached; ``convergence`` says what to
  make of how its hypervolume grew.
- ``checkpoint``: `Checkpoints`, states on disk, from which a run that was killed goes on.

How good: ``moanon.proofs``.
"""
