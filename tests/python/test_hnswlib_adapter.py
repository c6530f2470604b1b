# SPDX-License-Identifier: Apache-2.0
"""A graph of hnswlib beside an index: what it may return, how many, with which scores, and what it says about it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from evidex import AllowMask, Columns, DenseIndex, InvalidInput, where
from evidex.integrations.hnswlib import HnswIndex
from examples import line
from graphs import beside, clusters, walking

pytest.importorskip("hnswlib", reason="hnswlib is not installed")

GRAPH, EXACT = "hnswlib graph, exact scores", "exact scan"
ROWS = clusters(2000, 12, 1)
QUERIES = ROWS[::40] + np.float32(0.5)


@pytest.fixture
def walked() -> Iterator[None]:
    with walking():
        yield


@pytest.fixture(scope="module")
def index() -> DenseIndex:
    index = DenseIndex(12, columns=Columns({"even": bool}))
    index.add(np.arange(2000) * 3, ROWS, metadata={"even": np.arange(2000) % 2 == 0})
    return index


@pytest.fixture(scope="module")
def graph(index: DenseIndex) -> HnswIndex:
    return beside(index)


def recall(found: Any, exact: Any) -> float:
    pairs = zip(found.ids, exact.ids, strict=True)
    return float(np.mean([len(set(a[a >= 0]) & set(b[b >= 0])) / max((b >= 0).sum(), 1) for a, b in pairs]))


@pytest.mark.usefixtures("walked")
def test_hits_are_the_nearest_with_the_scores_of_the_index(index: DenseIndex, graph: HnswIndex) -> None:
    """P4, P5. Seen red: distances, which are smaller where rows are nearer, returned as scores."""
    hits, exact = graph.search(QUERIES, 10, ef_search=50), index.search(QUERIES, 10)
    assert recall(hits, exact) > 0.9 and not hits.certified.any()
    every = index.search(QUERIES, 2000)
    for query, (ids, scores) in enumerate(hits):
        score_of = dict(zip(every.ids[query].tolist(), every.scores[query].tolist(), strict=True))
        assert scores.tolist() == [score_of[i] for i in ids.tolist()]
        assert list(zip((-scores).tolist(), ids.tolist(), strict=True)) == sorted(
            zip((-scores).tolist(), ids.tolist(), strict=True)
        )


@pytest.mark.parametrize("share", [1.0, 0.5, 0.1, 0.01, 0.001])
def test_a_mask_leaves_the_nearest_of_what_it_permits(index: DenseIndex, graph: HnswIndex, share: float) -> None:
    """Seen red: candidates that the mask was not asked about."""
    allow = np.random.default_rng(3).random(2000) < share
    with walking():
        hits, exact = graph.search(QUERIES, 10, ef_search=40, allow=allow), index.search(QUERIES, 10, allow=allow)
    assert hits.counts.tolist() == exact.counts.tolist()
    assert recall(hits, exact) > 0.9


@pytest.mark.parametrize("ef_search", [1, 4, 1000])
@pytest.mark.parametrize("threads", [1, 2, None])
@pytest.mark.usefixtures("walked")
def test_the_mask_reaches_every_option(ef_search: int, threads: int | None) -> None:  # case A3
    """P1. Seen red: candidates that the mask was not asked about."""
    index = line(4, dim=2)
    graph = beside(index)
    options: dict[str, Any] = {"ef_search": ef_search, "threads": threads}
    for mask in (AllowMask.from_ids(index, [1]), np.arange(4) == 1):
        for nq in (1, 20):
            hits = graph.search(np.zeros((nq, 2)), 1, allow=mask, **options)
            assert (hits.ids.tolist(), hits.scores.tolist()) == ([[1]] * nq, [[-100.0]] * nq)
        assert graph.explain(np.zeros(2), 1, allow=mask, **options).hits == ((1, -100.0),)
        hits = graph.search(np.zeros(2), 3, allow=mask, **options)
        assert (hits.ids.tolist(), hits.counts.tolist()) == ([[1, -1, -1]], [1])
        assert hits.scores.tolist() == [[-100.0, -np.inf, -np.inf]] and hits.reason.tolist() == ["fewer_than_k"]


@pytest.mark.parametrize("walks", [True, False])
def test_few_permitted_rows_never_starve_a_search(walks: bool) -> None:  # cases A9, A1
    """P6. Seen red: an answer of what the beam holds, however little that is."""
    rows = clusters(20_000, 8, 4)
    index = DenseIndex(8, metric="l2")
    index.add(np.arange(20_000), rows)
    graph = beside(index, m=6, ef_construction=20)
    queries = rows[:20] + np.float32(0.1)
    away = np.linalg.norm(rows - queries[0], axis=1)
    for permitted in (0, 10, 200, 2000, 10_000):
        for order in (np.argsort(away), np.argsort(-away)):
            allow = np.zeros(20_000, bool)
            allow[order[:permitted]] = True
            with walking() if walks else pytest.MonkeyPatch.context():
                hits, again = (graph.search(queries, 10, ef_search=20, allow=allow) for _ in range(2))
            assert (hits.counts == min(10, permitted)).all() and allow[hits.ids[hits.ids >= 0]].all()
            exact = index.search(queries, 10, allow=allow)
            assert hits.ids[hits.certified].tolist() == exact.ids[hits.certified].tolist()
            assert walks or permitted > 2000 or hits.certified.all()
            assert hits.ids.tobytes() == again.ids.tobytes() and hits.scores.tobytes() == again.scores.tobytes()


@pytest.mark.usefixtures("walked")
def test_no_python_is_called_for_a_candidate(index: DenseIndex, graph: HnswIndex) -> None:  # case A16
    """Seen red: the mask given to hnswlib as its filter, 6,000 calls and more."""
    allow = AllowMask.from_bools(index, np.arange(2000) % 2 == 0)
    calls = [0]

    def count(frame: Any, event: str, argument: Any) -> None:
        calls[0] += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        hits = graph.search(QUERIES[:1], 10, ef_search=200, allow=allow)
    finally:
        sys.setprofile(None)
    assert not hits.certified.any() and calls[0] < 300
    with pytest.raises(InvalidInput, match="from_callable makes a mask of a function, once"):
        graph.search(QUERIES[0], allow=lambda _: True)  # type: ignore[arg-type]


@pytest.mark.usefixtures("walked")
def test_each_query_may_have_a_mask(index: DenseIndex, graph: HnswIndex) -> None:  # cases A16, G5, B3
    """Seen red: the first query's mask used for all."""
    rows = np.tile(QUERIES, (3, 1))[:128]
    masks = np.arange(2000) < 5 * np.arange(128)[:, None]
    together = graph.search(rows, 10, ef_search=20, allow=masks)
    for query in range(128):
        alone = graph.search(rows[query], 10, ef_search=20, allow=masks[query])
        assert alone.ids[0].tolist() == together.ids[query].tolist()
        assert alone.scores.tobytes() == together.scores[query : query + 1].tobytes()
        assert (alone.counts[0], alone.certified[0]) == (together.counts[query], together.certified[query])
    assert together.counts.tolist() == np.minimum(10, 5 * np.arange(128)).tolist()
    assert together.certified.any() and not together.certified.all()


