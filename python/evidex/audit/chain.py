# SPDX-License-Identifier: Apache-2.0
"""Follows the chain through the files of a log, whoever wrote them."""

from __future__ import annotations

import hashlib
import os
from typing import BinaryIO

from . import lines
from .files import pieces
from .lines import MOST_LINE, START, Line, Torn
from .report import Findings, Problem, Report

__all__ = ["Chain"]

_WRONG_SEAL = "the seal does not fit: the line was edited, or sealed with another key"


class Chain:
    """The state of one check: files are walked oldest first.

    Args:
        key: Of the seals, or None.
        expected: Digest that a line must have, or None.
    """

    def __init__(self, key: bytes | None, expected: str | None) -> None:
        self._key = key
        self._expected = expected
        self._problems = Findings()
        self._notes = Findings()
        self._first: Line | None = None
        self._last: Line | None = None
        self._head = START
        self._opening: Line | None = None
        self._numbers: list[int] = []
        self._files = 0
        self._records = 0
        self._wrong_seals = 0
        self._after_expected: int | None = None

    def problem(self, path: str, what: str) -> None:
        """Notes what is wrong with a whole file."""
        self._problems.add(os.path.basename(path), None, what)

    def walk(self, file: BinaryIO, path: str, number: int | None) -> None:
        """Reads one file; ``number`` is that of its name, None for the newest."""
        self._files += 1
        self._numbers += [] if number is None else [number]
        name, line = os.path.basename(path), 0
        gap = _Gap(name)
        begun = False
        try:
            for piece, starts, whole in pieces(file):
                line += starts
                found = self._read(piece) if whole else _fragment(piece, starts)
                if isinstance(found, Line):
                    self._close(gap, found, line)
                    self._place(found, name, line, begun, number)
                    self._accept(found, piece)
                    gap, begun = _Gap(name), True
                else:
                    gap.take(piece, line, found)
        except OSError as error:
            self.problem(path, f"cannot be read ({error.strerror or error})")
        self._close(gap, None, line)
        if not begun:
            self.problem(path, "holds no record of the log, not even the opening line of a file")

    def report(self, path: str) -> Report:
        """What was found, once all files were walked."""
        name = os.path.basename(path)
        first, last = self._first, self._last
        self._check_numbers(name)
        if self._expected is not None and self._after_expected is None:
            self._problems.add(
                name, None, "no record has the expected head: records were cut from the end, or retention took it"
            )
        if self._after_expected:
            self._notes.add(name, None, f"{self._after_expected} records follow the expected head")
        self._note_limits(name)
        problems = self._problems.all()
        if self._wrong_seals and not self._records:
            none = Problem(name, None, "no line is sealed with this key: it is another one, or all lines were edited")
            problems = (none, *(one for one in problems if one.what != _WRONG_SEAL))
        return Report(
            records=self._records,
            files=self._files,
            first=None if first is None else first.seq,
            last=None if last is None else last.seq,
            since=None if first is None else first.time,
            until=None if last is None else last.time,
            head=None if last is None else self._head,
            keyed=self._key is not None,
            problems=problems,
            notes=self._notes.all(),
        )

    def _read(self, piece: bytes) -> Line | str:
        """A record, or why it is none."""
        found = lines.split(piece)
        if found is None:
            return "no seal stands at its end"
        if self._key is not None and not lines.is_sealed(*found, self._key):
            self._wrong_seals += 1
            return _WRONG_SEAL
        try:
            line = lines.parse(found[0])
        except ValueError as error:
            return str(error)
        opening = line if line.action == "open" else self._opening
        plain = self._key is None and opening is not None and not opening.keyed
        return _WRONG_SEAL if plain and not lines.is_sealed(*found, None) else line

    def _close(self, gap: _Gap, line: Line | None, number: int) -> None:
        """Settles what lies before a record, or before the end of a file."""
        torn = None if line is None else line.torn
        if torn is not None and gap.holds(torn):
            self._notes.add(gap.name, number, f"{torn.bytes} torn bytes lie before it, as it says itself")
            return
        self._problems.take(gap.problems)
        if torn is not None:
            self._problems.add(
                gap.name,
                number,
                f"it accounts for {torn.bytes} torn bytes before it, and they are not there as they were",
            )

    def _place(self, line: Line, name: str, number: int, begun: bool, file: int | None) -> None:
        """Whether a record stands where it says."""

        def wrong(what: str) -> None:
            self._problems.add(name, number, what)

        if (line.action == "open") == begun:
            wrong("an opening line within a file" if begun else "the first record of a file is no opening line")
        if line.action == "open" and file not in (None, line.file):
            wrong(f"it opens file {line.file}, not {file}: the file was renamed or exchanged")
        last = self._last
        if last is None:
            if (line.seq == 0) != (line.prev == START):
                wrong("a first record has seq 0 and a prev of zeros, no other has")
            if line.seq > 0:
                self._notes.add(
                    name, number, f"the chain is checked from record {line.seq} on; older ones are not here"
                )
        elif line.seq > last.seq + 1:
            wrong(f"records {last.seq + 1} to {line.seq - 1}, which belong before it, are missing or cannot be read")
        elif line.seq <= last.seq:
            wrong(f"record {line.seq} stands after record {last.seq}: it was moved or put in")
        elif line.prev != self._head:
            wrong("it does not hold the digest of the record before it, which was edited or exchanged")

    def _accept(self, line: Line, piece: bytes) -> None:
        self._records += 1
        self._first = self._first or line
        self._last, self._head = line, lines.digest(piece)
        if line.action == "open":
            self._opening = line
        if self._after_expected is not None:
            self._after_expected += 1
        if self._head == self._expected:
            self._after_expected = 0

    def _check_numbers(self, name: str) -> None:
        """Files that the newest opening line says should be there."""
        if self._opening is None:
            return
        wanted = self._opening.oldest
        for number in (*self._numbers, self._opening.file):
            if wanted < number <= self._opening.file:
                span = f"file {wanted} is" if number == wanted + 1 else f"files {wanted} to {number - 1} are"
                self._problems.add(name, None, f"{span} missing, which retention has not taken")
            wanted = max(wanted, number + 1)

    def _note_limits(self, name: str) -> None:
        if self._key is not None or self._opening is None:
            return
        if self._opening.keyed:
            self._notes.add(name, None, "seals were not checked, which takes the key; without it an edit can be hidden")
        else:
            self._notes.add(name, None, "the log has no key: whoever can write its files can write all of it anew")


class _Gap:
    """What lies between two records of a file and is none."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._bytes = 0
        self._hash = hashlib.sha256()
        self.problems = Findings()

    def take(self, piece: bytes, line: int, what: str | None) -> None:
        self._bytes += len(piece)
        self._hash.update(piece)
        if what is not None:
            self.problems.add(self.name, line, what)

    def holds(self, torn: Torn) -> bool:
        return (self._bytes, self._hash.hexdigest()) == (torn.bytes, torn.sha256)


def _fragment(piece: bytes, starts: bool) -> str | None:
    """What to say of a piece that is no whole line; nothing of a line that it was said of already."""
    if not starts:
        return None
    if len(piece) == MOST_LINE:
        return f"longer than {MOST_LINE} bytes, which no line of the log is"
    return "torn: it does not end with a newline"
