# SPDX-License-Identifier: Apache-2.0
"""Who may read what: principals, rules and policies.

A rule is ``(tenant, allow groups or ANY_IN_TENANT, deny groups)``; deny wins. Names are compared as exact
strings: no case folding, no Unicode normalisation. Nothing here has a permissive default.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _checks, _names
from ._core import RuleTable
from .errors import AccessError, InvalidInput

__all__ = [
    "ANY_IN_TENANT",
    "UNRESTRICTED",
    "Caller",
    "Policy",
    "Principal",
    "Rule",
    "lists",
]


class AnyInTenant(Enum):
    """The type of :data:`ANY_IN_TENANT`."""

    ANY_IN_TENANT = "ANY_IN_TENANT"

    def __repr__(self) -> str:
        return self.name


class Unrestricted(Enum):
    """The type of :data:`UNRESTRICTED`."""

    UNRESTRICTED = "UNRESTRICTED"

    def __repr__(self) -> str:
        return self.name


ANY_IN_TENANT: Final = AnyInTenant.ANY_IN_TENANT
"""As a rule's allow: every principal of the rule's tenant, whatever groups it has."""

UNRESTRICTED: Final = Unrestricted.UNRESTRICTED
"""In place of a principal: read everything. Written out by the caller each time, and logged each time."""


@dataclass(frozen=True, slots=True)
class Principal:
    """The authenticated caller, as the application's identity layer knows it.

    Args:
        id: Who it is, for records; grants nothing.
        tenant: The only tenant whose rows it can read.
        groups: Names of the groups it is in. Groups no rule knows grant nothing; an empty set reads only
            what is open to the whole tenant.

    Raises:
        AccessError: If a part is missing or of another type. A single str as ``groups`` is refused, as it
            would fall apart into characters.
    """

    id: str
    tenant: str
    groups: frozenset[str]

    def __init__(self, id: str, tenant: str, groups: Iterable[str]) -> None:
        try:
            for name, value in (("id", id), ("tenant", tenant)):
                object.__setattr__(self, name, _names.name(value, f"principal {name}"))
            object.__setattr__(self, "groups", _names.names(groups, "principal groups"))
        except InvalidInput as error:
            raise AccessError(f"malformed principal: {error}") from error


Caller: TypeAlias = "Principal | Unrestricted | None"


@dataclass(frozen=True, slots=True)
class _Parts:
    tenant: str
    allow: frozenset[str] | AnyInTenant
    deny: frozenset[str]


class Rule:
    """One access rule; made by :meth:`Policy.rule`, compared by identity, changed by :meth:`Policy.change` only."""

    __slots__ = ("_parts", "number", "policy")

    def __init__(self, policy: Policy, number: int, parts: _Parts) -> None:
        self.policy = policy
        self.number = number
        self._parts = parts

    @property
    def tenant(self) -> str:
        """The tenant whose principals it is about."""
        return self._parts.tenant

    @property
    def allow(self) -> frozenset[str] | AnyInTenant:
        """Groups that may read, or :data:`ANY_IN_TENANT`."""
        return self._parts.allow

    @property
    def deny(self) -> frozenset[str]:
        """Groups that may not, whatever is allowed."""
        return self._parts.deny

    def __repr__(self) -> str:
        allow = self.allow if isinstance(self.allow, AnyInTenant) else sorted(self.allow)
        return f"Rule(tenant={self.tenant!r}, allow={allow!r}, deny={sorted(self.deny)!r})"


class Policy:
    """The rules of one application. Documents refer to rules by number, so a rule is stored once however many use it.

    A change of a rule counts for the next read of every index and snapshot; what is running is checked again before
    it returns.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._table = RuleTable()
        self._tenants = _names.Numbers()
        self._groups = _names.Numbers()
        self._rules: list[Rule] = []
        self._known: dict[_Parts, Rule] = {}
        self._keeper: str | None = None

    def rule(self, tenant: str, allow: Iterable[str] | AnyInTenant, deny: Iterable[str] = ()) -> Rule:
        """The rule with these parts, made on first use.

        Args:
            tenant: The tenant whose principals it is about.
            allow: Groups that may read, or :data:`ANY_IN_TENANT`. An empty collection grants nobody.
            deny: Groups that may not, even if they are also in an allowed group.

        Raises:
            InvalidInput: If a name is empty or not a str, or ``allow`` or ``deny`` is a single str.
        """
        parts = _Parts(_names.name(tenant, "tenant"), *lists(allow, deny))
        with self._lock:
            return self._known[parts] if parts in self._known else self._add(parts)

    def add(self, tenant: str, allow: Iterable[str] | AnyInTenant, deny: Iterable[str]) -> Rule:
        """A rule of its own, also where one says the same: they may come to say different things."""
        parts = _Parts(_names.name(tenant, "tenant"), *lists(allow, deny))
        with self._lock:
            return self._add(parts)

    def _add(self, parts: _Parts) -> Rule:
        rule = Rule(self, self._table.add(*self._numbered(parts)), parts)
        self._rules.append(rule)
        self._known.setdefault(parts, rule)
        return rule

    def keep(self, keeper: str | None) -> None:
        """Says who stores the rules and alone changes them; None when it is done."""
        with self._lock:
            if keeper is not None and self._keeper is not None:
                raise InvalidInput(f"policy: {self._keeper} keeps its rules; give each open collection a Policy()")
            self._keeper = keeper

    def change(self, rule: Rule, allow: Iterable[str] | AnyInTenant, deny: Iterable[str] = ()) -> None:
        """Makes a rule say something else, for everything that is under it; the tenant stays.

        Args:
            rule: One that this policy made.
            allow: As in :meth:`rule`, the whole new list.
            deny: As in :meth:`rule`, the whole new list.

        Raises:
            InvalidInput: As in :meth:`rule`, for another policy's rule, and where a collection keeps the rules: it
                changes them with ``Collection.change_rule``.
        """
        if self._keeper is not None:
            raise InvalidInput(f"rule: {self._keeper} keeps this policy's rules; use its change_rule(...)")
        self.apply_change(rule, allow, deny)

    def apply_change(self, rule: Rule, allow: Iterable[str] | AnyInTenant, deny: Iterable[str]) -> None:
        """As :meth:`change`, for who keeps the rules."""
        if not isinstance(rule, Rule) or rule.policy is not self:
            raise InvalidInput(f"rule: expected a rule that this policy made, got {rule!r}")
        parts = _Parts(rule.tenant, *lists(allow, deny))
        with self._lock:
            if parts == rule._parts:
                return
            self._table.change(rule.number, *self._numbered(parts))
            if self._known.get(rule._parts) is rule:
                del self._known[rule._parts]
            rule._parts = parts
            self._known.setdefault(parts, rule)

    def __len__(self) -> int:
        return len(self._table)

    def __bool__(self) -> bool:
        return True  # a policy without rules is still a policy

    def __repr__(self) -> str:
        return f"Policy({len(self)} rules)"

    @property
    def generation(self) -> int:
        """Grows with every new rule and every change of one."""
        return self._table.generation

    def rules(self) -> list[Rule]:
        """All rules made so far, by number."""
        with self._lock:
            return list(self._rules)

    def ranks(self) -> npt.NDArray[np.uint32]:
        """One number per rule made so far: rules of a tenant follow each other, those with the same groups too."""

        def key(rule: Rule) -> tuple[str, bool, list[str], list[str]]:
            allow = [] if isinstance(rule.allow, AnyInTenant) else sorted(rule.allow)
            return rule.tenant, not isinstance(rule.allow, AnyInTenant), allow, sorted(rule.deny)

        with self._lock:
            order = sorted(self._rules, key=key)
        ranks = np.empty(len(order), dtype=np.uint32)
        for rank, rule in enumerate(order):
            ranks[rule.number] = rank
        return ranks

    def decide(self, principal: Principal) -> npt.NDArray[np.uint8]:
        """One byte per rule made so far, 1 where ``principal`` may read what is under it."""
        tenant = self._tenants.known(principal.tenant)
        if tenant is None:
            return np.zeros(len(self), dtype=np.uint8)
        return self._table.decide(tenant, self._groups.known_of(principal.groups))

    def of_tenant(self, tenant: str) -> npt.NDArray[np.uint8]:
        """One byte per rule made so far, 1 where it is about the principals of this tenant."""
        return np.array([rule.tenant == tenant for rule in self.rules()], dtype=np.uint8)

    def _numbered(self, parts: _Parts) -> tuple[int, bool, npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
        anyone = isinstance(parts.allow, AnyInTenant)
        allow = self._groups.of_each(() if isinstance(parts.allow, AnyInTenant) else parts.allow)
        return self._tenants.of(parts.tenant), anyone, allow, self._groups.of_each(parts.deny)

    def numbers(self, rules: Rule | Iterable[Rule] | None, rows: int) -> npt.NDArray[np.uint32]:
        """Rule numbers for ``rows`` rows, from one rule for all or one rule each.

        Raises:
            AccessError: If a row comes without a rule.
            InvalidInput: If a rule belongs to another policy or the count differs.
        """
        if rules is None:
            raise AccessError(
                "rules: a guarded index stores no row without a rule; pass one Rule, or one per row, "
                "made by policy.rule(...)"
            )
        if isinstance(rules, Rule):
            return np.full(rows, self._number(rules, 0), dtype=np.uint32)
        listed = _checks.members(rules, "rules")
        if len(listed) != rows:
            raise InvalidInput(f"rules: {len(listed)} given for {rows} rows; pass one Rule, or one per row")
        return np.fromiter((self._number(rule, row) for row, rule in enumerate(listed)), dtype=np.uint32)

    def _number(self, rule: Rule, row: int) -> int:
        if rule is None:
            raise AccessError(f"rules: row {row} has no rule; a guarded index stores no row without one")
        if not isinstance(rule, Rule) or rule.policy is not self:
            raise InvalidInput(f"rules: row {row} has {rule!r}, which this index's policy did not make")
        return rule.number


def lists(
    allow: Iterable[str] | AnyInTenant, deny: Iterable[str]
) -> tuple[frozenset[str] | AnyInTenant, frozenset[str]]:
    """A rule's two lists of groups, checked."""
    return allow if isinstance(allow, AnyInTenant) else _names.names(allow, "allow"), _names.names(deny, "deny")
