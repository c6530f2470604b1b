# SPDX-License-Identifier: Apache-2.0
"""An index of clustered rows that holds codes, and what is asked of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from evidex import UNRESTRICTED, DenseIndex

KINDS = ("binary", "pq4")
RNG = np.random.default_rng(21)
CENTRES = RNG.standard_normal((40, 48)).astype(np.float32)
ROWS = (CENTRES[RNG.integers(0, 40, 3000)] + 0.6 * RNG.standard_normal((3000, 48))).astype(np.float32)
QUERIES = (CENTRES[RNG.integers(0, 40, 20)] + 0.6 * RNG.standard_normal((20, 48))).astype(np.float32)


def filled(kind: str | None = "binary", rows: Any = ROWS, **options: Any) -> DenseIndex:
    index = DenseIndex(rows.shape[1], **options)
    index.add(None, rows)
    if kind is not None:
        index.train(kind)
    return index


def forced(index: DenseIndex, candidates: int) -> str:
    """A plan that goes by the first codes that the index holds."""
    stats = index.stats(principal=None if index.policy is None else UNRESTRICTED)
    return f"{stats['codes'][0]['kind']} codes, {candidates} rescored"


def recall_of(found: Any, exact: Any) -> float:
    shares = [len(set(a.tolist()) & set(b.tolist())) / len(b) for (a, _), (b, _) in zip(found, exact, strict=True)]
    return float(np.mean(shares))
