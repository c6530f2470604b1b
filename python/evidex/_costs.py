# SPDX-License-Identifier: Apache-2.0
"""What ways to search cost on a host: measured there once, and kept."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from . import _core

__all__ = ["COSTS", "NO_COSTS", "Costs", "HostCosts", "measured", "this_host"]

Costs: TypeAlias = "tuple[float, float, float, float, float, float]"

COSTS = ("row", "eighth", "sixty_fourth", "word", "candidate", "start")
NO_COSTS: Costs = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
_NO_MASKS = np.empty(0, dtype=np.uint32)


def this_host() -> str:
    """What costs depend on here: the instruction set in use and the processor."""
    return f"{_core.active_isa()}, {_core.processor_name() or 'unknown processor'}"


class HostCosts:
    """Costs with the host that they were measured on. Once they count here, they stay as they are.

    Those of another host count for nothing: the first that asks for some measures. Any number of threads may ask.
    """

    def __init__(self, costs: Costs, host: str) -> None:
        self._costs, self._host = costs, host
        self._count = host == this_host()
        self._measuring = threading.Lock()

    @property
    def kept(self) -> tuple[Costs, str]:
        """The costs there are, and of which host: for saving."""
        return self._costs, self._host

    @property
    def known(self) -> Costs | None:
        """Those of this host; None before they were measured."""
        return self._costs if self._count else None

    def here(self, measure: Callable[[], Costs]) -> Costs:
        """Those of this host, measured now unless they are known."""
        with self._measuring:
            if not self._count:
                self._costs, self._host = measure(), this_host()
                self._count = True
            return self._costs


def measured(snapshot: _core.Snapshot, core: _core.LookupCodes, asked: npt.NDArray[np.int64]) -> Costs:
    """Exactly over all rows, every eighth and every sixty-fourth; by codes over all and over the first few."""
    queries, live = snapshot.vectors(asked[:3]), snapshot.live()

    def mask(end: int, step: int) -> _core.Bitmask:
        return (
            _core.Bitmask.from_rows(snapshot.rows, np.arange(0, min(end, snapshot.rows), step, dtype=np.int64)) & live
        )

    def exact(step: int) -> float:
        allowed = mask(snapshot.rows, step)
        took = _best(queries, lambda one: snapshot.search(one, 10, [allowed], _NO_MASKS, 1, False))
        return took / max(1, snapshot.count(allowed))

    def coded(allowed: _core.Bitmask, candidates: int) -> float:
        return _best(
            queries,
            lambda one: core.search(snapshot, one, 1, [allowed], _NO_MASKS, 1, False, candidates, True, NO_COSTS),
        )

    start, few, many = coded(mask(64, 1), 1), coded(live, 1), coded(live, 101)
    words = max(1, snapshot.rows // 64)
    return (exact(1), exact(8), exact(64), max(0.0, few - start) / words, max(0.0, many - few) / 100, start)


def _best(queries: npt.NDArray[np.float32], call: Callable[[npt.NDArray[np.float32]], object]) -> float:
    """Nanoseconds of the quickest of a few calls: others may use the machine."""
    took = []
    for _ in range(3):
        for query in queries:
            began = time.perf_counter_ns()
            call(query[None])
            took.append(time.perf_counter_ns() - began)
    return float(min(took, default=0))
