"""Tell whether the fronts of the committed configurations are what they were, to the byte.

The same configuration and seed give the same bytes in ``front.csv``. This script runs
configs/quickstart.yaml and configs/adult/*.yaml and compares every column of each front with
results/fronts.csv, which holds a digest of the column as it was recorded. New columns are told and
are no difference; a column that is gone is one. (Other versions of numpy may sum in another order.)

    python experiments/same_fronts.py                   run all and compare; exit 1 if one differs
    python experiments/same_fronts.py --from FOLDER     compare results that are there already
    python experiments/same_fronts.py --record          write results/fronts.csv anew
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "results" / "fronts.csv"
CONFIGS = [
    ROOT / "configs" / "quickstart.yaml",
    *sorted((ROOT / "configs" / "adult").glob("*.yaml")),
]


def digests(front: Path) -> dict[str, str]:
    """SHA-256 of each column of a front, its cells as they stand in the file."""
    with front.open(newline="") as stream:
        header, *rows = csv.reader(stream)
    return {
        name: hashlib.sha256("\n".join(row[i] for row in rows).encode()).hexdigest()
        for i, name in enumerate(header)
    }


def run(config: Path, folder: Path) -> None:
    """Run a configuration without figures and report."""
    command = ["run", str(config), "--out", str(folder), "--quiet", "--force"]
    sets = ["--set", "output.plots=false", "--set", "output.report=false"]
    subprocess.run([sys.executable, "-m", "moanon", *command, *sets], check=True)


def read_record() -> dict[str, dict[str, str]]:
    """Digests by configuration and column."""
    found: dict[str, dict[str, str]] = {}
    with RECORD.open(newline="") as stream:
        for row in csv.DictReader(stream):
            found.setdefault(row["config"], {})[row["column"]] = row["sha256"]
    return found


def write_record(found: dict[str, dict[str, str]]) -> None:
    """Write digests by configuration and column."""
    with RECORD.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["config", "column", "sha256"])
        writer.writerows(
            [config, *item] for config, columns in found.items() for item in columns.items()
        )


def main() -> int:
    """Run or read the fronts, and compare or record them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--from", dest="folder", type=Path, help="results, a folder per name")
    parser.add_argument("--record", action="store_true", help="write the reference anew")
    options = parser.parse_args()
    found = {}
    with TemporaryDirectory() as temporary:
        for config in CONFIGS:
            folder = (options.folder or Path(temporary)) / config.stem
            if options.folder is None:
                run(config, folder)
            found[config.stem] = digests(folder / "front.csv")
    if options.record:
        write_record(found)
        return 0
    differing = 0
    for config, recorded in read_record().items():
        wrong = [name for name, digest in recorded.items() if found[config].get(name) != digest]
        new = [name for name in found[config] if name not in recorded]
        same = f"{len(recorded) - len(wrong)} of {len(recorded)} columns the same"
        more = f", new: {', '.join(new)}" if new else ""
        print(f"{config}: {same}{more}{', DIFFERENT: ' + ', '.join(wrong) if wrong else ''}")
        differing += bool(wrong)
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main())
