"""What a search is made of, seen from outside: steps, an archive, and a state that can be saved."""

from __future__ import annotations

import json
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from moanon.search.archive import Archive

__all__ = ["Search", "State", "generator_state", "restore_generator"]

#: Arrays by name; no objects, so nothing has to be pickled.
State = dict[str, npt.NDArray[Any]]


class Search(Protocol):
    """An algorithm that can be stopped between any two steps and go on from its saved state."""

    archive: Archive
    generation: int

    @property
    def evaluations(self) -> int:
        """Genomes evaluated so far."""
        ...

    @property
    def exhausted(self) -> bool:
        """Whether there is nothing left to evaluate."""
        ...

    def step(self, most: int | None = None) -> int:
        """Evaluate one more generation, at most `most` genomes; return how many it was."""
        ...

    def inherit(self, archive: Archive, evaluated: npt.NDArray[np.uint8]) -> None:
        """Begin with the archive and the evaluated genomes of other searches."""
        ...

    def state(self) -> State:
        """Everything the next step depends on."""
        ...

    def restore(self, state: State) -> None:
        """Go on from a saved state."""
        ...


def generator_state(rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """State of a random generator as bytes of JSON."""
    return np.frombuffer(json.dumps(rng.bit_generator.state).encode(), dtype=np.uint8)


def restore_generator(rng: np.random.Generator, state: npt.NDArray[np.uint8]) -> None:
    """Put a generator of the same kind into a saved state."""
    rng.bit_generator.state = json.loads(state.tobytes())
