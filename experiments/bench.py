"""What an evaluation costs on this machine, and against what.

    python experiments/bench.py --out bench.json                    # some minutes
    python experiments/bench.py --case adult --case lattice
    python experiments/bench.py --case columns --columns 40

shows each timing as it is taken and writes all of them as JSON; the machine should have nothing
else to do. Four questions, each answered in CPU microseconds per evaluation of P2 (η = 0.1) and as
a ratio to other ways of doing the same in the same run on the same genomes, because a bare time
says more about the machine than about the code:

- ``adult``: the nine columns of D on Adult; a population of random genomes and a converged one.
- ``lattice``: all 6,480 full-domain generalizations of eight columns of Adult (18,109 cells).
- ``synthetic``: does the cost stay flat with rows, and grow no faster than linearly with cells?
- ``columns``: how does it grow with columns, and is it still faster than numpy?
- ``models``: what privacy models and loss metrics add, on Adult with occupation sensitive.

The other ways group the *rows* (or, for numpy, also the cells) anew for every genome: a pandas
``groupby(...).size()``, numpy's ``unique`` on mixed-radix keys, Polars where it is installed. Each
also computes the loss. They are timed on a random sample of the genomes, the flat kernel on the
same sample. What bounds the kernel on large tables is memory (about four small loads and two stores
per cell), on small ones the fixed cost of a genome.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt

from moanon import MoanonError, datasets
from moanon.atomic import StagedFiles
from moanon.data.domain import DomainSpec, IntervalSpec, OrderedSpec, TreeSpec
from moanon.data.hierarchy import Hierarchy
from moanon.engines import read_table
from moanon.genome import Instance
from moanon.kernels.population import Mode, PopulationKernel
from moanon.kernels.selection import GroupRule
from moanon.kernels.thresholds import WITHIN_LIMIT
from moanon.measures import MEASURES
from moanon.measures.evaluate import group_rule
from moanon.measures.suppression import Suppression
from moanon.search.operators import Moves

Genomes = npt.NDArray[np.uint8]

ETA = 0.1
POPULATION = 200
#: What can be timed.
CASES = ("adult", "lattice", "synthetic", "columns", "models")
#: Columns of the tables of the case of that name.
COLUMNS = (8, 16, 25, 40)
#: ARX's hierarchies of Adult, where a copy lies beside the checkout.
ARX = Path("../shared/arx")
#: Genomes that pandas and the like are timed on.
_SAMPLE = 20
_ADULT_TREES = ("workclass", "marital-status", "occupation", "native-country")
_ADULT_ORDERS = ("education", "race", "sex", "salary-class")


@dataclass(frozen=True)
class Case:
    """Genomes to evaluate on a table."""

    name: str
    codes: npt.NDArray[np.uint16]
    counts: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    genomes: Genomes
    others: bool  # whether pandas and the like take part
    instance: Instance | None = None  # a table with sensitive columns …
    rules: Mapping[str, GroupRule] = field(default_factory=dict)  # … and what is measured of it

    @property
    def rule(self) -> GroupRule:
        """P2 at η = 0.1."""
        return GroupRule(WITHIN_LIMIT, int(self.counts.sum()) // 10)

    def kernel(self, threads: int) -> PopulationKernel:
        """Kernel of the case's table."""
        if self.instance is not None:
            return self.instance.make_kernel(threads)
        return PopulationKernel(self.codes, self.counts, self.sizes, threads=threads)


@dataclass(frozen=True)
class Timing:
    """One line of the benchmark.

    Attributes
    ----------
    micros : float
        CPU microseconds per evaluation, the best of a few repetitions.
    wall_micros : float
        The same on the clock.
    ratio : float
        CPU of this way over CPU of the flat kernel on one thread, on the same genomes.
    """

    case: str
    rows: int
    cells: int
    genomes: int
    way: str
    threads: int
    micros: float
    wall_micros: float
    ratio: float
    workspace_bytes: int = 0


def machine() -> dict[str, object]:
    """What the benchmark ran on."""
    import numba

    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "processor": platform.processor() or platform.machine(),
        "system": platform.system(),
    }


# -- cases -----------------------------------------------------------------------------------------


