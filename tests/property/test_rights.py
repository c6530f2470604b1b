# SPDX-License-Identifier: Apache-2.0
"""Rules that change, documents that move between rules, rows that come and go: against plain set logic."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import event
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from evidex import ANY_IN_TENANT, UNRESTRICTED, DenseIndex, NotFound, Policy, Principal

TENANTS = ("acme", "zenith")
GROUPS = ("a", "b", "c", "d")
DOCUMENTS = 8

names = st.frozensets(st.sampled_from(GROUPS))
parts = st.tuples(st.sampled_from(TENANTS), st.none() | names, names)
documents = st.integers(0, DOCUMENTS - 1)


def permits(parts_: tuple[str, frozenset[str] | None, frozenset[str]], tenant: str, groups: frozenset[str]) -> bool:
    """The oracle: the sentence in docs/security.md, in set logic."""
    of_tenant, allow, deny = parts_
    return tenant == of_tenant and not (deny & groups) and (allow is None or bool(allow & groups))


class Rights(RuleBasedStateMachine):
    """P1, P2 and P3 through changes. Seen red with a kept grant used after a change of a rule, with the last partial
    word of a grant left out, and with the mask dropped in ``radius``."""

    @initialize(chosen=st.lists(parts, min_size=2, max_size=6, unique=True), seed=st.integers(0, 2**32 - 1))
    def start(self, chosen: list[Any], seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.policy = Policy()
        self.index = DenseIndex(3, metric="ip", policy=self.policy)
        self.parts = list(chosen)
        self.made = [self.rule_of(one) for one in chosen]
        self.owner: dict[int, int] = {}  # row id -> document
        self.of_document: dict[int, int] = {}  # document -> number in self.made
        self.vectors: dict[int, Any] = {}
        self.next = 0

    def rule_of(self, one: tuple[str, frozenset[str] | None, frozenset[str]]) -> Any:
        return self.policy.rule(one[0], ANY_IN_TENANT if one[1] is None else one[1], one[2])

    @rule(document=documents, number=st.integers(0, 5), rows=st.integers(1, 40))
    def put(self, document: int, number: int, rows: int) -> None:
        number = self.of_document.get(document, number % len(self.made))
        ids = np.arange(self.next, self.next + rows)
        self.next += rows
        vectors = np.round(self.rng.standard_normal((rows, 3)) * 2).astype(np.float32)
        self.index.add(ids, vectors, self.made[number], groups=np.full(rows, document + 10**6))
        self.of_document[document] = number
        for id_, vector in zip(ids.tolist(), vectors, strict=True):
            self.owner[id_], self.vectors[id_] = document, vector

    @rule(document=documents, number=st.integers(0, 5))
    def move(self, document: int, number: int) -> None:
        number %= len(self.made)
        if document not in self.of_document:
            try:
                self.index.set_rule([document + 10**6], self.made[number])
            except NotFound:
                return
            raise AssertionError("a group that was never stored has no rule to change")
        self.index.set_rule([document + 10**6], self.made[number])
        self.of_document[document] = number

    @rule(number=st.integers(0, 5), allow=st.none() | names, deny=names)
    def change(self, number: int, allow: frozenset[str] | None, deny: frozenset[str]) -> None:
        number %= len(self.made)
        self.policy.change(self.made[number], ANY_IN_TENANT if allow is None else allow, deny)
        self.parts[number] = (self.parts[number][0], allow, deny)

    @rule(share=st.floats(0, 1))
    def remove(self, share: float) -> None:
        gone = [id_ for id_ in self.owner if self.rng.random() < share]
        self.index.remove(gone)
        for id_ in gone:
            del self.owner[id_], self.vectors[id_]

    @rule()
    def optimize(self) -> None:
        self.index.optimize()

    def readable(self, tenant: str, groups: frozenset[str]) -> list[int]:
        return [
            i for i, document in self.owner.items() if permits(self.parts[self.of_document[document]], tenant, groups)
        ]

    @rule(tenant=st.sampled_from(TENANTS), groups=names, k=st.integers(0, 30))
    def read(self, tenant: str, groups: frozenset[str], k: int) -> None:
        mine = self.readable(tenant, groups)
        caller = Principal("p", tenant, groups)
        query = np.round(self.rng.standard_normal(3) * 2).astype(np.float32)
        score = {id_: float(np.dot(self.vectors[id_], query)) for id_ in self.owner}
        best = sorted(mine, key=lambda id_: (-score[id_], id_))
        hits = self.index.search(query, k, principal=caller)
        assert hits[0].ids.tolist() == best[:k]
        assert self.index.radius(query, 0.0, principal=caller)[0].ids.tolist() == [i for i in best if score[i] >= 0]
        assert sorted(self.index.ids(principal=caller).tolist()) == sorted(mine)
        assert self.index.count(principal=caller) == len(mine)
        assert sorted(i for ids, _ in self.index.items(batch=7, principal=caller) for i in ids.tolist()) == sorted(mine)
        denied = set(self.owner) - set(mine)
        if denied and max(score[i] for i in denied) > max((score[i] for i in mine), default=-np.inf):
            event("a denied row would rank first")
        event("read")
        # P2: the same index without the rows it may not read answers alike.
        alone = DenseIndex(3, metric="ip", policy=self.policy)
        if mine:
            alone.add(
                mine,
                np.array([self.vectors[i] for i in mine]),
                [self.made[self.of_document[self.owner[i]]] for i in mine],
                groups=[self.owner[i] + 10**6 for i in mine],
            )
        other = alone.search(query, k, principal=caller)
        assert other.ids.tolist() == hits.ids.tolist() and other.scores.tobytes() == hits.scores.tobytes()
        assert other.counts.tolist() == hits.counts.tolist() and other.reason.tolist() == hits.reason.tolist()
        assert alone.explain(query, k, principal=caller) == self.index.explain(query, k, principal=caller)

    @invariant()
    def counts_are_right_before_and_after_every_step(self) -> None:
        """The same callers each time, so that a grant is kept when the next step changes a right."""
        if not hasattr(self, "index"):
            return
        assert self.index.count(principal=UNRESTRICTED) == len(self.owner)
        for tenant in TENANTS:
            for groups in (frozenset("a"), frozenset("bc")):
                caller = Principal("p", tenant, groups)
                assert self.index.count(principal=caller) == len(self.readable(tenant, groups))


TestRights = Rights.TestCase
