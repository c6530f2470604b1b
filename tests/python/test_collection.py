# SPDX-License-Identifier: Apache-2.0
"""Collections by example: what is put is found, by whom it may be, as what it was when it was put."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evidex
from collections_examples import ALICE, BOB, EYE, HashEncoder, guarded_at, stocked, texts_of
from evidex import (
    ANY_IN_TENANT,
    UNRESTRICTED,
    Collection,
    CollectionSnapshot,
    Columns,
    Document,
    InvalidInput,
    NotFound,
    Policy,
    Principal,
    Put,
    where,
)
from evidex.store.publishing import Publisher
from evidex.store.segments import FolderSegments
from evidex.text import Analyzer


def test_three_lines_in_a_notebook() -> None:
    kb = Collection.in_memory(encoder="hashing", policy=UNRESTRICTED)
    sources = kb.add_texts(["Refunds take thirty days.", "The office opens at eight."])
    best = kb.retrieve("When do I get a refund?", k=1)
    assert [(one.chunk.text, one.chunk.source) for one in best] == [("Refunds take thirty days.", sources[0])]
    assert best[0].legs == {"dense": best[0].score}
    assert kb.add_texts(["Refunds take thirty days."]) == sources[:1]
    assert len(kb) == 2


def test_the_usage_of_the_design(tmp_path: Path) -> None:
    policy = Policy()
    rule = policy.rule("acme", allow={"support"})
    alice, bob = Principal("alice", "acme", {"support"}), Principal("bob", "acme", {"sales"})
    text = "# Refunds\n\nThe refund window is 30 days.\n\n# Office\n\nIt opens at 8."
    how: Any = {"encoder": "hashing", "policy": policy, "columns": Columns({"lang": str})}
    with Collection.open(tmp_path / "kb.evidex", mode="rw", **how) as kb:
        chunker = evidex.text.Recursive(40)
        put = kb.put_document("policies/refund", "v2", text, rule=rule, metadata={"lang": "en"}, chunker=chunker)
        assert put.stored == 1 and put.chunks > 1
        hits = kb.retrieve("What is the refund window?", principal=alice, k=20)
        answer = evidex.extractive_answer(evidex.pack(hits, question="What is the refund window?", budget=3000))
        assert answer.answer == "The refund window is 30 days."
        assert kb.get_chunk(answer.citations[0], principal=alice).text in text
        assert kb.retrieve("What is the refund window?", principal=bob) == ()
        with pytest.raises(NotFound):
            kb.get_chunk(answer.citations[0], principal=bob)
        kb.snapshot().close()
        kb.optimize()
        kb.compact()
        kb.verify()
        assert kb.stats(principal=UNRESTRICTED)["documents"] == 1


def test_the_id_of_a_chunk() -> None:  # case H9
    policy = Policy()
    kb = Collection.in_memory(policy=policy, dim=3)
    for tenant, source, revision in itertools.product(("acme", "zenith"), ("policies/refund", "b"), ("v1",)):
        rule = policy.rule(tenant, ANY_IN_TENANT)
        kb.put_document(source, revision, chunks=["Zurück: ", "30 Tage"], vectors=EYE[:2], rule=rule)
    found = list(kb.chunks(principal=UNRESTRICTED))
    assert len({chunk.id for chunk in found}) == 8
    for one in found:
        inside = hashlib.sha256(one.text.encode()).hexdigest()
        place = [one.tenant, one.source, one.revision, one.start, one.end, inside]
        said = json.dumps(place, ensure_ascii=False, separators=(",", ":"))
        assert one.id == hashlib.sha256(said.encode()).hexdigest()
        assert (one.start, one.end) == ((0, 8) if one.text == "Zurück: " else (8, 15))
    rows = sorted(int(one.id[:16], 16) >> 1 for one in found)
    assert sorted(kb.ids(principal=UNRESTRICTED).tolist()) == rows
    kb.put_document("b", "v2", chunks=["30 Tage"], vectors=EYE[:1], rule=policy.rule("acme", ANY_IN_TENANT))
    mine = {(c.source, c.revision, c.text) for c in kb.chunks(principal=ALICE)}
    assert mine == {("policies/refund", "v1", "Zurück: "), ("policies/refund", "v1", "30 Tage"), ("b", "v2", "30 Tage")}


def test_nothing_of_a_revision_that_was_replaced_is_found() -> None:  # case H10
    kb = Collection.in_memory(policy=UNRESTRICTED, encoder=HashEncoder(), columns=Columns({"year": int}))
    kb.put_document("s", "v1", chunks=[f"old {i} " for i in range(5)], metadata={"year": 1})
    old = list(kb.chunks())
    asked = [kb.retrieve("old", 10), kb.search(np.ones(3), 10, where=where("year") == 1).counts.tolist()]
    assert [len(asked[0]), asked[1]] == [5, [5]]  # grants, masks of where= and columns are kept from here on
    kb.put_document("s", "v2", chunks=[f"new {i} " for i in range(3)], metadata={"year": 2})
    gone = {int(one.id[:16], 16) >> 1 for one in old}
    for hits in (
        kb.search(np.ones(3), 10).ids,
        kb.search(np.ones(3), 10, group_by=True).ids,
        kb.radius(np.ones(3), -1).ids,
        kb.neighbours(kb.ids()[:1], 10).ids,
        kb.ids(),
        np.array([i for i, _ in kb.explain(np.ones(3)).hits]),
        np.concatenate([ids for ids, _ in kb.items()]),
    ):
        assert not gone & set(hits.ravel().tolist())
    assert [one.revision for one in kb.chunks()] == ["v2"] * 3
    assert {one.chunk.revision for one in kb.retrieve("old", 10)} == {"v2"}
    assert kb.count() == kb.count(where=where("year") == 2) == 3
    assert kb.count(where=where("year") == 1) == 0
    for one in old:
        with pytest.raises(NotFound, match="no such chunk"):
            kb.get_chunk(one.id)
        with pytest.raises(NotFound, match="no such id"):
            kb.get([int(one.id[:16], 16) >> 1])


CALLS: dict[str, Callable[[Any], Any]] = {
    "search": lambda kb: kb.search(EYE[0], principal=UNRESTRICTED).counts.tolist(),
    "radius": lambda kb: kb.radius(EYE[0], -1, principal=UNRESTRICTED).counts.tolist(),
    "neighbours": lambda kb: kb.neighbours([], principal=UNRESTRICTED).counts.tolist(),
    "explain": lambda kb: kb.explain(EYE[0], principal=UNRESTRICTED).returned,
    "get": lambda kb: len(kb.get([], principal=UNRESTRICTED)),
    "ids": lambda kb: len(kb.ids(principal=UNRESTRICTED)),
    "count": lambda kb: kb.count(principal=UNRESTRICTED),
    "items": lambda kb: sum(len(ids) for ids, _ in kb.items(principal=UNRESTRICTED)),
    "retrieve": lambda kb: len(kb.retrieve("text", mode="hybrid", principal=UNRESTRICTED)),
    "get_chunk": lambda kb: kb.get_chunk("0" * 64, principal=UNRESTRICTED),
    "chunks": lambda kb: len(texts_of(kb, UNRESTRICTED)),
    "stats": lambda kb: kb.stats(principal=UNRESTRICTED)["rows"],
    "put_document": lambda kb: kb.put_document("s0", "v2", "new", rule=rule_of(kb)).stored,
    "put_documents": lambda kb: kb.put_documents([Document("s1", "v3", "newer", rule=rule_of(kb))]).stored,
    "add_texts": lambda kb: len(kb.add_texts(["a"], rule=rule_of(kb))),
    "delete_document": lambda kb: kb.delete_document("acme", "s0"),
    "restore": lambda kb: kb.restore("acme", "s0", "v1"),
    "set_rule": lambda kb: kb.set_rule("acme", "s0", rule_of(kb)),
    "change_rule": lambda kb: kb.change_rule(rule_of(kb), {"a"}),
    "optimize": lambda kb: kb.optimize(),
    "compact": lambda kb: kb.compact(),
    "erase": lambda kb: kb.erase("acme", "s2"),
    "verify": lambda kb: kb.verify(),
    "refresh": lambda kb: kb.refresh() > -1,
    "snapshot": lambda kb: kb.snapshot().close(),
    "len": lambda kb: len(kb) >= 0,
    "repr": repr,
}


def rule_of(kb: Collection) -> Any:
    return kb._policy.rule("acme", {"a"}) if kb._policy is not None else None


STATES = ("new", "filled", "emptied", "read-only", "closed", "closed snapshot", "snapshot of a closed one")


def prepared(state: str, path: Path) -> Any:
    policy = Policy()
    how: Any = {"policy": policy, "encoder": HashEncoder(), "analyzer": Analyzer()}
    kb = Collection.open(path, "rw", **how) if state == "read-only" else Collection.in_memory(**how)
    if state == "new":
        return kb
    stocked(kb, policy)
    if state == "emptied":
        for tenant, source in (("acme", "s0"), ("acme", "s1"), ("zenith", "s2")):
            kb.delete_document(tenant, source)
    elif state == "read-only":
        kb.close()
        return Collection.open(path, **how)
    elif state == "closed":
        kb.close()
    elif "snapshot" in state:
        snapshot = kb.snapshot()
        (snapshot if state == "closed snapshot" else kb).close()
        return snapshot
    return kb


@pytest.mark.parametrize("state", STATES)
def test_every_pair_of_calls(tmp_path: Path, state: str) -> None:  # case C4
    """No order of calls ends in anything but an answer or a typed error, and the collection stays sound."""
    kb = prepared(state, tmp_path / "kb")
    calls = [name for name in CALLS if isinstance(kb, Collection) or hasattr(CollectionSnapshot, name)]
    for first, second in itertools.product(calls, repeat=2):
        for name in (first, second):
            try:
                CALLS[name](kb)
            except (InvalidInput, NotFound):
                continue
            assert name == "repr" or not dead(kb), f"{name} after close"
    repr(kb)
    if not dead(kb):
        kb.verify()
        kb.close()
        kb.close()  # twice is once


def dead(kb: Any) -> bool:
    return bool(kb.closed) if isinstance(kb, CollectionSnapshot) else "closed" in repr(kb)


def test_every_public_function_is_among_the_calls() -> None:
    public = {name for name in dir(Collection) if not name.startswith("_")}
    plain = {"open", "in_memory", "close", "generation", "settings"}
    assert public - plain == set(CALLS) - {"len", "repr"}


@pytest.mark.parametrize("place", ["_known", "_retire", "_follow_rule", "keep", "segment", "counters"])
def test_a_failure_between_the_parts_of_a_write_leaves_none(  # case C11
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    policy = Policy()
    columns = Columns({"year": int})
    kb = guarded_at(tmp_path / "kb", policy=policy, columns=columns)
    stocked(kb, policy)
    before = everything(kb)

    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    target: Any = {"segment": FolderSegments, "counters": kb._catalog}.get(place, Publisher)
    with monkeypatch.context() as broken:
        broken.setattr(target, {"segment": "write", "counters": "set_meta"}.get(place, place), fails)
        new = policy.rule("acme", {"new"})
        with pytest.raises(ZeroDivisionError):
            kb.put_document("s0", "v2", chunks=["a", "b"], vectors=EYE[:2], rule=new, metadata={"year": 1})
    for step in range(2):
        assert everything(kb) == before
        kb.verify()
        kb.close()
        policy = Policy()
        kb = guarded_at(tmp_path / "kb", policy=policy)
        assert step or len(list((tmp_path / "kb" / "segments").iterdir())) == 3
    new = policy.rule("acme", {"new"})
    kb.put_document("s0", "v2", chunks=["a", "b"], vectors=EYE[:2], rule=new, metadata={"year": 1})
    newcomer = Principal("new", "acme", {"new"})
    assert kb.count(principal=newcomer, where=where("year") == 1) == 2
    assert [kb.count(principal=who) for who in (ALICE, newcomer, BOB, UNRESTRICTED)] == [1, 3, 1, 4]
    assert kb.search(EYE[1], 1, principal=newcomer).scores[0, 0] == 1


def everything(kb: Collection) -> list[Any]:
    found: list[Any] = [kb.generation, len(kb), kb.stats(principal=UNRESTRICTED)["revisions"]]
    for who in (ALICE, BOB, UNRESTRICTED):
        hits = kb.search(EYE, 10, principal=who)
        found += [texts_of(kb, who), kb.count(principal=who), hits.ids.tolist(), hits.scores.tolist()]
    return found


def many(n: int, fails_at: int | None = None) -> Iterator[Document]:
    for place in range(n):
        if place == fails_at:
            raise RuntimeError("the source of documents broke")
        yield Document(f"s{place}", "v1", f"text {place}")


def test_an_interrupted_load_goes_on(tmp_path: Path) -> None:
    done: list[int] = []
    with Collection.open(tmp_path / "kb", "rw", policy=UNRESTRICTED, encoder=HashEncoder()) as kb:
        with pytest.raises(RuntimeError, match="broke"):
            kb.put_documents(many(10, fails_at=8), batch=3, progress=done.append)
        assert (done, len(kb)) == ([3, 6], 6)
    with Collection.open(tmp_path / "kb", "rw", policy=UNRESTRICTED, encoder=HashEncoder()) as kb:
        done.clear()
        assert kb.put_documents(many(10), batch=4, progress=done.append) == Put(stored=4, unchanged=6, chunks=4)
        assert (done, len(kb), kb.generation) == ([4, 8, 10], 10, 4)
        assert kb.put_documents(many(10)) == Put(stored=0, unchanged=10, chunks=0)
        assert kb.generation == 4
        kb.verify()
