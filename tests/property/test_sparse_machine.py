# SPDX-License-Identifier: Apache-2.0
"""SparseIndex as a state machine against a dict (B16, B22, D1): writes, rights, layouts, several principals."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

import sparse_reference as reference
from evidex import UNRESTRICTED, AllowMask, InvalidInput, NotFound, Policy, Principal, SparseIndex, StaleMask
from sparse_examples import bits, require_scores

WORDS = ["a", "b", "c", "d", "é"]
PARTS = [
    ("acme", ("g",), ()),
    ("acme", ("g", "h"), ()),
    ("acme", ("h",), ("g",)),
    ("zenith", ("g",), ()),
    ("acme", (), ()),
]
CALLERS = [
    Principal("x", tenant, groups) for tenant in ("acme", "zenith", "no") for groups in ({"g"}, {"h"}, {"g", "h"})
]

ids = st.integers(0, 12)
terms = st.dictionaries(st.sampled_from(WORDS), st.sampled_from([1, 2, 4, 8]), max_size=4)
documents = st.lists(terms, max_size=5)
numbers = st.integers(0, len(PARTS) - 1)


class Row(NamedTuple):
    """One version of a row; compared by identity, since equal ones may follow one another."""

    terms: dict[str, int]
    group: int


class SparseMachine(RuleBasedStateMachine):
    """Every failing call must leave the model and the index as they were.

    Seen red with removals that no state is made of, and with the last part only.
    """

    masks = Bundle("masks")

    @initialize()
    def start(self) -> None:
        self.policy = Policy()
        self.held = [self.policy.rule(*parts) for parts in PARTS]
        self.index = SparseIndex(policy=self.policy)
        self.model: dict[int, Row] = {}
        self.rule_of: dict[int, int] = {}  # of groups
        self.next_id = 0

    def of_group(self, group: int, number: int) -> int:
        return self.rule_of.get(group, number)

    def put(self, chosen: list[int], new: list[dict[str, int]], groups: list[int], given: list[int]) -> None:
        self.model.update(zip(chosen, map(Row, new, groups), strict=True))
        self.rule_of.update(zip(groups, given, strict=True))
        self.next_id = max([self.next_id, *(i + 1 for i in chosen)])

    @rule(chosen=st.lists(ids, max_size=5, unique=True), new=documents, number=numbers)
    def add(self, chosen: list[int], new: list[dict[str, int]], number: int) -> None:
        chosen, new = chosen[: len(new)], new[: len(chosen)]
        groups = [100 + i % 3 for i in chosen]
        given = [self.of_group(group, number) for group in groups]
        if set(chosen) & set(self.model):
            with pytest.raises(InvalidInput):
                self.index.add(chosen, new, [self.held[i] for i in given], groups)
            return
        self.index.add(chosen, new, [self.held[i] for i in given], groups)
        self.put(chosen, new, groups, given)

    @rule(new=documents, number=numbers)
    def add_automatic(self, new: list[dict[str, int]], number: int) -> None:
        groups = [100 + i % 3 for i in range(len(new))]
        given = [self.of_group(group, number) for group in groups]
        chosen = self.index.add(None, new, [self.held[i] for i in given], groups).tolist()
        assert chosen == list(range(self.next_id, self.next_id + len(new)))
        self.put(chosen, new, groups, given)

    @rule(chosen=st.lists(ids, max_size=5, unique=True), new=documents, number=numbers)
    def upsert(self, chosen: list[int], new: list[dict[str, int]], number: int) -> None:
        chosen, new = chosen[: len(new)], new[: len(chosen)]
        groups = [100 + (i + 1) % 3 for i in chosen]
        self.index.upsert(chosen, new, self.held[number], groups)
        self.put(chosen, new, groups, [number] * len(chosen))

    @rule(chosen=st.lists(ids, max_size=4, unique=True))
    def remove(self, chosen: list[int]) -> None:
        if set(chosen) - set(self.model):
            with pytest.raises(NotFound):
                self.index.remove(chosen)
            return
        self.index.remove(chosen)
        for i in chosen:
            del self.model[i]

    @rule(group=st.integers(100, 103), number=numbers)
    def set_rule(self, group: int, number: int) -> None:
        if group not in self.rule_of:
            with pytest.raises(NotFound):
                self.index.set_rule([group], self.held[number])
            return
        self.index.set_rule([group], self.held[number])
        self.rule_of[group] = number

    @rule()
    def optimize(self) -> None:
        self.index.optimize()

    @rule()
    def save_and_load(self) -> None:
        folder = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
        try:
            self.index.save(folder / "saved")
            self.policy = Policy()
            self.index = SparseIndex.load(folder / "saved", policy=self.policy)
        finally:
            shutil.rmtree(folder)
        self.held = self.policy.rules()
        self.rule_of = {row.group: self.rule_of[row.group] for row in self.model.values()}

    @rule(target=masks, chosen=st.sets(ids))
    def make_mask(self, chosen: set[int]) -> Any:
        layout = self.index.stats(principal=UNRESTRICTED)["layout"]
        return AllowMask.from_ids(self.index, sorted(chosen)), {i: self.model.get(i) for i in chosen}, layout

    @rule(mask=masks, query=terms, who=st.sampled_from(CALLERS), k=st.integers(0, 12))
    def search_masked(self, mask: Any, query: dict[str, int], who: Principal, k: int) -> None:
        """A kept mask permits the rows it was made of while they live, in their layout, and changes no score."""
        allow, versions, layout = mask
        if layout != self.index.stats(principal=UNRESTRICTED)["layout"]:
            with pytest.raises(StaleMask):
                self.index.search([query], k, principal=who, allow=allow)
            return
        alive = {i for i, row in versions.items() if row is not None and self.model.get(i) is row}
        everything = self.index.search([query], 100, principal=who)[0]
        kept = [(i, s) for i, s in zip(*(x.tolist() for x in everything), strict=True) if i in alive][:k]
        found = self.index.search([query], k, principal=who, allow=allow)[0]
        assert list(zip(*(x.tolist() for x in found), strict=True)) == kept

    @rule(query=terms, who=st.sampled_from(CALLERS), k=st.integers(0, 12), ranking=st.sampled_from(["bm25", "tfidf"]))
    def search(self, query: dict[str, int], who: Principal, k: int, ranking: str) -> None:
        mine = self.readable(who)
        found = self.index.search([query], k, principal=who, ranking=ranking)
        require_scores(found, [getattr(reference, ranking)(query, mine, mine)], k)
        alone = SparseIndex(policy=(policy := Policy()))
        alone.add(list(mine), list(mine.values()), policy.rule(who.tenant, who.groups))
        assert bits(found) == bits(alone.search([query], k, principal=who, ranking=ranking))

    @rule(query=terms, who=st.sampled_from(CALLERS), scope=st.sampled_from(["tenant", "collection"]))
    def search_in_scope(self, query: dict[str, int], who: Principal, scope: str) -> None:
        mine = self.readable(who)
        whole = {i: row.terms for i, row in self.model.items()}
        tenant = {i for i, row in self.model.items() if PARTS[self.rule_of[row.group]][0] == who.tenant}
        scores = reference.bm25(query, whole, tenant if scope == "tenant" else whole)
        expected = {i: score for i, score in scores.items() if i in mine}
        require_scores(self.index.search([query], 20, principal=who, scope=scope), [expected], 20)

    def readable(self, who: Principal) -> dict[int, dict[str, int]]:
        def may(row: Row) -> bool:
            tenant, allow, deny = PARTS[self.rule_of[row.group]]
            return tenant == who.tenant and bool(who.groups & set(allow)) and not who.groups & set(deny)

        return {i: row.terms for i, row in self.model.items() if may(row)}

    @invariant()
    def contents_agree(self) -> None:
        if not hasattr(self, "index"):
            return
        assert len(self.index) == self.index.count(principal=UNRESTRICTED) == len(self.model)
        assert set(self.index.ids(principal=UNRESTRICTED).tolist()) == set(self.model)
        who = CALLERS[0]
        assert set(self.index.ids(principal=who).tolist()) == set(self.readable(who))
        assert self.index.stats(principal=UNRESTRICTED)["parts"] <= 6


TestSparseMachine = SparseMachine.TestCase
