"""Arguments and values that several commands take."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated

import typer

ResultsArgument = Annotated[
    Path,
    typer.Argument(
        metavar="RESULTS", help="A folder that moanon run has written.", show_default=False
    ),
]
IdArgument = Annotated[
    int, typer.Argument(metavar="ID", help="A solution of its front.csv.", show_default=False)
]


def share(text: str) -> float:
    """Read a share: 0.25 or 25%."""
    value = _number(text)
    if value is None or not 0 <= value <= 1:
        raise typer.BadParameter(f"a share is from 0 to 1, or from 0% to 100%. Got {text!r}")
    return value


def named_number(text: str, option: str) -> tuple[str, float]:
    """Read MEASURE=X, where X may be in percent."""
    name, _, number = text.partition("=")
    value = _number(number)
    if not name or value is None:
        raise typer.BadParameter(f"{option} takes MEASURE=X, such as gl=30%. Got {text!r}")
    return name, value


def _number(text: str) -> float | None:
    """Read a number, exactly as it is written: 12.3% is 0.123."""
    digits, percent = text.strip(), text.strip().endswith("%")
    try:
        value = Decimal(digits.removesuffix("%").strip())
    except InvalidOperation:
        return None
    if not value.is_finite():
        return None
    return float(value / 100 if percent else value)
