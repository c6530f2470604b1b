# SPDX-License-Identifier: Apache-2.0
"""The parent: one child per system, taking turns; answers checked; a record per system and setting."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from . import measure, records, truth
from .child import ChildError, ChildGone, LeftOut
from .datasets import Dataset
from .masks import Allow
from .systems import (
    BASE,
    Plan,
    Progress,
    System,
    allowed,
    as_build,
    as_setting,
    as_system,
    chunks,
    machine,
    require_directions,
    start,
    why,
)

__all__ = ["BASE", "Plan", "Progress", "run"]


@dataclass
class _Turn:
    """A system in one setting."""

    system: System
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
    require_directions(data, plan.metric)
    date, steps = records.utc_now(), 2 + len(plan.masks)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="evidex-bench-")))
        progress(1, steps, f"measuring the machine with {plan.threads} thread{'s' * (plan.threads > 1)}")
        place = machine(folder, plan)
        np.save(folder / "vectors.npy", data.vectors)
        systems = [System(given, name=given) for given in dict.fromkeys([BASE, *plan.peers])]
        progress(2, steps, f"building {', '.join(system.given for system in systems)} over {data.facts.rows} rows")
        for number, system in enumerate(systems):
            start(system, folder, number, plan)
            if system.child is not None:
                stack.callback(system.child.close)
        for step, (kind, share) in enumerate(plan.masks, 3):
            progress(step, steps, "searching" if kind is None else f"searching, {kind} mask of {share:g}")
            yield from _setting(data, plan, systems, folder, kind, share, place, date)


def _setting(
    data: Dataset,
    plan: Plan,
    systems: list[System],
    folder: Path,
    kind: str | None,
    share: float | None,
    place: records.Machine,
    date: str,
) -> Iterator[records.Record]:
    allow = allowed(data, plan, kind, share)
    parts = chunks(len(data.queries), plan)
    turns = [_Turn(system, system.broken) for system in systems]
    _prepare(turns, folder, allow)
    for number, chunk in enumerate(parts):
        np.save(folder / "queries.npy", data.queries[chunk])
        for offset in range(len(turns)):
            _take(turns[(number + offset) % len(turns)], folder, plan)
    asked = np.concatenate(parts)
    right = truth.brute_force(data.vectors, data.queries, plan.k, plan.metric, allow)
    setting = as_setting(plan, len(asked), kind, share, len(data.vectors) if allow is None else int(allow.sum()))
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
            machine=place,
            data=data.facts,
            setting=setting,
            system=as_system(turn.system),
            build=as_build(turn.system, len(data.vectors), turn.prepared),
            answers=answers,
            latency=latency,
            ratio=ratio,
        )


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
    turn.stopped = why(error)
    if isinstance(error, ChildGone):
        turn.system.broken = turn.stopped
