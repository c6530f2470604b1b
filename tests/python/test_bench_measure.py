# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: statistics and checked answers against slow references, and the record."""

from __future__ import annotations

import json
import random
import re
import statistics
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest

import reference
from evidex import InvalidInput
from evidex.bench import lines, measure, records, report, truth


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def test_latency_is_over_all_calls() -> None:
    rng = random.Random(0)
    rounds = [[rng.uniform(0.001, 0.1) for _ in range(7)] for _ in range(9)]
    got = measure.latency(rounds, batch=4)
    calls = [seconds for one in rounds for seconds in one]
    for value, share in ((got.p50_ms, 0.50), (got.p95_ms, 0.95), (got.p99_ms, 0.99)):
        assert value == pytest.approx(1e3 * percentile(calls, share))
    assert got.queries_per_s == pytest.approx(4 * 63 / sum(calls))


def test_ratios_are_paired_by_round_before_the_median() -> None:
    """A machine that slows down for both cancels; medians of all calls would not pair."""
    base = [[1.0, 1.0, 9.0], [10.0, 10.0, 10.0], [100.0, 100.0, 1.0]]
    other = [[2.0, 2.0, 2.0], [20.0, 90.0, 20.0], [100.0, 100.0, 100.0]]
    got = measure.paired_ratio("evidex", base, other, seed=0)
    assert (got.base, got.median, got.rounds, got.confidence) == ("evidex", 0.5, 3, 0.95)
    assert got.low <= got.median <= got.high
    assert (got.low, got.high) == (0.5, 1.0)
    with pytest.raises(ValueError, match="3 rounds cannot be paired with 2"):
        measure.paired_ratio("evidex", base, other[:2], seed=0)


def test_the_interval_follows_its_seed_and_agrees_with_a_slow_bootstrap() -> None:
    values = np.random.default_rng(0).normal(2, 0.3, 15)
    low, high = measure.bootstrap_median(values, 0)
    assert measure.bootstrap_median(values, 0) == (low, high)
    assert measure.bootstrap_median(np.full(5, 3.0), 0) == (3.0, 3.0)
    rng = random.Random(0)
    medians = [statistics.median(rng.choices(values.tolist(), k=15)) for _ in range(2000)]
    assert low == pytest.approx(percentile(medians, 0.025), abs=0.05)
    assert high == pytest.approx(percentile(medians, 0.975), abs=0.05)
    assert low < high


def slow_truth(rows: Any, query: Any, k: int, metric: str, permitted: list[int]) -> list[int]:
    def score(row: Any) -> float:
        product = sum(float(a) * float(b) for a, b in zip(row, query, strict=True))
        if metric == "cosine":
            return float(product / np.sqrt(sum(float(a) ** 2 for a in row)))
        if metric == "squared_l2":
            return -sum((float(a) - float(b)) ** 2 for a, b in zip(row, query, strict=True))
        return product

    return sorted(permitted, key=lambda i: (-score(rows[i]), i))[:k]


@pytest.mark.parametrize("metric", ["inner_product", "cosine", "squared_l2"])
@pytest.mark.parametrize("masked", [False, True])
def test_brute_force_is_in_full_order_ties_included(metric: str, masked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(truth, "_ROWS", 7)  # many tiles
    monkeypatch.setattr(truth, "_QUERIES", 2)
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40, 5)).astype(np.float32)
    rows[20:] = rows[:20]  # every row twice
    queries = rng.standard_normal((5, 5)).astype(np.float32)
    allow = rng.random(40) < 0.4 if masked else None
    permitted = list(range(40)) if allow is None else np.flatnonzero(allow).tolist()
    for k in (1, 5, 100):
        got = truth.brute_force(rows, queries, k, metric, allow)
        for query, ids in zip(queries, got.ids.tolist(), strict=True):
            assert ids == slow_truth(rows, query, k, metric, permitted)


