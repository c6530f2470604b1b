# SPDX-License-Identifier: Apache-2.0
"""Rights that change: they count for the next read of every snapshot, and for reads that are running."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from evidex import (
    ANY_IN_TENANT,
    UNRESTRICTED,
    AccessError,
    AllowMask,
    DenseIndex,
    InvalidInput,
    NotFound,
    Policy,
    Principal,
    StaleMask,
    _core,
)

ALICE = Principal("alice", tenant="t", groups={"g"})


def rows_along_x(*places: float) -> Any:
    return np.array([[x, 0] for x in places], dtype=np.float32)


class World:
    """Three documents of two rows each; row 10 * document + i."""

    def __init__(self) -> None:
        self.policy = Policy()
        self.open = self.policy.rule("t", allow={"g"})
        self.other = self.policy.rule("t", allow={"h"})
        self.index = DenseIndex(2, metric="ip", policy=self.policy)
        self.index.add([10, 11, 20, 21, 30, 31], rows_along_x(6, 5, 4, 3, 2, 1), self.open, self.groups)

    groups = (1, 1, 2, 2, 3, 3)

    def found(self, **options: Any) -> list[int]:
        found: list[int] = self.index.search([1.0, 0.0], 10, principal=ALICE, **options)[0].ids.tolist()
        return found


@contextmanager
def paused(name: str, during: Callable[[], None]) -> Iterator[list[int]]:
    """Calls ``during`` after the core has read and before the library returns; counts the runs."""
    inside = getattr(_core.Snapshot, name)
    runs = [0]

    def stand_in(*given: Any) -> Any:
        answer = inside(*given)
        runs[0] += 1
        during()
        return answer

    setattr(_core.Snapshot, name, stand_in)
    try:
        yield runs
    finally:
        setattr(_core.Snapshot, name, inside)


def test_a_rule_that_changes_counts_at_once() -> None:  # case A17
    """Seen red with the generations left out of the key under which grants are kept."""
    world = World()
    assert world.found() == [10, 11, 20, 21, 30, 31]
    world.policy.change(world.open, allow={"h"})
    assert world.found() == []
    world.policy.change(world.open, allow={"g"}, deny={"x"})
    assert world.found() == [10, 11, 20, 21, 30, 31]


def test_a_group_that_gets_another_rule_takes_its_rows_along() -> None:  # case A17
    world = World()
    world.index.set_rule([2], world.other)
    assert world.found() == [10, 11, 30, 31]
    world.index.set_rule([2, 1], world.open)
    assert world.found() == [10, 11, 20, 21, 30, 31]


def test_a_row_without_a_group_is_one_numbered_like_its_id() -> None:
    world = World()
    world.index.add([7], rows_along_x(9), world.open)
    world.index.set_rule(7, world.other)
    assert world.found() == [10, 11, 20, 21, 30, 31]
    with pytest.raises(InvalidInput, match="group 7 another rule"):
        world.index.add([8], rows_along_x(9), world.open, groups=[7])
    world.index.upsert([8], rows_along_x(9), world.open, groups=[7])
    assert world.found()[:2] == [7, 8]


def test_a_group_has_one_rule() -> None:
    world = World()
    with pytest.raises(InvalidInput, match="group 5 another rule than an earlier row"):
        world.index.add([50, 51], rows_along_x(1, 1), [world.open, world.other], groups=[5, 5])
    with pytest.raises(InvalidInput, match="group 1 another rule than it has"):
        world.index.add([12], rows_along_x(1), world.other, groups=[1])
    assert world.found() == [10, 11, 20, 21, 30, 31]
    world.index.upsert([10], rows_along_x(6), world.other, groups=[1])
    assert world.found() == [20, 21, 30, 31]


@pytest.mark.parametrize(
    ("groups", "error"), [([1, 99], NotFound), ([-1], InvalidInput), ([1.5], InvalidInput), ("1", InvalidInput)]
)
def test_set_rule_refuses_and_changes_nothing(groups: Any, error: type[Exception]) -> None:
    world = World()
    with pytest.raises(error):
        world.index.set_rule(groups, world.other)
    assert world.found() == [10, 11, 20, 21, 30, 31]


def test_set_rule_needs_this_policy() -> None:
    world = World()
    with pytest.raises(InvalidInput, match="did not make"):
        world.index.set_rule([1], Policy().rule("t", allow={"g"}))
    with pytest.raises(InvalidInput, match="open"):
        DenseIndex(2).set_rule([1], world.open)
    with pytest.raises(InvalidInput, match="this policy made"):
        world.policy.change(Policy().rule("t", allow={"g"}), allow={"g"})


READS: dict[str, tuple[str, Callable[[World], Any]]] = {
    "search": ("search", lambda world: world.found()),
    "radius": ("radius", lambda world: world.index.radius([1.0, 0.0], 0.0, principal=ALICE)[0].ids.tolist()),
    "explain": (
        "search",
        lambda world: [i for i, _ in world.index.explain([1.0, 0.0], principal=ALICE).hits],
    ),
    "ids": ("ids", lambda world: world.index.ids(principal=ALICE).tolist()),
    "items": ("ids_of", lambda world: [i for ids, _ in world.index.items(principal=ALICE) for i in ids.tolist()]),
}


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("how", ["rule", "owner"])
def test_what_is_revoked_while_a_read_runs_does_not_come_back(name: str, how: str) -> None:
    """Seen red with Guard.settled returning what its first run read."""
    world = World()
    inside, read = READS[name]

    def revoke() -> None:
        if how == "owner":
            world.index.set_rule([1], world.other)
        else:
            world.policy.change(world.open, allow=(), deny={"g"})

    with paused(inside, revoke) as runs:
        assert read(world) == ([20, 21, 30, 31] if how == "owner" else [])
    assert runs[0] == 2


def test_a_vector_revoked_while_it_is_fetched_is_not_found() -> None:
    world = World()
    with (
        paused("vectors", lambda: world.index.set_rule([1], world.other)),
        pytest.raises(NotFound, match="no such id: 10"),
    ):
        world.index.get([10], principal=ALICE)


def test_a_right_that_is_given_meanwhile_needs_no_second_run() -> None:
    world = World()
    world.index.set_rule([1], world.other)
    with paused("search", lambda: world.index.set_rule([1], world.open)) as runs:
        assert world.found() == [20, 21, 30, 31]
    assert runs[0] == 1


def test_rights_that_never_settle_fail_closed() -> None:
    world = World()
    turns = iter(range(100))

    def revoke_another() -> None:
        world.index.set_rule([1 + next(turns) % 3], world.other)
        world.index.set_rule([1 + next(turns) % 3], world.open)

    with paused("search", revoke_another) as runs:
        with pytest.raises(AccessError, match="revoked during each of 4 runs"):
            world.found()
        assert runs[0] == 4
        assert len(world.index.search([1.0, 0.0], principal=UNRESTRICTED)[0].ids) == 6


def test_optimizing_changes_no_answer() -> None:
    """P5. Seen red with rows copied without their groups."""
    rng = np.random.default_rng(3)
    policy = Policy()
    rules = [policy.rule(f"t{i % 3}", allow={f"g{i}"}) for i in range(9)]
    rules.append(policy.rule("t0", allow=ANY_IN_TENANT))
    index = DenseIndex(40, policy=policy)
    vectors = rng.standard_normal((5000, 40)).astype(np.float32)
    chosen = rng.integers(0, 10, 1000)
    groups = np.arange(5000) % 1000
    index.add(np.arange(5000), vectors, [rules[chosen[g]] for g in groups], groups=groups)
    index.remove(rng.choice(5000, 500, replace=False))
    index.upsert([17], vectors[:1], rules[chosen[17]], groups=[17])
    callers = [Principal("p", f"t{t}", {f"g{g}" for g in range(9)}) for t in range(3)]

    def read() -> list[Any]:
        found: list[Any] = []
        everyone: list[Any] = [*callers, UNRESTRICTED]
        both: list[dict[str, Any]] = [{}, {"group_by": True}]
        for caller in everyone:
            for options in both:
                hits = index.search(vectors[:20], 300, principal=caller, **options)
                found += [hits.ids.tolist(), hits.scores.tobytes(), hits.counts.tolist()]
            ids = np.sort(index.ids(principal=caller))
            found += [ids.tolist(), index.get(ids, principal=caller).tobytes(), index.count(principal=caller)]
        return found

    before, layout = read(), index.stats(principal=UNRESTRICTED)["layout"]
    index.optimize()
    after = index.stats(principal=UNRESTRICTED)
    assert read() == before
    assert after["removed"] == 0 and after["layout"] != layout
    # A caller's rows are runs now: as many as its rules, at most.
    for caller in callers:
        mine = np.isin(index.ids(principal=UNRESTRICTED), index.ids(principal=caller))
        assert np.count_nonzero(np.diff(mine.astype(int)) == 1) <= 1
    index.set_rule([17], rules[1])
    index.add([9999], vectors[:1], rules[0], groups=[70001])
    assert index.count(principal=UNRESTRICTED) == after["rows"] + 1


def test_masks_of_the_layout_before_are_stale() -> None:
    world = World()
    mask = AllowMask.from_ids(world.index, [10])
    world.index.optimize()
    with pytest.raises(StaleMask):
        world.found(allow=mask)
