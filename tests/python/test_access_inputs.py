# SPDX-License-Identifier: Apache-2.0
"""What an application may hand over by mistake, or an attacker on purpose, where rights are concerned."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from evidex import ANY_IN_TENANT, AllowMask, DenseIndex, Policy, Principal, Rule, StaleMask
from examples import ALICE, EYE

MANY = [f"group {number}" for number in range(10_000)]
MEGABYTE = "x" * 2**20


class Shelf:
    """One row; whether a principal reads it."""

    def __init__(
        self, allow: Iterable[str] | Any = ANY_IN_TENANT, deny: Iterable[str] = (), tenant: str = "acme"
    ) -> None:
        self.policy = Policy()
        self.rule: Rule = self.policy.rule(tenant, allow, deny)
        self.index = DenseIndex(1, metric="ip", policy=self.policy)
        self.index.add([1], [[1.0]], self.rule)

    def read_by(self, *groups: str, tenant: str = "acme") -> bool:
        principal = Principal("p", tenant, groups)
        ids = self.index.ids(principal=principal).tolist()
        assert self.index.search([1.0], 1, principal=principal)[0].ids.tolist() == ids
        return bool(ids == [1])


def test_groups_that_no_rule_has_named_grant_nothing() -> None:
    """Nor do they become known, for ever. Seen red: numbers made for the groups of a principal."""
    shelf = Shelf({"a"})
    assert not shelf.read_by("unheard-of")
    assert not shelf.read_by()
    assert shelf.read_by("unheard-of", "a")
    assert not Shelf({"a"}, {"x"}).read_by("unheard-of")
    known = len(shelf.policy._groups._numbers)
    assert not any(shelf.read_by(f"probe {number}") for number in range(50))
    assert len(shelf.policy._groups._numbers) == known == 1
    shelf.policy.change(shelf.rule, {"unheard-of"})
    assert shelf.read_by("unheard-of") and not shelf.read_by("a")


@pytest.mark.parametrize("allow", [["a"], ["a", "a"], ["b", "a", "b"], ("a", "b", "a", "b"), ANY_IN_TENANT])
@pytest.mark.parametrize("deny", [["a"], ["a", "a"], ["c", "a", "c"]])
def test_a_group_named_twice_counts_once_and_deny_wins(allow: Any, deny: list[str]) -> None:
    """Seen red: groups in both lists left out of deny."""
    granted = Shelf(allow)
    assert granted.read_by("a") and granted.read_by("a", "a")
    for shelf in (Shelf(allow, deny), granted):
        shelf.policy.change(shelf.rule, allow, deny)
        assert not shelf.read_by("a")
        assert not shelf.read_by("b", "a")


@pytest.mark.parametrize("empty", [(), [], set(), frozenset(), {}, iter(())])
def test_an_empty_allow_list_is_readable_by_nobody(empty: Any) -> None:
    """Seen red: a rule without allow groups taken for ANY_IN_TENANT."""
    shelf = Shelf(empty)
    assert not any(shelf.read_by(*groups) for groups in ((), ("a",), MANY[:50]))
    shelf = Shelf()
    assert shelf.read_by()
    shelf.policy.change(shelf.rule, ())
    assert not any(shelf.read_by(*groups) for groups in ((), ("a",)))


ALIKE = [
    ("caf\u00e9", "cafe\u0301"),  # composed, and e with a combining accent
    ("a", "\u0430"),  # Latin, Cyrillic
    ("admin", "\uff41dmin"),  # full width
    ("stra\u00dfe", "strasse"),
    ("\u212b", "\u00c5"),  # the same but for compatibility
    ("i", "\u0131"),
    ("staff", "staff\u200b"),  # zero width space
    ("staff", "Staff"),
    ("staff", "staff "),
    ("a", "a\0"),
    ("a\0b", "a\0c"),
    ("a", "\0a"),
    ("a,b", "a"),
    (MEGABYTE, MEGABYTE[:-1]),
    (MEGABYTE + "a", MEGABYTE + "b"),
    ("\ud800", "\ufffd"),  # a lone surrogate, and what repairing it would make
]


@pytest.mark.parametrize("number", range(len(ALIKE)))
def test_names_that_look_alike_are_different_names(number: int) -> None:
    """Groups and tenants. Seen red: names normalised (NFKC and case folding), and names cut at a NUL."""
    for one, other in (ALIKE[number], ALIKE[number][::-1]):
        assert Shelf([one]).read_by(one) and not Shelf([one]).read_by(other)
        assert not Shelf(deny=[one]).read_by(one) and Shelf(deny=[one]).read_by(other)
        assert Shelf(tenant=one).read_by(tenant=one) and not Shelf(tenant=one).read_by(tenant=other)
        assert Principal("p", "t", [one]) != Principal("p", "t", [other])


class Shouting(str):
    """A name that says it equals every other."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("a")


