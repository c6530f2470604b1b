# SPDX-License-Identifier: Apache-2.0
"""P9 while others read: threads and processes see whole states, and rights as they are now (cases D5, D10)."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidex import UNRESTRICTED, Collection, LockHeld, NotFound
from store_examples import (
    DIM,
    READERS,
    TENANT,
    Op,
    State,
    choose,
    content,
    expected,
    filled,
    opened,
    perform,
    quick_folder,
    rules_of,
    steps,
    texts,
    vectors,
)
from store_processes import Child

SECONDS = 60 if os.environ.get("EVIDEX_LONG") == "1" else 3
QUERY = np.arange(DIM, dtype=np.float32) - 2


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as path:
        yield path / "c"


class Plan:
    """Calls that follow from a seed, and the state of each generation they lead to. Rules stay as they are first."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._lock = threading.Lock()
        self._ops: list[Op] = []
        self._states: list[State] = [{}]
        self._last: list[int] = [0]  # generation after each call

    def op(self, number: int) -> Op:
        with self._lock:
            while len(self._ops) <= number:
                self._add()
            return self._ops[number]

    def state(self, generation: int) -> State:
        with self._lock:
            while len(self._states) <= generation:
                self._add()
            return self._states[generation]

    def _add(self) -> None:
        now = self._states[-1]
        op = choose(self._rng, now)
        if op.name == "put":
            op = Op("put", tuple((source, revision, "ab"[int(source[1:]) % 2]) for source, revision, _ in op.documents))
        elif op.name == "set_rule" or (op.name == "restore" and now[op.documents[0][0]].visible == op.documents[0][1]):
            op = Op("optimize")
        elif op.name == "erase":
            op = Op("compact")  # an erasure waits for readers
        self._ops.append(op)
        self._states.append(steps(now, op)[-1])


