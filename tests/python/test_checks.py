# SPDX-License-Identifier: Apache-2.0
"""The shared validators: what each lets through, and that a refusal says what to do."""

from __future__ import annotations

import math
from http import HTTPStatus
from typing import Any

import numpy as np
import pytest

from evidex import _checks
from evidex.errors import InvalidInput

# numpy counts a timedelta64 among its integers; one without a unit even becomes an int.
NO_NUMBERS: list[Any] = [np.timedelta64(3), np.timedelta64(3, "D"), np.datetime64(3, "D"), np.complex64(1), object()]


@pytest.mark.parametrize("value", [0, 7, HTTPStatus.OK, np.int8(7), np.uint64(7)])
def test_whole_returns_a_plain_int(value: Any) -> None:
    assert type(_checks.whole(value, "k")) is int
    assert _checks.whole(value, "k") == value


@pytest.mark.parametrize(
    "value", [-1, 11, True, np.True_, 1.0, np.float32(1), "1", None, np.array(1), math.nan, *NO_NUMBERS]
)
def test_whole_refuses_the_rest(value: Any) -> None:
    """Guards P8 (validated entry). Seen red: bools, and timedelta64, taken for the integers they derive from."""
    with pytest.raises(InvalidInput, match="k: expected a whole number from 0 to 10, got "):
        _checks.whole(value, "k", most=10)


@pytest.mark.parametrize("value", [True, False, np.True_, np.False_])
def test_flag_returns_a_plain_bool(value: Any) -> None:
    assert type(_checks.flag(value, "x")) is bool
    assert _checks.flag(value, "x") == value


@pytest.mark.parametrize("value", [1, 0, None, "True", np.int8(1), np.array(True)])
def test_flag_refuses_the_rest(value: Any) -> None:
    """P8. Seen red: what is merely true taken for True."""
    with pytest.raises(InvalidInput, match="x: expected True or False, got "):
        _checks.flag(value, "x")


def test_whole_names_an_open_range() -> None:
    with pytest.raises(InvalidInput, match="at least 3"):
        _checks.whole(2, "k", least=3)


@pytest.mark.parametrize("value", [0, -2.5, np.float32(0.5), np.int64(3)])
def test_finite_returns_a_plain_float(value: Any) -> None:
    assert type(_checks.finite(value, "x")) is float
    assert _checks.finite(value, "x") == value


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, True, np.False_, "1", None, 10**400, 1j, *NO_NUMBERS])
def test_finite_refuses_the_rest(value: Any) -> None:
    """P8. Seen red: as above."""
    with pytest.raises(InvalidInput, match="x: expected a finite number"):
        _checks.finite(value, "x")


def test_text_and_texts() -> None:
    assert _checks.text("a", "name") == "a"
    assert _checks.texts(iter(["a", ""]), "names") == ("a", "")
    with pytest.raises(InvalidInput, match="expected a str, got b'a'"):
        _checks.text(b"a", "name")
    with pytest.raises(InvalidInput, match=r"names\[1\]: expected a str, got 3"):
        _checks.texts(["a", 3], "names")  # type: ignore[list-item]


@pytest.mark.parametrize("value", ["ab", b"ab", 3, None])
def test_members_refuses_what_is_not_a_collection(value: Any) -> None:
    with pytest.raises(InvalidInput, match="wrap a single item"):
        _checks.members(value, "items")


def test_utf8_names_the_broken_character() -> None:
    assert _checks.utf8("\u00e9\U0001f600", "t") == "\u00e9\U0001f600"
    with pytest.raises(InvalidInput, match="at character 2"):
        _checks.utf8("ab\ud800", "t")


def test_ids_are_distinct_and_plain() -> None:
    assert _checks.ids(["b", "a", "b"], "ids") == ("b", "a")
    plain = _checks.ids(np.array([3, 1, 3]), "ids")
    assert plain == (3, 1) and {type(item) for item in plain} == {int}
    assert type(_checks.ids(np.array(["a"]), "ids")[0]) is str
    assert set(_checks.ids({"a", "b"}, "ids", ordered=False)) == {"a", "b"}


@pytest.mark.parametrize(
    "value",
    [[-1], [True], [1.0], [None], [1, "a"], {"a"}, {"a": 1}, "ab", [["a"]], *([value] for value in NO_NUMBERS)],
)
def test_ids_refuses_padding_bools_mixtures_and_unordered_sets(value: Any) -> None:
    """P8. Seen red: as above."""
    with pytest.raises(InvalidInput):
        _checks.ids(value, "ids")


def test_messages_shorten_what_was_given() -> None:
    with pytest.raises(InvalidInput) as caught:
        _checks.whole("x" * 10_000, "k")
    assert len(str(caught.value)) < 200
