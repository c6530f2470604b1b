# SPDX-License-Identifier: Apache-2.0
"""P10 for retrieval logs: whatever a file holds is a problem in the report, in bounded time and memory."""

from __future__ import annotations

import json
import os
import stat
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from audit_logs import KEY, ZEROS, lines_of, rotated, sealed, three_files, write
from evidex import CorruptFile, InvalidInput, RetrievalLog
from evidex.audit import verify
from evidex.audit.lines import parse

OPEN: dict[str, Any] = {
    **{"version": 1, "seq": 0, "time": "2026-01-02T03:04:05.000006+00:00", "prev": ZEROS},
    **{"action": "open", "file": 1, "oldest": 1, "keyed": False, "torn": None},
}


def opening(**change: object) -> bytes:
    return json.dumps({**OPEN, **change}, separators=(",", ":")).encode()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "reads.log"


def test_the_example_is_right(path: Path) -> None:
    path.write_bytes(sealed(opening()))
    assert verify(path).ok


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"[" * 1_000_000 + b"}", "JSON that is nested too deeply"),
        (b'{"a":' * 200_000 + b"}", "JSON that is nested too deeply"),
        (opening(torn="\xff").replace(b"\\u00ff", b"\xff"), "bytes that are not ASCII"),
        (opening(torn="\xff").decode("unicode_escape").encode("utf-16-be"), "bytes that are not ASCII"),
        (b'{"version":1,}', "not JSON"),
        (b"}", "not JSON"),
        (b"{}", "no version of this format"),
        (b"7}", "not JSON"),
        (opening().replace(b'"seq":0', b'"seq":0,"seq":0'), "a key that occurs twice"),
        (opening(who={"id": 1}).replace(b'"id":1', b'"id":1,"id":2'), "a key that occurs twice"),
        (opening(seq=-1), "no whole number as seq"),
        (opening(seq=2**63), "no whole number as seq"),
        (opening(seq=0.0), "no whole number as seq"),
        (opening(seq=True), "no whole number as seq"),
        (opening(seq=10**25), "a number out of range"),
        (opening().replace(b'"seq":0', b'"seq":' + b"9" * 900_000), "a number out of range"),
        (opening(k=0).replace(b'"k":0', b'"k":1e999'), "a number out of range"),
        (opening(k=0).replace(b'"k":0', b'"k":-1' + b"0" * 400 + b".0"), "a number out of range"),
        (opening(k=float("nan")), "a number that JSON does not have"),
        (opening(k=float("-inf")), "a number that JSON does not have"),
        (opening(version=2), "version 2 of the format, and only 1 is known here; use a newer evidex"),
        (opening(version="1"), "no version of this format"),
        (opening(version=0), "no version of this format"),
        (opening(time="yesterday"), "no time in UTC"),
        (opening(time="2026-01-02T03:04:05.000006+00:00\n"), "no time in UTC"),
        (opening(time="\u0662026-01-02T03:04:05.000006+00:00"), "no time in UTC"),
        (opening(time=5), "no time in UTC"),
        (opening(prev="0"), "no digest as prev"),
        (opening(prev=None), "no digest as prev"),
        (opening(action="delete"), "an action that this format does not have"),
        (opening(action=["open"]), "an action that this format does not have"),
        (opening(file=0), "an opening without proper numbers of files"),
        (opening(oldest=2), "an opening without proper numbers of files"),
        (opening(file="1"), "an opening without proper numbers of files"),
        (opening(keyed=1), "an opening that does not say whether there is a key"),
        (opening(torn={"bytes": 0, "sha256": ZEROS}), "torn bytes without a proper length and digest"),
        (opening(torn={"bytes": 1}), "torn bytes without a proper length and digest"),
        (opening(torn=[1]), "torn bytes without a proper length and digest"),
        (opening(action="resume"), "torn bytes without a proper length and digest"),
        (opening(torn={"bytes": 5, "sha256": ZEROS}), "torn bytes before it, and they are not there as they were"),
        (opening(file=2), "files 1 to 1 are missing"),
        (opening(file=2**63 - 1), "files 1 to 9223372036854775806 are missing"),
        (opening(action="search"), "the first record of a file is no opening line"),
        (opening(seq=5), "a first record has seq 0 and a prev of zeros"),
    ],
    ids=lambda value: str(value[:20]),
)
def test_a_crafted_line_is_a_problem(path: Path, body: bytes, problem: str) -> None:
    """Lines that are sealed rightly, as whoever writes a log without a key can make them."""
    problem = problem.replace("files 1 to 1 are", "file 1 is")
    for key in (None, KEY):
        line = sealed(body, key)
        path.write_bytes(line)
        report = verify(path, key)
        assert problem in "\n".join(str(one) for one in report.problems)
        if report.records == 0:
            with pytest.raises(CorruptFile):
                RetrievalLog(path, key=key)


