# SPDX-License-Identifier: Apache-2.0
"""Searching by words, or by sparse vectors: everything goes through the guard."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _arrays, _core
from ..access import Caller
from ..answers import Allow, AnsweredRows, Where, Whole, hit_rows
from ..errors import InvalidInput
from ..hits import Explanation, Hits
from ..stored import Pinned
from ..text import Analyzer
from .asked import AskedTerms, AskedVectors, Run, asked_terms, asked_vectors
from .documents import Queries
from .rows import PostedRows, State
from .statistics import Statistics, chosen_scope

__all__ = ["SparseReader"]


class SparseReader(AnsweredRows):
    """Reading by words. Made by :class:`evidex.SparseIndex`."""

    _store: PostedRows
    _analyzer: Analyzer | None
    _statistics: Statistics

    def search(
        self,
        queries: Queries,
        k: Whole = 10,
        *,
        principal: Caller = None,
        allow: Allow = None,
        where: Where = None,
        group_by: bool = False,
        threads: Whole | None = None,
        scope: str | None = None,
        ranking: str = "bm25",
        k1: float = 1.2,
        b: float = 0.75,
    ) -> Hits:
        """The k best rows the caller may read, per query, of those that have a term of the query: exact and certified.

        Rows without one are no hits, so there are often fewer than k. A query without words, or of words that no row in
        scope has, has none. A word that is in every row counts little, but it does count.

        Args:
            queries: A str, or a sequence of them; or, in place of each str, a mapping from terms to quarters, which is
                taken as it is. Without an analyser sparse vectors, as in :meth:`add`.
            k: At least 0; more than there are matches gives all of them.
            principal: Who reads, on a guarded index: a Principal or UNRESTRICTED.
            allow: Narrows further, and changes no score: see :meth:`DenseIndex.search`.
            where: Narrows further, and changes no score: see :func:`evidex.where`.
            group_by: True gives the best row of each group, and the k best groups by it; see :meth:`add`.
            threads: Most threads to use, 1 to 1024; None for as many as affinity and cgroup quota suggest.
            scope: Over which rows words are counted. ``"permitted"``: those the caller may read, before ``allow`` and
                ``where``; hidden rows then change no bit of the answer, and it is the default. ``"tenant"``: all rows
                of the principal's tenant, so that its principals get the same scores for a row. ``"collection"``: all
                rows. The last two let scores tell how often a word occurs in rows that the caller may not read. On an
                open index there is only the last.
            ranking: ``"bm25"``: BM25 (Robertson and Zaragoza, 2009) with the idf of Lucene, ln(1 + (N - df + 1/2) /
                (df + 1/2)). ``"tfidf"``: the cosine of vectors of tf times that idf (Salton and Buckley, 1988).
            k1: Of BM25: how soon a word that occurs again counts less, 0 (at once) to 1000.
            b: Of BM25: how much long documents are discounted for it, 0 to 1.

        Raises:
            AccessError: On a guarded index without a proper principal.
            StaleMask: If ``allow`` is a mask of another layout.
            InvalidInput: For queries of another kind, text without a UTF-8 form, weights that are negative or not
                finite, numbers out of range, a predicate about a column that the index does not have or that is of
                another type, and arguments that would change nothing.
        """
        run = Run.of(k, group_by, threads)
        asked = self._asked(queries, "queries", ranking, k1, b, scope)
        over = self._scope(scope, principal)
        answer = self._answer("search", self._store.state, asked, over, run, principal, allow, where)
        return Hits(
            answer.ids, answer.scores, answer.counts, answer.certified, run.k, answer.groups if run.grouped else None
        )

    def explain(
        self,
        query: Queries,
        k: Whole = 10,
        *,
        principal: Caller = None,
        allow: Allow = None,
        where: Where = None,
        group_by: bool = False,
        threads: Whole | None = None,
        scope: str | None = None,
        ranking: str = "bm25",
        k1: float = 1.2,
        b: float = 0.75,
    ) -> Explanation:
        """Runs one query and says how. Arguments and errors are those of :meth:`search`, for a single query."""
        run = Run.of(k, group_by, threads)
        asked = self._asked(query, "query", ranking, k1, b, scope)
        if len(asked) != 1:
            raise InvalidInput(f"query: expected one query, got {len(asked)}")
        state = self._store.state
        over = self._scope(scope, principal)
        answer = self._answer("explain", state, asked, over, run, principal, allow, where)
        return self._explanation(
            state.snapshot,
            principal,
            answer,
            run.k,
            {"parts": len(state.parts)},
            plan=_plan(asked, over),
            metric=asked.metric,
            codec="postings",
        )

    def _asked(
        self, queries: object, name: str, ranking: object, k1: object, b: object, scope: object
    ) -> AskedTerms | AskedVectors:
        if self._analyzer is None:
            return asked_vectors(queries, name, ranking, k1, b, scope)
        return asked_terms(queries, self._analyzer, name, ranking, k1, b)

    def _answer(
        self,
        action: str,
        state: State,
        asked: AskedTerms | AskedVectors,
        over: str,
        run: Run,
        principal: object,
        allow: object,
        where: object,
    ) -> _core.Answer:
        snapshot = state.snapshot

        def once() -> tuple[_core.Answer, _core.Bitmask | None]:
            masks, mask_of = self._guard.narrowed_each(snapshot, principal, allow, len(asked), where, state.columns)
            if isinstance(asked, AskedVectors):
                return asked.run(state.view, run, masks, mask_of), None
            counted, counts = self._statistics.of(state, over, principal)
            answer = asked.run(state.view, counts, run, masks, mask_of)
            return answer, counted if over == "permitted" else None

        answer, _ = self._guard.settled(snapshot, principal, once, _rows_that_told)
        self._record_hits(action, snapshot, principal, answer, run.k, lambda mask: _plan(asked, over))
        return answer

    def _scope(self, scope: object, principal: object) -> str:
        return chosen_scope(scope, self._guard.policy is not None, principal)

    def _pinned(self) -> Pinned:
        return self._store.state.snapshot, self._store.state.columns

    def _figures(self) -> dict[str, Any]:
        postings = [part.postings for part in self._store.state.parts]
        entries, bytes_ = sum(one.entries for one in postings), sum(sum(one.sizes.values()) for one in postings)
        return {
            "terms": sum(one.terms for one in postings),
            "entries": entries,
            "bytes": bytes_,
            "bytes_per_entry": bytes_ / entries if entries else 0.0,
            "parts": sum(one.rows > 0 for one in postings),
        }


def _plan(asked: AskedTerms | AskedVectors, over: str) -> str:
    return "sparse dot, exact" if isinstance(asked, AskedVectors) else f"sparse {asked.metric}, exact, scope={over}"


def _rows_that_told(found: tuple[_core.Answer, _core.Bitmask | None]) -> _arrays.Ids:
    """Rows of the hits, and those whose words were counted as the caller's own."""
    answer, counted = found
    if counted is None:
        return hit_rows(answer)
    numbers = np.arange(counted.rows, dtype=np.int64)
    return np.concatenate([hit_rows(answer), numbers[counted.test(numbers)]])
