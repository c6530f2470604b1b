# SPDX-License-Identifier: Apache-2.0
"""Documents of few words for SparseIndex, and how its answers are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from evidex import Hits, Policy, Principal, Rule, SparseIndex

F7 = ["foo", "dog", "baz", "quick god", "quick fox"]
ALICE = Principal("alice", "acme", {"support"})
BOB = Principal("bob", "acme", {"legal"})
MALLORY = Principal("mallory", "zenith", {"support"})
STRANGER = Principal("stranger", "unknown", {"support"})


@dataclass
class Matrix:
    """What the index needs of scipy.sparse.csr_array."""

    indptr: Any
    indices: Any
    data: Any
    shape: Any
    format: str = "csr"


def matrix(rows: Sequence[Mapping[int, float]], columns: int = 2**32) -> Matrix:
    starts = np.cumsum([0, *(len(row) for row in rows)])
    indices = np.array([index for row in rows for index in row], dtype=np.int64)
    return Matrix(starts, indices, np.array([w for row in rows for w in row.values()], float), (len(rows), columns))


def index_of(documents: Sequence[Any], ids: Any = None, **options: Any) -> SparseIndex:
    """An open index of documents."""
    index = SparseIndex(**options)
    index.add(ids, documents)
    return index


def guarded(policy: Policy, ids: Any, documents: Sequence[Any], rules: Sequence[Rule], **options: Any) -> SparseIndex:
    """A guarded one."""
    index = SparseIndex(policy=policy, **options)
    index.add(ids, documents, rules)
    return index


def bits(hits: Hits) -> list[tuple[list[int], bytes]]:
    """Ids and score bits of each query: what must be equal."""
    return [(ids.tolist(), scores.tobytes()) for ids, scores in hits]


def require_scores(hits: Hits, expected: Sequence[Mapping[int, Fraction]], k: int) -> None:
    """The k best of these, with scores within 1e-6; places of equal ones follow from the ids."""
    assert len(hits) == len(expected)
    for query, scores in enumerate(expected):
        ids, found = hits[query]
        assert len(ids) == min(k, len(scores))
        assert set(ids.tolist()) <= set(scores)
        require_order(ids, found)
        for i, score in zip(ids.tolist(), found.tolist(), strict=True):
            assert abs(Fraction(score) - scores[i]) <= Fraction(1, 10**6) * scores[i]
        if len(ids) < len(scores):  # nobody outside is better, but for what rounding may exchange
            worst = Fraction(float(found[-1])) if len(found) else None
            others = [score for i, score in scores.items() if i not in set(ids.tolist())]
            assert worst is None or max(others) <= worst * (1 + Fraction(1, 10**6))


def require_order(ids: npt.NDArray[np.int64], scores: npt.NDArray[np.float32]) -> None:
    """Score descending, then id ascending."""
    pairs = list(zip((-scores).tolist(), ids.tolist(), strict=True))
    assert pairs == sorted(pairs)
