# SPDX-License-Identifier: Apache-2.0
"""Names of chunks: the same content in the same place always has the same id, and nothing else has it."""

from __future__ import annotations

import hashlib
import re
from json.encoder import encode_basestring as _json

from .._checks import refuse, utf8, whole

__all__ = ["ChunkNames", "chunk_id", "row_id", "row_of"]

_HEX_DIGEST = re.compile(r"[0-9a-f]{64}")


def chunk_id(tenant: str, source: str, revision: str, start: int, end: int, text: str) -> str:
    """The id of a chunk: 64 hex digits that depend on its place and its text, never on when it was added.

    It is the SHA-256 of the UTF-8 JSON list ``[tenant, source, revision, start, end, digest]`` written without
    spaces and without escaping non-ASCII characters, where ``digest`` is the SHA-256 of the text in hex.

    Args:
        tenant: Owner of the document.
        source: Stable name of the document inside its tenant.
        revision: Version of the document.
        start: First character of the chunk, counted from 0.
        end: One past its last character, at least ``start``.
        text: The chunk's characters.

    Raises:
        InvalidInput: For wrong types, a span that ends before it starts, and text with lone surrogates,
            which has no UTF-8 form.
    """
    first = whole(start, "start")
    last = whole(end, "end", least=first)
    place = ChunkNames(utf8(tenant, "tenant"), utf8(source, "source"), utf8(revision, "revision"))
    return place.digest(first, last, utf8(text, "text")).hex()


class ChunkNames:
    """Ids of the chunks of one revision. Its arguments are not checked: see :func:`chunk_id`."""

    def __init__(self, tenant: str, source: str, revision: str) -> None:
        self._start = f"[{_json(tenant)},{_json(source)},{_json(revision)},".encode()

    def digest(self, start: int, end: int, text: str) -> bytes:
        """The 32 bytes of a chunk's id."""
        inside = hashlib.sha256(text.encode()).hexdigest()
        return hashlib.sha256(self._start + b'%d,%d,"%b"]' % (start, end, inside.encode())).digest()


def row_id(chunk_id: str) -> int:
    """The row id of a chunk inside a collection: the first 8 bytes of its digest, big-endian, shifted right by one.

    The shift keeps it a non-negative int64. Different chunks can share a row id (about one pair in 2**63);
    whoever stores rows must check.

    Args:
        chunk_id: What :func:`chunk_id` returned.

    Raises:
        InvalidInput: When that is not 64 lower-case hex digits.
    """
    if not _HEX_DIGEST.fullmatch(utf8(chunk_id, "chunk_id")):
        refuse("chunk_id", chunk_id, "64 lower-case hex digits", "pass what evidex.text.chunk_id returned")
    return row_of(bytes.fromhex(chunk_id))


def row_of(digest: bytes) -> int:
    """The same of the digest itself."""
    return int.from_bytes(digest[:8], "big") >> 1
