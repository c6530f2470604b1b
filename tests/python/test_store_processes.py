# SPDX-License-Identifier: Apache-2.0
"""P11 for collections: forks, start methods, the GIL (case C9)."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import store_children
from evidex import UNRESTRICTED, Collection, InvalidInput
from store_examples import (
    DIM,
    READERS,
    TENANT,
    Op,
    content,
    filled,
    large,
    opened,
    perform,
    quick_folder,
    rules_of,
)
from store_processes import Child, result_of

QUERY = np.arange(DIM, dtype=np.float32) - 2


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as path:
        yield path / "c"


def seen(collection: Any, group: str = "a") -> list[str]:
    return sorted({chunk.source for chunk in collection.chunks(principal=READERS[group])})


def test_search_then_fork(folder: Path) -> None:
    """The child reads and may not write; the parent goes on with both."""
    writer = filled(folder)
    reader = opened(folder)
    pinned = reader.snapshot()
    before = reader.search(QUERY, 9, principal=READERS["a"], threads=2).ids.tolist()

    def work() -> list[Any]:
        assert reader.search(QUERY, 9, principal=READERS["a"], threads=2).ids.tolist() == before
        assert content(reader) == content(pinned)
        for call in (lambda: perform(writer, Op("optimize")), lambda: seen(writer), writer.refresh):
            with pytest.raises(InvalidInput, match="before a fork"):
                call()
        writer.close()
        reader.verify()
        reader.close()
        with opened(folder) as again:
            return seen(again)

    assert result_of(work) == ["d0", "d2"]
    perform(writer, Op("put", (("d8", "r1", "a"),)))
    reader.refresh()
    assert seen(reader) == ["d0", "d2", "d8"]
    assert seen(pinned) == ["d0", "d2"]
    leases = [path.name.split("-")[0] for path in (folder / "readers").iterdir()]
    assert leases.count(str(os.getpid())) == 2, "the child gave up its parent's leases"
    for one in (reader, writer):
        one.close()


def test_a_forked_child_sees_a_right_revoked_before_it_first_looks(folder: Path) -> None:
    """Seen red: the child's own connection counts changes from the number that the parent's had reached."""
    writer = filled(folder)
    assert writer._policy is not None
    reader = opened(folder)
    assert seen(reader) == ["d0", "d2"]

    def work(say: Callable[[object], None]) -> None:
        say("forked")
        while not (folder / "go").exists():
            time.sleep(0.001)
        say(reader.search(QUERY, 9, principal=READERS["a"]).counts.tolist())

    with Child(work) as child:
        assert child.hear() == "forked"
        for source in ("d0", "d2"):
            writer.set_rule(TENANT, source, rules_of(writer._policy)["b"])
        (folder / "go").touch()
        assert child.hear() == [0]
    reader.close()
    writer.close()


def test_a_forked_child_sees_what_is_written_after_its_parent_closed(folder: Path) -> None:
    """Seen red: SQLite took the parent's locks for the child's, so the next writer removed the log under the child."""
    filled(folder).close()
    reader = opened(folder)
    assert seen(reader) == ["d0", "d2"]

    def work(say: Callable[[object], None]) -> None:
        say(seen(reader))
        for step in ("one", "two"):
            while not (folder / step).exists():
                time.sleep(0.001)
            say(seen(reader))

    with Child(work) as child:
        assert child.hear() == ["d0", "d2"]
        reader.close()
        for step, source, left in (("one", "d0", ["d2"]), ("two", "d2", [])):
            with opened(folder, "rw") as writer:
                perform(writer, Op("set_rule", ((source, "r1", "b"),)))
            (folder / step).touch()
            assert child.hear() == left
        assert child.all() == []
        assert child.end() == 0


def test_a_forked_child_keeps_what_it_reads(folder: Path) -> None:
    """Its parent may move on or close. Seen red: what only the child still read was removed."""
    writer = filled(folder)
    reader = opened(folder)
    before = content(reader)["a"]

    def work(say: Callable[[object], None]) -> None:
        say("forked")
        while not (folder / "go").exists():
            time.sleep(0.001)
        say(content(reader)["a"])

    with Child(work) as child:
        assert child.hear() == "forked"
        reader.close()
        perform(writer, Op("delete", (("d0", "r1", "a"),)))
        writer.compact()
        writer.compact()
        (folder / "go").touch()
        assert child.hear() == before
        child.end()
    writer.compact()
    assert list((folder / "readers").iterdir()) == []
    writer.close()


def test_a_closed_writer_leaves_no_lock_to_its_children(folder: Path) -> None:
    """Seen red: LockHeld, until the child ended."""
    writer = filled(folder)

    def lives_on(say: Callable[[object], None]) -> None:
        say("forked")
        time.sleep(60)

    with Child(lives_on) as child:
        child.hear()
        writer.close()
        opened(folder, "rw").close()


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_every_start_method(folder: Path, method: str) -> None:
    writer = filled(folder)
    expected = content(writer)
    reader = opened(folder)
    found = reader.search(QUERY, 5, principal=READERS["a"], threads=2).ids.tolist()
    context: Any = multiprocessing.get_context(method)
    answers: Any = context.SimpleQueue()
    process = context.Process(target=store_children.read, args=(str(folder), answers))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # this process has threads, which is the point
        process.start()
        process.join(60)
        assert process.exitcode == 0
        assert answers.get() == (expected, writer.generation)
        if method == "fork":
            process = context.Process(target=store_children.search, args=(reader, QUERY, READERS["a"], answers))
            process.start()
            process.join(60)
            assert answers.get() == found
    for one in (reader, writer):
        one.close()


class Counter:
    """Counts in a thread of its own, for as long as a call runs beside it."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self.ticks = 0

    def _count(self) -> None:
        while not self._stop.wait(0.01):
            self.ticks += 1

    def rate(self, call: Callable[[], object]) -> tuple[float, float]:
        """Ticks per second, and seconds."""
        self.ticks = 0
        self._stop.clear()
        thread = threading.Thread(target=self._count)
        began = time.monotonic()
        thread.start()
        call()
        lasted = time.monotonic() - began
        self._stop.set()
        thread.join()
        return self.ticks / lasted, lasted


def test_other_threads_run_while_a_collection_works(folder: Path) -> None:
    """Half of what they do beside a sleep, or more, in the best of a few calls: the machine may be busy (case C9)."""
    with Collection.open(folder, "rw", policy=UNRESTRICTED, dim=512) as collection:
        given = large(12_000, 512)
        counter = Counter()
        idle, _ = counter.rate(lambda: time.sleep(0.3))
        queries = np.random.default_rng(2).standard_normal((400, 512)).astype(np.float32)
        calls: dict[str, Callable[[int], object]] = {
            "put_documents": lambda turn: collection.put_documents([replace(given, revision=f"r{turn}")]),
            "search": lambda _: collection.search(queries, 5, threads=1),
            "compact": lambda _: collection.compact(),
        }
        for name, call in calls.items():
            rates: list[float] = []
            while len(rates) < 5 and max(rates, default=0) < 0.5 * idle:
                rates.append(counter.rate(partial(call, len(rates)))[0])
            assert max(rates) >= 0.5 * idle, f"{name}: {rates} of {idle:.0f} ticks a second"
