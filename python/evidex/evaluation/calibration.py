# SPDX-License-Identifier: Apache-2.0
"""Choosing the score below which a question counts as unanswerable."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from .._checks import finite, members, refuse, text
from ..types import Floor

__all__ = ["Calibration", "calibrate_floor"]


@dataclass(frozen=True, slots=True)
class Calibration:
    """A floor and what it does to the very questions it was chosen on, so expect less on new ones.

    Attributes:
        floor: The chosen :class:`Floor`, ready for ``pack(floor=...)``.
        kept: Answerable questions at or above the floor.
        answerable: Answerable questions given.
        refused: Unanswerable questions below the floor.
        unanswerable: Unanswerable questions given.
    """

    floor: Floor
    kept: int
    answerable: int
    refused: int
    unanswerable: int

    @property
    def balanced_accuracy(self) -> float:
        """Mean of the share of answerable questions kept and of unanswerable ones refused; 0.5 is chance."""
        return (self.kept / self.answerable + self.refused / self.unanswerable) / 2


def calibrate_floor(answerable: Iterable[float], unanswerable: Iterable[float], leg: str = "dense") -> Calibration:
    """Finds the floor that maximises balanced accuracy on development questions.

    Candidates are the lowest score and the midpoints between neighbouring distinct scores; among equally good
    ones the lowest wins, which keeps more questions. Balanced accuracy weighs both kinds of question alike
    however many of each there are: Brodersen et al., "The balanced accuracy and its posterior distribution",
    ICPR 2010.

    Args:
        answerable: The leg's best score of each question that has an answer.
        unanswerable: The leg's best score of each question that has none. Leave out questions for which the
            leg found nothing: they abstain without a floor.
        leg: Name of the leg the scores come from.

    Returns:
        The floor with its counts.

    Raises:
        InvalidInput: For scores that are not finite numbers, and when either side is empty.
    """
    kept_side = _scores(answerable, "answerable")
    refused_side = _scores(unanswerable, "unanswerable")
    named = text(leg, "leg")

    best: tuple[int, float, int, int] | None = None
    for threshold in _candidates(kept_side, refused_side):
        kept = len(kept_side) - bisect_left(kept_side, threshold)
        refused = bisect_left(refused_side, threshold)
        # Balanced accuracy over the common denominator: whole numbers, so that equal really is equal.
        quality = kept * len(refused_side) + refused * len(kept_side)
        if best is None or quality > best[0]:
            best = (quality, threshold, kept, refused)
    assert best is not None  # both sides are non-empty
    _, threshold, kept, refused = best
    return Calibration(Floor(named, threshold), kept, len(kept_side), refused, len(refused_side))


def _scores(values: Iterable[float], name: str) -> list[float]:
    scores = sorted(finite(value, f"{name}[{place}]") for place, value in enumerate(members(values, name)))
    if not scores:
        refuse(name, scores, "at least one score", "collect development questions of both kinds")
    return scores


def _candidates(*sides: list[float]) -> list[float]:
    distinct = sorted({score for side in sides for score in side})
    thresholds = distinct[:1]
    for low, high in pairwise(distinct):
        middle = low / 2 + high / 2  # halved first: the sum of two huge scores may overflow
        thresholds.append(middle if low < middle < high else high)
    return thresholds
