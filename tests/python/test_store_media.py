# SPDX-License-Identifier: Apache-2.0
"""Collections where nothing may be written: media that are read-only, folders of somebody else (case D10)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evidex import Collection, InvalidInput, Policy
from store_examples import OPTIONS, READERS, TENANT, content, filled, opened, quick_folder, rules_of
from store_processes import Child, on_own_media, powerless, read_only_media, result_of


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as path:
        yield path / "c"


@pytest.mark.parametrize("closed", [True, False])
def test_a_folder_that_may_not_be_written(folder: Path, closed: bool) -> None:
    """It is read, whoever else may write it; writing is refused, and nothing is touched. Seen red: what others wrote
    after a reader had opened it was never seen, and a revoked right stayed."""
    if not closed and os.geteuid() != 0:
        pytest.skip("only root writes where others may not")
    with filled(folder) as collection:
        stored = content(collection)
    before = {path: path.read_bytes() for path in folder.rglob("*.npy")}
    powerless(folder)
    writer = None if closed else opened(folder, "rw")

    def work(say: Callable[[object], None]) -> None:
        powerless(None)
        with pytest.raises(InvalidInput, match="cannot be written|cannot hold"):
            opened(folder, "rw")
        with pytest.raises(InvalidInput, match="cannot hold"):
            Collection.open(folder / "new", "rw", policy=Policy(), **OPTIONS)
        with opened(folder) as reader:
            assert content(reader) == stored
            reader.verify()
            say("read")
            while len(reader.ids(principal=READERS["a"])) > 0:
                time.sleep(0.01)
            say("gone")
            words = {"a's words": [], "b's words": stored["None's words"]}
            assert content(reader) == stored | words | {"a": [], "b": stored["None"]}

    with Child(work) as child:
        assert child.hear() == "read"
        if os.geteuid() == 0:
            writer = writer or opened(folder, "rw")
            assert writer._policy is not None
            for source in ("d0", "d2"):
                writer.set_rule(TENANT, source, rules_of(writer._policy)["b"])
            if closed:
                writer.close()
            assert child.hear() == "gone"
        assert child.all() == []
        assert child.end() == 0
    assert before == {path: path.read_bytes() for path in folder.rglob("*.npy")}


def test_read_only_media(folder: Path) -> None:
    """A collection that was closed is read where nothing can be written, by several processes."""

    def work() -> str:
        media = folder.with_name("media")
        media.mkdir()
        if not on_own_media(media, size=2_000_000):
            return "may not mount a file system"
        with filled(media / "c") as writer:
            stored = content(writer)
        if not read_only_media(media):
            return "may not mount a file system read-only"
        with opened(media / "c") as reader:
            assert content(reader) == stored
            reader.verify()
            with reader.snapshot() as pinned:
                assert content(pinned) == stored
            assert result_of(lambda: content(reader)) == stored
            assert result_of(lambda: content(opened(media / "c"))) == stored
            with pytest.raises(InvalidInput, match="cannot be written|cannot hold"):
                opened(media / "c", "rw")
        return ""

    if why := result_of(work):
        pytest.skip(why)
