# SPDX-License-Identifier: Apache-2.0
"""DenseIndex: groups= and group_by= (P12, case G9). What they find is in property/test_groups.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reference
from evidex import DenseIndex, Hits, InvalidInput, Policy
from examples import ALICE, EYE, line


def grouped(hits: Hits) -> list[tuple[int, int]]:
    """(id, group) of the first query's hits."""
    assert hits.groups is not None
    count = int(hits.counts[0])
    return list(zip(hits.ids[0, :count].tolist(), hits.groups[0, :count].tolist(), strict=True))


@pytest.mark.parametrize("group_by", [1, 0, None, "yes", "doc", 1.0])
def test_group_by_is_true_or_false(index: DenseIndex, group_by: Any) -> None:
    """Seen red: bool() for the check."""
    for call in (index.search, index.explain):
        with pytest.raises(InvalidInput, match="group_by: expected True or False"):
            call(EYE[0], group_by=group_by)


WRONG_GROUPS: list[tuple[Any, str]] = [
    ([1, -1, 2], "groups: expected integers from 0 to .*, got -1 at position 1"),
    (np.array([1, 2, 2**63], np.uint64), "groups: .*got 9223372036854775808 at position 2"),
    ([1, 2], "groups: 2 given for 3 vectors; pass one group per row"),
    ([1, 2, 3, 4], "groups: 4 given for 3 vectors"),
    (5, "groups: 1 given for 3 vectors"),
    ([], "groups: 0 given for 3 vectors"),
    ([1.0, 2.0, 3.0], "groups: expected integers .*got dtype float64"),
    ([True, False, True], "groups: expected integers .*got dtype bool"),
    (["a", "b", "c"], "groups: expected integers"),
    ([None, 1, 2], "groups: expected integers"),
    ([[1, 2, 3]], r"groups: expected shape \[n\], got shape \[1, 3\]"),
]


@pytest.mark.parametrize(("groups", "message"), WRONG_GROUPS)
def test_groups_are_one_whole_number_for_each_row(index: DenseIndex, groups: Any, message: str) -> None:
    before = index.explain(EYE[0]).operator
    calls: list[Any] = [
        lambda: index.add([1, 2, 3], EYE, groups=groups),
        lambda: index.add(None, EYE, groups=groups),
        lambda: index.upsert([10, 20, 3], EYE, groups=groups),
    ]
    for call in calls:
        with pytest.raises(InvalidInput, match=message):
            call()
    assert index.explain(EYE[0]).operator == before
    assert grouped(index.search(EYE[0], 3, group_by=True)) == [(10, 10), (20, 20), (30, 30)]


def test_groups_may_be_any_integers() -> None:
    for groups in ([0, 2**63 - 1, 5], np.array([0, 2**63 - 1, 5], ">u8"), (0, 2**63 - 1, 5)):
        index = DenseIndex(3)
        index.add([10, 20, 30], EYE, groups=groups)
        assert grouped(index.search(EYE[0], 3, group_by=True)) == [(10, 0), (20, 2**63 - 1), (30, 5)]


def test_a_row_without_a_group_is_its_own_numbered_like_its_id() -> None:
    index = DenseIndex(3)
    index.add([10, 20], EYE[:2])
    assert index.add(None, EYE[:1]).tolist() == [21]
    index.upsert([30], EYE[2:])
    assert grouped(index.search(EYE[0], 5, group_by=True)) == [(10, 10), (21, 21), (20, 20), (30, 30)]
    index.add([40], EYE[2:], groups=[20])  # so a number that is some row's id joins that row
    assert grouped(index.search(EYE[2], 5, group_by=True)) == [(30, 30), (40, 20), (10, 10), (21, 21)]


def test_groups_act() -> None:  # case B20
    index = DenseIndex(3)
    index.add([10, 20, 30], EYE, groups=[7, 7, 8])
    assert index.add(None, EYE[1:2], groups=[9]).tolist() == [31]
    assert grouped(index.search(EYE[0], 5, group_by=True)) == [(10, 7), (30, 8), (31, 9)]
    assert index.search(EYE[0], 5).ids[0].tolist() == [10, 20, 30, 31, -1]
    assert index.search(EYE[0], 5).groups is None
    explained = index.explain(EYE[0], 5, group_by=True)
    assert [i for i, _ in explained.hits] == [10, 30, 31]
    assert (explained.returned, explained.permitted, explained.reason) == (3, 4, "fewer_than_k")
    assert [i for i, _ in index.explain(EYE[0], 5).hits] == [10, 20, 30, 31]