def adult_instance(*, single_years: bool = False, sensitive: str | None = None) -> Instance:
    """Adult with D's columns; for the lattice, eight of them and age in single years.

    A sensitive column is not generalized.
    """
    age = IntervalSpec(1, (1, 100)) if single_years else IntervalSpec(5, (15, 94))
    specs: dict[str, DomainSpec] = {"age": age}
    for name in _ADULT_TREES:
        specs[name] = TreeSpec(Hierarchy.read(datasets.hierarchy_path(f"adult/{name}")))
    for name in _ADULT_ORDERS:
        specs[name] = OrderedSpec(tuple(datasets.order(f"adult/{name}")))
    if single_years:
        del specs["salary-class"]
    roles = dict.fromkeys(specs, "quasi")
    if sensitive is not None:
        del specs[sensitive]
        roles[sensitive] = "sensitive"
    return Instance.build(read_table(datasets.load("adult"), roles), specs)


def _case(name: str, instance: Instance, genomes: Genomes) -> Case:
    cells = instance.cells
    others = not cells.sensitive
    return Case(name, cells.codes, cells.counts, instance.layout.sizes, genomes, others)


def adult_cases(rounds: int = 250, population: int = POPULATION) -> list[Case]:
    """A random population on D's columns, and one that converged for some rounds."""
    instance = adult_instance()
    rng = np.random.default_rng(1)
    start = instance.layout.sample(population, rng)
    return [
        _case("adult, random", instance, start),
        _case("adult, converged", instance, _converge(instance, start, rounds, rng)),
    ]


def _converge(
    instance: Instance, genomes: Genomes, rounds: int, rng: np.random.Generator
) -> Genomes:
    """Bring a population near the front of (k, loss): small moves, best ranks survive."""
    moves = Moves(instance.layout)
    case = _case("", instance, genomes)
    kernel = case.kernel(1)

    def score(population: Genomes) -> npt.NDArray[np.float64]:
        found = kernel.evaluate(population, case.rule)
        k, lost, loss = (found.field(name) for name in ("k", "suppressed", "kept_loss"))
        full = float(kernel.losses.scale * len(case.sizes))
        return np.stack([-np.log(k), loss / (full * kernel.rows) + lost / kernel.rows], axis=1)

    values = score(genomes)
    for _ in range(rounds):
        mates = rng.permutation(len(genomes))
        children, everyone = genomes.copy(), np.arange(len(genomes))
        moves.exchange(children, everyone, genomes[mates], 0.3, rng)
        for _ in range(int(rng.integers(1, 4))):
            moves.step(children, everyone, rng)
        both = np.concatenate([genomes, children])
        both, first = np.unique(both, axis=0, return_index=True)
        scored = np.concatenate([values, score(children)])[first]
        kept = _best(scored, len(mates))
        genomes, values = both[kept], scored[kept]
    return genomes


def _best(values: npt.NDArray[np.float64], number: int) -> list[int]:
    """Indices of the best ranks of two objectives, the last rank thinned evenly."""
    left = list(np.lexsort((values[:, 0], values[:, 1])))
    kept: list[int] = []
    while left and len(kept) < number:
        front, rest, best = [], [], np.inf
        for i in left:  # by ascending loss: undominated if it has more privacy than all before
            if values[i, 0] < best:
                front.append(i)
                best = values[i, 0]
            else:
                rest.append(i)
        room = number - len(kept)
        if len(front) > room:
            front = [front[i] for i in np.linspace(0, len(front) - 1, room).astype(int)]
        kept.extend(front)
        left = rest
    return kept


def lattice_case(hierarchies: Path | None = None) -> Case:
    """All 6,480 full-domain generalizations of eight columns of Adult.

    Parameters
    ----------
    hierarchies : Path, optional
        Folder with ARX's hierarchy files for Adult (``adult_hierarchy_age.csv`` …). Without it,
        levels of the same number are taken from Adult's own trees and orders.
    """
    if hierarchies is not None:
        names = ("sex", "age", "race", "marital-status", "education", "native-country")
        specs = {
            name: TreeSpec(Hierarchy.read(hierarchies / f"adult_hierarchy_{name}.csv"))
            for name in (*names, "workclass", "occupation")
        }
        table = read_table(datasets.load("adult"), dict.fromkeys(specs, "quasi"))
        instance = Instance.build(table, specs)
        return _case("lattice, ARX's hierarchies", instance, instance.layout.full_domain())
    instance = adult_instance(single_years=True)
    choices = [_levels(name, instance) for name in instance.layout.columns]
    genomes = np.stack([np.concatenate(combination) for combination in product(*choices)])
    return _case("lattice, Adult's own trees", instance, genomes)


