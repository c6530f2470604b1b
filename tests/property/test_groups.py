# SPDX-License-Identifier: Apache-2.0
"""P1, P4, P6, P7 of the best row of each group, case G9: against plain Python and as prefixes of more groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from evidex import DenseIndex
from many_rows import Many, many, more_examples
from strategies import ISAS, Data, data, forced_isa


def best_of_groups(found: list[tuple[int, float]], group_of: dict[int, int], k: int) -> list[tuple[int, float, int]]:
    """The first hit of each group, of hits that are best first."""
    taken: dict[int, tuple[int, float, int]] = {}
    for i, score in found:
        taken.setdefault(group_of[i], (i, score, group_of[i]))
    return list(taken.values())[:k]


@given(
    d=data(),
    groups=st.sampled_from(["one", "few", "each", "large"]),
    k=st.integers(0, 30),
    isa=st.sampled_from(ISAS),
    density=st.sampled_from([0, 0.1, 0.9, 1]),
)
def test_groups_are_ranked_by_their_best_permitted_row(d: Data, groups: str, k: int, isa: str, density: float) -> None:
    """Seen red: the worst row of a group kept."""
    rng = np.random.default_rng(len(d.ids))
    n = len(d.ids)
    numbers = {
        "one": np.zeros(n),
        "few": rng.integers(0, 5, n),
        "each": rng.permutation(n),
        "large": 2**63 - 1 - rng.integers(0, 20, n),
    }[groups].astype(np.int64)
    index = DenseIndex(d.queries.shape[1], metric=d.metric)
    index.add(d.ids, d.rows.reshape(n, -1) if n else np.empty((0, index.dim)), groups=numbers)
    allow = rng.random(n) < density
    allowed = {int(i): d.by_id[int(i)] for i in d.ids[allow]}
    with forced_isa(isa):
        hits = index.search(d.queries, k, allow=allow, group_by=True)
    assert hits.groups is not None
    for query, vector in enumerate(d.queries):
        everything = reference.search(d.metric, vector, allowed, n)
        expected = best_of_groups(everything, dict(zip(d.ids.tolist(), numbers.tolist(), strict=True)), k)
        count = int(hits.counts[query])
        found = (hits.ids[query, :count], hits.scores[query, :count], hits.groups[query, :count])
        assert list(zip(*(x.tolist() for x in found), strict=True)) == expected
        assert (hits.groups[query, count:] == -1).all()
        assert hits.reason[query] == (None if count == k else "fewer_than_k")


@more_examples
@given(of=many(most_queries=3), k=st.integers(0, 140), more=st.sampled_from([1, 1, 20, 4000]), group_by=st.booleans())
def test_top_k_is_a_prefix_of_a_larger_k_on_every_plan(of: Many, k: int, more: int, group_by: bool) -> None:
    """P4, case B1: also where the smaller is found by a pre-scan and the larger by a scan. Seen red: seeds of a grouped
    search chosen by row, not by group."""
    index = of.index()
    few, large = (index.search(of.queries, size, group_by=group_by) for size in (k, k + more))
    pairs: list[tuple[Any, Any]] = [(few.ids, large.ids), (few.scores, large.scores)]
    if few.groups is not None:
        pairs.append((few.groups, large.groups))
        for row in few.groups:
            assert len(set(row[row >= 0].tolist())) == (row >= 0).sum()
    for small, wide in pairs:
        assert small.tobytes() == np.ascontiguousarray(wide[:, :k]).tobytes()


@pytest.mark.parametrize("k", [65536, 65537, 2**31, 2**63 - 1, 2**80])
def test_many_groups_are_as_wide_as_the_largest_count(k: int) -> None:
    """P6, case B21: above k = 65,536 nothing is padded, and rows are no groups."""
    index = DenseIndex(2, metric="ip")
    index.add(None, np.ones((9, 2), np.float32), groups=np.arange(9) // 3)
    hits = index.search(np.ones((2, 2), np.float32), k, group_by=True)
    assert hits.groups is not None
    assert hits.ids.shape == hits.scores.shape == hits.groups.shape == (2, k if k == 65536 else 3)
    assert hits.ids[:, :3].tolist() == [[0, 3, 6]] * 2
    assert hits.counts.tolist() == [3, 3]
