# SPDX-License-Identifier: Apache-2.0
"""Records in a file, one line of JSON each."""

from __future__ import annotations

import json
from pathlib import Path

from ..errors import InvalidInput
from .records import Record

__all__ = ["append", "as_line", "require_writable"]


def as_line(record: Record) -> str:
    """One line of JSON; NaN and infinity are refused, since JSON has neither."""
    return json.dumps(record.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"


def require_writable(path: Path) -> None:
    """Fails before a long run, not after it.

    Raises:
        InvalidInput: If the file cannot be opened for appending.
    """
    try:
        with path.open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise InvalidInput(
            f"out: {path} cannot be written: {error.strerror}; name a file in a folder that exists"
        ) from error


def append(path: Path, record: Record) -> None:
    """Adds a line to the file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(as_line(record))
