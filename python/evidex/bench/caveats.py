# SPDX-License-Identifier: Apache-2.0
"""What figures of a report do not say, as far as the records tell."""

from __future__ import annotations

from . import tables
from .groups import Group

__all__ = ["caveats"]

_FEW_ROUNDS = 10
_SMALL = 10**7


def caveats(group: Group, target: float) -> list[str]:
    """Sentences without markup.

    Args:
        group: Of the report.
        target: Recall at which points were compared.
    """
    return [
        *_of_the_machine(group),
        *_of_choosing(group, target),
        *_of_recall(group),
        *_of_memory(group),
        *_of_missing(group),
    ]


def _of_the_machine(group: Group) -> list[str]:
    runs = {record.date for record in group.records}
    rounds = [record.setting.rounds for record in group.records]
    found = [
        "All figures come from one machine. Another processor, other memory or another compiler can put the systems in "
        "another order.",
        f"Every system was limited to {tables.threads(group)}: how it uses more cores is not measured here.",
        "Times are wall-clock, of calls from Python, while the machine may have had other work; p99 of few calls is "
        "little more than their maximum.",
    ]
    if min(rounds) < _FEW_ROUNDS:
        found.append(
            f"Systems took turns in {tables.span(rounds)} rounds. That is few: differences of some percent are noise, "
            "and intervals are too narrow."
        )
    if len(runs) > 1:
        found.append(f"Records come from {len(runs)} runs. Only systems of one run took turns: compare runs with care.")
    return found


def _of_choosing(group: Group, target: float) -> list[str]:
    sweeps = [record.sweep for record in group.records if record.sweep is not None]
    if not sweeps:
        return ["Every system ran with the parameters it is listed with; nothing was chosen."]
    tuned = dict.fromkeys(f"{one.tuned_on[0]} to {one.tuned_on[1] - 1}" for one in sweeps)
    held = dict.fromkeys(f"{one.queries[0]} to {one.queries[1] - 1}" for one in sweeps)
    found = [
        f"Parameters were chosen on queries {', '.join(tuned)}, and all figures but those called tuned are of queries "
        f"{', '.join(held)}. So a chosen point need not be on the front of what is drawn, and one chosen for recall of "
        f"at least {target:g} may have got less.",
        "A grid is a choice too: values that were not tried may serve a system better.",
    ]
    if any(record.sweep is None for record in group.records):
        found.append("Points without a grid were asked every query, those for choosing included.")
    return found


def _of_recall(group: Group) -> list[str]:
    asked = group.first.setting
    found = [
        f"Recall is the mean share of the {asked.k} best permitted rows that were returned, against float64 brute "
        "force. Rows that tie with the last of them count as right, within 1e-6 of its score's magnitude; so recall 1 "
        "does not mean equal ids in equal order, which the column of same ids tells."
    ]
    if group.masks:
        found.append("Making a mask ready (mask s) happens once per setting and is in no other time.")
    wrong = {name for name, of in tables.by_series(group, group.records) if any(_leaks(one.answers) for one in of)}
    found += [f"{name} returned ids that its mask denies." for name in group.series if name in wrong]
    return found


def _leaks(answers: object) -> bool:
    return bool(getattr(answers, "forbidden", 0))


def _of_memory(group: Group) -> list[str]:
    data = group.first.data
    found = [
        "Bytes per row are growth of the process's resident memory while building: allocator slack is in it, memory "
        "that a search takes later is not (RSS searched)."
    ]
    if data.rows * data.dim * 4 < _SMALL:
        found.append(f"{data.rows} rows of {data.dim} dimensions are so little that this growth means little.")
    return found


def _of_missing(group: Group) -> list[str]:
    missing = len(tables.unfinished(group).rows)
    if not missing:
        return []
    return [f"{missing} points or systems failed or were left out. They are in no plot; the reasons are listed."]
