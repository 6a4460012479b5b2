"""Give moanon hostile inputs, check random releases, kill runs, and look for what must not leak.

The default run of the tests does a little of each (``tests/fuzz``); this does much more of it:

- inputs: spoilt configurations, tables, hierarchies, results, checkpoints and command lines. Each
  is answered with 0, 1 or 2 and without a traceback.
- releases: random tables, written by random solutions, read again and compared with the oracle.
- kills: runs that are killed at random moments and resumed end with the same bytes as any other.
- ends: ``export``, ``apply`` and ``run``, ended by SIGKILL, SIGTERM and SIGHUP at random moments,
  leave nothing that points to a person, and the next command clears the rest.
- canaries: values that must stay with the table, searched in all files that are made of it.
- twins: pairs of tables that differ in names and suppressed rows alone have the same public files,
  and whoever has these can rule out no value of a suppressed row.
- boxes: cells of the table that the results of a local recoding tell, beyond what releases show.

    python experiments/hostile_inputs.py

prints its figures, and exits with 1 if anything is wrong; it takes some 20 minutes on one core.
``--only results 1234`` repeats the input with that number, and shows it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from hypothesis import HealthCheck, given, settings

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the tests, whose generators these are

from tests.fuzz.box_attack import attack_random
from tests.fuzz.canaries import leaks
from tests.fuzz.inputs import KINDS, Campaign, options
from tests.fuzz.kills import kill_commands, kill_runs
from tests.fuzz.releases import Case, cases, mismatches
from tests.release.twins import GUESSED, PLACES, differences, guesses

#: What is killed: some seconds of work beside some two for starting up.
_KILLED = ["search.generations=150", "output.plots=false", "output.report=false"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Do all of it, print the figures, and return the exit code."""
    chosen = _options(arguments)
    warnings.simplefilter("error")  # as in the tests
    for theirs in (DeprecationWarning, PendingDeprecationWarning):
        warnings.simplefilter("default", theirs)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if chosen.only:
            return _repeat(folder, chosen.only[0], int(chosen.only[1]))
        wrong = _attack(folder / "inputs", chosen.inputs)
        wrong += _release(chosen.releases)
        wrong += _kill(folder / "kills", chosen.kills)
        wrong += _end(folder / "ends", chosen.ends)
        wrong += _search(folder / "canaries", chosen.canaries)
        wrong += _compare_twins(folder / "twins", chosen.twins)
        wrong += _recover(folder / "boxes", chosen.boxes)
    print(f"{wrong} wrong in all")
    return int(wrong > 0)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--releases", type=int, default=2_000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--ends", type=int, default=60)
    parser.add_argument("--canaries", type=int, default=10, help="tables to make everything of")
    parser.add_argument("--twins", type=int, default=2_000, help="pairs of tables to publish")
    parser.add_argument("--boxes", type=int, default=50, help="tables to attack the boxes of")
    parser.add_argument("--only", nargs=2, metavar=("KIND", "NUMBER"))
    return parser.parse_args(arguments)


def _repeat(folder: Path, kind: str, number: int) -> int:
    code, words, wrong = Campaign(folder).attack(kind, number)
    print(f"moanon {words}: exit code {code}\n{wrong or 'as it should be'}")
    return int(bool(wrong))


