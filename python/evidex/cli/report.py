# SPDX-License-Identifier: Apache-2.0
"""``evidex report``: records of benchmarks as one HTML page, or as Markdown."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from contextlib import suppress
from pathlib import Path

from .. import _checks
from ..bench import groups, markdown, page, results
from ..errors import InvalidInput
from ._output import add_json_flag, print_json, shown

__all__ = ["register"]

_LEFT_OUT = 3
_TOLD = 20


def register(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options."""
    parser.add_argument(
        "results", nargs="+", type=Path, metavar="RESULTS.jsonl", help="records that evidex bench --out wrote"
    )
    parser.add_argument("-o", "--out", type=Path, metavar="report.html", help="page to write, self-contained")
    parser.add_argument(
        "--recall", type=float, default=0.95, help="compare systems at a recall of at least this (default: 0.95)"
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument(
        "--markdown", action="store_true", help="print the tables as Markdown; with it -o may be left out"
    )
    add_json_flag(kind)  # type: ignore[arg-type]
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Reads records, writes the page and says so.

    Returns:
        3 if broken lines were left out, else 0.

    Raises:
        InvalidInput: If the page cannot be written there, for a file that cannot be read or has no record, for another
            target, and where plotly is not installed.
        MissingStore: If a file is not there.
        VersionMismatch: If a record was written by a newer evidex.
    """
    if not 0 < _checks.finite(given.recall, "recall") <= 1:
        raise InvalidInput(f"recall: expected a target above 0 and at most 1, got {given.recall}")
    if given.out is None and not given.markdown:
        raise InvalidInput("out: expected a file to write, got none; name it with -o, or ask for --markdown")
    out = None if given.out is None else _writable(given.out, given.results)
    read = results.read(given.results)
    _tell(read)
    records, older = groups.latest(read.records)
    found = groups.group(records)
    size = None
    if out is not None:
        size = _write(out, page.page(found, read, older, given.recall).encode())
    if given.json:
        _print_json(given, read, older, found, size)
    elif given.markdown:
        print(markdown.markdown(found, given.recall), end="")
    if size is not None and not given.json:
        left = f", {read.broken} broken lines left out" if read.broken else ""
        told = f"{shown(str(given.out))}: {size} bytes, {len(records)} records of {len(given.results)} files{left}"
        print(told, file=sys.stderr if given.markdown else sys.stdout)
    return _LEFT_OUT if read.broken else 0


def _tell(read: results.Results) -> None:
    for one in read.skipped[:_TOLD]:
        print(f"evidex: {shown(f'{one.file}:{one.line}: {one.why}')}", file=sys.stderr)
    if read.broken > _TOLD:
        print(f"evidex: and {read.broken - _TOLD} more broken lines", file=sys.stderr)


def _print_json(
    given: argparse.Namespace, read: results.Results, older: int, found: list[groups.Group], size: int | None
) -> None:
    print_json(
        {
            "out": str(given.out),
            "bytes": size,
            "records": sum(len(one.records) for one in found),
            "older": older,
            "groups": len(found),
            "broken": read.broken,
            "skipped": [{"file": one.file, "line": one.line, "why": one.why} for one in read.skipped],
        }
    )


def _writable(path: Path, inputs: list[Path]) -> Path:
    """Where to write: what a link points to; a plain file or nothing is there, none of the inputs, in a folder."""
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():
        raise InvalidInput(f"out: {path} is there and no plain file; name a file, such as {path / 'report.html'}")
    if not place.parent.is_dir():
        raise InvalidInput(f"out: {path} is in no folder that exists; make it first")
    if any(place == Path(os.path.realpath(one)) for one in inputs):
        raise InvalidInput(f"out: {path} is one of the files to read, and would be lost; name another")
    return place


def _write(place: Path, content: bytes) -> int:
    """Puts the whole file there, or leaves what was there."""
    unfinished = place.with_name(f".evidex-{secrets.token_hex(6)}.tmp")
    try:
        try:
            with unfinished.open("xb") as file:
                file.write(content)
            os.replace(unfinished, place)
        except BaseException:
            with suppress(OSError):
                unfinished.unlink()
            raise
    except OSError as error:
        raise InvalidInput(f"out: {place} cannot be written: {error.strerror}; name a file elsewhere") from error
    return len(content)
