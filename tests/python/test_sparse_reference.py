# SPDX-License-Identifier: Apache-2.0
"""The reference of the sparse leg against numbers worked out by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import sparse_reference as reference


def test_bm25_of_two_documents() -> None:
    # N = 2, df = 1: idf = ln(1 + 1.5/1.5) = ln 2. Lengths 1 and 3, average 2; b = 1/2, k1 = 1: norm of the first is
    # 1/2 + 1/2 * 1/2 = 3/4, so its score is ln 2 * 1 / (1 + 3/4).
    documents = {1: {"a": 4}, 2: {"b": 12}}
    scores = reference.bm25({"a": 4}, documents, documents, k1=1, b=0.5)
    assert list(scores) == [1]
    assert float(scores[1]) == pytest.approx(math.log(2) / 1.75, rel=1e-15)


def test_half_weights_count_half() -> None:
    # tf = 1/2 of a document of length 3/2, the only one: idf = ln(1 + 0.5/1.5) = ln(4/3), norm = k1 = 1.2.
    scores = reference.bm25({"a": 2}, {7: {"a": 2, "b": 4}}, [7])
    assert float(scores[7]) == pytest.approx(0.5 * math.log(4 / 3) * 0.5 / 1.7, rel=1e-15)


def test_tfidf_is_a_cosine() -> None:
    documents = {1: {"a": 4, "b": 4}, 2: {"a": 8}, 3: {"c": 4}}
    scores = reference.tfidf({"a": 4}, documents, documents)
    a, b = math.log(8 / 5), math.log(8 / 3)
    assert float(scores[2]) == pytest.approx(1, rel=1e-15)
    assert float(scores[1]) == pytest.approx(a / math.hypot(a, b), rel=1e-15)
    assert set(scores) == {1, 2}


def test_words_are_counted_over_the_rows_that_count() -> None:
    documents = {1: {"a": 4}, 2: {"a": 4}, 3: {"b": 4}}
    one = reference.bm25({"a": 4}, documents, [1, 3])
    assert float(one[1]) == pytest.approx(math.log(2) / 2.2, rel=1e-15)
    assert one[1] == one[2]
    assert reference.bm25({"a": 4}, documents, [3]) == {}


def test_dot_and_order() -> None:
    assert reference.dot({1: 0.5, 9: 1}, {4: {1: 2.0}, 5: {2: 7.0}}) == {4: Fraction(1)}
    assert reference.ranked({5: 1.0, 4: 1.0, 3: 2.0}, 2) == [3, 4]
