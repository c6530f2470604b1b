# SPDX-License-Identifier: Apache-2.0
"""Terms that the core says need no check: exactly those that the check would let through as they are."""

from __future__ import annotations

from collections import Counter
from http import HTTPStatus
from types import MappingProxyType
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidex import InvalidInput, _core
from evidex.lexical.documents import queries_of
from evidex.text import Analyzer

BYTES, QUARTERS = 2**16 - 1, 2**31 - 1


class Text(str):
    __slots__ = ()


SOUND: list[Any] = [
    {},
    {"a": 1},
    {"": 1, "b": QUARTERS},
    {"x" * BYTES: 4},
    {"x" * (BYTES - 2) + "\u00e9": 4},
    {"\u20ac" * (BYTES // 3): 4, "\U0001f600": 2},
    {"x" * BYTES: 4, "y" * BYTES: 4},
    {"nul\0": 4},
]
OTHERS: list[Any] = [
    Counter(a=1),
    MappingProxyType({"a": 1}),
    {Text("a"): 1},
    {np.str_("a"): 1},
    {"a": True},
    {"a": HTTPStatus.OK},
    {"a": np.int64(4)},
    {"a": 4.0},
    {"a": None},
    {"a": 0},
    {"a": 4, "b": 0},
    {"a": -1},
    {"a": QUARTERS + 1},
    {"a": 2**32 + 1},
    {"a": 2**64 + 1},
    {"a": 2**70},
    {"a": -(2**70)},
    {"half \ud800": 4},
    {"a": 4, "\udc00": 4},
    {b"a": 4},
    {7: 4},
    {None: 4},
    {"x" * (BYTES + 1): 4},
    {"x" * (BYTES - 1) + "\u00e9": 4},
    {"a": 4, "\u20ac" * (BYTES // 3) + "x": 4},
    [("a", 1)],
    b"a",
    7,
    None,
]


def outcome(one: object) -> tuple[str, list[tuple[str, int]]]:
    """What a query becomes: its terms in order, or why it is refused."""
    try:
        found = queries_of([one], Analyzer(), "q")[0]
    except InvalidInput as error:
        return str(error), []
    assert type(found) is dict
    assert {type(weight) for weight in found.values()} <= {int}
    return "", list(found.items())


@pytest.mark.parametrize("one", SOUND + OTHERS, ids=lambda one: repr(one)[:40])
def test_terms_are_told_from_others(one: Any) -> None:
    """Seen red: subclasses of dict, str and int taken; 0 taken; a lone surrogate that ended in a SystemError."""
    assert _core.are_terms(one, BYTES, QUARTERS) == any(one is sound for sound in SOUND)
    told = outcome(one)
    with mock.patch.object(_core, "are_terms", return_value=False):
        assert outcome(one) == told


@given(
    st.dictionaries(
        st.text(st.sampled_from("ab\u00e9\u20ac\U0001f600\ud800"), max_size=6) | st.sampled_from([b"a", 7]),
        st.integers(-1, 9) | st.sampled_from([True, 2.0, 2**64 + 1]),
        max_size=4,
    )
)
def test_any_terms(terms: dict[Any, Any]) -> None:
    """Seen red: characters counted in place of bytes."""
    assert _core.are_terms(terms, 6, 7) == all(
        type(term) is str
        and len(term.encode("utf-8", "surrogatepass")) <= 6
        and "\ud800" not in term
        and type(weight) is int
        and 1 <= weight <= 7
        for term, weight in terms.items()
    )
