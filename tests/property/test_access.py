# SPDX-License-Identifier: Apache-2.0
"""P1, P2, P3 of a guarded index against plain set logic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import reference
from evidex import ANY_IN_TENANT, AccessError, AllowMask, DenseIndex, NotFound, Policy, Principal, Rule

TENANTS = ("acme", "zenith")
GROUPS = ("a", "b", "c")

groups = st.frozensets(st.sampled_from(GROUPS))
rules = st.tuples(st.sampled_from(TENANTS), st.none() | groups, groups)
callers = st.tuples(st.sampled_from((*TENANTS, "nobody's")), st.frozensets(st.sampled_from((*GROUPS, "unknown"))))


@dataclass
class World:
    policy: Policy
    index: DenseIndex
    rows: dict[int, Any]
    rules: dict[int, tuple[str, frozenset[str] | None, frozenset[str]]]
    queries: Any


def as_rule(policy: Policy, rule: tuple[str, frozenset[str] | None, frozenset[str]]) -> Rule:
    tenant, allow, deny = rule
    return policy.rule(tenant, ANY_IN_TENANT if allow is None else allow, deny)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    some = draw(st.lists(rules, min_size=1, max_size=6))
    n = draw(st.integers(0, 150))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    metric = draw(st.sampled_from(reference.METRICS))
    values = np.round(rng.standard_normal((n + 2, 5)) * 2).astype(np.float32)
    values[~values.any(axis=1), 0] = 1
    ids = rng.permutation(3 * n + 1)[:n].astype(np.int64)
    chosen = [some[i] for i in rng.integers(0, len(some), n)]
    policy = Policy()
    index = DenseIndex(5, metric=metric, policy=policy)
    if n:
        index.add(ids, values[:n], [as_rule(policy, rule) for rule in chosen])
    return World(
        policy,
        index,
        dict(zip(ids.tolist(), values, strict=False)),
        dict(zip(ids.tolist(), chosen, strict=True)),
        values[n:],
    )


def visible(world: World, tenant: str, held: frozenset[str]) -> set[int]:
    return {i for i, rule in world.rules.items() if reference.may_read(rule, tenant, held)}


@given(world=worlds(), caller=callers, k=st.integers(0, 40), seed=st.integers(0, 2**32 - 1))
def test_a_principal_gets_brute_force_over_what_it_may_read(
    world: World, caller: tuple[str, frozenset[str]], k: int, seed: int
) -> None:
    """P1, P3, P7. Seen red: deny ignored in Rule.permits; tenant not compared; allow= replacing the grant
    instead of narrowing it."""
    tenant, held = caller
    principal = Principal("p", tenant, held)
    mine = visible(world, tenant, held)
    narrowed = mine & set(np.random.default_rng(seed).permutation(list(world.rows))[: len(world.rows) // 2].tolist())
    everyone = AllowMask.from_ids(world.index, list(world.rows))
    some = AllowMask.from_ids(world.index, [*narrowed, *(set(world.rows) - mine)])
    for allow, expected_ids in ((None, mine), (everyone, mine), (some, narrowed)):
        permitted = {i: world.rows[i] for i in expected_ids}
        hits = world.index.search(world.queries, k, principal=principal, allow=allow)
        near = world.index.radius(world.queries, -1e30, limit=k, principal=principal, allow=allow)
        for number, query in enumerate(world.queries):
            expected = reference.search(world.index.metric, query, permitted, k)
            for found in (hits, near):
                assert list(zip(*(x.tolist() for x in found[number]), strict=True)) == expected
    assert set(world.index.ids(principal=principal).tolist()) == mine
    assert world.index.count(principal=principal) == len(mine)


@given(world=worlds(), caller=callers, k=st.integers(1, 20))
def test_hidden_rows_change_nothing(world: World, caller: tuple[str, frozenset[str]], k: int) -> None:
    """P2, case A11: the index with and without the hidden rows answers the same, bit for bit, in every field.
    Seen red: `permitted` in explain taken before the grant; the id list of a bool mask taken over all rows."""
    tenant, held = caller
    principal = Principal("p", tenant, held)
    mine = visible(world, tenant, held)
    alone = DenseIndex(5, metric=world.index.metric, policy=world.policy)
    for i in world.index.ids(principal=principal):
        alone.add([i], world.rows[int(i)][None], as_rule(world.policy, world.rules[int(i)]))
    if world.rows:
        best = reference.search(world.index.metric, world.queries[0], world.rows, 1)[0][0]
        event("a denied row would rank first" if best not in mine else "a permitted row ranks first")
    for index in (world.index, alone):
        assert index.count(principal=principal) == len(mine)
    allow = np.arange(len(mine)) % 2 == 0
    for narrowing in (None, allow):
        with_hidden = world.index.search(world.queries, k, principal=principal, allow=narrowing)
        without = alone.search(world.queries, k, principal=principal, allow=narrowing)
        assert with_hidden.ids.tobytes() == without.ids.tobytes()
        assert with_hidden.scores.tobytes() == without.scores.tobytes()
        assert with_hidden.counts.tobytes() == without.counts.tobytes()
        assert with_hidden.reason.tolist() == without.reason.tolist()
        least = float(without.scores[0, 0]) if without.counts[0] else 0.0
        close = [
            index.radius(world.queries, least, principal=principal, allow=narrowing) for index in (world.index, alone)
        ]
        assert close[0].ids.tobytes() == close[1].ids.tobytes()
        assert close[0].scores.tobytes() == close[1].scores.tobytes()
        explained = world.index.explain(world.queries[0], k, principal=principal, allow=narrowing)
        assert explained == alone.explain(world.queries[0], k, principal=principal, allow=narrowing)
        assert explained.operator is None


@given(world=worlds(), caller=callers)
def test_hidden_and_unknown_ids_look_the_same(world: World, caller: tuple[str, frozenset[str]]) -> None:
    """P3. Seen red: `get` raising AccessError for a hidden row."""
    tenant, held = caller
    principal = Principal("p", tenant, held)
    mine = visible(world, tenant, held)
    for i in [*world.rows, 10**12]:
        if i in mine:
            assert world.index.get([i], principal=principal).shape == (1, 5)
        else:
            with pytest.raises(NotFound) as caught:
                world.index.get([i], principal=principal)
            assert str(caught.value) == f"no such id: {i}"


def test_a_third_of_draws_have_a_denied_row_on_top() -> None:
    """The non-interference property would prove little if the hidden rows never mattered."""
    rng = np.random.default_rng(0)
    policy = Policy()
    index = DenseIndex(8, policy=policy)
    open_rule, closed = policy.rule("acme", {"a"}), policy.rule("acme", {"b"})
    mine = rng.random(400) < 0.5
    index.add(None, rng.standard_normal((400, 8)), [open_rule if m else closed for m in mine])
    from evidex import UNRESTRICTED

    top = index.search(rng.standard_normal((300, 8)), 1, principal=UNRESTRICTED).ids[:, 0]
    assert 0.3 <= (~mine[top]).mean() <= 0.7


@pytest.mark.parametrize("principal", [None, "alice", {"tenant": "acme"}, True, 0, object()])
def test_no_proper_principal_is_an_error_on_every_read(principal: Any) -> None:
    """P3, case A13. Seen red: Grants.mask returning everything for None."""
    policy = Policy()
    index = DenseIndex(2, policy=policy)
    index.add([1], [[1.0, 0.0]], policy.rule("acme", ANY_IN_TENANT))
    reads: list[Callable[[], object]] = [
        lambda: index.search([1.0, 0.0], principal=principal),
        lambda: index.explain([1.0, 0.0], principal=principal),
        lambda: index.radius([1.0, 0.0], -1.0, principal=principal),
        lambda: index.get([1], principal=principal),
        lambda: index.get([99], principal=principal),
        lambda: index.ids(principal=principal),
        lambda: index.count(principal=principal),
        lambda: AllowMask.from_bools(index, np.ones(1, bool), principal=principal),
    ]
    for read in reads:
        with pytest.raises(AccessError, match="principal"):
            read()
