from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moanon.search.moves import Moves
from tests.strategies import instances


@given(st.data())
def test_a_step_keeps_genomes_valid_and_changes_one_column(data):
    layout = data.draw(instances()).layout
    genomes = data.draw(populations_of(layout))
    moved = Moves(layout).step(genomes, np.random.default_rng(data.draw(st.integers(0, 99))))
    assert layout.is_valid(moved).all()
    changed = np.array([(genomes[:, s] != moved[:, s]).any(axis=1) for _, _, s in layout.slices()])
    assert (changed.sum(axis=0) == (1 if layout.bits else 0)).all()


@given(st.data())
def test_an_exchange_takes_whole_columns(data):
    layout = data.draw(instances()).layout
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    one, other = layout.sample(20, rng), layout.sample(20, rng)
    mixed = Moves(layout).exchange(one, other, 0.5, rng)
    assert layout.is_valid(mixed).all()
    for _, _, place in layout.slices():
        from_one = (mixed[:, place] == one[:, place]).all(axis=1)
        from_other = (mixed[:, place] == other[:, place]).all(axis=1)
        assert (from_one | from_other).all()


@st.composite
def populations_of(draw: st.DrawFn, layout) -> np.ndarray:
    return layout.sample(draw(st.integers(1, 30)), np.random.default_rng(draw(st.integers(0, 99))))
