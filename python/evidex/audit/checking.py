# SPDX-License-Identifier: Apache-2.0
"""verify: reads a log that anybody may have written, and says what is wrong with it."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack
from typing import BinaryIO

from .. import _checks
from . import files
from .chain import Chain
from .log import require_key, require_path
from .report import Report

__all__ = ["verify"]

_HEAD = re.compile(r"[0-9a-f]{64}")


def verify(path: str | os.PathLike[str], key: bytes | None = None, expect_head: str | None = None) -> Report:
    """Checks every line of a log: its seal, its place in the chain, and that no file is missing.

    With the right key it finds lines that were edited, removed, put in, moved or torn, and files that are missing.
    Lines cut from the end show only with ``expect_head``.

    Without a key it checks the digests alone, and the SHA-256 seals of a log that has no key. That finds accidents. It
    cannot find what somebody who can write the files did with care: change a line, and write all that follow anew. In a
    keyed log it does not even see an edit of the last line. Only what lies before an expected head is safe then.

    A file that is damaged, crafted or missing is a problem in the report, never an error, and memory is bounded. In a
    log that is in use, a line just being written may be reported as torn: check it again.

    Args:
        path: The newest file; the full ones beside it are checked too.
        key: What the log is sealed with. None checks the chain alone, and the seals of a log without a key.
        expect_head: ``head`` of the log at some time, noted elsewhere: a line with this digest must be there.

    Raises:
        InvalidInput: If an argument is none of these.
    """
    newest = os.path.abspath(require_path(path))
    chain = Chain(require_key(key), _head(expect_head))
    with ExitStack() as opened:
        # The newest first: if it is renamed meanwhile, it is found among the full ones too, and read once.
        last = _open(newest, chain, opened)
        present = _numbers(newest, chain)
        for number in present:
            with ExitStack() as one:
                name = files.name_of(newest, number)
                file = _open(name, chain, one)
                if file is not None and not (last is not None and _same(file, last)):
                    chain.walk(file, name, number)
        if last is not None:
            chain.walk(last, newest, None)
    return chain.report(newest)


def _open(path: str, chain: Chain, opened: ExitStack) -> BinaryIO | None:
    try:
        return opened.enter_context(files.open_regular(path))
    except OSError as error:
        chain.problem(path, f"cannot be read ({error.strerror or error})")
        return None


def _numbers(path: str, chain: Chain) -> list[int]:
    try:
        return files.numbers(path)
    except OSError as error:
        chain.problem(path, f"its folder cannot be read ({error.strerror or error})")
        return []


def _same(one: BinaryIO, other: BinaryIO) -> bool:
    return os.path.samestat(os.fstat(one.fileno()), os.fstat(other.fileno()))


def _head(given: object) -> str | None:
    if given is None:
        return None
    head = _checks.text(given, "expect_head").strip().lower()
    if not _HEAD.fullmatch(head):
        _checks.refuse("expect_head", given, "64 hex digits", "pass what RetrievalLog.head or a report said")
    return head
