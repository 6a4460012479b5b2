"""Searching for the front between privacy and loss.

What is searched:

- ``problem``: `SearchProblem`, the objectives of genomes under a suppression rule, as points.
- ``archive``: `Archive`, every undominated solution a search has come across; `front_of` makes a
  front of it, and `SharedLimits` searches for several limits of suppression at once.

How: each algorithm is a `Search`, which goes one generation at a time and can be saved between any
two.

- ``algorithms``: the register of them, by the names that configurations use; what ``auto`` means.
- ``archive_search``: breeding from the archive, the default, or every genome of a small space.
- ``nsga2``: NSGA-II, the search of the paper.
- ``local``: no genomes but boxes, for all sizes of groups in one run; `LocalLimits` for several
  limits of suppression.
- ``operators``: how genomes are made of genomes, and which of them are new.
- ``polishing``: the best cut of one column after the other, as the default search takes it.

How good:

- ``provable``: of which fronts anything can be proven, and why not of others.
- ``proof``: branch and bound for one k; ``front_proof``: for all k of a front; ``cut_table``: the
  table as they take it.
- ``exact``: the exact front, where nothing may be suppressed, as the end of the default search.

How long:

- ``running``: `run_search` steps a search until a limit is reached.
- ``checkpoint``: `Checkpoints`, states on disk, from which a run that was killed goes on.
"""