def checked(answers: list[list[int]], allow: Any = None, k: int = 2) -> records.Answers:
    """Rows at 0, 1, 1, 3, 9 of a line, one query at 0, squared L2: the best are 0, then 1 or 2."""
    rows = np.array([[0], [1], [1], [3], [9]], np.float32)
    queries = np.zeros((1, 1), np.float32)
    right = truth.brute_force(rows, queries, k, "squared_l2", allow)
    asked = np.zeros(len(answers), np.int64)
    return truth.check(np.array(answers), asked, right, rows, queries, "squared_l2", allow)


def test_answers_are_compared() -> None:
    assert checked([[0, 1]]) == records.Answers(1, 1.0, True, 1.0, 0, 0)
    assert checked([[0, 2]]) == records.Answers(1, 1.0, False, 0.0, 0, 0)  # a tie at the k-th score
    assert checked([[1, 0]]).ids_equal is False  # the order counts
    assert checked([[0, 3]]).recall == 0.5
    assert checked([[0, 0]]).recall == 0.5  # twice the same is one
    assert checked([[0, -1]]).recall == 0.5  # padding is none
    assert checked([[0, 1], [0, 2], [3, 4]]) == records.Answers(3, 2 / 3, False, 1 / 3, 0, 1)


def test_answers_outside_the_mask_are_counted_and_do_not_help() -> None:
    allow = np.array([True, False, False, True, False])
    assert checked([[0, 3, -1]], allow, k=3) == records.Answers(1, 1.0, True, 1.0, 0, 0)  # all there are
    assert checked([[0, 1, 3]], allow, k=3).forbidden == 1
    got = checked([[0, 1], [0, 7], [0, -5]], allow)
    assert (got.recall, got.forbidden, got.ids_equal) == (0.5, 3, False)


@pytest.mark.parametrize(
    ("answer", "beyond"), [([0, 1], 0), ([1, 0], 0), ([0, 2], 1), ([2, 0], 1), ([0, 0], 1), ([0, -1], 1), ([0, 9], 1)]
)
@pytest.mark.parametrize("metric", ["inner_product", "cosine", "squared_l2"])
def test_other_ids_are_wrong_unless_rounding_explains_them(metric: str, answer: list[int], beyond: int) -> None:
    """Row 1 scores a few units of float32 less than row 0, row 2 a ten-thousandth."""
    rows = np.array([[100, 0], [100, 0.03], [100, 3], [80, 60]], np.float32)
    if metric != "cosine":
        rows = np.array([[50, 0], [50 - 1e-5, 0], [49.99, 0], [30, 40]], np.float32)
    query = np.array([[100, 0]], np.float32)
    right = truth.brute_force(rows, query, 2, metric, None)
    assert right.ids.tolist() == [[0, 1]]
    got = truth.check(np.array([answer]), np.zeros(1, np.int64), right, rows, query, metric, None)
    assert got.beyond_rounding == beyond


@pytest.mark.parametrize("metric", reference.METRICS)
@pytest.mark.parametrize("dim", [3, 40, 384])
def test_the_order_of_canonical_scores_is_explained(metric: str, dim: int) -> None:
    """Rows so close that float32 often puts them in another order than float64."""
    rng = np.random.default_rng(dim)
    rows = (rng.standard_normal(dim) + 1e-6 * rng.standard_normal((200, dim))).astype(np.float32)
    queries = rng.standard_normal((20, dim)).astype(np.float32)
    right = truth.brute_force(rows, queries, 10, metric, None)
    stored, asked = reference.prepared(metric, rows), reference.prepared(metric, queries)
    scores = np.array([reference.scores(metric, query, stored) for query in asked])
    answers = np.array([np.lexsort((np.arange(200), -row))[:10] for row in scores])
    got = truth.check(answers, np.arange(20), right, rows, queries, metric, None)
    assert got.ids_equal_share < 0.5
    assert got.beyond_rounding == 0


