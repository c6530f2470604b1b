# SPDX-License-Identifier: Apache-2.0
"""Segments: immutable rows in a folder of .npy files, and what the catalog knows of each."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from .. import _arrays, _core
from ..errors import CorruptFile, NotStored
from . import npy
from .files import sync_folder

__all__ = ["FolderSegments", "Layout", "MemorySegments", "Rules", "Segments", "Stored"]

Rules: TypeAlias = "npt.NDArray[np.uint32]"
Beside: TypeAlias = "Mapping[str, npt.NDArray[Any]]"
Arrays: TypeAlias = "dict[str, tuple[np.dtype[Any], tuple[int, ...]]]"

_VECTOR_TYPES: dict[str, np.dtype[Any]] = {"float32": np.dtype("<f4"), "float16": np.dtype("<f2")}
_CODEC_NUMBERS: dict[str, int] = {**dict(_core.codecs())}
_POSTINGS = "postings"  # name of the array


@dataclass(frozen=True, slots=True)
class Layout:
    """How rows are kept: the same for all segments of a collection."""

    dim: int
    codec: str

    def arrays(self, rows: int, coded: bool) -> Arrays:
        """Dtype and shape of each file of a segment."""
        number = np.dtype("<i8")
        found: Arrays = {
            "ids": (number, (rows,)),
            "groups": (number, (rows,)),
            "rules": (np.dtype("<u4"), (rows,)),
        }
        if self.codec in _VECTOR_TYPES and self.dim > 0:
            found["vectors"] = (_VECTOR_TYPES[self.codec], (rows, self.dim))
        if coded:
            half = (rows, _core.plane_bytes(self.dim))
            found |= {"facts": (np.dtype("<u8"), (2, rows))}
            found |= {name: (np.dtype("|u1"), half) for name in ("high", "low")}
        return found


@dataclass(frozen=True, slots=True)
class Stored:
    """What the catalog keeps of a segment.

    Attributes:
        digests: SHA-256 of each file, in hex.
        rights: How many changes of rights there had been when the rules of its rows were written.
    """

    number: int
    rows: int
    coded: bool
    digests: dict[str, str]
    rights: int = 0


class Segments(Protocol):
    """Where the rows of a collection are."""

    def write(
        self, number: int, segment: _core.Segment, rules: Rules, postings: _core.Postings | None = None
    ) -> Stored:
        """Keeps a segment, the stored number of the rule that each row is under, and postings of the rows, durably."""

    def open(self, stored: Stored, reference: _arrays.Floats | None) -> tuple[_core.Segment, Rules]:
        """The segment and the rules."""

    def postings(self, stored: Stored, *, weighted: bool) -> _core.Postings:
        """The postings of its rows, of vectors or of text."""

    def verify(self, stored: Stored) -> None:
        """Reads every byte and raises CorruptFile if it is not what was written."""

    def remove_others(self, numbers: set[int]) -> None:
        """Deletes all segments but these."""

    def bytes(self) -> int:
        """What is kept, in bytes."""


class MemorySegments:
    """Segments of a collection in memory."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[_core.Segment, Rules]] = {}
        self._postings: dict[int, _core.Postings] = {}

    def write(
        self, number: int, segment: _core.Segment, rules: Rules, postings: _core.Postings | None = None
    ) -> Stored:
        """Keeps it."""
        self._kept[number] = segment, rules
        if postings is not None:
            self._postings[number] = postings
        return Stored(number, segment.rows, segment.reference is not None, {})

    def open(self, stored: Stored, reference: _arrays.Floats | None) -> tuple[_core.Segment, Rules]:
        """What was kept."""
        return self._kept[stored.number]

    def postings(self, stored: Stored, *, weighted: bool) -> _core.Postings:
        """What was kept."""
        return self._postings[stored.number]

    def verify(self, stored: Stored) -> None:
        """Memory is what it is."""

    def remove_others(self, numbers: set[int]) -> None:
        """Lets the others go."""
        for number in set(self._kept) - numbers:
            del self._kept[number]
            self._postings.pop(number, None)

    def bytes(self) -> int:
        """Bytes of the arrays."""
        rows = sum(array.nbytes for segment, _ in self._kept.values() for array in segment.arrays().values())
        return rows + sum(postings.bytes().nbytes for postings in self._postings.values())


