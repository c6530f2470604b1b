# SPDX-License-Identifier: Apache-2.0
"""Small codes beside the rows of an index, what they need for a recall, and what each way to search costs here."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _checks, _core
from ._costs import COSTS, NO_COSTS, Costs, HostCosts, measured, this_host
from .errors import InvalidInput

__all__ = ["KINDS", "MOST_CANDIDATES", "Calibration", "Codes", "Fit", "Way", "chosen_way", "exact_plan"]

KINDS = tuple(_core.lookup_kinds())
"""Names of the codes."""

MOST_CANDIDATES = 4096
"""A search that would need more is exact."""

Fit: TypeAlias = "tuple[int, float, float]"

_PLAN = re.compile(rf"({'|'.join(KINDS)}) codes, ([0-9]{{1,9}}) rescored")
_SAMPLE = 256  # rows that are asked for as if they were queries
_DEEPEST = 100  # neighbours of each that are looked for
_ROOM = 1.25  # queries are not quite like rows
_NO_MASKS = np.empty(0, dtype=np.uint32)


@dataclass(frozen=True, slots=True)
class Way:
    """How a search is to run: which codes, how many rows are scored, whether or not it costs less than an exact one."""

    codes: Codes
    candidates: int
    forced: bool
    costs: Costs = NO_COSTS

    @property
    def plan(self) -> str:
        """What ``plan=`` takes."""
        return f"{self.codes.kind} codes, {self.candidates} rescored"


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was found when codes were trained.

    Attributes:
        ranks: Of some rows, asked for as queries, and their true neighbours, nearest first: how many rows come before
            each by estimate; int64 [rows, neighbours].
        room: So many times the candidates that those needed are scored.
        fit: What :attr:`evidex._core.LookupCodes.fit` was then.
    """

    ranks: npt.NDArray[np.int64]
    room: float
    fit: Fit


class Codes:
    """4-bit codes of one layout, with what was measured when they were trained.

    Attributes:
        kind: One of :data:`KINDS`.
        seed: What they were trained with.
        core: The codes.
        calibration: What tells how many candidates are needed.
        costs: Nanoseconds: a row exactly where all rows are permitted, where every eighth and where every sixty-fourth
            is, the codes of 64 rows, scoring one candidate, starting. Measured once on a host; searches are planned by
            them from then on.
    """

    def __init__(
        self, kind: str, seed: int, core: _core.LookupCodes, calibration: Calibration, costs: HostCosts
    ) -> None:
        self.kind, self.seed, self.core = kind, seed, core
        self.calibration, self.costs = calibration, costs
        self._sorted: dict[int, npt.NDArray[np.int64]] = {}

    @classmethod
    def train(cls, snapshot: _core.Snapshot, kind: str, seed: int, progress: Callable[[int, int], None]) -> Codes:
        """Learns from rows of the snapshot, codes all of them, and measures. Three steps of progress."""
        progress(0, 3)
        core = _core.LookupCodes.train(snapshot, KINDS.index(kind), seed)
        progress(1, 3)
        core.extend(snapshot)
        progress(2, 3)
        asked = _sample(snapshot, seed)
        calibration = Calibration(_ranks(snapshot, core, asked), _ROOM, core.fit)
        costs = HostCosts(measured(snapshot, core, asked), this_host())
        progress(3, 3)
        return cls(kind, seed, core, calibration, costs)

    def again(self, snapshot: _core.Snapshot) -> Codes:
        """The same for another layout of the same rows."""
        core = self.core.again(snapshot)
        core.extend(snapshot)
        return Codes(self.kind, self.seed, core, self.calibration, self.costs)

    def costs_here(self, snapshot: _core.Snapshot) -> Costs:
        """What searches are planned by; measured now if they are of another host."""
        return self.costs.here(lambda: measured(snapshot, self.core, _sample(snapshot, self.seed)))

    def candidates(self, k: int, recall: float) -> int | None:
        """Rows to score for so much recall on average; None where more would be needed than are worth it.

        Chosen on rows of the index itself, asked for as queries: with so many candidates half of the misses that the
        target allows occurred. Queries unlike the rows may need more.
        """
        deep = min(max(k, 1), int(self.calibration.ranks.shape[1]))
        if deep not in self._sorted:
            self._sorted[deep] = np.sort(self.calibration.ranks[:, :deep].ravel())
        ranks = self._sorted[deep]
        needed = int(ranks[math.ceil((1 - (1 - recall) / 2) * len(ranks)) - 1]) + 1
        if needed > MOST_CANDIDATES:
            return None
        return max(k, math.ceil(self.calibration.room * needed * max(k, 1) / deep))

    def stats(self) -> dict[str, Any]:
        """The operator's figures. No costs where those of another host were loaded and nothing was measured yet."""
        then, now = self.calibration.fit, self.core.fit
        costs = self.costs.known
        return {
            "kind": self.kind,
            "seed": self.seed,
            "rows": self.core.rows,
            "bytes_per_row": self.core.row_bytes,
            "drift": _drift(then, now),
            "costs": None if costs is None else dict(zip(COSTS, costs, strict=True)),
        }


