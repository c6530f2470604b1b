# SPDX-License-Identifier: Apache-2.0
"""What predicates mean, missing values included, and what is refused (case A13)."""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest

from columns_examples import TYPES, rows
from evidex import InvalidInput
from evidex.columns import Columns, Metadata
from evidex.predicates import Predicate, evaluate, required, where

DAYS = [dt.date(2023, 12, 31), None, dt.date(2024, 1, 1), dt.date(2024, 2, 29), dt.date(1, 1, 1)]
TRUE, FALSE = True, False  # so that == reads as it is meant


@pytest.fixture
def columns() -> Columns:
    columns = Columns(TYPES)
    metadata: Metadata = {
        "lang": ["en", None, "de", "EN", ""],
        "year": [2020, None, 2021, 2022, -1],
        "price": [1.5, None, float("inf"), -0.0, 1.0],
        "published": DAYS,
        "public": [True, None, False, True, False],
    }
    columns.append(metadata, 5)
    return columns


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (where("lang") == "en", [0]),
        (where("lang") != "en", [2, 3, 4]),
        (where("lang") < "en", [2, 3, 4]),
        (where("lang") >= "de", [0, 2]),
        (where("lang").isin(["en", "de", "fr", "en"]), [0, 2]),
        (where("lang").isin(()), []),
        (where("lang").isin({"": 1}), [4]),
        (where("lang").startswith("e"), [0]),
        (where("lang").startswith(""), [0, 2, 3, 4]),
        (where("lang").startswith("english"), []),
        (where("lang").between("a", "en"), [0, 2]),
        (where("lang").is_missing(), [1]),
        (where("year") == 2021, [2]),
        (where("year") != 2021, [0, 3, 4]),
        (where("year") < 2021, [0, 4]),
        (where("year") <= 2021, [0, 2, 4]),
        (where("year") > 2021, [3]),
        (where("year") >= 2021, [2, 3]),
        (where("year") > -(2**63) + 1, [0, 2, 3, 4]),
        (where("year").between(2020, 2021), [0, 2]),
        (where("year").between(2021, 2020), []),
        (where("year").between(None, 2020), [0, 4]),
        (where("year").between(2022, None), [3]),
        (where("year").isin([2022, 2020, 7]), [0, 3]),
        (where("year").isin(np.array([2022, 2020])), [0, 3]),
        (where("year").isin([]), []),
        (where("year").is_missing(), [1]),
        (where("price") == 1.5, [0]),
        (where("price") == 1, [4]),
        (where("price") != 1, [0, 2, 3]),
        (where("price") == 0.0, [3]),
        (where("price") < float("inf"), [0, 3, 4]),
        (where("price").isin([0.0, float("inf"), 1]), [2, 3, 4]),
        (where("price").is_missing(), [1]),
        (where("published") == dt.date(2024, 2, 29), [3]),
        (where("published") < dt.date(2024, 1, 1), [0, 4]),
        (where("published") != dt.date(2024, 1, 1), [0, 3, 4]),
        (where("published").between(dt.date(2024, 1, 1), dt.date(2024, 12, 31)), [2, 3]),
        (where("published").isin([dt.date(1, 1, 1), dt.date.max]), [4]),
        (where("published") > np.datetime64("2023-12-31"), [2, 3]),
        (where("published").is_missing(), [1]),
        (where("public") == TRUE, [0, 3]),
        (where("public") != TRUE, [2, 4]),
        (where("public") == FALSE, [2, 4]),
        (where("public").isin([True, False]), [0, 2, 3, 4]),
        (where("public").is_missing(), [1]),
    ],
    ids=repr,
)
def test_what_a_predicate_matches(columns: Columns, predicate: Predicate, expected: list[int]) -> None:
    """Row 1 has no values at all: only is_missing() has it in. ~ gives exactly the other rows.

    Seen red: missing ints, the least int64, under <; NaN under !=; the last string for the number -1.
    """
    assert rows(columns, predicate) == expected
    assert rows(columns, ~predicate) == [row for row in range(5) if row not in expected]
    assert rows(columns, predicate & ~predicate) == []
    assert rows(columns, predicate | ~predicate) == list(range(5))
    assert evaluate(predicate, columns.view(0)).tolist() == []


