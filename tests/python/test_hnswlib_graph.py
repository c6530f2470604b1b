# SPDX-License-Identifier: Apache-2.0
"""Graphs of hnswlib that are built, given, saved, changed: which fit an index, and what happens where one does not."""

from __future__ import annotations

import importlib
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reference
from evidex import DenseIndex, InvalidInput
from evidex.integrations._hnsw_graph import SPACES
from evidex.integrations.hnswlib import HnswIndex
from examples import line
from graphs import beside, clusters, walking

pytest.importorskip("hnswlib", reason="hnswlib is not installed")

ROWS = clusters(1500, 12, 1)
QUERIES = ROWS[::75] + np.float32(0.5)


def filled(space: str, ids: Any, rows: Any) -> Any:
    graph = importlib.import_module("hnswlib").Index(space=space, dim=rows.shape[1])
    graph.init_index(max_elements=len(rows), M=8, ef_construction=40)
    graph.add_items(rows, ids, num_threads=1)
    return graph


def stored(metric: str = "cosine", codec: str = "float32") -> DenseIndex:
    index = DenseIndex(12, metric=metric, codec=codec)
    index.add(np.arange(1500) + 7, ROWS)
    return index


def plans(graph: HnswIndex) -> set[str]:
    with walking():
        return {graph.explain(query, 5, ef_search=20).plan for query in QUERIES}


@pytest.mark.parametrize("metric", reference.METRICS)
@pytest.mark.parametrize("codec", reference.CODECS)
def test_a_graph_of_the_rows_as_given_fits_whatever_a_codec_left(metric: str, codec: str) -> None:
    """Seen red: vectors compared bit for bit, so that every row of a codec was searched exactly."""
    index = stored(metric, codec)
    graph = HnswIndex(index, filled(SPACES[metric], np.arange(1500) + 7, ROWS))
    with walking():
        hits, exact = graph.search(QUERIES, 10, ef_search=60), index.search(QUERIES, 10)
        assert plans(graph) == {"hnswlib graph, exact scores"}
    assert np.mean([len(set(a) & set(b)) for a, b in zip(hits.ids, exact.ids, strict=True)]) > 8
    assert graph.explain(QUERIES[0]).operator["beside"] == 0  # type: ignore[index]


def test_a_vector_of_any_length_is_a_query() -> None:
    """hnswlib squares what it normalises. Seen red: queries handed over as they came."""
    graph = beside(stored())
    with walking():
        usual = graph.search(QUERIES, 10, ef_search=60)
        for scale in (1e-25, 1e25):
            hits = graph.search(QUERIES * np.float32(scale), 10, ef_search=60)
            assert np.mean([len(set(a) & set(b)) for a, b in zip(hits.ids, usual.ids, strict=True)]) > 9


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda library: library.Index("l2", 12), "expected space 'cosine' and dim 12"),
        (lambda library: library.Index("cosine", 11), "space 'cosine' and dim 11"),
        (lambda library: library.Index("cosine", 12), "init_index or load_index"),
        (lambda library: library.BFIndex("cosine", 12), "expected an hnswlib.Index, or None to build one"),
        (lambda _: "graph", "expected an hnswlib.Index"),
        (lambda _: filled("cosine", np.arange(1500), ROWS), "label 0 is no id of the index"),
        (lambda _: filled("cosine", np.full(1, 2**64 - 1, np.uint64), ROWS[:1]), "is no id of the index"),
    ],
)
def test_a_graph_that_does_not_fit_is_refused(make: Callable[[Any], Any], message: str) -> None:  # case B22
    """Seen red: each check left out; without init_index hnswlib ends the process."""
    with pytest.raises(InvalidInput, match=message):
        HnswIndex(stored(), make(importlib.import_module("hnswlib")))


