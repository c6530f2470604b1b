# SPDX-License-Identifier: Apache-2.0
"""Chunk ids: the documented bytes, and that every part of a chunk's place changes them."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidex.errors import InvalidInput
from evidex.text import chunk_id, row_id

PLACE: dict[str, Any] = {"tenant": "acme", "source": "s", "revision": "v1", "start": 0, "end": 5, "text": "hello"}


def test_the_documented_bytes() -> None:  # case H9
    """Guards H9 and every stored id; ASCII-escaped or spaced JSON turned this red."""
    digest = hashlib.sha256("Gr\u00fc\u00dfe \U0001f600".encode()).hexdigest()
    written = '["acme","pol\u00edticas/\u00fc","v\\"1",3,10,"' + digest + '"]'
    name = chunk_id("acme", "pol\u00edticas/\u00fc", 'v"1', 3, 10, "Gr\u00fc\u00dfe \U0001f600")
    assert name == hashlib.sha256(written.encode("utf-8")).hexdigest()


def test_a_frozen_value() -> None:  # case H9
    assert chunk_id(**PLACE) == "b6fbed93df8e394e29a0b28574bcc5942146f3f02dbb88d0f39d6a29d1519941"


@pytest.mark.parametrize(
    "other",
    [{"tenant": "b"}, {"source": "t"}, {"revision": "v2"}, {"start": 1}, {"end": 6}, {"text": "hallo"}],
    ids=lambda other: next(iter(other)),
)
def test_every_part_changes_the_id(other: dict[str, Any]) -> None:  # case H9
    """Guards "same text elsewhere has another id"; leaving the tenant out turned this red."""
    assert chunk_id(**{**PLACE, **other}) != chunk_id(**PLACE)


def test_parts_do_not_run_together() -> None:  # case H9
    assert chunk_id("a", "bc", "d", 0, 1, "x") != chunk_id("ab", "c", "d", 0, 1, "x")


def test_numpy_positions_are_the_same_place() -> None:
    assert chunk_id(**{**PLACE, "start": np.int64(0), "end": np.uint8(5)}) == chunk_id(**PLACE)


@pytest.mark.parametrize(
    "bad",
    [
        {"tenant": None},
        {"source": b"s"},
        {"revision": 1},
        {"start": -1},
        {"start": True},
        {"start": 6},
        {"end": 5.0},
        {"text": None},
        {"text": "a\ud800"},
        {"tenant": "\udfff"},
        {"source": "\udfff"},
        {"revision": "\udfff"},
    ],
)
def test_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        chunk_id(**{**PLACE, **bad})


def test_row_id_is_the_head_of_the_digest() -> None:  # case H9
    assert row_id("ff" * 32) == 2**63 - 1
    assert row_id("00" * 7 + "03" + "ff" * 24) == 1
    name = chunk_id(**PLACE)
    assert row_id(name) == int.from_bytes(bytes.fromhex(name)[:8], "big") >> 1


@pytest.mark.parametrize("bad", ["", "ff", "FF" * 32, "gg" * 32, "ff" * 33, "ff" * 32 + "\n", None, 3, "\u0663" * 64])
def test_row_id_refused(bad: Any) -> None:
    with pytest.raises(InvalidInput, match="chunk_id"):
        row_id(bad)


@given(
    names=st.tuples(*[st.text(max_size=8)] * 3), start=st.integers(0, 10**6), length=st.integers(0, 99), text=st.text()
)
def test_against_json(names: tuple[str, str, str], start: int, length: int, text: str) -> None:
    listed = [*names, start, start + length, hashlib.sha256(text.encode()).hexdigest()]
    written = json.dumps(listed, ensure_ascii=False, separators=(",", ":")).encode()
    name = chunk_id(*names, start, start + length, text)
    assert name == hashlib.sha256(written).hexdigest()
    assert 0 <= row_id(name) < 2**63
