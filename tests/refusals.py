"""The sentence with which something is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from moanon.errors import MoanonError


def refusal_of(
    error: type[MoanonError], call: Callable[..., Any], *given: Any, **named: Any
) -> str:
    with pytest.raises(error) as caught:
        call(*given, **named)
    return str(caught.value)
