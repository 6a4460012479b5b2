"""How good the default search is on fine domains, and what islands, polishing and bounds buy.

For each table, the union of a few searches of 500,000 evaluations is taken for the truth. Then,
seed by seed and in turn: the default search, until it has stalled (and where nothing may be
suppressed, its last step: proofs within their budget, as in a run), and a plain search for as many
CPU seconds, without polishing and bounds and from one archive all the time. Told are their areas in
(ln k, 1 - loss) as shares of that of the union.

    python experiments/search_budget.py [--seeds 5] [--references 2] [--evaluations 500000]
        [--census FILE] [--case NAME]… [--out results/search_budget.csv]

`FILE` is the census income table of 1994 and 1995 (the KDD one, without a header), of which the
first 50,000 rows and eleven columns are taken. With one thread, all of it takes over an hour; lines
of cases that are not run again stay as they are.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import yaml
from search_quality import area

from moanon import Config
from moanon.experiment.runner import Runner
from moanon.proofs.front_proof import prove_within_budget
from moanon.search import archive_search
from moanon.search.algorithms import Stop
from moanon.search.running import Outcome, run_search

REPOSITORY = Path(__file__).parents[1]
HEADER = (
    *("case", "eta", "bits", "seed", "evaluations", "cpu_seconds", "of_union"),
    *("plain_evaluations", "plain_of_union"),
)


def quasi(kind: str, **more: Any) -> dict[str, Any]:
    """A quasi-identifier of a configuration."""
    return {"role": "quasi", "kind": kind, **more}


CREDIT_FIVE = {
    "LIMIT_BAL": quasi("interval", granularity=10_000),
    **{name: quasi("interval") for name in ("SEX", "EDUCATION", "MARRIAGE", "AGE")},
}
CREDIT_NINE = CREDIT_FIVE | {f"PAY_{month}": quasi("interval") for month in (0, 2, 3, 4)}
#: Columns of the census by their places; those that are numbers come first.
CENSUS_NUMBERS = {0: "age", 39: "weeks"}
CENSUS_NAMES = {
    1: "worker",
    4: "education",
    7: "marital",
    8: "industry",
    9: "occupation",
    10: "race",
    12: "sex",
    34: "birth",
    35: "citizenship",
}


def cases(census: Path | None, folder: Path) -> dict[str, dict[str, Any]]:
    """Configurations without their search, by name."""
    adult = yaml.safe_load((REPOSITORY / "configs/quickstart.yaml").read_text(encoding="utf-8"))
    adult["columns"]["age"]["granularity"] = 1
    adult = {key: adult[key] for key in ("data", "columns")}
    credit = {"data": {"source": "credit"}}
    found = {
        "credit-5@0.1": credit | {"columns": CREDIT_FIVE},
        "credit-9@0.1": credit | {"columns": CREDIT_NINE},
        **{f"adult-by-year@{eta}": adult for eta in (0.0, 0.01, 0.2)},
    }
    if census is not None:
        found["census-11@0.05"] = _census(census, folder)
    return found


def _census(path: Path, folder: Path) -> dict[str, Any]:
    names = CENSUS_NUMBERS | CENSUS_NAMES
    frame = pd.read_csv(path, header=None, skipinitialspace=True, dtype=str, nrows=50_000)
    frame = frame[[*names]].rename(columns=names)
    frame.to_csv(folder / "census.csv", index=False)
    columns = {name: quasi("interval") for name in CENSUS_NUMBERS.values()}
    for name in CENSUS_NAMES.values():
        columns[name] = quasi("ordered", order=sorted(frame[name].unique()))
    return {"data": {"source": str(folder / "census.csv")}, "columns": columns}


class Case:
    """One table and limit of suppression."""

    def __init__(self, name: str, given: Mapping[str, Any]) -> None:
        self.name, _, eta = name.partition("@")
        self.eta = float(eta)
        self._given = {**given, "problem": {"preset": "k-suppression", "eta": self.eta}}
        self._given["name"] = self.name
        self.instance = Config.from_dict(self._given).instance()

    def run(
        self, seed: int, evaluations: int | None = None, seconds: float | None = None
    ) -> tuple[Outcome, np.ndarray, float]:
        """Search: what came of it, its points (-k, loss), and CPU seconds.

        By default as a run does, until it has stalled; otherwise for so many evaluations, or
        plainly for so many CPU seconds.
        """
        search = {"algorithm": "archive", "seed": seed, "cap": 100_000}
        config = Config.from_dict({**self._given, "search": search})
        runner = Runner(config, self.instance)
        stop = runner.stop
        runner.kind.warm_up(runner.problem)
        if evaluations is not None:
            stop = Stop(evaluations=evaluations)
        elif seconds is not None:
            stop = Stop(evaluations=10**9)
        started = time.process_time()
        with nullcontext() if seconds is None else _plainly():
            search = runner.search_for(self.eta)
        outcome = run_search(
            search,
            stop,
            interrupted=lambda: seconds is not None and time.process_time() - started >= seconds,
        )
        spent = time.process_time() - started
        if seconds is None and evaluations is None and self.eta == 0:
            front = search.front(config.search.cap)  # measured by every run, so not counted
            started = time.process_time()
            proof = prove_within_budget(front)
            assert proof is not None  # nobody interrupts it
            if proof.better:
                genomes = proof.better_genomes()
                search.archive.add(search.problem.points(genomes), genomes)
            spent += time.process_time() - started
            print(f"{self.name}: {proof.record()}", file=sys.stderr)
        return outcome, search.archive.values.copy(), spent


@contextmanager
def _plainly() -> Iterator[None]:
    """Searches that are built here have neither islands nor polishing."""
    kept = archive_search.polisher_for, archive_search.LONG
    archive_search.polisher_for, archive_search.LONG = (lambda problem: None), sys.maxsize
    try:
        yield
    finally:
        archive_search.polisher_for, archive_search.LONG = kept


def area_of(points: np.ndarray) -> float:
    """Area of points (-k, loss)."""
    return area(-points[:, 0], points[:, 1])


def main() -> None:
    """Make the table, line by line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5, help="seeds 1 to this one")
    parser.add_argument("--references", type=int, default=2, help="searches of the union")
    parser.add_argument("--evaluations", type=int, default=500_000, help="of each of these")
    parser.add_argument("--census", type=Path, help="the census income table (KDD)")
    parser.add_argument("--case", action="append", help="such as credit-5@0.1; default all")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "results/search_budget.csv")
    options = parser.parse_args()
    kept = _lines(options.out)
    with TemporaryDirectory() as folder:
        for name, given in cases(options.census, Path(folder)).items():
            if options.case and name not in options.case:
                continue
            case = Case(name, given)
            kept = [line for line in kept if (line[0], float(line[1])) != (case.name, case.eta)]
            seeds = range(101, 101 + options.references)
            union = [case.run(seed, evaluations=options.evaluations)[1] for seed in seeds]
            truth = area_of(np.concatenate(union))
            shares = ", ".join(f"{area_of(points) / truth:.5f}" for points in union)
            print(f"{name}: the searches of the union reach {shares} of it", file=sys.stderr)
            for seed in range(1, options.seeds + 1):
                outcome, points, seconds = case.run(seed)
                plain, plain_points, _ = case.run(seed, seconds=seconds)
                line = (
                    *(case.name, case.eta, case.instance.layout.bits, seed),
                    *(outcome.evaluations, round(seconds, 1), round(area_of(points) / truth, 5)),
                    *(plain.evaluations, round(area_of(plain_points) / truth, 5)),
                )
                print(*line, sep=",", flush=True)
                kept.append([*map(str, line)])
                _write(kept, options.out)


def _lines(path: Path) -> list[list[str]]:
    """Lines of an earlier run."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as stream:
        return [*csv.reader(stream)][1:]


def _write(lines: list[list[str]], path: Path) -> None:
    """Write all lines, in the order of their cases."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(sorted(lines, key=lambda line: (line[0], float(line[1]), int(line[3]))))


if __name__ == "__main__":
    main()
