# SPDX-License-Identifier: Apache-2.0
"""A graph of hnswlib beside a guarded index: who reads, by which rights, and what is recorded of it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from audit_logs import KEY, objects_of
from evidex import (
    UNRESTRICTED,
    AccessError,
    AllowMask,
    DenseIndex,
    InvalidInput,
    Policy,
    Principal,
    RetrievalLog,
    StaleMask,
)
from evidex.integrations._hnsw_graph import Graph
from examples import ALICE, line
from graphs import beside, clusters, walking

pytest.importorskip("hnswlib", reason="hnswlib is not installed")

GRAPH, EXACT = "hnswlib graph, exact scores", "exact scan"
ROWS = clusters(1000, 12, 1)
QUERIES = ROWS[::20] + np.float32(0.5)


@pytest.fixture
def walked() -> Iterator[None]:
    with walking():
        yield


def world() -> tuple[DenseIndex, Policy]:
    """ALICE may read the rows below 500, and nobody else any."""
    policy = Policy()
    index = DenseIndex(12, policy=policy)
    mine, other = policy.rule("acme", {"a"}), policy.rule("acme", {"b"})
    index.add(np.arange(1000), ROWS, [mine] * 500 + [other] * 500)
    return index, policy


@pytest.mark.usefixtures("walked")
def test_what_is_revoked_while_the_graph_is_walked_does_not_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """P1 by the newest rights. Seen red: settled left out."""
    index, policy = world()
    graph, nearest, runs = beside(index), Graph.nearest, [0]
    best = graph.search(QUERIES[0], 1, ef_search=20, principal=ALICE).ids[0]
    other = policy.rule("acme", {"b"})

    def revoking(self: Graph, *given: Any) -> Any:
        found = nearest(self, *given)
        runs[0] += 1
        index.set_rule(best, other)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(Graph, "nearest", revoking)
        hits = graph.search(QUERIES[0], 10, ef_search=20, principal=ALICE)
    assert best[0] not in hits.ids and hits.counts.tolist() == [10] and runs[0] == 2

    def never_settled(self: Graph, *given: Any) -> Any:
        found = nearest(self, *given)
        visible = index.ids(principal=ALICE)
        exact = index.search(QUERIES[0], 1, principal=ALICE).ids[0]
        assert len(visible) > 0
        index.set_rule(exact, other)
        return found

    monkeypatch.setattr(Graph, "nearest", never_settled)
    with pytest.raises(AccessError, match="revoked during each of 4 runs"):
        graph.search(QUERIES[0], 10, ef_search=20, principal=ALICE)


@pytest.mark.parametrize("principal", [None, "alice", True, object()])
def test_a_guarded_index_is_read_as_somebody(principal: Any) -> None:  # case A13
    """P3. Seen red: the guard asked only where a mask was given."""
    index, _ = world()
    graph = beside(index)
    for read in (graph.search, graph.explain):
        with pytest.raises(AccessError, match="principal"):
            read(QUERIES[0], principal=principal)


@pytest.mark.usefixtures("walked")
def test_a_principal_gets_its_own_rows_only(caplog: pytest.LogCaptureFixture) -> None:
    """P1, P2 of what explain says. Seen red: the operator's counters given to a principal."""
    index, _ = world()
    graph = beside(index)
    hits = graph.search(QUERIES, 10, ef_search=20, principal=ALICE)
    assert (hits.ids < 500).all() and (hits.counts == 10).all() and not hits.certified.all()
    explained = graph.explain(QUERIES[0], 10, ef_search=20, principal=ALICE)
    assert (explained.plan, explained.permitted, explained.operator) == (GRAPH, 500, None)
    for nobody in (Principal("x", "unknown", {"a"}), Principal("x", "acme", {"unknown"}), Principal("x", "acme", ())):
        hits = graph.search(QUERIES, 10, principal=nobody)
        assert (hits.counts == 0).all() and (hits.ids == -1).all() and hits.certified.all()
        assert set(hits.reason) == {"fewer_than_k"}
    with caplog.at_level(logging.INFO, logger="evidex.access"):
        explained = graph.explain(QUERIES[0], 10, ef_search=20, principal=UNRESTRICTED)
    assert "UNRESTRICTED read of layout" in caplog.text
    assert explained.operator == {
        **{"generation": 1, "rows": 1000, "removed": 0, "abandoned": False},
        **{"graph": 1000, "beside": 0, "candidates": 20},
    }
    with pytest.raises(InvalidInput, match="principal: this index is open"):
        beside(line(3)).search(np.zeros(4), principal=ALICE)


def test_allow_masks_narrow_and_grow_stale() -> None:
    index, _ = world()
    graph = beside(index)
    mask = AllowMask.from_ids(index, [1, 2, 700])
    hits = graph.search(QUERIES, 10, principal=ALICE, allow=mask)
    assert set(hits.ids.ravel()) == {-1, 1, 2}
    index.optimize()
    with pytest.raises(StaleMask):
        graph.search(QUERIES, 10, principal=ALICE, allow=mask)


@pytest.mark.usefixtures("walked")
def test_reads_are_in_the_retrieval_log(tmp_path: Path) -> None:
    """Seen red: no record made."""
    policy = Policy()
    index = DenseIndex(12, policy=policy, log=RetrievalLog(tmp_path / "reads.log", key=KEY))
    index.add(np.arange(500), ROWS[:500], policy.rule("acme", {"a"}))
    graph = beside(index)
    hits = graph.search(QUERIES[:2], 3, ef_search=20, principal=ALICE)
    graph.explain(QUERIES[0], 3, ef_search=60_000, principal=ALICE)
    first, second = [one for one in objects_of(tmp_path / "reads.log") if one["action"] != "open"]
    assert (first["action"], first["plan"], first["k"], first["ids"]) == ("search", GRAPH, 3, hits.ids.tolist())
    assert (second["action"], second["plan"], second["ids"]) == ("explain", EXACT, [hits.ids[0].tolist()])
