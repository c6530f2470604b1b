# SPDX-License-Identifier: Apache-2.0
"""Readers of a SparseIndex while one writes see a state whole: the one before or the one after."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from evidex import ANY_IN_TENANT, AllowMask, Policy, SparseIndex
from evidex.sparse.rows import State
from sparse_examples import ALICE, bits

READERS = 3


def together(write: Callable[[], None], read: Callable[[], None]) -> None:
    """Reads on several threads until the writer is done; what any of them raises is raised."""
    done, failures = threading.Event(), list[BaseException]()

    def reader() -> None:
        try:
            while not done.is_set():
                read()
        except BaseException as error:  # of another thread
            failures.append(error)

    threads = [threading.Thread(target=reader) for _ in range(READERS)]
    for thread in threads:
        thread.start()
    try:
        write()
    finally:
        done.set()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]


def test_each_answer_is_of_one_state() -> None:
    """Every call adds ten rows "a", replaces or removes some, or lays rows out anew: each state has its own answer.

    Seen red with the newest snapshot searched with the view of the state before.
    """
    policy = Policy()
    mine, other = policy.rule("acme", ANY_IN_TENANT), policy.rule("zenith", ANY_IN_TENANT)
    index = SparseIndex(policy=policy)
    states: set[object] = set()

    def answer() -> object:
        [one] = bits(index.search("a b", 2000, principal=ALICE))
        return tuple(one[0]), one[1]

    twin = SparseIndex(policy=policy)  # goes ahead, so that each state's answer is known before it is there

    def step(number: int, of: SparseIndex) -> None:
        first, rules = number * 10, [mine if i % 3 else other for i in range(10)]
        if number % 10 == 9:
            of.optimize()
        elif number % 5 == 3:
            of.remove(np.arange(first - 20, first - 10, 2))
        elif number % 5 == 4:  # under the rules they have: those of rows that a reader pinned would change with them
            of.upsert(np.arange(first - 40, first - 30), ["a b"] * 10, rules)
        else:
            of.add(np.arange(first, first + 10), ["a " * (1 + i % 4) for i in range(10)], rules)

    def expected() -> object:
        [one] = bits(twin.search("a b", 2000, principal=ALICE))
        return tuple(one[0]), one[1]

    states.add(expected())

    def write() -> None:
        for number in range(150):
            step(number, twin)
            states.add(expected())
            step(number, index)

    together(write, lambda: None if answer() in states else pytest.fail("an answer of no state"))
    assert answer() == expected()


def test_rows_that_can_be_counted_can_be_found() -> None:
    index = SparseIndex()

    def write() -> None:
        for number in range(120):
            index.add(None, ["word"] * 5)
            if number % 20 == 19:
                index.optimize()

    def read() -> None:
        before = index.count()
        found = int(index.search("word", 5000).counts[0])
        assert before <= found <= index.count()
        assert found % 5 == 0

    together(write, read)


def test_who_looks_up_an_id_that_is_being_written_finds_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store has it, and readers do not see it yet: looking up waits for that.

    Seen red without waiting.
    """
    index, found = SparseIndex(), list[list[int]]()
    index.add([1, 2], ["word", "other"])

    def look_up() -> None:
        mask = AllowMask.from_ids(index, [2])
        found.append(index.search("word", allow=mask)[0].ids.tolist())

    reader, made = threading.Thread(target=look_up), State.of

    def slow(*given: Any) -> State:
        reader.start()
        reader.join(0.2)
        return made(*given)

    monkeypatch.setattr(State, "of", slow)
    index.upsert([2], ["word"])
    reader.join()
    assert found == [[2]]


def test_many_writers_lose_nothing() -> None:
    index = SparseIndex()
    threads = [
        threading.Thread(target=lambda: [index.add(None, ["word w"]) for _ in range(40)]) for _ in range(READERS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert index.search("word", 1000)[0].ids.tolist() == list(range(120))
    assert len(index) == 120
