# SPDX-License-Identifier: Apache-2.0
"""Who finds what by words, and over whose rows words are counted (cases A7, A10, A11, A12, A13, F9, H14)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pytest

from evidex import (
    ANY_IN_TENANT,
    UNRESTRICTED,
    AccessError,
    AllowMask,
    DenseIndex,
    InvalidInput,
    Policy,
    Principal,
    SparseIndex,
    StaleMask,
    _core,
)
from sparse_examples import ALICE, BOB, MALLORY, STRANGER, bits, guarded, index_of

SECRET, OPEN, LEGAL, FOREIGN = 1, 2, 3, 4
TEXTS = ["salary salary secret", "salary bands are public", "secret salary of the court", "salary secret"]


class World:
    """Row 1 nobody may read; 2 all of acme, 3 its legal department, 4 all of zenith."""

    def __init__(self, **options: Any) -> None:
        self.policy = policy = Policy()
        self.nobody = policy.rule("acme", ())
        self.open = policy.rule("acme", ANY_IN_TENANT)
        self.legal = policy.rule("acme", {"legal"})
        self.foreign = policy.rule("zenith", ANY_IN_TENANT)
        self.rules = [self.nobody, self.open, self.legal, self.foreign]
        self.index = guarded(policy, [1, 2, 3, 4], TEXTS, self.rules, **options)

    def alone(self, *ids: int) -> SparseIndex:
        """An index that holds these rows only."""
        return guarded(self.policy, list(ids), [TEXTS[i - 1] for i in ids], [self.rules[i - 1] for i in ids])


def test_each_finds_its_own() -> None:  # case H14
    index = World().index
    found = {who.id: index.search("secret salary", principal=who)[0].ids.tolist() for who in (ALICE, BOB, MALLORY)}
    assert found == {"alice": [OPEN], "bob": [LEGAL, OPEN], "mallory": [FOREIGN]}
    assert set(index.search("secret salary", principal=UNRESTRICTED)[0].ids.tolist()) == {1, 2, 3, 4}


@pytest.mark.parametrize("scope", ["permitted", "collection"])
def test_an_unrestricted_search_is_logged_once(caplog: pytest.LogCaptureFixture, scope: str) -> None:
    """Who reads becomes rows once in a run, also for the counts. Seen red: counts that asked the guard again."""
    index = World().index
    with caplog.at_level(logging.INFO, logger="evidex.access"):
        index.search("salary", principal=UNRESTRICTED, scope=scope)
    assert len(caplog.records) == 1


def test_an_unknown_tenant_looks_like_nothing_found() -> None:  # case H14
    index = World().index
    unknown, nothing = (index.search(q, principal=p) for q, p in (("salary", STRANGER), ("absent", ALICE)))
    for part in ("ids", "scores", "counts", "certified", "reason"):
        assert getattr(unknown, part).tolist() == getattr(nothing, part).tolist()
    assert index.explain("salary", principal=STRANGER).permitted == 0
    assert index.count(principal=STRANGER) == 0


def test_without_groups_only_what_is_open_to_the_tenant() -> None:  # case H14
    nobody = Principal("x", "acme", ())
    assert World().index.search("secret salary", principal=nobody)[0].ids.tolist() == [OPEN]


@pytest.mark.parametrize("principal", [None, "alice", object(), ("alice", "acme"), True])
@pytest.mark.parametrize("options", [{}, {"scope": "tenant"}, {"scope": "collection"}], ids=str)
def test_without_a_proper_principal_nothing_is_read(principal: Any, options: Any) -> None:  # cases A13, H14
    index = World().index
    for call in (index.search, index.explain):
        with pytest.raises(AccessError, match="principal"):
            call("salary", principal=principal, **options)
    for read in (index.ids, index.count, index.stats):
        with pytest.raises(AccessError, match="principal"):
            read(principal=principal)


@pytest.mark.parametrize("options", [{}, {"ranking": "tfidf"}, {"group_by": True}, {"threads": 4}, {"k": 1}], ids=str)
def test_hidden_rows_change_no_bit(options: dict[str, Any]) -> None:  # cases A11, F9
    """Seen red with the statistics of all rows."""
    world = World()
    for who, ids in ((ALICE, [OPEN]), (BOB, [OPEN, LEGAL]), (MALLORY, [FOREIGN])):
        alone = world.alone(*ids)
        for query in ("salary", "secret salary of", "court", "bands public", "absent"):
            here, there = (index.search(query, principal=who, **options) for index in (world.index, alone))
            assert bits(here) == bits(there)
            assert here.counts.tolist() == there.counts.tolist()
            assert here.reason.tolist() == there.reason.tolist()
            assert world.index.explain(query, principal=who, **options) == alone.explain(
                query, principal=who, **options
            )


def test_many_hidden_rows_change_nothing_in_explain() -> None:  # case A11
    """Seen red with workers planned for the rows that are stored."""
    world = World()
    world.index.add(None, [{}] * 300_000, world.foreign)
    found = world.index.explain("salary", principal=ALICE, threads=4)
    assert found == world.alone(OPEN).explain("salary", principal=ALICE, threads=4)


def test_a_secret_that_is_best_by_words_and_by_vector_is_in_neither() -> None:  # case A12
    world = World()
    dense = DenseIndex(2, metric="ip", policy=world.policy)
    dense.add([1, 2, 3, 4], np.array([[9, 0], [1, 0], [8, 0], [7, 0]], np.float32), world.rules)
    for k in (1, 2, 10):
        assert dense.search([1.0, 0.0], k, principal=ALICE)[0].ids.tolist() == [OPEN]
        assert world.index.search("secret salary", k, principal=ALICE)[0].ids.tolist() == [OPEN]


def test_the_k_best_of_the_permitted() -> None:  # case A10
    policy = Policy()
    mine, other = policy.rule("acme", ANY_IN_TENANT), policy.rule("zenith", ANY_IN_TENANT)
    index = SparseIndex(policy=policy)
    texts = [f"word {'pad ' * i}" for i in range(100)]
    index.add(range(100), texts, [other] * 50 + [mine] * 50)
    hits = index.search("word", 10, principal=ALICE)
    assert hits[0].ids.tolist() == list(range(50, 60))
    alone = guarded(policy, range(50, 100), texts[50:], [mine] * 50)
    assert bits(hits) == bits(alone.search("word", 10, principal=ALICE))


def test_scope_says_over_which_rows_words_are_counted() -> None:  # case F9
    world = World()
    whole = index_of(TEXTS, [1, 2, 3, 4])
    tenant = index_of(TEXTS[:3], [1, 2, 3])

    def score(index: SparseIndex, row: int, **options: Any) -> bytes:
        [[ids, scores]] = list(index.search("salary of", **options))
        found: bytes = scores[ids == row].tobytes()
        return found

    for who in (ALICE, BOB):
        assert score(world.index, OPEN, principal=who, scope="tenant") == score(tenant, OPEN)
        assert score(world.index, OPEN, principal=who, scope="collection") == score(whole, OPEN)
    assert score(world.index, OPEN, principal=ALICE) == score(index_of(TEXTS[1:2], [2]), OPEN)
    assert score(world.index, OPEN, principal=BOB) == score(index_of(TEXTS[1:3], [2, 3]), OPEN)
    for options in ({}, {"scope": "permitted"}, {"scope": "collection"}):
        assert score(world.index, OPEN, principal=UNRESTRICTED, **options) == score(whole, OPEN)
    with pytest.raises(InvalidInput, match="UNRESTRICTED has no tenant"):
        score(world.index, OPEN, principal=UNRESTRICTED, scope="tenant")
    assert world.index.search("salary", principal=STRANGER, scope="tenant").counts.tolist() == [0]
    assert world.index.explain("salary", principal=ALICE, scope="tenant").plan == "sparse bm25, exact, scope=tenant"


def test_a_word_that_all_rows_of_a_tenant_have_tells_little_there() -> None:  # case F9
    policy = Policy()
    acme, zenith = policy.rule("acme", ANY_IN_TENANT), policy.rule("zenith", ANY_IN_TENANT)
    index = SparseIndex(policy=policy)
    index.add(range(10), ["pump manual"] * 9 + ["pump valve"], acme)
    index.add(range(10, 1010), ["other things"] * 1000, zenith)

    def least(word: str, scope: str) -> float:
        return float(index.search(word, 10, principal=ALICE, scope=scope)[0].scores[-1])

    assert least("pump", "permitted") < 0.1 < least("pump", "collection") / 10
    assert least("pump", "permitted") < least("valve", "permitted") / 10


def test_masks_and_predicates_change_no_score() -> None:  # cases A7, A10
    world = World()
    index = world.index
    everything = dict(zip(*(x.tolist() for x in index.search("secret salary", principal=BOB)[0]), strict=True))
    for allow, ids in (
        (AllowMask.from_ids(index, [OPEN, SECRET, FOREIGN, 99]), [OPEN]),
        (AllowMask.from_ids(index, []), []),
        (np.array([False, True]), [LEGAL]),
        (AllowMask.from_callable(index, lambda i: i == LEGAL, BOB), [LEGAL]),
        (AllowMask.from_bools(index, np.array([True, True]), BOB), [LEGAL, OPEN]),
        (None, [LEGAL, OPEN]),
    ):
        [[found, scores]] = list(index.search("secret salary", principal=BOB, allow=allow))
        assert found.tolist() == ids
        assert scores.tolist() == [everything[i] for i in ids]
    each = [AllowMask.from_ids(index, [one]) for one in (OPEN, LEGAL)]
    assert [ids.tolist() for ids, _ in index.search(["salary"] * 2, principal=BOB, allow=each)] == [[OPEN], [LEGAL]]
    index.optimize()
    with pytest.raises(StaleMask):
        index.search(["salary"] * 2, principal=BOB, allow=each)


def test_a_change_of_rights_counts_at_once_and_counts_words_anew() -> None:
    """Seen red with counts that are kept by the snapshot alone."""
    world = World()
    index = world.index
    index.search("salary", principal=ALICE)
    index.set_rule([LEGAL], world.open)
    assert bits(index.search("salary", principal=ALICE)) == bits(
        guarded(world.policy, [2, 3], TEXTS[1:3], [world.open] * 2).search("salary", principal=ALICE)
    )
    world.policy.change(world.open, {"legal"})
    assert index.search("salary", principal=ALICE).counts.tolist() == [0]
    assert index.count(principal=BOB) == 2


def test_few_counts_are_kept_and_fewer_states() -> None:
    """Each keeps its postings in memory. Seen red with states that are never let go."""
    world = World()
    for number in range(200):
        who = Principal("x", "acme", {"legal", f"team-{number}"})
        world.index.search("salary", principal=who)
        world.index.search("salary", principal=ALICE)
        if number % 10 == 0:
            world.index.add(None, ["salary"], world.open)
    kept = world.index._statistics._kept
    assert 3 < len(kept) <= 64
    assert len({id(one.state) for one in kept.values()}) <= 3


@contextmanager
def paused(during: Callable[[], None]) -> Iterator[list[int]]:
    """Calls ``during`` after the core has read and before the library returns; counts the runs."""
    inside, runs = _core.SparseView.search, [0]

    def stand_in(*given: Any) -> Any:
        answer = inside(*given)
        runs[0] += 1
        during()
        return answer

    with mock.patch.object(_core.SparseView, "search", stand_in):
        yield runs


def test_what_is_revoked_while_a_search_runs_tells_nothing() -> None:
    """Neither by its row nor by how often its words occur: row 3 is no hit here, but it was counted.

    Seen red with hits alone looked at.
    """
    world = World()
    world.index.set_rule([LEGAL], world.open)
    with paused(lambda: world.index.set_rule([LEGAL], world.nobody)) as runs:
        found = world.index.search("bands salary", 1, principal=ALICE)
    assert runs == [2]
    assert bits(found) == bits(world.alone(OPEN).search("bands salary", 1, principal=ALICE))


def test_what_is_granted_while_a_search_runs_makes_it_run_once() -> None:
    world = World()
    with paused(lambda: world.index.set_rule([LEGAL], world.open)) as runs:
        assert world.index.search("salary", principal=ALICE)[0].ids.tolist() == [OPEN]
    assert runs == [1]


def test_rights_that_never_settle_are_an_error() -> None:
    world = World()
    world.index.set_rule([LEGAL], world.open)
    rules = iter([world.nobody, world.open] * 9)

    def flip() -> None:
        world.index.set_rule([OPEN], next(rules))

    with paused(flip), mock.patch.object(type(world.index._guard), "_RERUNS", 0), pytest.raises(AccessError):
        world.index.search("salary", principal=ALICE)


def test_explain_tells_a_principal_of_its_own_rows_only() -> None:
    world = World()
    mine = world.index.explain("salary", principal=ALICE)
    assert (mine.permitted, mine.returned, mine.operator, mine.certified) == (1, 1, None, True)
    everything = world.index.explain("salary", principal=UNRESTRICTED).operator
    assert everything == {"generation": 1, "rows": 4, "removed": 0, "parts": 1}
