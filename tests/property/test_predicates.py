# SPDX-License-Identifier: Apache-2.0
"""Predicates against plain Python, row by row: any tree over any values, stored in any batches, read at any length."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from evidex import _column
from evidex.columns import Columns
from evidex.predicates import ColumnRef, Predicate, evaluate, where

# Few values, so that comparisons meet equal ones, and the ends of what fits.
POOLS: dict[str, tuple[type, list[Any]]] = {
    "s": (str, ["", "a", "ab", "b", "A", "a\0", "\u00e9", "e\u0301", "\uffff", "\U0001f600"]),
    "i": (int, [-(2**63) + 1, -2, -1, 0, 1, 2, 2**53, 2**53 + 1, 2**63 - 1]),
    "f": (float, [-np.inf, -1.5, -0.0, 0.0, 5e-324, 1.0, 1.5, 2.0**53, np.inf]),
    "d": (dt.date, [dt.date.min, dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date.max]),
    "b": (bool, [False, True]),
}
Row = dict[str, Any]


def truth(tree: tuple[Any, ...], row: Row) -> bool:
    """What the documentation says, one row at a time."""
    kind, *rest = tree
    if kind == "not":
        return not truth(rest[0], row)
    if kind == "and":
        return all(truth(part, row) for part in rest)
    if kind == "or":
        return any(truth(part, row) for part in rest)
    column, *operands = rest
    value = row[column]
    if kind == "missing":
        return value is None
    if value is None:
        return False
    if kind == "in":
        return value in operands[0]
    if kind == "between":
        least, most = operands
        return bool((least is None or least <= value) and (most is None or value <= most))
    operand = operands[0]
    if kind == "starts":
        return bool(value[: len(operand)] == operand)
    order = (value > operand) - (value < operand)
    answers = {"==": order == 0, "!=": order != 0, "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}
    return bool(answers[kind])


def predicate_of(tree: tuple[Any, ...]) -> Predicate:
    kind, *rest = tree
    if kind == "not":
        return ~predicate_of(rest[0])
    if kind in ("and", "or"):
        left, right = map(predicate_of, rest)
        return left & right if kind == "and" else left | right
    column: ColumnRef = where(rest[0])
    if kind == "missing":
        return column.is_missing()
    if kind == "in":
        return column.isin(rest[1])
    if kind == "between":
        return column.between(rest[1], rest[2])
    operand = rest[1]
    if kind == "starts":
        return column.startswith(operand)
    asked: dict[str, Any] = {
        "==": lambda: column == operand,
        "!=": lambda: column != operand,
        "<": lambda: column < operand,
        "<=": lambda: column <= operand,
        ">": lambda: column > operand,
        ">=": lambda: column >= operand,
    }
    made = asked[kind]()
    assert isinstance(made, Predicate)
    return made


def random_tree(rng: np.random.Generator, depth: int = 3) -> tuple[Any, ...]:
    """Trees are drawn from a seed: drawn one by one, few of them and few rows meet in an example."""
    if depth and rng.random() < 0.7:
        kind = rng.choice(["not", "and", "or"])
        return kind, *(random_tree(rng, depth - 1) for _ in range(1 if kind == "not" else 2))
    name = str(rng.choice(list(POOLS)))
    pool = POOLS[name][1]
    kinds = ["missing", "in", "==", "!="]
    if name != "b":
        kinds += ["<", "<=", ">", ">=", "between"]
    if name == "s":
        kinds.append("starts")
    kind = rng.choice(kinds)
    one, other = (pool[rng.integers(len(pool))] for _ in range(2))
    if kind == "missing":
        return kind, name
    if kind == "in":
        return kind, name, [pool[i] for i in rng.integers(0, len(pool), rng.integers(5))]
    if kind == "between":
        return kind, name, *((one, other), (None, other), (one, None))[rng.integers(3)]
    return kind, name, one


def random_rows(rng: np.random.Generator, n: int) -> list[Row]:
    """A third of the values are missing."""
    drawn = {name: rng.integers(0, len(pool), n) for name, (_, pool) in POOLS.items()}
    missing = {name: rng.random(n) < 1 / 3 for name in POOLS}
    return [
        {name: None if missing[name][row] else pool[drawn[name][row]] for name, (_, pool) in POOLS.items()}
        for row in range(n)
    ]


def columns_with(stored: list[Row], ends: list[int]) -> Columns:
    """Stored in batches that end there."""
    columns = Columns({name: kind for name, (kind, _) in POOLS.items()})
    for begin, end in itertools.pairwise([0, *ends, len(stored)]):
        batch = stored[begin:end]
        columns.append({name: [row[name] for row in batch] for name in POOLS}, len(batch))
    return columns


seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("name", POOLS)
def test_every_comparison_of_every_value_with_every_other(name: str) -> None:
    """Seen red: `<=` for `<`; missing ints under `!=`; values above the largest of isin(); missing strs under it."""
    _, pool = POOLS[name]
    stored = [{**dict.fromkeys(POOLS), name: value} for value in (*pool, None, *reversed(pool))]
    view = columns_with(stored, []).view(len(stored))
    trees: list[tuple[Any, ...]] = [("missing", name), ("in", name, [])]
    trees += [(kind, name, value) for kind in ("==", "!=") for value in pool]
    trees += [("in", name, list(some)) for size in (1, 2) for some in itertools.permutations(pool, size)]
    if name != "b":
        trees += [(kind, name, value) for kind in ("<", "<=", ">", ">=") for value in pool]
        trees += [
            ("between", name, *ends) for ends in itertools.product((None, *pool), repeat=2) if ends != (None, None)
        ]
    if name == "s":
        trees += [("starts", name, value) for value in pool]
    for tree in trees:
        assert evaluate(predicate_of(tree), view).tolist() == [truth(tree, row) for row in stored], tree


@given(
    seed=seeds,
    n=st.integers(0, 40),
    cuts=st.lists(st.integers(0, 40), max_size=4),
    hidden=st.integers(0, 10),
    chunk=st.sampled_from([1, 3, 8, 64]),
)
def test_predicates_agree_with_plain_python(seed: int, n: int, cuts: list[int], hidden: int, chunk: int) -> None:
    """Seen red: `|` for `&`; a chunk's rows counted from its beginning; ~ that left missing rows out."""
    rng = np.random.default_rng(seed)
    stored = random_rows(rng, n)
    with mock.patch.object(_column, "_CHUNK_ROWS", chunk):
        view = columns_with(stored, sorted(min(cut, n) for cut in cuts)).view(max(0, n - hidden))
        for _ in range(20):
            tree = random_tree(rng)
            predicate = predicate_of(tree)
            expected = [truth(tree, row) for row in stored[: view.rows]]
            event(f"matches {'some' if any(expected) and not all(expected) else 'all or none'}")
            assert evaluate(predicate, view).tolist() == expected, tree
            assert evaluate(~predicate, view).tolist() == [not matched for matched in expected], tree


