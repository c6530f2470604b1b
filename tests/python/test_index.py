# SPDX-License-Identifier: Apache-2.0
"""DenseIndex: making one, numbers, writing, calling. Every bad argument is a typed error that changes nothing."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pytest

from evidex import (
    AccessError,
    DenseIndex,
    InvalidInput,
    NotFound,
    Policy,
    _core,
    errors,
)
from examples import ALICE, EYE


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
    assert repr(DenseIndex(4, policy=policy)) == "DenseIndex(0 rows, dim=4, metric='cosine', codec='float32', guarded)"
    assert "open" in repr(DenseIndex(4))


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


@pytest.mark.parametrize(("prescan", "rows"), [(False, 9000), (True, 72000)])
def test_threads_acts(prescan: bool, rows: int) -> None:  # case B20
    """A row of codes is less work than a row of float32, so more of them are needed before a thread pays."""
    index = DenseIndex(512, metric="ip", prescan=prescan)
    index.add(None, np.ones((rows, 512), np.float32))
    query = np.ones(512, np.float32)
    assert index.explain(query, threads=1).threads == 1
    assert index.explain(query, threads=3).threads == 3
    assert index.explain(query).threads == min(_core.default_threads(), 4)


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


SIGNATURES = {
    "search": (["queries", "k"], ["principal", "allow", "where", "group_by", "threads", "recall", "rescore", "plan"]),
    "radius": (["queries", "min_score"], ["limit", "principal", "allow", "where", "threads"]),
    "explain": (["query", "k"], ["principal", "allow", "where", "group_by", "threads", "recall", "rescore", "plan"]),
    "add": (["ids", "vectors", "rules", "groups"], ["metadata"]),
    "upsert": (["ids", "vectors", "rules", "groups"], ["metadata"]),
    "remove": (["ids"], []),
    "get": (["ids"], ["principal"]),
    "ids": ([], ["principal", "where"]),
    "count": ([], ["principal", "where"]),
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
