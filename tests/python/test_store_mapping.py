# SPDX-License-Identifier: Apache-2.0
"""A collection's rows are mapped, not read: opened at once, shared by processes, safe to replace (case D11)."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidex import UNRESTRICTED, Collection, CorruptFile, Document
from scripts import LINUX, run
from store_examples import content, filled, opened, quick_folder
from store_processes import Child, result_of

ROWS, DIM = 40_000, 64
QUERY = np.ones(DIM, np.float32)


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as path:
        yield path / "c"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """On a disk, whose pages can be clean."""
    folder = tmp_path_factory.mktemp("mapped") / "c"
    block = np.random.default_rng(1).standard_normal((ROWS, DIM)).astype(np.float32)
    with Collection.open(folder, "rw", policy=UNRESTRICTED, dim=DIM) as collection:
        collection.put_documents([Document("d", "1", chunks=["x"] * ROWS, vectors=block)])
    return folder


def mapped(pid: int | str = "self") -> dict[str, dict[str, int]]:
    """Kilobytes of each kind of memory, by file, of what is mapped of segments."""
    found: dict[str, dict[str, int]] = {}
    name = ""
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if "-" in line.split(" ", 1)[0]:
            name = line.split(maxsplit=5)[5] if line.endswith(".npy") else ""
        elif name and (said := re.match(r"(\w+): +(\d+) kB", line)):
            sums = found.setdefault(name, {})
            sums[said[1]] = sums.get(said[1], 0) + int(said[2])
    return found


def total(maps: dict[str, dict[str, int]], kind: str) -> int:
    return sum(facts[kind] for facts in maps.values())


@LINUX
def test_two_processes_share_the_pages(large: Path) -> None:
    def work(say: Any) -> None:
        with Collection.open(large, policy=UNRESTRICTED) as collection:
            collection.search(QUERY, 5, threads=1)
            list(collection.items())
            say("searched")
            while not large.with_name("go").exists():
                pass

    with Collection.open(large, policy=UNRESTRICTED) as ours, Child(work) as child:
        ours.search(QUERY, 5, threads=1)
        list(ours.items())
        assert child.hear() == "searched"
        here, there = mapped(), mapped(child.pid)
        large.with_name("go").touch()
        assert {Path(name).name for name in here} == {
            "ids.npy",
            "groups.npy",
            "vectors.npy",
            "facts.npy",
            "high.npy",
            "low.npy",
        }
        kilobytes = ROWS * DIM * 4 // 1024
        for maps in (here, there):
            assert total(maps, "Shared_Clean") > 0.9 * kilobytes
            assert total(maps, "Private_Dirty") == total(maps, "Shared_Dirty") == total(maps, "Anonymous") == 0
        assert total(here, "Pss") < 0.6 * total(here, "Rss"), "the pages are counted for both"


@LINUX
def test_opening_reads_headers_only(large: Path) -> None:
    """A fresh process, and memory that is its own: rows cost what is kept for each of them, not their vectors."""
    out = run(f"""
        import time
        import evidex
        def private():
            lines = open("/proc/self/smaps_rollup").read().splitlines()
            return sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
        before, began = private(), time.perf_counter()
        collection = evidex.Collection.open({str(large)!r}, policy=evidex.UNRESTRICTED)
        print(private() - before, time.perf_counter() - began)
    """)
    kilobytes, seconds = map(float, out.split())
    assert kilobytes < ROWS * 64 / 1024 + 4096 < ROWS * DIM * 4 / 1024
    assert seconds < 1


def test_old_readers_keep_what_is_unlinked_or_replaced(folder: Path) -> None:
    """Files never change in place, so whoever mapped one before has it for as long as needed."""
    filled(folder).close()
    with opened(folder) as reader:
        before = content(reader)
        arrays = sorted((folder / "segments").rglob("*.npy"))
        for path in arrays:
            other = path.with_suffix(".new")
            other.write_bytes(b"\0" * path.stat().st_size)
            os.rename(other, path)
        assert content(reader) == before
        with pytest.raises(CorruptFile):
            reader.verify()
        with pytest.raises(CorruptFile):
            opened(folder)
        shutil.rmtree(folder / "segments")
        assert content(reader) == before


def test_old_readers_keep_what_a_writer_swept(folder: Path) -> None:
    writer = filled(folder)
    reader = opened(folder)
    ids = reader.ids(principal=UNRESTRICTED)
    rows = reader.get(ids, principal=UNRESTRICTED)
    for lease in (folder / "readers").iterdir():
        lease.unlink()  # as if nobody read
    writer.compact()
    assert len(list((folder / "segments").iterdir())) == 1
    assert (reader.get(ids, principal=UNRESTRICTED) == rows).all()
    reader.refresh()
    assert content(reader) == content(writer)
    for one in (reader, writer):
        one.close()


def test_a_file_that_was_cut_is_refused_when_it_is_opened(folder: Path) -> None:
    """Never a bus error: sizes are looked at before anything is mapped."""
    filled(folder).close()

    def work() -> int:
        refused = 0
        for path in sorted((folder / "segments").rglob("*.npy")):
            whole = path.read_bytes()
            for size in (0, 1, 127, 128, len(whole) - 1):
                path.write_bytes(whole[:size])
                with pytest.raises(CorruptFile):
                    opened(folder)
                refused += 1
            path.write_bytes(whole)
        opened(folder).close()
        return refused

    assert result_of(work) >= 40
