# SPDX-License-Identifier: Apache-2.0
"""A graph of hnswlib, and which rows of an index it has: candidates come out of it, decisions do not."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .. import _arrays, _checks, _core
from ..errors import InvalidInput
from ..index_columns import live_rows

__all__ = ["Graph", "new_graph", "require_graph"]

_Bools: TypeAlias = npt.NDArray[np.bool_]

SPACES = {"inner_product": "ip", "cosine": "cosine", "squared_l2": "l2"}

_BLOCK = 512  # rows that are added while searches wait
_SAME = 0.1  # of a row's length: what codecs lose is less, so a graph of the rows as they were given fits
_SPARE = 1.25  # a full graph grows by more than it needs, since growing copies it


@dataclass(frozen=True)
class Reach:
    """Which rows the graph has: those of one layout below a number, but for some."""

    layout: int
    rows: int
    lacking: _arrays.Ids

    def beside(self, snapshot: _core.Snapshot) -> _arrays.Ids:
        """Row numbers of a snapshot that the graph may lack, removed ones included."""
        if snapshot.layout != self.layout:
            return np.arange(snapshot.rows, dtype=np.int64)
        if snapshot.rows <= self.rows:
            return self.lacking
        return np.concatenate([self.lacking, np.arange(self.rows, snapshot.rows, dtype=np.int64)])


class _Gate:
    """Many searches at a time, or one change: hnswlib allows no search while rows are added."""

    def __init__(self) -> None:
        self._turn = threading.Condition()
        self._searches = 0
        self._changing = False

    @contextmanager
    def searching(self) -> Iterator[None]:
        with self._turn:
            self._turn.wait_for(lambda: not self._changing)
            self._searches += 1
        try:
            yield
        finally:
            with self._turn:
                self._searches -= 1
                self._turn.notify_all()

    @contextmanager
    def changing(self) -> Iterator[None]:
        with self._turn:
            self._turn.wait_for(lambda: not self._changing)
            self._changing = True
        try:
            with self._turn:
                self._turn.wait_for(lambda: self._searches == 0)
            yield
        finally:
            with self._turn:
                self._changing = False
                self._turn.notify_all()


class Graph:
    """An ``hnswlib.Index`` whose labels are ids.

    Args:
        library: The graph.
        snapshot: Rows that it may have.
        unit_rows: Whether its space divides by the norm.
    """

    def __init__(self, library: Any, snapshot: _core.Snapshot, *, unit_rows: bool) -> None:
        self.library = library
        self._unit_rows = unit_rows
        self._gate = _Gate()
        self._writer = threading.Lock()
        rows, ids = live_rows(snapshot)
        _require_known(library, ids)
        self.reach = Reach(snapshot.layout, snapshot.rows, rows[self._lacks(snapshot, rows, ids)])

    def __len__(self) -> int:
        """Rows it has, those marked as deleted included."""
        return int(self.library.element_count)

    def nearest(self, queries: _arrays.Floats, width: int, threads: int) -> _arrays.Ids:
        """Labels of about the ``width`` nearest rows, int64 [nq, width]; -1 in the row of a query that found fewer.

        hnswlib keeps the larger of its ``ef`` and the number asked for while it walks, so asking for ``ef`` labels
        searches as wide as ``set_ef`` would and changes nothing that other searches share.
        """
        with self._gate.searching():
            return self._asked(self._of_usual_length(queries), min(width, len(self)), threads)

    def take_in(self, snapshot: _core.Snapshot, threads: int) -> int:
        """Adds the rows that it lacks, and marks as deleted what the snapshot has no more: how many were added."""
        with self._writer:
            rows, ids = live_rows(snapshot)
            if snapshot.layout == self.reach.layout:
                lacking = np.isin(rows, self.reach.beside(snapshot))
            else:
                lacking = self._lacks(snapshot, rows, ids)
            labels = _labels(self.library)
            changed = np.intersect1d(ids[lacking], labels)
            added = int(np.count_nonzero(lacking))
            with self._gate.changing():
                for label in np.setdiff1d(labels, ids).tolist():
                    with suppress(RuntimeError):  # it is marked already
                        self.library.mark_deleted(label)
                for label in changed.tolist():
                    with suppress(RuntimeError):  # it is not marked
                        self.library.unmark_deleted(label)
                self._make_room(added - len(changed))
            for first in range(0, added, _BLOCK):
                numbers = rows[lacking][first : first + _BLOCK]
                vectors = snapshot.vectors(numbers)
                with self._gate.changing():
                    self.library.add_items(vectors, snapshot.ids_of(numbers), num_threads=threads)
            self.reach = Reach(snapshot.layout, snapshot.rows, np.empty(0, dtype=np.int64))
            return added

    def _asked(self, queries: _arrays.Floats, width: int, threads: int) -> _arrays.Ids:
        try:
            labels, _ = self.library.knn_query(queries, k=width, num_threads=threads)
        except RuntimeError as error:
            if "2D array" not in str(error):
                raise
            # One of them found fewer. Others must not suffer for it: an answer does not depend on its batch.
            if len(queries) == 1:
                return np.full((1, width), -1, dtype=np.int64)
            return np.concatenate([self._asked(query[None], width, 1) for query in queries])
        return np.asarray(labels).astype(np.int64)

    def _of_usual_length(self, queries: _arrays.Floats) -> _arrays.Floats:
        """Queries of a length that hnswlib can square in float32, where it divides by the norm."""
        return queries / np.abs(queries).max(axis=1, keepdims=True) if self._unit_rows else queries

    def _make_room(self, more: int) -> None:
        needed = len(self) + more
        if needed > self.library.max_elements:
            self.library.resize_index(max(needed, int(self.library.max_elements * _SPARE)))

    def _lacks(self, snapshot: _core.Snapshot, rows: _arrays.Ids, ids: _arrays.Ids) -> _Bools:
        """Which live rows are not in the graph, or there with another vector."""
        lacking = ~np.isin(ids, _labels(self.library))
        known = np.flatnonzero(~lacking)
        for first in range(0, len(known), _BLOCK):
            block = known[first : first + _BLOCK]
            own = snapshot.vectors(rows[block])
            away = np.linalg.norm(self._vectors(ids[block], own) - own, axis=1)
            lacking[block] = ~(away <= _SAME * np.linalg.norm(own, axis=1))
        return lacking

    def _vectors(self, ids: _arrays.Ids, own: _arrays.Floats) -> _arrays.Floats:
        """What the graph has under these labels, NaN where they are marked as deleted."""
        try:
            return np.asarray(self.library.get_items(ids, return_type="numpy"), dtype=np.float32)
        except RuntimeError:
            if len(ids) == 1:
                return np.full_like(own, np.nan)
            halves = zip(np.array_split(ids, 2), np.array_split(own, 2), strict=True)
            return np.concatenate([self._vectors(*half) for half in halves])


def new_graph(index: Any, m: object, ef_construction: object, seed: object) -> Any:
    """An empty ``hnswlib.Index`` for the vectors of a DenseIndex; None stands for what hnswlib does."""
    graph = _hnswlib().Index(space=SPACES[index.metric], dim=index.dim)
    graph.init_index(
        max_elements=max(len(index), 1),
        M=_checks.whole(16 if m is None else m, "m", least=2, most=1024),
        ef_construction=_checks.whole(
            200 if ef_construction is None else ef_construction, "ef_construction", least=1, most=2**20
        ),
        random_seed=_checks.whole(100 if seed is None else seed, "seed", most=2**32 - 1),
    )
    return graph


def require_graph(graph: object, index: Any) -> Any:
    """The graph, if it is one and compares vectors as the DenseIndex does.

    Raises:
        InvalidInput: If it is not.
    """
    if not isinstance(graph, _hnswlib().Index):
        raise InvalidInput(f"graph: expected an hnswlib.Index, or None to build one, got {type(graph).__name__}")
    space = SPACES[index.metric]
    if (graph.space, graph.dim) != (space, index.dim):
        raise InvalidInput(
            f"graph: expected space {space!r} and dim {index.dim}, as the index has metric {index.metric!r}; got "
            f"space {graph.space!r} and dim {graph.dim}; build the graph anew with graph=None"
        )
    if graph.max_elements == 0:  # hnswlib would read memory that it has not got
        raise InvalidInput("graph: expected one with init_index or load_index called, got one without either")
    return graph


def _require_known(graph: Any, ids: _arrays.Ids) -> None:
    """Labels must be ids: row numbers taken for ids would make nonsense of every search."""
    for label in np.setdiff1d(_labels(graph), ids):
        with suppress(RuntimeError):  # it is marked as deleted
            graph.get_items([label], return_type="numpy")
            raise InvalidInput(
                f"graph: label {label} is no id of the index; labels must be ids, and those of rows that were removed "
                "marked as deleted (HnswIndex.sync does that)"
            )


def _labels(graph: Any) -> _arrays.Ids:
    """Ids in the graph, in any order, those marked as deleted included."""
    return np.array(graph.get_ids_list(), dtype=np.uint64).astype(np.int64)


def _hnswlib() -> Any:
    try:
        return importlib.import_module("hnswlib")
    except ImportError as error:
        raise InvalidInput(
            f"hnswlib is not installed or does not load ({error}): pip install hnswlib, or evidex[hnswlib]"
        ) from error
