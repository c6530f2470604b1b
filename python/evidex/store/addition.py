# SPDX-License-Identifier: Apache-2.0
"""What a batch of documents adds to a collection, before any of it is written."""

from __future__ import annotations

import hashlib
from json.encoder import encode_basestring_ascii as _json
from typing import Any, NamedTuple

import numpy as np

from .. import _arrays, _core
from ..lexical.parts import Part, gathered
from ..text.identity import row_of
from .chunks import pieces_of
from .documents import Prepared

__all__ = ["INSERT", "Addition", "Known"]

INSERT = {
    "texts": "INSERT INTO texts (revision, piece, body) VALUES (?, ?, ?)",
    "documents": "INSERT INTO documents (number, tenant, source, rule, changed) VALUES (?, ?, ?, ?, ?)",
    "revisions": "INSERT INTO revisions (number, document, name, digest, metadata, characters, rows) "
    "VALUES (?, ?, ?, ?, ?, ?, ?)",
    "places": "INSERT INTO places (revision, segment, first, born, died) VALUES (?, ?, ?, ?, ?)",
    "chunks": "INSERT INTO chunks (id, revision, number, start, stop, digest) VALUES (?, ?, ?, ?, ?, ?)",
}
"""How a row of each table is written."""


class Known(NamedTuple):
    """A document that is stored: its number, stored rule, and revisions as ``name -> (number, digest, visible)``."""

    number: int
    rule: int | None
    revisions: dict[str, tuple[int, bytes, bool]]


class Addition:
    """What a batch of documents adds: rows of tables, and rows of the segment."""

    def __init__(self, segment: int, generation: int, revision: int) -> None:
        self.segment = segment
        self.rules: list[int] = []
        self.rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in INSERT}
        self._generation = generation
        self._next_revision = revision
        self._ids: list[int] = []
        self._groups: list[int] = []
        self._vectors: list[_arrays.Floats] = []
        self._offered: list[range] = []

    def document(self, one: Prepared, rule: int | None) -> Known:
        """A document that was not there."""
        # By its name alone: the groups that a search gives away say nothing of documents that are hidden.
        named = f"[{_json(one.tenant)}, {_json(one.source)}]"
        number = row_of(hashlib.sha256(named.encode()).digest())
        self.rows["documents"].append((number, one.tenant, one.source, rule, 0))
        return Known(number, rule, {})

    def revision(self, one: Prepared, document: int, rule: int | None, vectors: _arrays.Floats, offered: int) -> None:
        """A revision that was not there; its chunks were offered to :meth:`words` from a place on."""
        number = self._next_revision
        self._next_revision += 1
        chunks = len(one.spans)
        ids = [row_of(digest) for digest in one.ids]
        rows = self.rows
        rows["revisions"].append((number, document, one.revision, one.digest, one.metadata, len(one.text), chunks))
        rows["places"].append((number, self.segment, len(self._ids), self._generation, None))
        rows["texts"] += [(number, at, piece) for at, piece in enumerate(pieces_of(one.text))]
        rows["chunks"] += [
            (ids[at], number, at, span.start, span.end, one.ids[at]) for at, span in enumerate(one.spans)
        ]
        self._ids += ids
        self._groups += [document] * chunks
        self.rules += [_core.NO_RULE if rule is None else rule] * chunks
        self._vectors.append(vectors)
        self._offered.append(range(offered, offered + chunks))

    def words(self, offered: _core.Postings) -> _core.Postings:
        """Which rows have which words, of postings of all chunks that might have been new."""
        rows = np.array([row for one in self._offered for row in one], dtype=np.int64)
        return offered if len(rows) == offered.rows else gathered([Part(0, offered)], rows, False)

    def encoded(self, store: _core.RowStore) -> _core.Segment:
        """The rows in the form that a store keeps."""
        ids, groups = np.array(self._ids, dtype=np.int64), np.array(self._groups, dtype=np.int64)
        vectors = self._vectors[0] if len(self._vectors) == 1 else np.concatenate(self._vectors)
        return store.encode(ids, groups, np.ascontiguousarray(vectors))
