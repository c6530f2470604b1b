# SPDX-License-Identifier: Apache-2.0
"""Records of a run over texts as a person reads them."""

from __future__ import annotations

from .. import report
from ..records import Record

__all__ = ["HEADER", "key", "row", "title"]

HEADER = (
    *("system", "queries/s", "p50 ms", "p99 ms", "same top", "same ids", "docs/s", "bytes/posting", "RSS/posting"),
    "evidex/this [95 %]",
)


def key(record: Record) -> tuple[object, ...]:
    """What records of one table have in common."""
    sparse = record.sparse
    assert sparse is not None
    return sparse.form, sparse.words, record.setting.batch


def title(record: Record) -> str:
    """One table."""
    asked, sparse = record.setting, record.sparse
    assert sparse is not None
    return (
        f"{report.form_of(sparse)}: {asked.metric}, k={asked.k}, batch {asked.batch}, {asked.calls} calls in "
        f"{asked.rounds} rounds, seed {asked.seed}"
    )


def row(record: Record) -> list[str]:
    """One system; dashes where there is nothing."""
    sparse, latency, build = record.sparse, record.latency, record.build
    assert sparse is not None
    cells = dict(zip(report.HEADER, report.cells(record), strict=True))
    under = "" if record.setting.mask is None else f", {record.setting.mask} {record.setting.selectivity:g}"
    growth = None if build is None else build.rss_growth_bytes
    per_posting = None if growth is None or not sparse.postings else growth / sparse.postings
    return [
        cells["system"] + under,
        *(cells["queries/s"] if latency else record.status.replace("_", " "), cells["p50 ms"] if latency else "-"),
        *(cells["p99 ms"], "-" if sparse.agreement is None else report.floored(sparse.agreement), cells["same ids"]),
        *(_figure(sparse.documents_per_s, 0), _figure(sparse.bytes_per_posting, 2), _figure(per_posting, 1)),
        cells["evidex/this [95 %]"],
    ]


def _figure(value: float | None, places: int) -> str:
    return "-" if value is None else f"{value:.{places}f}"
