# SPDX-License-Identifier: Apache-2.0
"""Over which rows words are counted, and the counts that are kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import NamedTuple, Protocol

from .. import _checks, _core
from ..access import UNRESTRICTED, Principal
from ..errors import InvalidInput
from ..masks import Guard

__all__ = ["SCOPES", "Counted", "Statistics", "chosen_scope"]

SCOPES = ("permitted", "tenant", "collection")
"""Names of the scopes."""


class Counted(Protocol):
    """Rows and their words, pinned together."""

    @property
    def snapshot(self) -> _core.Snapshot:
        """The rows."""

    @property
    def view(self) -> _core.SparseView:
        """With their postings."""


class _Kept(NamedTuple):
    state: Counted
    mask: _core.Bitmask
    counts: _core.SparseCounts


class Statistics:
    """Counts of callers that asked lately. They are used for the very state and rights they were made for."""

    _MOST_CALLERS = 64
    _MOST_STATES = 3

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._lock = threading.Lock()
        self._kept: OrderedDict[object, _Kept] = OrderedDict()
        self._last: Counted | None = None

    def of(
        self, state: Counted, scope: str, principal: object, visible: _core.Bitmask
    ) -> tuple[_core.Bitmask, _core.SparseCounts]:
        """The rows that count, and the counts of them; ``visible`` is what the guard gave for who asks, in this run."""
        mask, key = self._rows(state, scope, principal, visible)
        with self._lock:
            before = self._kept.get(key)
            if before is not None:
                self._kept.move_to_end(key)
        if before is not None and before.state is state and before.mask is mask:
            return mask, before.counts
        counts = state.view.counts(mask, None if before is None else before.counts)
        with self._lock:
            self._kept[key] = _Kept(state, mask, counts)
            self._kept.move_to_end(key)
            if len(self._kept) > self._MOST_CALLERS:
                self._kept.popitem(last=False)
            if state is not self._last:
                self._last = state
                self._let_states_go()
        return mask, counts

    def forget(self) -> None:
        """Lets go of all counts and states, with the rows and the files that they hold on to."""
        with self._lock:
            self._kept.clear()
            self._last = None

    def _let_states_go(self) -> None:
        """All but those asked for lately, since each keeps its postings in memory."""
        # Not the newest by number: rows that are laid out anew are numbered anew, and so are generations of them.
        states: list[Counted] = []
        for key, kept in reversed(list(self._kept.items())):
            if not any(kept.state is one for one in states):
                if len(states) == self._MOST_STATES:
                    del self._kept[key]
                    continue
                states.append(kept.state)

    def _rows(
        self, state: Counted, scope: str, principal: object, visible: _core.Bitmask
    ) -> tuple[_core.Bitmask, object]:
        """A scope's rows, and a name that they keep from state to state."""
        if not isinstance(principal, Principal) or scope == "collection":
            return self._guard.everything(state.snapshot), "everything"
        if scope == "tenant":
            return self._guard.of_tenant(state.snapshot, principal.tenant), principal.tenant
        return visible, (principal.tenant, principal.groups)


def chosen_scope(scope: object, guarded: bool, principal: object) -> str:
    """The scope that an argument names.

    Raises:
        InvalidInput: For another name, on an open index for one that would change nothing, and for a tenant's scope
            without a tenant.
    """
    if scope is None:
        return "permitted" if guarded else "collection"
    if not isinstance(scope, str) or scope not in SCOPES:
        _checks.refuse("scope", scope, f"one of {', '.join(SCOPES)}", "name one of them, or leave it out")
    if not guarded and scope != "collection":
        raise InvalidInput(f"scope: this index is open, where {scope!r} is all rows; leave it out")
    if scope == "tenant" and principal is UNRESTRICTED:
        raise InvalidInput("scope: UNRESTRICTED has no tenant; pass a Principal, or another scope")
    return scope
