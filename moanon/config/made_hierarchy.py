"""Hierarchies made by a rule for a column of a table, and written to a file of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from moanon.atomic import StagedFiles
from moanon.config.guessing import guess
from moanon.data.domain import IntervalSpec
from moanon.data.file_form import FormKeys
from moanon.data.hierarchy import Hierarchy
from moanon.data.notation import Notation
from moanon.data.rules import checked_rule, rule_of, takes_steps
from moanon.data.source import files_behind, likely_form, read_source
from moanon.errors import ConfigError, DataError, OutputError


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

    Parameters
    ----------
    file, column : str
        A table and one of its columns.
    rule : mapping
        As in a configuration; an empty one is replaced by what ``moanon init`` would propose.
    form : mapping
        How the file is written, where that is known.
    notation : mapping
        Keys of `Notation`, where they are known.
    missing_tokens : sequence of str
        Texts that mean "no value".
    """
    source = read_source(
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
