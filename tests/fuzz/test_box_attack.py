"""A results folder of boxes tells no cell beyond its releases; and the attacker would notice."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from moanon.experiment import load_front
from moanon.front import Front
from moanon.front.results import find_fronts
from moanon.recoding import LocalRecodings
from tests.fuzz.box_attack import attack, attack_random, cells_of

#: A table of some columns, and one with two limits of suppression.
SEEDS = (7, 8)


@pytest.fixture(scope="module", params=SEEDS)
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("boxes")
    finding = attack_random(folder, request.param)
    assert finding is not None
    assert (finding.recovered, finding.wrong) == ((), 0)
    assert 0 < finding.shown < finding.cells
    return folder / "results"


def test_the_folder_tells_no_cell_that_releases_do_not_show(results: Path) -> None:
    assert attack(results, cells_of(results)).recovered == ()


def test_the_box_of_every_cell_would_tell_the_table(results: Path) -> None:
    cells = cells_of(results)
    for folder in find_fronts(results):
        _write_groups(folder, load_front(folder))
    finding = attack(results, cells)
    assert finding.wrong == 0
    assert len(finding.recovered) > (finding.cells - finding.shown) / 2


def _write_groups(folder: Path, front: Front) -> None:
    """Replace what is sealed by the numbers themselves."""
    boxes, instance = front.recodings, front.instance
    assert isinstance(boxes, LocalRecodings)
    assert instance is not None
    with np.load(io.BytesIO((folder / "boxes.npz").read_bytes())) as stored:
        arrays = {name: stored[name] for name in stored.files if not name.startswith("sealed")}
    groups = {f"group{row}": boxes.cell_group(row, instance) + 1 for row in range(len(boxes))}
    np.savez(folder / "boxes.npz", allow_pickle=False, **arrays, **groups)
