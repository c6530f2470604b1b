# SPDX-License-Identifier: Apache-2.0
"""Asking a collection in words: rights come first, metadata narrows, reads are logged; what it says it is."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from audit_logs import KEY, objects_of
from collections_examples import ALICE, BOB, HashEncoder, open_at, stocked
from evidex import UNRESTRICTED, AccessError, Collection, Columns, InvalidInput, Policy, Principal, RetrievalLog, where

MALFORMED = (None, "alice", ("alice", "acme"), Policy(), True)


@pytest.mark.parametrize("reopened", [False, True])
def test_the_encoder_is_asked_after_the_rights(tmp_path: Path, reopened: bool) -> None:
    policy, encoder = Policy(), HashEncoder()
    kb = Collection.open(tmp_path / "kb", "rw", policy=policy, encoder=encoder)
    kb.put_document("s", "v1", "a text", rule=policy.rule("acme", {"a"}))
    assert encoder.seen == ["d: a text"]
    if reopened:
        kb.close()
        kb = Collection.open(tmp_path / "kb", policy=Policy(), encoder=encoder)
    encoder.seen.clear()
    for nobody in (BOB, Principal("x", "nowhere", {"a"}), Principal("alice", "acme", ())):
        assert kb.retrieve("what?", principal=nobody) == ()
    for malformed in MALFORMED:
        with pytest.raises(AccessError, match="principal"):
            kb.retrieve("what?", principal=malformed)  # type: ignore[arg-type]
    for wrong in ("", " ", "\ud800", 5, None):
        with pytest.raises(InvalidInput, match="question"):
            kb.retrieve(wrong, principal=ALICE)  # type: ignore[arg-type]
    assert encoder.seen == []
    assert len(kb.retrieve("what?", principal=ALICE)) == 1
    assert encoder.seen == ["q: what?"]
    kb.close()


def test_metadata_narrows(tmp_path: Path) -> None:
    columns = Columns({"lang": str, "day": dt.date, "size": float, "public": bool, "year": int})
    given: dict[str, Any] = {
        "a": {"lang": "en", "day": dt.date(2024, 2, 29), "size": 1.5, "public": True, "year": -5},
        "b": {"lang": "d\u00e9", "day": np.datetime64("2024-03-01"), "size": np.float32(2), "public": np.bool_(False)},
        "c": {"lang": None},
        "d": None,
    }
    asked = {
        where("lang") == "en": "a",
        where("lang") == "d\u00e9": "b",
        where("lang").is_missing(): "cd",
        where("day") >= dt.date(2024, 3, 1): "b",
        where("day") < dt.date(2024, 3, 1): "a",
        where("day").is_missing(): "cd",
        where("size") > 1: "ab",
        where("public") == False: "b",  # noqa: E712
        ~(where("year") == -5): "bcd",
        (where("size") == 2) | where("lang").is_missing(): "bcd",
    }
    with Collection.open(tmp_path / "kb", "rw", policy=UNRESTRICTED, encoder=HashEncoder(), columns=columns) as kb:
        for source, metadata in given.items():
            kb.put_document(source, "v1", f"text {source}", metadata=metadata)
        pinned = kb.snapshot()
        for _ in range(2):
            for reader in (kb, pinned):
                for predicate, expected in asked.items():
                    hits = reader.retrieve("text", where=predicate)
                    assert "".join(sorted(one.chunk.source for one in hits)) == expected, predicate
            kb.optimize()
    with Collection.open(tmp_path / "kb", policy=UNRESTRICTED) as kb:
        assert [kb.count(where=predicate) for predicate in asked] == [len(one) for one in asked.values()]


def test_what_is_read_is_logged(tmp_path: Path) -> None:
    policy = Policy()
    with RetrievalLog(tmp_path / "log.jsonl", key=KEY) as log:
        kb = Collection.in_memory(policy=policy, encoder=HashEncoder(), log=log)
        stocked(kb, policy)
        chunk = kb.retrieve("text 0", 1, principal=ALICE)[0].chunk
        kb.get_chunk(chunk.id, principal=ALICE)
        assert len(list(kb.chunks(principal=BOB))) == kb.count(principal=BOB) == 1
    lines = objects_of(tmp_path / "log.jsonl")
    assert [line["action"] for line in lines][1:] == ["search", "get", "items", "count"]
    assert "text" not in (tmp_path / "log.jsonl").read_text()


def test_reprs(tmp_path: Path) -> None:
    kb = stocked(open_at(tmp_path / "kb"))
    path = str(tmp_path / "kb")
    pinned = kb.snapshot()
    assert repr(kb) == f"Collection({path!r}, 3 chunks, generation=3, dim=3, mode='rw')"
    assert repr(pinned) == "CollectionSnapshot(generation=3, dim=3, metric='cosine')"
    kb.close()
    assert (repr(kb), repr(pinned)) == (
        f"Collection({path!r}, closed)",
        "CollectionSnapshot(closed, dim=3, metric='cosine')",
    )
    assert repr(Collection.in_memory(policy=Policy(), dim=3)).startswith("Collection(in memory, 0 chunks, generation=0")
