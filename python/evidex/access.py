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

from . import _checks
from .errors import AccessError, InvalidInput

__all__ = [
    "ANY_IN_TENANT",
    "UNRESTRICTED",
    "Caller",
    "Policy",
    "Principal",
    "Rule",
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
                object.__setattr__(self, name, _name(value, f"principal {name}"))
            object.__setattr__(self, "groups", _names(groups, "principal groups"))
        except InvalidInput as error:
            raise AccessError(f"malformed principal: {error}") from error


Caller: TypeAlias = "Principal | Unrestricted | None"


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One access rule; made by :meth:`Policy.rule` and compared by identity."""

    policy: Policy
    number: int
    tenant: str
    allow: frozenset[str] | AnyInTenant
    deny: frozenset[str]

    def permits(self, tenant: str, groups: frozenset[str]) -> bool:
        """Whether a principal of this tenant with these groups may read: the whole semantics, in one place."""
        if tenant != self.tenant or not self.deny.isdisjoint(groups):
            return False
        return self.allow is ANY_IN_TENANT or not self.allow.isdisjoint(groups)

    def __repr__(self) -> str:
        allow = self.allow if isinstance(self.allow, AnyInTenant) else sorted(self.allow)
        return f"Rule(tenant={self.tenant!r}, allow={allow!r}, deny={sorted(self.deny)!r})"


class Policy:
    """The rules of one application. Rows refer to rules by number, so a rule is stored once however many use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: list[Rule] = []
        self._known: dict[object, Rule] = {}

    def rule(self, tenant: str, allow: Iterable[str] | AnyInTenant, deny: Iterable[str] = ()) -> Rule:
        """The rule with these parts, made on first use.

        Args:
            tenant: The tenant whose principals it is about.
            allow: Groups that may read, or :data:`ANY_IN_TENANT`. An empty collection grants nobody.
            deny: Groups that may not, even if they are also in an allowed group.

        Raises:
            InvalidInput: If a name is empty or not a str, or ``allow`` or ``deny`` is a single str.
        """
        tenant = _name(tenant, "tenant")
        allowed = allow if isinstance(allow, AnyInTenant) else _names(allow, "allow")
        denied = _names(deny, "deny")
        key = (tenant, allowed, denied)
        with self._lock:
            if key not in self._known:
                self._known[key] = Rule(self, len(self._rules), tenant, allowed, denied)
                self._rules.append(self._known[key])
            return self._known[key]

    def __len__(self) -> int:
        return len(self._rules)

    def __repr__(self) -> str:
        return f"Policy({len(self._rules)} rules)"

    def decide(self, principal: Principal) -> npt.NDArray[np.uint8]:
        """One byte per rule made so far, 1 where ``principal`` may read rows under it."""
        decided = (rule.permits(principal.tenant, principal.groups) for rule in tuple(self._rules))
        return np.fromiter(decided, dtype=np.uint8)

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


def _name(value: object, what: str) -> str:
    checked = str.__str__(_checks.text(value, what))
    if not checked:
        raise InvalidInput(f"{what}: expected a name, got an empty str")
    return checked


def _names(values: Iterable[str], what: str) -> frozenset[str]:
    return frozenset(_name(value, what) for value in _checks.members(values, what))