@pytest.mark.parametrize("codec", reference.CODECS)
def test_upsert_replaces_the_group(codec: str) -> None:
    """Seen red: each row stored as its own group."""
    index = DenseIndex(3, codec=codec)
    index.add([10, 20, 30], EYE, groups=[1, 1, 1])
    assert grouped(index.search(EYE[1], 3, group_by=True)) == [(20, 1)]
    index.upsert([10], EYE[:1], groups=[2])
    assert grouped(index.search(EYE[1], 3, group_by=True)) == [(20, 1), (10, 2)]
    index.upsert([30], EYE[2:])
    assert grouped(index.search(EYE[1], 3, group_by=True)) == [(20, 1), (10, 2), (30, 30)]
    index.remove([20])
    assert grouped(index.search(EYE[1], 3, group_by=True)) == [(10, 2), (30, 30)]
    index.add([20], EYE[1:2])
    assert grouped(index.search(EYE[1], 3, group_by=True)) == [(20, 20), (10, 2), (30, 30)]


def test_places_beyond_the_groups_hold_nothing() -> None:  # P6
    index = line(5, codec="float32")
    index.upsert(np.arange(5), np.ones((5, 4)), groups=[3, 3, 4, 4, 4])
    hits = index.search(np.ones((2, 4)), 4, group_by=True)
    assert hits.groups is not None
    assert hits.ids.tolist() == [[0, 2, -1, -1]] * 2
    assert hits.groups.tolist() == [[3, 4, -1, -1]] * 2
    assert hits.scores.tolist() == [[0, 0, -np.inf, -np.inf]] * 2
    assert hits.groups.dtype == np.int64
    assert hits.reason.tolist() == ["fewer_than_k"] * 2
    assert index.search(np.ones(4), 0, group_by=True).ids.shape == (1, 0)


@pytest.mark.parametrize("rows", [600, 6000])
def test_top_documents_not_top_chunks(rows: int) -> None:  # case G9
    """One document whose chunks would fill the list, among others; the same with and without a pre-scan. Seen red:
    seeds of a grouped search chosen by chunk."""
    rng = np.random.default_rng(5)
    query = rng.standard_normal(32)
    chunks = query + 3 * rng.standard_normal((rows, 32))
    documents = np.arange(rows) // 6
    chunks[60:66] = query + 0.01 * rng.standard_normal((6, 32))
    found = []
    for prescan in (False, True):
        index = DenseIndex(32, prescan=prescan)
        index.add(None, chunks, groups=documents)
        assert set(documents[index.search(query, 5).ids[0]].tolist()) == {10}
        hits = index.search(query, 5, group_by=True)
        assert hits.groups is not None
        assert hits.groups[0, 0] == 10
        assert len(set(hits.groups[0].tolist())) == 5
        assert (documents[hits.ids[0]] == hits.groups[0]).all()
        every = index.search(query, rows).ids[0]
        _, first = np.unique(documents[every], return_index=True)
        assert hits.ids[0].tolist() == every[np.sort(first)[:5]].tolist()
        found.append(hits.ids.tolist())
    assert found[0] == found[1]


def test_hidden_chunks_speak_for_no_document() -> None:  # cases G9, A10
    """A document that the principal may not read is absent; one that it narrows to speaks with the chunks left."""
    policy = Policy()
    index = DenseIndex(3, policy=policy)
    mine, others = policy.rule("acme", {"a"}), policy.rule("acme", {"b"})
    rows = [[1.0, 0, 0], [0.8, 0.6, 0], [0.9, 0.1, 0], [0, 1, 0]]
    index.add([1, 2, 3, 4], np.array(rows), [others, mine, others, mine], groups=[8, 5, 6, 7])
    hits = index.search([1.0, 0, 0], 3, principal=ALICE, group_by=True)
    assert grouped(hits) == [(2, 5), (4, 7)]
    narrowed = index.search([1.0, 0, 0], 3, principal=ALICE, allow=[False, True], group_by=True)
    assert grouped(narrowed) == [(4, 7)]
    index.add([9], [[1.0, 0, 0]], mine, groups=[5])
    assert grouped(index.search([1.0, 0, 0], 3, principal=ALICE, group_by=True)) == [(9, 5), (4, 7)]
    without = index.search([1.0, 0, 0], 3, principal=ALICE, allow=[True, True, False], group_by=True)
    assert grouped(without) == [(2, 5), (4, 7)]
