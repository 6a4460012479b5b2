"""The slow oracle of all measures beyond the four problems, straight from their definitions.

Groups are lists of row numbers. Nothing is shared with the package beyond its tables and domains;
heights and distances in trees are read off the levels of the hierarchy.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction

from moanon.data.domain import Domain, IntervalDomain, TreeDomain
from moanon.data.hierarchy import Hierarchy
from moanon.genome import Instance
from moanon.measures import MEASURES
from tests import naive

Rows = list[int]
Ground = Callable[[Hashable, Hashable], Fraction]

# -- trees -----------------------------------------------------------------------------------------


def distinct_levels(tree: Hierarchy) -> list[list[tuple[int, int]]]:
    """For each distinct level, finest first, the (start, stop) of its nodes."""
    levels: list[list[tuple[int, int]]] = []
    for cut in tree.levels:
        nodes = sorted((tree.starts[node], tree.stops[node]) for node in cut)
        if nodes not in levels:
            levels.append(nodes)
    return levels


def level_of(tree: Hierarchy, block: tuple[int, int]) -> int:
    """The first level that has a node."""
    return next(i for i, nodes in enumerate(distinct_levels(tree)) if block in nodes)


def level_holding(tree: Hierarchy, block: tuple[int, int]) -> int:
    """The first level that has a node with all of a block, which need not be a node itself."""
    return next(
        i
        for i, nodes in enumerate(distinct_levels(tree))
        if any(start <= block[0] and block[1] <= stop for start, stop in nodes)
    )


def tree_distance(tree: Hierarchy, one: int, other: int) -> Fraction:
    """First level at which two leaves are in one node, over the height of the tree."""
    levels = distinct_levels(tree)
    together = next(
        i
        for i, nodes in enumerate(levels)
        if any(start <= one < stop and start <= other < stop for start, stop in nodes)
    )
    return Fraction(together, max(1, len(levels) - 1))


# -- models of one group, over the sensitive values of its rows ------------------------------------


def shares(values: Sequence[Hashable]) -> dict[Hashable, Fraction]:
    return {value: Fraction(n, len(values)) for value, n in Counter(values).items()}


def alpha(values: Sequence[Hashable]) -> Fraction:
    return max(shares(values).values())


def emd_equal(values: Sequence[Hashable], table: Sequence[Hashable]) -> Fraction:
    p, q = shares(values), shares(table)
    return sum((abs(p.get(s, Fraction(0)) - q[s]) for s in q), Fraction(0)) / 2


def emd_ordered(places: Sequence[int], table: Sequence[int], size: int) -> Fraction:
    """Over places 0 .. size - 1 of an order."""
    p, q = shares(places), shares(table)
    total = running = Fraction(0)
    for place in range(size - 1):
        running += p.get(place, Fraction(0)) - q.get(place, Fraction(0))
        total += abs(running)
    return total / max(1, size - 1)


def emd_tree(places: Sequence[int], table: Sequence[int], tree: Hierarchy) -> Fraction:
    """Li et al. §5.2: level by level, what the parts of each node exchange."""
    p, q = shares(places), shares(table)
    levels = distinct_levels(tree)

    def extra(start: int, stop: int) -> Fraction:
        return sum(
            (p.get(i, Fraction(0)) - q.get(i, Fraction(0)) for i in range(start, stop)), Fraction(0)
        )

    cost = Fraction(0)
    for height in range(1, len(levels)):
        for start, stop in levels[height]:
            parts = [extra(a, b) for a, b in levels[height - 1] if start <= a and b <= stop]
            more = sum((e for e in parts if e > 0), Fraction(0))
            less = sum((-e for e in parts if e < 0), Fraction(0))
            cost += Fraction(height, len(levels) - 1) * min(more, less)
    return cost


def js_divergence(values: Sequence[Hashable], table: Sequence[Hashable]) -> float:
    p, q = shares(values), shares(table)

    def kl(one: dict[Hashable, Fraction], mean: dict[Hashable, Fraction]) -> float:
        return math.fsum(float(w) * math.log(w / mean[s]) for s, w in one.items())

    mean = {s: (p.get(s, Fraction(0)) + q[s]) / 2 for s in q}
    return (kl(p, mean) + kl(q, mean)) / 2


def delta(values: Sequence[Hashable], table: Sequence[Hashable]) -> float:
    p, q = shares(values), shares(table)
    if set(p) != set(q):
        return math.inf
    return max(abs(math.log(p[s] / q[s])) for s in q)


def delta_present(values: Sequence[Hashable], table: Sequence[Hashable]) -> float:
    p, q = shares(values), shares(table)
    return max(abs(math.log(p[s] / q[s])) for s in p)


def beta(values: Sequence[Hashable], table: Sequence[Hashable]) -> Fraction:
    p, q = shares(values), shares(table)
    return max((p[s] - q[s]) / q[s] for s in p)  # the shares of both add up to 1: one is >= 0


def beta_enhanced(values: Sequence[Hashable], table: Sequence[Hashable]) -> float:
    p, q = shares(values), shares(table)
    holds = all(p[s] / q[s] - 1 <= -math.log(q[s]) for s in p if p[s] > q[s])
    return float(beta(values, table)) if holds else math.inf


def sensitive_places(instance: Instance, name: str) -> list[int]:
    """Place of every row's sensitive value in the domain of its distance."""
    domain, column = instance.distances[name], instance.table.column(name)
    return [
        domain.size - 1 if code < 0 else int(domain.find([column.values[code]])[0])
        for code in column.codes.tolist()
    ]


