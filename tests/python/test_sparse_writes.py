# SPDX-License-Identifier: Apache-2.0
"""Rows and postings of SparseIndex stay together: parts, replaced and removed rows, failures and interrupts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pytest

from evidex import AllowMask, Columns, InvalidInput, SparseIndex, _core, where
from evidex.sparse import rows as rows_module
from evidex.sparse.documents import no_postings
from sparse_examples import bits, index_of, matrix

QUERIES = ["a", "b c", "d"]


def test_parts_are_merged_as_they_grow() -> None:
    """At most about log2 of the rows, and answers are those of one part.

    Seen red with parts never merged, and with only the last two kept.
    """
    one_by_one = SparseIndex()
    most = 0
    for i in range(200):
        one_by_one.add([i], [f"{'abcd'[i % 4]} w{i}"])
        most = max(most, one_by_one.stats()["parts"])
    assert 2 <= most <= 9
    whole = index_of([f"{'abcd'[i % 4]} w{i}" for i in range(200)])
    assert bits(one_by_one.search([*QUERIES, "w77"], 50)) == bits(whole.search([*QUERIES, "w77"], 50))
    stats, other = one_by_one.stats(), whole.stats()
    assert (stats["entries"], other["entries"]) == (800, 800)
    one_by_one.optimize()
    assert one_by_one.stats()["parts"] == 1
    assert bits(one_by_one.search([*QUERIES, "w77"], 50)) == bits(whole.search([*QUERIES, "w77"], 50))


def test_upserting_replaces_terms_and_metadata() -> None:
    index = SparseIndex(columns=Columns({"n": int}))
    index.add([1, 2], ["a b", "a"], metadata={"n": [1, 2]})
    index.upsert([2, 3], ["c", "a c"], metadata={"n": [20, 30]})
    assert index.search("a")[0].ids.tolist() == [1, 3]
    assert index.search("c", where=where("n") > 20)[0].ids.tolist() == [3]
    assert index.ids().tolist() == [1, 2, 3]
    index.optimize()
    assert index.search("c", where=where("n") == 20)[0].ids.tolist() == [2]
    assert bits(index.search(QUERIES)) == bits(index_of(["a b", "c", "a c"], [1, 2, 3]).search(QUERIES))


def test_removed_rows_are_no_hits_and_are_not_counted() -> None:
    index = index_of(["a", "a b", "b c", "d"])
    index.remove([1, 3])
    assert bits(index.search(QUERIES)) == bits(index_of(["a", "b c"], [0, 2]).search(QUERIES))
    assert index.add(None, ["a b"]).tolist() == [4]
    index.remove([0, 2, 4])
    assert index.search(QUERIES).counts.tolist() == [0, 0, 0]
    index.optimize()
    assert index.search(QUERIES).counts.tolist() == [0, 0, 0]
    assert (len(index), index.stats()["entries"]) == (0, 0)
    index.add([0], ["a"])
    assert index.search("a")[0].ids.tolist() == [0]


def test_adding_nothing_is_nothing() -> None:
    index = index_of(["a"])
    generation = index.stats()["generation"]
    nothing: list[tuple[str, ...] | list[str]] = [[], ()]
    for given in nothing:
        assert index.add(None, given).tolist() == []
        assert index.upsert([], given).tolist() == []
    assert index.stats()["generation"] == generation
    vectors = SparseIndex(analyzer=None)
    assert vectors.add(None, matrix([])).tolist() == []
    assert len(vectors) == 0


def test_a_write_that_fails_leaves_no_terms_behind() -> None:
    """Seen red with the part of a failed write kept for the next."""
    index = index_of(["a", "b"])
    with pytest.raises(InvalidInput, match="stored already"):
        index.add([0], ["zzz"])
    with pytest.raises(InvalidInput, match="groups"):
        index.add([5], ["zzz"], groups=[-1])
    index.remove([1])
    index.add([7], ["d"])
    assert index.search(["zzz", "d"]).counts.tolist() == [0, 1]
    assert index.search("d")[0].ids.tolist() == [7]


@contextmanager
def interrupted(name: str, after: bool) -> Iterator[None]:
    """An interrupt before or after a call of the core."""
    owner: Any = {"add": _core.RowStore, "optimize": _core.RowStore, "remove": _core.RowStore}.get(name, _core.Postings)
    inside = getattr(owner, name)

    def stand_in(*given: Any) -> Any:
        if after:
            inside(*given)
        raise KeyboardInterrupt

    with mock.patch.object(owner, name, staticmethod(stand_in) if owner is _core.Postings else stand_in):
        yield


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize(("name", "after"), [("add", False), ("add", True), ("gathered", False)])
def test_an_interrupted_add_has_happened_or_has_not(name: str, after: bool, columns: bool) -> None:
    """Rows that the store has come with their terms once somebody writes, or looks ids up; until then with neither.

    Seen red with the part dropped when the write fails.
    """
    index = SparseIndex(columns=Columns({"n": int}) if columns else None)
    index.add([1, 2], ["a", "b c"], metadata={"n": [1, 2]} if columns else None)
    before = bits(index.search(QUERIES))
    with interrupted(name, after), pytest.raises(KeyboardInterrupt):
        index.add([3], ["a b c d"], metadata={"n": [3]} if columns else None)
    assert bits(index.search(QUERIES)) == before
    texts = ["a", "b c", *(["a b c d"] if after else []), "d"]
    if after:
        assert index.search("d", allow=AllowMask.from_ids(index, [3]))[0].ids.tolist() == [3]
        if columns:
            assert index.search("d", where=where("n") == 3)[0].ids.tolist() == [3]
    index.add([4], ["d"])
    assert bits(index.search(QUERIES)) == bits(index_of(texts, [1, 2, 3, 4] if after else [1, 2, 4]).search(QUERIES))


@pytest.mark.parametrize(("name", "after"), [("optimize", False), ("optimize", True), ("gathered", False)])
def test_an_interrupted_optimize_changes_no_answer(name: str, after: bool) -> None:
    index = index_of(["a", "a b", "b c d", "d"])
    index.remove([0])
    before = bits(index.search(QUERIES))
    with interrupted(name, after), pytest.raises(KeyboardInterrupt):
        index.optimize()
    assert bits(index.search(QUERIES)) == before
    index.remove([3])
    assert bits(index.search(QUERIES)) == bits(index_of(["a b", "b c d"], [1, 2]).search(QUERIES))
    index.optimize()
    assert bits(index.search(QUERIES)) == bits(index_of(["a b", "b c d"], [1, 2]).search(QUERIES))


def test_numbers_that_no_row_has_are_passed_over_in_merging() -> None:
    """As between the segments of what was loaded."""
    parts = (
        rows_module.Part(0, no_postings(3, False)),
        rows_module.Part(7, index_of(["a"])._store.state.parts[0].postings),
    )
    [merged] = rows_module._merged(parts, False)
    assert (merged.begin, merged.postings.rows, merged.postings.entries) == (0, 8, 1)


def test_masks_made_before_rows_came_do_not_let_them_in() -> None:
    index = index_of(["a", "a"])
    mask = AllowMask.from_bools(index, np.array([True, False]))
    index.upsert([0], ["a a"])
    index.add([9], ["a"])
    assert index.search("a", allow=mask).counts.tolist() == [0]
    assert index.search("a", allow=AllowMask.from_ids(index, [0, 9]))[0].ids.tolist() == [0, 9]
