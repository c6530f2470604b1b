# SPDX-License-Identifier: Apache-2.0
"""Are hits the same bits for every instruction set, thread count and batch size? And those of the reference?

    python benchmarks/bits.py

10,000 x 384 random rows, 200 queries, k=10, all metrics. Each instruction set runs in a process of its own,
chosen by EVIDEX_ISA as a user would.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
from common import machine

ROWS, DIM, QUERIES, K = 10_000, 384, 200, 10
METRICS = ("inner_product", "cosine", "squared_l2")


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    return (
        rng.standard_normal((ROWS, DIM), dtype=np.float32),
        rng.standard_normal((QUERIES, DIM), dtype=np.float32),
    )


def digest(ids: np.ndarray, scores: np.ndarray) -> str:
    return hashlib.sha256(ids.astype(np.int64).tobytes() + scores.astype(np.float32).tobytes()).hexdigest()[:16]


def child() -> None:
    from evidex import DenseIndex

    rows, queries = data()
    for metric in METRICS:
        index = DenseIndex(DIM, metric=metric)
        index.add(np.arange(ROWS), rows)
        for threads in (1, 2):
            for batch in (1, 256):
                parts = [index.search(queries[i : i + batch], K, threads=threads) for i in range(0, QUERIES, batch)]
                ids = np.concatenate([p.ids for p in parts])
                scores = np.concatenate([p.scores for p in parts])
                print(metric, threads, batch, digest(ids, scores))


def reference() -> dict[str, str]:
    import reference as ref

    rows, queries = data()
    found = {}
    for metric in METRICS:
        stored, asked = ref.prepared(metric, rows), ref.prepared(metric, queries)
        ids, scores = np.empty((QUERIES, K), np.int64), np.empty((QUERIES, K), np.float32)
        for i, query in enumerate(asked):
            values = ref.scores(metric, query, stored)
            ids[i] = np.lexsort((np.arange(ROWS), -values))[:K]
            scores[i] = values[ids[i]]
        found[metric] = digest(ids, scores)
    return found


def main() -> None:
    if sys.argv[1:] == ["--child"]:
        return child()
    from evidex import _core

    print(machine())
    expected = reference()
    isas = [isa["name"] for isa in _core.isas() if isa["supported"]]
    wrong = 0
    for isa in isas:
        out = subprocess.run(
            [sys.executable, __file__, "--child"],
            env={**os.environ, "EVIDEX_ISA": isa},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for line in out.splitlines():
            metric, threads, batch, got = line.split()
            same = got == expected[metric]
            wrong += not same
            print(f"{isa:7} {metric:14} threads {threads} batch {batch:>3}  {got}  {'equal' if same else 'DIFFERENT'}")
    print(f"{wrong} of {len(isas) * len(METRICS) * 4} configurations differ from the canonical reference")
    raise SystemExit(wrong > 0)


if __name__ == "__main__":
    main()