@pytest.mark.parametrize("name", ["m", "ef_construction", "seed"])
def test_a_given_graph_has_its_own_options(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"{name}: a graph that is given has its own"):
        HnswIndex(stored(), filled("cosine", np.arange(1500) + 7, ROWS), **{name: 16})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"m": 1}, "m: "),
        ({"ef_construction": 0}, "ef_construction"),
        ({"seed": -1}, "seed"),
        ({"threads": 0}, "threads"),
    ],
)
def test_options_are_whole_numbers(options: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        HnswIndex(line(3), **options)


def test_an_index_and_numbers_are_checked() -> None:
    with pytest.raises(InvalidInput, match="index: expected a DenseIndex"):
        HnswIndex(ROWS)  # type: ignore[arg-type]
    graph = beside(line(3))
    for wrong in ({"k": -1}, {"k": True}, {"ef_search": 0}, {"ef_search": 1.5}, {"threads": 0}, {"threads": 2000}):
        with pytest.raises(InvalidInput, match=next(iter(wrong))):
            graph.search(np.zeros(4), **wrong)
    with pytest.raises(InvalidInput, match="one query, got 2"):
        graph.explain(np.zeros((2, 4)))
    with pytest.raises(TypeError):
        graph.search(np.zeros(4), group_by=True)  # type: ignore[call-arg]


def test_without_hnswlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen red: ImportError passed on."""
    monkeypatch.setitem(sys.modules, "hnswlib", None)
    with pytest.raises(InvalidInput, match="pip install hnswlib"):
        HnswIndex(line(3))


def test_every_option_of_a_new_graph_acts() -> None:  # P12
    index = stored()
    graphs = [HnswIndex(index, m=4, ef_construction=30, seed=s).graph for s in (1, 1, 2)]
    states = [graph.__getstate__()[0] for graph in graphs]
    assert (states[0]["M"], states[0]["ef_construction"], states[0]["seed"]) == (4, 30, 1)
    links = [state["link_lists"].tobytes() for state in states]
    assert links[0] == links[1] != links[2]
    default = HnswIndex(line(3)).graph
    assert (default.M, default.ef_construction, default.__getstate__()[0]["seed"]) == (16, 200, 100)


@pytest.mark.parametrize("ids", [np.array([7]), np.arange(0)])
def test_an_empty_index_and_none_of_few(ids: Any) -> None:  # case B4
    index = DenseIndex(12)
    index.add(ids, ROWS[: len(ids)])
    graph = beside(index)
    for nq in (0, 1, 19, 20):
        for k in (0, 3):
            hits = graph.search(QUERIES[:nq], k)
            assert hits.ids.shape == hits.scores.shape == (nq, k) and hits.certified.all()
            assert hits.counts.tolist() == [min(k, len(ids))] * nq
    assert graph.search(QUERIES, 2**70).ids.shape == (20, len(ids))
    index.add(np.arange(100, 1600), ROWS)
    assert graph.search(QUERIES[0], 5).certified.all()
    assert graph.sync() == 1500 and len(plans(graph)) == 1
    with walking():
        assert not graph.search(QUERIES[0], 5, ef_search=20).certified.any()


def test_a_saved_graph_goes_on_beside_a_saved_index(tmp_path: Path) -> None:
    """Removed rows stay in a graph, marked. Seen red: sync that marks nothing, and then a graph that is refused."""
    index = stored()
    graph = beside(index)
    index.remove(np.arange(7, 300))
    index.upsert([300], -ROWS[:1])
    assert graph.sync() == 1
    graph.graph.save_index(str(tmp_path / "graph.bin"))
    index.save(tmp_path / "index")
    library = importlib.import_module("hnswlib").Index(space="cosine", dim=12)
    library.load_index(str(tmp_path / "graph.bin"), max_elements=2000)
    again = HnswIndex(DenseIndex.load(tmp_path / "index"), library)
    with walking():
        first, second = (one.search(QUERIES, 10, ef_search=40) for one in (graph, again))
    assert first.ids.tolist() == second.ids.tolist() and first.scores.tobytes() == second.scores.tobytes()
    assert not second.certified.all()
    index.upsert([8, 301], ROWS[:2])  # one comes back, one is replaced
    assert graph.sync() == 2
    with walking():
        assert graph.search(ROWS[:2], 1, ef_search=40).ids.tolist() == [[8], [301]]


def test_a_graph_with_other_vectors_is_not_believed() -> None:
    """Seen red: a graph taken at its word; then half of the hits were far ones."""
    index = stored()
    graph = HnswIndex(index, filled("cosine", np.arange(1500) + 7, ROWS[::-1]))
    with walking():
        hits, exact = graph.search(QUERIES, 10, ef_search=40), index.search(QUERIES, 10)
    assert hits.ids.tolist() == exact.ids.tolist()
    assert graph.sync() > 1400
    with walking():
        assert not graph.search(QUERIES, 10, ef_search=40).certified.any()


def test_rows_that_the_application_marked_are_found_all_the_same() -> None:
    """hnswlib raises where it finds fewer than k, for the whole batch. Seen red: that error passed on."""
    index = line(400)
    graph = beside(index)
    for label in range(398):
        graph.graph.mark_deleted(label)
    with walking():
        hits = graph.search(np.zeros((5, 4)), 3, ef_search=20)
        assert hits.ids.tolist() == [[0, 1, 2]] * 5 and hits.certified.all()
    assert HnswIndex(index, graph.graph).sync() == 398


def test_the_width_of_the_beam_follows_ef_search_and_the_mask() -> None:
    """P12. Seen red: set_ef left as it was made, with only k labels asked for."""
    graph = beside(stored())
    half = np.arange(1500) % 2 == 0

    def width(**options: Any) -> Any:
        explained = graph.explain(QUERIES[0], 5, **options)
        assert explained.operator is not None
        return explained.operator["candidates"]

    with walking():
        assert (width(ef_search=20), width(ef_search=60), width(ef_search=20, allow=half)) == (20, 60, 40)
        assert width(ef_search=20, allow=np.arange(1500) < 5) == 0


class Watched:
    """A graph that notices searches while rows are added, which hnswlib does not allow."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._searches = 0
        self._lock = threading.Lock()
        self.clashes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)

    def knn_query(self, *given: Any, **how: Any) -> Any:
        with self._lock:
            self._searches += 1
        time.sleep(0.001)
        found = self._library.knn_query(*given, **how)
        with self._lock:
            self._searches -= 1
        return found

    def add_items(self, *given: Any, **how: Any) -> None:
        self.clashes += self._searches
        self._library.add_items(*given, **how)
        self.clashes += self._searches


def test_searches_and_changes_of_the_graph_take_turns() -> None:  # cases D5, G6
    """Seen red: rows added without the gate."""
    index = stored()
    graph = beside(index)
    watched = graph._graph.library = Watched(graph.graph)
    errors: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        try:
            while not done.is_set():
                assert (graph.search(QUERIES, 10, ef_search=20).counts == 10).all()
        except BaseException as error:  # for the thread that waits
            errors.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    with walking():
        for reader in readers:
            reader.start()
        for turn in range(5):
            index.upsert(np.arange(200) + 5000 + 100 * turn, ROWS[:200])
            index.remove([7 + turn])
            assert graph.sync() == 200
        done.set()
        for reader in readers:
            reader.join()
    assert (errors, watched.clashes) == ([], 0)
