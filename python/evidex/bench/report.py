# SPDX-License-Identifier: Apache-2.0
"""Records as a person reads them: what was measured where, and the cells of one table per setting."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .records import Record, Sparse

__all__ = [
    "HEADER",
    "cells",
    "failures",
    "floored",
    "form_of",
    "headline",
    "leaking",
    "mask_of",
    "mistakes",
    "notes",
    "title",
]

HEADER = (
    *("system", "p50 ms", "p95 ms", "p99 ms", "queries/s", "recall", "same ids", "bytes/row", "build s"),
    "evidex/this [95 %]",
)


def headline(records: Sequence[Record]) -> str:
    """Machine and data, once per run."""
    machine, data = records[0].machine, records[0].data
    return (
        f"{machine.processor}, {machine.cores} cores, {machine.isa} kernels, evidex {machine.evidex}, "
        f"numpy {machine.numpy}, Python {machine.python}\n"
        f"{machine.threads} thread{'s' * (machine.threads != 1)}: reads {machine.read_gb_s:.1f} GB/s, "
        f"multiplies and adds {machine.multiply_add_gflop_s:.1f} GFLOP/s (numpy)\n"
        f"{data.source} {data.name}: {data.rows} x {data.dim}, {data.queries} queries, digest {data.digest}"
    )


def title(record: Record) -> str:
    """One setting."""
    asked = record.setting
    return (
        f"{asked.metric}, k={asked.k}, batch {asked.batch}, {asked.calls} calls in {asked.rounds} rounds, "
        f"seed {asked.seed}, {mask_of(record)}"
    )


def mask_of(record: Record) -> str:
    """Which rows could be returned."""
    asked = record.setting
    if asked.mask is None or asked.selectivity is None:
        return "no mask"
    return f"{asked.mask} mask of {asked.selectivity:g}: {asked.permitted} of {record.data.rows} rows"


def form_of(sparse: Sparse) -> str:
    """What was asked of texts."""
    return f"from {sparse.form}, {'all' if sparse.words is None else f'the first {sparse.words}'} words"


def cells(record: Record) -> list[str]:
    """One row of the table; dashes where there is nothing."""
    row = [f"{record.system.given} {record.system.version or ''}".strip()]
    latency, answers, build, ratio = record.latency, record.answers, record.build, record.ratio
    if latency is None or answers is None:
        row += [record.status.replace("_", " "), *["-"] * 5]
    else:
        row += [f"{value:.3f}" for value in (latency.p50_ms, latency.p95_ms, latency.p99_ms)]
        equal = "yes" if answers.ids_equal else floored(answers.ids_equal_share)
        row += [f"{latency.queries_per_s:.0f}", floored(answers.recall), equal]
    per_row = None if build is None else build.bytes_per_row
    row += ["-" if per_row is None else f"{per_row:.0f}", "-" if build is None else f"{build.seconds:.2f}"]
    return [*row, "-" if ratio is None else f"{ratio.median:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"]


def floored(share: float) -> str:
    """Four places, never rounded up: 1.0000 means all."""
    return f"{math.floor(share * 1e4) / 1e4:.4f}"


def notes(records: Sequence[Record]) -> list[str]:
    """What the table of one setting has no room for."""
    found = [f"{r.system.given}: {r.status.replace('_', ' ')}: {r.reason}" for r in records if r.status != "ok"]
    return found + [
        f"{r.system.given}: returned {r.answers.forbidden} ids that are not permitted"
        for r in records
        if r.answers is not None and r.answers.forbidden
    ]


def failures(records: Sequence[Record]) -> list[str]:
    """Systems that failed, each once."""
    return list(dict.fromkeys(record.system.given for record in records if record.status == "failed"))


def leaking(records: Sequence[Record]) -> list[str]:
    """Systems that returned what is not permitted, each once."""
    found = (record.system.given for record in records if record.answers is not None and record.answers.forbidden)
    return list(dict.fromkeys(found))


def mistakes(records: Sequence[Record], given: str) -> list[str]:
    """What a system that has to be exact got wrong, an entry per setting. Ties and rounding are no mistakes."""
    found = []
    for record in records:
        answers = record.answers
        if record.system.given == given and answers is not None and (answers.beyond_rounding or answers.forbidden):
            found.append(
                f"recall {floored(answers.recall)}, {answers.beyond_rounding} of {answers.checked} answers differ "
                f"from brute force by more than rounding, {answers.forbidden} ids are not permitted ({title(record)})"
            )
    return found
