"""Models and their scores, all of scikit-learn.

A model is a pipeline: categories become indicators, gaps are filled and marked by an indicator,
numbers are scaled where a model needs that, and a classifier follows. Everything is fitted to
training rows alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from moanon.arrays import Bools, Floats, Ints
from moanon.errors import ConfigError, unknown_name
from moanon.learning.features import HIDDEN

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

#: Most indicators that one column of categories becomes: of the most frequent ones.
_MOST_INDICATORS = 100
#: How to get what is needed here.
_INSTALL = "pip install 'moanon[learning]'"


def check_installed() -> None:
    """Refuse to learn without scikit-learn, and say how to get it."""
    if find_spec("sklearn") is None:
        raise ConfigError(f"learning needs scikit-learn, which is not installed: {_INSTALL}")


# -- models ----------------------------------------------------------------------------------------


def _logistic(known: Floats, is_category: Bools, seed: int) -> BaseEstimator:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    classifier = LogisticRegression(max_iter=1000, random_state=seed)
    return make_pipeline(_prepared(known, is_category, StandardScaler()), classifier)


def _forest(known: Floats, is_category: Bools, seed: int) -> BaseEstimator:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline

    classifier = RandomForestClassifier(
        n_estimators=100, min_samples_leaf=5, max_samples=0.5, random_state=seed
    )
    return make_pipeline(_prepared(known, is_category), classifier)


def _boosting(known: Floats, is_category: Bools, seed: int) -> BaseEstimator:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline

    classifier = HistGradientBoostingClassifier(random_state=seed)
    return make_pipeline(_prepared(known, is_category), classifier)


#: Makes a model for training rows, of whose columns some are categories, and a seed.
_Maker = Callable[[Floats, Bools, int], "BaseEstimator"]
#: Models by name.
MODELS: dict[str, _Maker] = {"logistic": _logistic, "forest": _forest, "boosting": _boosting}


def find_model(name: str) -> _Maker:
    """Return what makes a model of that name."""
    if name not in MODELS:
        raise unknown_name("model", name, MODELS)
    return MODELS[name]


def _prepared(known: Floats, is_category: Bools, *scaling: BaseEstimator) -> BaseEstimator:
    """What stands before a classifier: indicators of categories, numbers without gaps.

    What training rows do not show has no indicator: of a leaf, its known ancestors are left. Nor
    has `HIDDEN`: it would tell raw rows from released ones, and shallow leaves from deep ones.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    # Some models take gaps as they are, but none of them takes a column of gaps alone.
    filled = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    shown = {column: np.unique(known[:, column]) for column in np.flatnonzero(is_category)}
    shown = {column: values[values != HIDDEN] for column, values in shown.items()}
    categories = {column: values for column, values in shown.items() if len(values)}
    indicators = OneHotEncoder(
        categories=list(categories.values()),
        handle_unknown="ignore",
        max_categories=_MOST_INDICATORS,
        sparse_output=False,
    )
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(filled, *scaling), np.flatnonzero(~is_category)),
            ("categories", indicators, list(categories)),
        ]
    )


@contextmanager
def quietly() -> Iterator[None]:
    """Do without what models say of themselves; for all threads, so not inside of one.

    Not converging within a thousand steps is a property of a model, and its scores show it.
    """
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


# -- scores ----------------------------------------------------------------------------------------


#: Names of the scores, and whether more of one is better: the mean over the classes of the share of
#: its rows that are recognized; the area under the receiver operating characteristic, of more than
#: two classes the mean over one against the rest; the mean of -ln of the probability that a row's
#: own class was given.
SCORES = {"balanced_accuracy": True, "auroc": True, "log_loss": False}


def score(truth: Ints, probabilities: Floats) -> dict[str, float]:
    """Compare probabilities (rows, classes) with the true classes of the rows; without any, NaN."""
    from sklearn.metrics import log_loss, recall_score, roc_auc_score

    if not len(truth):
        return dict.fromkeys(SCORES, np.nan)
    present = np.unique(truth)
    # The mean recall of the classes that are there: what balanced_accuracy_score is, which warns
    # where a model names another one.
    accuracy = recall_score(
        truth, probabilities.argmax(axis=1), labels=present, average="macro", zero_division=0
    )
    area = np.nan
    if len(present) > 1:
        columns = present[-1:] if probabilities.shape[1] == 2 else present
        area = np.mean([roc_auc_score(truth == c, probabilities[:, c]) for c in columns])
    loss = log_loss(truth, probabilities, labels=np.arange(probabilities.shape[1]))
    return dict(zip(SCORES, map(float, (accuracy, area, loss)), strict=True))


def guess(classes: int, training: Ints, rows: int) -> Floats:
    """Probabilities of a guess that knows no features: the shares of classes in training rows.

    Without any row, all classes are as likely.
    """
    from sklearn.dummy import DummyClassifier

    if not len(training):
        return np.full((rows, classes), 1 / classes)
    nothing = DummyClassifier(strategy="prior").fit(np.zeros((len(training), 1)), training)
    return _all_classes(nothing, np.zeros((rows, 1)), classes)


def learn(
    model: str,
    seed: int,
    is_category: Bools,
    training: tuple[Floats, Ints],
    features: Floats,
    classes: int,
) -> Floats:
    """Train a model and return what it takes to be the probabilities of some rows' classes.

    Training rows of fewer than two classes teach nothing but that: the answer is a guess.
    """
    known, truth = training
    if len(np.unique(truth)) < 2:
        return guess(classes, truth, len(features))
    fitted = find_model(model)(known, is_category, seed).fit(known, truth)
    return _all_classes(fitted, features, classes)


def _all_classes(fitted: Any, features: Floats, classes: int) -> Floats:
    """Probabilities of all classes; those that training rows lack have none."""
    found = np.zeros((len(features), classes))
    if len(features):
        found[:, fitted.classes_] = fitted.predict_proba(features)
    return found
