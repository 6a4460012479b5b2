"""What is to be said about a table before anything is searched."""

from __future__ import annotations

from moanon.config import Config
from moanon.data.cell_reading import alike_note, alike_values
from moanon.data.coarsening import note_on_merged
from moanon.data.column import holds_texts
from moanon.data.domain import Domain, IntervalDomain, TreeDomain
from moanon.genome import Instance


def notes_on_table(config: Config, instance: Instance, *, examples: bool = False) -> list[str]:
    """Say which values are merged before the search, and which look the same and are not merged.

    With examples, which are values of the table, only where nobody else reads them.
    """
    merged = note_on_merged(instance.table.columns, instance.layout.domains)
    return [*merged, *_notes_on_alike(config, instance, examples=examples)]


def _notes_on_alike(config: Config, instance: Instance, *, examples: bool) -> list[str]:
    """Say which columns have values that look the same and are different ones to the search.

    Of sensitive columns and of categories in quasi-identifiers.
    """
    mend = "" if config.data.normalize else "; data: {normalize: true} makes such values one"
    table, notes = instance.table, []
    for name in (*table.quasi, *table.sensitive):
        column = table.columns[name]
        if not holds_texts(column) or _has_steps(instance.layout.domains.get(name)):
            continue
        if note := alike_note(name, column.values):
            named = " ({})".format(", ".join(map(ascii, alike_values(column.values)[0][:3])))
            total = len(column.values)
            counted = f", while l and t count {total:,}" if name in table.sensitive else ""
            notes.append(f"{note}{counted}{named if examples else ''}{mend}")
    return notes


def _has_steps(domain: Domain | None) -> bool:
    """Whether the base values of a column are numbers or dates, whatever their texts."""
    return isinstance(domain, IntervalDomain) or (
        isinstance(domain, TreeDomain) and domain.steps is not None
    )
