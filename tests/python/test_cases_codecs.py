# SPDX-License-Identifier: Apache-2.0
"""What users of other libraries suffered with compressed rows and thresholds (B), with every codec and both plans."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import reference
from evidex import DenseIndex
from strategies import ISAS, forced_isa

DIMS = (1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1024)
# Largest component error of a row whose largest component is 1: half a step of the code.
HALF_STEP = {"float32": 0.0, "float16": 2.0**-11, "int8": 0.5 / 127 * (1 + 2.0**-7)}


@pytest.fixture(params=list(itertools.product(ISAS, reference.CODECS, (False, True))), ids=str)
def options(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Every instruction set, codec and plan."""
    isa, codec, prescan = request.param
    with forced_isa(isa):
        yield {"codec": codec, "prescan": prescan}


def extremes(dim: int) -> Any:
    """Rows whose codes are the largest and smallest there are, in the patterns that saturate or wrap sums."""
    signs = np.where(np.arange(dim) % 2, -1.0, 1.0)
    rng = np.random.default_rng(dim)
    rows = [np.ones(dim), -np.ones(dim), signs, -signs, np.full(dim, -128 / 127), np.where(signs > 0, 1, -128 / 127)]
    rows += [rng.choice([-1.0, 1.0], dim), rng.integers(-127, 128, dim) / 127, rng.standard_normal(dim)]
    return np.array([row if row.any() else row + 1 for row in rows])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_signs_and_extremes_survive(options: Any, dtype: str) -> None:  # case B8
    """Each metric, codec and dtype against numpy, for dimensions around the registers' widths. Seen red: codes cut off
    instead of rounded."""
    for dim in DIMS:
        rows = extremes(dim).astype(dtype)
        for metric in reference.METRICS:
            index = DenseIndex(dim, metric=metric, **options)
            index.add(np.arange(len(rows)), rows)
            hits = index.search(rows, len(rows))
            kept = reference.stored(metric, options["codec"], rows)
            assert index.get(np.arange(len(rows))).tobytes() == kept.tobytes()
            for number, query in enumerate(reference.prepared(metric, rows)):
                scores = reference.scores(metric, query, kept)
                order = reference.best(np.arange(len(rows)), scores, len(rows))
                assert hits.ids[number].tolist() == order.tolist()
                assert hits.scores[number].tobytes() == scores[order].tobytes()
                plain = kept.astype(np.float64)
                exact = -((plain - query) ** 2).sum(1) if metric == "squared_l2" else plain @ query.astype(np.float64)
                exact = np.clip(exact, -1, 1) if metric == "cosine" else exact
                size = np.abs(plain) @ np.abs(query) + (plain**2).sum(1) + (query.astype(np.float64) ** 2).sum()
                assert (np.abs(scores - exact) <= size * 2.0**-20).all()


@pytest.mark.parametrize("dim", [65536, 131072])
def test_long_rows_of_extremes_do_not_overflow(options: Any, dim: int) -> None:  # case B8
    index = DenseIndex(dim, metric="ip", **options)
    rows = 127 * extremes(dim)[:4].astype(np.float32)  # a scale of 1, so that the codes lose nothing
    index.add(np.arange(4), rows)
    hits = index.search(rows[:2] / np.float32(127), 4)
    assert hits.ids.tolist() == [[0, 2, 3, 1], [1, 2, 3, 0]]
    assert hits.scores.tolist() == [[127 * dim, 0, 0, -127 * dim]] * 2


@pytest.mark.parametrize("dim", [32, 33, 64, 512])
def test_codes_at_their_extremes_prune_nothing_they_must_not(options: Any, dim: int) -> None:  # case B8
    """Seen red: 127 for 128 where the sums of both planes are combined; residuals times 0.9."""
    rows = np.tile(extremes(dim), (280, 1)).astype(np.float32)
    rows[::9] *= np.linspace(0.1, 1, 280)[:, None].astype(np.float32)
    for metric in reference.METRICS:
        index = DenseIndex(dim, metric=metric, **options)
        plain = DenseIndex(dim, metric=metric, codec=options["codec"], prescan=False)
        index.add(np.arange(len(rows)), rows)
        plain.add(np.arange(len(rows)), rows)
        for queries in (rows[:9], rows[:1]):
            found, expected = index.search(queries, 40), plain.search(queries, 40)
            assert found.ids.tobytes() == expected.ids.tobytes()
            assert found.scores.tobytes() == expected.scores.tobytes()


@pytest.mark.parametrize("dim", [2, 32])
def test_opposite_vectors_are_not_parallel(options: Any, dim: int) -> None:  # case B10
    index = DenseIndex(dim, **options)
    index.add([1, 2], np.array([[0.5], [-0.5]]) * np.ones((1, dim)))
    for query, ids in ((0.5, [1, 2]), (-0.5, [2, 1])):
        hits = index.search(np.full(dim, query), 2)
        assert hits.ids.tolist() == [ids]
        assert np.abs(hits.scores - [[1, -1]]).max() <= 0.02
    rng = np.random.default_rng(0)
    for sign in (1, -1):  # only positive and only negative rows
        rows = sign * rng.uniform(0.1, 1, (2100, dim))
        of_sign = DenseIndex(dim, **options)
        of_sign.add(None, rows)
        assert of_sign.search(rows[:5], 1).scores.min() > 0.98
        assert of_sign.search(-rows[:5], 1).scores.max() < 0


