# SPDX-License-Identifier: Apache-2.0
"""``evidex bench`` from the command line to records, with systems that are right, wrong, broken and stuck."""

from __future__ import annotations

import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields, replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidex import InvalidInput, __version__
from evidex.bench import datasets, harness, records, systems
from evidex.cli import main

OWN = """
import os, sys, time
from evidex.bench.peers import BUILT_IN

def turn(name):
    with open("turns.log", "a") as log:
        log.write(name)

class Right(BUILT_IN["numpy"]):
    name = "right one"

    def __init__(self, threads):
        super().__init__(threads)
        self.options = {"told": threads, "limits": [os.environ[f"{n}_NUM_THREADS"] for n in ("OMP", "MKL", "RAYON")]}

    def search(self, queries, k, allow):
        turn("R")
        print("noise on standard output", flush=True)
        os.write(1, b"and below Python")
        return super().search(queries, k, allow)

class Wrong(BUILT_IN["numpy"]):
    def search(self, queries, k, allow):
        turn("W")
        ids = super().search(queries, k, allow)
        ids[:, 0] = 0
        return ids

class Crash(BUILT_IN["numpy"]):
    def search(self, queries, k, allow):
        sys.stderr.write("last words")
        sys.stderr.flush()
        os._exit(3)

class Stuck(BUILT_IN["numpy"]):
    def search(self, queries, k, allow):
        time.sleep(600)

class Raises(BUILT_IN["numpy"]):
    def prepare(self, allow):
        if allow.sum() > 20:
            raise RuntimeError("too many")
        return super().prepare(allow)

class NoMask(BUILT_IN["numpy"]):
    def prepare(self, allow):
        raise NotImplementedError("no masks today")
"""
KINDS = ("Right", "Wrong", "Crash", "Stuck", "Raises", "NoMask", "Absent")


