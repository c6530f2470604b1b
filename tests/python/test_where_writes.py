# SPDX-License-Identifier: Apache-2.0
"""Values stay with their rows: through failed writes, removals, new layouts and beside other threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import reference
from evidex import ANY_IN_TENANT, Columns, DenseIndex, InvalidInput, Policy, Predicate, masks, where
from evidex.index_columns import matching
from examples import ALICE
from where_examples import EN, LATE, TYPES, stocked


@pytest.fixture
def index() -> DenseIndex:
    return stocked()


def test_columns_are_declared() -> None:
    declared = Columns(TYPES)
    one, other = DenseIndex(4, columns=declared), DenseIndex(4, columns=declared)
    one.add([1], np.ones((1, 4)), metadata={"lang": ["en"]})
    other.add([1], np.ones((1, 4)), metadata={"lang": ["de"]})
    assert (one.count(where=EN), other.count(where=EN), declared.rows) == (1, 0, 0)
    assert dict(one.columns) == TYPES
    declared.append({}, 1)
    for wrong in (declared, TYPES, ["lang"], True):
        with pytest.raises(InvalidInput, match="columns: expected Columns without rows"):
            DenseIndex(4, columns=wrong)  # type: ignore[arg-type]


def test_an_upserted_row_has_its_new_values_only(index: DenseIndex) -> None:
    index.upsert([2, 3], np.ones((2, 4)), metadata={"lang": ["fr", "en"]})
    assert index.ids(where=where("lang") == "fr").tolist() == [2]
    assert sorted(index.ids(where=EN).tolist()) == [0, 3, 4, 6, 8]
    assert sorted(index.ids(where=where("year").is_missing()).tolist()) == [2, 3, 9]
    index.remove([2])
    assert index.count(where=where("lang") == "fr") == 0
    index.upsert([4], np.ones((1, 4)))
    assert sorted(index.ids(where=EN).tolist()) == [0, 3, 6, 8]
    assert index.add(None, np.ones((2, 4)), metadata={"lang": np.array(["fr", "en"])}).tolist() == [10, 11]
    assert sorted(index.ids(where=EN).tolist()) == [0, 3, 6, 8, 11]


def test_a_failed_write_leaves_rows_and_values_aligned(index: DenseIndex) -> None:
    """Seen red: values appended at the columns' own count, which a refused batch had moved."""
    policy = Policy()
    ok: dict[str, list[Any]] = {"lang": ["xx", "xx"], "year": [1, 1]}
    bad: list[Callable[[], object]] = [
        lambda: index.add([20, 21], [[1.0] * 4, [np.nan] * 4], metadata=ok),
        lambda: index.add([20, 3], np.ones((2, 4)), metadata=ok),
        lambda: index.add([20, 20], np.ones((2, 4)), metadata=ok),
        lambda: index.add([20, 21], np.ones((2, 4)), policy.rule("t", ANY_IN_TENANT), metadata=ok),
        lambda: index.add([20, 21], np.ones((2, 4)), metadata={"lang": ["xx"]}),
        lambda: index.add([20, 21], np.ones((2, 4)), metadata={"lang": ["xx", 1]}),
        lambda: index.upsert([1, 2], np.ones((2, 4)), metadata={"lang": ["xx", "xx"], "other": [1, 1]}),
        lambda: index.add(None, np.ones((2, 3)), metadata=ok),
    ]
    for write in bad:
        with pytest.raises(InvalidInput):
            write()
        assert index.count(where=where("lang") == "xx") == 0
    index.add([30], np.ones((1, 4)), metadata={"lang": ["en"]})
    assert sorted(index.ids(where=EN).tolist()) == [0, 2, 4, 6, 8, 30]
    assert sorted(index.ids(where=where("year").is_missing()).tolist()) == [9, 30]


