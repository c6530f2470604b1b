# SPDX-License-Identifier: Apache-2.0
"""The same with enough rows for a pre-scan: codes of rows that were added, replaced and removed (B22, D1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

import reference
from evidex import AllowMask, DenseIndex
from many_rows import KINDS, LEAST_PERMITTED
from strategies import ISAS, forced_isa

DIM = 32
POOL = 40
kinds = st.sampled_from(["normal", "clustered", "far from the origin", "whole", "near ties"])
seeds = st.integers(0, 2**32 - 1)


class PrescanMachine(RuleBasedStateMachine):
    """Ids 0 to 2,199: about as many rows as a pre-scan needs, a few more or less.

    Seen red: removed rows of every other mask word still permitted.
    """

    @initialize(
        metric=st.sampled_from(reference.METRICS),
        codec=st.sampled_from(reference.CODECS),
        kind=kinds,
        start=st.sampled_from([0, 2000, LEAST_PERMITTED - 1, 2150]),
        seed=seeds,
    )
    def start(self, metric: str, codec: str, kind: str, start: int, seed: int) -> None:
        self.index = DenseIndex(DIM, metric=metric, codec=codec)
        self.kept = np.zeros((2200, DIM), np.float32)
        self.groups = np.zeros(2200, np.int64)
        self.version = np.zeros(2200, np.int64)  # 0 is absent
        self.writes = 0
        self.masks: list[tuple[AllowMask, Any]] = []
        self.write(np.arange(start), kind, seed)

    def write(self, ids: Any, kind: str, seed: int) -> None:
        rng = np.random.default_rng(seed)
        pool = KINDS[kind](rng, POOL, DIM).astype(np.float32)
        pool[~pool.any(axis=1), 0] = 1
        pick, groups = rng.integers(0, POOL, len(ids)), rng.integers(0, 300, len(ids))
        self.index.upsert(ids, pool[pick], groups=groups)
        self.writes += 1
        self.kept[ids] = reference.stored(self.index.metric, self.index.codec, pool)[pick]
        self.groups[ids] = groups
        self.version[ids] = self.writes

    @rule(kind=kinds, seed=seeds, first=st.integers(0, 2199), n=st.sampled_from([1, 50, 400, 2200]))
    def upsert(self, kind: str, seed: int, first: int, n: int) -> None:
        self.write(np.arange(first, min(first + n, 2200)), kind, seed)

    @rule(seed=seeds, n=st.sampled_from([1, 60, 400]))
    def remove(self, seed: int, n: int) -> None:
        alive = np.flatnonzero(self.version)
        gone = np.random.default_rng(seed).permutation(alive)[:n]
        self.index.remove(gone)
        self.version[gone] = 0

    @rule(seed=seeds, n=st.sampled_from([1, 60, 400]))
    def make_mask(self, seed: int, n: int) -> None:
        alive = np.flatnonzero(self.version)
        denied = np.random.default_rng(seed).permutation(alive)[:n]
        allowed = np.setdiff1d(alive, denied)
        versions = np.full(2200, -1)
        versions[allowed] = self.version[allowed]
        self.masks = [*self.masks[-2:], (AllowMask.from_ids(self.index, allowed), versions)]

    @rule(seed=seeds, k=st.sampled_from([1, 5, 60, 129]), group_by=st.booleans(), isa=st.sampled_from(ISAS))
    def search(self, seed: int, k: int, group_by: bool, isa: str) -> None:
        rng = np.random.default_rng(seed)
        queries = (self.kept[rng.integers(0, 2200, 3)] + rng.standard_normal((3, DIM)) * 0.2).astype(np.float32)
        each = [self.masks[i] for i in rng.integers(0, len(self.masks), 3)] if self.masks else []
        for masks in ([], each[:1], each):
            allow: Any = [mask for mask, _ in masks] if len(masks) == 3 else masks[0][0] if masks else None
            with forced_isa(isa):
                hits = self.index.search(queries, k, allow=allow, group_by=group_by)
            for number, query in enumerate(reference.prepared(self.index.metric, queries)):
                permitted = self.version > 0
                if masks:
                    permitted &= masks[number % len(masks)][1] == self.version
                rows = np.flatnonzero(permitted)
                scores = reference.scores(self.index.metric, query, self.kept[rows])
                places = reference.best(rows, scores, k, self.groups[rows] if group_by else None)
                assert hits[number].ids.tolist() == rows[places].tolist()
                assert hits[number].scores.tobytes() == scores[places].tobytes()
                if hits.groups is not None:
                    assert hits.groups[number, : len(places)].tolist() == self.groups[rows[places]].tolist()


TestPrescanMachine = PrescanMachine.TestCase
TestPrescanMachine.settings = settings(stateful_step_count=15)
