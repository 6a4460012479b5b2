"""The diagnosis centre: how exposed a table is, before anything is generalized.

Twelve questions (k-anonymity Diagnosis Centre, Z) cover every way to fix or to ask for a level k, a
set of columns S, and the share δ of rows that may be suppressed. The same questions can be asked
about ℓ-diversity and t-closeness once a sensitive column is named.

- ``centre``: `Diagnosis`, a table under examination; `Diagnosis.read` reads one, `Diagnosis.ask`
  answers the question that goes with what is given and what is left out. Beside the questions:
  `Diagnosis.risk`, `Diagnosis.additions`, `Diagnosis.row_levels`.
- ``questions``: the questions (`QUESTIONS`), one of them with all that was given
  (`DiagnosisQuestion`), and what can be asked about (`PrivacyModel`).
- ``diagnosis_answers``: what comes back (`SubsetAnswer`, `BorderAnswer`, `SetsAnswer`,
  `CurvesAnswer`), each with its question and a frame; and `Curve`, all there is to know about one
  set.
- ``findings``: the answer in words with all that goes with it (`Findings`), and what matters first
  about a table (`look_over`).
- ``column_groups`` holds the distinct rows and counts groups of growing sets; ``column_sets``
  answers questions about all sets, and decides which of them need to be grouped.

Missing values are values of their own; no row is ever dropped.
"""

from moanon.diagnosis.centre import Diagnosis
from moanon.diagnosis.column_sets import SetsProgress
from moanon.diagnosis.diagnosis_answers import (
    AddedColumn,
    BorderAnswer,
    Curve,
    CurvesAnswer,
    DiagnosisAnswer,
    RatedSet,
    ReidentificationRisk,
    SetsAnswer,
    SubsetAnswer,
)
from moanon.diagnosis.findings import Findings, Overview, look_over, usual_size
from moanon.diagnosis.questions import QUESTIONS, Form, Letter, PrivacyModel, choose_rule, listed

__all__ = [
    "QUESTIONS",
    "AddedColumn",
    "BorderAnswer",
    "Curve",
    "CurvesAnswer",
    "Diagnosis",
    "DiagnosisAnswer",
    "Findings",
    "Form",
    "Letter",
    "Overview",
    "PrivacyModel",
    "RatedSet",
    "ReidentificationRisk",
    "SetsAnswer",
    "SetsProgress",
    "SubsetAnswer",
    "choose_rule",
    "listed",
    "look_over",
    "usual_size",
]
