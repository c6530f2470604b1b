# SPDX-License-Identifier: Apache-2.0
"""From a graph's candidates to an answer: who may read them, whether they are enough, and their exact scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .. import _arrays, _core
from ._hnsw_graph import Graph

__all__ = ["GRAPH_PLAN", "Answer", "Asked", "answered"]

_Bools: TypeAlias = npt.NDArray[np.bool_]
_Numbers: TypeAlias = npt.NDArray[np.uint32]

GRAPH_PLAN = "hnswlib graph, exact scores"

# What a candidate of the graph costs, in rows of an exact search: both grow with the dimension, so their ratio hardly
# changes with it. benchmarks/hnswlib_adapter.py prints what either costs.
_ROWS_PER_CANDIDATE = 200
_LEAST_PART = 4  # a beam must hold ef_search / 4 permitted rows; where the mask avoids a query it is made wider
_WIDER = 4
_MASK_BYTES = 64 * 2**20  # of candidates' masks at a time
_WIDEST_PADDING = 65536  # as in the core

_NO_NUMBERS = np.empty(0, dtype=np.uint32)
_NOTHING = _core.Bitmask.from_rows(0, np.empty(0, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Asked:
    """Queries float32 [nq, dim], how many hits and how wide a beam, the rows each may get, and the most threads."""

    vectors: _arrays.Floats
    k: int
    ef: int
    masks: list[_core.Bitmask]
    mask_of: _Numbers
    threads: int


@dataclass(frozen=True, eq=False)
class Answer:
    """What a call found, and how.

    Attributes:
        ids, scores, counts: As in Hits.
        rows: int64 [nq, width], the rows behind the ids, -1 beyond a query's count.
        exact: bool [nq], which queries were answered without the graph.
        permitted: Rows each mask permits.
        plans: How the queries went, each way once.
        widest: The widest beam of the graph, 0 where it was not asked.
        workers: Threads that took part in scoring.
        abandoned: Whether an exact search's codes told too little.
    """

    ids: _arrays.Ids
    scores: _arrays.Floats
    counts: _arrays.Ids
    rows: _arrays.Ids
    exact: _Bools
    permitted: list[int]
    plans: list[str]
    widest: int
    workers: int
    abandoned: bool


def answered(
    graph: Graph, store: _core.RowStore, snapshot: _core.Snapshot, asked: Asked, plan: Callable[[_core.MaskPlan], str]
) -> Answer:
    """The k best of each query's candidates; of all it may read where the graph does not pay or finds too few.

    Args:
        graph: Where candidates come from.
        store: Knows the rows of ids.
        snapshot: What is read.
        asked: The queries.
        plan: Names the way of an exact search.

    Raises:
        InvalidInput: For queries that the core refuses; the graph never sees them.
    """
    nq = len(asked.vectors)
    permitted = [snapshot.count(mask) for mask in asked.masks]
    walks = [
        (queries, _Walk(graph, store, snapshot, asked, number, permitted[number]))
        for number, queries in _sharing(asked.mask_of, nq)
    ]
    walks = [(queries, walk) for queries, walk in walks if walk.pays(walk.width)]
    if not walks:
        return _without_graph(snapshot, asked, permitted, plan)
    # The core looks at queries before the graph does, and an empty mask costs it nothing.
    snapshot.search(asked.vectors, 0, [_NOTHING], _NO_NUMBERS, asked.threads, False)
    exact = np.full(nq, True)
    found = [answer for queries, walk in walks for answer in walk.answers(queries)]
    for queries, _ in found:
        exact[queries] = False
    plans = {GRAPH_PLAN} if found else set()
    alone = np.flatnonzero(exact)
    if len(alone):
        mask_of = asked.mask_of[alone] if len(asked.mask_of) else asked.mask_of
        answer = snapshot.search(asked.vectors[alone], asked.k, asked.masks, mask_of, asked.threads, False)
        found.append((alone, answer))
        plans |= _plans(answer, mask_of, plan)
    ids, scores, counts, rows = _together(nq, asked.k, found)
    return Answer(
        ids=ids,
        scores=scores,
        counts=counts,
        rows=rows,
        exact=exact,
        permitted=permitted,
        plans=sorted(plans),
        widest=max((walk.widest for _, walk in walks), default=0),
        workers=max((answer.workers for _, answer in found), default=1),
        abandoned=any(answer.abandoned > 0 for _, answer in found),
    )


def _without_graph(
    snapshot: _core.Snapshot, asked: Asked, permitted: list[int], plan: Callable[[_core.MaskPlan], str]
) -> Answer:
    """As the index answers: what is asked of it under selective masks should cost what that costs."""
    answer = snapshot.search(asked.vectors, asked.k, asked.masks, asked.mask_of, asked.threads, False)
    return Answer(
        ids=answer.ids,
        scores=answer.scores,
        counts=answer.counts,
        rows=answer.rows,
        exact=answer.certified,
        permitted=permitted,
        plans=sorted(_plans(answer, asked.mask_of, plan)),
        widest=0,
        workers=answer.workers,
        abandoned=answer.abandoned > 0,
    )


def _plans(answer: _core.Answer, mask_of: _Numbers, plan: Callable[[_core.MaskPlan], str]) -> set[str]:
    """What the ways are called that an exact search went."""
    return {plan(answer.masks[number]) for number in set(mask_of.tolist() or [0])}


class _Walk:
    """Candidates for queries that may read the same rows. It begins with a beam as wide as holds enough of them."""

    def __init__(
        self,
        graph: Graph,
        store: _core.RowStore,
        snapshot: _core.Snapshot,
        asked: Asked,
        number: int,
        permitted: int,
    ) -> None:
        self._graph, self._store, self._snapshot = graph, store, snapshot
        self._asked, self._mask, self._permitted = asked, asked.masks[number], permitted
        self._needed = min(asked.k, permitted)
        self.width = -(-max(asked.ef, self._needed) * snapshot.live_rows // max(permitted, 1))
        self.widest = 0

    @cached_property
    def _beside(self) -> _arrays.Ids:
        """Permitted rows that the graph may lack."""
        beside = self._graph.reach.beside(self._snapshot)
        return beside[self._snapshot.readable(self._mask, beside)] if len(beside) else beside

    def pays(self, width: int) -> bool:
        """Whether a beam and the rows beside it cost less than all permitted rows."""
        left = self._permitted - _ROWS_PER_CANDIDATE * width
        return self._needed > 0 and left > 0 and len(self._beside) < left

    def answers(self, queries: _arrays.Ids) -> Iterator[tuple[_arrays.Ids, _core.Answer]]:
        """The best candidates of those of the queries for which the graph is the better way."""
        asked, rows = self._asked, self._snapshot.rows
        at_once = max(1, min(1024, _MASK_BYTES // (rows // 8 + 1)))  # each has a mask of its own
        for first in range(0, len(queries), at_once):
            some = queries[first : first + at_once]
            of_each = self.candidates(asked.vectors[some])
            masks = [_core.Bitmask.from_rows(rows, candidates) for candidates in of_each if candidates is not None]
            if masks:
                those = some[[candidates is not None for candidates in of_each]]
                each = np.arange(len(masks), dtype=np.uint32)
                yield those, self._snapshot.search(asked.vectors[those], asked.k, masks, each, asked.threads, False)

    def candidates(self, vectors: _arrays.Floats) -> list[_arrays.Ids | None]:
        """Permitted rows for each query, at least as many as are needed; None where an exact search costs less."""
        found: list[_arrays.Ids | None] = [None] * len(vectors)
        pending, width = np.arange(len(vectors)), self.width
        while len(pending) > 0 and self.pays(width):
            rows = self._permitted_rows(vectors[pending], width)
            permitted = rows >= 0
            enough = permitted.sum(axis=1) >= max(self._needed, self._asked.ef // _LEAST_PART)
            for at in np.flatnonzero(enough).tolist():
                found[pending[at]] = np.concatenate([rows[at][permitted[at]], self._beside])
            pending = pending[~enough]
            width *= _WIDER
        return found

    def _permitted_rows(self, vectors: _arrays.Floats, width: int) -> _arrays.Ids:
        """Rows of the graph's labels, -1 for those that are not permitted, gone, or of no id."""
        labels = self._graph.nearest(vectors, width, self._asked.threads or _core.default_threads())
        self.widest = max(self.widest, labels.shape[1])
        rows = self._store.rows_in(self._snapshot, np.maximum(labels, 0).ravel())
        return np.where(self._mask.test(rows) & (labels.ravel() >= 0), rows, -1).reshape(labels.shape)


