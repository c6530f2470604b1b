# SPDX-License-Identifier: Apache-2.0
"""Which values fit which type of column, and how the others are refused."""

from __future__ import annotations

import datetime as dt
import enum
from typing import Any

import numpy as np
import pytest

from columns_examples import TYPES, columns_of, rows_missing, rows_with
from evidex import InvalidInput
from evidex.columns import Columns

DAY = dt.date(2024, 2, 29)


class Level(enum.IntEnum):
    LOW = 1


class Lang(str, enum.Enum):
    EN = "en"


class Day(dt.date):
    pass


@pytest.mark.parametrize(
    ("kind", "given", "stored"),
    [
        (str, ["en", None, "", "\0", "a\0", "\ud800"], ["en", None, "", "\0", "a\0", "\ud800"]),
        (str, [Lang.EN, "de", np.str_("en")], ["en", "de", "en"]),
        (str, np.array(["en", "de"]), ["en", "de"]),
        (str, np.array(["en", None], dtype=object), ["en", None]),
        (int, [0, None, -(2**63) + 1, 2**63 - 1, Level.LOW, np.uint8(7)], [0, None, -(2**63) + 1, 2**63 - 1, 1, 7]),
        (int, range(3), [0, 1, 2]),
        (int, np.array([1, 2**63 - 1], dtype=">u8"), [1, 2**63 - 1]),
        (int, np.array([[1, 2], [3, 4]], dtype=np.int8)[:, 1], [2, 4]),
        (float, [0.1, None, 2**53, -0.0, np.inf], [0.1, None, 2.0**53, 0.0, np.inf]),
        (float, [np.float32(0.1), np.float64(0.1)], [float(np.float32(0.1)), 0.1]),
        (float, np.array([0.5, -np.inf], dtype=np.float16), [0.5, -np.inf]),
        (float, np.array([1, 2]), [1.0, 2.0]),
        (dt.date, [DAY, None, dt.date.min, dt.date.max, Day(2024, 2, 29)], [DAY, None, dt.date.min, dt.date.max, DAY]),
        (dt.date, [np.datetime64("2024-02-29")], [DAY]),
        (dt.date, np.array(["2024-02-29", "0001-01-01"], dtype=">M8[D]"), [DAY, dt.date.min]),
        (bool, [True, None, False, np.bool_(True)], [True, None, False, True]),
        (bool, np.array([True, False]), [True, False]),
        (bool, (), []),
    ],
    ids=str,
)  # fmt: skip
def test_values_that_fit_are_found_again(kind: type, given: Any, stored: list[Any]) -> None:
    columns = columns_of(kind, given)
    assert rows_missing(columns) == [row for row, value in enumerate(stored) if value is None]
    for value in {*stored} - {None}:
        assert rows_with(columns, value) == [row for row, other in enumerate(stored) if other == value]
    assert columns.rows == len(stored)


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (str, 1, "a str, got 1 (int)"),
        (str, b"en", "a str, got b'en' (bytes)"),
        (str, np.nan, "a str, got nan (float)"),
        (int, True, "got True (bool)"),
        (int, 1.0, "got 1.0 (float)"),
        (int, 2**63, "from -(2**63 - 1) to 2**63 - 1, got 9223372036854775808 (int)"),
        (int, -(2**63), "from -(2**63 - 1) to 2**63 - 1, got -9223372036854775808 (int)"),
        (int, np.timedelta64(1, "D"), "(timedelta64)"),
        (int, "1", "got '1' (str)"),
        (float, np.nan, "NaN and NaT are no values"),
        (float, 2**53 + 1, "an int that is one exactly, got 9007199254740993 (int)"),
        (float, 10**400, "(int)"),
        (float, True, "got True (bool)"),
        (float, 1j, "(complex)"),
        (dt.date, dt.datetime(2024, 1, 1), "a datetime is not a date"),
        (dt.date, np.datetime64("2024-01-01T00:00"), "(datetime64)"),
        (dt.date, np.datetime64("2024-01"), "(datetime64)"),
        (dt.date, np.datetime64("NaT", "D"), "NaN and NaT are no values"),
        (dt.date, np.datetime64("10000-01-01"), "(datetime64)"),
        (dt.date, "2024-01-01", "got '2024-01-01' (str)"),
        (bool, 1, "got 1 (int)"),
        (bool, np.ma.masked, "(MaskedConstant)"),
        (bool, object(), "(object)"),
    ],
)
def test_values_of_another_type_are_refused_by_row(kind: type, value: Any, said: str) -> None:
    """Seen red: a bool accepted as int, a datetime as the date it derives from, a timedelta64 as the integer it is."""
    columns = Columns({"c": kind})
    with pytest.raises(InvalidInput, match=r"^metadata\['c'\]\[1\]: ") as raised:
        columns.append({"c": [None, value]}, 2)
    assert said in str(raised.value)
    assert columns.rows == 0


@pytest.mark.parametrize(
    ("kind", "values", "row"),
    [
        (int, np.array([1, 2**63], dtype=np.uint64), 1),
        (int, np.array([-(2**63)]), 0),
        (int, np.array([1.0]), 0),
        (int, np.array([True]), 0),
        (int, np.array([1], dtype="m8[D]"), 0),
        (float, np.array([1, 2, np.nan], dtype=np.float32), 2),
        (float, np.array([2**53 + 1]), 0),
        (dt.date, np.array(["2024-01-01", "NaT"], dtype="M8[D]"), 1),
        (dt.date, np.array(["2024-01-01"], dtype="M8[ns]"), 0),
        (dt.date, np.array(["10000-01-01"], dtype="M8[D]"), 0),
        (bool, np.array([0, 1]), 0),
        (str, np.array([1]), 0),
        (str, np.array([b"en"]), 0),
    ],
)
def test_arrays_of_another_type_are_refused_by_row(kind: type, values: Any, row: int) -> None:
    with pytest.raises(InvalidInput, match=rf"^metadata\['c'\]\[{row}\]: "):
        columns_of(kind, values)


def test_a_long_double_must_be_a_float() -> None:
    exact = np.longdouble(0.5)
    assert rows_with(columns_of(float, [exact]), 0.5) == [0]
    finer = np.longdouble(1) + np.finfo(np.longdouble).eps
    if float(finer) != finer:
        with pytest.raises(InvalidInput, match="metadata"):
            columns_of(float, [finer])


@pytest.mark.parametrize(
    "values",
    ["en", b"en", {"en", "de"}, {"en": 1, "de": 2}, iter(["en", "de"]), None, 7, np.array([["en", "de"]]),
     np.array("en"), np.ma.MaskedArray(["en", "de"])],
    ids=str,
)  # fmt: skip
def test_values_come_as_a_list_or_an_array(values: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^metadata\['lang'\]: expected a list or a plain numpy array"):
        Columns(TYPES).append({"lang": values}, 2)