def test_order_is_kept_beyond_a_step_of_the_code(options: Any) -> None:  # case B10
    """1,000 pairs of rows whose scores differ by more than what coding can move them."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((2000, 24))
    query = rng.standard_normal(24)
    index = DenseIndex(24, metric="ip", **options)
    index.add(None, rows)
    hits = index.search(query, 2000)
    scores = np.empty(2000)
    scores[hits.ids[0]] = hits.scores[0]
    exact = rows @ query
    moved = (HALF_STEP[options["codec"]] * np.abs(rows).max(axis=1) + 1e-6) * np.abs(query).sum()
    assert (np.abs(scores - exact) <= moved).all()
    first, second = np.arange(0, 2000, 2), np.arange(1, 2000, 2)
    clear = np.abs(exact[first] - exact[second]) > moved[first] + moved[second]
    assert clear.sum() > 500
    assert (np.sign(scores[first] - scores[second]) == np.sign(exact[first] - exact[second]))[clear].all()


def test_cosine_of_a_vector_with_itself_is_nearly_one(options: Any) -> None:  # case B11
    """As near as the codec keeps it: 1e-6 and what half a step in each component can do. Never above 1."""
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((2100, 37))
    index = DenseIndex(37, **options)
    index.add(np.arange(2100), rows)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    allowed = 1e-6 + HALF_STEP[options["codec"]] * np.abs(unit).max(axis=1) * np.abs(unit).sum(axis=1)
    assert allowed.max() < {"float32": 2e-6, "float16": 2e-3, "int8": 0.02}[options["codec"]]
    for factor in (1.0, 2.0, 1e-20):
        hits = index.search(rows[:300] * factor, 100)
        assert hits.scores.max() <= 1
        assert (hits.ids[:, 0] == np.arange(300)).all()
        assert (np.abs(hits.scores[:, 0] - 1) <= allowed[:300]).all()
    opposite = index.search(-rows[:3], 2100)
    assert (opposite.ids[:, -1] == np.arange(3)).all()
    assert (np.abs(opposite.scores[:, -1] + 1) <= allowed[:3]).all()
    assert opposite.scores.min() >= -1


def test_scores_that_are_clamped_tie(options: Any) -> None:  # cases B1, B11
    """Decoded rows may be a little longer than 1: all of these score below -1 before the clamp, but not one is lost.
    Seen red: a threshold of -1 held against bounds that know of no clamp."""
    rng = np.random.default_rng(4)
    vectors = rng.standard_normal((100, 40)).astype(np.float32)
    kept = reference.stored("cosine", options["codec"], vectors)
    longest = vectors[np.argmax((kept.astype(np.float64) ** 2).sum(axis=1))]
    ids = rng.permutation(2300)
    index = DenseIndex(40, **options)
    index.add(ids, longest * np.float32(2) ** (ids % 5)[:, None].astype(np.float32))
    for query, score in ((longest, 1), (-longest, -1)):
        for hits in (index.search(query, 30), index.radius(query, score, limit=30)):
            assert hits.scores.tolist() == [[score] * 30]
            assert hits.ids.tolist() == [list(range(30))]


@pytest.mark.parametrize("metric", reference.METRICS)
def test_a_score_at_the_threshold_stays_on_every_path(options: Any, metric: str) -> None:  # case B19
    """Rows that score exactly 1, 0 and something between, among others, permitted or not. Seen red: a least score one
    place up after the codes were read."""
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((2400, 32)).astype(np.float32) * np.float32(0.1)
    rows[::300] = np.eye(32)[0]
    rows[7::300] = np.eye(32)[1]
    index = DenseIndex(32, metric=metric, **options)
    index.add(np.arange(2400), rows)
    query = np.eye(32)[0]
    everything = index.search(query, 2400)[0]
    allow = np.arange(2400) % 600 != 0
    middle = float(everything.scores[1000])
    kept = [{"squared_l2": 0.0}.get(metric, 1.0), 0.0, middle]
    for least in kept:
        expected = everything.ids[everything.scores >= np.float32(least)]
        permitted = expected[expected % 600 != 0].tolist()
        assert index.radius(query, least)[0].ids.tolist() == expected.tolist()
        assert index.radius(query, least, allow=allow)[0].ids.tolist() == permitted
        assert index.radius([query] * 3, least, allow=[allow] * 3)[2].ids.tolist() == permitted
        above = float(np.nextafter(np.float32(least), np.float32(9)))
        assert index.radius(query, above).counts.tolist() == [(everything.scores > np.float32(least)).sum()]
    if options["codec"] != "int8":  # whose code of 1 may be its neighbour
        assert set(range(0, 2400, 300)) <= set(index.radius(query, kept[0])[0].ids.tolist())
    if metric != "squared_l2":
        assert set(range(7, 2400, 300)) <= set(index.radius(query, 0.0)[0].ids.tolist())


@pytest.mark.parametrize("nq", [0, 1, 19, 20, 1000])
def test_empty_answers_have_one_contract(options: Any, nq: int) -> None:  # case B4
    never, emptied, masked = (DenseIndex(32, **options) for _ in range(3))
    for index in (emptied, masked):
        index.add(np.arange(2100), np.random.default_rng(0).standard_normal((2100, 32)))
    emptied.remove(np.arange(2100))
    cases: list[tuple[DenseIndex, Any]] = [
        (never, None),
        (emptied, None),
        (masked, np.zeros(2100, bool)),
        (masked, np.zeros((nq, 2100), bool)),
    ]
    for index, allow in cases:
        for group_by in (False, True):
            hits = index.search(np.ones((nq, 32)), 3, allow=allow, group_by=group_by)
            assert hits.ids.shape == hits.scores.shape == (nq, 3)
            assert (hits.ids == -1).all()
            assert (hits.scores == -np.inf).all()
            assert hits.counts.tolist() == [0] * nq
            assert (hits.groups is not None) == group_by
            assert hits.groups is None or (hits.groups == -1).all()
        assert index.radius(np.ones((nq, 32)), -1e30, allow=allow).ids.shape == (nq, 0)
