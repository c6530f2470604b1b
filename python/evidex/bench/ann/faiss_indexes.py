# SPDX-License-Identifier: Apache-2.0
"""Indexes of faiss, made by its factory; masks as IDSelectorBitmap. Under cosine rows are brought to length 1.

Parameters of a search go with each call (SearchParameters), so that one index serves all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..masks import unit_rows
from ..peers import Allow, Floats, library
from .peer import SweepPeer

__all__ = ["KINDS"]

_PROBES = {"small": [1, 4, 16, 64], "full": [1, 2, 4, 8, 16, 32, 64, 128, 256]}
_FACTORS = {"small": [2, 10, 40], "full": [1, 2, 5, 10, 20, 40, 100]}


class _FaissFlat(SweepPeer):
    """``Flat``: every row scored in float32."""

    name, module, package = "faiss-flat", "faiss", "faiss-cpu"

    def __init__(self, threads: int, **build: Any) -> None:
        super().__init__(threads, **build)
        self.faiss = library(self.module, self.package)
        self.faiss.omp_set_num_threads(threads)

    def factory(self) -> str:
        """What the factory is told."""
        return "Flat"

    def build(self, vectors: Floats, metric: str) -> None:
        faiss, rows = self.faiss, unit_rows(vectors) if metric == "cosine" else vectors
        self.options = {"index": self.factory()}
        kind = faiss.METRIC_L2 if metric == "squared_l2" else faiss.METRIC_INNER_PRODUCT
        self.index = faiss.index_factory(vectors.shape[1], self.factory(), kind)
        self.set_up()
        self.index.train(rows)
        self.index.add(rows)

    def set_up(self) -> None:
        """What the factory has no words for."""

    def prepare(self, allow: Allow | None) -> Any:
        self.narrowed: dict[str, Any] = {}
        if allow is not None:
            self.bits = np.packbits(allow, bitorder="little")  # the selector does not keep it alive
            self.narrowed = {"sel": self.faiss.IDSelectorBitmap(self.bits)}

    def tune(self, search: dict[str, Any]) -> None:
        self.asked = self.asked_with(search)

    def asked_with(self, search: dict[str, Any]) -> Any:
        """The SearchParameters of one point."""
        return self.faiss.SearchParameters(**self.narrowed)

    def search(self, queries: Floats, k: int, allow: Any) -> Any:
        return self.index.search(queries, k, params=self.asked)[1]

    def version(self) -> str:
        return str(self.faiss.__version__)


class _FaissHnsw(_FaissFlat):
    """``HNSW…,SQ8``: a graph over codes of one byte per dimension."""

    name = "faiss-hnsw"

    @classmethod
    def builds(cls, rows: int, dim: int, grid: str) -> list[dict[str, Any]]:
        return [{"M": m, "efConstruction": 200} for m in ([16] if grid == "small" else [8, 16, 32])]

    @classmethod
    def searches(cls, build: dict[str, Any], grid: str) -> list[dict[str, Any]]:
        few, many = [16, 64, 256], [10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024]
        return [{"efSearch": ef} for ef in (few if grid == "small" else many)]

    def factory(self) -> str:
        return f"HNSW{self.parameters['M']},SQ8"

    def set_up(self) -> None:
        self.index.hnsw.efConstruction = self.parameters["efConstruction"]

    def asked_with(self, search: dict[str, Any]) -> Any:
        return self.faiss.SearchParametersHNSW(efSearch=search["efSearch"], **self.narrowed)


class _FaissPq(_FaissFlat):
    """``PQ…x4fs,RFlat``: all 4-bit codes, the best ``k_factor`` times k of them scored again from float32."""

    name = "faiss-pq"

    @classmethod
    def builds(cls, rows: int, dim: int, grid: str) -> list[dict[str, Any]]:
        return [{"pq": parts} for parts in _parts(dim, grid)]

    @classmethod
    def searches(cls, build: dict[str, Any], grid: str) -> list[dict[str, Any]]:
        return [{"k_factor": factor} for factor in _FACTORS[grid]]

    def factory(self) -> str:
        return f"PQ{self.parameters['pq']}x4fs,RFlat"

    def prepare(self, allow: Allow | None) -> Any:
        if allow is not None:
            raise NotImplementedError("faiss's PQ…x4fs takes no selector")
        return super().prepare(allow)

    def asked_with(self, search: dict[str, Any]) -> Any:
        return self.faiss.IndexRefineSearchParameters(k_factor=search["k_factor"])


class _FaissIvf(_FaissPq):
    """``IVF…,PQ…x4fs,RFlat``: the codes of the ``nprobe`` nearest of ``nlist`` clusters, then as ``faiss-pq``."""

    name = "faiss-ivf"

    @classmethod
    def builds(cls, rows: int, dim: int, grid: str) -> list[dict[str, Any]]:
        root = max(1, round(rows**0.5))
        lists = [root] if grid == "small" else [root, min(4 * root, rows)]
        return [{"nlist": count, "pq": parts} for count in dict.fromkeys(lists) for parts in _parts(dim, grid)]

    @classmethod
    def searches(cls, build: dict[str, Any], grid: str) -> list[dict[str, Any]]:
        probes = dict.fromkeys(min(probe, build["nlist"]) for probe in _PROBES[grid])
        return [{"nprobe": probe, "k_factor": factor} for probe in probes for factor in _FACTORS[grid]]

    def factory(self) -> str:
        return f"IVF{self.parameters['nlist']},{super().factory()}"

    def prepare(self, allow: Allow | None) -> Any:
        return _FaissFlat.prepare(self, allow)

    def asked_with(self, search: dict[str, Any]) -> Any:
        inner = self.faiss.SearchParametersIVF(nprobe=search["nprobe"], **self.narrowed)
        return self.faiss.IndexRefineSearchParameters(k_factor=search["k_factor"], base_index_params=inner)


def _parts(dim: int, grid: str) -> list[int]:
    """Numbers of parts a vector is cut into, which have to divide its dimension: about 4 and 2 components each."""
    wanted = [4] if grid == "small" else [4, 2]
    return list(
        dict.fromkeys(
            max(parts for parts in range(1, dim + 1) if dim % parts == 0 and parts <= max(1, dim // size))
            for size in wanted
        )
    )


KINDS = (_FaissFlat, _FaissHnsw, _FaissIvf, _FaissPq)
