# SPDX-License-Identifier: Apache-2.0
"""Erasing: nothing of the text is left in any file, and while others still read it, it is hidden."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from collections_examples import ALICE, BOB, EYE, HashEncoder, guarded_at, in_memory, stocked, texts_of
from evidex import Collection, Columns, LockHeld, NotFound, Policy


def secrets_in(folder: Path) -> list[str]:
    return [str(one) for one in folder.rglob("*") if one.is_file() and b"SECRET" in one.read_bytes()]


def with_secrets(path: Path, policy: Policy) -> Collection:
    kb = Collection.open(path, "rw", policy=policy, encoder=HashEncoder(), columns=Columns({"lang": str}))
    rule = policy.rule("acme", {"a"})
    for number in range(20):
        kb.put_document(f"s{number}", "v1", f"plain {number} " * 50, rule=rule)
    for revision in ("v1", "v2", "v3"):
        text = f"SECRET {revision} " * 3000
        kb.put_document("SECRET source", revision, text, rule=rule, metadata={"lang": f"SECRET {revision}"})
    return kb


@pytest.mark.parametrize("deleted", [False, True])
def test_no_byte_of_what_was_erased_is_left(tmp_path: Path, deleted: bool) -> None:
    policy = Policy()
    kb = with_secrets(tmp_path / "kb", policy)
    if deleted:
        kb.delete_document("acme", "SECRET source")
        kb.optimize()
    others = texts_of(kb, ALICE)
    assert secrets_in(tmp_path / "kb") != []
    kb.erase("acme", "SECRET source")
    assert secrets_in(tmp_path / "kb") == []
    assert texts_of(kb, ALICE) == [one for one in others if "SECRET" not in one]
    assert sorted(os.listdir(tmp_path / "kb" / "segments")) == [f"{kb_segment(kb):08d}"]
    with pytest.raises(NotFound):
        kb.erase("acme", "SECRET source")
    kb.verify()
    kb.close()
    assert secrets_in(tmp_path / "kb") == []


def kb_segment(kb: Collection) -> int:
    (number,) = kb._catalog.one("SELECT max(number) FROM segments") or (0,)
    return int(number)


def test_what_others_read_is_hidden_first_and_erased_when_they_let_go(tmp_path: Path) -> None:
    """Seen red when each call made a new generation: an open reader was one behind for ever."""
    policy = Policy()
    kb = with_secrets(tmp_path / "kb", policy)
    pinned, reader = kb.snapshot(), guarded_at(tmp_path / "kb", "r")
    assert any("SECRET" in one for one in texts_of(pinned, ALICE))
    for let_go in (pinned.close, reader.refresh):
        with pytest.raises(LockHeld, match="'SECRET source' are still stored; nobody can read them.*call erase again"):
            kb.erase("acme", "SECRET source")
        for one in (kb, reader, *([] if pinned.closed else [pinned])):
            assert not any("SECRET" in text for text in texts_of(one, ALICE))
        assert secrets_in(tmp_path / "kb") != []
        let_go()
    with pytest.raises(LockHeld, match=r"gone for everybody, .*let it refresh\(\), and call compact\(\)"):
        kb.erase("acme", "SECRET source")  # its vectors lie in a file that the reader maps
    assert secrets_in(tmp_path / "kb") == []
    reader.refresh()
    kb.compact()
    assert os.listdir(tmp_path / "kb" / "segments") == [f"{kb_segment(kb):08d}"] or reader.refresh() > 0
    reader.close()
    kb.close()


def test_without_rules_a_snapshot_shows_what_is_being_erased() -> None:
    kb = stocked(in_memory())
    pinned = kb.snapshot()
    with pytest.raises(LockHeld, match="nobody else can read"):
        kb.erase(None, "s0")
    assert (texts_of(kb), texts_of(pinned)) == (["text 1", "text 2"], ["text 0", "text 1", "text 2"])
    pinned.close()
    kb.erase(None, "s0")
    kb.put_document("s0", "v1", chunks=["other"], vectors=EYE[:1])  # nothing remembers it
    assert len(kb) == 3


def test_tenants_have_documents_of_their_own(tmp_path: Path) -> None:
    policy = Policy()
    with guarded_at(tmp_path / "kb", policy=policy) as kb:
        for tenant in ("acme", "zenith"):
            kb.put_document("s", "v1", chunks=[tenant], vectors=EYE[:1], rule=policy.rule(tenant, {"a"}))
        assert (texts_of(kb, ALICE), texts_of(kb, BOB)) == (["acme"], ["zenith"])
        kb.erase("acme", "s")
        assert (texts_of(kb, ALICE), texts_of(kb, BOB)) == ([], ["zenith"])
