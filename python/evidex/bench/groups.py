# SPDX-License-Identifier: Apache-2.0
"""Which records may be compared: groups of one machine, data and question, in them settings, in them series."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from . import masks
from .records import Record

__all__ = ["BASE", "Best", "Group", "Key", "Scope", "best", "group", "latest", "parameters", "plain", "series"]

BASE = "evidex"
Key: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True)
class Scope:
    """One setting of a group: all records of one mask.

    Attributes:
        mask, selectivity: Both None without a mask.
        permitted: Rows.
        records: Every system's, those that are not ``ok`` included.
    """

    mask: str | None
    selectivity: float | None
    permitted: int
    records: tuple[Record, ...]


@dataclass(frozen=True)
class Group:
    """Records of one machine, data, metric, k, batch and number of threads, whatever the benchmark.

    Attributes:
        records: All of them.
        scopes: By mask: none first, then kinds in the order of masks.py, most permitted rows first.
        series: Systems in the order of their colours: evidex first, then as they come.
    """

    records: tuple[Record, ...]
    scopes: tuple[Scope, ...]
    series: tuple[str, ...]

    @property
    def first(self) -> Record:
        """Has what is the same in all."""
        return self.records[0]

    def under(self, mask: str | None) -> tuple[Scope, ...]:
        """Settings of one kind of mask."""
        return tuple(scope for scope in self.scopes if scope.mask == mask)

    @property
    def masks(self) -> tuple[str, ...]:
        """Kinds of masks, in order."""
        return tuple(dict.fromkeys(scope.mask for scope in self.scopes if scope.mask is not None))


@dataclass(frozen=True)
class Best:
    """What a system was chosen to run with, and whether that reached the target where it was chosen."""

    record: Record
    reached: bool


def plain(value: object) -> str:
    """A plain value as text: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def parameters(record: Record) -> str:
    """Of building, then of searching; empty where there are none to choose."""
    sweep = record.sweep
    halves = () if sweep is None else (sweep.build, sweep.search)
    return "; ".join(", ".join(f"{name}={plain(value)}" for name, value in half.items()) for half in halves if half)


def series(record: Record) -> str:
    """What a system is called in tables and plots: as it was asked for, and the version of its library."""
    return f"{record.system.given} {record.system.version or ''}".strip()


def latest(records: Iterable[Record]) -> tuple[list[Record], int]:
    """Of records of the same point the one of the latest run, the last of them if dates are equal; how many were older.

    Order is that of first appearance.
    """
    kept: dict[str, Record] = {}
    count = 0
    for record in records:
        count += 1
        point = _point(record)
        if point not in kept or record.date >= kept[point].date:
            kept[point] = record
    return list(kept.values()), count - len(kept)


def _point(record: Record) -> str:
    sweep = record.sweep
    chosen = None if sweep is None else (sweep.build, sweep.search, sweep.queries)
    asked = record.setting
    mask = (asked.mask, asked.selectivity, asked.permitted, record.sparse and record.sparse.scope)
    return json.dumps([_group(record), record.benchmark, mask, series(record), record.system.name, chosen])


def _group(record: Record) -> Key:
    machine, data, asked, sparse = record.machine, record.data, record.setting, record.sparse
    return (
        *(machine.processor, machine.system, machine.cores),
        *(data.source, data.name, data.rows, data.dim, data.digest),
        *(asked.metric, asked.k, asked.batch, asked.threads),
        *((None, None) if sparse is None else (sparse.form, sparse.words)),
    )


def group(records: Iterable[Record]) -> list[Group]:
    """Groups in order of first appearance."""
    found: dict[Key, list[Record]] = {}
    for record in records:
        found.setdefault(_group(record), []).append(record)
    return [_made(members) for members in found.values()]


def _made(members: Sequence[Record]) -> Group:
    by_mask: dict[Key, list[Record]] = {}
    for record in members:
        asked = record.setting
        by_mask.setdefault((asked.mask, asked.selectivity, asked.permitted), []).append(record)
    by_order = sorted(by_mask.items(), key=lambda item: _order(item[0]))
    scopes = [Scope(mask, share, permitted, tuple(of)) for (mask, share, permitted), of in by_order]
    # Stable: evidex first, then as they come.
    names = dict.fromkeys(series(one) for one in sorted(members, key=lambda one: one.system.given != BASE))
    return Group(tuple(members), tuple(scopes), tuple(names))


def _order(key: Key) -> Key:
    mask, selectivity, permitted = key
    if mask is None:
        return (-1, "", 0.0, -permitted)
    known = masks.KINDS.index(mask) if mask in masks.KINDS else len(masks.KINDS)
    return (known, mask, -selectivity, -permitted)


def best(records: Iterable[Record], target: float) -> Best | None:
    """The fastest point that reaches the target, or the one with the most recall if none does.

    Points of a sweep are judged, and compared in speed, by the queries that are held for choosing; what they then got
    stands in ``answers`` and ``latency``. A record without a sweep has one point and is judged by its own answers.

    Args:
        records: Of one system in one setting.
        target: Recall, above 0, at most 1.
    """
    points = [(found, record) for record in records if (found := _judged(record)) is not None]
    reached = [(speed, recall, record) for (recall, speed), record in points if recall >= target]
    if reached:
        return Best(max(reached, key=lambda one: one[:2])[2], True)
    return Best(max(points, key=lambda one: one[0])[1], False) if points else None


def _judged(record: Record) -> tuple[float, float] | None:
    """Recall and queries per second by which a point is chosen; None for one that cannot be."""
    if record.status != "ok" or record.answers is None or record.latency is None:
        return None
    if record.sweep is None:
        return record.answers.recall, record.latency.queries_per_s
    tuned = record.sweep.tuned_recall, record.sweep.tuned_queries_per_s
    if not record.sweep.chosen or tuned[0] is None or tuned[1] is None:
        return None
    return tuned[0], tuned[1]
