"""The experiment that does much more of the same: it finds nothing, and would say so."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.checkout import load_experiment


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_experiment("hostile_inputs")


def test_a_leak_makes_it_fail(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(script, "leaks", lambda folder, seed: (3, 5, ["a.csv holds a name"]))
    others = ("inputs", "releases", "kills", "ends", "twins", "boxes")
    none = [word for name in others for word in (f"--{name}", "0")]
    assert script.main([*none, "--canaries", "1"]) == 1
    told = capsys.readouterr().out
    assert "table 0: a.csv holds a name" in told
    assert "1 tables: 5 canaries, 3 files; 1 leaks" in told


def test_an_input_can_be_repeated(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main(["--only", "configurations", "3"]) == 0
    assert "as it should be" in capsys.readouterr().out


@pytest.mark.slow
def test_nothing_is_wrong(script: ModuleType) -> None:
    few = ["--inputs", "1000", "--releases", "200", "--kills", "3", "--canaries", "2"]
    few += ["--ends", "3", "--twins", "60", "--boxes", "3"]
    assert script.main(few) == 0
