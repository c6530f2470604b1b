# SPDX-License-Identifier: Apache-2.0
"""The parent: one child per system, taking turns; answers checked; a record per system and setting."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import __version__
from ..errors import InvalidInput
from . import masks, measure, probe, records, truth
from .child import Child, ChildError, ChildGone, LeftOut
from .datasets import Dataset
from .masks import Allow

__all__ = ["BASE", "Plan", "run"]

BASE = "evidex"

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Plan:
    """What to measure.

    Attributes:
        benchmark: Name for the record.
        metric: Full name.
        peers: Beside evidex, distinct.
        masks: (kind, share) per setting; (None, None) is no mask.
        k, batch, threads, rounds, seed: As in the record's setting.
        timeout: Most seconds for one answer of a child.
        probe_bytes: As in the record.
    """

    benchmark: str
    metric: str
    peers: Sequence[str]
    masks: Sequence[tuple[str, float] | tuple[None, None]] = ((None, None),)
    k: int = 10
    batch: int = 1
    threads: int = 1
    rounds: int = 10
    seed: int = 0
    timeout: float = 600.0
    probe_bytes: int = probe.BYTES


@dataclass
class _System:
    """A system over the whole run; ``broken`` says why it takes no further part."""

    given: str
    child: Child | None = None
    name: str = ""
    version: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    built: dict[str, Any] | None = None
    searched: int | None = None
    broken: tuple[records.Status, str] | None = None


@dataclass
class _Turn:
    """A system in one setting."""

    system: _System
    stopped: tuple[records.Status, str] | None
    prepared: float | None = None
    seconds: list[list[float]] = field(default_factory=list)
    ids: list[npt.NDArray[np.int64]] = field(default_factory=list)


def run(data: Dataset, plan: Plan, progress: Progress = lambda step, steps, what: None) -> Iterator[records.Record]:
    """Measures every setting and yields its records, evidex first.

    A system that fails gets records that say so; the others go on.

    Raises:
        InvalidInput: For a zero vector under cosine, which has no direction.
        ChildError: If the machine itself could not be measured.
    """
    if plan.metric == "cosine":
        for name, rows in (("vectors", data.vectors), ("queries", data.queries)):
            if not (there := rows.any(axis=1)).all():
                raise InvalidInput(f"{name}: row {int(np.argmin(there))} is zero and has no cosine; leave it out")
    date, steps = records.utc_now(), 2 + len(plan.masks)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="evidex-bench-")))
        progress(1, steps, f"measuring the machine with {plan.threads} thread{'s' * (plan.threads > 1)}")
        machine = _machine(folder, plan)
        np.save(folder / "vectors.npy", data.vectors)
        systems = [_System(given, name=given) for given in dict.fromkeys([BASE, *plan.peers])]
        progress(2, steps, f"building {', '.join(system.given for system in systems)} over {data.facts.rows} rows")
        for number, system in enumerate(systems):
            _start(system, folder, number, plan)
            if system.child is not None:
                stack.callback(system.child.close)
        for step, (kind, share) in enumerate(plan.masks, 3):
            progress(step, steps, "searching" if kind is None else f"searching, {kind} mask of {share:g}")
            yield from _setting(data, plan, systems, folder, kind, share, machine, date)


def _machine(folder: Path, plan: Plan) -> records.Machine:
    child = Child(folder, "probe", plan.threads, plan.timeout)
    try:
        found = child.ask("probe", threads=plan.threads, bytes=plan.probe_bytes)
    finally:
        child.close()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return records.Machine(
        processor=probe.processor(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        cores=cores,
        python=platform.python_version(),
        numpy=np.__version__,
        threads=plan.threads,
        probe_bytes=plan.probe_bytes,
        evidex=__version__,
        **found,
    )


def _start(system: _System, folder: Path, number: int, plan: Plan) -> None:
    system.child = Child(folder, f"system{number}", plan.threads, plan.timeout)
    try:
        loaded = system.child.ask("load", peer=system.given, threads=plan.threads)
        system.name, system.version = loaded["name"], loaded["version"]
        system.built = system.child.ask("build", vectors=str(folder / "vectors.npy"), metric=plan.metric)
        system.options = system.built["options"]
    except (ChildError, LeftOut) as error:
        system.broken = _why(error)


def _why(error: ChildError | LeftOut) -> tuple[records.Status, str]:
    return ("left_out" if isinstance(error, LeftOut) else "failed"), str(error)


def _setting(
    data: Dataset,
    plan: Plan,
    systems: list[_System],
    folder: Path,
    kind: str | None,
    share: float | None,
    machine: records.Machine,
    date: str,
) -> Iterator[records.Record]:
    allow = None
    if kind is not None and share is not None:
        unit = plan.metric == "cosine"
        allow = masks.make(kind, share, data.vectors, data.queries, unit=unit, seed=plan.seed)
    chunks = _chunks(len(data.queries), plan)
    turns = [_Turn(system, system.broken) for system in systems]
    _prepare(turns, folder, allow)
    for number, chunk in enumerate(chunks):
        np.save(folder / "queries.npy", data.queries[chunk])
        for offset in range(len(turns)):
            _take(turns[(number + offset) % len(turns)], folder, plan)
    asked = np.concatenate(chunks)
    right = truth.brute_force(data.vectors, data.queries, plan.k, plan.metric, allow)
    setting = records.Setting(
        metric=plan.metric,
        k=plan.k,
        batch=plan.batch,
        threads=plan.threads,
        rounds=plan.rounds,
        calls=len(asked) // plan.batch,
        seed=plan.seed,
        mask=kind,
        selectivity=share,
        permitted=len(data.vectors) if allow is None else int(allow.sum()),
    )
    for turn in turns:
        answers = latency = ratio = None
        if turn.stopped is None:
            given = np.concatenate(turn.ids)
            answers = truth.check(given, asked, right, data.vectors, data.queries, plan.metric, allow)
            latency = measure.latency(turn.seconds, plan.batch)
            if turn is not turns[0] and turns[0].stopped is None:
                ratio = measure.paired_ratio(BASE, turns[0].seconds, turn.seconds, plan.seed)
        status, reason = turn.stopped or ("ok", None)
        yield records.Record(
            version=records.VERSION,
            benchmark=plan.benchmark,
            date=date,
            status=status,
            reason=reason,
            machine=machine,
            data=data.facts,
            setting=setting,
            system=_as_system(turn.system),
            build=_as_build(turn, len(data.vectors)),
            answers=answers,
            latency=latency,
            ratio=ratio,
        )


def _chunks(queries: int, plan: Plan) -> list[npt.NDArray[np.intp]]:
    """Which queries each round asks: whole batches, every query at least once, some again if that is what it takes."""
    batches = -(-queries // (plan.rounds * plan.batch))
    order = np.resize(np.arange(queries), plan.rounds * batches * plan.batch)
    return np.split(order, plan.rounds)


def _prepare(turns: list[_Turn], folder: Path, allow: Allow | None) -> None:
    path = None
    if allow is not None:
        path = str(folder / "allow.npy")
        np.save(path, allow)
    for turn in turns:
        if turn.stopped is None and turn.system.child is not None:
            try:
                seconds = turn.system.child.ask("prepare", allow=path)["seconds"]
                turn.prepared = None if allow is None else seconds
            except (ChildError, LeftOut) as error:
                _stop(turn, error)


def _take(turn: _Turn, folder: Path, plan: Plan) -> None:
    """One round of one system."""
    if turn.stopped is not None or turn.system.child is None:
        return
    out = folder / "ids.npy"
    try:
        found = turn.system.child.ask(
            "search", queries=str(folder / "queries.npy"), batch=plan.batch, k=plan.k, out=str(out)
        )
    except (ChildError, LeftOut) as error:
        return _stop(turn, error)
    turn.system.searched = found["resident"]
    turn.seconds.append(found["seconds"])
    turn.ids.append(np.load(out))


def _stop(turn: _Turn, error: ChildError | LeftOut) -> None:
    """It takes no further part in this setting, and in none if its process is gone."""
    turn.stopped = _why(error)
    if isinstance(error, ChildGone):
        turn.system.broken = turn.stopped


def _as_system(system: _System) -> records.System:
    return records.System(system.given, system.name, system.version, system.options)


def _as_build(turn: _Turn, rows: int) -> records.Build | None:
    built = turn.system.built
    if built is None:
        return None
    before, after = built["before"], built["after"]
    growth = None if before is None or after is None else after - before
    per_row = None if growth is None else growth / rows
    return records.Build(built["seconds"], before, after, growth, turn.system.searched, per_row, turn.prepared)
