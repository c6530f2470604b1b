# SPDX-License-Identifier: Apache-2.0
"""Statistics of timed calls: percentiles, paired ratios and their interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .records import Latency, Ratio

__all__ = ["CONFIDENCE", "RESAMPLES", "bootstrap_median", "latency", "paired_ratio"]

CONFIDENCE = 0.95
RESAMPLES = 2000

Rounds = Sequence[Sequence[float]]


def latency(rounds: Rounds, batch: int) -> Latency:
    """Percentiles over all calls of all rounds; ``rounds`` holds seconds per call, ``batch`` queries per call."""
    seconds = np.concatenate([np.asarray(calls, np.float64) for calls in rounds])
    p50, p95, p99 = (float(value) for value in np.percentile(seconds, [50, 95, 99]) * 1e3)
    return Latency(p50, p95, p99, queries_per_s=float(batch * len(seconds) / seconds.sum()))


def paired_ratio(base_name: str, base: Rounds, other: Rounds, seed: int) -> Ratio:
    """Median over rounds of base / other, each round by its median call, with a bootstrap interval."""
    if len(base) != len(other):
        raise ValueError(f"{len(base)} rounds cannot be paired with {len(other)}")
    ratios = np.array([np.median(one) / np.median(two) for one, two in zip(base, other, strict=True)])
    low, high = bootstrap_median(ratios, seed)
    return Ratio(base_name, float(np.median(ratios)), low, high, CONFIDENCE, len(ratios), RESAMPLES)


def bootstrap_median(values: npt.NDArray[np.float64], seed: int) -> tuple[float, float]:
    """Percentile interval of the median: resampled with replacement, the same for the same seed."""
    chosen = np.random.default_rng(seed).integers(0, len(values), size=(RESAMPLES, len(values)))
    medians = np.median(values[chosen], axis=1)
    outside = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(medians, [outside, 100 - outside])
    return float(low), float(high)
