"""Fronts for the tests of what people look at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from moanon.data.domain import DomainSpec, IntervalSpec, OrderedSpec, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.engines import read_table
from moanon.front import Front
from moanon.genome import Instance
from moanon.measures.evaluate import Evaluator
from moanon.measures.suppression import Suppression

#: What must be shown as it is written, wherever it comes from.
HOSTILE = (
    "</script><script>window.hit = 1</script>",
    "<img src=x onerror='window.hit = 2'>",
    '"><svg onload="window.hit = 3">',
    "<!--<script>",
    '<a href="javascript:window.hit = 4">click</a>',
    "<b>bold</b><br>&lt;i&gt;",
    "'; window.hit = 5; //",
    "%{x} ${window.hit = 6} \u2028 \u202e",
    "]]>\\u003c/script>&amp;",
)

RECORD: dict[str, Any] = {
    "name": "people",
    "moanon": "0.1.0",
    "seed": 4,
    "versions": {"moanon": "0.1.0", "numpy": "2.0"},
    "data": {
        "source": "people.csv",
        "digest": "ab12",
        "rows_in": 123,
        "rows_dropped": 3,
        "rows": 120,
        "cells": 101,
    },
    "search": {
        "algorithm": "archive",
        "generations": 6,
        "evaluations": 1200,
        "why": "6 generations were reached",
    },
    "times": {"search": 1.25, "finished": "2026-01-02T03:04:05+00:00", "threads": 2},
    "notes": [],
}


def sampled_front(instance: Instance, number: int, eta: float = 0.1, seed: int = 0) -> Front:
    """A front-like set of random solutions, which share less than those of a search."""
    suppression = Suppression("limit", eta)
    evaluator = Evaluator(instance)
    genomes = instance.layout.sample(number, np.random.default_rng(seed))
    k = evaluator.evaluate(genomes, suppression).field("k")
    thresholds = np.stack([k, np.zeros_like(k)], axis=1)
    return Front.of(evaluator, suppression, ("k", "loss"), genomes, thresholds)


def hostile_instance() -> Instance:
    """A table whose column names, categories, tree nodes and sensitive values are markup."""
    rows, rng = 90, np.random.default_rng(1)
    ordered, tree, number, sensitive = HOSTILE[0], HOSTILE[1], HOSTILE[5], HOSTILE[4]
    nodes = {
        f"{HOSTILE[2]} node": [f"{HOSTILE[0]} leaf", f"{HOSTILE[3]} leaf"],
        f"{HOSTILE[5]} node": [f"{HOSTILE[7]} leaf", f"{HOSTILE[8]} leaf"],
    }
    hierarchy = Hierarchy.from_nested(f"{HOSTILE[4]} root", nodes)
    frame = pd.DataFrame(
        {
            ordered: rng.choice(HOSTILE, rows),
            tree: rng.choice(hierarchy.leaves, rows),
            number: rng.integers(0, 4, rows),
            sensitive: rng.choice(HOSTILE[:4], rows),
        }
    )
    specs: dict[str, DomainSpec] = {
        ordered: OrderedSpec(HOSTILE),
        tree: TreeSpec(hierarchy),
        number: IntervalSpec(1, (0, 3)),
    }
    roles = dict.fromkeys(specs, "quasi") | {sensitive: "sensitive"}
    return Instance.build(read_table(frame, roles), specs)
