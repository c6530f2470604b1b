# SPDX-License-Identifier: Apache-2.0
"""BM25, TF-IDF and inner products by the book: fractions, logarithms of 50 digits, one document at a time.

A document is a mapping from terms to quarters (4 for each time that a term occurs), a vector one from indices to
weights. Which documents are scored, and over which words are counted, is the caller's to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TypeAlias

__all__ = ["Document", "Scores", "bm25", "dot", "ranked", "tfidf"]

Document: TypeAlias = "Mapping[str, int]"
Scores: TypeAlias = "dict[int, Fraction]"

_DIGITS = 50


def bm25(
    query: Document,
    documents: Mapping[int, Document],
    counted: Iterable[int],
    k1: float = 1.2,
    b: float = 0.75,
) -> Scores:
    """Of each document that has a word of the query which a counted document has."""
    rows = [documents[i] for i in counted]
    frequency = _frequencies(rows)
    total = sum((Fraction(sum(row.values()), 4) for row in rows), Fraction(0))
    known = {term: Fraction(q, 4) * _idf(len(rows), frequency[term]) for term, q in query.items() if frequency[term]}
    scores: Scores = {}
    for i, document in documents.items():
        length = Fraction(sum(document.values()), 4)
        for term in known.keys() & document.keys():
            norm = Fraction(k1) * (1 - Fraction(b) + Fraction(b) * length / (total / len(rows)))
            tf = Fraction(document[term], 4)
            scores[i] = scores.get(i, Fraction(0)) + known[term] * tf / (tf + norm)
    return scores


def tfidf(query: Document, documents: Mapping[int, Document], counted: Iterable[int]) -> Scores:
    """The cosine of the vectors tf * idf, of the words that counted documents have."""
    rows = [documents[i] for i in counted]
    frequency = _frequencies(rows)
    idf = {term: _idf(len(rows), count) for term, count in frequency.items()}

    def vector(of: Document) -> dict[str, Fraction]:
        return {term: Fraction(quarters, 4) * idf[term] for term, quarters in of.items() if term in idf}

    asked = vector(query)
    scores: Scores = {}
    for i, document in documents.items():
        has = vector(document)
        shared = asked.keys() & has.keys()
        if shared:
            product = sum((asked[term] * has[term] for term in shared), Fraction(0))
            scores[i] = product / (_length(asked) * _length(has))
    return scores


def dot(query: Mapping[int, float], vectors: Mapping[int, Mapping[int, float]]) -> Scores:
    """Of each vector that shares an index with the query."""
    scores: Scores = {}
    for i, vector in vectors.items():
        shared = query.keys() & vector.keys()
        if shared:
            scores[i] = sum((Fraction(query[index]) * Fraction(vector[index]) for index in shared), Fraction(0))
    return scores


def ranked(scores: Mapping[int, float], k: int) -> list[int]:
    """The ids of the k best: score descending, then id ascending."""
    return sorted(scores, key=lambda i: (-scores[i], i))[:k]


def _frequencies(rows: Iterable[Document]) -> Counter[str]:
    """In how many of these documents each word is."""
    return Counter(term for row in rows for term in row)


def _idf(rows: int, frequency: int) -> Fraction:
    """ln(1 + (N - df + 1/2) / (df + 1/2))."""
    with localcontext() as context:
        context.prec = _DIGITS
        return Fraction((Decimal(2 * rows + 2) / Decimal(2 * frequency + 1)).ln())


def _length(vector: Mapping[str, Fraction]) -> Fraction:
    square = sum((weight * weight for weight in vector.values()), Fraction(0))
    with localcontext() as context:
        context.prec = _DIGITS
        return Fraction((Decimal(square.numerator) / Decimal(square.denominator)).sqrt())
