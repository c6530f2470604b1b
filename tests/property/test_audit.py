# SPDX-License-Identifier: Apache-2.0
"""Any one change of a keyed log is found, and any bytes whatsoever are a report."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from audit_logs import ALICE, KEY, add, lines_of, rotated, three_files
from evidex import NotLogged, RetrievalLog
from evidex.audit import verify
from evidex.errors import CorruptFile

NAMES = ["reads.log.000001", "reads.log.000002", "reads.log"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A log of three files, three lines each, and its head."""
    path = tmp_path_factory.mktemp("whole") / "reads.log"
    head = three_files(path)
    return {**{name: path.with_name(name).read_bytes() for name in NAMES}, "head": head.encode()}


@contextmanager
def a_log(files: dict[str, bytes]) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp())
    try:
        for name in NAMES:
            if name in files:
                (folder / name).write_bytes(files[name])
        yield folder / "reads.log"
    finally:
        shutil.rmtree(folder)


@st.composite
def places(draw: st.DrawFn, data: bytes) -> int:
    """Anywhere, and often where a line ends."""
    ends = [0, *(number + 1 for number, byte in enumerate(data) if byte == 10)]
    return draw(st.sampled_from(ends) | st.integers(0, len(data)))


@st.composite
def ranges(draw: st.DrawFn, data: bytes) -> tuple[int, int]:
    start, end = sorted((draw(places(data)), draw(places(data))))
    return start, end


@st.composite
def changes(draw: st.DrawFn, data: bytes, other: bytes) -> bytes:
    """One file with one range of bytes edited, cut, moved, doubled, or with bytes put in."""
    kind = draw(st.sampled_from(["edit", "flip", "cut", "cut end", "move", "double", "insert", "insert from another"]))
    event(kind)
    start, end = draw(ranges(data))
    part = data[start:end]
    if kind == "edit":
        size = end - start
        return data[:start] + draw(st.binary(min_size=size, max_size=size)) + data[end:]
    if kind == "flip":
        at = min(start, len(data) - 1)
        return data[:at] + bytes([data[at] ^ 1 << draw(st.integers(0, 7))]) + data[at + 1 :]
    if kind == "cut":
        return data[:start] + data[end:]
    if kind == "cut end":
        return data[:start]
    rest = data[:start] + data[end:] if kind == "move" else data
    at = draw(places(rest))
    if kind == "insert":
        part = draw(st.binary(min_size=1, max_size=50))
    elif kind == "insert from another":
        start, end = draw(ranges(other))
        part = other[start:end]
    return rest[:at] + part + rest[at:]


@given(data=st.data(), name=st.sampled_from(NAMES), from_name=st.sampled_from(NAMES))
def test_any_one_change_of_a_keyed_log_is_found(
    whole: dict[str, bytes], data: st.DataObject, name: str, from_name: str
) -> None:
    """Except lines cut from the end, which the head tells."""
    changed = data.draw(changes(whole[name], whole[from_name]))
    head = whole["head"].decode()
    with a_log({**whole, name: changed}) as path:
        report, with_head = verify(path, KEY), verify(path, KEY, head)
        if changed == whole[name]:
            assert report.ok and with_head.ok
            return
        assert not with_head.ok
        cut_lines = name == "reads.log" and changed and whole[name].startswith(changed) and changed.endswith(b"\n")
        event(f"whole lines cut from the end: {bool(cut_lines)}")
        assert report.ok == bool(cut_lines)


@given(data=st.data(), gone=st.sets(st.sampled_from(NAMES), min_size=1))
def test_any_missing_or_exchanged_files_are_found(whole: dict[str, bytes], data: st.DataObject, gone: set[str]) -> None:
    left = {name: whole[name] for name in NAMES if name not in gone}
    with a_log(left) as path:
        assert not verify(path, KEY).ok
    order = data.draw(st.permutations(NAMES))
    with a_log({name: whole[other] for name, other in zip(NAMES, order, strict=True)}) as path:
        assert verify(path, KEY).ok == (order == NAMES)


lines = st.binary(max_size=60) | st.sampled_from([b"{}", b'{"seq":0}', b'"}\n', b',"seal":"' + b"0" * 64 + b'"}\n'])


@given(
    parts=st.lists(lines | st.integers(0, 8), max_size=12),
    key=st.sampled_from([KEY, None]),
    name=st.sampled_from(NAMES),
)
def test_whatever_a_file_holds_gives_a_report(
    whole: dict[str, bytes], parts: list[bytes | int], key: bytes | None, name: str
) -> None:
    """P10: neither verify nor the writer meets anything but its own errors."""
    known = b"".join(whole[one] for one in NAMES).splitlines(keepends=True)
    content = b"".join(known[part] if isinstance(part, int) else part for part in parts)
    with a_log({**whole, name: content}) as path:
        report = verify(path, key)
        assert report.ok == (not report.problems)
        try:
            with RetrievalLog(path, key=KEY) as log:
                add(log, 1)
        except (CorruptFile, NotLogged):
            return
        assert path.read_bytes().startswith(content if name == "reads.log" else whole["reads.log"])


@given(
    reads=st.lists(st.integers(0, 5), max_size=12),
    cuts=st.lists(st.integers(1, 2000), min_size=1, max_size=3),
    most_bytes=st.integers(1, 3000),
    keep=st.none() | st.integers(0, 3),
)
def test_a_log_goes_on_after_any_crash(reads: list[int], cuts: list[int], most_bytes: int, keep: int | None) -> None:
    """Cut wherever a write may have ended, it goes on, and what is there is whole and accounted for."""
    with a_log({}) as path:
        for cut in cuts:
            with RetrievalLog(path, key=KEY, most_bytes=most_bytes, keep=keep) as log:
                for hits in reads:
                    log.record("ids", ALICE, layout=1, generation=1, ids=[np.arange(hits)])
            # An opening line is written before anything else, and only what was written last can be torn.
            last = lines_of(path)[-1]
            left = path.read_bytes()[: -min(cut, len(last))]
            path.write_bytes(left)
        with RetrievalLog(path, key=KEY, most_bytes=most_bytes, keep=keep) as log:
            log.record("count", ALICE, layout=1, generation=1, count=1)
            head = log.head
        report = verify(path, KEY, head)
        assert report.ok, report.problems
        if keep is not None:
            assert sum(rotated(path, number).exists() for number in range(1, 60)) <= keep
