# SPDX-License-Identifier: Apache-2.0
"""Codes that an index is told to hold, and how they keep up with its rows."""

from __future__ import annotations

from collections.abc import Callable

from . import _checks
from .codes import KINDS, Codes
from .reading import VectorReader

__all__ = ["CodedIndex"]


class CodedIndex(VectorReader):
    """What makes an index searchable by codes. Made by :class:`evidex.DenseIndex`."""

    def train(
        self, codes: str = "binary", *, seed: int = 0, progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Learns small codes from the rows there are and keeps one beside each row, for ``search(recall=...)``.

        A code is half a byte for four dimensions, and four bytes more: 52 bytes for 384 dimensions. Rows stay as they
        are: those that look best by their codes are scored as ever. Codes follow every later write; what they were
        trained with stays until this is called again, and ``stats()["codes"]`` says how far rows that came since differ
        from it. The same rows and seed give the same codes, on every machine. What a search costs here by codes and
        exactly is measured once, in this call.

        Codes and the centre they refer to are shared by all rows: what a search with a recall below 1 finds may depend
        on rows that its caller cannot read. :meth:`DenseIndex.save` keeps them, with what was measured. Costs count
        where they were measured, by instruction set and processor; loaded elsewhere an index has none, in its
        ``stats()`` neither, until the first search with a recall below 1 measures them. A ``plan=`` needs none.

        Args:
            codes: ``"binary"``: the signs of a row's components after a random rotation (RaBitQ: Gao and Long, SIGMOD
                2024); quickly made. ``"pq4"``: the nearest of 16 centroids for each four dimensions, found by k-means
                (product quantization: Jegou, Douze and Schmid, 2011). Dimensions that are no multiple of 32 are filled
                up with zeros.
            seed: Of the rows that are learnt from, of the rotation and of the first centroids.
            progress: Called with steps done and steps in all.

        Raises:
            InvalidInput: For fewer than 256 rows, more than 8,448 dimensions, or other names.
        """
        if codes not in KINDS:
            _checks.refuse("codes", codes, " or ".join(map(repr, KINDS)), "name one of them")
        made = Codes.train(
            self._store.snapshot(),
            codes,
            _checks.whole(seed, "seed", most=2**63 - 1),
            (lambda done, steps: None) if progress is None else progress,
        )
        self._codes = {**self._codes, codes: made}
        self._extend_codes()

    def _extend_codes(self) -> None:
        """After rows were appended."""
        if self._codes:
            snapshot = self._store.snapshot()
            for codes in self._codes.values():
                codes.core.extend(snapshot)

    def _make_codes_again(self) -> None:
        """After rows were laid out anew."""
        if self._codes:
            snapshot = self._store.snapshot()
            self._codes = {kind: codes.again(snapshot) for kind, codes in self._codes.items()}
