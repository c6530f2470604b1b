# SPDX-License-Identifier: Apache-2.0
"""P9: whatever is killed, and when, what was acknowledged is there and nothing is half there (case D7)."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from store_examples import (
    Doc,
    Op,
    State,
    choose,
    content,
    copied,
    expected,
    leftovers,
    opened,
    perform,
    quick_folder,
    steps,
    texts,
    vectors,
)
from store_processes import Child, die_at, listen, result_of

LONG = os.environ.get("EVIDEX_LONG") == "1"
KILLS = 300 if LONG else 30
SEED = random.SystemRandom().randrange(10**6) if LONG else 1
MOST_STEPS = 300  # that a child lives for; a call takes ten to forty

BEFORE: State = {
    "d0": Doc("a", "r1", frozenset({"r0", "r1"})),
    "d1": Doc("b", "r1", frozenset({"r1"})),
    "d2": Doc("a", None, frozenset({"r1"})),
}
CALLS = [
    Op("put", (("d0", "r2", "b"), ("d9", "r1", "a"))),
    Op("put", (("d0", "r2", "b"), ("d9", "r1", "a")), each=True),
    Op("delete", (("d0", "r1", "a"),)),
    Op("restore", (("d0", "r0", "a"),)),
    Op("restore", (("d2", "r1", "a"),)),
    Op("set_rule", (("d0", "r1", "b"),)),
    Op("optimize"),
    Op("compact"),
    Op("erase", (("d0", "r1", "a"),)),
]


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as path:
        yield path


def make(folder: Path) -> None:
    with opened(folder, "rw") as collection:
        for source, revision, group in [("d0", "r0", "a"), ("d0", "r1", "a"), ("d1", "r1", "b"), ("d2", "r1", "a")]:
            perform(collection, Op("put", ((source, revision, group),)))
        perform(collection, Op("delete", (("d2", "r1", "a"),)))
        assert content(collection) == expected(BEFORE)


def calls(seed: object, state: State) -> Iterator[tuple[Op, list[State]]]:
    """The same calls in the child that makes them and in the test, which knows what they lead to."""
    rng = random.Random(str(seed))
    while True:
        op = choose(rng, state)
        passed = steps(state, op)
        yield op, passed
        state = passed[-1]


def recovered(folder: Path, states: list[State]) -> State:
    """Which of the states is there when the collection is opened after a crash; it is sound and without leftovers."""
    began = time.monotonic()
    with opened(folder, "rw") as collection:
        assert time.monotonic() - began < 5, "the lock of a dead process was waited for"
        collection.verify()
        found = content(collection)
        assert leftovers(folder, collection) == []
    fits = [state for state in states if expected(state) == found]
    assert fits, f"{found}\nis none of {[expected(state) for state in states]}"
    return fits[-1]


def test_killed_at_any_moment_nothing_acknowledged_is_lost(folder: Path) -> None:
    """Each child goes on with what the one before left; every second one dies at a step of its own work."""
    collection, state = folder / "c", {}  # type: tuple[Path, State]
    acknowledged = 0
    rng = random.Random(SEED)
    for kill in range(KILLS):
        seed = (SEED, kill)
        step = rng.randrange(1, MOST_STEPS) if kill % 2 else None

        def work(say: Callable[[object], None], seed: Any = seed, state: State = state, step: Any = step) -> None:
            if step is not None:
                die_at(step)
            with opened(collection, "rw") as ours:
                say("open")
                for op, _ in calls(seed, state):
                    perform(ours, op)
                    say("done")

        with Child(work) as child:
            if step is None:
                assert child.hear() == "open"
                time.sleep(rng.random() * 0.1)
                child.kill()
            done = child.all().count("done")
            assert child.end() == -signal.SIGKILL
        acknowledged += done
        made = calls(seed, state)
        for _, passed in islice(made, done):
            state = passed[-1]
        state = recovered(collection, [state, *next(made)[1]])
    assert acknowledged >= KILLS, "too little was done for the kills to show anything"


@pytest.mark.parametrize("op", CALLS, ids=lambda op: f"{op.name}{'-each' * op.each}")
def test_killed_before_and_after_each_step_of_a_call(folder: Path, op: Op) -> None:
    """Steps are files, their names, and statements: before COMMIT, after it, in VACUUM, in the removal of files."""
    make(folder / "made")

    def named() -> tuple[int, list[str]]:
        heard: list[str] = []
        copied(folder / "made", folder / "c")
        listen(heard.append)
        with opened(folder / "c", "rw") as ours:
            opening = len(heard)
            perform(ours, op)
            return opening, heard[opening:]

    opening, heard = result_of(named)
    assert any("COMMIT" in one for one in heard)
    chosen = [at for at, what in enumerate(heard) if LONG or worth_it(what)]
    states = [BEFORE, *steps(BEFORE, op)]
    for at in chosen:

        def work(_: Callable[[object], None], at: int = at) -> None:
            copied(folder / "made", folder / "c")
            die_at(opening + at + 1)
            perform(opened(folder / "c", "rw"), op)

        with Child(work) as child:
            assert child.end() == -signal.SIGKILL, heard[at]
        if "d0" not in recovered(folder / "c", states):
            assert remains(folder / "c") == [], heard[at]


def remains(folder: Path) -> list[str]:
    """Files that hold a text or a vector of d0."""
    wanted = [part.encode() for r in ("r0", "r1") for part in texts("d0", r)]
    wanted += [row.tobytes() for r in ("r0", "r1") for row in vectors("d0", r)]
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if any(one in path.read_bytes() for one in wanted)]


def worth_it(what: str) -> bool:
    """In the short run: what changes something for others."""
    return any(word in what for word in ("COMMIT", "before rename", "before VACUUM", "before rmdir"))


def test_killed_while_a_collection_is_made(folder: Path) -> None:
    heard: list[str] = []

    def makes() -> list[str]:
        listen(heard.append)
        opened(folder / "measured", "rw")
        return heard

    for step, what in list(enumerate(result_of(makes), 1))[:: 1 if LONG else 4]:

        def dies(_: object, step: int = step) -> None:
            die_at(step)
            opened(folder / f"c{step}", "rw")

        with Child(dies) as child:
            assert child.end() == -signal.SIGKILL, what
        assert recovered(folder / f"c{step}", [{}]) == {}
