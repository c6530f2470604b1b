# SPDX-License-Identifier: Apache-2.0
"""Fusing ranked lists into one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic

from ._checks import IdT, finite, ids, members, refuse

__all__ = ["Fused", "rrf"]


@dataclass(frozen=True, slots=True)
class Fused(Generic[IdT]):
    """One ranking made from several, best first. Iterating gives ``(id, score)`` pairs.

    Attributes:
        ids: Distinct ids by score descending, then id ascending.
        scores: The fused score of each id.
        ranks: For each id its rank (from 1) in every input list, ``None`` where the list lacks it.
    """

    ids: tuple[IdT, ...]
    scores: tuple[float, ...]
    ranks: tuple[tuple[int | None, ...], ...]

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[tuple[IdT, float]]:
        return zip(self.ids, self.scores, strict=True)


def rrf(lists: Iterable[Iterable[IdT]], constant: float = 60, weights: Iterable[float] | None = None) -> Fused[IdT]:
    """Reciprocal rank fusion: an id scores the sum of ``weight / (constant + rank)`` over the lists that hold it.

    Ranks count from 1 after duplicates inside a list were removed (the best rank stays, later ranks close up),
    so a source that fills one list with its copies gains nothing. Each sum is correctly rounded: reordering
    the lists, with their weights, changes no bit of any score.

    Source: Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and individual
    Rank Learning Methods", SIGIR 2009.

    Args:
        lists: Ranked ids, best first; str or non-negative int, one kind per call.
        constant: Damping of the top ranks, above 0. Larger means ranks differ less.
        weights: One finite number of at least 0 per list; ``None`` gives every list 1. A list of weight 0
            adds neither score nor ids.

    Returns:
        Every id of the lists with a positive weight, ties by ascending id.

    Raises:
        InvalidInput: For any other argument.
    """
    damping = finite(constant, "constant")
    if damping <= 0:
        refuse("constant", constant, "a number above 0", "60 is the usual choice")
    ranked = [ids(one, f"lists[{place}]") for place, one in enumerate(members(lists, "lists"))]
    ids((one[0] for one in ranked if one), "lists")  # one kind across the lists, not only inside each
    shares = _weights(weights, len(ranked))

    parts: dict[IdT, list[float]] = {}
    for one, share in zip(ranked, shares, strict=True):
        if share > 0:
            for rank, item in enumerate(one, start=1):
                parts.setdefault(item, []).append(share / (damping + rank))
    scores = {item: math.fsum(terms) for item, terms in parts.items()}
    order = tuple(sorted(scores, key=lambda item: (-scores[item], item)))
    places = [{item: rank for rank, item in enumerate(one, start=1)} for one in ranked]
    return Fused(
        ids=order,
        scores=tuple(scores[item] for item in order),
        ranks=tuple(tuple(place.get(item) for place in places) for item in order),
    )


def _weights(weights: Iterable[float] | None, count: int) -> list[float]:
    if weights is None:
        return [1.0] * count
    given = members(weights, "weights")
    if len(given) != count:
        refuse("weights", given, f"{count} weights, one per list, not {len(given)}", "give each list its own")
    shares = [finite(share, f"weights[{place}]") for place, share in enumerate(given)]
    if any(share < 0 for share in shares) or sum(shares) == math.inf:
        refuse("weights", given, "weights of at least 0 with a finite sum", "use 0 to leave a list out")
    return shares
