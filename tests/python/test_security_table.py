# SPDX-License-Identifier: Apache-2.0
"""docs/security.md lists every function that reads; the public API is walked to find one that it does not know."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evidex
from collections_examples import HashEncoder
from evidex import AccessError, Collection, CollectionSnapshot, DenseIndex, Policy, SparseIndex
from evidex.integrations.hnswlib import HnswIndex

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
SECTION = PAGE.split("## Every function that reads")[1].split("\n## ")[0]
ROWS = [line.split("|")[1] for line in SECTION.splitlines() if line.startswith("| `")]
LISTED = set(re.findall(r"`(\w+\.\w+)", "\n".join(ROWS)))
# The paragraph below the table: configuration and writing.
ELSEWHERE = set(re.findall(r"`([\w.]+)`", SECTION.rsplit("\n| ", 1)[1].split("\n\n", 1)[1]))
GUARDED = (DenseIndex, SparseIndex, Collection, CollectionSnapshot, HnswIndex, evidex.AllowMask, Policy)


def members(kind: type) -> dict[str, Any]:
    return {name: inspect.getattr_static(kind, name) for name in dir(kind) if not name.startswith("_")}


def unknown(kinds: tuple[type, ...]) -> list[str]:
    """Public members that neither the table nor the paragraph names."""
    found = []
    for kind in kinds:
        for name in members(kind):
            full = f"{kind.__name__}.{name}"
            if full not in LISTED | ELSEWHERE and name not in ELSEWHERE:
                found.append(full)
    return found


def test_every_reading_function_is_in_the_table() -> None:
    """Seen to fail with the row of ``radius`` taken out of the page."""
    # Of rules, not of rows; a mask's bits are the application's.
    harmless = {"AllowMask.layout", "AllowMask.bits", "AllowMask.require_layout", "Policy.decide", "Policy.numbers"}
    harmless |= {
        f"Policy.{name}" for name in ("generation", "ranks", "rules", "add", "keep", "apply_change", "of_tenant")
    }
    assert set(unknown(GUARDED)) - harmless == set()


def test_the_walk_finds_a_function_that_is_not_listed() -> None:
    class DenseIndexWithDump(DenseIndex):
        def dump(self) -> None: ...

    DenseIndexWithDump.__name__ = "DenseIndex"
    assert unknown((DenseIndexWithDump,)) == ["DenseIndex.dump"]


def test_the_table_names_nothing_that_is_gone() -> None:
    names = {f"{kind.__name__}.{name}" for kind in GUARDED for name in members(kind)}
    assert names >= LISTED


def test_everything_that_takes_a_principal_is_in_the_table() -> None:
    for name in evidex.__all__:
        kind = getattr(evidex, name)
        if not inspect.isclass(kind):
            continue
        for member, value in members(kind).items():
            function = getattr(value, "__func__", value)
            if inspect.isfunction(function) and "principal" in inspect.signature(function).parameters:
                assert f"{name}.{member}" in LISTED | {"Policy.decide", "RetrievalLog.record"}  # no rows come out


CALLS: dict[str, Any] = {
    "search": lambda index: index.search([1.0, 0.0, 0.0]),
    "radius": lambda index: index.radius([1.0, 0.0, 0.0], 0.5),
    "neighbours": lambda index: index.neighbours([1]),
    "explain": lambda index: index.explain([1.0, 0.0, 0.0]),
    "get": lambda index: index.get([1]),
    "ids": lambda index: index.ids(),
    "count": lambda index: index.count(),
    "items": lambda index: index.items(),
    "stats": lambda index: index.stats(),
}
OF_WORDS: dict[str, Any] = {name: CALLS[name] for name in ("ids", "count", "stats")} | {
    "search": lambda index: index.search("text"),
    "explain": lambda index: index.explain("text"),
}
OF_DOCUMENTS: dict[str, Any] = CALLS | {
    "retrieve": lambda kb: kb.retrieve("anything?"),
    "get_chunk": lambda kb: kb.get_chunk("0" * 64),
    "chunks": lambda kb: kb.chunks(),
}


def an_index() -> DenseIndex:
    policy = Policy()
    index = DenseIndex(3, policy=policy)
    index.add([1], np.eye(3)[:1], policy.rule("t", allow={"g"}))
    return index


def words() -> SparseIndex:
    policy = Policy()
    index = SparseIndex(policy=policy)
    index.add([1], ["text"], policy.rule("t", allow={"g"}))
    return index


def a_collection() -> Collection:
    policy = Policy()
    kb = Collection.in_memory(policy=policy, encoder=HashEncoder())
    kb.put_document("s", "v1", "text", rule=policy.rule("t", allow={"g"}))
    return kb


def a_snapshot() -> CollectionSnapshot:
    kb = a_collection()
    snapshot = kb.snapshot()
    snapshot.of = kb  # type: ignore[attr-defined]  # it ends with its collection
    return snapshot


def a_graph() -> HnswIndex:
    pytest.importorskip("hnswlib", reason="hnswlib is not installed")
    return HnswIndex(an_index())


MADE: dict[type, tuple[Any, dict[str, Any]]] = {
    DenseIndex: (an_index, CALLS),
    SparseIndex: (words, OF_WORDS),
    Collection: (a_collection, OF_DOCUMENTS),
    CollectionSnapshot: (a_snapshot, OF_DOCUMENTS),
    HnswIndex: (a_graph, {name: CALLS[name] for name in ("search", "explain")}),
}


def test_each_listed_function_has_a_call_here() -> None:
    for kind, (_, calls) in MADE.items():
        listed = {name for name in LISTED if name.startswith(f"{kind.__name__}.")}
        assert {f"{kind.__name__}.{name}" for name in calls} == listed


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, (_, calls) in MADE.items() for name in calls])
def test_without_a_principal_each_is_refused(kind: type, name: str) -> None:  # case A13
    make, calls = MADE[kind]
    with pytest.raises(AccessError, match="principal"):
        calls[name](make())
