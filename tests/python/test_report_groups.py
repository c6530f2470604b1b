# SPDX-License-Identifier: Apache-2.0
"""What is compared with what: groups, settings, the newest record of a point, the best point of a system, tables."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

import report_examples as examples
from evidex.bench import groups, tables
from evidex.bench.caveats import caveats
from evidex.bench.records import Record

RUN = examples.run()
POINT = examples.swept("hnswlib", {"m": 16}, {"ef_search": 20}, 0.9, 5000.0)


def point(recall: float, speed: float, *, tuned: tuple[float | None, float | None], chosen: bool = True) -> Record:
    made = examples.swept("hnswlib", {"m": 16}, {"ef_search": round(speed)}, recall, speed, chosen=chosen)
    assert made.sweep is not None
    return replace(made, sweep=replace(made.sweep, tuned_recall=tuned[0], tuned_queries_per_s=tuned[1]))


def test_what_may_not_be_compared_stands_apart() -> None:
    """Seen red: with the data's digest, the number of threads or the processor taken out of what a group shares."""
    machine, data, asked = POINT.machine, POINT.data, POINT.setting
    others = [
        *(replace(POINT, machine=one) for one in (replace(machine, processor="another"), replace(machine, cores=64))),
        *(replace(POINT, data=one) for one in (replace(data, name="b"), replace(data, rows=7), replace(data, dim=8))),
        replace(POINT, data=replace(data, digest="f")),
        *(replace(POINT, setting=one) for one in (replace(asked, metric="squared_l2"), replace(asked, k=100))),
        *(replace(POINT, setting=one) for one in (replace(asked, batch=8), replace(asked, threads=2))),
    ]
    found = groups.group([POINT, *others, replace(POINT, benchmark="exact")])
    assert [len(one.records) for one in found] == [2, *[1] * len(others)]
    assert len({tables.title(one) for one in found}) >= len(found) - 3  # machine and digest stand below the title


def test_settings_and_systems_have_an_order_that_the_lines_do_not_change() -> None:
    (one,) = groups.group(RUN)
    (other,) = groups.group(reversed(RUN))
    masks = [(scope.mask, scope.selectivity, scope.permitted) for scope in one.scopes]
    assert masks[:3] == [(None, None, 100_000), ("random", 0.5, 50_000), ("random", 0.1, 10_000)]
    assert masks[-1] == ("correlated", 0.001, 100)
    assert masks == [(scope.mask, scope.selectivity, scope.permitted) for scope in other.scopes]
    assert one.masks == ("random", "correlated")
    assert one.series[0] == other.series[0] == "evidex 0.1.0"
    assert set(one.series) == {groups.series(record) for record in RUN}


def test_the_latest_run_of_a_point_counts() -> None:
    """Seen red: with the first one kept."""
    older, newer = POINT, replace(POINT, date="2026-03-02T00:00:00Z", status="failed")
    other = replace(POINT, sweep=replace(POINT.sweep, search={"ef_search": 40}))  # type: ignore[type-var]
    assert groups.latest([older, newer, other]) == ([newer, other], 1)
    assert groups.latest([newer, older, other]) == ([newer, other], 1)
    again = replace(POINT, reason="the same date")
    assert groups.latest([POINT, again]) == ([again], 1)
    assert groups.latest(RUN) == (RUN, 0)


@pytest.mark.parametrize(
    ("points", "target", "speed", "reached"),
    [
        ([point(0.5, 100, tuned=(0.96, 90)), point(0.99, 200, tuned=(0.97, 80))], 0.95, 100, True),
        ([point(0.99, 100, tuned=(0.94, 90)), point(0.93, 50, tuned=(0.95, 80))], 0.95, 50, True),
        ([point(0.99, 100, tuned=(0.94, 90)), point(0.93, 50, tuned=(0.93, 980))], 0.95, 100, False),
        ([point(0.99, 100, tuned=(0.99, 90), chosen=False), point(0.9, 50, tuned=(0.9, 80))], 0.95, 50, False),
        ([point(0.99, 100, tuned=(None, None)), point(0.9, 50, tuned=(0.9, 80))], 0.5, 50, True),
        ([examples.single("hnswlib", 1.0, 10.0), point(0.9, 50, tuned=(0.96, 80))], 0.95, 50, True),
        ([examples.single("hnswlib", 1.0, 10.0), point(0.9, 50, tuned=(0.96, 80))], 1.0, 10, True),
    ],
)
def test_points_are_chosen_on_the_queries_for_choosing(
    points: list[Record], target: float, speed: float, reached: bool
) -> None:
    """And in no order but their own.

    Seen red: with points judged by their reported recall.
    """
    for order in itertools.permutations(points):
        found = groups.best(order, target)
        assert found is not None and found.record.latency is not None
        assert (found.record.latency.queries_per_s, found.reached) == (speed, reached)


