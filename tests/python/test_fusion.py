# SPDX-License-Identifier: Apache-2.0
"""Reciprocal rank fusion: the worked numbers, and a slow exact reference."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidex.errors import InvalidInput
from evidex.fusion import Fused, rrf

RANKINGS = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=12), max_size=5)


def reference(lists: list[list[str]], weights: list[int]) -> dict[str, Fraction]:
    """The definition in exact arithmetic, one rank at a time."""
    scores: dict[str, Fraction] = {}
    for one, weight in zip(lists, weights, strict=True):
        seen: list[str] = []
        for item in one:
            if item not in seen:
                seen.append(item)
                if weight:
                    scores[item] = scores.get(item, Fraction(0)) + Fraction(weight, 60 + len(seen))
    return scores


def test_two_lists_sharing_one_id() -> None:  # case H1
    fused = rrf([["a", "b"], ["b", "c"]])
    assert fused.ids == ("b", "a", "c")
    assert fused.scores == (1 / 62 + 1 / 61, 1 / 61, 1 / 62)
    assert fused.ranks == ((2, 1), (1, None), (None, 2))


def test_duplicates_inside_a_list_gain_nothing() -> None:  # case H1, case F1
    """Guards section 8 (duplicates removed per list first); fusing the raw lists turned this red."""
    assert rrf([["a", "a", "b"]]) == rrf([["a", "b"]])
    assert list(rrf([["a", "a"], ["a"]])) == [("a", 2 / 61)]
    fused = rrf([["d1", "d1", "d1", "d2"], ["d2", "d3"]])
    assert list(fused)[:2] == [("d2", 1 / 62 + 1 / 61), ("d1", 1 / 61)]
    assert round(fused.scores[0], 5) == 0.03252 and round(fused.scores[1], 5) == 0.01639


def test_agreement_and_ties() -> None:  # case H1
    """Guards P4 (ties by ascending id); ordering by score alone turned the second line red."""
    assert list(rrf([["a", "b"], ["a", "b"]])) == [("a", 2 / 61), ("b", 2 / 62)]
    assert list(rrf([["b"], ["a"]])) == [("a", 1 / 61), ("b", 1 / 61)]
    assert rrf([[10], [9]]).ids == (9, 10)  # by number, not by its digits


@pytest.mark.parametrize("lists", [[], [[], []]])
def test_nothing_gives_nothing(lists: list[list[str]]) -> None:  # case H1
    fused = rrf(lists)
    assert (fused.ids, fused.scores, fused.ranks, len(fused)) == ((), (), (), 0)


def test_constant() -> None:  # case H1
    assert list(rrf([["a"]], constant=1)) == [("a", 1 / 2)]
    far = [["x", *map(str, range(18)), "y"]]
    assert rrf([["p"], [*map(str, range(19)), "p"]]).scores[0] == pytest.approx(0.02889, abs=5e-6)
    both_third = rrf([["1", "2", "q"], ["3", "4", "q"]])
    assert both_third.ids[0] == "q" and both_third.scores[0] == pytest.approx(0.03175, abs=5e-6)
    assert (
        rrf(far, constant=1).scores[0] / rrf(far, constant=1).scores[-1] > 10 > rrf(far).scores[0] / rrf(far).scores[-1]
    )


@pytest.mark.parametrize("constant", [0, -1, math.nan, math.inf, True, "60", None])
def test_constants_refused(constant: Any) -> None:  # case H1
    with pytest.raises(InvalidInput, match="constant"):
        rrf([["a"]], constant=constant)


def test_weights_act() -> None:  # case F3
    """Guards P12 (every argument acts); ignoring ``weights`` turned this red."""
    assert rrf([["a", "b"], ["b", "c"]], weights=[1, 0]).ids == ("a", "b")
    assert rrf([["a", "b"], ["b", "c"]], weights=[1, 0]).ranks == ((1, None), (2, 1))
    assert rrf([["a"], ["b"]], weights=[4, 1]) != rrf([["a"], ["b"]], weights=[1, 4])
    assert list(rrf([["a"], ["b"]], weights=[1, 4])) == [("b", 4 / 61), ("a", 1 / 61)]


@pytest.mark.parametrize(
    "weights", [[-1, 1], [math.nan, 1], [math.inf, 1], [True, 1], [1], [1, 1, 1], "11", 1, [1e308, 1e308]]
)
def test_weights_refused(weights: Any) -> None:  # case F3
    with pytest.raises(InvalidInput, match="weights"):
        rrf([["a"], ["b"]], weights=weights)


@pytest.mark.parametrize("lists", ["ab", ["ab", "cd"], [["a"], [1]], [["a", 1]], [[-1]], [[True]], [{"a", "b"}], None])
def test_lists_refused(lists: Any) -> None:
    with pytest.raises(InvalidInput, match="lists"):
        rrf(lists)


@given(lists=RANKINGS, data=st.data())
def test_matches_the_exact_reference(lists: list[list[str]], data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.integers(0, 5), min_size=len(lists), max_size=len(lists)))
    fused, exact = rrf(lists, weights=weights), reference(lists, weights)
    assert set(fused.ids) == set(exact)
    for item, score in fused:
        assert score == pytest.approx(float(exact[item]), rel=1e-15)
    assert list(fused) == sorted(fused, key=lambda pair: (-pair[1], pair[0]))


@given(lists=RANKINGS, data=st.data())
def test_order_of_the_lists_changes_no_bit(lists: list[list[str]], data: st.DataObject) -> None:
    """Guards P5 (reproducible bits); ``sum`` in place of ``math.fsum`` turned this red (before Python 3.12)."""
    shuffled = data.draw(st.permutations(lists))
    assert list(rrf(lists)) == list(rrf(shuffled))


def test_order_of_the_lists_where_plain_sums_differ() -> None:
    lists = [[*map(str, range(place)), "x"] for place in (0, 1, 6)]
    scores = {dict(rrf(list(order)))["x"] for order in permutations(lists)}
    assert len({one + two + three for one, two, three in permutations((1 / 61, 1 / 62, 1 / 67))}) == 2, (
        "choose other ranks"
    )
    assert len(scores) == 1


def test_fused_is_frozen() -> None:
    fused: Fused[str] = rrf([["a"]])
    with pytest.raises(AttributeError):
        fused.ids = ()  # type: ignore[misc]
