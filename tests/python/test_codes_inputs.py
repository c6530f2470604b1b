# SPDX-License-Identifier: Apache-2.0
"""DenseIndex.train and search(recall=, rescore=, plan=): what they refuse, and rows that say little."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from codes_examples import KINDS, QUERIES, RNG, ROWS, filled, forced
from evidex import DenseIndex, InvalidInput


@pytest.fixture(scope="module", params=KINDS)
def index(request: pytest.FixtureRequest) -> DenseIndex:
    return filled(request.param)


@pytest.mark.parametrize("recall", [0, 0.0, -0.5, 1.5, 2, math.nan, math.inf, -math.inf, True, "0.9", None, [0.9]])
def test_a_recall_is_a_share(index: DenseIndex, recall: Any) -> None:
    with pytest.raises(InvalidInput, match="recall: expected"):
        index.search(QUERIES, 10, recall=recall)
    with pytest.raises(InvalidInput, match="recall: expected"):
        index.explain(QUERIES[0], 10, recall=recall)


@pytest.mark.parametrize(
    "plan", ["", "codes", "binary", "binary codes", "binary codes, -1 rescored", "graph", 3, b"exact"]
)
def test_a_plan_is_one_that_was_told(index: DenseIndex, plan: Any) -> None:
    with pytest.raises(InvalidInput, match="plan: expected"):
        index.search(QUERIES, 10, plan=plan)


def test_arguments_that_contradict_each_other(index: DenseIndex) -> None:
    for arguments, message in (
        ({"rescore": 50}, "rescore: an exact search scores what it must"),
        ({"rescore": 50, "recall": 1}, "rescore: an exact search scores what it must"),
        ({"plan": "exact", "recall": 0.5}, "plan: it says how a search runs"),
        ({"plan": "exact", "rescore": 5}, "plan: it says how a search runs"),
        ({"recall": 0.5, "rescore": 0}, "rescore: expected a whole number"),
        ({"recall": 0.5, "rescore": 2.5}, "rescore: expected a whole number"),
    ):
        with pytest.raises(InvalidInput, match=message):
            index.search(QUERIES, 10, **arguments)
    other = "pq4" if index.stats()["codes"][0]["kind"] == "binary" else "binary"
    with pytest.raises(InvalidInput, match=f"this index holds no {other} codes; make them with train"):
        index.search(QUERIES, 10, plan=f"{other} codes, 50 rescored")


def test_without_codes_every_target_is_met_exactly() -> None:
    index = filled(None)
    assert index.search(QUERIES, 10, recall=0.1).certified.all()
    assert index.explain(QUERIES[0], recall=0.1).plan == "exact pre-scan"
    assert index.stats()["codes"] == []


@pytest.mark.parametrize("codes", ["", "PQ4", "int8", None, 3, ["binary"]])
def test_kinds_of_codes(codes: Any) -> None:
    with pytest.raises(InvalidInput, match="codes: expected 'binary' or 'pq4'"):
        filled(None).train(codes)


def test_what_cannot_be_trained() -> None:
    """Nothing is changed then."""
    index = DenseIndex(4)
    for rows in (0, 255):
        index.add(None, np.ones((rows, 4)))
        with pytest.raises(InvalidInput, match="rows tell too little; add at least 256"):
            index.train()
    with pytest.raises(InvalidInput, match="seed: expected a whole number"):
        filled(None).train(seed=-1)
    assert index.stats()["codes"] == []
    index.add(None, np.ones((1, 4)))
    index.train()


def test_rows_too_few_for_a_word_need_no_candidates() -> None:
    """A sixth of these rows has no code. Seen red with those counted among the rows that codes miss."""
    codes = filled(rows=ROWS[:310])._codes["binary"]
    assert codes.core.rows == 256
    assert codes.candidates(10, 0.95) is not None


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    filled(None).train(progress=lambda done, steps: told.append((done, steps)))
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]

    def stop(done: int, steps: int) -> None:
        raise KeyboardInterrupt

    index = filled(None)
    with pytest.raises(KeyboardInterrupt):
        index.train(progress=stop)
    assert index.stats()["codes"] == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dim", [1, 3, 33, 100])
def test_constant_rows_duplicates_and_odd_dimensions(kind: str, dim: int) -> None:
    """Dimensions that are no multiple of 32 are filled up; rows that are all the same tie, and the lowest ids win."""
    constant = filled(kind, np.full((600, dim), 0.5, np.float32), metric="l2")
    found = constant.search(np.zeros(dim), 5, plan=f"{kind} codes, 5 rescored")
    assert found.ids[0].tolist() == [0, 1, 2, 3, 4]
    twice = filled(kind, np.repeat(RNG.standard_normal((300, dim)), 2, axis=0).astype(np.float32), metric="l2")
    for query in twice.get([10, 301]):
        pair = twice.search(query, 2, plan=f"{kind} codes, 400 rescored")
        assert pair.scores[0].tolist() == [0, 0]


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_b5_no_number_enters(index: DenseIndex, wrong: float) -> None:
    """Case B5."""
    query = QUERIES[0].copy()
    query[7] = wrong
    with pytest.raises(InvalidInput, match="queries: row 0"):
        index.search(query, 10, plan=forced(index, 50))