def test_nothing_to_choose_from() -> None:
    assert groups.best([], 0.5) is None
    assert groups.best([examples.stopped("a", "failed", "why")], 0.5) is None


def test_tables_hold_every_point_once() -> None:
    (group,) = groups.group(RUN)
    total = 0
    for scope in group.scopes:
        rows = [*tables.points(group, scope).rows, *tables.others(group, scope).rows]
        done = [one for one in scope.records if one.status == "ok"]
        assert len(rows) == len(set(rows)) == len(done)
        total += len(rows)
    assert total + sum(one.status != "ok" for one in RUN) == len(RUN)
    header = dict.fromkeys(tables.points(group, group.scopes[0]).header)
    assert {"recall@10", "queries/s", "p50 ms", "tuned recall", "bytes/row", "build s"} <= header.keys()


def test_a_row_has_the_figures_of_its_record() -> None:
    (group,) = groups.group([POINT])
    table = tables.points(group, group.scopes[0])
    assert dict(zip(table.header, table.rows[0], strict=True)) == {
        "system": "hnswlib 0.8.0",
        "parameters": "m=16; ef_search=20",
        "recall@10": "0.9000",
        "same ids": "0.9000",
        "queries/s": "5000",
        "p50 ms": "0.2000",
        "p95 ms": "0.2400",
        "p99 ms": "0.4000",
        "tuned recall": "0.9020",
        "tuned queries/s": "5100",
        "bytes/row": "1750",
        "build s": "30.00",
        "mask s": "-",
        "evidex/this [95 %]": "0.500 [0.450, 0.550]",
    }


def test_each_build_is_listed_once() -> None:
    (group,) = groups.group(RUN)
    names = [row[:2] for row in tables.builds(group).rows]
    assert ("hnswlib 0.8.0", "m=16") in names and ("hnswlib 0.8.0", "m=32") in names
    assert ("numpy 0.1.0", "-") in names
    assert len(names) == len(set(names)) == 9


def test_what_did_not_finish_is_listed_with_its_reason() -> None:
    (group,) = groups.group(RUN)
    scann, turbovec = tables.unfinished(group).rows
    assert scann[0] == "scann 1.4.2" and scann[2] == "left out" and scann[4] == "scann takes no masks"
    assert scann[3].count("mask of") == 8
    assert turbovec[0] == "turbovec 0.1.0" and turbovec[2] == "failed" and turbovec[3].startswith("no mask; random")


def test_caveats_follow_the_records() -> None:
    def told(records: list[Record]) -> str:
        (group,) = groups.group(records)
        return " ".join(caveats(group, 0.95))

    everything = told(RUN)
    for what in ("limited to 1 thread:", "5 rounds. That is few", "chosen on queries 0 to 499", "of queries 500 to 999",
                 "Points without a grid", "Making a mask ready", "2 points or systems failed"):  # fmt: skip
        assert what in everything
    single = examples.single("evidex", 1.0, 9.0)
    plain = told([replace(single, setting=replace(single.setting, rounds=10, threads=4))])
    assert "4 threads" in plain and "nothing was chosen" in plain
    for what in ("rounds", "mask ready", "failed", "runs", "denies"):
        assert what not in plain
    assert single.answers is not None
    wrong = replace(single, answers=replace(single.answers, forbidden=2))
    assert "evidex 0.1.0 returned ids that its mask denies" in told([wrong])
    assert "come from 2 runs" in told([single, replace(POINT, date="2026-03-02T00:00:00Z")])
    small = replace(single, data=replace(single.data, rows=200, dim=4))
    assert "200 rows of 4 dimensions are so little" in told([small])


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0.0, "0.000"), (0.0123456, "0.01235"), (1.0, "1.000"), (12345.6, "12346"), (-1750.4, "-1750"),
     (1e-30, "0.000000000"), (999.96, "1000"), (0.0009, "0.0009000")],
)  # fmt: skip
def test_four_digits(value: float | None, text: str) -> None:
    assert tables.figure(value) == text


def test_text_from_outside_is_visible_and_not_endless() -> None:
    shown: dict[str, Any] = {"a\u202eb": "a\\u202eb", "a\x00\x1b[1m": "a\\x00\\x1b[1m", "two\nlines": "two\nlines"}
    for given, seen in shown.items():
        assert tables.visible(given) == seen
    assert len(tables.visible("x" * 10**6)) < 2100
