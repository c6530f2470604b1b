# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies shared by the property tests: data that likes ties, signs and awkward sizes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from evidex import _core

BATCHES = (1, 2, 16, 17, 19, 20, 21, 200)
ISAS = tuple(isa["name"] for isa in _core.isas() if isa["supported"])


@contextmanager
def forced_isa(name: str) -> Iterator[None]:
    """Runs a block on one instruction set."""
    before = _core.active_isa()
    _core._testing.force_isa(name)
    try:
        yield
    finally:
        _core._testing.force_isa(before)


@dataclass(frozen=True)
class Data:
    """Rows with distinct ids in no order, and queries."""

    metric: str
    ids: npt.NDArray[np.int64]
    rows: npt.NDArray[np.float32]
    queries: npt.NDArray[np.float32]

    @property
    def by_id(self) -> dict[int, Any]:
        return dict(zip(self.ids.tolist(), self.rows, strict=True))


@st.composite
def data(draw: st.DrawFn, max_rows: int = 200, max_queries: int = 3) -> Data:
    """Random, duplicated, coarse (many ties) or widely scaled vectors."""
    metric = draw(st.sampled_from(["inner_product", "cosine", "squared_l2"]))
    dim = draw(st.sampled_from([1, 2, 3, 7, 15, 16, 17, 33, 64, 100]))
    n = draw(st.integers(0, max_rows))
    nq = draw(st.integers(1, max_queries))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["normal", "coarse", "duplicates", "scaled"]))
    values = rng.standard_normal((n + nq, dim)).astype(np.float32)
    if kind == "coarse":
        values = np.round(values).astype(np.float32)
    elif kind == "duplicates" and n:
        values[:n] = values[rng.integers(0, min(n, 4), n)]
    elif kind == "scaled":
        values *= np.float32(2.0) ** rng.integers(-40, 20, (n + nq, 1)).astype(np.float32)
    values[~values.any(axis=1), 0] = 1  # no zero vectors, which cosine refuses
    ids = rng.choice(10 * n + 1, size=n, replace=False).astype(np.int64)
    if n:
        ids[0] = 2**63 - 1
    return Data(metric, ids, values[:n], values[n:])
