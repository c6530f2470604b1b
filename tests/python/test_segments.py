# SPDX-License-Identifier: Apache-2.0
"""Segments of the core: arrays out, files in, and files that are not what they should be."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidex import CorruptFile, InvalidInput, _core

DIM, ROWS, OFFSET = 40, 2500, 64
FLOAT32, FLOAT16, INT8 = (dict(_core.codecs())[name] for name in ("float32", "float16", "int8"))
IDS = np.arange(ROWS, dtype=np.int64)[::-1].copy()
GROUPS = IDS % 7
RULES = (GROUPS % 3).astype(np.uint32)
VECTORS = np.random.default_rng(8).standard_normal((ROWS, DIM)).astype(np.float32)


def store(codec: int = FLOAT32, prescan: bool = True) -> _core.RowStore:
    return _core.RowStore(DIM, 0, codec, prescan)


def written(folder: Path, segment: _core.Segment) -> dict[str, str]:
    """Each array in a file behind a header."""
    paths = {}
    for name, array in segment.arrays().items():
        paths[name] = str(folder / name)
        (folder / name).write_bytes(b"h" * OFFSET + array.tobytes())
    return paths


@pytest.mark.parametrize("codec", [FLOAT32, FLOAT16, INT8])
def test_a_mapped_segment_is_the_one_that_was_written(codec: int, tmp_path: Path) -> None:
    """Seen red with the two kinds of facts exchanged."""
    made = store(codec).encode(IDS, GROUPS, VECTORS)
    assert made.rows == ROWS and made.reference is not None
    arrays = made.arrays()
    assert ("vectors" in arrays) == (codec != INT8)
    assert arrays["ids"].tolist() == IDS.tolist() and arrays["groups"].tolist() == GROUPS.tolist()
    assert not any(array.flags.writeable for array in arrays.values())
    paths = written(tmp_path, made)
    if codec == INT8:
        paths["vectors"] = str(tmp_path / "vectors")
        (tmp_path / "vectors").write_bytes(b"h" * OFFSET)
    mapped = _core.Segment.mapped(DIM, codec, ROWS, paths, OFFSET, made.reference)
    for name, array in mapped.arrays().items():
        assert array.dtype == arrays[name].dtype and array.shape == arrays[name].shape
        assert array.tobytes() == arrays[name].tobytes()
    answers = []
    for segment in (made, mapped):
        given = store(codec)
        assert given.attach(segment, RULES) == 0
        for name in paths:
            if segment is mapped:
                os.unlink(paths[name])
        snapshot = given.snapshot()
        answer = snapshot.search(VECTORS[:3], 9, [snapshot.live()], np.zeros(0, np.uint32), 1, False)
        assert answer.masks[0].prescan
        answers.append((answer.ids.tobytes(), answer.scores.tobytes(), answer.groups.tobytes()))
    assert answers[0] == answers[1]


def test_arrays_outlive_their_segment(tmp_path: Path) -> None:
    made = store().encode(IDS, GROUPS, VECTORS)
    paths = written(tmp_path, made)
    mapped = _core.Segment.mapped(DIM, FLOAT32, ROWS, paths, OFFSET)
    ids, vectors = mapped.arrays()["ids"], made.arrays()["vectors"]
    assert mapped.reference is None and "facts" not in mapped.arrays()
    del mapped, made
    assert ids.tolist() == IDS.tolist() and vectors.tobytes() == VECTORS.tobytes()


@pytest.mark.parametrize("name", ["vectors", "ids", "groups", "facts", "high", "low"])
def test_a_file_that_is_not_what_it_should_be_is_refused(name: str, tmp_path: Path) -> None:
    made = store().encode(IDS, GROUPS, VECTORS)
    paths = written(tmp_path, made)
    file = Path(paths[name])
    whole = file.read_bytes()

    def refused() -> None:
        with pytest.raises(CorruptFile, match=name):
            _core.Segment.mapped(DIM, FLOAT32, ROWS, paths, OFFSET, made.reference)

    for other in (whole[:-1], whole + b"0", b""):
        file.write_bytes(other)
        refused()
    file.unlink()
    refused()
    os.mkfifo(file)
    refused()
    file.unlink()
    file.mkdir()
    refused()
    without = {kind: path for kind, path in paths.items() if kind != name}
    with pytest.raises(InvalidInput, match=f"files: no {name}"):
        _core.Segment.mapped(DIM, FLOAT32, ROWS, without, OFFSET, made.reference)


@pytest.mark.parametrize(
    "changed",
    [{"rows": 0}, {"offset": 65}, {"offset": 2**64 - 64}, {"dim": 2**62}, {"rows": 2**60}],
    ids=str,
)
def test_sizes_that_no_segment_has_are_refused(changed: dict[str, int], tmp_path: Path) -> None:
    made = store().encode(IDS, GROUPS, VECTORS)
    sizes: dict[str, Any] = {"dim": DIM, "rows": ROWS, "offset": OFFSET} | changed
    with pytest.raises(InvalidInput, match="no such size"):
        _core.Segment.mapped(codec=FLOAT32, files=written(tmp_path, made), **sizes)


def test_a_reference_has_a_component_for_each_dimension(tmp_path: Path) -> None:
    paths = written(tmp_path, store().encode(IDS, GROUPS, VECTORS))
    with pytest.raises(InvalidInput, match="reference"):
        _core.Segment.mapped(DIM, FLOAT32, ROWS, paths, OFFSET, np.zeros(DIM - 1, np.float32))
    with pytest.raises(InvalidInput, match="reference"):
        _core.RowStore(DIM, 0, FLOAT32, True, np.zeros(DIM + 1, np.float32))


@pytest.mark.parametrize(
    ("ids", "groups", "vectors"), [(2, 3, 3), (3, 2, 3), (3, 3, 2), (0, 0, 0)], ids=["ids", "groups", "vectors", "none"]
)
def test_what_is_encoded_has_one_length(ids: int, groups: int, vectors: int) -> None:
    with pytest.raises(InvalidInput, match="differ in length, or there are none"):
        store().encode(IDS[:ids], GROUPS[:groups], VECTORS[:vectors])


def test_numbers_that_no_row_has_are_refused() -> None:
    """Seen red with numbers between two segments taken for rows, which read beyond their memory."""
    given = store(prescan=False)
    for first in (0, 1000):
        end = first + 1000
        segment = given.encode(IDS[first:end], GROUPS[first:end], VECTORS[first:end])
        given.attach(segment, RULES[first:end])
    snapshot = given.snapshot()
    assert snapshot.rows == 2024
    live = snapshot.live()
    reads: list[Callable[[Any], Any]] = [
        snapshot.ids_of,
        snapshot.vectors,
        snapshot.gather,
        lambda numbers: snapshot.readable(live, numbers),
    ]
    for read in reads:
        read(np.array([0, 999, 1024, 2023]))
        for number in (-1, 1000, 1023, 2024):
            with pytest.raises(InvalidInput, match=f"no row {number} "):
                read(np.array([0, number]))


def test_marks_and_rules_are_given_in_pairs() -> None:
    given = store()
    given.attach(given.encode(IDS, GROUPS, VECTORS), RULES)
    with pytest.raises(InvalidInput, match="differ in length"):
        given.mark(np.array([0]), np.array([1, 2]), True)
    for first, count in ((-1, 1), (1, -1)):
        with pytest.raises(InvalidInput, match="none below 0"):
            given.mark(np.array([first]), np.array([count]), True)
    with pytest.raises(InvalidInput, match="differ in length"):
        given.set_known_rules(np.array([0, 1]), np.zeros(1, np.uint32))
    assert given.snapshot().live_rows == ROWS
