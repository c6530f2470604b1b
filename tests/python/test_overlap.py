# SPDX-License-Identifier: Apache-2.0
"""Token overlap and Jaccard: the worked numbers, edge cases and bounds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidex.errors import InvalidInput
from evidex.evaluation import jaccard, token_overlap
from evidex.text import Analyzer

BOTH = (token_overlap, jaccard)
TERMS = st.lists(st.sampled_from("abcdef"))


def test_worked_by_hand() -> None:
    """Seen red: repeats counted; the passage as the denominator."""
    assert token_overlap(["a", "b", "b", "c"], ["b", "c", "d", "e", "e"]) == 2 / 3
    assert jaccard(["a", "b", "b", "c"], ["b", "c", "d", "e", "e"]) == 2 / 5


def test_terms_of_an_analyser() -> None:
    counts = Analyzer(stop_words=["the"]).counts
    question, passage = counts("the user_id"), counts("Where the user is")
    assert token_overlap(question, passage) == 1 / 3  # user_id, user, id
    assert jaccard(question, passage) == 1 / 5  # and where, is


def test_nothing_in_common() -> None:  # case F13
    """Seen red: a question without terms overlapping everything."""
    for measure in BOTH:
        assert measure([], []) == measure(["a"], []) == measure([], ["a"]) == measure(["a"], ["b"]) == 0.0
        assert measure(["a"], ["a", "a"]) == 1.0


@pytest.mark.parametrize("bad", ["abc", b"abc", None, 3, [1], ["a", None]])
@pytest.mark.parametrize("measure", BOTH)
def test_refused(measure: Any, bad: Any) -> None:
    for arguments in ((bad, ["a"]), (["a"], bad)):
        with pytest.raises(InvalidInput):
            measure(*arguments)


@given(first=TERMS, second=TERMS)
def test_against_the_definitions(first: list[str], second: list[str]) -> None:
    shared = sum(term in second for term in set(first))
    either = len(set(first + second))
    assert token_overlap(first, second) == (float(Fraction(shared, len(set(first)))) if first else 0.0)
    assert jaccard(first, second) == jaccard(second, first) == (float(Fraction(shared, either)) if either else 0.0)
