# SPDX-License-Identifier: Apache-2.0
"""What the catalog keeps of segments and of what their codes refer to."""

from __future__ import annotations

import json

import numpy as np

from .. import _arrays
from ..errors import CorruptFile
from .catalog import Catalog
from .segments import Stored

__all__ = ["keep_reference", "keep_segment", "living_segments", "next_number", "reference"]


def living_segments(catalog: Catalog, *, everything: bool = False, above: int = 0) -> list[Stored]:
    """What the catalog says of the segments of now, or of all that are not deleted, from a number on.

    Raises:
        CorruptFile: If that cannot be.
    """
    found = []
    for number, rows, coded, digests, rights in catalog.all(
        "SELECT number, rows, coded, digests, rights FROM segments WHERE number > ? "
        f"{'' if everything else 'AND died IS NULL'} ORDER BY number",
        (above,),
        kinds="iiisi",
    ):
        said = catalog.json(digests, f"segment {number}")
        if not 0 < rows < 2**32 or number < 1 or not isinstance(said, dict):
            raise CorruptFile(f"{catalog.path}: segment {number} has {rows!r} rows; restore the file from a copy")
        found.append(Stored(number, rows, bool(coded), said, rights))
    return found


def keep_segment(catalog: Catalog, stored: Stored, generation: int) -> None:
    """Says that a segment is part of the collection from a generation on. Inside a transaction."""
    catalog.run(
        "INSERT INTO segments (number, rows, coded, digests, rights, born) VALUES (?, ?, ?, ?, ?, ?)",
        (stored.number, stored.rows, stored.coded, json.dumps(stored.digests), catalog.counter("rights"), generation),
    )


def next_number(catalog: Catalog, table: str) -> int:
    """One above all numbers of a table."""
    found = catalog.one(f"SELECT max(number) FROM {table}")
    return 1 + (0 if found is None or found[0] is None else int(found[0]))


def reference(catalog: Catalog, dim: int) -> _arrays.Floats | None:
    """What codes refer to; None before there are any.

    Raises:
        CorruptFile: If it is not that many finite components.
    """
    found = catalog.one("SELECT value FROM meta WHERE key = 'reference'")
    if found is None:
        return None
    sound = isinstance(found[0], bytes) and len(found[0]) == 4 * dim
    components = np.frombuffer(found[0], dtype="<f4").astype(np.float32) if sound else np.array([np.nan])
    if not np.isfinite(components).all():
        raise CorruptFile(f"{catalog.path}: what codes refer to is damaged; restore the file from a copy")
    return components


def keep_reference(catalog: Catalog, components: _arrays.Floats | None) -> None:
    """Keeps what codes refer to, unless that is known. Inside a transaction."""
    if components is not None and catalog.one("SELECT 1 FROM meta WHERE key = 'reference'") is None:
        catalog.set_meta("reference", components.astype("<f4").tobytes())
