# SPDX-License-Identifier: Apache-2.0
"""The folder of a collection: its writer's lock, its readers' leases, and durable names.

Locks are the kernel's (flock): they die with the process that holds them, however it dies.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator

from ..errors import InvalidInput, LockHeld, MissingStore

__all__ = ["Lease", "WriterLock", "create_folder", "leased", "require_folder", "sync_folder"]

_NOBODY = "an unknown process"


def sync_folder(path: str) -> None:
    """Makes the names of new and renamed files durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def create_folder(path: str) -> None:
    """Makes the folder of a collection, unless it is there.

    Raises:
        InvalidInput: If the path is something else than a folder, or cannot be made.
    """
    try:
        for folder in (path, os.path.join(path, "segments"), os.path.join(path, "readers")):
            if not os.path.isdir(folder):
                os.mkdir(folder, 0o700)
                sync_folder(os.path.dirname(os.path.abspath(folder)))
    except OSError as error:
        raise InvalidInput(
            f"path: {path!r} cannot hold a collection ({error.strerror}); pass a folder that can be written, or the "
            "name of a new one inside such a folder"
        ) from error


def require_folder(path: str) -> None:
    """What can be opened for reading.

    Raises:
        MissingStore: If nothing is there.
        InvalidInput: If it is no folder.
    """
    if not os.path.lexists(path):
        raise MissingStore(f"path: nothing is at {path!r}; open with mode='rw' to make a collection there")
    if not os.path.isdir(path):
        raise InvalidInput(f"path: {path!r} is no folder; a collection is a folder")


class WriterLock:
    """One writer at a time; held until :meth:`release` or the end of the process.

    Raises:
        LockHeld: If another process, or another object of this one, is writing.
    """

    def __init__(self, folder: str) -> None:
        path = os.path.join(folder, "writer.lock")
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise InvalidInput(
                f"path: {folder!r} cannot be written ({error.strerror}); open it with mode='r', or make it writable"
            ) from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._descriptor, 64, 0).decode("ascii", "replace").strip() or _NOBODY
            os.close(self._descriptor)
            raise LockHeld(
                f"path: {folder!r} is being written by {holder}; a collection has one writer at a time: close that "
                "one, or open with mode='r'"
            ) from error
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"process {os.getpid()}\n".encode("ascii"), 0)

    def release(self) -> None:
        """Lets the next writer in."""
        if self._descriptor >= 0:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = -1


class Lease:
    """Keeps what a generation needs from being deleted, until :meth:`release` or the end of the process.

    A new one keeps everything; :meth:`renew` says what is really needed, once that is known.
    """

    def __init__(self, folder: str) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        while True:
            self._path = os.path.join(folder, "readers", f"{os.getpid()}-{secrets.token_hex(8)}")
            self._descriptor = os.open(self._path, flags, 0o600)
            fcntl.flock(self._descriptor, fcntl.LOCK_SH)
            if os.fstat(self._descriptor).st_nlink > 0:
                return
            os.close(self._descriptor)  # the writer took it for one that a dead reader left, before it was locked

    def renew(self, generation: int) -> None:
        """Keeps what this generation needs, and no longer what others do."""
        os.pwrite(self._descriptor, f"{generation:020d}".encode("ascii"), 0)

    def release(self) -> None:
        """Lets the generation go."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            try:
                os.unlink(self._path)
            except OSError as error:
                if error.errno not in (errno.ENOENT, errno.EROFS, errno.EACCES):
                    raise
            finally:
                os.close(descriptor)


def leased(folder: str) -> Iterator[int]:
    """Generations that readers hold; what dead ones left behind is removed. For the holder of the writer's lock."""
    readers = os.path.join(folder, "readers")
    for name in os.listdir(readers):
        path = os.path.join(readers, name)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue  # gone meanwhile, or nothing that a reader made
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                continue
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                said = os.pread(descriptor, 20, 0)
                yield int(said) if said.isdigit() else 0  # 0: not written yet, so it may need anything
            else:
                os.unlink(path)
        finally:
            os.close(descriptor)
