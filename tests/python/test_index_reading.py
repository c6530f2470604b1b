# SPDX-License-Identifier: Apache-2.0
"""DenseIndex: get, ids, count, explain and masks as their callers see them; Hits."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from evidex import (
    UNRESTRICTED,
    AllowMask,
    DenseIndex,
    Explanation,
    InvalidInput,
    NotFound,
    Principal,
    StaleMask,
    _core,
)
from examples import ALICE, EYE


def test_get_gives_stored_vectors(index: DenseIndex) -> None:
    index.upsert([40], [[3.0, 0.0, 4.0]])
    assert np.allclose(index.get([40, 10]), np.array([[0.6, 0, 0.8], [1, 0, 0]]))
    assert index.get(40).shape == (1, 3)
    with pytest.raises(NotFound, match="no such id: 41"):
        index.get([40, 41])
    assert KeyError in NotFound.__mro__


def test_guarded_reads(guarded: DenseIndex) -> None:
    assert guarded.search(EYE, 3, principal=ALICE).ids.tolist() == [[10, 20, -1], [20, 10, -1], [10, 20, -1]]
    assert guarded.ids(principal=ALICE).tolist() == [10, 20]
    assert guarded.count(principal=ALICE) == 2
    assert guarded.get([20], principal=ALICE).shape == (1, 3)
    with pytest.raises(NotFound, match="no such id: 30"):
        guarded.get([10, 30], principal=ALICE)
    assert guarded.ids(principal=UNRESTRICTED).tolist() == [10, 20, 30]
    assert len(guarded) == 3


def test_upsert_replaces_the_rule(guarded: DenseIndex) -> None:
    policy = guarded.policy
    assert policy is not None
    guarded.upsert([10], EYE[:1], policy.rule("acme", {"b"}))
    assert guarded.ids(principal=ALICE).tolist() == [20]


def test_a_rule_made_later_is_seen(guarded: DenseIndex) -> None:
    policy = guarded.policy
    assert policy is not None
    assert guarded.count(principal=ALICE) == 2
    late = policy.rule("acme", {"a"}, deny={"x"})
    assert guarded.count(principal=ALICE) == 2
    guarded.add([50], EYE[:1], late)
    assert guarded.count(principal=ALICE) == 3
    assert guarded.count(principal=Principal("bob", "acme", {"a", "x"})) == 2


def test_unrestricted_is_logged(guarded: DenseIndex, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="evidex.access"):
        guarded.search(EYE[0], principal=ALICE)
        assert not caplog.records
        guarded.search(EYE[0], principal=UNRESTRICTED)
    assert [r.message for r in caplog.records if "UNRESTRICTED" in r.message]


@pytest.mark.parametrize("principal", [ALICE, UNRESTRICTED, "alice"])
def test_a_principal_on_an_open_index_is_refused(index: DenseIndex, principal: Any) -> None:
    reads: list[Callable[[], object]] = [
        lambda: index.search(EYE[0], principal=principal),
        lambda: index.explain(EYE[0], principal=principal),
        lambda: index.ids(principal=principal),
        lambda: index.count(principal=principal),
        lambda: index.get([10], principal=principal),
    ]
    for read in reads:
        with pytest.raises(InvalidInput, match="open"):
            read()


def test_explain_tells_operators_more_than_principals(index: DenseIndex, guarded: DenseIndex) -> None:
    index.remove([30])
    explained = index.explain(EYE[0], 3, threads=1)
    assert explained == Explanation(
        plan="exact scan",
        metric="cosine",
        codec="float32",
        k=3,
        permitted=2,
        returned=2,
        certified=True,
        reason="fewer_than_k",
        isa=_core.active_isa(),
        threads=1,
        hits=((10, 1.0), (20, 0.0)),
        operator={"generation": 2, "rows": 3, "removed": 1, "abandoned": False},
    )
    assert guarded.explain(EYE[0], principal=ALICE).operator is None
    assert guarded.explain(EYE[0], principal=UNRESTRICTED).operator is not None
    assert guarded.explain(EYE[0], 1, principal=ALICE).reason is None
    assert guarded.explain(EYE[0], principal=ALICE, allow=[True, False]).permitted == 1
    with pytest.raises(InvalidInput, match="one query"):
        index.explain(EYE)


def test_masks_belong_to_a_layout(index: DenseIndex) -> None:
    other = DenseIndex(3)
    other.add([10, 20, 30], EYE)
    mask = AllowMask.from_ids(other, [10])
    for call in (index.search, index.explain):
        with pytest.raises(StaleMask, match="layout"):
            call(EYE[0], allow=mask)
    assert repr(mask) == f"AllowMask(layout={mask.layout}, rows=3)"


def test_allow_is_aligned_with_the_callers_own_ids(guarded: DenseIndex) -> None:
    assert guarded.search(EYE[0], 5, principal=ALICE, allow=[False, True]).ids[0, 0] == 20
    with pytest.raises(InvalidInput, match=r"shape \[2\]"):
        guarded.search(EYE[0], principal=ALICE, allow=[True] * 3)
    mask = AllowMask.from_bools(guarded, np.array([False, True]), principal=ALICE)
    assert guarded.search(EYE[0], 5, principal=ALICE, allow=mask).ids[0].tolist() == [20, -1, -1, -1, -1]


def test_ids_of_a_guarded_mask_never_tell_hidden_from_unknown(guarded: DenseIndex) -> None:
    mask = AllowMask.from_ids(guarded, [10, 30, 999])
    assert guarded.search(EYE[0], 5, principal=ALICE, allow=mask).ids[0].tolist() == [10, -1, -1, -1, -1]


def test_hits_iterate_ragged_and_print(index: DenseIndex) -> None:
    hits = index.search(EYE[:2], 5, allow=[True, True, False])
    assert [len(ids) for ids, _ in hits] == [2, 2]
    assert hits[1].ids.tolist() == [20, 10]
    assert repr(hits) == "Hits(2 queries, k=5)\n  [0] 10: 1.0000, 20: 0.0000\n  [1] 20: 1.0000, 10: 0.0000"
    assert repr(index.search(EYE[0], 0)) == "Hits(1 queries, k=0)\n  [0] nothing found"
    many = DenseIndex(1, metric="ip")
    many.add(None, np.ones((9, 1), np.float32))
    assert repr(many.search(np.ones((5, 1)), 9)).splitlines()[1:] == [
        *(f"  [{q}] 0: 1.0000, 1: 1.0000, 2: 1.0000, ... 6 more" for q in range(3)),
        "  ... 2 more",
    ]


# Radius


@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
def test_a_score_at_the_threshold_stays(metric: str) -> None:  # case B19
    index = DenseIndex(2, metric=metric)
    index.add([2, 1, 2**63 - 1], np.array([[1.0, 0], [0, 1], [1, 0]]))
    best = 0.0 if metric == "l2" else 1.0
    assert index.radius([1.0, 0], best)[0].ids.tolist() == [2, 2**63 - 1]
    assert index.radius([1.0, 0], np.nextafter(np.float32(best), np.float32(9))).counts.tolist() == [0]
    worst = -2.0 if metric == "l2" else 0.0
    assert index.radius([1.0, 0], worst)[0].ids.tolist() == [2, 2**63 - 1, 1]
    tenth = DenseIndex(1, metric="ip")
    tenth.add([1], [[0.1]])
    assert tenth.radius([1.0], 0.1).counts.tolist() == [1]  # both are the float32 nearest to 0.1


def test_radius_says_whether_a_limit_was_reached(index: DenseIndex) -> None:
    assert index.radius(EYE, 0.5).reason.tolist() == [None] * 3
    assert index.radius(EYE, 0.5, limit=2).reason.tolist() == ["fewer_than_k"] * 3
    assert index.radius(EYE, -1, limit=2).reason.tolist() == [None] * 3
    assert index.radius(np.empty((0, 3)), 0.5).ids.shape == (0, 0)
    assert index.radius(EYE[0], 5.0).ids.shape == (1, 0)


def test_radius_obeys_rules_and_masks(guarded: DenseIndex) -> None:
    assert guarded.radius(EYE[2], -1.0, principal=ALICE)[0].ids.tolist() == [10, 20]
    assert guarded.radius(EYE[2], -1.0, principal=ALICE, allow=[False, True])[0].ids.tolist() == [20]


@pytest.mark.parametrize("min_score", [np.nan, np.inf, -np.inf, True, "0.5", None, 1e300])
def test_radius_needs_a_finite_score(index: DenseIndex, min_score: Any) -> None:
    with pytest.raises(InvalidInput, match="min_score"):
        index.radius(EYE[0], min_score)


@pytest.mark.parametrize("limit", [-1, True, 2.0, "3"])
def test_radius_needs_a_whole_limit(index: DenseIndex, limit: Any) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        index.radius(EYE[0], 0.5, limit=limit)
