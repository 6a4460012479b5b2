"""Makes adult_measures.csv: 200 genomes of Adult, every measure by the slow oracle.

Run from the repository's root: ``python -m tests.golden.make_adult_measures``. Nothing in here
calls a kernel; the table, its domains and the drawing of genomes are the package's own.
"""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path

import numpy as np

from moanon import datasets
from moanon.data.domain import DomainSpec, IntervalSpec, OrderedSpec, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.engines import read_table
from moanon.genome import Instance
from tests import naive

GOLDEN = Path(__file__).with_name("adult_measures.csv")
ETA = 0.1
NUMBERS = ("weighted_k", "suppressed", "groups", "gl", "sl")
RULES = (
    ("none", None, None),
    ("limit", None, None),
    ("weighted-k", None, None),
    *(("kl-safety", safety, prefer) for safety in ("ordered", "strict") for prefer in "kl"),
)


def adult_instance() -> Instance:
    """Adult as in D's P4: eight quasi-identifiers, occupation sensitive."""
    trees = ("workclass", "marital-status", "native-country")
    orders = ("education", "race", "sex", "salary-class")
    specs: dict[str, DomainSpec] = {"age": IntervalSpec(5, (15, 94))}
    specs |= {c: TreeSpec(Hierarchy.read(datasets.hierarchy_path(f"adult/{c}"))) for c in trees}
    specs |= {c: OrderedSpec(tuple(datasets.order(f"adult/{c}"))) for c in orders}
    roles = dict.fromkeys(specs, "quasi") | {"occupation": "sensitive"}
    return Instance.build(read_table(datasets.load("adult"), roles), specs)


def genomes(instance: Instance) -> np.ndarray:
    """A hundred samples, and a hundred that are coarser (the AND of two)."""
    rng = np.random.default_rng(20081125)
    fine = instance.layout.sample(100, rng)
    return np.concatenate([fine, fine & instance.layout.sample(100, rng)])


def kept_by(rule: tuple, groups: list[naive.Group]) -> tuple[int, int, list[naive.Group]]:
    kind, safety, prefer = rule
    if kind == "none":
        return 1, 0, groups
    if kind == "limit":
        d, kept = naive.within_limit(groups, ETA)
        return d + 1, 0, kept
    if kind == "weighted-k":
        return 0, 0, naive.above_weighted_k(groups)
    rule_of = {"ordered": naive.ordered_safety, "strict": naive.strict_safety}[safety]
    return rule_of(groups, ETA, prefer)


def main() -> None:
    instance = adult_instance()
    base = naive.base_rows(instance)
    sizes = [domain.size for domain in instance.layout.domains.values()]
    occupations = naive.sensitive_rows(instance, "occupation")
    with GOLDEN.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ["genome", "rule", "d1", "d2", "k", "l_distinct", "l_frequency", *NUMBERS],
        )
        for genome in genomes(instance):
            text = instance.layout.text(genome)
            at, blocks = 0, []
            for size in sizes:
                blocks.append(naive.blocks_of(text[at : at + size - 1], size))
                at += size - 1
            shown = [tuple(b[v] for b, v in zip(blocks, row, strict=True)) for row in base]
            groups, frequency = [], {}
            for row, members in naive.groups_of(shown).items():
                values = [occupations[i] for i in members]
                loss = naive.row_loss(row, sizes)
                group = (len(members), loss, naive.distinct_l(values))
                groups.append(group)
                frequency[group] = min(frequency.get(group, 99), naive.frequency_l(values))
            mean = naive.weighted_k(size for size, _, _ in groups)
            for rule in RULES:
                d1, d2, kept = kept_by(rule, groups)
                k, ell = naive.attained(kept)
                gl, sl = naive.losses(groups, kept, len(sizes))
                lost = sl * len(base)
                assert lost.denominator == 1
                name = "/".join(filter(None, rule))
                least = min(frequency[group] for group in kept)
                numbers = (decimal(mean), lost.numerator, len(kept), decimal(gl), decimal(sl))
                writer.writerow([text, name, d1, d2, k, ell, least, *numbers])


def decimal(number: Fraction) -> str:
    return repr(float(number))


if __name__ == "__main__":
    main()
