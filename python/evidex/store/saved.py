# SPDX-License-Identifier: Apache-2.0
"""An index in a folder: the format of a collection, without documents."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np

from .. import _arrays, _checks, _core
from ..access import ANY_IN_TENANT, Policy
from ..codes import Codes
from ..columns import Columns
from ..errors import AccessError, CorruptFile, InvalidInput, MissingStore
from ..lexical.parts import Part, gathered
from .catalog import Catalog
from .entries import keep_reference, keep_segment, living_segments, next_number, reference
from .files import WriterLock, create_folder, require_folder
from .rights import parts_json
from .saved_codes import CodesToSave, kept_codes
from .segments import FolderSegments, Layout
from .settings import Settings
from .snapshot import lease_if_possible

__all__ = ["SPARSE", "Saved", "folder_of", "load", "save"]

SPARSE = "sparse index"
"""What the catalog calls one that has postings of its rows."""

_INDEX = "index"
_CLASSES = {_INDEX: "DenseIndex", SPARSE: "SparseIndex"}
_ROWS = 2**18  # of a segment
_VALUES = 2**16  # of a column that are kept together


@dataclass(slots=True)
class Saved:
    """What an index is: how it keeps rows, the rows, and what belongs to them.

    A SparseIndex has postings, in ``parts``; they are of text where the settings name an analyser, else of vectors.
    """

    settings: Settings
    store: _core.RowStore
    prescan: bool
    policy: Policy | None
    snapshot: _core.Snapshot
    columns: Columns | None = None
    codes: dict[str, Codes] = field(default_factory=dict)
    parts: tuple[Part, ...] | None = None
    _rows: _arrays.Ids = field(init=False)

    def __post_init__(self) -> None:
        live = self.snapshot.live().test(np.arange(self.snapshot.rows, dtype=np.int64))
        self._rows = np.flatnonzero(live).astype(np.int64, copy=False)

    @property
    def rows(self) -> _arrays.Ids:
        """Numbers of the rows that are not removed."""
        return self._rows

    def postings(self, rows: _arrays.Ids) -> _core.Postings | None:
        """Those of some rows, given their numbers."""
        return None if self.parts is None else gathered(self.parts, rows, self.settings.analyzer is None)


def folder_of(path: object) -> str:
    """A path as a str.

    Raises:
        InvalidInput: If it is none.
    """
    folder = os.fspath(path) if isinstance(path, (str, os.PathLike)) else path
    if not isinstance(folder, str) or not folder or "\0" in folder:
        _checks.refuse("path", path, "the name of a folder", "pass a str or a Path")
    return folder


def save(path: object, saved: Saved) -> None:
    """Writes an index; what was saved there before is replaced in one step, or stays."""
    folder = folder_of(path)
    create_folder(folder)
    lock = WriterLock(folder)
    try:
        catalog = Catalog(folder, write=True, new=True)
        try:
            _write(folder, catalog, saved)
        finally:
            catalog.close()
    finally:
        lock.release()


def _write(folder: str, catalog: Catalog, saved: Saved) -> None:
    segments = FolderSegments(folder, Layout(saved.settings.dim, saved.settings.codec))
    coded = [CodesToSave(codes, saved.snapshot, saved.rows) for codes in saved.codes.values()]
    there = catalog.has_schema()
    kind = _INDEX if saved.parts is None else SPARSE
    if there:
        _require_index(catalog, folder, kind)
    with catalog.changing():
        if not there:
            catalog.create_schema()
        generation = 1 + (catalog.counter("generation") if there else 0)
        number = next_number(catalog, "segments")
        for table in ("segments", "rules", "meta"):
            catalog.run(f"DELETE FROM {table}")
        catalog.set_meta("rights", 0)
        if saved.policy is not None:
            catalog.run_many(
                "INSERT INTO rules (number, tenant, parts, changed) VALUES (?, ?, ?, 0)",
                ((rule.number + 1, rule.tenant, parts_json(rule.allow, rule.deny)) for rule in saved.policy.rules()),
            )
        for start in range(0, len(saved.rows), _ROWS):
            rows = saved.rows[start : start + _ROWS]
            rules = saved.snapshot.rules_of(rows)
            rules = np.where(rules == _core.NO_RULE, rules, rules + 1).astype(np.uint32)
            beside = {name: array for codes in coded for name, array in codes.blocks(start, start + _ROWS).items()}
            segment, postings = saved.snapshot.gather(rows), saved.postings(rows)
            keep_segment(catalog, segments.write(number, segment, rules, postings, beside), generation)
            number += 1
        keep_reference(catalog, saved.snapshot.reference)
        for codes in coded:
            codes.keep(catalog)
        values: dict[str, object] = {
            "kind": kind,
            "settings": saved.settings.to_json(),
            "generation": generation,
            "prescan": int(saved.prescan),
            "next_id": str(saved.store.next_id),
        }
        for key, value in [*values.items(), *_column_values(saved)]:
            catalog.set_meta(key, value)
    segments.remove_others({one.number for one in living_segments(catalog)})


def _column_values(saved: Saved) -> Iterator[tuple[str, str]]:
    if saved.columns is None:
        return
    for start in range(0, len(saved.rows), _VALUES):
        values = saved.columns.taken(saved.rows[start : start + _VALUES]).values()
        yield f"values {start}", json.dumps({name: [_plain(one) for one in column] for name, column in values.items()})


def load(path: object, policy: Policy | None, kind: str = _INDEX) -> Saved:
    """Maps an index of a kind that was saved.

    Raises:
        MissingStore: If nothing was saved there.
        AccessError: If it has rules and no policy was given.
        InvalidInput: If it has none and a policy was given, or something else lies there.
        CorruptFile, VersionMismatch: If its files are damaged, or newer than this version.
    """
    folder = folder_of(path)
    require_folder(folder)
    lease = lease_if_possible(folder)
    try:
        catalog = Catalog(folder, write=False)
        try:
            with catalog.reading():
                return _read(folder, catalog, policy, kind)
        finally:
            catalog.close()
    finally:
        if lease is not None:
            lease.release()


def _read(folder: str, catalog: Catalog, policy: Policy | None, kind: str) -> Saved:
    if not catalog.has_schema():
        raise MissingStore(f"path: {folder!r} holds no index yet")
    _require_index(catalog, folder, kind)
    said = catalog.json(catalog.meta("settings"), "settings")
    settings = Settings.from_json(said, catalog.path, vectors=kind == _INDEX)
    if policy is not None and not isinstance(policy, Policy):
        raise InvalidInput(f"policy: expected a Policy, or None for an open index, got {policy!r}")
    if settings.guarded and policy is None:
        raise AccessError("policy: this index has rules; pass a Policy(), which gets them")
    if not settings.guarded and policy is not None:
        raise InvalidInput("policy: this index is open, so a policy would restrict nothing; leave it out")
    prescan = bool(catalog.counter("prescan"))
    components = reference(catalog, settings.dim)
    store = settings.new_store(prescan, components)
    numbers = _rules(catalog, policy)
    segments = FolderSegments(folder, Layout(settings.dim, settings.codec))
    columns = settings.new_columns()
    coded = kept_codes(catalog)
    parts, done = [], 0
    for one in living_segments(catalog):
        segment, rules = segments.open(one, components)
        known = np.full(len(rules), _core.NO_RULE, dtype=np.uint32)
        inside = rules < len(numbers)
        known[inside] = numbers[rules[inside]]
        try:
            first = store.attach(segment, known)
        except InvalidInput as error:
            raise CorruptFile(f"{catalog.path}: segment {one.number}: {error}") from error
        for codes in coded:
            codes.take(segments, one)
        if kind == SPARSE:
            segments.verify(one)
            parts.append(Part(first, segments.postings(one, weighted=settings.analyzer is None)))
        if columns is not None:
            _read_columns(catalog, columns, done, segment.rows, first)
        done += segment.rows
    next_id = catalog.meta("next_id")
    if not isinstance(next_id, str) or not next_id.isdigit() or int(next_id) > 2**63:
        raise CorruptFile(f"{catalog.path}: next_id is {next_id!r}; restore the file from a copy")
    store.skip_ids(int(next_id))
    snapshot = store.snapshot()
    found = {codes.kind: codes.mapped(snapshot) for codes in coded}
    postings = tuple(parts) if kind == SPARSE else None
    return Saved(settings, store, prescan, policy, snapshot, columns, found, postings)


def _rules(catalog: Catalog, policy: Policy | None) -> Any:
    """The policy's numbers of stored ones."""
    found = [_core.NO_RULE]
    if policy is None:
        return np.array(found, dtype=np.uint32)
    for number, tenant, parts in catalog.all("SELECT number, tenant, parts FROM rules ORDER BY number"):
        said = catalog.json(parts, f"rule {number}")
        try:
            allow = ANY_IN_TENANT if said["allow"] is None else said["allow"]
            rule = policy.add(tenant, allow, said["deny"])
        except (InvalidInput, TypeError, KeyError) as error:
            raise CorruptFile(f"{catalog.path}: rule {number}: {error}; restore the file from a copy") from error
        if number != len(found):
            raise CorruptFile(f"{catalog.path}: rule {len(found)} is missing; restore the file from a copy")
        found.append(rule.number)
    return np.array(found, dtype=np.uint32)


def _read_columns(catalog: Catalog, columns: Columns, start: int, rows: int, first: int) -> None:
    """Values of the ``rows`` rows from the ``start``-th on, as those from row ``first`` on."""
    columns.store(columns.prepare(None, first - columns.rows), columns.rows)
    for at in range(start, start + rows, _VALUES):
        said = catalog.json(catalog.meta(f"values {at}"), "values")
        try:
            values = {name: [_typed(kind, one) for one in said[name]] for name, kind in columns.types.items()}
            columns.append(values, min(_VALUES, start + rows - at))
        except (InvalidInput, KeyError, TypeError, ValueError) as error:
            raise CorruptFile(f"{catalog.path}: values of columns: {error}; restore the file from a copy") from error


def _typed(kind: type, value: Any) -> Any:
    return date.fromisoformat(value) if kind is date and value is not None else value


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, date) else value


def _require_index(catalog: Catalog, folder: str, kind: str) -> None:
    found = catalog.meta("kind")
    if found == kind:
        return
    if found in _CLASSES:
        raise InvalidInput(f"path: {folder!r} holds another kind of index; use {_CLASSES[found]}.load")
    raise InvalidInput(f"path: {folder!r} holds a collection, not an index; open it with Collection.open")
