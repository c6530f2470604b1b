# SPDX-License-Identifier: Apache-2.0
"""Writes the lines of a log, all of a read or none, and starts new files. For one thread at a time."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from datetime import datetime, timezone
from typing import Any

from ..errors import CorruptFile, InvalidInput, NotLogged
from . import files, lines
from .tail import End, find_end

__all__ = ["Writer"]

logger = logging.getLogger("evidex.audit")


class Writer:
    """Holds the lock, the newest file and the end of the chain.

    Args:
        path: Absolute path of the newest file.
        key: Of the seals, or None.
        most_bytes: A longer file is full.
        keep: Full files that stay, or None.
        fsync: Whether to wait for the disk.

    Raises:
        InvalidInput, LockHeld, CorruptFile, NotLogged: As :class:`evidex.RetrievalLog`.
    """

    def __init__(self, path: str, key: bytes | None, most_bytes: int, keep: int | None, fsync: bool) -> None:
        self._path = path
        self._key = key
        self._most_bytes = most_bytes
        self._keep = keep
        self._fsync = fsync
        self._process = os.getpid()
        self._why_not = ""
        self._file: int | None = None
        self._lock: int | None = None
        try:
            self._lock = files.lock(path)
            self.end = find_end(path, key)
            self.prepare()
            self._retain()
        except BaseException as error:
            self.close()
            if isinstance(error, OSError) and not isinstance(error, (CorruptFile, NotLogged)):
                raise InvalidInput(
                    f"path: the retrieval log {path!r} cannot be opened ({error}); pass a file in a folder that exists "
                    "and that this process may write"
                ) from error
            raise

    def prepare(self) -> None:
        """Makes the newest file ready for a read: not full, begun, and with no torn end that is not accounted for.

        Raises:
            NotLogged: If that, or any writing, is not possible.
        """
        if self._process != os.getpid():
            raise self._not_logged("it was opened in another process; open a log of its own after a fork")
        if self._why_not:
            raise self._not_logged(self._why_not)
        try:
            self._open()
            if self.end.started and self.end.torn is not None:
                self.append("resume", [{"torn": asdict(self.end.torn)}])
            if self.end.started and self.end.size > self._most_bytes:
                self._put_away()
                self._open()
        except NotLogged:
            raise
        except OSError as error:
            raise self._not_logged(error) from error
        if not self.end.started:
            number = self.end.file + 1
            oldest = self.end.oldest if self._keep is None else max(self.end.oldest, number - self._keep)
            torn = None if self.end.torn is None else asdict(self.end.torn)
            opening = {"file": number, "oldest": oldest, "keyed": self._key is not None, "torn": torn}
            self.append("open", [opening], file=number, oldest=oldest, started=True)
            self._retain()

    def append(self, action: str, bodies: Iterable[Mapping[str, Any]], **change: Any) -> None:
        """Seals lines and writes them at once, or else leaves the file as it was.

        Raises:
            NotLogged: If they cannot be written.
            InvalidInput: If a line is too long.
        """
        before = self.end
        seq, head, time = before.seq, before.head, _now()
        sealed = [lines.BREAK] if before.broken else []
        for body in bodies:
            seq += 1
            start = {"version": lines.VERSION, "seq": seq, "time": time, "prev": head, "action": action}
            line = lines.seal({**start, **body}, self._key)
            if len(line) > lines.MOST_LINE:
                raise InvalidInput(
                    f"principal: its record would take {len(line)} bytes, at most {lines.MOST_LINE} are possible; pass "
                    "fewer or shorter names"
                )
            head = lines.digest(line)
            sealed.append(line)
        data = b"".join(sealed)
        after = replace(before, seq=seq, head=head, size=before.size + len(data), torn=None, broken=False, **change)
        try:
            file = self._require_unchanged()
            self._write(file, data, after)
            if self._fsync:
                os.fsync(file)
        except OSError as error:
            raise self._not_logged(error) from error

    def close(self) -> None:
        """Closes the file and lets the lock go."""
        self._why_not = "the log was closed; open it again"
        for descriptor in (self._file, self._lock):
            if descriptor is not None:
                os.close(descriptor)
        self._file = self._lock = None

    def _write(self, file: int, data: bytes, after: End) -> None:
        before = self.end
        try:
            written = os.write(file, data)
            if written != len(data):
                raise OSError(f"only {written} of {len(data)} bytes could be written")
            self.end = after
        except BaseException:  # Ctrl-C too: what is not returned is not in the log
            self.end = before
            try:
                os.ftruncate(file, before.size)
            except OSError as error:
                self._why_not = f"a part of a line could not be taken back ({error}); open the log again"
            raise

    def _require_unchanged(self) -> int:
        """The descriptor, if the file is still the one at the path and as long as it was left."""
        assert self._file is not None
        mine, there = os.fstat(self._file), os.stat(self._path)
        if not os.path.samestat(mine, there) or mine.st_size != self.end.size:
            raise OSError("the file was moved, cut or written by somebody else; verify the log, then open it again")
        return self._file

    def _open(self) -> None:
        if self._file is None:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            if self._fsync:
                files.sync_folder(self._path)

    def _put_away(self) -> None:
        """Renames the newest file, which is full."""
        file = self._require_unchanged()
        place = files.name_of(self._path, self.end.file)
        if os.path.lexists(place):
            raise OSError(f"{place} is in the way; move it")
        os.rename(self._path, place)
        self._file = None
        self.end = replace(self.end, started=False, size=0)
        os.close(file)

    def _retain(self) -> None:
        """Deletes the files before the oldest, as the newest opening line says; tried again later if it fails."""
        try:
            for number in files.numbers(self._path):
                if number < self.end.oldest:
                    os.remove(files.name_of(self._path, number))
        except OSError as error:
            logger.warning("an old file of the retrieval log could not be deleted: %s", error)

    def _not_logged(self, why: object) -> NotLogged:
        return NotLogged(f"log: nothing is returned, since {self._path!r} cannot be written: {why}")


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="microseconds")
