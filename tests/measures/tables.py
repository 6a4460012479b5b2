"""Tables whose groups are written out, and what one measure says of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from moanon.data.domain import DomainSpec, OrderedSpec
from moanon.engines import read_table
from moanon.genome import Instance
from moanon.measures import MEASURES
from moanon.measures.evaluate import Evaluator
from moanon.measures.suppression import Suppression


def table_of(
    groups: Sequence[Iterable[str]],
    distance: DomainSpec | None = None,
    **more: Sequence[Iterable[str]],
) -> Instance:
    """Groups with these sensitive values under the genome of ones; `more` are further columns."""
    columns = {"s": [list(values) for values in groups]}
    columns |= {name: [list(values) for values in column] for name, column in more.items()}
    frame = {"q": [str(i) for i, values in enumerate(columns["s"]) for _ in values]}
    frame |= {
        name: [value for values in column for value in values] for name, column in columns.items()
    }
    roles = dict.fromkeys(frame, "sensitive") | {"q": "quasi"}
    spec = OrderedSpec(tuple(str(i) for i in range(len(groups))))
    distances = {} if distance is None else {"s": distance}
    return Instance.build(read_table(pd.DataFrame(frame), roles), {"q": spec}, distances=distances)


def measured(instance: Instance, name: str, genome: str | None = None, **rule: object) -> float:
    """A measure of a table under a genome, the finest unless told, with nothing suppressed."""
    bits = (
        np.ones(instance.layout.bits, np.uint8) if genome is None else instance.layout.parse(genome)
    )
    suppression = Suppression(**{"kind": "none", **rule})  # type: ignore[arg-type]
    scores = Evaluator(instance).evaluate(bits, suppression, measures=[name])
    return MEASURES[name].of(scores)[0].item()
