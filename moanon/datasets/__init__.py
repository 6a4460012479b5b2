"""Two public tables about people, kept in the package so that results can be rerun offline.

Tables, all columns as text and no value missing:

- ``adult``: the 30,162 complete rows of the Adult training file, nine columns.
- ``adult-full``: the same rows followed by the 15,060 complete rows of the Adult test file; the
  extra column ``split`` says ``data`` or ``test``.
- ``credit``: the 30,000 rows of Default of Credit Card Clients, 24 columns.

What describes their columns:

- hierarchies, one YAML tree each, by names such as ``adult/workclass``;
- orders of categories, by names such as ``adult/education``.

Functions: :func:`names` and :func:`load` for the tables, :func:`hierarchy_names` and
:func:`hierarchy_path` for the trees, :func:`order_names` and :func:`order` for the orders.
Source, authors, licence and every change made to the originals are in ``SOURCES.md`` beside this
file; ``experiments/build_datasets.py`` rebuilds the stored files.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from moanon.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["hierarchy_names", "hierarchy_path", "load", "names", "order", "order_names"]

_HERE = Path(__file__).parent
_ORDERS = "orders.yaml"
_NAMES = ("adult", "adult-full", "credit")


def names() -> tuple[str, ...]:
    """Names that :func:`load` knows, in alphabetical order."""
    return _NAMES


def load(name: str) -> pd.DataFrame:
    """Read an embedded table, one of :func:`names`, into a new frame in the order of the source.

    Every column is text. Numbers stay text too: what a column means is declared by whoever uses it,
    not guessed while reading.
    """
    _refuse_unknown("the name of an embedded dataset", name, _NAMES)
    if name == "credit":
        return _read("credit.csv.gz")
    full = _read("adult.csv.gz")
    if name == "adult-full":
        return full
    # The training rows come first, so their index already runs from 0 without a gap.
    return full[full["split"] == "data"].drop(columns="split")


def hierarchy_names() -> tuple[str, ...]:
    """Names that :func:`hierarchy_path` knows, in alphabetical order."""
    trees = (path for path in _HERE.glob("*/*.yaml") if path.name != _ORDERS)
    return tuple(sorted(f"{path.parent.name}/{path.stem}" for path in trees))


def hierarchy_path(name: str) -> Path:
    """Find the YAML file of an embedded hierarchy, for example ``adult/workclass``.

    A path rather than a tree, so that embedded hierarchies and a publisher's own are read, checked
    and refused by the same code.
    """
    _refuse_unknown("the name of an embedded hierarchy", name, hierarchy_names())
    return _HERE / f"{name}.yaml"


def order_names() -> tuple[str, ...]:
    """Names that :func:`order` knows, in alphabetical order."""
    return tuple(sorted(_orders()))


def order(name: str) -> list[str]:
    """Give an embedded order of categories, for example ``adult/education``, lowest first."""
    orders = _orders()
    _refuse_unknown("the name of an embedded order", name, sorted(orders))
    return orders[name]


def _read(file: str) -> pd.DataFrame:
    import pandas as pd  # here, because listing names and finding trees must not wait for pandas

    # Without na_filter pandas would turn texts such as "NA" or "None" into missing values.
    return pd.read_csv(_HERE / file, dtype=str, na_filter=False, encoding="utf-8")


def _orders() -> dict[str, list[str]]:
    return {
        f"{path.parent.name}/{column}": values
        for path in _HERE.glob(f"*/{_ORDERS}")
        for column, values in yaml.safe_load(path.read_text(encoding="utf-8")).items()
    }


def _refuse_unknown(what: str, name: str, known: Sequence[str]) -> None:
    if name in known:
        return
    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise DataError(f"{what} must be one of {', '.join(known)}. Got {name!r}{hint}")