def test_unequal_is_a_comparison_and_not_is_the_other_rows(columns: Columns) -> None:
    assert rows(columns, where("lang") != "en") == [2, 3, 4]
    assert rows(columns, ~(where("lang") == "en")) == [1, 2, 3, 4]
    assert rows(columns, ~(where("lang") == "en") & ~where("lang").is_missing()) == [2, 3, 4]


def test_predicates_combine(columns: Columns) -> None:
    en, late, free = where("lang") == "en", where("year") >= 2021, where("price").is_missing()
    assert rows(columns, en | late) == [0, 2, 3]
    assert rows(columns, en & late) == []
    assert rows(columns, (en | late) & ~free & (where("public") == TRUE)) == [0, 3]
    assert rows(columns, ~(en | free)) == [2, 3, 4]
    many = [where("year") == 2000 + i for i in range(25)]
    assert rows(columns, reduce(operator.or_, many)) == [0, 2, 3]
    assert reduce(operator.or_, many).depth == 2


def test_strings_are_compared_as_they_are() -> None:
    """No folding, no normalisation; order is that of code points."""
    columns = Columns({"c": str})
    columns.append({"c": ["\u00e9", "e\u0301", "E", "\U0001f600", "\uffff", "a\0"]}, 6)
    assert rows(columns, where("c") == "\u00e9") == [0]
    assert rows(columns, where("c").startswith("e")) == [1]
    assert rows(columns, where("c") > "\uffff") == [3]
    assert rows(columns, where("c") == "a") == []


def test_many_values_at_once() -> None:
    columns = Columns({"n": int, "s": str})
    numbers = np.random.default_rng(0).integers(0, 10_000, 5_000)
    columns.append({"n": numbers, "s": [str(n) for n in numbers]}, 5_000)
    chosen = list(range(0, 20_000, 3))
    expected = np.flatnonzero(numbers % 3 == 0).tolist()
    assert rows(columns, where("n").isin(chosen)) == rows(columns, where("s").isin(map(str, chosen))) == expected


def test_numpy_leaves_operators_to_predicates(columns: Columns) -> None:
    whole, real = np.arange(2021, 2022)[0], np.array([1.5])[0]
    assert rows(columns, whole <= where("year")) == [2, 3]
    assert rows(columns, real == where("price")) == [0]
    assert rows(columns, where("lang") == np.str_("en")) == [0]
    with pytest.raises(TypeError):
        np.array([True]) & (where("year") == 1)
    with pytest.raises(InvalidInput):
        where("year") == np.array([2020, 2021])  # noqa: B015


