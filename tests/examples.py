# SPDX-License-Identifier: Apache-2.0
"""Small vectors, indexes and ways to make a mask that many tests use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from evidex import AllowMask, DenseIndex, Principal

EYE = np.eye(3, dtype=np.float32)
ORIGIN = np.zeros(4, np.float32)
ALICE = Principal("alice", "acme", {"a"})

Make = Callable[[DenseIndex, list[int]], Any]


def as_bools(index: DenseIndex, ids: list[int]) -> Any:
    return np.isin(index.ids(), ids)


def as_ids(index: DenseIndex, ids: list[int]) -> AllowMask:
    return AllowMask.from_ids(index, ids)


def as_mask(index: DenseIndex, ids: list[int]) -> AllowMask:
    return AllowMask.from_bools(index, as_bools(index, ids))


def line(n: int, dim: int = 4, **options: Any) -> DenseIndex:
    """Row i lies at 10 i on the first axis."""
    index = DenseIndex(dim, metric="l2", **options)
    rows = np.zeros((n, dim), np.float32)
    rows[:, 0] = 10 * np.arange(n)
    index.add(np.arange(n), rows)
    return index
