# SPDX-License-Identifier: Apache-2.0
"""Collections while documents come, change, go and come back, rules change and readers pin, against plain dicts."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from collections_reads import check
from collections_world import World

numbers = st.integers(0, 9)  # of a document, a rule, a revision, a snapshot
seeds = st.integers(0, 2**24 - 1)


class Documents(RuleBasedStateMachine):
    """Seen red with the faults that its tests plant."""

    world: World | None = None

    @initialize(seed=seeds, folder=st.booleans())
    def start(self, seed: int, folder: bool) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="evidex-")) if folder else None
        self.world = World(seed, None if self.folder is None else self.folder / "kb")
        self.steps = 0

    @rule(which=st.lists(st.tuples(numbers, numbers), min_size=1, max_size=6), batch=st.sampled_from([1, 4, 100]))
    def put(self, which: list[tuple[int, int]], batch: int) -> None:
        self.of.put(which, batch)

    @rule(number=numbers, rule_number=numbers, place=numbers)
    def put_again(self, number: int, rule_number: int, place: int) -> None:
        self.of.put_again(number, rule_number, place)

    @rule(number=numbers)
    def delete(self, number: int) -> None:
        self.of.delete(number)

    @rule(number=numbers, place=numbers)
    def restore(self, number: int, place: int) -> None:
        self.of.restore(number, place)

    @rule(number=numbers, rule_number=numbers)
    def set_rule(self, number: int, rule_number: int) -> None:
        self.of.set_rule(number, rule_number)

    @rule(number=numbers)
    def change_rule(self, number: int) -> None:
        self.of.change_rule(number)

    @rule()
    def optimize(self) -> None:
        self.of.kb.optimize()
        self.of.noted()

    @rule()
    def compact(self) -> None:
        self.of.compact()

    @rule(new_policy=st.booleans())
    def reopen(self, new_policy: bool) -> None:
        self.of.reopen(new_policy)

    @rule(of_reader=st.booleans())
    def pin(self, of_reader: bool) -> None:
        self.of.pin(of_reader)

    @rule(place=numbers)
    def unpin(self, place: int) -> None:
        self.of.unpin(place)

    @rule()
    def refresh(self) -> None:
        self.of.refresh()

    @invariant()
    def reads_are_right(self) -> None:
        if self.world is None:
            return
        self.steps += 1
        readers = self.of.readers()
        others = readers[1:]
        check(self.of, *readers[0])
        if others:
            check(self.of, *others[self.steps % len(others)])
        if self.steps % 4 == 0:
            self.of.kb.verify()

    @property
    def of(self) -> World:
        assert self.world is not None
        return self.world

    def teardown(self) -> None:
        if self.world is not None:
            self.of.kb.verify()
            self.of.close()
            if self.folder is not None:
                shutil.rmtree(self.folder)


TestDocuments: Any = Documents.TestCase
TestDocuments.settings = settings(max_examples=settings().max_examples // 2, stateful_step_count=14)
