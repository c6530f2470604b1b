# SPDX-License-Identifier: Apache-2.0
"""``evidex bench ann`` from the command line to records: choice, turns, failures, masks."""

from __future__ import annotations

import json
import random
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from evidex.bench import datasets, records
from evidex.bench.ann import sweep
from evidex.cli import main

OWN = """
import os, time
import numpy as np
from evidex.bench.ann import SweepPeer
from evidex.bench.peers import BUILT_IN

Plain = BUILT_IN["numpy"]

class Exact(SweepPeer):
    name = "exact"

    def build(self, vectors, metric):
        self.inner = Plain(self.threads)
        self.inner.build(vectors, metric)

    def prepare(self, allow):
        return self.inner.prepare(allow)

    def search(self, queries, k, allow):
        return self.inner.search(queries, k, allow)

    def version(self):
        return "7"

class Logged(Exact):
    name = "logged"

    @classmethod
    def builds(cls, rows, dim, grid):
        return [{"m": "a"}, {"m": "b"}]

    @classmethod
    def searches(cls, build, grid):
        return [{"ef": ef} for ef in ((1, 2) if grid == "small" else (1, 2, 3))]

    def tune(self, search):
        self.log(f" {self.parameters['m']}{search['ef']}")

    def search(self, queries, k, allow):
        self.log(".")
        return super().search(queries, k, allow)

    def log(self, what):
        with open("turns.log", "a") as file:
            file.write(what)

class Kinds(Exact):
    @classmethod
    def searches(cls, build, grid):
        return [{"kind": kind} for kind in ("lucky", "solid", "slow")]

    def search(self, queries, k, allow):
        kind = self.tuned["kind"]
        tuning = queries[0, 0] > 0
        time.sleep({"lucky": 0.001, "solid": 0.005, "slow": 0.01}[kind] + (0 if tuning else 0.02))
        ids = super().search(queries, k, allow)
        if tuning != (kind == "lucky"):
            ids[:] = -1
        return ids

class Leaky(Exact):
    def prepare(self, allow):
        self.denied = 0 if allow is None else int(np.flatnonzero(~allow)[0])
        return super().prepare(allow)

    def search(self, queries, k, allow):
        ids = super().search(queries, k, allow)
        ids[:, 0] = self.denied
        return ids

class Sour(Exact):
    @classmethod
    def searches(cls, build, grid):
        return [{"ef": ef} for ef in (1, 2, 3)]

    def tune(self, search):
        if search["ef"] == 2:
            raise RuntimeError("2 is a bad number")

class Crash(Exact):
    @classmethod
    def builds(cls, rows, dim, grid):
        return [{"bad": True}, {"bad": False}]

    def search(self, queries, k, allow):
        if self.parameters["bad"]:
            os._exit(3)
        return super().search(queries, k, allow)

class NoBuild(Exact):
    def build(self, vectors, metric):
        raise NotImplementedError("no rows today")

class NoMask(Exact):
    def prepare(self, allow):
        if allow is not None:
            raise NotImplementedError("no masks today")
        return super().prepare(allow)

class NoGrid(Exact):
    @classmethod
    def builds(cls, rows, dim, grid):
        return [{"m": (1, 2)}]
"""
KINDS = ("Leaky", "Sour", "Crash", "NoBuild", "NoMask", "NoGrid", "Absent")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_sweeps.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One run with all of them, without a mask and with one."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "own_sweeps.py").write_text(OWN, encoding="utf-8")
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(folder)
        code = main(
            [
                *"bench ann --synthetic 200,8 --queries 15 -k 5 --rounds 2 --mask none,run --selectivity 0.1".split(),
                *("--out", "records.jsonl", "--peers", ",".join(["numpy", *(f"own_sweeps:{kind}" for kind in KINDS)])),
            ]
        )
    lines = [json.loads(line) for line in (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()]
    return {"code": code, "out": out.getvalue(), "err": err.getvalue(), "records": lines}


def of(run: dict[str, Any], kind: str, mask: str | None = None) -> list[dict[str, Any]]:
    return [
        record for record in run["records"] if record["system"]["given"] == kind and record["setting"]["mask"] == mask
    ]


def measured(data: datasets.Dataset, **options: Any) -> list[records.Record]:
    asked = {"benchmark": "ann", "metric": "squared_l2", "rounds": 3, "probe_bytes": 2**20, **options}
    return list(sweep.run(data, sweep.Plan(**asked)))


@pytest.mark.usefixtures("own")
def test_parameters_are_chosen_on_the_first_half_alone() -> None:
    """On the tuning queries ``lucky`` is right and fast, on the others ``solid`` and ``slow`` are right.

    Seen red: with the front of the reporting queries, ``lucky`` (fast) and ``solid`` (right) are chosen.
    """
    data = datasets.synthetic(60, 4, None, 20, seed=0)
    data.queries[:, 0] = abs(data.queries[:, 0]) + 0.1
    data.queries[10:, 0] *= -1
    found = measured(data, peers=["own_sweeps:Kinds"])
    points = {r.sweep.search["kind"]: r for r in found[1:] if r.sweep is not None and r.answers is not None}
    got = {kind: (r.sweep.tuned_recall, r.answers.recall, r.sweep.chosen) for kind, r in points.items()}  # type: ignore[union-attr]
    assert got == {"lucky": (1.0, 0.0, True), "solid": (0.0, 1.0, False), "slow": (0.0, 1.0, False)}
    for record in points.values():
        assert record.answers is not None and record.answers.checked == 12  # 10 queries in 3 rounds of 4
        assert record.latency is not None and record.sweep is not None and record.sweep.tuned_queries_per_s is not None
        assert record.latency.p50_ms > 20  # which only the second half is
        assert record.sweep.tuned_queries_per_s > record.latency.queries_per_s


def test_the_front_is_what_nothing_dominates() -> None:
    """Seen red: with ``or`` for ``and`` (nothing stays), and without the strict part (equal points lose each other)."""
    assert sweep.front([(0.9, 100), (0.8, 50), (0.8, 200), (0.9, 100), (0.9, 90), (1.0, 1)]) == [
        *(True, False, True, True, False, True)
    ]
    assert sweep.front([]) == []
    rng = random.Random(0)
    for _ in range(50):
        points = [(rng.randrange(5) / 4, float(rng.randrange(5))) for _ in range(12)]
        for point, kept in zip(points, sweep.front(points), strict=True):
            better = [
                other
                for other in points
                if (other[0] > point[0] and other[1] >= point[1]) or (other[0] >= point[0] and other[1] > point[1])
            ]
            assert kept == (not better)


def test_all_points_take_turns_in_every_round(own: Path) -> None:
    """Builds alternate, each round begins elsewhere; per half of a turn one untimed call and two timed ones.

    Seen red: with the points of a build one after the other, and with the same beginning in every round.
    """
    found = measured(datasets.synthetic(60, 4, None, 12, seed=0), peers=["own_sweeps:Logged"])
    turns = (own / "turns.log").read_text(encoding="utf-8").split()
    # evidex, whose turns are not in the log, comes first, last, and between b2 and a1.
    assert turns == [f"{point}......" for point in "a1 b1 a2 b2 a1 b1 a2 b2 a2 b2 a1 b1".split()]
    assert [r.setting.calls for r in found] == [6] * 5


@pytest.mark.usefixtures("own")
def test_the_larger_grid_has_more_points_and_records_tell_all() -> None:
    data = datasets.synthetic(60, 4, None, 13, seed=0)
    found = measured(data, peers=["own_sweeps:Logged"], rounds=2, grid="full", masks=[("random", 0.5)])
    base, *points = found
    assert base.system.given == "evidex" and base.ratio is None
    assert [(r.sweep.build, r.sweep.search) for r in points if r.sweep is not None] == [
        ({"m": m}, {"ef": ef}) for m in "ab" for ef in (1, 2, 3)
    ]
    for record in points:
        sweep_part = record.sweep
        assert sweep_part is not None and sweep_part.grid == {"m": ["a", "b"], "ef": [1, 2, 3]}
        assert (sweep_part.tuned_on, sweep_part.queries) == ((0, 6), (6, 13))
        assert (sweep_part.tuned_recall, record.benchmark) == (1.0, "ann")
        assert record.build is not None and record.build.seconds > 0 and record.build.prepare_seconds is not None
        assert record.system == records.System("own_sweeps:Logged", "logged", "7", {})
        assert (record.setting.permitted, record.setting.rounds, record.setting.calls) == (30, 2, 8)
        assert record.ratio is not None and record.ratio.rounds == 2
        written = record.to_dict()
        assert list(written) == [field.name for field in fields(records.Record)]
        assert [name for name, value in written.items() if value is None] == ["reason", "sparse"]


def test_one_failure_stops_nobody_else(company: dict[str, Any]) -> None:
    """Seen red: with the child of a build shared by all points of a system, the good build of Crash fails too."""
    assert company["code"] == 1
    assert "own_sweeps:Sour, own_sweeps:Crash, own_sweeps:NoGrid, own_sweeps:Absent failed" in company["err"]
    for mask in (None, "run"):
        for kind in ("evidex", "numpy"):
            (record,) = of(company, kind, mask)
            assert (record["status"], record["answers"]["recall"], record["sweep"]["chosen"]) == ("ok", 1.0, True)
            assert (record["sweep"]["build"], record["sweep"]["search"], record["sweep"]["grid"]) == ({}, {}, {})
        assert [record["status"] for record in of(company, "own_sweeps:Sour", mask)] == ["ok", "failed", "ok"]
        assert [record["status"] for record in of(company, "own_sweeps:Crash", mask)] == ["failed", "ok"]
        (left,) = of(company, "own_sweeps:NoBuild", mask)
        assert (left["status"], left["reason"], left["build"]) == ("left_out", "no rows today", None)
    bad = of(company, "own_sweeps:Sour")[1]
    assert bad["sweep"]["tuned_recall"] is bad["answers"] is bad["latency"] is None
    assert bad["sweep"]["chosen"] is False
    assert "RuntimeError: 2 is a bad number (at 'tune')" in bad["reason"]
    assert "ended with code 3 at 'search'" in of(company, "own_sweeps:Crash", "run")[0]["reason"]
    assert "expected dicts of plain values" in of(company, "own_sweeps:NoGrid")[0]["reason"]
    assert "has no attribute 'Absent'" in of(company, "own_sweeps:Absent")[0]["reason"]


def test_masks_are_obeyed_or_the_system_is_left_out(company: dict[str, Any]) -> None:
    """Seen red: Leaky's rows go uncounted where answers are checked without the mask."""
    assert [r["status"] for r in of(company, "own_sweeps:NoMask")] == ["ok"]
    (left,) = of(company, "own_sweeps:NoMask", "run")
    assert (left["status"], left["reason"]) == ("left_out", "no masks today")
    (leaky,) = of(company, "own_sweeps:Leaky", "run")
    assert leaky["answers"]["forbidden"] == leaky["answers"]["checked"] == 8
    assert leaky["setting"]["permitted"] == 20
    for record in of(company, "evidex", "run"):
        assert (record["answers"]["forbidden"], record["answers"]["beyond_rounding"]) == (0, 0)


def test_the_text_has_grids_chosen_points_and_reasons(company: dict[str, Any]) -> None:
    out, err = company["out"], company["err"]
    assert "own_sweeps:Sour: ef 1, 2, 3 (3 points)\nown_sweeps:Crash: bad True, False (2 points)" in out
    assert "evidex: no parameters (1 point)" in out
    assert out.count("parameters chosen on queries 0 to 6, figures of queries 7 to 14") == 2
    assert "run mask of 0.1: 20 of 200 rows" in out
    assert "own_sweeps:Crash bad=True: failed: the process ended with code 3" in out
    assert "own_sweeps:NoMask: left out: no masks today" in out
    assert "own_sweeps:Leaky: returned 8 ids that are not permitted" in out
    table = [line for line in out.splitlines() if line.startswith("own_sweeps:Sour ef=")]
    assert 4 <= len(table) <= 6  # in both settings one or two are chosen, and one line says why the third was not
    assert "[1/" in err and "building own_sweeps:Crash (bad=False) over 200 rows" in err
    assert "searching, run mask of 0.1: round 2 of 2" in err
