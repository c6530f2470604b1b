# SPDX-License-Identifier: Apache-2.0
"""Calibrating an evidence floor on development questions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidex.errors import InvalidInput
from evidex.evaluation import calibrate_floor
from evidex.types import Floor

SCORES = st.lists(st.floats(-1e300, 1e300) | st.sampled_from([0.0, 0.25, 0.5, 5e-324]), min_size=1, max_size=12)


def test_separable_scores() -> None:  # case H16
    found = calibrate_floor([0.9, 0.8, 0.7], [0.1, 0.3])
    assert found.floor == Floor("dense", 0.5)
    assert (found.kept, found.answerable, found.refused, found.unanswerable) == (3, 3, 2, 2)
    assert found.balanced_accuracy == 1.0


def test_overlapping_scores_are_counted_honestly() -> None:
    found = calibrate_floor([0.2, 0.6, 0.8], [0.1, 0.4])
    assert found.floor.min_score == pytest.approx(0.5)
    assert (found.kept, found.refused) == (2, 2)
    assert found.balanced_accuracy == pytest.approx((2 / 3 + 1) / 2)


def test_the_rarer_kind_weighs_as_much() -> None:
    """Guards "balanced"; maximising the plain number of right decisions turned this red."""
    found = calibrate_floor([0.2, 0.3, 0.4, 0.9, 0.9], [0.5])
    assert (found.kept, found.refused) == (2, 1)


def test_ties_keep_more() -> None:
    """Guards "the lowest threshold"; ``>=`` in the comparison turned this red."""
    found = calibrate_floor([0.5], [0.5])
    assert (found.floor.min_score, found.kept, found.refused) == (0.5, 1, 0)
    assert calibrate_floor([1.0, 3.0], [2.0, 4.0]).floor.min_score == 1.0


def test_leg_acts() -> None:
    assert calibrate_floor([1], [0], leg="sparse").floor.leg == "sparse"


def test_neighbouring_floats_still_separate() -> None:
    low, high = 1.0, math.nextafter(1.0, 2.0)
    found = calibrate_floor([high], [low])
    assert (found.floor.min_score, found.kept, found.refused) == (high, 1, 1)
    found = calibrate_floor([1.7e308], [1.6e308])
    assert math.isfinite(found.floor.min_score) and (found.kept, found.refused) == (1, 1)


def test_numpy_scores() -> None:
    found = calibrate_floor(np.array([0.9], dtype=np.float32), np.array([0.1]))
    assert type(found.floor.min_score) is float


@pytest.mark.parametrize("bad", [[], [math.nan], [math.inf], [True], ["1"], 1.0, None, "12"])
def test_scores_refused(bad: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^answerable"):
        calibrate_floor(bad, [0.1])
    with pytest.raises(InvalidInput, match=r"^unanswerable"):
        calibrate_floor([0.1], bad)


def test_leg_refused() -> None:
    with pytest.raises(InvalidInput, match="leg"):
        calibrate_floor([1], [0], leg=None)  # type: ignore[arg-type]


@given(answerable=SCORES, unanswerable=SCORES)
def test_no_other_threshold_does_better(answerable: list[float], unanswerable: list[float]) -> None:
    def quality(threshold: float) -> Fraction:
        kept = sum(score >= threshold for score in answerable)
        refused = sum(score < threshold for score in unanswerable)
        return Fraction(kept, len(answerable)) + Fraction(refused, len(unanswerable))

    found = calibrate_floor(answerable, unanswerable)
    chosen = found.floor.min_score
    assert found.kept == sum(score >= chosen for score in answerable)
    assert found.refused == sum(score < chosen for score in unanswerable)
    every = set(answerable) | set(unanswerable)
    assert quality(chosen) == max(map(quality, every))
    assert all(quality(lower) < quality(chosen) for lower in every if lower < chosen)
