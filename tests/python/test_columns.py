# SPDX-License-Identifier: Apache-2.0
"""Columns: batches whole or not at all, and what a reader sees while another thread appends."""

from __future__ import annotations

import datetime as dt
import threading
from typing import Any

import numpy as np
import pytest

from columns_examples import TYPES, columns_of, rows_missing, rows_with
from evidex import InvalidInput, _column
from evidex.columns import Columns
from evidex.predicates import evaluate, where


@pytest.mark.parametrize("metadata", [["en"], "lang", 7, [("lang", ["en"])]])
def test_metadata_is_a_mapping(metadata: Any) -> None:
    with pytest.raises(InvalidInput, match="metadata: expected a mapping"):
        Columns(TYPES).append(metadata, 1)


def test_a_batch_is_stored_whole_or_not_at_all() -> None:
    columns = Columns(TYPES)
    columns.append({"lang": ["en"], "year": [2020]}, 1)
    wrong: list[tuple[Any, str]] = [
        ({"lang": ["de"], "year": ["x"]}, r"metadata\['year'\]\[0\]"),
        ({"lang": ["de"], "year": [1, 2]}, r"metadata\['year'\]: 2 given for 1 rows"),
        ({"lang": ["de"], "yaer": [1]}, "metadata: no column 'yaer'; there are 'lang' .str., 'year' .int., "),
        ({"lang": []}, r"metadata\['lang'\]: 0 given for 1 rows"),
        ({1: [1]}, "metadata: no column 1;"),
    ]
    for metadata, said in wrong:
        with pytest.raises(InvalidInput, match=said):
            columns.append(metadata, 1)
    columns.append(None, 1)
    columns.append({"lang": ["de"]}, 1)
    assert columns.rows == 3
    assert (rows_with(columns, "en", "lang"), rows_with(columns, "de", "lang")) == ([0], [2])
    assert (rows_missing(columns, "lang"), rows_missing(columns, "year"), rows_missing(columns, "public")) == (
        [1],
        [1, 2],
        [0, 1, 2],
    )


def test_what_is_given_may_change_afterwards() -> None:
    years = np.array([1, 2])
    columns = columns_of(int, years)
    years[:] = 7
    assert rows_with(columns, 1) == [0]


def test_declarations() -> None:
    columns = Columns(TYPES)
    assert dict(columns.types) == TYPES
    assert repr(columns) == "Columns({'lang': str, 'year': int, 'price': float, 'published': date, 'public': bool})"
    types: list[Any] = [
        {"c": bytes},
        {"c": "str"},
        {"c": dt.datetime},
        {"c": np.int64},
        {"c": None},
        {"": str},
        {1: str},
    ]
    for wrong in [*types, ["c"], "c", None]:
        with pytest.raises(InvalidInput, match="^columns"):
            Columns(wrong)
    with pytest.raises(TypeError):
        columns.types["other"] = str  # type: ignore[index]
    with pytest.raises(InvalidInput, match="there are none at all"):
        evaluate(where("c") == 1, Columns({}).view(0))


@pytest.mark.parametrize("rows", [-1, 2, True, 1.0])
def test_a_view_has_rows_that_there_are(rows: Any) -> None:
    with pytest.raises(InvalidInput, match="rows"):
        columns_of(int, [1]).view(rows)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_column, "_CHUNK_ROWS", 4)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("sizes", [[9], [4, 4, 1], [3, 3, 3], [1] * 9, [0, 5, 0, 4]])
def test_batches_across_chunks(sizes: list[int]) -> None:
    columns, values = Columns({"n": int, "s": str}), [5, None, 7, 5, 5, None, 1, 7, 5]
    for size in sizes:
        start = columns.rows
        some = values[start : start + size]
        columns.append({"n": some, "s": [None if value is None else str(value) for value in some]}, size)
    for rows in range(10):
        view = columns.view(rows)
        assert evaluate(where("n") == 5, view).tolist() == [value == 5 for value in values[:rows]]
        assert evaluate(where("s") == "5", view).tolist() == [value == 5 for value in values[:rows]]
        assert evaluate(where("n").is_missing(), view).tolist() == [value is None for value in values[:rows]]


