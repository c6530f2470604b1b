# SPDX-License-Identifier: Apache-2.0
"""What users of other libraries suffered with filters (A): which rows come back, on every path there is.

Case A18 counts the rows that a walk through a graph scores. There is no graph: exact search scores what is permitted
and, in mask words that are mostly permitted, their neighbours, which never become hits; how many is not counted.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import reference
from evidex import AllowMask, DenseIndex, where
from examples import ORIGIN, Make, line
from strategies import ISAS, forced_isa
from ways import Found, agreed
from where_examples import stocked


def on_every_machine(index: DenseIndex, query: Any, k: int, **options: Any) -> Found:
    """What each way finds on each instruction set with one thread and with two."""
    answers = []
    for isa, threads in product(ISAS, (1, 2)):
        with forced_isa(isa):
            answers.append(agreed(index, query, k, threads=threads, **options))
    assert answers[1:] == answers[:-1]
    return answers[0]


def ids_of(found: Found) -> list[int]:
    return [i for i, _ in found]


def test_few_permitted_rows_are_a_normal_outcome(path: tuple[Any, Make], codec: str) -> None:  # case A1, G2
    """Seen red: a search that raises where it has fewer than k hits; counts that are always k."""
    options, make = path
    index = line(10, codec=codec)
    assert ids_of(agreed(index, ORIGIN, 5, allow=make(index, [2, 7]), **options)) == [2, 7]
    hits = index.search(ORIGIN, 5, allow=make(index, [2, 7]), **options)
    assert (hits.ids.tolist(), hits.counts.tolist()) == ([[2, 7, -1, -1, -1]], [2])
    assert agreed(index, ORIGIN, 5, allow=make(index, []), **options) == []
    assert index.search(ORIGIN, 5, allow=make(index, []), **options).counts.tolist() == [0]
    allowed = [[], [3], [2, 7], list(range(10))]
    hits = index.search(np.zeros((4, 4)), 5, allow=[make(index, one) for one in allowed], **options)
    assert hits.counts.tolist() == [0, 1, 2, 5]
    assert hits.ids.tolist() == [[*one[:5], *[-1] * (5 - len(one))] for one in allowed]


@pytest.mark.parametrize("prescan", [True, False])
def test_the_mask_reaches_every_path(path: tuple[Any, Make], codec: str, prescan: bool) -> None:  # case A3
    """Seen red: radius without the mask; one mask for each query taken for none."""
    options, make = path
    index = line(4, dim=2, codec=codec, prescan=prescan)
    expected = reference.search("squared_l2", np.zeros(2, np.float32), {1: np.array([10, 0])}, 1, codec)
    assert codec == "int8" or expected == [(1, -100.0)]
    assert agreed(index, np.zeros(2), 1, allow=make(index, [1]), **options) == expected


def test_wide_ids_are_not_cut(path: tuple[Any, Make]) -> None:  # cases A5, B16
    """Seen red: ids cut to 32 bits where they come in, and only where a mask is made of them."""
    options, make = path
    wide = [5, 2**31, 2**32 + 5, 2**53 + 1, 2**63 - 1, 7080030971]
    index = DenseIndex(1, metric="ip")
    index.add(wide, np.ones((6, 1)))
    assert ids_of(agreed(index, np.ones(1), 6, allow=make(index, [2**32 + 5]), **options)) == [2**32 + 5]
    for i in wide:
        assert agreed(index, np.ones(1), 3, allow=make(index, [i]), **options) == [(i, 1.0)]
        groups: Any = index.search([1.0], 3, allow=make(index, [i]), group_by=True, **options).groups
        assert groups.tolist() == [[i, -1, -1]]
        assert index.neighbours([i], 3, allow=make(index, [i]), **options)[0].ids.tolist() == [i]
        assert AllowMask.from_callable(index, lambda one, i=i: one == i).bits.count == 1  # type: ignore[misc]


def test_no_filter_and_an_empty_filter_differ(path: tuple[Any, Make], codec: str) -> None:  # case A7
    """Seen red: bools of which none is true, a mask without bits, and isin() of nothing, each taken for no filter."""
    options, make = path
    index = line(3, codec=codec)
    assert ids_of(agreed(index, ORIGIN, 3, allow=None, **options)) == [0, 1, 2]
    assert agreed(index, ORIGIN, 3, allow=make(index, []), **options) == []
    columned = stocked(3)
    assert ids_of(agreed(columned, ORIGIN, 3, where=None, **options)) == [0, 1, 2]
    assert agreed(columned, ORIGIN, 3, where=where("lang").isin([]), **options) == []


def test_selective_masks_keep_full_recall(codec: str) -> None:  # case A9
    """20,000 rows in two opposite clusters. Seen red: the k best rows found first and filtered then."""
    rng = np.random.default_rng(4)
    centre = rng.standard_normal(32) * 5
    rows = (np.repeat([centre, -centre], 10_000, axis=0) + rng.standard_normal((20_000, 32))).astype(np.float32)
    query = centre.astype(np.float32)
    index = DenseIndex(32, metric="l2", codec=codec)
    index.add(None, rows)
    scores = reference.scores("squared_l2", query, reference.stored("squared_l2", codec, rows))
    for size, start in product((1, 10, 200, 2000, 10_000), (0, 10_000)):  # near the query, and opposite to it
        chosen = start + rng.choice(10_000, size, replace=False)
        allow = AllowMask.from_ids(index, chosen)
        expected = reference.ranked(chosen, scores[chosen], 10)
        assert len(expected) == min(10, size)
        assert on_every_machine(index, query, 10, allow=allow) == expected  # every run the same
        assert ("pre-scan" in index.explain(query, 10, allow=allow).plan) == (size == 10_000)


@pytest.mark.parametrize("n", [100, 6000])  # of the larger one codes are read first
@pytest.mark.parametrize("metric", reference.METRICS)
def test_the_nearest_denied_rows_use_up_nothing(codec: str, metric: str, n: int) -> None:  # case A10
    """Seen red: the k best rows found first and filtered then."""
    rng = np.random.default_rng(n)
    rows, query = rng.standard_normal((n, 32)).astype(np.float32), rng.standard_normal(32).astype(np.float32)
    kept, asked = reference.stored(metric, codec, rows), reference.prepared(metric, query[None])[0]
    scores = reference.scores(metric, asked, kept)
    farther = reference.best(np.arange(n), scores, n)[n // 2 :]
    expected = reference.ranked(farther, scores[farther], 10)
    both, alone = (DenseIndex(32, metric=metric, codec=codec) for _ in range(2))
    both.add(None, rows)
    alone.add(farther, rows[farther])
    for allow in (np.isin(np.arange(n), farther), AllowMask.from_ids(both, farther)):
        assert on_every_machine(both, query, 10, allow=allow) == expected
    assert on_every_machine(alone, query, 10) == expected
