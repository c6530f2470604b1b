# SPDX-License-Identifier: Apache-2.0
"""hnswlib under masks: through the adapter, through its own Python filter, and what an exact search takes.

    python benchmarks/hnswlib_adapter.py [--queries 200] [--ef 100] [--kinds random,correlated,anti] [--costs]

116,659 x 384, one thread, single queries, k=10, metric ip; one graph (M=16, ef_construction=200) serves all. The
filter's ef is the adapter's. --costs prints what a candidate of the graph costs in rows of an exact search, which is
what decides between them.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import hnswlib
import numpy as np
from common import Floats, interleaved, machine, paired, wordnet

from evidex import AllowMask, DenseIndex, _core
from evidex.bench import masks
from evidex.integrations import _hnsw_search
from evidex.integrations.hnswlib import HnswIndex

K = 10
SHARES = (1.0, 0.5, 0.1, 0.01, 0.001)


def graph_of(index: DenseIndex, kept: Path | None) -> HnswIndex:
    """Built on two threads, or loaded: building takes a minute."""
    if kept is not None and kept.exists():
        graph = hnswlib.Index(space="ip", dim=index.dim)
        graph.load_index(str(kept), max_elements=len(index))
        return HnswIndex(index, graph)
    made = HnswIndex(index, threads=2)
    if kept is not None:
        made.graph.save_index(str(kept))
    return made


def found(search: Any, queries: Floats) -> list[set[int]]:
    return [set(np.asarray(search(query)).ravel().tolist()) - {-1} for query in queries]


def recall(mine: list[set[int]], exact: list[set[int]]) -> float:
    return float(np.mean([len(a & b) / max(len(b), 1) for a, b in zip(mine, exact, strict=True)]))


def micros(search: Any, queries: Floats) -> float:
    seconds = []
    for query in queries:
        began = time.perf_counter()
        search(query)
        seconds.append(time.perf_counter() - began)
    return float(np.median(seconds)) * 1e6


def costs(index: DenseIndex, graph: HnswIndex, queries: Floats) -> None:
    rng = np.random.default_rng(5)
    print("rows an exact search reads in the time of one more candidate of the graph")
    for permitted in (5_000, 20_000, 50_000, len(index)):
        mask = AllowMask.from_ids(index, rng.permutation(len(index))[:permitted])
        exact = micros(lambda query, mask=mask: index.search(query, K, allow=mask, threads=1), queries)
        for width in (50, 100, 200, 500):
            walked = micros(lambda query, width=width: graph.graph.knn_query(query, k=width, num_threads=1), queries)
            rows = walked / width / (exact / permitted)
            print(f"exact of {permitted:6d}: {exact:7.1f} us, beam of {width:4d}: {walked:7.1f} us, {rows:6.1f} rows")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--filtered", type=int, default=30, help="queries for the Python filter, which is slow")
    parser.add_argument("--ef", type=int, default=100)
    parser.add_argument("--kinds", default="random,correlated,anti")
    parser.add_argument("--graph", type=Path, help="where to keep the graph")
    parser.add_argument("--costs", action="store_true")
    given = parser.parse_args()

    rows, queries = wordnet()
    queries = queries[: given.queries]
    index = DenseIndex(rows.shape[1], metric="ip")
    index.add(np.arange(len(rows)), rows)
    began = time.perf_counter()
    graph = graph_of(index, given.graph)
    print(machine(), f"| isa {_core.active_isa()}, graph ready in {time.perf_counter() - began:.0f} s")
    if given.costs:
        costs(index, graph, queries)
        return
    graph.graph.set_ef(given.ef)
    print(f"ef {given.ef}, a candidate counts as {_hnsw_search._ROWS_PER_CANDIDATE} rows; us are p50")
    print("mask         share   recall  filter's   adapter   exact    filter    filter / adapter   by the graph")
    for kind in given.kinds.split(","):
        for share in SHARES:
            if share == 1.0 and kind != "random":
                continue
            bools = masks.make(kind, share, rows, queries, unit=False, seed=1)
            mask, accepts = AllowMask.from_bools(index, bools), bools.tolist().__getitem__

            def exact(query: Floats, mask: AllowMask = mask) -> Any:
                return index.search(query, K, allow=mask, threads=1).ids

            def adapter(query: Floats, mask: AllowMask = mask) -> Any:
                return graph.search(query, K, ef_search=given.ef, allow=mask, threads=1).ids

            def filtered(query: Floats, accepts: Any = accepts) -> Any:
                try:
                    return graph.graph.knn_query(query, k=K, num_threads=1, filter=accepts)[0].astype(np.int64)
                except RuntimeError:  # it found fewer
                    return np.empty(0, np.int64)

            right, walked = found(exact, queries), graph.search(queries, K, ef_search=given.ef, allow=mask, threads=1)
            seconds = interleaved({"adapter": adapter, "exact": exact, "filter": filtered}, queries[: given.filtered])
            p50 = {name: float(np.median(values)) * 1e6 for name, values in seconds.items()}
            few = queries[: given.filtered]
            near = recall(found(filtered, few), right[: given.filtered])
            print(
                f"{kind:10} {100 * share:6.1f} %  {recall(found(adapter, queries), right):.4f}  {near:.4f}  "
                f"{p50['adapter']:9.1f} {p50['exact']:8.1f} {p50['filter']:10.1f}  "
                f"{paired(seconds['filter'], seconds['adapter']):10.1f}  {np.mean(~walked.certified):12.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
