# SPDX-License-Identifier: Apache-2.0
"""DenseIndex and Hits: every argument acts, every bad one is a typed error that leaves the index as it was."""

from __future__ import annotations

import copy
import inspect
import logging
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from evidex import (
    ANY_IN_TENANT,
    UNRESTRICTED,
    AccessError,
    AllowMask,
    DenseIndex,
    Explanation,
    InvalidInput,
    NotFound,
    Policy,
    Principal,
    StaleMask,
    _core,
    errors,
)

EYE = np.eye(3, dtype=np.float32)


@pytest.fixture
def index() -> DenseIndex:
    index = DenseIndex(3)
    index.add([10, 20, 30], EYE)
    return index


@pytest.fixture
def guarded() -> DenseIndex:
    policy = Policy()
    index = DenseIndex(3, policy=policy)
    index.add(
        [10, 20, 30], EYE, [policy.rule("acme", {"a"}), policy.rule("acme", ANY_IN_TENANT), policy.rule("z", {"a"})]
    )
    return index


ALICE = Principal("alice", "acme", {"a"})


# --- making one


@pytest.mark.parametrize("dim", [0, -1, True, 2.0, "3", None, 2**40])
def test_dim_is_a_positive_whole_number(dim: Any) -> None:
    with pytest.raises(InvalidInput, match="dim"):
        DenseIndex(dim)


@pytest.mark.parametrize("metric", ["euclid", "", None, 3, "IP", ["ip"]])
def test_metric_is_one_of_the_list(metric: Any) -> None:
    with pytest.raises(InvalidInput, match="inner_product"):
        DenseIndex(3, metric=metric)


def test_policy_is_a_policy() -> None:
    with pytest.raises(InvalidInput, match="policy"):
        DenseIndex(3, policy="strict")  # type: ignore[arg-type]


def test_each_constructor_argument_acts() -> None:  # case B20
    assert DenseIndex(4).dim == 4
    assert DenseIndex(4).metric == "cosine"
    assert DenseIndex(4).policy is None
    policy = Policy()
    assert DenseIndex(4, policy=policy).policy is policy
    for alias, name in (("ip", "inner_product"), ("l2", "squared_l2"), ("cos", "cosine")):
        assert DenseIndex(4, metric=alias).metric == DenseIndex(4, metric=name).metric == name
    assert repr(DenseIndex(4, policy=policy)) == "DenseIndex(0 rows, dim=4, metric='cosine', guarded)"
    assert "open" in repr(DenseIndex(4))


# --- numbers


@pytest.mark.parametrize("k", [-1, True, False, 2.0, "3", None, np.float32(2), np.bool_(True)])
def test_k_is_a_whole_number(index: DenseIndex, k: Any) -> None:  # case B21
    for call in (index.search, index.explain):
        with pytest.raises(InvalidInput, match="k: expected a whole number"):
            call(EYE[0], k)


def test_k_of_zero_and_beyond(index: DenseIndex) -> None:  # case B21
    assert index.search(EYE, 0).ids.shape == (3, 0)
    assert index.search(EYE, 0).counts.tolist() == [0, 0, 0]
    assert index.search(EYE, 0).reason.tolist() == [None] * 3
    hits = index.search(EYE[0], np.int64(5))
    assert hits.ids.tolist() == [[10, 20, 30, -1, -1]]
    assert hits.scores.tolist() == [[1.0, 0.0, 0.0, -np.inf, -np.inf]]


@pytest.mark.parametrize("threads", [0, -1, True, 1.0, "2", 2000])
def test_threads_is_a_sane_number(index: DenseIndex, threads: Any) -> None:
    for call in (index.search, index.explain):
        with pytest.raises(InvalidInput, match="threads"):
            call(EYE[0], 1, threads=threads)


def test_threads_acts() -> None:  # case B20
    index = DenseIndex(512, metric="ip")
    index.add(None, np.ones((9000, 512), np.float32))
    query = np.ones(512, np.float32)
    assert index.explain(query, threads=1).threads == 1
    assert index.explain(query, threads=3).threads == 3
    assert index.explain(query).threads == min(_core.default_threads(), 4)


# --- writing


def test_a_refused_write_changes_nothing(index: DenseIndex) -> None:
    """P8. Seen red: rows published before the batch was checked to its end."""
    before = index.search(EYE, 3)
    generation = index.explain(EYE[0]).operator
    nan = EYE.copy()
    nan[2, 1] = np.nan
    refused: list[Any] = [
        lambda: index.add([1, 2, 1], EYE),  # case D6
        lambda: index.add([1, 20, 3], EYE),
        lambda: index.add([1, 2, 3], nan),  # case B5
        lambda: index.add([1, 2, 3], EYE * 0),  # case B6
        lambda: index.add([1, 2], EYE),
        lambda: index.add(None, nan),
        lambda: index.upsert([10, 20, 10], EYE),
        lambda: index.upsert([10, 20, 30], nan),
        lambda: index.remove([10, 99]),
        lambda: index.remove([10, 10]),
        lambda: index.add([1], EYE[:1], rules=[]),
    ]
    for call in refused:
        with pytest.raises((InvalidInput, NotFound)):
            call()
    after = index.search(EYE, 3)
    assert after.ids.tobytes() == before.ids.tobytes()
    assert index.explain(EYE[0]).operator == generation
    assert len(index) == 3