def example(**changes: Any) -> records.Record:
    given: dict[str, Any] = {
        "version": records.VERSION,
        "benchmark": "exact",
        "date": records.utc_now(),
        "status": "ok",
        "reason": None,
        "machine": records.Machine("cpu", "Linux", 2, "3", "2", 1, 10.0, 50.0, 8, "0", "avx2"),
        "data": records.Data("synthetic", "5,1", 5, 1, 1, 0, "00"),
        "setting": records.Setting("cosine", 10, 1, 1, 2, 4, 0, None, None, 5),
        "system": records.System("faiss", "faiss", "1", {"index": "x"}),
        "build": records.Build(1.0, 1, 2, 1, 3, 0.2, None),
        "answers": records.Answers(4, 0.99999, False, 0.75, 0, 0),
        "latency": records.Latency(1.0, 2.0, 3.0, 1000.0),
        "ratio": records.Ratio("evidex", 0.5, 0.4, 0.6, 0.95, 2, 2000),
    }
    return records.Record(**{**given, **changes})


def parts(kind: Any) -> list[Any]:
    hints = get_type_hints(kind)
    return [kind, *(p for hint in hints.values() for p in (hint, *get_args(hint)) if is_dataclass(p))]


def test_every_field_of_a_record_is_documented() -> None:
    text = records.__doc__ or ""
    kinds = parts(records.Record)
    assert len(kinds) == 11
    for kind in kinds:
        block = re.search(rf"^{kind.__name__}(?::[^\n]*)?\n((?:    [^\n]*\n)+)", text, flags=re.M)
        assert block, kind
        named = re.findall(r"\w+", " ".join(re.findall(r"^ {4}(\w+(?:, \w+)*) {2,}\S", block[1], flags=re.M)))
        assert [f.name for f in fields(kind) if f.name not in named] == []


def test_a_record_is_one_line_of_json_and_files_grow(tmp_path: Path) -> None:
    record = example()
    assert json.loads(lines.as_line(record)) == record.to_dict()
    with pytest.raises(ValueError, match="JSON compliant"):
        lines.as_line(example(latency=records.Latency(float("nan"), 1, 1, 1)))
    path = tmp_path / "out.jsonl"
    lines.require_writable(path)
    lines.append(path, record)
    lines.append(path, record)
    assert [json.loads(line) for line in path.read_text().splitlines()] == [record.to_dict()] * 2
    with pytest.raises(InvalidInput, match="cannot be written"):
        lines.require_writable(tmp_path / "absent" / "out.jsonl")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", record.date)


def test_the_table_never_rounds_up_to_perfect_and_says_what_failed() -> None:
    row = dict(zip(report.HEADER, report.cells(example()), strict=True))
    assert (row["recall"], row["same ids"], row["evidex/this [95 %]"]) == ("0.9999", "0.7500", "0.500 [0.400, 0.600]")
    empty = {"answers": None, "latency": None, "ratio": None, "build": None}
    failed = example(status="failed", reason="broke", **empty)
    cells = report.cells(failed)
    assert (len(cells), cells[1]) == (len(report.HEADER), "failed")
    forbidden = example(answers=records.Answers(1, 1.0, True, 1.0, 3, 0))
    assert report.notes([example(), failed, forbidden]) == [
        "faiss: failed: broke",
        "faiss: returned 3 ids that are not permitted",
    ]
    assert report.failures([failed, failed, example(status="left_out")]) == ["faiss"]


def test_mistakes_are_told_of_the_system_that_may_make_none() -> None:
    wrong, denied, rounded = (0.99999, False, 0.5, 0, 2), (1.0, False, 0.75, 2, 0), (0.9999, False, 0.5, 0, 0)
    done = [example(answers=records.Answers(4, *rest)) for rest in (wrong, denied, rounded)]
    assert [one.split(" (cosine, k=10")[0] for one in report.mistakes([*done, example(answers=None)], "faiss")] == [
        "recall 0.9999, 2 of 4 answers differ from brute force by more than rounding, 0 ids are not permitted",
        "recall 1.0000, 0 of 4 answers differ from brute force by more than rounding, 2 ids are not permitted",
    ]
    assert report.mistakes(done, "evidex") == []
