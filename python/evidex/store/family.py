# SPDX-License-Identifier: Apache-2.0
"""A family of views: one row store that grows with the collection, and what pins a state of it."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import cached_property

import numpy as np

from .. import _arrays, _core
from ..columns import Columns, ColumnsView
from ..errors import CorruptFile, InvalidInput
from ..lexical.parts import Part, view_of
from .catalog import Catalog
from .rights import Rights
from .segments import Segments, Stored
from .settings import Settings

__all__ = ["Family", "View"]


class Family:
    """Rows of segments, attached one after the other. Rows of a segment are numbered from ``begin[segment]`` on."""

    def __init__(self, settings: Settings, catalog: Catalog, rights: Rights, reference: _arrays.Floats | None) -> None:
        self.store = settings.new_store(True, reference)
        self.begin: dict[int, int] = {}
        self._rows: dict[int, int] = {}
        self._words: tuple[Part, ...] | None = None if settings.analyzer is None else ()
        columns = settings.new_columns()
        self.columns = None if columns is None else CatalogColumns(columns, catalog, self)
        self._path = catalog.path
        self._rights = rights
        rights.watch(self.store)

    def attach(self, segments: Segments, stored: Stored, reference: _arrays.Floats | None) -> None:
        """Makes a segment's rows part of the store, under the newest rules."""
        segment, rules = segments.open(stored, reference)
        words = None if self._words is None else segments.postings(stored, weighted=False)
        groups = np.ascontiguousarray(segment.arrays()["groups"], dtype=np.int64)
        newest = self._rights.newest(groups, rules, stored.rights)
        try:
            begin = self.store.attach(segment, self._rights.numbers_of(newest))
        except InvalidInput as error:
            raise CorruptFile(f"{self._path}: segment {stored.number}: {error}; restore it from a copy") from error
        self.begin[stored.number], self._rows[stored.number] = begin, stored.rows
        if self._words is not None and words is not None:
            self._words = (*self._words, Part(begin, words))

    def view(self, generation: int) -> View:
        """The state of now."""
        return View(self, self.store.snapshot(), generation, self._words)

    def place(self, segment: int, first: int, rows: int) -> int:
        """The number in the store of the first of some rows of a segment.

        Raises:
            CorruptFile: If it does not have them.
        """
        if first < 0 or not 0 < rows <= self._rows.get(segment, 0) - first:
            raise CorruptFile(
                f"{self._path}: segment {segment} has no {rows} rows from {first} on; restore the file from a copy"
            )
        return self.begin[segment] + first

    def mark(self, places: Iterable[tuple[int, int, int]], dead: bool) -> None:
        """Removes rows, or puts them back: ``(segment, first, rows)`` each."""
        known = [(self.place(*place), place[2]) for place in places if place[0] in self.begin]
        if known:
            first, rows = np.array(known, dtype=np.int64).T
            self.store.mark(np.ascontiguousarray(first), np.ascontiguousarray(rows), dead)


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """What a search by words pins; no view, which would keep files from being deleted as long as counts are kept."""

    snapshot: _core.Snapshot
    view: _core.SparseView


@dataclass(frozen=True, eq=False)
class View:
    """A state of the collection that nothing changes any more: what a reader reads rows from."""

    family: Family
    pinned: _core.Snapshot
    generation: int
    parts: tuple[Part, ...] | None = None

    @cached_property
    def words(self) -> Words | None:
        """Its rows with their words, where those are kept."""
        if self.parts is None:
            return None
        return Words(self.pinned, view_of(self.pinned, self.parts))

    @property
    def columns(self) -> Columns | None:
        """Values of its rows, where there are columns."""
        return None if self.family.columns is None else ViewColumns(self, self.family.columns)

    def snapshot(self) -> _core.Snapshot:
        """The same each time."""
        return self.pinned

    def find(self, ids: _arrays.Ids) -> tuple[_core.Snapshot, _arrays.Ids]:
        """Rows of ids, -1 for those that it does not have."""
        return self.pinned, self.family.store.rows_in(self.pinned, ids)


class ViewColumns(Columns):
    """Columns for a read, which keeps the view: what it asks the catalog for is not deleted meanwhile."""

    def __init__(self, kept: View, columns: Columns) -> None:
        super().__init__({})
        self._kept, self._all = kept, columns

    def view(self, rows: int) -> ColumnsView:
        """The first ``rows`` rows."""
        return self._all.view(rows)


class CatalogColumns(Columns):
    """Metadata of documents as columns of their rows, read from the catalog when a predicate first asks."""

    def __init__(self, columns: Columns, catalog: Catalog, family: Family) -> None:
        super().__init__(columns.types)
        self._catalog = catalog
        self._family = family
        self._loaded: set[int] = set()
        self._loading = threading.Lock()

    def view(self, rows: int) -> ColumnsView:
        """The first ``rows`` rows."""
        with self._loading:
            for segment, begin in list(self._family.begin.items()):
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
            "iis",
        )
        end = max((self._family.place(segment, first, rows) - begin + rows for first, rows, _ in found), default=0)
        columns: dict[str, list[object]] = {name: [None] * end for name in self.types}
        try:
            for first, rows, metadata in found:
                for name, value in dict(self._catalog.json(metadata, "metadata")).items():
                    if name in columns:
                        plain = date.fromisoformat(value) if self.types[name] is date else value
                        columns[name][first : first + rows] = [plain] * rows
            prepared = self.prepare(columns, end)
        except (ValueError, TypeError) as error:
            raise CorruptFile(f"{self._catalog.path}: metadata: {error}; restore the file from a copy") from error
        self.store(prepared, begin)
