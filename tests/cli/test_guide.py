"""``moanon guide``; and that commands, configurations and links in README and guide are true."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer.main

from moanon.baselines import BASELINES
from moanon.cli import app, load_commands, main
from moanon.compare import COMPARATORS, PROPERTIES
from moanon.config import Config
from moanon.data.hierarchy import Hierarchy
from moanon.experiment.folder import PROOF, RESULTS
from moanon.front.results import NO_SOLUTION
from moanon.measures import MEASURES
from moanon.measures.suppression import PRESETS
from moanon.search.algorithms import ALGORITHMS
from tests.checkout import REPOSITORY, environment
from tests.cli.commands import Captured, done, refused, terminal

GUIDE = REPOSITORY / "moanon" / "guide"
TOPICS = re.findall(r"^- \[([\w-]+)\]", (GUIDE / "README.md").read_text(), re.MULTILINE)
DOCUMENTS = [REPOSITORY / "README.md", GUIDE / "README.md"] + [GUIDE / f"{t}.md" for t in TOPICS]
FENCED = re.compile(r"^```(\S+)( \S+)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Commands that are run as they stand, on a small table; others take long, or need more packages.
RUN = {
    *("init", "check", "run", "ask", "export", "report", "plot", "apply", "measure", "compare"),
    *("baseline", "diagnose", "hierarchy", "schema", "guide", "frontier"),
}
#: Files of examples that nobody can run here.
ELSEWHERE = ("configs/", "in.csv")
#: Some keys of a configuration are shown alone; these complete them.
FRAME = {
    "data": "{source: patients.csv}",
    "columns": "{age: {role: quasi, kind: interval}, diagnosis: {role: sensitive}}",
}

by_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)


def blocks(document: Path, language: str, mark: str = "") -> list[str]:
    found = FENCED.findall(document.read_text(encoding="utf-8"))
    return [text for of, marked, text in found if (of, marked.strip()) == (language, mark)]


def code_words(topic: str) -> set[str]:
    """What a text of the guide sets as code."""
    return set(re.findall(r"`([^`\n]+)`", (GUIDE / f"{topic}.md").read_text(encoding="utf-8")))


def command_lines(document: Path) -> list[list[str]]:
    """The words of every ``moanon …`` in the shell blocks of a document."""
    text = re.sub(r"\s#.*| > .*", "", "\n".join(blocks(document, "sh")))  # comments, other places
    lines = [shlex.split(part) for part in re.split("&&|\n", text)]
    return [words[1:] for words in lines if words and Path(words[0]).name == "moanon"]


def write_patients(folder: Path, rows: int = 300) -> None:
    """Put the table of the examples into a folder, rows that came later, and its hierarchy."""
    rng = np.random.default_rng(1)
    cities = ["Oslo", "Tromsø", "Rome", "Bari", "Madrid"]
    frame = pd.DataFrame(
        {
            "name": [f"P{row}" for row in range(rows)],
            "age": rng.integers(18, 90, rows),
            "sex": rng.choice(["f", "m"], rows),
            "education": rng.choice(["none", "school", "college", "university"], rows),
            "city": rng.choice(cities, rows),
            "diagnosis": rng.choice(["flu", "gout", "cold", "none"], rows),
        }
    )
    frame.to_csv(folder / "patients.csv", index=False)
    frame[: rows // 2].to_csv(folder / "new.csv", index=False)


# -- the command ---------------------------------------------------------------------------------


def test_without_a_topic_the_topics_are_listed(folder: Path, capsys: Captured) -> None:
    lines = done(capsys, "guide")
    listed = [line.split()[0] for line in lines if line.split()[:1] and line.split()[0] in TOPICS]
    assert listed == TOPICS
    assert lines[-1] == "Read one of them: moanon guide TOPIC"


@pytest.mark.parametrize("topic", [*TOPICS, "Files"])
def test_in_a_pipe_a_topic_is_its_markdown(topic: str, folder: Path, capsys: Captured) -> None:
    text = (GUIDE / f"{topic.lower()}.md").read_text(encoding="utf-8")
    assert done(capsys, "guide", topic) == text.splitlines()


def test_in_a_terminal_a_topic_is_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch, width=60) as shown:
        assert main(["guide", "optimality"]) == 0
    assert "How far from the optimum" in shown.plain
    assert "# How far" not in shown.plain
    assert "```" not in shown.plain
    assert max(map(len, shown.plain.splitlines())) <= 60


@pytest.mark.parametrize(
    ("topic", "near"),
    [
        ("hierachy", "hierarchies"),
        ("mondrian-relaxed", "baselines"),  # a word of that text alone
        ("l-diversity", "diagnosis"),  # written with ℓ
        ("zzz", ", ".join(TOPICS)),
    ],
)
def test_an_unknown_topic_is_refused_with_the_nearest(
    topic: str, near: str, folder: Path, capsys: Captured
) -> None:
    sentence = f"moanon: the guide has no topic '{topic}'; try {near}\n"
    assert refused(capsys, "guide", topic) == sentence


def test_the_guide_imports_nothing_slow() -> None:
    slow = ["duckdb", "numba", "numpy", "pandas", "rich"]
    code = (
        "import sys; from moanon.cli import main; main(['guide', 'files']); "
        f"sys.exit(' '.join(name for name in {slow} if name in sys.modules))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=False
    )
    assert ended.stderr.strip() == ""


# -- what documents say --------------------------------------------------------------------------


def test_every_file_of_the_guide_is_listed_and_the_readme_has_the_same_list() -> None:
    assert sorted(TOPICS) == sorted(path.stem for path in GUIDE.iterdir() if path.stem != "README")
    listed = [line for line in (GUIDE / "README.md").read_text().splitlines() if line[:3] == "- ["]
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert "\n".join(line.replace("](", "](moanon/guide/") for line in listed) in readme


def test_the_readme_is_short() -> None:
    assert (REPOSITORY / "README.md").stat().st_size <= 12_000


@by_document
def test_links_lead_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    targets = [t for t in re.findall(r"\]\(([^)]+)\)", text) if not t.startswith("https:")]
    missing = [target for target in targets if not (document.parent / target).is_file()]
    assert not missing
    named = re.findall(r"moanon guide ([a-z]+)`", text)
    assert set(named) <= set(TOPICS)


@by_document
def test_files_of_the_repository_that_are_named_are_there(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    named = re.findall(r"`(?:python )?((?:configs|experiments|moanon|tests)/[\w./-]+)`", text)
    named += re.findall(
        r"`(results/(?:[\w-]+\.(?:csv|md)|baselines|limits_of_loss_metrics))`", text
    )
    missing = [name for name in named if not (REPOSITORY / name).exists() and "NAME" not in name]
    assert not missing


@by_document
def test_configurations_are_accepted(document: Path, tmp_path: Path) -> None:
    for block in blocks(document, "yaml"):
        keys = re.findall(r"^(\w+):", block, re.MULTILINE)
        missing = [f"{key}: {value}\n" for key, value in FRAME.items() if key not in keys]
        (tmp_path / "c.yaml").write_text("".join([block, *missing]), encoding="utf-8")
        assert Config.load(tmp_path / "c.yaml").columns


@by_document
def test_hierarchies_are_read(document: Path, tmp_path: Path) -> None:
    for block in blocks(document, "yaml", "hierarchy"):
        (tmp_path / "tree.yaml").write_text(block, encoding="utf-8")
        assert len(Hierarchy.read(tmp_path / "tree.yaml").leaves) > 1


def test_every_block_of_the_documents_is_looked_at() -> None:
    known = {("yaml", ""), ("yaml", "hierarchy"), ("sh", ""), ("python", ""), ("text", "")}
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        found = FENCED.findall(text)
        assert {(language, mark.strip()) for language, mark, _ in found} <= known
        assert 2 * len(found) == len(re.findall("^```", text, re.MULTILINE))


def test_the_keys_of_certificates_are_explained(finished_here: Path, capsys: Captured) -> None:
    done(capsys, "export", finished_here, "2", "--out", "r.csv")
    keys = json.loads(Path("r.csv.certificate.json").read_text())
    assert set(keys) <= code_words("publishing")


@pytest.mark.parametrize(
    ("topic", "names"),
    [
        ("measures", MEASURES),
        ("problems", PRESETS),
        ("problems", set(ALGORITHMS) - {"local"}),  # which follows from the recoding
        ("baselines", BASELINES),
        ("comparison", PROPERTIES),
        ("comparison", COMPARATORS),
        ("results", set(RESULTS) | {PROOF, NO_SOLUTION}),
    ],
)
def test_names_that_can_be_given_or_met_are_explained(topic: str, names: Iterable[str]) -> None:
    unnamed = set(names) - code_words(topic)
    # of a measure with three indices the guide has the name alone
    assert {name for name in unnamed if name.rpartition("_")[0] not in code_words(topic)} == set()


@by_document
def test_commands_and_their_options_exist(document: Path) -> None:
    load_commands()
    known: Any = typer.main.get_command(app)
    for name, *words in command_lines(document):
        context = known.commands[name].make_context(name, words, resilient_parsing=False)
        assert context.command.name == name


@by_document
def test_commands_of_the_examples_run(document: Path, folder: Path, capsys: Captured) -> None:
    lines = [
        line
        for line in command_lines(document)
        if line[0] in RUN and not any(word.startswith(ELSEWHERE) for word in line)
    ]
    if not lines:
        return
    write_patients(folder)
    quick = ["--set", "search.evaluations=2000", "--set", "output.plots=false", "--quiet"]
    if ["init", "patients.csv"] not in lines:  # it begins where the others end
        assert main(["init", "patients.csv"]) == 0
        assert main(["run", "patients.yaml", *quick]) == 0
    for line in lines:
        code = main([*line, *(quick if line[0] == "run" else ())])
        assert code in ((0, 1) if line[0] == "diagnose" else (0,)), (line, capsys.readouterr().err)


def test_the_example_with_pymoo_runs(folder: Path, capsys: Captured) -> None:
    write_patients(folder)
    assert main(["init", "patients.csv"]) == 0
    capsys.readouterr()
    (example,) = blocks(GUIDE / "pymoo.md", "python")
    exec(compile(example, "pymoo.md", "exec"), {})
    assert "Solution" in capsys.readouterr().out
    assert {"release.csv", "release.csv.certificate.json"} <= {p.name for p in folder.iterdir()}
    assert main(["ask", "results/by-pymoo", "--min-k", "2"]) == 0


def test_the_python_example_runs(folder: Path, capsys: Captured) -> None:
    write_patients(folder)
    (example,) = blocks(REPOSITORY / "README.md", "python")
    exec(compile(example, "README.md", "exec"), {})
    assert "Solution" in capsys.readouterr().out
    assert {"release.csv", "release.csv.certificate.json"} <= {p.name for p in folder.iterdir()}
