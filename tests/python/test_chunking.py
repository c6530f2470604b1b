# SPDX-License-Identifier: Apache-2.0
"""Chunkers: worked windows, covering spans, and texts that would break a recursive splitter."""

from __future__ import annotations

import sys
import time
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidex.errors import InvalidInput
from evidex.text import Chunker, Fixed, Recursive, chunk_id
from evidex.types import Chunk, Span

TEXTS = st.text(alphabet="ab .\n\U0001f600", max_size=80)


def pairs(chunker: Chunker, text: str) -> list[tuple[int, int]]:
    return [(span.start, span.end) for span in chunker.spans(text)]


def pieces(chunker: Chunker, text: str) -> list[str]:
    return [text[start:end] for start, end in pairs(chunker, text)]


def test_fixed_windows() -> None:  # case H4
    """Guards "the last window never lies inside the previous one"; ranging over the whole length turned this red."""
    assert pairs(Fixed(4, 2), "abcdef") == [(0, 4), (2, 6)]
    assert Fixed(4, 2).spans("") == []
    assert pairs(Fixed(4, 2), "abcdefg") == [(0, 4), (2, 6), (4, 7)]
    assert pairs(Fixed(4), "abcdef") == [(0, 4), (4, 6)]
    assert pairs(Fixed(4, 3), "abc") == [(0, 3)]
    assert pairs(Fixed(4, 3), "a") == [(0, 1)]


def test_sizes_are_characters() -> None:  # case H4
    assert pieces(Fixed(2), "\u00e9\U0001f600z") == ["\u00e9\U0001f600", "z"]


@pytest.mark.parametrize(
    ("size", "overlap"),
    [(10, 10), (20, 20), (20, 21), (20, -1), (True, 0), (0, 0), (-5, 0), (4.0, 0), ("4", 0), (4, True), (4, None)],
)
def test_fixed_sizes_refused(size: Any, overlap: Any) -> None:  # case H4
    with pytest.raises(InvalidInput):
        Fixed(size, overlap)


@given(text=TEXTS, size=st.integers(1, 12), data=st.data())
def test_fixed_windows_cover_and_advance(text: str, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    spans = pairs(Fixed(size, overlap), text)
    assert {at for start, end in spans for at in range(start, end)} == set(range(len(text)))
    assert all(end - start == size for start, end in spans[:-1])
    assert all(left[1] - right[0] == overlap for left, right in pairwise(spans))
    assert all(left[1] < right[1] for left, right in pairwise(spans))


def test_recursive_merges_up_to_the_size_and_prefers_high_separators() -> None:  # case H5
    """Guards greedy merging and the order of separators; ``find`` for ``rfind`` and reversed separators went red."""
    assert pieces(Recursive(12), "one\n\ntwo\n\nthree\n\nfour") == ["one\n\ntwo\n\n", "three\n\nfour"]
    assert pieces(Recursive(12), "a b c\n\nd e f g h") == ["a b c\n\n", "d e f g h"]
    assert pieces(Recursive(10), "One. Two three") == ["One. ", "Two three"]
    assert pieces(Recursive(10), "line one\nline two") == ["line one\n", "line two"]


def test_separators_act_and_stay_at_the_end() -> None:
    assert pieces(Recursive(5, separators=("|",)), "a b|c d") == ["a b|", "c d"]
    assert pieces(Recursive(5, separators=()), "a b|c d") == ["a b|c", " d"]
    assert Recursive(5, separators=["|"]).separators == ("|",)  # type: ignore[arg-type]


def test_an_unbroken_run_is_cut_hard() -> None:  # case H5
    text = "Some words first.\n\n" + "x" * 120 + " and words after. " * 5
    spans = pairs(Recursive(40), text)
    assert "".join(pieces(Recursive(40), text)) == text
    assert all(1 <= end - start <= 40 for start, end in spans)
    assert spans[:4] == [(0, 19), (19, 59), (59, 99), (99, 139)]


@given(text=TEXTS, size=st.integers(1, 12), separators=st.sampled_from([("\n\n", "\n", ". ", " "), ("ab",), ()]))
def test_recursive_spans_cover_without_gap_or_overlap(text: str, size: int, separators: tuple[str, ...]) -> None:
    """Guards H5; leaving the separator out of the span turned this red."""
    spans = pairs(Recursive(size, separators), text)
    ends = [0, *(end for _, end in spans)]
    assert [start for start, _ in spans] == ends[:-1] and ends[-1] == len(text)
    assert all(1 <= end - start <= size for start, end in spans)


@pytest.mark.parametrize(
    ("size", "separators"),
    [(0, (" ",)), (True, (" ",)), (4.5, (" ",)), (4, ("",)), (4, (" ", "")), (4, "  "), (4, (1,)), (4, None)],
)
def test_recursive_arguments_refused(size: Any, separators: Any) -> None:  # case H5
    with pytest.raises(InvalidInput):
        Recursive(size, separators)


@pytest.mark.parametrize("unit", ["x", "word ", "a\n\n" + "y" * 97], ids=["unbroken", "words", "short and long"])
def test_fifty_megabytes_take_linear_time_and_no_stack(unit: str) -> None:  # case H5
    """Guards H5; slicing the rest of the text at every cut turned the small text red."""
    small = unit * (5_000_000 // len(unit))
    started = time.perf_counter()
    Recursive(100).spans(small)
    assert time.perf_counter() - started < 3
    text = unit * (50_000_000 // len(unit))
    depth = sys.getrecursionlimit()
    sys.setrecursionlimit(200)
    try:
        started = time.perf_counter()
        spans = Recursive(1000).spans(text)
        took = time.perf_counter() - started
    finally:
        sys.setrecursionlimit(depth)
    assert sum(map(len, spans)) == len(text)
    assert took < 20


@pytest.mark.parametrize("chunker", [Fixed(3, 1), Recursive(3)])
def test_chunks_are_the_spans_with_identity(chunker: Chunker) -> None:  # case H9
    text = "ab cd ef"
    chunks = chunker.chunks(text, tenant="acme", source="policies/refund", revision="v2")
    assert [chunk.span for chunk in chunks] == chunker.spans(text)
    for chunk in chunks:
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.id == chunk_id("acme", "policies/refund", "v2", chunk.start, chunk.end, chunk.text)
        assert (chunk.tenant, chunk.source, chunk.revision) == ("acme", "policies/refund", "v2")
    assert chunker.chunks("", tenant="acme", source="s", revision="v") == []


def test_a_chunker_of_your_own() -> None:
    class Halves(Chunker):
        def spans(self, text: str) -> list[Span]:
            return [Span(0, len(text) // 2), Span(len(text) // 2, len(text))]

    first, second = Halves().chunks("abcd", tenant="t", source="s", revision="r")
    assert isinstance(first, Chunk) and (first.text, second.text) == ("ab", "cd")


@pytest.mark.parametrize("chunker", [Fixed(4), Recursive(4)])
@pytest.mark.parametrize("text", [None, b"abc", 3])
def test_texts_refused(chunker: Chunker, text: Any) -> None:
    with pytest.raises(InvalidInput, match="text: expected a str"):
        chunker.spans(text)


def test_numpy_sizes_become_plain() -> None:
    four: Any = np.int64(4)
    fixed = Fixed(four, four - 2)
    assert type(fixed.size) is int and type(fixed.overlap) is int and fixed == Fixed(4, 2)
    assert type(Recursive(four).size) is int
