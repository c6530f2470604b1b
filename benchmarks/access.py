# SPDX-License-Identifier: Apache-2.0
"""What access rights cost, on made-up rules and on real permission matrices, and a search for leaks.

    python benchmarks/access.py [--rows 1000000] [--dim 64] [--draws 1000000] [--only grants,matrices,memory,leaks]

One thread. Matrices: the role-mining sets of HP Labs (Ene et al., SACMAT 2008), a permission being a group that may
read the rows under it.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from typing import Any
from unittest import mock

import numpy as np
from common import data_folder, machine, paired

import reference
from evidex import ANY_IN_TENANT, UNRESTRICTED, DenseIndex, Policy, Principal
from evidex.bench import datasets
from evidex.masks import Guard
from leaks import LEAKS, planted

TURNS = 15
AT_ONCE = 2  # draws that share a call, and so the caller and the rights of the moment


def milliseconds(call: Callable[[], object], turns: int = TURNS) -> float:
    """Median over turns."""
    took = []
    for _ in range(turns):
        began = time.perf_counter()
        call()
        took.append(time.perf_counter() - began)
    return float(np.median(took)) * 1e3


def cold(index: DenseIndex, caller: Principal) -> float:
    """A grant that is not kept, count of its rows included."""

    def once() -> None:
        index._guard._masks.clear()
        index.count(principal=caller)

    return milliseconds(once)


def kept(index: DenseIndex, caller: Principal) -> float:
    """Microseconds for a grant that is kept."""
    snapshot = index._store.snapshot()
    return milliseconds(lambda: [index._guard.visible(snapshot, caller) for _ in range(1000)])


def searching(index: DenseIndex, query: Any, caller: Any) -> float:
    return milliseconds(lambda: index.search(query, 10, principal=caller, threads=1))


def grants(rows: int, dim: int) -> None:
    rng = np.random.default_rng(0)
    policy, groups = Policy(), [f"group {i}" for i in range(5000)]
    sizes = 1 / np.arange(1, 51)
    tenants = rng.choice(50, 2000, p=sizes / sizes.sum())
    rules = [
        policy.rule(f"tenant {t}", {groups[g] for g in rng.integers(0, 5000, 3)}, {groups[rng.integers(5000)]})
        for t in tenants
    ]
    data = datasets.synthetic(rows, dim, None, TURNS, 0)
    index = DenseIndex(dim, metric="ip", policy=policy)
    index.add(np.arange(rows), data.vectors, [rules[i] for i in rng.integers(0, len(rules), rows)])
    caller = Principal("p", "tenant 0", {groups[g] for g in rng.integers(0, 5000, 50)})
    reads = index.count(principal=caller)
    print(f"{rows} rows, {len(policy)} rules, 5000 groups, a principal with 50 of them reads {reads} rows")
    for when in ("before", "after"):
        took = searching(index, data.queries[0], UNRESTRICTED)
        print(
            f"{when} optimize: grant {cold(index, caller):.2f} ms, kept {kept(index, caller):.2f} us, "
            f"an exact search {took:.2f} ms"
        )
        index.optimize()


def matrices(rows: int, dim: int) -> None:
    for name in ("americas_large", "healthcare", "customer"):
        given = np.load(data_folder("acl") / f"{name}.npz")
        users, user = np.unique(given["user"], return_inverse=True)
        names, permission = np.unique(given["perm"], return_inverse=True)
        counts = np.bincount(user, minlength=len(users))
        by_count = np.argsort(counts, kind="stable")
        for placed in ("random", "correlated"):
            data = datasets.synthetic(rows, dim, None, TURNS, 1)
            rng = np.random.default_rng(2)
            of_row = rng.integers(0, len(names), rows)
            if placed == "correlated":  # rows in the order of one direction, permissions as runs of it
                direction = data.vectors @ rng.standard_normal(dim).astype(np.float32)
                of_row = np.sort(of_row)[np.argsort(np.argsort(direction))]
            policy = Policy()
            rules = [policy.rule("t", {f"permission {p}"}) for p in range(len(names))]
            index = DenseIndex(dim, metric="ip", policy=policy)
            index.add(np.arange(rows), data.vectors, [rules[p] for p in of_row])
            reads = np.bincount(user, np.bincount(of_row, minlength=len(names))[permission], len(users))
            chosen = {f"p{p}": by_count[min(len(users) - 1, len(users) * p // 100)] for p in (1, 50, 90, 99, 100)}
            chosen["2 %"] = np.abs(reads - rows / 50).argmin()
            for when in ("before", "after"):
                print(f"\n{name}, {placed}, {when} optimize")
                for label, one in chosen.items():
                    caller = Principal("p", "t", {f"permission {p}" for p in permission[user == one]})
                    assert index.count(principal=caller) == reads[one]
                    grant = cold(index, caller)
                    every, first, again = alternating(index, data.queries, caller)
                    print(
                        f"  {label:4} {counts[one]:5} permissions, {reads[one] / rows:8.4%} of the rows: "
                        f"grant {grant:.2f} ms, unrestricted {np.median(every) * 1e3:.3f} ms, "
                        f"after another's search 1/{paired(every, first):.1f}, repeated 1/{paired(every, again):.1f}"
                    )
                index.optimize()


def alternating(index: DenseIndex, queries: Any, caller: Principal) -> Any:
    """Seconds of an unrestricted search for each query, of the caller's after it, and of the caller's again."""
    took = []
    for query in [queries[0], *queries]:  # the first warms up
        for who in (UNRESTRICTED, caller, caller):
            began = time.perf_counter()
            index.search(query, 10, principal=who, threads=1)
            took.append(time.perf_counter() - began)
    return np.array(took[3:]).reshape(-1, 3).T


def memory(rows: int) -> None:
    def measured(what: Callable[..., float], *given: Any) -> float:
        """Bytes, in a process that did nothing else."""
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
            return fresh.submit(what, *given).result()

    print(
        "\nby construction: each row has the number of its owner (uint32) and its group (int64), each owner the number"
    )
    print("of its rule (uint32); a mask has a bit per row, 1/64 more in summaries. Measured, by resident bytes:")
    print(f"a rule of its own {measured(memory_of_rules, 100_000):.0f} bytes, names and Python objects included")
    shared, own, named = (measured(memory_of_rows, rows, kind) / rows for kind in ("shared", "own", "named"))
    print(f"{rows} rows of one component under one rule, per row: {shared:.1f} bytes where 1,000 share an owner,")
    print(
        f"{own - shared:.1f} more where each is its own owner, {named - shared:.1f} more where each is a numbered group"
    )
    grant = measured(memory_of_grants, rows, 100)
    print(f"a kept grant over {rows} rows {grant:.0f} bytes, {rows / 8:.0f} of them a bit per row")


def resident() -> int:
    """Bytes, once what was freed is given back."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def memory_of_rules(n: int) -> float:
    policy, before = Policy(), resident()
    for i in range(n):
        policy.rule(f"tenant {i % 100}", {f"group {i % 5000}"}, {f"group {i % 4999}"})
    return (resident() - before) / len(policy)


