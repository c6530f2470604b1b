# SPDX-License-Identifier: Apache-2.0
"""where= on every read: it narrows what a principal may read and what allow= says, and never widens it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from evidex import ANY_IN_TENANT, UNRESTRICTED, AccessError, AllowMask, Columns, DenseIndex, InvalidInput, Policy, where
from examples import ALICE, ORIGIN
from where_examples import EN, LATE, NOBODY, READS, TYPES, stocked

EYE4 = np.eye(4, dtype=np.float32)


@pytest.fixture
def index() -> DenseIndex:
    return stocked()


@pytest.fixture
def guarded() -> DenseIndex:
    return stocked(policy=Policy())


READ = pytest.mark.parametrize("read", READS.values(), ids=READS)


@READ
def test_where_narrows(index: DenseIndex, read: Callable[..., list[int]]) -> None:
    """P12: changing it changes every read."""
    assert read(index) == list(range(10))
    assert read(index, where=EN) == [0, 2, 4, 6, 8]
    assert read(index, where=EN & LATE) == [6, 8]
    assert read(index, where=~EN) == [1, 3, 5, 7, 9]
    assert read(index, where=None) == list(range(10))


@READ
def test_no_predicate_and_one_that_matches_nothing_differ(index: DenseIndex, read: Callable[..., list[int]]) -> None:
    assert read(index, where=where("lang").isin([])) == []  # case A7
    assert read(index, where=where("lang") == "fr") == []


@READ
def test_where_never_grants(guarded: DenseIndex, read: Callable[..., list[int]]) -> None:
    """P1. Seen red: the matching rows returned in place of those that are readable as well."""
    mine = [0, 2, 3, 5, 6, 8, 9]
    everything = EN | ~EN
    assert read(guarded, principal=ALICE, where=everything) == mine
    assert read(guarded, principal=ALICE, where=EN) == [0, 2, 6, 8]
    assert read(guarded, principal=UNRESTRICTED, where=EN) == [0, 2, 4, 6, 8]
    assert read(guarded, principal=NOBODY, where=everything) == []
    for nobody in (None, "alice"):
        with pytest.raises(AccessError):
            read(guarded, principal=nobody, where=everything)
    assert guarded.count(principal=ALICE, where=EN) == 4


def test_counts_narrow_too(index: DenseIndex) -> None:
    assert (index.count(where=EN), index.count(where=EN & LATE), index.count()) == (5, 2, 10)
    assert index.explain(ORIGIN, 3, where=LATE).permitted == 4


def test_neighbours_narrow_too(index: DenseIndex) -> None:
    assert index.neighbours([1, 8], 3, where=[EN, LATE]).ids.tolist() == [[0, 2, 4], [8, 7, 6]]


@pytest.mark.parametrize("name", ["search", "radius", "explain"])
def test_where_and_allow_and_permission_meet(guarded: DenseIndex, name: str) -> None:
    read = READS[name]
    mine = guarded.ids(principal=ALICE)
    bools = mine < 7
    allows: list[Any] = [
        bools,
        AllowMask.from_bools(guarded, bools, principal=ALICE),
        AllowMask.from_ids(guarded, range(7)),
        AllowMask.from_callable(guarded, lambda i: i < 7, principal=ALICE),
    ]
    for allow in allows:
        assert read(guarded, principal=ALICE, allow=allow, where=EN) == [0, 2, 6]
        assert read(guarded, principal=ALICE, allow=allow, where=EN & LATE) == [6]
    assert guarded.ids(principal=ALICE).tolist() == mine.tolist()


def test_one_predicate_for_each_query(index: DenseIndex) -> None:
    """Masks are told apart by both halves. Seen red: the key of a query without its predicate, or without its allow."""
    queries = np.zeros((4, 4), np.float32)
    predicates = [EN, None, LATE, where("lang") == "en"]
    found = index.search(queries, 10, where=predicates)
    assert [sorted(ids.tolist()) for ids, _ in found] == [
        [0, 2, 4, 6, 8],
        list(range(10)),
        [5, 6, 7, 8],
        [0, 2, 4, 6, 8],
    ]
    near = index.radius(queries, -1e9, where=tuple(predicates))
    assert [sorted(ids.tolist()) for ids, _ in near] == [sorted(ids.tolist()) for ids, _ in found]
    low, high = AllowMask.from_ids(index, range(6)), AllowMask.from_ids(index, range(4, 10))
    for allow in ([low, high, low, high], np.array([[i < 6 for i in range(10)], [i >= 4 for i in range(10)]] * 2)):
        both = index.search(queries, 10, allow=allow, where=predicates)
        assert [sorted(ids.tolist()) for ids, _ in both] == [[0, 2, 4], [4, 5, 6, 7, 8, 9], [5], [4, 6, 8]]
        same = index.search(queries, 10, allow=allow, where=EN)
        assert [sorted(ids.tolist()) for ids, _ in same] == [[0, 2, 4], [4, 6, 8]] * 2
    shared = index.search(queries, 10, allow=low, where=predicates)
    assert [sorted(ids.tolist()) for ids, _ in shared] == [[0, 2, 4], [0, 1, 2, 3, 4, 5], [5], [0, 2, 4]]
    assert index.search(np.zeros((0, 4)), 3, where=[]).ids.shape == (0, 3)
    with pytest.raises(InvalidInput, match="where: 4 predicates given for 3 queries"):
        index.search(queries[:3], where=predicates)


MALFORMED: list[tuple[Any, str]] = [
    ({"lang": "en"}, "where: expected a predicate"),
    (where("lang"), "compare the column with a value"),
    (True, "where: expected a predicate"),
    ("lang == 'en'", "where: expected a predicate"),
    (lambda row: True, "AllowMask.from_callable"),
    (np.ones(10, bool), "where: expected a predicate"),
    (where("other") == 1, "no column of this name; there are 'lang' .str., 'year' .int."),
    (where("lang") == 1, r"where\('lang'\): expected a str, got 1"),
    (where("year") == "2020", r"where\('year'\): expected an int"),
    (where("year").startswith("2"), "only str has prefixes"),
    (EN | (where("other") == 1), "no column of this name"),
]


@READ
@pytest.mark.parametrize(("malformed", "said"), MALFORMED)
def test_malformed_filters_are_refused(
    index: DenseIndex, guarded: DenseIndex, read: Callable[..., list[int]], malformed: Any, said: str
) -> None:  # case A13
    empty = DenseIndex(4, columns=Columns(TYPES))
    for some in (index, empty):
        for _ in range(2):  # a kept mask must not change that
            with pytest.raises(InvalidInput, match=said):
                read(some, where=malformed)
    with pytest.raises(InvalidInput, match=said):
        read(guarded, principal=NOBODY, where=malformed)


def test_one_malformed_filter_of_several_is_refused(index: DenseIndex) -> None:
    for malformed, _ in MALFORMED:
        with pytest.raises(InvalidInput, match="where"):
            index.search(np.zeros((2, 4)), where=[EN, malformed])
    with pytest.raises(InvalidInput, match="where"):
        index.ids(where=[EN])  # type: ignore[arg-type]


@READ
def test_an_index_without_columns_refuses(read: Callable[..., list[int]]) -> None:
    plain = DenseIndex(4)
    plain.add([1], np.ones((1, 4)))
    with pytest.raises(InvalidInput, match="where: this index has no columns"):
        read(plain, where=EN)
    for write in (plain.add, plain.upsert):
        with pytest.raises(InvalidInput, match="metadata: this index has no columns"):
            write([2], np.ones((1, 4)), metadata={"lang": ["en"]})
    assert (len(plain), dict(plain.columns)) == (1, {})


def test_hidden_values_change_nothing(guarded: DenseIndex) -> None:
    """P2: the index without the rows of the other tenant answers the same, errors included."""
    alone = DenseIndex(4, metric="l2", policy=guarded.policy, columns=Columns(TYPES))
    assert guarded.policy is not None
    rule = guarded.policy.rule("acme", ANY_IN_TENANT)
    for i in guarded.ids(principal=ALICE).tolist():
        values: dict[str, list[Any]] = {
            "lang": [None if i == 9 else ("en", "de")[i % 2]],
            "year": [None if i == 9 else 2015 + i],
        }
        alone.add([i], [[10.0 * i, 0, 0, 0]], rule, metadata=values)
    for predicate in (EN, ~EN, LATE, where("lang").isin(["de", "x"]), where("year").is_missing(), EN | LATE):
        one, other = (some.search(EYE4, 5, principal=ALICE, where=predicate) for some in (guarded, alone))
        assert one.ids.tobytes() == other.ids.tobytes() and one.scores.tobytes() == other.scores.tobytes()
        assert guarded.explain(ORIGIN, principal=ALICE, where=predicate) == alone.explain(
            ORIGIN, principal=ALICE, where=predicate
        )
