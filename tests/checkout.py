"""Where the checkout lies, its scripts as modules, and processes that import what it holds."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

REPOSITORY = Path(__file__).resolve().parents[1]
QUICKSTART = REPOSITORY / "configs" / "quickstart.yaml"


def load_experiment(name: str) -> ModuleType:
    """Import a script of ``experiments/``; some of them import another one."""
    if (folder := str(REPOSITORY / "experiments")) not in sys.path:
        sys.path.append(folder)
    spec = importlib.util.spec_from_file_location(name, REPOSITORY / "experiments" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


def environment(**variables: str) -> dict[str, str]:
    """The variables of a process that imports moanon from the checkout, wherever it runs."""
    return {**os.environ, "PYTHONPATH": str(REPOSITORY), **variables}
