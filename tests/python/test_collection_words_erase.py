# SPDX-License-Identifier: Apache-2.0
"""No word of what was erased or dropped is left: in no file, in none that is still mapped (cases D2, G7)."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evidex import UNRESTRICTED, Collection, LockHeld, Policy
from store_examples import quick_folder
from words_examples import files_with, require_alone, said, sources, stocked, words

SECRET = "Zanzibaryllium"


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as path:
        yield path


def with_secrets(folder: Path, policy: Any, rule: Any = None) -> Collection:
    kb = stocked(words(folder, policy=policy, metric="ip"), rule=rule)
    for revision in ("v1", "v2", "v3"):
        kb.put_document("S", revision, chunks=[f"{SECRET} {revision}", f"of {SECRET}-x7"], rule=rule)
    return kb


@pytest.mark.parametrize("step", ["visible", "deleted", "optimized"])
def test_no_word_of_what_was_erased_is_left(folder: Path, step: str) -> None:
    kb = with_secrets(folder / "kb", UNRESTRICTED)
    if step != "visible":
        kb.delete_document(None, "S")
    if step == "optimized":
        kb.optimize()
    left = {name for name in files_with(folder / "kb", SECRET) if "catalog" not in name}
    assert left == {"postings.npy"}, "words do not lie there as they are, so this test shows nothing"
    kb.erase(None, "S")
    assert files_with(folder / "kb", SECRET) == []
    assert sources(kb, SECRET) == []
    require_alone(kb)
    kb.verify()
    kb.close()
    assert files_with(folder / "kb", SECRET) == []


def test_what_others_read_is_erased_when_they_let_go(folder: Path) -> None:
    policy = Policy()
    kb = with_secrets(folder / "kb", policy, policy.rule("acme", {"a"}))
    pinned = kb.snapshot()
    for reader in (kb, pinned):  # so that counts of this state are kept
        assert len(said(reader, SECRET, principal=UNRESTRICTED)) == 2
    with pytest.raises(LockHeld, match="nobody can read them"):
        kb.erase("acme", "S")
    assert "postings.npy" in files_with(folder / "kb", SECRET)
    assert sources(kb, SECRET, principal=UNRESTRICTED) == []
    pinned.close()
    kb.erase("acme", "S")
    assert files_with(folder / "kb", SECRET) == []
    kb.close()


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="Linux says what a process maps")
def test_what_was_erased_is_no_longer_mapped(folder: Path) -> None:
    """A file that was unlinked lies on the disk as long as somebody maps it. Seen red: counts of words kept states."""

    def mapped() -> list[str]:
        gc.collect()
        return [one for one in Path("/proc/self/maps").read_text().splitlines() if str(folder) in one]

    with with_secrets(folder / "kb", UNRESTRICTED) as kb:
        for mode in ("sparse", "hybrid"):
            assert "S" in sources(kb, SECRET, mode=mode)
        assert mapped()
        kb.erase(None, "S")
        assert [one for one in mapped() if "deleted" in one] == []
        require_alone(kb)


def test_what_was_compacted_is_left_nowhere(folder: Path) -> None:
    kb = with_secrets(folder / "kb", UNRESTRICTED)
    kb.put_document("S", "v4", chunks=["harmless"])
    kb.compact()
    assert files_with(folder / "kb", SECRET) == []
    kb.close()
