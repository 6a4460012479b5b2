"""``moanon guide``: the manual in the terminal."""

from __future__ import annotations

import re
from collections import Counter
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from moanon.cli.application import app, argument, show, show_markdown
from moanon.errors import ConfigError
from moanon.wording import Grid

#: One Markdown file for each topic; the list of them, with one line each, is the README there.
_FOLDER = Path(__file__).parents[1] / "guide"
_LISTED = re.compile(r"^- \[(?P<topic>[\w-]+)\]\((?P=topic)\.md\): (?P<about>.+)$", re.MULTILINE)
_MOST_SUGGESTED = 3


@app.command(epilog="Example: moanon guide hierarchies")
def guide(
    topic: Annotated[str | None, argument("TOPIC", "What to read about.")] = None,
) -> None:
    """Read the manual: without a topic, the list of topics.

    In a terminal the text is laid out; in a pipe it is the Markdown source.
    """
    topics = dict(_LISTED.findall(_read("README")))
    if topic is None:
        show([Grid(("topic", "about"), list(topics.items()))])
        typer.echo("Read one of them: moanon guide TOPIC")
        return
    chosen = topic.lower()
    if chosen not in topics:
        raise ConfigError(_unknown(topic, list(topics)))
    show_markdown(_read(chosen))


def _read(name: str) -> str:
    return (_FOLDER / f"{name}.md").read_text(encoding="utf-8")


def _unknown(topic: str, topics: list[str]) -> str:
    """Name the topics that are spelled alike or, where there is none, that use the word most."""
    word = topic.lower()
    near = get_close_matches(word, topics, _MOST_SUGGESTED)
    if not near:
        texts = {name: _read(name).lower().replace("ℓ", "l") for name in topics}
        uses = Counter({name: text.count(word) for name, text in texts.items()})
        near = [name for name, times in uses.most_common(_MOST_SUGGESTED) if times]
    return f"the guide has no topic {topic!r}; try {', '.join(near or topics)}"
