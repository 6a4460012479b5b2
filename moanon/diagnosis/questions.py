"""The twelve questions of the diagnosis centre (Z §4.1).

They are every way to fix or to ask for three things: a level k, a set of columns S, and the share δ
of rows that may be suppressed. So what is given and what is left out selects the question.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from moanon.errors import QuestionError

__all__ = ["QUESTIONS", "Question", "choose_question"]

#: Nothing is suppressed; at most a given share is; or the share is what is asked for.
Suppressing = Literal["none", "given", "asked"]


@dataclass(frozen=True)
class Question:
    """One of the twelve.

    Attributes
    ----------
    number : int
        1 to 12, as in Z.
    has_level, has_subset : bool
        Whether the level and the set of columns are given; otherwise they are asked for.
    suppressing : {"none", "given", "asked"}
        What is known about suppression.
    """

    number: int
    has_level: bool
    has_subset: bool
    suppressing: Suppressing


def _all_questions() -> dict[int, Question]:
    questions = {}
    suppressions: tuple[Suppressing, ...] = ("none", "given", "asked")
    for block, suppressing in enumerate(suppressions):
        # In Z: level and set given; one of them; the other; none. With δ asked for, the two in the
        # middle change places.
        pairs = [(True, True), (False, True), (True, False), (False, False)]
        if suppressing == "asked":
            pairs[1], pairs[2] = pairs[2], pairs[1]
        for place, (has_level, has_subset) in enumerate(pairs):
            number = 4 * block + place + 1
            questions[number] = Question(number, has_level, has_subset, suppressing)
    return questions


#: The twelve questions by their numbers.
QUESTIONS = _all_questions()


def choose_question(
    *,
    level: float | None,
    subset: object | None,
    delta: float | Literal["ask"] | None,
    number: int | None = None,
    measure: str = "k",
) -> Question:
    """Find the question that goes with what is given, or check the one that was named.

    Parameters
    ----------
    level, subset : optional
        Given, or None where they are asked for.
    delta : float, "ask" or None
        A share of rows; asked for; or nothing is suppressed.
    number : int, optional
        The question that was named. Where it asks for δ, `delta` may be left out.
    measure : str
        What the level is called in an error.

    Examples
    --------
    >>> choose_question(level=3, subset=["age"], delta=None).number
    1
    >>> choose_question(level=3, subset=None, delta=0.1).number
    7
    >>> choose_question(level=None, subset=["age"], delta="ask").number
    11
    """
    suppressing: Suppressing = "none" if delta is None else "asked" if delta == "ask" else "given"
    has = (level is not None, subset is not None, suppressing)
    if number is None:
        return next(
            question
            for question in QUESTIONS.values()
            if (question.has_level, question.has_subset, question.suppressing) == has
        )
    if number not in QUESTIONS:
        raise QuestionError(f"question must be one of 1 to 12. Got {number}")
    wanted = QUESTIONS[number]
    for name, given, needed in (
        (measure, level is not None, wanted.has_level),
        ("subset", subset is not None, wanted.has_subset),
    ):
        if needed and not given:
            raise QuestionError(f"question {number} needs {name}")
        if given and not needed:
            raise QuestionError(f"question {number} asks for {name}; leave it out")
    if wanted.suppressing == "given" and suppressing != "given":
        raise QuestionError(f"question {number} needs delta, the share that may be suppressed")
    if wanted.suppressing == "none" and suppressing != "none":
        raise QuestionError(f"question {number} suppresses nothing; leave delta out")
    if wanted.suppressing == "asked" and suppressing == "given":
        raise QuestionError(f"question {number} asks for delta; leave it out")
    return wanted
