# SPDX-License-Identifier: Apache-2.0
"""evidex in the interface of ann-benchmarks (https://github.com/erikbern/ann-benchmarks): exact, and codes alone.

Copy this folder to ``ann_benchmarks/algorithms/evidex`` there, and a wheel (``make wheel``) beside it; then
``python install.py --algorithm evidex`` and ``python run.py --algorithm evidex --dataset glove-100-angular``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evidex import DenseIndex
from evidex.bench.worker import resident_bytes

from ..base.module import BaseANN

# What ann-benchmarks calls a metric.
METRICS = {"angular": "cosine", "euclidean": "squared_l2", "ip": "inner_product"}


class Evidex(BaseANN):
    """A DenseIndex.

    Args:
        metric: ``angular``, ``euclidean`` or ``ip``; another one is a ValueError.
        options: Keywords of DenseIndex, such as ``{"codec": "int8"}``.
    """

    def __init__(self, metric: str, options: dict[str, Any]) -> None:
        if metric not in METRICS:
            raise ValueError(f"metric: expected one of {', '.join(METRICS)}, got {metric!r}")
        self.metric, self.options = METRICS[metric], options
        self.asked: dict[str, Any] = {}
        self.found: Any = None

    def fit(self, X: Any) -> None:
        """Row i has id i; rows without a direction cannot be found under ``angular``, and are left out there."""
        ids, rows = np.arange(len(X)), np.asarray(X)
        if self.metric == "cosine":
            kept = rows.any(axis=1)
            ids, rows = ids[kept], rows[kept]
        self.index = DenseIndex(rows.shape[1], metric=self.metric, **self.options)
        self.index.add(ids, rows)

    def set_query_arguments(self, asked: dict[str, Any]) -> None:
        """Keywords of ``DenseIndex.search`` for the queries that follow."""
        self.asked = asked

    def query(self, q: Any, n: int) -> Any:
        """Ids, best first; one thread, as single queries are measured."""
        hits = self.index.search(q, n, **{"threads": 1, **self.asked})
        return hits.ids[0, : hits.counts[0]]

    def batch_query(self, X: Any, n: int) -> None:
        """As many threads as the machine gives."""
        self.found = self.index.search(X, n, **self.asked)

    def get_batch_results(self) -> Any:
        """A list of ids per query of the last batch."""
        return [ids[:count] for ids, count in zip(self.found.ids, self.found.counts, strict=True)]

    def get_memory_usage(self) -> float | None:
        """Resident memory of the process, kB, without what was freed; the other way where there is no /proc."""
        used = resident_bytes()
        return super().get_memory_usage() if used is None else used / 1024

    def __str__(self) -> str:
        told = ", ".join(f"{name}={value}" for name, value in {**self.options, **self.asked}.items())
        return f"evidex({told or 'exact'})"
