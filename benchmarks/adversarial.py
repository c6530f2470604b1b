# SPDX-License-Identifier: Apache-2.0
"""Rows and queries made so that reading codes first saves nothing, or as little as it can."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from common import digest

from evidex.bench.datasets import Dataset
from evidex.bench.records import Data

_NOISE = np.float32(1e-3)  # of a component, beside a direction of length 1: codes lose more than all of it
_OPEN_SHARE = 0.6


def narrow(n: int, dim: int, queries: int, seed: int) -> Dataset:
    """Plus or minus one direction and a little noise, queries at right angles to it: all scores nearly equal.

    The signs keep the mean of the rows, which codes are relative to, away from the direction.
    """
    rng = np.random.default_rng([seed, 11])
    rows, direction = _around_a_direction(rng, n, dim)
    return _dataset("narrow", rows, _without(_normal(rng, queries, dim), direction), seed)


def gaussian(n: int, dim: int, queries: int, seed: int) -> Dataset:
    """Independent Gaussian rows and queries: no structure, so the bounds of many rows overlap."""
    rng = np.random.default_rng([seed, 12])
    return _dataset("gaussian", _normal(rng, n, dim), _normal(rng, queries, dim), seed)


def mixed(n: int, dim: int, queries: int, seed: int) -> Dataset:
    """Narrow, but the rows outside a random share lie far from every query: the rest is left over, scattered."""
    rng = np.random.default_rng([seed, 13])
    rows, direction = _around_a_direction(rng, n, dim)
    towards = _without(_normal(rng, 1, dim), direction)[0]
    towards /= np.linalg.norm(towards)
    rows = _without(rows, towards)
    rows[rng.random(n) >= _OPEN_SHARE] -= towards
    asked = _without(_normal(rng, queries, dim), direction)
    asked /= np.linalg.norm(asked, axis=1, keepdims=True)
    return _dataset("mixed", rows, asked + towards, seed)


KINDS: dict[str, Callable[[int, int, int, int], Dataset]] = {
    "narrow: all scores nearly equal": narrow,
    "gaussian: independent rows and queries": gaussian,
    f"mixed: narrow, {1 - _OPEN_SHARE:.0%} of the rows far away": mixed,
}


def _normal(rng: np.random.Generator, n: int, dim: int) -> np.ndarray:
    return rng.standard_normal((n, dim), dtype=np.float32)


def _around_a_direction(rng: np.random.Generator, n: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    direction = _normal(rng, 1, dim)[0]
    direction /= np.linalg.norm(direction)
    rows = _normal(rng, n, dim)
    rows *= _NOISE
    rows += rng.choice(np.array([-1, 1], np.float32), (n, 1)) * direction
    return rows, direction


def _without(rows: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Rows at right angles to a direction of length 1."""
    return rows - np.outer(rows @ direction, direction)


def _dataset(name: str, rows: np.ndarray, queries: np.ndarray, seed: int) -> Dataset:
    facts = Data(
        "synthetic", f"{name} {len(rows)},{rows.shape[1]}", *rows.shape, len(queries), seed, digest(rows, queries)
    )
    return Dataset(rows, queries, None, facts)
