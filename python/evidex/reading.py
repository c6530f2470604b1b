# SPDX-License-Identifier: Apache-2.0
"""The reading half of an index: everything in it goes through the guard."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _arrays, _checks, _core
from .access import UNRESTRICTED, Caller
from .errors import InvalidInput, NotFound
from .hits import Explanation, Hits
from .masks import AllowMask, Guard

__all__ = ["Allow", "VectorReader", "Whole"]

Whole: TypeAlias = "int | np.integer[Any]"
Allow: TypeAlias = "AllowMask | npt.ArrayLike | list[AllowMask] | tuple[AllowMask, ...] | None"

_LARGEST_K = 2**63 - 1
_MOST_THREADS = 1024


class VectorReader:
    """What can be read of stored vectors, by whom. Made by :class:`evidex.DenseIndex`."""

    _store: _core.RowStore
    _guard: Guard
    _dim: int
    _metric: str
    _codec: str
    _unit_rows: bool

    def search(
        self,
        queries: npt.ArrayLike,
        k: Whole = 10,
        *,
        principal: Caller = None,
        allow: Allow = None,
        group_by: bool = False,
        threads: Whole | None = None,
    ) -> Hits:
        """The k best rows the caller may read, per query: exact and certified.

        Args:
            queries: float16, float32 or float64 [nq, dim], or [dim] for one query.
            k: At least 0; more than there are rows gives all of them.
            principal: Who reads, on a guarded index: a Principal or UNRESTRICTED.
            allow: Narrows further: an AllowMask of this index, or a bool array aligned with what :meth:`ids`
                returns to the same caller now. One for each query: a list or tuple of nq AllowMasks (name one mask
                several times and its queries are searched together), or bools [nq, n]. None does not narrow.
            group_by: True gives the best row of each group, and the k best groups by it; see :meth:`add`.
            threads: Most threads to use, 1 to 1024; None for as many as affinity and cgroup quota suggest.
                Small searches use fewer.

        Raises:
            AccessError: On a guarded index without a proper principal.
            StaleMask: If ``allow`` is a mask of another layout.
            InvalidInput: For wrong shapes, dtypes, lengths or numbers, NaN, infinity, a zero query under cosine.
        """
        answer = self._best(queries, "queries", k, principal, allow, group_by, threads)
        certified = np.full(len(answer.counts), True)
        groups = answer.groups if group_by else None
        return Hits(answer.ids, answer.scores, answer.counts, certified, _k(k), groups)

    def radius(
        self,
        queries: npt.ArrayLike,
        min_score: float,
        *,
        limit: Whole | None = None,
        principal: Caller = None,
        allow: Allow = None,
        threads: Whole | None = None,
    ) -> Hits:
        """All rows the caller may read that score ``min_score`` or more, best first: exact and certified.

        Args:
            queries: As in :meth:`search`.
            min_score: Inclusive, rounded to float32 first, since scores are float32. Under squared L2 scores are
                negative: for the rows within distance d of a query it is -d**2.
            limit: Most hits per query, the best ones; None for no limit.
            principal: As in :meth:`search`.
            allow: As in :meth:`search`.
            threads: As in :meth:`search`.

        Returns:
            Hits as wide as the largest count. ``reason`` is ``"fewer_than_k"`` where a limit was not reached.

        Raises:
            AccessError, StaleMask: As in :meth:`search`.
            InvalidInput: As in :meth:`search`, and for a ``min_score`` that is not a finite number.
        """
        vectors = self._queries(queries, "queries")
        snapshot, masks, mask_of = self._scopes(principal, allow, len(vectors))
        least = _arrays.score(min_score, "min_score")
        most = _LARGEST_K if limit is None else min(_checks.whole(limit, "limit"), _LARGEST_K)
        answer = snapshot.radius(vectors, least, most, masks, mask_of, _thread_limit(threads))
        certified = np.full(len(vectors), True)
        return Hits(answer.ids, answer.scores, answer.counts, certified, 0 if limit is None else most)

    def explain(
        self,
        query: npt.ArrayLike,
        k: Whole = 10,
        *,
        principal: Caller = None,
        allow: Allow = None,
        group_by: bool = False,
        threads: Whole | None = None,
    ) -> Explanation:
        """Runs one query and says how. Arguments and errors are those of :meth:`search`, for a single query."""
        given = len(self._queries(query, "query"))
        if given != 1:
            raise InvalidInput(f"query: expected one query, got {given}")
        snapshot = self._store.snapshot()
        answer = self._best(query, "query", k, principal, allow, group_by, threads)
        operator = None
        if self._guard.policy is None or principal is UNRESTRICTED:
            operator = {
                "generation": snapshot.generation,
                "rows": snapshot.rows,
                "removed": snapshot.rows - snapshot.live_rows,
                "abandoned": answer.abandoned > 0,
            }
        returned = int(answer.counts[0])
        of_decoded = "" if self._codec == "float32" else f" of decoded {self._codec} rows"
        return Explanation(
            plan=("exact pre-scan" if answer.masks[0].prescan else "exact scan") + of_decoded,
            metric=self._metric,
            codec=self._codec,
            k=_k(k),
            permitted=answer.masks[0].permitted,
            returned=returned,
            certified=True,
            reason="fewer_than_k" if returned < _k(k) else None,
            isa=_core.active_isa(),
            threads=answer.workers,
            hits=tuple(zip(answer.ids[0, :returned].tolist(), answer.scores[0, :returned].tolist(), strict=True)),
            operator=operator,
        )

    def get(self, ids: npt.ArrayLike, *, principal: Caller = None) -> _arrays.Floats:
        """Stored vectors, float32 [n, dim] in the order asked for.

        They are what is scored: normalised under cosine, decoded from float16 or int8.

        Raises:
            NotFound: If any id is unknown or hidden from the caller; the two look the same.
            AccessError: On a guarded index without a proper principal.
        """
        wanted = _arrays.ids(ids)
        snapshot, rows = self._store.find(wanted)
        readable = self._guard.visible(snapshot, principal).test(rows)
        if not readable.all():
            raise NotFound(f"no such id: {wanted[~readable][0]}")
        return snapshot.vectors(rows)

    def ids(self, *, principal: Caller = None) -> _arrays.Ids:
        """Ids the caller may read, int64 [n], in row order: what a bool ``allow`` is aligned with."""
        snapshot, mask = self._scope(principal, None)
        return snapshot.ids(mask)

    def count(self, *, principal: Caller = None) -> int:
        """How many rows the caller may read."""
        snapshot, mask = self._scope(principal, None)
        return snapshot.count(mask)

    def _queries(self, value: object, name: str) -> _arrays.Floats:
        return _arrays.queries(value, self._dim, name, scaled=self._unit_rows)

    def _best(
        self,
        queries: object,
        name: str,
        k: object,
        principal: object,
        allow: object,
        group_by: object,
        threads: object,
    ) -> _core.Answer:
        vectors = self._queries(queries, name)
        snapshot, masks, mask_of = self._scopes(principal, allow, len(vectors))
        grouped = _checks.flag(group_by, "group_by")
        return snapshot.search(vectors, _k(k), masks, mask_of, _thread_limit(threads), grouped)

    def _scopes(
        self, principal: object, allow: object, nq: int
    ) -> tuple[_core.Snapshot, list[_core.Bitmask], npt.NDArray[np.uint32]]:
        """A pinned snapshot, the rows to read in it, and which of those masks each query has."""
        snapshot = self._store.snapshot()
        masks, mask_of = self._guard.narrowed_each(snapshot, principal, allow, nq)
        return snapshot, masks, mask_of

    def _scope(self, principal: object, allow: object) -> tuple[_core.Snapshot, _core.Bitmask]:
        """A pinned snapshot and the rows to read in it."""
        snapshot = self._store.snapshot()
        return snapshot, self._guard.narrowed(snapshot, principal, allow)

    def _mask_of_ids(self, ids: object) -> AllowMask:
        wanted = _arrays.ids(ids)
        snapshot, rows = self._store.find(wanted)
        unknown = rows < 0
        if self._guard.policy is None and unknown.any():
            raise InvalidInput(f"ids: {wanted[unknown][0]} is not stored; an open index has no hidden rows")
        return AllowMask(snapshot.layout, _core.Bitmask.from_rows(snapshot.rows, rows))

    def _mask_of_bools(self, allow: object, principal: Caller) -> AllowMask:
        snapshot = self._store.snapshot()
        visible = self._guard.visible(snapshot, principal)
        return AllowMask(snapshot.layout, self._guard.select(snapshot, visible, allow))


def _k(k: object) -> int:
    return min(_checks.whole(k, "k"), _LARGEST_K)


def _thread_limit(threads: object) -> int:
    """0 lets the core decide."""
    return 0 if threads is None else _checks.whole(threads, "threads", least=1, most=_MOST_THREADS)
