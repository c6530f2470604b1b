# SPDX-License-Identifier: Apache-2.0
"""What benchmarks/table.py puts beside evidex and the systems of evidex.bench.peers, as ``systems:Class``."""

from __future__ import annotations

from typing import Any

import numpy as np

from evidex import DenseIndex
from evidex.bench.masks import unit_rows
from evidex.bench.peers import BUILT_IN, Peer

Evidex: Any = BUILT_IN["evidex"]
Faiss: Any = BUILT_IN["faiss"]


class Plain(Evidex):
    """evidex without codes: every permitted row is scored."""

    name = "evidex without codes"

    def build(self, vectors: Any, metric: str) -> None:
        self.options = {"prescan": False}
        self.index = DenseIndex(vectors.shape[1], metric=metric, prescan=False)
        self.index.add(np.arange(len(vectors)), vectors)


class OneThread(Evidex):
    """evidex told to use one thread, whatever the others may use."""

    name = "evidex, one thread"

    def __init__(self, threads: int) -> None:
        super().__init__(1)
        self.options = {"threads": 1}


class Unrestricted(Evidex):
    """evidex that ignores the mask: the time of a search over all rows. Its answers are not those asked for."""

    name = "evidex, no mask"

    def prepare(self, allow: Any) -> Any:
        return None


class Scann(Peer):
    """Flat asymmetric hashing with 16 centres for every 2 dimensions, and the exact scores of the best 50; approximate.

    Rows of length 1 are what it is meant for. Under inner product they stay as they are, or it would answer another
    question; the anisotropic loss means nothing under squared L2 and is left out there.
    """

    name = "scann"

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        try:
            import scann
        except ImportError as error:
            raise NotImplementedError(
                f"scann is not installed or does not load ({error}): pip install scann"
            ) from error
        self.scann = scann

    def build(self, vectors: Any, metric: str) -> None:
        rows = unit_rows(vectors) if metric == "cosine" else np.array(vectors)
        measure, loss = ("squared_l2", {}) if metric == "squared_l2" else ("dot_product", {"threshold": 0.2})
        self.options = {"measure": measure, "dimensions_per_block": 2, "anisotropic": loss, "reorder": 50}
        builder = self.scann.scann_ops_pybind.builder(rows, 10, measure).set_n_training_threads(self.threads)
        settings = {f"anisotropic_quantization_{name}": value for name, value in loss.items()}
        self.searcher = builder.score_ah(2, **settings).reorder(50).build()

    def search(self, queries: Any, k: int, allow: Any) -> Any:
        if len(queries) == 1:
            return self.searcher.search(queries[0], final_num_neighbors=k)[0][None]
        return self.searcher.search_batched(queries, final_num_neighbors=k)[0]

    def version(self) -> str:
        from importlib.metadata import version

        return version("scann")


class Ingest(Evidex):
    """evidex built again and again; prepare lets go of the last index, so that no clock runs for that."""

    name = "evidex, encode and add"

    def prepare(self, allow: Any) -> Any:
        self.index = None


class FlatAndSq8(Faiss):
    """faiss as it keeps rows and codes of one byte per dimension: IndexFlat and a trained IndexScalarQuantizer.

    The first build trains, and under cosine brings rows to length 1; later ones only add. prepare as in Ingest.
    """

    name = "faiss flat and SQ8"
    empty: Any = None

    def build(self, vectors: Any, metric: str) -> None:
        faiss, dim = self.faiss, vectors.shape[1]
        kind = faiss.METRIC_L2 if metric == "squared_l2" else faiss.METRIC_INNER_PRODUCT
        if self.empty is None:
            self.rows = unit_rows(vectors) if metric == "cosine" else None
            self.empty = faiss.IndexScalarQuantizer(dim, faiss.ScalarQuantizer.QT_8bit, kind)
            self.empty.train(vectors if self.rows is None else self.rows)
        rows = vectors if self.rows is None else self.rows
        flat, codes = faiss.IndexFlat(dim, kind), faiss.clone_index(self.empty)
        flat.add(rows)
        codes.add(rows)
        self.kept = flat, codes

    def prepare(self, allow: Any) -> Any:
        self.kept = None
