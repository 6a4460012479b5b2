"""Hostile inputs of every kind, each made of a random number, and what moanon may answer to one.

Every function of `KINDS` spoils some files in the working folder, which holds a copy of the
material (`tests.fuzz.material`), and returns the command line that is to read them. Whatever
moanon makes of it, it answers with 0, 1 or 2 and without a traceback; and a release that it writes
all the same shows the k of its certificate and nothing that identifies anybody.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import fields
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import duckdb
import numpy as np
import typer
import yaml

from moanon.cli.application import app, load_commands, main
from moanon.search.checkpoint import Identity, write_arrays
from tests.fuzz.material import draw_people, make_material
from tests.fuzz.mutations import (
    NUMBERS,
    TEXTS,
    hostile_value,
    spoil_arrays,
    spoil_bytes,
    spoil_document,
    spoil_table,
)
from tests.release.tables import one_database

Words = list[str]
Generator = Callable[[Random], Words]

#: Keeps any run short, whatever the configuration says.
_SHORT = [
    *("--set", "search.population=6", "--set", "search.generations=2"),
    *("--set", "output.plots=false", "--set", "output.report=false", "--quiet"),
]
#: Documents that are more than they seem.
_YAML_TRICKS = (
    "a: &a [1, 1]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: &d [*c, *c]\ne: [*d, *d]\n",
    "data: &x\n  <<: *x\n", "- " * 500 + "1\n", "[" * 2000, "{" * 2000, "? a\n: b\n? a\n: c\n",
    "!!python/object/apply:os.getcwd []\n", "!!binary aGk=\n", "!!set {a, b}\n", "%YAML 9.9\n---\n",
    "--- a\n--- b\n", "a: 2001-13-45\n", "a: 1:30:60\n", "a: !!timestamp 2001-01-01\n", "\ta: b\n",
    "data: {source: people.csv, source: people.csv}\n", "a: 'x\n", "? [a, b]\n: c\n", "|\n  x\n",
)  # fmt: skip


# -- files -----------------------------------------------------------------------------------------


def configurations(rng: Random) -> Words:
    """Spoil ``people.yaml`` as text or as a document, or replace values from outside."""
    path = Path("people.yaml")
    how, sets = rng.randrange(10), []
    if how < 2:
        path.write_bytes(spoil_bytes(rng, path.read_bytes()))
    elif how < 5:
        _dump(path, spoil_document(rng, _document(path.read_bytes())))
    elif how == 5:
        path.write_bytes(rng.choice(_YAML_TRICKS).encode() + rng.choice([b"", path.read_bytes()]))
    else:
        sets = _settings(rng, hostile=how == 6)
    return rng.choice(
        [
            ["check", "people.yaml", *sets],
            ["check", "people.yaml", "--measures", *sets],
            ["run", "people.yaml", "--out", "new", *sets, *_SHORT],
            ["run", "people.yaml", "--out", "new", *sets, *_SHORT],
            ["measure", "people.csv", "released.csv", "--config", "people.yaml"],
        ]
    )


@cache
def _document(text: bytes) -> Any:
    """What a YAML file that is still right says; nobody changes it."""
    return yaml.safe_load(text)


def _dump(path: Path, document: Any) -> None:
    try:
        text = yaml.safe_dump(document, allow_unicode=_is_unicode(document))
    except (yaml.YAMLError, ValueError, RecursionError):
        text = repr(document)
    path.write_bytes(text.encode(errors="surrogatepass"))


def _is_unicode(document: Any) -> bool:
    return "\\ud" not in ascii(document)


def _settings(rng: Random, *, hostile: bool) -> Words:
    """Replace some keys of the configuration, by anything or by what could be meant."""
    words = []
    for _ in range(rng.randrange(1, 5)):
        key = rng.choice(list(_SETTINGS))
        if hostile:
            value, key = hostile_value(rng), rng.choice([key, rng.choice(TEXTS)])
            text = value if isinstance(value, str) else json.dumps(value)
        else:
            text = rng.choice(_SETTINGS[key])
        words += ["--set", f"{key}={text}"]
    return words


#: Values that keys can have, though not together with any others.
_SETTINGS: dict[str, tuple[str, ...]] = {
    "data.missing": ("drop", "category", "error"),
    "data.missing_tokens": ("[]", "[S]", "['40', '']", "[region-1]"),
    "data.source": ("people.parquet", "released.csv", "later.csv", "adult", "*.csv", "people"),
    "columns.age.granularity": ("1", "0.5", "7", "1000", "month", "1e-6"),
    "columns.age.range": ("[0, 200]", "[20, 21]", "[89, 10]", "['2001-01-01', '2002-01-01']"),
    "columns.age.origin": ("3", "-7", "0.25", "'2001-01-01'"),
    "columns.age.weight": ("0", "0.5", "1e9", "1e308"),
    "columns.age.role": ("sensitive", "insensitive", "identifying", "quasi"),
    "columns.age.kind": ("ordered", "tree", "null"),
    "columns.joined.granularity": ("week", "month", "quarter", "decade", "day", "30", "0.5"),
    "columns.size.order": ("[S, M]", "[XL, L, M, S]", "[S, S, M, L, XL]", "[S, M, L, XL, XXL]"),
    "columns.size.role": ("sensitive", "identifying"),
    "columns.town.hierarchy": ("ill.csv", "adult/workclass", "people.yaml", "missing.yaml"),
    "columns.town.kind": ("ordered", "interval"),
    "columns.ill.role": ("quasi", "insensitive", "identifying"),
    "columns.ill.hierarchy": ("town.yaml", "null"),
    "columns.shoe.role": ("sensitive", "identifying"),
    "columns.memo.role": ("sensitive", "identifying", "quasi"),
    "problem.preset": ("zero-suppression", "any-suppression", "kl-safety"),
    "problem.recoding": ("local", "local", "global"),
    "problem.eta": ("0", "0.001", "0.999", "[0.1, 0.2]", "[0.1, 0.1]", "null", "1e-9"),
    "problem.objectives": (
        *("[l, loss]", "[t_closeness, ncp]", "[k, l_entropy, delta, dm]", "[cm, prec]", "[k]"),
        *("[weighted_k, conditional_entropy]", "[risk_mean, utility_rank]", "[k, k]", "[d1, d2]"),
    ),
    "problem.constraints": (
        *("{l_distinct: {min: 2}}", "{k: {min: 61}}", "{t_js: {max: 0}}", "{delta: {max: 1}}"),
        *("{loss: {max: 0.1}}", "{k: {max: 3}}", "{k: {min: 2}, groups: {min: 3}}", "{}"),
    ),
    "problem.suppress_by": ("l", "t_closeness", "alpha", "loss", "delta"),
    "problem.class_column": ("ill", "memo", "age", "null"),
    "problem.recursive_c": ("0.1", "1000", "1001"),
    "problem.diversity": ("frequency",),
    "problem.prefer": ("k", "l"),
    "problem.safety": ("ordered", "strict"),
    "search.algorithm": ("nsga2", "exhaustive", "archive", "local"),
    "search.evaluations": ("1", "30", "0"),
    "search.seconds": ("0.001", "0.1"),
    "search.stall": ("1", "2"),
    "search.seed": ("0", "99999999999999999999999"),
    "search.crossover": ("0", "1", "1.1"),
    "search.mutation": ("0", "1"),
    "search.cap": ("1", "2"),
    "search.moves": ("false",),
    "output.dir": ("people", ".", "people.csv"),
}


def csv_tables(rng: Random) -> Words:
    """Spoil ``people.csv`` as bytes, as cells, or in its encoding and separators."""
    path = Path("people.csv")
    how = rng.randrange(8)
    if how < 3:
        path.write_bytes(spoil_bytes(rng, path.read_bytes()))
    elif how < 7:
        rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
        _write_rows(path, spoil_table(rng, rows), rng.choice(",,,;\t|"))
    else:
        text, encoding = (
            path.read_text(encoding="utf-8"),
            rng.choice(["utf-16", "latin-1", "cp037"]),
        )
        path.write_bytes(text.replace("name", "námé").encode(encoding))
    return _read_table(rng, "people.csv")


def _write_rows(path: Path, rows: list[list[str]], delimiter: str = ",") -> None:
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter, lineterminator="\n", escapechar="\\").writerows(rows)
    path.write_bytes(stream.getvalue().encode(errors="surrogatepass"))


def _read_table(rng: Random, name: str) -> Words:
    out = rng.choice(["r.csv", "r.parquet"])
    return rng.choice(
        [
            ["check", "people.yaml", "--set", f"data.source={name}"],
            ["run", "people.yaml", "--out", "new", "--set", f"data.source={name}", *_SHORT],
            ["init", name, "--out", "new.yaml"],
            ["diagnose", name, "--columns", "age,size,town", "--k", "3", "--quiet"],
            ["diagnose", name, "--columns", "age,size,town", "--subset", "age,size", "--quiet"],
            ["apply", "people", "1", name, "--out", out, "--outside", "suppress"],
            ["apply", "boxes", "1", name, "--out", out, "--outside", "suppress"],
            ["export", "people", "1", "--out", out, "--data", name],
            ["measure", name, "released.csv", "--config", "people.yaml"],
            ["measure", "people.csv", name, "--config", "people.yaml"],
            [
                "compare",
                "released.csv",
                name,
                "--original",
                "people.csv",
                "--config",
                "people.yaml",
            ],
        ]
    )


def parquet_tables(rng: Random) -> Words:
    """Spoil the bytes of ``people.parquet``, or give a column another type or other values."""
    path = Path("people.parquet")
    if rng.random() < 0.4:
        path.write_bytes(spoil_bytes(rng, path.read_bytes()))
        return _read_table(rng, path.name)
    expressions = (
        *("NULL", "1", "1.5::DOUBLE", "'x'", "''", "DATE '2001-05-05'", "TIMESTAMP '2001-05-05'"),
        *(
            "TIMESTAMPTZ '2001-05-05'",
            "TIME '12:00:00'",
            "INTERVAL 3 DAY",
            "[1, 2]",
            "'\\x00'::BLOB",
        ),
        *(
            "{'a': 1}",
            "MAP {'a': 1}",
            "true",
            "'inf'::DOUBLE",
            "'nan'::DOUBLE",
            "1e30::DECIMAL(38,2)",
        ),
        *(
            "170141183460469231731687303715884105727::HUGEINT",
            "uuid()",
            "'*'",
            "chr(0)",
            "NULL::INT",
        ),
        *("DATE '290000-01-01'", "'infinity'::DATE", "(-1)::TINYINT", "'a'::ENUM ('a', 'b')"),
    )
    names = ["age", "income", "joined", "size", "town", "ill", "shoe", "name"]
    changed = [
        f"{rng.choice(expressions)} AS {name}" for name in rng.sample(names, rng.randint(1, 3))
    ]
    rows = rng.choice(["", "", "WHERE false", "LIMIT 1"])
    duckdb.connect().execute(
        f"COPY (SELECT * REPLACE ({', '.join(changed)}) FROM 'people.parquet' {rows}) "
        "TO 'spoilt.parquet' (FORMAT parquet)"
    )
    return _read_table(rng, "spoilt.parquet")


def hierarchies(rng: Random) -> Words:
    """Spoil the tree of towns (YAML) or that of ills (in the way of ARX)."""
    if rng.random() < 0.5:
        column, path = "town", Path("town.yaml")
        how = rng.randrange(4)
        if how == 0:
            path.write_bytes(spoil_bytes(rng, path.read_bytes()))
        elif how == 1:
            path.write_bytes(rng.choice(_YAML_TRICKS).encode())
        else:
            _dump(path, spoil_document(rng, _document(path.read_bytes())))
    else:
        column, path = "ill", Path("ill.csv")
        if rng.random() < 0.4:
            path.write_bytes(spoil_bytes(rng, path.read_bytes()))
        else:
            rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines(), delimiter=";"))
            _write_rows(path, spoil_table(rng, rows), rng.choice(";;;,\t|"))
    distance = ["--sensitive", column, "--t", "0.5", "--hierarchy", path.name, "--quiet"]
    return rng.choice(
        [
            ["check", "people.yaml"],
            ["run", "people.yaml", "--out", "new", *_SHORT],
            ["export", "people", "1", "--out", "r.csv"],
            ["export", "people", "2", "--out", "r.csv", "--k", "3", "--max-suppression", "90%"],
            ["measure", "people.csv", "released.csv", "--hierarchy", f"{column}={path}"],
            ["diagnose", "people.csv", "--columns", "age,size", "--subset", "age", *distance],
        ]
    )


# -- results ---------------------------------------------------------------------------------------


def results(rng: Random) -> Words:
    """Spoil a file of a results folder; the digests in ``run.json`` fit it in half of the cases."""
    folder = Path(rng.choice(["people", "people", "boxes"]))
    names = ["run.json", "front.csv", "solutions.json", "config.yaml"]
    path = folder / rng.choice([*names, *(["boxes.npz"] * 3 if folder.name == "boxes" else [])])
    if rng.random() < 0.3:
        path.write_bytes(spoil_bytes(rng, path.read_bytes()))
    elif path.suffix == ".json":
        document = spoil_document(rng, json.loads(path.read_bytes()))
        path.write_text(json.dumps(document, skipkeys=True), encoding="utf-8")
    elif path.suffix == ".yaml":
        _dump(path, spoil_document(rng, _document(path.read_bytes())))
    elif path.suffix == ".csv":
        rows = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]
        _write_rows(path, spoil_table(rng, rows))
    else:
        with np.load(path) as arrays:
            np.savez(path, **spoil_arrays(rng, dict(arrays)))
    if rng.random() < 0.6:
        _mend_digests(folder)
    out, number = rng.choice(["r.csv", "r.parquet"]), rng.choice("1123")
    return rng.choice(
        [
            ["ask", str(folder), "--max-loss", "70%"],
            ["ask", str(folder), "--min-k", "3", "--json"],
            ["export", str(folder), number, "--out", out],
            ["export", str(folder), number, "--out", out, "--suppressed", "stars"],
            ["export", str(folder), number, "--out", out, "--k", "3", "--max-suppression", "0.9"],
            ["apply", str(folder), number, "people.csv", "--out", out, "--small", "keep"],
            ["apply", str(folder), number, "people.csv", "--out", out],
            ["compare", f"{folder}#1", f"{folder}#2"],
            ["compare", "people#1", "boxes#1", "--json"],
            ["run", "people.yaml", "--out", str(folder), *_SHORT, "--resume"],
            ["run", "people.yaml", "--out", str(folder), "--resume", "--quiet"],
            *([["report", str(folder)]] if rng.random() < 0.3 else []),
            *([["plot", str(folder), "--format", "svg"]] if rng.random() < 0.03 else []),
        ]
    )


def _mend_digests(folder: Path) -> None:
    """Let ``run.json`` state what the files hold now, as a forger would."""
    try:
        record = json.loads((folder / "run.json").read_bytes())
        record["files"] = {
            name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
            for name in record["files"]
        }
    except (ValueError, TypeError, KeyError, AttributeError, OSError):
        return
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")


def checkpoints(rng: Random) -> Words:
    """Spoil the checkpoint of a run that was interrupted; its digest fits in half of the cases."""
    folder = Path("begun")
    path = folder / "checkpoint.npz"
    if rng.random() < 0.5:
        path.write_bytes(spoil_bytes(rng, path.read_bytes()))
    else:
        with np.load(path) as arrays:
            state = dict(arrays)
        header = json.loads(state.pop("header").tobytes())
        header[rng.choice(["config", "data", "seed", "versions"])] = hostile_value(rng, 0)
        names = (field.name for field in fields(Identity))
        write_arrays(path, state, Identity(**{name: header[name] for name in names}))
    if rng.random() < 0.2:
        path.rename(folder / "checkpoint.previous.npz")
    more = rng.choice([["--resume"], ["--resume"], ["--resume"], ["--force"], []])
    return rng.choice(
        [
            *[["run", "people.yaml", "--out", "begun", "--quiet", *more]] * 4,
            ["ask", "begun", "--min-k", "2"],
            ["export", "begun", "1", "--out", "r.csv"],
        ]
    )


# -- command lines ---------------------------------------------------------------------------------

_TEMPLATES = (
    ["ask", "people", "--max-loss", "60%"],
    ["ask", "boxes", "--min-k", "3"],
    ["compare", "people#1", "people#2"],
    ["compare", "released.csv", "other.csv", "--original", "people.csv", "--config", "people.yaml"],
    ["check", "people.yaml"],
    ["init", "people.csv", "--out", "new.yaml"],
    ["schema"],
    ["diagnose", "people.csv", "--columns", "age,size,town", "--quiet"],
    ["diagnose", "people.csv", "--columns", "age,size", "--subset", "age", "--k", "2", "--quiet"],
    ["export", "people", "1", "--out", "r.csv"],
    ["export", "boxes", "1", "--out", "r.parquet"],
    ["apply", "people", "1", "people.csv", "--out", "r.csv"],
    ["measure", "people.csv", "released.csv", "--config", "people.yaml"],
    ["plot", "people", "--out", "pictures"],
    ["report", "people", "--out", "page.html"],
    ["run", "people.yaml", "--out", "new"],
)
#: How often each is taken: pictures take a hundred times as long as anything else.
_WEIGHTS = [1 if words[0] == "plot" else 8 if words[0] == "report" else 40 for words in _TEMPLATES]
#: Words that suit some option or argument.
_WORDS = (
    *("people", "boxes", "begun", "people.csv", "people.parquet", "people.yaml", "town.yaml"),
    *("released.csv", "other.csv", "ill.csv", "new.csv", "new.parquet", "new.png", "x.html"),
    *("people#1", "people#99", "boxes#2", "people#", "#1", "age", "size", "town", "age,size"),
    *("k", "loss", "gl=30%", "k=3", "l_entropy=2", "l_entropy", "t_closeness", "size,utility"),
    *("0.5,0.5", "1,2,3", "mean", "rank", "wtd", "lex", "goal", "hv", "1", "2", "3", "0.2", "50%"),
    *("distinct", "frequency", "entropy", "recursive", "equal", "ordered", "tree", "all", "quasi"),
    *("absent", "stars", "refuse", "suppress", "keep", "png", "svg", "7", "town=town.yaml", "min"),
    *("problem.eta=0.1", "problem.eta=[0.1,0.2]", "search.seed=3", "columns.age.granularity=20"),
    *("missing/x.csv", "/dev/null", "/dev/null/x", ".", "/proc/nothing/x.csv", "new", "adult", ","),
)  # fmt: skip


def command_lines(rng: Random) -> Words:
    """Change a command line that is right: more options, other values, fewer words, other signs."""
    words = list(rng.choices(_TEMPLATES, _WEIGHTS)[0])
    taken = options()[words[0]]
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        name, has_value = rng.choice(taken)
        words += [name, _word(rng)] if has_value else [name]
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        at, what = rng.randrange(len(words)), rng.randrange(6)
        if what == 0 and len(words) > 1:
            words.pop(at)
        elif what == 1:
            words.insert(at, _word(rng))
        elif what == 2:
            spoilt = spoil_bytes(rng, words[at].encode(errors="surrogateescape"))
            words[at] = spoilt.decode(errors="surrogateescape")
        else:
            words[at] = _word(rng)
    return [*words, *_SHORT] if "run" in words else words


def _word(rng: Random) -> str:
    how = rng.randrange(10)
    if how < 6:
        return rng.choice(_WORDS)
    return str(rng.choice(NUMBERS)) if how < 8 else rng.choice(TEXTS)


@cache
def options() -> dict[str, list[tuple[str, bool]]]:
    """Every option of every command, and whether a value goes with it."""
    return {
        name: [("--help", False), ("-h", False)]
        + [
            (option, not parameter.is_flag)
            for parameter in command.params
            if parameter.param_type_name == "option"
            for option in (*parameter.opts, *parameter.secondary_opts)
        ]
        for name, command in _parser().commands.items()
    }


#: The kinds of inputs, with their share in a campaign.
KINDS: dict[str, tuple[Generator, int]] = {
    "configurations": (configurations, 4),
    "csv": (csv_tables, 3),
    "parquet": (parquet_tables, 2),
    "hierarchies": (hierarchies, 2),
    "results": (results, 4),
    "checkpoints": (checkpoints, 1),
    "commands": (command_lines, 4),
}


# -- answers ---------------------------------------------------------------------------------------


class Campaign:
    """A folder in which moanon is given hostile inputs, one after the other, in this process.

    Parameters
    ----------
    folder : Path
        An empty folder.
    """

    def __init__(self, folder: Path) -> None:
        # Results name their inputs by absolute paths: the copies must lie where these were made.
        self._place, self._material = folder / "inside" / "work", folder / "material"
        self._place.mkdir(parents=True)
        make_material(self._place, draw_people(Random(0)))
        self._place.rename(self._material)

    def attack(self, kind: str, number: int) -> tuple[int, Words, str]:
        """Make one of the inputs of a kind; return the exit code, the words, and what is wrong."""
        shutil.rmtree(self._place, ignore_errors=True)
        shutil.copytree(self._material, self._place)
        with _inside(self._place), _without_waiting(), one_database():
            words = KINDS[kind][0](Random(f"{kind} {number}"))
            out, err = _stream(), _stream()
            with redirect_stdout(out), redirect_stderr(err):
                code = main(words)
            return code, words, _what_is_wrong(code, out, err)


@contextmanager
def _inside(place: Path) -> Iterator[None]:
    """Work in a folder, where a defect shows its traceback."""
    before = Path.cwd()
    os.chdir(place)
    try:
        with patch.dict(os.environ, MOANON_DEBUG="1"):
            yield
    finally:
        os.chdir(before)


@contextmanager
def _without_waiting() -> Iterator[None]:
    """Build the parser of command lines once, and do not wait for the disk."""
    with (
        patch("typer.main.get_command", lambda app: _parser()),
        patch("os.fsync", lambda descriptor: None),
    ):
        yield


@cache
def _parser() -> Any:
    load_commands()
    return _get_command(app)


_get_command = typer.main.get_command


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def _what_is_wrong(code: int, out: io.TextIOWrapper, err: io.TextIOWrapper) -> str:
    """Say what no answer may be; empty if nothing is."""
    said = _text(err)
    if code not in (0, 1, 2) or "Traceback" in said:
        return f"exit code {code}: {said[-3000:]}"
    if code == 2 and not (said.splitlines() or [""])[-1].startswith("moanon: "):
        return f"refused without a sentence: {said[-500:]!r}"
    if code == 2 and _text(out):
        return f"refused after an answer: {_text(out)[-500:]!r}"
    released = [path for path in (Path("r.csv"), Path("r.parquet")) if path.exists()]
    for path in released:
        if wrong := _wrong_release(path):
            return f"{path}: {wrong}"
    return f"refused and written: {released}" if code == 2 and released else ""


def _wrong_release(path: Path) -> str:
    """Count the groups of a released file; say if its certificate claims anything else."""
    stated = json.loads(Path(f"{path}.certificate.json").read_bytes())
    reader = f"read_csv('{path}', all_varchar = true, header = true, delim = ',')"
    source = reader if path.suffix == ".csv" else f"read_parquet('{path}')"
    found = duckdb.connect().sql(f"SELECT * FROM {source}")
    names, rows = found.columns, found.fetchall()
    if "name" in names or "memo" in names:
        return f"it has the columns {names}"
    if stated["suppressed_rows"] == "star":
        rows = [row for row in rows if set(row) != {"*"}]
    places = [names.index(name) for name in stated["quasi"]]
    sizes = Counter(tuple(row[place] for place in places) for row in rows)
    seen = (len(rows), min(sizes.values()), len(sizes))
    claimed = (stated["rows"], stated["k"], stated["groups"])
    return "" if seen == claimed else f"rows, k, groups {seen}, and the certificate says {claimed}"