@pytest.mark.parametrize("seed", range(4))
def test_any_life_of_an_index_against_plain_python(seed: int) -> None:
    """Adds, upserts, removals, failures and new layouts. Seen red: optimize() without numbering the values anew; a
    predicate's mask kept for rows of another layout."""
    rng = np.random.default_rng(seed)
    policy = Policy()
    rules = [policy.rule("acme", ANY_IN_TENANT), policy.rule("zenith", ANY_IN_TENANT), policy.rule("acme", {"a"})]
    index = DenseIndex(4, metric="l2", policy=policy, columns=Columns(TYPES))
    model: dict[int, tuple[Any, int, dict[str, Any]]] = {}
    predicates = [EN, ~EN, LATE, EN & LATE, where("lang").startswith("d"), where("year").between(2019, 2021)]
    said: list[Callable[..., bool]] = [
        lambda lang, year: lang == "en",
        lambda lang, year: lang != "en",
        lambda lang, year: year is not None and year >= 2020,
        lambda lang, year: lang == "en" and year is not None and year >= 2020,
        lambda lang, year: lang is not None and lang.startswith("d"),
        lambda lang, year: year is not None and 2019 <= year <= 2021,
    ]
    for _ in range(60):
        n = int(rng.integers(0, 6))
        ids = rng.choice(40, n, replace=False).tolist()
        step = rng.choice(["upsert", "upsert", "remove", "optimize", "fail"])
        if step == "remove":
            gone = [i for i in ids if i in model]
            index.remove(gone)
            for i in gone:
                del model[i]
        elif step == "optimize":
            index.optimize()
        else:
            vectors = rng.integers(-3, 4, (n, 4)).astype(np.float32)
            lang = [(None, "en", "de", f"d{i}")[rng.integers(4)] for i in ids]
            year = [(None, *range(2018, 2023))[rng.integers(6)] for _ in ids]
            chosen = [int(rng.integers(3)) for _ in ids]
            if step == "fail":
                with pytest.raises(InvalidInput):
                    index.upsert([*ids, 99], [*vectors, [np.nan] * 4], rules[0], metadata={"lang": [*lang, "en"]})
                continue
            index.upsert(ids, vectors, [rules[i] for i in chosen], metadata={"lang": lang, "year": year})
            for i, *of in zip(ids, vectors, chosen, lang, year, strict=True):
                model[i] = (of[0], of[1], {"lang": of[2], "year": of[3]})
        for predicate, says in zip(predicates, said, strict=True):
            mine = {i: vector for i, (vector, rule, of) in model.items() if rule != 1 and says(**of)}
            assert set(index.ids(principal=ALICE, where=predicate).tolist()) == set(mine)
            query = rng.standard_normal(4).astype(np.float32)
            found = index.search(query, 5, principal=ALICE, where=predicate)[0]
            expected = reference.search("squared_l2", query, mine, 5)
            assert list(zip(found.ids.tolist(), found.scores.tolist(), strict=True)) == expected


def test_a_read_keeps_its_rows_through_new_layouts(index: DenseIndex) -> None:
    """Seen red: the values of the old layout numbered anew in their places, under a read that was under way."""
    snapshot, columns = index._pinned()
    for gone in (0, 1):
        index.remove([gone])
        index.optimize()
    guard = index._guard
    rows = guard.narrowed(snapshot, guard.visible(snapshot, None), None, EN, columns)
    assert snapshot.ids(rows).tolist() == [0, 2, 4, 6, 8]
    assert index.ids(where=EN).tolist() == [2, 4, 6, 8]


def test_an_interrupted_optimize_is_made_good(index: DenseIndex) -> None:
    """Seen red: values numbered anew only by optimize() itself, which an interrupt can stop after the rows were."""
    columns = index._columns
    assert columns is not None

    def interrupted() -> None:
        index._store.optimize(np.empty(0, dtype=np.uint32))
        raise KeyboardInterrupt

    index.remove([0])
    for read_first in (True, False):
        with pytest.raises(KeyboardInterrupt):
            columns.optimize(interrupted)
        index.remove([4] if read_first else [6])
        if not read_first:
            index.add([50], np.ones((1, 4)), metadata={"lang": ["en"]})
        assert index.ids(where=EN).tolist() == ([2, 6, 8] if read_first else [2, 8, 50])


def test_searches_beside_a_writer_find_only_what_matches() -> None:
    """Values stand before rows do. Seen red: columns stored after the core had published the rows."""
    index = DenseIndex(4, columns=Columns(TYPES))
    wrong: list[BaseException] = []

    def write() -> None:
        try:
            for i in range(400):
                index.add(None, np.ones((3, 4)), metadata={"lang": ["en", "de", None], "year": [i, None, i]})
                if i % 50 == 49:
                    index.optimize()
        except BaseException as error:  # reported below
            wrong.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    while writer.is_alive():
        assert (index.ids(where=EN) % 3 == 0).all()
        assert (index.ids(where=where("lang").is_missing()) % 3 == 2).all()
        assert (index.search(np.ones(4), 10, where=where("year").is_missing())[0].ids % 3 == 1).all()
    writer.join()
    assert not wrong
    assert index.count(where=EN) == 400


def test_masks_of_predicates_are_kept_within_bounds(index: DenseIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen red: evaluated for each search; the weight of a long isin() not counted."""
    calls: list[Predicate] = []

    def counted(snapshot: Any, columns: Columns, predicate: Predicate) -> Any:
        calls.append(predicate)
        return matching(snapshot, columns, predicate)

    monkeypatch.setattr(masks, "matching", counted)
    for _ in range(3):
        assert index.count(where=where("lang") == "en") == 5
    assert calls == [EN]
    index.add([77], np.ones((1, 4)), metadata={"lang": ["en"]})
    assert index.count(where=EN) == 6
    assert calls == [EN, EN]
    monkeypatch.setattr(type(index._guard), "_MOST_BYTES", 1_000_000)
    for i in range(10):
        index.count(where=where("year").isin(range(i, i + 5_000)))
    kept = [key for key in index._guard._masks if isinstance(key, tuple) and isinstance(key[0], Predicate)]
    assert 1 <= len(kept) <= 6
