# SPDX-License-Identifier: Apache-2.0
"""What users of other libraries suffered with filters and permissions (A), on every path there is."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import reference
from evidex import ANY_IN_TENANT, AllowMask, DenseIndex, InvalidInput, Policy, Principal
from examples import ORIGIN, Make, line


def test_few_permitted_rows_are_a_normal_outcome(path: tuple[Any, Make]) -> None:  # case A1, G2
    options, make = path
    index = line(10)
    hits = index.search(ORIGIN, 5, allow=make(index, [2, 7]), **options)
    assert hits.ids.tolist() == [[2, 7, -1, -1, -1]]
    assert hits.counts.tolist() == [2]
    none = index.search(np.zeros((3, 4)), 5, allow=make(index, []), **options)
    assert none.counts.tolist() == [0, 0, 0]
    assert (none.ids == -1).all()


def test_the_mask_reaches_every_path(path: tuple[Any, Make]) -> None:  # case A3
    options, make = path
    index = line(4)
    hits = index.search(ORIGIN, 1, allow=make(index, [1]), **options)
    assert (hits.ids.tolist(), hits.scores.tolist()) == ([[1]], [[-100.0]])


def test_wide_ids_are_not_cut(path: tuple[Any, Make]) -> None:  # cases A5, B16
    options, make = path
    wide = [5, 2**31, 2**32 + 5, 2**53 + 1, 2**63 - 1, 7080030971]
    index = DenseIndex(1, metric="ip")
    index.add(wide, np.ones((6, 1)))
    for i in wide:
        assert index.search([1.0], 3, allow=make(index, [i]), **options)[0].ids.tolist() == [i]


def test_masks_own_their_bits() -> None:  # case A6
    index = line(2000)
    allow = np.random.default_rng(0).random(2000) < 0.3
    expected = index.search(ORIGIN, 5, allow=~allow).ids.tolist()
    source = ~allow
    mask = AllowMask.from_bools(index, source)
    source[:] = True
    del source
    gc.collect()
    assert index.search(ORIGIN, 5, allow=mask).ids.tolist() == expected
    with pytest.raises(InvalidInput):
        AllowMask.from_ids(index, [0, 2000, 10**9, -1])
    with pytest.raises(InvalidInput, match="1000000000 is not stored"):
        AllowMask.from_ids(index, [0, 10**9])


def test_repeated_masks_leak_nothing() -> None:  # case A6
    resource = pytest.importorskip("resource", reason="peak memory is read from the resource module")
    index = line(20000)
    allow = np.ones(20000, bool)

    def peak(rounds: int) -> int:
        for _ in range(rounds):
            index.search(ORIGIN, 5, allow=~allow)
            index.search(ORIGIN, 5, allow=AllowMask.from_bools(index, allow))
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    before = peak(100)
    assert peak(2000) - before < 4096  # kB; one leaked mask a call would be 12 MB


def test_no_filter_and_an_empty_filter_differ(path: tuple[Any, Make]) -> None:  # case A7
    options, make = path
    index = line(3)
    assert index.search(ORIGIN, 3, allow=None, **options).counts.tolist() == [3]
    assert index.search(ORIGIN, 3, allow=make(index, []), **options).counts.tolist() == [0]


def test_the_nearest_denied_rows_use_up_nothing(path: tuple[Any, Make]) -> None:  # case A10
    options, make = path
    index = line(100)
    hits = index.search(ORIGIN, 10, allow=make(index, list(range(50, 100))), **options)
    assert hits.ids.tolist() == [list(range(50, 60))]


def test_selective_masks_keep_full_recall(path: tuple[Any, Make]) -> None:  # case A9
    options, make = path
    rng = np.random.default_rng(4)
    centres = rng.standard_normal((2, 16)) * 5
    rows = (np.repeat(centres, 1000, axis=0) + rng.standard_normal((2000, 16))).astype(np.float32)
    index = DenseIndex(16, metric="l2")
    index.add(np.arange(2000), rows)
    query = centres[0].astype(np.float32)
    for size in (1, 10, 200, 1000):
        for start in (0, 1000):  # near the query, and in the opposite cluster
            allowed = rng.choice(np.arange(start, start + 1000), size, replace=False)
            hits = index.search(query, 10, allow=make(index, allowed.tolist()), **options)
            expected = reference.search("squared_l2", query, {int(i): rows[i] for i in allowed}, 10)
            assert list(zip(*(x.tolist() for x in hits[0]), strict=True)) == expected


def test_id_lists_with_repeats_equal_bitmaps() -> None:  # case A15
    n = 100_000
    index = DenseIndex(1, metric="ip")
    index.add(np.arange(n), np.random.default_rng(1).random((n, 1), dtype=np.float32))
    chosen = np.random.default_rng(2).integers(0, n, n)
    by_ids = index.search([1.0], 50, allow=AllowMask.from_ids(index, chosen))
    by_bools = index.search([1.0], 50, allow=np.isin(np.arange(n), chosen))
    assert by_ids.ids.tolist() == by_bools.ids.tolist()


def test_callables_are_refused_rather_than_called_per_row() -> None:  # case A16
    with pytest.raises(InvalidInput, match="AllowMask or a bool array"):
        line(3).search(ORIGIN, allow=lambda row: True)  # type: ignore[arg-type]


def test_a_guarded_index_keeps_its_grant_under_every_mask(path: tuple[Any, Make]) -> None:  # cases A12, A13
    options, make = path
    policy = Policy()
    index = DenseIndex(1, metric="ip", policy=policy)
    rules = [policy.rule("t", {"g"}), policy.rule("t", ANY_IN_TENANT)]
    index.add(np.arange(200), np.arange(200)[:, None] / 1.0, [rules[i % 2] for i in range(200)])
    nobody = Principal("p", "t", ())
    odd = list(range(1, 200, 2))
    mask = AllowMask.from_ids(index, list(range(200)))
    assert index.search([1.0], 200, principal=nobody, allow=mask, **options)[0].ids.tolist() == odd[::-1]
    del make
