# SPDX-License-Identifier: Apache-2.0
"""P11 for collections: Ctrl-C (case C9)."""

from __future__ import annotations

import _thread
import operator
import os
import signal
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidex import UNRESTRICTED, Collection, Document
from store_examples import filled, large, opened, quick_folder
from store_processes import Child, result_of


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as path:
        yield path / "c"


def test_ctrl_c_ends_a_long_call(folder: Path) -> None:
    """Quickly, with KeyboardInterrupt, and the collection is as before the batch or as after it."""
    given = [large(6_000, 256)] + [
        Document(f"d{i}", "r1", chunks=["part"] * 2000, vectors=large(2000, 256).vectors) for i in range(30)
    ]

    def work(say: Callable[[object], None]) -> None:
        collection = Collection.open(folder, "rw", policy=UNRESTRICTED, dim=256)
        for delay in (0.05, 0.2, 0.5):
            say("begins")
            try:
                for again in range(1000):
                    collection.put_documents(
                        Document(one.source, f"{delay}-{again}", None, one.chunks, one.vectors) for one in given
                    )
                raise AssertionError("nobody interrupted it")
            except KeyboardInterrupt:
                say(time.monotonic())
            collection.refresh()  # it may have come between the batch and looking at it
            count = len(collection)
            collection.verify()
            collection.put_document(f"after {delay}", "1", chunks=["more"], vectors=np.ones((1, 256)))
            assert len(collection) == count + 1
        collection.close()
        with Collection.open(folder, "rw", policy=UNRESTRICTED) as again_:
            again_.verify()
            assert len(again_) == count + 1

    with Child(work) as child:
        for delay in (0.05, 0.2, 0.5):
            assert child.hear() == "begins"
            time.sleep(delay)
            sent = time.monotonic()
            os.kill(child.pid, signal.SIGINT)
            assert child.hear() - sent < 2
        assert child.all() == []
        assert child.end() == 0


class Interrupting(weakref.ref[Any]):
    """Has Ctrl-C come at the moment at which its object is freed, and runs no Python code for that."""

    interrupt = staticmethod(_thread.interrupt_main)


def test_ctrl_c_is_heard_while_rows_are_freed(folder: Path) -> None:
    """Seen red with the store's weak references in a WeakSet: what its callback raised was ignored."""

    def work() -> list[str]:
        heard = []
        collection = filled(folder)
        reader = opened(folder)
        snapshots = [reader.snapshot()]
        stores = [collection._now().family.store, reader._now().family.store]
        references = [Interrupting(one, operator.methodcaller("interrupt")) for one in stores]
        del stores
        for name, call in (("compact", collection.compact), ("refresh", reader.refresh), ("forget", snapshots.clear)):
            try:
                call()
                time.sleep(0)
            except KeyboardInterrupt:
                heard.append(name)
        assert all(reference() is None for reference in references)
        collection.verify()
        for one in (reader, collection):
            one.close()
        return heard

    assert result_of(work) == ["compact", "forget"]