def memory_of_rows(rows: int, kind: str) -> int:
    policy = Policy()
    index, ids, before = DenseIndex(1, metric="ip", policy=policy), np.arange(rows), resident()
    groups = {"shared": ids // 1000, "own": None, "named": ids + rows}[kind]
    index.add(ids, np.ones((rows, 1), np.float32), policy.rule("t", ANY_IN_TENANT), groups)
    del groups
    return resident() - before


def memory_of_grants(rows: int, n: int) -> float:
    policy = Policy()
    index = DenseIndex(1, metric="ip", policy=policy)
    rules = [policy.rule("t", {f"group {i}"}) for i in range(n)]
    index.add(np.arange(rows), np.ones((rows, 1), np.float32), [rules[i % n] for i in range(rows)])
    index.count(principal=Principal("p", "t", {"group 0"}))
    before = resident()
    for i in range(1, n):
        index.count(principal=Principal("p", "t", {f"group {i}"}))
    return (resident() - before) / (n - 1)


def leaks(draws: int) -> None:
    """Random draws with revocations: hits that the oracle, plain sets, would not permit."""
    for leak in (None, *LEAKS):
        few = draws if leak is None else draws // 100
        total, calls = np.zeros(2, np.int64), few // AT_ONCE
        # Room for a hundred grants: the more are kept, the longer it takes to add up what they weigh.
        with nullcontext() if leak is None else planted(leak), mock.patch.object(Guard, "_MOST_BYTES", 2**16):
            for call, found in enumerate(_leaks(calls), 1):
                total += found
                if leak is None and call * 10 // calls > (call - 1) * 10 // calls:
                    print(f"{call * AT_ONCE} of {few} draws: {total[0]} leaks", file=sys.stderr)
        led = f"{total[1] / (calls * AT_ONCE):.0%} led by a denied row"
        print(f"{calls * AT_ONCE} draws, {led}, {leak or 'nothing planted'}: {total[0]} leaks", flush=True)


def _leaks(calls: int) -> Iterator[tuple[int, int]]:
    """Of each call the leaked hits, and the queries that a denied row would lead."""
    rng = np.random.default_rng(5)
    n, documents = 150, 50
    vectors = rng.standard_normal((n, 8)).astype(np.float32)
    leader = (vectors @ vectors.T).argmax(axis=1)

    def names(most: int) -> frozenset[str]:
        return frozenset(f"g{i}" for i in rng.integers(0, 12, rng.integers(most + 1)))

    def principal() -> Principal:
        return Principal("p", f"t{rng.integers(2)}", names(6))

    policy = Policy()
    parts = list({(f"t{rng.integers(2)}", names(6), names(1)): None for _ in range(24)})  # equal parts are one rule
    rules = [policy.rule(*one) for one in parts]
    of_document = rng.integers(0, len(rules), documents)
    index = DenseIndex(8, metric="ip", policy=policy)
    document_of = np.arange(n) % documents
    index.add(np.arange(n), vectors, [rules[i] for i in of_document[document_of]], document_of)
    callers = [principal() for _ in range(12)]
    for call in range(calls):
        if call % 2:
            document, number = int(rng.integers(documents)), int(rng.integers(len(rules)))
            index.set_rule([document], rules[number])
            of_document[document] = number
        if call % 3 == 0:
            number = int(rng.integers(len(rules)))
            parts[number] = parts[number][0], names(6), names(1)
            policy.change(rules[number], *parts[number][1:])
        if call % 10 == 0:
            callers[rng.integers(len(callers))] = principal()
        if call % 2 == 0:  # a grant that is kept is used again where nothing changed between
            caller = callers[rng.integers(len(callers))]
        drawn = rng.integers(0, n, AT_ONCE)
        way = rng.integers(3)
        if way:
            hits = index.search(vectors[drawn], 5, principal=caller, group_by=bool(way == 2), threads=1)
        else:
            hits = index.radius(vectors[drawn], 0.0, limit=5, principal=caller, threads=1)
        decided = np.array([reference.may_read(one, caller.tenant, caller.groups) for one in parts])
        readable = decided[of_document[document_of]]
        found = hits.ids[hits.ids >= 0]
        yield int((~readable[found]).sum()), int((~readable[leader[drawn]]).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--draws", type=int, default=1_000_000)
    parser.add_argument("--only", default="grants,matrices,memory,leaks")
    given = parser.parse_args()
    print(machine())
    parts: dict[str, Callable[[], None]] = {
        "grants": lambda: grants(given.rows, given.dim),
        "matrices": lambda: matrices(given.rows, given.dim),
        "memory": lambda: memory(given.rows),
        "leaks": lambda: leaks(given.draws),
    }
    for name in given.only.split(","):
        parts[name]()


if __name__ == "__main__":
    main()
