# SPDX-License-Identifier: Apache-2.0
"""What a line of benchmarks/table.py is made of: runs of the harness, answers checked, a figure held to its limits."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evidex.bench import harness, lines, records, report
from evidex.bench.datasets import Dataset

EVIDEX, PLAIN, ONE_THREAD = harness.BASE, "systems:Plain", "systems:OneThread"
_EXACT = (EVIDEX, PLAIN, ONE_THREAD)

Group = dict[str, records.Record]
Form = Callable[[float], str]


def times(value: float) -> str:
    return f"{value:.2f}x" if value < 100 else f"{value:.0f}x"


def micros(value: float) -> str:
    return f"{value:.1f} us"


def percent(value: float) -> str:
    return f"{value:.1%}"


@dataclass(frozen=True)
class Row:
    """One line of the table, as printed."""

    line: str
    what: str
    must: str
    goal: str
    measured: str
    interval: str
    verdict: str


@dataclass
class Bench:
    """The data, what every run has in common, and what went wrong so far."""

    data: Dataset
    metric: str
    rounds: int
    seed: int
    timeout: float
    large: tuple[int, int]
    out: Path | None
    progress: harness.Progress
    wrong: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    rounded: int = 0

    def run(self, line: str, peers: Sequence[str], data: Dataset | None = None, **plan: Any) -> list[Group]:
        """Records by system, one group per mask; answers of systems that must be exact are held against the truth."""
        asked: dict[str, Any] = {"rounds": self.rounds, "seed": self.seed, "timeout": self.timeout, **plan}
        made = harness.Plan("filtered" if "masks" in plan else "exact", self.metric, peers, **asked)
        done = []
        for record in harness.run(data or self.data, made, self.progress):
            done.append(record)
            if self.out is not None:
                lines.append(self.out, record)
            if record.status == "failed":
                self.failed.append(f"line {line}: {record.system.given}: {record.reason}")
            if record.system.given in _EXACT and record.answers is not None:
                other = round((1 - record.answers.ids_equal_share) * record.answers.checked)
                self.rounded += other - record.answers.beyond_rounding
        for given in _EXACT:
            self.wrong += [f"line {line}: {given}: {what}" for what in report.mistakes(done, given)]
        groups = itertools.groupby(done, key=lambda record: record.setting)
        return [{record.system.given: record for record in group} for _, group in groups]


def judged(
    line: str,
    what: str,
    measured: float,
    *,
    must: float | None,
    goal: float | None,
    least: bool = False,
    form: Form = times,
    interval: str = "",
    because: str = "",
) -> Row:
    """A figure against its limits; ``least`` where they are the least it may be. ``because`` explains the first."""

    def met(limit: float) -> bool:
        return measured >= limit if least else measured <= limit

    def limit(value: float | None) -> str:
        return "" if value is None else f"{'>=' if least else '<='} {form(value)}"

    verdict = [] if must is None else ["ok" if met(must) else "short"]
    if goal is not None and (must is None or met(goal)):
        verdict.append("goal met" if met(goal) else "goal missed")
    shown = f"{limit(must)} ({because})" if because else limit(must)
    return Row(line, what, shown, limit(goal), form(measured), interval, ", ".join(verdict) or "reported")


def skipped(line: str, what: str, reason: str) -> Row:
    return Row(line, what, *[""] * 4, f"skipped: {reason}")


def without(line: str, what: str, group: Group, *needed: str) -> Row | None:
    """What stands in the table if a system of these has no figure."""
    for given in needed:
        record = group[given]
        if record.status != "ok":
            last = (record.reason or "").strip().splitlines()[0]
            return skipped(line, what, f"{given} {record.status.replace('_', ' ')}: {last}")
    return None


def faster(
    line: str, what: str, group: Group, other: str, must: float | None, goal: float | None, because: str = ""
) -> Row:
    """The other system's time divided by evidex's, at least."""
    if missing := without(line, what, group, EVIDEX, other):
        return missing
    ratio = group[other].ratio
    assert ratio is not None
    interval = f"{times(1 / ratio.high)} to {times(1 / ratio.low)}"
    return judged(line, what, 1 / ratio.median, must=must, goal=goal, least=True, interval=interval, because=because)


def costs(line: str, what: str, ratio: records.Ratio, must: float | None, goal: float | None) -> Row:
    """evidex's time divided by the other's, at most."""
    interval = f"{times(ratio.low)} to {times(ratio.high)}"
    return judged(line, what, ratio.median, must=must, goal=goal, interval=interval)


def within(line: str, what: str, group: Group, other: str, must: tuple[float, float], goal: tuple[float, float]) -> Row:
    """evidex's median against limits (factor, microseconds): so many times the other's median, plus so many."""
    if missing := without(line, what, group, EVIDEX, other):
        return missing
    own, its, ratio = group[EVIDEX].latency, group[other].latency, group[other].ratio
    assert own is not None and its is not None and ratio is not None
    theirs = its.p50_ms * 1e3
    return judged(
        line,
        what,
        own.p50_ms * 1e3,
        must=must[0] * theirs + must[1],
        goal=goal[0] * theirs + goal[1],
        form=micros,
        interval=f"ratio {ratio.median:.3f}, {ratio.low:.3f} to {ratio.high:.3f}",
        because=f"{must[0]:.3g} x {theirs:.1f} + {must[1]:.0f}",
    )
