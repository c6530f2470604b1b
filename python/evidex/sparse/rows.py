# SPDX-License-Identifier: Apache-2.0
"""Rows and the postings of each, published together: no reader ever sees a row without its terms."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from .. import _arrays, _core
from ..columns import Columns
from ..index_columns import IndexColumns, old_rows
from .documents import no_postings

__all__ = ["Part", "PostedRows", "State", "gathered"]

_T = TypeVar("_T")


class Part(NamedTuple):
    """Postings of the rows from ``begin`` on."""

    begin: int
    postings: _core.Postings

    @property
    def end(self) -> int:
        """Number of the row after its last."""
        return self.begin + self.postings.rows

    @property
    def size(self) -> int:
        """What decides whether it is merged with others."""
        return self.postings.rows + self.postings.entries


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """What a read pins."""

    snapshot: _core.Snapshot
    columns: Columns | None
    parts: tuple[Part, ...]
    view: _core.SparseView

    @classmethod
    def of(cls, snapshot: _core.Snapshot, columns: Columns | None, parts: tuple[Part, ...]) -> State:
        """The state of these parts."""
        begins = np.array([part.begin for part in parts], dtype=np.int64)
        return cls(snapshot, columns, parts, _core.SparseView(snapshot, [part.postings for part in parts], begins))


class PostedRows:
    """The newest state of a row store with postings, and the one way to change it.

    The store publishes its rows first. A state is made of them when all that belongs to them is there, by who wrote or,
    if that one was interrupted, by who comes next; until then readers see the state before.
    """

    def __init__(
        self, store: _core.RowStore, columns: IndexColumns | None, weighted: bool, parts: Sequence[Part] = ()
    ) -> None:
        self._store, self._columns, self._weighted = store, columns, weighted
        self._writer = threading.Lock()
        self._coming: tuple[int, tuple[Part, ...]] | None = None  # the first row of a write, and the parts after it
        # One part is always there, and says of what kind they are.
        self._state = State.of(*self._stored(), tuple(parts) or (Part(0, no_postings(0, weighted)),))

    @property
    def state(self) -> State:
        """What a read that begins now sees."""
        return self._state

    def snapshot(self) -> _core.Snapshot:
        """The rows of it."""
        return self._state.snapshot

    def find(self, ids: _arrays.Ids) -> tuple[_core.Snapshot, _arrays.Ids]:
        """Rows of ids, -1 for those that are not stored, in a snapshot that no later read is older than."""
        snapshot, rows = self._store.find(ids)
        while self._state.snapshot.generation < snapshot.generation:
            with self._writer:  # whoever holds it is about to publish the state
                self._settle()
        return snapshot, rows

    def append(self, postings: _core.Postings, write: Callable[[], _T]) -> _T:
        """What ``write()`` gives, which appends the rows of these postings, or fails and changes nothing."""
        with self._writer:
            self._settle()
            coming = Part(self._store.snapshot().next_row, postings)
            some = tuple(part for part in self._state.parts if part.postings.rows > 0)
            # Before the rows are written: from then on their rights count, and what they replace should be gone soon.
            self._coming = coming.begin, _merged((*some, coming), self._weighted)
            written = write()
            self._settle()
            return written

    def change(self, write: Callable[[], None]) -> None:
        """Runs ``write()``, which removes rows of the store, or numbers them anew."""
        with self._writer:
            self._settle()
            write()
            self._settle()

    def _stored(self) -> tuple[_core.Snapshot, Columns | None]:
        return (self._store.snapshot(), None) if self._columns is None else self._columns.pinned()

    def _settle(self) -> None:
        """For who holds the lock: makes the state of what the store has."""
        snapshot, columns = self._stored()
        before = self._state
        if snapshot.generation != before.snapshot.generation:
            parts = before.parts
            if snapshot.layout != before.snapshot.layout:
                rows = old_rows(before.snapshot, snapshot)
                parts = (Part(0, gathered(parts, rows, self._weighted)),)
            elif self._coming is not None and snapshot.rows > self._coming[0]:
                parts = self._coming[1]
            self._state = State.of(snapshot, columns, parts)
        self._coming = None


def gathered(parts: Sequence[Part], rows: _arrays.Ids, weighted: bool) -> _core.Postings:
    """Postings whose row i is row ``rows[i]``, which one of the parts has."""
    begins = np.array([part.begin for part in parts], dtype=np.int64)
    part = np.searchsorted(begins, rows, side="right") - 1
    row = rows - begins[part]
    return _core.Postings.gathered(
        [one.postings for one in parts],
        part.astype(np.int64, copy=False),
        np.ascontiguousarray(row, dtype=np.int64),
        weighted,
    )


def _merged(parts: tuple[Part, ...], weighted: bool) -> tuple[Part, ...]:
    """The last parts made one, as long as the one before is less than twice as large.

    So there are few of them, and each row is copied seldom: the logarithmic method (Bentley and Saxe, 1980).
    """
    first, size = len(parts) - 1, parts[-1].size
    while first > 0 and parts[first - 1].size < 2 * size:
        first -= 1
        size += parts[first].size
    if first == len(parts) - 1:
        return parts
    begin, whole = parts[first].begin, [parts[first]]
    for part in parts[first + 1 :]:
        if part.begin > whole[-1].end:  # numbers that no row has
            whole.append(Part(whole[-1].end, no_postings(part.begin - whole[-1].end, weighted)))
        whole.append(part)
    rows = np.arange(begin, whole[-1].end, dtype=np.int64)
    return (*parts[:first], Part(begin, gathered(whole, rows, weighted)))