def _levels(name: str, instance: Instance) -> list[Genomes]:
    """Full-domain levels of one column: 5 for age, 4 for education, 3 for trees, 2 for the rest."""
    domain = instance.layout.domains[name]
    if name in ("age", "education"):
        widths = (1, 5, 10, 20, 100) if name == "age" else (1, 4, 8, 16)
        steps = np.arange(1, domain.size)
        return [(steps % width == 0).astype(np.uint8) for width in widths]
    levels = list(domain.full_domain())
    return levels if len(levels) <= 3 else [levels[0], levels[-2], levels[-1]]


def synthetic_cases() -> Iterator[Case]:
    """Same cells with more rows, then more cells: tables of eight columns of ten values."""
    rng = np.random.default_rng(5)
    sizes = np.full(8, 10)
    genomes = (rng.random((POPULATION, 72)) < 0.3).astype(np.uint8)
    codes = _random_cells(10_000, sizes, rng)
    for rows in (10**4, 10**5, 10**6, 10**7):
        counts = rng.multinomial(rows - len(codes[0]), np.full(len(codes[0]), 1 / len(codes[0])))
        yield Case(f"{rows:.0e} rows", codes, counts + 1, sizes, genomes, others=rows <= 10**5)
    for cells in (10**3, 10**4, 10**5, 10**6):
        codes = _random_cells(cells, sizes, rng)
        few = genomes if cells <= 10**5 else genomes[:40]
        counts = np.full(cells, 2)
        yield Case(f"{cells:.0e} cells", codes, counts, sizes, few, others=cells == 10**5)


def column_cases(wanted: Sequence[int] = COLUMNS) -> Iterator[Case]:
    """More and more columns of ten values, in which hardly any two of 100,000 cells agree."""
    rng = np.random.default_rng(6)
    for columns in COLUMNS:
        drawn = rng.integers(0, 10, size=(columns, 10**5)).astype(np.uint16)
        genomes = (rng.random((40, 9 * columns)) < 0.3).astype(np.uint8)
        if columns not in wanted:  # drawn all the same, so that the others are what they were
            continue
        codes = np.unique(drawn, axis=1)
        counts, sizes = np.full(codes.shape[1], 2), np.full(columns, 10)
        yield Case(f"{columns} columns", codes, counts, sizes, genomes, others=True)


def model_cases(rounds: int = 250, population: int = POPULATION) -> list[Case]:
    """Subpopulations as in `adult_cases` with occupation sensitive, and models to be measured."""
    instance = adult_instance(sensitive="occupation")
    rows, rule = instance.cells.rows, Suppression("limit", ETA)
    every = [each for each in MEASURES.values() if each.models or each.costs]
    rules = {
        "entropy l": group_rule(rule, rows, [MEASURES["l_entropy"]]),
        "t-closeness": group_rule(rule, rows, [MEASURES["t_closeness"]]),
        "JS divergence": group_rule(rule, rows, [MEASURES["t_js"]]),
        "NCP": group_rule(rule, rows, [MEASURES["ncp"]]),
        "all of them": group_rule(rule, rows, every),
    }
    rng = np.random.default_rng(1)
    start = instance.layout.sample(population, rng)
    later = _converge(instance, start, rounds, rng)
    return [
        replace(_case(f"models, {name}", instance, genomes), instance=instance, rules=rules)
        for name, genomes in (("random", start), ("converged", later))
    ]


def _random_cells(
    number: int, sizes: npt.NDArray[np.int64], rng: np.random.Generator
) -> npt.NDArray[np.uint16]:
    """Distinct tuples, uniformly."""
    keys = rng.choice(int(np.prod(sizes)), size=number, replace=False)
    return np.stack(np.unravel_index(np.sort(keys), tuple(sizes))).astype(np.uint16)


