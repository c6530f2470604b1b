# SPDX-License-Identifier: Apache-2.0
"""Principals, rules and policies: nothing has a permissive default."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np
import pytest

from evidex import ANY_IN_TENANT, UNRESTRICTED, AccessError, DenseIndex, InvalidInput, Policy, Principal
from evidex.masks import Guard


@pytest.mark.parametrize(
    ("id_", "tenant", "groups"),
    [
        ("", "t", ()),
        ("p", "", ()),
        (None, "t", ()),
        ("p", None, ()),
        (5, "t", ()),
        ("p", b"t", ()),
        ("p", "t", None),
        ("p", "t", "admin"),
        ("p", "t", [""]),
        ("p", "t", [None]),
        ("p", "t", [1]),
        ("p", "t", 5),
    ],
)
def test_malformed_principals_are_refused(id_: Any, tenant: Any, groups: Any) -> None:  # case A13
    with pytest.raises(AccessError, match="malformed principal"):
        Principal(id_, tenant, groups)


def test_a_principal_cannot_change_after_it_was_made() -> None:
    held = {"a"}
    principal = Principal("p", "t", held)
    held.add("b")
    assert principal.groups == frozenset({"a"})
    with pytest.raises(dataclasses.FrozenInstanceError):
        principal.tenant = "other"  # type: ignore[misc]
    assert principal == Principal("p", "t", ["a", "a"])


def test_a_subclass_is_not_a_principal() -> None:
    class Sneaky(Principal):
        pass

    policy = Policy()
    index = DenseIndex(1, policy=policy)
    with pytest.raises(AccessError, match="Sneaky"):
        index.count(principal=Sneaky("p", "t", ()))


@pytest.mark.parametrize(
    ("tenant", "allow", "deny"),
    [
        ("", {"a"}, ()),
        (None, {"a"}, ()),
        ("t", None, ()),
        ("t", "staff", ()),
        ("t", UNRESTRICTED, ()),
        ("t", [""], ()),
        ("t", [3], ()),
        ("t", {"a"}, "staff"),
        ("t", {"a"}, None),
        ("t", {"a"}, ANY_IN_TENANT),
        ("t", {"a"}, [None]),
    ],
)
def test_malformed_rules_are_refused(tenant: Any, allow: Any, deny: Any) -> None:
    policy = Policy()
    with pytest.raises(InvalidInput):
        policy.rule(tenant, allow, deny)
    assert len(policy) == 0


def test_allow_has_no_default() -> None:
    with pytest.raises(TypeError):
        Policy().rule("t")  # type: ignore[call-arg]


def test_equal_rules_are_one_rule() -> None:
    policy = Policy()
    rule = policy.rule("t", ["b", "a", "a"], {"x"})
    assert policy.rule("t", {"a", "b"}, ["x"]) is rule
    assert policy.rule("t", {"a", "b"}) is not rule
    assert len(policy) == 2
    assert repr(rule) == "Rule(tenant='t', allow=['a', 'b'], deny=['x'])"
    assert repr(policy.rule("t", ANY_IN_TENANT)) == "Rule(tenant='t', allow=ANY_IN_TENANT, deny=[])"
    assert repr(policy) == "Policy(3 rules)"
    assert repr(UNRESTRICTED) == "UNRESTRICTED"


@pytest.mark.parametrize(
    ("groups", "read"),
    [((), [2]), (("a",), [0, 2]), (("a", "d"), [0, 2]), (("a", "x"), [0, 2]), (("d",), [2]), (("x",), [2])],
)
def test_the_semantics_by_hand(groups: tuple[str, ...], read: list[int]) -> None:  # cases A17, H14
    """P3: zero groups read only what is open to the tenant, deny wins, an empty allow list grants nobody."""
    policy = Policy()
    index = DenseIndex(1, metric="ip", policy=policy)
    rules = [
        policy.rule("t", {"a"}),
        policy.rule("t", {"a", "b"}, {"a", "d"}),
        policy.rule("t", ANY_IN_TENANT),
        policy.rule("t", ANY_IN_TENANT, {"a", "d", "x"}),
        policy.rule("t", ()),
        policy.rule("u", ANY_IN_TENANT),
    ]
    index.add(range_ := np.arange(6), np.ones((6, 1)), rules)
    expected = [*read, 3] if not set(groups) & {"a", "d", "x"} else read
    assert index.ids(principal=Principal("p", "t", groups)).tolist() == expected
    assert range_.tolist() == list(range(6))


def test_names_are_compared_as_exact_strings() -> None:
    policy = Policy()
    index = DenseIndex(1, metric="ip", policy=policy)
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    index.add([0], [[1.0]], policy.rule("t", {composed}))
    assert index.count(principal=Principal("p", "t", {composed})) == 1
    for other in (decomposed, "CAF\u00c9", composed + "\0", " " + composed):
        assert index.count(principal=Principal("p", "t", {other})) == 0


def test_unknown_tenants_look_like_nothing_found() -> None:  # case H14
    policy = Policy()
    index = DenseIndex(1, metric="ip", policy=policy)
    index.add([0], [[1.0]], policy.rule("t", {"a"}))
    for principal in (Principal("p", "nowhere", {"a"}), Principal("p", "t", {"unheard-of"})):
        hits = index.search([1.0], 2, principal=principal)
        assert hits.ids.tolist() == [[-1, -1]]
        assert hits.counts.tolist() == [0]
        assert hits.reason.tolist() == ["fewer_than_k"]


def test_a_rule_that_was_not_decided_grants_nothing() -> None:
    """P3: a row may be newer than the decision. Seen red: rule numbers beyond `allowed` granted in compile_grant."""
    policy = Policy()
    index = DenseIndex(1, metric="ip", policy=policy)
    index.add([0, 1, 2], np.ones((3, 1)), [policy.rule("t", {g}) for g in ("a", "b", "c")])
    snapshot = index._store.snapshot()
    for decided in ([], [1], [1, 1], [1, 1, 0]):
        grant = snapshot.grant(np.array(decided, np.uint8))
        assert snapshot.ids(grant).tolist() == list(range(sum(decided)))


def test_kept_grants_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Guard, "_MOST_BYTES", 32 * 600)  # a mask counts 512 bytes and its rows
    policy = Policy()
    index = DenseIndex(1, metric="ip", policy=policy)
    index.add([0], [[1.0]], policy.rule("t", {"g7"}))
    for _ in range(2):
        counts = [index.count(principal=Principal("p", "t", {f"g{i}"})) for i in range(100)]
        assert counts == [int(i == 7) for i in range(100)]
    assert len(index._guard._masks) <= 38


def test_markers_stay_themselves_when_copied() -> None:
    for marker in (ANY_IN_TENANT, UNRESTRICTED):
        assert copy.deepcopy(marker) is marker
