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
from contextlib import suppress

from ..errors import CorruptFile, InvalidInput, LockHeld, MissingStore, NotStored
from .alive import Alive

__all__ = ["Lease", "WriterLock", "create_folder", "has_catalog", "leased", "require_folder", "sync_folder"]

_NOBODY = "an unknown process"
_FOLDERS = ("segments", "readers")


def sync_folder(path: str) -> None:
    """Makes the names of new and renamed files durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def has_catalog(path: str) -> bool:
    """Whether a collection may be there."""
    return os.path.lexists(os.path.join(path, "catalog.sqlite"))


def create_folder(path: str) -> None:
    """Makes the folder of a collection, unless it is there.

    Raises:
        InvalidInput: If the path is something else than a folder, cannot be made, or is a folder of other files.
    """
    try:
        if os.path.isdir(path) and not has_catalog(path):
            inside = sorted(set(os.listdir(path)) - {*_FOLDERS, "writer.lock"})
            inside += [name for name in _FOLDERS if os.path.isdir(own := os.path.join(path, name)) and os.listdir(own)]
            if inside:  # a writer tidies up in its folders
                raise InvalidInput(
                    f"path: {path!r} holds {inside[0]!r} and no collection; pass the name of a new folder"
                )
        for folder in (path, *(os.path.join(path, name) for name in _FOLDERS)):
            if not os.path.isdir(folder):
                os.mkdir(folder, 0o700)
                sync_folder(os.path.dirname(os.path.abspath(folder)))
    except OSError as error:
        raise InvalidInput(
            f"path: {path!r} cannot hold a collection ({error.strerror}); pass a folder that can be written, or the "
            "name of a new one inside such a folder"
        ) from error
    _require_own(path)


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
    _require_own(path)


def _require_own(path: str) -> None:
    """Refuses a link in place of a folder, which would have the writer tidy up where it leads."""
    for name in _FOLDERS:
        if os.path.islink(os.path.join(path, name)):
            raise CorruptFile(f"{os.path.join(path, name)}: expected a folder, not a link to one")


class WriterLock:
    """One writer at a time; held until :meth:`release` or the end of the process.

    Raises:
        LockHeld: If another process, or another object of this one, is writing.
    """

    def __init__(self, folder: str) -> None:
        path = os.path.join(folder, "writer.lock")
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            self._descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            raise InvalidInput(
                f"path: {folder!r} cannot be written ({error.strerror}); open it with mode='r', or make it writable"
            ) from error
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            os.close(self._descriptor)
            raise CorruptFile(f"{path}: expected a plain file")
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._descriptor, 64, 0).decode("ascii", "replace").strip() or _NOBODY
            os.close(self._descriptor)
            raise LockHeld(
                f"path: {folder!r} is being written by {holder}; a collection has one writer at a time: close that "
                "one, or open with mode='r'"
            ) from error
        self._say(f"process {os.getpid()}\n")
        _HELD.add(self)

    def release(self) -> None:
        """Lets the next writer in."""
        if self._descriptor >= 0:
            self._say("")
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)  # a child may have it, if it was forked by other means
            self.forget()

    def forget(self) -> None:
        """Leaves the lock to the process that this one was forked from."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _say(self, who: str) -> None:
        with suppress(OSError):  # on a full disk, say: it is for messages only
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, who.encode("ascii"), 0)


_HELD: Alive[WriterLock] = Alive()


class Lease:
    """Keeps what a generation needs from being deleted, until :meth:`release` or the end of the process.

    A new one keeps everything; :meth:`renew` says what is really needed, once that is known.
    """

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(folder, "readers")
        self._path, self._descriptor = self._new()
        _LEASES.add(self)

    def _new(self) -> tuple[str, int]:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        while True:
            path = os.path.join(self._folder, f"{os.getpid()}-{secrets.token_hex(8)}")
            descriptor = os.open(path, flags, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            if os.fstat(descriptor).st_nlink > 0:
                return path, descriptor
            os.close(descriptor)  # the writer took it for one that a dead reader left, before it was locked

    def again(self) -> None:
        """Makes it this process's own: the one it was forked from renews and releases its lease as it likes."""
        if self._descriptor >= 0:
            with suppress(OSError):  # it is the other's then, and as good as that
                path, descriptor = self._new()
                os.pwrite(descriptor, os.pread(self._descriptor, 20, 0), 0)
                os.close(self._descriptor)
                self._path, self._descriptor = path, descriptor

    def renew(self, generation: int) -> None:
        """Keeps what this generation needs, and no longer what others do."""
        with suppress(OSError):  # on a full disk, say: it keeps more then
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


_LEASES: Alive[Lease] = Alive()


def _after_fork() -> None:
    for lock in _HELD:
        lock.forget()
    for lease in _LEASES:
        lease.again()


os.register_at_fork(after_in_child=_after_fork)


def leased(folder: str) -> Iterator[int]:
    """Generations that readers hold; what dead ones left behind is removed. For the holder of the writer's lock.

    Raises:
        NotStored: If nothing tells which they are.
    """
    readers = os.path.join(folder, "readers")
    try:
        names = os.listdir(readers)
    except OSError as error:
        raise NotStored(f"{readers}: {error.strerror}; open the collection again, which makes it anew") from error
    for name in names:
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
                with suppress(OSError):
                    os.unlink(path)
        finally:
            os.close(descriptor)
