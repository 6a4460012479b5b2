"""Experiments: a configuration becomes a results folder.

`plan` reads configurations and says which runs they ask for. `Experiment.prepare` looks at the
folder, reads the data and finds where to go on; `Experiment.run` searches and writes

- ``front.csv``: one row per solution, ``id``, the objectives, every other measure;
- ``solutions.json``: the genome, thresholds and blocks of each; where the recoding is local,
  ``boxes.npz`` holds its boxes and, sealed, which cells are in each;
- ``config.yaml``: the configuration with all defaults stated; it can be run again;
- ``run.json``: versions, seed, digests, counts, times, and why the search stopped.

With several limits η each has a folder ``eta-E`` with these files, and ``comparison.csv`` stands
above them. Each is searched for as if it were the only one, so a limit can be added to a folder
later and changes nothing that is there.

While it runs, the folder holds its checkpoints, from the first generation on until the results are
complete. So whatever moment a run is killed at, the folder shows whether it is finished. Where
nothing meets the constraints they stay, and ``no-solution.txt`` beside them says why. One run at a
time works in a folder, behind a lock that the system takes back when the process ends.

- ``runner``: `make_problem`, what a configuration optimizes; `Runner`, from there to fronts, in
  memory; `optimize`, all of it in one call and without a folder.
- ``experiment``: `plan`; `Experiment`, the way to the written folder; ``repeated``: the same with
  several seeds.
- ``baseline``: the same folder from a classical algorithm of `moanon.baselines`.
- ``proving``: proofs of how far the fronts of a folder are from the optimum, in ``proof.npz``.
- ``folder``: which run a folder holds, and the lock.
- ``finished``: `FinishedRun`, a results folder that is read once, with its table, or written, with
  its figures and its page.
- ``anonymizations``: the resolver. What commands name (``RESULTS``, ``RESULTS#17``, a released file
  with its original) becomes an `Anonymization`.
- ``showing``: results laid over one another; the privacy-utility frontier.
- ``learning_run``: what `moanon learn` examines, and the folder of a study.
"""

from moanon.experiment.experiment import Experiment, Result, plan
from moanon.experiment.finished import load_front, open_run
from moanon.experiment.runner import make_problem

__all__ = ["Experiment", "Result", "load_front", "make_problem", "open_run", "plan"]
