"""Tell whether the fronts of the committed configurations are what they were, to the byte.

The same configuration and seed give the same bytes in ``front.csv``. This script runs
configs/quickstart.yaml and configs/adult/*.yaml and compares every column of each front with
results/fronts.csv, which holds a digest of the column as it was recorded. New columns are listed
and are no difference; a missing column is one. (Other numpy versions may add in another order.)

    python experiments/same_fronts.py                   run all and compare; exit 1 if one differs
    python experiments/same_fronts.py --from FOLDER     compare results that are there already
    python experiments/same_fronts.py --against FOLDER  compare with what another checkout finds
    python experiments/same_fronts.py --record          write results/fronts.csv anew

Of another checkout every configuration is run in turns with this one, and CPU seconds are reported.
--only NAME and --set key.path=value run some of them, or others of their kind.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "results" / "fronts.csv"
CONFIGS = [
    ROOT / "configs" / "quickstart.yaml",
    *sorted((ROOT / "configs" / "adult").glob("*.yaml")),
]


Digests = dict[str, str]


def digests(folder: Path) -> Digests:
    """SHA-256 of each column of the fronts of a folder, their cells as they stand in the files."""
    found = {}
    for front in sorted(folder.rglob("front.csv")):
        within = front.parent.relative_to(folder).as_posix()
        with front.open(newline="") as stream:
            header, *rows = csv.reader(stream)
        for i, name in enumerate(header):
            column = "\n".join(row[i] for row in rows).encode()
            place = name if within == "." else f"{within}/{name}"
            found[place] = hashlib.sha256(column).hexdigest()
    return found


def run(config: Path, folder: Path, sets: Sequence[str], checkout: Path = ROOT) -> float:
    """Run a configuration without figures and report, by a checkout; return CPU seconds."""
    command = ["run", str(config), "--out", str(folder), "--quiet", "--force"]
    for each in (*sets, "output.plots=false", "output.report=false"):
        command += ["--set", each]
    before = _spent()
    subprocess.run([sys.executable, "-m", "moanon", *command], check=True, cwd=checkout)
    return _spent() - before


def _spent() -> float:
    """CPU seconds of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def read_record() -> dict[str, Digests]:
    """Digests by configuration and column."""
    found: dict[str, Digests] = {}
    with RECORD.open(newline="") as stream:
        for row in csv.DictReader(stream):
            found.setdefault(row["config"], {})[row["column"]] = row["sha256"]
    return found


def write_record(found: dict[str, Digests]) -> None:
    """Write digests by configuration and column."""
    with RECORD.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["config", "column", "sha256"])
        writer.writerows(
            [config, *item] for config, columns in found.items() for item in columns.items()
        )


def tell(config: str, found: Digests, expected: Digests, more: str = "") -> bool:
    """Say how many columns are the same; return whether all are."""
    wrong = [name for name, digest in expected.items() if found.get(name) != digest]
    new = [name for name in found if name not in expected]
    line = f"{config}: {len(expected) - len(wrong)} of {len(expected)} columns the same{more}"
    line += f", new: {', '.join(new)}" if new else ""
    print(line + (f", DIFFERENT: {', '.join(wrong)}" if wrong else ""), flush=True)
    return not wrong


def compare_with(
    checkout: Path, configs: Sequence[Path], sets: Sequence[str], folder: Path
) -> bool:
    """Run configurations here and by another checkout, in turns; return whether all is the same."""
    same = True
    for config in configs:
        here, there = folder / "here" / config.stem, folder / "there" / config.stem
        spent = run(config, here, sets), run(config, there, sets, checkout)
        times = f" ({spent[0]:.1f} CPU s, there {spent[1]:.1f})"
        same &= tell(config.stem, digests(here), digests(there), times)
    return same


def main() -> int:
    """Run or read the fronts, and compare or record them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--from", dest="folder", type=Path, help="results, a folder per name")
    parser.add_argument("--against", type=Path, help="another checkout of the repository")
    parser.add_argument("--record", action="store_true", help="write the reference anew")
    parser.add_argument("--only", action="append", help="a configuration's name; default all")
    parser.add_argument("--set", dest="sets", action="append", default=[], help="as of moanon run")
    options = parser.parse_args()
    configs = [config for config in CONFIGS if config.stem in (options.only or [config.stem])]
    found = {}
    with TemporaryDirectory() as temporary:
        if options.against is not None:
            there = options.against.resolve()
            return 0 if compare_with(there, configs, options.sets, Path(temporary)) else 1
        for config in configs:
            folder = (options.folder or Path(temporary)) / config.stem
            if options.folder is None:
                run(config, folder, options.sets)
            found[config.stem] = digests(folder)
    if options.record:
        write_record(found)
        return 0
    recorded = read_record()
    same = [tell(config, found[config], recorded[config]) for config in found]
    return 0 if all(same) else 1


if __name__ == "__main__":
    raise SystemExit(main())
