# SPDX-License-Identifier: Apache-2.0
"""Words follow documents: what is replaced, deleted, brought back, moved, dropped (cases D2, F7, G7, H10)."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collections_examples import EYE, HashEncoder
from evidex import UNRESTRICTED, Collection, Document, Policy
from evidex.lexical.documents import postings_of
from evidex.store.publishing import Publisher
from store_examples import quick_folder
from store_processes import result_of
from words_examples import (
    OPEN,
    QUESTIONS,
    alone,
    guarded,
    require_alone,
    said,
    sources,
    stocked,
    words,
)


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as path:
        yield path


@pytest.fixture(params=[False, True], ids=["memory", "folder"])
def kb(request: pytest.FixtureRequest, folder: Path) -> Iterator[Collection]:
    made = stocked(words(folder / "kb" if request.param else None))
    yield made
    made.close()


def test_a_new_revisions_words_replace_the_old_ones(kb: Collection) -> None:  # case H10
    pinned = kb.snapshot()
    before = {question: said(pinned, question) for question in QUESTIONS}
    kb.put_document("parts", "v2", chunks=["Pump ZZ-9 replaces all.", "Thirty of them are in the store."])
    assert sources(kb, "AX-7") == sources(kb, "valve") == []
    assert sources(kb, "ZZ-9 store") == ["parts", "parts"]
    assert sources(pinned, "ZZ-9 store") == []
    assert {question: said(pinned, question) for question in QUESTIONS} == before
    require_alone(kb)
    kb.restore(None, "parts", "v1")
    assert {question: said(kb, question) for question in QUESTIONS} == before
    assert sources(kb, "ZZ-9 store") == []
    require_alone(kb)
    require_alone(pinned)


def test_deleting_and_restoring(kb: Collection) -> None:
    before = {question: said(kb, question) for question in QUESTIONS}
    kb.delete_document(None, "refunds")
    assert sources(kb, "refund") == []
    require_alone(kb)
    kb.restore(None, "refunds", "v1")
    assert {question: said(kb, question) for question in QUESTIONS} == before
    for source in OPEN:
        kb.delete_document(None, source)
    assert said(kb, "the") == []


@pytest.mark.parametrize("call", ["optimize", "compact"])
def test_rows_move_and_scores_stay(kb: Collection, call: str) -> None:
    """Seen red with words that are written in another order than their rows."""
    kb.put_document("parts", "v2", chunks=["Valve AX-8 of the pump. ", "Its days are thirty."])
    kb.put_document("more", "v1", chunks=["A refund of the pump. ", "The office. "])
    kb.delete_document(None, "office")
    both = {question: said(kb, question, mode="hybrid") for question in QUESTIONS}
    pinned = kb.snapshot()
    for turn in range(2):
        getattr(kb, call)()
        assert {question: said(kb, question, mode="hybrid") for question in QUESTIONS} == both
        assert {question: said(pinned, question, mode="hybrid") for question in QUESTIONS} == both
        require_alone(kb)
        kb.put_document("last", f"v{turn}", chunks=["the last days of the valve"])
        assert "last" in sources(kb, "valve")
        require_alone(kb)
        kb.delete_document(None, "last")
    pinned.close()
    if call == "optimize":
        kb.restore(None, "parts", "v1")
        assert sources(kb, "2350") == ["parts"]
    kb.compact()
    require_alone(kb)
    kb.verify()


def test_order_and_batches_change_no_score() -> None:  # case F9: shards score as one
    made = [stocked(words()), words(), words()]
    made[1].put_documents([Document(source, "v1", chunks=[text]) for source, text in reversed(OPEN.items())])
    for source, text in OPEN.items():
        made[2].put_document(source, "v0", chunks=["pump office refund days"])
        made[2].put_document(source, "v1", chunks=[text])
    for question in QUESTIONS:
        for mode in ("sparse", "hybrid"):
            assert len({str(said(kb, question, mode=mode)) for kb in made}) == 1


def test_a_failure_between_words_and_rows_leaves_neither(kb: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    for place in (f"{Publisher.__module__}.keep_segment", f"{Publisher.__module__}.postings_of"):
        with monkeypatch.context() as broken:
            broken.setattr(place, fails)
            with pytest.raises(ZeroDivisionError):
                kb.put_document("parts", "v2", chunks=["new words"])
        assert sources(kb, "new words") == []
        require_alone(kb)
    kb.put_document("parts", "v2", chunks=["new words"])
    assert sources(kb, "new words") == ["parts"]
    require_alone(kb)


def test_words_are_found_before_the_transaction_and_once(kb: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads wait for a transaction. Seen red with words found inside it, and with those of what is there already."""
    seen: list[list[str]] = []
    real = postings_of

    def outside(texts: list[str], analyzer: Any) -> Any:
        assert not kb._catalog._connection.in_transaction
        seen.append(texts)
        return real(texts, analyzer)

    monkeypatch.setattr(f"{Publisher.__module__}.postings_of", outside)
    for vectors in (None, EYE[:1]):
        new = Document("new", f"v {vectors}", chunks=["a zebra"], vectors=vectors)
        kb.put_documents([Document("parts", "v1", chunks=[OPEN["parts"]]), new])
        kb.put_documents([new])
    assert [texts for texts in seen if texts] == [["a zebra"]] * 2
    require_alone(kb)


