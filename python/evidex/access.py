# SPDX-License-Identifier: Apache-2.0
"""Who may read what: principals, rules, policies, and the allow masks they become.

A rule is ``(tenant, allow groups or ANY_IN_TENANT, deny groups)``; deny wins. Names are compared as exact
strings: no case folding, no Unicode normalisation. Nothing here has a permissive default.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _checks
from ._core import Bitmask, Snapshot
from .errors import AccessError, InvalidInput, StaleMask

if TYPE_CHECKING:
    from ._arrays import Ids

__all__ = [
    "ANY_IN_TENANT",
    "UNRESTRICTED",
    "AllowMask",
    "Caller",
    "Policy",
    "Principal",
    "Rule",
]

logger = logging.getLogger("evidex.access")


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


class Maskable(Protocol):
    """What :class:`AllowMask` needs from an index."""

    def _mask_of_ids(self, ids: object) -> AllowMask: ...
    def _mask_of_bools(self, allow: object, principal: Caller) -> AllowMask: ...


@dataclass(frozen=True, slots=True, eq=False)
class AllowMask:
    """One bit per row of a layout, made once and used for any number of searches.

    Rows added after it was made count as denied; so does the new row of an id that was upserted. It only
    narrows: on a guarded index it is combined with the principal's grant, never a replacement for it.
    Its bits are the application's, not the principal's: do not show them to callers.
    """

    layout: int
    bits: Bitmask

    @classmethod
    def from_ids(cls, index: Maskable, ids: Ids | Iterable[int]) -> AllowMask:
        """Allows exactly these ids, in any order, repeats included; no ids allow nothing.

        Raises:
            InvalidInput: For a negative id, and on an open index for an unknown one. On a guarded index
                unknown ids are simply not allowed, exactly like hidden ones.
        """
        return index._mask_of_ids(ids)

    @classmethod
    def from_bools(cls, index: Maskable, allow: npt.NDArray[np.bool_], principal: Caller = None) -> AllowMask:
        """Allows row i of ``index.ids(principal=principal)`` where ``allow[i]``; lengths must be equal."""
        return index._mask_of_bools(allow, principal)

    def require_layout(self, layout: int) -> Bitmask:
        """The bits, if they number the rows of ``layout``; otherwise raises StaleMask."""
        if self.layout != layout:
            raise StaleMask(
                f"allow: this mask numbers the rows of layout {self.layout}, the index searched has layout {layout}; "
                "build the mask again from this index"
            )
        return self.bits

    def __repr__(self) -> str:
        return f"AllowMask(layout={self.layout}, rows={self.bits.rows})"


class Grants:
    """Compiles principals into row masks and keeps the newest few.

    A kept mask is used only for the very snapshot and number of rules it was compiled for, so it can
    never outlive a change of either.
    """

    _KEPT = 32

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._masks: OrderedDict[object, Bitmask] = OrderedDict()

    def everything(self, snapshot: Snapshot) -> Bitmask:
        """All rows of the snapshot: for open indexes and UNRESTRICTED only."""
        return self._kept(("everything", snapshot.rows), lambda: Bitmask.ones(snapshot.rows))

    def mask(self, policy: Policy, snapshot: Snapshot, principal: object) -> Bitmask:
        """The rows ``principal`` may read."""
        if principal is UNRESTRICTED:
            logger.info("UNRESTRICTED read of layout %d, generation %d", snapshot.layout, snapshot.generation)
            return self.everything(snapshot)
        if type(principal) is not Principal:
            raise AccessError(
                "principal: a guarded index is read as somebody: pass the authenticated Principal, or UNRESTRICTED "
                f"if reading everything is meant; got {principal!r}"
            )
        key = (principal.tenant, principal.groups, snapshot.generation, len(policy))
        return self._kept(key, lambda: snapshot.grant(policy.decide(principal)))

    def _kept(self, key: object, compile_mask: Compile) -> Bitmask:
        with self._lock:
            if key in self._masks:
                self._masks.move_to_end(key)
                return self._masks[key]
        mask = compile_mask()
        with self._lock:
            self._masks[key] = mask
            while len(self._masks) > self._KEPT:
                self._masks.popitem(last=False)
        return mask


class Compile(Protocol):
    """Makes a mask that is not kept yet."""

    def __call__(self) -> Bitmask: ...


def _name(value: object, what: str) -> str:
    checked = str.__str__(_checks.text(value, what))
    if not checked:
        raise InvalidInput(f"{what}: expected a name, got an empty str")
    return checked


def _names(values: Iterable[str], what: str) -> frozenset[str]:
    return frozenset(_name(value, what) for value in _checks.members(values, what))
