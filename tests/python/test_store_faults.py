# SPDX-License-Identifier: Apache-2.0
"""P9 where the disk fails: a change that cannot be made durable is none, and says so."""

from __future__ import annotations

import errno
import os
import resource
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evidex import Collection, CorruptFile, InvalidInput, LockHeld, MissingStore, NotStored
from store_examples import (
    Doc,
    Op,
    State,
    content,
    copied,
    expected,
    leftovers,
    opened,
    perform,
    quick_folder,
    steps,
)
from store_processes import Noisy, on_own_media, result_of

BEFORE: State = {"d0": Doc("a", "r1", frozenset({"r0", "r1"})), "d1": Doc("b", "r1", frozenset({"r1"}))}
CALLS = [
    Op("put", (("d0", "r2", "b"), ("d9", "r1", "a"))),
    Op("delete", (("d0", "r1", "a"),)),
    Op("restore", (("d0", "r0", "a"),)),
    Op("set_rule", (("d0", "r1", "b"),)),
    Op("optimize"),
    Op("compact"),
    Op("erase", (("d0", "r1", "a"),)),
]
LONG = os.environ.get("EVIDEX_LONG") == "1"
each_call = pytest.mark.parametrize("op", CALLS, ids=lambda op: op.name)


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as path:
        yield path


@pytest.fixture
def made(folder: Path) -> Path:
    with opened(folder / "made", "rw") as collection:
        for source, revision, group in [("d0", "r0", "a"), ("d0", "r1", "a"), ("d1", "r1", "b")]:
            perform(collection, Op("put", ((source, revision, group),)))
        assert content(collection) == expected(BEFORE)
    return folder / "made"


def failed(collection: Collection, op: Op) -> State:
    """Makes a call that may fail; the state that it left, which the collection has now and when it is opened again."""
    states = [BEFORE, *steps(BEFORE, op)]
    try:
        perform(collection, op)
        fits = states[-1:]
    except NotStored:
        # What happens after the transaction of compact and erase, which only gives memory back, may fail too.
        fits = states if op.name in ("compact", "erase") else states[:1]
    found = content(collection)
    left = [state for state in fits if expected(state) == found]
    assert left, (op, found)
    return left[0]


def still_works(collection: Collection, folder: Path, state: State) -> None:
    """The collection, whose disk works again, can be changed, and holds what it should when it is opened again."""
    collection.verify()
    more = Op("put", (("d5", "r1", "b"),))
    perform(collection, more)
    state = steps(state, more)[-1]
    collection.close()
    with opened(folder, "rw") as again:
        again.verify()
        assert content(again) == expected(state)
        assert leftovers(folder, again) == []


@each_call
@pytest.mark.parametrize("step", ["fsync", "rename", "mkdir"])
@pytest.mark.parametrize("nth", [1, 2])
def test_a_step_that_fails(made: Path, monkeypatch: pytest.MonkeyPatch, op: Op, step: str, nth: int) -> None:
    """Seen red: an OSError passed on as it is."""
    collection = opened(made, "rw")
    left = nth

    def fails(*_: object, **__: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise OSError(errno.EIO, "Input/output error")
        real(*_, **__)

    real = getattr(os, step)
    with monkeypatch.context() as patch:
        patch.setattr(os, step, fails)
        state = failed(collection, op)
    still_works(collection, made, state)


@each_call
def test_a_statement_that_fails(made: Path, monkeypatch: pytest.MonkeyPatch, op: Op) -> None:
    """Each of these in turn."""
    writes = ("before COMMIT", "before BEGIN IMMEDIATE", "before INSERT INTO segments", "before VACUUM")
    number = 1
    while number > 0:
        folder, heard, writing = copied(made, made.with_name("c")), 0, False

        def hear(sql: str, number: int = number) -> None:
            nonlocal heard, writing
            writing = sql != "before BEGIN" and (writing or sql == "before BEGIN IMMEDIATE")
            heard += sql.startswith(writes) and (writing or "VACUUM" in sql)
            if heard == number:
                heard += 1
                raise sqlite3.OperationalError("disk I/O error" if number % 2 else "database or disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(sqlite3, "connect", noisy_connect(patch))
            collection = opened(folder, "rw")
            Noisy.heard = hear
            state = failed(collection, op)
            Noisy.heard = quiet
            still_works(collection, folder, state)
        number = number + 1 if heard > number else 0


def quiet(_: str) -> None:
    pass


def noisy_connect(patch: pytest.MonkeyPatch) -> Any:
    patch.setattr(Noisy, "heard", quiet, raising=False)
    real = sqlite3.connect
    return lambda *given, **options: real(*given, **options, factory=Noisy)


@pytest.mark.parametrize("room", [0, 50, 200, 600, 4096, 16_000, 40_000, 80_000, 200_000][:: 1 if LONG else 3])
def test_files_that_may_not_grow(made: Path, room: int) -> None:
    """RLIMIT_FSIZE stands for a full disk: a file is written up to some length."""

    def work() -> None:
        for op in CALLS:
            folder = copied(made, made.with_name("c"))
            collection = opened(folder, "rw")
            no_limit = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, no_limit[1]))
            try:
                state = failed(collection, op)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, no_limit)
            still_works(collection, folder, state)

    result_of(work)


