# SPDX-License-Identifier: Apache-2.0
"""4-bit codes of a saved index: files beside those of its rows, and what was learnt and measured in the catalog.

Codes are of the rows that are saved, in their order: blocks of 64, ``<kind>_codes`` uint8 [blocks, positions, 32] and
``<kind>_facts`` uint32 [blocks, 64]. The last rows, which had none, have none; their number is in the catalog. Versions
that do not know them pass over them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _arrays, _checks, _core
from .._costs import COSTS, HostCosts
from ..codes import KINDS, MOST_CANDIDATES, Calibration, Codes, Fit
from ..errors import CorruptFile, InvalidInput
from . import npy
from .catalog import Catalog
from .segments import FolderSegments, Stored

__all__ = ["CodesToSave", "KeptCodes", "kept_codes"]

_POSITION_BYTES = 32
_MOST_RANKS = 1024  # rows that were asked for, and neighbours of each
_MOST_ROOM = 100.0
_LONGEST_COST = 1e18  # nanoseconds: years
_LONGEST_HOST = 200  # characters


class CodesToSave:
    """The codes of a snapshot's rows. They may be of more rows a moment later: how many is decided once."""

    def __init__(self, codes: Codes, snapshot: _core.Snapshot, rows: _arrays.Ids) -> None:
        """Of these row numbers, ascending."""
        # Rows may have been laid out anew a moment ago.
        self._codes = codes if codes.core.layout == snapshot.layout else codes.again(snapshot)
        self._fit = self._codes.core.fit
        self._rows = rows[: int(np.searchsorted(rows, self._codes.core.rows))]

    def blocks(self, start: int, stop: int) -> dict[str, npt.NDArray[Any]]:
        """Arrays beside a segment of the ``start``-th to the last row before the ``stop``-th, of those with codes."""
        rows, kind = self._rows[start:stop], self._codes.kind
        if len(rows) == 0:
            return {}
        blocks, facts = self._codes.core.gather(rows)
        return {f"{kind}_codes": blocks, f"{kind}_facts": facts}

    def keep(self, catalog: Catalog) -> None:
        """Keeps what codes were made with and what was measured. Inside a transaction."""
        codes, calibration = self._codes, self._codes.calibration
        reference, centroids = codes.core.model
        costs, host = codes.costs.kept
        said = {
            "seed": codes.seed,
            "rows": len(self._rows),
            "positions": codes.core.positions,
            "ranks": list(calibration.ranks.shape),
            "room": calibration.room,
            "trained": calibration.fit,
            "fit": self._fit,
            "costs": dict(zip(COSTS, costs, strict=True)),
            "host": host,
        }
        catalog.set_meta(f"{codes.kind} codes", json.dumps(said))
        catalog.set_meta(f"{codes.kind} reference", reference.astype("<f4").tobytes())
        catalog.set_meta(f"{codes.kind} centroids", centroids.astype("<f4").tobytes())
        catalog.set_meta(f"{codes.kind} ranks", calibration.ranks.astype("<u2").tobytes())


