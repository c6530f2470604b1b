# SPDX-License-Identifier: Apache-2.0
"""What every search says of itself: to its caller, to the log, and of how it ran."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _arrays, _checks, _core
from .access import UNRESTRICTED
from .hits import Explanation
from .masks import AllowMask
from .predicates import Predicate
from .stored import StoredRows

__all__ = ["LARGEST_K", "Allow", "AnsweredRows", "Where", "Whole", "hit_rows", "thread_limit", "whole_k"]

Whole: TypeAlias = "int | np.integer[Any]"
Allow: TypeAlias = "AllowMask | npt.ArrayLike | list[AllowMask] | tuple[AllowMask, ...] | None"
Where: TypeAlias = "Predicate | list[Predicate | None] | tuple[Predicate | None, ...] | None"

LARGEST_K = 2**63 - 1
"""What stands for no limit."""

_MOST_THREADS = 1024


class AnsweredRows(StoredRows):
    """Rows that are searched, in whatever way."""

    def _record_hits(
        self,
        action: str,
        snapshot: _core.Snapshot,
        principal: object,
        answer: _core.Answer,
        k: int | None,
        plan: Callable[[_core.MaskPlan], str],
    ) -> None:
        if self._log is None:
            return
        plans = ", ".join(sorted({plan(mask) for mask in answer.masks}))
        ids, scores, counts = answer.ids, answer.scores, answer.counts.tolist()
        found = [ids[query, :count] for query, count in enumerate(counts)]
        scored = [scores[query, :count] for query, count in enumerate(counts)]
        self._record(action, snapshot, principal, plan=plans, k=k, ids=found, scores=scored)

    def _explanation(
        self,
        snapshot: _core.Snapshot,
        principal: object,
        answer: _core.Answer,
        k: int,
        operator: dict[str, Any],
        **said: str,
    ) -> Explanation:
        """Of the first query; ``operator`` is what only an operator may learn, beside what all searches tell it."""
        everything = None
        if self._guard.policy is None or principal is UNRESTRICTED:
            everything = {
                "generation": snapshot.generation,
                "rows": snapshot.rows,
                "removed": snapshot.rows - snapshot.live_rows,
                **operator,
            }
        returned = int(answer.counts[0])
        return Explanation(
            **said,
            k=k,
            permitted=answer.masks[0].permitted,
            returned=returned,
            certified=bool(answer.certified[0]),
            reason="fewer_than_k" if returned < k else None,
            isa=_core.active_isa(),
            threads=answer.workers,
            hits=tuple(zip(answer.ids[0, :returned].tolist(), answer.scores[0, :returned].tolist(), strict=True)),
            operator=everything,
        )


def hit_rows(answer: _core.Answer) -> _arrays.Ids:
    """Rows of all hits, -1 for none."""
    return answer.rows.ravel()


def whole_k(k: object) -> int:
    """How many hits, checked."""
    return min(_checks.whole(k, "k"), LARGEST_K)


def thread_limit(threads: object) -> int:
    """0 lets the core decide."""
    return 0 if threads is None else _checks.whole(threads, "threads", least=1, most=_MOST_THREADS)
