# SPDX-License-Identifier: Apache-2.0
"""P1, P4, P5, P6, P7 of an open index, against brute force in canonical arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from evidex import AllowMask, DenseIndex, Hits
from strategies import BATCHES, ISAS, Data, data, forced_isa


def build(d: Data) -> DenseIndex:
    index = DenseIndex(d.rows.shape[1] if d.rows.size else d.queries.shape[1], metric=d.metric)
    if len(d.ids):
        index.add(d.ids, d.rows)
    return index


def pairs(hits: Hits, query: int = 0) -> list[tuple[int, float]]:
    ids, scores = hits[query]
    return list(zip(ids.tolist(), scores.tolist(), strict=True))


def same_bits(a: Hits, b: Hits) -> bool:
    return (
        np.array_equal(a.ids, b.ids)
        and a.scores.tobytes() == b.scores.tobytes()
        and np.array_equal(a.counts, b.counts)
        and np.array_equal(a.certified, b.certified)
    )


@given(d=data(), k=st.integers(0, 250), isa=st.sampled_from(ISAS), threads=st.integers(1, 3))
def test_exact_is_brute_force_to_the_bit(d: Data, k: int, isa: str, threads: int) -> None:
    """P7, P5, P6. Seen red: the mask of a row's tail one place off in AVX2; ties kept in row order (id dropped
    from `better`); permitted bits not applied after 64 places were scored."""
    index = build(d)
    with forced_isa(isa):
        hits = index.search(d.queries, k, threads=threads)
    for number, query in enumerate(d.queries):
        expected = reference.search(d.metric, query, d.by_id, k)
        assert pairs(hits, number) == expected
        assert hits.counts[number] == len(expected)
        assert (hits.ids[number, len(expected) :] == -1).all()
        assert (hits.scores[number, len(expected) :] == -np.inf).all()
        assert hits.reason[number] == (None if len(expected) == k else "fewer_than_k")
        assert hits.certified[number]
    assert not np.signbit(hits.scores[hits.scores == 0]).any()


@given(d=data(max_rows=120), seed=st.integers(0, 2**32 - 1), k=st.integers(1, 30))
def test_row_order_and_history_change_nothing(d: Data, seed: int, k: int) -> None:
    """P5: rows permuted, added one by one, upserted or re-added after removal. Seen red: id dropped from `better`."""
    if not len(d.ids):
        return
    rng = np.random.default_rng(seed)
    plain = build(d)
    other = DenseIndex(d.rows.shape[1], metric=d.metric)
    order = rng.permutation(len(d.ids))
    half = len(order) // 2
    for i in order[:half]:
        other.add(d.ids[i : i + 1], d.rows[i : i + 1] * 0 + 1)
    other.upsert(d.ids[order], d.rows[order])
    again = rng.choice(order, size=rng.integers(0, len(order) + 1), replace=False)
    other.remove(d.ids[again])
    other.add(d.ids[again], d.rows[again])
    assert same_bits(plain.search(d.queries, k), other.search(d.queries, k))


@pytest.mark.parametrize("prescan", [False, True])
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("metric", reference.METRICS)
def test_batches_threads_and_isas_agree(isa: str, metric: str, prescan: bool) -> None:
    """P5, case B3: a query alone and inside batches, on any threads, codes read first or not. Seen red: a batch path
    whose block of 64 rows kept the previous query's scores."""
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((3000, 48), dtype=np.float32)
    queries = rng.standard_normal((1000, 48), dtype=np.float32)
    index, plain = (DenseIndex(48, metric=metric, prescan=codes) for codes in (prescan, False))
    index.add(None, rows)
    plain.add(None, rows)
    with forced_isa("scalar"):
        single = [plain.search(q, 7, threads=1) for q in queries[:200]]
    assert index.explain(queries[0], 7).plan == ("exact pre-scan" if prescan else "exact scan")
    with forced_isa(isa):
        for size in BATCHES:
            for threads in (1, 2, 3):
                batch = index.search(queries[:size], 7, threads=threads)
                for number in range(size):
                    assert batch.ids[number].tobytes() == single[number].ids[0].tobytes()
                    assert batch.scores[number].tobytes() == single[number].scores[0].tobytes()
        whole = index.search(queries, 7, threads=2)
        assert same_bits(whole, index.search(queries, 7, threads=1))
        assert whole.scores[:200].tobytes() == np.concatenate([h.scores for h in single]).tobytes()


