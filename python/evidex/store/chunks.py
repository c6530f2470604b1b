# SPDX-License-Identifier: Apache-2.0
"""Chunks, documents and their texts as the catalog keeps them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import CorruptFile
from ..text.identity import ChunkNames
from ..types import Chunk
from .catalog import Catalog

__all__ = ["PIECE", "ChunkRecord", "chunk_records", "pieces_of", "read_chunk", "read_text"]

PIECE = 16_384
"""Characters of a text that are kept together, so that a chunk of a long text is read without the rest."""

_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """What there is of a chunk but its text. Its row is the ``number``-th from ``first`` on of ``segment``."""

    row_id: int
    id: str
    tenant: str
    source: str
    revision: str
    revision_number: int
    start: int
    stop: int
    segment: int
    row: int


def chunk_records(catalog: Catalog, generation: int, row_ids: Iterable[int]) -> dict[int, ChunkRecord]:
    """Those of the chunks with these row ids that a generation has."""
    wanted = list(row_ids)
    found = {}
    for start in range(0, len(wanted), _AT_ONCE):
        some = wanted[start : start + _AT_ONCE]
        rows = catalog.all(
            "SELECT chunks.id, chunks.digest, documents.tenant, documents.source, revisions.name, revisions.number, "
            "chunks.start, chunks.stop, places.segment, places.first + chunks.number FROM chunks "
            "JOIN revisions ON revisions.number = chunks.revision "
            "JOIN documents ON documents.number = revisions.document "
            "JOIN places ON places.revision = revisions.number AND places.born <= ? "
            "AND (places.died IS NULL OR places.died > ?) "
            f"WHERE chunks.id IN ({','.join('?' * len(some))})",
            (generation, generation, *some),
            "ibsssiiiii",
        )
        for row_id, digest, *rest in rows:
            found[row_id] = ChunkRecord(row_id, digest.hex(), *rest)
    return found


def read_chunk(catalog: Catalog, record: ChunkRecord) -> Chunk:
    """A chunk with its text."""
    text = read_text(catalog, record.revision_number, record.start, record.stop)
    names = ChunkNames(record.tenant, record.source, record.revision)
    if names.digest(record.start, record.stop, text).hex() != record.id:
        raise CorruptFile(f"{catalog.path}: chunk {record.id} is not what was written; restore the file from a copy")
    return Chunk(record.id, record.tenant, record.source, record.revision, record.start, record.stop, text)


def read_text(catalog: Catalog, revision: int, start: int, stop: int) -> str:
    """Characters ``[start, stop)`` of a revision's text.

    Raises:
        CorruptFile: If it does not have them.
    """
    if not 0 <= start <= stop:
        raise CorruptFile(f"{catalog.path}: a chunk from {start} to {stop}; restore the file from a copy")
    first = start // PIECE
    pieces = catalog.all(
        "SELECT body FROM texts WHERE revision = ? AND piece BETWEEN ? AND ? ORDER BY piece",
        (revision, first, max(first, (stop - 1) // PIECE)),
        "b",
    )
    try:
        text = b"".join(body for (body,) in pieces).decode()[start - first * PIECE : stop - first * PIECE]
    except UnicodeDecodeError as error:
        raise CorruptFile(f"{catalog.path}: text of revision {revision}: {error}") from error
    if len(text) != stop - start:
        raise CorruptFile(f"{catalog.path}: the text of revision {revision} ends early; restore the file from a copy")
    return text


def pieces_of(text: str) -> list[bytes]:
    """A text as it is kept."""
    return [text[at : at + PIECE].encode() for at in range(0, len(text), PIECE)]
