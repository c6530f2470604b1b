# SPDX-License-Identifier: Apache-2.0
"""Made-up records of a plausible run: a grid per system, masks, one system that failed, one that was left out."""

from __future__ import annotations

import itertools
import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from evidex.bench.records import (
    VERSION,
    Answers,
    Build,
    Data,
    Latency,
    Machine,
    Ratio,
    Record,
    Setting,
    Status,
    Sweep,
    System,
)

ROWS, DIM, K = 100_000, 384, 10
DATE = "2026-03-01T10:00:00Z"
MACHINE = Machine(
    processor="Example Processor 3000",
    system="Linux 6.1.0 x86_64",
    cores=2,
    python="3.11.2",
    numpy="2.4.6",
    threads=1,
    read_gb_s=11.5,
    multiply_add_gflop_s=95.25,
    probe_bytes=2**28,
    evidex="0.1.0",
    isa="avx2",
)
DATA = Data("data", "sentences", ROWS, DIM, 1000, None, "0123456789abcdef")
MASKS: tuple[tuple[str | None, float | None], ...] = (
    (None, None),
    *itertools.product(("random", "correlated"), (0.5, 0.1, 0.01, 0.001)),
)
# system: version, values of building, of searching, queries/s at the least effort, bytes per row
SYSTEMS: dict[str, tuple[str, dict[str, list[Any]], dict[str, list[Any]], float, float]] = {
    "evidex": ("0.1.0", {"codec": ["pq4", "binary"]}, {"rescore": [20, 50, 100, 200]}, 6000.0, 1700.0),
    "hnswlib": ("0.8.0", {"m": [16, 32]}, {"ef_search": [20, 40, 80, 160, 320]}, 9000.0, 1750.0),
    "faiss-hnsw": ("1.14.0", {"m": [16]}, {"ef_search": [20, 40, 80, 160]}, 11000.0, 560.0),
    "scann": ("1.4.2", {"leaves": [300, 1000]}, {"reorder": [20, 50, 100]}, 8000.0, 1900.0),
}


def setting(mask: str | None, share: float | None) -> Setting:
    permitted = ROWS if share is None else round(ROWS * share)
    return Setting("cosine", K, 1, 1, rounds=5, calls=500, seed=0, mask=mask, selectivity=share, permitted=permitted)


def single(given: str, recall: float, speed: float, mask: str | None = None, share: float | None = None) -> Record:
    """A record of ``exact`` or ``filtered``."""
    return Record(
        version=VERSION,
        benchmark="exact" if mask is None else "filtered",
        date=DATE,
        status="ok",
        reason=None,
        machine=MACHINE,
        data=DATA,
        setting=setting(mask, share),
        system=System(given, given, "0.1.0", {}),
        build=Build(2.5, 10**8, 3 * 10**8, 2 * 10**8, 31 * 10**7, 2000.0, None if mask is None else 0.0125),
        answers=Answers(500, recall, recall == 1, recall, 0, 0),
        latency=_latency(speed),
        ratio=None if given == "evidex" else Ratio("evidex", 0.5, 0.45, 0.55, 0.95, 5, 2000),
    )


def swept(
    given: str,
    build: dict[str, Any],
    search: dict[str, Any],
    recall: float,
    speed: float,
    *,
    chosen: bool = True,
    mask: str | None = None,
    share: float | None = None,
) -> Record:
    """A point of a grid; it was a little better on the queries for choosing."""
    version, first, second, _, size = SYSTEMS[given]
    plain = single(given, recall, speed, mask, share)
    tuned = (round(min(1.0, recall + 0.002), 6), speed * 1.02)
    return replace(
        plain,
        benchmark="ann",
        system=System(given, f"{given} index", version, {"threads": 1}),
        build=Build(12.5 + size / 100, 10**8, 2 * 10**8, 10**8, 10**8, size, None if mask is None else 0.01),
        sweep=Sweep(build, search, {**first, **second}, (0, 500), (500, 1000), *tuned, chosen=chosen),
    )


