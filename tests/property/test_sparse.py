# SPDX-License-Identifier: Apache-2.0
"""SparseIndex: how rows came, who else's rows there are, and what narrows a search change no bit of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import sparse_reference as reference
from evidex import UNRESTRICTED, AllowMask, Columns, Hits, Policy, Principal, Rule, SparseIndex, where
from sparse_examples import bits, matrix, require_scores

WORDS = ["a", "b", "c", "d", "e", "zz", "é", "\0", "漢字"]
GROUPS = ("g", "h")
ALICE = Principal("alice", "acme", {"g"})
Terms: TypeAlias = "dict[str, int]"

terms = st.dictionaries(st.sampled_from(WORDS), st.sampled_from([1, 2, 4, 8, 40]), max_size=6)
queries = st.lists(terms, min_size=1, max_size=4)
ids = st.integers(0, 40) | st.just(2**63 - 1)
collections = st.dictionaries(ids, terms, max_size=25)
RANKINGS: tuple[Mapping[str, Any], ...] = ({}, {"ranking": "tfidf"}, {"k1": 0.3, "b": 1}, {"k1": 0})
rankings = st.sampled_from(RANKINGS)
ks = st.integers(0, 30)


def made(documents: Mapping[int, Terms], cuts: list[int] | None = None) -> SparseIndex:
    """An open index, the documents added in calls of these sizes."""
    index, rest = SparseIndex(), list(documents.items())
    for size in cuts or []:
        some, rest = rest[:size], rest[size:]
        index.add([i for i, _ in some], [row for _, row in some])
    index.add([i for i, _ in rest], [row for _, row in rest])
    return index


@given(documents=collections, asked=queries, k=ks)
def test_scores_and_order_are_those_of_the_reference(documents: dict[int, Terms], asked: list[Terms], k: int) -> None:
    index = made(documents)
    expected = [reference.bm25(query, documents, documents) for query in asked]
    require_scores(index.search(asked, k), expected, k)
    expected = [reference.tfidf(query, documents, documents) for query in asked]
    require_scores(index.search(asked, k, ranking="tfidf"), expected, k)


@given(
    documents=collections,
    asked=queries,
    k=ks,
    order=st.randoms(use_true_random=False),
    cuts=st.lists(st.integers(0, 6), max_size=8),
    how=rankings,
    optimize=st.booleans(),
)
def test_neither_the_order_nor_the_calls_in_which_rows_came(
    documents: dict[int, Terms], asked: list[Terms], k: int, order: Any, cuts: list[int], how: Any, optimize: bool
) -> None:
    """Seen red with the rows of parts that are merged in another order than they have."""
    shuffled = list(documents.items())
    order.shuffle(shuffled)
    shuffled = [(i, dict(order.sample(list(row.items()), len(row)))) for i, row in shuffled]
    turned = [dict(order.sample(list(query.items()), len(query))) for query in asked]
    one, other = made(documents), made(dict(shuffled), cuts)
    if optimize:
        other.optimize()
    assert bits(one.search(asked, k, **how)) == bits(other.search(turned, k, **how))
    assert one.explain(asked[0], k, **how).hits == other.explain(turned[0], k, **how).hits


@given(
    documents=collections,
    gone=collections,
    again=st.sets(ids),
    cuts=st.lists(st.integers(0, 6), max_size=4),
    asked=queries,
    how=rankings,
    optimize=st.booleans(),
)
def test_what_was_removed_or_replaced_leaves_no_trace(
    documents: dict[int, Terms],
    gone: dict[int, Terms],
    again: set[int],
    cuts: list[int],
    asked: list[Terms],
    how: Any,
    optimize: bool,
) -> None:
    """Others come and go, some with the same ids; some rows are removed and added again, or written over themselves.

    Seen red with rows that were laid out anew given the terms of those that had their numbers.
    """
    index = made(gone, cuts)
    index.remove([i for i in gone if i not in documents])
    index.upsert(list(documents), list(documents.values()))
    twice = [i for i in documents if i in again]
    index.remove(twice[::2])
    index.add(twice[::2], [documents[i] for i in twice[::2]])
    index.upsert(twice[1::2], [documents[i] for i in twice[1::2]])
    if optimize:
        index.optimize()
    assert bits(index.search(asked, 30, **how)) == bits(made(documents).search(asked, 30, **how))


@st.composite
def vectors(draw: st.DrawFn) -> list[dict[int, float]]:
    indices = st.sampled_from([0, 1, 2, 5, 300, 2**32 - 1])
    weights = st.sampled_from([0.1, 0.25, 1 / 3, 1.0, 1e-15, 3e15]) | st.floats(0.125, 100, width=32)
    return draw(st.lists(st.dictionaries(indices, weights, max_size=5), max_size=15))


@given(
    rows=vectors(), asked=vectors(), order=st.permutations(range(15)), cut=st.integers(0, 15), optimize=st.booleans()
)
def test_vectors_do_not_depend_on_how_they_came(
    rows: list[dict[int, float]], asked: list[dict[int, float]], order: list[int], cut: int, optimize: bool
) -> None:
    one, other = SparseIndex(analyzer=None), SparseIndex(analyzer=None)
    one.add(range(len(rows)), matrix(rows))
    shuffled = [i for i in order if i < len(rows)]
    for some in (shuffled[:cut], shuffled[cut:]):
        other.add(some, matrix([dict(reversed(rows[i].items())) for i in some]))
    if optimize:
        other.optimize()
    assert bits(one.search(matrix(asked), 20)) == bits(other.search(matrix(asked), 20))
    rounded = [{i: float(np.float32(w)) for i, w in row.items()} for row in rows]
    queries = [{i: float(np.float32(w)) for i, w in query.items()} for query in asked]
    require_scores(one.search(matrix(asked), 20), [reference.dot(q, dict(enumerate(rounded))) for q in queries], 20)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Policy, dict[int, tuple[Terms, Rule]]]:
    """Documents under rules of two tenants."""
    policy = Policy()
    tenants, groups = st.sampled_from(["acme", "zenith"]), st.sets(st.sampled_from(GROUPS))
    drawn = [policy.rule(draw(tenants), draw(groups), draw(groups)) for _ in range(draw(st.integers(0, 3)))]
    rules = [policy.rule("acme", GROUPS), *drawn]  # the first lets somebody read
    documents = draw(collections)
    return policy, {i: (row, draw(st.sampled_from(rules))) for i, row in documents.items()}


def put(policy: Policy, documents: Mapping[int, tuple[Terms, Rule]]) -> SparseIndex:
    index = SparseIndex(policy=policy, columns=Columns({"even": bool}))
    rows, rules = [row for row, _ in documents.values()], [rule for _, rule in documents.values()]
    index.add(list(documents), rows, rules, metadata={"even": [i % 2 == 0 for i in documents]})
    return index


def readable(documents: Mapping[int, tuple[Terms, Rule]], who: Principal) -> dict[int, tuple[Terms, Rule]]:
    def may(rule: Rule) -> bool:
        return rule.tenant == who.tenant and not rule.deny & who.groups and bool(set(rule.allow) & who.groups)  # type: ignore[arg-type]

    return {i: (row, rule) for i, (row, rule) in documents.items() if may(rule)}


@given(world=worlds(), who=st.sets(st.sampled_from(GROUPS)), asked=queries, k=ks, how=rankings, grouped=st.booleans())
def test_hidden_rows_change_nothing_that_a_principal_sees(
    world: Any, who: set[str], asked: list[Terms], k: int, how: Any, grouped: bool
) -> None:  # case A11, P2
    """Against an index that holds the permitted rows only: ids, score bits, counts, groups, explain.

    Seen red with words counted over all rows.
    """
    policy, documents = world
    principal = Principal("x", "acme", who)
    mine = readable(documents, principal)
    here, there = (
        index.search(asked, k, principal=principal, group_by=grouped, **how)
        for index in (put(policy, documents), put(policy, mine))
    )
    assert bits(here) == bits(there)
    for part in ("ids", "counts", "reason", "groups", "certified"):
        one, other = getattr(here, part), getattr(there, part)
        assert one is other is None or one.tolist() == other.tolist()
    explained = [
        index.explain(asked[0], k, principal=principal, **how) for index in (put(policy, documents), put(policy, mine))
    ]
    assert explained[0] == explained[1]
    assert explained[0].permitted == len(mine)


@given(world=worlds(), asked=queries, how=rankings, scope=st.sampled_from(["permitted", "tenant", "collection"]))
def test_a_scope_is_the_rows_it_names(world: Any, asked: list[Terms], how: Any, scope: str) -> None:  # case F9
    policy, documents = world
    mine = readable(documents, ALICE)
    counted = {
        "permitted": mine,
        "tenant": {i: one for i, one in documents.items() if one[1].tenant == "acme"},
        "collection": documents,
    }[scope]
    found = put(policy, documents).search(asked, 30, principal=ALICE, scope=scope, **how)
    whole = put(policy, counted).search(asked, 30, principal=UNRESTRICTED, **how)
    assert scored(found) == [{i: s for i, s in query.items() if i in mine} for query in scored(whole)]


def scored(hits: Hits) -> list[dict[int, float]]:
    return [dict(zip(found.tolist(), scores.tolist(), strict=True)) for found, scores in hits]


@given(
    world=worlds(), asked=queries, allowed=st.sets(ids), even=st.booleans(), k=ks, how=rankings, grouped=st.booleans()
)
def test_masks_take_rows_out_and_change_nothing_else(
    world: Any, asked: list[Terms], allowed: set[int], even: bool, k: int, how: Any, grouped: bool
) -> None:
    """P1; scores and order of what is left are those without a mask, and the k best of it are given.

    Seen red with words counted over the rows that the mask lets through.
    """
    policy, documents = world
    index = put(policy, documents)
    everything = index.search(asked, 40, principal=ALICE, **how)
    mask = AllowMask.from_ids(index, sorted(allowed))
    asks = where("even") == even
    assert set(index.ids(principal=ALICE).tolist()) == set(readable(documents, ALICE))
    for options, keep in (
        ({"allow": mask}, lambda i: i in allowed),
        ({"where": asks}, lambda i: (i % 2 == 0) == even),
        ({"allow": mask, "where": asks}, lambda i: i in allowed and (i % 2 == 0) == even),
        ({"allow": [mask] * len(asked)}, lambda i: i in allowed),
    ):
        narrowed = index.search(asked, k, principal=ALICE, group_by=grouped, **options, **how)
        expected = [[(i, s) for i, s in query.items() if keep(i)][:k] for query in scored(everything)]
        assert [list(query.items()) for query in scored(narrowed)] == expected
