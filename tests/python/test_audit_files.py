# SPDX-License-Identifier: Apache-2.0
"""The files of a retrieval log: full ones, old ones, and how it goes on with what it finds."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest

from audit_logs import ALICE, KEY, OTHER, ZEROS, add, lines_of, objects_of, rotated, sealed, sha, three_files, write
from evidex import CorruptFile, RetrievalLog
from evidex.audit import verify


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "reads.log"


def test_full_files_are_numbered_and_the_chain_goes_on(path: Path) -> None:
    head = three_files(path)
    written = [rotated(path, 1), rotated(path, 2), path]
    assert sorted(path.parent.iterdir()) == sorted([*written, path.with_name("reads.log.lock")])
    previous, seq = ZEROS, 0
    for number, file in enumerate(written, 1):
        assert [one["action"] for one in objects_of(file)] == ["open", "search", "search"]
        assert [objects_of(file)[0][key] for key in ("file", "oldest", "keyed")] == [number, 1, True]
        for line in lines_of(file):
            assert (json.loads(line)["prev"], json.loads(line)["seq"]) == (previous, seq)
            previous, seq = sha(line), seq + 1
    assert previous == head


def test_a_read_stays_in_one_file(path: Path) -> None:
    with RetrievalLog(path, key=KEY, most_bytes=800) as log:
        log.record("ids", ALICE, layout=1, generation=1, ids=[np.arange(50_000)])
        assert len(lines_of(path)) > 3 and not rotated(path, 1).exists()
    with RetrievalLog(path, key=KEY, most_bytes=800) as log:
        add(log, 1)
    assert len(lines_of(path)) == 2


@pytest.mark.parametrize(("keep", "kept"), [(None, [1, 2, 3, 4]), (9, [1, 2, 3, 4]), (2, [3, 4]), (0, [])])
def test_retention_deletes_the_oldest(path: Path, keep: int | None, kept: list[int]) -> None:
    """Seen red: one file too many was kept."""
    write(path, 10, most_bytes=800, keep=keep)
    assert [number for number in range(1, 9) if rotated(path, number).exists()] == kept
    assert objects_of(path)[0]["oldest"] == (kept[0] if kept else 5)
    report = verify(path, KEY)
    assert report.ok and report.first == (3 * kept[0] - 3 if kept else 12) and report.last == 14


def test_what_could_not_be_deleted_is_told_and_deleted_later(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    three_files(path)
    in_the_way = rotated(path, 1)
    whole = in_the_way.read_bytes()
    in_the_way.unlink()
    in_the_way.mkdir()
    with caplog.at_level(logging.WARNING, "evidex.audit"):
        write(path, 1, most_bytes=800, keep=1)
    assert [one.message for one in caplog.records if "could not be deleted" in one.message]
    in_the_way.rmdir()
    in_the_way.write_bytes(whole)
    with RetrievalLog(path, key=KEY):
        assert not in_the_way.exists()


def test_a_log_is_gone_on_with(path: Path) -> None:
    heads = [write(path, 2), write(path, 2)]
    assert [one["seq"] for one in objects_of(path)] == [0, 1, 2, 3, 4]
    report = verify(path, KEY, heads[0])
    assert (report.ok, report.records, report.head) == (True, 5, heads[1])
    assert "2 records follow" in report.notes[0].what


@pytest.mark.parametrize("left", [1, 80, -1])
def test_a_torn_line_is_accounted_for(path: Path, left: int) -> None:
    """A crash in the middle of a write: the torn bytes stay, and a line says so. Seen red: ended by a newline
    alone, a line that lacked no more was there after all."""
    write(path, 2)
    whole = path.read_bytes()
    start = len(whole) - len(lines_of(path)[-1])
    torn = whole[start:][:left]
    path.write_bytes(whole[:start] + torn)
    assert "torn" in verify(path, KEY).problems[0].what
    write(path, 1)
    assert path.read_bytes().startswith(whole[:start] + torn + b"~\n")
    after = [json.loads(line) for line in path.read_bytes()[start + len(torn) + 2 :].splitlines()]
    assert [one["action"] for one in after] == ["resume", "search"]
    assert after[0]["torn"] == {"bytes": len(torn) + 2, "sha256": sha(torn + b"~\n")}
    report = verify(path, KEY)
    assert report.ok and report.records == 4
    assert [str(note) for note in report.notes] == [
        f"'reads.log', line 4: {len(torn) + 2} torn bytes lie before it, as it says itself"
    ]


def test_a_torn_resumption_is_accounted_for_too(path: Path) -> None:
    write(path, 1)
    with path.open("ab") as file:
        file.write(b'{"version":1,"seq"\n\0\0\0\n{"ver')
    write(path, 1)
    assert [one["action"] for one in map(json.loads, lines_of(path)[-2:])] == ["resume", "search"]
    assert verify(path, KEY).ok


def test_a_torn_line_of_a_full_file_is_accounted_for_there(path: Path) -> None:
    """Seen red: the file was put away first."""
    write(path, 2)
    path.write_bytes(path.read_bytes()[:-9])
    write(path, 1, most_bytes=800)
    assert objects_of(path)[0]["file"] == 2
    assert verify(path, KEY).ok


@pytest.mark.parametrize("left", [0, 5, 100])
@pytest.mark.parametrize("older", [False, True])
def test_a_torn_opening_is_accounted_for(path: Path, left: int, older: bool) -> None:
    """A crash while a file is begun, the first one ever or a later one."""
    (three_files if older else write)(path)
    torn = path.read_bytes()[:left]
    path.write_bytes(torn)
    write(path, 1)
    opening = json.loads(path.read_bytes()[left + 2 * (left > 0) :].splitlines()[0])
    assert (opening["action"], opening["file"], opening["seq"]) == ("open", 3 if older else 1, 6 if older else 0)
    assert (opening["torn"] is None) == (left == 0)
    report = verify(path, KEY)
    assert report.ok and len(report.notes) == (left > 0)


def test_two_torn_openings_are_accounted_for(path: Path) -> None:
    """Seen red: what the first had become was taken for another file."""
    write(path, 0)
    path.write_bytes(path.read_bytes()[:1])
    write(path, 0)
    path.write_bytes(path.read_bytes()[:-1])
    write(path, 1)
    assert path.read_bytes().startswith(b"{~\n{")
    report = verify(path, KEY)
    assert report.ok and report.records == 2


def test_a_crash_between_two_files_loses_nothing(path: Path) -> None:
    three_files(path)
    path.unlink()
    write(path, 1)
    assert objects_of(path)[0]["file"] == 3
    assert verify(path, KEY).ok


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a text that somebody wrote\n", "is no retrieval log"),
        (b"\0" * 100, "is no retrieval log"),
        (b'{"version":1,"seq":0}\n', None),
        (sealed(b'{"version":1,"seq":0}', KEY), "holds a sealed line that cannot be read"),
        (sealed(b'{"version":1,"seq":0}', OTHER), "a line that this key did not seal"),
    ],
)
def test_another_file_is_not_written_to(path: Path, content: bytes, message: str | None) -> None:
    path.write_bytes(content)
    if message is None:  # as torn as any other line
        write(path)
        assert verify(path, KEY).ok
        return
    with pytest.raises(CorruptFile, match=message):
        RetrievalLog(path, key=KEY)
    assert path.read_bytes() == content


def test_an_edited_end_is_not_gone_on_with(path: Path) -> None:
    """Or the edit would be older than the newest record, and looked away from."""
    three_files(path)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"ids":[[5,7]]', b'"ids":[[4,7]]'))
    with pytest.raises(CorruptFile, match="evidex audit verify"):
        RetrievalLog(path, key=KEY)
    for key in (OTHER, None):
        with pytest.raises(CorruptFile, match="begun with another key"):
            RetrievalLog(path, key=key)
    path.write_bytes(b"".join(lines_of(path)[1:2]))
    with pytest.raises(CorruptFile, match="does not begin with an opening line"):
        RetrievalLog(path, key=KEY)
    path.unlink()
    full = rotated(path, 2)
    full.write_bytes(full.read_bytes()[:-9])
    with pytest.raises(CorruptFile, match="reads.log.000002.* is not the whole file of that number"):
        RetrievalLog(path, key=KEY)
    rotated(path, 1).rename(full)
    with pytest.raises(CorruptFile, match="reads.log.000002.* is not the whole file of that number"):
        RetrievalLog(path, key=KEY)
