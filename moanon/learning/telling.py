"""Which measure of loss tells what a release still teaches.

For every registered loss, every model and every score: does the drop grow with the loss, over the
releases of a study? Spearman's correlation asks whether both put the releases in the same order,
Pearson's whether one is a linear function of the other. Losses are turned so that more is worse;
a measure that tells has a correlation near 1.

Intervals are the middle 95 % of correlations over releases drawn with replacement (bootstrap). Few
releases give wide ones, or, where all agree, none at all: every draw of them agrees, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from moanon.arrays import Floats
from moanon.learning.models import SCORES
from moanon.learning.outcome import Outcome
from moanon.measures import find_measure
from moanon.measures.measure import MEASURES

if TYPE_CHECKING:
    import pandas as pd

#: Draws of releases, and the percentiles between which most of them lie.
_DRAWS = 1000
_MIDDLE = (2.5, 97.5)
#: With fewer releases nothing can be said.
LEAST_RELEASES = 3


def which_tell(outcome: Outcome) -> pd.DataFrame:
    """Correlate every loss with every drop: one row for each measure, model and score.

    Correlations are empty where a measure or a drop is the same for all releases, or there are
    fewer than three.
    """
    import pandas as pd

    return pd.DataFrame(list(_rows(outcome)), columns=_COLUMNS)


_COLUMNS = (
    "measure",
    "model",
    "score",
    "releases",
    *(f"{kind}{end}" for kind in ("spearman", "pearson") for end in ("", "_low", "_high")),
)


def _rows(outcome: Outcome) -> Iterator[dict[str, Any]]:
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