def test_messages_name_the_row() -> None:  # case B5
    index = DenseIndex(3)
    rows = np.ones((9, 3), np.float32)
    rows[7, 2] = np.nan
    with pytest.raises(InvalidInput, match="vectors: row 7 holds -?nan at position 2"):
        index.add(np.arange(9), rows)
    with pytest.raises(InvalidInput, match="row 7 is all zeros"):
        index.add(np.arange(9), np.where(np.isnan(rows).any(1, keepdims=True), 0, rows))
    with pytest.raises(InvalidInput, match="id 4 stands in rows 1 and 3"):
        index.add([3, 4, 5, 4], np.ones((4, 3)))
    index.add([4], np.ones((1, 3)))
    with pytest.raises(InvalidInput, match="row 1 has id 4, which is stored already; use upsert"):
        index.add([3, 4], np.ones((2, 3)))
    with pytest.raises(NotFound, match="id 5 is not stored"):
        index.remove([4, 5])


def test_automatic_ids_run_out() -> None:  # case B16
    index = DenseIndex(1, metric="ip")
    index.add([2**63 - 2], [[1.0]])
    assert index.add(None, [[1.0]]).tolist() == [2**63 - 1]
    with pytest.raises(InvalidInput, match="used up"):
        index.add(None, [[1.0]])
    index.remove([2**63 - 1])
    with pytest.raises(InvalidInput, match="used up"):
        index.add(None, [[1.0]])


def test_rules_and_openness_must_fit(index: DenseIndex, guarded: DenseIndex) -> None:
    policy = guarded.policy
    assert policy is not None
    rule = policy.rule("acme", {"a"})
    with pytest.raises(InvalidInput, match="open"):
        index.add([1], EYE[:1], rules=rule)
    missing: list[Any] = [None, [rule, None]]
    for rules in missing:
        with pytest.raises(AccessError, match="rule"):
            guarded.add([1, 2], EYE[:2], rules=rules)
    wrong: list[Any] = [[rule], [rule] * 3, [rule, "acme"], [Policy().rule("acme", {"a"})] * 2, "ab", 7]
    for rules in wrong:
        with pytest.raises(InvalidInput, match="rules"):
            guarded.add([1, 2], EYE[:2], rules=rules)
    assert len(guarded) == 3


# --- reading


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
        operator={"generation": 2, "rows": 3, "removed": 1},
    )
    assert guarded.explain(EYE[0], principal=ALICE).operator is None
    assert guarded.explain(EYE[0], principal=UNRESTRICTED).operator is not None
    assert guarded.explain(EYE[0], 1, principal=ALICE).reason is None
    assert guarded.explain(EYE[0], principal=ALICE, allow=[True, False]).permitted == 1
    with pytest.raises(InvalidInput, match="one query"):
        index.explain(EYE)


# --- masks


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


# --- hits


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


# --- calling


SIGNATURES = {
    "search": (["queries", "k"], ["principal", "allow", "threads"]),
    "explain": (["query", "k"], ["principal", "allow", "threads"]),
    "add": (["ids", "vectors", "rules"], []),
    "upsert": (["ids", "vectors", "rules"], []),
    "remove": (["ids"], []),
    "get": (["ids"], ["principal"]),
    "ids": ([], ["principal"]),
    "count": ([], ["principal"]),
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_positional_keyword_missing_and_extra_arguments(name: str) -> None:  # case C2
    by_position, by_keyword = SIGNATURES[name]
    signature = inspect.signature(getattr(DenseIndex, name))
    kinds = {p.name: p.kind for p in signature.parameters.values() if p.name != "self"}
    assert [n for n, kind in kinds.items() if kind is inspect.Parameter.POSITIONAL_OR_KEYWORD] == by_position
    assert [n for n, kind in kinds.items() if kind is inspect.Parameter.KEYWORD_ONLY] == by_keyword


def test_both_ways_of_calling_agree(index: DenseIndex) -> None:  # case C2
    assert index.search(EYE[0], 2).ids.tolist() == index.search(k=2, queries=EYE[0]).ids.tolist()
    index.add(vectors=EYE[:1], ids=[1])
    index.upsert(rules=None, vectors=EYE[:1], ids=[1])
    index.remove(ids=[1])
    wrong: list[Any] = [
        lambda: index.search(),  # type: ignore[call-arg]
        lambda: index.search(EYE[0], 2, ALICE),  # type: ignore[call-arg]
        lambda: index.search(EYE[0], fetch_k=5),  # type: ignore[call-arg]
        lambda: index.add([1]),  # type: ignore[call-arg]
        lambda: index.get([10], 3),  # type: ignore[call-arg, arg-type]
        lambda: DenseIndex(3, "ip"),  # type: ignore[call-arg]
        lambda: DenseIndex(),  # type: ignore[call-arg]
    ]
    for call in wrong:
        with pytest.raises(TypeError):
            call()


def test_copies_and_pickles_are_refused_clearly(index: DenseIndex) -> None:  # case C10
    for make in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="pickle"):
            make(index)


@pytest.mark.parametrize("name", ["InvalidInput", "NotFound", "Cancelled"])
def test_core_errors_arrive_as_their_python_classes(name: str) -> None:
    with pytest.raises(getattr(errors, name), match="raised on purpose"):
        _core._testing.raise_error(name)
    with pytest.raises(InvalidInput, match="unknown"):
        _core._testing.raise_error("Else")
