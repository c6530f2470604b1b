# SPDX-License-Identifier: Apache-2.0
"""P2 where codes are read first: rows that a principal may not read change nothing it receives, bit for bit.

Hidden rows do change what the codes are coded against, how blocks of rows fall, and whether the codes are given up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st

import reference
from evidex import DenseIndex, Policy
from examples import ALICE
from many_rows import KINDS, LEAST_PERMITTED, more_examples, storable


@dataclass(frozen=True)
class World:
    """An index with hidden rows and one without them, and what is asked of both."""

    full: DenseIndex
    alone: DenseIndex
    queries: Any
    k: int


@st.composite
def worlds(draw: st.DrawFn) -> World:
    metric = draw(st.sampled_from(reference.METRICS))
    codec = draw(st.sampled_from(reference.CODECS))
    dim = draw(st.integers(32, 48))
    mine = LEAST_PERMITTED + draw(st.sampled_from([-1, 0, 1, 100]))
    others = draw(st.sampled_from([1, 70, 3000]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = KINDS[draw(st.sampled_from([kind for kind in KINDS if kind != "at the bound"]))](rng, mine, dim)
    queries = rows[rng.integers(0, mine, 3)] + draw(st.sampled_from([0, 0.1])) * rng.standard_normal((3, dim))
    kind = draw(st.sampled_from(["in the way", "far away", "alike"]))
    hidden = (queries if kind == "in the way" else rows)[rng.integers(0, 3, others)]
    if kind == "far away":
        hidden = 50 + 100 * rng.standard_normal((others, dim))
    values = storable(np.concatenate([rows, hidden]), codec)
    values[~values.any(axis=1), 0] = 1
    ids = rng.permutation(mine + others)
    groups = rng.integers(0, draw(st.sampled_from([3, 300])), mine + others)
    groups[mine:] += 1000  # a group has one rule
    where = draw(st.sampled_from(["before", "after", "between"]))
    order = rng.permutation(mine + others) if where == "between" else np.arange(mine + others)
    if where == "before":
        order = np.roll(order, others)
    policy = Policy()
    rules = [policy.rule("acme", {"a"}), policy.rule("acme", {"b"})]
    full, alone = (DenseIndex(dim, metric=metric, codec=codec, policy=policy) for _ in range(2))
    for part in np.array_split(order, draw(st.integers(1, 3))):
        full.add(ids[part], values[part], [rules[int(i >= mine)] for i in part], groups[part])
    part = order[order < mine]
    alone.add(ids[part], values[part], rules[0], groups[part])
    if draw(st.booleans()):  # a dead row is a hidden row
        full.remove(ids[mine:])
    return World(full, alone, values[:mine][rng.integers(0, mine, 3)], draw(st.sampled_from([1, 10, 128, 129, 5000])))


@more_examples
@given(world=worlds(), group_by=st.booleans(), narrow=st.sampled_from(["no", "one for all", "one for each"]))
def test_hidden_rows_change_nothing(world: World, group_by: bool, narrow: str) -> None:
    """Seen red: a threshold found from rows that are not permitted; the plan chosen by rows stored, not permitted."""
    mine = world.alone.ids(principal=ALICE)
    assert world.full.ids(principal=ALICE).tobytes() == mine.tobytes()
    allow: Any = None
    if narrow == "one for all":
        allow = np.arange(len(mine)) % 100 != 7
    elif narrow == "one for each":
        allow = np.arange(len(mine)) % np.array([[1], [100], [3]]) == 0
    answers: list[list[Any]] = []
    near, explained = [], []
    for index in (world.full, world.alone):
        hits = index.search(world.queries, world.k, principal=ALICE, allow=allow, group_by=group_by)
        fields = [hits.ids, hits.scores, hits.counts, hits.certified, *([hits.groups] if group_by else [])]
        answers.append([array.tobytes() for array in fields if array is not None])
        least = float(hits.scores[0, min(world.k, 20) - 1])
        close = index.radius(world.queries, max(least, -1e38), limit=50, principal=ALICE, allow=allow)
        near.append([close.ids.tobytes(), close.scores.tobytes(), close.counts.tobytes(), close.reason.tolist()])
        one = allow if allow is None or allow.ndim == 1 else allow[0]
        explained.append(index.explain(world.queries[0], world.k, principal=ALICE, allow=one, group_by=group_by))
        assert [reason is None for reason in hits.reason] == (hits.counts == world.k).tolist()
    assert answers[0] == answers[1]
    assert near[0] == near[1]
    assert explained[0] == explained[1]
    assert explained[0].operator is None
    event(explained[0].plan.split(" of ")[0])
