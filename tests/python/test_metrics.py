# SPDX-License-Identifier: Apache-2.0
"""Rank metrics: the worked numbers, edge cases and bounds."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidex.errors import InvalidInput
from evidex.evaluation import MeanMetrics, Metrics, mean_metrics, metrics


def test_worked_example() -> None:  # case H2
    result = metrics(["x", "a"], {"a", "b"}, k=2)
    assert (result.any_hit, result.recall, result.precision, result.reciprocal_rank) == (1.0, 0.5, 0.5, 0.5)
    assert result.ndcg == pytest.approx(0.3869, abs=5e-5)
    assert result.found == 1


def test_duplicates_are_removed_first() -> None:  # case H2
    """Guards section 8 (duplicates first); cutting at k before removing them turned this red."""
    result = metrics(["a", "a", "b"], ["b", "a"], k=2)
    assert (result.recall, result.precision, result.reciprocal_rank, result.ndcg) == (1.0, 1.0, 1.0, 1.0)


def test_nothing_retrieved() -> None:  # case H2, case F13
    assert metrics([], {"a"}, k=2) == Metrics(0.0, 0.0, 0.0, 0.0, 0.0, 0)


def test_no_gold_ids() -> None:  # case H2, case F13
    assert metrics(["x"], [], k=2) == Metrics(None, None, 0.0, None, None, 0)


def test_k_zero() -> None:  # case H2
    assert metrics(["a"], {"a"}, k=0) == Metrics(0.0, 0.0, 0.0, 0.0, 0.0, 0)


@pytest.mark.parametrize("k", [-1, True, 2.0, "2", None])
def test_k_refused(k: Any) -> None:  # case H2
    with pytest.raises(InvalidInput, match="k:"):
        metrics(["a"], {"a"}, k=k)


def test_precision_divides_by_k_even_when_fewer_came_back() -> None:
    assert metrics([1], [1], k=4).precision == 0.25


@pytest.mark.parametrize("gold", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("k", [1, 3, 10, 100])
def test_a_perfect_ranking_is_exactly_one(gold: int, k: int) -> None:  # case F13
    """Guards "exactly 1.0"; adding an epsilon to the nDCG denominator turned this red."""
    assert metrics(range(gold), range(gold), k=k).ndcg == 1.0


def test_k_acts() -> None:
    assert metrics(["x", "a"], {"a"}, k=1).recall == 0.0
    assert metrics(["x", "a"], {"a"}).recall == 1.0


def test_one_of_two_passages_is_a_hit_and_half_the_recall() -> None:  # case H3
    """Guards "hit rate is not recall"; returning any_hit as recall turned this red."""
    result = metrics(["a", "x"], {"a", "b"}, k=2)
    assert (result.any_hit, result.recall) == (1.0, 0.5)


def test_hit_rate_over_many_questions() -> None:  # case H3
    hit = metrics(["a"], {"a"}, k=20)
    miss = metrics(["x"], {"a"}, k=20)
    assert mean_metrics([hit] * 200 + [miss] * 50).any_hit == 0.8


def test_means_leave_out_unanswerable_questions() -> None:  # case H2
    """Guards "the denominator is printed"; dividing by all questions turned this red."""
    answered = metrics(["x", "a"], {"a", "b"}, k=2)
    means = mean_metrics([answered, metrics(["x"], [], k=2), metrics(["a", "b"], ["a", "b"], k=2)])
    assert (means.questions, means.answerable) == (3, 2)
    assert (means.any_hit, means.recall, means.precision, means.reciprocal_rank) == (1.0, 0.75, 0.75, 0.75)
    assert answered.ndcg is not None and means.ndcg == (answered.ndcg + 1.0) / 2


def test_means_of_nothing() -> None:
    assert mean_metrics([]) == MeanMetrics(0, 0, None, None, None, None, None)
    assert mean_metrics([metrics(["a"], [])]) == MeanMetrics(1, 0, None, None, None, None, None)


@pytest.mark.parametrize("results", [None, [None], [0.5], metrics(["a"], ["a"])])
def test_means_refuse_other_things(results: Any) -> None:
    with pytest.raises(InvalidInput, match="results"):
        mean_metrics(results)


@pytest.mark.parametrize(
    ("ranked", "gold"), [("ab", ["a"]), (["a"], "ab"), ([1], ["1"]), (["1"], [1]), ([-1], [1]), ({"a"}, ["a"])]
)
def test_ids_refused(ranked: Any, gold: Any) -> None:
    with pytest.raises(InvalidInput):
        metrics(ranked, gold)


@given(
    ranked=st.lists(st.integers(0, 20), max_size=20),
    gold=st.sets(st.integers(0, 20), min_size=1, max_size=8),
    k=st.integers(1, 25),
)
def test_against_the_definitions(ranked: list[int], gold: set[int], k: int) -> None:
    top: list[int] = []
    for item in ranked:
        if item not in top and len(top) < k:
            top.append(item)
    gains = [item in gold for item in top]
    ideal = sum(1 / math.log2(place + 2) for place in range(min(k, len(gold))))
    result = metrics(ranked, gold, k=k)
    assert result.found == sum(gains)
    assert result.any_hit == float(any(gains))
    assert result.recall == sum(gains) / len(gold)
    assert result.precision == sum(gains) / k
    assert result.reciprocal_rank == next((1 / (place + 1) for place, gain in enumerate(gains) if gain), 0.0)
    assert result.ndcg is not None and 0.0 <= result.ndcg <= 1.0
    assert result.ndcg == pytest.approx(sum(g / math.log2(p + 2) for p, g in enumerate(gains)) / ideal)
