# SPDX-License-Identifier: Apache-2.0
"""Single values of columns: which types there are, and what counts as one of them."""

from __future__ import annotations

from datetime import date, datetime
from typing import TypeAlias, cast

import numpy as np

from . import _checks

__all__ = ["EPOCH", "KINDS", "Scalar", "plain"]

Scalar: TypeAlias = "str | int | float | bool | date"
KINDS: tuple[type, ...] = (str, int, float, bool, date)
EPOCH = date(1970, 1, 1).toordinal()


def plain(value: object) -> Scalar | None:
    """The value as exactly str, int, float, bool or date, which numpy's scalars become; None if it is none of them.

    NaN, NaT, a datetime and a datetime64 of any unit but the day are none of them.
    """
    if type(value) in KINDS:
        return cast(Scalar, value) if value == value else None  # noqa: PLR0124  # only NaN differs from itself
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, str):
        return str.__str__(value)
    if _checks.integer(value):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return number if (number := float(value)) == value else None  # a long double may not be a float
    if isinstance(value, date) and not isinstance(value, datetime):
        return date.fromordinal(value.toordinal())
    if isinstance(value, np.datetime64) and np.datetime_data(value.dtype) == ("D", 1):
        day = int(value.astype(np.int64)) + EPOCH
        return date.fromordinal(day) if 1 <= day <= date.max.toordinal() else None
    return None