# -- timing ----------------------------------------------------------------------------------------


def measure(case: Case, threads: tuple[int, ...] = (1, 2), repeat: int = 5) -> Iterator[Timing]:
    """Time every way on a case; the flat kernel on one thread comes first."""
    flat = 0.0
    for number in threads:
        kernel = case.kernel(number)
        modes: tuple[Mode, ...] = ("flat", "rollup")
        for mode in modes:
            cpu, wall = _best_time(
                lambda kernel=kernel, mode=mode: kernel.evaluate(case.genomes, case.rule, mode),  # type: ignore[misc]
                repeat,
            )
            cpu, wall = cpu / len(case.genomes), wall / len(case.genomes)
            flat = flat or cpu
            yield _timing(case, mode, number, cpu, wall, flat, kernel.workspace_bytes)
    yield from _time_models(case, flat, repeat)
    if not case.others:
        return
    # The others are slow, so they get a sample; the flat kernel is timed on the same one.
    few = np.random.default_rng(0).permutation(case.genomes)[:_SAMPLE]
    kernel = case.kernel(1)
    flat = _best_time(lambda: kernel.evaluate(few, case.rule, "flat"), 5 * repeat)[0] / len(few)
    for name, way in _others(case):
        cpu, wall = _best_time(lambda way=way: [way(genome) for genome in few], repeat)  # type: ignore[misc]
        yield _timing(case, name, 1, cpu / len(few), wall / len(few), flat, 0)


def _time_models(case: Case, flat: float, repeat: int) -> Iterator[Timing]:
    """Time what is measured besides sizes and losses, on one thread."""
    if not case.rules:
        return
    kernel = case.kernel(1)
    modes: tuple[Mode, ...] = ("flat", "rollup")
    for name, rule in case.rules.items():
        for mode in modes:
            cpu, wall = _best_time(
                lambda rule=rule, mode=mode: kernel.evaluate(case.genomes, rule, mode),  # type: ignore[misc]
                repeat,
            )
            cpu, wall = cpu / len(case.genomes), wall / len(case.genomes)
            yield _timing(case, f"{name}, {mode}", 1, cpu, wall, flat, kernel.workspace_bytes)


def _timing(
    case: Case, way: str, threads: int, cpu: float, wall: float, flat: float, workspace: int
) -> Timing:
    rows = int(case.counts.sum())
    cells, genomes = len(case.counts), len(case.genomes)
    ratio = round(cpu / flat, 3)
    return Timing(
        case.name, rows, cells, genomes, way, threads,
        round(cpu * 1e6, 2), round(wall * 1e6, 2), ratio, workspace,
    )  # fmt: skip


def _best_time(run: Callable[[], object], repeat: int) -> tuple[float, float]:
    """CPU and clock seconds of the best of some runs, after one to warm up."""
    run()
    cpu = wall = np.inf
    for _ in range(repeat):
        cpu_start, wall_start = time.process_time(), time.perf_counter()
        run()
        cpu = min(cpu, time.process_time() - cpu_start)
        wall = min(wall, time.perf_counter() - wall_start)
    return cpu, wall


def _others(case: Case) -> Iterator[tuple[str, Callable[[npt.NDArray[np.uint8]], object]]]:
    """Other ways to count groups and to add up losses, each for one genome."""
    import pandas as pd

    rows = [np.repeat(code, case.counts) for code in case.codes]
    places = np.concatenate(([0], np.cumsum(case.sizes - 1)))

    def tables(genome: npt.NDArray[np.uint8]) -> Iterator[tuple[int, Genomes, Genomes]]:
        for column, size in enumerate(case.sizes):
            bits = genome[places[column] : places[column + 1]]
            block = np.concatenate(([0], np.cumsum(bits, dtype=np.int64)))
            yield column, block, (np.bincount(block)[block] - 1) / max(1, size - 1)

    def with_pandas(genome: npt.NDArray[np.uint8]) -> object:
        frame, loss = {}, 0.0
        for column, block, cell_loss in tables(genome):
            frame[str(column)] = block[rows[column]]
            loss += cell_loss[rows[column]].sum()
        sizes = pd.DataFrame(frame).groupby(list(frame), sort=False).size()
        return sizes.min(), loss

    def keyed(genome: npt.NDArray[np.uint8], columns: list[npt.NDArray[np.uint16]]) -> object:
        key, loss = np.zeros(len(columns[0]), dtype=np.int64), 0.0
        for column, block, cell_loss in tables(genome):
            key = key * (block[-1] + 1) + block[columns[column]]
            loss += cell_loss[columns[column]].sum()
        return np.unique(key, return_counts=True), loss

    yield "numpy unique, cells", lambda genome: keyed(genome, list(case.codes))
    if case.name.endswith("columns"):  # the others take seconds for each genome
        return
    yield "pandas groupby", with_pandas
    yield "numpy unique, rows", lambda genome: keyed(genome, rows)
    if importlib.util.find_spec("polars"):
        import polars

        def with_polars(genome: npt.NDArray[np.uint8]) -> object:
            frame, loss = {}, 0.0
            for column, block, cell_loss in tables(genome):
                frame[str(column)] = block[rows[column]]
                loss += cell_loss[rows[column]].sum()
            sizes = polars.DataFrame(frame).group_by(list(frame)).len()
            return sizes["len"].min(), loss

        yield "Polars group_by", with_polars


