# SPDX-License-Identifier: Apache-2.0
"""What every kind of run shares: its plan, systems in their children, whose turn it is for which queries."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import __version__
from ..errors import InvalidInput
from . import masks, probe, records
from .child import Child, ChildError, LeftOut
from .datasets import Dataset
from .masks import Allow

__all__ = [
    "BASE",
    "Plan",
    "Progress",
    "System",
    "allowed",
    "as_build",
    "as_setting",
    "as_system",
    "chunks",
    "machine",
    "require_directions",
    "start",
    "why",
]

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
class System:
    """A system over the whole run, in a sweep with parameters of building; ``broken`` says why it is out of it."""

    given: str
    parameters: dict[str, Any] | None = None
    child: Child | None = None
    name: str = ""
    version: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    built: dict[str, Any] | None = None
    searched: int | None = None
    broken: tuple[records.Status, str] | None = None


def require_directions(data: Dataset, metric: str) -> None:
    """Refuses zero vectors where the metric compares directions."""
    if metric == "cosine":
        for name, rows in (("vectors", data.vectors), ("queries", data.queries)):
            if not (there := rows.any(axis=1)).all():
                raise InvalidInput(f"{name}: row {int(np.argmin(there))} is zero and has no cosine; leave it out")


def machine(folder: Path, plan: Plan) -> records.Machine:
    """Where this runs, measured in a child."""
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


def start(system: System, folder: Path, number: int, plan: Plan) -> None:
    """Loads and builds it in a child of its own, or says why not."""
    system.child = Child(folder, f"system{number}", plan.threads, plan.timeout)
    try:
        loaded = system.child.ask("load", peer=system.given, threads=plan.threads, build=system.parameters)
        system.name, system.version = loaded["name"], loaded["version"]
        system.built = system.child.ask("build", vectors=str(folder / "vectors.npy"), metric=plan.metric)
        system.options = system.built["options"]
    except (ChildError, LeftOut) as error:
        system.broken = why(error)


def why(error: ChildError | LeftOut) -> tuple[records.Status, str]:
    """Status and reason of a record."""
    return ("left_out" if isinstance(error, LeftOut) else "failed"), str(error)


def as_setting(plan: Plan, asked: int, kind: str | None, share: float | None, permitted: int) -> records.Setting:
    """For the record; ``asked`` is how many queries were timed."""
    return records.Setting(
        metric=plan.metric,
        k=plan.k,
        batch=plan.batch,
        threads=plan.threads,
        rounds=plan.rounds,
        calls=asked // plan.batch,
        seed=plan.seed,
        mask=kind,
        selectivity=share,
        permitted=permitted,
    )


def allowed(data: Dataset, plan: Plan, kind: str | None, share: float | None) -> Allow | None:
    """The mask of a setting."""
    if kind is None or share is None:
        return None
    return masks.make(kind, share, data.vectors, data.queries, unit=plan.metric == "cosine", seed=plan.seed)


def chunks(queries: int, plan: Plan) -> list[npt.NDArray[np.intp]]:
    """Which queries each round asks: whole batches, every query at least once, some again if that is what it takes."""
    batches = -(-queries // (plan.rounds * plan.batch))
    order = np.resize(np.arange(queries), plan.rounds * batches * plan.batch)
    return np.split(order, plan.rounds)


def as_system(system: System) -> records.System:
    """For the record."""
    return records.System(system.given, system.name, system.version, system.options)


def as_build(system: System, rows: int, prepared: float | None) -> records.Build | None:
    """For the record; None if it was never built. ``prepared`` is in seconds."""
    built = system.built
    if built is None:
        return None
    before, after = built["before"], built["after"]
    growth = None if before is None or after is None else after - before
    per_row = None if growth is None else growth / rows
    return records.Build(built["seconds"], before, after, growth, system.searched, per_row, prepared)
