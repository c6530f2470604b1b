# SPDX-License-Identifier: Apache-2.0
"""What a search was asked for, checked and in the core's form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .. import _checks, _core
from ..answers import thread_limit, whole_k
from ..errors import InvalidInput
from ..text import Analyzer
from .documents import SparseVectors, queries_of, vectors_of

__all__ = ["DEFAULT_RANKING", "RANKINGS", "AskedTerms", "AskedVectors", "Run", "asked_terms", "asked_vectors"]

RANKINGS = ("bm25", "tfidf")
"""Names of the rankings, by number."""

_K1, _B, _LARGEST_K1 = 1.2, 0.75, 1000.0

DEFAULT_RANKING = (RANKINGS[0], _K1, _B)
"""Ranking, k1 and b where nobody asks for others."""


# These are not frozen: each is made for one search, and that would make a short one a sixteenth longer.
@dataclass(slots=True)
class Run:
    """How many hits, of which rows, on how many threads."""

    k: int
    grouped: bool
    threads: int

    @classmethod
    def of(cls, k: object, group_by: object, threads: object) -> Run:
        """From the arguments of a search."""
        return cls(whole_k(k), _checks.flag(group_by, "group_by"), thread_limit(threads))


@dataclass(slots=True)
class AskedTerms:
    """Queries of words."""

    queries: list[dict[str, int]]
    ranking: int
    k1: float
    b: float

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def metric(self) -> str:
        """What scores are."""
        return RANKINGS[self.ranking]

    def run(
        self,
        view: _core.SparseView,
        counts: _core.SparseCounts,
        run: Run,
        masks: list[_core.Bitmask],
        mask_of: npt.NDArray[np.uint32],
    ) -> _core.Answer:
        """The answers."""
        return view.search(
            counts, self.ranking, self.k1, self.b, self.queries, run.k, masks, mask_of, run.threads, run.grouped
        )


@dataclass(slots=True)
class AskedVectors:
    """Queries that are sparse vectors."""

    queries: SparseVectors
    metric: str = "dot"

    def __len__(self) -> int:
        return len(self.queries)

    def run(
        self, view: _core.SparseView, run: Run, masks: list[_core.Bitmask], mask_of: npt.NDArray[np.uint32]
    ) -> _core.Answer:
        """The answers."""
        return view.search_vectors(*self.queries, run.k, masks, mask_of, run.threads, run.grouped)


Asked: TypeAlias = "AskedTerms | AskedVectors"


def asked_terms(queries: object, analyzer: Analyzer, name: str, ranking: object, k1: object, b: object) -> AskedTerms:
    """Queries of words and how to rank by them.

    Raises:
        InvalidInput: For queries that are none, another name of a ranking, parameters out of range, and such as change
            nothing.
    """
    if not isinstance(ranking, str) or ranking not in RANKINGS:
        _checks.refuse("ranking", ranking, " or ".join(map(repr, RANKINGS)), "name one of them")
    saturation, share = _checks.finite(k1, "k1"), _checks.finite(b, "b")
    if not 0 <= saturation <= _LARGEST_K1:
        _checks.refuse("k1", k1, f"a number from 0 to {_LARGEST_K1:g}", "1.2 is usual")
    if not 0 <= share <= 1:
        _checks.refuse("b", b, "a number from 0 to 1", "0.75 is usual")
    if ranking != "bm25":
        _require_defaults(f"ranking {ranking!r}", k1=(saturation, _K1), b=(share, _B))
    return AskedTerms(queries_of(queries, analyzer, name), RANKINGS.index(ranking), saturation, share)


def asked_vectors(queries: object, name: str, ranking: object, k1: object, b: object, scope: object) -> AskedVectors:
    """Queries that are sparse vectors, which nothing about words goes with.

    Raises:
        InvalidInput: For queries that are none, and where something about words is asked for.
    """
    _require_defaults(
        "an index of vectors", ranking=(ranking, RANKINGS[0]), k1=(k1, _K1), b=(b, _B), scope=(scope, None)
    )
    return AskedVectors(vectors_of(queries, name))


def _require_defaults(of: str, **given: tuple[object, object]) -> None:
    for name, (value, default) in given.items():
        if value is not default and value != default:
            raise InvalidInput(f"{name}: {value!r} would change nothing with {of}; leave it out")
