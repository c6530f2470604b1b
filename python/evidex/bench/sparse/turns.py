# SPDX-License-Identifier: Apache-2.0
"""The parent of a run over texts: a child per system and form, all of them taking turns, answers judged afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import measure, records, systems
from ..child import Child, ChildError, ChildGone, LeftOut
from ..systems import Progress, System
from . import BASE, FORMS
from .folders import Folders, make
from .judging import Asked, judge
from .reference import Reference, Tally
from .texts import Corpus
from .worker import digest_of, read, write

__all__ = ["Plan", "run"]

_GUARDED = "evidex-guarded"
# Mask, label, who calls.
_CALLERS = (("random", "evidex-warm", "same"), ("random", "evidex-cold", "new"), ("run", "evidex-warm", "same"))


@dataclass(frozen=True)
class Plan(systems.Plan):
    """What to measure, beside what every plan has; its ``masks`` and ``batch`` are not used.

    Attributes:
        forms: Of ``text`` and ``tokens``.
        words: How many of each query; None for all.
        batches: Queries per call.
        shares: Of the documents that a principal reads; evidex alone searches under them.
        scope: Of their statistics.
    """

    forms: Sequence[str] = FORMS
    words: Sequence[int | None] = (4, None)
    batches: Sequence[int] = (1, 100)
    shares: Sequence[float] = ()
    scope: str = "permitted"


@dataclass
class _System(System):
    """A system in one form. ``calls`` counts new principals: number 0 is the one that calls again and again."""

    folders: Folders | None = None
    documents: str = ""
    reference: Reference | None = None
    calls: int = 1


@dataclass
class _Point:
    """A system with one batch size and one kind of caller."""

    system: _System
    label: str
    batch: int
    mask: tuple[str, float] | tuple[None, None] = (None, None)
    caller: str | None = None
    stopped: tuple[records.Status, str] | None = None
    seconds: list[list[float]] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)


def run(data: Corpus, plan: Plan, progress: Progress = lambda step, steps, what: None) -> Iterator[records.Record]:
    """Measures every form, length of query and batch size; yields the records of a form and length together.

    A system that fails gets records that say so; the others go on.

    Raises:
        InvalidInput: For more folders than documents.
        ChildError: If the machine itself could not be measured.
    """
    built = [(kind, share, make(kind, share, len(data.documents), plan.seed)) for kind, share in _masks(plan)]
    date, steps = records.utc_now(), 1 + len(plan.forms) * (1 + len(plan.words) * (len(plan.batches) + 1))
    step = 1
    with tempfile.TemporaryDirectory(prefix="evidex-bench-") as name:
        folder = Path(name)
        progress(step, steps, f"measuring the machine with {plan.threads} thread{'s' * (plan.threads > 1)}")
        place = systems.machine(folder, plan)
        for form in plan.forms:
            with ExitStack() as stack:
                found = [_System(given, name=given) for given in dict.fromkeys([BASE, *plan.peers])]
                found += [
                    _System(_GUARDED, {"mask": kind, "share": share, "seed": plan.seed}, name=_GUARDED, folders=folders)
                    for kind, share, folders in built
                ]
                step += 1
                progress(step, steps, f"building from {form}: {', '.join(system.given for system in found)}")
                _start(found, data, plan, form, folder, stack)
                for words in plan.words:
                    points: list[_Point] = []
                    length = "all words" if words is None else f"{words} words"
                    queries, terms = data.asked(words)
                    write(folder / "queries.jsonl", queries if form == "text" else terms)
                    for batch in plan.batches:
                        step += 1
                        progress(step, steps, f"searching from {form}, {length}, batch {batch}")
                        points += _turns(found, queries if form == "text" else terms, plan, batch, folder)
                    step += 1
                    progress(step, steps, f"checking answers from {form}, {length}")
                    tallies = _judged(points, terms, plan, form, folder)
                    yield from _records(points, tallies, data, plan, form, words, place, date)


def _masks(plan: Plan) -> list[tuple[str, float]]:
    return [(kind, share) for share in plan.shares for kind in dict.fromkeys(kind for kind, _, _ in _CALLERS)]


def _start(found: Sequence[_System], data: Corpus, plan: Plan, form: str, folder: Path, stack: ExitStack) -> None:
    """Loads and builds each in a child of its own; from text, asks for its terms, equal ones of which are kept once."""
    path = folder / "documents.jsonl"
    write(path, data.documents if form == "text" else data.document_terms)
    known: dict[str, Reference] = {}
    for number, system in enumerate(found):
        name = f"{form}{number}"
        system.child = Child(folder, name, plan.threads, plan.timeout, "evidex.bench.sparse.worker")
        stack.callback(system.child.close)
        try:
            asked = {"peer": system.given, "threads": plan.threads, "form": form, "build": system.parameters or {}}
            loaded = system.child.ask("load", **asked)
            system.name, system.version = loaded["name"], loaded["version"]
            system.built = system.child.ask("build", documents=str(path))
            system.options = system.built["options"]
            terms = path
            if form == "text":
                terms = folder / "terms.jsonl"
                system.child.ask("terms", texts=str(path), out=str(terms))
            system.documents = digest_of(terms)
            if system.documents not in known:
                known[system.documents] = Reference(read(terms))
            system.reference = known[system.documents]
        except (ChildError, LeftOut) as error:
            system.broken = systems.why(error)


def _turns(found: Sequence[_System], queries: Sequence[Any], plan: Plan, batch: int, folder: Path) -> list[_Point]:
    """Asks everybody once per round; each round begins with somebody else."""
    points = [point for system in found for point in _points(system, batch)]
    for number, chunk in enumerate(systems.chunks(len(queries), replace(plan, batch=batch))):
        write(folder / "round.jsonl", (queries[place] for place in chunk.tolist()))
        first = number % len(points)
        for point in points[first:] + points[:first]:
            _take(point, chunk, folder, plan)
    return points


def _points(system: _System, batch: int) -> list[_Point]:
    if system.folders is None or system.parameters is None:
        return [_Point(system, system.given, batch)]
    kind, share = system.parameters["mask"], system.parameters["share"]
    return [_Point(system, label, batch, (kind, share), caller) for of, label, caller in _CALLERS if of == kind]


def _take(point: _Point, chunk: npt.NDArray[np.intp], folder: Path, plan: Plan) -> None:
    """One round of one system."""
    system, out = point.system, folder / "ids.npy"
    point.stopped = point.stopped or system.broken
    if point.stopped is not None or system.child is None:
        return
    calls = len(chunk) // point.batch
    callers = np.zeros(calls + 1, np.int64)  # the first makes the call that is not timed
    try:
        if point.caller is not None:
            if point.caller == "new":
                callers += system.calls + np.arange(calls + 1)
                system.calls += calls + 1
            system.child.ask("tune", search={"callers": callers.tolist(), "scope": plan.scope})
        asked = {"queries": str(folder / "round.jsonl"), "batch": point.batch, "k": plan.k, "out": str(out)}
        answer = system.child.ask("search", **asked)
    except (ChildError, LeftOut) as error:
        point.stopped = systems.why(error)
        if isinstance(error, ChildGone):
            system.broken = point.stopped
        return
    system.searched = answer["resident"]
    point.seconds.append(answer["seconds"])
    point.asked.append(Asked(chunk, np.repeat(callers[1:], point.batch), np.load(out)))


def _judged(
    points: Sequence[_Point], terms: Sequence[dict[str, int]], plan: Plan, form: str, folder: Path
) -> dict[int, Tally]:
    """A tally for each point that answered everything, by its place in ``points``."""
    own: dict[int, Sequence[dict[str, int]]] = {}
    together: dict[tuple[str, str], list[int]] = {}
    for place, point in enumerate(points):
        system, path = point.system, folder / "queries.jsonl"
        if point.stopped is not None or system.child is None or system.reference is None:
            continue
        if form == "text":
            try:
                path = folder / "terms.jsonl"
                system.child.ask("terms", texts=str(folder / "queries.jsonl"), out=str(path))
            except (ChildError, LeftOut) as error:
                point.stopped = systems.why(error)
                continue
        own[place] = terms if form == "tokens" else read(path)
        together.setdefault((system.documents, digest_of(path)), []).append(place)
    tallies = {place: Tally(plan.k) for place in own}
    for places in together.values():
        reference = points[places[0]].system.reference
        assert reference is not None
        answered = [(points[place].system.folders, points[place].asked, tallies[place]) for place in places]
        judge(reference, own[places[0]], answered, plan.k, plan.scope)
    return tallies


def _records(
    points: Sequence[_Point],
    tallies: dict[int, Tally],
    data: Corpus,
    plan: Plan,
    form: str,
    words: int | None,
    place: records.Machine,
    date: str,
) -> Iterator[records.Record]:
    bases = {point.batch: point for point in points if point.label == BASE}
    for number, point in enumerate(points):
        system, base, tally = point.system, bases[point.batch], tallies.get(number)
        latency = ratio = None
        if tally is not None:
            latency = measure.latency(point.seconds, point.batch)
            if point is not base and base.stopped is None:
                ratio = measure.paired_ratio(BASE, base.seconds, point.seconds, plan.seed)
        permitted = len(data.documents) if system.folders is None else int(system.folders.permitted(0).sum())
        asked = len(systems.chunks(len(data.queries), replace(plan, batch=point.batch))[0]) * plan.rounds
        status, reason = point.stopped or ("ok", None)
        kind, share = point.mask
        yield records.Record(
            version=records.VERSION,
            benchmark=plan.benchmark,
            date=date,
            status=status,
            reason=reason,
            machine=place,
            data=data.facts,
            setting=systems.as_setting(replace(plan, batch=point.batch), asked, kind, share, permitted),
            system=records.System(point.label, system.name, system.version, system.options),
            build=systems.as_build(system, len(data.documents), None),
            answers=None if tally is None else tally.answers(),
            latency=latency,
            ratio=ratio,
            sparse=_sparse(point, tally, data, plan, form, words),
        )


def _sparse(
    point: _Point, tally: Tally | None, data: Corpus, plan: Plan, form: str, words: int | None
) -> records.Sparse:
    system = point.system
    postings = None if system.reference is None else system.reference.entries
    built = system.built or {"bytes": None, "seconds": None}
    size, seconds = built["bytes"], built["seconds"]
    return records.Sparse(
        form=form,
        words=words,
        scope=None if point.caller is None else plan.scope,
        caller=point.caller,
        agreement=None if tally is None else tally.agreement,
        documents_per_s=None if seconds is None else len(data.documents) / seconds,
        postings=postings,
        index_bytes=size,
        bytes_per_posting=None if size is None or not postings else size / postings,
    )
