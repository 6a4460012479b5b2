"""A first configuration for a file that nobody has described yet, and hierarchies by a rule.

`write_starter` finds out how a file is written (its encoding, the signs in its numbers, texts that
mean "no value"), guesses what each column is (``guessing``), and writes a configuration with a
comment for each guess. The comments count; they show no value, but labels of hierarchies. Only the
categories of an ordered column and the rounded range of an interval are written out, because a
configuration needs them.

What is written passes ``moanon check``: it is loaded and built before it gets its name.
"""

from __future__ import annotations

import glob
import os
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Unpack

from moanon import datasets
from moanon.atomic import StagedFiles, checked_path
from moanon.config import Config, name_from
from moanon.config.guessing import Guess, guess, missing_tokens
from moanon.config.reading import MAX_BYTES
from moanon.data.cell_reading import PLAIN, FileForm, FormKeys, Notation
from moanon.data.column import Profile
from moanon.data.domain import IntervalSpec
from moanon.data.hierarchy import Hierarchy
from moanon.data.rules import checked_rule, rule_of, takes_steps
from moanon.data.strict_yaml import dump
from moanon.data.table import TABLE_ENDINGS, files_behind, is_address, likely_form
from moanon.engines import Source, open_source
from moanon.errors import ConfigError, DataError, OutputError
from moanon.wording import counted

#: So many columns are more than anybody describes.
_MANY = 200


def write_starter(
    file: str | Path,
    out: str | Path | None = None,
    columns: Sequence[str] | None = None,
    **given: Unpack[FormKeys],
) -> tuple[Path, dict[str, int]]:
    """Profile a table and write a configuration for it: given with how many columns have each role.

    `file` is a CSV or Parquet file, a folder or a glob; `out` the configuration, which is never
    overwritten and by default lies beside the file, with its name and ``.yaml``; `columns` are
    those that a release may have. What is not `given`, as for `open_source`, is detected.
    """
    if is_address(os.fspath(file)):
        raise DataError(
            "a first configuration is made of a file, and this is the address of a database; write "
            "some of its rows to a CSV file for that, then name the address as data.source and the "
            "table as data.table"
        )
    target = _target(os.fspath(file)) if out is None else Path(out)
    if os.path.lexists(target):
        raise OutputError(f"{target} exists already and is left as it is; name another (out=…)")
    form = likely_form(file, **given)
    source = open_source(file, columns=columns, **form)
    tokens = ("", *missing_tokens(source.columns))
    if len(tokens) > 1:
        source = open_source(file, columns=columns, missing_tokens=tokens, **form)
    guesses = [guess(column) for column in source.columns]
    roles = Counter(each.role for each in guesses)
    if not roles["quasi"]:
        hint = "" if len(guesses) > 1 else "; is delimiter=… needed to tell its columns apart?"
        raise DataError(
            f"{file}: no column could be generalized as it stands (those seen are identifiers, "
            f"sensitive values or free text), so no configuration was written{hint}"
        )
    common = _common(guesses)
    data: dict[str, object] = {"source": _relative(file, target)}
    usual = asdict(FileForm())
    data |= {key: value for key, value in form.items() if value != usual[key]}
    data |= {
        key: sign
        for key in ("decimal", "thousands")
        if (sign := getattr(common, key)) != getattr(PLAIN, key)
    }
    entries = [each.written(common) for each in guesses]
    text = _starter_text(name_from(target), data, source, guesses, entries, tokens)
    if (size := len(text.encode())) > MAX_BYTES:
        raise DataError(
            f"{file} has {len(source.columns):,} columns, and a configuration of all of them would "
            f"have {size:,} bytes, of which at most {MAX_BYTES:,} are read; take out columns that "
            "nobody needs"
        )
    with StagedFiles(target, force=False) as staged:
        staged[target].write_text(text, encoding="utf-8")
        try:
            Config.load(staged[target]).instance()
        except DataError as error:
            if columns is not None or len(guesses) <= _MANY:
                raise
            raise DataError(
                f"{file} has {len(guesses):,} columns, too many to be looked at together "
                f"({error}): list those that a release may have (columns=…)"
            ) from None
        staged.move()
    return target, dict(roles)


def _target(file: str) -> Path:
    if glob.has_magic(file) and not os.path.exists(file):  # noqa: PTH110 (pathlib raises for some)
        raise OutputError(f"{file} stands for several files; name the configuration (out=…)")
    path = checked_path(file, DataError)
    for ending in TABLE_ENDINGS:
        if path.name.lower().endswith(ending) and not path.is_dir():
            return path.with_name(path.name[: -len(ending)] + ".yaml")
    folder = path.absolute()
    return folder.with_name(folder.name + ".yaml")


def _relative(file: str | Path, target: Path) -> str:
    """Path of the data as the configuration must write it."""
    try:
        path = os.path.relpath(file, target.parent)
    except ValueError:  # on another drive
        path = os.path.abspath(file)  # noqa: PTH100 (a link stays a link)
    return f"./{path}" if path in datasets.names() else path


def _common(guesses: Sequence[Guess]) -> Notation:
    """The signs that most columns with other ones have, unless others contradict them."""
    signs = Counter((each.notation.decimal, each.notation.thousands) for each in guesses)
    del signs[PLAIN.decimal, PLAIN.thousands]
    if not signs:
        return PLAIN
    (decimal, thousands), _ = signs.most_common(1)[0]
    longer = sorted(t for d, t in signs if d == decimal and t)
    return Notation(decimal, thousands or next(iter(longer), ""))


