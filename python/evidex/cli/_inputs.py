# SPDX-License-Identifier: Apache-2.0
"""Documents out of folders, text files and JSON lines. All of it may be hostile: what cannot be read is said."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from ..access import Policy, Rule
from ..errors import EvidexError, InvalidInput
from ..store import Document
from ..text import Recursive
from ._lines import document_of

__all__ = ["CHUNK_SIZE", "KINDS", "LINES", "Input", "Reading", "Skipped", "Source", "open_source"]

KINDS = (".txt", ".md", ".markdown", ".rst")
"""Text that needs no parser."""
LINES = (".jsonl", ".ndjson")
CHUNK_SIZE = 800

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class Input:
    """A document, where it came from, how far that is, and whether its revision was made from its content."""

    where: str
    at: int
    document: Document
    derived: bool


@dataclass(frozen=True, slots=True)
class Skipped:
    """What was left out, and why."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class Reading:
    """How inputs become documents: options of the command, rights and columns of the collection."""

    policy: Policy | None
    rule: Rule | None
    columns: dict[str, str]
    revision: str | None
    chunk_size: int
    most: int

    def revision_of(self, content: bytes) -> tuple[str, bool]:
        """The name that was given, or one that changes with the content and how it is cut; which of the two it is."""
        if self.revision is not None:
            return self.revision, False
        cut = "" if self.chunk_size == CHUNK_SIZE else f"-{self.chunk_size}"
        return hashlib.sha256(content).hexdigest()[:16] + cut, True


@dataclass(frozen=True, slots=True)
class Source:
    """What is ingested: a folder, one text file, or JSON lines; and how much that is, in files or bytes."""

    path: str
    files: tuple[str, ...] | None  # below the path, None for JSON lines
    left_out: tuple[Skipped, ...]
    size: int

    def read(self, reading: Reading) -> Iterator[Input | Skipped]:
        """Documents, and what is left out, in a fixed order."""
        yield from self.left_out
        yield from _of_lines(self.path, reading) if self.files is None else self._of_files(reading)

    def _of_files(self, reading: Reading) -> Iterator[Input | Skipped]:
        assert self.files is not None
        chunker = Recursive(reading.chunk_size)
        for number, name in enumerate(self.files, 1):
            try:
                content = _read_below(self.path, name, reading.most)
                text = content.decode("utf-8-sig")
            except OSError as error:
                yield Skipped(name, f"cannot be read ({error.strerror})")
                continue
            except UnicodeDecodeError as error:
                yield Skipped(name, f"no UTF-8 at byte {error.start}; convert it first")
                continue
            except InvalidInput as error:
                yield Skipped(name, str(error))
                continue
            revision, derived = reading.revision_of(content)
            document = Document(name, revision, text, rule=reading.rule, chunker=chunker)
            yield Input(name, number, document, derived) if text.strip() else Skipped(name, _BLANK)


_BLANK = "nothing in it: an extraction that failed is not an empty document"


def open_source(path: str, store: str) -> Source:
    """Looks at what is to be ingested, without reading it.

    Raises:
        InvalidInput: If it is not there, or nothing that can be ingested.
    """
    try:
        found = os.stat(path)
        if stat.S_ISDIR(found.st_mode):
            return _folder(path, store)
        if stat.S_ISREG(found.st_mode):
            open(path, "rb").close()
    except OSError as error:
        raise InvalidInput(
            f"input: {path!r} cannot be read ({error.strerror}); pass a folder, a text file or JSON lines"
        ) from error
    ending = os.path.splitext(path)[1].lower()
    if not stat.S_ISREG(found.st_mode) or ending not in KINDS + LINES:
        raise InvalidInput(f"input: {path!r} is no folder and no file ending in {' '.join(KINDS + LINES)}")
    if ending in LINES:
        return Source(path, None, (), found.st_size)
    folder, name = os.path.split(os.path.realpath(path))
    return Source(folder, (name,), (), 1)


def _folder(path: str, store: str) -> Source:
    files: list[str] = []
    left_out: list[Skipped] = []
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            entries = sorted(os.scandir(os.path.join(path, folder)), key=lambda entry: entry.name)
        except OSError as error:
            if not folder:
                raise
            left_out.append(Skipped(folder, f"cannot be listed ({error.strerror})"))
            continue
        below = []
        for entry in entries:
            name = os.path.join(folder, entry.name)
            if entry.name.startswith("."):
                continue
            if entry.is_symlink():
                left_out.append(Skipped(name, "a link; inside the folder its target is read under its own name"))
            elif entry.is_dir() and os.path.realpath(entry.path) == store:
                continue
            elif entry.is_dir():
                below.append(name)
            elif not entry.is_file():
                left_out.append(Skipped(name, "no plain file"))
            elif os.path.splitext(name)[1].lower() not in KINDS:
                left_out.append(Skipped(name, f"another kind of file than {' '.join(KINDS)}"))
            else:
                files.append(name)
        pending += reversed(below)
    return Source(path, tuple(files), tuple(left_out), len(files))


def _read_below(folder: str, name: str, most: int) -> bytes:
    """A file's content. No link below the folder is followed, whoever puts one there meanwhile."""
    at = os.open(folder, _FLAGS | os.O_DIRECTORY)
    try:
        *above, last = name.split("/")
        for part in above:
            inner = os.open(part, _FLAGS | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = inner
        descriptor = os.open(last, _FLAGS | os.O_NOFOLLOW, dir_fd=at)
    finally:
        os.close(at)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise InvalidInput("no plain file")
        content = file.read(most + 1) if found.st_size <= most else b""
        if found.st_size > most or len(content) > most:
            raise InvalidInput(f"more than {most} bytes; --max-bytes takes larger ones")
        return content


def _of_lines(path: str, reading: Reading) -> Iterator[Input | Skipped]:
    chunker = Recursive(reading.chunk_size)
    with open(path, "rb") as file:
        for number, line in enumerate(_bounded_lines(file, reading.most), 1):
            where = f"line {number}"
            if line is None:
                yield Skipped(where, f"more than {reading.most} bytes; --max-bytes takes longer ones")
            elif line.strip():
                try:
                    fields, content = document_of(line, reading.policy, reading.rule, reading.columns)
                    revision, derived = fields.pop("revision"), False
                    if revision is None:
                        revision, derived = reading.revision_of(content)
                    cut = None if fields["text"] is None else chunker
                    yield Input(where, file.tell(), Document(revision=revision, chunker=cut, **fields), derived)
                except EvidexError as error:
                    yield Skipped(where, str(error))


def _bounded_lines(file: BinaryIO, most: int) -> Iterator[bytes | None]:
    """Lines without their end; None for one that is too long, which is not kept in memory."""
    while line := file.readline(most + 2):
        whole = line.endswith(b"\n")
        if len(line) - whole <= most:
            yield line.removeprefix(b"\xef\xbb\xbf") if file.tell() == len(line) else line
            continue
        while not whole and (rest := file.readline(2**16)):
            whole = rest.endswith(b"\n")
        yield None
