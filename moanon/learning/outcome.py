"""The outcome of a study, as tables, and which measure of loss goes with it.

A `StudyOutcome` has three:

- ``scores``: one row for each release, model and repeat: k, loss and suppressed rows of the release
  of all rows, scores, and those of the table as it is and of a guess (``learning.csv``);
- ``releases``: one row for each release and repeat: every measure of what was learned from, under
  the protocol ``raw`` training rows alone (``learning_releases.csv``);
- ``drops``: for each release and model the mean over repeats of what is lost of each score.

For every registered loss, every model and every score `which_tell` asks: does the drop grow with
the loss, over the releases of a study? Spearman's correlation asks whether both put the releases in
the same order, Pearson's whether one is a linear function of the other. Losses are turned so that
more is worse; a measure that tells has a correlation near 1.

Intervals are the middle 95 % of correlations over releases drawn with replacement (bootstrap). Few
releases give wide ones, or, where all agree, none at all: every draw of them agrees, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from moanon.arrays import Floats, Outlined
from moanon.learning.models import SCORES
from moanon.learning.study import Key, Record, Study
from moanon.measures import find_measure
from moanon.measures.measure import MEASURES
from moanon.wording import Grid, Part, Worded

if TYPE_CHECKING:
    import pandas as pd

#: Draws of releases, and the percentiles between which most of them lie.
_DRAWS = 1000
_MIDDLE = (2.5, 97.5)
#: With fewer releases nothing can be said.
LEAST_RELEASES = 3
_COLUMNS = (
    "measure",
    "model",
    "score",
    "releases",
    *(f"{kind}{end}" for kind in ("spearman", "pearson") for end in ("", "_low", "_high")),
)


@dataclass(frozen=True, eq=False, repr=False)
class StudyOutcome(Worded, Outlined):
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

    def to_frame(self) -> pd.DataFrame:
        """Return the scores."""
        return self.scores

    def parts(self, *, everything: bool = False) -> Iterator[Part]:
        """Say the mean AUROC of every release and model, beside that of the original."""
        study, table = self.study, self.scores
        first = table[table["release"] == table["release"].iloc[0]]
        rows = [
            ("original", "", "", *_cells(first, study.models, "original_auroc")),
            ("a guess", "", "", *_cells(first, study.models, "constant_auroc")),
        ]
        for release, of_release in table.groupby("release", sort=False):
            k, loss = of_release[["k", "loss"]].mean()
            known = ("-", "-") if np.isnan([k, loss]).any() else (f"{k:,.0f}", f"{loss:.1%}")
            rows.append((str(release), *known, *_cells(of_release, study.models, "auroc")))
        yield f"AUROC for {study.target.name}, mean (least to largest repeat)"
        headers = ("release", "k", "loss", *study.models)
        yield Grid(headers, rows, right=range(1, len(headers)))


def _cells(table: pd.DataFrame, models: Iterable[str], score: str) -> list[str]:
    """Mean, least and largest score of each model; a dash where there is none."""
    cells = []
    for model in models:
        values = table[table["model"] == model][score]
        spread = f"{values.mean():.3f} ({values.min():.3f} to {values.max():.3f})"
        cells.append("-" if values.isna().all() else spread)
    return cells


# -- which losses tell ---------------------------------------------------------------------------


def which_tell(outcome: StudyOutcome) -> pd.DataFrame:
    """Correlate every loss with every drop: one row for each measure, model and score.

    Correlations are empty where a measure or a drop is the same for all releases, or there are
    fewer than three.
    """
    import pandas as pd

    return pd.DataFrame(list(_rows(outcome)), columns=_COLUMNS)


def _rows(outcome: StudyOutcome) -> Iterator[dict[str, Any]]:
    measured = outcome.releases.groupby("release", sort=False).mean(numeric_only=True)
    losses = [name for name, each in MEASURES.items() if name in measured and not each.privacy]
    for model, drops in outcome.drops.groupby("model", sort=False):
        drops = drops.set_index("release")
        for name in losses:
            loss = find_measure(name).turned(measured[name])
            for score in SCORES:
                # Where nothing could be released or tested, there is nothing to compare.
                pairs = np.column_stack([loss.reindex(drops.index), drops[score]])
                pairs = pairs[np.isfinite(pairs).all(axis=1)]
                yield {
                    "measure": name,
                    "model": model,
                    "score": score,
                    "releases": len(pairs),
                    **_correlated(pairs, outcome.study.seed),
                }


def _correlated(pairs: Floats, seed: int) -> dict[str, float]:
    """Both correlations of pairs (releases, 2), with their intervals."""
    from scipy.stats import rankdata

    found: dict[str, float] = {}
    if len(pairs) < LEAST_RELEASES:
        return found
    drawn = np.random.default_rng(seed).integers(len(pairs), size=(_DRAWS, len(pairs)))
    samples = np.concatenate([pairs[None], pairs[drawn]])  # all of them, then the draws
    for kind, values in (("spearman", rankdata(samples, axis=1)), ("pearson", samples)):
        all_of_them, *draws = _pearson(values).tolist()
        found[kind] = all_of_them
        usable = np.array(draws)[np.isfinite(draws)]
        if np.isfinite(all_of_them) and len(usable):
            found[f"{kind}_low"], found[f"{kind}_high"] = np.percentile(usable, _MIDDLE).tolist()
    return found


def _pearson(samples: Floats) -> Floats:
    """Pearson's correlation of each sample (samples, releases, 2); NaN where one side is constant.

    What differs by rounding alone is constant.
    """
    centred = samples - samples.mean(axis=1, keepdims=True)
    spread = np.sqrt((centred**2).sum(axis=1))
    varies = spread > 1e-12 * np.abs(samples).max(axis=1)
    product = (centred[..., 0] * centred[..., 1]).sum(axis=1)
    scale = np.where(varies.all(axis=1), spread.prod(axis=1), np.nan)
    return np.asarray(np.clip(product / scale, -1.0, 1.0))
