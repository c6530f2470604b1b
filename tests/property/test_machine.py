# SPDX-License-Identifier: Apache-2.0
"""DenseIndex as a state machine against a dict (B16, B22, D1, D6)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

import reference
from evidex import AllowMask, DenseIndex, InvalidInput, NotFound, StaleMask

DIM = 4
ids = st.integers(0, 12)


def rows(seed: int, n: int) -> Any:
    values = np.round(np.random.default_rng(seed).standard_normal((n, DIM)) * 2).astype(np.float32)
    values[~values.any(axis=1), 0] = 1
    return values


class IndexMachine(RuleBasedStateMachine):
    """Every failing call must leave the model and the index as they were.

    Seen red: remove() without the id table's erase; upsert that left the replaced row alive; next_id_ taken
    from the number of rows instead of the largest id.
    """

    masks = Bundle("masks")

    @initialize(metric=st.sampled_from(reference.METRICS))
    def start(self, metric: str) -> None:
        self.index = DenseIndex(DIM, metric=metric)
        self.other = DenseIndex(DIM, metric=metric)
        self.model: dict[int, Any] = {}
        self.next_id = 0

    @rule(chosen=st.lists(ids, max_size=6), seed=st.integers(0, 2**32 - 1))
    def add(self, chosen: list[int], seed: int) -> None:
        new = rows(seed, len(chosen))
        if len(set(chosen)) < len(chosen) or set(chosen) & set(self.model):
            with pytest.raises(InvalidInput):
                self.index.add(chosen, new)
            return
        assert self.index.add(chosen, new).tolist() == chosen
        self.model.update(zip(chosen, new, strict=True))
        self.next_id = max([self.next_id, *(i + 1 for i in chosen)])

    @rule(n=st.integers(0, 4), seed=st.integers(0, 2**32 - 1))
    def add_automatic(self, n: int, seed: int) -> None:
        new = rows(seed, n)
        given = self.index.add(None, new).tolist()
        assert given == list(range(self.next_id, self.next_id + n))
        self.model.update(zip(given, new, strict=True))
        self.next_id += n

    @rule(chosen=st.lists(ids, max_size=6), seed=st.integers(0, 2**32 - 1))
    def upsert(self, chosen: list[int], seed: int) -> None:
        new = rows(seed, len(chosen))
        if len(set(chosen)) < len(chosen):
            with pytest.raises(InvalidInput):
                self.index.upsert(chosen, new)
            return
        self.index.upsert(chosen, new)
        self.model.update(zip(chosen, new, strict=True))
        self.next_id = max([self.next_id, *(i + 1 for i in chosen)])

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

    @rule(seed=st.integers(0, 2**32 - 1), place=st.integers(0, 5))
    def add_poisoned(self, seed: int, place: int) -> None:
        new = rows(seed, 6)
        new[place, place % DIM] = np.nan
        with pytest.raises(InvalidInput, match=f"row {place} "):
            self.index.upsert(np.arange(6), new)

    @rule(target=masks, chosen=st.sets(ids))
    def make_mask(self, chosen: set[int]) -> Any:
        known = chosen & set(self.model)
        if chosen - known:
            with pytest.raises(InvalidInput):
                AllowMask.from_ids(self.index, list(chosen))
            return multiple()
        versions = {i: self.model[i] for i in known}
        return AllowMask.from_ids(self.index, list(known)), versions

    @rule(mask=masks, seed=st.integers(0, 2**32 - 1), k=st.integers(0, 5))
    def search_masked(self, mask: tuple[AllowMask, dict[int, Any]], seed: int, k: int) -> None:
        """A kept mask permits the rows it was made of while they live, not what was added or upserted since."""
        allow, versions = mask
        query = rows(seed, 1)[0]
        alive = {i: row for i, row in versions.items() if self.model.get(i) is row}
        ids_, scores = self.index.search(query, k, allow=allow)[0]
        expected = reference.search(self.index.metric, query, alive, k)
        assert list(zip(ids_.tolist(), scores.tolist(), strict=True)) == expected
        with pytest.raises(StaleMask):
            self.other.search(query, k, allow=allow)

    @rule(seed=st.integers(0, 2**32 - 1), k=st.integers(0, 20))
    def search(self, seed: int, k: int) -> None:
        query = rows(seed, 1)[0]
        ids_, scores = self.index.search(query, k)[0]
        expected = reference.search(self.index.metric, query, self.model, k)
        assert list(zip(ids_.tolist(), scores.tolist(), strict=True)) == expected

    @invariant()
    def contents_agree(self) -> None:
        if not hasattr(self, "index"):
            return
        assert len(self.index) == self.index.count() == len(self.model)
        assert set(self.index.ids().tolist()) == set(self.model)
        if self.model:
            stored = self.index.get(list(self.model))
            expected = reference.prepared(self.index.metric, np.stack(list(self.model.values())))
            assert stored.tobytes() == expected.tobytes()


TestIndexMachine = IndexMachine.TestCase
