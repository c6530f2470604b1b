# SPDX-License-Identifier: Apache-2.0
"""Graphs of hnswlib and usearch."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..peers import Allow, Floats, library
from .peer import SweepPeer, only_directions

__all__ = ["KINDS"]

_WIDTHS = {"small": [10, 40, 160, 640], "full": [10, 15, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640]}
_DEGREES = {"small": [16], "full": [8, 16, 32]}


class _Hnswlib(SweepPeer):
    """Index; masks as its filter, a Python function that it calls for every row it looks at.

    It raises an error where it finds fewer than k; then k is bisected, since it has no way to return what it found.
    """

    name = module = package = "hnswlib"

    def __init__(self, threads: int, **build: Any) -> None:
        super().__init__(threads, **build)
        self.hnswlib = library("hnswlib", "hnswlib")

    @classmethod
    def builds(cls, rows: int, dim: int, grid: str) -> list[dict[str, Any]]:
        return [{"M": m, "ef_construction": 200} for m in _DEGREES[grid]]

    @classmethod
    def searches(cls, build: dict[str, Any], grid: str) -> list[dict[str, Any]]:
        return [{"ef_search": ef} for ef in _WIDTHS[grid]]

    def build(self, vectors: Floats, metric: str) -> None:
        space = {"inner_product": "ip", "cosine": "cosine", "squared_l2": "l2"}[metric]
        self.options = {"mask": "a Python call per row looked at"}
        self.index = self.hnswlib.Index(space=space, dim=vectors.shape[1])
        self.index.init_index(max_elements=len(vectors), **self.parameters)
        self.index.add_items(vectors, np.arange(len(vectors)), num_threads=self.threads)

    def prepare(self, allow: Allow | None) -> Any:
        return None if allow is None else allow.tolist().__getitem__

    def tune(self, search: dict[str, Any]) -> None:
        self.index.set_ef(search["ef_search"])

    def search(self, queries: Floats, k: int, allow: Any) -> Any:
        k = min(k, self.index.get_current_count())
        try:
            return self._found(queries, k, allow)
        except RuntimeError:
            ids = np.full((len(queries), k), -1, np.int64)
            for row, query in zip(ids, queries, strict=True):
                some = self._most(query[None], k, allow)
                row[: len(some)] = some
            return ids

    def _most(self, query: Floats, k: int, allow: Any) -> Any:
        """As many as there are, fewer than k or k."""
        best: Any = []
        least, most = 1, k
        while least <= most:
            middle = (least + most + 1) // 2
            try:
                best, least = self._found(query, middle, allow)[0], middle + 1
            except RuntimeError:
                most = middle - 1
        return best

    def _found(self, queries: Floats, k: int, allow: Any) -> Any:
        threads = self.threads if allow is None else 1  # its filter holds the interpreter's lock
        return self.index.knn_query(queries, k, num_threads=threads, filter=allow)[0].astype(np.int64)


class _Usearch(SweepPeer):
    """Index over codes of one byte per dimension (``i8``), which keep the direction of a row and not its length."""

    name = package = "usearch"
    module = "usearch"

    def __init__(self, threads: int, **build: Any) -> None:
        super().__init__(threads, **build)
        self.usearch = library("usearch.index", "usearch")

    @classmethod
    def builds(cls, rows: int, dim: int, grid: str) -> list[dict[str, Any]]:
        return [{"connectivity": m, "expansion_add": 200} for m in _DEGREES[grid]]

    @classmethod
    def searches(cls, build: dict[str, Any], grid: str) -> list[dict[str, Any]]:
        return [{"expansion_search": ef} for ef in _WIDTHS[grid]]

    def build(self, vectors: Floats, metric: str) -> None:
        if not only_directions(vectors, metric):
            raise NotImplementedError("usearch's i8 codes lose the length of rows, which counts here")
        self.options = {"dtype": "i8", "metric": "cos"}
        self.index = self.usearch.Index(ndim=vectors.shape[1], metric="cos", dtype="i8", **self.parameters)
        self.index.add(np.arange(len(vectors)), vectors, threads=self.threads)

    def prepare(self, allow: Allow | None) -> Any:
        if allow is not None:
            raise NotImplementedError("usearch's Python interface takes no filter")

    def tune(self, search: dict[str, Any]) -> None:
        self.index.expansion_search = search["expansion_search"]

    def search(self, queries: Floats, k: int, allow: Any) -> Any:
        found = self.index.search(queries, k, threads=self.threads)
        ids = np.asarray(found.keys).astype(np.int64).reshape(len(queries), -1)
        counts = np.atleast_1d(getattr(found, "counts", ids.shape[1]))
        ids[np.arange(ids.shape[1]) >= counts[:, None]] = -1
        return ids


KINDS = (_Hnswlib, _Usearch)
