# SPDX-License-Identifier: Apache-2.0
"""A search by words, from the caller to an answer that rights still allow when it is given."""

from __future__ import annotations

import numpy as np

from .. import _arrays, _core
from ..answers import hit_rows
from ..columns import Columns
from ..masks import Guard
from .asked import AskedTerms, AskedVectors, Run
from .statistics import Counted, Statistics

__all__ = ["answered", "plan_of"]


def answered(
    guard: Guard,
    statistics: Statistics,
    state: Counted,
    columns: Columns | None,
    asked: AskedTerms | AskedVectors,
    over: str,
    run: Run,
    principal: object,
    allow: object,
    where: object,
) -> _core.Answer:
    """What the caller may know of the best rows; ``over`` is the scope whose words are counted."""
    snapshot = state.snapshot

    def once() -> tuple[_core.Answer, _core.Bitmask | None]:
        visible = guard.visible(snapshot, principal)
        masks, mask_of = guard.narrowed_each(snapshot, visible, allow, len(asked), where, columns)
        if isinstance(asked, AskedVectors):
            return asked.run(state.view, run, masks, mask_of), None
        counted, counts = statistics.of(state, over, principal, visible)
        answer = asked.run(state.view, counts, run, masks, mask_of)
        return answer, counted if over == "permitted" else None

    answer, _ = guard.settled(snapshot, principal, once, _rows_that_told)
    return answer


def plan_of(asked: AskedTerms | AskedVectors, over: str) -> str:
    """How such a search runs."""
    return "sparse dot, exact" if isinstance(asked, AskedVectors) else f"sparse {asked.metric}, exact, scope={over}"


def _rows_that_told(found: tuple[_core.Answer, _core.Bitmask | None]) -> _arrays.Ids:
    """Rows of the hits, and those whose words were counted as the caller's own."""
    answer, counted = found
    if counted is None:
        return hit_rows(answer)
    numbers = np.arange(counted.rows, dtype=np.int64)
    return np.concatenate([hit_rows(answer), numbers[counted.test(numbers)]])
