# SPDX-License-Identifier: Apache-2.0
"""Thousands of rows made of few different ones, as the pre-scan needs them and a slow reference can bear them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from hypothesis import settings
from hypothesis import strategies as st

import reference
from evidex import DenseIndex, Hits
from reference import Floats, Whole
from strategies import ISAS

LEAST_PERMITTED = 2048  # from so many permitted rows on codes are read first, but only
LEAST_DIM = 32  # from this dimension on, and
LEAST_PER_HIT = 16  # with so many permitted rows for each hit
BOUND = 2.0**62.5  # largest norm of a row or query
BATCHES = (1, 2, 3, 16, 17, 20)
more_examples = settings(max_examples=4 * settings().max_examples)  # an example takes about ten milliseconds
SCALES = (1e-20, 1e-6, 1.0, 1e3, 1e15)
_JUNK_ID = 2**62

Rng = np.random.Generator
Values = npt.NDArray[np.float64]
T = TypeVar("T")
Bools = npt.NDArray[np.bool_]


def clustered(rng: Rng, n: int, dim: int) -> Values:
    return rng.standard_normal((5, dim))[rng.integers(0, 5, n)] * 4 + rng.standard_normal((n, dim)) * 0.2


def near_ties(rng: Rng, n: int, dim: int) -> Values:
    """One row, in which single components are moved by one place in the last digit of float32."""
    rows = np.tile(rng.standard_normal(dim).astype(np.float32), (n, 1))
    at = np.arange(n), rng.integers(0, dim, n)
    rows[at] = np.nextafter(rows[at], np.float32(9) * rng.choice([-1, 1], n).astype(np.float32))
    return rows.astype(np.float64)


def at_the_bound(rng: Rng, n: int, dim: int) -> Values:
    """Some with one dominating component, which leaves the others nothing of the int8 code."""
    rows = rng.standard_normal((n, dim))
    rows[::3, 0] = 200 * np.sqrt(dim)
    found: Values = rows / np.linalg.norm(rows, axis=1, keepdims=True) * (BOUND * (1 - 1e-6))
    return found


KINDS: dict[str, Callable[[Rng, int, int], Values]] = {
    "normal": lambda rng, n, dim: rng.standard_normal((n, dim)),
    "clustered": clustered,
    "far from the origin": lambda rng, n, dim: rng.standard_normal(dim) * 30 + rng.standard_normal((n, dim)),
    "whole": lambda rng, n, dim: np.round(rng.standard_normal((n, dim)) * 1.5),
    "near ties": near_ties,
    "nearly equal": lambda rng, n, dim: rng.standard_normal(dim) + rng.standard_normal((n, dim)) * 1e-6,
    "of all lengths": lambda rng, n, dim: rng.standard_normal((n, dim)) * 2.0 ** rng.integers(-30, 20, (n, 1)),
    "unit vectors": lambda rng, n, dim: np.eye(dim)[rng.integers(0, dim, n)],
    "at the bound": at_the_bound,
}


@dataclass(frozen=True)
class Many:
    """Rows, their ids in no order, their groups, queries, and how the rows come into an index."""

    metric: str
    codec: str
    pool: Floats  # [m, dim], the different rows
    pick: Whole  # [n], which of them each row is
    ids: Whole
    groups: Whole | None
    queries: Floats
    churned: bool  # rows that were removed and rows that were replaced lie between the others

    @property
    def rows(self) -> Floats:
        return self.pool[self.pick]

    @property
    def group_of(self) -> Whole:
        return self.ids if self.groups is None else self.groups

    def index(self, **options: Any) -> DenseIndex:
        """All rows in an index, whatever way they went."""
        index = DenseIndex(self.pool.shape[1], metric=self.metric, codec=self.codec, **options)
        if not self.churned:
            self.write(index.add, slice(None))
            return index
        n, junk = len(self.ids), np.arange(_JUNK_ID, _JUNK_ID + 100)
        first, second, third = slice(n // 3), slice(n // 3, n // 2), slice(n // 2, n)
        index.add(junk, -self.rows[:100])
        index.upsert(self.ids[first], -self.rows[first])
        self.write(index.add, second)
        self.write(index.upsert, first)
        self.write(index.add, third)
        index.remove(junk)
        return index

    def write(self, method: Callable[..., Any], some: slice) -> None:
        method(self.ids[some], self.rows[some], groups=None if self.groups is None else self.groups[some])

    def bools(self, index: DenseIndex, allowed: Bools) -> Bools:
        """``allowed``, one for each of our rows, as the index's own order wants it."""
        order = np.argsort(self.ids)
        found: Bools = allowed[order[np.searchsorted(self.ids[order], index.ids())]]
        return found

    def scores(self) -> Floats:
        """Canonical scores of what an index keeps, [nq, n]."""
        kept = reference.stored(self.metric, self.codec, self.pool)
        queries = reference.prepared(self.metric, self.queries)
        return np.stack([reference.scores(self.metric, query, kept) for query in queries])[:, self.pick]


