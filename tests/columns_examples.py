# SPDX-License-Identifier: Apache-2.0
"""Columns with some values, and which rows of them match."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np

from evidex.columns import Columns
from evidex.predicates import Predicate, evaluate, where

TYPES: dict[str, type] = {"lang": str, "year": int, "price": float, "published": dt.date, "public": bool}


def columns_of(kind: type, values: Any, rows: int | None = None) -> Columns:
    columns = Columns({"c": kind})
    columns.append({"c": values}, len(values) if rows is None else rows)
    return columns


def rows(columns: Columns, predicate: Predicate) -> list[int]:
    """The rows that match, which evaluate() says as bools."""
    matched = evaluate(predicate, columns.view(columns.rows))
    assert matched.dtype == np.bool_
    return np.flatnonzero(matched).tolist()


def rows_with(columns: Columns, value: Any, name: str = "c") -> list[int]:
    return rows(columns, where(name) == value)


def rows_missing(columns: Columns, name: str = "c") -> list[int]:
    return rows(columns, where(name).is_missing())
