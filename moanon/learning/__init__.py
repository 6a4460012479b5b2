"""What can still be learned from a release: classifiers, and which losses predict it.

A model is trained on released rows and asked about a *target* column; the same is done with the
table as it is, and the difference is the *drop* (Marchand, M §5; there with Mondrian alone).

- ``features``: rows as numbers, so that a raw row and a released one meet in the same columns.
- ``lessons``: the target column, which rows are held out, the two protocols, and how an
  anonymization is made anew of training rows alone.
- ``models``: the models, all of scikit-learn, and their scores.
- ``study``: every anonymization, model and repeat, in any order and on any number of threads; what
  was found, as tables, and which measure of loss goes with the drop.

scikit-learn is imported here alone, and only when something is learned.
"""

from moanon.learning.study import Study

__all__ = ["Study"]
