# SPDX-License-Identifier: Apache-2.0
"""What 4-bit codes cost to make, what a word of them costs to read, and a search for leaks through them.

    python benchmarks/codes.py [--only train,batch,leaks] [--draws 1000000] [--rounds 3]

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
    parser.add_argument("--only", default="train,batch,leaks")
    parser.add_argument("--draws", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print(machine())
    parts = given.only.split(",")
    if {"train", "batch"} & set(parts):
        rows, queries = wordnet()
    if "train" in parts:
        train(rows, given.rounds)
    if "batch" in parts:
        batch(rows, queries, given.rounds)
    if "leaks" in parts:
        leaks(given.draws)


if __name__ == "__main__":
    main()
