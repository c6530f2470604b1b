# SPDX-License-Identifier: Apache-2.0
"""P1, P3, P4, P6 of approximate search: whatever codes find is permitted and scored exactly, in order, without repeats,
and never less than min(k, permitted)."""

from __future__ import annotations

import os
import tempfile
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from codes_world import KINDS, Tally, World
from evidex import AllowMask, DenseIndex, Policy, Principal, _core
from evidex.masks import Guard

LONG = os.environ.get("EVIDEX_LONG") == "1"


def tally_of(worlds: int, draws: int) -> Tally:
    tally = Tally()
    for seed in range(worlds):
        world = World(seed)
        for _ in range(draws):
            world.draw(tally)
    return tally


def test_nothing_leaks_through_codes() -> None:
    """In at least 30 % of draws a denied row would come first."""
    tally = tally_of(*((300, 100) if LONG else (20, 40)))
    assert tally.leaks == []
    assert tally.led >= 0.3 * tally.draws
    assert tally.coded >= 0.3 * tally.draws


def test_planted_leaks_are_found() -> None:
    """A search by codes that drops the mask."""

    def everything(guard: Guard, snapshot: Any, *asked: Any) -> Any:
        masks, mask_of = narrowed_each(guard, snapshot, *asked)
        return [_core.Bitmask.ones(snapshot.rows) for _ in masks], mask_of

    narrowed_each = Guard.narrowed_each
    with mock.patch.object(Guard, "narrowed_each", everything):
        assert any("a denied row" in leak for leak in tally_of(3, 20).leaks)


@given(st.integers(0, 2**32 - 1))
def test_any_world(seed: int) -> None:
    tally = Tally()
    world = World(seed)
    for _ in range(3):
        world.draw(tally)
    assert tally.leaks == []


@settings(max_examples=200 if LONG else 30)  # each writes files, durably
@given(st.integers(0, 2**32 - 1))
def test_any_world_saved_and_loaded(seed: int) -> None:
    """The same bits for the same plan, and no leaks afterwards. Seen red with rows that were removed left in."""
    world = World(seed)
    with tempfile.TemporaryDirectory() as folder:
        world.index.save(folder)
        loaded = DenseIndex.load(folder, policy=(policy := Policy()))
    rng = world.rng
    caller = Principal("u", str(rng.choice(["acme", "z"])), {"a"} if rng.random() < 0.5 else {"b"})
    queries = rng.standard_normal((4, world.dim)).astype(np.float32)
    chosen = np.flatnonzero(world.live & (rng.random(len(world.live)) < rng.choice([0.1, 0.6, 1])))
    for kind in KINDS:
        for candidates in (1, int(rng.integers(2, 300))):
            plan = f"{kind} codes, {candidates} rescored"
            one, other = (
                index.search(queries, 7, plan=plan, principal=caller, allow=AllowMask.from_ids(index, chosen))
                for index in (world.index, loaded)
            )
            assert one.ids.tolist() == other.ids.tolist() and one.scores.tobytes() == other.scores.tobytes()
            assert one.certified.tolist() == other.certified.tolist()
    world.index, world.rules = loaded, list(policy.rules())
    world.draw(tally := Tally())
    assert tally.leaks == []
