"""A page to attach to a release: one sheet of paper for whoever signs it.

It says in plain words what is published, how people are protected, what was lost and what is
not promised. It goes with the release, so every number is the certificate's or can be counted in
the released file, and the only values it names are labels that the file shows. What depends on rows
that are left out (losses of information, closeness to the whole table) is for the publisher alone:
`Release.record` has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from moanon.measures import MEASURES
from moanon.measures.column_effects import ColumnEffect, column_effects
from moanon.output.page import as_text, fill, page_html, part
from moanon.release import Certificate, Release
from moanon.wording import counted

#: With more columns lines are closer and single; beyond the last, columns are only named.
_MANY, _MOST_COLUMNS = 10, 26
#: Sensitive columns that are described one by one.
_MOST_SENSITIVE = 3
#: Labels of a column that are named, and how long each may be.
_LISTED, _LONGEST = 6, 24
#: Groups with fewer rows are what most statistical offices call small.
_SMALL = 5


def summary_html(release: Release, certificate: Certificate, name: str) -> str:
    """Return the page for a release whose file was written and certified.

    `name` is what the release is taken from, such as ``solution 14 of quickstart``.
    """
    effects = column_effects(release.grouping)
    title = f"Release of {certificate.file}"
    places = {
        "title": as_text(title),
        "lead": as_text(_lead(release, certificate)),
        "protection": _facts(_protection(release, certificate)),
        "losses": _facts(_losses(certificate)),
        "columns": _table(_columns(release, effects)),
        "made": as_text(_made(certificate, name)),
    }
    return page_html(
        title,
        fill("summary.html", places),
        part("summary.css"),
        scheme="light",
        body_class="many" if len(_columns(release, effects)) > _MANY else "",
    )


def _lead(release: Release, certificate: Certificate) -> str:
    table = release.instance.table
    parts = [f"{counted(len(certificate.quasi), 'column')} generalized"]
    if certificate.sensitive:
        parts.append(f"{len(certificate.sensitive):,} published unchanged and sensitive")
    if table.insensitive:
        parts.append(f"{len(table.insensitive):,} published unchanged")
    removed = len(table.identifying) + len(table.undeclared)
    if removed:
        parts.append(f"{removed:,} removed")
    every = certificate.rows + certificate.suppressed
    return f"{certificate.rows:,} of {counted(every, 'row')} are published: {', '.join(parts)}."


# -- in numbers ------------------------------------------------------------------------------------

#: A number, what it is called, and what it means in words.
_Fact = tuple[str, str, str]


def _protection(release: Release, certificate: Certificate) -> Iterator[_Fact]:
    k, rows = certificate.k, certificate.rows
    others = f"every published row looks like at least {k - 1:,} others"
    yield "k", f"{k:,}", others if k > 1 else "some rows are alone: they protect nobody"
    chance = "chance to find a person's row for somebody who knows the generalized columns"
    yield (
        "risk",
        f"{1 / k:.2%} at most, {certificate.groups / rows:.2%} on average",
        chance,
    )
    grouping = release.grouping
    sizes = grouping.sizes[grouping.kept]
    small = int(sizes[sizes < _SMALL].sum())
    yield "small groups", f"{small / rows:.1%}", f"of the rows, in groups of fewer than {_SMALL}"
    for name, models, distance in _models(certificate):
        distinct, frequency = int(models["l_distinct"]), int(models["l_frequency"])
        diverse = f"{distinct:,} distinct, {frequency:,} by frequency"
        if "t_closeness" not in models:  # a tree that was made from the table says too much
            distance = "equal"
        close = models.get("t_closeness", models["t_equal"])
        most = f"none fills more than {models['alpha']:.1%} of one"
        if len(certificate.sensitive) == 1:
            yield f"ℓ of {name}", diverse, f"different values in every group; {most}"
            away = f"largest distance of a group from the published rows ({distance})"
            yield f"t of {name}", f"{close:.3f}", away
        else:  # several, and one sheet of paper
            words = f"values in every group, {most}; distance from the published rows ({distance})"
            yield name, f"ℓ {diverse}; t {close:.3f}", words
    for measure, bound in certificate.promises:
        if MEASURES[measure].beside_table:
            asked = f"{MEASURES[measure].bound_text(bound)}, suppressed rows included"
            yield f"{measure} to the whole table", asked, "as was demanded, and checked"


def _models(certificate: Certificate) -> Iterator[tuple[str, dict[str, float], str]]:
    """Privacy models of each sensitive column, or of the worst of many."""
    if len(certificate.sensitive) > _MOST_SENSITIVE:
        name = f"the worst of {len(certificate.sensitive)}"
        yield name, certificate.privacy, "each column's own"
        return
    for column in certificate.sensitive:
        models = certificate.privacy_of(column)
        yield _short(column), models, certificate.distances[column]


def _losses(certificate: Certificate) -> Iterator[_Fact]:
    dropped = certificate.rows_dropped
    yield (
        "left out",
        f"{counted(certificate.suppressed, 'row')} ({certificate.sl:.1%})",
        (f"and {dropped:,} more for missing values" if dropped else "to protect the others"),
    )
    if certificate.loss is not None:
        yield "loss", f"{certificate.loss:.1%}", "of what the declared values could distinguish"
    yield "groups", f"{certificate.groups:,}", "different combinations of labels"


def _facts(facts: Iterator[_Fact]) -> str:
    return "".join(
        f"<dt>{as_text(name)}</dt><dd>{as_text(value)} <small>{as_text(meaning)}</small></dd>"
        for name, value, meaning in facts
    )


# -- columns ---------------------------------------------------------------------------------------

#: A line of the table: the column, what was done to it, and two numbers.
_Line = tuple[str, ...]


def _columns(release: Release, effects: Sequence[ColumnEffect]) -> list[_Line]:
    """Columns in the order of what was done to them, generalized ones first."""
    table = release.instance.table
    lines: list[_Line] = []
    for effect in effects:
        largest = f"{effect.rows.max() / effect.rows.sum():.1%}"
        lines.append((effect.name, _done(effect), f"{effect.shown:,}", largest))
    nothing = ("", "")
    lines += [(name, "published unchanged (sensitive)", *nothing) for name in table.sensitive]
    lines += [(name, "published unchanged", *nothing) for name in table.insensitive]
    removed = (*table.identifying, *table.undeclared)
    if len(lines) > _MOST_COLUMNS:
        rest = [line[0] for line in lines[_MOST_COLUMNS - 1 :]]
        lines[_MOST_COLUMNS - 1 :] = [(f"{len(rest):,} more", ", ".join(rest), *nothing)]
    if removed:
        lines.append((f"{len(removed):,} removed", ", ".join(removed), *nothing))
    return lines


def _done(effect: ColumnEffect) -> str:
    """Say what became of a column; labels with most rows first."""
    if effect.shown == 1:
        return f"the same in every row ({_short(effect.labels[int(effect.rows.argmax())])})"
    order = sorted(range(len(effect.labels)), key=lambda place: -int(effect.rows[place]))
    filled = [effect.labels[place] for place in order if effect.rows[place]]
    # Steps of several numbers are labels such as [20-24], also where nothing was generalized.
    steps = any(label.startswith(("[", "<", ">=")) for label in filled)
    if effect.is_kept and not (steps and effect.domain.kind == "interval"):
        return "shown as it is"
    more = f", {len(filled) - _LISTED:,} more" if len(filled) > _LISTED else ""
    return f"grouped: {', '.join(map(_short, filled[:_LISTED]))}{more}"


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"


def _table(lines: Sequence[_Line]) -> str:
    rows = []
    for name, done, *numbers in lines:
        cells = "".join(f'<td class="number">{as_text(number)}</td>' for number in numbers)
        title = as_text(done)
        shown = f'<td title="{title}"><div>{title}</div></td>'
        rows.append(f"<tr><th>{as_text(name)}</th>{shown}{cells}</tr>")
    return "\n".join(rows)


def _made(certificate: Certificate, name: str) -> str:
    return (
        f"Made by moanon {certificate.moanon} from {name}; measured from the file after it was "
        f"written, see {certificate.file}.certificate.json. SHA-256 of the file: "
        f"{certificate.output_digest}"
    )
