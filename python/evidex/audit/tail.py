# SPDX-License-Identifier: Apache-2.0
"""Where an existing log ends, for the process that goes on with it."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace

from ..errors import CorruptFile
from . import lines
from .files import name_of, numbers, open_regular, pieces
from .lines import BREAK, MAGIC, START, Line, Torn

__all__ = ["End", "find_end"]


@dataclass(frozen=True, slots=True)
class End:
    """What the next line needs to know.

    Attributes:
        seq: Number of the last line, -1 if there is none.
        head: Its digest.
        file: Number of the newest file, 0 if there is none.
        oldest: First file that retention has not taken.
        started: Whether the newest file has its opening line; without it, ``file`` is the one before.
        size: Bytes of the newest file.
        torn: What follows the last line, with the end that the next line puts to it if it is ``broken``.
        broken: Whether the newest file ends in the middle of a line.
    """

    seq: int = -1
    head: str = START
    file: int = 0
    oldest: int = 1
    started: bool = False
    size: int = 0
    torn: Torn | None = None
    broken: bool = False


def find_end(path: str, key: bytes | None) -> End:
    """Reads the newest file of a log, or the one before if that has no line yet.

    Raises:
        CorruptFile: If what is there is no log, is not sealed with this key, or was edited at the end.
        OSError: If it cannot be read.
    """
    newest = _end_of_file(path, key) if os.path.lexists(path) else End()
    if newest.started:
        return newest
    full = numbers(path)
    if not full:
        return newest
    before = _end_of_file(name_of(path, full[-1]), key)
    if not before.started or before.torn is not None or before.file != full[-1]:
        raise _corrupt(name_of(path, full[-1]), "is not the whole file of that number which was written")
    return replace(before, started=False, size=newest.size, torn=newest.torn, broken=newest.broken)


def _end_of_file(path: str, key: bytes | None) -> End:
    start = opening = body = line = b""
    after = _After()
    with open_regular(path) as file:
        for piece, _, whole in pieces(file):
            start = start or piece.removesuffix(BREAK)[: len(MAGIC)]
            sealed = lines.split(piece) if whole else None
            if sealed is not None and lines.is_sealed(*sealed, key):
                body, line = sealed[0], piece
                opening = opening or body
                after = _After()
            else:
                after.take(piece, sealed is not None)
        size = file.tell()
    if after.forged:
        raise _corrupt(path, "ends with a line that this key did not seal: it was edited, or begun with another key")
    if not MAGIC.startswith(start):
        raise _corrupt(path, "is no retrieval log")
    if not line:
        return End(size=size, torn=after.torn(), broken=after.broken)
    first = _parsed(path, opening)
    if first.action != "open":
        raise _corrupt(path, "does not begin with an opening line")
    seq = _parsed(path, body).seq
    return End(seq, lines.digest(line), first.file, first.oldest, True, size, after.torn(), after.broken)


class _After:
    """What comes after the last line."""

    def __init__(self) -> None:
        self.broken = False
        self.forged = False
        self._bytes = 0
        self._hash = hashlib.sha256()

    def take(self, piece: bytes, sealed: bool) -> None:
        self._bytes += len(piece)
        self._hash.update(piece)
        self.broken = not piece.endswith(b"\n")
        self.forged |= sealed

    def torn(self) -> Torn | None:
        if not self._bytes:
            return None
        whole = self._hash.copy()
        end = BREAK if self.broken else b""
        whole.update(end)
        return Torn(self._bytes + len(end), whole.hexdigest())


def _parsed(path: str, body: bytes) -> Line:
    try:
        return lines.parse(body)
    except ValueError as error:
        raise _corrupt(path, f"holds a sealed line that cannot be read ({error})") from error


def _corrupt(path: str, what: str) -> CorruptFile:
    return CorruptFile(
        f"path: {path!r} {what}; see what `evidex audit verify` says, then begin another log or move the files of this "
        "one away"
    )
