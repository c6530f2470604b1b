# SPDX-License-Identifier: Apache-2.0
"""An index with a retrieval log: every read is in it before it returns, or does not return."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from audit_logs import KEY, objects_of
from evidex import (
    ANY_IN_TENANT,
    UNRESTRICTED,
    AccessError,
    AllowMask,
    DenseIndex,
    InvalidInput,
    NotFound,
    NotLogged,
    Policy,
    Principal,
    RetrievalLog,
)
from evidex.audit import verify
from examples import ALICE, EYE

READS: dict[str, Callable[[DenseIndex, Any], object]] = {
    "search": lambda index, principal: index.search(EYE, 2, principal=principal),
    "radius": lambda index, principal: index.radius(EYE, 0.5, principal=principal),
    "explain": lambda index, principal: index.explain(EYE[0], 2, principal=principal),
    "get": lambda index, principal: index.get([20, 10], principal=principal),
    "ids": lambda index, principal: index.ids(principal=principal),
    "count": lambda index, principal: index.count(principal=principal),
    "items": lambda index, principal: list(index.items(principal=principal)),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "reads.log"


def a_guarded_index(log: RetrievalLog, **options: Any) -> DenseIndex:
    """The unit vectors as 10, 20, 30; ALICE may read the first two."""
    policy = Policy()
    index = DenseIndex(3, policy=policy, log=log, **options)
    index.add(
        [10, 20, 30], EYE, [policy.rule("acme", {"a"}), policy.rule("acme", ANY_IN_TENANT), policy.rule("z", {"a"})]
    )
    return index


def logged(path: Path) -> list[dict[str, Any]]:
    return [line for line in objects_of(path) if line["action"] != "open"]


def test_every_read_is_logged_as_it_was_returned(path: Path) -> None:
    with RetrievalLog(path, key=KEY) as log:
        index = a_guarded_index(log)
        assert logged(path) == []  # writing is no read
        returned = {action: read(index, ALICE) for action, read in READS.items()}
    lines = {line["action"]: line for line in logged(path)}
    assert list(lines) == list(READS)
    for line in lines.values():
        assert line["who"] == {"id": "alice", "tenant": "acme", "groups": ["a"]}
        assert line["layout"] == AllowMask.from_ids(index, []).layout
    for action in ("search", "radius"):
        hits: Any = returned[action]
        assert lines[action]["ids"] == [ids.tolist() for ids, _ in hits]
        assert lines[action]["scores"] == [scores.tolist() for _, scores in hits]
        assert lines[action]["plan"] == "exact scan"
    explained: Any = returned["explain"]
    assert list(zip(lines["explain"]["ids"][0], lines["explain"]["scores"][0], strict=True)) == list(explained.hits)
    assert [lines[action]["k"] for action in READS] == [2, None, 2, None, None, None, None]
    assert (lines["get"]["ids"], lines["get"]["scores"], lines["get"]["plan"]) == ([[20, 10]], None, None)
    assert lines["items"]["ids"] == [[10, 20]]
    assert (lines["ids"]["ids"], lines["count"]["count"], lines["count"]["ids"]) == ([[10, 20]], 2, None)
    assert verify(path, KEY, log.head).ok


def test_unrestricted_and_open_reads_are_logged_as_such(path: Path) -> None:
    with RetrievalLog(path, key=KEY) as log:
        guarded, opened = a_guarded_index(log), DenseIndex(3, log=log)
        opened.add([1], EYE[:1])
        guarded.search(EYE[0], principal=UNRESTRICTED)
        opened.search(EYE[0])
    first, second = logged(path)
    assert (first["who"], first["ids"]) == ("UNRESTRICTED", [[10, 20, 30]])
    assert (second["who"], second["ids"]) == (None, [[1]])
    assert first["layout"] != second["layout"]


def test_generation_limit_and_codec_are_told(path: Path) -> None:
    with RetrievalLog(path, key=KEY) as log:
        index = a_guarded_index(log, codec="int8")
        index.radius(EYE[0], -1, limit=1, principal=ALICE)
        index.remove([10])
        index.radius(EYE[0], -1, principal=ALICE)
    first, second = logged(path)
    assert (first["k"], first["ids"], first["plan"]) == (1, [[10]], "exact scan of decoded int8 rows")
    assert (second["k"], second["ids"]) == (None, [[20]])
    assert second["generation"] == first["generation"] + 1


@pytest.mark.parametrize("action", READS)
def test_a_read_that_cannot_be_logged_returns_nothing(path: Path, monkeypatch: pytest.MonkeyPatch, action: str) -> None:
    """Fail closed. Seen red: NotLogged caught, and the hits returned."""

    def refuse(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    with RetrievalLog(path, key=KEY) as log:
        index = a_guarded_index(log)
        monkeypatch.setattr("os.write", refuse)
        for principal in (ALICE, UNRESTRICTED):
            with pytest.raises(NotLogged, match="nothing is returned"):
                READS[action](index, principal)
        monkeypatch.undo()
        READS[action](index, ALICE)
    with pytest.raises(NotLogged, match="closed"):
        READS[action](index, ALICE)
    assert [line["action"] for line in logged(path)] == [action]


def test_reads_made_of_reads_are_logged_as_those(path: Path) -> None:
    with RetrievalLog(path, key=KEY) as log:
        index = a_guarded_index(log)
        index.neighbours([20], 1, principal=ALICE)
        batches = index.items(batch=1, principal=ALICE)
        assert [line["action"] for line in logged(path)] == ["get", "search"]
        next(batches)
    assert [(line["action"], line["ids"]) for line in logged(path)] == [
        *(("get", [[20]]), ("search", [[20]]), ("items", [[10]]))
    ]


def test_what_is_refused_is_not_in_the_log(path: Path) -> None:
    with RetrievalLog(path, key=KEY) as log:
        index = a_guarded_index(log)
        with pytest.raises(NotFound):
            index.get([30], principal=ALICE)
        with pytest.raises(AccessError):
            index.search(EYE)
        with pytest.raises(InvalidInput):
            index.search(EYE, -1, principal=ALICE)
        index.search(EYE, principal=Principal("eve", "nowhere", {"a"}))
    line = logged(path)[0]
    assert (line["who"]["tenant"], line["ids"], len(logged(path))) == ("nowhere", [[], [], []], 1)


def test_no_vector_and_no_text_is_in_the_log(path: Path) -> None:
    """Of whatever is stored or asked, only ids and scores come back."""
    rng = np.random.default_rng(7)
    rows = rng.standard_normal((50, 8)).astype(np.float32)
    queries = rng.standard_normal((3, 8)).astype(np.float32)
    with RetrievalLog(path, key=KEY) as log:
        index = DenseIndex(8, metric="ip", log=log)
        index.add(None, rows)
        index.search(queries, 50)
        index.radius(queries, -100.0)
        index.explain(queries[0], 50)
        got = index.get(np.arange(50))
    numbers = set(re.findall(r"-?\d+\.\d+(?:e-?\d+)?", path.read_text()))
    written = {np.float32(number).tobytes() for number in numbers}
    components = {one.tobytes() for one in np.concatenate([rows.ravel(), queries.ravel(), got.ravel()])}
    assert len(written) > 100
    assert not written & components


def test_hits_do_not_depend_on_the_log(path: Path) -> None:
    with RetrievalLog(path, key=KEY) as log:
        for queries in (EYE, np.empty((0, 3), np.float32)):
            found = a_guarded_index(log).search(queries, principal=ALICE)
            policy_only = a_guarded_index(log)
            policy_only._log = None
            expected = policy_only.search(queries, principal=ALICE)
            assert found.ids.tobytes() == expected.ids.tobytes()
            assert found.scores.tobytes() == expected.scores.tobytes()
    assert len(logged(path)) == 2


def test_masks_with_several_plans_are_told(path: Path) -> None:
    rng = np.random.default_rng(0)
    with RetrievalLog(path, key=KEY) as log:
        index = DenseIndex(32, log=log)
        index.add(None, rng.standard_normal((5000, 32)))
        masks = [AllowMask.from_ids(index, np.arange(n)) for n in (5000, 10)]
        index.search(rng.standard_normal((2, 32)), 1, allow=masks)
        index.search(rng.standard_normal((2, 32)), 1, allow=masks[0])
    assert [line["plan"] for line in logged(path)] == ["exact pre-scan, exact scan", "exact pre-scan"]


@pytest.mark.parametrize("log", ["reads.log", True, object()])
def test_a_wrong_log_is_refused(log: Any) -> None:
    with pytest.raises(InvalidInput, match="log: expected a RetrievalLog, or None to keep no log"):
        DenseIndex(3, log=log)
