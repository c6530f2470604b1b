# SPDX-License-Identifier: Apache-2.0
"""A graph of hnswlib beside an index, for tests: which of them answers is chosen by the caller."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt

from evidex import DenseIndex
from evidex.integrations import _hnsw_search
from evidex.integrations.hnswlib import HnswIndex

Floats = npt.NDArray[np.float32]


def walking() -> AbstractContextManager[Any]:
    """The graph is asked although exact search of so few rows costs less."""
    return mock.patch.object(_hnsw_search, "_ROWS_PER_CANDIDATE", 0.01)


def beside(index: DenseIndex, **options: Any) -> HnswIndex:
    """A small graph over all rows."""
    return HnswIndex(index, **{"m": 8, "ef_construction": 40, **options})


def clusters(n: int, dim: int, seed: int) -> Floats:
    """Rows around a few centres."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((20, dim)) * 4
    return (centres[rng.integers(0, 20, n)] + rng.standard_normal((n, dim))).astype(np.float32)
