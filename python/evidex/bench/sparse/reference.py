# SPDX-License-Identifier: Apache-2.0
"""BM25 in float64 over lists and dicts, and how well answers agree with it: slow, and independent of the library."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .. import truth
from ..records import Answers

__all__ = ["Reference", "Statistics", "Tally", "ranked"]

K1, B = 1.2, 0.75
_QUARTERS = 4  # of a term that is counted once


@dataclass(frozen=True)
class Statistics:
    """What scores follow from beside the documents themselves.

    Attributes:
        rows: How many rows are counted.
        average: Their mean length.
        counted: A byte per row, 1 where it is one of them; None where all are.
    """

    rows: int
    average: float
    counted: bytes | None


class Reference:
    """Documents by their terms.

    Lucene's form: idf tf / (tf + k1 (1 - b + b length / average)) with idf = ln(1 + (N - df + 1/2) / (df + 1/2)), times
    how often the query has the term. Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond",
    2009, without the constant factor k1 + 1, which changes no order.
    """

    def __init__(self, documents: Iterable[Mapping[str, int]]) -> None:
        """Takes each document as its terms with their weights in quarters."""
        self._postings: dict[str, tuple[array[int], array[int]]] = {}
        self.lengths = array("q")
        self.entries = 0
        for row, terms in enumerate(documents):
            self.lengths.append(sum(terms.values()))
            self.entries += len(terms)
            for term, weight in terms.items():
                rows, weights = self._postings.setdefault(term, (array("q"), array("q")))
                rows.append(row)
                weights.append(weight)

    def statistics(self, counted: npt.NDArray[np.bool_] | None = None) -> Statistics:
        """Of the rows where ``counted``, bool [rows]; None for all."""
        mask = None if counted is None else counted.tobytes()
        lengths = self.lengths if mask is None else [one for one, kept in zip(self.lengths, mask, strict=True) if kept]
        total, rows = sum(lengths), len(lengths)
        return Statistics(rows, total / rows if rows else 0.0, mask)

    def scores(
        self, query: Mapping[str, int], statistics: Statistics, permitted: bytes | None = None
    ) -> dict[int, float]:
        """Score of every row, of those where ``permitted`` has a 1, with a term of the query."""
        found: dict[int, float] = {}
        for term, times in query.items():
            rows, weights = self._postings.get(term, ((), ()))
            counted = statistics.counted
            df = len(rows) if counted is None else sum(counted[row] for row in rows)
            if df == 0:
                continue
            idf = math.log(1 + (statistics.rows - df + 0.5) / (df + 0.5))
            for row, weight in zip(rows, weights, strict=True):
                if permitted is None or permitted[row]:
                    tf = weight / _QUARTERS
                    norm = K1 * (1 - B + B * self.lengths[row] / statistics.average)
                    found[row] = found.get(row, 0.0) + times / _QUARTERS * idf * tf / (tf + norm)
        return found


@dataclass
class Tally:
    """Answers of one system, judged one by one."""

    k: int
    checked: int = 0
    recall: float = 0.0
    same: int = 0
    agreeing: int = 0
    forbidden: int = 0
    beyond: int = 0

    def judge(self, given: Iterable[int], scores: Mapping[int, float], best: Sequence[int], denied: int) -> None:
        """Counts one answer.

        Args:
            given: Rows, best first; -1 is padding.
            scores: What :meth:`Reference.scores` gave.
            best: The k best of them, as :func:`ranked` orders them.
            denied: How many of the rows may not be read.
        """
        ids = [row for row in given if row != -1]
        width = len(best)
        edge = scores[best[-1]] * (1 - truth.TOLERANCE) if best else 0.0
        distinct = list(dict.fromkeys(ids))
        right = sum(scores.get(row, -1.0) >= edge for row in distinct[:width])
        agrees = len(ids) == len(distinct) == right == width
        self.checked += 1
        self.recall += right / width if width else float(not ids)
        self.same += ids == list(best)
        self.agreeing += agrees
        self.forbidden += denied
        self.beyond += not (agrees and _in_order([scores[row] for row in ids]))

    def answers(self) -> Answers:
        """For the record."""
        count = self.checked
        share = self.same / count
        return Answers(count, self.recall / count, self.same == count, share, self.forbidden, self.beyond)

    @property
    def agreement(self) -> float:
        """Share of answers with the right ids, whatever their order and whichever of those that tie."""
        return self.agreeing / self.checked


def ranked(scores: Mapping[int, float], k: int) -> list[int]:
    """The k best: score descending, then row ascending."""
    if len(scores) > k:
        edge = sorted(scores.values())[-k]
        scores = {row: score for row, score in scores.items() if score >= edge}
    return sorted(scores, key=lambda row: (-scores[row], row))[:k]


def _in_order(scores: Sequence[float]) -> bool:
    """Whether none comes before one that is greater by more than rounding."""
    return all(one >= max(scores[place:]) * (1 - truth.TOLERANCE) for place, one in enumerate(scores))
