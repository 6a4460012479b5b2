"""The privacy-utility frontier: what releases give away of individuals, and tell of the many (L).

Any anonymization of a table is a point on one plane. To the right, more is given away of the
individual that is worst off (`p_loss`: L §4.1, the measure ``t_js`` of one sensitive column);
upwards, less is said of large populations (`u_loss`, L §4.2). Those that no other one beats in both
are the *efficient frontier*.

- ``placing``: `place_releases` measures groupings of one table, and those of them whose groups are
  published as buckets; `Frontier` is what comes of it.
  `CountQueries` are random COUNT queries, which show how wrong a release answers (L §5.2).

>>> import pandas as pd
>>> from moanon import Grouping, Instance, OrderedSpec, read_table
>>> rows = {"size": list("SSMMLL"), "ill": list("abaabb")}
>>> table = read_table(pd.DataFrame(rows), {"size": "quasi", "ill": "sensitive"})
>>> instance = Instance.build(table, {"size": OrderedSpec(("S", "M", "L"))})
>>> groupings = [Grouping.of_genome(instance, bits) for bits in ([0, 0], [1, 0], [1, 1])]
>>> found = place_releases(groupings, min_support=0.1, queries=10, dimensions=1, bucketize=True)
>>> found.to_frame()[["method", "groups", "p_loss", "u_loss", "efficient"]].round(3)
        method  groups  p_loss  u_loss  efficient
0  generalized       1   0.000   0.144       True
1   bucketized       1   0.000   0.144       True
2  generalized       2   0.000   0.144       True
3   bucketized       2   0.000   0.144       True
4  generalized       3   0.216   0.000       True
5   bucketized       3   0.216   0.000       True
"""

from __future__ import annotations

from moanon.frontier.placing import CountQueries, Frontier, PlacedRelease, place_releases

__all__ = ["CountQueries", "Frontier", "PlacedRelease", "place_releases"]
