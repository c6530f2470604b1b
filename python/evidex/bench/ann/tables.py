# SPDX-License-Identifier: Apache-2.0
"""Records of a sweep as a person reads them: the grids once, and per setting the points that were chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import report
from ..records import Record

__all__ = ["HEADER", "grids", "notes", "rows", "title"]

HEADER = (
    *("system and parameters", "recall", "queries/s", "p50 ms", "p95 ms", "p99 ms", "build s", "bytes/row"),
    "evidex/this [95 %]",
)


def grids(records: Sequence[Record]) -> list[str]:
    """Which values were tried, a line per system."""
    first = {record.system.given: record for record in reversed(records)}
    lines = []
    for given in dict.fromkeys(record.system.given for record in records):
        sweep = first[given].sweep
        points = {_label(record) for record in records if record.system.given == given}
        tried = "" if sweep is None else "; ".join(f"{n} {', '.join(map(str, v))}" for n, v in sweep.grid.items())
        lines.append(f"{given}: {tried or 'no parameters'} ({len(points)} point{'s' * (len(points) != 1)})")
    return lines


def title(record: Record) -> str:
    """One setting, and which queries were used for what."""
    sweep = record.sweep
    halves = (
        "" if sweep is None else f"\nparameters chosen on {_range(sweep.tuned_on)}, figures of {_range(sweep.queries)}"
    )
    return report.title(record) + halves


def rows(records: Sequence[Record]) -> list[list[str]]:
    """The chosen points of one setting: systems in their order, each by recall."""
    order = {given: place for place, given in enumerate(dict.fromkeys(record.system.given for record in records))}
    chosen = [record for record in records if record.sweep is not None and record.sweep.chosen]
    chosen.sort(key=lambda record: (order[record.system.given], 0 if record.answers is None else record.answers.recall))
    return [_row(record) for record in chosen]


def notes(records: Sequence[Record]) -> list[str]:
    """What the table of one setting has no room for; one line for points of a system with the same reason."""
    found = []
    reasons = dict.fromkeys((r.system.given, r.status, r.reason) for r in records if r.status != "ok")
    for given, status, reason in reasons:
        of = [record for record in records if record.system.given == given]
        hit = [record for record in of if (record.status, record.reason) == (status, reason)]
        which = given if len(hit) == len(of) else ", ".join(_label(record) for record in hit)
        found.append(f"{which}: {status.replace('_', ' ')}: {reason}")
    return found + [
        f"{_label(r)}: returned {r.answers.forbidden} ids that are not permitted"
        for r in records
        if r.answers is not None and r.answers.forbidden
    ]


def _row(record: Record) -> list[str]:
    row = report.cells(record)
    cells = dict(zip(report.HEADER, row, strict=True))
    return [_label(record), *(cells[name] for name in HEADER[1:])]


def _label(record: Record) -> str:
    sweep = record.sweep
    told: dict[str, Any] = {} if sweep is None else {**sweep.build, **sweep.search}
    return " ".join([record.system.given, *(f"{name}={value}" for name, value in told.items())])


def _range(ends: tuple[int, int]) -> str:
    return f"queries {ends[0]} to {ends[1] - 1}"
