# SPDX-License-Identifier: Apache-2.0
"""What keeps postings or codes beside its rows: a collection and indexes, and what callers find there."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evidex import (
    ANY_IN_TENANT,
    Collection,
    Columns,
    DenseIndex,
    EncoderIdentity,
    Policy,
    Rule,
    SparseIndex,
    where,
)
from evidex.access import Caller
from evidex.codes import KINDS
from evidex.text import Analyzer
from golden_rows import CALLERS, searched, texts, vectors

TEXTS = {
    "pumps": ["Pump IX-2350-B replaces the valve of pump AX-7.", "Order IX-2350-B/2; see manual v1.2.3 of the pump."],
    "valves": [
        "The valve IX-2350 opens at 5kg, and at 3,5 bar.",
        "Gr\u00f6\u00dfe 12: \u5927\u304d\u3055\u30dd\u30f3\u30d7",
    ],
    "notes": ["Stra\u00dfe, Gr\u00f6\u00dfe, \U0001f4cf: Pump IX-2350-B.", "getUserById and C++"],
    "secret": ["pump pump pump IX-2350-B valve valve secret", "and then a pump manual of 2350 pages"],
    "prices": ["A pump is 2350 EUR, the valve is 5 EUR."],
    "manual": ["Open the valve, then the pump: 2350 turns.", "The manual of IX-2350-B is v1.2.3", "\u5927\u304d\u3044"],
}
QUESTIONS = [
    "pump IX-2350-B",
    "the valve, 2350 and the manual v1.2.3",
    "GR\u00d6SSE \u5927\u304d",
    "and the",
    "nothing",
]
HOW: list[dict[str, Any]] = [
    {"mode": "dense"},
    {"mode": "sparse"},
    {"mode": "hybrid"},
    {"mode": "sparse", "scope": "collection"},
]
SEARCHES: list[dict[str, Any]] = [{}, {"ranking": "tfidf"}, {"scope": "collection"}, {"where": where("year") > 40}]


class ByteEncoder:
    """Vectors that follow from the bytes of a text."""

    identity = EncoderIdentity("bytes", 16, "1", query_prefix="q: ", document_prefix="d: ")
    name, dim = "bytes", 16

    def encode(self, texts: Sequence[str]) -> Any:
        digests = [hashlib.sha256(text[3:].encode()).digest()[:16] for text in texts]
        return np.array([[byte - 127.5 for byte in digest] for digest in digests], dtype=np.float32)


def rules_of(policy: Policy) -> list[Rule]:
    return [
        policy.rule("acme", {"a"}),
        policy.rule("acme", {"b"}, {"c"}),
        policy.rule("acme", ANY_IN_TENANT),
        policy.rule("zenith", {"a"}),
    ]


def make_collection(folder: Path) -> None:
    """Stop words but no stems, which are those of the Snowball that is installed."""
    policy, analyzer = Policy(), Analyzer("english", stem=False)
    with Collection.open(folder, "rw", policy=policy, encoder=ByteEncoder(), analyzer=analyzer) as collection:
        rules = rules_of(policy)
        for at, (source, chunks) in enumerate(TEXTS.items()):
            collection.put_document(source, "1", chunks=chunks, rule=rules[at % 4])
            if source == "secret":
                collection.optimize()
        collection.put_document("pumps", "2", chunks=["Pump IX-2350-B, anew.", "No valve."], rule=rules[0])
        collection.delete_document("acme", "prices")
        collection.set_rule("acme", "valves", rules[0])
        collection.change_rule(rules[1], {"b", "d"})


def make_texts(folder: Path) -> None:
    policy = Policy()
    index = SparseIndex(policy=policy, columns=Columns({"year": int}))
    rules = rules_of(policy)
    documents = [text for chunks in TEXTS.values() for text in chunks]
    years = [len(text) for text in documents]
    for some in (range(7), range(3, len(documents))):
        groups = [3 * at % 8 for at in some]
        of = [rules[group % 4] for group in groups]
        index.upsert(some, [documents[at] for at in some], of, groups, metadata={"year": [years[at] for at in some]})
    index.remove([4, 8])
    index.save(folder)


def sparse(rows: int, seed: int) -> Any:
    """Sparse vectors of one to six of eight components."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 7, rows)
    indices = np.concatenate([rng.choice(8, count, replace=False) for count in counts]) * 613_566_756
    return indices, rng.random(len(indices)) + 0.1, np.concatenate([[0], np.cumsum(counts)])


def make_vectors(folder: Path) -> None:
    policy = Policy()
    index = SparseIndex(analyzer=None, policy=policy)
    rules = rules_of(policy)
    index.add(range(9, 0, -1), sparse(9, 3), [rules[at % 4] for at in range(9)])
    index.upsert([2, 10, 12], sparse(3, 4), rules[2])
    index.remove([7])
    index.save(folder)


def make_codes(folder: Path) -> None:
    """Of as few rows as codes can be trained on, each four times: what was measured of them is packed small then."""
    policy = Policy()
    index = DenseIndex(16, metric="ip", policy=policy)
    rules = rules_of(policy)
    index.add(None, np.tile(vectors(64, 64), (4, 1)), [rules[at // 5 % 4] for at in range(256)])
    for kind in KINDS:
        index.train(kind, seed=3)
    index.remove(range(0, 250, 7))
    index.save(folder)


def retrieved(collection: Collection) -> dict[str, Any]:
    """What each caller finds in each mode: scores to the bit, those of legs too, and ranks."""

    def found(principal: Caller, question: str, how: dict[str, Any]) -> list[Any]:
        return [
            [one.chunk.id[:16], one.score.hex(), {leg: score.hex() for leg, score in one.legs.items()}, dict(one.ranks)]
            for one in collection.retrieve(question, 6, principal=principal, **how)
        ]

    return {
        name: [[found(principal, question, how) for question in QUESTIONS] for how in HOW]
        for name, principal in CALLERS.items()
    }


def read_collection(folder: Path) -> Any:
    with Collection.open(folder, policy=Policy(), encoder=ByteEncoder()) as collection:
        collection.verify()
        return {"answers": retrieved(collection), "chunks": texts(collection)}


def read_texts(folder: Path) -> Any:
    index = SparseIndex.load(folder, policy=Policy())
    return {"answers": [searched(index, QUESTIONS, **how) for how in SEARCHES]}


def read_vectors(folder: Path) -> Any:
    return {"answers": searched(SparseIndex.load(folder, policy=Policy()), sparse(3, 5))}


def read_codes(folder: Path) -> Any:
    index = DenseIndex.load(folder, policy=Policy())
    plans = ["exact", *(f"{kind} codes, {count} rescored" for kind in KINDS for count in (5, 30))]
    return {"answers": {plan: searched(index, vectors(3, 1), 5, plan=plan) for plan in plans}}
