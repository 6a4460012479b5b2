"""What moanon raises when it cannot go on.

Every error is one sentence a publisher can act on: what is wrong, where, which value, and what
would be right. The command line prints that sentence and exits with 2, or with 1 where a search
has found that the answer is no; it never shows a traceback for one of these.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class MoanonError(Exception):
    """Base of all errors that moanon raises on purpose."""


class ConfigError(MoanonError):
    """A configuration, a hierarchy or a question says something impossible or contradictory."""


class DataError(MoanonError):
    """A table cannot be read as declared, or its values do not fit their domain."""


class EncodingError(DataError):
    """A text file is not in the encoding that it is read in; `fault` says so without advice."""

    def __init__(self, fault: str, advice: str = "") -> None:
        super().__init__(f"{fault}: {advice}" if advice else fault)
        self.fault = fault


class GenomeError(MoanonError):
    """A bit string is not a valid generalization of the table."""


class SearchError(MoanonError):
    """A search cannot start or continue."""


class InfeasibleError(MoanonError):
    """The answer is no: nothing meets all constraints."""


class ImpossibleError(InfeasibleError):
    """A demand that no group of the table can meet: nothing needs to be searched to know that."""


class OutputError(MoanonError):
    """A file cannot be written, or must not be overwritten."""


class CertificateError(MoanonError):
    """The written release does not measure as promised; nothing was left under its name."""


#: What was given is shown up to so many characters.
_MAX_SHOWN = 80


def got(value: object) -> str:
    """Write what was given, for the end of a sentence about it.

    >>> got("3"), got(10**200)[-3:]
    ("'3'", '00…')
    """
    try:
        text = repr(value)
    except ValueError:  # Python writes no numbers of more than some thousand digits
        text = "a number of thousands of digits"
    return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…"


def unknown_name(kind: str, name: str, known: Iterable[str]) -> ConfigError:
    """Say that nothing of a kind has this name, and which one was probably meant."""
    names = list(known)
    near = get_close_matches(got(name).strip("'"), names, n=1)  # from Python it may be anything
    hint = f"; did you mean {near[0]!r}?" if near else "."
    return ConfigError(f"there is no {kind} called {got(name)}{hint} Known: {', '.join(names)}")
