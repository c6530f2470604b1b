# SPDX-License-Identifier: Apache-2.0
"""Postings of runs of rows, and rows of them put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _arrays, _core

__all__ = ["Part", "figures_of", "gathered", "view_of"]


class Part(NamedTuple):
    """Postings of the rows from ``begin`` on."""

    begin: int
    postings: _core.Postings

    @property
    def end(self) -> int:
        """Number of the row after its last."""
        return self.begin + self.postings.rows

    @property
    def size(self) -> int:
        """What decides whether it is merged with others."""
        return self.postings.rows + self.postings.entries


def view_of(snapshot: _core.Snapshot, parts: Sequence[Part]) -> _core.SparseView:
    """The rows of a snapshot with their postings."""
    begins = np.array([part.begin for part in parts], dtype=np.int64)
    return _core.SparseView(snapshot, [part.postings for part in parts], begins)


def gathered(parts: Sequence[Part], rows: _arrays.Ids, weighted: bool) -> _core.Postings:
    """Postings whose row i is row ``rows[i]``, which one of the parts has."""
    begins = np.array([part.begin for part in parts], dtype=np.int64)
    part = np.searchsorted(begins, rows, side="right") - 1
    row = rows - begins[part]
    return _core.Postings.gathered(
        [one.postings for one in parts],
        part.astype(np.int64, copy=False),
        np.ascontiguousarray(row, dtype=np.int64),
        weighted,
    )


def figures_of(parts: Sequence[Part]) -> dict[str, Any]:
    """What is kept, for the operator."""
    postings = [part.postings for part in parts]
    entries, bytes_ = sum(one.entries for one in postings), sum(sum(one.sizes.values()) for one in postings)
    return {
        "terms": sum(one.terms for one in postings),
        "entries": entries,
        "bytes": bytes_,
        "bytes_per_entry": bytes_ / entries if entries else 0.0,
        "parts": sum(one.rows > 0 for one in postings),
    }