MALFORMED: list[tuple[str, Callable[[], Any]]] = [
    (r"where\('other'\): no column of this name; there are 'lang' .str., 'year' .int.", lambda: where("other") == 1),
    ("no column of this name", lambda: where("LANG") == "en"),
    ("no column of this name", lambda: where("").is_missing()),
    (r"where\('lang'\): expected a str, got 1 .int.; the column holds str", lambda: where("lang") == 1),
    (r"where\('year'\): expected an int .*, got '2020' .str.", lambda: where("year") == "2020"),
    (r"where\('year'\): .* got 2020.0 .float.", lambda: where("year") == 2020.0),
    (r"where\('year'\): .* got True .bool.", lambda: where("year") == TRUE),
    (r"where\('year'\): .* got 9223372036854775808", lambda: where("year") < 2**63),
    (r"where\('year'\): .* got 'x'", lambda: where("year").isin([1, "x"])),
    (r"where\('price'\): .* got 9007199254740993", lambda: where("price") == 2**53 + 1),
    (r"where\('price'\): .* got nan", lambda: where("price") == float("nan")),  # noqa: PLW0177
    (r"where\('price'\): .* got nan", lambda: where("price").isin([np.nan])),
    (r"where\('public'\): .* got 1 .int.", lambda: where("public") == 1),
    (r"where\('public'\): holds bool, which has no order: < is refused", lambda: where("public") < TRUE),
    (r"where\('public'\): holds bool", lambda: where("public").between(False, True)),
    (r"where\('published'\): .* got '2024-01-01'", lambda: where("published") == "2024-01-01"),
    (r"where\('published'\): .*pass value.date", lambda: where("published") == dt.datetime(2024, 1, 1)),
    (r"where\('published'\): .* .datetime64.", lambda: where("published") == np.datetime64("2024-01")),
    (r"where\('year'\): holds int, and only str has prefixes", lambda: where("year").startswith("2")),
    (r"where\('lang'\).startswith: expected a str", lambda: where("lang").startswith(("e", "d"))),  # type: ignore[arg-type]
    (r"where\('lang'\).isin: expected an iterable", lambda: where("lang").isin("en")),
    (r"where\('lang'\).isin: expected an iterable", lambda: where("lang").isin(None)),  # type: ignore[arg-type]
    (r"where\('lang'\): .*is_missing\(\) asks", lambda: where("lang").isin([None])),  # type: ignore[list-item]
    (r"where\('lang'\): .*is_missing\(\) asks", lambda: where("lang") == None),  # noqa: E711
    (r"where\('lang'\): .*is_missing\(\) asks", lambda: where("lang") != None),  # noqa: E711
    (r"where\('lang'\): expected a str, int", lambda: where("lang") == where("lang")),
    (r"where\('lang'\): expected a str, int", lambda: where("lang") == b"en"),
    (r"where\('lang'\): expected a str, int", lambda: where("lang") == ["en"]),
    ("between: both ends are None", lambda: where("year").between(None, None)),
    ("where: expected a str, got 1", lambda: where(1)),  # type: ignore[arg-type]
    ("operator: expected one of < <= .*, got 'like'", lambda: Predicate("like", "lang", ("e%",))),
]


@pytest.mark.parametrize(("said", "make"), MALFORMED)
def test_malformed_predicates_are_refused(columns: Columns, said: str, make: Callable[[], Any]) -> None:  # case A13
    for size in (5, 0):
        with pytest.raises(InvalidInput, match=said):
            evaluate(make(), columns.view(size))


def test_a_part_that_cannot_matter_is_checked_all_the_same(columns: Columns) -> None:
    nothing = where("lang").isin([])
    for predicate in (nothing & (where("other") == 1), ~nothing | (where("year") == "x")):
        with pytest.raises(InvalidInput, match="other|year"):
            evaluate(predicate, columns.view(0))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda p, c: p and p,
        lambda p, c: p or p,
        lambda p, c: not p,
        lambda p, c: 1 < c < 3,
        lambda p, c: bool(c),
        lambda p, c: p & c,
        lambda p, c: c | p,
        lambda p, c: ~c,
        lambda p, c: c == 1 & c == 2,
        lambda p, c: p if c else ~p,
    ],
)
def test_what_python_would_take_for_true_is_a_type_error(wrong: Callable[[Any, Any], object]) -> None:
    """Seen red: without __bool__ the first of `a and b` is dropped and the rest admits more."""
    with pytest.raises(TypeError, match="&, | and ~"):
        wrong(where("a") == 1, where("b"))


@pytest.mark.parametrize(
    "wrong",
    [lambda p: p & True, lambda p: None | p, lambda p: p & [p], lambda p: p % 2, lambda p: p < 1, lambda p: "x" in p],
)
def test_other_operators_are_type_errors(wrong: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError):
        wrong(where("a") == 1)


def test_only_a_predicate_is_one() -> None:
    assert required(where("a") == 1, "where") == (where("a") == 1)
    given: list[tuple[Any, str]] = [
        ({"lang": "en"}, "got {'lang': 'en'} .dict."),
        (where("public"), "compare the column with a value"),
        (lambda row: True, "AllowMask.from_callable"),
        (True, "got True .bool."),
        (None, "None does not narrow"),
        ("lang == 'en'", "got .*str"),
    ]
    for value, said in given:
        with pytest.raises(InvalidInput, match=f"^where: expected a predicate .*{said}"):
            required(value, "where")