@given(d=data(), k=st.integers(0, 40), seed=st.integers(0, 2**32 - 1), density=st.sampled_from([0, 0.02, 0.5, 0.98, 1]))
def test_a_mask_decides_before_ranking(d: Data, k: int, seed: int, density: float) -> None:
    """P1, P7, cases A9, A10: masked search equals brute force on the permitted rows alone. Seen red: the mask
    word ignored in the block path; permitted bits not applied after scoring."""
    index = build(d)
    allow = np.random.default_rng(seed).random(len(d.ids)) < density
    allowed = {int(i): d.by_id[int(i)] for i in index.ids()[allow]}
    masks: list[Any] = [allow, AllowMask.from_ids(index, index.ids()[allow]), AllowMask.from_bools(index, allow)]
    for mask in masks:
        hits = index.search(d.queries, k, allow=mask)
        for number, query in enumerate(d.queries):
            assert pairs(hits, number) == reference.search(d.metric, query, allowed, k)


@given(d=data(), small=st.integers(0, 20), more=st.integers(0, 200))
def test_top_k_is_a_prefix_of_a_larger_k(d: Data, small: int, more: int) -> None:
    """P4, case B1. Seen red: threshold compared with > so that equal scores with lower ids were dropped."""
    index = build(d)
    large = index.search(d.queries, small + more)
    few = index.search(d.queries, small)
    width = few.ids.shape[1]
    assert few.ids.tobytes() == np.ascontiguousarray(large.ids[:, :width]).tobytes()
    assert few.scores.tobytes() == np.ascontiguousarray(large.scores[:, :width]).tobytes()


def test_many_hits_are_as_wide_as_the_largest_count() -> None:
    """P6, case B21: above k = 65,536 nothing is padded and nothing is allocated for k."""
    index = DenseIndex(2, metric="ip")
    index.add(None, np.ones((5, 2), np.float32))
    assert index.search(np.ones(2, np.float32), 65536).ids.shape == (1, 65536)
    for k in (65537, 2**31, 2**63 - 1, 2**80):
        hits = index.search(np.ones((3, 2), np.float32), k)
        assert hits.ids.shape == (3, 5)
        assert (hits.ids == np.arange(5)).all()
        assert hits.reason.tolist() == ["fewer_than_k"] * 3


@given(d=data(), isa=st.sampled_from(ISAS), threads=st.integers(1, 3), seed=st.integers(0, 2**32 - 1))
def test_radius_is_brute_force_cut_at_the_score(d: Data, isa: str, threads: int, seed: int) -> None:
    """P1, P4, P6, P7, cases B19, G10: inclusive, masked before, best first, any batch. Seen red: > for >=;
    the width taken from the first query; the limit not passed on; allow= not passed on."""
    index = build(d)
    everything = [reference.search(d.metric, query, d.by_id, len(d.ids)) for query in d.queries]
    scores = sorted({score for hits in everything for _, score in hits})
    rng = np.random.default_rng(seed)
    allow = rng.random(len(d.ids)) < 0.7
    allowed = set(index.ids()[allow].tolist())
    for least in [*rng.choice(scores, 2), scores[0], scores[-1], 1e30] if scores else [0.0]:
        for limit in (None, 0, 3):
            with forced_isa(isa):
                hits = index.radius(d.queries, float(least), limit=limit, threads=threads)
                narrowed = index.radius(d.queries, float(least), limit=limit, allow=allow)
            for number, found in enumerate(everything):
                expected = [(i, score) for i, score in found if score >= np.float32(least)]
                assert pairs(hits, number) == expected[:limit]
                assert pairs(narrowed, number) == [pair for pair in expected if pair[0] in allowed][:limit]
            assert hits.ids.shape == (len(d.queries), hits.counts.max(initial=0))
            assert hits.certified.all()
