# SPDX-License-Identifier: Apache-2.0
"""What commands share when they print: results on standard output, progress on standard error."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["add_json_flag", "print_json", "progress", "shown", "table"]


def add_json_flag(parser: argparse.ArgumentParser) -> None:
    """Every command has it."""
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")


def print_json(value: Any) -> None:
    """One object, keys in the order given."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    if _as_printed(text) != text:  # such as the name of a file that is no UTF-8
        text = json.dumps(value, indent=2)
    print(text)


def progress(step: int, steps: int, what: str) -> None:
    """One line per step of longer work."""
    print(f"[{step}/{steps}] {what}", file=sys.stderr, flush=True)


def shown(text: str) -> str:
    """Text from outside as one line that a terminal cannot take for a command: what is not printable is escaped."""
    return _as_printed("".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text))


def _as_printed(text: str) -> str:
    """With escapes for what standard output has no bytes for."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Columns as wide as they need to be, the first one flush left."""
    cells = [list(header), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = []
    for row in cells:
        first, *rest = (
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join([first, *rest]).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)
