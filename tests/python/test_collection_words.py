# SPDX-License-Identifier: Apache-2.0
"""Collections that keep words: retrieval by vectors, by words, and by both (cases F1, F2, F4, F5, F7, F10)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collections_examples import HashEncoder
from evidex import (
    Collection,
    InvalidInput,
    Principal,
    VersionMismatch,
    rrf,
)
from evidex.text import Analyzer
from store_examples import quick_folder
from words_examples import OPEN, alone, guarded, said, scores, sources, stocked, visible, words

DEPTH = 100  # of each leg of a hybrid search, or twice k


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as path:
        yield path


@pytest.fixture(params=[False, True], ids=["memory", "folder"])
def kb(request: pytest.FixtureRequest, folder: Path) -> Iterator[Collection]:
    made = stocked(words(folder / "kb" if request.param else None))
    yield made
    made.close()


def test_by_words(kb: Collection) -> None:  # cases F7, F10
    assert sources(kb, "refund days") == ["refunds", "days"]  # no stemmer: "refunds" is another word
    assert [name for name, *_ in said(kb, "ix-2350-b")] == ["parts"]
    assert sources(kb, "2350") == ["parts"]
    assert said(kb, "unheard of nonsense")[0][0] == "refunds"  # "of" alone
    assert said(kb, "nonsense ?!") == []
    assert scores(kb, "thirty days at the office") == alone(OPEN.values(), "thirty days at the office")
    for rank, (_, _, score, legs, ranks) in enumerate(said(kb, "the office at nine"), start=1):
        assert (legs, ranks) == ({"sparse": score}, {"sparse": rank})
    everything = sources(kb, "the thirty days")
    for k in range(5):
        assert sources(kb, "the thirty days", k) == everything[:k]


def test_by_vectors_as_without_words(kb: Collection) -> None:
    plain = stocked(words(analyzer=None))
    for reader in (kb, plain):
        assert reader.retrieve("refund?") == reader.retrieve("refund?", mode="dense")
    assert said(kb, "refund?", mode="dense") == said(plain, "refund?", mode="dense")
    best = kb.retrieve("refund?", 2)
    assert [(one.legs, one.ranks) for one in best] == [
        ({"dense": one.score}, {"dense": rank}) for rank, one in enumerate(best, start=1)
    ]


def test_both_are_fused_by_rank(kb: Collection) -> None:  # cases F4, F5
    """Seen red with a score of one leg under the name of the other."""
    question = "thirty days of pump AX-7"
    legs = {mode: said(kb, question, DEPTH, mode) for mode in ("dense", "sparse")}
    fused = rrf([[name for name, *_ in leg] for leg in legs.values()])
    both = said(kb, question, 10, "hybrid")
    assert len(both) == len({name for name, *_ in both}) == len(OPEN)
    assert len(legs["sparse"]) < len(OPEN), "nothing is absent from a leg"
    of = {mode: {one[0]: (rank, one[2]) for rank, one in enumerate(leg, start=1)} for mode, leg in legs.items()}
    expected = dict(fused)
    for name, text, score, its_scores, its_ranks in both:
        has = {mode: places[name] for mode, places in of.items() if name in places}
        assert (text, score) == (OPEN[name], expected[name])
        assert its_scores == {mode: place[1] for mode, place in has.items()}
        assert its_ranks == {mode: place[0] for mode, place in has.items()}
        assert score == sum(1 / (60 + rank) for rank in its_ranks.values())
    assert [one[2] for one in both] == sorted((one[2] for one in both), reverse=True)


def test_a_leg_that_finds_nothing_adds_nothing(kb: Collection) -> None:  # case F5
    dense = said(kb, "nonsense", mode="dense")
    both = said(kb, "nonsense", mode="hybrid")
    assert [one[0] for one in both] == [one[0] for one in dense]
    assert [one[2:] for one in both] == [
        (1 / (60 + rank), {"dense": one[2]}, {"dense": rank}) for rank, one in enumerate(dense, start=1)
    ]


def test_a_source_of_many_chunks_and_equal_texts() -> None:  # cases F1, F2
    """Chunks are fused, each once, and equal texts of two documents stay two."""
    kb = words()
    kb.put_document("long", "v1", chunks=["pump manual ", "pump manual ", "pump valve"])
    kb.put_document("other", "v1", chunks=["pump manual "])
    for mode in ("dense", "sparse", "hybrid"):
        found = kb.retrieve("pump manual", 10, mode=mode)
        assert len(found) == 4
        assert len({one.chunk.id for one in found}) == 4
        same = [one for one in found if one.chunk.text == "pump manual "]
        assert [one.chunk.source for one in same].count("long") == 2
        assert len({tuple(one.legs.values()) for one in same}) == 1
    places = [one.ranks for one in kb.retrieve("pump manual", mode="hybrid")]
    assert {len(one) for one in places} == {2}
    assert sorted(one["sparse"] for one in places) == sorted(one["dense"] for one in places) == [1, 2, 3, 4]


@pytest.mark.parametrize("k", [1, 60])
def test_the_depth_of_legs_is_documented(k: int) -> None:
    """The best 2 k of each, at least 100: what lies deeper in a leg has no rank there. Seen red with k of each."""
    kb = words(metric="ip")
    n = max(DEPTH, 2 * k) + 2
    vectors = np.outer(np.arange(n, 0, -1), HashEncoder.vector("word")).astype(np.float32)
    chunks = [f"word {'pad ' * place}" for place in range(n)][::-1]  # best by vectors is worst by words
    kb.put_document("s", "v1", chunks=chunks, vectors=vectors)
    depth = max(DEPTH, 2 * k)
    by_words, by_vectors = (
        [one.chunk.start for one in kb.retrieve("word", depth, mode=mode)] for mode in ("sparse", "dense")
    )
    everything = sorted(chunk.start for chunk in kb.chunks())
    assert (by_words, by_vectors) == (everything[: -depth - 1 : -1], everything[:depth])
    both = kb.retrieve("word", k, mode="hybrid")
    starts = [one.chunk.start for one in kb.retrieve("word", k, mode="hybrid")]
    assert len(starts) == k
    assert max(max(one.ranks.values()) for one in both) <= depth
    ids = {chunk.start: int(chunk.id[:16], 16) >> 1 for chunk in kb.chunks()}
    fused = rrf([[ids[at] for at in leg] for leg in (by_vectors, by_words)])
    assert [ids[at] for at in starts] == list(fused.ids[:k])
    assert [one.score for one in both] == list(fused.scores[:k])


def test_no_analyzer_no_words() -> None:
    kb = stocked(words(analyzer=None))
    for mode in ("sparse", "hybrid"):
        with pytest.raises(InvalidInput, match=r"keeps no words; make it with analyzer=evidex\.text\.Analyzer"):
            kb.retrieve("office", mode=mode)
    assert kb.stats()["words"] is None


def test_no_encoder_no_vectors_of_questions() -> None:
    kb = words(encoder=None, dim=3)
    kb.put_document("s", "v1", chunks=["pump", "valve"], vectors=np.eye(3)[:2])
    assert sources(kb, "pump") == ["s"]
    for mode in ("dense", "hybrid"):
        with pytest.raises(InvalidInput, match="encoder: this collection was opened without one"):
            kb.retrieve("pump", mode=mode)


def test_words_do_not_ask_the_encoder() -> None:
    encoder = HashEncoder()
    kb = stocked(words(encoder=encoder))
    encoder.seen.clear()
    kb.retrieve("office", mode="sparse")
    assert encoder.seen == []
    kb.retrieve("office", mode="hybrid")
    assert encoder.seen == ["q: office"]


def test_the_encoder_is_asked_after_the_rights() -> None:
    encoder = HashEncoder()
    kb = guarded(encoder=encoder)
    encoder.seen.clear()
    for nobody in (Principal("x", "nowhere", {"legal"}), Principal("x", "acme", ())):
        assert kb.retrieve("salary", mode="hybrid", principal=nobody) == ()
    assert encoder.seen == []


@pytest.mark.parametrize("mode", ["sparse", "hybrid"])
def test_an_open_collection_has_one_scope(kb: Collection, mode: str) -> None:
    assert said(kb, "office", mode=mode, scope="collection") == said(kb, "office", mode=mode)
    for scope in ("permitted", "tenant"):
        with pytest.raises(InvalidInput, match=f"'{scope}' is all rows; leave it out"):
            kb.retrieve("office", mode=mode, scope=scope)


def test_the_analyzer_is_the_one_it_was_made_with(folder: Path) -> None:  # case F10
    stocked(words(folder / "kb", analyzer=Analyzer(stop_words=["the"]))).close()
    for mode in ("r", "rw"):
        for other in (Analyzer(), Analyzer(stop_words=[]), "english", 5):
            with pytest.raises(InvalidInput, match="(?s)analyzer: got .*what is stored was made with"):
                words(folder / "kb", mode, analyzer=other)
        for same in (None, Analyzer(stop_words=["THE"])):
            with words(folder / "kb", mode, analyzer=same) as kb:
                assert sources(kb, "the") == []
                assert sources(kb, "the office") == sources(kb, "office") != []
    stocked(words(folder / "plain", analyzer=None)).close()
    with pytest.raises(InvalidInput, match="what is stored was made with none"):
        words(folder / "plain")
    with pytest.raises(InvalidInput, match="analyzer: expected an Analyzer, or None, got 'english'"):
        words(folder / "new", analyzer="english")
    assert not (folder / "new").exists()


@pytest.mark.parametrize("lacking", ["the stemmer", "its rules"])
def test_vectors_are_found_where_the_analyzer_cannot_be_made(
    folder: Path, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    """Seen red with an analyser made when the collection is opened."""
    monkeypatch.setattr("evidex.text.analysis.snowball_version", lambda: "3.0.1")
    monkeypatch.setattr("evidex.text.analysis.Stemmer", lambda _: str)
    kb = stocked(words(folder / "kb", analyzer=Analyzer("english")))
    expected = said(kb, "office", mode="dense")
    assert sources(kb, "office") == ["office", "days"] or sources(kb, "office") == ["days", "office"]
    kb.close()
    monkeypatch.undo()

    def absent() -> None:
        raise InvalidInput("stemming needs PyStemmer")

    if lacking == "its rules":
        monkeypatch.setattr("evidex.text.analysis._RULES", 2)
    monkeypatch.setattr("evidex.text._stemming._package", absent)
    error: Any = (InvalidInput, "PyStemmer") if lacking == "the stemmer" else (VersionMismatch, "has rules 2")
    for mode in ("r", "rw"):
        with words(folder / "kb", mode, analyzer=None) as again:
            assert said(again, "office", mode="dense") == expected
            for call in ("sparse", "hybrid"):
                with pytest.raises(error[0], match=error[1]):
                    again.retrieve("office", mode=call)
            if mode == "rw":
                with pytest.raises(error[0], match=error[1]):
                    again.put_document("new", "v1", "office")
                again.optimize()
                again.verify()
            assert len(again) == len(OPEN)


def test_a_collection_without_documents(folder: Path) -> None:
    for place in (None, folder / "kb"):
        with words(place) as kb:
            for mode in ("dense", "sparse", "hybrid"):
                assert kb.retrieve("anything", mode=mode) == ()
            kb.optimize()
            kb.compact()
            kb.verify()
            kb.put_document("s", "v1", "?!")  # no word in it
            assert said(kb, "s ?!") == []
            stocked(kb)
            assert scores(kb, "the office") == alone(visible(kb), "the office")
            assert kb.stats()["words"]["terms"] > 10
