# SPDX-License-Identifier: Apache-2.0
"""The ways in which a question finds chunks, and one ranking of what they found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

from .. import _checks
from ..fusion import rrf
from ..hits import Hits

__all__ = ["LEGS", "Found", "depth_of", "legs_of", "ranked"]

LEGS = ("dense", "sparse")
"""By vectors, by words."""

_MODES: Mapping[str, tuple[str, ...]] = {"dense": LEGS[:1], "sparse": LEGS[1:], "hybrid": LEGS}
_DEPTH = 100


@dataclass(frozen=True, slots=True)
class Found:
    """A row that was found: its score in the ranking, and what each leg that has it says of it."""

    row: int
    score: float
    legs: dict[str, float]
    ranks: dict[str, int]


def legs_of(mode: object) -> tuple[str, ...]:
    """The legs of a mode.

    Raises:
        InvalidInput: For an unknown one.
    """
    if not isinstance(mode, str) or mode not in _MODES:
        _checks.refuse("mode", mode, f"one of {', '.join(_MODES)}", "choose one of these")
    return _MODES[mode]


def depth_of(legs: tuple[str, ...], k: int) -> int:
    """How many hits each leg is asked for: more than k where they are fused, and never fewer for anybody."""
    return k if len(legs) == 1 else max(_DEPTH, 2 * k)


def ranked(found: Iterable[tuple[str, Hits]], k: int) -> list[Found]:
    """The k best rows of the legs' hits: as they come from one leg, by reciprocal rank from several."""
    ids: list[list[int]] = []
    scores: list[dict[int, float]] = []
    names: list[str] = []
    for name, hits in found:
        rows, its_scores = hits[0]
        names.append(name)
        ids.append(rows.tolist())
        scores.append(dict(zip(ids[-1], its_scores.tolist(), strict=True)))
    merged: Iterable[tuple[int, float, tuple[int | None, ...]]]
    if len(ids) == 1:
        merged = [(row, scores[0][row], (rank,)) for rank, row in enumerate(ids[0], start=1)]
    else:
        fused = rrf(ids)
        merged = zip(fused.ids, fused.scores, fused.ranks, strict=True)
    return [
        Found(
            row,
            score,
            {name: scores[leg][row] for leg, name in enumerate(names) if ranks[leg] is not None},
            {name: rank for name, rank in zip(names, ranks, strict=True) if rank is not None},
        )
        for row, score, ranks in islice(merged, k)
    ]