def stopped(given: str, status: Status, reason: str, mask: str | None = None, share: float | None = None) -> Record:
    """One without answers."""
    plain = single(given, 1.0, 1.0, mask, share)
    system = replace(plain.system, version=SYSTEMS[given][0] if given in SYSTEMS else "0.1.0")
    plain = replace(plain, system=system)
    return replace(plain, status=status, reason=reason, build=None, answers=None, latency=None, ratio=None)


def _latency(speed: float) -> Latency:
    p50 = 1000 / speed
    return Latency(p50, p50 * 1.2, p50 * 2, speed)


def run() -> list[Record]:
    """Everything."""
    found: list[Record] = []
    for mask, share in MASKS:
        found.append(single("evidex", 1.0, 450.0 / (1 if share is None else 0.3 + share), mask, share))
        found.append(single("numpy", 1.0, 80.0 / (share or 1.0), mask, share))
        for given in SYSTEMS:
            if given == "scann" and mask is not None:
                found.append(stopped(given, "left_out", "scann takes no masks", mask, share))
            else:
                found += _grid(given, mask, share)
        found.append(stopped("turbovec", "failed", "ended with code 3 at 'build'\nlast words", mask, share))
    return found


def _grid(given: str, mask: str | None, share: float | None) -> list[Record]:
    _, builds, searches, least, _ = SYSTEMS[given]
    (first, kinds), (second, efforts) = *builds.items(), *searches.items()
    found = []
    for at, kind in enumerate(kinds):
        for effort in efforts:
            missed = 1.5 / effort ** (0.9 + 0.25 * at)
            recall = 1 - missed * (1 + 0.3 * abs(math.log10(share or 1.0)))
            speed = least / (1 + effort / 30) / (1 + 0.15 * at) * (share or 1.0) ** 0.2
            chosen = at == 1 or effort <= 40 or len(kinds) == 1
            found.append(
                swept(
                    given,
                    {first: kind},
                    {second: effort},
                    round(recall, 6),
                    speed,
                    chosen=chosen,
                    mask=mask,
                    share=share,
                )
            )
    return found


def write(path: Path, records: list[Record], *broken: str) -> Path:
    """A file of records, and lines that are none."""
    lines = [json.dumps(record.to_dict()) for record in records]
    path.write_text("\n".join([*lines, *broken]) + "\n", encoding="utf-8")
    return path


HOSTILE = (
    "</script></style></title><script>console.error('hacked')</script><img src='//x.invalid/y' onerror=\"z()\">&<!--`|"
)


def spoilt(record: Record, text: str) -> dict[str, Any]:
    """The record with this text at the end of every text and name that is free."""

    def changed(value: Any) -> Any:
        if isinstance(value, str):
            return value + text
        if isinstance(value, (list, tuple)):
            return [changed(part) for part in value]
        return {name + text: changed(part) for name, part in value.items()} if isinstance(value, dict) else value

    plain = json.loads(json.dumps(record.to_dict()))
    for part in ("machine", "data", "system", "setting"):
        plain[part] = {
            name: changed(value) if isinstance(value, (str, dict)) else value for name, value in plain[part].items()
        }
    for name in ("build", "search", "grid") if plain["sweep"] else ():
        plain["sweep"][name] = changed(plain["sweep"][name])
    plain["reason"] = changed(plain["reason"])
    return dict(plain)


def without_plotly(patch: pytest.MonkeyPatch, source: str | None = "var Plotly = {};") -> None:
    """A stand-in for its JavaScript, which no test but those in a browser needs; None: it is not installed."""
    module = None
    if source is not None:
        module = ModuleType("plotly.offline")
        module.get_plotlyjs = lambda: source  # type: ignore[attr-defined]
    patch.setitem(sys.modules, "plotly", ModuleType("plotly"))
    patch.setitem(sys.modules, "plotly.offline", module)
