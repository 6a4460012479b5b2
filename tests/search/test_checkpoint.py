"""Checkpoints: whole or refused, with the reason, and the one before kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moanon import __version__
from moanon.arrays import State
from moanon.errors import OutputError, SearchError
from moanon.search.checkpoint import Checkpoints, Identity, versions

MINE = Identity("c" * 64, "d" * 64, seed=7)


def state(number: int) -> State:
    return {
        "run.idle": np.array(number),
        "search.values": np.arange(6.0).reshape(3, 2) * number,
        "search.genomes": np.zeros((0, 5), dtype=np.uint8),
    }


def number_of(checkpoints: Checkpoints) -> int:
    loaded = checkpoints.load()
    assert loaded is not None
    return int(loaded[0]["run.idle"])


@pytest.fixture
def saved(tmp_path: Path) -> Checkpoints:
    """Two checkpoints: 2, and 1 before it."""
    checkpoints = Checkpoints(tmp_path, MINE)
    checkpoints.save(state(1))
    checkpoints.save(state(2))
    return checkpoints


def fresh(checkpoints: Checkpoints, identity: Identity = MINE) -> Checkpoints:
    """The same files, seen by a new process."""
    return Checkpoints(checkpoints.newest.parent, identity)


def test_a_state_comes_back_as_it_was(saved: Checkpoints) -> None:
    loaded = fresh(saved).load()
    assert loaded is not None
    assert loaded[1] is None
    assert set(loaded[0]) == set(state(2))
    for name, array in state(2).items():
        assert loaded[0][name].dtype == array.dtype
        assert np.array_equal(loaded[0][name], array)
        assert loaded[0][name].shape == array.shape


def test_there_is_nothing_to_load_at_first(tmp_path: Path) -> None:
    assert Checkpoints(tmp_path, MINE).load() is None


def test_a_checkpoint_is_an_npz_file_without_pickles(saved: Checkpoints) -> None:
    with np.load(saved.newest, allow_pickle=False) as arrays:
        assert sorted(arrays.files) == sorted([*state(2), "header"])
        assert __version__ in arrays["header"].tobytes().decode()


def test_the_one_before_is_kept_and_nothing_else(saved: Checkpoints) -> None:
    saved.save(state(3))
    names = sorted(path.name for path in saved.newest.parent.iterdir())
    assert names == ["checkpoint.npz", "checkpoint.previous.npz"]
    saved.newest.unlink()
    loaded = fresh(saved).load()
    assert loaded is not None
    assert int(loaded[0]["run.idle"]) == 2
    assert loaded[1] == "checkpoint.npz is missing; going on from checkpoint.previous.npz"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_is_noticed_wherever_it_is(saved: Checkpoints, at: float, bit: int) -> None:
    good = saved.newest.read_bytes()
    damaged = bytearray(good)
    damaged[int(at * len(good))] ^= 1 << bit
    saved.newest.write_bytes(damaged)
    loaded = fresh(saved).load()
    saved.newest.write_bytes(good)
    assert loaded is not None
    assert int(loaded[0]["run.idle"]) == 1
    assert loaded[1] == (
        f"{saved.newest} cannot be used: it is damaged (its checksum does not fit); going on from "
        "checkpoint.previous.npz"
    )


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 500, -1])
def test_a_truncated_one_is_noticed(saved: Checkpoints, length: int) -> None:
    saved.newest.write_bytes(saved.newest.read_bytes()[:length])
    loaded = fresh(saved).load()
    assert loaded is not None
    assert "is damaged" in str(loaded[1])
    assert number_of(fresh(saved)) == 1


@pytest.mark.parametrize(
    ("identity", "reason"),
    [
        (replace(MINE, config="x"), "it belongs to another configuration"),
        (replace(MINE, data="x"), "it belongs to other data"),
        (replace(MINE, seed=8), "it has the seed 7, and this run has 8"),
        (
            replace(MINE, versions={**versions(), "moanon": "9.9"}),
            f"it was written with moanon {__version__}, and this is 9.9",
        ),
        (
            replace(MINE, versions={**versions(), "scipy": "1.0"}),
            "it was written with scipy None, and this is 1.0",
        ),
    ],
)
def test_those_of_another_run_are_refused_with_the_reason(
    saved: Checkpoints, identity: Identity, reason: str
) -> None:
    with pytest.raises(SearchError) as refused:
        fresh(saved, identity).load()
    assert str(refused.value) == (
        f"{saved.newest} cannot be used: {reason}; {saved.previous} cannot be used: {reason}"
    )


def test_a_foreign_one_gives_way_to_a_previous_that_fits(saved: Checkpoints) -> None:
    mine = saved.newest.read_bytes()
    Checkpoints(saved.newest.parent, replace(MINE, seed=9)).save(state(5))
    saved.previous.write_bytes(mine)
    loaded = fresh(saved).load()
    assert loaded is not None
    assert int(loaded[0]["run.idle"]) == 2
    assert "it has the seed 9, and this run has 7; going on from" in str(loaded[1])


def test_another_file_of_that_name_is_refused(saved: Checkpoints) -> None:
    saved.previous.unlink()
    saved.newest.write_text("something else")
    with pytest.raises(SearchError, match=r"checkpoint\.npz cannot be used: it is damaged"):
        fresh(saved).load()


def test_a_damaged_one_does_not_push_out_the_good_one_before(saved: Checkpoints) -> None:
    saved.newest.write_text("damaged")
    resumed = fresh(saved)
    assert number_of(resumed) == 1
    resumed.save(state(3))
    assert number_of(fresh(saved)) == 3
    saved.newest.unlink()
    assert number_of(fresh(saved)) == 1


def test_what_a_killed_write_left_is_replaced(saved: Checkpoints) -> None:
    (saved.newest.parent / "checkpoint.new.npz").write_text("half")
    assert number_of(fresh(saved)) == 2
    saved.save(state(3))
    assert number_of(fresh(saved)) == 3
    assert len(list(saved.newest.parent.iterdir())) == 2


def test_all_of_them_can_be_removed(saved: Checkpoints) -> None:
    (saved.newest.parent / "checkpoint.new.npz").write_text("half")
    saved.remove()
    assert list(saved.newest.parent.iterdir()) == []


def test_a_place_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"checkpoint\.npz cannot be written: No such file"):
        Checkpoints(tmp_path / "none", MINE).save(state(1))


def test_a_folder_of_that_name_is_told(saved: Checkpoints) -> None:
    saved.previous.unlink()
    saved.newest.unlink()
    saved.newest.mkdir()
    with pytest.raises(SearchError, match="cannot be used: it cannot be read: Is a directory"):
        fresh(saved).load()
