# SPDX-License-Identifier: Apache-2.0
"""Predicates as objects: compared, copied, printed, and bounded."""

from __future__ import annotations

import copy
import datetime as dt
import pickle
from collections.abc import Callable

import numpy as np
import pytest

from columns_examples import rows
from evidex import InvalidInput
from evidex.columns import Columns
from evidex.predicates import Predicate, where

TRUE = True  # so that == reads as it is meant


def test_predicates_are_values() -> None:
    """Seen red: 1, 1.0 and True taken for the same value, so that one found the mask that was kept for another."""
    alike: list[Callable[[], Predicate]] = [
        lambda: where("a") == 1,
        lambda: where("a") == 1.0,
        lambda: where("a") == TRUE,
        lambda: where("b") == 1,
        lambda: where("a") != 1,
        lambda: where("a").isin([1]),
        lambda: where("a").isin([1, 1.0]),
        lambda: where("a").isin([1, 2]),
        lambda: where("a").isin([]),
        lambda: where("a").is_missing(),
        lambda: where("a") == "1",
        lambda: where("a").startswith("1"),
        lambda: ~(where("a") == 1),
        lambda: (where("a") == 1) & (where("b") == 1),
        lambda: (where("a") == 1) | (where("b") == 1),
    ]
    assert len({make() for make in alike}) == len(alike)
    for make in alike:
        one, other = make(), make()
        assert one == other and hash(one) == hash(other) and one is not other
        assert one != "x" and (one == 1) is False
        for copied in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
            assert copied == one and repr(copied) == repr(one)
        with pytest.raises(AttributeError, match="never changes"):
            one.operator = "!="
    assert where("a").isin([2, 1, 2]) == where("a").isin((np.int64(1), 2))
    assert ~~(where("a") == 1) == (where("a") == 1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(where("a"))


def test_predicates_print_as_they_are_written() -> None:
    for text in (
        "where('lang') == 'en'",
        "where('published') >= datetime.date(2024, 1, 1)",
        "where('lang').isin(['de', 'en'])",
        "where('lang').startswith('e')",
        "where('lang').is_missing()",
        "(where('a') == 1) & (where('b') != 2) & (~(where('c').is_missing()))",
        "~((where('a') < 1) | (where('b') <= 2.5))",
    ):
        assert repr(eval(text, {"where": where, "datetime": dt})) == text
    assert repr(where("n").isin(range(13))) == "where('n').isin([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... 3 more])"
    assert repr(where("lang")) == "where('lang')"
    assert repr(where("year").between(1, 2)) == "(where('year') >= 1) & (where('year') <= 2)"


def test_depth_has_a_limit() -> None:
    deep = where("a") == 0
    for i in range(99):
        deep = (deep | (where("a") == i)) if i % 2 else (deep & (where("b") == i))
    assert deep.depth == 100
    columns = Columns({"a": int, "b": int})
    columns.append({"a": [97], "b": [98]}, 1)
    assert rows(columns, deep) == [0]
    assert deep == pickle.loads(pickle.dumps(deep))
    with pytest.raises(InvalidInput, match="nested 101 deep, at most 100"):
        ~deep  # noqa: B018


def test_weight_grows_with_what_is_kept() -> None:
    few, many = where("a").isin(range(10)), where("a").isin(range(10_000))
    assert many.weight > 300_000 > few.weight
    assert (few & many).weight > few.weight + many.weight
    assert (where("a") == "x" * 100_000).weight > 100_000
