# SPDX-License-Identifier: Apache-2.0
"""The systems that are measured, and what one of your own must look like.

A peer runs alone in a process whose thread count is limited by environment variables before it starts::

    class Mine:
        name = "mine"
        def __init__(self, threads: int) -> None: ...
        def build(self, vectors, metric) -> None: ...     # float32 [n, dim], read-only; row i has id i
        def prepare(self, allow): ...                     # bool [n] or None, once per mask; what search gets
        def search(self, queries, k, allow): ...          # float32 [nq, dim]; ids [nq, any width], padded with -1
        def version(self) -> str: ...

and is asked for as ``--peers module:Mine``. ``metric`` is ``inner_product``, ``cosine`` or ``squared_l2``; ids come
best first. Only ``search`` is timed. A peer that cannot do a metric or a mask raises NotImplementedError with the
reason, and is left out of that table. :class:`Peer` refuses masks and has ``options``, plain values for the record.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import AllowMask, DenseIndex, __version__
from ..errors import InvalidInput
from .masks import unit_rows

__all__ = ["BUILT_IN", "Allow", "Floats", "Peer", "imported", "library", "load", "require_known"]

Floats = npt.NDArray[np.float32]
Allow = npt.NDArray[np.bool_]

_SCORES_AT_ONCE = 2**26  # 256 MB of float32


class Peer:
    """What every peer has. Attributes: name, and options for the record (plain values)."""

    name = "?"

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.options: dict[str, Any] = {}

    def build(self, vectors: Floats, metric: str) -> None:
        """Makes the rows searchable; keeps copies of its own."""
        raise NotImplementedError

    def prepare(self, allow: Allow | None) -> Any:
        """The mask in the form that search takes."""
        if allow is not None:
            raise NotImplementedError(f"{self.name} has no masks here")
        return None

    def search(self, queries: Floats, k: int, allow: Any) -> Any:
        """Row numbers [nq, width], best first, padded with -1."""
        raise NotImplementedError

    def version(self) -> str:
        """Of the library."""
        raise NotImplementedError


class _Evidex(Peer):
    """An open DenseIndex with its defaults."""

    name = "evidex"

    def build(self, vectors: Floats, metric: str) -> None:
        self.index = DenseIndex(vectors.shape[1], metric=metric)
        self.index.add(np.arange(len(vectors)), vectors)

    def prepare(self, allow: Allow | None) -> Any:
        return None if allow is None else AllowMask.from_bools(self.index, allow)

    def search(self, queries: Floats, k: int, allow: Any) -> Any:
        return self.index.search(queries, k, allow=allow, threads=self.threads).ids

    def version(self) -> str:
        return __version__


class _Numpy(Peer):
    """A float32 matrix product and argpartition; under a mask, on rows gathered beforehand."""

    name = "numpy"

    def build(self, vectors: Floats, metric: str) -> None:
        self.rows = unit_rows(vectors) if metric == "cosine" else np.array(vectors)
        self.squares = np.einsum("ij,ij->i", self.rows, self.rows) if metric == "squared_l2" else None

    def prepare(self, allow: Allow | None) -> Any:
        if allow is None:
            return self.rows, self.squares, None
        return self.rows[allow], None if self.squares is None else self.squares[allow], np.flatnonzero(allow)

    def search(self, queries: Floats, k: int, allow: Any) -> Any:
        rows, squares, ids = allow
        width = min(k, len(rows))
        found = np.empty((len(queries), width), np.int64)
        step = max(1, _SCORES_AT_ONCE // len(rows))
        for first in range(0, len(queries), step):  # neither cosine's nor L2's order needs the query's norm
            scores = queries[first : first + step] @ rows.T
            if squares is not None:
                scores *= 2
                scores -= squares
            at = np.argpartition(scores, len(rows) - width, axis=1)[:, len(rows) - width :]
            order = np.lexsort((at, -np.take_along_axis(scores, at, axis=1)), axis=1)
            found[first : first + step] = np.take_along_axis(at, order, axis=1)
        return found if ids is None else ids[found]

    def version(self) -> str:
        return str(np.__version__)


class _Faiss(Peer):
    """IndexFlatIP (cosine: over unit rows) or IndexFlatL2, masks as IDSelectorBitmap."""

    name = "faiss"

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.faiss = library("faiss", "faiss-cpu")
        self.faiss.omp_set_num_threads(threads)

    def build(self, vectors: Floats, metric: str) -> None:
        kind = "IndexFlatL2" if metric == "squared_l2" else "IndexFlatIP"
        self.options = {"index": kind}
        self.index = getattr(self.faiss, kind)(vectors.shape[1])
        self.index.add(unit_rows(vectors) if metric == "cosine" else vectors)

    def prepare(self, allow: Allow | None) -> Any:
        if allow is None:
            return None
        self.bits = np.packbits(allow, bitorder="little")  # the selector does not keep it alive
        return self.faiss.SearchParameters(sel=self.faiss.IDSelectorBitmap(self.bits))

    def search(self, queries: Floats, k: int, allow: Any) -> Any:
        return self.index.search(queries, k, params=allow)[1]

    def version(self) -> str:
        return str(self.faiss.__version__)


class _Usearch(Peer):
    """Exact search over a matrix."""

    name = "usearch"

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.usearch = library("usearch.index", "usearch")

    def build(self, vectors: Floats, metric: str) -> None:
        kinds = self.usearch.MetricKind
        self.metric = {"inner_product": kinds.IP, "cosine": kinds.Cos, "squared_l2": kinds.L2sq}[metric]
        self.rows = np.array(vectors)

    def prepare(self, allow: Allow | None) -> Any:
        if allow is not None:
            raise NotImplementedError("usearch's exact search takes no filter")
        return None

    def search(self, queries: Floats, k: int, allow: Any) -> Any:
        found = self.usearch.search(self.rows, queries, k, self.metric, exact=True, threads=self.threads)
        keys = np.asarray(found.keys).astype(np.int64)
        return keys.reshape(len(queries), -1)

    def version(self) -> str:
        return importlib.metadata.version("usearch")


class _Hnswlib(Peer):
    """BFIndex; masks as its filter, a Python function that it calls for every row.

    Version 0.8.0 returns wrong rows, some of them twice, when few rows are permitted: its recall shows it.
    """

    name = "hnswlib"

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.hnswlib = library("hnswlib", "hnswlib")
        self.options = {"index": "BFIndex", "mask": "a Python call per row"}

    def build(self, vectors: Floats, metric: str) -> None:
        space = {"inner_product": "ip", "cosine": "cosine", "squared_l2": "l2"}[metric]
        self.index = self.hnswlib.BFIndex(space=space, dim=vectors.shape[1])
        self.index.init_index(max_elements=len(vectors))
        self.index.add_items(vectors, np.arange(len(vectors)))

    def prepare(self, allow: Allow | None) -> Any:
        return (None, None) if allow is None else (allow.tolist().__getitem__, int(allow.sum()))

    def search(self, queries: Floats, k: int, allow: Any) -> Any:
        accepts, permitted = allow
        k = min(k, self.index.get_current_count() if permitted is None else permitted)  # it refuses a larger k
        labels = self.index.knn_query(queries, k, num_threads=self.threads, filter=accepts)[0]
        return labels.astype(np.int64)

    def version(self) -> str:
        return importlib.metadata.version("hnswlib")


BUILT_IN: dict[str, type[Peer]] = {kind.name: kind for kind in (_Evidex, _Numpy, _Faiss, _Usearch, _Hnswlib)}


def require_known(given: str, names: Iterable[str] = BUILT_IN) -> str:
    """One of the names or ``module:Class``; whether that imports is for the child to find out.

    Raises:
        InvalidInput: For anything else, with the list of names.
    """
    module, colon, kind = given.partition(":")
    if given in names or (colon and kind.isidentifier() and all(part.isidentifier() for part in module.split("."))):
        return given
    raise InvalidInput(f"peers: expected one of {', '.join(names)} or module:Class, got {given!r}")


def load(given: str, threads: int) -> Any:
    """The peer, limited to so many threads."""
    return (BUILT_IN[given] if given in BUILT_IN else imported(given))(threads)


def imported(given: str) -> Any:
    """The class that ``module:Class`` names; modules are looked for where Python looks, current folder included."""
    module, _, kind = given.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    return getattr(importlib.import_module(module), kind)


def library(module: str, package: str) -> Any:
    """A module of the extra ``bench``.

    Raises:
        InvalidInput: If it is not there, with what to install.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InvalidInput(
            f"{package} is not installed or does not load ({error}): pip install evidex[bench] or {package}"
        ) from error
