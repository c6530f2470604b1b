# SPDX-License-Identifier: Apache-2.0
"""DenseIndex: allow= with one mask for each query (P12, cases A16, B20, G5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import reference
from evidex import AllowMask, DenseIndex, InvalidInput, StaleMask
from examples import ALICE, EYE, ORIGIN, line
from scripts import run

QUERIES = np.zeros((3, 4))  # of the index that line() makes, where the nearest rows have the lowest numbers


def found(index: DenseIndex, allow: Any, k: int = 2, **options: Any) -> list[list[int]]:
    ids: list[list[int]] = index.search(QUERIES, k, allow=allow, **options).ids.tolist()
    return ids


def test_every_form_of_one_mask_for_each_query() -> None:
    index = line(5)
    table = np.array([[0, 1, 1, 0, 0], [0, 0, 0, 0, 0], [1, 0, 0, 0, 1]], bool)
    masks = [AllowMask.from_bools(index, row) for row in table]
    expected = [[1, 2], [-1, -1], [0, 4]]
    forms: list[Any] = [
        masks,
        tuple(masks),
        table,
        np.asfortranarray(table),
        list(table),
        tuple(table),
        table.tolist(),
        [masks[0], table[1], table[2].tolist()],
    ]
    for allow in forms:
        assert found(index, allow) == expected
        assert found(index, allow, group_by=True) == expected
        assert index.radius(QUERIES, -1e9, allow=allow).ids.tolist() == expected
    assert index.search(QUERIES, 2, allow=masks).counts.tolist() == [2, 0, 2]


def test_a_mask_may_be_named_many_times() -> None:
    """Seen red: hits written in the order of the masks."""
    index = line(6)
    odd, none = AllowMask.from_ids(index, [1, 3, 5]), AllowMask.from_ids(index, [])
    assert found(index, [odd, none, odd]) == [[1, 3], [-1, -1], [1, 3]]
    assert found(index, [odd] * 3) == found(index, odd) == [[1, 3]] * 3
    queries = np.arange(400.0).reshape(100, 4) % 60
    each = [(odd, none)[query % 3 == 0] for query in range(100)]
    hits = index.search(queries, 3, allow=each)
    for query in range(100):
        assert hits[query].ids.tolist() == index.search(queries[query], 3, allow=each[query])[0].ids.tolist()


@pytest.mark.parametrize("form", [list, tuple, np.array])
def test_bools_in_a_row_are_one_mask_for_all(form: Callable[[list[bool]], Any]) -> None:
    """Also where there are as many rows as queries. Seen red: every list taken for one mask for each query."""
    index = line(3)
    assert found(index, form([False, True, True])) == [[1, 2]] * 3
    assert found(index, [np.False_, np.True_, np.True_]) == [[1, 2]] * 3


def test_one_query_has_a_list_of_one_mask() -> None:
    index = line(3)
    mask = AllowMask.from_ids(index, [2])
    for allow in ([mask], (mask,), [[False, False, True]], np.array([[False, False, True]])):
        assert index.search(ORIGIN, 1, allow=allow).ids.tolist() == [[2]]
        assert index.explain(ORIGIN, 1, allow=allow).hits == ((2, -400.0),)
        assert index.explain(ORIGIN, 1, allow=allow).permitted == 1


def test_no_queries_have_no_masks() -> None:
    index = line(3)
    assert index.search(np.empty((0, 4)), 2, allow=np.empty((0, 3), bool)).ids.shape == (0, 2)
    assert index.radius(np.empty((0, 4)), 0.0, allow=np.empty((0, 3), bool)).ids.shape == (0, 0)


def refusals(index: DenseIndex) -> list[tuple[Any, str]]:
    mask = AllowMask.from_ids(index, [1])
    good = [True] * 5
    return [
        ([mask] * 2, "2 masks given for 3 queries; pass one for all, or one for each"),
        ([mask], "1 masks given for 3 queries"),
        ((mask,) * 4, "4 masks given for 3 queries"),
        (np.ones((2, 5), bool), "2 masks given for 3 queries"),
        ([good] * 4, "4 masks given for 3 queries"),
        (np.ones((3, 4), bool), r"expected shape \[5\], one bool for each of the ids .*, got shape \[4\]"),
        ([good, good, [True] * 4], r"expected shape \[5\]"),
        ([mask, mask, [True] * 6], r"expected shape \[5\]"),
        (np.ones((3, 5), int), "expected AllowMasks or bool arrays, got dtype int64"),
        (np.ones((3, 5)), "expected AllowMasks or bool arrays, got dtype float64"),
        ([good, good, [1] * 5], "expected AllowMasks or bool arrays, got dtype int64"),
        (np.ones((3, 5, 1), bool), r"expected shape \[5\]"),
        ([mask, mask, None], "expected AllowMasks or bool arrays, got dtype object"),
        ([mask, mask, "all"], "expected AllowMasks or bool arrays"),
        ([mask, mask, bool], "expected AllowMasks or bool arrays"),  # case A16
        ([mask, mask, [mask]], "expected AllowMasks or bool arrays"),
        ([bool] * 3, "expected an AllowMask or a bool array"),
        ({1: mask, 2: mask, 3: mask}, "expected an AllowMask or a bool array"),
        ((m for m in [mask] * 3), "expected an AllowMask or a bool array"),
        ([mask, mask, np.ma.MaskedArray(good)], "masked arrays are not accepted"),
    ]


@pytest.mark.parametrize("number", range(len(refusals(line(5)))))
def test_what_is_no_mask_for_each_query_is_refused(number: int) -> None:  # P3, P12
    """Seen red: < for != between the number of masks and of queries."""
    index = line(5)
    allow, message = refusals(index)[number]
    for call in (index.search, index.radius):
        with pytest.raises(InvalidInput, match=f"allow: .*{message}"):
            call(QUERIES, 2, allow=allow)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_stale_mask_refuses_the_batch(place: int) -> None:  # P3
    """Seen red: a mask's bits taken without asking for its layout."""
    index, other = line(5), line(5)
    masks = [AllowMask.from_ids(index, [1])] * 3
    masks[place] = AllowMask.from_ids(other, [1])
    for call in (index.search, index.radius):
        with pytest.raises(StaleMask, match="layout"):
            call(QUERIES, 2, allow=masks)


