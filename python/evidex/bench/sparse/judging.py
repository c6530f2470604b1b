# SPDX-License-Identifier: Apache-2.0
"""All answers over the same terms against the reference: each question is scored once for each caller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .folders import Folders
from .reference import Reference, Tally, ranked

__all__ = ["Asked", "judge"]


@dataclass(frozen=True, eq=False)
class Asked:
    """One turn of one system.

    Attributes:
        queries: int64 [n], which question each answer is to.
        callers: int64 [n], who asked, where there are folders.
        ids: int64 [n, k], padded with -1.
    """

    queries: npt.NDArray[np.intp]
    callers: npt.NDArray[np.int64]
    ids: npt.NDArray[np.int64]


_Answers: TypeAlias = list[tuple[list[int], Tally]]


def judge(
    reference: Reference,
    queries: Sequence[Mapping[str, int]],
    answered: Sequence[tuple[Folders | None, Sequence[Asked], Tally]],
    k: int,
    scope: str,
) -> None:
    """Puts every answer into its tally.

    Args:
        reference: Of the documents' terms.
        queries: Terms of each question.
        answered: What each system answered, under which folders.
        k: Rows asked for.
        scope: Of the statistics: ``permitted``, or all rows, which are those of the tenant too.
    """
    by_caller: dict[tuple[Folders | None, int], dict[int, _Answers]] = {}
    for folders, turns, tally in answered:
        for turn in turns:
            callers = turn.callers.tolist() if folders is not None else [0] * len(turn.queries)
            for query, caller, ids in zip(turn.queries.tolist(), callers, turn.ids.tolist(), strict=True):
                of_caller = by_caller.setdefault((folders, caller), {})
                of_caller.setdefault(query, []).append(([row for row in ids if row != -1], tally))
    everything = reference.statistics()
    rows = len(reference.lengths)
    for (folders, caller), by_query in by_caller.items():
        allow = None if folders is None else folders.permitted(caller)
        permitted = None if allow is None else allow.tobytes()
        statistics = reference.statistics(allow) if allow is not None and scope == "permitted" else everything
        for query, answers in by_query.items():
            scores = reference.scores(queries[query], statistics, permitted)
            best = ranked(scores, k)
            for ids, one in answers:
                readable = [0 <= row < rows and (permitted is None or bool(permitted[row])) for row in ids]
                one.judge(ids, scores, best, readable.count(False))
