# SPDX-License-Identifier: Apache-2.0
"""SparseIndex on open indexes: scores against the reference in fractions, order, matches only (cases F7, F10, F11)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sparse_reference as reference
from evidex import SparseIndex
from evidex.text import Analyzer
from sparse_examples import F7, bits, index_of, matrix, require_order, require_scores

WORDS = [f"w{i}" for i in range(60)]
WORDS_IN_ROWS = 1 / np.arange(1, 61) ** 1.1


def drawn(rng: Any, n: int, most: int) -> list[dict[str, int]]:
    """Documents whose words are as unevenly frequent as those of texts are; some have none."""
    share = WORDS_IN_ROWS / WORDS_IN_ROWS.sum()
    return [
        {str(word): int(rng.choice([1, 2, 4, 8, 12])) for word in rng.choice(WORDS, rng.integers(0, most), p=share)}
        for _ in range(n)
    ]


def test_only_documents_with_a_word_are_found() -> None:  # case F7
    index = index_of(F7, ids=[10, 11, 12, 13, 14])
    [[ids, scores]] = list(index.search("quick"))
    assert ids.tolist() == [13, 14]
    assert scores[0] == scores[1] > 0


def test_an_empty_document_changes_only_what_it_must() -> None:  # case F7
    """It counts as a row, as in the reference, and is never found."""
    index = index_of([*F7, ""])
    terms = dict(enumerate(dict.fromkeys(text.split(), 4) for text in [*F7, ""]))
    require_scores(
        index.search(["quick", "dog"], 100), [reference.bm25({w: 4}, terms, terms) for w in ("quick", "dog")], 100
    )
    assert index.search("quick", 100).counts.tolist() == [2]


@pytest.mark.parametrize("query", ["", "unknown words", "\0", "!?", "  \n"])
def test_a_query_without_known_words_finds_nothing(query: str) -> None:  # case F7
    for documents in (F7, [""] * 4, []):
        index = index_of(documents)
        hits = index.search([query, "quick"], 100)
        assert hits.counts[0] == 0
        assert hits.reason[0] == "fewer_than_k"
        assert (hits.ids[0] == -1).all()
        assert hits.certified.all()


def test_fewer_matches_than_k_are_sorted_and_nothing_is_filled_in() -> None:  # case F11
    index = index_of(["a a a", "b", "a b c d", "a"])
    hits = index.search("a", 4)
    assert hits.counts.tolist() == [3]
    require_order(*hits[0])
    assert set(hits[0].ids.tolist()) == {0, 2, 3}
    assert len(set(hits[0].scores.tolist())) == 3
    assert hits.reason.tolist() == ["fewer_than_k"]


def test_equal_scores_are_ordered_by_id() -> None:
    index = index_of(["same words"] * 5, ids=[9, 3, 7, 1, 5])
    assert index.search("words", 3)[0].ids.tolist() == [1, 3, 5]


@pytest.mark.parametrize("name", ["getUserById", "user_id", "RULE-A002", "CVE-2024-1234"])
def test_an_identifier_is_found_whole_and_by_part(name: str) -> None:  # case F10
    index = index_of([name, "unrelated", "get user by id rule a002 cve 2024 1234"])
    assert index.search(name)[0].ids[0] == 0
    for query in (name.lower(), name.upper(), *{"getUserById": ["user"], "user_id": ["id"]}.get(name, [])):
        assert 0 in index.search(query)[0].ids.tolist()


def test_a_word_in_every_document_counts_little_but_counts() -> None:
    [[ids, scores]] = list(index_of(["a", "a b", "a c"]).search("a"))
    assert len(ids) == 3
    assert (scores > 0).all()
    assert (scores < 0.2).all()


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0, 0.75), (1.2, 0), (1.2, 1), (0.4, 0.3), (1000, 0.5)])
def test_bm25_is_that_of_the_reference(k1: float, b: float) -> None:
    rng = np.random.default_rng(1)
    documents = drawn(rng, 400, 12)
    ids = rng.permutation(5000)[:400]
    index = index_of(documents, ids)
    by_id = dict(zip(ids.tolist(), documents, strict=True))
    queries = drawn(rng, 12, 8)
    expected = [reference.bm25(query, by_id, by_id, k1, b) for query in queries]
    for k in (0, 1, 10, 1000):
        require_scores(index.search(queries, k, k1=k1, b=b), expected, k)


def test_tfidf_is_that_of_the_reference() -> None:
    rng = np.random.default_rng(2)
    documents = drawn(rng, 300, 12)
    index, by_id = index_of(documents), dict(enumerate(documents))
    queries = drawn(rng, 12, 8)
    hits = index.search(queries, 50, ranking="tfidf")
    require_scores(hits, [reference.tfidf(query, by_id, by_id) for query in queries], 50)
    assert max(float(scores[0]) for _, scores in hits if len(scores)) <= 1 + 1e-6


def test_a_long_collection_is_that_of_the_reference() -> None:
    """Several windows of rows, threads, and scores that let terms be passed over."""
    rng = np.random.default_rng(3)
    documents = drawn(rng, 30_000, 9)
    index, by_id = index_of(documents), dict(enumerate(documents))
    queries = [{"w0": 4, "w40": 4}, {"w59": 4, "w1": 2, "w2": 8}, dict.fromkeys(WORDS, 4)]
    expected = [reference.bm25(query, by_id, by_id) for query in queries]
    alone = index.search(queries, 10, threads=1)
    require_scores(alone, expected, 10)
    assert bits(index.search(queries, 10, threads=4)) == bits(alone)
    assert bits(index.search(queries[:1], 10, threads=4)) == bits(alone)[:1]
    everything = index.search(queries, 30_000, threads=4)
    for number, (ids, scores) in enumerate(alone):
        assert everything[number].ids[:10].tolist() == ids.tolist()
        assert everything[number].scores[:10].tobytes() == scores.tobytes()


def test_vectors_are_scored_by_the_inner_product() -> None:
    rng = np.random.default_rng(4)
    rows = [
        {int(i): float(np.float32(w)) for i, w in zip(rng.integers(0, 40, m), rng.random(m) + 0.01, strict=True)}
        for m in rng.integers(0, 9, 300)
    ]
    index = SparseIndex(analyzer=None)
    index.add(None, matrix(rows))
    queries = rows[:15]
    hits = index.search(matrix(queries), 20)
    require_scores(hits, [reference.dot(query, dict(enumerate(rows))) for query in queries], 20)
    assert hits.certified.all()


def test_text_and_its_terms_are_one_query() -> None:
    index = index_of(["IX-2350-B pumps", "IX valves", "2350 pumps"])
    counts = Analyzer().counts("IX-2350-B")
    assert bits(index.search("IX-2350-B")) == bits(index.search(counts)) == bits(index.search([counts]))
    documents = [Analyzer().counts(text) for text in ("IX-2350-B pumps", "IX valves", "2350 pumps")]
    assert bits(index_of(documents).search("IX-2350-B")) == bits(index.search("IX-2350-B"))


def test_a_query_of_a_thousand_words() -> None:
    texts = [f"w{i} w{i + 1}" for i in range(500)]
    query = " ".join(f"w{i}" for i in range(1000))
    index, analyzer = index_of(texts), Analyzer()
    terms = {i: analyzer.counts(text) for i, text in enumerate(texts)}
    for asked in (query, [query] * 2):
        hits = index.search(asked, 1000)
        assert set(hits.counts.tolist()) == {500}
        require_scores(hits, [reference.bm25(analyzer.counts(query), terms, terms)] * len(hits), 1000)


def test_a_document_of_a_megabyte_and_every_plane_of_unicode() -> None:
    planes = [0x61, 0x1F600, 0x20000, 0x30000, 0xE0100, 0xF0000, 0x10FFFD]
    texts = [
        "word " * 200_000 + "needle",
        "".join(map(chr, planes)) + " haystack",
        "שלום עולם",
        "\u202eabc\u202c needle",
        "zero\0needle",
        "x" * 1_000_000,
    ]
    index = index_of(texts)
    assert set(index.search("needle")[0].ids.tolist()) == {0, 3, 4}
    assert index.search("שלום")[0].ids.tolist() == [2]
    assert index.search("haystack")[0].ids.tolist() == [1]
    assert index.search("x" * 1_000_000)[0].ids.tolist() == [5]


def test_groups_have_one_hit_each() -> None:
    index = SparseIndex()
    index.add([1, 2, 3, 4], ["a", "a a a", "a b", "a"], groups=[7, 7, 8, 9])
    hits = index.search("a", group_by=True)
    alone = dict(zip(*(x.tolist() for x in index.search("a")[0]), strict=True))
    assert hits.groups is not None
    assert hits.groups[0, :3].tolist() == [7, 9, 8]
    assert hits[0].ids.tolist() == [2, 4, 3]
    assert hits[0].scores.tolist() == [alone[2], alone[4], alone[3]]
