# SPDX-License-Identifier: Apache-2.0
"""The parent of a sweep: a child per system and build, all points of all grids taking turns.

Every point is asked both halves of the queries. What is chosen follows from the first half alone, what is reported is
of the second: a parameter that fits some queries by luck gains nothing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import InvalidInput
from .. import measure, records, systems, truth
from ..child import Child, ChildError, ChildGone, LeftOut
from ..datasets import Dataset
from ..masks import Allow
from ..systems import BASE, Progress, System
from . import BUILT_IN
from . import grid as built_in_grid

__all__ = ["Plan", "front", "run"]

_Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Plan(systems.Plan):
    """What to measure; ``grid`` says how many points: ``small`` or ``full``."""

    grid: str = "small"


@dataclass
class _Half:
    """The timed calls and answers of one point on one half of the queries."""

    seconds: list[list[float]] = field(default_factory=list)
    ids: list[_Ids] = field(default_factory=list)


@dataclass
class _Point:
    """A system as built, and parameters of searching, the ``place``-th of them; the rest is of one setting."""

    system: System
    search: dict[str, Any]
    place: int
    stopped: tuple[records.Status, str] | None = None
    tuning: _Half = field(default_factory=_Half)
    reporting: _Half = field(default_factory=_Half)
    prepared: float | None = None


def run(data: Dataset, plan: Plan, progress: Progress = lambda step, steps, what: None) -> Iterator[records.Record]:
    """Measures every point in every setting and yields the records of a setting together, evidex first.

    A point, build or system that fails gets records that say so; the others go on.

    Raises:
        InvalidInput: For fewer than 2 queries, more neighbours than rows, and a zero vector under cosine.
        ChildError: If the machine itself could not be measured.
    """
    halves = _halves(data, plan)
    date = records.utc_now()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="evidex-bench-")))
        np.save(folder / "vectors.npy", data.vectors)
        points = [
            point
            for number, given in enumerate(dict.fromkeys([BASE, *plan.peers]))
            for point in _points(given, folder, number, data, plan)
        ]
        built = list({id(point.system): point.system for point in points}.values())
        steps = 1 + len(built) + plan.rounds * len(plan.masks)
        progress(1, steps, f"measuring the machine with {plan.threads} thread{'s' * (plan.threads > 1)}")
        place = systems.machine(folder, plan)
        for number, system in enumerate(built):
            told = ", ".join(f"{name}={value}" for name, value in (system.parameters or {}).items())
            progress(
                2 + number, steps, f"building {system.given}{f' ({told})' * bool(told)} over {data.facts.rows} rows"
            )
            if system.broken is None:
                systems.start(system, folder, number, plan)
            if system.child is not None:
                stack.callback(system.child.close)
        for number, (kind, share) in enumerate(plan.masks):
            what = "searching" if kind is None else f"searching, {kind} mask of {share:g}"
            first = 2 + len(built) + number * plan.rounds
            allow = systems.allowed(data, plan, kind, share)
            for turn in _turns(data, plan, points, halves, folder, allow):
                progress(first + turn, steps, f"{what}: round {turn + 1} of {plan.rounds}")
            permitted = len(data.vectors) if allow is None else int(allow.sum())
            setting = systems.as_setting(plan, len(_asked(halves[1], plan)), kind, share, permitted)
            yield from _records(data, plan, points, halves, allow, setting, place, date)


def front(results: Sequence[tuple[float, float]]) -> list[bool]:
    """Which of these (recall, queries/s) no other one dominates: as good in both and better in one.

    Equal ones stay together. Quadratic in their number.
    """
    return [
        not any(r >= recall and q >= rate and (r > recall or q > rate) for r, q in results) for recall, rate in results
    ]


def _halves(data: Dataset, plan: Plan) -> tuple[range, range]:
    """The queries on which parameters are chosen and those reported on."""
    queries, rows = len(data.queries), len(data.vectors)
    if queries < 2:
        raise InvalidInput(
            f"queries: expected at least 2, to choose parameters on one half and report on the other, got {queries}"
        )
    if plan.k > rows:
        raise InvalidInput(f"k: expected at most the {rows} rows there are, got {plan.k}")
    systems.require_directions(data, plan.metric)
    return range(queries // 2), range(queries // 2, queries)


def _points(given: str, folder: Path, number: int, data: Dataset, plan: Plan) -> list[_Point]:
    """The grid of a system; one of one's own is imported in a child, whose crash costs nobody else."""
    rows, dim = data.vectors.shape
    if given in BUILT_IN:
        grid: Any = built_in_grid(given, rows, dim, plan.grid)
    else:
        child = Child(folder, f"grid{number}", plan.threads, plan.timeout)
        try:
            grid = child.ask("grid", peer=given, rows=rows, dim=dim, size=plan.grid)["grid"]
        except (ChildError, LeftOut) as error:
            return [_Point(System(given, {}, name=given, broken=systems.why(error)), {}, 0)]
        finally:
            child.close()
    return [
        _Point(system, search, place)
        for build, searches in grid
        for system in [System(given, build, name=given)]
        for place, search in enumerate(searches)
    ]