def chosen_way(
    held: dict[str, Codes], snapshot: _core.Snapshot, k: int, recall: object, rescore: object, plan: object
) -> Way | None:
    """What the arguments of a search ask for; None is an exact search.

    Raises:
        InvalidInput: For a recall that is not above 0 and at most 1, a plan that is none or needs codes that the index
            does not hold, and for arguments that contradict each other.
    """
    target = _checks.finite(recall, "recall")
    if not 0 < target <= 1:
        _checks.refuse("recall", recall, "a share above 0 and at most 1", "1 is exact")
    scored = None if rescore is None else _checks.whole(rescore, "rescore", least=1, most=2**31)
    if plan is not None:
        if target < 1 or scored is not None:
            raise InvalidInput("plan: it says how a search runs; leave recall and rescore out")
        return _planned(held, plan)
    if target == 1:
        if scored is not None:
            raise InvalidInput("rescore: an exact search scores what it must; pass it with a recall below 1, or a plan")
        return None
    ways = [
        Way(codes, max(k, count), forced=False, costs=codes.costs_here(snapshot))
        for codes in held.values()
        if codes.core.layout == snapshot.layout
        and (count := codes.candidates(k, target) if scored is None else scored) is not None
    ]
    return min(ways, key=_cost, default=None)


def exact_plan(codec: str, prescan: bool) -> str:
    """What an exact search calls itself."""
    of_decoded = "" if codec == "float32" else f" of decoded {codec} rows"
    return ("exact pre-scan" if prescan else "exact scan") + of_decoded


def _planned(held: dict[str, Codes], plan: object) -> Way | None:
    given = _checks.text(plan, "plan")
    if given == "exact" or given.startswith(("exact scan", "exact pre-scan")):
        return None
    found = _PLAN.fullmatch(given)
    if found is None:
        kinds = " or ".join(repr(f"{kind} codes, 200 rescored") for kind in KINDS)
        _checks.refuse("plan", given, f"'exact' or such as {kinds}", "pass what explain() or the log called the plan")
    if found[1] not in held:
        raise InvalidInput(f"plan: this index holds no {found[1]} codes; make them with train({found[1]!r})")
    return Way(held[found[1]], int(found[2]), forced=True)


def _cost(way: Way) -> float:
    *_, word, candidate, start = way.costs
    return start + word * way.codes.core.rows / 64 + candidate * way.candidates


def _sample(snapshot: _core.Snapshot, seed: int) -> npt.NDArray[np.int64]:
    """Numbers of rows that are asked for."""
    live = np.flatnonzero(snapshot.live().test(np.arange(snapshot.rows, dtype=np.int64)))
    step = max(1, len(live) // _SAMPLE)
    return np.ascontiguousarray(live[seed % step :: step][:_SAMPLE], dtype=np.int64)


def _ranks(snapshot: _core.Snapshot, core: _core.LookupCodes, asked: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many rows come before each true neighbour by estimate: int64 [asked, depth], the row itself left out."""
    queries, live = snapshot.vectors(asked), snapshot.live()
    depth = min(_DEEPEST, snapshot.live_rows - 1)
    exact = snapshot.search(queries, depth + 1, [live], _NO_MASKS, 1, False).rows
    estimated = core.best_by_estimate(snapshot, queries, min(MOST_CANDIDATES, snapshot.live_rows), live)
    missed = 2 * MOST_CANDIDATES
    ranks = np.full((len(asked), depth), missed, dtype=np.int64)
    place = np.full(snapshot.rows, missed, dtype=np.int64)  # of each row by estimate
    for query, row in enumerate(asked.tolist()):
        order = estimated[query][estimated[query] >= 0]
        place[order] = np.arange(len(order))
        true = exact[query][exact[query] != row][:depth]
        at = place[true]
        ranks[query, : len(true)] = np.where(at < missed, at - (at > place[row]), missed)
        ranks[query, : len(true)][true >= core.rows] = 0  # without codes they are scored in any case
        place[order] = missed
    return ranks


def _drift(then: Fit, now: Fit) -> dict[str, float]:
    """Of the rows coded since, beside those of the training: 1 is the same, NaN that there are none."""
    rows = now[0] - then[0]

    def since(part: int) -> float:
        if rows <= 0 or then[part] == 0:
            return math.nan
        return float((now[part] * now[0] - then[part] * then[0]) / rows / then[part])

    return {"rows": float(rows), "spread": since(1), "fit": since(2)}
