"""Hostile inputs are answered in a sentence; ``experiments/hostile_inputs.py`` makes many more."""

from __future__ import annotations

import pytest

from tests.fuzz import inputs
from tests.fuzz.inputs import KINDS, Campaign, options

#: Inputs of each kind for one share of it.
_FEW = 8


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    return Campaign(tmp_path_factory.mktemp("campaign"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_hostile_input_is_answered(kind: str, campaign: Campaign) -> None:
    for number in range(_FEW * KINDS[kind][1]):
        _, words, wrong = campaign.attack(kind, number)
        assert not wrong, f"{kind} {number}: {words}\n{wrong}"


def test_an_input_is_made_of_its_number(campaign: Campaign) -> None:
    assert campaign.attack("commands", 7) == campaign.attack("commands", 7)


def test_a_defect_is_found(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(inputs.KINDS, "defect", (lambda rng: ["schema"], 1))
    monkeypatch.setattr("moanon.config.Config.model_json_schema", lambda *_, **__: 1 / 0)
    code, _, wrong = campaign.attack("defect", 0)
    assert code == 70
    assert "ZeroDivisionError" in wrong


def test_every_option_of_every_command_is_known() -> None:
    assert options().keys() >= {"run", "ask", "export", "apply", "measure", "compare", "diagnose"}
    assert ("--suppressed", True) in options()["export"]
    assert ("--force", False) in options()["run"]
