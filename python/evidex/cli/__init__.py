# SPDX-License-Identifier: Apache-2.0
"""The command line: one file per command, imported when it is asked for. Exit codes stand in ``_EXIT_CODES``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from .. import __version__
from ..errors import EvidexError

__all__ = ["main"]

# Name of the command and of its module -> what it does.
_COMMANDS = {
    "demo": "index the built-in handbook, ask as several principals, check the answers",
    "info": "version, instruction set, kernels and threads on this machine; or what a collection holds",
    "ingest": "put the text files of a folder, or JSON lines, into a collection on disk",
    "search": "find chunks of a collection, as somebody",
    "verify": "read every byte of a collection and compare it with what was written",
    "compact": "drop what was retired from a collection and give its space back",
    "audit": "check retrieval logs",
    "bench": "time searches beside other libraries, answers checked",
    "report": "make a page, or Markdown, of what benchmarks measured",
}
_EXIT_CODES = (
    "Exit codes: 0 done, 1 an evidex error (told on standard error), 2 wrong usage, 3 done, but inputs were left out "
    "(told on standard error), 130 interrupted."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(
        prog="evidex",
        description="Permission-first, exact and reproducible retrieval.",
        epilog=_EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"evidex {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    chosen = next((word for word in words if not word.startswith("-")), None)
    for name, does in _COMMANDS.items():
        command = commands.add_parser(name, help=does, description=does, epilog=_EXIT_CODES, allow_abbrev=False)
        if name == chosen:
            import_module(f".{name}", __package__).register(command)
    given = parser.parse_args(words)
    try:
        code = given.run(given) or 0
        sys.stdout.flush()
    except EvidexError as error:
        print(f"evidex: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("evidex: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader has gone (evidex info | head); Python would complain again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return int(code)
