# SPDX-License-Identifier: Apache-2.0
"""Tables of a report, as text: what the page and Markdown both show. Nothing here is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from . import report
from .groups import Best, Group, Scope, best, parameters, plain, series
from .records import Build, Machine, Record

__all__ = [
    "Table",
    "bests",
    "build_name",
    "builds",
    "built",
    "by_series",
    "dates",
    "facts",
    "figure",
    "machines",
    "others",
    "points",
    "reached",
    "shown",
    "span",
    "systems",
    "threads",
    "title",
    "unfinished",
    "visible",
]

_LONGEST = 2000
_MARKS = {True: "yes", False: "no"}


@dataclass(frozen=True)
class Table:
    """Header and rows; the first ``words`` columns are text, the others figures."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int


def visible(text: str) -> str:
    """Text from outside as it may be shown: not endless, and what is not printable, but for newlines, as its escape."""
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in cut)


def figure(value: float | None) -> str:
    """Four significant digits, never an exponent, a dash for None."""
    if value is None:
        return "-"
    size = int(f"{value:.3e}".partition("e")[2])
    return f"{value:.{min(max(3 - size, 0), 9)}f}"


def span(values: Sequence[float]) -> str:
    """One number, or from the least to the largest."""
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def shown(record: Record) -> bool:
    """Whether a point is a result to compare: chosen on the held queries, or the only one of its benchmark."""
    return record.status == "ok" and (record.sweep is None or record.sweep.chosen)


def by_series(group: Group, records: Iterable[Record]) -> list[tuple[str, list[Record]]]:
    """Records of each system, in the order of the group."""
    found: dict[str, list[Record]] = {name: [] for name in group.series}
    for record in records:
        found[series(record)].append(record)
    return [(name, of) for name, of in found.items() if of]


def points(group: Group, scope: Scope) -> Table:
    """What is to be compared in one setting, system by system, most recall last."""
    return _points(group, [record for record in scope.records if shown(record)])


def others(group: Group, scope: Scope) -> Table:
    """The points of the grids that were not chosen."""
    return _points(group, [one for one in scope.records if one.status == "ok" and not shown(one)])


def _points(group: Group, records: Sequence[Record]) -> Table:
    header: tuple[str, ...] = ("system", "parameters", f"recall@{group.first.setting.k}", "same ids", "queries/s")
    header += ("p50 ms", "p95 ms", "p99 ms", "tuned recall", "tuned queries/s", "bytes/row", "build s", "mask s")
    header += ("evidex/this [95 %]",)
    rows = [
        _point(name, record)
        for name, of in by_series(group, records)
        for record in sorted(of, key=lambda one: (one.answers.recall if one.answers else 0.0, parameters(one)))
    ]
    return Table(header, tuple(rows), words=2)


def _point(name: str, record: Record) -> tuple[str, ...]:
    answers, latency, build, ratio = record.answers, record.latency, record.build, record.ratio
    assert answers is not None and latency is not None
    return (
        *(name, parameters(record) or "-"),
        *(report.floored(answers.recall), report.floored(answers.ids_equal_share)),
        *map(figure, (latency.queries_per_s, latency.p50_ms, latency.p95_ms, latency.p99_ms)),
        *_tuned(record),
        *((figure(build.bytes_per_row), figure(build.seconds), figure(build.prepare_seconds)) if build else "---"),
        "-" if ratio is None else f"{ratio.median:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]",
    )


def _tuned(record: Record) -> tuple[str, str]:
    sweep = record.sweep
    if sweep is None:
        return "-", "-"
    recall = "-" if sweep.tuned_recall is None else report.floored(sweep.tuned_recall)
    return recall, figure(sweep.tuned_queries_per_s)


def bests(group: Group, scope: Scope, target: float) -> list[tuple[str, Best]]:
    """Each system's best point in one setting."""
    found = [(name, best(of, target)) for name, of in by_series(group, scope.records)]
    return [(name, one) for name, one in found if one is not None]


def reached(group: Group, scopes: Iterable[Scope], target: float) -> Table:
    """Each system at its best point, and whether that reached the target."""
    header: tuple[str, ...] = ("rows permitted", "system", "parameters", f"reached {target:g}", "tuned recall")
    header += (f"recall@{group.first.setting.k}", "queries/s", "p50 ms", "p99 ms", "bytes/row", "build s")
    rows = []
    for scope in scopes:
        for name, one in bests(group, scope, target):
            record = one.record
            answers, latency, build = record.answers, record.latency, record.build
            assert answers is not None and latency is not None
            judged = report.floored(answers.recall) if record.sweep is None else _tuned(record)[0]
            rows.append(
                (
                    *(report.mask_of(record), name, parameters(record) or "-", _MARKS[one.reached], judged),
                    *(report.floored(answers.recall), figure(latency.queries_per_s), figure(latency.p50_ms)),
                    figure(latency.p99_ms),
                    *((figure(build.bytes_per_row), figure(build.seconds)) if build else "--"),
                )
            )
    return Table(header, tuple(rows), words=4)


def built(group: Group) -> list[tuple[str, str, Build]]:
    """(system, parameters of building, what that took), each once, of points that are compared somewhere."""
    found: dict[tuple[str, str], Build] = {}
    for name, of in by_series(group, group.records):
        for record in of:
            if record.build is not None and shown(record):
                found.setdefault((name, build_name(record)), record.build)
    return [(name, how, build) for (name, how), build in found.items()]


