# SPDX-License-Identifier: Apache-2.0
"""Codes of rabitqlib (in a graph) and of turbovec. Under cosine rows are brought to length 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..masks import unit_rows
from ..peers import Allow, Floats, library
from .peer import SweepPeer, only_directions

__all__ = ["KINDS"]


class _Rabitqlib(SweepPeer):
    """SymqgIndex: a graph with codes of 1 bit for the neighbours of a row, and rows of float32 (0 bits) or codes."""

    name = module = package = "rabitqlib"

    def __init__(self, threads: int, **build: Any) -> None:
        super().__init__(threads, **build)
        self.rabitqlib = library("rabitqlib", "rabitqlib")

    @classmethod
    def builds(cls, rows: int, dim: int, grid: str) -> list[dict[str, Any]]:
        degrees, bits = ([32], [0]) if grid == "small" else ([32, 64], [0, 8])
        return [{"max_degree": m, "ef_construction": 200, "quantization_bits": b} for m in degrees for b in bits]

    @classmethod
    def searches(cls, build: dict[str, Any], grid: str) -> list[dict[str, Any]]:
        few, many = [20, 80, 320], [10, 15, 20, 30, 40, 60, 80, 120, 160, 240, 320, 640]
        return [{"ef_search": ef} for ef in (few if grid == "small" else many)]

    def build(self, vectors: Floats, metric: str) -> None:
        rows = unit_rows(vectors) if metric == "cosine" else np.ascontiguousarray(vectors)
        asked = {name: self.parameters[name] for name in ("max_degree", "quantization_bits")}
        kind = "l2" if metric == "squared_l2" else "ip"
        self.index = self.rabitqlib.SymqgIndex(dim=rows.shape[1], metric=kind, **asked)
        self.index.build(rows, ef_construction=self.parameters["ef_construction"], num_threads=self.threads)

    def search(self, queries: Floats, k: int, allow: Any) -> Any:
        return self.index.search_batch(queries, k, max(k, self.tuned["ef_search"]), num_threads=self.threads)[0]


class _Turbovec(SweepPeer):
    """TurboQuantIndex: codes of 2 to 4 bits per dimension, all of them read; masks as its bool array."""

    name = module = package = "turbovec"

    def __init__(self, threads: int, **build: Any) -> None:
        super().__init__(threads, **build)
        self.turbovec = library("turbovec", "turbovec")

    @classmethod
    def builds(cls, rows: int, dim: int, grid: str) -> list[dict[str, Any]]:
        return [{"bit_width": bits} for bits in ([4] if grid == "small" else [2, 3, 4])]

    def build(self, vectors: Floats, metric: str) -> None:
        if metric == "squared_l2" and not only_directions(vectors, metric):
            raise NotImplementedError("turbovec knows inner products only, and the length of rows counts here")
        rows = unit_rows(vectors) if metric == "cosine" else np.ascontiguousarray(vectors)
        self.index = self.turbovec.TurboQuantIndex(dim=rows.shape[1], **self.parameters)
        self.index.add(rows)
        self.index.prepare()

    def prepare(self, allow: Allow | None) -> Any:
        return {} if allow is None else {"mask": np.ascontiguousarray(allow)}

    def search(self, queries: Floats, k: int, allow: Any) -> Any:
        return np.asarray(self.index.search(queries, k, **allow)[1]).astype(np.int64)


KINDS = (_Rabitqlib, _Turbovec)
