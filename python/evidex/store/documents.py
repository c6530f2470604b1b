# SPDX-License-Identifier: Apache-2.0
"""Documents as they are handed in, and checked before anything is stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

import numpy.typing as npt

from .. import _arrays, _checks
from .._scalar import plain
from ..access import Rule
from ..columns import Columns
from ..errors import AccessError, InvalidInput
from ..text import Chunker, Recursive
from ..text.identity import ChunkNames
from ..types import Span

__all__ = ["MOST_CHARACTERS", "Document", "Prepared", "name", "prepare"]

MOST_CHARACTERS = 2**26
"""Longest text of one document."""

_MOST_NAME = 1024
_DEFAULT = Recursive(800)


@dataclass(frozen=True, slots=True)
class Document:
    """One revision of a document, to be stored.

    Attributes:
        source: Its stable name inside its tenant, which is its rule's.
        revision: Name of this version.
        text: The whole text; or
        chunks: the texts of its chunks, whose concatenation is the text.
        vectors: float16, float32 or float64 [chunks, dim]; None has the collection's encoder make them.
        rule: Who may read it; None on an open collection.
        metadata: A value for each column that it has one for.
        chunker: Cuts the text; None cuts after paragraphs, lines, sentences and words into 800 characters at most.
    """

    source: str
    revision: str
    text: str | None = None
    chunks: Sequence[str] | None = None
    vectors: npt.ArrayLike | None = None
    rule: Rule | None = None
    metadata: Mapping[str, object] | None = None
    chunker: Chunker | None = None


class Prepared(NamedTuple):
    """A document that was checked: what is written."""

    tenant: str
    source: str
    revision: str
    rule: Rule | None
    text: str
    spans: list[Span]
    ids: list[bytes]
    vectors: _arrays.Floats | None
    metadata: str
    digest: bytes

    @property
    def texts(self) -> list[str]:
        """Texts of the chunks."""
        return [self.text[span.start : span.end] for span in self.spans]


def name(value: object, what: str) -> str:
    """A name of a tenant's document or of a revision.

    Raises:
        InvalidInput: If it is no str, empty, longer than 1,024 characters, or has a NUL or a lone surrogate.
    """
    checked = str.__str__(_checks.utf8(value, what))
    if not checked or len(checked) > _MOST_NAME or "\0" in checked:
        _checks.refuse(what, value, f"1 to {_MOST_NAME} characters without NUL", "choose another name")
    return checked


def prepare(document: Document, guarded: bool, dim: int, scaled: bool, columns: Columns | None) -> Prepared:
    """Checks a document and cuts it.

    Raises:
        InvalidInput: For names, texts, vectors or metadata that cannot be stored, and for a text with nothing in it.
        AccessError: For a document without a rule in a guarded collection.
    """
    if not isinstance(document, Document):
        _checks.refuse("documents", document, "a Document", "make one with evidex.Document(source, revision, ...)")
    source, revision = name(document.source, "source"), name(document.revision, "revision")
    tenant = _tenant(document.rule, guarded, source)
    text, spans = _cut(document, source)
    names = ChunkNames(tenant, source, revision)
    ids = [names.digest(span.start, span.end, text[span.start : span.end]) for span in spans]
    vectors = None
    if document.vectors is not None:
        vectors = _arrays.vectors(document.vectors, dim, f"vectors of {source!r}", scaled=scaled)
        if len(vectors) != len(spans):
            raise InvalidInput(
                f"vectors: {len(vectors)} given for the {len(spans)} chunks of {source!r}; pass one per chunk"
            )
    metadata = _metadata(document.metadata, columns, source)
    digest = hashlib.sha256(hashlib.sha256(text.encode()).digest())
    digest.update(b"".join(ids))
    digest.update(metadata.encode())
    if vectors is not None:
        digest.update(hashlib.sha256(vectors.data).digest())
    return Prepared(tenant, source, revision, document.rule, text, spans, ids, vectors, metadata, digest.digest())


def _tenant(rule: object, guarded: bool, source: str) -> str:
    if not guarded:
        if rule is not None:
            raise InvalidInput(f"rule: this collection is open and keeps no rules; leave it out for {source!r}")
        return ""
    if rule is None:
        raise AccessError(f"rule: {source!r} has none; a guarded collection stores no document without one")
    if not isinstance(rule, Rule):
        _checks.refuse("rule", rule, "a Rule", "make one with policy.rule(...)")
    return name(rule.tenant, "tenant")


def _cut(document: Document, source: str) -> tuple[str, list[Span]]:
    if (document.text is None) == (document.chunks is None):
        raise InvalidInput(f"text: {source!r} needs either text or chunks, and not both")
    if document.chunks is not None:
        if document.chunker is not None:
            raise InvalidInput(f"chunker: {source!r} comes in chunks already; leave the chunker out")
        parts = _checks.texts(document.chunks, f"chunks of {source!r}")
        text = _sound("".join(parts), source)
        spans, at = [], 0
        for place, part in enumerate(parts):
            if not part.strip():
                _checks.refuse(f"chunks[{place}] of {source!r}", part, "a text", "leave blank chunks out")
            spans.append(Span(at, at + len(part)))
            at += len(part)
    else:
        text = _sound(document.text, source)
        chunker = _DEFAULT if document.chunker is None else document.chunker
        if not isinstance(chunker, Chunker):
            _checks.refuse("chunker", chunker, "a Chunker", "use one of evidex.text")
        # Blank chunks say nothing, and encoders refuse them.
        spans = [span for span in _inside(chunker.spans(text), text, source) if text[span.start : span.end].strip()]
    if not spans:
        raise InvalidInput(
            f"text: {source!r} has nothing in it: an extraction that failed is not an empty document; leave it out"
        )
    return text, spans


def _inside(spans: Iterable[Span], text: str, source: str) -> list[Span]:
    """What a chunker of somebody's own gave, if it is places of the text, none of them twice."""
    found = list(spans)
    for span in found:
        if not isinstance(span, Span) or not 0 <= span.start <= span.end <= len(text):
            _checks.refuse(f"chunker, for {source!r}", span, f"a Span within 0 to {len(text)}", "repair its spans()")
    if len(set(found)) < len(found):
        raise InvalidInput(f"chunker, for {source!r}: it gave a span twice; repair its spans()")
    return found


def _sound(value: object, source: str) -> str:
    text = str.__str__(_checks.utf8(value, f"text of {source!r}"))
    if len(text) > MOST_CHARACTERS:
        raise InvalidInput(
            f"text: {source!r} has {len(text)} characters, at most {MOST_CHARACTERS} are stored; split the document"
        )
    if "\0" in text:
        raise InvalidInput(
            f"text: {source!r} has a NUL at character {text.index(chr(0))}: it is no text, or was decoded wrongly"
        )
    return text


def _metadata(given: object, columns: Columns | None, source: str) -> str:
    if given is None or (isinstance(given, Mapping) and not given):
        return "{}"
    if columns is None:
        raise InvalidInput("metadata: this collection has no columns; make it with columns=Columns({...})")
    if not isinstance(given, Mapping):
        _checks.refuse(f"metadata of {source!r}", given, "a mapping of column names to values", 'pass {"lang": "en"}')
    columns.prepare({key: [value] for key, value in given.items()}, 1)
    values = {key: plain(value) for key, value in given.items() if value is not None}
    return json.dumps({k: v.isoformat() if isinstance(v, date) else v for k, v in values.items()}, sort_keys=True)
