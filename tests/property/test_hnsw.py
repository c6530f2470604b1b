# SPDX-License-Identifier: Apache-2.0
"""Whatever a graph names as candidates: a subset of what is permitted, never too few, scores and order of the index."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from evidex import AllowMask, Principal, where
from graphs import beside, walking
from guarded import LANGUAGES, Guarded

pytest.importorskip("hnswlib", reason="hnswlib is not installed")

STEPS = ("add", "upsert", "remove", "change", "sync", "optimize")


def turn(world: Guarded, graph: Any, step: str) -> None:
    """A few rows or a rule change, or the graph or the layout follows."""
    rng = world.rng
    some = rng.permutation(np.flatnonzero(world.stored))[: rng.integers(1, 20)]
    numbers = rng.integers(0, len(world.rules), 40)
    if step == "add":
        world.add(int(rng.integers(1, 40)), None, numbers)
    elif step == "upsert":
        world.upsert(some, None, int(numbers[0]))
    elif step == "remove":
        world.remove(some)
    elif step == "change":
        world.change(int(rng.integers(0, len(world.rules) + 1)))
    elif step == "sync":
        graph.sync()
    else:
        world.index.optimize()


@given(
    seed=st.integers(0, 2**32 - 1),
    steps=st.lists(st.sampled_from(STEPS), max_size=5),
    k=st.sampled_from([1, 3, 8, 0, 30]),
    ef_search=st.sampled_from([1, 3, 10, 60]),
    nq=st.sampled_from([1, 2, 17]),
    narrowed=st.sampled_from(["not", "mask", "bools", "each", "where"]),
)
def test_permitted_rows_only_and_never_too_few(
    seed: int, steps: list[str], k: int, ef_search: int, nq: int, narrowed: str
) -> None:
    """P1, P3, P4, P6, P7 (cases A3, A9, D1). Seen red: candidates not masked; an answer of fewer candidates than
    there are hits."""
    world = Guarded(bulk=False, seed=seed)
    rng = world.rng
    graph = beside(world.index, m=4, ef_construction=10)
    for step in steps:
        turn(world, graph, step)
    if world.rng.random() < 0.6:
        graph.sync()
    tenant, groups = max((world.drawn_caller() for _ in range(4)), key=lambda caller: world.readable(caller).sum())
    caller = Principal("p", tenant, groups)
    stored = np.flatnonzero(world.stored)
    may = np.tile(world.readable((tenant, groups))[stored], (nq, 1))
    options: dict[str, Any] = {}
    if narrowed == "where":
        options["where"] = where("language") == LANGUAGES[0]
        may &= world.language[stored] == 0
    elif narrowed != "not":
        allowed = rng.random((nq if narrowed == "each" else 1, len(stored))) < rng.choice([0.02, 0.2, 0.9])
        masks = [AllowMask.from_ids(world.index, stored[one]) for one in allowed]
        options["allow"] = {"mask": masks[0], "each": masks}.get(narrowed)
        if narrowed == "bools":
            own = np.isin(world.index.ids(principal=caller), stored[allowed[0]])
            options["allow"] = own
        may &= allowed
    near = world.pool[rng.integers(0, len(world.pool), nq)] + rng.standard_normal((nq, world.dim))
    queries = near.astype(np.float32)
    with walking():
        hits = graph.search(queries, k, ef_search=ef_search, principal=caller, **options)
        if narrowed != "each":
            alone = graph.search(queries[0], k, ef_search=ef_search, principal=caller, **options)
            assert alone.ids.tolist() == hits.ids[:1].tolist()
    exact = world.index.search(queries, k, principal=caller, **options)
    scores = world.scores(queries) if len(stored) else np.empty((nq, 0), np.float32)
    event("by the graph" if not hits.certified.all() else "by the index alone")
    assert hits.counts.tolist() == np.minimum(k, may.sum(axis=1)).tolist()
    assert (hits.ids.shape, hits.k) == ((nq, k), k)
    for query, (ids, found) in enumerate(hits):
        places = np.searchsorted(stored, ids)
        assert (stored[places] == ids).all() and may[query][places].all() and len(set(ids.tolist())) == len(ids)
        assert found.tolist() == scores[query][places].tolist()
        order = list(zip((-found).tolist(), ids.tolist(), strict=True))
        assert order == sorted(order)
        assert (hits.ids[query, len(ids) :] == -1).all() and (hits.scores[query, len(ids) :] == -np.inf).all()
    assert hits.ids[hits.certified].tolist() == exact.ids[hits.certified].tolist()