def test_a_document_that_another_thread_put_meanwhile_has_no_words_twice(
    kb: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was analysed and is no longer new is left out. Seen red with all words under the rows of what is new."""
    both = [Document(name, "v1", chunks=[f"a {name} of its own"], vectors=EYE[:1]) for name in ("zebra", "yak")]
    real = postings_of

    def meanwhile(texts: list[str], analyzer: Any) -> Any:
        monkeypatch.undo()
        kb.put_documents(both[:1])
        return real(texts, analyzer)

    monkeypatch.setattr(f"{Publisher.__module__}.postings_of", meanwhile)
    kb.put_documents(both)
    assert (sources(kb, "zebra"), sources(kb, "yak")) == (["zebra"], ["yak"])
    require_alone(kb)


def test_readers_see_new_words_when_they_refresh(folder: Path) -> None:
    with stocked(words(folder / "kb")) as kb, words(folder / "kb", "r", analyzer=None) as reader:
        pinned = reader.snapshot()
        kb.put_document("new", "v1", chunks=["a zebra in the office"])
        kb.delete_document(None, "office")
        for one in (reader, pinned):
            assert sources(one, "zebra") == []
            assert "office" in sources(one, "office")
        reader.refresh()
        assert sources(reader, "zebra") == ["new"]
        assert "office" not in sources(reader, "office")
        require_alone(reader)
        assert sources(pinned, "zebra") == []
        kb.optimize()
        reader.refresh()
        require_alone(reader)

        def elsewhere() -> Any:
            with words(folder / "kb", "r") as other:
                inherited = said(reader, "the zebra"), said(pinned, "the zebra")
                return said(other, "the zebra"), *inherited

        assert result_of(elsewhere) == (said(kb, "the zebra"), said(reader, "the zebra"), said(pinned, "the zebra"))


def test_another_process_writes(folder: Path) -> None:
    stocked(words(folder / "kb")).close()
    with words(folder / "kb", "r") as reader:

        def writes() -> list[str]:
            with words(folder / "kb", analyzer=None) as kb:
                kb.put_document("new", "v1", "a zebra in the office")
                return sources(kb, "zebra")

        assert result_of(writes) == ["new"]
        assert sources(reader, "zebra") == []
        reader.refresh()
        assert sources(reader, "zebra") == ["new"]
        require_alone(reader)


def test_each_answer_is_that_of_one_state() -> None:
    """While a writer replaces all documents, readers find words of one revision only, with the scores of it."""
    kb, wrong, done = words(encoder=None, dim=3), [], threading.Event()
    texts = {word: [f"{word} {'x ' * place}" for place in range(3)] for word in ("even", "odd")}
    expected = {word: [score for _, score in alone(every, word)] for word, every in texts.items()}

    def put(number: int) -> None:
        kb.put_document("s", f"v{number}", chunks=texts["odd" if number % 2 else "even"], vectors=EYE)

    def read() -> None:
        while not done.is_set():
            for word in texts:
                found = kb.retrieve(word, mode="sparse")
                if found and sorted(one.score for one in found) != sorted(expected[word]):
                    wrong.append(found)

    put(0)
    readers = [threading.Thread(target=read) for _ in range(2)]
    for one in readers:
        one.start()
    for number in range(1, 60):
        put(number)
        if number % 20 == 0:
            kb.compact()
    done.set()
    for one in readers:
        one.join()
    assert wrong == []


def test_a_closed_collection_and_a_fork(folder: Path) -> None:
    kb = guarded(folder=folder / "kb")
    expected = said(kb, "salary", principal=UNRESTRICTED)
    kb.close()
    reader = words(folder / "kb", "r", Policy(), metric=None, encoder=HashEncoder())
    assert said(reader, "salary", principal=UNRESTRICTED) == expected
    assert result_of(lambda: (os.getpid(), said(reader, "salary", principal=UNRESTRICTED)))[1] == expected
    reader.close()
