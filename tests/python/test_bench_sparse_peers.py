# SPDX-License-Identifier: Apache-2.0
"""The systems of ``evidex bench sparse`` that are installed: right over the same terms and over their own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from bench_texts import texts
from evidex import InvalidInput
from evidex.bench import sparse, worker
from evidex.bench.sparse import texts as data
from evidex.bench.sparse.peer import SparsePeer, repeated
from evidex.bench.sparse.reference import Reference, Tally, ranked

DOCUMENTS = [*texts(300, 20, 0), ""]
QUESTIONS = [*texts(25, 6, 1), "barbar barbar doldol", "nothing of that", ""]
OPEN = [name for name in sparse.BUILT_IN if name != "evidex-guarded"]
# Lengths in one byte, and another idf: not quite the order of BM25. Least recall, and least share of same answers.
LEAST = {"tantivy": (0.7, 0.3), "rank-bm25": (0.6, 0.1)}
# From text bm25s gives an empty document an empty term, which an empty question then finds (case F7).
FINDS_NOTHING = {("bm25s-numpy", "text"), ("bm25s-numba", "text")}


def needed(name: str) -> None:
    if name != "evidex" and name not in sparse.installed():
        pytest.skip(f"{name}: its library is not installed")


def built(name: str, form: str, documents: Sequence[Any], **build: Any) -> Any:
    needed(name)
    try:
        peer = sparse.load(name, 1, form, build)
    except NotImplementedError as reason:
        pytest.skip(str(reason))
    peer.build(peer.documents(documents))
    return peer


def asked(peer: Any, queries: Sequence[Any], k: int, batch: int) -> Any:
    made = peer.queries(queries)
    parts = [made[first : first + batch] for first in range(0, len(made), batch)]
    return worker.padded([peer.search(part, k) for part in parts], [len(part) for part in parts], k)


@pytest.mark.parametrize("name", OPEN)
@pytest.mark.parametrize("form", sparse.FORMS)
def test_every_system_finds_what_the_reference_finds(name: str, form: str) -> None:
    """Seen red: with another k1 for bm25s, with its rows that have no term of the question, with terms counted once."""
    counts = data.analyzer().counts
    documents: list[Any] = DOCUMENTS if form == "text" else [counts(text) for text in DOCUMENTS]
    questions: list[Any] = QUESTIONS if form == "text" else [counts(text) for text in QUESTIONS]
    peer = built(name, form, documents)
    of = peer.terms if form == "text" else dict
    reference = Reference(of(one) for one in documents)
    ids = asked(peer, questions, 10, 1)
    tally, matching = Tally(10), len(questions) - 2
    for row, question in zip(ids[:matching].tolist(), questions, strict=False):
        scores = reference.scores(of(question), reference.statistics())
        tally.judge(row, scores, ranked(scores, 10), 0)
    assert (tally.answers().recall, tally.agreement) >= LEAST.get(name, (1.0, 1.0))
    assert tally.agreement >= LEAST.get(name, (1.0, 1.0))[1]
    assert (ids[matching:] == -1).all() == ((name, form) not in FINDS_NOTHING)
    assert np.array_equal(np.sort(asked(peer, questions, 10, 7)), np.sort(ids))
    assert peer.version()[0].isdigit()
    size = peer.index_bytes()
    assert size is None if name == "rank-bm25" else size > reference.entries


@pytest.mark.parametrize("name", OPEN)
@pytest.mark.parametrize("form", sparse.FORMS)
def test_a_word_counts_as_often_as_it_is_asked(name: str, form: str) -> None:
    """Seen red: without the boost of words that are there twice, in tantivy."""
    texts_ = [
        "fenfen hulhul",
        "gimgim hulhul",
        *(f"{word}{word} jopjop" for word in ("bar", "kez", "lum", "mor", "nib")),
    ]
    of = (lambda text: text) if form == "text" else data.analyzer().counts
    peer = built(name, form, [of(text) for text in texts_])
    for question, best in (("fenfen fenfen gimgim", [0, 1]), ("fenfen gimgim gimgim", [1, 0])):
        assert asked(peer, [of(question)], 2, 1).tolist() == [best]


@pytest.mark.parametrize("name", OPEN)
def test_more_rows_may_be_asked_for_than_there_are(name: str) -> None:
    counts = data.analyzer().counts
    peer = built(name, "tokens", [counts("fenfen gimgim"), counts("hulhul"), counts("jopjop"), counts("kezkez lumlum")])
    assert asked(peer, [counts("hulhul")], 9, 1).tolist() == [[1, *[-1] * 8]]


def test_the_same_terms_are_whole_words() -> None:
    """So that every system can count them: no parts, which weigh less than 4."""
    counts = data.analyzer().counts("The getUserById of user_id IX-2350-B runs and runs")
    assert counts == {"getuserbyid": 4, "user_id": 4, "ix": 4, "2350": 4, "b": 4, "run": 8}
    assert repeated({"a": 8, "b": 4}) == ["a", "a", "b"]


def test_own_systems_need_little() -> None:
    peer = SparsePeer(1, "tokens")
    assert (peer.documents([1]), peer.queries([2]), peer.index_bytes()) == ([1], [2], None)
    with pytest.raises(NotImplementedError, match="has no analysis of texts"):
        peer.terms("a")


def test_names_of_systems() -> None:
    assert sparse.expand(["tantivy", "bm25s", "own:Mine"]) == ["tantivy", "bm25s-numpy", "bm25s-numba", "own:Mine"]
    for wrong in ("evidex", "evidex-guarded", "lucene", ""):
        with pytest.raises(InvalidInput, match="peers: expected one of bm25s-numpy, bm25s-numba, tantivy, rank-bm25"):
            sparse.expand([wrong])
    with pytest.raises(InvalidInput, match="distinct names"):
        sparse.expand(["bm25s", "bm25s-numba"])


@pytest.mark.parametrize(
    ("name", "module"),
    [("bm25s-numpy", "bm25s"), ("bm25s-numba", "numba"), ("tantivy", "tantivy"), ("rank-bm25", "rank_bm25")],
)
def test_a_missing_library_says_what_to_install(name: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InvalidInput, match=r"pip install evidex\[bench\]"):
        sparse.load(name, 1, "tokens", {})
