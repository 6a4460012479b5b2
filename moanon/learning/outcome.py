"""The outcome of a study, as tables.

- `Outcome.scores`: one row for each release, model and repeat: k, loss and suppressed rows of the
  release of all rows, scores, and those of the table as it is and of a guess (``learning.csv``);
- `Outcome.releases`: one row for each release and repeat: every measure of what was learned from,
  under the protocol ``raw`` training rows alone (``learning_releases.csv``);
- `Outcome.drops`: for each release and model the mean over repeats of what is lost of each score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from moanon.arrays import Outlined
from moanon.learning.models import SCORES
from moanon.learning.study import Key, Record, Study

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(Outlined):
    """All records of a finished study."""

    study: Study
    records: Mapping[Key, Record]

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Scores by release, model and repeat."""
        import pandas as pd

        rows = []
        for repeat, name, model in self.study.keys:
            if not (name and model):
                continue
            lesson = self.records[repeat, name, ""]
            row = {"release": name, "model": model, "repeat": repeat + 1}
            row |= lesson["release"]
            row |= {"train_rows": lesson["train_rows"], "test_rows": lesson["test_rows"]}
            for prefix, key in (
                ("", (repeat, name, model)),
                ("original_", (repeat, "", model)),
                ("constant_", (repeat, "", "")),
            ):
                values = self.records[key]["scores"]
                row |= {f"{prefix}{s}": value for s, value in zip(SCORES, values, strict=True)}
            rows.append(row)
        return pd.DataFrame(rows)

    @cached_property
    def releases(self) -> pd.DataFrame:
        """Measures by release and repeat."""
        import pandas as pd

        rows = []
        for repeat, name, model in self.study.keys:
            if name and not model:
                lesson = self.records[repeat, name, ""]
                row = {"release": name, "repeat": repeat + 1}
                row |= {"train_rows": lesson["train_rows"], "test_rows": lesson["test_rows"]}
                rows.append(row | lesson["measures"])
        return pd.DataFrame(rows)

    @cached_property
    def drops(self) -> pd.DataFrame:
        """Mean drops: scores of the original less those of the release, more being worse."""
        table = self.scores
        lost = table[["release", "model"]].copy()
        for name, more_is_better in SCORES.items():
            difference = table[f"original_{name}"] - table[name]
            lost[name] = difference if more_is_better else -difference
        return lost.groupby(["release", "model"], sort=False).mean().reset_index()
