# SPDX-License-Identifier: Apache-2.0
"""Collections of vectors and an index: what is in them, and what callers find there."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from evidex import ANY_IN_TENANT, UNRESTRICTED, Collection, Columns, DenseIndex, Document, Hits, Policy, Principal, Rule
from evidex.access import Caller

COLUMNS: dict[str, type] = {"lang": str, "year": int, "weight": float, "draft": bool, "on": date}
CALLERS: dict[str, Caller] = {
    "ann": Principal("ann", "acme", {"a"}),
    "bob": Principal("bob", "acme", {"b"}),
    "zoe": Principal("zoe", "zenith", {"a"}),
    "everything": UNRESTRICTED,
}
QUERY = np.arange(16, dtype=np.float32) - 7.25


def vectors(rows: int, seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal((rows, 16)).astype(np.float32)


def numbered(number: int, rules: list[Rule]) -> Document:
    odd = {"lang": "de", "year": -3, "weight": 0.1, "draft": True, "on": date(2024, 2, 29)}
    chunks = [
        f"Erster Absatz von {number}: Gr\u00f6\u00dfe, \u5927\u304d\u3055, \U0001f4cf.\n\n",
        "Second paragraph.\n",
    ]
    return Document(
        f"doc {number}",
        "1",
        chunks=chunks,
        vectors=vectors(2, number),
        rule=rules[number % 4],
        metadata=odd if number % 2 else {"lang": "en"},
    )


def make_collection(folder: Path, codec: str, metric: str) -> None:
    policy = Policy()
    with Collection.open(
        folder, "rw", policy=policy, dim=16, metric=metric, codec=codec, columns=Columns(COLUMNS)
    ) as collection:
        rules = [
            policy.rule("acme", {"a"}),
            policy.rule("acme", {"b"}, {"c"}),
            policy.rule("acme", ANY_IN_TENANT),
            policy.rule("zenith", {"a"}),
        ]
        for half in (range(4), range(4, 8)):
            collection.put_documents(numbered(number, rules) for number in half)
            if 0 in half:
                collection.optimize()
        collection.put_document("doc 0", "2", chunks=["Anew."], vectors=vectors(1, 99), rule=rules[0])
        collection.delete_document("acme", "doc 5")
        collection.set_rule("acme", "doc 2", rules[0])
        collection.change_rule(rules[1], {"b", "d"})
        collection.put_document("long", "1", chunks=["x" * 20_000, "the end"], vectors=vectors(2, 7), rule=rules[2])


def make_index(folder: Path) -> None:
    policy = Policy()
    index = DenseIndex(16, metric="l2", policy=policy, columns=Columns(COLUMNS))
    rules = [policy.rule("acme", {"a"}), policy.rule("acme", ANY_IN_TENANT)]
    metadata: dict[str, list[Any]] = {
        "lang": ["en", "de", None, "en", "fr"],
        "on": [date(2020, 1, 1)] * 5,
        "year": list(range(5)),
    }
    index.add([3, 1, 4, 15, 9], vectors(5, 5), [rules[i % 2] for i in range(5)], metadata=metadata)
    index.remove([4])
    index.save(folder)


def hits(found: Hits) -> list[Any]:
    """Ids of each query, and scores to the bit."""
    return [[ids.tolist(), [float(score).hex() for score in scores]] for ids, scores in found]


def searched(reader: Any, queries: Any, k: int = 50, **how: Any) -> dict[str, Any]:
    """What each caller finds."""
    return {name: hits(reader.search(queries, k, principal=principal, **how)) for name, principal in CALLERS.items()}


def answers(reader: Any) -> dict[str, Any]:
    """What each caller finds for QUERY."""
    return {name: found[0] for name, found in searched(reader, QUERY).items()}


def texts(collection: Collection) -> dict[str, Any]:
    return {
        name: [
            [one.id, one.source, one.revision, len(one.text), one.text[:60]] for one in collection.chunks(principal=p)
        ]
        for name, p in CALLERS.items()
    }


def read_collection(folder: Path) -> Any:
    with Collection.open(folder, policy=Policy()) as collection:
        collection.verify()
        return {"answers": answers(collection), "chunks": texts(collection)}


def read_index(folder: Path) -> Any:
    return {"answers": answers(DenseIndex.load(folder, policy=Policy()))}
