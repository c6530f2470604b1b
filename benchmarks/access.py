# SPDX-License-Identifier: Apache-2.0
"""What access rights cost, on made-up rules and on real permission matrices, and a search for leaks.

    python benchmarks/access.py [--rows 1000000] [--draws 1000000] [--only grants,matrices,memory,leaks]

One thread. Matrices: the role-mining sets of HP Labs (Ene et al., SACMAT 2008), a permission being a group that may
read the rows under it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from common import data_folder, machine

from evidex import UNRESTRICTED, DenseIndex, Policy, Principal, _core
from evidex.bench import datasets
from evidex.masks import Guard

DIM = 64
TURNS = 15


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


def grants(rows: int) -> None:
    rng = np.random.default_rng(0)
    policy, groups = Policy(), [f"group {i}" for i in range(5000)]
    sizes = 1 / np.arange(1, 51)
    tenants = rng.choice(50, 2000, p=sizes / sizes.sum())
    rules = [
        policy.rule(f"tenant {t}", {groups[g] for g in rng.integers(0, 5000, 3)}, {groups[rng.integers(5000)]})
        for t in tenants
    ]
    data = datasets.synthetic(rows, DIM, None, TURNS, 0)
    index = DenseIndex(DIM, metric="ip", policy=policy)
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


def matrices(rows: int) -> None:
    for name in ("americas_large", "healthcare", "customer"):
        given = np.load(data_folder("acl") / f"{name}.npz")
        users, user = np.unique(given["user"], return_inverse=True)
        names, permission = np.unique(given["perm"], return_inverse=True)
        counts = np.bincount(user, minlength=len(users))
        for placed in ("random", "correlated"):
            data = datasets.synthetic(rows, DIM, None, TURNS, 1)
            rng = np.random.default_rng(2)
            of_row = rng.integers(0, len(names), rows)
            if placed == "correlated":  # rows in the order of one direction, permissions as runs of it
                direction = data.vectors @ rng.standard_normal(DIM).astype(np.float32)
                of_row = np.sort(of_row)[np.argsort(np.argsort(direction))]
            policy = Policy()
            rules = [policy.rule("t", {f"permission {p}"}) for p in range(len(names))]
            index = DenseIndex(DIM, metric="ip", policy=policy)
            index.add(np.arange(rows), data.vectors, [rules[p] for p in of_row])
            for when in ("before", "after"):
                every = searching(index, data.queries[0], UNRESTRICTED)
                print(f"\n{name}, {placed}, {when} optimize: unrestricted {every:.2f} ms")
                for share in (1, 50, 90, 99, 100):
                    one = np.argsort(counts, kind="stable")[min(len(users) - 1, len(users) * share // 100)]
                    caller = Principal("p", "t", {f"permission {p}" for p in permission[user == one]})
                    grant, permitted = cold(index, caller), index.count(principal=caller)
                    took = searching(index, data.queries[0], caller)
                    print(
                        f"  p{share:<3} {counts[one]:5} permissions, {permitted / rows:8.4%} of the rows: "
                        f"grant {grant:.2f} ms, search {took:.3f} ms = 1/{every / took:.1f}"
                    )
                index.optimize()


def memory(rows: int) -> None:
    """Resident bytes that 1,000,000 rules and the owners of rows add."""

    def resident() -> int:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096

    policy, before = Policy(), resident()
    rules = [policy.rule(f"tenant {i % 100}", {f"group {i % 5000}"}, {f"group {i % 4999}"}) for i in range(100_000)]
    print(f"\nper rule {(resident() - before) / len(rules):.0f} bytes (names, Python objects and the core's entry)")
    print(f"per row 4 bytes for its owner and 8 for its group, per owner 4 for its rule: {rows} own rows, 16 each")


def leaks(draws: int) -> None:
    """Random draws with revocations: hits that the oracle, plain sets, would not permit."""
    for planted in (None, "kept grant", "mask dropped", "last word"):
        few = draws if planted is None else draws // 100
        with plant(planted):
            found = sum(_leaks(few))
        print(f"{few} draws with {planted or 'nothing'} planted: {found} leaks")


def _leaks(draws: int) -> Iterator[int]:
    rng = np.random.default_rng(5)
    groups, n = [f"g{i}" for i in range(12)], 150
    vectors = rng.standard_normal((n, 8)).astype(np.float32)
    policy = Policy()
    parts = [(rng.integers(2), set(rng.choice(12, 3)), set(rng.choice(12, 1))) for _ in range(20)]
    rules = [policy.rule(f"t{t}", {groups[g] for g in allow}, {groups[g] for g in deny}) for t, allow, deny in parts]
    of_document = rng.integers(0, 20, 50)
    index = DenseIndex(8, metric="ip", policy=policy)
    index.add(np.arange(n), vectors, [rules[of_document[i % 50]] for i in range(n)], groups=np.arange(n) % 50)
    for draw in range(draws):
        if draw % 7 == 0:
            document, rule = int(rng.integers(50)), int(rng.integers(20))
            index.set_rule([document], rules[rule])
            of_document[document] = rule
        if draw % 11 == 0:
            rule = int(rng.integers(20))
            tenant, allow, deny = parts[rule][0], set(rng.choice(12, 3)), set(rng.choice(12, 1))
            policy.change(rules[rule], {groups[g] for g in allow}, {groups[g] for g in deny})
            parts[rule] = (tenant, allow, deny)
        tenant, mine = int(rng.integers(2)), set(rng.choice(12, rng.integers(5)).tolist())
        caller = Principal("p", f"t{tenant}", {groups[g] for g in mine})
        query = vectors[rng.integers(n)]
        if draw % 2:
            ids = index.search(query, 5, principal=caller, threads=1)[0].ids
        else:
            ids = index.radius(query, 0.0, limit=5, principal=caller, threads=1)[0].ids
        leaked = 0
        for document in {int(i) % 50 for i in ids}:
            t, allow, deny = parts[of_document[document]]
            leaked += not (t == tenant and not deny & mine and allow & mine)
        yield leaked


@contextmanager
def plant(leak: str | None) -> Iterator[None]:
    """A fault that the draws must find."""
    before = {name: getattr(Guard, name) for name in ("_rights", "narrowed_each", "visible")}
    if leak == "kept grant":
        Guard._rights = lambda self, snapshot: (0, 0)  # type: ignore[method-assign]
    elif leak == "mask dropped":

        def dropped(self: Guard, snapshot: Any, principal: Any, allow: Any, nq: int) -> Any:
            return [_core.Bitmask.ones(snapshot.rows)], np.empty(0, np.uint32)

        Guard.narrowed_each = dropped  # type: ignore[method-assign]
        Guard._rights = lambda self, snapshot: (0, 0)  # type: ignore[method-assign]
    elif leak == "last word":

        def partial(self: Guard, snapshot: Any, principal: Any) -> Any:
            rows = np.arange(snapshot.rows)
            right = before["visible"](self, snapshot, principal).test(rows)
            return _core.Bitmask.from_rows(snapshot.rows, rows[right | (rows >= snapshot.rows // 64 * 64)])

        Guard.visible = partial  # type: ignore[method-assign]
    try:
        yield
    finally:
        for name, function in before.items():
            setattr(Guard, name, function)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--draws", type=int, default=1_000_000)
    parser.add_argument("--only", default="grants,matrices,memory,leaks")
    given = parser.parse_args()
    print(machine())
    parts: dict[str, Callable[[], None]] = {
        "grants": lambda: grants(given.rows),
        "matrices": lambda: matrices(given.rows),
        "memory": lambda: memory(given.rows),
        "leaks": lambda: leaks(given.draws),
    }
    for name in given.only.split(","):
        parts[name]()


if __name__ == "__main__":
    main()
