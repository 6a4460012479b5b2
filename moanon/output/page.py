"""Pages that are one file each and work offline, above all ``report.html``: fronts to explore.

A page's policy (Content-Security-Policy) forbids every request. Where it has a program, the policy
names that by its digest, so the browser runs this one and nothing else. What comes from the data
(column names, labels, file names) reaches a program as JSON in which nothing can end the element it
stands in, and is shown as text only. The pages' parts are in the folder ``page``.

The data of a front are small. Solutions share most of what they do to a column, so each
generalization of a column is listed once and each label once; the sizes of a solution's groups are
given as the steps of their cumulative curve. Numbers that JSON has no word for are texts.

A page is shown around: it names files, not the folders of the machine they lie on, and has no
digest of the data, with which somebody could test a guess of them.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
import shlex
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from math import isinf, isnan
from pathlib import Path, PurePath
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from moanon import __version__
from moanon.arrays import Ints, Outlined
from moanon.atomic import StagedFiles
from moanon.data.cells import merged_values
from moanon.data.domain import NOT_SHOWN, Domain
from moanon.errors import OutputError
from moanon.front import Front
from moanon.front.asking import why_worse
from moanon.front.front import attained_privacy, searched_cost
from moanon.grouping import Grouping
from moanon.measures import find_measure
from moanon.measures.column_effects import column_effects, columns_before
from moanon.measures.evaluate import OnPart
from moanon.measures.loss import optimality
from moanon.measures.suppression import Suppression, row_limit
from moanon.search.algorithms import Convergence

#: Parts of the program, in their order.
_SCRIPTS = (
    *("elements.js", "theme.js", "front.js", "axis.js", "marker.js", "pointing.js", "chart.js"),
    *("plot.js", "sizes.js", "solution.js", "filters.js", "pair.js", "table.js", "compare.js"),
    "main.js",
)
#: Shown beside the objectives; everything else is folded away until somebody asks.
KEY_MEASURES = ("k", "l", "loss", "entropy_loss", "gl", "sl", "suppressed", "groups")
#: Offered before all others; then come the rooms that measures are defined in.
COMMON_MEASURES = (*KEY_MEASURES, "weighted_k", "l_distinct", "t_closeness", "risk_max")
#: Domains with more base values than this are not drawn value by value.
MAX_DRAWN = 400
#: Groups of a solution that are shown as an example of its rows.
EXAMPLES = 4
#: A solution's labels in one column beyond these are counted, not listed.
MAX_LABELS = 100
#: A curve with more steps than this is given at so many sizes per doubling.
MAX_STEPS, PER_DOUBLING = 160, 8

_DIVERSITY = {
    "distinct": "distinct sensitive values",
    "frequency": "in diversity (its size over its most frequent sensitive value)",
}
#: The folder of a file or of results that a configuration names whole.
_FOLDER = re.compile(
    r'^(?P<key> *(?:source|hierarchy|dir): "?)(?P<folder>(?:/|[A-Za-z]:[/\\]|\\\\)(?:.*[/\\])?)',
    re.MULTILINE,
)
#: A place of a part that a text goes into.
_PLACE = re.compile(r"@([a-z]+)@")


@dataclass(frozen=True, repr=False)
class Tab(Outlined):
    """One front of a report; with its table, group sizes are shown, too.

    `record` is the content of its ``run.json``, `config` the text of its ``config.yaml``, and
    `folder` the results folder as the export command should name it. `marks` are solutions worth
    pointing at, each with a word that says why; the page opens with the first. `without_table` says
    why there is no table, `exportable` whether ``moanon export`` finds what it needs in the folder.
    """

    title: str
    front: Front
    record: Mapping[str, Any]
    folder: str
    config: str = ""
    marks: Mapping[int, str] = field(default_factory=dict)
    without_table: str = ""
    exportable: bool = True


def report_html(
    tabs: Sequence[Tab], axes: tuple[str, str] | None = None, on_part: OnPart | None = None
) -> str:
    """Return a page that shows fronts, one tab for each; refused if there is nothing to show.

    `axes` are a privacy and a cost: the page begins with all fronts in one plot of these. By
    default fronts with the same objectives share a plot, on a tab after theirs. `on_part` is called
    with the number of solutions described so far, and of all.
    """
    if not tabs:
        raise OutputError("a report needs at least one front. Got none")
    for tab in tabs:
        if not len(tab.front):
            raise OutputError(f"the front {tab.title!r} has no solutions; there is nothing to show")
    names = {str(tab.record.get("name", tab.title)) for tab in tabs}
    return program_page(
        names.pop() if len(names) == 1 else f"{len(tabs)} fronts",
        "Privacy against loss",
        page_data(tabs, axes, on_part),
        scripts=_SCRIPTS,
        numbers="front.csv and solutions.json of the results folder",
        explanation="front_explained.html",
    )


def write_report(
    tabs: Sequence[Tab],
    path: str | Path,
    force: bool = False,
    spared: Iterable[Path] = (),
    axes: tuple[str, str] | None = None,
    on_part: OnPart | None = None,
) -> None:
    """Write the page of `report_html` to a file, which must not be one of those to spare."""
    page, path = report_html(tabs, axes, on_part), Path(path)
    with StagedFiles(path, force=force, spared=spared) as staged:
        staged[path].write_text(page, encoding="utf-8", newline="\n")
        staged.move()


def page_data(
    tabs: Sequence[Tab], axes: tuple[str, str] | None = None, on_part: OnPart | None = None
) -> dict[str, Any]:
    """Return everything the page shows; as for `report_html`."""
    used = dict.fromkeys(name for tab in tabs for name in tab.front.measures)
    return {
        "measures": {name: _measure_data(name) for name in used},
        "tabs": list(_tabs_data(tabs, on_part or (lambda done, every: None))),
        "comparisons": _comparisons(tabs, axes),
    }


def _measure_data(name: str) -> dict[str, Any]:
    known = find_measure(name)
    return {
        "unit": known.unit,
        "better": known.direction,
        "privacy": known.privacy,
        "meaning": known.meaning,
        "source": known.citation,
        # The module that defines it: privacy, loss or people.
        "kind": "common" if name in COMMON_MEASURES else known.of.__module__.rpartition(".")[2],
    }


def _tabs_data(tabs: Sequence[Tab], on_part: OnPart) -> Iterator[dict[str, Any]]:
    """What each tab shows; solutions are counted over all tabs."""
    before, every = 0, sum(len(tab.front) for tab in tabs)
    for tab in tabs:

        def count(done: int, _: int, before: int = before) -> None:
            on_part(before + done, every)

        yield _tab_data(tab, count)
        before += len(tab.front)


def _comparisons(tabs: Sequence[Tab], axes: tuple[str, str] | None) -> list[dict[str, Any]]:
    """Tabs that share a plot: all on given axes, else those of the same objectives."""
    if axes is not None:
        x, y = axes
        return [{"members": list(range(len(tabs))), "axes": {"x": x, "y": y}, "note": ""}]
    alike: dict[tuple[str, ...], list[int]] = {}
    for i, tab in enumerate(tabs):
        alike.setdefault(tab.front.objectives, []).append(i)
    several = (members for members in alike.values() if len(members) > 1)
    return [
        {"members": members, "axes": None, "note": _why_worse([tabs[i] for i in members])}
        for members in several
    ]


def _why_worse(tabs: Sequence[Tab]) -> str:
    """Say why a wider limit may look worse than a narrower one."""
    fronts = {tab.front.suppression.eta: tab.front for tab in tabs}
    if len(fronts) < len(tabs):  # not of several limits, but of several runs
        return ""
    stated = {
        tab.front.suppression.eta: _section(tab.record, "search").get("evaluations") for tab in tabs
    }
    return why_worse(fronts, {eta: n for eta, n in stated.items() if isinstance(n, int)})


def _tab_data(tab: Tab, on_part: OnPart) -> dict[str, Any]:
    front, folders, course = tab.front, _folders(tab), Convergence.of_record(tab.record)
    return {
        "title": tab.title,
        "objectives": front.objectives,
        "privacy": attained_privacy(front.objectives)[0],
        "cost": searched_cost(front.objectives),
        "key": [name for name in KEY_MEASURES if name in front.measures],
        "found": front.found,
        "values": {n: [*map(_number, v.tolist())] for n, v in front.measures.items()},
        **_solutions(front, on_part),
        "course": None if course is None else [course.evaluations, course.hypervolumes],
        "without": _named(tab.without_table, folders) or "this front was loaded without its table",
        "command": export_command(tab.folder) if tab.exportable else None,
        "first": next(iter(tab.marks), None),
        "marks": {str(solution): word for solution, word in tab.marks.items()},
        "optimality": _optimality(front),
        "rule": rule_in_words(front.suppression, _rows(tab)),
        "facts": [(label, _named(text, folders)) for label, text in facts_of(front, tab.record)],
        "config": _FOLDER.sub(r"\g<key>", tab.config),
    }


def _optimality(front: Front) -> list[str]:
    """How far each loss can be above the optimum; empty where nothing is known."""
    if front.proven is None:
        return [""] * len(front)
    pairs = zip(front.measures["loss"].tolist(), front.proven.tolist(), strict=True)
    return [optimality(loss, bound) for loss, bound in pairs]


def _rows(tab: Tab) -> int | None:
    """Rows of the table, if somebody knows."""
    if tab.front.instance is not None:
        return tab.front.instance.table.rows
    rows = _section(tab.record, "data").get("rows")
    return rows if isinstance(rows, int) else None


def export_command(folder: str) -> str:
    """How a solution of a results folder is exported; its number comes behind."""
    # A name that begins with a dash would be taken for an option.
    return f"moanon export {shlex.quote(f'./{folder}' if folder.startswith('-') else folder)}"


def _number(value: int | float) -> int | float | str | None:
    """A number to nine digits, more than anybody sees; JSON knows neither infinity nor NaN."""
    if isinstance(value, int):
        return value
    if isnan(value):
        return None
    return str(value) if isinf(value) else float(f"{value:.9g}")


# -- what solutions do ---------------------------------------------------------------------------

#: Fronts that are on a page already: fronts of several limits share one, and each has its own.
_DESCRIBED: WeakKeyDictionary[Front, dict[str, Any]] = WeakKeyDictionary()


def _solutions(front: Front, on_part: OnPart) -> dict[str, Any]:
    """What the solutions of a front do to columns and rows; worked out once for each front."""
    if front not in _DESCRIBED:
        columns, ways = _columns(front)
        groups = _groups(front, columns, on_part)
        _DESCRIBED[front] = {"columns": columns, "ways": ways, **groups}
    on_part(len(front), len(front))
    return _DESCRIBED[front]


def _columns(front: Front) -> tuple[list[dict[str, Any]], list[list[int]]]:
    """Each column with its labels and generalizations, and which of them each solution takes.

    A generalization is the number of its blocks, its first labels (as places in the list of
    labels) and, where the table is known, how many base values each of its blocks holds. ``merged``
    says what base values had merged before anything was searched; nothing where they did not.
    """
    columns = {name: _ColumnWays() for name in front.labels[0]}
    chosen = []
    for row, blocks in enumerate(front.labels):
        widths = cache(partial(_widths, front, row))
        chosen.append([way.place(blocks[name], name, widths) for name, way in columns.items()])
    described = [
        {"name": name, "labels": [*way.labels], "ways": way.listed, "merged": _merged(front, name)}
        for name, way in columns.items()
    ]
    return described, chosen


@dataclass(frozen=True)
class _ColumnWays:
    """Generalizations of one column, each listed once."""

    labels: dict[str, int] = field(default_factory=dict)
    places: dict[tuple[tuple[str, ...], tuple[int, ...]], int] = field(default_factory=dict)
    listed: list[list[Any]] = field(default_factory=list)

    def place(
        self, shown: tuple[str, ...], name: str, widths: Callable[[], Mapping[str, list[int]]]
    ) -> int:
        """Find the place of a generalization that shows these labels; listed now if it is new."""
        # Labels that are not shown are called alike.
        hidden = tuple(widths().get(name, ())) if NOT_SHOWN in shown else ()
        if (shown, hidden) not in self.places:
            self.places[shown, hidden] = len(self.listed)
            first = [self.labels.setdefault(text, len(self.labels)) for text in shown[:MAX_LABELS]]
            self.listed.append([len(shown), first, widths().get(name, [])])
        return self.places[shown, hidden]


def _merged(front: Front, name: str) -> str:
    if front.instance is None or not front.instance.table.rows:
        return ""
    return merged_values(front.instance.table.columns[name], front.instance.layout.domains[name])


def _widths(front: Front, row: int) -> dict[str, list[int]]:
    """For each column, base values in each block; none where unknown or too many to draw."""
    if front.instance is None:
        return {}
    generalization = front.recodings.generalization(row, front.instance) or {}
    return {
        name: [stop - start for start, stop in blocks] if len(blocks) <= MAX_LABELS else []
        for name, blocks in generalization.items()
    }


def _groups(front: Front, columns: Sequence[Mapping[str, Any]], on_part: OnPart) -> dict[str, Any]:
    """What is known of a front with its table: groups, and what becomes of each column.

    For each solution: ``sizes``, the steps of its curve (`size_steps`); ``rows``, for each column
    the released rows of its first labels; ``effects``, for each column its own loss and the share
    of entropy kept; ``examples``, some groups as their size and, for each column, the place of the
    label in the list of labels. ``before`` has the rows of the table by base value.
    """
    if front.instance is None:
        return dict.fromkeys(("sizes", "rows", "effects", "examples", "before"))
    before = columns_before(front.instance)
    found: dict[str, list[Any]] = {name: [] for name in ("sizes", "rows", "effects", "examples")}
    places = [
        _places(column["labels"], domain)
        for column, domain in zip(columns, front.instance.layout.domains.values(), strict=True)
    ]
    for done, grouping in enumerate(front.recodings.groupings(front.instance), 1):
        found["sizes"].append(size_steps(grouping.sizes[grouping.kept]))
        effects = column_effects(grouping, before)
        found["rows"].append([effect.rows[:MAX_LABELS].tolist() for effect in effects])
        found["effects"].append(
            [(round(effect.loss, 4), round(effect.entropy_kept, 4)) for effect in effects]
        )
        found["examples"].append(_examples(grouping, places))
        on_part(done, len(front))
    return {**found, "before": [_drawn(front, each.counts) for each in before]}


def _drawn(front: Front, rows: Ints) -> list[int]:
    """The rows of each base value of a column, where they are drawn beside those of its blocks.

    Boxes are not drawn that way. A value that fewer rows have than the groups of any solution is
    given as one that none has.
    """
    assert front.instance is not None
    is_drawn = len(rows) <= MAX_DRAWN and front.recodings.generalization(0, front.instance)
    return np.where(rows < front.measures["k"].min(), 0, rows).tolist() if is_drawn else []


def _places(labels: Sequence[str], domain: Domain) -> Callable[[int, int], int]:
    """Tell for a block the place of its label in a list; of one that is not listed, -1."""
    place_of = {label: place for place, label in enumerate(labels)}
    return cache(lambda start, stop: place_of.get(domain.label(start, stop), -1))


def _examples(grouping: Grouping, places: Sequence[Callable[[int, int], int]]) -> list[list[int]]:
    """Groups from the smallest to the largest, each with its size and the places of its labels."""
    kept = np.flatnonzero(grouping.kept)
    order = kept[np.argsort(grouping.sizes[kept], kind="stable")]
    chosen = np.unique(np.linspace(0, len(order) - 1, min(EXAMPLES, len(order))).round())
    groups = order[chosen.astype(np.int64)]
    assert grouping.starts is not None
    assert grouping.stops is not None
    blocks = zip(
        grouping.starts[:, groups].tolist(), grouping.stops[:, groups].tolist(), strict=True
    )
    labels = [map(place, *column) for place, column in zip(places, blocks, strict=True)]
    return [list(each) for each in zip(grouping.sizes[groups].tolist(), *labels, strict=True)]


def size_steps(sizes: Ints) -> list[int]:
    """Steps of the cumulative number of rows by group size (the sum of |E_i|, D §5.1).

    Returns alternately by how much the size grows, from 0, and how many rows join there. Where
    there are too many sizes, those between two marks of a grid with eight marks per doubling join
    at the largest of them: the curve is then given at fewer places, and is exact at each.

    Two groups of 3 rows and one of 5:

    >>> size_steps(np.array([3, 5, 3]))
    [3, 6, 2, 5]
    """
    distinct, groups = np.unique(sizes, return_counts=True)
    rows = distinct * groups
    if len(distinct) > MAX_STEPS:
        mark = np.floor(PER_DOUBLING * np.log2(distinct)).astype(np.int64)
        first = np.flatnonzero(np.diff(mark, prepend=-1))
        last = np.append(first[1:], len(mark)) - 1
        distinct, rows = distinct[last], np.add.reduceat(rows, first)
    grows = np.diff(distinct, prepend=0)
    steps: list[int] = np.stack([grows, rows], axis=1).ravel().tolist()
    return steps


# -- in words --------------------------------------------------------------------------------------


def rule_in_words(rule: Suppression, rows: int | None) -> str:
    """Say which rows a solution leaves out, for a table of `rows` rows (None: unknown)."""
    share = f"{rule.eta * 100:g} % of the rows"
    if rows is not None:
        share += f" ({row_limit(rule.eta, rows):,} of {rows:,})"
    words, ensured = _kind_in_words(rule, share), tuple(_bounds_in_words(rule.constraints))
    if not ensured:
        return words
    if rule.kind == "none" or (rule.eta == 0 and rule.kind != "weighted-k"):
        return f"{words} Every group has {' and '.join(ensured)}."
    counted = "" if rule.kind == "weighted-k" else ", and count towards that"
    failing = " or ".join(_bounds_in_words(rule.constraints, broken=True))
    return f"{words} Groups with {failing} are suppressed before all others{counted}."


def _bounds_in_words(bounds: Iterable[tuple[str, float]], *, broken: bool = False) -> Iterator[str]:
    """Say what bounds demand, each in its measure's better direction; or what breaks them."""
    for name, bound in bounds:
        least = find_measure(name).direction == "max"
        side = ("below" if least else "above") if broken else ("at least" if least else "at most")
        yield f"{name} {side} {bound:,.10g}"