def emd(instance: Instance, name: str, rows: Rows) -> Fraction:
    """EMD of a group from the table, by the distance of a sensitive column."""
    if name not in instance.distances:
        values = naive.sensitive_rows(instance, name)
        return emd_equal([values[i] for i in rows], values)
    domain, places = instance.distances[name], sensitive_places(instance, name)
    here = [places[i] for i in rows]
    if isinstance(domain, TreeDomain):
        return emd_tree(here, places, domain.hierarchy)
    return emd_ordered(here, places, domain.size)


#: Models of a group by itself, ...
ALONE: dict[str, Callable[[Sequence[Hashable]], float | Fraction]] = {
    "l_distinct": naive.distinct_l,
    "l_frequency": naive.frequency_l,
    "l_entropy": naive.entropy_l,
    "p_sensitive": naive.distinct_l,
    "alpha": alpha,
}
#: ... and of one compared with many rows. Tests of models go through these, whatever they are of.
BESIDE: dict[str, Callable[[Sequence[Hashable], Sequence[Hashable]], float | Fraction]] = {
    "t_equal": emd_equal,
    "t_js": js_divergence,
    "delta": delta,
    "delta_present": delta_present,
    "beta": beta,
    "beta_enhanced": beta_enhanced,
}


def worst(name: str, values: Iterable[float]) -> float:
    """The worst of some values of a measure."""
    return (min if MEASURES[name].direction == "max" else max)(values)


def column_models(
    groups: Sequence[Sequence[Hashable]], table: Sequence[Hashable], c: Fraction = Fraction(3)
) -> dict[str, float]:
    """Every model of some values of one column, of the worst group; but for t-closeness."""
    found = {name: [float(model(values)) for values in groups] for name, model in ALONE.items()}
    found |= {
        name: [float(model(values, table)) for values in groups] for name, model in BESIDE.items()
    }
    found["l_recursive"] = [naive.recursive_l(values, c) for values in groups]
    return {name: worst(name, values) for name, values in found.items()}


def group_models(instance: Instance, rows: Rows, c: Fraction = Fraction(3)) -> dict[str, float]:
    """Every measure of one group, the worst over the sensitive columns."""
    found: dict[str, list[float]] = {}
    for name in instance.table.sensitive:
        table = naive.sensitive_rows(instance, name)
        each = column_models([[table[i] for i in rows]], table, c)
        each["t_closeness"] = float(emd(instance, name, rows))
        for measure, value in each.items():
            found.setdefault(measure, []).append(value)
    return {name: worst(name, values) for name, values in found.items()} | {"k": len(rows)}


# -- losses of a release ---------------------------------------------------------------------------

#: For each row the block that it shows in each quasi-identifier.
Shown = Sequence[Sequence[tuple[int, int]]]


def certainty(domain: Domain, spans: Sequence[int], start: int, stop: int) -> Fraction:
    """M eq. 5 and 6; base values stand for so many values."""
    inside, every = sum(spans[start:stop]), sum(spans)
    if isinstance(domain, IntervalDomain):
        return Fraction(inside - 1, max(1, every - 1))
    return Fraction(0) if inside == 1 else Fraction(inside, every)


def block_entropy(values: Sequence[int], start: int, stop: int) -> float:
    """M eq. 9-10, with the values of the whole table."""
    inside = Counter(value for value in values if start <= value < stop)
    rows = sum(inside.values())
    return -math.fsum(n / rows * math.log(n / rows) for n in inside.values())


