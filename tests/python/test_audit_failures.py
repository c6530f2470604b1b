# SPDX-License-Identifier: Apache-2.0
"""A retrieval log that cannot be written, has two writers, or is interrupted: no read returns that is not in it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import scripts
from audit_logs import ALICE, KEY, add, lines_of, rotated, three_files, write
from evidex import CorruptFile, InvalidInput, LockHeld, NotLogged, Principal, RetrievalLog
from evidex.audit import verify

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "reads.log"


def refuse(*_: Any) -> int:
    raise OSError(28, "No space left on device")


def write_half(descriptor: int, data: bytes, write: Callable[[int, bytes], int] = os.write) -> int:
    return write(descriptor, data[: len(data) // 2])


def interrupt(descriptor: int, data: bytes, write: Callable[[int, bytes], int] = os.write) -> int:
    write(descriptor, data)
    raise KeyboardInterrupt


@pytest.mark.parametrize("fails", [refuse, write_half, interrupt])
def test_a_write_that_fails_leaves_the_log_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch, fails: Callable[..., int]
) -> None:
    with RetrievalLog(path, key=KEY) as log:
        add(log, 1)
        before, head = path.read_bytes(), log.head
        with monkeypatch.context() as patched:
            patched.setattr("os.write", fails)
            with pytest.raises((NotLogged, KeyboardInterrupt)) as caught:
                add(log, 2)
        if fails is not interrupt:
            assert caught.type is NotLogged
            assert "nothing is returned" in str(caught.value) and str(path) in str(caught.value)
        assert (path.read_bytes(), log.head) == (before, head)
        add(log, 3)
    report = verify(path, KEY)
    assert (report.ok, report.records) == (True, 3)


def test_what_cannot_be_taken_back_stops_the_log_and_is_accounted_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = RetrievalLog(path, key=KEY)
    with monkeypatch.context() as patched:
        patched.setattr("os.write", write_half)
        patched.setattr("os.ftruncate", refuse)
        with pytest.raises(NotLogged, match="only .* bytes could be written"):
            add(log, 1)
    for _ in range(2):
        with pytest.raises(NotLogged, match="could not be taken back .* open the log again"):
            add(log, 2)
    log.close()
    write(path, 1)
    report = verify(path, KEY)
    assert (report.ok, len(report.notes)) == (True, 1)


@POSIX
def test_a_full_disk_is_met_as_it_is(path: Path) -> None:
    """The limit on the size of a file cuts a write short, as a full disk does."""
    shown = scripts.run(
        f"""
        import resource, numpy as np
        from evidex import NotLogged, RetrievalLog
        log = RetrievalLog({str(path)!r}, key={KEY!r})
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        for number in range(20):
            try:
                log.record("ids", None, layout=1, generation=1, ids=[np.arange(50)])
            except NotLogged as error:
                print(number, "only" in str(error))
                break
        """
    )
    assert shown == "3 True"
    report = verify(path, KEY)
    assert (report.ok, report.records) == (True, 4)


@pytest.mark.parametrize("step", ["rename", "open", "write"])
def test_a_new_file_that_cannot_be_begun_is_begun_later(path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    three_files(path)
    with RetrievalLog(path, key=KEY, most_bytes=800) as log:
        add(log, 1)
        add(log, 2)
        with monkeypatch.context() as patched:
            patched.setattr(f"os.{step}", refuse)
            for _ in range(2):
                with pytest.raises(NotLogged, match="No space left"):
                    add(log, 3)
        add(log, 4)
    report = verify(path, KEY)
    assert (report.ok, report.records, report.files) == (True, 14, 5)


def test_nothing_is_overwritten_by_a_full_file(path: Path) -> None:
    with RetrievalLog(path, key=KEY, most_bytes=800) as log:
        rotated(path, 1).write_text("mine")
        add(log, 1)
        add(log, 2)
        with pytest.raises(NotLogged, match="reads.log.000001 is in the way"):
            add(log, 3)
        assert rotated(path, 1).read_text() == "mine"
        rotated(path, 1).unlink()
        add(log, 3)
    assert verify(path, KEY).ok


def test_a_file_that_somebody_else_touched_stops_the_log(path: Path) -> None:
    """Seen red: without the check, records went on into a file that had been deleted."""
    changes: list[Callable[[], object]] = [
        lambda: path.rename(path.with_name("moved")),
        path.unlink,
        lambda: path.write_bytes(path.read_bytes()[:-1]),
        lambda: path.write_bytes(path.read_bytes() + b"\n"),
        lambda: path.write_bytes(b""),
        lambda: os.replace(_copy(path), path),
    ]
    for change in changes:
        path.unlink(missing_ok=True)
        with RetrievalLog(path, key=KEY) as log:
            add(log, 1)
            change()
            with pytest.raises(NotLogged):
                add(log, 2)


def _copy(path: Path) -> Path:
    path.with_name("copy").write_bytes(path.read_bytes())
    return path.with_name("copy")


def test_one_writer_at_a_time(path: Path) -> None:
    with RetrievalLog(path, key=KEY) as log:
        with pytest.raises(LockHeld, match="one writer"):
            RetrievalLog(path, key=KEY)
        add(log, 1)
    with pytest.raises(InvalidInput, match="cannot be opened"):
        RetrievalLog(path.with_name("missing") / "reads.log", key=KEY)
    with pytest.raises(CorruptFile, match="did not seal"):
        RetrievalLog(path, key=None)
    write(path, 1)  # what could not be opened holds no lock
    assert verify(path, KEY).records == 3


WRITER = """
import sys, numpy as np
from evidex import RetrievalLog
log = RetrievalLog(sys.argv[1], key=bytes.fromhex(sys.argv[2]), most_bytes=20_000)
number = 0
while True:
    log.record("search", None, layout=1, generation=1, ids=[np.arange(number % 50)])
    if number == 20:
        print("ready", flush=True)
    number += 1
