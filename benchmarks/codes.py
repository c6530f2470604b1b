# SPDX-License-Identifier: Apache-2.0
"""What 4-bit codes cost to make, what a word of them costs to read, what their tables lose, and a search for leaks.

    python benchmarks/codes.py [--only train,batch,tables,leaks] [--draws 1000000] [--rounds 3]

How much they find and how quickly, beside other libraries: evidex bench ann.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np
from common import Floats, machine, wordnet

from codes_world import Tally, World
from evidex import DenseIndex

WORLD_DRAWS = 250  # batches of four queries


def seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def train(rows: Floats, rounds: int) -> None:
    """Learning, coding all rows and measuring, beside faiss's PQ96x4fs: train and add; one thread each."""
    import faiss

    faiss.omp_set_num_threads(1)
    took: dict[str, list[float]] = {"binary": [], "pq4": [], "faiss PQ96x4fs": []}
    for _ in range(rounds):
        for kind in ("binary", "pq4"):
            index = DenseIndex(rows.shape[1], metric="ip")
            index.add(None, rows)
            took[kind].append(seconds(lambda kind=kind, index=index: index.train(kind)))  # type: ignore[misc]
        other = faiss.index_factory(rows.shape[1], "PQ96x4fs", faiss.METRIC_INNER_PRODUCT)
        took["faiss PQ96x4fs"].append(seconds(lambda other=other: (other.train(rows), other.add(rows))))  # type: ignore[misc]
    base = float(np.median(took["faiss PQ96x4fs"]))
    for name, all_of in took.items():
        print(f"{name}: {np.median(all_of):.2f} s, {np.median(all_of) / base:.2f} of faiss", flush=True)


def batch(rows: Floats, queries: Floats, rounds: int) -> None:
    """A query of a batch of 1,000 and alone, by plan."""
    index = DenseIndex(rows.shape[1], metric="ip")
    index.add(None, rows)
    index.train("binary")
    for plan in ("exact", "binary codes, 40 rescored", "binary codes, 150 rescored"):
        together = [
            seconds(lambda plan=plan: index.search(queries, 10, plan=plan, threads=1))
            for _ in range(rounds)  # type: ignore[misc]
        ]
        alone = [
            seconds(lambda q=q, plan=plan: index.search(q, 10, plan=plan, threads=1))
            for q in queries[:300]  # type: ignore[misc]
        ]
        per_query = np.median(together) / len(queries)
        print(f"{plan}: {np.median(alone) * 1e6:.0f} us alone, {per_query * 1e6:.0f} us in a batch", flush=True)


def tables(rows: Floats, queries: Floats) -> None:
    """Share of the ten nearest among so many by estimate: tables of 5 bits, as searches use them, and of float32."""
    index = DenseIndex(rows.shape[1], metric="ip")
    index.add(None, rows)
    index.train("pq4")
    snapshot, core = index._store.snapshot(), index._codes["pq4"].core
    blocks, facts = core.gather(np.arange(core.rows, dtype=np.int64))
    codes = np.concatenate([blocks & 15, blocks >> 4], axis=2).transpose(1, 0, 2).reshape(core.positions, -1)
    factors = (facts.ravel() & np.uint32(0xFFFF0000)).view(np.float32)
    centroids = core.model[1].reshape(core.positions, 4, 16)
    exact = index.search(queries, 10, plan="exact", threads=1).ids  # the first ids are the rows' numbers
    counts = (10, 20, 40, 100, 150, 300)
    found = {"5 bits": np.zeros(len(counts)), "float32": np.zeros(len(counts))}
    coarse = core.best_by_estimate(snapshot, queries, max(counts), snapshot.live())
    for query, near in enumerate(exact):
        entries = np.einsum("pi,pie->pe", queries[query].reshape(core.positions, 4), centroids)
        sums = np.zeros(core.rows, dtype=np.float32)
        for position in range(core.positions):
            sums += entries[position][codes[position]]
        fine = np.argsort(-factors * sums, kind="stable")[: max(counts)]
        for name, order in (("5 bits", coarse[query]), ("float32", fine)):
            found[name] += [np.isin(near, order[:count]).mean() for count in counts]
    print(f"pq4, {len(queries)} queries, share of the 10 nearest among {counts} by estimate")
    for name, shares in found.items():
        print(f"tables of {name}: {', '.join(f'{share:.4f}' for share in shares / len(queries))}", flush=True)


def leaks(draws: int) -> None:
    tally, seed = Tally(), 0
    while tally.draws < draws and not tally.leaks:
        world = World(1_000_000 + seed)
        for _ in range(WORLD_DRAWS):
            world.draw(tally)
        seed += 1
        if seed % 100 == 0:
            print(f"{tally.draws} of {draws} draws", file=sys.stderr, flush=True)
    print(
        f"{tally.draws} draws (mask, query, options) in {seed} worlds, {tally.led / tally.draws:.0%} led by a denied "
        f"row, {tally.coded / tally.draws:.0%} by codes: {len(tally.leaks)} leaks {tally.leaks[:3] or ''}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="train,batch,tables,leaks")
    parser.add_argument("--draws", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print(machine())
    parts = given.only.split(",")
    if {"train", "batch", "tables"} & set(parts):
        rows, queries = wordnet()
    if "train" in parts:
        train(rows, given.rounds)
    if "batch" in parts:
        batch(rows, queries, given.rounds)
    if "tables" in parts:
        tables(rows, queries[:300])
    if "leaks" in parts:
        leaks(given.draws)


if __name__ == "__main__":
    main()
