# SPDX-License-Identifier: Apache-2.0
"""Children of the process that runs the tests: forked, so that nothing is imported again, and how they die."""

from __future__ import annotations

import ctypes
import functools
import gc
import os
import pickle
import signal
import sqlite3
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from evidex.store import npy

HANG = 1800 if os.environ.get("EVIDEX_LONG") == "1" else 60  # seconds


class Child:
    """Runs ``work(say)`` in a forked child, where ``say(value)`` sends a value to :meth:`hear`."""

    def __init__(self, work: Callable[[Callable[[object], None]], object]) -> None:
        reading, writing = os.pipe()
        with warnings.catch_warnings():  # that this process may have threads is what some of the tests are about
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            _run(work, writing)
        os.close(writing)
        self._file = os.fdopen(reading, "rb")
        self._status: int | None = None

    def hear(self) -> Any:
        """The next value; raises EOFError, which says how it ended, when there is none any more."""
        try:
            kind, value = pickle.load(self._file)
        except (EOFError, pickle.UnpicklingError) as error:  # the latter when it was killed while it spoke
            raise EOFError(f"the child ended with {self.end()}") from error
        if kind == "failed":
            raise AssertionError(f"in the child: {value}")
        return value

    def all(self) -> list[Any]:
        """All that it says until it ends."""
        found = []
        try:
            while True:
                found.append(self.hear())
        except EOFError:
            return found

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def end(self) -> int:
        """Waits for its end; the signal that ended it as a negative number, or its exit status."""
        if self._status is None:
            self._file.close()
            self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._status

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is None:
            self.kill()
            self.end()


def _run(work: Callable[[Callable[[object], None]], object], writing: int) -> None:
    def send(kind: str, value: object) -> None:
        data = memoryview(pickle.dumps((kind, value)))
        while data:
            data = data[os.write(writing, data) :]

    status = 0
    try:
        signal.alarm(HANG)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job's parent may ignore it
        gc.callbacks.clear()  # Hypothesis has one, and an interrupt that comes while garbage is collected is lost in it
        work(functools.partial(send, "said"))
    except BaseException:
        status = 1
        send("failed", traceback.format_exc()[-3000:])
    finally:
        sys.stderr.flush()
        os._exit(status)


def result_of(work: Callable[[], object]) -> Any:
    """What ``work()`` returns in a child that ends properly."""
    with Child(lambda say: say(work())) as child:
        found = child.all()
        assert child.end() == 0, f"a child ended with {child.end()}"
        return found[0]


def powerless(folder: Path | None) -> None:
    """Takes from this process (None), and from a folder, all rights to write there. Root gives itself up for that."""
    if folder is not None:
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        folder.parent.chmod(0o755)
    elif os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)


def on_own_media(folder: Path, size: int) -> bool:
    """Mounts a small file system on a folder, for this process alone; False where that is not allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    new_mounts, new_users, private = 0x20000, 0x10000000, 0x44000
    if libc.unshare(new_mounts) != 0 and libc.unshare(new_mounts | new_users) != 0:
        return False
    if libc.mount(b"none", b"/", None, private, None) != 0:
        return False
    return bool(libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, b"size=%d" % size) == 0)


def read_only_media(folder: Path) -> bool:
    """Makes the file system that :func:`on_own_media` mounted read-only."""
    remount, read_only = 32, 1
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", remount | read_only, None) == 0)


class Noisy(sqlite3.Connection):
    """Tells ``heard`` before and after each statement."""

    heard: ClassVar[Callable[[str], None]]

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        Noisy.heard(f"before {sql}")
        try:
            return super().execute(sql, *values)
        finally:
            Noisy.heard(f"after {sql}")

    def executemany(self, sql: str, rows: Any) -> sqlite3.Cursor:
        Noisy.heard(f"before {sql}")
        return super().executemany(sql, rows)


def listen(heard: Callable[[str], None]) -> list[tuple[Any, str, Any]]:
    """Has ``heard`` told of each step that writes something, before and after; what to give back to undo that."""
    Noisy.heard = heard
    kept: list[tuple[Any, str, Any]] = []

    def put(where: Any, name: str, value: Any) -> None:
        kept.append((where, name, getattr(where, name)))
        setattr(where, name, value)

    for name in ("fsync", "rename", "mkdir", "unlink", "rmdir"):
        put(os, name, _told(getattr(os, name), name, heard))
    put(npy, "_pieces_of", _told(npy._pieces_of, "piece of a file", heard))
    put(sqlite3, "connect", functools.partial(sqlite3.connect, factory=Noisy))
    return kept


def _told(function: Any, name: str, heard: Callable[[str], None]) -> Any:
    def call(*arguments: Any, **options: Any) -> Any:
        heard(f"before {name}")
        result = function(*arguments, **options)
        heard(f"after {name}")
        return result

    return call


def die_at(step: int) -> None:
    """Kills this process at the step-th thing that :func:`listen` hears."""
    left = step

    def heard(_: str) -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    listen(heard)
