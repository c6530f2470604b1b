# SPDX-License-Identifier: Apache-2.0
"""DenseIndex as a state machine against a dict (B16, B22, D1, D6), with every codec, groups and masks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

import reference
from evidex import AllowMask, DenseIndex, Hits, InvalidInput, NotFound, StaleMask

DIM = 4
ids = st.integers(0, 12)
seeds = st.integers(0, 2**32 - 1)


class Row(NamedTuple):
    """One version of a row; compared by identity, since equal ones may follow one another."""

    vector: Any
    group: int


Versions = dict[int, Row]


def rows(seed: int, n: int) -> Any:
    values = np.round(np.random.default_rng(seed).standard_normal((n, DIM)) * 2).astype(np.float32)
    values[~values.any(axis=1), 0] = 1
    return values


class IndexMachine(RuleBasedStateMachine):
    """Every failing call must leave the model and the index as they were.

    Seen red: remove() without the id table's erase; upsert that left the replaced row alive; next_id_ taken
    from the number of rows instead of the largest id; the first of two masks used for both of their queries; groups
    not written.
    """

    masks = Bundle("masks")

    @initialize(metric=st.sampled_from(reference.METRICS), codec=st.sampled_from(reference.CODECS))
    def start(self, metric: str, codec: str) -> None:
        self.index = DenseIndex(DIM, metric=metric, codec=codec)
        self.other = DenseIndex(DIM, metric=metric, codec=codec)
        self.model: Versions = {}
        self.next_id = 0

    def keep(self, chosen: list[int], new: Any, groups: Any) -> None:
        of_row = chosen if groups is None else groups.tolist()
        self.model.update(zip(chosen, map(Row, new, of_row), strict=True))
        self.next_id = max([self.next_id, *(i + 1 for i in chosen)])

    @rule(chosen=st.lists(ids, max_size=6), seed=seeds, grouped=st.booleans())
    def add(self, chosen: list[int], seed: int, grouped: bool) -> None:
        new = rows(seed, len(chosen))
        groups = np.arange(len(chosen)) // 2 if grouped else None
        if len(set(chosen)) < len(chosen) or set(chosen) & set(self.model):
            with pytest.raises(InvalidInput):
                self.index.add(chosen, new, groups=groups)
            return
        assert self.index.add(chosen, new, groups=groups).tolist() == chosen
        self.keep(chosen, new, groups)

    @rule(n=st.integers(0, 4), seed=seeds, grouped=st.booleans())
    def add_automatic(self, n: int, seed: int, grouped: bool) -> None:
        new = rows(seed, n)
        groups = np.arange(n) // 2 if grouped else None
        given = self.index.add(None, new, groups=groups).tolist()
        assert given == list(range(self.next_id, self.next_id + n))
        self.keep(given, new, groups)

    @rule(chosen=st.lists(ids, max_size=6), seed=seeds, grouped=st.booleans())
    def upsert(self, chosen: list[int], seed: int, grouped: bool) -> None:
        new = rows(seed, len(chosen))
        groups = np.arange(len(chosen)) // 2 if grouped else None
        if len(set(chosen)) < len(chosen):
            with pytest.raises(InvalidInput):
                self.index.upsert(chosen, new, groups=groups)
            return
        self.index.upsert(chosen, new, groups=groups)
        self.keep(chosen, new, groups)

    @rule(chosen=st.lists(ids, max_size=4))
    def remove(self, chosen: list[int]) -> None:
        if len(set(chosen)) < len(chosen):
            with pytest.raises(InvalidInput):
                self.index.remove(chosen)
        elif set(chosen) - set(self.model):
            with pytest.raises(NotFound):
                self.index.remove(chosen)
        else:
            self.index.remove(chosen)
            for i in chosen:
                del self.model[i]

    @rule(seed=seeds, place=st.integers(0, 5), poison=st.sampled_from(["vector", "group"]))
    def add_poisoned(self, seed: int, place: int, poison: str) -> None:
        new = rows(seed, 6)
        groups = np.arange(6)
        if poison == "vector":
            new[place, place % DIM] = np.nan
        else:
            groups[place] = -1
        with pytest.raises(InvalidInput, match=f"row {place} " if poison == "vector" else f"groups: .* {place}"):
            self.index.upsert(np.arange(6), new, groups=groups)

    @rule(target=masks, chosen=st.sets(ids))
    def make_mask(self, chosen: set[int]) -> Any:
        known = chosen & set(self.model)
        if chosen - known:
            with pytest.raises(InvalidInput):
                AllowMask.from_ids(self.index, list(chosen))
            return multiple()
        versions = {i: self.model[i] for i in known}
        return AllowMask.from_ids(self.index, list(known)), versions

    @rule(mask=masks, seed=seeds, k=st.integers(0, 5), group_by=st.booleans())
    def search_masked(self, mask: tuple[AllowMask, Versions], seed: int, k: int, group_by: bool) -> None:
        """A kept mask permits the rows it was made of while they live, not what was added or upserted since."""
        allow, versions = mask
        query = rows(seed, 1)
        hits = self.index.search(query, k, allow=allow, group_by=group_by)
        self.require(hits, query, [self.alive(versions)], group_by)
        with pytest.raises(StaleMask):
            self.other.search(query, k, allow=allow)

    @rule(first=masks, second=masks, seed=seeds, nq=st.integers(1, 4), k=st.integers(0, 5), group_by=st.booleans())
    def search_with_a_mask_each(
        self,
        first: tuple[AllowMask, Versions],
        second: tuple[AllowMask, Versions],
        seed: int,
        nq: int,
        k: int,
        group_by: bool,
    ) -> None:
        queries = rows(seed, nq)
        each = [first if query % 2 else second for query in range(nq)]
        hits = self.index.search(queries, k, allow=[allow for allow, _ in each], group_by=group_by)
        self.require(hits, queries, [self.alive(versions) for _, versions in each], group_by)
        with pytest.raises(StaleMask):
            self.other.search(queries, k, allow=[allow for allow, _ in each])

    @rule(seed=seeds, k=st.integers(0, 20), group_by=st.booleans())
    def search(self, seed: int, k: int, group_by: bool) -> None:
        query = rows(seed, 1)
        self.require(self.index.search(query, k, group_by=group_by), query, [self.model], group_by)

    def alive(self, versions: Versions) -> Versions:
        return {i: row for i, row in versions.items() if self.model.get(i) is row}

    def require(self, hits: Hits, queries: Any, permitted: list[Versions], group_by: bool) -> None:
        for number, of_query in enumerate(permitted):
            vectors = {i: row.vector for i, row in of_query.items()}
            expected = reference.search(self.index.metric, queries[number], vectors, len(vectors), self.index.codec)
            if group_by:
                first = {of_query[i].group: i for i, _ in reversed(expected)}
                expected = [pair for pair in expected if first[of_query[pair[0]].group] == pair[0]]
                assert hits.groups is not None
                count = int(hits.counts[number])
                assert hits.groups[number, :count].tolist() == [of_query[i].group for i, _ in expected][: hits.k]
            assert list(zip(*(x.tolist() for x in hits[number]), strict=True)) == expected[: hits.k]

    @invariant()
    def contents_agree(self) -> None:
        if not hasattr(self, "index"):
            return
        assert len(self.index) == self.index.count() == len(self.model)
        assert set(self.index.ids().tolist()) == set(self.model)
        if self.model:
            kept = self.index.get(list(self.model))
            vectors = np.stack([row.vector for row in self.model.values()])
            assert kept.tobytes() == reference.stored(self.index.metric, self.index.codec, vectors).tobytes()


TestIndexMachine = IndexMachine.TestCase