def _attack(folder: Path, inputs: int) -> int:
    """Give moanon hostile inputs; how many were answered wrongly."""
    campaign, all_wrong, used = Campaign(folder), 0, set()
    shares = sum(share for _, share in KINDS.values())
    for kind, (_, share) in KINDS.items():
        began, codes, wrong = time.monotonic(), Counter[int](), 0
        for number in range(-(-inputs * share // shares)):
            code, words, finding = campaign.attack(kind, number)
            codes[code] += 1
            used |= {(words[0], word) for word in words[1:]} if words else set()
            if finding:
                wrong += 1
                print(f"{kind} {number}: {words}\n{finding}")
        exits = ", ".join(f"{count} x {code}" for code, count in sorted(codes.items()))
        _tell(f"{codes.total()} {kind}", f"exit codes {exits}; {wrong} wrong", began)
        all_wrong += wrong
    known = {(command, name) for command, names in options().items() for name, _ in names}
    print(f"{len(known & used)} of {len(known)} options of {len(options())} commands were given")
    return all_wrong


def _release(releases: int) -> int:
    """Compare releases with the oracle; how many differ."""
    began, seen, wrong = time.monotonic(), Counter[str](), []

    @settings(
        max_examples=max(1, releases),
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(cases())
    def compare(case: Case) -> None:
        seen[type(case.front.recodings).__name__] += 1
        if found := mismatches(case):
            wrong.append(found)
            print(f"release {seen.total()}: {found}\n{case}")

    if releases:
        compare()
    ways = ", ".join(f"{count} by {name}" for name, count in sorted(seen.items()))
    _tell(f"{seen.total()} releases", f"{ways}; {len(wrong)} mismatches", began)
    return len(wrong)


def _kill(folder: Path, kills: int) -> int:
    """Kill runs; how many ended with other bytes."""
    began = time.monotonic()
    folder.mkdir()
    wrong = kill_runs("configs/quickstart.yaml", _KILLED, kills, folder) if kills else 0
    _tell(f"{kills} kills", f"{wrong} runs that ended otherwise", began)
    return wrong


def _end(folder: Path, ends: int) -> int:
    """End commands by signals; how often something was left that must not be."""
    began = time.monotonic()
    folder.mkdir()
    seen, wrong = kill_commands(ends, folder) if ends else (Counter[str](), [])
    for finding in wrong:
        print(finding)
    for what, times in sorted(seen.items()):
        print(f"  {times} x {what}")
    _tell(f"{ends} ends", f"{len(wrong)} wrong", began)
    return len(wrong)


def _search(folder: Path, tables: int) -> int:
    """Look for canaries; how many are where they must not be."""
    began, files, values, wrong = time.monotonic(), 0, 0, 0
    for seed in range(tables):
        (folder / str(seed)).mkdir(parents=True)
        more_files, more_values, found = leaks(folder / str(seed), seed)
        files, values, wrong = files + more_files, values + more_values, wrong + len(found)
        for leak in found:
            print(f"table {seed}: {leak}")
    _tell(f"{tables} tables", f"{values} canaries, {files} files; {wrong} leaks", began)
    return wrong


def _compare_twins(folder: Path, pairs: int) -> int:
    """Publish pairs of tables that must look the same; how many do not, or leave no doubt."""
    began, wrong, ruled_out = time.monotonic(), 0, 0
    for number in range(pairs):
        place = PLACES[number % len(PLACES)]
        if found := differences(number, place):
            wrong += 1
            print(f"twins {number}, {place}: {', '.join(found)}")
    tables = pairs // 20
    for number in range(tables):
        (folder / str(number)).mkdir(parents=True)
        ruled_out += guesses(number, folder / str(number)) < len(GUESSED)
    what = f"{wrong} differ; of {tables} suppressed rows {ruled_out} have values ruled out"
    _tell(f"{pairs} pairs of tables", what, began)
    return wrong + ruled_out


def _recover(folder: Path, tables: int) -> int:
    """Recover cells from results folders; how many are known, or were wrongly taken to be."""
    began, cells, shown, wrong = time.monotonic(), 0, 0, 0
    for seed in range(tables):
        (folder / str(seed)).mkdir(parents=True)
        finding = attack_random(folder / str(seed), seed)
        if finding is None:
            continue
        cells, shown = cells + finding.cells, shown + finding.shown
        wrong += len(finding.recovered) + finding.wrong
        if finding.recovered or finding.wrong:
            print(f"boxes {seed}: {finding}")
    what = f"{cells} cells, {shown} of them shown by releases; {wrong} others recovered"
    _tell(f"boxes of {tables} tables", what, began)
    return wrong


def _tell(what: str, how: str, began: float) -> None:
    print(f"{what}: {how} ({time.monotonic() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    sys.exit(main())