# -- the command -----------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> None:
    """Take the timings that were asked for, show them and write them."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0],
        epilog="Example: python experiments/bench.py --case adult --out bench.json",
    )
    parser.add_argument(
        "--case",
        action="append",
        choices=CASES,
        help="what to time; may be repeated; default: all",
    )
    parser.add_argument(
        "--columns",
        action="append",
        type=int,
        choices=COLUMNS,
        help="of the case of that name, only tables of so many; may be repeated; default: all",
    )
    parser.add_argument(
        "--hierarchies",
        type=Path,
        metavar="DIR",
        help=f"ARX's hierarchies of Adult, for the lattice; default: {ARX} if it is there, else "
        "levels of the package's own",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        default=Path("bench.json"),
        help="where to write the timings; default: bench.json",
    )
    parser.add_argument("--force", action="store_true", help="replace FILE")
    parser.add_argument(
        "--quick", action="store_true", help="a few genomes of adult alone: does it run?"
    )
    options = parser.parse_args(arguments)
    if options.quick and set(options.case or ()) - {"adult"}:
        parser.error("--quick times adult alone")
    try:
        # Before all else, because a run is long and FILE may be taken.
        with StagedFiles(options.out, force=options.force) as staged:
            timings = [
                asdict(timing)
                for case in _cases(options)
                for timing in _show(case, repeat=1 if options.quick else 5)
            ]
            found = {"machine": machine(), "timings": timings}
            text = json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False)
            staged[options.out].write_text(f"{text}\n", encoding="utf-8")
            staged.move()
    except MoanonError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    print("CPU and clock are per evaluation; to flat: CPU against flat on one thread.")
    print(f"Wrote {options.out}")


def _cases(options: argparse.Namespace) -> Iterator[Case]:
    if options.quick:
        yield from adult_cases(rounds=2, population=5)
        return
    wanted = options.case or CASES
    if "adult" in wanted:
        yield from adult_cases()
    if "lattice" in wanted:
        yield lattice_case(options.hierarchies or (ARX if ARX.is_dir() else None))
    if "synthetic" in wanted:
        yield from synthetic_cases()
    if "columns" in wanted:
        yield from column_cases(options.columns or COLUMNS)
    if "models" in wanted:
        yield from model_cases()


def _show(case: Case, repeat: int) -> Iterator[Timing]:
    """Take the timings of a case, printing each as it comes."""
    rows, cells, genomes = int(case.counts.sum()), len(case.counts), len(case.genomes)
    print(f"\n{case.name}: {rows:,} rows, {cells:,} cells, {genomes:,} genomes")
    print(f"  {'way':<24}{'threads':>8}{'CPU µs':>12}{'clock µs':>12}{'to flat':>10}")
    for timing in measure(case, repeat=repeat):
        times = f"{timing.micros:>12,.1f}{timing.wall_micros:>12,.1f}"
        print(f"  {timing.way:<24}{timing.threads:>8}{times}{f'×{timing.ratio:,.2f}':>10}")
        sys.stdout.flush()
        yield timing


if __name__ == "__main__":
    main()