def test_json_that_is_no_object(path: Path) -> None:
    """It can have no seal, but what reads a line does not count on that."""
    for body in (b"[1]", b'"a text"', b"null", b"7"):
        path.write_bytes(body + b"\n")
        assert verify(path).problems[0].what == "no seal stands at its end"
        with pytest.raises(ValueError, match="JSON, but not an object"):
            parse(body)


@pytest.mark.parametrize("fill", [b"a", b"\0", b"{"])
def test_a_huge_line_takes_little_memory(path: Path, fill: bytes) -> None:
    write(path, 2, key=None)
    with path.open("ab") as file:
        for _ in range(64):
            file.write(fill * 2**20)
    for number, end in enumerate((b"", b'","seal":"' + b"0" * 64 + b'"}\n')):
        with path.open("ab") as file:
            file.write(end)
        tracemalloc.start()
        report = verify(path)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 8 * 2**20
        assert [(one.line, one.what) for one in report.problems] == [
            (4, "longer than 1048576 bytes, which no line of the log is")
        ], number
        assert report.records == 3


def test_a_line_of_the_greatest_length_is_read(path: Path) -> None:
    for length, ok in ((2**20, True), (2**20 + 1, False)):
        body = opening(filler="")
        body = body.replace(b'"filler":"', b'"filler":"' + b"a" * (length - len(sealed(body))))
        assert len(sealed(body)) == length
        path.write_bytes(sealed(body))
        assert verify(path).ok == ok


def test_a_line_of_many_small_values_takes_bounded_memory(path: Path) -> None:
    path.write_bytes(sealed(opening(ids=[[[]] * 300_000])))
    tracemalloc.start()
    assert verify(path).ok
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 * 2**20


def test_many_lines_take_little_memory(path: Path) -> None:
    """Seen red: what is wrong was kept for every line until the next record, which never came."""
    write(path, 2)
    with path.open("ab") as file:
        file.write(b"\n" * 200_000)
    tracemalloc.start()
    report = verify(path, KEY)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * 2**20
    assert str(report.problems[-1]) == "'reads.log': and 199900 more"


def test_problems_are_told_up_to_a_hundred(path: Path) -> None:
    write(path)
    with path.open("ab") as file:
        file.write(b"no line\n" * 100_000)
    report = verify(path, KEY)
    assert len(report.problems) == 101
    assert str(report.problems[-1]) == "'reads.log': and 99900 more"
    path.unlink()
    other = b"".join(lines_of_another_key(path)) * 3000
    path.write_bytes(other)
    assert len(verify(path, KEY).problems) < 101


def lines_of_another_key(path: Path) -> list[bytes]:
    write(path, key=KEY[::-1])
    return lines_of(path)


def test_a_file_may_be_no_file(path: Path, tmp_path: Path) -> None:
    """A pipe that nobody writes to would be waited for for ever."""
    three_files(path)
    full = rotated(path, 2)
    for make in (os.mkfifo, os.mkdir, lambda at: os.symlink("nowhere", at), lambda at: os.symlink(tmp_path, at)):
        full.unlink() if not full.is_dir() or full.is_symlink() else full.rmdir()
        make(full)
        assert any("reads.log.000002': cannot be read" in str(one) for one in verify(path, KEY).problems)
        path.unlink()
        os.mkfifo(path) if make is os.mkfifo else path.symlink_to("/dev/null")
        assert "reads.log': cannot be read" in str(verify(path, KEY).problems[0])
        with pytest.raises((InvalidInput, CorruptFile)):
            RetrievalLog(path, key=KEY)
        path.unlink()
        path.write_bytes(b"")


def test_a_missing_log_or_folder_is_a_problem(path: Path) -> None:
    for missing in (path, path.parent / "none" / "reads.log", path.parent / ("x" * 300), path / "more"):
        report = verify(missing, KEY, ZEROS)
        assert not report.ok
        assert (report.records, report.files, report.first, report.head) == (0, 0, None, None)


def test_names_beside_the_log_do_not_matter(path: Path) -> None:
    head = three_files(path)
    for name in (
        "reads.log.1",
        "reads.log.0000001",
        "reads.log.00000\u0661",
        "reads.log.old",
        "reads.log.",
        "reads2.log",
    ):
        path.with_name(name).write_text("mine")
    path.with_name("reads.log." + "9" * 30).write_text("mine")
    assert verify(path, KEY, head).ok
    path.with_name("reads.log.999999999999999999").write_text("mine")
    assert not verify(path, KEY, head).ok


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_a_problem(path: Path) -> None:
    three_files(path)
    rotated(path, 2).chmod(0)
    assert any("cannot be read (Permission denied)" in one.what for one in verify(path, KEY).problems)
    rotated(path, 2).chmod(stat.S_IRUSR)