def entropy_loss(base: Sequence[Sequence[int]], shown: Shown, kept: Sequence[Rows]) -> float:
    """What rows no longer tell of their own values, row by row."""
    n, stays = len(base), {row for rows in kept for row in rows}
    lost, whole = [], []
    for j, values in enumerate(zip(*base, strict=True)):
        own = Counter(values)
        blocks = {shown[row][j] for row in stays}
        rows_in = {block: sum(own[value] for value in range(*block)) for block in blocks}
        for i, value in enumerate(values):
            here = rows_in[shown[i][j]] if i in stays else n
            lost.append(math.log2(here / own[value]))
            whole.append(math.log2(n / own[value]))
    return math.fsum(lost) / math.fsum(whole) if any(whole) else 0.0


def loss_measures(instance: Instance, genome: str, kept: Sequence[Rows]) -> dict[str, float]:
    """Losses of a release with these groups of a genome."""
    found = block_losses(instance, naive.generalized_rows(instance, genome), kept)
    at, levels = 0, []
    for domain in instance.layout.domains.values():
        bits = genome[at : at + domain.size - 1]
        at += domain.size - 1
        if isinstance(domain, TreeDomain):
            # the whole domain is cut, whatever is suppressed or absent
            blocks = naive.blocks_of(bits, domain.size)
            levels.append(max(level_of(domain.hierarchy, block) for block in blocks))
    return found | _tree_distances(instance, levels)


def block_losses(instance: Instance, shown: Shown, kept: Sequence[Rows]) -> dict[str, float]:
    """Losses of a release whose kept groups show any blocks."""
    base = naive.base_rows(instance)
    domains = list(instance.layout.domains.values())
    weights = [Fraction(instance.weights.get(name, 1.0)) for name in instance.layout.domains]
    released = sum(map(len, kept))
    n, gone = len(base), len(base) - released
    spans = naive.spans_of(instance)
    sizes = [domain.size for domain in domains]
    columns = list(zip(*base, strict=True))
    entropies = {}
    for j, size in enumerate(sizes):
        for block in {shown[rows[0]][j] for rows in kept} | {(0, size)}:
            entropies[j, block] = block_entropy(columns[j], *block)
    weighted = ncp = Fraction(0)
    entropy = []
    for rows in kept:
        for j, block in enumerate(shown[rows[0]]):  # alike in all rows of a group
            weighted += len(rows) * weights[j] * naive.row_loss([block], [spans[j]])
            ncp += len(rows) * weights[j] * certainty(domains[j], spans[j], *block)
            entropy += [entropies[j, block]] * len(rows)
    entropy += [entropies[j, (0, size)] for j, size in enumerate(sizes)] * gone
    every = n * sum(weights)
    found = {
        "gl_weighted": float(weighted / every),
        "loss_weighted": float((weighted + gone * sum(weights)) / every),
        "ncp": float((ncp + gone * sum(weights)) / every),
        "conditional_entropy": math.fsum(entropy),
        "entropy_loss": entropy_loss(base, shown, kept),
        "dm": sum(len(rows) ** 2 for rows in kept) + n * gone,
        "c_avg": float(Fraction(released, len(kept)) / min(map(len, kept))),
    }
    return found | _tree_losses(instance, shown, kept, gone) | _cm(instance, kept, gone)


def _tree_heights(instance: Instance) -> dict[int, int]:
    """Height of the tree of each tree column, by the column's place."""
    return {
        j: max(1, len(distinct_levels(domain.hierarchy)) - 1)
        for j, domain in enumerate(instance.layout.domains.values())
        if isinstance(domain, TreeDomain)
    }


def _tree_losses(
    instance: Instance, shown: Shown, kept: Sequence[Rows], gone: int
) -> dict[str, float]:
    heights, trees = _tree_heights(instance), list(instance.layout.trees.values())
    if not trees:
        return {}
    climbed, levels = Fraction(0), []
    for (j, height), tree in zip(heights.items(), trees, strict=True):
        climbed += gone
        reached = {rows[0]: level_holding(tree, shown[rows[0]][j]) for rows in kept}
        climbed += sum(len(rows) * Fraction(reached[rows[0]], height) for rows in kept)
        levels.append(max(reached.values()))
    return {
        "prec": float(1 - climbed / (len(levels) * len(shown))),
        **_tree_distances(instance, levels),
    }


def _tree_distances(instance: Instance, levels: Sequence[int]) -> dict[str, float]:
    """M eq. 1 and 2, of the level of each tree column."""
    heights = _tree_heights(instance).values()
    if not heights:
        return {}
    shares = [Fraction(level, height) for level, height in zip(levels, heights, strict=True)]
    return {"absdist": sum(levels), "reldist": float(sum(shares))}


