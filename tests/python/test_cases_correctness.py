# SPDX-License-Identifier: Apache-2.0
"""What users of other libraries suffered with wrong answers (B), on every path there is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reference
from evidex import DenseIndex, InvalidInput
from examples import Make, line


def test_equal_scores_follow_the_id(path: tuple[Any, Make]) -> None:  # case B1
    """Six copies of one row among 20, in any insertion order."""
    options, _ = path
    rng = np.random.default_rng(8)
    rows = rng.standard_normal((20, 8)).astype(np.float32)
    copies = [3, 4, 9, 11, 16, 19]
    rows[copies] = rows[3]
    for metric in reference.METRICS:
        results = []
        for order in (np.arange(20), rng.permutation(20), np.arange(20)[::-1]):
            index = DenseIndex(8, metric=metric)
            index.add(order, rows[order])
            results.append([index.search(rows[3], k, **options).ids[0].tolist() for k in (3, 6, 20)])
        assert results[0] == results[1] == results[2]
        three, six, everything = results[0]
        assert three == six[:3] == everything[:3]
        if metric != "inner_product":
            assert six == copies


@pytest.mark.parametrize("nq", [0, 1, 19, 20, 1000])
def test_empty_indexes_have_one_contract(nq: int) -> None:  # case B4
    never = DenseIndex(4)
    emptied = line(5)
    emptied.remove(np.arange(5))
    masked = line(5)
    for index, allow in ((never, None), (emptied, None), (masked, np.zeros(5, bool)), (never, np.zeros(0, bool))):
        hits = index.search(np.ones((nq, 4)), 3, allow=allow)
        assert hits.ids.shape == hits.scores.shape == (nq, 3)
        assert (hits.ids == -1).all()
        assert (hits.scores == -np.inf).all()
        assert hits.counts.tolist() == [0] * nq


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_queries_that_are_not_finite_are_refused(path: tuple[Any, Make], bad: float) -> None:  # case B5
    options, make = path
    for metric in reference.METRICS:
        index = DenseIndex(4, metric=metric)
        index.add(np.arange(3), np.ones((3, 4)))
        for dtype in ("f2", "f4", "f8"):
            queries = np.ones((8, 4), dtype)
            queries[7, 2] = bad
            with pytest.raises(InvalidInput, match=r"queries: row 7 holds -?(nan|inf) at position 2"):
                index.search(queries, 2, allow=make(index, [1]), **options)


def test_zero_rows_have_no_direction() -> None:  # case B6
    index = DenseIndex(3)
    with pytest.raises(InvalidInput, match="row 1 is all zeros"):
        index.add([0, 1, 2], np.array([[1, 0, 0], [0, 0, 0], [0.9, 0.1, 0]]))
    index.add([0, 2], np.array([[1, 0, 0], [0.9, 0.1, 0]]))
    hits = index.search([1.0, 0, 0], 2)
    assert hits.ids.tolist() == [[0, 2]]
    assert np.isfinite(hits.scores).all()
    with pytest.raises(InvalidInput, match="all zeros"):
        index.search([-0.0, 0, 0])
    plain = DenseIndex(3, metric="ip")
    plain.add([1], [[0.0, 0, 0]])
    assert plain.search([0.0, 0, 0], 1).scores.tolist() == [[0.0]]


def test_cosine_of_a_vector_with_itself_is_one(path: tuple[Any, Make]) -> None:  # cases B11, H7
    options, _ = path
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((300, 37)).astype(np.float32)
    index = DenseIndex(37)
    index.add(np.arange(300), rows)
    for factor in (1, 2, 1e-20):
        scores = index.search(rows * np.float32(factor), 300, **options).scores
        assert scores.max() <= 1
        assert scores.min() >= -1
        assert np.abs(scores[:, 0] - 1).max() <= 1e-6
    worked = np.array([[0.7, 0.6, 0.4], [0.2, 0.9, 0.4], [0.8, 0.5, 0.3], [0.6, 0.4, 0.7]])
    four = DenseIndex(3)
    four.add(np.arange(4), worked)
    assert four.search(worked[0], 2, **options).ids.tolist() == [[0, 2]]
    assert abs(four.search(worked[0], 1).scores[0, 0] - 1) <= 1e-6
    assert worked[0] @ worked[0] > 1.009
    assert four.search(worked[0], 0).ids.shape == (1, 0)
    assert four.search(worked[0], 9).counts.tolist() == [4]
    assert four.search(worked[0], 2, allow=[False] * 4).counts.tolist() == [0]


def test_higher_is_better_under_every_metric(path: tuple[Any, Make]) -> None:  # case B12
    options, _ = path
    rng = np.random.default_rng(6)
    rows = rng.standard_normal((50, 9))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    for metric in reference.METRICS:
        index = DenseIndex(9, metric=metric)
        index.add(np.arange(50), rows)
        hits = index.search(rows, 50, **options)
        assert (hits.ids[:, 0] == np.arange(50)).all()
        assert (np.diff(hits.scores, axis=1) <= 0).all()
        assert (hits.counts == 50).all()  # negative products are hits too
        if metric == "squared_l2":
            assert (hits.scores[:, 0] == 0).all()


def test_one_query_or_a_batch_of_one() -> None:  # case B14
    rows = np.random.default_rng(3).standard_normal((1000, 64)).astype(np.float32)
    index = DenseIndex(64, metric="l2")
    index.add(np.arange(1000) + 100, rows)
    flat, boxed = index.search(rows[100], 3), index.search(rows[100:101], 3)
    assert flat.ids[0, 0] == 200
    assert flat.ids.tobytes() == boxed.ids.tobytes()
    assert flat.scores.tobytes() == boxed.scores.tobytes()
    explained = index.explain(rows[100], 3)
    assert explained.hits == tuple(zip(flat.ids[0].tolist(), flat.scores[0].tolist(), strict=True))


@pytest.mark.parametrize("n", range(1, 7))
def test_all_ids_come_once(path: tuple[Any, Make], n: int) -> None:  # case B15
    options, _ = path
    rows = np.random.default_rng(n).standard_normal((n, 5)).astype(np.float32)
    index = DenseIndex(5, metric="l2")
    index.add(np.arange(n), rows)
    hits = index.search(rows[0], n, **options)
    assert sorted(hits.ids[0].tolist()) == list(range(n))
    distances = ((rows[hits.ids[0]].astype(float) - rows[0]) ** 2).sum(1)
    assert np.abs(-hits.scores[0] - distances).max() < 1e-5


def test_ids_are_never_reused() -> None:  # case B16
    index = DenseIndex(1, metric="ip")
    first = index.add(None, np.ones((10, 1)))
    index.remove(np.arange(5))
    second = index.add(None, np.ones((5, 1)))
    assert len({*first.tolist(), *second.tolist()}) == 15
    index.remove(index.ids())
    assert index.add(None, np.ones((1, 1))).tolist() == [15]


def test_deleting_the_nearest_gives_the_next() -> None:  # case D1
    index = DenseIndex(3, metric="l2")
    index.add([1, 2, 3], np.arange(1.0, 10).reshape(3, 3))
    index.remove([1])
    hits = index.search([1.0, 2, 3], 1)
    assert (hits.ids.tolist(), hits.scores.tolist()) == ([[2]], [[-27.0]])


def test_settings_survive_writes() -> None:  # case B22
    index = DenseIndex(3, metric="l2")
    for i in range(5):
        index.add(None, np.full((1, 3), i, np.float32))
    index.remove([0])
    assert (index.metric, index.dim, len(index)) == ("squared_l2", 3, 4)
    assert index.search(np.ones(3), 1).scores.tolist() == [[0.0]]


def test_rows_one_by_one_without_a_declared_size() -> None:  # case D12
    index = DenseIndex(2, metric="ip")
    for i in range(3000):
        index.add([i], [[1.0, i]])
    assert index.search([0.0, 1.0], 2).ids.tolist() == [[2999, 2998]]
