# SPDX-License-Identifier: Apache-2.0
"""The command line: one file per command. Exit codes: 0 done, 1 an evidex error, 2 wrong usage."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from .. import __version__
from ..errors import EvidexError
from .audit import register as register_audit
from .bench import register as register_bench
from .demo import register as register_demo
from .info import register as register_info

__all__ = ["main"]

_COMMANDS = (register_demo, register_info, register_bench, register_audit)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="evidex",
        description="Permission-first, exact and reproducible retrieval.",
        epilog="Exit codes: 0 done, 1 an evidex error (told on standard error), 2 wrong usage.",
    )
    parser.add_argument("--version", action="version", version=f"evidex {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for register in _COMMANDS:
        register(commands)
    given = parser.parse_args(arguments)
    try:
        given.run(given)
        sys.stdout.flush()
    except EvidexError as error:
        print(f"evidex: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader has gone (evidex info | head); Python would complain again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0