@pytest.mark.parametrize("room", [0, 20_000, 60_000])
def test_a_collection_that_cannot_be_made(folder: Path, room: int) -> None:
    def work() -> bool:
        no_limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, no_limit[1]))
        try:
            opened(folder / "c", "rw").close()
            return True
        except NotStored:
            return False
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, no_limit)

    if not result_of(work):
        with pytest.raises(MissingStore):
            opened(folder / "c")
    with opened(folder / "c", "rw") as collection:
        assert content(collection) == expected({})


def test_a_full_disk(made: Path) -> None:
    """A file system of half a megabyte that is filled up, then given more and more room back."""

    def work() -> int:
        media = made.with_name("media")
        media.mkdir()
        if not on_own_media(media, size=600_000):
            return -1
        stored = 0
        for room in range(0, 240_000, 12_000 if LONG else 48_000):
            folder = copied(made, media / "c")
            collection = opened(folder, "rw")
            fill(media / "filler", room)
            for op in CALLS if LONG or room == 96_000 else CALLS[:1]:
                state = failed(collection, op)
                (media / "filler").unlink()
                stored += state is not BEFORE
                still_works(collection, folder, state)
                folder = copied(made, media / "c")
                collection = opened(folder, "rw")
                fill(media / "filler", room)
            collection.close()
            with opened(folder) as reader:  # whose lease cannot be written
                assert content(reader) == expected(BEFORE)
            (media / "filler").unlink()
        return stored

    stored = result_of(work)
    if stored < 0:
        pytest.skip("may not mount a file system")
    assert stored > 2


def fill(path: Path, leave: int) -> None:
    """Takes all room there is but some."""
    facts = os.statvfs(path.parent)
    with path.open("wb") as file:
        file.truncate(0)
        os.posix_fallocate(file.fileno(), 0, max(1, facts.f_bavail * facts.f_frsize - leave))


@pytest.mark.parametrize("name", ["writer.lock", "readers", "segments"])
def test_a_part_that_is_something_else(made: Path, name: str) -> None:
    part = made / name
    if part.is_dir():
        for inner in part.rglob("*"):
            if inner.is_file():
                inner.unlink()
        for inner in part.iterdir():
            inner.rmdir()
        part.rmdir()
        part.write_text("mine")
        with pytest.raises(InvalidInput, match="cannot hold"):
            opened(made, "rw")
        with pytest.raises((CorruptFile, InvalidInput)) if name == "segments" else opened(made):
            opened(made).close()
        assert part.read_text() == "mine"
    else:
        part.unlink()
        os.mkfifo(part)
        with pytest.raises(CorruptFile):
            opened(made, "rw")
        part.unlink()
        part.mkdir()
        with pytest.raises(InvalidInput):
            opened(made, "rw")


def test_two_writers(made: Path) -> None:
    with opened(made, "rw"):
        with pytest.raises(LockHeld, match=f"process {os.getpid()}"):
            opened(made, "rw")

        def other() -> str:
            with pytest.raises(LockHeld) as caught:
                opened(made, "rw")
            return str(caught.value)

        assert f"process {os.getpid()}" in result_of(other)
    opened(made, "rw").close()
