"""Export every solution of every front, and compare each file with ``front.csv``.

For each configuration below ``configs/`` the run is made, or taken from where it lies finished.
Every solution is then exported as ``moanon export`` does it, which already refuses a file that does
not measure as the front says. Independently of that, the written file is measured here once more
with pandas, and both what moanon's reader found in it and that measurement are compared with
``front.csv``: whole numbers exactly, fractions to a relative 1e-9.

    python experiments/certify_fronts.py

makes ``results/certified_fronts.csv``; it takes about a quarter of an hour on two cores. It exits
with 1 if a single value differs. ``--set search.generations=5 --set search.cap=20`` is a quick try.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from moanon import Certificate, Config, MoanonError
from moanon.experiment import Experiment, load_front, plan
from moanon.front import Front
from moanon.release.certificate import front_measures

REPOSITORY = Path(__file__).parents[1]
_RELATIVE = 1e-9
_BARE = ("output.plots=false", "output.report=false")


def main(arguments: Sequence[str] | None = None) -> int:
    """Certify all fronts, write the table, and return the exit code."""
    options = _options(arguments)
    rows = []
    for path in sorted(options.configs.glob("**/*.yaml")):
        for folder in _run(path, options.runs, options.set):
            name = folder.relative_to(options.runs).as_posix()
            rows.append({"run": name, **certify(folder)})
            print(", ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    table = pd.DataFrame(rows)
    table.to_csv(options.out, index=False, lineterminator="\n")
    return int(table["mismatches"].sum() > 0)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--configs", type=Path, default=REPOSITORY / "configs")
    parser.add_argument("--runs", type=Path, default=REPOSITORY / "results")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "results/certified_fronts.csv")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    return parser.parse_args(arguments)


def _run(path: Path, runs: Path, sets: Sequence[str]) -> Iterator[Path]:
    """Make the runs of a configuration, or find them finished."""
    for config in plan([path], [*_BARE, *sets], out=runs / Config.load(path).name):
        experiment = Experiment.prepare(config, resume=True, threads=os.cpu_count() or 1)
        if not experiment.finished:
            experiment.run()
        yield from experiment.places.values()


def certify(folder: Path) -> dict[str, int | str]:
    """Export all solutions of a results folder; count what was compared and what differs."""
    front, stated = load_front(folder), pd.read_csv(folder / "front.csv")
    compared, different, first = 0, 0, ""
    with tempfile.TemporaryDirectory() as scratch:
        for row in stated.to_dict("records"):
            for name, found in _measured(front, int(row["id"]), Path(scratch) / "release.csv"):
                compared += 1
                if not _agree(found, row.get(name)):
                    different += 1
                    first = first or f"solution {row['id']}: {name} {found} for {row.get(name)}"
    return {
        "solutions": len(stated),
        "values_compared": compared,
        "mismatches": different,
        "first_mismatch": first,
    }


def _measured(front: Front, solution: int, path: Path) -> Iterator[tuple[str, float | None]]:
    """Export a solution and yield what moanon and what pandas find in the file."""
    try:
        release = front.release(solution)
        certificate = release.write(path, force=True)
    except MoanonError as error:
        yield f"export: {error}", None
        return
    # The file measures as promised, beside the whole table too, or it would not be there.
    shown = front_measures(release.promised)
    known = {*front.measures, *(front.suppression.own_name(name) for name in front.measures)}
    yield from ((name, value) for name, value in shown.items() if name in known)
    if certificate.sensitive:
        yield "l", shown[f"l_{front.suppression.diversity}"]
    yield from _by_pandas(path, certificate).items()


def _by_pandas(path: Path, certificate: Certificate) -> Mapping[str, float]:
    """Measure a released file with nothing of moanon."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    quasi = list(certificate.quasi)
    sizes = table.groupby(quasi, sort=False).size()
    all_rows = certificate.rows_in - certificate.rows_dropped
    found = {
        "k": sizes.min(),
        "groups": len(sizes),
        "suppressed": all_rows - len(table),
        "sl": (all_rows - len(table)) / all_rows,
        "weighted_k_kept": (sizes**2).sum() / len(table),
        "average_class_size": len(table) / len(sizes),
    }
    if not certificate.sensitive:
        return found
    distinct, frequency = [], []
    for name in certificate.sensitive:
        counts = table.groupby([*quasi, name], sort=False).size().groupby(level=quasi)
        distinct.append(counts.size().min())
        frequency.append((sizes // counts.max()).min())
    return found | {"l_distinct": min(distinct), "l_frequency": min(frequency)}


def _agree(found: float | None, expected: float | None) -> bool:
    if found is None or expected is None:
        return False
    if float(found).is_integer() and float(expected).is_integer():
        return bool(found == expected)
    return math.isclose(found, expected, rel_tol=_RELATIVE, abs_tol=1e-10)


if __name__ == "__main__":
    sys.exit(main())
