# SPDX-License-Identifier: Apache-2.0
"""Opening: what a path may be, one writer, newer and foreign files. A refused path is left as it was."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from collections_examples import ALICE, EYE, guarded_at, open_at, stocked, stored_in, texts_of
from evidex import (
    UNRESTRICTED,
    AccessError,
    Collection,
    Columns,
    CorruptFile,
    InvalidInput,
    LockHeld,
    MissingStore,
    NotFound,
    Policy,
    VersionMismatch,
)

MODES = ("r", "rw")


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    stocked(open_at(tmp_path / "kb")).close()
    return tmp_path / "kb"


def tree(folder: Path) -> list[tuple[str, bytes]]:
    return [(str(one), one.read_bytes() if one.is_file() else b"") for one in sorted(folder.rglob("*"))]


@pytest.mark.parametrize("path", ["", "a\0b", "\ud800", 5, None, b"kb", ["kb"]], ids=repr)
@pytest.mark.parametrize("mode", MODES)
def test_what_is_no_path(path: Any, mode: str) -> None:
    with pytest.raises(InvalidInput, match="path: expected the name of a folder"):
        Collection.open(path, mode, policy=UNRESTRICTED, dim=3)


@pytest.mark.parametrize("mode", ["", "w", "a", "rb", None, True], ids=repr)
def test_what_is_no_mode(tmp_path: Path, mode: Any) -> None:
    with pytest.raises(InvalidInput, match='mode: expected "r" or "rw"'):
        open_at(tmp_path / "kb", mode)
    assert not (tmp_path / "kb").exists()


def test_nothing_there(tmp_path: Path) -> None:
    for path in (tmp_path / "kb", tmp_path / "no" / "such" / "kb"):
        with pytest.raises(MissingStore, match="open with mode='rw'") as error:
            open_at(path, "r")
        assert isinstance(error.value, FileNotFoundError)
    with pytest.raises(InvalidInput, match="cannot hold a collection"):
        open_at(tmp_path / "no" / "such" / "kb")
    (tmp_path / "empty").mkdir()
    with pytest.raises(MissingStore, match="no catalog"):
        open_at(tmp_path / "empty", "r")
    assert tree(tmp_path) == [(str(tmp_path / "empty"), b"")]
    open_at(tmp_path / "empty").close()  # an empty folder will do


@pytest.mark.parametrize("mode", MODES)
def test_a_file(tmp_path: Path, mode: str) -> None:
    (tmp_path / "kb").write_text("mine")
    with pytest.raises(InvalidInput, match="no folder|cannot hold"):
        open_at(tmp_path / "kb", mode)
    assert (tmp_path / "kb").read_text() == "mine"


@pytest.mark.parametrize("name", ["letter.txt", "segments/data/a", "readers/list", "src/a.py"])
def test_a_folder_of_other_things(tmp_path: Path, name: str) -> None:
    """A writer tidies up in its folders: it must be sure that they are its own."""
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("mine")
    before = tree(tmp_path)
    with pytest.raises(InvalidInput, match=f"holds '{Path(name).parts[0]}' and no collection; pass the name"):
        open_at(tmp_path)
    with pytest.raises(MissingStore):
        open_at(tmp_path, "r")
    assert tree(tmp_path) == before


@pytest.mark.parametrize("mode", MODES)
def test_files_of_others_in_the_place_of_the_catalog(tmp_path: Path, mode: str) -> None:
    with closing(sqlite3.connect(tmp_path / "catalog.sqlite")) as other, other:
        other.execute("CREATE TABLE mine (a)")
    before = (tmp_path / "catalog.sqlite").read_bytes()
    with pytest.raises(CorruptFile, match="no catalog of a collection"):
        open_at(tmp_path, mode)
    assert (tmp_path / "catalog.sqlite").read_bytes() == before  # not even its journal mode
    (tmp_path / "catalog.sqlite").write_bytes(b"a letter, not a database " * 100)
    with pytest.raises(CorruptFile, match=r"catalog\.sqlite: "):
        open_at(tmp_path, mode)


@pytest.mark.parametrize("mode", MODES)
def test_a_newer_version_says_so_and_is_left_alone(stored: Path, mode: str) -> None:
    with closing(sqlite3.connect(stored / "catalog.sqlite")) as catalog:
        version = catalog.execute("PRAGMA user_version").fetchone()[0]
        catalog.execute(f"PRAGMA user_version = {version + 1}")
        catalog.commit()
    before = tree(stored)
    with pytest.raises(VersionMismatch, match=f"format {version + 1}, this version of evidex knows {version}; install"):
        open_at(stored, mode)
    kept = [one for one in tree(stored) if "-shm" not in one[0] and "-wal" not in one[0]]
    assert kept == before


def test_a_catalog_that_is_gone(stored: Path) -> None:
    (stored / "catalog.sqlite").unlink()
    with pytest.raises(MissingStore, match="no catalog"):
        open_at(stored, "r")
    before = tree(stored / "segments")
    with pytest.raises(InvalidInput, match="holds 'segments' and no collection"):
        open_at(stored)  # a new one there would delete the segments
    assert tree(stored / "segments") == before != []


@pytest.fixture
def read_only(stored: Path) -> Iterator[Path]:
    """In a place that somebody without special rights reaches, who may look at it."""
    place = Path(tempfile.mkdtemp(prefix="evidex-"))
    shutil.copytree(stored, place / "kb")
    for folder, names, files in os.walk(place):
        for name in [".", *names]:
            os.chmod(os.path.join(folder, name), 0o555)
        for name in files:
            os.chmod(os.path.join(folder, name), 0o444)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield place / "kb"
    finally:
        if root:
            os.seteuid(0)
        for folder, *_ in os.walk(place):
            os.chmod(folder, 0o755)
        shutil.rmtree(place)


def test_a_folder_that_cannot_be_written(read_only: Path) -> None:
    before = tree(read_only)
    with pytest.raises(InvalidInput, match="open it with mode='r', or make it writable"):
        open_at(read_only)
    with pytest.raises(InvalidInput, match="cannot hold a collection"):
        open_at(read_only.parent / "new")
    with open_at(read_only, "r") as kb, kb.snapshot() as pinned:
        assert texts_of(kb) == texts_of(pinned) == ["text 0", "text 1", "text 2"]
        kb.verify()
    assert tree(read_only) == before


def test_one_writer_in_a_process(stored: Path) -> None:
    with open_at(stored) as kb, open_at(stored, "r") as reader, open_at(stored, "r") as another:
        with pytest.raises(LockHeld, match=rf"written by process {os.getpid()}; .* one writer .*mode='r'"):
            open_at(stored)
        kb.put_document("s3", "v1", chunks=["text 3"], vectors=EYE[:1])
        assert [reader.refresh(), len(reader), len(another)] == [4, 4, 3]
    open_at(stored).close()


def test_a_writer_in_another_process_is_named(stored: Path) -> None:
    script = (
        "import sys, evidex\n"
        "kb = evidex.Collection.open(sys.argv[1], 'rw', policy=evidex.UNRESTRICTED)\n"
        "print('open', flush=True)\n"
        "sys.stdin.read()\n"
    )
    how: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", script, str(stored)], **how) as other:
        assert other.stdout is not None and other.stdout.readline() == "open\n"
        with pytest.raises(LockHeld, match=f"process {other.pid};"):
            open_at(stored)
        assert texts_of(open_at(stored, "r")) == ["text 0", "text 1", "text 2"]
        other.kill()
    open_at(stored).close()  # at once: the lock ends with its process


def test_policies(tmp_path: Path) -> None:
    policy = Policy()
    with guarded_at(tmp_path / "a", policy=policy) as kb:
        stocked(kb, policy)
        with pytest.raises(InvalidInput, match="keeps its rules; give each open collection a Policy"):
            guarded_at(tmp_path / "b", policy=policy)
        with pytest.raises(InvalidInput, match="keeps its rules"):
            guarded_at(tmp_path / "a", "r", policy)
        assert not (tmp_path / "b" / "catalog.sqlite").exists()
    before = stored_in(tmp_path / "a")
    for mode in MODES:
        with pytest.raises(AccessError, match=r"it has rules|has rules; pass a Policy\(\)"):
            open_at(tmp_path / "a", mode)
    open_at(tmp_path / "c").close()
    for mode in MODES:
        with pytest.raises(InvalidInput, match="restrict nothing; pass UNRESTRICTED"):
            guarded_at(tmp_path / "c", mode, policy)
    assert stored_in(tmp_path / "a") == before
    with guarded_at(tmp_path / "a", "r", policy) as kb:  # no failed opening keeps it
        assert texts_of(kb, ALICE) == ["text 0", "text 1"]
    policy.change(policy.rule("acme", {"a"}), {"b"})  # closed: they are the application's again


@pytest.mark.parametrize("mode", MODES)
def test_arguments_of_another_collection(stored: Path, mode: str) -> None:
    given: list[tuple[dict[str, Any], str]] = [
        ({"dim": 4}, "dim: .* made with 3, not 4; leave it out"),
        ({"metric": "l2"}, "metric: .* 'cosine', not 'squared_l2'"),
        ({"codec": "int8"}, "codec: .* 'float32', not 'int8'"),
        ({"columns": Columns({"lang": str})}, "columns"),
        ({"codec": "int7"}, "codec: expected one of"),
    ]
    before = stored_in(stored)
    for how, said in given:
        with pytest.raises(InvalidInput, match=said):
            Collection.open(stored, mode, policy=UNRESTRICTED, **how)
    assert stored_in(stored) == before
    Collection.open(stored, mode, policy=UNRESTRICTED, dim=3, metric="cos", codec="float32").close()


WRITES: dict[str, Callable[[Collection], object]] = {
    "put_document": lambda kb: kb.put_document("s9", "v1", chunks=["a"], vectors=EYE[:1]),
    "put_documents": lambda kb: kb.put_documents([]),
    "add_texts": lambda kb: kb.add_texts(["a"]),
    "delete_document": lambda kb: kb.delete_document(None, "s0"),
    "restore": lambda kb: kb.restore(None, "s0", "v1"),
    "set_rule": lambda kb: kb.set_rule("acme", "s0", Policy().rule("acme", ())),
    "change_rule": lambda kb: kb.change_rule(Policy().rule("acme", ()), ()),
    "optimize": lambda kb: kb.optimize(),
    "compact": lambda kb: kb.compact(),
    "erase": lambda kb: kb.erase(None, "s0"),
}


@pytest.mark.parametrize("name", WRITES)
def test_what_was_opened_to_be_read_is_not_written(stored: Path, name: str) -> None:
    before = stored_in(stored)
    with open_at(stored, "r") as kb, pytest.raises(InvalidInput, match='opened to be read; open it with mode="rw"'):
        WRITES[name](kb)
    assert stored_in(stored) == before


def test_every_way_to_write_is_here() -> None:
    written = {name for name in vars(Collection.__mro__[1]) if not name.startswith("_")} - {"verify"}
    assert written == set(WRITES)


@pytest.mark.parametrize("name", WRITES)
def test_a_child_does_not_write_with_what_its_parent_opened(stored: Path, name: str) -> None:
    kb = open_at(stored)
    before = stored_in(stored)
    child = os.fork()
    if child == 0:
        try:
            WRITES[name](kb)
        except InvalidInput as error:
            os._exit(0 if "before a fork" in str(error) else 2)
        except BaseException:
            os._exit(3)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert stored_in(stored) == before
    kb.delete_document(None, "s0")
    with pytest.raises(NotFound):
        kb.delete_document(None, "s0")
    kb.close()