@given(seed=seeds)
def test_equal_predicates_are_written_alike(seed: int) -> None:
    """Seen red: columns and values not compared."""
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng, depth=1) for _ in range(20)]
    predicates, again = ([predicate_of(tree) for tree in trees] for _ in range(2))
    for one, other in itertools.product(predicates, again):
        if repr(one) == repr(other):
            assert one == other and hash(one) == hash(other)
        elif "0.0" not in repr(one):  # 0.0 and -0.0 match the same
            assert one != other


@given(seed=seeds, kept=st.lists(st.integers(-1, 19), max_size=30))
def test_taken_rows_match_like_those_they_were(seed: int, kept: list[int]) -> None:
    """Seen red: the last row's values for -1; rows of one chunk only."""
    rng = np.random.default_rng(seed)
    stored, nothing = random_rows(rng, 20), dict.fromkeys(POOLS)
    with mock.patch.object(_column, "_CHUNK_ROWS", 7):
        taken = columns_with(stored, [9]).taken(np.array(kept, dtype=np.int64))
        for _ in range(20):
            tree = random_tree(rng)
            expected = [truth(tree, nothing if row < 0 else stored[row]) for row in kept]
            assert evaluate(predicate_of(tree), taken.view(len(kept))).tolist() == expected, tree
