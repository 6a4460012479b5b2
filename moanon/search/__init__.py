"""Searching the space of genomes for the front between privacy and loss.

What is searched:

- ``problem``: `SearchProblem`, the objectives of genomes under a suppression rule, as points.
- ``archive``: `Archive`, every undominated solution a search has come across; `thin` cuts it down
  evenly.
- ``hypervolume``: how much of the ideal a front reaches.

How: each algorithm is a `Search` (``state``), which goes one generation at a time and can be saved
between any two.

- ``archive_search``: breeding from the archive, the default; ``moves`` are its small changes.
- ``exhaustive``: every genome of a small space.
- ``evolution``: pymoo's algorithms, NSGA-II first, with the ``operators`` of the papers.

How long:

- ``run``: `make_search` chooses the algorithm, `run_search` steps it until a limit is reached.
- ``checkpoint``: `Checkpoints`, states on disk, from which a run that was killed goes on.
"""
