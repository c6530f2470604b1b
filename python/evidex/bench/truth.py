# SPDX-License-Identifier: Apache-2.0
"""Float64 brute force, and how well answers agree with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _arrays
from .masks import Allow
from .records import Answers

__all__ = ["TOLERANCE", "Truth", "brute_force", "check"]

TOLERANCE = 1e-6  # of the magnitude of the k-th best score

_Wide = npt.NDArray[np.float64]
_ROWS, _QUERIES = 32768, 256  # a tile of scores: 64 MB


@dataclass(frozen=True, eq=False)
class Truth:
    """The k best permitted rows of each query.

    Attributes:
        ids: int64 [nq, min(k, permitted)], score descending, then id ascending.
        scores: float64, of the same shape; squared L2 negated.
    """

    ids: npt.NDArray[np.int64]
    scores: _Wide


def brute_force(vectors: _arrays.Floats, queries: _arrays.Floats, k: int, metric: str, allow: Allow | None) -> Truth:
    """Every score in float64, and the best by a full order; memory stays bounded.

    Matrix products choose candidates, a margin for their rounding included; the order is decided by sums that do
    not depend on where a row lies, so that equal rows tie.
    """
    rows = np.arange(len(vectors)) if allow is None else np.flatnonzero(allow)
    width = min(k, len(rows))
    ids = np.empty((len(queries), width), np.int64)
    best = np.empty((len(queries), width), np.float64)
    for start in range(0, len(queries), _QUERIES):
        asked = _prepared(queries[start : start + _QUERIES], metric)
        kept = [(np.empty(0, np.int64), np.empty(0, np.float64)) for _ in asked]
        for first in range(0, len(rows), _ROWS):
            tile = rows[first : first + _ROWS]
            scores, margins = _products(_prepared(vectors[tile], metric), asked, metric)
            for at in range(len(asked)):
                near, values = np.concatenate([kept[at][0], tile]), np.concatenate([kept[at][1], scores[at]])
                edge = (
                    np.partition(values, len(values) - width)[len(values) - width] if len(values) > width else -np.inf
                )
                chosen = values >= edge - 2 * margins[at]
                kept[at] = near[chosen], values[chosen]
        for at, (near, _) in enumerate(kept):
            exact = _exact(_prepared(vectors[near], metric), asked[at], metric)
            order = np.lexsort((near, -exact))[:width]
            ids[start + at], best[start + at] = near[order], exact[order]
    return Truth(ids, best)


def check(
    answers: npt.NDArray[np.int64],
    asked: npt.NDArray[np.int64],
    truth: Truth,
    vectors: _arrays.Floats,
    queries: _arrays.Floats,
    metric: str,
    allow: Allow | None,
) -> Answers:
    """Compares answers with the truth.

    Args:
        answers: int64 [n, any width], padding -1 at the end.
        asked: int64 [n], which query each answers.
        truth: Of the queries.
        vectors: float32 [rows, dim].
        queries: float32 [nq, dim].
        metric: Full name.
        allow: The mask, or None.
    """
    found = forbidden = equal = beyond = 0
    width = truth.ids.shape[1]
    for row, query in zip(answers, asked.tolist(), strict=True):
        given = row[row != -1]
        there = given[(given >= 0) & (given < len(vectors))]
        permitted = there if allow is None else there[allow[there]]
        forbidden += len(given) - len(permitted)
        same = np.array_equal(given, truth.ids[query])
        equal += same
        distinct = np.unique(permitted[:width])
        one = _prepared(queries[query : query + 1], metric)[0]
        if len(distinct):
            scores = _exact(_prepared(vectors[distinct], metric), one, metric)
            worst = truth.scores[query, -1]
            found += min(int((scores >= worst - TOLERANCE * abs(worst)).sum()), width)
        if not same:
            whole = len(given) == len(distinct) == width
            beyond += not (whole and _explained(given, truth.ids[query], one, vectors, metric))
    count = len(answers)
    return Answers(count, found / (count * width), equal == count, equal / count, int(forbidden), beyond)


def _explained(
    given: npt.NDArray[np.int64], right: npt.NDArray[np.int64], query: _Wide, vectors: _arrays.Floats, metric: str
) -> bool:
    """Whether sums in float32 can give this order, the right rows that are absent last.

    They cannot if a row comes before one whose score is greater by more than the errors of both.
    """
    rows = _prepared(vectors[np.concatenate([given, np.setdiff1d(right, given)])], metric)
    scores = _exact(rows, query, metric)
    magnitudes: Any = 1.0
    if metric == "squared_l2":
        magnitudes = -scores
    elif metric == "inner_product":
        magnitudes = np.linalg.norm(query) * np.linalg.norm(rows, axis=1)
    errors = (len(query) / 8 + 16) * 2.0**-24 * magnitudes
    later = np.maximum.accumulate((scores - errors)[::-1])[::-1]
    return bool((scores + errors >= later).all())


def _prepared(rows: _arrays.Floats, metric: str) -> _Wide:
    wide = rows.astype(np.float64)
    return wide / np.sqrt((wide**2).sum(axis=1, keepdims=True)) if metric == "cosine" else wide


def _products(rows: _Wide, queries: _Wide, metric: str) -> tuple[_Wide, _Wide]:
    """Scores [nq, rows] from a matrix product, and what bounds their rounding [nq]."""
    squares, own = (rows**2).sum(axis=1), (queries**2).sum(axis=1)
    scores = queries @ rows.T
    if metric == "squared_l2":
        scores = 2 * scores - squares - own[:, None]
    return scores, rows.shape[1] * 1e-15 * (np.sqrt(own) + np.sqrt(squares.max())) ** 2


def _exact(rows: _Wide, query: _Wide, metric: str) -> _Wide:
    """Scores [rows], each from its row alone."""
    scores: _Wide = -((rows - query) ** 2).sum(axis=1) if metric == "squared_l2" else (rows * query).sum(axis=1)
    return scores
