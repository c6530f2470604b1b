# SPDX-License-Identifier: Apache-2.0
"""Searching: everything goes through the guard."""

from __future__ import annotations

import numpy.typing as npt

from . import _arrays, _checks, _core
from .access import Caller
from .answers import LARGEST_K, Allow, AnsweredRows, Where, Whole, hit_rows, thread_limit, whole_k
from .codes import Way, chosen_way, exact_plan
from .errors import InvalidInput
from .hits import Explanation, Hits
from .stored import Pinned
from .vectors import StoredVectors

__all__ = ["VectorReader"]


class VectorReader(StoredVectors, AnsweredRows):
    """Reading by likeness. Made by :class:`evidex.DenseIndex`."""

    def search(
        self,
        queries: npt.ArrayLike,
        k: Whole = 10,
        *,
        principal: Caller = None,
        allow: Allow = None,
        where: Where = None,
        group_by: bool = False,
        threads: Whole | None = None,
        recall: float = 1.0,
        rescore: Whole | None = None,
        plan: str | None = None,
    ) -> Hits:
        """The k best rows the caller may read, per query: exact and certified, unless less is asked for.

        Args:
            queries: float16, float32 or float64 [nq, dim], or [dim] for one query.
            k: At least 0; more than there are rows gives all of them.
            principal: Who reads, on a guarded index: a Principal or UNRESTRICTED.
            allow: Narrows further: an AllowMask of this index, or a bool array aligned with what :meth:`ids`
                returns to the same caller now. One for each query: a list or tuple of nq AllowMasks (name one mask
                several times and its queries are searched together), or bools [nq, n]. None does not narrow.
            where: Narrows further, to the rows whose columns match a predicate, or one for each query: see
                :func:`evidex.where`. None does not narrow.
            group_by: True gives the best row of each group, and the k best groups by it; see :meth:`add`.
            threads: Most threads to use, 1 to 1024; None for as many as affinity and cgroup quota suggest.
                Small searches use fewer.
            recall: Share of the k best that should be found on average, above 0. Below 1 a search may go by the codes
                that :meth:`train` made, where that costs less, and its hits are not certified; their scores are exact
                all the same, there are never fewer than min(k, permitted), and nothing else is ever found. Exact
                without codes, with ``group_by``, and where codes cannot reach the target.
            rescore: With a recall below 1: how many rows are scored for each query, at least k. None: as many as the
                target needed for rows of the index that were asked for like queries.
            plan: Runs as another search did: what :meth:`explain` or the log called its plan, or ``"exact"``.

        Raises:
            AccessError: On a guarded index without a proper principal.
            StaleMask: If ``allow`` is a mask of another layout.
            InvalidInput: For wrong shapes, dtypes, lengths or numbers, NaN, infinity, a zero query under cosine,
                a predicate about a column that the index does not have or that is of another type, a plan that the
                index holds no codes for, and arguments that contradict each other.
        """
        pinned = self._pinned()
        way = chosen_way(self._codes, pinned[0], whole_k(k), recall, rescore, plan)
        answer = self._best("search", pinned, queries, k, principal, allow, where, group_by, threads, way)
        groups = answer.groups if group_by else None
        return Hits(answer.ids, answer.scores, answer.counts, answer.certified, whole_k(k), groups)

    def radius(
        self,
        queries: npt.ArrayLike,
        min_score: float,
        *,
        limit: Whole | None = None,
        principal: Caller = None,
        allow: Allow = None,
        where: Where = None,
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
            where: As in :meth:`search`.
            threads: As in :meth:`search`.

        Returns:
            Hits as wide as the largest count. ``reason`` is ``"fewer_than_k"`` where a limit was not reached.

        Raises:
            AccessError, StaleMask: As in :meth:`search`.
            InvalidInput: As in :meth:`search`, and for a ``min_score`` that is not a finite number.
        """
        snapshot, columns = self._pinned()
        vectors = self._queries(queries, "queries")
        least = _arrays.score(min_score, "min_score")
        most = LARGEST_K if limit is None else min(_checks.whole(limit, "limit"), LARGEST_K)
        limit_ = thread_limit(threads)

        def run() -> _core.Answer:
            visible = self._guard.visible(snapshot, principal)
            masks, mask_of = self._guard.narrowed_each(snapshot, visible, allow, len(vectors), where, columns)
            return snapshot.radius(vectors, least, most, masks, mask_of, limit_)

        answer = self._guard.settled(snapshot, principal, run, hit_rows)
        self._record_hits("radius", snapshot, principal, answer, None if limit is None else most, self._plan)
        return Hits(answer.ids, answer.scores, answer.counts, answer.certified, 0 if limit is None else most)

    def neighbours(
        self,
        ids: npt.ArrayLike,
        k: Whole = 10,
        *,
        principal: Caller = None,
        allow: Allow = None,
        where: Where = None,
        group_by: bool = False,
        threads: Whole | None = None,
    ) -> Hits:
        """The k best rows for each of some stored rows, themselves included if they are among them.

        Arguments, result and errors are those of :meth:`search`, with the vectors of ``ids`` as queries.

        Raises:
            NotFound: If any id is unknown or hidden from the caller; the two look the same.
        """
        vectors = self.get(ids, principal=principal)
        return self.search(
            vectors, k, principal=principal, allow=allow, where=where, group_by=group_by, threads=threads
        )

    def explain(
        self,
        query: npt.ArrayLike,
        k: Whole = 10,
        *,
        principal: Caller = None,
        allow: Allow = None,
        where: Where = None,
        group_by: bool = False,
        threads: Whole | None = None,
        recall: float = 1.0,
        rescore: Whole | None = None,
        plan: str | None = None,
    ) -> Explanation:
        """Runs one query and says how. Arguments and errors are those of :meth:`search`, for a single query."""
        given = len(self._queries(query, "query"))
        if given != 1:
            raise InvalidInput(f"query: expected one query, got {given}")
        pinned = snapshot, _ = self._pinned()
        way = chosen_way(self._codes, snapshot, whole_k(k), recall, rescore, plan)
        answer = self._best("explain", pinned, query, k, principal, allow, where, group_by, threads, way)
        return self._explanation(
            snapshot,
            principal,
            answer,
            whole_k(k),
            {"abandoned": answer.abandoned > 0},
            plan=self._plan(answer.masks[0], way),
            metric=self._metric,
            codec=self._codec,
        )

    def _best(
        self,
        action: str,
        pinned: Pinned,
        queries: object,
        k: object,
        principal: object,
        allow: object,
        where: object,
        group_by: object,
        threads: object,
        way: Way | None = None,
    ) -> _core.Answer:
        snapshot, columns = pinned
        vectors = self._queries(queries, "query" if action == "explain" else "queries")
        grouped = _checks.flag(group_by, "group_by")
        most, limit = whole_k(k), thread_limit(threads)

        def run() -> _core.Answer:
            visible = self._guard.visible(snapshot, principal)
            masks, mask_of = self._guard.narrowed_each(snapshot, visible, allow, len(vectors), where, columns)
            if way is None:
                return snapshot.search(vectors, most, masks, mask_of, limit, grouped)
            return way.codes.core.search(
                snapshot, vectors, most, masks, mask_of, limit, grouped, way.candidates, way.forced, way.costs
            )

        answer = self._guard.settled(snapshot, principal, run, hit_rows)
        self._record_hits(action, snapshot, principal, answer, most, lambda mask: self._plan(mask, way))
        return answer

    def _plan(self, mask: _core.MaskPlan, way: Way | None = None) -> str:
        return way.plan if way is not None and mask.lookup else exact_plan(self._codec, mask.prescan)
