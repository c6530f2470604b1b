# SPDX-License-Identifier: Apache-2.0
"""Every script: words with marks, scripts without spaces, normal forms, and texts made to be awkward or slow."""

from __future__ import annotations

import re
import sys
import time
import unicodedata
from itertools import pairwise

import pytest

from evidex.text import Analyzer, analysis
from evidex.text import _segments as rules

PLAIN = Analyzer()


def of(text: str) -> str:
    return " ".join(term if weight == 4 else f"{term}:{weight}" for term, weight in PLAIN.terms(text))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Stra\u00dfe STRASSE", "strasse strasse"),
        ("caf\u00e9 CAFE\u0301 cafe", "caf\u00e9 caf\u00e9 cafe"),
        ("\uff21\uff22\uff0d\uff11 \ufb01x 5\u338f", "ab-1 ab:2 1:2 fix 5kg 5:2 kg:2"),
        ("\u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2", "\u03c3\u03af\u03c3\u03c5\u03c6\u03bf\u03c3"),  # final sigma
        (
            "\u043c\u043e\u0439\u041a\u043b\u0430\u0441\u0441",
            "\u043c\u043e\u0439\u043a\u043b\u0430\u0441\u0441 \u043c\u043e\u0439:2 \u043a\u043b\u0430\u0441\u0441:2",
        ),
        (
            "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e",
            "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e",
        ),
        (
            "\u05e9\u05b8\u05dc\u05d5\u05b9\u05dd, \u0645\u0631\u062d\u0628\u0627!",
            "\u05e9\u05b8\u05dc\u05d5\u05b9\u05dd \u0645\u0631\u062d\u0628\u0627",
        ),
        ("\u202b\u05e9\u05dc\u05d5\u05dd\u202c\u200f", "\u05e9\u05dc\u05d5\u05dd"),  # direction marks
        ("\u0645\u06cc\u200c\u0631\u0648\u0645 co\u00adop", "\u0645\u06cc\u0631\u0648\u0645 coop"),  # ZWNJ, soft hyphen
        ("a\u200bb \ufeffc", "a b c"),  # the zero width space separates, a byte order mark does not
        ("A\u2010B d\u2019\u00e9t\u00e9", "a-b a:2 b:2 d'\u00e9t\u00e9 d:2 \u00e9t\u00e9:2"),
        ("\u0661\u0662\u0663\u0643\u063a", "\u0661\u0662\u0663\u0643\u063a \u0661\u0662\u0663:2 \u0643\u063a:2"),
        ("\u0301x -\u0301y", "x y"),  # marks on nothing
        ("a\u0301\u0316\u0327B", "\u00e1\u0327\u0316b \u00e1\u0327\u0316:2 b:2"),
        ("\U00010400\U00010428 \U0001d400", "\U00010428\U00010428 a"),  # Deseret; a mathematical letter
        ("a\0b \U0001f600\U0001f3fd \u2602x", "a b x"),
        ("\u65e5\u672c\u8a9e", "\u65e5\u672c \u65e5:1 \u672c\u8a9e \u672c:1 \u8a9e:1"),
        ("\u6c34", "\u6c34"),
        ("iPhone\u624b\u6a5f5G", "iphone i:2 phone:2 \u624b\u6a5f \u624b:1 \u6a5f:1 5g 5:2 g:2"),
        ("\u30b3\u30fc\u30d2\u3002\u30fb\u304b\u3099", "\u30b3\u30fc \u30b3:1 \u30fc\u30d2 \u30fc:1 \u30d2:1 \u304c"),
        ("\uff76\uff9e", "\u30ac"),  # half-width
        ("\ud55c\uad6d", "\ud55c\uad6d \ud55c:1 \uad6d:1"),
        ("\u0e44\u0e17\u0e22\u0e55", "\u0e44\u0e17 \u0e44:1 \u0e17\u0e22 \u0e17:1 \u0e22:1 \u0e55"),
        ("\U00020000\U0002a6d6", "\U00020000\U0002a6d6 \U00020000:1 \U0002a6d6:1"),
    ],
)
def test_worked_by_hand(text: str, terms: str) -> None:
    """Seen red: NFC in place of NFKC, lower() in place of a fold, marks as separators, single characters left out."""
    assert of(text) == terms


def test_a_query_of_one_character_finds_it_in_a_longer_run() -> None:
    assert "\u672c" in PLAIN.counts("\u65e5\u672c\u8a9e") and "\u672c" in PLAIN.counts("\u672c")


PLANES = [*range(4), 14, 16]