def test_predicates_narrow(index: DenseIndex, graph: HnswIndex) -> None:
    hits = graph.search(QUERIES, 10, where=where("even") == True)  # noqa: E712  # a predicate
    assert (hits.ids % 2 == 0).all() and (hits.counts == 10).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("walks", [True, False])
def test_no_graph_sees_what_is_no_number(graph: HnswIndex, bad: float, walks: bool) -> None:  # case B5
    """P8. Seen red: queries handed to hnswlib before the core looked at them."""
    queries = QUERIES.copy()
    queries[7, 3] = bad
    with walking() if walks else pytest.MonkeyPatch.context():
        with pytest.raises(InvalidInput, match="row 7"):
            graph.search(queries, 5)
        with pytest.raises(InvalidInput):
            graph.explain(queries[7])
        with pytest.raises(InvalidInput, match="zero"):
            graph.search(np.zeros(12), 5)
        with pytest.raises(InvalidInput, match="shape"):
            graph.search(np.ones(11), 5)


@pytest.mark.usefixtures("walked")
@pytest.mark.parametrize("sync", [True, False])
def test_removed_rows_take_no_place(sync: bool) -> None:  # case D1
    """Seen red: labels looked up in the rows that were there when the graph was made."""
    index = DenseIndex(3, metric="l2")
    index.add([1, 2, 3], np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], np.float32))
    graph = beside(index)
    index.remove([1])
    if sync:
        assert graph.sync() == 0
    assert list(zip(*(x.tolist() for x in graph.search([1.0, 2.0, 3.0], 1, ef_search=1)[0]), strict=True)) == [
        (2, -27.0)
    ]

    index = line(60)
    graph = beside(index)
    for gone in (np.arange(10), np.arange(10, 40, 2), np.array([11, 13, 41, 45]), np.setdiff1d(index.ids(), [58])):
        index.remove(np.intersect1d(gone, index.ids()))
        if sync:
            graph.sync()
        left = index.ids()
        hits = graph.search(np.zeros((2, 4)), 3, ef_search=3)
        assert hits.ids[0, : hits.counts[0]].tolist() == sorted(left.tolist())[:3]
        assert hits.counts.tolist() == [min(3, len(left))] * 2


@pytest.mark.usefixtures("walked")
def test_rows_that_the_graph_lacks_are_searched_beside_it() -> None:
    """Seen red: rows added later not searched; replaced rows only found where they were."""
    index = line(300)
    graph = beside(index)
    index.add([1000], [[0.5, 0, 0, 0]])
    index.upsert([299], [[0.25, 0, 0, 0]])
    assert graph.search(np.zeros(4), 3, ef_search=10).ids.tolist() == [[0, 299, 1000]]
    explained = graph.explain(np.zeros(4), 3, ef_search=10)
    assert explained.plan == GRAPH and explained.operator is not None
    assert (explained.operator["beside"], explained.operator["graph"]) == (2, 300)
    assert graph.sync() == 2
    explained = graph.explain(np.zeros(4), 3, ef_search=10)
    assert [i for i, _ in explained.hits] == [0, 299, 1000] and explained.operator is not None
    assert (explained.operator["beside"], explained.operator["graph"]) == (0, 301)
    assert graph.sync() == 0


@pytest.mark.usefixtures("walked")
def test_after_optimize_the_graph_is_asked_when_it_was_synced() -> None:
    """Rows have other numbers then. Seen red: the numbers of the old layout kept."""
    index = line(300)
    graph = beside(index)
    index.remove(np.arange(0, 300, 2))
    index.upsert([1], [[5000.0, 0, 0, 0]])
    index.optimize()
    for plan in (EXACT, GRAPH):
        explained = graph.explain(np.zeros(4), 3, ef_search=10)
        assert [i for i, _ in explained.hits] == [3, 5, 7] and explained.plan == plan
        assert explained.certified == (plan == EXACT)
        assert graph.sync() == (plan == EXACT)  # the replaced row, known by its vector
    assert graph.search([5000.0, 0, 0, 0], 1).ids.tolist() == [[1]]