class FolderSegments:
    """Segments in a folder. A crash leaves files behind that no catalog names; the next writer removes them."""

    def __init__(self, folder: str, layout: Layout) -> None:
        self._folder = os.path.join(folder, "segments")
        self._layout = layout

    def write(
        self,
        number: int,
        segment: _core.Segment,
        rules: Rules,
        postings: _core.Postings | None = None,
        beside: Beside | None = None,
    ) -> Stored:
        """Writes the files, and other arrays beside them; they are durable when this returns.

        Raises:
            NotStored: If they cannot be written.
        """
        path = self._path(number)
        unfinished = path + ".tmp"
        arrays = {**segment.arrays(), "rules": rules, **(beside or {})}
        if postings is not None:
            arrays[_POSTINGS] = postings.bytes()
        digests = {}
        try:
            for old in (path, unfinished):
                shutil.rmtree(old, ignore_errors=True)
            os.mkdir(unfinished)
            for name, array in arrays.items():
                digest = hashlib.sha256()
                npy.write(os.path.join(unfinished, f"{name}.npy"), array, digest)
                digests[name] = digest.hexdigest()
            sync_folder(unfinished)
            os.rename(unfinished, path)
            sync_folder(self._folder)
        except OSError as error:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise NotStored(
                f"{path}: {error.strerror}; nothing was changed. Free the disk, or make it writable"
            ) from error
        return Stored(number, segment.rows, "facts" in arrays, digests)

    def open(self, stored: Stored, reference: _arrays.Floats | None) -> tuple[_core.Segment, Rules]:
        """Maps the files: headers and sizes are checked, nothing else but the rules is read.

        Raises:
            CorruptFile: If a file is missing, is no plain file, or has another header or size.
        """
        paths = dict(self._paths(stored))
        kinds = self._layout.arrays(stored.rows, stored.coded)
        rules = npy.read(paths["rules"], *kinds.pop("rules"))
        for name, (dtype, shape) in kinds.items():
            npy.check(paths[name], dtype, shape)
        number = _CODEC_NUMBERS[self._layout.codec]
        given = reference if stored.coded else None
        if stored.coded and given is None:
            raise CorruptFile(f"{self._path(stored.number)}: the catalog does not say what its codes refer to")
        segment = _core.Segment.mapped(self._layout.dim, number, stored.rows, paths, npy.HEADER_BYTES, given)
        return segment, rules

    def beside(self, stored: Stored, kinds: Arrays) -> dict[str, str]:
        """Paths of other arrays in a segment's folder, about to be mapped: their headers are checked.

        Raises:
            CorruptFile: As :meth:`open`.
        """
        paths = dict(self._paths(stored, kinds))
        for name, (dtype, shape) in kinds.items():
            npy.check(paths[name], dtype, shape)
        return paths

    def postings(self, stored: Stored, *, weighted: bool) -> _core.Postings:
        """Maps the postings of a segment, which end where their file does.

        Raises:
            CorruptFile: As :meth:`open`, and if they are none of that many rows, or of the other kind.
        """
        path = self._path_beside(stored, _POSTINGS)
        size = npy.size(path)
        npy.check(path, np.dtype(np.uint8), (size,))
        postings = _core.Postings.mapped(path, npy.HEADER_BYTES, size)
        if postings.rows != stored.rows or postings.weighted != weighted:
            kind = "vectors" if weighted else "text"
            raise CorruptFile(
                f"{path}: expected postings of {stored.rows} rows of {kind}; restore the file from a copy"
            )
        return postings

    def verify(self, stored: Stored) -> None:
        """Reads every byte.

        Raises:
            CorruptFile: If a file is not what was written.
        """
        for name, path in self._paths(stored):
            _require_digest(path, stored.digests[name])
        if _POSTINGS in stored.digests:
            _require_digest(self._path_beside(stored, _POSTINGS), stored.digests[_POSTINGS])

    def remove_others(self, numbers: set[int]) -> None:
        """Deletes all segments but these, and what crashes left."""
        kept = {os.path.basename(self._path(number)) for number in numbers}
        for name in os.listdir(self._folder) if os.path.isdir(self._folder) else ():
            if name not in kept:
                shutil.rmtree(os.path.join(self._folder, name), ignore_errors=True)

    def bytes(self) -> int:
        """Sizes of the files."""
        return sum(
            os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(self._folder) for name in names
        )

    def _path(self, number: int) -> str:
        return os.path.join(self._folder, f"{number:08d}")

    def _paths(self, stored: Stored, kinds: Arrays | None = None) -> Iterator[tuple[str, str]]:
        for name in self._layout.arrays(stored.rows, stored.coded) if kinds is None else kinds:
            yield name, self._path_beside(stored, name)

    def _path_beside(self, stored: Stored, name: str) -> str:
        path = self._path(stored.number)
        if os.path.islink(path):
            raise CorruptFile(f"{path}: expected a folder, not a link to one")
        if not isinstance(stored.digests.get(name), str):
            raise CorruptFile(f"{path}: the catalog has no checksum of {name}.npy")
        return os.path.join(path, f"{name}.npy")


def _require_digest(path: str, expected: str) -> None:
    digest = hashlib.sha256()
    try:
        for piece in npy.pieces(path):
            digest.update(piece)
    except OSError as error:
        raise CorruptFile(f"{path}: cannot be read: {error.strerror}") from error
    if digest.hexdigest() != expected:
        raise CorruptFile(f"{path}: its bytes are not those that were written; restore the file from a copy")
