"""Proven optima: how far a search is from the best generalization there is.

For Adult with the columns of ``configs/quickstart.yaml``, and for credit default with five columns:
a search of 50,000 evaluations, then for each k a proof of the least loss of all valid
generalizations, with a share of rows that may be suppressed. CPU seconds are those of the proof
alone, without compiling.

    python experiments/proven_optima.py [--seconds 300] [--out results/proven_optima.csv]

writes a line for each k as soon as it is known: what the search had found, the best loss that is
known after the proof, the bound, how far apart the two are, bounds computed and CPU seconds. The
time limit is one for each k.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator
from pathlib import Path

import moanon
from moanon import Config, Front
from moanon.proofs.front_proof import FrontProof

REPOSITORY = Path(__file__).parents[1]
#: The k of each share of rows that may be suppressed.
ADULT = {
    0.0: (2, 5, 10, 20, 50, 100, 500),
    0.01: (5, 10, 20, 50, 100, 500),
    0.1: (20, 50, 100, 500, 5, 2),
}
CREDIT = {0.0: (2, 5, 10, 50), 0.01: (5, 10, 50), 0.1: (10, 50, 100)}
#: The quasi-identifiers of credit default that the literature takes.
CREDIT_COLUMNS = {
    "LIMIT_BAL": {"role": "quasi", "kind": "interval", "granularity": 50000},
    "SEX": {"role": "quasi", "kind": "interval"},
    "EDUCATION": {"role": "quasi", "kind": "interval"},
    "MARRIAGE": {"role": "quasi", "kind": "interval"},
    "AGE": {"role": "quasi", "kind": "interval", "granularity": 5},
}
HEADER = ("table", "eta", "k", "searched", "loss", "bound", "gap", "bounds", "cpu_seconds")


def fronts(table: str) -> Iterator[tuple[float, Front]]:
    """The front of a search for each share of rows that may be suppressed.

    It has limits of its own: without any, a run also proves where nothing is suppressed.
    """
    for eta in ADULT if table == "adult" else CREDIT:
        problem = {"preset": "k-suppression", "eta": eta}
        if table == "adult":
            path = REPOSITORY / "configs" / "quickstart.yaml"
            front = moanon.optimize(Config.load(path, [f"problem.eta={eta}"]), progress=False)
        else:
            search = {"evaluations": 50_000}
            front = moanon.optimize(
                "credit", CREDIT_COLUMNS, problem=problem, search=search, progress=False
            )
        yield eta, front


def proof_of(front: Front, k: int, seconds: float) -> tuple[object, ...]:
    """Prove the least loss for a k; what came of it, as the last columns of a line."""
    proof = FrontProof(front, [k])
    proof.table.warm_up()
    searched = proof.least_loss(k)
    started = time.process_time()
    while not proof.is_done and time.process_time() - started < seconds:
        proof.advance()
    spent = time.process_time() - started
    found, bound, whole = proof.least_loss(k), proof.bound(k), proof.table.whole
    return (
        round(searched / whole, 6),
        round(found / whole, 6),
        round(bound / whole, 6),
        round((found - bound) / bound, 5) if bound else "",
        proof.work,
        round(spent, 2),
    )


def main() -> None:
    """Make the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300.0, help="CPU seconds for each k")
    parser.add_argument("--tables", nargs="+", default=["adult", "credit"])
    parser.add_argument("--out", type=Path, default=REPOSITORY / "results" / "proven_optima.csv")
    options = parser.parse_args()
    with options.out.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(HEADER)
        for table in options.tables:
            for eta, front in fronts(table):
                for k in (ADULT if table == "adult" else CREDIT)[eta]:
                    line = (table, eta, k, *proof_of(front, k, options.seconds))
                    writer.writerow(line)
                    stream.flush()
                    print(*line, sep=",", flush=True)


if __name__ == "__main__":
    main()