@pytest.fixture(scope="module")
def bad_company(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One run with all of them, two masks."""
    folder = tmp_path_factory.mktemp("bench")
    (folder / "own.py").write_text(OWN, encoding="utf-8")
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(folder)
        code = main(
            [
                *"bench filtered --synthetic 300,8 --queries 20 -k 5 --rounds 3 --batch 2 --timeout 5".split(),
                *("--selectivity", "0.5,0.04", "--out", "records.jsonl"),
                *("--peers", ",".join(f"own:{kind}" for kind in KINDS)),
            ]
        )
    lines = [json.loads(line) for line in (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()]
    turns = (folder / "turns.log").read_text(encoding="utf-8")
    return {"code": code, "turns": turns, "out": out.getvalue(), "err": err.getvalue(), "records": lines}


def of(run: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [record for record in run["records"] if record["system"]["given"] == kind]


def test_one_failure_stops_nobody_else(bad_company: dict[str, Any]) -> None:
    assert bad_company["code"] == 1
    assert "own:Crash, own:Stuck, own:Raises, own:Absent failed" in bad_company["err"]
    assert len(bad_company["records"]) == 2 * (1 + len(KINDS))
    for kind in ("evidex", "own:Right"):
        for record in of(bad_company, kind):
            assert (record["status"], record["reason"]) == ("ok", None)
            assert (record["answers"]["recall"], record["answers"]["ids_equal"]) == (1.0, True)
    assert of(bad_company, "own:Right")[0]["system"]["name"] == "right one"


def test_systems_take_turns_in_rotating_order(bad_company: dict[str, Any]) -> None:
    """Three rounds of five calls, the first of them untimed; a round later the first system comes last."""
    once = "RRRRRWWWWW" * 2 + "WWWWWRRRRR"
    assert bad_company["turns"] == once * 2


def test_every_library_is_told_how_many_threads(bad_company: dict[str, Any]) -> None:
    assert of(bad_company, "own:Right")[0]["system"]["options"] == {"told": 1, "limits": ["1", "1", "1"]}


def test_wrong_answers_are_exposed(bad_company: dict[str, Any]) -> None:
    for record in of(bad_company, "own:Wrong"):
        assert record["status"] == "ok"
        assert record["answers"]["recall"] < 1
        assert record["answers"]["ids_equal"] is False
        assert record["answers"]["checked"] == 24


def test_a_crash_is_told_with_its_last_words(bad_company: dict[str, Any]) -> None:
    for record in of(bad_company, "own:Crash"):
        assert record["status"] == "failed"
        assert "ended with code 3 at 'search'" in record["reason"]
        assert record["reason"].endswith("last words")
        assert record["build"]["seconds"] > 0
        assert record["answers"] is record["latency"] is record["ratio"] is None


def test_a_system_that_hangs_is_ended(bad_company: dict[str, Any]) -> None:
    for record in of(bad_company, "own:Stuck"):
        assert (record["status"], record["latency"]) == ("failed", None)
        assert "no answer to 'search' within 5 s" in record["reason"]


def test_an_error_costs_one_setting_only(bad_company: dict[str, Any]) -> None:
    first, second = of(bad_company, "own:Raises")
    assert (first["status"], second["status"]) == ("failed", "ok")
    assert "RuntimeError: too many (at 'prepare')" in first["reason"]


def test_a_system_that_does_not_load_is_told(bad_company: dict[str, Any]) -> None:
    for record in of(bad_company, "own:Absent"):
        assert record["status"] == "failed"
        assert "has no attribute 'Absent' (at 'load')" in record["reason"]
        assert record["system"] == {"given": "own:Absent", "name": "own:Absent", "version": None, "options": {}}
        assert record["build"] is None


def test_what_a_system_cannot_do_is_left_out_with_the_reason(bad_company: dict[str, Any]) -> None:
    for record in of(bad_company, "own:NoMask"):
        assert (record["status"], record["reason"]) == ("left_out", "no masks today")
    assert "own:NoMask: left out: no masks today" in bad_company["out"]


def test_the_text_has_a_table_per_setting(bad_company: dict[str, Any]) -> None:
    out, err = bad_company["out"], bad_company["err"]
    assert "random mask of 0.5: 150 of 300 rows" in out
    assert "random mask of 0.04: 12 of 300 rows" in out
    assert out.count("evidex/this") == 2
    assert "GB/s" in out and "GFLOP/s" in out
    assert "[4/4] searching, random mask of 0.04" in err
    assert "noise" not in out


def test_a_record_is_complete(bad_company: dict[str, Any]) -> None:
    right, base = of(bad_company, "own:Right")[0], of(bad_company, "evidex")[0]
    assert list(right) == [field.name for field in fields(records.Record)]
    assert all(value is not None for name, value in right.items() if name not in ("reason", "sweep", "sparse"))
    assert base["ratio"] is None
    setting = {"metric": "cosine", "k": 5, "batch": 2, "threads": 1, "rounds": 3, "calls": 12, "seed": 0}
    assert right["setting"] == {**setting, "mask": "random", "selectivity": 0.5, "permitted": 150}
    assert (right["data"]["rows"], right["data"]["dim"], right["data"]["queries"]) == (300, 8, 20)
    assert (right["benchmark"], right["version"]) == ("filtered", records.VERSION)
    build = right["build"]
    assert build["rss_growth_bytes"] == build["rss_after_bytes"] - build["rss_before_bytes"]
    assert build["bytes_per_row"] == pytest.approx(build["rss_growth_bytes"] / 300)
    assert build["rss_searched_bytes"] > build["rss_before_bytes"]
    assert build["prepare_seconds"] > 0
    ratio = right["ratio"]
    assert 0 < ratio["low"] <= ratio["median"] <= ratio["high"]
    assert ratio["rounds"] == 3
    latency = right["latency"]
    assert 0 < latency["p50_ms"] <= latency["p95_ms"] <= latency["p99_ms"]


def test_exact_on_files_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    np.save(tmp_path / "vectors.npy", rng.standard_normal((200, 16)).astype(np.float16))
    np.save(tmp_path / "queries.npy", rng.standard_normal((12, 16)))
    arguments = ["--rows", "150", "--metric", "l2", "--batch", "8", "--rounds", "2", "--threads", "2", "--json"]
    assert main(["bench", "exact", "--data", str(tmp_path), *arguments]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)["records"]
    assert [(r["system"]["name"], r["status"], r["answers"]["recall"]) for r in found] == [
        ("evidex", "ok", 1.0),
        ("numpy", "ok", 1.0),
    ]
    assert found[0]["system"]["version"] == found[0]["machine"]["evidex"] == __version__
    assert found[0]["setting"]["mask"] is found[0]["build"]["prepare_seconds"] is None
    assert (found[0]["setting"]["metric"], found[0]["setting"]["threads"]) == ("squared_l2", 2)
    assert found[0]["data"]["rows"] == found[0]["setting"]["permitted"] == 150
    assert "[3/3] searching\n" in err


def test_every_query_is_asked_in_whole_batches() -> None:
    for queries, batch, rounds in ((10, 1, 3), (10, 4, 2), (3, 8, 2), (100, 7, 10)):
        plan = harness.Plan("exact", "cosine", [], batch=batch, rounds=rounds)
        chunks = systems.chunks(queries, plan)
        assert len(chunks) == rounds
        assert len({len(chunk) for chunk in chunks}) == 1
        assert len(chunks[0]) % batch == 0
        assert set(np.concatenate(chunks).tolist()) == set(range(queries))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"recall": 0.99, "beyond_rounding": 3}, "wrongly: recall 0.9900, 3 of 30 answers differ from brute force"),
        ({"forbidden": 1}, "more than rounding, 1 ids are not permitted (inner_product, k=10, batch 1"),
    ],
)
def test_a_wrong_answer_of_evidex_is_an_error(
    changes: dict[str, Any], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cannot be made to answer wrongly, so its record is changed; one more of another system is no error."""
    plan = harness.Plan("exact", "inner_product", ["numpy"], rounds=3, probe_bytes=2**20)
    base, other = harness.run(datasets.synthetic(50, 4, None, 30, seed=0), plan)
    assert base.answers is not None
    wrong = replace(base, answers=replace(base.answers, **changes))
    monkeypatch.setattr(harness, "run", lambda *_: iter([wrong, other]))
    assert main(["bench", "exact", "--synthetic", "50,4"]) == 1
    assert message in capsys.readouterr().err
    monkeypatch.setattr(harness, "run", lambda *_: iter([base, replace(other, answers=wrong.answers)]))
    assert main(["bench", "exact", "--synthetic", "50,4"]) == 0


def test_zero_vectors_have_no_cosine() -> None:
    data = datasets.synthetic(20, 4, None, 5, seed=0)
    data.vectors[7] = 0
    with pytest.raises(InvalidInput, match="vectors: row 7 is zero"):
        next(harness.run(data, harness.Plan("exact", "cosine", [])))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--peers", "numpy,annoy"], "one of evidex, numpy, faiss, usearch, hnswlib or module:Class, got 'annoy'"),
        (["--peers", "numpy,numpy"], "distinct names"),
        (["--peers", "evidex"], "distinct names besides evidex"),
        (["-k", "0"], "k: expected a whole number"),
        (["--batch", "0"], "batch: expected"),
        (["--threads", "0"], "threads: expected"),
        (["--rounds", "0"], "rounds: expected"),
        (["--seed", "-1"], "seed: expected"),
        (["--timeout", "0"], "timeout: expected"),
        (["--rows", "51"], "rows: expected a number from 1 to 50"),
        (["--queries", "0"], "queries: expected"),
        (["--out", "no/such/folder/a.jsonl"], "cannot be written"),
        (["--selectivity", "0.1,2"], "selectivity: expected shares above 0 and at most 1, got 2.0"),
    ],
)
def test_wrong_values_exit_with_1_before_anything_runs(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness, "run", None)
    assert main(["bench", "filtered", "--synthetic", "50,4", *arguments]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["exact"],
        ["exact", "--synthetic", "50,4", "--data", "."],
        ["exact", "--synthetic", "50"],
        ["exact", "--synthetic", "50,4", "--mask", "run"],
        ["filtered", "--synthetic", "50,4", "--mask", "none"],
        ["filtered", "--synthetic", "50,4", "--selectivity", "half"],
        ["filtered", "--synthetic", "50,4", "--metric", "hamming"],
        [],
    ],
)
def test_wrong_usage_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["bench", *arguments])
    assert stopped.value.code == 2
    assert "usage: evidex" in capsys.readouterr().err
