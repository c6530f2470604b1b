# SPDX-License-Identifier: Apache-2.0
"""Single exact queries on real vectors against faiss.IndexFlatIP, interleaved, and against the canonical reference.

    python benchmarks/exact.py [--queries 1000] [--checked 200]

116,659 x 384, one thread, k=10, metric ip.
"""

from __future__ import annotations

import argparse

import faiss
import numpy as np
from common import interleaved, machine, paired, wordnet

K = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1000, help="timed")
    parser.add_argument("--checked", type=int, default=200, help="compared with the reference, about a second each")
    given = parser.parse_args()

    import reference
    from evidex import DenseIndex, _core

    faiss.omp_set_num_threads(1)
    rows, queries = wordnet()
    queries = queries[: given.queries]
    index = DenseIndex(rows.shape[1], metric="ip")
    index.add(np.arange(len(rows)), rows)
    flat = faiss.IndexFlatIP(rows.shape[1])
    flat.add(rows)

    print(machine(), f"| isa {_core.active_isa()}, faiss {faiss.__version__}")
    seconds = interleaved(
        {
            "evidex": lambda q: index.search(q, K, threads=1),
            "faiss": lambda q: flat.search(q[None], K),
        },
        queries,
    )
    for name, values in seconds.items():
        p50, p95 = np.percentile(values, [50, 95]) * 1e3
        print(f"{name:7} p50 {p50:.2f} ms  p95 {p95:.2f} ms  {rows.nbytes / p50 / 1e6:.1f} GB/s")
    print(f"paired median ratio evidex / faiss {paired(seconds['evidex'], seconds['faiss']):.3f}")

    bits = differ = beyond = 0
    wide = rows.astype(np.float64)
    for query in queries[: given.checked]:
        ids, scores = index.search(query, K, threads=1)[0]
        canonical = reference.scores("inner_product", query, rows)
        order = np.lexsort((np.arange(len(rows)), -canonical))[:K]
        bits += not (np.array_equal(ids, order) and scores.tobytes() == canonical[order].tobytes())
        theirs = flat.search(query[None], K)[1][0]
        exact = wide[np.concatenate([ids, theirs])] @ query.astype(np.float64)
        places = ids != theirs
        differ += int(places.sum())
        beyond += int((np.abs(exact[:K] - exact[K:])[places] >= 1e-6).sum())
    print(f"{given.checked} queries: {bits} differ from the canonical reference in ids or score bits")
    print(f"places whose id differs from faiss: {differ}, of which float64 scores differ by 1e-6 or more: {beyond}")


if __name__ == "__main__":
    main()