def _kind_in_words(rule: Suppression, share: str) -> str:
    if rule.kind == "none":
        return "No row is suppressed."
    if rule.kind == "weighted-k":
        below = "smaller than weighted k" if rule.by == "k" else "less diverse than weighted l"
        return f"Every group {below} is suppressed, however many rows that costs."
    if rule.kind == "limit" and rule.eta == 0:
        plain = ": plain k-anonymity" if rule.by == "k" and not rule.constraints else ""
        return f"No row may be suppressed (η = 0){plain}."
    if rule.kind == "limit":
        side = "lower" if find_measure(rule.by).direction == "max" else "higher"
        worse = "smaller than its k" if rule.by == "k" else f"with a {side} {rule.by} than its own"
        return (
            f"Each solution suppresses the groups {worse}; together they hold at most {share} "
            f"(η = {rule.eta:g})."
        )
    if rule.safety == "strict":
        first = "k" if rule.prefer == "k" else "diversity"
        return (
            f"Each solution suppresses every group with fewer than d1 rows or fewer than d2 "
            f"{_DIVERSITY[rule.diversity]}; together they hold at most {share} "
            f"(η = {rule.eta:g}). Where both cannot be had, {first} comes first."
        )
    first, second = ("diversity", "size") if rule.prefer == "k" else ("size", "diversity")
    return (
        f"Groups are ordered by {first}, then by {second}, and suppressed in that order while they "
        f"hold at most {share} (η = {rule.eta:g}); (d1, d2) is where that ends. A kept group can "
        f"still fall short of d1 or d2: k and l are what the kept groups attain."
    )