def test_names_are_plain_strings() -> None:
    """Seen red: names of a subclass of str kept as they came."""
    assert not Shelf({"a"}).read_by(Shouting("b"))
    assert not Shelf({Shouting("b")}).read_by("a")
    assert not Shelf(tenant="a").read_by(tenant=Shouting("b"))


def test_what_names_came_in_may_change_afterwards() -> None:
    """Of principals and of rules. Seen red: a principal that keeps the set it was given."""
    allow, deny, groups = {"a"}, {"x"}, {"a"}
    shelf, principal = Shelf(allow, deny), Principal("p", "acme", groups)
    assert shelf.index.count(principal=principal) == 1
    groups.clear()
    groups.add("x")
    allow.add("b")
    deny.clear()
    assert shelf.index.count(principal=principal) == 1
    assert not shelf.read_by("b") and not shelf.read_by("a", "x")
    kept: tuple[Any, ...] = principal.groups, shelf.rule.allow, shelf.rule.deny
    assert kept == ({"a"}, {"a"}, {"x"})
    for part, wrong in (("groups", {"x"}), ("tenant", "z"), ("id", "q"), ("other", 1)):
        with pytest.raises((AttributeError, TypeError)):
            setattr(principal, part, wrong)
    for part in ("tenant", "allow", "deny"):
        with pytest.raises(AttributeError):
            setattr(shelf.rule, part, {"b"})


def test_ten_thousand_groups_in_a_rule_and_in_a_principal() -> None:
    """Seen red: numbers of groups kept in 8 bits."""
    shelf = Shelf(MANY)
    assert shelf.read_by(MANY[-1]) and shelf.read_by(*MANY)
    assert not shelf.read_by("group 10000")
    assert not Shelf(MANY[:-1]).read_by(MANY[-1])
    denied = Shelf(MANY, MANY[:1])
    assert denied.read_by(*MANY[1:]) and not denied.read_by(*MANY)
    assert not Shelf(deny=MANY).read_by(MANY[5000])
    assert Shelf([MANY[7]]).read_by(*MANY)


def test_masks_of_another_index_or_layout_are_stale(guarded: DenseIndex) -> None:
    """On every read that takes one. Seen red: a mask's bits taken without asking for its layout."""
    assert guarded.policy is not None
    other = DenseIndex(3, policy=guarded.policy)
    other.add([10, 20, 30], EYE, guarded.policy.rule("acme", ANY_IN_TENANT))
    before = AllowMask.from_ids(guarded, [10])
    assert guarded.search(EYE[0], principal=ALICE, allow=before).counts.tolist() == [1]
    guarded.remove([20])
    guarded.optimize()
    for mask in (before, AllowMask.from_ids(other, [10])):
        for read in (guarded.search, guarded.explain, lambda q, **how: guarded.radius(q, 0.0, **how)):
            with pytest.raises(StaleMask, match="build the mask again"):
                read(EYE[0], principal=ALICE, allow=mask)
        with pytest.raises(StaleMask):
            guarded.neighbours([10], principal=ALICE, allow=mask)
    again = AllowMask.from_ids(guarded, [10])
    assert guarded.search(EYE[0], principal=ALICE, allow=again).counts.tolist() == [1]


def test_a_grant_that_was_kept_does_not_outlive_its_rule(guarded: DenseIndex) -> None:
    """Nor does a mask made under it. Seen red: the rights left out of what a kept grant is found by."""
    policy, mask = guarded.policy, AllowMask.from_bools(guarded, np.ones(2, bool), principal=ALICE)
    assert policy is not None
    rule = policy.rule("acme", {"a"})
    for allow, mine in (({"b"}, [20]), ({"a"}, [10, 20]), ((), [20]), (ANY_IN_TENANT, [10, 20])):
        policy.change(rule, allow)
        for _ in range(2):
            assert guarded.ids(principal=ALICE).tolist() == mine
            assert sorted(guarded.search(EYE[0], principal=ALICE, allow=mask)[0].ids.tolist()) == mine
