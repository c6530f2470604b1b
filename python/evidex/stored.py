# SPDX-License-Identifier: Apache-2.0
"""What can be read of rows whatever is stored with them: ids, counts, masks. Everything goes through the guard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from . import _arrays, _checks, _core
from .access import UNRESTRICTED, Caller
from .audit import RetrievalLog
from .columns import Columns
from .errors import AccessError, InvalidInput
from .index_columns import IndexColumns
from .masks import AllowMask, Guard
from .predicates import Predicate

__all__ = ["Pinned", "StoredRows"]

Pinned: TypeAlias = "tuple[_core.Snapshot, Columns | None]"
_T = TypeVar("_T")


class Rows(Protocol):
    """Where rows are read from."""

    def snapshot(self) -> _core.Snapshot:
        """What a read that begins now sees."""

    def find(self, ids: _arrays.Ids) -> tuple[_core.Snapshot, _arrays.Ids]:
        """The same, and the rows of ids in it, -1 for those it does not have."""


class StoredRows:
    """What can be read of stored rows without searching. Made by :class:`evidex.DenseIndex` and others."""

    _store: Rows
    _columns: IndexColumns | None
    _guard: Guard
    _log: RetrievalLog | None

    def ids(self, *, principal: Caller = None, where: Predicate | None = None) -> _arrays.Ids:
        """Ids the caller may read, int64 [n], in row order: what a bool ``allow`` is aligned with.

        With ``where``, only those whose columns match; a bool ``allow`` is aligned with all of them.
        """
        return self._of_matching("ids", principal, where, _core.Snapshot.ids)

    def count(self, *, principal: Caller = None, where: Predicate | None = None) -> int:
        """How many rows the caller may read; with ``where``, how many of them match."""
        return self._of_matching("count", principal, where, _core.Snapshot.count)

    def stats(self, *, principal: Caller = None) -> dict[str, Any]:
        """The operator's figures: rows stored and removed, layout, generation, and how they are kept.

        Raises:
            AccessError: On a guarded index unless ``principal`` is UNRESTRICTED; a principal may learn :meth:`count`.
        """
        if self._guard.policy is not None and principal is not UNRESTRICTED:
            raise AccessError(
                "principal: stats are the operator's: pass UNRESTRICTED if that is meant; a principal may learn count()"
            )
        snapshot = self._store.snapshot()
        self._guard.visible(snapshot, principal)
        return {
            "rows": snapshot.live_rows,
            "removed": snapshot.rows - snapshot.live_rows,
            "layout": snapshot.layout,
            "generation": snapshot.generation,
            "rules": 0 if self._guard.policy is None else len(self._guard.policy),
            **self._figures(),
        }

    def _figures(self) -> dict[str, Any]:
        """What :meth:`stats` says of how rows are kept."""
        raise NotImplementedError

    def _pinned(self) -> Pinned:
        """What a read sees: the newest snapshot, and the values of its rows where there are columns."""
        return (self._store.snapshot(), None) if self._columns is None else self._columns.pinned()

    def _record(self, action: str, snapshot: _core.Snapshot, principal: object, **what: Any) -> None:
        """Comes last: what cannot be logged is not returned."""
        if self._log is not None:
            self._log.record(action, principal, layout=snapshot.layout, generation=snapshot.generation, **what)

    def _of_matching(
        self, action: str, principal: object, where: object, read: Callable[[_core.Snapshot, _core.Bitmask], _T]
    ) -> _T:
        snapshot, columns = self._pinned()

        def run() -> _T:
            visible = self._guard.visible(snapshot, principal)
            return read(snapshot, self._guard.narrowed(snapshot, visible, None, where, columns))

        found = self._guard.settled(snapshot, principal, run)
        self._record(action, snapshot, principal, **({"count": found} if action == "count" else {"ids": [found]}))
        return found

    def _mask_of_ids(self, ids: object) -> AllowMask:
        wanted = _arrays.ids(ids)
        snapshot, rows = self._store.find(wanted)
        unknown = rows < 0
        if self._guard.policy is None and unknown.any():
            raise InvalidInput(f"ids: {wanted[unknown][0]} is not stored; an open index has no hidden rows")
        return AllowMask(snapshot.layout, _core.Bitmask.from_rows(snapshot.rows, rows))

    def _mask_of_bools(self, allow: object, principal: Caller) -> AllowMask:
        snapshot = self._store.snapshot()
        visible = self._guard.visible(snapshot, principal)
        return AllowMask(snapshot.layout, self._guard.select(snapshot, visible, allow))

    def _mask_of_callable(self, function: Callable[[int], bool], principal: Caller) -> AllowMask:
        if not callable(function):
            _checks.refuse("function", function, "a function of an id", "pass a callable that returns True or False")
        snapshot = self._store.snapshot()

        def run() -> tuple[_core.Bitmask, _arrays.Ids]:
            visible = self._guard.visible(snapshot, principal)
            return visible, snapshot.ids(visible)

        visible, ids = self._guard.settled(snapshot, principal, run)
        allowed = [_checks.flag(function(one), f"function({one})") for one in ids.tolist()]
        return AllowMask(snapshot.layout, self._guard.select(snapshot, visible, np.array(allowed, dtype=np.bool_)))
