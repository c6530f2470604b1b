# SPDX-License-Identifier: Apache-2.0
"""Rights of a collection are the newest, whoever changed them and whatever is pinned."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from collections_examples import ALICE, DIM, EYE, HashEncoder, guarded_at, stocked, texts_of
from evidex import (
    ANY_IN_TENANT,
    UNRESTRICTED,
    AllowMask,
    Collection,
    NotFound,
    Policy,
    Principal,
    StaleMask,
)

CAROL = Principal("carol", "acme", {"b"})


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[Collection, Collection, Policy]]:
    """A writer, and a reader that opened before the changes to come; s0 is alice's alone."""
    policy = Policy()
    with guarded_at(tmp_path / "kb", policy=policy) as writer:
        stocked(writer, policy)
        with guarded_at(tmp_path / "kb", "r") as reader:
            yield writer, reader, policy


def test_a_change_of_rights_counts_at_once_everywhere(
    both: tuple[Collection, Collection, Policy], tmp_path: Path
) -> None:
    """Without refresh, in snapshots of both, back and forth."""
    writer, reader, policy = both
    rule, nobody = policy.rule("acme", {"a"}), policy.rule("acme", ())
    readers = [writer, reader, writer.snapshot(), reader.snapshot()]
    chunk = next(one for one in reader.chunks(principal=ALICE) if one.source == "s0")
    row = int(chunk.id[:16], 16) >> 1

    def seen(who: Principal) -> list[int]:
        return [one.count(principal=who) for one in readers]

    changes: list[tuple[Callable[[], object], list[int], list[int]]] = [
        (lambda: None, [2] * 4, [1] * 4),
        (lambda: writer.set_rule("acme", "s0", nobody), [1] * 4, [1] * 4),
        (lambda: writer.set_rule("acme", "s0", rule), [2] * 4, [1] * 4),
        (lambda: writer.change_rule(rule, {"b"}), [1] * 4, [2] * 4),
        (lambda: writer.change_rule(rule, ANY_IN_TENANT, {"b"}), [2] * 4, [0 + 1] * 4),
        (lambda: writer.put_document("s0", "v1", chunks=["text 0"], vectors=EYE[:1], rule=nobody), [1] * 4, [1] * 4),
    ]
    for change, of_alice, of_carol in changes:
        change()
        assert (seen(ALICE), seen(CAROL)) == (of_alice, of_carol)
    with guarded_at(tmp_path / "kb", "r") as newcomer:  # what segments say of rules is older
        assert (newcomer.count(principal=ALICE), newcomer.count(principal=CAROL)) == (1, 1)
    for one in readers:
        assert texts_of(one, ALICE) == ["text 1"]
        assert row not in one.search(EYE[0], 5, principal=ALICE).ids
        reads: list[Callable[[Any], object]] = [lambda of: of.get_chunk(chunk.id, principal=ALICE)]
        reads.append(lambda of: of.get([row], principal=ALICE))
        for read in reads:
            with pytest.raises(NotFound, match=r"no such (chunk|id)"):
                read(one)
        assert one.get_chunk(chunk.id, principal=UNRESTRICTED) == chunk
    writer.delete_document("acme", "s0")
    writer.restore("acme", "s0", "v1")
    writer.optimize()
    reader.refresh()
    assert texts_of(writer, ALICE) == texts_of(reader, ALICE) == ["text 1"]


def test_a_rule_that_is_changed_before_it_is_used_is_the_changed_one(
    both: tuple[Collection, Collection, Policy],
) -> None:
    """Seen red: the application's object went on saying, and granting, what it had said first."""
    writer, _, policy = both
    rule = policy.rule("acme", {"c"})
    writer.change_rule(rule, {"b"})
    writer.put_document("new", "v1", chunks=["new"], vectors=EYE[:1], rule=rule)
    assert rule.allow == frozenset("b")
    assert writer.count(principal=Principal("c", "acme", {"c"})) == 1  # what is for the whole tenant
    assert writer.count(principal=CAROL) == 2


