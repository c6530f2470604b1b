# SPDX-License-Identifier: Apache-2.0
"""What a search returns, and what it says about how it ran."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Explanation", "Hits", "Ranked"]

_SHOWN = 3


class Ranked(NamedTuple):
    """One query's hits, best first, without padding."""

    ids: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """The best rows per query. Iterating gives one :class:`Ranked` per query.

    Attributes:
        ids: int64 [nq, width]. width is k, or above k = 65,536 the largest count; places beyond a query's
            count hold -1.
        scores: float32 [nq, width], higher is better; places beyond a query's count hold -inf.
        counts: int64 [nq], how many hits each query has: fewer than k is a normal result.
        certified: bool [nq], True where the hits are proven to be the exact answer over the rows as stored.
        k: Hits asked for per query; 0 for a radius search without a limit.
        groups: int64 [nq, width], each hit's group, where ``group_by`` was asked for; places beyond hold -1.
    """

    ids: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]
    counts: npt.NDArray[np.int64]
    certified: npt.NDArray[np.bool_]
    k: int
    groups: npt.NDArray[np.int64] | None = None

    @property
    def reason(self) -> npt.NDArray[np.object_]:
        """Object [nq]: None where k hits were found, else ``"fewer_than_k"``.

        It never tells rows that do not exist from rows the caller may not read.
        """
        reasons = np.full(len(self), None, dtype=object)
        reasons[self.counts < self.k] = "fewer_than_k"
        return reasons

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, query: int) -> Ranked:
        count = int(self.counts[query])
        return Ranked(self.ids[query, :count], self.scores[query, :count])

    def __iter__(self) -> Iterator[Ranked]:
        return (self[query] for query in range(len(self)))

    def __repr__(self) -> str:
        lines = [f"Hits({len(self)} queries, k={self.k})"]
        for query, (ids, scores) in enumerate(self):
            if query == _SHOWN:
                lines.append(f"  ... {len(self) - _SHOWN} more")
                break
            shown = ", ".join(f"{i}: {s:.4f}" for i, s in zip(ids[:_SHOWN], scores[:_SHOWN], strict=True))
            more = f", ... {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
            lines.append(f"  [{query}] {shown or 'nothing found'}{more}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Explanation:
    """How one query ran and what it found. What a principal gets depends only on rows it may read.

    Attributes:
        plan: The path taken: an exact scan, or an exact pre-scan of the codes; and of what rows, if they are not
            kept as float32; or the ranking of words, and the scope they are counted over. It follows from how many rows
            are permitted and asked for, and nothing else.
        metric, codec, k: What was asked of it.
        permitted: Rows the caller may read here, after ``allow=``.
        returned, reason, certified: As in :class:`Hits`.
        isa: Instruction set the kernels ran on.
        threads: Threads that took part.
        hits: ``(id, score)``, best first.
        operator: For open indexes and UNRESTRICTED only: generation, rows stored, rows removed, and whether the
            pre-scan was abandoned because the codes told too little, or how many parts the postings are in.
    """

    plan: str
    metric: str
    codec: str
    k: int
    permitted: int
    returned: int
    certified: bool
    reason: str | None
    isa: str
    threads: int
    hits: tuple[tuple[int, float], ...]
    operator: Mapping[str, Any] | None
