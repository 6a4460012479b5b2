"""Texts that look the same have one key, and values that do are found."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moanon.data.cell_reading import alike_note, alike_values, bare, folded

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
WORDS = st.lists(st.text("abcXYZ019", min_size=1, max_size=4), min_size=1, max_size=4)
WHITE = " \t\n\r\x85\xa0\u1680\u2002\u2009\u200a\u2028\u202f\u205f\u2800\u3000"
UNSEEN = "\x00\x7f\xad\u034f\u061c\u115f\u180e\u200b\u200c\u200d\u200e\u2060\ufe0f\ufeff\U000e0100"
#: Format characters that can be seen.
MARKS = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"


@given(TEXT)
def test_a_key_is_its_own_key(text: str) -> None:
    assert folded(folded(text)) == folded(text)


@given(TEXT, TEXT)
def test_texts_that_look_the_same_do_so_within_others(one: str, other: str) -> None:
    assert folded(f"{folded(one)} x {folded(other)}") == folded(f"{one} x {other}")


@given(WORDS, st.data())
def test_white_space_case_and_what_is_unseen_do_not_count(
    words: list[str], data: st.DataObject
) -> None:
    def gap(at_least: int) -> str:
        return data.draw(st.text(WHITE, min_size=at_least, max_size=3))

    def shown(word: str) -> str:
        turned = (c.swapcase() if data.draw(st.booleans()) else c for c in word)
        return data.draw(st.text(UNSEEN, max_size=2)).join(turned)

    written = gap(0) + gap(1).join(map(shown, words)) + gap(0)
    assert folded(written) == folded(" ".join(words)) == " ".join(words).lower()


@given(WORDS, WORDS)
def test_different_words_stay_different(one: list[str], other: list[str]) -> None:
    assert (folded(" ".join(one)) == folded(" ".join(other))) == (
        " ".join(one).lower() == " ".join(other).lower()
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("HIV", "HIV "),
        ("HIV", "HIV\N{NO-BREAK SPACE}"),
        ("HIV", "H\N{ZERO WIDTH SPACE}IV"),
        ("HIV", "H\N{SOFT HYPHEN}IV"),
        ("HIV", "\N{ZERO WIDTH NO-BREAK SPACE}HIV"),
        ("HIV", "hiv"),
        ("HIV", "ＨＩＶ"),
        ("é", "e\N{COMBINING ACUTE ACCENT}"),
        ("é", "e\N{COMBINING GRAPHEME JOINER}\N{COMBINING ACUTE ACCENT}"),
        ("Straße", "STRASSE"),
        ("☎", "☎\N{VARIATION SELECTOR-16}"),
        ("ﬁ", "FI"),
        ("", "\N{ZERO WIDTH SPACE}\N{IDEOGRAPHIC SPACE}"),
    ],
)
def test_what_looks_the_same(one: str, other: str) -> None:
    assert folded(one) == folded(other)


def test_all_controls_and_format_characters_but_marks_are_unseen() -> None:
    signs = map(chr, range(sys.maxunicode + 1))
    unseen = [c for c in signs if unicodedata.category(c) in ("Cc", "Cf") and not c.isspace()]
    assert {c for c in unseen if folded(f"a{c}b") != "ab"} == set(MARKS)


def test_figures_lose_what_is_around_them_and_nothing_else() -> None:
    assert bare("\N{ZERO WIDTH SPACE}\xa0 1\xa0000 KG²\n\u2800") == "1\xa0000 KG²"


@given(st.lists(TEXT))
def test_groups_hold_the_values_that_share_a_key(values: list[str]) -> None:
    groups = alike_values(values)
    assert all(len(group) == len(set(group)) > 1 for group in groups)
    assert all(len({folded(value) for value in group}) == 1 for group in groups)
    alone = set(values) - {value for group in groups for value in group}
    assert len({folded(value) for value in values}) == len(alone) + len(groups)


def test_a_note_counts_values_and_names_none() -> None:
    assert alike_note("ill", ["HIV", "HIV ", "flu", "hiv", "gout", "Flu"]) == (
        "column 'ill': 5 of its 6 values differ from another one only in white space, invisible "
        "characters, Unicode form or case: whoever looks at them sees 3 values"
    )
    assert alike_note("ill", ["a", "a"]) is None
    assert alike_note("ill", []) is None