def test_rules_are_stored_once_however_a_call_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted between its transaction and what the object learns of it."""
    policy = Policy()
    with guarded_at(tmp_path / "kb", policy=policy) as kb:
        rule = policy.rule("acme", {"a"})
        with monkeypatch.context() as broken:
            broken.setattr(kb, "refresh", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                kb.put_document("s0", "v1", chunks=["a"], vectors=EYE[:1], rule=rule)
        kb.put_document("s1", "v1", chunks=["b"], vectors=EYE[1:2], rule=rule)
        assert texts_of(kb, ALICE) == ["a", "b"]
        kb.change_rule(rule, {"b"})
        assert (texts_of(kb, ALICE), texts_of(kb, CAROL)) == ([], ["a", "b"])
        assert kb._catalog.one("SELECT count(*) FROM rules") == (1,)
        for call in (kb.optimize, kb.compact):  # the same, before these
            with monkeypatch.context() as broken:
                broken.setattr(kb, "refresh", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
                with pytest.raises(KeyboardInterrupt):
                    kb.put_document("s2", f"{call}", chunks=["c"], vectors=EYE[1:2], rule=rule)
            call()
            assert texts_of(kb, CAROL) == ["a", "b", "c"]


READS: dict[str, Callable[[Any], Any]] = {
    "chunks": lambda kb: [one.source for one in kb.chunks(principal=ALICE)],
    "retrieve": lambda kb: [one.chunk.source for one in kb.retrieve("text", principal=ALICE)],
    "get_chunk": lambda kb: kb.get_chunk(kb.mine, principal=ALICE),
}


@pytest.mark.parametrize("name", READS)
def test_what_is_revoked_while_its_text_is_read_is_not_given(tmp_path: Path, name: str) -> None:
    policy = Policy()
    with Collection.open(tmp_path / "kb", "rw", policy=policy, encoder=HashEncoder()) as writer:
        stocked(writer, policy)
        with Collection.open(tmp_path / "kb", policy=Policy(), encoder=HashEncoder()) as reader:
            reader.mine = next(c.id for c in reader.chunks(principal=ALICE) if c.source == "s0")  # type: ignore[attr-defined]
            texts = reader._catalog

            def on_text(sql: str, *given: Any, found: Any = texts.all) -> Any:
                if "FROM texts" in sql and writer.count(principal=ALICE) == 2:
                    writer.set_rule("acme", "s0", policy.rule("acme", ()))
                return found(sql, *given)

            texts.all = on_text  # type: ignore[assignment]
            if name == "get_chunk":
                with pytest.raises(NotFound):
                    READS[name](reader)
            else:
                assert READS[name](reader) == ["s1"]


def test_a_writer_and_a_reader_do_not_wait_for_one_another() -> None:
    """Seen red: one held the rights and wanted the catalog, the other the reverse."""
    policy = Policy()
    kb = stocked(Collection.in_memory(policy=policy, dim=DIM), policy)
    inside, begun = threading.Event(), threading.Event()
    reading = kb._catalog.reading

    def slow_reading() -> Any:
        if threading.current_thread() is reader:
            inside.set()
            begun.wait(1)
        return reading()

    def write() -> None:
        begun.set()
        kb.put_document("new", "v1", chunks=["n"], vectors=EYE[:1], rule=policy.rule("acme", {"n"}))

    reader = threading.Thread(target=lambda: kb.count(principal=ALICE), daemon=True)
    writer = threading.Thread(target=write, daemon=True)
    kb._rights._state = None  # as after somebody's change
    kb._catalog.reading = slow_reading  # type: ignore[method-assign]
    reader.start()
    assert inside.wait(10)
    writer.start()
    for one in (reader, writer):
        one.join(20)
        assert not one.is_alive(), "hangs"
    kb.close()


def test_a_child_sees_a_change_made_after_the_fork(tmp_path: Path) -> None:
    policy = Policy()
    with guarded_at(tmp_path / "kb", policy=policy) as writer:
        stocked(writer, policy)
        reader = guarded_at(tmp_path / "kb", "r")
        pinned = reader.snapshot()
        assert reader.count(principal=ALICE) == pinned.count(principal=ALICE) == 2
        go, ready = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.read(go, 1)
                counts = reader.count(principal=ALICE), pinned.count(principal=ALICE), len(texts_of(reader, ALICE))
                os._exit(0 if counts == (1, 1, 1) else 1)
            except BaseException:
                os._exit(2)
        writer.set_rule("acme", "s0", policy.rule("acme", ()))
        os.write(ready, b".")
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert reader.count(principal=ALICE) == 1
        reader.close()


def test_groups_say_nothing_of_documents_that_are_hidden() -> None:
    """Seen red while documents were numbered as they came."""
    found = []
    for hidden in range(3):
        policy = Policy()
        kb = Collection.in_memory(policy=policy, dim=DIM)
        for place in range(hidden):
            kb.put_document(f"h{place}", "v1", chunks=["x"], vectors=EYE[1:2], rule=policy.rule("zenith", {"a"}))
        stocked(kb, policy)
        groups = kb.search(EYE[0], 5, principal=ALICE, group_by=True).groups
        assert groups is not None
        found.append(groups.tolist())
    assert found[0] == found[1] == found[2]


def test_masks_are_of_one_layout() -> None:
    policy = Policy()
    kb = stocked(Collection.in_memory(policy=policy, dim=DIM), policy)
    mask = AllowMask.from_ids(kb, kb.ids(principal=ALICE)[:1])
    pinned = kb.snapshot()
    assert kb.search(EYE, 5, principal=ALICE, allow=mask).counts.tolist() == [1, 1, 1]
    kb.put_document("new", "v1", chunks=["new"], vectors=EYE[:1], rule=policy.rule("acme", {"a"}))
    assert kb.search(EYE, 5, principal=ALICE, allow=mask).counts.tolist() == [1, 1, 1]
    kb.optimize()
    with pytest.raises(StaleMask, match="build the mask again"):
        kb.search(EYE, principal=ALICE, allow=mask)
    assert pinned.search(EYE, principal=ALICE, allow=mask).counts.tolist() == [1, 1, 1]