def _sharing(mask_of: _Numbers, nq: int) -> list[tuple[int, _arrays.Ids]]:
    """Each mask's number, and the queries that have it."""
    if len(mask_of) == 0:
        return [(0, np.arange(nq))]
    return [(number, np.flatnonzero(mask_of == number)) for number in np.unique(mask_of).tolist()]


def _together(
    nq: int, k: int, found: list[tuple[_arrays.Ids, _core.Answer]]
) -> tuple[_arrays.Ids, _arrays.Floats, _arrays.Ids, _arrays.Ids]:
    """Answers to some of the queries each, as one: ids, scores, counts and rows."""
    if len(found) == 1 and len(found[0][0]) == nq:
        _, answer = found[0]
        return answer.ids, answer.scores, answer.counts, answer.rows
    width = k if k <= _WIDEST_PADDING else max((answer.ids.shape[1] for _, answer in found), default=0)
    ids, rows = np.full((nq, width), -1, dtype=np.int64), np.full((nq, width), -1, dtype=np.int64)
    scores, counts = np.full((nq, width), -np.inf, dtype=np.float32), np.zeros(nq, dtype=np.int64)
    for queries, answer in found:
        own = answer.ids.shape[1]
        ids[queries, :own], scores[queries, :own], rows[queries, :own] = answer.ids, answer.scores, answer.rows
        counts[queries] = answer.counts
    return ids, scores, counts, rows
