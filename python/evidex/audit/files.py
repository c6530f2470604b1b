# SPDX-License-Identifier: Apache-2.0
"""The files of a log: their names, how one is read in bounded memory, and the lock of the process that writes."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from typing import BinaryIO

from ..errors import EvidexError, LockHeld
from .lines import MOST_LINE

__all__ = ["lock", "name_of", "numbers", "open_regular", "pieces", "sync_folder"]

_NUMBER = re.compile(r"\d{6,18}", re.ASCII)


def name_of(path: str, number: int) -> str:
    """Where a full file goes."""
    return f"{path}.{number:06d}"


def numbers(path: str) -> list[int]:
    """Numbers of the full files of a log, ascending."""
    folder, base = os.path.split(path)
    found = []
    with os.scandir(folder or os.curdir) as entries:
        for entry in entries:
            number = entry.name[len(base) + 1 :]
            if (
                entry.name.startswith(f"{base}.")
                and _NUMBER.fullmatch(number)
                and name_of("", int(number))[1:] == number
            ):
                found.append(int(number))
    return sorted(found)


def open_regular(path: str) -> BinaryIO:
    """Opens a file for reading.

    Raises:
        OSError: As ``open`` does, and for what is not a regular file: a pipe would wait for ever.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path} is not a regular file")
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def pieces(file: BinaryIO) -> Iterator[tuple[bytes, bool, bool]]:
    """Lines in pieces of bounded size: the bytes, whether a line starts with them, whether they are a whole line.

    A line in two pieces or more is longer than any of the log may be; the last one of a file may lack its newline.
    """
    starts = True
    while piece := file.readline(MOST_LINE):
        ends = piece.endswith(b"\n")
        yield piece, starts, starts and ends
        starts = ends


def lock(path: str) -> int:
    """Takes the lock of a log; closing the descriptor that is returned lets it go, and so does the process's end.

    Raises:
        LockHeld: If another writer has it.
    """
    try:
        import fcntl
    except ImportError as error:  # pragma: no cover
        raise EvidexError("audit: writing a retrieval log needs the file locks of a POSIX system") from error
    descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise LockHeld(
            f"path: the retrieval log {path!r} is being written by another process or RetrievalLog; a log has one "
            "writer at a time: close that one, or give each its own log"
        ) from error
    return descriptor


def sync_folder(path: str) -> None:
    """Makes the names of new and renamed files durable."""
    descriptor = os.open(os.path.dirname(path) or os.curdir, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
