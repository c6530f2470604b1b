# SPDX-License-Identifier: Apache-2.0
"""What a retrieval log writes of a read, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import stat
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from audit_logs import ALICE, KEY, ZEROS, add, lines_of, objects_of, sealed, sha, write
from evidex import UNRESTRICTED, InvalidInput, RetrievalLog
from evidex.audit import verify


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "reads.log"


def record(path: Path, action: str = "search", principal: object = ALICE, **what: Any) -> list[dict[str, Any]]:
    """The lines of one read."""
    with RetrievalLog(path, key=KEY) as log:
        log.record(action, principal, layout=3, generation=5, **what)
    return [line for line in objects_of(path) if line["action"] not in ("open", "resume")]


def test_a_line_is_what_the_documentation_says(path: Path) -> None:
    """Seen red: the seal made of the fields before ``prev`` was put in."""
    head = write(path, 2)
    opening, first, second = lines_of(path)
    assert list(json.loads(opening)) == "version seq time prev action file oldest keyed torn seal".split()
    assert list(json.loads(first)) == (
        "version seq time prev action who layout generation plan k count part parts query ids scores seal".split()
    )
    found = json.loads(first)
    assert found["who"] == {"id": "alice", "tenant": "acme", "groups": ["legal", "support"]}
    assert [found[key] for key in "version seq action layout generation plan k count part parts query".split()] == (
        [1, 1, "search", 3, 5, "exact scan", 2, None, 0, 1, 0]
    )
    assert found["ids"] == [[0, 7]] and found["scores"] == [[0.75, float(np.float32(0.1))]]
    written = datetime.fromisoformat(found["time"])
    assert written.utcoffset() == timedelta(0) and abs(datetime.now(timezone.utc) - written) < timedelta(hours=1)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", found["time"])
    previous = ZEROS
    for number, line in enumerate((opening, first, second)):
        fields = json.loads(line)
        assert (fields["seq"], fields["prev"]) == (number, previous)
        body = re.sub(rb',"seal":"\w+"', b"", line.rstrip(b"\n"))
        assert sealed(body, KEY) == line and json.dumps(json.loads(body), separators=(",", ":")).encode() == body
        previous = sha(line)
    assert previous == head
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_without_a_key_seals_are_plain_digests(path: Path) -> None:
    write(path, 1, key=None)
    assert not objects_of(path)[0]["keyed"]
    for line in lines_of(path):
        assert sealed(re.sub(rb',"seal":"\w+"', b"", line.rstrip(b"\n"))) == line


@pytest.mark.parametrize(("principal", "who"), [(UNRESTRICTED, "UNRESTRICTED"), (None, None)])
def test_who_may_be_no_principal(path: Path, principal: object, who: object) -> None:
    assert record(path, "count", principal, count=12)[0]["who"] == who
    assert objects_of(path)[1]["count"] == 12


def test_names_of_any_kind_are_kept(path: Path) -> None:
    from evidex import Principal

    name = 'a "quoted"\n\x00\u2028 \U0001f600 name \ud800'
    assert record(path, "ids", Principal(name, name, {name}), ids=[np.arange(2)])[0]["who"] == {
        "id": name,
        "tenant": name,
        "groups": [name],
    }
    assert verify(path, KEY).ok


def test_scores_keep_every_bit(path: Path) -> None:
    scores = np.array([3.4e38, 1, 0.1, 1e-45, 0, -0.1, -np.pi, -1.7014118346046923e38], np.float32)
    found = record(path, ids=[np.arange(len(scores))], scores=[scores])[0]["scores"][0]
    assert np.array(found, np.float32).tobytes() == scores.tobytes()


def test_a_read_too_long_for_a_line_goes_on_in_the_next(path: Path) -> None:
    """Seen red: the last hit of a part was written again as the first of the next."""
    rng = np.random.default_rng(0)
    ids = [2**63 - 1 - rng.permutation(n) for n in (3, 0, 40_000, 1, 0, 12_000)]
    scores = [-rng.random(len(one)).astype(np.float32) * np.float32(1e38) for one in ids]
    found = record(path, ids=ids, scores=scores)
    assert [(one["part"], one["parts"]) for one in found] == [(n, len(found)) for n in range(len(found))]
    assert 4 < len(found) < 9 and max(map(len, lines_of(path))) <= 2**20
    gathered: dict[int, tuple[list[int], list[float]]] = {query: ([], []) for query in range(len(ids))}
    for one in found:
        for number, (some, of_them) in enumerate(zip(one["ids"], one["scores"], strict=True)):
            gathered[one["query"] + number][0].extend(some)
            gathered[one["query"] + number][1].extend(of_them)
    assert [gathered[query][0] for query in gathered] == [one.tolist() for one in ids]
    assert [gathered[query][1] for query in gathered] == [one.tolist() for one in scores]
    assert verify(path, KEY).ok


def test_no_queries_and_many_without_hits_are_records_too(path: Path) -> None:
    assert record(path, ids=[], scores=[])[0]["ids"] == []
    found = record(path, ids=[np.empty(0, np.int64)] * 200_000)[1:]
    assert sum(len(one["ids"]) for one in found) == 200_000 and found[0]["scores"] is None
    assert [one["query"] for one in found[:2]] == [0, len(found[0]["ids"])]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"ids": [np.eye(2, dtype=np.float32)]}, r"ids: query 0 has float32 \(2, 2\), expected int64 \[hits\]"),
        ({"ids": [np.ones(4, np.float32)]}, "ids: query 0 has float32"),
        ({"ids": ["the text of a chunk"]}, "ids: query 0 has str"),
        ({"ids": [[1, 2]]}, "ids: query 0 has list"),
        ({"ids": [np.array(["a text"])]}, "ids: query 0 has <U6"),
        ({"ids": [np.arange(2)], "scores": [np.ones(2)]}, "scores: query 0 has float64"),
        ({"ids": [np.arange(2)], "scores": [np.ones((1, 2), np.float32)]}, "scores: query 0 has float32"),
        ({"ids": [np.arange(2)], "scores": [np.ones(384, np.float32)]}, "scores: query 0 has 384 for 2 ids"),
        ({"ids": [np.arange(2)], "scores": []}, "scores: 0 lists given for 1 lists of ids"),
        ({"scores": [np.ones(384, np.float32)]}, "scores: given without ids"),
        ({"k": "ten"}, "k: expected"),
        ({"count": 1.5}, "count: expected"),
        ({"plan": b"scan"}, "plan: expected a str"),
        ({"action": "insert"}, "action: expected one of count, explain,"),
        ({"action": ["get"]}, "action: expected one of"),
        ({"principal": "alice"}, "principal: expected a Principal"),
    ],
)
def test_nothing_but_ids_and_scores_gets_in(path: Path, what: dict[str, Any], message: str) -> None:
    """Never text or vectors: neither has a form that is taken."""
    with RetrievalLog(path, key=KEY) as log:
        before = path.read_bytes()
        arguments: dict[str, Any] = {"action": "search", "principal": ALICE, "layout": 1, "generation": 1, **what}
        with pytest.raises(InvalidInput, match=message):
            log.record(**arguments)
        with pytest.raises(TypeError):
            log.record("search", ALICE, layout=1, generation=1, text="a text")  # type: ignore[call-arg]
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"key": b"short"}, "key: expected at least 16 bytes, .* got 5 bytes"),
        ({"key": "0123456789abcdef"}, "key: expected at least 16 bytes, .* got a str"),
        ({"path": b"reads.log"}, "path: expected a path"),
        ({"path": ""}, "path: expected a path"),
        ({"path": "a\0b"}, "path: expected a path"),
        ({"path": "no/such/folder/reads.log"}, "cannot be opened"),
        ({"path": "."}, "cannot be opened"),
        ({"most_bytes": 0}, "most_bytes: expected a whole number at least 1"),
        ({"keep": -1}, "keep: expected a whole number at least 0"),
        ({"fsync": 1}, "fsync: expected True or False"),
    ],
)
def test_wrong_arguments_are_typed_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match=message):
        RetrievalLog(**{"path": "reads.log", "key": KEY, **arguments})
    with pytest.raises(TypeError):
        RetrievalLog("reads.log")  # type: ignore[call-arg]
    assert not Path("reads.log").exists()


def test_a_key_does_not_show(path: Path) -> None:
    with RetrievalLog(path, key=KEY) as log:
        assert repr(log) == f"RetrievalLog({str(path)!r}, 1 lines, keyed)"
    for file in path.parent.iterdir():
        assert KEY not in file.read_bytes()
    assert "without a key" in repr(RetrievalLog(path.with_name("other.log"), key=None))


def test_the_folder_may_change(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: Any) -> None:
    monkeypatch.chdir(path.parent)
    with RetrievalLog(path.name, key=KEY, most_bytes=800) as log:
        os.chdir(tmp_path_factory.mktemp("elsewhere"))
        for number in range(5):
            add(log, number)
    assert verify(path, KEY).records == 8
