# SPDX-License-Identifier: Apache-2.0
"""Rights as the catalog has them now. No snapshot pins them: every query of every process looks here first."""

from __future__ import annotations

import json
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..access import ANY_IN_TENANT, AnyInTenant, Policy, Rule
from ..errors import CorruptFile, InvalidInput
from ..masks import Guard
from .alive import Alive
from .catalog import Catalog, Row

__all__ = ["Rights", "StoredGuard", "parts_json"]

Numbers = npt.NDArray[np.uint32]


class Rights:
    """Keeps a policy, and the owners' rules of all row stores of a collection, as new as the catalog.

    A rule has a number in the catalog and one in the policy; documents refer to the first, the core to the second.
    """

    def __init__(self, catalog: Catalog, policy: Policy | None) -> None:
        self.policy = policy
        self._catalog = catalog
        self._lock = threading.RLock()
        self._stores: Alive[_core.RowStore] = Alive()
        self._state: tuple[int, int, int] | None = None
        self._seen = -1
        self._rules: dict[int, Rule] = {}  # by stored number
        self._stored: dict[int, int] = {}  # policy number -> stored number
        self._written: dict[int, Rule] = {}  # by stored number, those whose transaction may not have ended yet
        self._numbers = np.empty(0, dtype=np.uint32)  # stored number -> policy number

    @property
    def seen(self) -> int:
        """How many changes of rights are in."""
        return self._seen

    def sync(self) -> None:
        """Takes in what was changed since, by this process or another."""
        state = self._catalog.state()
        if state == self._state:
            return
        # The catalog first, here as everywhere: a writer holds it when it asks for a rule's number.
        with self._catalog.reading(), self._lock:
            seen = self._catalog.counter("rights")
            if seen != self._seen:
                self._take(self._seen)
            self._seen = seen
            self._state = state

    def watch(self, store: _core.RowStore) -> None:
        """Keeps the owners' rules of a store new from now on."""
        with self._lock:
            self._stores.add(store)

    def stored_number(self, rule: Rule, changed: int) -> tuple[int, bool]:
        """The catalog's number of a rule, and whether it was written there just now. Inside a transaction.

        Raises:
            InvalidInput: If another policy made it.
        """
        if not isinstance(rule, Rule) or rule.policy is not self.policy:
            raise InvalidInput(f"rule: expected a rule of this collection's policy, got {rule!r}")
        with self._lock:
            if rule.number in self._stored:
                return self._stored[rule.number], False
            number = self._catalog.run(
                "INSERT INTO rules (tenant, parts, changed) VALUES (?, ?, ?)",
                (rule.tenant, parts_json(rule.allow, rule.deny), changed),
            )
            self._written[number] = rule
            return number, True

    def ranks(self) -> Numbers:
        """The policy's ranks, by stored number."""
        assert self.policy is not None
        self.sync()
        ranks = self.policy.ranks()
        found = np.full(max(self._rules, default=0) + 1, len(ranks), dtype=np.uint32)
        for number, rule in self._rules.items():
            found[number] = ranks[rule.number]
        return found

    def numbers_of(self, stored: npt.NDArray[Any]) -> Numbers:
        """The policy's numbers of stored ones; no rule for what is unknown."""
        with self._lock:
            found = np.full(len(stored), _core.NO_RULE, dtype=np.uint32)
            known = stored < len(self._numbers)
            found[known] = self._numbers[stored[known]]
            return found

    def newest(self, groups: npt.NDArray[np.int64], rules: Numbers, since: int) -> Numbers:
        """Stored rules of rows, where documents may have other rules since."""
        changed = self._changed(since)
        if not changed:
            return rules
        documents, numbers = _columns(changed)
        order = np.argsort(documents)
        at = np.searchsorted(documents, groups, sorter=order).clip(max=len(order) - 1)
        hit = documents[order[at]] == groups
        return np.where(hit, numbers[order[at]], rules).astype(np.uint32)

    def _take(self, since: int) -> None:
        for number, tenant, parts, _ in self._catalog.all(
            "SELECT number, tenant, parts, changed FROM rules WHERE changed > ? ORDER BY number", (since,), "issi"
        ):
            self._take_rule(number, tenant, self._catalog.json(parts, f"rule {number}"))
        changed = self._changed(since)
        if changed:
            documents, numbers = _columns(changed)
            for store in self._stores:
                store.set_known_rules(documents, self.numbers_of(numbers))

    def _changed(self, since: int) -> list[Row]:
        sql = "SELECT number, rule FROM documents WHERE changed > ? AND changed > 0"
        return self._catalog.all(sql, (since,), "iI")

    def _take_rule(self, number: int, tenant: Any, parts: Any) -> None:
        if self.policy is None:
            return
        try:
            allow = ANY_IN_TENANT if parts["allow"] is None else parts["allow"]
            deny = parts["deny"]
            if number in self._rules:
                self.policy.apply_change(self._rules[number], allow, deny)
                return
            if (written := self._written.pop(number, None)) is not None:
                self.policy.apply_change(written, allow, deny)  # the application's own object, whatever it says now
            rule = written or self.policy.rule(tenant, allow, deny)
            if rule.number in self._stored:  # another stored rule says the same, for now
                rule = self.policy.add(tenant, allow, deny)
        except (InvalidInput, TypeError, KeyError) as error:
            raise CorruptFile(f"{self._catalog.path}: rule {number}: {error}; restore the file from a copy") from error
        self._link(rule, number)

    def _link(self, rule: Rule, number: int) -> None:
        if number != len(self._rules) + 1:  # numbers are given one after the other, and for ever
            raise CorruptFile(f"{self._catalog.path}: rule {number}: no such number; restore the file from a copy")
        self._rules[number] = rule
        self._stored[rule.number] = number
        if number >= len(self._numbers):
            grown = np.full(max(number + 1, 2 * len(self._numbers)), _core.NO_RULE, dtype=np.uint32)
            grown[: len(self._numbers)] = self._numbers
            self._numbers = grown
        self._numbers[number] = rule.number


class StoredGuard(Guard):
    """A guard that looks at the catalog before it looks at rights."""

    def __init__(self, rights: Rights) -> None:
        super().__init__(rights.policy)
        self._stored_rights = rights

    def _rights(self, snapshot: _core.Snapshot) -> tuple[int, int]:
        if self.policy is not None:
            self._stored_rights.sync()
        return super()._rights(snapshot)


def parts_json(allow: frozenset[str] | AnyInTenant, deny: frozenset[str]) -> str:
    """A rule's lists, for the catalog."""
    return json.dumps({"allow": None if isinstance(allow, AnyInTenant) else sorted(allow), "deny": sorted(deny)})


def _columns(rows: list[Any]) -> tuple[npt.NDArray[np.int64], Numbers]:
    """Documents and their stored rules; a document without one is readable by nobody."""
    documents = np.array([row[0] for row in rows], dtype=np.int64)
    rules = [_core.NO_RULE if rule is None or not 0 < rule < 2**31 else rule for _, rule in rows]
    return documents, np.array(rules, dtype=np.uint32)
