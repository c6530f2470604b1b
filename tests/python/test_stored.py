# SPDX-License-Identifier: Apache-2.0
"""neighbours, items and stats: what they give, to whom, and that each argument acts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evidex import UNRESTRICTED, AccessError, DenseIndex, InvalidInput, NotFound, Policy, Principal

ALICE = Principal("alice", tenant="t", groups={"a"})
VECTORS = np.random.default_rng(4).standard_normal((30, 4)).astype(np.float32)


def guarded() -> DenseIndex:
    """Even ids are for ALICE, odd ones for others."""
    policy = Policy()
    index = DenseIndex(4, metric="ip", policy=policy)
    rules = [policy.rule("t", {"a"}), policy.rule("t", {"b"})]
    index.add(np.arange(30), VECTORS, [rules[i % 2] for i in range(30)], groups=np.arange(30) % 6)
    return index


@pytest.mark.parametrize("options", [{}, {"group_by": True}, {"allow": np.arange(15) < 4}, {"threads": 2}])
def test_neighbours_are_the_hits_of_stored_vectors(options: dict[str, Any]) -> None:
    """Seen red with another id's vector searched for."""
    index = guarded()
    found = index.neighbours([4, 8], 3, principal=ALICE, **options)
    same = index.search(VECTORS[[4, 8]], 3, principal=ALICE, **options)
    assert found.ids.tolist() == same.ids.tolist() and found.scores.tobytes() == same.scores.tobytes()
    assert (found.ids % 2 == 0).all()


@pytest.mark.parametrize("hidden", [5, 99])
def test_neighbours_of_hidden_and_unknown_ids_are_not_found(hidden: int) -> None:
    with pytest.raises(NotFound, match=f"no such id: {hidden}"):
        guarded().neighbours([4, hidden], principal=ALICE)


@pytest.mark.parametrize("batch", [1, 7, 1024])
def test_items_are_all_that_may_be_read_in_batches(batch: int) -> None:
    """Full ones but for the last, wherever hidden rows lie (P2). Seen red with every row of a batch given out, and with
    batches cut from the rows stored."""
    index = guarded()
    index.remove([6])
    batches = list(index.items(batch=batch, principal=ALICE))
    assert [len(ids) for ids, _ in batches] == [batch] * (14 // batch) + [14 % batch] * (14 % batch > 0)
    ids = np.concatenate([ids for ids, _ in batches])
    assert ids.tolist() == [i for i in range(0, 30, 2) if i != 6]
    assert np.concatenate([vectors for _, vectors in batches]).tobytes() == VECTORS[ids].tobytes()


def test_items_are_read_on_where_few_rows_in_many_are_readable() -> None:
    """Seen red: a batch ended with the rows looked at in one go."""
    policy = Policy()
    index = DenseIndex(1, metric="ip", policy=policy)
    rules = [policy.rule("t", {"a"}), policy.rule("t", {"b"})]
    index.add(None, np.arange(20_000.0)[:, None], [rules[int(i % 3000 != 0)] for i in range(20_000)])
    mine = list(range(0, 20_000, 3000))
    for batch in (1, 2, 7, 5000):
        found = [ids.tolist() for ids, _ in index.items(batch=batch, principal=ALICE)]
        assert found == [mine[i : i + batch] for i in range(0, 7, batch)]
    assert list(index.items(principal=Principal("p", "t", ()))) == []


def test_items_refuse_a_batch_of_none() -> None:
    with pytest.raises(InvalidInput, match="batch"):
        guarded().items(batch=0, principal=ALICE)


def test_stats_are_the_operators() -> None:
    index = guarded()
    index.remove([6])
    with pytest.raises(AccessError, match="operator"):
        index.stats(principal=ALICE)
    stats = index.stats(principal=UNRESTRICTED)
    assert (stats["rows"], stats["removed"], stats["rules"], stats["dim"]) == (29, 1, 2, 4)
    assert DenseIndex(4).stats()["rows"] == 0
