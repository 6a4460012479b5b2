"""Fronts: undominated solutions with all their measures, to look at, to ask and to release from.

- ``front``: `Front`; on disk, files of a results folder, which `Front.save` writes.
- ``results``: whether a results folder can be used, and which fronts lie in it.
- ``asking``: a publisher's `Question` to a front and its `Answer`, and what several limits of
  suppression offer; ``choices``: `Limit`, `Choice`, the near misses worth knowing, and how values
  are written.
- ``landmarks``: knees and flat stretches.

**What is asked** (D §1, §7.4, §7.5). "What is a good value for k when one may suppress 10 % of the
records and tolerates a loss of 25 %?" (D §1) is a
`Question`: limits on measures, and what to make best within them. Its `Answer` names one solution,
and others close by that the limits shut out for little.

**What is made best.** Where loss is limited, the most privacy: for (k,ℓ)-safety k and ℓ as
attained, in the order that the problem prefers; otherwise the objectives that are privacy
(weighted-k for zero and any suppression; a closeness that was searched), else k. Where only privacy
is limited, the least loss (GL + SL). A limit is one on privacy or on loss by its measure, and a
demand where it shuts out what is worse: t at most 0.2 asks for privacy, prec at least 0.8 for
little loss. Ties are broken by the other of the two, then by k, ℓ and weighted-k. `prefer`
overrides the order.

**What is near.** A near miss is *slightly* beyond the question and *noticeably* better:

- slightly: up to 1, then up to 2 percentage points more of a share (loss, suppressed rows); of any
  other limit a tenth, but at least 1 of what is counted (k 10 → 9), and 0.01 of a distance;
- noticeably: at least 1 percentage point less of a share, or a tenth more of any other measure;
- for free: more privacy, noticeably, for at most a tenth of a percentage point of loss.

Each limit is moved by itself. The question is also turned around at the answer: the least loss is
asked what slightly more of it would buy, the most privacy what a tenth less of it (of a closeness:
a tenth more) would save (D §7.2: on a steep part of a front, a slightly lower k is the rational
choice). Where privacy has two sides, k and ℓ, the other balances between them within the limits are
listed too (D Fig. 10), and those that a loss limit raised by 1 percentage point reveals (D Fig.
11).
"""

from __future__ import annotations

from moanon.front.asking import Answer, Question, answer, best_of, ladder
from moanon.front.choices import Choice, Limit, called, shown
from moanon.front.front import Front

__all__ = [
    "Answer",
    "Choice",
    "Front",
    "Limit",
    "Question",
    "answer",
    "best_of",
    "called",
    "ladder",
    "shown",
]