def facts_of(front: Front, record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List what a run's record says, as labels and texts; what it does not say is left out."""
    return [(label, text) for label, text in _facts(front, record) if text]


def _section(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a part of a record; an empty one if it is not there, or is something else."""
    found = record.get(name)
    return found if isinstance(found, Mapping) else {}


def _facts(front: Front, record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    data, search, times = (_section(record, name) for name in ("data", "search", "times"))
    dropped = _text(data, "rows_dropped")
    generations, threads = _text(search, "generations"), _text(times, "threads")
    yield "Data", _text(data, "source")
    gaps = f"; {dropped} more had missing values and were dropped"
    yield "Rows", _joined(_text(data, "rows"), gaps, dropped not in ("", "0"))
    yield "Objectives", ", ".join(front.objectives)
    # What every group has to meet, and what a release as a whole.
    bounds = (*front.suppression.constraints, *front.bounds.items())
    yield "Constraints", "; ".join(dict.fromkeys(_bounds_in_words(bounds)))
    yield "Search", _text(search, "algorithm")
    yield "Seed", str(record.get("seed", ""))
    bred = f" in {generations} generations"
    yield "Evaluations", _joined(_text(search, "evaluations"), bred, generations)
    yield "Ended because", _text(search, "why")
    course = Convergence.of_record(record)
    yield "Converged", "" if course is None else course.sentence
    proof = _section(record, "proof")
    if proof:
        yield "Proven optimal", f"{_text(proof, 'optimal')} of {_text(proof, 'steps')} steps of k"
    thinned = f", thinned evenly from {front.found:,}"
    yield "Solutions", _joined(f"{len(front):,}", thinned, front.found > len(front))
    yield "Seconds of search", _joined(_text(times, "search"), f" on {threads} threads", threads)
    yield "Seconds of compiling", _joined(_text(times, "compiling"), " before the search", True)
    yield "Finished", _text(times, "finished").replace("T", " ").replace("+00:00", " UTC")
    versions = _section(record, "versions").items()
    yield "Versions", ", ".join(f"{name} {number}" for name, number in versions)
    notes = record.get("notes")
    yield "Notes", "; ".join(map(str, notes)) if isinstance(notes, list | tuple) else ""


def _text(part: Mapping[str, Any], key: str) -> str:
    value = part.get(key, "")
    return f"{value:,}" if isinstance(value, int) else str(value)


def _joined(text: str, more: str, wanted: object) -> str:
    return text + more if text and wanted else text


def _folders(tab: Tab) -> list[str]:
    """Folders that a front's texts may speak of, each with its last slash, the longest first."""
    found = {place["folder"] for place in _FOLDER.finditer(tab.config)}
    for place in (tab.folder, _text(_section(tab.record, "data"), "source")):
        if PurePath(place).is_absolute():
            found.add(place.removesuffix(PurePath(place).name))
    return sorted(found, key=len, reverse=True)


def _named(text: str, folders: Iterable[str]) -> str:
    """Name files without these folders."""
    for folder in folders:
        text = re.sub(rf"(?<![\w./~-]){re.escape(folder)}", "", text)
    return text


# -- what pages share ------------------------------------------------------------------------------


def page_html(
    title: str,
    body: str,
    style: str,
    *,
    scheme: str = "light dark",
    body_class: str = "",
    script: str | None = None,
) -> str:
    """Return a page with a title (any text), a body (HTML) and a style (CSS).

    `scheme` names the colour schemes that the style knows. `script` is the program in the body that
    may run; none else may.
    """
    return fill(
        "shell.html",
        {
            "policy": _policy(script),
            "scheme": scheme,
            "version": __version__,
            "title": as_text(title),
            "style": style,
            "class": body_class,
            "body": body.rstrip("\n"),
        },
    )


def program_page(
    title: str, kind: str, data: Any, *, scripts: Sequence[str], numbers: str, explanation: str
) -> str:
    """Return a page that a program draws from JSON data.

    `scripts` are the parts of the program in their order; `numbers` says where the same numbers
    are, for readers without JavaScript; `explanation` is the part at the end.
    """
    joined = "\n".join(part(name) for name in scripts)
    script = _as_script(f'"use strict";\n(() => {{\n{joined}\n}})();\n')
    body = fill(
        "program.html",
        {
            "kind": as_text(kind),
            "title": as_text(title),
            "numbers": as_text(numbers),
            "explanation": part(explanation).rstrip("\n"),
            "version": __version__,
            "data": _as_json(data),
            "script": script,
        },
    )
    return page_html(title, body, part("page.css"), script=script)


def fill(name: str, parts: Mapping[str, str]) -> str:
    """Put texts that are HTML already into the places of a part that are called ``@name@``."""
    return _PLACE.sub(lambda place: parts[place[1]], part(name))


def part(name: str) -> str:
    """Read a part of a page."""
    return (files("moanon.output") / "page" / name).read_text(encoding="utf-8")


def as_text(text: str) -> str:
    """Escape text for HTML; a file name may hold bytes that are no characters."""
    return html.escape(text).encode("ascii", "xmlcharrefreplace").decode()


def _policy(script: str | None) -> str:
    """Allow this script, inline styles and images; no request of any kind."""
    allowed = ""
    if script is not None:
        digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
        allowed = f"script-src 'sha256-{digest}'; "
    return (
        f"default-src 'none'; {allowed}style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _as_script(text: str) -> str:
    """Return a script as it can stand in a page, and as the browser takes its digest.

    A browser reads every line end as a line feed, and the end of the element wherever it sees one,
    even in a string.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return re.sub(r"<(?=/script|!--)", r"\\x3c", text, flags=re.IGNORECASE)


def _as_json(value: Any) -> str:
    """Write JSON in which nothing is markup, and that has no sign beyond ASCII."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
