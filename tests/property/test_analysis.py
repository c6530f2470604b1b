# SPDX-License-Identifier: Apache-2.0
"""Properties of terms: against the slow reference, and what holds for any text."""

from __future__ import annotations

import json
import os
import string
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import terms_reference
from evidex.text import Analyzer

PLAIN, WORDS = Analyzer(), Analyzer(split_identifiers=False)
# Few letters and many joiners: every rule is met often.
ASCII = st.text("abABsS019 -_.,'/\\:@+#=", max_size=60)
NAMES = st.lists(st.sampled_from(["get", "User", "HTTP", "IDs", "v", "1", "23", "x", "++", "'s"]), max_size=8)
JOINED = st.builds(lambda parts, joiner: joiner.join(parts), NAMES, st.sampled_from(["", *"-_./:,'", "::", "://"]))
ANY = st.text(max_size=60) | st.text("a\u0301\u0316\u034f\uff9e\u00df\u65e5\u0e48\u200b B-'\u2019s\u00c9", max_size=80)
FOLDER = Path(os.environ.get("EVIDEX_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))


@example("1.2 1.2.3 1,2,3 v1.2 IDs HTTPServer a___b a____b x/.y x/../z C++17 a#b C#'s O'Neil's 5'6")
@given(ASCII | JOINED | st.text(string.printable, max_size=60))
def test_ascii_text_against_the_reference(text: str) -> None:
    """Seen red: two points enough to take a number apart, the plural of capitals split, four underscores joining."""
    assert PLAIN.terms(text) == terms_reference.terms(text)


@example("C++")
@example("_'s")
@given(st.text(string.printable, max_size=12) | st.text("aBs+#'._-(", max_size=6))
def test_the_short_cut_for_plain_words_changes_nothing(run: str) -> None:
    """Seen red: ``+`` among the punctuation that the short cut takes off."""
    for analyzer in (PLAIN, WORDS):
        assert analyzer._known.plain(run) in (None, analyzer._known.analysed(run))


@example("5", "kg")
@example("a-", "b")
@example("e", "\u0301")
@given(ANY, ANY)
def test_a_space_between_texts_puts_their_terms_side_by_side(first: str, second: str) -> None:
    """Seen red: a number joined to the unit after the space."""
    for analyzer in (PLAIN, WORDS):
        assert analyzer.terms(f"{first} {second}") == analyzer.terms(first) + analyzer.terms(second)


@given(ANY | JOINED)
def test_counts_are_sums_and_a_fresh_analyser_agrees(text: str) -> None:
    sums: Counter[str] = Counter()
    for term, weight in PLAIN.terms(text):
        sums[term] += weight
    assert PLAIN.counts(text) == dict(sums)
    assert Analyzer.from_identity(PLAIN.identity).terms(text) == PLAIN.terms(text) == PLAIN.terms(text)


@given(ANY | JOINED)
def test_wholes_come_before_their_lighter_parts(text: str) -> None:
    """Seen red: parts first."""
    weights = [weight for _, weight in PLAIN.terms(text)]
    assert set(weights) <= {1, 2, 4} and weights[:1] in ([], [4])
    assert all(weight == 4 for _, weight in WORDS.terms(text))


@given(ANY)
def test_every_normal_form_of_a_text_has_the_same_terms(text: str) -> None:
    """Seen red: no normal form."""
    for form in ("NFC", "NFD"):
        assert PLAIN.terms(unicodedata.normalize(form, text)) == PLAIN.terms(text)


@given(ASCII | JOINED)
def test_wholes_are_the_same_in_any_case(text: str) -> None:  # case F10
    """Seen red: the whole of a compound not folded."""

    def wholes(text: str) -> list[str]:
        return [term for term, weight in PLAIN.terms(text) if weight == 4]

    assert wholes(text) == wholes(text.upper()) == wholes(text.lower()) == wholes(text.swapcase())


@pytest.mark.parametrize("name", ["awsdocs-small", "scifact"])
def test_real_text_against_the_reference(name: str) -> None:
    """Technical documentation and abstracts; where a line has other characters the reference does not know it."""
    path = FOLDER / name / "corpus.jsonl"
    if not path.is_file():
        pytest.skip(f"{path} is absent: set EVIDEX_DATA to the folder that holds {name}")
    with path.open(encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for _, line in zip(range(100), lines, strict=False)]
    plain = [line for text in texts for line in text.splitlines() if line.isascii()]
    assert len(plain) > 50
    for line in plain:
        assert PLAIN.terms(line) == terms_reference.terms(line)