@pytest.mark.usefixtures("small_chunks")
def test_a_view_keeps_its_rows_while_another_thread_appends() -> None:
    """Seen red: the list of strings emptied and filled again by the writer."""
    columns = Columns({"n": int, "s": str})
    rows = 100
    columns.append({"n": range(rows), "s": [str(i % 7) for i in range(rows)]}, rows)
    view, stop = columns.view(rows), threading.Event()

    def append() -> None:
        step = rows
        while not stop.is_set() and step < 20_000:
            columns.append({"n": [3, None], "s": [str(step), "3"]}, 2)
            step += 1

    writer = threading.Thread(target=append)
    writer.start()
    try:
        for _ in range(300):
            assert np.flatnonzero(evaluate(where("n") == 3, view)).tolist() == [3]
            assert np.flatnonzero(evaluate(where("s") == "3", view)).tolist() == list(range(3, rows, 7))
            assert np.flatnonzero(evaluate(where("s").startswith("3"), view)).tolist() == list(range(3, rows, 7))
            assert not evaluate(where("s").is_missing(), view).any()
    finally:
        stop.set()
        writer.join()


@pytest.mark.usefixtures("small_chunks")
def test_rows_that_came_to_nothing_are_stored_over() -> None:
    """Seen red: their strings not forgotten, so that they piled up."""
    columns = Columns({"s": str, "n": int})
    columns.append({"s": ["a", "b"], "n": [1, 2]}, 2)
    for attempt in range(5):
        columns.store(columns.prepare({"s": [f"x{attempt}", "y", None, "z"] * 2}, 8), 2)
    columns.store(columns.prepare({"s": ["c", "y"], "n": [None, 3]}, 2), 2)
    columns.store(columns.prepare({}, 1), 4)
    assert columns.rows == 5
    assert [rows_with(columns, s, "s") for s in ("a", "b", "c", "y", "x4", "z")] == [[0], [1], [2], [3], [], []]
    assert rows_missing(columns, "n") == [2, 4]
    assert len(columns.column("s")._strings) == 4  # type: ignore[attr-defined]


class InterruptingDict(dict[str, int]):
    def __setitem__(self, key: str, value: int) -> None:
        raise KeyboardInterrupt


class InterruptingList(list[str]):
    def append(self, value: str) -> None:
        raise KeyboardInterrupt


@pytest.mark.parametrize(("part", "interrupting"), [("_number_of", InterruptingDict), ("_strings", InterruptingList)])
def test_an_interrupted_batch_leaves_no_number_behind(
    monkeypatch: pytest.MonkeyPatch, part: str, interrupting: Any
) -> None:
    """Seen red: a string's number noted before the string itself; the next new string then got the same number."""
    columns = columns_of(str, ["a"])
    column: Any = columns.column("c")
    plain = getattr(column, part)
    before = interrupting(plain)
    monkeypatch.setattr(column, part, before)
    with pytest.raises(KeyboardInterrupt):
        columns.append({"c": ["b"]}, 1)
    monkeypatch.setattr(column, part, type(plain)(before))
    columns.append({"c": ["c"]}, 1)
    columns.append({"c": ["b"]}, 1)
    assert [rows_with(columns, s) for s in "abc"] == [[0], [2], [1]]


@pytest.mark.usefixtures("small_chunks")
def test_taken_rows_are_numbered_anew() -> None:
    columns = Columns({"s": str, "n": int, "x": float})
    columns.append({"s": ["a", "b", None, "c", "a", "d"], "n": range(6), "x": [0.5] * 6}, 6)
    taken = columns.taken(np.array([5, -1, 0, 4, 2]))
    assert (taken.rows, dict(taken.types)) == (5, dict(columns.types))
    assert [rows_with(taken, s, "s") for s in ("a", "b", "d")] == [[2, 3], [], [0]]
    assert rows_missing(taken, "s") == [1, 4]
    assert [rows_with(taken, n, "n") for n in range(6)] == [[2], [], [4], [], [3], [0]]
    assert rows_missing(taken, "x") == [1]
    assert len(taken.column("s")._strings) == 2  # type: ignore[attr-defined]
    taken.append({"s": ["b"]}, 1)
    assert (rows_with(taken, "b", "s"), rows_with(columns, "b", "s")) == ([5], [1])
    assert columns.taken(np.array([], dtype=np.int64)).rows == 0
    assert rows_missing(Columns({"n": int}).taken(np.array([-1])), "n") == [0]
