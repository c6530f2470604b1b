# SPDX-License-Identifier: Apache-2.0
"""A function becomes an allow mask once, and no search ever calls it (case A16)."""

from __future__ import annotations

import numpy as np
import pytest

from evidex import ANY_IN_TENANT, UNRESTRICTED, AccessError, AllowMask, DenseIndex, InvalidInput, Policy, StaleMask
from examples import ALICE, ORIGIN
from scripts import run
from where_examples import NOBODY, READS, stocked


@pytest.fixture
def index() -> DenseIndex:
    return stocked()


@pytest.fixture
def guarded() -> DenseIndex:
    return stocked(policy=Policy())


def test_a_function_becomes_a_mask_once(guarded: DenseIndex) -> None:  # case A16
    """Called for the ids the principal may read, and never by a search."""
    asked: list[int] = []

    def even(i: int) -> bool:
        asked.append(i)
        return i % 2 == 0

    mask = AllowMask.from_callable(guarded, even, principal=ALICE)
    assert asked == guarded.ids(principal=ALICE).tolist() == [0, 2, 3, 5, 6, 8, 9]
    assert all(type(i) is int for i in asked)
    for _ in range(3):
        assert READS["search"](guarded, principal=ALICE, allow=mask) == [0, 2, 6, 8]
    assert READS["search"](guarded, principal=UNRESTRICTED, allow=mask) == [0, 2, 6, 8]
    assert len(asked) == 7
    rule = guarded.policy.rule("acme", ANY_IN_TENANT) if guarded.policy else None
    guarded.upsert([2, 12], np.zeros((2, 4)), rule)
    assert READS["search"](guarded, principal=ALICE, allow=mask) == [0, 6, 8]
    guarded.remove([0])
    again = AllowMask.from_callable(guarded, lambda i: np.bool_(i > 5), principal=ALICE)  # type: ignore[arg-type, return-value]
    assert READS["search"](guarded, principal=ALICE, allow=again) == [6, 8, 9, 12]
    guarded.optimize()
    with pytest.raises(StaleMask):
        guarded.search(ORIGIN, principal=ALICE, allow=mask)


def test_functions_that_do_not_say_yes_or_no(index: DenseIndex, guarded: DenseIndex) -> None:
    for wrong in (None, 1, "yes", np.array([True])):
        with pytest.raises(InvalidInput, match=r"function\(3\): expected True or False"):
            AllowMask.from_callable(index, lambda i, wrong=wrong: wrong if i == 3 else True)  # type: ignore[misc]

    def broken(i: int) -> bool:
        raise ZeroDivisionError(f"at {i}")

    with pytest.raises(ZeroDivisionError, match="at 0"):
        AllowMask.from_callable(index, broken)
    with pytest.raises(InvalidInput, match="function: expected a function of an id"):
        AllowMask.from_callable(index, [True] * 10)  # type: ignore[arg-type]
    with pytest.raises(AccessError):
        AllowMask.from_callable(guarded, lambda i: True)
    assert AllowMask.from_callable(guarded, broken, principal=NOBODY).bits.count == 0
    with pytest.raises(InvalidInput, match="AllowMask or a bool array.*AllowMask.from_callable"):
        index.search(ORIGIN, allow=lambda i: True)  # type: ignore[arg-type]


def test_a_function_may_use_the_index_and_threads_do_not_hang() -> None:  # case A16
    out = run(
        """
    import numpy as np
    from evidex import AllowMask, DenseIndex
    index = DenseIndex(64, metric="ip")
    index.add(None, np.random.default_rng(0).standard_normal((20000, 64)).astype(np.float32))
    query = np.ones(64, np.float32)
    best = index.search(query, 1)[0].ids[0]

    def other(i):
        return i != best and (i % 1000 != 0 or index.get([i]).shape == (1, 64))

    def broken(i):
        raise KeyError(i)

    for threads in (1, 8):
        by_function = index.search(query, 10, allow=AllowMask.from_callable(index, other), threads=threads)
        by_bools = index.search(query, 10, allow=index.ids() != best, threads=threads)
        assert by_function.ids.tolist() == by_bools.ids.tolist()
        try:
            index.search(query, 10, allow=AllowMask.from_callable(index, broken), threads=threads)
        except KeyError as error:
            print(error)
    """
    )
    assert out == "0\n0"
