# SPDX-License-Identifier: Apache-2.0
"""An hnswlib graph searched under the rules, rights and masks of a DenseIndex.

The graph only names candidates. Who may read them, their scores and their order are the index's, and so is the answer
wherever the graph's would be short.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from .. import _arrays, _checks, _core
from ..access import UNRESTRICTED, Caller
from ..answers import Allow, Where, Whole
from ..errors import InvalidInput
from ..hits import Explanation, Hits
from ..index import DenseIndex
from ._hnsw_graph import Graph, new_graph, require_graph
from ._hnsw_search import Answer, Asked, answered

__all__ = ["HnswIndex"]

_MOST_THREADS = 1024
_LARGEST_K = 2**63 - 1


class HnswIndex:
    """An HNSW graph of hnswlib over the rows of a DenseIndex, searched for one caller at a time.

    Hits are a subset of what the caller may read by the newest rights, never fewer than min(k, permitted), in the order
    and with the score bits of :meth:`DenseIndex.search`; only which rows they are is approximate. The graph is asked
    for more rows the fewer are permitted, and permitted ones are picked from what it returns: no Python function is
    called for a row. Where an exact search of the permitted rows costs less, or the graph finds too few of them, the
    index answers alone: those queries are exact and certified.

    The index is the truth. Rows removed from it are never returned; rows added or replaced since the graph last took in
    rows are searched exactly beside it, which costs time until :meth:`sync`. After :meth:`DenseIndex.optimize` the
    graph is not asked until :meth:`sync`. Change the graph only through :meth:`sync`, and search it only here: an
    ``hnswlib.Index`` knows no rights.

    The graph is shared by all callers, so P2 does not hold bit for bit: hidden rows shape it, and take places in its
    beam. They can change which permitted rows are found and which queries are certified, not how many rows are found or
    what their scores are. The same graph, rows and rights give the same answer for every batch and thread count.

    Any number of threads may search; while :meth:`sync` adds a few rows at a time they wait.

    Args:
        index: Owns ids, rows, rules and columns.
        graph: An ``hnswlib.Index`` of the same dimension and space whose labels are ids of the index, or None to build
            one over all its rows. The rows of a given one are compared with the index: those that it has with another
            vector, more than a tenth of its length away, count as missing.
        m: Links per row of a new graph, 2 to 1024; None for 16.
        ef_construction: Width of the search for links in a new graph, at least 1; None for 200.
        seed: Of a new graph; None for 100.
        threads: For building, 1 to 1024. With 1 equal rows and seed make an equal graph; more are faster and do not.

    Raises:
        InvalidInput: If hnswlib is not installed, the index is no DenseIndex, the graph does not go with it, or an
            argument of a new graph comes with a given one.

    Source of the graph: Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using
    hierarchical navigable small world graphs", TPAMI 2020.
    """

    def __init__(
        self,
        index: DenseIndex,
        graph: Any = None,
        *,
        m: Whole | None = None,
        ef_construction: Whole | None = None,
        seed: Whole | None = None,
        threads: Whole = 1,
    ) -> None:
        if not isinstance(index, DenseIndex):
            raise InvalidInput(f"index: expected a DenseIndex, which holds the rows, got {type(index).__name__}")
        limit = _threads(threads)
        built = graph is None
        if built:
            graph = new_graph(index, m, ef_construction, seed)
        for name, given in (("m", m), ("ef_construction", ef_construction), ("seed", seed)):
            if given is not None and not built:
                raise InvalidInput(f"{name}: a graph that is given has its own; leave it out, or build with graph=None")
        self._index = index
        snapshot = index._store.snapshot()
        self._graph = Graph(require_graph(graph, index), snapshot, unit_rows=index._unit_rows)
        if built:
            self._graph.take_in(snapshot, limit)

    @property
    def graph(self) -> Any:
        """The ``hnswlib.Index``, for saving: it holds hidden rows too and knows no rights."""
        return self._graph.library

    def __repr__(self) -> str:
        return f"HnswIndex({self._index!r}, {len(self._graph)} rows in the graph)"

    def sync(self, *, threads: Whole = 1) -> int:
        """Takes rows into the graph that were added or replaced, and marks as deleted in it those that were removed.

        Args:
            threads: As for building.

        Returns:
            How many rows were added or replaced.
        """
        return self._graph.take_in(self._index._store.snapshot(), _threads(threads))

    def search(
        self,
        queries: npt.ArrayLike,
        k: Whole = 10,
        *,
        ef_search: Whole = 100,
        principal: Caller = None,
        allow: Allow = None,
        where: Where = None,
        threads: Whole | None = None,
    ) -> Hits:
        """About the k best rows the caller may read, per query: min(k, permitted) of them.

        Args:
            queries: As in :meth:`DenseIndex.search`.
            k: At least 0.
            ef_search: How many permitted rows the graph's beam holds on average, at least 1; at least k and the graph's
                own ``ef`` are held anyway. More find better rows in more time.
            principal: As in :meth:`DenseIndex.search`.
            allow: As in :meth:`DenseIndex.search`.
            where: As in :meth:`DenseIndex.search`.
            threads: As in :meth:`DenseIndex.search`.

        Returns:
            Hits, ``certified`` where the index answered the query alone. A certified answer is exact; one that is not
            may be, too.

        Raises:
            AccessError, StaleMask, InvalidInput, NotLogged: As in :meth:`DenseIndex.search`.
        """
        return self._best("search", queries, k, ef_search, principal, allow, where, threads)[0]

    def explain(
        self,
        query: npt.ArrayLike,
        k: Whole = 10,
        *,
        ef_search: Whole = 100,
        principal: Caller = None,
        allow: Allow = None,
        where: Where = None,
        threads: Whole | None = None,
    ) -> Explanation:
        """Runs one query and says how. Arguments and errors are those of :meth:`search`, for a single query.

        ``plan`` says whether the graph named candidates or the index answered alone. ``operator``, for open indexes and
        UNRESTRICTED only, has beside what :meth:`DenseIndex.explain` says the rows in the graph, the rows that are
        searched beside it, and the widest beam that was asked for.
        """
        given = len(self._index._queries(query, "query"))
        if given != 1:
            raise InvalidInput(f"query: expected one query, got {given}")
        hits, snapshot, answer = self._best("explain", query, k, ef_search, principal, allow, where, threads)
        operator = None
        if self._index.policy is None or principal is UNRESTRICTED:
            operator = {
                "generation": snapshot.generation,
                "rows": snapshot.rows,
                "removed": snapshot.rows - snapshot.live_rows,
                "abandoned": answer.abandoned,
                "graph": len(self._graph),
                "beside": len(self._graph.reach.beside(snapshot)),
                "candidates": answer.widest,
            }
        ids, scores = hits[0]
        return Explanation(
            plan=answer.plans[0],
            metric=self._index.metric,
            codec=self._index.codec,
            k=hits.k,
            permitted=answer.permitted[0],
            returned=len(ids),
            certified=bool(hits.certified[0]),
            reason=hits.reason[0],
            isa=_core.active_isa(),
            threads=answer.workers,
            hits=tuple(zip(ids.tolist(), scores.tolist(), strict=True)),
            operator=operator,
        )

    def _best(
        self,
        action: str,
        queries: object,
        k: object,
        ef_search: object,
        principal: object,
        allow: object,
        where: object,
        threads: object,
    ) -> tuple[Hits, _core.Snapshot, Answer]:
        index, guard = self._index, self._index._guard
        vectors = index._queries(queries, "query" if action == "explain" else "queries")
        most = min(_checks.whole(k, "k"), _LARGEST_K)
        ef = _checks.whole(ef_search, "ef_search", least=1, most=_LARGEST_K)
        limit = 0 if threads is None else _threads(threads)
        snapshot, columns = index._pinned()

        def run() -> Answer:
            visible = guard.visible(snapshot, principal)
            masks, mask_of = guard.narrowed_each(snapshot, visible, allow, len(vectors), where, columns)
            asked = Asked(vectors, most, ef, masks, mask_of, limit)
            return answered(self._graph, index._store, snapshot, asked, index._plan)

        answer = guard.settled(snapshot, principal, run, _rows)
        hits = Hits(answer.ids, answer.scores, answer.counts, answer.exact, most)
        if index._log is not None:
            found, scored = [ids for ids, _ in hits], [scores for _, scores in hits]
            index._record(action, snapshot, principal, plan=", ".join(answer.plans), k=most, ids=found, scores=scored)
        return hits, snapshot, answer


def _rows(answer: Answer) -> _arrays.Ids:
    return answer.rows.ravel()


def _threads(threads: object) -> int:
    return _checks.whole(threads, "threads", least=1, most=_MOST_THREADS)
