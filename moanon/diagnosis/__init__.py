"""The diagnosis centre: how exposed a table is, before anything is generalized.

Twelve questions (k-anonymity Diagnosis Centre, Z) cover every way to fix or to ask for a level k, a
set of columns S, and the share δ of rows that may be suppressed. The same questions can be asked
about ℓ-diversity and t-closeness once a sensitive column is named.

- `Diagnosis`: a table under examination; `Diagnosis.ask` answers the question that goes with what
  is given and what is left out. Beside the questions: `Diagnosis.risk`, `Diagnosis.additions`,
  `Diagnosis.row_levels`.
- ``models``: what can be asked about (`Model`); ``questions``: the twelve (`QUESTIONS`);
  ``asked``: one of them with all that was given (`Asked`).
- ``answers``: what comes back (`SubsetAnswer`, `BorderAnswer`, `SetsAnswer`, `CurvesAnswer`), each
  with the question in words and a frame; `Curve` is all there is to know about one set.
- ``sheet`` holds the distinct rows and counts groups of growing sets; ``walk`` decides which sets
  need to be grouped; ``lattice`` answers questions about all sets.

Missing values are values of their own; no row is ever dropped.
"""

from moanon.diagnosis.answers import (
    Answer,
    BorderAnswer,
    CurvesAnswer,
    RatedSet,
    SetsAnswer,
    Step,
    SubsetAnswer,
)
from moanon.diagnosis.asked import Asked, listed
from moanon.diagnosis.centre import Diagnosis
from moanon.diagnosis.curves import Curve
from moanon.diagnosis.models import ANONYMITY, RULES, Form, Measure, Model
from moanon.diagnosis.questions import QUESTIONS, Question
from moanon.diagnosis.risk import Risk
from moanon.diagnosis.walk import Effort, Progress

__all__ = [
    "ANONYMITY",
    "QUESTIONS",
    "RULES",
    "Answer",
    "Asked",
    "BorderAnswer",
    "Curve",
    "CurvesAnswer",
    "Diagnosis",
    "Effort",
    "Form",
    "Measure",
    "Model",
    "Progress",
    "Question",
    "RatedSet",
    "Risk",
    "SetsAnswer",
    "Step",
    "SubsetAnswer",
    "listed",
]