"""


@POSIX
def test_a_killed_writer_leaves_a_log_that_goes_on(path: Path) -> None:
    """And its lock dies with it."""
    child = subprocess.Popen([sys.executable, "-c", WRITER, str(path), KEY.hex()], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == "ready\n"
        with pytest.raises(LockHeld):
            RetrievalLog(path, key=KEY)
    finally:
        child.kill()
        child.wait(scripts.HANG)
        child.stdout.close()
    write(path, 1)
    report = verify(path, KEY)
    assert report.ok and report.records > 20


@POSIX
def test_a_forked_process_does_not_write(path: Path) -> None:
    """Two processes at the end of one chain would fork it as well."""
    shown = scripts.run(
        f"""
        import os
        from evidex import NotLogged, RetrievalLog
        log = RetrievalLog({str(path)!r}, key={KEY!r})
        child = os.fork()
        if not child:
            try:
                log.record("count", None, layout=1, generation=1, count=1)
            except NotLogged as error:
                os._exit(7 if "after a fork" in str(error) else 8)
            os._exit(9)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        log.record("count", None, layout=1, generation=1, count=1)
        """
    )
    assert shown == "7"
    assert verify(path, KEY).records == 2


def test_threads_share_a_log(path: Path) -> None:
    def add_fifty() -> None:
        for number in range(50):
            add(log, number)

    with RetrievalLog(path, key=KEY, most_bytes=5000) as log:
        threads = [threading.Thread(target=add_fifty) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    report = verify(path, KEY)
    assert report.ok and report.records == 400 + report.files


def test_a_closed_log_takes_nothing(path: Path) -> None:
    log = RetrievalLog(path, key=KEY)
    log.close()
    log.close()
    with pytest.raises(NotLogged, match="closed"):
        add(log, 1)
    assert len(lines_of(path)) == 1


@pytest.mark.parametrize("fsync", [True, False])
def test_fsync_acts(path: Path, monkeypatch: pytest.MonkeyPatch, fsync: bool) -> None:
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", synced.append)
    with RetrievalLog(path, key=KEY, fsync=fsync, most_bytes=800) as log:
        assert len(synced) == 2 * fsync  # the name, the opening line
        add(log, 1)
        assert len(synced) == 3 * fsync
        add(log, 2)
        add(log, 3)
        assert len(synced) == 7 * fsync
        monkeypatch.setattr("os.fsync", refuse)
        if fsync:
            with pytest.raises(NotLogged, match="No space left"):
                add(log, 4)
        else:
            add(log, 4)
    assert verify(path, KEY).ok


def test_names_that_do_not_fit_into_a_line_are_refused(path: Path) -> None:
    with RetrievalLog(path, key=KEY) as log:
        with pytest.raises(InvalidInput, match="principal: its record would take .* at most 1048576 are possible"):
            add(log, 1, Principal("p", "t", [f"group {number}" for number in range(80_000)]))
        add(log, 1, Principal("p", "t", [f"group {number}" for number in range(30_000)]))
        add(log, 2, ALICE)
    assert verify(path, KEY).records == 3
