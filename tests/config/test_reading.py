"""Strict YAML: one meaning per file, and every refusal with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from moanon.config.reading import MAX_BYTES, MAX_DEPTH, override, parse, read
from moanon.data.strict_yaml import YamlNode
from moanon.errors import ConfigError


def at(node: YamlNode, *keys: str) -> YamlNode:
    for key in keys:
        assert isinstance(node.content, dict)
        node = node.content[key]
    return node


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("5", 5),
        ("-5", -5),
        ("+5", 5),
        ("0", 0),
        ("0.5", 0.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("-2.5E-1", -0.25),
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        # Numbers and truth values of other YAML readers, texts here.
        ("No", "No"),
        ("yes", "yes"),
        ("on", "on"),
        ("True", "True"),
        ("01", "01"),
        ("00.5", "00.5"),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("1e999", "1e999"),
        ("2020-01-01", "2020-01-01"),
    ],
)
def test_a_plain_scalar_has_one_meaning(written: str, value: object) -> None:
    scalar = at(parse(f"key: {written}"), "key")
    assert scalar.content == written
    assert scalar.value == value
    assert type(scalar.value) is type(value)


@pytest.mark.parametrize("written", ['"5"', "'true'", '"null"', '""'])
def test_what_is_quoted_is_text(written: str) -> None:
    assert at(parse(f"key: {written}"), "key").value == written[1:-1]


def test_more_digits_than_python_converts_stay_text() -> None:
    assert YamlNode("1" * 5000).value == "1" * 5000


def test_nodes_remember_their_lines() -> None:
    tree = parse("a: 1\nb:\n  c: [x,\n    y]\n")
    items = at(tree, "b", "c").content
    assert isinstance(items, tuple)
    assert (at(tree, "a").key_line, at(tree, "b").key_line) == (1, 2)
    assert [item.line for item in items] == [3, 4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2", "a.yaml, line 2: key a appears twice (first in line 1)"),
        ("1: x\n'1': y", "a.yaml, line 2: key 1 appears twice (first in line 1)"),
        (
            "columns:\n  age: {role: quasi}\n  age: {role: sensitive}",
            "a.yaml, line 3: key columns.age appears twice (first in line 2)",
        ),
        ("a: &x 1", "a.yaml, line 1: anchors and aliases (& and *) are not allowed; write it out"),
        ("a: 1\nb: *x", "a.yaml, line 2: anchors and aliases (& and *) are not allowed"),
        ("a: {<<: {b: 1}}", "a.yaml, line 1: merge keys (<<) are not allowed; write it out"),
        ("a: !!int 3", "a.yaml, line 1: tags (!) are not allowed"),
        ("\na: ! 3", "a.yaml, line 2: tags (!) are not allowed"),
        ("a: 1\n---\nb: 2", "a.yaml, line 2: a second document begins"),
        ("%YAML 1.1\n---\na: 1", "a.yaml, line 1: directives (%YAML, %TAG) are not allowed"),
        ("? [a]\n: 1", "a.yaml, line 1: a key must be a text, not a list or a mapping"),
        ("?\n: 1", "a.yaml, line 1: a key is empty"),
        ("", "a.yaml is empty"),
        ("# nothing\n", "a.yaml is empty"),
        ("a: 1\nb: [1,", "a.yaml, line 2: not valid YAML: "),
        ("a: 1\n\tb: 2", "a.yaml, line 2: not valid YAML: "),
        ("a: 1\nb: \x07", "a.yaml, line 2: the character U+0007 is not allowed in YAML"),
        ("[" * (MAX_DEPTH + 1), f"a.yaml, line 1: nested more than {MAX_DEPTH} levels deep"),
        ("[" * 100_000, f"a.yaml, line 1: nested more than {MAX_DEPTH} levels deep"),
    ],
)
def test_refuses(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse(text, "a.yaml")
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


def test_reads_a_file_with_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: 1")
    assert read(file) == parse("a: 1")


def test_refuses_a_file_that_is_not_utf8_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"a: 1\nb: \xe4\n")
    with pytest.raises(ConfigError, match=r"a\.yaml, line 2: not UTF-8; save the file as UTF-8$"):
        read(file)


def test_refuses_an_oversized_file(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(
        ConfigError, match=r"a\.yaml has more than 1000000 bytes; is it a data file\?"
    ):
        read(file)


def test_refuses_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"config file .*none\.yaml does not exist$"):
        read(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match=r"cannot be read: Is a directory$"):
        read(tmp_path)


def test_override_replaces_and_adds_and_leaves_the_tree_alone() -> None:
    tree = parse("a: {b: 1}\nc: 2")
    changed = override(override(tree, "a.b=[3, x]"), "d.e=true")
    assert str(at(changed, "a", "b")) == "[3, x]"
    assert at(changed, "d", "e").value is True
    assert tree == parse("a: {b: 1}\nc: 2")


def test_override_reaches_a_key_with_dots() -> None:
    tree = parse('columns: {"a.b=c": {role: quasi}}')
    changed = override(tree, 'columns."a.b=c".role=sensitive')
    assert at(changed, "columns", "a.b=c", "role").content == "sensitive"


@pytest.mark.parametrize("setting", ["eta", "=1", "a..b=1", ".a=1", 'a."b=1', ""])
def test_override_refuses_what_is_no_setting(setting: str) -> None:
    with pytest.raises(ConfigError) as refused:
        override(parse("a: 1"), setting)
    assert str(refused.value) == (
        f"sets=… must be key.path=value, e.g. problem.eta=0.1. Got {setting!r}"
    )


def test_override_refuses_a_path_through_a_value() -> None:
    with pytest.raises(ConfigError, match=r"sets=… a\.b\.c: a\.b is a single value, not a section"):
        override(parse("a: {b: 1}"), "a.b.c=1")


def test_override_by_another_option_is_refused_by_its_name() -> None:
    with pytest.raises(
        ConfigError, match=r"^eta=… problem\.eta: problem is a single value, not a "
    ):
        override(parse("problem: 1"), "problem.eta=1", "eta=…")


def test_override_refuses_a_value_that_is_no_yaml() -> None:
    with pytest.raises(ConfigError, match=r"^sets=… a\.b, line 1: not valid YAML: "):
        override(parse("a: {b: 1}"), "a.b=[1")
