# SPDX-License-Identifier: Apache-2.0
"""DenseIndex: exact top-k over vectors, for one caller at a time. A thin face of the core."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _arrays, _checks, _core
from .access import UNRESTRICTED, Caller, Policy, Rule
from .errors import InvalidInput, NotFound
from .hits import Explanation, Hits
from .masks import AllowMask, Guard

__all__ = ["DenseIndex"]

Whole: TypeAlias = "int | np.integer[Any]"

_METRICS = {name: facts for facts in _core.metrics() for name in facts[:2]}
_LARGEST_K = 2**63 - 1
_MOST_THREADS = 1024


class DenseIndex:
    """Vectors with ids, searched exactly: the same ids, order and score bits on every machine.

    Scores are higher-is-better: inner product, cosine in [-1, 1], or the negative squared L2 distance. Hits
    are ordered by score descending, then id ascending. Sums are 16 lanes of fused multiply-add reduced by a
    fixed tree, so batch size, threads, row order and instruction set never change a bit.

    Any number of threads may search while one writes; each call sees the index as it was when it started.

    Args:
        dim: Dimension of every vector, at least 1.
        metric: ``"cosine"`` (``"cos"``), ``"inner_product"`` (``"ip"``) or ``"squared_l2"`` (``"l2"``).
        policy: With a policy the index is guarded: rows need rules and every read needs a principal.
            Without one it is open.

    Raises:
        InvalidInput: If an argument is none of these.
    """

    def __init__(self, dim: int, *, metric: str = "cosine", policy: Policy | None = None) -> None:
        if not isinstance(metric, str) or metric not in _METRICS:
            raise InvalidInput(f"metric: expected one of {', '.join(_METRICS)}, got {metric!r}")
        if policy is not None and not isinstance(policy, Policy):
            raise InvalidInput(f"policy: expected a Policy, or None for an open index, got {policy!r}")
        self._dim = _checks.whole(dim, "dim", least=1, most=2**20)
        self._metric, _, number, self._unit_rows = _METRICS[metric]
        self._store = _core.RowStore(self._dim, number)
        self._guard = Guard(policy)

    @property
    def dim(self) -> int:
        """Dimension of every vector."""
        return self._dim

    @property
    def metric(self) -> str:
        """Full name of the metric."""
        return self._metric

    @property
    def policy(self) -> Policy | None:
        """The policy of a guarded index, None for an open one."""
        return self._guard.policy

    def __len__(self) -> int:
        """Rows stored and not removed. The operator's figure: a principal may learn :meth:`count`."""
        return self._store.snapshot().live_rows

    def __repr__(self) -> str:
        guard = "open" if self.policy is None else "guarded"
        return f"DenseIndex({len(self)} rows, dim={self._dim}, metric={self._metric!r}, {guard})"

    def add(
        self,
        ids: npt.ArrayLike | None,
        vectors: npt.ArrayLike,
        rules: Rule | Iterable[Rule] | None = None,
    ) -> _arrays.Ids:
        """Stores new rows, all or none.

        Args:
            ids: int64 [n], distinct and not stored yet; None chooses the next ids above all ever stored.
            vectors: float16, float32 or float64 [n, dim]; stored as float32, under cosine divided by the norm.
            rules: On a guarded index one Rule for all rows or one per row; on an open one None.

        Returns:
            The ids, int64 [n].

        Raises:
            InvalidInput: For an id given twice or stored already, wrong shapes or dtypes, NaN, infinity, a
                zero vector under cosine, a squared norm above 2**125 under the others, another policy's rule.
            AccessError: On a guarded index, for rows without a rule.
        """
        rows = self._rows(vectors)
        if ids is not None:
            return self._write(self._store.add, ids, rows, rules)
        first = self._store.add_automatic(rows, self._rule_numbers(rules, len(rows)))
        return np.arange(first, first + len(rows), dtype=np.int64)

    def upsert(
        self, ids: npt.ArrayLike, vectors: npt.ArrayLike, rules: Rule | Iterable[Rule] | None = None
    ) -> _arrays.Ids:
        """Stores rows, replacing those whose ids are stored already, rule included; all or none.

        Arguments, result and errors are those of :meth:`add`, except that stored ids are welcome.
        """
        return self._write(self._store.upsert, ids, self._rows(vectors), rules)

    def remove(self, ids: npt.ArrayLike) -> None:
        """Removes rows, all or none. Removed ids are never chosen automatically again.

        Raises:
            NotFound: If any id is not stored.
            InvalidInput: For a negative id or one given twice.
        """
        self._store.remove(_arrays.ids(ids))

    def search(
        self,
        queries: npt.ArrayLike,
        k: Whole = 10,
        *,
        principal: Caller = None,
        allow: AllowMask | npt.ArrayLike | None = None,
        threads: Whole | None = None,
    ) -> Hits:
        """The k best rows the caller may read, per query: exact and certified.

        Args:
            queries: float16, float32 or float64 [nq, dim], or [dim] for one query.
            k: At least 0; more than there are rows gives all of them.
            principal: Who reads, on a guarded index: a Principal or UNRESTRICTED.
            allow: Narrows further: an AllowMask of this index, or a bool array aligned with what :meth:`ids`
                returns to the same caller now. None does not narrow.
            threads: Most threads to use, 1 to 1024; None for as many as affinity and cgroup quota suggest.
                Small searches use fewer.

        Raises:
            AccessError: On a guarded index without a proper principal.
            StaleMask: If ``allow`` is a mask of another layout.
            InvalidInput: For wrong shapes, dtypes, lengths or numbers, NaN, infinity, a zero query under cosine.
        """
        snapshot, mask = self._scope(principal, allow)
        vectors = _arrays.queries(queries, self._dim, "queries", scaled=self._unit_rows)
        k = min(_checks.whole(k, "k"), _LARGEST_K)
        ids, scores, _, returned, _ = snapshot.search(vectors, k, mask, _thread_limit(threads))
        nq = len(vectors)
        return Hits(ids, scores, np.full(nq, returned, np.int64), np.full(nq, True), k)

    def radius(
        self,
        queries: npt.ArrayLike,
        min_score: float,
        *,
        limit: Whole | None = None,
        principal: Caller = None,
        allow: AllowMask | npt.ArrayLike | None = None,
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
        snapshot, mask = self._scope(principal, allow)
        vectors = _arrays.queries(queries, self._dim, "queries", scaled=self._unit_rows)
        least = _arrays.score(min_score, "min_score")
        most = _LARGEST_K if limit is None else min(_checks.whole(limit, "limit"), _LARGEST_K)
        ids, scores, counts = snapshot.radius(vectors, least, most, mask, _thread_limit(threads))
        return Hits(ids, scores, counts, np.full(len(vectors), True), 0 if limit is None else most)

    def explain(
        self,
        query: npt.ArrayLike,
        k: Whole = 10,
        *,
        principal: Caller = None,
        allow: AllowMask | npt.ArrayLike | None = None,
        threads: Whole | None = None,
    ) -> Explanation:
        """Runs one query and says how. Arguments and errors are those of :meth:`search`, for a single query."""
        snapshot, mask = self._scope(principal, allow)
        vectors = _arrays.queries(query, self._dim, "query", scaled=self._unit_rows)
        if len(vectors) != 1:
            raise InvalidInput(f"query: expected one query, got {len(vectors)}")
        k = min(_checks.whole(k, "k"), _LARGEST_K)
        ids, scores, permitted, returned, workers = snapshot.search(vectors, k, mask, _thread_limit(threads))
        operator = None
        if self.policy is None or principal is UNRESTRICTED:
            removed = snapshot.rows - snapshot.live_rows
            operator = {"generation": snapshot.generation, "rows": snapshot.rows, "removed": removed}
        return Explanation(
            plan="exact scan",
            metric=self._metric,
            codec="float32",
            k=k,
            permitted=permitted,
            returned=returned,
            certified=True,
            reason="fewer_than_k" if returned < k else None,
            isa=_core.active_isa(),
            threads=workers,
            hits=tuple(zip(ids[0, :returned].tolist(), scores[0, :returned].tolist(), strict=True)),
            operator=operator,
        )

    def get(self, ids: npt.ArrayLike, *, principal: Caller = None) -> _arrays.Floats:
        """Stored vectors, float32 [n, dim] in the order asked for; under cosine the normalised rows.

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

    def _rows(self, vectors: object) -> _arrays.Floats:
        return _arrays.vectors(vectors, self._dim, "vectors", scaled=self._unit_rows)

    def _rule_numbers(self, rules: Rule | Iterable[Rule] | None, rows: int) -> npt.NDArray[np.uint32]:
        if self.policy is not None:
            return self.policy.numbers(rules, rows)
        if rules is not None:
            raise InvalidInput("rules: this index is open and keeps no rules; make it with DenseIndex(..., policy=...)")
        return np.zeros(rows, dtype=np.uint32)

    def _write(
        self,
        write: Callable[[_arrays.Ids, _arrays.Floats, npt.NDArray[np.uint32]], None],
        ids: object,
        rows: _arrays.Floats,
        rules: Rule | Iterable[Rule] | None,
    ) -> _arrays.Ids:
        given = _arrays.ids(ids)
        if len(given) != len(rows):
            raise InvalidInput(f"ids: {len(given)} given for {len(rows)} vectors; pass one id per row")
        write(given, rows, self._rule_numbers(rules, len(rows)))
        return given

    def _scope(self, principal: object, allow: object) -> tuple[_core.Snapshot, _core.Bitmask]:
        """A pinned snapshot and the rows to read in it."""
        snapshot = self._store.snapshot()
        return snapshot, self._guard.narrowed(snapshot, principal, allow)

    def _mask_of_ids(self, ids: object) -> AllowMask:
        wanted = _arrays.ids(ids)
        snapshot, rows = self._store.find(wanted)
        unknown = rows < 0
        if self.policy is None and unknown.any():
            raise InvalidInput(f"ids: {wanted[unknown][0]} is not stored; an open index has no hidden rows")
        return AllowMask(snapshot.layout, _core.Bitmask.from_rows(snapshot.rows, rows))

    def _mask_of_bools(self, allow: object, principal: Caller) -> AllowMask:
        snapshot = self._store.snapshot()
        visible = self._guard.visible(snapshot, principal)
        return AllowMask(snapshot.layout, self._guard.select(snapshot, visible, allow))


def _thread_limit(threads: object) -> int:
    """0 lets the core decide."""
    return 0 if threads is None else _checks.whole(threads, "threads", least=1, most=_MOST_THREADS)
