# SPDX-License-Identifier: Apache-2.0
"""Masked exact queries against faiss with IDSelectorBitmap and against numpy on rows gathered beforehand.

    python benchmarks/masks.py [--share 0.01] [--queries 300]

116,659 x 384, one thread, k=10, metric ip, one mask for all queries: prepared once, and converted from
bool[n] in every call.
"""

from __future__ import annotations

import argparse

import faiss
import numpy as np
from common import interleaved, machine, paired, wordnet

K = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=0.01)
    parser.add_argument("--queries", type=int, default=300)
    given = parser.parse_args()

    from evidex import AllowMask, DenseIndex, _core

    faiss.omp_set_num_threads(1)
    rows, queries = wordnet()
    queries = queries[: given.queries]
    n = len(rows)
    index = DenseIndex(rows.shape[1], metric="ip")
    index.add(np.arange(n), rows)
    flat = faiss.IndexFlatIP(rows.shape[1])
    flat.add(rows)
    print(machine(), f"| isa {_core.active_isa()}, faiss {faiss.__version__}")

    permitted = round(n * given.share)
    random = np.zeros(n, bool)
    random[np.random.default_rng(1).permutation(n)[:permitted]] = True
    run = np.zeros(n, bool)
    run[n // 3 : n // 3 + permitted] = True
    for kind, allow in (("random", random), ("contiguous", run)):
        mask = AllowMask.from_bools(index, allow)
        packed = np.packbits(allow, bitorder="little")
        parameters = faiss.SearchParameters(sel=faiss.IDSelectorBitmap(packed))
        gathered, ids = np.ascontiguousarray(rows[allow]), np.flatnonzero(allow)

        def by_numpy(query: np.ndarray, gathered: np.ndarray = gathered, ids: np.ndarray = ids) -> np.ndarray:
            scores = gathered @ query
            best = np.argpartition(scores, len(scores) - K)[-K:]
            return ids[best[np.argsort(-scores[best])]]

        seconds = interleaved(
            {
                "evidex": lambda q, mask=mask: index.search(q, K, allow=mask, threads=1),
                "evidex from bool": lambda q, allow=allow: index.search(q, K, allow=allow, threads=1),
                "faiss selector": lambda q, parameters=parameters: flat.search(q[None], K, params=parameters),
                "numpy gathered": by_numpy,
            },
            queries,
        )
        for query in queries[:50]:
            assert index.search(query, K, allow=mask).ids[0].tolist() == by_numpy(query).tolist()
        print(f"\n{kind} mask, {permitted} of {n} rows permitted")
        micros = {name: float(np.median(values)) * 1e6 for name, values in seconds.items()}
        limit = 1.2 * micros["numpy gathered"] + 25
        for name, value in micros.items():
            line = f"{name:17} p50 {value:7.1f} us"
            if name.startswith("evidex"):
                ratio = paired(seconds["faiss selector"], seconds[name])
                line += f"  faiss / evidex {ratio:.2f}  limit 1.2 x numpy + 25 us = {limit:.1f} us"
            print(line)


if __name__ == "__main__":
    main()
