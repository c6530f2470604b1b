# SPDX-License-Identifier: Apache-2.0
"""The lines of benchmarks/table.py: who is compared with whom, what must come out and what is hoped for."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import adversarial
import numpy as np
from common import digest, interleaved
from judging import EVIDEX, ONE_THREAD, PLAIN, Bench, Row, costs, faster, judged, percent, skipped, within, without

from evidex import AllowMask, DenseIndex
from evidex.bench import datasets, measure, probe
from evidex.bench.child import Child

K = 10
SHARES = (0.5, 0.1, 0.02, 0.001)
UNRESTRICTED, SCANN = "systems:Unrestricted", "systems:Scann"
FEW = 16  # queries where only memory counts
LARGE_QUERIES = 200
COMPARED = 100  # queries answered with and without an all-ones mask


def single(bench: Bench) -> Iterator[Row]:
    (group,) = bench.run("1", ["faiss", PLAIN])
    yield faster("1", "single query, k=10, certified, against faiss flat", group, "faiss", 4, 10)
    yield faster("1", "the same against evidex without codes", group, PLAIN, None, None)


def larger_k(bench: Bench) -> Iterator[Row]:
    for k, must, goal in ((100, 3, 7), (1000, 2, 4)):
        (group,) = bench.run("2", ["faiss"], k=k)
        yield faster("2", f"single query, k={k}, against faiss flat", group, "faiss", must, goal)


def against_scann(bench: Bench) -> Iterator[Row]:
    (group,) = bench.run("3", [SCANN])
    what = "single query, k=10, against scann's flat AH and reorder 50, uncertified"
    if missing := without("3", what, group, EVIDEX, SCANN):
        yield missing
        return
    record = group[SCANN]
    assert record.answers is not None and record.ratio is not None
    yield costs("3", f"{what}, recall {record.answers.recall:.4f}", record.ratio, None, 1.5)


def batches(bench: Bench) -> Iterator[Row]:
    for batch, peers in ((256, ["numpy"]), (1024, ["numpy", "faiss"])):
        (group,) = bench.run("4", peers, batch=batch)
        yield faster("4", f"batch of {batch}, k=10, against numpy", group, "numpy", 2, 4)
        if "faiss" in peers:
            yield faster("4", f"batch of {batch}, k=10, against faiss flat", group, "faiss", 1.2, 3)


def random_masks(bench: Bench) -> Iterator[Row]:
    groups = bench.run("5", ["faiss", "numpy"], masks=[("random", share) for share in SHARES])
    for share, group in zip(SHARES, groups, strict=True):
        what = f"random mask of {share:.3g}"
        yield faster("5", f"{what} against faiss with IDSelectorBitmap", group, "faiss", 3, 8)
        yield within("5", f"{what} against numpy on gathered rows", group, "numpy", (1.1, 25), (1, 0))


def runs(bench: Bench) -> Iterator[Row]:
    groups = bench.run("6", [UNRESTRICTED], masks=[("run", share) for share in SHARES])
    for share, group in zip(SHARES, groups, strict=True):
        setting = group[EVIDEX].setting
        part = setting.permitted / len(bench.data.vectors)
        what = f"contiguous mask of {share:.3g} against no mask"
        yield within("6", what, group, UNRESTRICTED, (1.5 * part, 60), (1.2 * part, 25))


def all_ones(bench: Bench) -> Iterator[Row]:
    """In one process, call by call: two processes differ by more than the limit where their pages happen to lie."""
    bench.progress(1, 1, "searching with and without an all-ones mask")
    vectors, queries = bench.data.vectors, bench.data.queries
    index = DenseIndex(vectors.shape[1], metric=bench.metric)
    index.add(np.arange(len(vectors)), vectors)
    mask = AllowMask.from_bools(index, np.ones(len(vectors), np.bool_))
    seconds = interleaved(
        {
            "mask": lambda query: index.search(query, K, allow=mask, threads=1),
            "none": lambda query: index.search(query, K, threads=1),
        },
        queries,
    )
    differ = sum(
        not np.array_equal(index.search(query, K, allow=mask, threads=1).ids, index.search(query, K, threads=1).ids)
        for query in queries[:COMPARED]
    )
    if differ:
        bench.wrong.append(f"line 7: ids differ under an all-ones mask for {differ} of the first {COMPARED} queries")
    masked, free = (np.array_split(seconds[name], min(bench.rounds, len(queries))) for name in ("mask", "none"))
    ratio = measure.paired_ratio("mask", masked, free, bench.seed)
    yield costs("7", "all-ones mask against no mask", ratio, 1.03, None)


def hard(bench: Bench) -> Iterator[Row]:
    (n, dim), queries = bench.data.vectors.shape, len(bench.data.queries)
    for name, make in adversarial.KINDS.items():
        (group,) = bench.run("8", [PLAIN], make(n, dim, queries, bench.seed))
        what = f"{name}, against evidex without codes"
        if missing := without("8", what, group, EVIDEX, PLAIN):
            yield missing
        elif ratio := group[PLAIN].ratio:
            yield costs("8", what, ratio, 1.35, 1.1)


def threads(bench: Bench) -> Iterator[Row]:
    n, dim = bench.large
    what = f"2 threads against 1, single query, {n} x {dim} synthetic"
    if len(os.sched_getaffinity(0)) < 2:
        yield skipped("9", what, "this process may use one core only")
        return
    one, two = _bandwidths(bench)
    (group,) = bench.run("9", [ONE_THREAD], datasets.synthetic(n, dim, None, LARGE_QUERIES, bench.seed), threads=2)
    gain = two / one
    because = f"0.9 x min(2, {two:.1f} / {one:.1f} GB/s)"
    yield faster("9", what, group, ONE_THREAD, 0.9 * min(2.0, gain), None, because)


def _bandwidths(bench: Bench) -> tuple[float, float]:
    """GB/s read by 1 and by 2 threads: medians of probes in turns."""
    bench.progress(1, 1, "measuring what 1 and 2 threads read")
    with tempfile.TemporaryDirectory(prefix="evidex-table-") as folder, ExitStack() as stack:
        children = [Child(Path(folder), f"probe{count}", count, bench.timeout) for count in (1, 2)]
        for child in children:
            stack.callback(child.close)
        found = [
            [
                child.ask("probe", threads=count, bytes=probe.BYTES)["read_gb_s"]
                for count, child in enumerate(children, 1)
            ]
            for _ in range(bench.rounds)
        ]
    one, two = np.median(found, axis=0)
    return float(one), float(two)


def memory(bench: Bench) -> Iterator[Row]:
    vectors, queries = bench.data.vectors, bench.data.queries[:FEW]
    facts = replace(bench.data.facts, queries=len(queries), digest=digest(vectors, queries))
    (group,) = bench.run("10", [PLAIN], replace(bench.data, queries=queries, facts=facts), rounds=1)
    what = "memory added by the codes, share of the float32 rows"
    if missing := without("10", what, group, EVIDEX, PLAIN):
        yield missing
        return
    grown = []
    for given in (EVIDEX, PLAIN):
        built = group[given].build
        if built is None or built.rss_searched_bytes is None or built.rss_before_bytes is None:
            yield skipped("10", what, "no resident memory to read on this system")
            return
        grown.append(built.rss_searched_bytes - built.rss_before_bytes)
    rss = f"resident after build and first searches: {grown[0] / 1e6:.1f} and {grown[1] / 1e6:.1f} MB"
    share = (grown[0] - grown[1]) / vectors.nbytes
    yield judged("10", f"{what}; {rss}", share, must=0.3, goal=0.27, form=percent)
    dim = vectors.shape[1]
    # Two planes of half-bytes, each rounded up to 16, and two facts of 8: cpp/codecs/int8.hpp, cpp/index/chunks.hpp.
    computed = (2 * 16 * -(-dim // 32) + 2 * 8) / (4 * dim)
    yield judged("10", f"{what}; computed from the layout", computed, must=0.3, goal=0.27, form=percent)


def ingest(bench: Bench) -> Iterator[Row]:
    """Fresh indexes in each round, in turns; the first round is not counted, since faiss trains in it."""
    vectors, seconds = bench.data.vectors, ([], [])
    with tempfile.TemporaryDirectory(prefix="evidex-table-") as folder, ExitStack() as stack:
        path = Path(folder) / "vectors.npy"
        np.save(path, vectors)
        children = [Child(Path(folder), f"ingest{number}", 1, bench.timeout) for number in range(2)]
        for child, peer in zip(children, ("systems:Ingest", "systems:FlatAndSq8"), strict=True):
            stack.callback(child.close)
            child.ask("load", peer=peer, threads=1)
        for turn in range(bench.rounds + 1):
            bench.progress(turn + 1, bench.rounds + 1, f"encoding and adding {len(vectors)} rows")
            for place in (turn % 2, 1 - turn % 2):
                children[place].ask("prepare", allow=None)
                took = children[place].ask("build", vectors=str(path), metric=bench.metric)["seconds"]
                if turn:
                    seconds[place].append([took])
    ratio = measure.paired_ratio(EVIDEX, *seconds, bench.seed)
    medians = [float(np.median(values)) for values in seconds]
    what = f"encode and add ({medians[0]:.3f} s) against faiss flat and SQ8 ({medians[1]:.3f} s), training not timed"
    yield costs("11", what, ratio, 1.5, 1)


LINES: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "1": single,
    "2": larger_k,
    "3": against_scann,
    "4": batches,
    "5": random_masks,
    "6": runs,
    "7": all_ones,
    "8": hard,
    "9": threads,
    "10": memory,
    "11": ingest,
}
