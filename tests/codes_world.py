# SPDX-License-Identifier: Apache-2.0
"""Random guarded indexes with codes, and searches of them by random callers under random masks and options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import reference
from evidex import UNRESTRICTED, AllowMask, DenseIndex, Policy, Principal
from many_rows import Rng

KINDS = ("binary", "pq4")
RULES = (("acme", ("a",), ()), ("acme", ("b",), ("a",)), ("z", ("a",), ()))


@dataclass
class Tally:
    draws: int = 0
    led: int = 0  # by a denied row, if nothing were denied
    coded: int = 0
    leaks: list[str] = field(default_factory=list)


class World:
    """A guarded index of two rules in two tenants with codes of both kinds, some rows removed, some given again."""

    def __init__(self, seed: int) -> None:
        self.rng: Rng = np.random.default_rng(seed)
        rng = self.rng
        self.dim = int(rng.choice([3, 16, 40, 64]))
        n = int(rng.integers(300, 1500))
        metric, codec = str(rng.choice(reference.METRICS)), str(rng.choice(reference.CODECS))
        centres = rng.standard_normal((12, self.dim))
        self.rows = (centres[rng.integers(0, 12, n)] + 0.5 * rng.standard_normal((n, self.dim))).astype(np.float32)
        if rng.random() < 0.3:
            self.rows = (np.round(self.rows * 2) / 2 + 0.25).astype(np.float32)
        policy = Policy()
        self.rules = [policy.rule(*parts) for parts in RULES]
        self.rule_of = rng.integers(0, 3, n)
        self.index = DenseIndex(self.dim, metric=metric, codec=codec, policy=policy)
        self.index.add(np.arange(n), self.rows, [self.rules[i] for i in self.rule_of])
        for kind in KINDS:
            self.index.train(kind, seed=seed)
        self.live = np.full(n, True)
        gone = rng.choice(n, n // 8, replace=False)
        self.index.remove(gone)
        self.live[gone] = False
        again = rng.choice(np.flatnonzero(self.live), n // 8, replace=False)
        self.rows[again] = self.rows[again][::-1]
        self.index.upsert(again, self.rows[again], [self.rules[i] for i in self.rule_of[again]])
        if rng.random() < 0.5:
            self.index.optimize()

    def draw(self, tally: Tally) -> None:
        """One batch of queries of one caller under one mask with random options."""
        rng, index = self.rng, self.index
        groups = {str(g) for g in ("a", "b") if rng.random() < 0.6}
        tenant = str(rng.choice(["acme", "z"]))
        caller = Principal("p", tenant, groups)
        readable = self.live & np.array([reference.may_read(rule, tenant, groups) for rule in RULES])[self.rule_of]
        chosen = np.flatnonzero(readable & (rng.random(len(readable)) < rng.choice([0.003, 0.05, 0.5, 1.0])))
        allow = None
        if rng.random() < 0.7:
            allow = AllowMask.from_ids(index, rng.permutation(np.concatenate([chosen, np.flatnonzero(~readable)[:50]])))
            readable = readable & np.isin(np.arange(len(readable)), chosen)
        k = int(rng.integers(1, 25))
        queries = self.rows[rng.integers(0, len(self.rows), 4)] + np.float32(0.1) * rng.standard_normal(
            (4, self.dim)
        ).astype(np.float32)
        options: dict[str, Any] = {"recall": float(rng.choice([0.2, 0.9, 0.99]))}
        if rng.random() < 0.3:
            options["rescore"] = int(rng.integers(1, 60))
        if rng.random() < 0.6:
            options = {"plan": f"{rng.choice(KINDS)} codes, {int(rng.integers(1, 60))} rescored"}
        found = index.search(queries, k, principal=caller, allow=allow, threads=int(rng.integers(1, 3)), **options)
        exact = index.search(queries, k, principal=caller, allow=allow)
        first = index.search(queries, 1, principal=UNRESTRICTED)
        permitted = int(readable.sum())
        for query in range(4):
            tally.draws += 1
            tally.coded += not found.certified[query]
            tally.led += not readable[first.ids[query, 0]]
            self.judge(found, exact, query, k, permitted, readable, tally, f"{options}, k={k}, {permitted} permitted")

    def judge(
        self, found: Any, exact: Any, query: int, k: int, permitted: int, readable: Any, tally: Tally, how: str
    ) -> None:
        ids, scores = found[query]
        if len(ids) != min(k, permitted):
            tally.leaks.append(f"{len(ids)} found: {how}")
        if not readable[ids].all() or len(set(ids.tolist())) < len(ids):
            tally.leaks.append(f"a denied row, or one twice: {how}")
        order = sorted(zip((-scores).tolist(), ids.tolist(), strict=True))
        if [i for _, i in order] != ids.tolist():
            tally.leaks.append(f"out of order: {how}")
        right = dict(zip(*(part.tolist() for part in exact[query]), strict=True))
        if any(score != right[i] for i, score in zip(ids.tolist(), scores.tolist(), strict=True) if i in right):
            tally.leaks.append(f"another score: {how}")