def test_rows_newer_than_a_mask_are_denied_in_a_list_too() -> None:
    index = line(3)
    old = AllowMask.from_ids(index, [0, 1, 2])
    index.add([3], np.zeros((1, 4)))
    index.upsert([1], np.zeros((1, 4)))
    new = AllowMask.from_ids(index, [0, 1, 2, 3])
    assert found(index, [old, new, old], 4) == [[0, 2, -1, -1], [0, 1, 3, 2], [0, 2, -1, -1]]
    with pytest.raises(InvalidInput, match=r"expected shape \[4\]"):
        found(index, np.ones((3, 3), bool))


def test_a_list_of_masks_never_widens_a_grant(guarded: DenseIndex) -> None:  # P3, cases A12, A13
    """Seen red: the masks of a list taken without the grant."""
    everything, hidden = AllowMask.from_ids(guarded, [10, 20, 30]), AllowMask.from_ids(guarded, [30])
    hits = guarded.search(EYE, 3, principal=ALICE, allow=[everything, hidden, everything])
    assert hits.ids.tolist() == [[10, 20, -1], [-1, -1, -1], [10, 20, -1]]
    hits = guarded.search(EYE[:2], 3, principal=ALICE, allow=[[False, True], [True, False]])
    assert hits.ids.tolist() == [[20, -1, -1], [10, -1, -1]]
    with pytest.raises(InvalidInput, match=r"shape \[2\]"):
        guarded.search(EYE[:2], 3, principal=ALICE, allow=[[False, True, True], [True, False, True]])


def test_each_of_many_masks_is_that_of_its_query() -> None:  # cases A16, G5
    """Mask i allows ids below i, the first one none. In a process of its own, so that a hang would show. Seen red:
    queries of several masks taken together under the first one's."""
    out = run(
        """
        import numpy as np, evidex
        rng = np.random.default_rng(0)
        index = evidex.DenseIndex(32)
        index.add(np.arange(4096), rng.standard_normal((4096, 32)))
        queries = rng.standard_normal((128, 32))
        for step in (1, 32):  # with the larger one codes are read first from the middle on
            limits = np.arange(128) * step
            masks = [evidex.AllowMask.from_ids(index, np.arange(limit)) for limit in limits]
            bools = np.arange(4096) < limits[:, None]
            order = rng.permutation(128)
            single = [index.search(queries[q], 10, allow=masks[q]) for q in order]
            for threads in (1, 8):
                for allow in ([masks[q] for q in order], bools[order]):
                    batch = index.search(queries[order], 10, allow=allow, threads=threads)
                    assert batch.ids.tobytes() == b"".join(hits.ids.tobytes() for hits in single)
                    assert batch.scores.tobytes() == b"".join(hits.scores.tobytes() for hits in single)
                    assert batch.counts.tolist() == np.minimum(limits[order], 10).tolist()
                    assert (batch.ids.max(axis=1) < limits[order]).all()
        print("done")
        """
    )
    assert out == "done"


@pytest.mark.parametrize("codec", reference.CODECS)
def test_above_padding_width_follows_the_largest_mask(codec: str) -> None:  # P6, case B21
    index = line(5, codec=codec)
    masks = [AllowMask.from_ids(index, ids) for ids in ([1], [1, 2, 3], [])]
    hits = index.search(QUERIES, 2**40, allow=masks)
    assert hits.ids.shape == (3, 3)
    assert hits.counts.tolist() == [1, 3, 0]


@pytest.mark.parametrize("allow", [[], ()])
def test_no_masks_for_no_queries(allow: Any) -> None:
    """Seen red: an empty list taken for bools of another dtype."""
    index = DenseIndex(2)
    index.add([1], [[1.0, 0.0]])
    assert index.search(np.empty((0, 2)), 3, allow=allow).ids.shape == (0, 3)
