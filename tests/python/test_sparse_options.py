# SPDX-License-Identifier: Apache-2.0
"""P12: every public keyword of SparseIndex acts (case B20)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from audit_logs import objects_of
from evidex import (
    ANY_IN_TENANT,
    UNRESTRICTED,
    AccessError,
    AllowMask,
    Columns,
    InvalidInput,
    NotLogged,
    Policy,
    Principal,
    RetrievalLog,
    SparseIndex,
    where,
)
from evidex.text import Analyzer
from sparse_examples import ALICE, bits, matrix

TEXTS = ["pump pump manual of the old pump", "pump valve", "Valves and pumps", "pump"]


def world(**options: Any) -> SparseIndex:
    policy = Policy()
    rules = [policy.rule("acme", ANY_IN_TENANT), policy.rule("zenith", ANY_IN_TENANT)]
    index = SparseIndex(policy=policy, columns=Columns({"n": int}), **options)
    index.add([1, 2, 3, 4], TEXTS, [rules[0]] * 3 + [rules[1]], [7, 7, 8, 9], metadata={"n": [1, 2, None, 4]})
    return index


SEARCHES: dict[str, tuple[Any, Any]] = {
    "k": (1, 2),
    "principal": (ALICE, UNRESTRICTED),
    "allow": (None, np.array([False, True, False])),
    "where": (None, where("n") >= 2),
    "group_by": (False, True),
    "scope": ("permitted", "collection"),
    "ranking": ("bm25", "tfidf"),
    "k1": (1.2, 0.0),
    "b": (0.75, 0.0),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_each_keyword_of_a_search_changes_something(name: str) -> None:
    """Seen red with each of them left out of what is passed on."""
    index, (one, other) = world(), SEARCHES[name]
    defaults = {"principal": ALICE}
    found = [index.search("pump manual", **{**defaults, name: value}) for value in (one, other)]
    assert bits(found[0]) != bits(found[1])
    explained = [index.explain("pump manual", **{**defaults, name: value}) for value in (one, other)]
    assert explained[0].hits != explained[1].hits


def test_all_keywords_are_tried() -> None:
    for method in (SparseIndex.search, SparseIndex.explain):
        assert set(inspect.signature(method).parameters) - {"self", "queries", "query", "threads"} == set(SEARCHES)


def test_threads_is_a_limit() -> None:
    index = SparseIndex()
    index.add(None, [{"a": 4}] * 200_000)
    assert index.explain("a", threads=1).threads == 1
    assert index.explain("a", threads=3).threads == 3
    assert bits(index.search("a", threads=1)) == bits(index.search("a", threads=3))


def test_an_unknown_keyword_is_an_error() -> None:
    search: Callable[..., Any] = SparseIndex().search
    for options in ({"recall": 0.9}, {"fetch_k": 3}, {"min_score": 1}):
        with pytest.raises(TypeError, match=next(iter(options))):
            search("a", **options)


def test_the_analyzer_decides_the_terms() -> None:
    english = Analyzer("english")
    plain, stemmed = SparseIndex(), SparseIndex(analyzer=english)
    for index in (plain, stemmed):
        index.add(None, ["running pumps"])
    assert plain.search("run pump").counts.tolist() == [0]
    assert stemmed.search("run pump").counts.tolist() == [1]
    assert (plain.analyzer, stemmed.analyzer) == (Analyzer(), english)
    assert SparseIndex(analyzer=None).analyzer is None


def test_policy_columns_and_what_an_index_says_of_itself() -> None:
    index = world()
    assert index.policy is not None
    assert dict(index.columns) == {"n": int}
    assert repr(index) == "SparseIndex(4 rows, terms, guarded)"
    assert repr(SparseIndex(analyzer=None)) == "SparseIndex(0 rows, vectors, open)"
    with pytest.raises(AccessError, match="rules"):
        index.add(None, ["no rule"])
    with pytest.raises(InvalidInput, match="no columns"):
        SparseIndex().search("a", where=where("n") == 1)


def test_groups_rules_and_metadata_belong_to_rows() -> None:
    index = world()
    index.set_rule([7], index.policy.rule("zenith", ANY_IN_TENANT))  # type: ignore[union-attr]
    assert index.search("pump", principal=ALICE)[0].ids.tolist() == []
    assert index.search("pumps", principal=ALICE)[0].ids.tolist() == [3]
    assert index.ids(principal=UNRESTRICTED, where=where("n").is_missing()).tolist() == [3]
    assert index.count(principal=UNRESTRICTED, where=where("n") > 1) == 2


def test_every_read_is_in_the_log(tmp_path: Path) -> None:
    log = RetrievalLog(tmp_path / "log", key=None)
    index = world(log=log)
    hits = index.search(["pump", "valve"], 2, principal=ALICE, ranking="tfidf")
    index.explain("pump", principal=ALICE, scope="tenant")
    index.ids(principal=ALICE)
    index.count(principal=ALICE)
    with pytest.raises(InvalidInput):
        index.search("pump", -1, principal=ALICE)
    log.close()
    with pytest.raises(NotLogged):
        index.search("pump", principal=ALICE)
    found = objects_of(tmp_path / "log")[1:]
    assert [entry["action"] for entry in found] == ["search", "explain", "ids", "count"]
    assert [entry["plan"] for entry in found] == [
        *("sparse tfidf, exact, scope=permitted", "sparse bm25, exact, scope=tenant", None, None)
    ]
    assert found[0]["ids"] == [ids.tolist() for ids, _ in hits]
    assert found[0]["scores"] == [scores.tolist() for _, scores in hits]
    assert (found[0]["k"], found[0]["who"]["id"]) == (2, "alice")


def test_vectors_are_logged_and_explained(tmp_path: Path) -> None:
    with RetrievalLog(tmp_path / "log", key=None) as log:
        index = SparseIndex(analyzer=None, log=log)
        index.add([5], matrix([{3: 2.0}]))
        told = index.explain(matrix([{3: 1.0}]), 1)
    assert (told.plan, told.metric, told.codec, told.hits) == ("sparse dot, exact", "dot", "postings", ((5, 2.0),))


def test_stats_tell_of_postings() -> None:
    index = SparseIndex()
    empty = index.stats()
    assert (empty["rows"], empty["entries"], empty["parts"], empty["bytes_per_entry"]) == (0, 0, 0, 0.0)
    index.add(None, ["a b", "b c", ""])
    index.remove([0])
    stats = index.stats()
    assert {name: stats[name] for name in ("rows", "removed", "terms", "entries", "parts", "rules")} == {
        **{"rows": 2, "removed": 1, "terms": 3, "entries": 4, "parts": 1, "rules": 0}
    }
    assert stats["bytes_per_entry"] == stats["bytes"] / 4 > 0
    index.optimize()
    assert {name: index.stats()[name] for name in ("rows", "removed", "terms", "entries")} == {
        **{"rows": 2, "removed": 0, "terms": 2, "entries": 2}
    }
    with pytest.raises(AccessError, match="UNRESTRICTED"):
        world().stats(principal=ALICE)
    assert world().stats(principal=UNRESTRICTED)["rows"] == 4


def test_masks_are_made_of_what_the_caller_reads() -> None:
    index = world()
    mask = AllowMask.from_bools(index, np.array([True, False, True]), ALICE)
    assert index.search("pumps pump valve", principal=ALICE, allow=mask)[0].ids.tolist() == [3, 1]
    nobody = Principal("n", "nowhere", ())
    assert AllowMask.from_callable(index, lambda i: True, nobody).bits.count == 0
