# SPDX-License-Identifier: Apache-2.0
"""RetrievalLog: what an index tells of each read."""

from __future__ import annotations

import os
import threading
from types import TracebackType

from .. import _checks
from ..errors import InvalidInput
from .lines import READS
from .records import Lists, parts, who
from .writing import Writer

__all__ = ["RetrievalLog"]

_LEAST_KEY = 16


class RetrievalLog:
    """An append-only log of reads: who, when, which ids and scores; never text or vectors.

    Give it to an index (``DenseIndex(..., log=log)``): every read that succeeds is then written before it returns. **A
    read that cannot be written is not returned**: it raises NotLogged, until the log can be written again.

    Every line holds the digest of the one before and a seal made with ``key``, so :func:`evidex.audit.verify` finds
    lines that were edited, removed, put in or moved. What it cannot find:

    - Lines cut from the end, also by somebody who then lets the log go on: note :attr:`head` elsewhere now and then,
      and verify with it.
    - Anything done by somebody who has the key. Keep it where those who can write the log cannot read it.
    - With ``key=None`` the chain is plain SHA-256, which tells accidents only: whoever can write the files can write
      all of them anew, and only a head noted elsewhere shows it.

    A log that exists is gone on with. If its last line is torn, as after a crash, the torn bytes stay where they are,
    and a line is written that accounts for them. Threads and indexes may share a log; a forked process needs its own.

    Args:
        path: The newest file. Full ones are renamed to ``path.000001`` and so on; ``path.lock`` is the lock. Let
            nothing else rotate them.
        key: Secret of the seals, at least 16 bytes (32 random ones are good), or None, see above.
        most_bytes: A file longer than this is full, and the next read begins a new one.
        keep: How many full files stay; older ones are deleted. None keeps all of them. A caller who reads much pushes
            older records out: choose it for the busiest day.
        fsync: True waits until each record is on the disk. Without it the last seconds may be lost with the power,
            though not when only the process dies.

    Raises:
        InvalidInput: If an argument is none of these, or the files cannot be opened.
        LockHeld: If the log is being written already.
        CorruptFile: If what is there is no log, was not sealed with this key, or ends with an edited line.
        NotLogged: If the first line cannot be written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        key: bytes | None,
        most_bytes: int = 64 * 2**20,
        keep: int | None = None,
        fsync: bool = False,
    ) -> None:
        self._path = os.path.abspath(require_path(path))
        self._keyed = require_key(key) is not None
        self._threads = threading.Lock()
        self._writer = Writer(
            self._path,
            key,
            _checks.whole(most_bytes, "most_bytes", least=1),
            None if keep is None else _checks.whole(keep, "keep"),
            _checks.flag(fsync, "fsync"),
        )

    @property
    def head(self) -> str:
        """Digest of the last line, 64 hex digits, which stands for all lines: what to note elsewhere."""
        return self._writer.end.head

    def record(
        self,
        action: str,
        principal: object,
        *,
        layout: int,
        generation: int,
        plan: str | None = None,
        k: int | None = None,
        count: int | None = None,
        ids: Lists = None,
        scores: Lists = None,
    ) -> None:
        """Writes one read. Indexes call it.

        Args:
            action: ``search``, ``radius``, ``explain``, ``get``, ``ids``, ``count`` or ``items``.
            principal: Who read: a Principal, UNRESTRICTED, or None on an open index.
            layout: Of the snapshot that was read.
            generation: Of the snapshot that was read.
            plan: How it was searched, in the engine's words.
            k: Hits asked for per query.
            count: What ``count`` returned.
            ids: int64 [hits] per query.
            scores: float32 [hits] per query.

        Raises:
            NotLogged: If it cannot be written; then the log is as it was before. With ``fsync`` also if it may not have
                reached the disk.
            InvalidInput: If an argument is none of these, or the principal's names do not fit into a line of 1 MiB.
                Nothing was written.
        """
        if not isinstance(action, str) or action not in READS:
            raise InvalidInput(f"action: expected one of {', '.join(sorted(READS))}, got {action!r}")
        read = {
            "who": who(principal),
            "layout": _checks.whole(layout, "layout"),
            "generation": _checks.whole(generation, "generation"),
            "plan": None if plan is None else _checks.text(plan, "plan"),
            "k": None if k is None else _checks.whole(k, "k"),
            "count": None if count is None else _checks.whole(count, "count"),
        }
        cut = parts(ids, scores)
        bodies = [{**read, "part": number, "parts": len(cut), **part} for number, part in enumerate(cut)]
        with self._threads:
            self._writer.prepare()
            self._writer.append(action, bodies)

    def close(self) -> None:
        """Lets the lock go. Reads of an index that has this log raise NotLogged afterwards."""
        with self._threads:
            self._writer.close()

    def __enter__(self) -> RetrievalLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        seals = "keyed" if self._keyed else "without a key"
        return f"RetrievalLog({self._path!r}, {self._writer.end.seq + 1} lines, {seals})"


def require_path(path: object) -> str:
    """The path of a log as a str."""
    given = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(given, str) or not given or "\0" in given:
        _checks.refuse("path", path, "a path", "pass a str or a Path of the log's newest file")
    return given


def require_key(key: object) -> bytes | None:
    """A key that is long enough, or None."""
    if key is not None and (not isinstance(key, bytes) or len(key) < _LEAST_KEY):
        given = f"{len(key)} bytes" if isinstance(key, bytes) else f"a {type(key).__name__}"
        raise InvalidInput(
            f"key: expected at least {_LEAST_KEY} bytes, or None for a chain without a key, got {given}; pass, for "
            "example, 32 bytes of secrets.token_bytes that are kept in a file"
        )
    return key
