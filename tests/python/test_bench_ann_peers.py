# SPDX-License-Identifier: Apache-2.0
"""The systems of ``evidex bench ann`` that are installed: grids that hold, recall, masks."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import numpy as np
import pytest

from evidex import InvalidInput
from evidex.bench import ann, datasets, masks, records, truth, worker

DATA = datasets.synthetic(2000, 64, None, 40, seed=0)
ROWS, DIM = DATA.facts.rows, DATA.facts.dim
METRICS = ("inner_product", "cosine", "squared_l2")


LEAST = {"turbovec": 0.8}  # it has no rows to score again


def needed(name: str) -> None:
    if name not in ann.installed():
        pytest.skip(f"{name}: its library is not installed")


def answers(peer: Any, allow: Any, search: dict[str, Any], metric: str, k: int = 10) -> records.Answers:
    prepared = peer.prepare(allow)
    if search or hasattr(peer, "tune"):
        peer.tune(search)
    found = [peer.search(DATA.queries[row : row + 1], k, prepared) for row in range(len(DATA.queries))]
    ids = worker.padded(found, [1] * len(found), k)
    right = truth.brute_force(DATA.vectors, DATA.queries, k, metric, allow)
    asked = np.arange(len(DATA.queries))
    return truth.check(ids, asked, right, DATA.vectors, DATA.queries, metric, allow)


@pytest.mark.parametrize("name", list(ann.BUILT_IN))
@pytest.mark.parametrize("metric", METRICS)
def test_the_largest_parameters_find_most_rows_and_masks_are_obeyed(name: str, metric: str) -> None:
    """Seen red: with another metric, rows of other lengths under cosine, and a selector, filter or mask left out."""
    needed(name)
    build, searches = ann.grid(name, ROWS, DIM, "small")[-1]
    peer = ann.load(name, 1, build)
    try:
        peer.build(DATA.vectors, metric)
    except NotImplementedError as reason:
        pytest.skip(str(reason))
    found = answers(peer, None, searches[-1], metric)
    assert found.recall >= LEAST.get(name, 0.9)
    assert found.forbidden == 0
    for kind, share in (("random", 0.5), ("run", 0.02), ("anti", 0.002)):
        allow = masks.make(kind, share, DATA.vectors, DATA.queries, unit=metric == "cosine", seed=0)
        for search in (searches[0], searches[-1]):
            with contextlib.suppress(NotImplementedError):
                assert answers(peer, allow, search, metric).forbidden == 0


@pytest.mark.parametrize("name", list(ann.BUILT_IN))
def test_every_point_of_the_grids_can_be_asked(name: str) -> None:
    """In batches too, and with more neighbours than some parameters are."""
    needed(name)
    build, searches = ann.grid(name, ROWS, DIM, "small")[0]
    peer = ann.load(name, 1, build)
    peer.build(DATA.vectors, "cosine")
    recalls = []
    for search in searches:
        prepared = peer.prepare(None)
        if search or hasattr(peer, "tune"):
            peer.tune(search)
        ids = worker.padded([peer.search(DATA.queries, 50, prepared)], [len(DATA.queries)], 50)
        recalls.append(float((ids >= 0).mean()))
    assert min(recalls) > 0
    assert peer.version()[0].isdigit()


def test_hnswlib_returns_as_many_rows_as_it_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen red: with k halved after each error, 3 of 5 rows are returned."""
    needed("hnswlib")
    peer = ann.load("hnswlib", 1, {"M": 4, "ef_construction": 10})
    peer.build(DATA.vectors, "cosine")
    for there in range(11):

        def found(queries: Any, k: int, allow: Any, there: int = there) -> Any:
            if k > there:
                raise RuntimeError("Cannot return the results in a contiguous 2D array")
            return np.arange(k)[None]

        monkeypatch.setattr(peer, "_found", found)
        ids = peer.search(DATA.queries[:2], 10, None)
        assert ids.tolist() == [[*range(there), *[-1] * (10 - there)]] * (1 if there == 10 else 2)


@pytest.mark.parametrize("name", ["usearch", "turbovec"])
def test_metrics_that_directions_decide_are_answered(name: str) -> None:
    """Rows of length 1 have the same order under every metric; others are left out where their length is lost."""
    needed(name)
    rows = masks.unit_rows(DATA.vectors)
    build, searches = ann.grid(name, ROWS, DIM, "small")[0]
    peer = ann.load(name, 1, build)
    peer.build(rows, "squared_l2")
    peer.tune(searches[-1])
    right = truth.brute_force(rows, DATA.queries, 10, "squared_l2", None)
    ids = np.asarray(peer.search(DATA.queries, 10, peer.prepare(None)))
    asked = np.arange(len(DATA.queries))
    assert truth.check(ids, asked, right, rows, DATA.queries, "squared_l2", None).recall >= 0.8
    with pytest.raises(NotImplementedError, match="length of rows"):
        peer.build(DATA.vectors, "squared_l2")


@pytest.mark.parametrize("name", list(ann.BUILT_IN))
@pytest.mark.parametrize(("rows", "dim"), [(1, 1), (50, 7), (116_659, 384), (10_000_000, 1536)])
def test_grids_are_plain_and_fit_the_data(name: str, rows: int, dim: int) -> None:
    small, full = (ann.grid(name, rows, dim, size) for size in ann.GRIDS)
    for points in (small, full):
        pairs = [repr((build, search)) for build, searches in points for search in searches]
        assert len(set(pairs)) == len(pairs) >= 1
        for build, searches in points:
            assert build.get("nlist", 1) <= rows and build.get("leaves", 1) <= rows
            assert dim % build.get("pq", 1) == 0
            assert all(search.get("nprobe", 1) <= build.get("nlist", 1) for search in searches)
    assert sum(len(searches) for _, searches in small) <= sum(len(searches) for _, searches in full)


def test_a_missing_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, kind in ann.BUILT_IN.items():
        module = getattr(kind, "module", "numpy")
        if module != "numpy":
            monkeypatch.setitem(sys.modules, "usearch.index" if module == "usearch" else module, None)
            build, _ = ann.grid(name, 100, 8, "small")[0]
            with pytest.raises(InvalidInput, match=r"is not installed or does not load .*pip install"):
                ann.load(name, 1, build)


@pytest.mark.parametrize("given", ["nonsense", "faiss-", "module:", ":Class", "a-b:C", ""])
def test_unknown_systems_are_refused_with_the_list(given: str) -> None:
    with pytest.raises(InvalidInput, match="one of evidex, evidex-int8, .*numpy, faiss, scann or module:Class"):
        ann.expand([given])