def check(collection: Any, generation: int, plan: Plan) -> None:
    """A search of a pinned state against brute force over what the plan says of it; scores are exact."""
    state = plan.state(generation)
    for group, principal in [*READERS.items(), (None, UNRESTRICTED)]:
        rows = [
            (float(vector @ QUERY), text, source)
            for source, doc in state.items()
            if doc.visible and group in (doc.group, None)
            for text, vector in zip(texts(source, doc.visible), vectors(source, doc.visible), strict=True)
        ]
        ids, scores = collection.search(QUERY, 10**6, principal=principal)[0]
        assert scores.tolist() == sorted((score for score, *_ in rows), reverse=True), (generation, group)
        by_text = {text: score for score, text, _ in rows}
        some = ids[:: max(1, len(ids) // 3)].tolist()
        found = collection._fixed()._chunks(some)
        assert [by_text[one.text] for one in found] == scores[:: max(1, len(ids) // 3)].tolist()


def test_every_result_is_that_of_a_published_generation(folder: Path) -> None:
    """Four threads beside the writer and two processes read what they see, and snapshots that they keep."""
    plan = Plan(4)
    writer = opened(folder, "rw")
    stop = threading.Event()
    failures: list[str] = []
    checks = [0]

    def watch(collection: Collection, seed: int, ended: Callable[[], bool]) -> int:
        rng = random.Random(seed)
        kept: list[Any] = []
        done = 0
        while not ended():
            if collection._mode == "r":
                collection.refresh()
            with collection.snapshot() as now:
                check(now, now.generation, plan)
            if rng.random() < 0.2:
                kept.append(collection.snapshot())
            if kept and rng.random() < 0.5:
                one = kept.pop(rng.randrange(len(kept))) if len(kept) > 3 else rng.choice(kept)
                check(one, one.generation, plan)
            done += 1
        return done

    def thread(seed: int) -> None:
        try:
            checks[0] += watch(writer, seed, stop.is_set)
        except BaseException as error:
            failures.append(repr(error)[:1000])
            raise

    def process(say: Callable[[object], None]) -> None:
        with opened(folder) as reader:
            ends = time.monotonic() + SECONDS
            say(watch(reader, os.getpid(), lambda: time.monotonic() > ends))

    children = [Child(process) for _ in range(2)]
    threads = [threading.Thread(target=thread, args=(seed,)) for seed in range(4)]
    for one in threads:
        one.start()
    number, ends = 0, time.monotonic() + SECONDS
    while time.monotonic() < ends and not failures:
        perform(writer, plan.op(number))
        number += 1
        assert writer.generation == number
    stop.set()
    for one in threads:
        one.join()
    assert not failures, failures
    for child in children:
        assert child.all()[0] >= 3
        assert child.end() == 0
    assert number >= 10 and checks[0] >= 10
    writer.verify()
    writer.close()
    with opened(folder) as reader:
        found, wanted = content(reader), expected(plan.state(number))
        assert {group: found[group] for group in "ab"} == {group: wanted[group] for group in "ab"}


def test_a_right_that_is_revoked_counts_at_once_everywhere(folder: Path) -> None:
    """A pinned snapshot of another process loses the rows at its next query, and gets others, without refresh."""
    writer = filled(folder)
    assert writer._policy is not None
    rules = rules_of(writer._policy)

    def work(say: Callable[[object], None]) -> None:
        reader = opened(folder)
        pinned = reader.snapshot()
        chunk = next(iter(pinned.chunks(principal=READERS["a"])))
        say(chunk.source)
        while pinned.count(principal=READERS["a"]) > 0:
            time.sleep(0.001)
        with pytest.raises(NotFound):
            pinned.get_chunk(chunk.id, principal=READERS["a"])
        assert int(pinned.search(QUERY, 99, principal=READERS["a"]).counts[0]) == 0
        assert len(list(reader.chunks(principal=READERS["a"]))) == 0
        say(sorted({one.source for one in pinned.chunks(principal=READERS["b"])}))
        while pinned.count(principal=READERS["a"]) == 0:
            time.sleep(0.001)
        say("back")

    with Child(work) as child:
        assert child.hear() in ("d0", "d2")
        writer.set_rule(TENANT, "d0", rules["b"])
        writer.set_rule(TENANT, "d2", rules["b"])
        assert child.hear() == ["d0", "d1", "d2", "d3"]
        writer.change_rule(rules["b"], {"a", "b"})
        assert child.hear() == "back"
    writer.close()


def test_a_snapshot_of_another_process_outlives_compaction(folder: Path) -> None:
    """Texts and vectors of a state that it pins stay, and go when it lets go or dies."""
    writer = filled(folder)

    def work(say: Callable[[object], None]) -> None:
        reader = opened(folder)
        pinned = reader.snapshot()
        before = content(pinned)
        say("pinned")
        while reader.refresh() < 8:
            time.sleep(0.001)
        assert content(pinned)["a"] == before["a"] != []
        assert content(reader)["a"] != before["a"]
        say("read")
        while not (folder / "go").exists():
            time.sleep(0.001)
        reader.close()
        say("closed")
        time.sleep(60)

    with Child(work) as child:
        assert child.hear() == "pinned"
        for number in range(3):
            perform(writer, Op("put", (("d0", f"n{number}", "a"),)))
        writer.delete_document(TENANT, "d2")
        writer.compact()
        writer.optimize()
        assert ("d2", "r1") in content(writer)["stored"]
        assert child.hear() == "read"
        with pytest.raises(LockHeld, match="still read"):
            writer.erase(TENANT, "d1")
        (folder / "go").touch()
        assert child.hear() == "closed"
        writer.compact()
        assert ("d2", "r1") not in content(writer)["stored"]
        writer.compact()
        assert len(list((folder / "segments").iterdir())) == 1
    writer.close()


def test_the_lease_of_a_killed_reader_is_in_nobodys_way(folder: Path) -> None:
    writer = filled(folder)

    def work(say: Callable[[object], None]) -> None:
        reader = opened(folder)
        kept = [reader.snapshot() for _ in range(3)]
        say(len(kept))
        time.sleep(60)

    with Child(work) as child:
        child.hear()
        writer.delete_document(TENANT, "d0")
        writer.compact()
        assert ("d0", "r1") in content(writer)["stored"]
        child.kill()
        child.end()
    writer.compact()
    assert ("d0", "r1") not in content(writer)["stored"]
    writer.erase(TENANT, "d1")
    assert list((folder / "readers").iterdir()) == []
    writer.close()


def test_the_lock_of_a_killed_writer_is_free_at_once(folder: Path) -> None:
    """Though a child that it forked lives on. Seen red: the child had the lock too."""

    def work(say: Callable[[object], None]) -> None:
        _ = opened(folder, "rw")

        def lives_on(ready: Callable[[object], None]) -> None:
            ready("forked")
            time.sleep(2)

        say(Child(lives_on).hear())
        time.sleep(60)

    with Child(work) as child:
        child.hear()
        with pytest.raises(LockHeld):
            opened(folder, "rw")
        child.kill()
        assert child.end() == -9
        opened(folder, "rw").close()


def test_many_read_while_one_writes(folder: Path) -> None:
    writer = filled(folder)
    there = content(writer)

    def work(say: Callable[[object], None]) -> None:
        with opened(folder) as reader:
            say(content(reader) == there)

    children = [Child(work) for _ in range(4)]
    assert [child.all() for child in children] == [[True]] * 4
    assert [child.end() for child in children] == [0] * 4
    writer.close()
