# SPDX-License-Identifier: Apache-2.0
"""A family of views: one row store that grows with the collection, and what pins a state of it."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

import numpy as np

from .. import _arrays, _core
from ..columns import Columns, ColumnsView
from .catalog import Catalog
from .rights import Rights
from .segments import Segments, Stored
from .settings import Settings

__all__ = ["Family", "View"]

_METRIC_NUMBERS: dict[str, int] = {name: number for name, _, number, _ in _core.metrics()}
_CODEC_NUMBERS: dict[str, int] = {**dict(_core.codecs())}


class Family:
    """Rows of segments, attached one after the other. Rows of a segment are numbered from ``begin[segment]`` on."""

    def __init__(self, settings: Settings, catalog: Catalog, rights: Rights, reference: _arrays.Floats | None) -> None:
        codec = settings.codec
        self.store = _core.RowStore(
            settings.dim, _METRIC_NUMBERS[settings.metric], _CODEC_NUMBERS[codec], True, reference
        )
        self.begin: dict[int, int] = {}
        columns = settings.new_columns()
        self.columns = None if columns is None else CatalogColumns(columns, catalog, self.begin)
        self._rights = rights
        rights.watch(self.store)

    def attach(self, segments: Segments, stored: Stored, reference: _arrays.Floats | None) -> None:
        """Makes a segment's rows part of the store, under the newest rules."""
        segment, rules = segments.open(stored, reference)
        groups = np.ascontiguousarray(segment.arrays()["groups"], dtype=np.int64)
        newest = self._rights.newest(groups, rules, stored.rights)
        self.begin[stored.number] = self.store.attach(segment, self._rights.numbers_of(newest))

    def mark(self, places: Iterable[tuple[int, int, int]], dead: bool) -> None:
        """Removes rows, or puts them back: ``(segment, first, rows)`` each."""
        known = [(self.begin[segment] + first, rows) for segment, first, rows in places if segment in self.begin]
        if known:
            first, rows = np.array(known, dtype=np.int64).T
            self.store.mark(np.ascontiguousarray(first), np.ascontiguousarray(rows), dead)


@dataclass(frozen=True, eq=False)
class View:
    """A state of the collection that nothing changes any more: what a reader reads rows from."""

    family: Family
    pinned: _core.Snapshot
    generation: int

    def snapshot(self) -> _core.Snapshot:
        """The same each time."""
        return self.pinned

    def find(self, ids: _arrays.Ids) -> tuple[_core.Snapshot, _arrays.Ids]:
        """Rows of ids, -1 for those that it does not have."""
        return self.pinned, self.family.store.rows_in(self.pinned, ids)


class CatalogColumns(Columns):
    """Metadata of documents as columns of their rows, read from the catalog when a predicate first asks."""

    def __init__(self, columns: Columns, catalog: Catalog, begin: dict[int, int]) -> None:
        super().__init__(columns.types)
        self._catalog = catalog
        self._begin = begin
        self._loaded: set[int] = set()
        self._loading = threading.Lock()

    def view(self, rows: int) -> ColumnsView:
        """The first ``rows`` rows."""
        with self._loading:
            for segment, begin in list(self._begin.items()):
                if segment not in self._loaded:
                    self._load(segment, begin)
                    self._loaded.add(segment)
            if self.rows < rows:
                self.store(self.prepare(None, rows - self.rows), self.rows)
        return super().view(rows)

    def _load(self, segment: int, begin: int) -> None:
        if begin > self.rows:
            self.store(self.prepare(None, begin - self.rows), self.rows)
        found = self._catalog.all(
            "SELECT DISTINCT places.first, revisions.rows, revisions.metadata FROM places "
            "JOIN revisions ON revisions.number = places.revision WHERE places.segment = ? ORDER BY places.first",
            (segment,),
        )
        counts = [rows for _, rows, _ in found]
        values = [self._catalog.json(metadata, "metadata") for *_, metadata in found]
        end = max((first + rows for first, rows, _ in found), default=0)
        columns: dict[str, list[object]] = {name: [None] * end for name in self.types}
        for (first, *_), rows, given in zip(found, counts, values, strict=True):
            for name, value in given.items():
                if name in columns:
                    kind = self.types[name]
                    plain = date.fromisoformat(value) if kind is date else value
                    columns[name][first : first + rows] = [plain] * rows
        self.store(self.prepare(columns, end), begin)