def _cm(instance: Instance, kept: Sequence[Rows], gone: int) -> dict[str, float]:
    if instance.label is None:
        return {}
    classes = naive.sensitive_rows(instance, instance.label.name)
    wrong = sum(len(rows) - max(Counter(classes[i] for i in rows).values()) for rows in kept)
    return {"cm": wrong + gone}


# -- indices of property vectors -------------------------------------------------------------------


def property_vectors(
    instance: Instance, shown: Sequence[Sequence[tuple[int, int]]], kept: Sequence[Rows]
) -> dict[str, list[tuple[list[float], float]]]:
    """Vectors over the original rows, one for each sensitive column, each with its ideal."""
    n, sizes = len(shown), naive.spans_of(instance)
    stays = {row for rows in kept for row in rows}
    gone = [row for row in range(n) if row not in stays]
    group_of = {row: rows for rows in [*kept, gone] for row in rows}
    lost = [naive.row_loss(shown[row], sizes) if row in stays else len(sizes) for row in range(n)]
    found: dict[str, list[tuple[list[float], float]]] = {
        "size": [([len(group_of[row]) for row in range(n)], n)],
        "utility": [([float(len(sizes) - loss) for loss in lost], len(sizes))],
    }
    for name in instance.table.sensitive:
        values = naive.sensitive_rows(instance, name)
        counts = {id(rows): Counter(values[i] for i in rows) for rows in [*kept, gone]}
        of_row = [counts[id(group_of[row])] for row in range(n)]
        same = [of_row[row][values[row]] for row in range(n)]
        shares = [count / len(group_of[row]) for row, count in enumerate(same)]
        found.setdefault("sensitive_count", []).append((same, 1))
        found.setdefault("sensitive_share", []).append((shares, 0))
        found.setdefault("diversity", []).append(([len(c) for c in of_row], len(set(values))))
    return found


def individual_measures(
    instance: Instance, shown: Sequence[Sequence[tuple[int, int]]], kept: Sequence[Rows]
) -> dict[str, float]:
    """Every index of every property, of the worst column."""
    found = {}
    for prop, of_columns in property_vectors(instance, shown, kept).items():
        low_is_good = prop.startswith("sensitive")
        worst = max if low_is_good else min
        found[f"{prop}_{worst.__name__}"] = worst(float(worst(v)) for v, _ in of_columns)
        found[f"{prop}_mean"] = worst(math.fsum(v) / len(v) for v, _ in of_columns)
        found[f"{prop}_rank"] = max(math.dist(v, [ideal] * len(v)) for v, ideal in of_columns)
    return found


# -- everything ------------------------------------------------------------------------------------


def release_measures(
    instance: Instance,
    shown: Shown,
    groups: Sequence[Rows],
    kept: Sequence[Rows],
    *,
    diversity: str = "distinct",
    c: Fraction = Fraction(3),
) -> dict[str, float]:
    """Every measure of a release whose rows show any blocks.

    `groups` are all groups, before some of them were suppressed; without a row that has none they
    tell weighted-k. Thresholds of suppression rules are not among the measures.
    """
    sizes = naive.spans_of(instance)
    n, q, released = len(shown), len(sizes), sum(map(len, kept))
    lost = sum((len(rows) * naive.row_loss(shown[rows[0]], sizes) for rows in kept), Fraction(0))
    found: dict[str, float] = {
        "k": min(map(len, kept)),
        "groups": len(kept),
        "suppressed": n - released,
        "average_class_size": released / len(kept),
        "weighted_k_kept": float(naive.weighted_k(map(len, kept))),
        "gl": float(lost / (n * q)),
        "sl": (n - released) / n,
        "loss": float((lost + (n - released) * q) / (n * q)),
    }
    if sum(map(len, groups)) == n:
        found["weighted_k"] = float(naive.weighted_k(map(len, groups)))
    if instance.table.sensitive:
        models = [group_models(instance, rows, c) for rows in kept]
        for name in models[0]:
            worst = min if name in ("k", "p_sensitive") or name.startswith("l_") else max
            found[name] = worst(model[name] for model in models)
        found["l"] = found[f"l_{diversity}"]
    losses = block_losses(instance, shown, kept)
    if not instance.weights:
        del losses["gl_weighted"], losses["loss_weighted"]
    return found | risks(kept) | losses | individual_measures(instance, shown, kept)


def risks(kept: Sequence[Rows]) -> dict[str, float]:
    """Chances of an attacker who guesses a row of the right group."""
    chances = [Fraction(1, len(rows)) for rows in kept for _ in rows]
    small = [chance for chance in chances if chance > Fraction(1, 5)]
    return {
        "risk_mean": float(sum(chances) / len(chances)),
        "risk_max": float(max(chances)),
        "risk_share": len(small) / len(chances),
    }