@dataclass(slots=True)
class KeptCodes:
    """What the catalog says of codes, and the files that were found to have them."""

    kind: str
    seed: int
    rows: int
    positions: int
    calibration: Calibration
    costs: HostCosts
    fit: Fit
    reference: _arrays.Floats
    centroids: _arrays.Floats
    path: str  # of the catalog
    _files: list[tuple[str, str, int]] = field(default_factory=list)
    _done: int = 0

    def take(self, segments: FolderSegments, stored: Stored) -> None:
        """Looks for the files of a segment; segments come in order.

        Raises:
            CorruptFile: If they are missing, or have other headers than they should.
        """
        rows = min(stored.rows, self.rows - self._done)
        if rows > 0:
            blocks = -(-rows // 64)
            paths = segments.beside(
                stored,
                {
                    f"{self.kind}_codes": (np.dtype("|u1"), (blocks, self.positions, _POSITION_BYTES)),
                    f"{self.kind}_facts": (np.dtype("<u4"), (blocks, 64)),
                },
            )
            self._files.append((paths[f"{self.kind}_codes"], paths[f"{self.kind}_facts"], rows))
            self._done += rows

    def mapped(self, snapshot: _core.Snapshot) -> Codes:
        """The codes of a snapshot whose rows were attached as they were taken here.

        Raises:
            CorruptFile: If the files or what was learnt are not what was written.
        """
        try:
            if self._done != self.rows:
                raise InvalidInput(f"{self.rows} rows have codes, of {self._done}")
            core = _core.LookupCodes.mapped(
                snapshot,
                KINDS.index(self.kind),
                self.seed,
                self.reference,
                self.centroids,
                self._files,
                npy.HEADER_BYTES,
                self.fit,
            )
        except InvalidInput as error:
            raise CorruptFile(f"{self.path}: {self.kind} codes: {error}; restore the file from a copy") from error
        return Codes(self.kind, self.seed, core, self.calibration, self.costs)


def kept_codes(catalog: Catalog) -> list[KeptCodes]:
    """What the catalog says of each kind of codes that there is.

    Raises:
        CorruptFile: If that cannot be.
    """
    found = []
    for kind in KINDS:
        if catalog.one("SELECT 1 FROM meta WHERE key = ?", (f"{kind} codes",)) is not None:
            said = catalog.json(catalog.meta(f"{kind} codes"), f"{kind} codes")
            try:
                found.append(_checked(catalog, kind, said))
            except (InvalidInput, KeyError, TypeError, ValueError) as error:
                raise CorruptFile(f"{catalog.path}: {kind} codes: {error}; restore the file from a copy") from error
    return found


def _checked(catalog: Catalog, kind: str, said: Any) -> KeptCodes:
    asked, depth = (_checks.whole(one, "ranks", least=1, most=_MOST_RANKS) for one in said["ranks"])
    ranks = _numbers(catalog, f"{kind} ranks", "<u2").astype(np.int64)
    if (ranks > 2 * MOST_CANDIDATES).any():
        raise InvalidInput("ranks: larger ones than there can be")
    room = _number(said["room"], "room", 1.0, _MOST_ROOM)
    row, eighth, sixty_fourth, word, candidate, start = (
        _number(said["costs"][name], name, 0.0, _LONGEST_COST) for name in COSTS
    )
    host = _checks.text(said["host"], "host")
    if len(host) > _LONGEST_HOST:
        raise InvalidInput(f"host: {len(host)} characters")
    return KeptCodes(
        kind=kind,
        seed=_checks.whole(said["seed"], "seed", most=2**63 - 1),
        rows=_checks.whole(said["rows"], "rows", most=2**40),
        positions=_checks.whole(said["positions"], "positions", least=1, most=2**16),
        calibration=Calibration(ranks.reshape(asked, depth), room, _fit(said["trained"])),
        costs=HostCosts((row, eighth, sixty_fourth, word, candidate, start), host),
        fit=_fit(said["fit"]),
        reference=_numbers(catalog, f"{kind} reference", "<f4").astype(np.float32),
        centroids=_numbers(catalog, f"{kind} centroids", "<f4").astype(np.float32),
        path=catalog.path,
    )


def _numbers(catalog: Catalog, key: str, dtype: str) -> npt.NDArray[Any]:
    said = catalog.meta(key)
    if not isinstance(said, bytes):
        raise InvalidInput(f"{key}: expected bytes, got {type(said).__name__}")
    return np.frombuffer(said, dtype=dtype)


def _number(value: object, name: str, least: float, most: float) -> float:
    number = _checks.finite(value, name)
    if not least <= number <= most:
        _checks.refuse(name, value, f"a number from {least} to {most}", "it is not what was written")
    return number


def _fit(said: Any) -> Fit:
    rows, square, cosine = said
    most_square = 2.0**128  # of numbers that a row may have
    return (
        _checks.whole(rows, "rows", most=2**62),
        _number(square, "spread", 0.0, most_square),
        _number(cosine, "fit", -2.0, 2.0),
    )
