"""Searching for the front between privacy and loss.

What is searched:

- ``problem``: `AnonymizationProblem`, the objectives of genomes under a suppression rule; a problem
  of pymoo.
- ``archive``: `Archive`, every undominated solution a search has come across; `front_of` makes a
  front of it.

How: each algorithm is a `Search` (``running``), which goes one generation at a time, can be saved
between any two, and says itself when it ends and what comes before and after it. Those among
genomes ask an algorithm of pymoo for these, and tell it what they measure (`GenomeSearch`). A new
one is a subclass in a module of its own, and a line in the register.

- ``algorithms``: the register, by the names that configurations use; what ``auto`` means; `Stop`,
  the limits of a search, and `Convergence`, what to make of how its front grew.
- ``archive_search``: breeding from the archive, the default (`ArchiveBreeding`, an algorithm of
  pymoo), or every genome of a small space.
- ``pymoo_search``: NSGA-II, the search of the paper, and other algorithms of pymoo itself;
  `front_from_result` makes a front of what pymoo's own ``minimize`` returns.
- ``operators``: how genomes are made of genomes, and which of them are new. `ValidSampling`,
  `LunacekCrossover`, `ValidMutation` and `BitDuplicates` plug into any algorithm of pymoo.
- ``local``: local recoding, which makes boxes instead of genomes, for all sizes of groups in one
  run (``box_solving``, ``utility_splits``).
- ``running``: `run_search` steps a search until a limit is reached.
- ``checkpoint``: `Checkpoints`, states on disk, from which a run that was killed goes on.

How good: ``moanon.proofs``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moanon.search.archive_search import ArchiveBreeding
    from moanon.search.operators import (
        BitDuplicates,
        LunacekCrossover,
        ValidMutation,
        ValidSampling,
    )
    from moanon.search.problem import AnonymizationProblem
    from moanon.search.pymoo_search import front_from_result

__all__ = [
    "AnonymizationProblem",
    "ArchiveBreeding",
    "BitDuplicates",
    "LunacekCrossover",
    "ValidMutation",
    "ValidSampling",
    "front_from_result",
]

#: Where each name is. It is loaded when it is first used: neither help nor a question waits for it.
_HOMES = dict.fromkeys(__all__, "operators") | {
    "AnonymizationProblem": "problem",
    "ArchiveBreeding": "archive_search",
    "front_from_result": "pymoo_search",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