def _turns(
    data: Dataset,
    plan: Plan,
    points: list[_Point],
    halves: tuple[range, range],
    folder: Path,
    allow: Allow | None,
) -> Iterator[int]:
    """Asks every point once per round, after its number was yielded.

    Neighbours in the order are of different children where there are several; each round begins somewhere else.
    """
    _prepare(points, folder, allow)
    order = sorted(points, key=lambda point: point.place)
    files = [folder / f"queries{half}.npy" for half in range(2)]
    for number in range(plan.rounds):
        yield number
        for file, half in zip(files, halves, strict=True):
            np.save(file, data.queries[half.start + systems.chunks(len(half), plan)[number]])
        first = number * len(order) // plan.rounds
        for point in order[first:] + order[:first]:
            _take(point, files, folder, plan)


def _prepare(points: list[_Point], folder: Path, allow: Allow | None) -> None:
    """Starts a setting: empties the points and makes the mask ready, once per child."""
    path = None
    if allow is not None:
        path = str(folder / "allow.npy")
        np.save(path, allow)
    done: dict[int, tuple[float | None, tuple[records.Status, str] | None]] = {}
    for point in points:
        system = point.system
        if id(system) not in done:
            seconds, stopped = None, system.broken
            if stopped is None and system.child is not None:
                try:
                    seconds = system.child.ask("prepare", allow=path)["seconds"]
                except (ChildError, LeftOut) as error:
                    stopped = _stopped(system, error)
            done[id(system)] = seconds if allow is not None else None, stopped
        point.prepared, point.stopped = done[id(system)]
        point.tuning, point.reporting = _Half(), _Half()


def _take(point: _Point, files: list[Path], folder: Path, plan: Plan) -> None:
    """One round of one point, both halves."""
    system, out = point.system, folder / "ids.npy"
    point.stopped = point.stopped or system.broken  # another point may have ended the child
    if point.stopped is not None or system.child is None:
        return
    try:
        system.child.ask("tune", search=point.search)
        for half, file in zip((point.tuning, point.reporting), files, strict=True):
            found = system.child.ask("search", queries=str(file), batch=plan.batch, k=plan.k, out=str(out))
            system.searched = found["resident"]
            half.seconds.append(found["seconds"])
            half.ids.append(np.load(out))
    except (ChildError, LeftOut) as error:
        point.stopped = _stopped(system, error)


def _stopped(system: System, error: ChildError | LeftOut) -> tuple[records.Status, str]:
    """Why; and if its process is gone, no point of the system goes on."""
    reason = systems.why(error)
    if isinstance(error, ChildGone):
        system.broken = reason
    return reason


def _asked(half: range, plan: Plan) -> npt.NDArray[np.int64]:
    """Which query each answer of all rounds is to."""
    return half.start + np.concatenate(systems.chunks(len(half), plan)).astype(np.int64)


def _records(
    data: Dataset,
    plan: Plan,
    points: list[_Point],
    halves: tuple[range, range],
    allow: Allow | None,
    setting: records.Setting,
    place: records.Machine,
    date: str,
) -> Iterator[records.Record]:
    right = truth.brute_force(data.vectors, data.queries, plan.k, plan.metric, allow)

    def checked(half: _Half, queries: range) -> tuple[records.Answers, records.Latency]:
        ids, asked = np.concatenate(half.ids), _asked(queries, plan)
        answers = truth.check(ids, asked, right, data.vectors, data.queries, plan.metric, allow)
        return answers, measure.latency(half.seconds, plan.batch)

    working = [point for point in points if point.stopped is None]
    tuned = {id(point): checked(point.tuning, halves[0]) for point in working}
    chosen: set[int] = set()
    for given in dict.fromkeys(point.system.given for point in working):
        of = [point for point in working if point.system.given == given]
        results = [(tuned[id(point)][0].recall, tuned[id(point)][1].queries_per_s) for point in of]
        chosen.update(id(point) for point, kept in zip(of, front(results), strict=True) if kept)
    base = points[0]
    for point in points:
        answers = latency = ratio = None
        before = tuned.get(id(point))
        if before is not None:
            answers, latency = checked(point.reporting, halves[1])
            if point is not base and base.stopped is None:
                ratio = measure.paired_ratio(BASE, base.reporting.seconds, point.reporting.seconds, plan.seed)
        status, reason = point.stopped or ("ok", None)
        yield records.Record(
            version=records.VERSION,
            benchmark=plan.benchmark,
            date=date,
            status=status,
            reason=reason,
            machine=place,
            data=data.facts,
            setting=setting,
            system=systems.as_system(point.system),
            build=systems.as_build(point.system, len(data.vectors), point.prepared),
            answers=answers,
            latency=latency,
            ratio=ratio,
            sweep=records.Sweep(
                build=point.system.parameters or {},
                search=point.search,
                grid=_tried([one for one in points if one.system.given == point.system.given]),
                tuned_on=(halves[0].start, halves[0].stop),
                queries=(halves[1].start, halves[1].stop),
                tuned_recall=None if before is None else before[0].recall,
                tuned_queries_per_s=None if before is None else before[1].queries_per_s,
                chosen=id(point) in chosen,
            ),
        )


def _tried(points: list[_Point]) -> dict[str, list[Any]]:
    """Every value of every parameter, each once, in the order in which they came."""
    tried: dict[str, list[Any]] = {}
    for point in points:
        for name, value in {**(point.system.parameters or {}), **point.search}.items():
            values = tried.setdefault(name, [])
            if value not in values:
                values.append(value)
    return tried
