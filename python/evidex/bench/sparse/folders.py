# SPDX-License-Identifier: Apache-2.0
"""Who may read what in a run: folders of documents, a rule each, and callers that read ten of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...errors import InvalidInput

__all__ = ["KINDS", "Folders", "make"]

KINDS = ("random", "run")
_READ = 10  # folders of each caller


@dataclass(frozen=True, eq=False)
class Folders:
    """Documents in folders of the same size.

    Attributes:
        of: int64 [rows], the folder of each.
        count: How many there are.
        run: Whether folders are stretches of rows, and what a caller reads is one stretch.
        seed: Of the callers.
    """

    of: npt.NDArray[np.int64]
    count: int
    run: bool
    seed: int

    def read_by(self, caller: int) -> npt.NDArray[np.int64]:
        """The folders of the caller with this number: others for each, the same for the same."""
        rng = np.random.default_rng([self.seed, 5, caller])
        if self.run:
            return int(rng.integers(0, self.count - _READ + 1)) + np.arange(_READ)
        return np.sort(rng.permutation(self.count)[:_READ])

    def permitted(self, caller: int) -> npt.NDArray[np.bool_]:
        """Where the caller may read: bool [rows]."""
        read = np.zeros(self.count, np.bool_)
        read[self.read_by(caller)] = True
        return read[self.of]


def make(kind: str, share: float, rows: int, seed: int) -> Folders:
    """So many folders that ten of them have the share of the rows.

    Args:
        kind: ``random``: documents are in folders at random. ``run``: a folder is a stretch of documents.
        share: Above 0, at most 1.
        rows: Of the corpus.
        seed: The same folders for the same seed.

    Raises:
        InvalidInput: For another kind or share, and for fewer documents than folders.
    """
    if kind not in KINDS:
        raise InvalidInput(f"mask: expected one of {', '.join(KINDS)}, got {kind!r}")
    if not 0 < share <= 1:
        raise InvalidInput(f"selectivity: expected shares above 0 and at most 1, got {share!r}")
    count = round(_READ / share)
    if count > rows:
        raise InvalidInput(
            f"selectivity: {share:g} makes {count} folders of which a caller reads {_READ}, but there are {rows} "
            "documents; take more documents or a larger share"
        )
    places = np.arange(rows) * count // rows
    if kind == "random":
        places = np.random.default_rng([seed, 4]).permutation(places)
    return Folders(places.astype(np.int64), count, kind == "run", seed)
