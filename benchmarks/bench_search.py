# SPDX-License-Identifier: Apache-2.0
"""Where a search spends its time, on data that needs no download: run with `make bench`.

Each group isolates one question; within a group only the named parameter changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evidex import AllowMask, DenseIndex, Policy, Principal

ROWS, DIM = 50_000, 128


@pytest.fixture(scope="module")
def rows() -> Any:
    return np.random.default_rng(0).standard_normal((ROWS, DIM), dtype=np.float32)


@pytest.fixture(scope="module")
def index(rows: Any) -> DenseIndex:
    made = DenseIndex(DIM, metric="ip")
    made.add(None, rows)
    return made


@pytest.fixture(scope="module")
def queries() -> Any:
    return np.random.default_rng(1).standard_normal((256, DIM), dtype=np.float32)


@pytest.mark.benchmark(group="metric, one query")
@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
def test_metric(benchmark: Any, rows: Any, queries: Any, metric: str) -> None:
    made = DenseIndex(DIM, metric=metric)
    made.add(None, rows)
    benchmark(made.search, queries[0], 10, threads=1)


@pytest.mark.benchmark(group="k, one query")
@pytest.mark.parametrize("k", [1, 10, 100, 1000, 10_000])
def test_k(benchmark: Any, index: DenseIndex, queries: Any, k: int) -> None:
    benchmark(index.search, queries[0], k, threads=1)


@pytest.mark.benchmark(group="batch")
@pytest.mark.parametrize("nq", [1, 16, 256])
def test_batch(benchmark: Any, index: DenseIndex, queries: Any, nq: int) -> None:
    benchmark(index.search, queries[:nq], 10, threads=1)


@pytest.mark.benchmark(group="mask, one query")
@pytest.mark.parametrize("kind", ["random", "run"])
@pytest.mark.parametrize("share", [0.001, 0.01, 0.1, 0.5, 1.0])
def test_mask(benchmark: Any, index: DenseIndex, queries: Any, kind: str, share: float) -> None:
    allow = np.zeros(ROWS, bool)
    chosen = round(ROWS * share)
    allow[np.random.default_rng(2).permutation(ROWS)[:chosen] if kind == "random" else slice(0, chosen)] = True
    benchmark(index.search, queries[0], 10, allow=AllowMask.from_bools(index, allow), threads=1)


@pytest.mark.benchmark(group="call overhead")
def test_smallest_search(benchmark: Any) -> None:
    made = DenseIndex(4, metric="ip")
    made.add(None, np.ones((1, 4), np.float32))
    benchmark(made.search, np.ones(4, np.float32), 1)


@pytest.mark.benchmark(group="grant")
@pytest.mark.parametrize("kept", [True, False], ids=["kept", "compiled"])
def test_grant(benchmark: Any, rows: Any, kept: bool) -> None:
    policy = Policy()
    made = DenseIndex(DIM, metric="ip", policy=policy)
    rules = [policy.rule("acme", {f"g{i}"}) for i in range(200)]
    made.add(None, rows, [rules[i % 200] for i in range(ROWS)])
    callers = [Principal("p", "acme", {f"g{i}", f"g{i + 1}"}) for i in range(1 if kept else 100)]
    turn = iter(range(10**9))
    benchmark(lambda: made.count(principal=callers[next(turn) % len(callers)]))


@pytest.mark.benchmark(group="ingest")
@pytest.mark.parametrize("metric", ["ip", "cosine"])
def test_add(benchmark: Any, rows: Any, metric: str) -> None:
    benchmark.pedantic(lambda: DenseIndex(DIM, metric=metric).add(None, rows), rounds=5, iterations=1)
