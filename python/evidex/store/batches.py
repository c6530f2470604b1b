# SPDX-License-Identifier: Apache-2.0
"""Documents in batches, each published as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from .. import _arrays, _checks
from ..encoders import Encoder
from ..errors import InvalidInput
from .documents import Document, Prepared, prepare
from .settings import Settings

__all__ = ["batches", "vectors_of"]


def batches(documents: Iterable[Document], most: int, settings: Settings) -> Iterator[list[Prepared]]:
    """Checked documents in batches of about ``most`` chunks, no document twice in one.

    Raises:
        InvalidInput: For what is no Document, and as :func:`prepare`.
    """
    if isinstance(documents, Document) or not isinstance(documents, Iterable):
        _checks.refuse("documents", documents, "an iterable of Document", "wrap a single one in a list")
    columns = settings.new_columns()
    batch: list[Prepared] = []
    names: set[tuple[str, str]] = set()
    rows = 0
    for document in documents:
        one = prepare(document, settings.guarded, settings.dim, settings.unit_rows, columns)
        key = one.tenant, one.source
        if batch and (rows >= most or key in names):
            yield batch
            batch, names, rows = [], set(), 0
        batch.append(one)
        names.add(key)
        rows += len(one.spans)
    if batch:
        yield batch


def vectors_of(
    batch: Sequence[Prepared], new: Sequence[bool], settings: Settings, encoder: Encoder | None
) -> list[_arrays.Floats | None]:
    """Vectors of each new document; those that come without are encoded together.

    Raises:
        InvalidInput: If there is no encoder for them, or it gives another number of vectors.
    """
    bare = [one for one, is_new in zip(batch, new, strict=True) if is_new and one.vectors is None]
    made: Iterator[_arrays.Floats] = iter(())
    if bare:
        if encoder is None:
            raise InvalidInput(
                "vectors: this collection was opened without an encoder; pass vectors, or open it with one"
            )
        prefix = "" if settings.encoder is None else settings.encoder.document_prefix
        texts = [prefix + text for one in bare for text in one.texts]
        given = np.asarray(encoder.encode(texts))
        encoded = _arrays.vectors(given, settings.dim, "vectors of the encoder", scaled=settings.unit_rows)
        if len(encoded) != len(texts):
            raise InvalidInput(f"encoder: it gave {len(encoded)} vectors for {len(texts)} texts")
        made = iter(np.split(encoded, np.cumsum([len(one.spans) for one in bare])[:-1]))
    return [
        (next(made) if one.vectors is None else one.vectors) if is_new else None
        for one, is_new in zip(batch, new, strict=True)
    ]
