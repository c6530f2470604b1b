# SPDX-License-Identifier: Apache-2.0
"""Reading vectors as they are stored: by id, or all of them. Everything goes through the guard."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _arrays, _checks, _core
from .access import Caller
from .codes import Codes
from .errors import NotFound
from .stored import StoredRows

__all__ = ["StoredVectors"]

_WINDOW = 4096


class StoredVectors(StoredRows):
    """What can be read of stored vectors without searching. Made by :class:`evidex.DenseIndex`."""

    _dim: int
    _metric: str
    _codec: str
    _unit_rows: bool
    _codes: dict[str, Codes] = {}  # noqa: RUF012, replaced and never changed

    def get(self, ids: npt.ArrayLike, *, principal: Caller = None) -> _arrays.Floats:
        """Stored vectors, float32 [n, dim] in the order asked for.

        They are what is scored: normalised under cosine, decoded from float16 or int8.

        Raises:
            NotFound: If any id is unknown or hidden from the caller; the two look the same.
            AccessError: On a guarded index without a proper principal.
        """
        wanted = _arrays.ids(ids)
        snapshot, rows = self._store.find(wanted)

        def run() -> _arrays.Floats:
            readable = self._guard.visible(snapshot, principal).test(rows)
            if not readable.all():
                raise NotFound(f"no such id: {wanted[~readable][0]}")
            return snapshot.vectors(rows)

        vectors = self._guard.settled(snapshot, principal, run)
        self._record("get", snapshot, principal, ids=[wanted])
        return vectors

    def items(self, *, batch: int = 1024, principal: Caller = None) -> Iterator[tuple[_arrays.Ids, _arrays.Floats]]:
        """All the caller may read, in batches of ``(ids, vectors)`` in row order: for exports.

        The rows are those of the moment of the call; rights are the newest for each batch: what is revoked on the way
        is left out from then on.

        Args:
            batch: How many rows at a time, at least 1; only the last one has fewer. Hidden rows cut none short.
            principal: Who reads, on a guarded index.

        Raises:
            AccessError: On a guarded index without a proper principal, at the call and not at the first batch.
        """
        most = _checks.whole(batch, "batch", least=1)
        snapshot = self._store.snapshot()
        self._guard.visible(snapshot, principal)

        def after(first: int) -> tuple[_arrays.Ids, _arrays.Ids, _arrays.Floats]:
            mine = _next_rows(snapshot, self._guard.visible(snapshot, principal), first, most)
            return mine, snapshot.ids_of(mine), snapshot.vectors(mine)

        def batches() -> Iterator[tuple[_arrays.Ids, _arrays.Floats]]:
            first, read = 0, most
            while read == most:
                rows, ids, vectors = self._guard.settled(snapshot, principal, partial(after, first))
                read = len(rows)
                if read > 0:
                    self._record("items", snapshot, principal, ids=[ids])
                    yield ids, vectors
                    first = int(rows[-1]) + 1

        return batches()

    def _figures(self) -> dict[str, Any]:
        return {
            "dim": self._dim,
            "metric": self._metric,
            "codec": self._codec,
            "codes": [codes.stats() for codes in self._codes.values()],
        }

    def _queries(self, value: object, name: str) -> _arrays.Floats:
        return _arrays.queries(value, self._dim, name, scaled=self._unit_rows)


def _next_rows(snapshot: _core.Snapshot, visible: _core.Bitmask, first: int, most: int) -> _arrays.Ids:
    """Numbers of the first ``most`` readable rows from row ``first`` on."""
    found: list[_arrays.Ids] = [np.empty(0, dtype=np.int64)]
    wanted = most
    live = snapshot.live()  # numbers that no row has count as removed
    while first < snapshot.rows and wanted > 0:
        rows = np.arange(first, min(first + max(wanted, _WINDOW), snapshot.rows), dtype=np.int64)
        found.append(rows[visible.test(rows) & live.test(rows)][:wanted])
        wanted -= len(found[-1])
        first = int(rows[-1]) + 1
    return np.concatenate(found)
