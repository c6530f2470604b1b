# SPDX-License-Identifier: Apache-2.0
"""Searchers of ScaNN: asymmetric hashing with 16 centres for every 2 dimensions, the best scored again from float32.

Rows of length 1 are what it is meant for; under inner product they stay as they are, or it would answer another
question. The anisotropic loss means nothing under squared L2 and is left out there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..masks import unit_rows
from ..peers import Floats, library
from .peer import SweepPeer

__all__ = ["KINDS"]

_REORDER = {"small": [20, 100, 400], "full": [10, 20, 30, 50, 100, 200, 400, 800]}


class _ScannFlat(SweepPeer):
    """Hashes of all rows, the best ``reorder`` of them (at least k) scored again."""

    name, module, package = "scann-flat", "scann", "scann"

    def __init__(self, threads: int, **build: Any) -> None:
        super().__init__(threads, **build)
        self.scann = library("scann", "scann")

    @classmethod
    def builds(cls, rows: int, dim: int, grid: str) -> list[dict[str, Any]]:
        return [{"dimensions_per_block": 2}]

    @classmethod
    def searches(cls, build: dict[str, Any], grid: str) -> list[dict[str, Any]]:
        return [{"reorder": count} for count in _REORDER[grid]]

    def build(self, vectors: Floats, metric: str) -> None:
        euclidean = metric == "squared_l2"
        rows = unit_rows(vectors) if metric == "cosine" else np.array(vectors)
        measure = "squared_l2" if euclidean else "dot_product"
        builder = self.scann.scann_ops_pybind.builder(rows, 10, measure).set_n_training_threads(self.threads)
        loss = {} if euclidean else {"anisotropic_quantization_threshold": 0.2}
        self.options = {"measure": measure, **loss}
        hashed = self.divided(builder, len(rows), spherical=metric == "cosine")
        self.searcher = hashed.score_ah(self.parameters["dimensions_per_block"], **loss).reorder(100).build()

    def divided(self, builder: Any, rows: int, *, spherical: bool) -> Any:
        """The builder told how rows are divided."""
        return builder

    def tune(self, search: dict[str, Any]) -> None:
        self.asked: dict[str, Any] = {}
        self.reorder = search["reorder"]

    def search(self, queries: Floats, k: int, allow: Any) -> Any:
        asked = {"final_num_neighbors": k, "pre_reorder_num_neighbors": max(k, self.reorder), **self.asked}
        if len(queries) == 1:
            return self.searcher.search(queries[0], **asked)[0][None]
        return self.searcher.search_batched(queries, **asked)[0]


class _ScannTree(_ScannFlat):
    """Hashes of the rows in the ``leaves_to_search`` nearest of ``leaves`` clusters."""

    name = "scann-tree"

    @classmethod
    def builds(cls, rows: int, dim: int, grid: str) -> list[dict[str, Any]]:
        root = max(1, round(rows**0.5))
        leaves = [root] if grid == "small" else [root, min(4 * root, rows)]
        return [{"leaves": count, "dimensions_per_block": 2} for count in dict.fromkeys(leaves)]

    @classmethod
    def searches(cls, build: dict[str, Any], grid: str) -> list[dict[str, Any]]:
        shares = [0.02, 0.1, 0.5] if grid == "small" else [0.003, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5]
        counts = dict.fromkeys(max(1, round(share * build["leaves"])) for share in shares)
        return [{"leaves_to_search": count, "reorder": reorder} for count in counts for reorder in _REORDER[grid]]

    def divided(self, builder: Any, rows: int, *, spherical: bool) -> Any:
        leaves = self.parameters["leaves"]
        return builder.tree(leaves, max(1, leaves // 20), training_sample_size=rows, spherical=spherical)

    def tune(self, search: dict[str, Any]) -> None:
        super().tune(search)
        self.asked = {"leaves_to_search": search["leaves_to_search"]}


KINDS = (_ScannFlat, _ScannTree)
