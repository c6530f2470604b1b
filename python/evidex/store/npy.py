# SPDX-License-Identifier: Apache-2.0
"""Arrays as .npy files whose every byte of header is known beforehand.

The catalog says what an array's dtype and shape are; the header that goes with them is made here and compared byte for
byte, so nothing in a file is ever parsed. numpy alone can read the files (format 1.0, numpy.lib.format).
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import CorruptFile

__all__ = ["HEADER_BYTES", "check", "header", "pieces", "read", "size", "write"]

HEADER_BYTES = 128
"""Length of every header: a multiple of 64, so that mapped elements are aligned to cache lines."""

_PIECE = 2**20
_MAGIC = b"\x93NUMPY\x01\x00"


def header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """The 128 bytes before the elements of a C-ordered array."""
    said = f"{{'descr': {dtype.str!r}, 'fortran_order': False, 'shape': {shape!r}, }}".encode()
    room = HEADER_BYTES - len(_MAGIC) - 2
    assert dtype.str[0] in "<|" and len(said) < room
    return _MAGIC + room.to_bytes(2, "little") + said.ljust(room - 1) + b"\n"


def write(path: str, array: npt.NDArray[Any], digest: Any) -> int:
    """Writes a new file, durably, and feeds ``digest`` with its bytes. Returns how many there are."""
    whole = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    start = header(whole.dtype, whole.shape)
    with open(path, "xb", buffering=0) as file:
        for piece in (memoryview(start), *_pieces_of(whole.reshape(-1).view(np.uint8).data)):
            digest.update(piece)
            rest = piece
            while rest:
                rest = rest[file.write(rest) :]
        os.fsync(file.fileno())
    return len(start) + whole.nbytes


def size(path: str) -> int:
    """Bytes of a file behind its header.

    Raises:
        CorruptFile: If it cannot be read or is shorter.
    """
    try:
        found = os.lstat(path).st_size
    except OSError as error:
        raise CorruptFile(f"{path}: cannot be read: {error.strerror}") from error
    if found < HEADER_BYTES:
        raise CorruptFile(f"{path}: expected at least {HEADER_BYTES} bytes, it has {found}; restore it from a copy")
    return found - HEADER_BYTES


def check(path: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Looks at the header of a file that is about to be mapped; its size is for who maps it to check.

    Raises:
        CorruptFile: If the file cannot be read or begins with anything else.
    """
    with _checked(path, dtype, shape):
        pass


def read(path: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """A whole file that :func:`write` made.

    Raises:
        CorruptFile: As :func:`check`, and if its size is another.
    """
    # Not numpy.fromfile: an interrupt while it looks whether it was given a path becomes a SystemError.
    with _checked(path, dtype, shape) as descriptor:
        size = HEADER_BYTES + dtype.itemsize * math.prod(shape)
        if os.fstat(descriptor).st_size != size:  # before memory is asked for: the shape may be anybody's
            raise CorruptFile(f"{path}: expected a file of {size} bytes")
        found = np.empty(shape, dtype=dtype)
        rest, at = found.reshape(-1).view(np.uint8).data, HEADER_BYTES
        while rest:
            count = os.preadv(descriptor, [rest], at)
            if count == 0:
                raise CorruptFile(f"{path}: it became shorter while it was read")
            rest, at = rest[count:], at + count
    return found


@contextmanager
def _checked(path: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Iterator[int]:
    """A descriptor of a file whose header is as expected."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if os.pread(descriptor, HEADER_BYTES, 0) != header(dtype, shape):
                raise CorruptFile(
                    f"{path}: its header is not that of {dtype.name} {list(shape)}; restore the file from a copy"
                )
            yield descriptor
        finally:
            os.close(descriptor)
    except CorruptFile:
        raise
    except OSError as error:
        raise CorruptFile(f"{path}: cannot be read: {error.strerror}") from error


def pieces(path: str) -> Iterator[bytes]:
    """A file's bytes, a few at a time; none of what is no plain file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        facts = os.fstat(descriptor)
        rest = facts.st_size if stat.S_ISREG(facts.st_mode) else 0
        while piece := os.read(descriptor, min(rest, _PIECE)):
            rest -= len(piece)
            yield piece
    finally:
        os.close(descriptor)


def _pieces_of(view: memoryview) -> Iterator[memoryview]:
    for start in range(0, len(view), 16 * _PIECE):
        yield view[start : start + 16 * _PIECE]