@pytest.mark.parametrize("plane", PLANES)
def test_every_plane(plane: int) -> None:
    """All characters of a plane in one run, and a part of them one by one."""
    codes = [code for code in range(plane << 16, plane + 1 << 16) if not 0xD800 <= code < 0xE000]
    together = PLAIN.terms("".join(map(chr, codes)))
    apart = PLAIN.terms(" ".join(f"a{chr(code)}b" for code in codes[:: 1 if plane < 2 else 64]))
    assert all(0 < len(term.encode()) <= 255 and weight in (1, 2, 4) for term, weight in together + apart)
    assert len(rules._KINDS) <= rules._MOST_KINDS


def test_folding_twice_is_folding_once() -> None:
    """And its result is in normal form. Seen red: case folded once, without a normal form after it."""
    for code in (*range(0xD800), *range(0xE000, 0x20000)):
        char = unicodedata.normalize("NFKC", chr(code))
        folded = rules.fold(char)
        assert rules.fold(folded) == folded and unicodedata.is_normalized("NFKC", folded), hex(code)


def test_ignorable_characters_are_gone_before_the_normal_form() -> None:
    """They would join runs of marks if they came out later. Seen red: the half-width Hangul filler left in."""
    made = {
        code
        for code in (*range(0xD800), *range(0xE000, sys.maxunicode + 1))
        if rules._IGNORABLE.search(unicodedata.normalize("NFKC", chr(code))) and not rules._IGNORABLE.match(chr(code))
    }
    assert made == set()


AWKWARD = {
    "marks out of order": "\u0301\u0316",
    "half-width marks": "\u0301\uff9e",
    "Thai marks": "\u0e48\u0e38",
    "marks between ignorable characters": "\u0315\u0300" * 15 + "\u034f",
    "marks on letters": "a" + "\u0315\u0300" * 15,
    "marks after ligatures": "\ufdfa\u0301",
    "one word": "a",
    "changes of case": "aB",
    "capitals": "A",
    "digits": "1",
    "numbers": "1.",
    "compound": "a-",
    "underscores": "_",
    "word and underscores": "a____",
    "joiners": "://",
    "apostrophes": "a's'",
    "signs": "c++#",
    "segments": "a/b.c_d",
    "Han": "\u65e5",
    "spaces": " ",
    "words": "a ",
    "NUL": "\0",
    "emoji": "\U0001f469\u200d\U0001f680",
    "expanding": "\ufb03\u0390",
    "Deseret": "\U00010400\U00010428",
    "right to left": "\u05d0\u202e",
}


@pytest.mark.parametrize("name", AWKWARD)
def test_time_is_linear_in_awkward_text(name: str) -> None:
    """A hundred thousand characters; the slow way took minutes. Seen red: marks not limited, or limited too late."""
    text = (AWKWARD[name] * 100_000)[:100_000]
    start = time.process_time()
    terms = PLAIN.terms(text)
    assert time.process_time() - start < 5
    assert len(terms) <= 3 * len(text) and all(len(term.encode()) <= 255 for term, _ in terms)


@pytest.mark.long
@pytest.mark.parametrize("name", AWKWARD)
def test_a_megabyte_of_awkward_text(name: str) -> None:
    text = (AWKWARD[name] * 1_000_000)[:1_000_000]
    start = time.process_time()
    assert PLAIN.terms(text) == PLAIN.terms(text)
    assert time.process_time() - start < 60


def test_a_long_word_is_one_bounded_term() -> None:
    """Seen red: cut without a digest, so that long words became one."""
    lengths = (63, 64, 255, 256, 1_000_000)
    terms = [PLAIN.terms("x" * length) for length in lengths]
    assert [len(found) for found in terms] == [1] * 5 and len({found[0][0] for found in terms}) == 5
    assert [len(found[0][0]) for found in terms] == [63, 64, 255, 161, 161]
    assert re.fullmatch("x{128} [0-9a-f]{32}", terms[-1][0][0])
    ((cyrillic, _),) = PLAIN.terms("\u0431" * 200)
    assert len(cyrillic.encode()) <= 255 and cyrillic.startswith("\u0431" * 64 + " ")


def test_long_runs_are_data_and_long_compounds_end_after_64_words() -> None:
    """Seen red: a compound without end."""
    blob = "aB3" * 22
    assert PLAIN.terms(blob) == [(blob.lower(), 4)]
    wholes = [term for term, weight in PLAIN.terms("-".join("a" * 130)) if weight == 4]
    assert [whole.count("a") for whole in wholes] == [64, 64, 2]


def test_what_is_remembered_is_bounded() -> None:
    """Seen red: no bound."""
    analyzer = Analyzer()
    for block, following in pairwise(range(0, 120_000, 20_000)):
        analyzer.terms(" ".join(f"w{number}" for number in range(block, following)))
    assert 0 < len(analyzer._known) <= analysis._MOST_REMEMBERED < 100_000
    analyzer.terms("y" * 65)
    assert "y" * 65 not in analyzer._known
