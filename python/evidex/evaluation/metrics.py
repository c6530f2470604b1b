# SPDX-License-Identifier: Apache-2.0
"""Rank metrics of one question, and their means that say over how many questions they were taken."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from .._checks import IdT, ids, members, refuse, whole

__all__ = ["MeanMetrics", "Metrics", "mean_metrics", "metrics"]


@dataclass(frozen=True, slots=True)
class Metrics:
    """How well the first k distinct ids of one ranking cover the gold ids of one question.

    ``None`` means "not defined": without gold ids there is nothing to recall.

    Attributes:
        any_hit: 1.0 when at least one gold id is in the first k, else 0.0.
        recall: Share of the gold ids that are in the first k. Not the same as ``any_hit``.
        precision: Gold ids in the first k, divided by k, also when fewer than k came back.
        reciprocal_rank: 1 / rank of the first gold id within the first k, else 0.0.
        ndcg: Binary nDCG at k; exactly 1.0 for a perfect ranking.
        found: Number of gold ids in the first k.
    """

    any_hit: float | None
    recall: float | None
    precision: float
    reciprocal_rank: float | None
    ndcg: float | None
    found: int


@dataclass(frozen=True, slots=True)
class MeanMetrics:
    """Means over the answerable questions, the denominator included.

    Attributes:
        questions: All questions given.
        answerable: Those with at least one gold id: the denominator of every mean here.
        any_hit: Mean, or ``None`` when no question is answerable; the same holds for the others.
        recall: Mean recall.
        precision: Mean precision.
        reciprocal_rank: Mean reciprocal rank.
        ndcg: Mean nDCG.
    """

    questions: int
    answerable: int
    any_hit: float | None
    recall: float | None
    precision: float | None
    reciprocal_rank: float | None
    ndcg: float | None


def metrics(ranked_ids: Iterable[IdT], gold: Iterable[IdT], k: int = 10) -> Metrics:
    """Scores one ranking against the ids known to answer the question.

    Duplicates in the ranking are removed first (the best rank stays, later ranks close up). nDCG uses the
    gain 1 for a gold id and the discount 1 / log2(rank + 1): Jarvelin and Kekalainen, "Cumulated gain-based
    evaluation of IR techniques", TOIS 2002.

    Args:
        ranked_ids: Ids, best first; str or non-negative int, the same kind as in ``gold``.
        gold: Ids that answer the question, in any order. Empty: the question has no answer.
        k: How many ranks to look at, at least 0. With 0 everything defined is 0.

    Returns:
        The metrics; without gold ids all but ``precision`` (0.0) and ``found`` (0) are ``None``.

    Raises:
        InvalidInput: For any other argument, and for rankings and gold ids of different kinds.
    """
    depth = whole(k, "k")
    ranked = ids(ranked_ids, "ranked_ids")
    wanted = frozenset(ids(gold, "gold", ordered=False))
    if not wanted:
        return Metrics(None, None, 0.0, None, None, 0)
    if ranked and type(ranked[0]) is not type(next(iter(wanted))):
        refuse("gold", sorted(wanted), f"ids of the ranking's kind, {type(ranked[0]).__name__}", "convert one side")
    hits = [rank for rank, item in enumerate(ranked[:depth], start=1) if item in wanted]
    ideal = range(1, min(depth, len(wanted)) + 1)
    return Metrics(
        any_hit=1.0 if hits else 0.0,
        recall=len(hits) / len(wanted),
        precision=len(hits) / depth if depth else 0.0,
        reciprocal_rank=1.0 / hits[0] if hits else 0.0,
        ndcg=_discounted(hits) / _discounted(ideal) if depth else 0.0,
        found=len(hits),
    )


def mean_metrics(results: Iterable[Metrics]) -> MeanMetrics:
    """Averages the metrics of many questions, leaving out those without gold ids.

    Args:
        results: One :class:`Metrics` per question, all taken at the same k.

    Returns:
        The means with ``questions`` (given) and ``answerable`` (averaged over).

    Raises:
        InvalidInput: When something other than Metrics is given.
    """
    given = members(results, "results")
    for place, one in enumerate(given):
        if not isinstance(one, Metrics):
            refuse(f"results[{place}]", one, "a Metrics", "pass what evidex.evaluation.metrics returned")
    answerable = [one for one in given if one.recall is not None]
    return MeanMetrics(
        questions=len(given),
        answerable=len(answerable),
        any_hit=_mean(one.any_hit for one in answerable),
        recall=_mean(one.recall for one in answerable),
        precision=_mean(one.precision for one in answerable),
        reciprocal_rank=_mean(one.reciprocal_rank for one in answerable),
        ndcg=_mean(one.ndcg for one in answerable),
    )


def _discounted(ranks: Iterable[int]) -> float:
    return math.fsum(1.0 / math.log2(rank + 1) for rank in ranks)


def _mean(values: Iterable[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return math.fsum(defined) / len(defined) if defined else None
