# SPDX-License-Identifier: Apache-2.0
"""The columns of one index: written together with its rows, numbered as its layout numbers them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np

from . import _arrays
from ._core import Bitmask, RowStore, Snapshot
from .columns import Columns
from .predicates import Predicate, evaluate

__all__ = ["IndexColumns", "live_rows", "matching", "old_rows"]

_T = TypeVar("_T")


class IndexColumns:
    """Values are in their places before the core publishes the rows, so a snapshot finds the values of all its rows."""

    def __init__(self, columns: Columns, store: RowStore) -> None:
        self._store = store
        self._writer = threading.Lock()
        self._declared = Columns(columns.types)
        self._newest = store.snapshot().layout, Columns(columns.types)
        self._before: Snapshot | None = None  # of a change of layout that is not settled yet

    @classmethod
    def around(cls, columns: Columns, store: RowStore) -> IndexColumns:
        """Columns that have values of the store's rows already."""
        made = cls(columns, store)
        made._newest = store.snapshot().layout, columns
        return made

    @property
    def types(self) -> Mapping[str, type]:
        """Names and types."""
        return self._declared.types

    def write(self, metadata: object, rows: int, write: Callable[[], _T]) -> _T:
        """What ``write()`` gives, which appends ``rows`` rows to the store, or fails: then nothing is changed here.

        Raises:
            InvalidInput: For metadata that does not go with the columns, before ``write`` is called.
        """
        batch = self._declared.prepare(metadata, rows)
        with self._writer:
            snapshot, columns = self._settled()
            # If the write fails, the next one stores over this: rows are counted by the store alone.
            first = snapshot.next_row
            if first > snapshot.rows:  # numbers that no row has
                columns.store(columns.prepare(None, first - snapshot.rows), snapshot.rows)
            columns.store(batch, first)
            return write()

    def optimize(self, optimize: Callable[[], None]) -> None:
        """Runs ``optimize()``, which may number the rows anew, and numbers the values likewise."""
        with self._writer:
            self._before, _ = self._settled()
            optimize()
            self._settled()

    def pinned(self) -> tuple[Snapshot, Columns]:
        """The newest snapshot, and columns that number rows as it does."""
        while True:
            layout, columns = self._newest
            snapshot = self._store.snapshot()
            if snapshot.layout == layout:
                return snapshot, columns
            with self._writer:  # whoever holds it is changing the layout
                self._settled()

    def _settled(self) -> tuple[Snapshot, Columns]:
        """As :meth:`pinned`, for who holds the writer's lock: makes the columns of a new layout."""
        snapshot = self._store.snapshot()
        layout, columns = self._newest
        if snapshot.layout != layout:
            assert self._before is not None
            columns = columns.taken(old_rows(self._before, snapshot))
            self._newest = snapshot.layout, columns
        self._before = None
        return snapshot, columns


def matching(snapshot: Snapshot, columns: Columns, predicate: Predicate) -> Bitmask:
    """The rows of a snapshot that match, hidden and removed ones included: it narrows, it grants nothing.

    Raises:
        InvalidInput: If the predicate does not go with the columns, whatever the rows are.
    """
    matched = evaluate(predicate, columns.view(snapshot.rows))
    return Bitmask.from_packed(snapshot.rows, np.packbits(matched, bitorder="little"))


def old_rows(before: Snapshot, after: Snapshot) -> _arrays.Ids:
    """For each row after, the row that it was; -1 for one that was removed meanwhile and needs no values any more."""
    old_rows, old_ids = live_rows(before)
    new_rows, new_ids = live_rows(after)
    by_id = np.argsort(old_ids)
    old_row_of = np.full(after.rows, -1, dtype=np.int64)
    old_row_of[new_rows] = old_rows[by_id[np.searchsorted(old_ids, new_ids, sorter=by_id)]]
    return old_row_of


def live_rows(snapshot: Snapshot) -> tuple[_arrays.Ids, _arrays.Ids]:
    """Row numbers and ids of what is not removed."""
    live = snapshot.live()
    rows = np.flatnonzero(live.test(np.arange(snapshot.rows, dtype=np.int64)))
    return rows.astype(np.int64, copy=False), snapshot.ids(live)
