# SPDX-License-Identifier: Apache-2.0
"""Reading a collection: rows, chunks and evidence of one state of it, under the rights of now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import _checks
from .._arrays import Ids
from ..access import Caller
from ..answers import Allow, Where, Whole
from ..audit import RetrievalLog
from ..encoders import Encoder
from ..errors import CorruptFile, InvalidInput, NotFound
from ..hits import Hits
from ..reading import VectorReader
from ..stored import Pinned
from ..text.identity import row_id
from ..types import Chunk, Evidence
from .catalog import Catalog
from .chunks import ChunkRecord, chunk_records, read_chunk
from .family import View
from .rights import StoredGuard
from .settings import Settings

__all__ = ["CollectionReader"]

_MODES = ("dense",)


class CollectionReader(VectorReader):
    """What can be read of a collection. Made by :class:`evidex.Collection`."""

    _view: View | None
    _catalog: Catalog
    _settings: Settings
    _encoder: Encoder | None

    def _read_as(
        self,
        settings: Settings,
        catalog: Catalog,
        guard: StoredGuard,
        encoder: Encoder | None,
        log: RetrievalLog | None,
    ) -> None:
        self._settings, self._catalog, self._guard, self._encoder, self._log = settings, catalog, guard, encoder, log
        self._dim, self._metric, self._codec = settings.dim, settings.metric, settings.codec
        self._unit_rows = settings.unit_rows

    @property
    def _store(self) -> View:  # type: ignore[override]
        return self._now()

    def _pinned(self) -> Pinned:
        view = self._now()
        return view.pinned, view.columns

    def _now(self) -> View:
        """What is read by a call that begins now. As long as somebody has it, nothing that it needs is deleted."""
        view = self._view
        if view is None:
            raise InvalidInput("collection: it was closed; open it again, or take another snapshot")
        return view

    @property
    def generation(self) -> int:
        """Which state of the collection is read; grows with every change of documents."""
        return self._now().generation

    @property
    def settings(self) -> Settings:
        """What was decided when the collection was made."""
        return self._settings

    def retrieve(
        self,
        question: str,
        k: Whole = 10,
        *,
        mode: str = "dense",
        principal: Caller = None,
        allow: Allow = None,
        where: Where = None,
        threads: Whole | None = None,
    ) -> tuple[Evidence, ...]:
        """The chunks the caller may read that are nearest to a question, best first.

        What the caller may read is decided first: if that is nothing, the encoder is not asked.

        Args:
            question: Text with at least one character that is not white space.
            k: Most chunks.
            mode: ``"dense"``, by vectors.
            principal: Who asks, on a guarded collection.
            allow: As in :meth:`search`.
            where: As in :meth:`search`.
            threads: As in :meth:`search`.

        Raises:
            InvalidInput: For a blank question or an unknown mode, and on a collection without an encoder.
            AccessError: On a guarded collection without a proper principal.
        """
        if not _checks.utf8(question, "question").strip():
            _checks.refuse("question", question, "a text with something to look for", "ask something")
        if mode not in _MODES:
            _checks.refuse("mode", mode, f"one of {', '.join(_MODES)}", "choose one of these")
        encoder = self._require_encoder()
        fixed = self._fixed()
        snapshot = fixed._now().pinned
        most = _checks.whole(k, "k")
        hidden = snapshot.count(self._guard.visible(snapshot, principal)) == 0
        vector = np.ones(self._dim, dtype=np.float32) if hidden else self._encoded(encoder, question)

        def run() -> tuple[Evidence, ...]:
            hits = fixed.search(vector, most, principal=principal, allow=allow, where=where, threads=threads)
            return fixed._evidence(hits)

        return self._guard.settled(snapshot, principal, run)

    def get_chunk(self, id: str, *, principal: Caller = None) -> Chunk:
        """A chunk by its id, with its text.

        Args:
            id: 64 hex digits, as in :attr:`evidex.Chunk.id`.
            principal: Who reads, on a guarded collection.

        Raises:
            NotFound: If there is none, or it is hidden from the caller; the two look the same.
            AccessError: On a guarded collection without a proper principal.
        """
        number = row_id(id)
        view = self._now()

        def run() -> Chunk:
            visible = self._guard.visible(view.pinned, principal)
            with self._catalog.reading():
                record = chunk_records(self._catalog, view.generation, [number]).get(number)
                if record is None or record.id != id or not self._readable(view, visible, [record]).all():
                    raise NotFound(f"no such chunk: {id}")
                return read_chunk(self._catalog, record)

        chunk = self._guard.settled(view.pinned, principal, run)
        self._record("get", view.pinned, principal, ids=[np.array([number])])
        return chunk

    def chunks(self, *, batch: int = 1024, principal: Caller = None) -> Iterator[Chunk]:
        """All chunks the caller may read, in row order, for exports. Arguments and errors as in :meth:`items`."""
        fixed = self._fixed()
        batches = fixed.items(batch=batch, principal=principal)
        return (chunk for ids, _ in batches for chunk in fixed._readable_chunks(ids, principal))

    def stats(self, *, principal: Caller = None) -> dict[str, Any]:
        """The operator's figures, those of documents included. Errors as in :meth:`DenseIndex.stats`."""
        found = super().stats(principal=principal)
        view = self._now()
        with self._catalog.reading():
            documents = self._catalog.one(
                "SELECT count(DISTINCT document) FROM revisions JOIN places ON revision = number "
                "WHERE born <= ? AND (died IS NULL OR died > ?)",
                (view.generation, view.generation),
            )
            revisions = self._catalog.one("SELECT count(*) FROM revisions")
        return found | {
            "generation": view.generation,
            "documents": 0 if documents is None else documents[0],
            "revisions": 0 if revisions is None else revisions[0],
            "segments": len(view.family.begin),
            "coded": view.pinned.reference is not None,
        }

    def _fixed(self) -> CollectionReader:
        """A reader of the state of now."""
        fixed = CollectionReader()
        fixed._read_as(self._settings, self._catalog, self._stored_guard, self._encoder, self._log)
        fixed._view = self._now()
        return fixed

    @property
    def _stored_guard(self) -> StoredGuard:
        assert isinstance(self._guard, StoredGuard)
        return self._guard

    def _require_encoder(self) -> Encoder:
        if self._encoder is None:
            raise InvalidInput("encoder: this collection was opened without one; search(vectors) needs none")
        return self._encoder

    def _encoded(self, encoder: Encoder, question: str) -> Any:
        prefix = "" if self._settings.encoder is None else self._settings.encoder.query_prefix
        vector = np.asarray(encoder.encode([prefix + question]))
        if vector.shape != (1, self._dim):
            raise InvalidInput(f"encoder: it gave shape {list(vector.shape)} for one text, not [1, {self._dim}]")
        return vector

    def _evidence(self, hits: Hits) -> tuple[Evidence, ...]:
        ids, scores = hits[0]
        found = []
        for chunk, score in zip(self._chunks(ids.tolist()), scores.tolist(), strict=True):
            found.append(Evidence(chunk, score, {"dense": score}))
        return tuple(found)

    def _readable_chunks(self, ids: Ids, principal: Caller) -> list[Chunk]:
        """Those that the caller may still read when their text was read."""
        snapshot, rows = self._now().find(ids)

        def run() -> list[Chunk]:
            visible = self._guard.visible(snapshot, principal)
            return self._chunks(ids[snapshot.readable(visible, rows)].tolist())

        return self._guard.settled(snapshot, principal, run)

    def _chunks(self, row_ids: list[int]) -> list[Chunk]:
        """Chunks of rows that were permitted to whoever asked."""
        with self._catalog.reading():
            records = chunk_records(self._catalog, self._now().generation, row_ids)
            lost = [one for one in row_ids if one not in records]
            if lost:
                raise CorruptFile(f"{self._catalog.path}: row {lost[0]} has no chunk; run verify()")
            return [read_chunk(self._catalog, records[one]) for one in row_ids]

    @staticmethod
    def _readable(view: View, visible: Any, records: list[ChunkRecord]) -> Any:
        if any(record.segment not in view.family.begin for record in records):
            return np.zeros(len(records), dtype=np.bool_)
        rows = [view.family.place(record.segment, record.row, 1) for record in records]
        return view.pinned.readable(visible, np.array(rows, dtype=np.int64))
