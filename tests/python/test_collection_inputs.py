# SPDX-License-Identifier: Apache-2.0
"""What a collection refuses: each with a typed error that says what to do, and nothing stored is changed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collections_examples import ALICE, DIM, EYE, HashEncoder, stored_in
from evidex import (
    ANY_IN_TENANT,
    UNRESTRICTED,
    AccessError,
    Collection,
    Columns,
    Document,
    EncoderMismatch,
    InvalidInput,
    NotFound,
    Policy,
    Rule,
    Span,
)
from evidex.store.documents import MOST_CHARACTERS
from evidex.text import Chunker

COLUMNS: dict[str, type] = {"lang": str, "year": int, "day": dt.date}


class Spans(Chunker):
    def __init__(self, *spans: Any) -> None:
        self.given = list(spans)

    def spans(self, text: str) -> list[Span]:
        return self.given


class Stocked:
    """s0 is visible as v2, with v1 retired; gone has no visible revision; the last rule is another policy's."""

    def __init__(self, path: Path) -> None:
        self.path, self.policy = path, Policy()
        how: Any = {"encoder": HashEncoder(), "columns": Columns(COLUMNS)}
        self.kb = Collection.open(path, "rw", policy=self.policy, **how)
        self.rule = self.policy.rule("acme", {"a"})
        self.foreign = Policy().rule("acme", {"a"})
        for source, revision in (("s0", "v1"), ("s0", "v2"), ("gone", "v1")):
            self.kb.put_document(source, revision, chunks=[f"{source} {revision}", "more"], rule=self.rule)
        self.kb.delete_document("acme", "gone")

    def put(self, text: Any = "text", source: Any = "new", revision: Any = "v1", **how: Any) -> None:
        text = None if "chunks" in how else text
        self.kb.put_document(source, revision, text, **({"rule": self.rule} | how))


@pytest.fixture(scope="module")
def of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stocked]:
    made = Stocked(tmp_path_factory.mktemp("inputs") / "kb")
    yield made
    made.kb.close()


