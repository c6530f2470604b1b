# SPDX-License-Identifier: Apache-2.0
"""``evidex audit verify``: whether a retrieval log is whole."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..audit import Report, verify
from ..errors import EvidexError, InvalidInput
from ._output import add_json_flag, print_json

__all__ = ["register"]

_MOST_KEY = 2**16


def register(parser: argparse.ArgumentParser) -> None:
    """Adds the command's tasks and options."""
    kinds = parser.add_subparsers(dest="task", required=True, metavar="TASK")
    one = kinds.add_parser(
        "verify", allow_abbrev=False, help="find lines that were edited, removed, put in, moved or torn"
    )
    one.add_argument("file", metavar="FILE", help="newest file of the log; the full ones beside it are checked too")
    one.add_argument(
        "--key-file",
        type=Path,
        metavar="F",
        help="its bytes are the key, a newline at the end included (default: none)",
    )
    one.add_argument(
        "--expect-head", metavar="HEX", help="head of the log noted earlier; tells whether its end was cut"
    )
    add_json_flag(one)
    one.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Checks a log and prints what was found.

    Raises:
        EvidexError: At the end, if something is wrong with the log.
        InvalidInput: If the key file cannot be read, or the key or the head has another form.
    """
    report = verify(given.file, None if given.key_file is None else _key(given.key_file), given.expect_head)
    if given.json:
        print_json(report.to_dict())
    else:
        print_text(report)
    if not report.ok:
        raise EvidexError(f"audit: {given.file!r} is not the log that was written; what is wrong is listed above")


def print_text(report: Report) -> None:
    """What there is, notes, problems."""
    if report.records:
        print(f"records {report.first} to {report.last}, {report.since} to {report.until}, in {report.files} files")
        print(f"head: {report.head}")
    print(f"seals: {'checked with the key' if report.keyed else 'no key given'}")
    for note in report.notes:
        print(f"note: {note}")
    for problem in report.problems:
        print(f"problem: {problem}")
    print("ok" if report.ok else "not ok")


def _key(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            key = file.read(_MOST_KEY + 1)
    except OSError as error:
        raise InvalidInput(
            f"key-file: {str(path)!r} cannot be read ({error.strerror}); pass a file of key bytes"
        ) from error
    if len(key) > _MOST_KEY:
        raise InvalidInput(
            f"key-file: {str(path)!r} has more than {_MOST_KEY} bytes; pass a file that holds the key alone"
        )
    return key