@dataclass(frozen=True)
class Call:
    """What hits are asked for."""

    k: int
    allowed: list[Bools]  # one for all queries, or one for each
    group_by: bool
    prescan: bool
    isa: str
    threads: int

    def allowed_of(self, query: int) -> Bools:
        return self.allowed[query if len(self.allowed) > 1 else 0]


some = st.integers(LEAST_PERMITTED, 2 * LEAST_PERMITTED)


def mostly(draw: st.DrawFn, usual: st.SearchStrategy[T], other: st.SearchStrategy[T]) -> T:
    """The usual in four of five draws."""
    return draw(other) if draw(st.integers(0, 4)) == 4 else draw(usual)


def masks(draw: st.DrawFn, rng: Rng, n: int) -> Bools:
    """Mostly as many rows as make the codes worth reading."""
    enough = st.sampled_from(["all", "dense", "run", "just enough"])
    kind = mostly(draw, enough, st.sampled_from(["half", "sparse", "none", "just too few"]))
    allowed = np.full(n, kind in ("all", "dense"))
    if kind == "dense":
        allowed[rng.choice(n, 10, replace=False)] = False
    elif kind == "run":
        start = int(rng.integers(0, n - LEAST_PERMITTED + 1))
        allowed[start : start + LEAST_PERMITTED] = True
    elif kind not in ("all", "none"):
        least = LEAST_PERMITTED
        count = {"half": n // 2, "sparse": n // 50, "just enough": least, "just too few": least - 1}[kind]
        allowed[rng.choice(n, count, replace=False)] = True
    return allowed


@st.composite
def many(draw: st.DrawFn, sizes: st.SearchStrategy[int] = some, most_queries: int = 20) -> Many:
    metric = draw(st.sampled_from(reference.METRICS))
    codec = draw(st.sampled_from(reference.CODECS))
    dim = mostly(draw, st.integers(LEAST_DIM, 80), st.integers(1, LEAST_DIM - 1))
    n = draw(sizes)
    nq = draw(st.sampled_from([size for size in BATCHES if size <= most_queries]))
    kind = draw(st.sampled_from(list(KINDS)))
    scale = draw(st.sampled_from(SCALES)) if kind != "at the bound" else 1.0
    different = draw(st.sampled_from([min(n, 2 * LEAST_PERMITTED), 600, 60, 7]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = KINDS[kind](rng, different, dim) * scale
    pool = storable(values, codec)
    near = values[rng.integers(0, different, nq)]
    noise = rng.standard_normal((nq, dim)) * np.abs(near).max(axis=1, keepdims=True)
    share, of_noise = draw(st.sampled_from([(1, 0), (1, 0.05), (-1, 0), (0, 1), (0, 0)]))
    queries = share * near + of_noise * noise  # rows, near rows, opposite to rows, any, zero
    if draw(st.booleans()):
        queries = queries * draw(st.sampled_from(SCALES))
    queries = within_bound(queries)
    if metric == "cosine":
        for array in (pool, queries):
            array[~array.any(axis=1), 0] = 1  # a zero vector has no direction
    ids = rng.choice(10 * n, size=n, replace=False).astype(np.int64)
    ids[0] = 2**63 - 1
    groups = draw(st.sampled_from([None, "one", "few", "alike", "documents", "others' ids"]))
    pick = rng.permutation(n) if different == n else rng.integers(0, different, n)
    return Many(metric, codec, pool, pick, ids, numbers(rng, groups, ids, pick), queries, draw(st.booleans()))


def numbers(rng: Rng, kind: str | None, ids: Whole, pick: Whole) -> Whole | None:
    """Groups of rows with these ids; of equal rows, so that one group may fill all places, and others."""
    n = len(ids)
    if kind == "one":
        return np.full(n, 3)
    if kind == "few":
        return rng.integers(0, 5, n)
    if kind == "alike":
        return pick
    if kind == "documents":
        return np.arange(n) // 8
    return None if kind is None else ids[rng.integers(0, n, n)]


def storable(values: Values, codec: str) -> Floats:
    """As they are, or smaller where float16 or the bound asks for it."""
    most = 6e4 if codec == "float16" else np.inf
    return within_bound(values * min(1.0, most / np.abs(values).max()))


def within_bound(values: Values) -> Floats:
    norms = np.linalg.norm(values, axis=1, keepdims=True)
    shorter: Floats = (values * np.minimum(1.0, BOUND * (1 - 1e-6) / np.maximum(norms, 1.0))).astype(np.float32)
    return shorter


@st.composite
def calls(draw: st.DrawFn, of: Many) -> Call:
    n, nq = len(of.ids), len(of.queries)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if draw(st.booleans()) and nq > 1:
        different = [masks(draw, rng, n) for _ in range(min(nq, 3))]
        allowed = [different[i] for i in rng.integers(0, len(different), nq)]
    else:
        allowed = [masks(draw, rng, n)]
    sixteenth = int(allowed[0].sum()) // LEAST_PER_HIT
    few = st.integers(1, LEAST_PERMITTED // LEAST_PER_HIT)
    k = mostly(draw, few, st.sampled_from([0, sixteenth, sixteenth + 1, 300, n, 65537, 2**63 - 1]))
    return Call(
        k=k,
        allowed=allowed,
        group_by=draw(st.booleans()),
        prescan=mostly(draw, st.just(True), st.just(False)),
        isa=draw(st.sampled_from(ISAS)),
        threads=draw(st.integers(1, 3)),
    )


def expected_places(of: Many, call: Call, scores: Floats) -> list[Whole]:
    """Numbers of the rows that each query must get, best first."""
    found = []
    for query in range(len(of.queries)):
        rows = np.flatnonzero(call.allowed_of(query))
        groups = of.group_of[rows] if call.group_by else None
        found.append(rows[reference.best(of.ids[rows], scores[query, rows], call.k, groups)])
    return found


def require(hits: Hits, of: Many, call: Call, scores: Floats) -> None:
    """The hits are exactly these, in every field."""
    expected = expected_places(of, call, scores)
    assert len(hits) == len(expected)
    for query, places in enumerate(expected):
        count = len(places)
        assert hits.counts[query] == count
        assert hits.ids[query, :count].tolist() == of.ids[places].tolist()
        assert hits.scores[query, :count].tobytes() == scores[query, places].tobytes()
        assert (hits.ids[query, count:] == -1).all()
        assert (hits.scores[query, count:] == -np.inf).all()
        assert hits.reason[query] == (None if count == call.k else "fewer_than_k")
        if call.group_by:
            assert hits.groups is not None
            assert hits.groups[query].tolist() == [*of.group_of[places].tolist(), *[-1] * (hits.ids.shape[1] - count)]
    assert hits.certified.all()
    assert (hits.groups is None) == (not call.group_by)
    width = call.k if call.k <= 65536 else max(len(places) for places in expected)
    assert hits.ids.shape == hits.scores.shape == (len(expected), width)