Call = Callable[[Stocked], object]
BAD: dict[str, tuple[Call, type[Exception], str]] = {
    # vectors
    "dim of vectors": (lambda of: of.put(vectors=np.ones((1, 4))), InvalidInput, r"\[n, 3\], got shape \[1, 4\]"),
    "one vector without its axis": (lambda of: of.put(vectors=np.ones(3)), InvalidInput, r"reshape .* to \[1, 3\]"),
    "dtype of vectors": (lambda of: of.put(vectors=np.ones((1, 3), int)), InvalidInput, "int64; convert"),
    "vectors of text": (lambda of: of.put(vectors=[["a", "b", "c"]]), InvalidInput, "dtype"),
    "number of vectors": (lambda of: of.put(vectors=np.ones((2, 3))), InvalidInput, "2 given for the 1 chunks"),
    "nan": (lambda of: of.put(vectors=[[np.nan, 0.0, 1.0]]), InvalidInput, "row 0"),
    "zero under cosine": (lambda of: of.put(vectors=np.zeros((1, 3))), InvalidInput, "row 0 is all zeros"),
    # revisions
    "another text": (lambda of: of.put("other", "s0", "v2"), InvalidInput, "a revision of its own"),
    "other vectors": (
        lambda of: of.put(source="s0", revision="v2", chunks=["s0 v2", "more"], vectors=EYE[:2]),
        InvalidInput,
        "stored with other content",
    ),
    "other metadata": (
        lambda of: of.put(source="s0", revision="v2", chunks=["s0 v2", "more"], metadata={"lang": "en"}),
        InvalidInput,
        "stored with other content",
    ),
    "other chunks of the same text": (
        lambda of: of.put(source="s0", revision="v2", chunks=["s0 v2m", "ore"]),
        InvalidInput,
        "stored with other content",
    ),
    "retired": (lambda of: of.put(source="s0", revision="v1", chunks=["s0 v1", "more"]), InvalidInput, "restore"),
    "deleted": (lambda of: of.put(source="gone", revision="v1", chunks=["gone v1", "more"]), InvalidInput, "restore"),
    # rules
    "no rule": (lambda of: of.put(rule=None), AccessError, "no document without one"),
    "a rule of another policy": (lambda of: of.put(rule=of.foreign), InvalidInput, "this collection's policy"),
    "a rule that is none": (lambda of: of.put(rule="acme"), InvalidInput, "policy.rule"),
    "set to none": (lambda of: of.kb.set_rule("acme", "s0", None), InvalidInput, "policy.rule"),  # type: ignore[arg-type]
    "set to another policy's": (lambda of: of.kb.set_rule("acme", "s0", of.foreign), InvalidInput, "policy"),
    "set to another tenant's": (
        lambda of: of.kb.set_rule("acme", "s0", of.policy.rule("zenith", ())),
        InvalidInput,
        "stays with its tenant",
    ),
    "a changed rule of another policy": (lambda of: of.kb.change_rule(of.foreign, {"a"}), InvalidInput, "policy"),
    "a rule changed to a str": (lambda of: of.kb.change_rule(of.rule, "abc"), InvalidInput, "allow"),
    "a kept policy changed": (lambda of: of.policy.change(of.rule, {"b"}), InvalidInput, r"use its change_rule"),
    "the policy of another": (
        lambda of: Collection.in_memory(policy=of.policy, dim=3),
        InvalidInput,
        "give each open collection a Policy",
    ),
    # texts and names
    "100 MB": (lambda of: of.put("x " * 50_000_000), InvalidInput, f"at most {MOST_CHARACTERS} .*; split"),
    "100 MB of chunks": (lambda of: of.put(chunks=["x" * 50_000_000] * 2), InvalidInput, "split the document"),
    "a lone surrogate": (lambda of: of.put("a\ud800"), InvalidInput, "character 1.*; repair"),
    "NUL": (lambda of: of.put("ab\0c"), InvalidInput, "NUL at character 2"),
    "bytes": (lambda of: of.put(b"text"), InvalidInput, "expected a str"),
    "nothing": (lambda of: of.put(""), InvalidInput, "an extraction that failed"),
    "blank": (lambda of: of.put(" \n\t\u3000"), InvalidInput, "an extraction that failed"),
    "no chunks": (lambda of: of.put(chunks=[]), InvalidInput, "an extraction that failed"),
    "a blank chunk": (lambda of: of.put(chunks=["a", " \n"]), InvalidInput, r"chunks\[1\].*leave blank"),
    "chunks that are a text": (lambda of: of.put(chunks="text"), InvalidInput, "wrap"),
    "a surrogate pair cut in two": (lambda of: of.put(chunks=["\ud83d", "\ude00"]), InvalidInput, "UTF-8"),
    "text and chunks": (
        lambda of: of.kb.put_document("new", "v1", "a", chunks=["a"], rule=of.rule),
        InvalidInput,
        "either text or chunks",
    ),
    "neither text nor chunks": (lambda of: of.put(None), InvalidInput, "either text or chunks"),
    "a chunker for chunks": (lambda of: of.put(chunks=["a"], chunker=Spans()), InvalidInput, "leave the chunker out"),
    "a chunker that is none": (lambda of: of.put(chunker=len), InvalidInput, "evidex.text"),
    "a span beyond the text": (lambda of: of.put("abc", chunker=Spans(Span(0, 4))), InvalidInput, "within 0 to 3"),
    "a span below it": (lambda of: of.put("abc", chunker=Spans(Span(-2, 2))), InvalidInput, "within 0 to 3"),
    "a span twice": (lambda of: of.put("abc", chunker=Spans(Span(0, 3), Span(0, 3))), InvalidInput, "twice"),
    "a tuple as span": (lambda of: of.put("abc", chunker=Spans((0, 3))), InvalidInput, "a Span"),
    "an empty source": (lambda of: of.put(source=""), InvalidInput, "source"),
    "NUL in a source": (lambda of: of.put(source="a\0b"), InvalidInput, "without NUL"),
    "a surrogate in a source": (lambda of: of.put(source="\udfff"), InvalidInput, "source.*UTF-8"),
    "a long source": (lambda of: of.put(source="s" * 1025), InvalidInput, "1 to 1024"),
    "a number as revision": (lambda of: of.put(revision=1), InvalidInput, "revision: expected a str"),
    "NUL in a revision": (lambda of: of.put(revision="\0"), InvalidInput, "revision.*NUL"),
    "texts with a surrogate": (lambda of: of.kb.add_texts(["\ud800"], rule=of.rule), InvalidInput, "UTF-8"),
    "one text as texts": (lambda of: of.kb.add_texts("text", rule=of.rule), InvalidInput, "wrap"),
    # metadata
    "an unknown column": (lambda of: of.put(metadata={"size": 1}), InvalidInput, "no column 'size'; there are 'lang'"),
    "a value of another type": (lambda of: of.put(metadata={"year": "2020"}), InvalidInput, "year"),
    "a time as date": (lambda of: of.put(metadata={"day": dt.datetime(2024, 1, 1)}), InvalidInput, "day"),
    "a number beyond int64": (lambda of: of.put(metadata={"year": 2**63}), InvalidInput, "year"),
    "metadata that is none": (lambda of: of.put(metadata=["lang"]), InvalidInput, "mapping"),
    # calls
    "batch=0": (lambda of: of.kb.put_documents([], batch=0), InvalidInput, "batch: .*at least 1"),
    "batch=True": (lambda of: of.kb.put_documents([], batch=True), InvalidInput, "batch"),
    "one document": (lambda of: of.kb.put_documents(Document("a", "b", "c")), InvalidInput, "wrap"),  # type: ignore[arg-type]
    "no documents": (lambda of: of.kb.put_documents(None), InvalidInput, "iterable"),  # type: ignore[arg-type]
    "documents that are none": (lambda of: of.kb.put_documents(["a"]), InvalidInput, "evidex.Document"),  # type: ignore[list-item]
    "an unknown keyword": (lambda of: of.put(acl="x"), TypeError, "acl"),
    "no tenant": (lambda of: of.kb.delete_document(None, "s0"), InvalidInput, "tenant"),
    "an unknown document": (lambda of: of.kb.delete_document("acme", "s9"), NotFound, "'s9' of tenant 'acme'"),
    "another tenant's": (lambda of: of.kb.delete_document("zenith", "s0"), NotFound, "no such document"),
    "deleted twice": (lambda of: of.kb.delete_document("acme", "gone"), NotFound, "no visible revision"),
    "an unknown revision": (lambda of: of.kb.restore("acme", "s0", "v9"), NotFound, "'v9' of 's0' is not retained"),
    "erase of nothing": (lambda of: of.kb.erase("acme", "s9"), NotFound, "no such document"),
    "rule of nothing": (lambda of: of.kb.set_rule("acme", "s9", of.rule), NotFound, "no such document"),
    "a blank question": (lambda of: of.kb.retrieve(" ", principal=ALICE), InvalidInput, "ask something"),
    "a mode that is not there": (lambda of: of.kb.retrieve("x", mode="magic", principal=ALICE), InvalidInput, "dense"),
    "an id that is none": (lambda of: of.kb.get_chunk("abc", principal=ALICE), InvalidInput, "64 lower-case hex"),
    "a row id as id": (lambda of: of.kb.get_chunk(5, principal=ALICE), InvalidInput, "str"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("what", BAD)
def test_it_is_refused_and_nothing_changes(of: Stocked, what: str) -> None:
    call, kind, said = BAD[what]
    before = stored_in(of.path), of.kb.generation, len(of.policy)
    with pytest.raises(kind, match=f"(?s){said}"):
        call(of)
    assert (stored_in(of.path), of.kb.generation) == before[:2]
    of.kb.verify()


def test_what_is_there_is_passed_over(of: Stocked) -> None:
    before = stored_in(of.path)
    put = of.kb.put_document("s0", "v2", chunks=["s0 v2", "more"], rule=of.rule)
    assert (put.stored, put.unchanged, put.chunks) == (0, 1, 0)
    assert stored_in(of.path) == before


@pytest.mark.parametrize("values", ["not vectors", np.ones((1, DIM + 1)), np.ones((2, DIM)), [[np.nan] * DIM]], ids=str)
def test_what_an_encoder_gives_is_checked(values: Any) -> None:
    class Broken(HashEncoder):
        broken = False

        def encode(self, texts: Any) -> Any:
            return values if self.broken else super().encode(texts)

    encoder = Broken()
    kb = Collection.in_memory(policy=UNRESTRICTED, encoder=encoder)
    kb.add_texts(["a"])
    encoder.broken = True
    with pytest.raises(InvalidInput, match="encoder|vectors|queries"):
        kb.add_texts(["b"])
    with pytest.raises(InvalidInput, match="encoder|queries"):
        kb.retrieve("a")
    assert len(kb) == 1


def test_vectors_of_another_encoder_are_refused_part_by_part(tmp_path: Path) -> None:
    encoder = HashEncoder()
    Collection.open(tmp_path / "kb", "rw", policy=UNRESTRICTED, encoder=encoder).close()
    before = stored_in(tmp_path / "kb")
    given: dict[str, Any] = {
        **{"name": "other", "dim": 4, "revision": "2", "pooling": "cls", "normalised": False},
        **{"query_prefix": "", "document_prefix": "passage: ", "truncation": 512, "tokenizer": "bpe"},
    }
    for part, value in given.items():
        encoder.identity = replace(HashEncoder.identity, **{part: value})
        for mode in ("r", "rw"):
            with pytest.raises(EncoderMismatch, match=rf"{part} .* stored, {value!r} given.*; pass that one") as error:
                Collection.open(tmp_path / "kb", mode, policy=UNRESTRICTED, encoder=encoder)
            assert str(error.value).count("stored") == 1
    assert isinstance(error.value, ValueError)
    assert stored_in(tmp_path / "kb") == before
    Collection.open(tmp_path / "kb", policy=UNRESTRICTED).close()  # without one: to search by vectors
    Collection.open(tmp_path / "plain", "rw", policy=UNRESTRICTED, dim=3).close()
    with pytest.raises(EncoderMismatch, match="made without one"):
        Collection.open(tmp_path / "plain", policy=UNRESTRICTED, encoder=HashEncoder())


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"encoder": "nothing like it"}, "encoder"),
        ({"encoder": object()}, r"needs name, dim and encode"),
        ({"encoder": type("X", (), {"identity": HashEncoder.identity})()}, "needs name, dim and encode"),
        ({"policy": None}, "never implied"),
        ({"policy": Policy}, "never implied"),
        ({"log": "log.jsonl"}, "RetrievalLog"),
        ({"dim": None}, "dim: a new collection needs"),
        ({"dim": 0}, "dim"),
        ({"dim": True}, "dim"),
        ({"dim": 4, "encoder": HashEncoder()}, "dim: 4 was given, but the encoder's"),
        ({"metric": "hamming"}, "metric: expected one of"),
        ({"codec": "int7"}, "codec: expected one of"),
        ({"columns": {"lang": str}}, "columns: expected Columns"),
    ],
    ids=str,
)
def test_a_collection_that_cannot_be_made_leaves_nothing(tmp_path: Path, how: dict[str, Any], said: str) -> None:
    policy = Policy()
    given: dict[str, Any] = {"policy": policy, "dim": 3} | how
    with pytest.raises(InvalidInput, match=said):
        Collection.open(tmp_path / "kb", "rw", **given)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InvalidInput, match=said):
        Collection.in_memory(**given)
    Collection.in_memory(policy=policy, dim=3).close()  # nothing keeps the policy


def test_a_collection_without_rules_takes_none() -> None:
    kb = Collection.in_memory(policy=UNRESTRICTED, dim=3)
    rule: Rule = Policy().rule("acme", ANY_IN_TENANT)
    with pytest.raises(InvalidInput, match="open and keeps no rules"):
        kb.put_document("s", "v1", chunks=["a"], vectors=EYE[:1], rule=rule)
    with pytest.raises(InvalidInput, match="without an encoder; pass vectors"):
        kb.put_document("s", "v1", chunks=["a"])
    with pytest.raises(InvalidInput, match="no columns"):
        kb.put_document("s", "v1", chunks=["a"], vectors=EYE[:1], metadata={"lang": "en"})
    calls: list[Callable[[], object]] = [lambda: kb.set_rule("acme", "s", rule), lambda: kb.change_rule(rule, ())]
    calls += [lambda: kb.erase("acme", "s"), lambda: kb.delete_document("acme", "s")]
    for call in calls:
        with pytest.raises(InvalidInput, match="open|None"):
            call()
    with pytest.raises(InvalidInput, match="opened without one"):
        kb.retrieve("a")
    with pytest.raises(InvalidInput, match="this index is open"):
        kb.search(EYE[0], principal=ALICE)
    assert len(kb) == 0
