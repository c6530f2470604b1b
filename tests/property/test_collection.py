# SPDX-License-Identifier: Apache-2.0
"""Collections while documents come, change, go and come back, rules change and readers pin, against plain dicts."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

import reference
from collections_reads import check, said_of
from collections_world import World
from evidex import ANY_IN_TENANT, Collection, Document, EvidexError, Policy, Principal
from evidex.masks import Guard
from evidex.store.publishing import Publisher
from evidex.store.reader import CollectionReader
from evidex.store.rights import StoredGuard
from many_rows import KINDS, LEAST_DIM, LEAST_PERMITTED

numbers = st.integers(0, 9)  # of a document, a rule, a revision, a snapshot
seeds = st.integers(0, 2**24 - 1)


class Documents(RuleBasedStateMachine):
    """Seen red with each of FAULTS; retired rows left alive in the store; segments deleted that a reader has; revisions
    dropped that a snapshot shows; a rule that a repeated put does not set; documents numbered as they come; a restored
    revision looked for where it first was; words in another order than rows of rewritten segments; words counted over
    all rows.
    """

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


FAULTS: dict[str, tuple[type, str, Any]] = {
    "a chunk is given by its id alone": (CollectionReader, "_readable", staticmethod(lambda *_: np.ones(1, bool))),
    "rights are those of the last refresh": (StoredGuard, "_rights", Guard._rights),
    "the old revision stays visible": (Publisher, "_retire", lambda *_: None),
}
TestDocuments: Any = Documents.TestCase
TestDocuments.settings = settings(max_examples=settings().max_examples // 2, stateful_step_count=12)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*FAULTS[fault])
    fixed: dict[str, Any] = {
        "derandomize": True,
        "database": None,
        "phases": [Phase.generate],
        "report_multiple_bugs": False,
    }
    with pytest.raises((AssertionError, EvidexError, pytest.fail.Exception)):
        run_state_machine_as_test(Documents, settings=settings(max_examples=40, stateful_step_count=16, **fixed))


@pytest.mark.parametrize("codec", reference.CODECS)
@settings(max_examples=max(2, settings().max_examples // 25))
@given(seed=seeds, hidden=st.integers(1, 2000), optimized=st.booleans())
def test_what_is_hidden_does_not_show_where_codes_are_read(codec: str, seed: int, hidden: int, optimized: bool) -> None:
    """Codes of either collection are made against means of other rows, in segments of other sizes."""
    rng = np.random.default_rng(seed)
    rows = KINDS[rng.choice(["clustered", "near ties", "whole"])](rng, 3 * LEAST_PERMITTED, LEAST_DIM)
    rows[~rows.any(axis=1), 0] = 1
    mine, metric = LEAST_PERMITTED // 10 + 1 + int(rng.integers(50)), str(rng.choice(reference.METRICS))
    names = [f"s{n}" for n in range(mine)]
    mixed = np.array([*names, *(f"h{n}" for n in range(hidden))])
    mixed = mixed[np.argsort(np.concatenate([np.arange(mine) * (hidden / mine), np.arange(hidden)]), kind="stable")]
    answers = []
    for sources in (names, mixed.tolist()):
        policy = Policy()
        rules = {"s": policy.rule("acme", ANY_IN_TENANT), "h": policy.rule("zenith", {"a"})}
        kb = Collection.in_memory(policy=policy, dim=LEAST_DIM, metric=metric, codec=codec)
        kb.put_documents((document(source, rows, rules) for source in sources), batch=int(rng.integers(50, 3000)))
        if optimized:
            kb.optimize()
        who, queries = Principal("alice", "acme", ()), rows[:3]
        explained = kb.explain(queries[0], 5, principal=who)
        assert explained.plan.startswith("exact pre-scan")
        asked: dict[str, Any] = {"ids": kb.ids(principal=who), "explain": explained}
        asked |= {f"{by}": kb.search(queries, 7, principal=who, group_by=by) for by in (False, True)}
        answers.append(said_of(asked | {"radius": kb.radius(queries, -1.0, limit=9, principal=who)}))
        kb.close()
    assert answers[0] == answers[1]


def document(source: str, rows: Any, rules: dict[str, Any]) -> Document:
    """Ten chunks of those that may be read, one of those that are hidden."""
    number, chunks = int(source[1:]), 10 if source[0] == "s" else 1
    at = 10 * number if source[0] == "s" else len(rows) - 1 - number
    return Document(source, "v1", chunks=["a"] * chunks, vectors=rows[at : at + chunks], rule=rules[source[0]])
