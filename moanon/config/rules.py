"""How a key's value is refused: by its rule, or with a sentence of its own."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic_core import PydanticCustomError

__all__ = ["Rule", "nearest", "one_of", "refusal"]


@dataclass(frozen=True)
class Rule:
    """What a key wants, for the sentence that says it got something else."""

    wanted: str
    bounds: str = ""
    choices: tuple[str, ...] = ()


def one_of(*choices: str) -> Rule:
    """Rule of a key that takes one of a few words."""
    return Rule(f"one of {', '.join(choices)}", choices=choices)


def refusal(sentence: str = "", key: str = "") -> PydanticCustomError:
    """Refuse a value: by its key's rule, or with a sentence of its own about `key`."""
    return PydanticCustomError("moanon", "{sentence}", {"sentence": sentence, "key": key})


def nearest(text: str, known: Iterable[str]) -> str:
    """End a sentence with the known name that looks most like `text`, if one does."""
    near = difflib.get_close_matches(text, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""
