"""Strict YAML: whatever is written is read back, here and by other readers."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.strict_yaml import YamlNode, dump, parse, path_text, quoted
from moanon.errors import ConfigError

#: Whatever can stand in a UTF-8 file.
texts = st.text(st.characters(exclude_categories=["Cs"]))
#: What one reader of YAML or another takes for something else than a text.
odd = st.sampled_from(
    ["", "No", "y", "null", "~", "1e3", "01", "0o7", "0x1F", "1_000", "12:30", ".inf", "<<", "=",
     "2020-01-01", "-", "?", "a: b", "a #b", "[", "a,b", "&a", "*a", "!a", "%a", "\x85", "\u2028"]
)  # fmt: skip
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
singles = texts | odd | st.from_regex("[0-9.eE+-]{1,6}", fullmatch=True) | numbers
singles |= st.booleans() | st.none()


def written(values: dict[str, object]) -> YamlNode:
    node = parse(dump(values), "written", ConfigError, {}, 9)
    assert node is not None
    return node


def value(node: YamlNode) -> object:
    if isinstance(node.content, dict):
        return {key: value(below) for key, below in node.content.items()}
    if isinstance(node.content, tuple):
        return [value(item) for item in node.content]
    return node.value


@given(
    st.dictionaries(
        texts | odd,
        singles | st.lists(singles) | st.dictionaries(texts, singles | st.lists(singles)),
    )
)
def test_what_is_written_is_read_back(values: dict[str, object]) -> None:
    found = value(written(values))
    assert found == values
    assert repr(found) == repr(values)  # 1, 1.0 and True are not the same


@given(texts | odd)
def test_other_readers_see_the_same_text(text: str) -> None:
    assert yaml.safe_load(dump({text: [text]})) == {text: [text]}
    assert yaml.safe_load(quoted(text)) == text


@pytest.mark.parametrize("text", ["Some-college", "Outlying-US(Guam-USVI-etc)", "a.b/c d"])
def test_harmless_texts_stay_without_quotes(text: str) -> None:
    assert dump({text: [text]}) == f"{text}: [{text}]\n"


def test_a_key_too_long_for_its_line_is_read_back() -> None:
    values = {"k" * 2000: {"x" * 2000: ["y" * 2000]}}
    assert value(written(values)) == values


def test_a_list_that_occurs_twice_is_written_twice() -> None:
    both = ["a"]
    assert dump({"x": both, "y": both}) == "x: [a]\ny: [a]\n"


def test_a_path_quotes_odd_parts() -> None:
    assert path_text(["columns", "marital-status", "a.b", "x\n"]) == (
        'columns.marital-status."a.b"."x\\n"'
    )
