"""How a terminal shows what becomes of each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from moanon.cli.printing import on_one_line, show_grid

if TYPE_CHECKING:
    from moanon.measures.column_effects import ColumnEffect

#: Labels of a column that are listed before the rest is counted.
_LISTED = 8
#: Longest label that is shown whole.
_LONGEST = 28


def show_effects(effects: Sequence[ColumnEffect]) -> None:
    """Show each column: how many labels of how many values, what is left, and the labels' rows."""
    rows = []
    for effect in effects:
        labels = f"{effect.shown:,} ({effect.base_values:,})"
        shares = (f"{effect.loss:.1%}", f"{effect.entropy_kept:.1%}")
        rows.append((on_one_line(effect.name), labels, *shares, _labels_of(effect)))
    headers = ("column", "labels (values)", "own loss", "entropy kept", "rows of each label")
    show_grid(headers, rows, right=(1, 2, 3))


def _labels_of(effect: ColumnEffect) -> str:
    """The labels with most rows first, then how many more there are, and how many are empty."""
    order = sorted(range(len(effect.labels)), key=lambda place: -int(effect.rows[place]))
    filled = [place for place in order if effect.rows[place]]
    texts = [f"{_cut(effect.labels[p])} {int(effect.rows[p]):,}" for p in filled[:_LISTED]]
    if len(filled) > _LISTED:
        texts.append(f"and {len(filled) - _LISTED:,} more")
    if empty := len(order) - len(filled):
        texts.append(f"({empty:,} without rows)")
    return ", ".join(texts)


def show_labels(blocks: Mapping[str, Sequence[str]]) -> None:
    """Show what each column can show, where the rows are not known."""
    rows = []
    for name, labels in blocks.items():
        texts = [_cut(label) for label in labels[:_LISTED]]
        if len(labels) > _LISTED:
            texts.append(f"and {len(labels) - _LISTED:,} more")
        rows.append((on_one_line(name), f"{len(labels):,}", ", ".join(texts)))
    show_grid(("column", "labels", ""), rows, right=(1,))


def _cut(label: str) -> str:
    """A label as it fits a line, nothing in it that steers the terminal."""
    shown = on_one_line(label)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