# -- writing -------------------------------------------------------------------------------------


def _starter_text(
    name: str,
    data: Mapping[str, object],
    source: Source,
    guesses: Sequence[Guess],
    entries: Sequence[Mapping[str, Any]],
    tokens: Sequence[str],
) -> str:
    """Write the configuration with a comment for each guess."""
    described = []
    for column, each, entry in zip(source.columns, guesses, entries, strict=True):
        missing = f"; missing in {counted(column.missing, 'row')}" if column.missing else ""
        described.append(_commented(f"{each.reason}{missing}", {column.name: entry}, "  "))
    parts = [
        _commented(
            f"A first configuration, guessed from {counted(source.rows, 'row')} and "
            f"{counted(len(guesses), 'column')}. Every role below is a guess: go through them one "
            "by one. What points to a person is identifying and is dropped; what others may know "
            "about a person is quasi and is generalized; what must not be learnt about a person is "
            "sensitive and is kept; what matters to nobody is insensitive and is kept. A column "
            "that is not listed is dropped. Every quasi column makes the others coarser: leave out "
            "those that nobody needs. Where you change a role "
            "to identifying or insensitive, delete the lines below it. Sensitive may keep them: an "
            "order is then what t-closeness counts distances by, so delete kind and order where "
            "that is the alphabet's."
        ),
        _commented("", {"name": name}),
        "data:\n" + _commented("", data, "  ") + _missing_text(source.columns, guesses, tokens),
        "columns:\n" + "".join(described),
        _commented("The largest k for the smallest loss; up to 5 % of the rows may be left out.")
        + "problem: {preset: k-suppression, eta: 0.05}\n",
    ]
    return "\n".join(parts)


def _missing_text(
    columns: Sequence[Profile], guesses: Sequence[Guess], tokens: Sequence[str]
) -> str:
    released = [each.role in ("quasi", "sensitive") for each in guesses]
    gaps = sum(column.missing > 0 for column, kept in zip(columns, released, strict=True) if kept)
    if gaps:
        comment = (
            f"Values are missing in {counted(gaps, 'column')} that would be released: they "
            "are kept as a category of their own. drop would leave out every row with one, error "
            "would stop."
        )
    else:
        comment = (
            "No value is missing in a column that would be released; if one ever is, error stops. "
            "drop would leave out the row, category would keep missing as a category of its own."
        )
    text = _commented(comment, {"missing": "category" if gaps else "error"}, "  ")
    if len(tokens) > 1:
        text += _commented(
            "These texts seem to mean that a value is missing, and are taken so in every column.",
            {"missing_tokens": list(tokens)},
            "  ",
        )
    return text


def _commented(comment: str, values: Mapping[str, object] | None = None, indent: str = "") -> str:
    """Write keys and their values below a comment."""
    lines = [f"# {line}" for line in textwrap.wrap(comment, 98 - len(indent))]
    lines += dump(values).splitlines() if values else ()
    return "".join(f"{indent}{line}\n" for line in lines)


# -- a hierarchy by a rule -------------------------------------------------------------------------


def make_hierarchy(
    file: str,
    column: str,
    rule: Mapping[str, Any],
    *,
    form: FormKeys,
    notation: Mapping[str, str | None],
    missing_tokens: Sequence[str] = ("",),
) -> Hierarchy:
    """Make a tree whose leaves are the values of a column, as they are written.

    `rule` is as in a configuration; an empty one is replaced by what ``moanon init`` would propose.
    `form` says how the file is written, `notation` has keys of `Notation`, where they are known;
    `missing_tokens` are texts that mean "no value".
    """
    source = open_source(
        file, missing_tokens=missing_tokens, columns=[column], **likely_form(file, **form)
    )
    (profile,) = source.columns
    if not profile.values:
        raise DataError(f"{file}: the column {column!r} has no value in any row")
    written = Notation(**{key: sign for key, sign in notation.items() if sign is not None})
    if not rule:
        proposed = guess(profile)
        rule = proposed.entry.get("hierarchy") or {}
        if not rule:
            raise ConfigError(
                f"no rule suggests itself for the column {column!r} ({proposed.reason}); name one "
                "of mask, dates, intervals, group and frequency"
            )
    try:
        checked = checked_rule(rule)
    except DataError as error:
        raise ConfigError(f"the rule {error}") from None
    if not takes_steps(checked) and written != Notation():
        raise ConfigError(f"a notation is for dates and intervals only. Got {written.declared}")
    return rule_of(checked, IntervalSpec(notation=written)).make_with_values(profile)


def write_hierarchy(tree: Hierarchy, path: Path, table: str, *, force: bool = False) -> None:
    """Write a tree as YAML or as ARX has it, by the ending of the file; never over its table."""
    if path.resolve() in files_behind(table):
        raise OutputError(f"{path} is the table itself; name another file")
    ending = path.suffix.lower()
    if ending not in (".yaml", ".yml", ".csv"):
        raise OutputError(f"a hierarchy is a .yaml, .yml or .csv file. Got {path.name!r}")
    text = tree.to_arx() if ending == ".csv" else tree.to_yaml()
    with StagedFiles(path, force=force) as staged:
        staged[path].write_text(text, encoding="utf-8", newline="\n")
        staged.move()