def build_name(record: Record) -> str:
    """The parameters of building alone."""
    return _listed({} if record.sweep is None else record.sweep.build)


def _listed(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={plain(value)}" for name, value in values.items())


def builds(group: Group) -> Table:
    """What building took."""
    header: tuple[str, ...] = (
        "system",
        "parameters of building",
        "build s",
        "bytes/row",
        "RSS growth bytes",
        "RSS searched bytes",
    )
    rows = [
        (
            *(name, how or "-", figure(one.seconds), figure(one.bytes_per_row)),
            *("-" if size is None else str(size) for size in (one.rss_growth_bytes, one.rss_searched_bytes)),
        )
        for name, how, one in built(group)
    ]
    return Table(header, tuple(rows), words=2)


def systems(group: Group) -> Table:
    """How each system was configured, and which values were tried."""
    header: tuple[str, ...] = ("system", "calls itself", "options", "grid", "tuned on queries", "reported on queries")
    header += ("points", "chosen", "not ok")
    found: dict[tuple[str, ...], list[Record]] = {}
    for name, of in by_series(group, group.records):
        for record in of:
            found.setdefault((name, *_configured(record)), []).append(record)
    rows = [
        (
            *(*key, str(len(of)), str(sum(one.sweep is not None and one.sweep.chosen for one in of))),
            str(sum(one.status != "ok" for one in of)),
        )
        for key, of in found.items()
    ]
    return Table(header, tuple(rows), words=6)


def _configured(record: Record) -> tuple[str, ...]:
    sweep, options = record.sweep, _listed(record.system.options) or "-"
    if sweep is None:
        return record.system.name, options, "-", "-", "all"
    grid = "; ".join(f"{name}: {', '.join(map(plain, values))}" for name, values in sweep.grid.items())
    return record.system.name, options, grid or "-", _queries(sweep.tuned_on), _queries(sweep.queries)


def _queries(given: tuple[int, int]) -> str:
    return f"{given[0]} to {given[1] - 1}"


def machines(group: Group) -> Table:
    """The machine record of every run of the group."""
    found: dict[Machine, dict[str, None]] = {}
    for record in group.records:
        found.setdefault(record.machine, {})[record.date] = None
    header: tuple[str, ...] = ("runs", "processor", "system", "Python", "numpy", "evidex", "kernels")
    header += ("cores", "threads", "reads GB/s", "GFLOP/s", "probe bytes")
    rows = [
        (
            *(", ".join(sorted(runs)), one.processor, one.system, one.python, one.numpy, one.evidex, one.isa),
            *(str(one.cores), str(one.threads), figure(one.read_gb_s), figure(one.multiply_add_gflop_s)),
            str(one.probe_bytes),
        )
        for one, runs in found.items()
    ]
    return Table(header, tuple(rows), words=7)


def unfinished(group: Group) -> Table:
    """What failed and what was left out, with the reason; equal ones of several settings once."""
    found: dict[tuple[str, ...], dict[str, None]] = {}
    for name, of in by_series(group, group.records):
        for one in of:
            if one.status != "ok":
                key = (name, parameters(one) or "-", one.status.replace("_", " "), one.reason or "-")
                found.setdefault(key, {})[report.mask_of(one)] = None
    rows = [(*key[:3], "; ".join(masks), key[3]) for key, masks in found.items()]
    return Table(("system", "parameters", "status", "where", "reason"), tuple(rows), words=5)


def facts(group: Group) -> list[tuple[str, str]]:
    """Data, question and calls, as pairs of a word and what it is."""
    data, asked, records = group.first.data, group.first.setting, group.records
    seeds = [record.data.seed for record in records if record.data.seed is not None]
    rounds, calls = [one.setting.rounds for one in records], [one.setting.calls for one in records]
    queries = span([record.data.queries for record in records])
    made = f", seed {span(seeds)}" if seeds else ""
    return [
        ("Data", f"{data.source} {data.name}: {data.rows} x {data.dim}, {queries} queries{made}, digest {data.digest}"),
        ("Question", f"{asked.metric}, k={asked.k}, batch {asked.batch}, {threads(group)}"),
        ("Calls", f"{span(calls)} for each system and setting, in {span(rounds)} rounds"),
        ("Benchmarks", ", ".join(dict.fromkeys(record.benchmark for record in records))),
        ("Runs", dates(records)),
        (
            "Machine",
            f"{group.first.machine.processor}, {group.first.machine.cores} cores, {group.first.machine.system}",
        ),
    ]


def threads(group: Group) -> str:
    """How many every system could use."""
    limit = group.first.setting.threads
    return f"{limit} thread{'s' * (limit != 1)}"


def dates(records: Iterable[Record]) -> str:
    """When the runs began, UTC."""
    runs = sorted({record.date for record in records})
    return runs[0] if len(runs) == 1 else f"{len(runs)}, from {runs[0]} to {runs[-1]}"


def title(group: Group) -> str:
    """Tells one group from another."""
    data, asked, sparse = group.first.data, group.first.setting, group.first.sparse
    form = "" if sparse is None else f", {report.form_of(sparse)}"
    shape = f"{data.rows} x {data.dim}, {asked.metric}{form}"
    return f"{data.name}: {shape}, k={asked.k}, batch {asked.batch}, {threads(group)}"
