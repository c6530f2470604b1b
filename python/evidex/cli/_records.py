# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks' commands share: numbers checked before, records written as they come, errors at the end."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

from .. import _checks
from ..bench import harness, lines, records, report
from ..errors import EvidexError, InvalidInput
from ._output import print_json

__all__ = ["raise_for", "recorded", "require_sound"]


def recorded(
    given: argparse.Namespace, found: Iterator[records.Record], show: Callable[[list[records.Record]], None]
) -> list[records.Record]:
    """Each record in the file as soon as there is one; all of them on standard output."""
    done: list[records.Record] = []
    for record in found:
        done.append(record)
        if given.out is not None:
            lines.append(given.out, record)
    if given.json:
        print_json({"records": [record.to_dict() for record in done]})
    else:
        show(done)
    return done


def raise_for(done: list[records.Record]) -> None:
    """Ends a run that went wrong with an error.

    Raises:
        EvidexError: If evidex answered wrongly or leaked, or a system failed.
    """
    own = [harness.BASE, *dict.fromkeys(r.system.given for r in done if r.sparse is not None and r.sparse.caller)]
    if wrong := [one for given in own for one in report.mistakes(done, given)]:
        raise EvidexError(
            f"bench: evidex answered wrongly: {'; '.join(wrong)}. That is a defect of evidex: please report it with "
            "its records (--json or --out)"
        )
    if leaks := [name for name in report.leaking(done) if name.startswith(f"{harness.BASE}-")]:
        raise EvidexError(
            f"bench: {', '.join(leaks)} returned rows that are not permitted. That is a defect of evidex: please "
            "report it with its records (--json or --out)"
        )
    if failed := report.failures(done):
        raise EvidexError(f"bench: {', '.join(failed)} failed; the reason stands in the records")


def require_sound(given: argparse.Namespace) -> None:
    """Checks the numbers that every benchmark is told.

    Raises:
        InvalidInput: For one out of range.
    """
    for name, most in (("k", 65536), ("batch", None), ("threads", 1024), ("rounds", None)):
        value = getattr(given, name)
        for one in value if isinstance(value, list) else [value]:
            _checks.whole(one, name, least=1, most=most)
    _checks.whole(given.seed, "seed")
    if not _checks.finite(given.timeout, "timeout") > 0:
        raise InvalidInput(f"timeout: expected seconds above 0, got {given.timeout}")
