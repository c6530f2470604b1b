# SPDX-License-Identifier: Apache-2.0
"""What a check of a log found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Findings", "Problem", "Report"]

_MOST = 100


@dataclass(frozen=True, slots=True)
class Problem:
    """Something to know about a place in the log.

    Attributes:
        file: Name of the file, without its folder.
        line: Its line, from 1, or None where it is about a whole file or the whole log.
        what: What is wrong, or to be noted, there.
    """

    file: str
    line: int | None
    what: str

    def __str__(self) -> str:
        return f"{self.file!r}{'' if self.line is None else f', line {self.line}'}: {self.what}"


@dataclass(frozen=True, slots=True)
class Report:
    """What :func:`evidex.audit.verify` found.

    Attributes:
        records: Lines that are records of the log, opening lines included.
        files: Files that were read.
        first: ``seq`` of the first of them, from which on the chain was checked; None without any.
        last: ``seq`` of the last one.
        since: When the first was written.
        until: When the last was written.
        head: Digest of the last one.
        keyed: Whether seals were checked with a key.
        problems: What is wrong, at most 100 and a last one that says how many more.
        notes: What is right but should be known, as many.
    """

    records: int
    files: int
    first: int | None
    last: int | None
    since: str | None
    until: str | None
    head: str | None
    keyed: bool
    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ``ok`` first."""
        return {"ok": self.ok, **asdict(self)}


class Findings:
    """The first hundred, and how many more: what a hostile log costs is bounded."""

    def __init__(self) -> None:
        self._kept: list[Problem] = []
        self._more = 0

    def add(self, file: str, line: int | None, what: str) -> None:
        """Keeps one, or counts it."""
        if len(self._kept) < _MOST:
            self._kept.append(Problem(file, line, what))
        else:
            self._more += 1

    def take(self, others: Findings) -> None:
        """Adds all of some others."""
        for one in others._kept:
            self.add(one.file, one.line, one.what)
        self._more += others._more

    def all(self) -> tuple[Problem, ...]:
        """Those kept, and one about the others."""
        more = (Problem(self._kept[-1].file, None, f"and {self._more} more"),) if self._more else ()
        return (*self._kept, *more)
