# SPDX-License-Identifier: Apache-2.0
"""Independent references, written the slow obvious way from the definitions, sharing no code with evidex.

They are checked against exact rational arithmetic and plain Python in test_reference.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Whole = npt.NDArray[np.int64]
METRICS = ("inner_product", "cosine", "squared_l2")
CODECS = ("float32", "float16", "int8")
LANES = 16


def fused(a: Any, b: Any, c: Any) -> Floats:
    """round_to_float32(a * b + c), rounded once, elementwise over float32 arrays."""
    product = np.asarray(a, np.float64) * np.asarray(b, np.float64)  # exact: 24 + 24 bits
    addend = np.asarray(c, np.float64)
    total = product + addend
    shadow = total - product
    error = (product - (total - shadow)) + (addend - shadow)
    bits = total.view(np.int64).copy()
    inexact = (error != 0) & (bits & 1 == 0)
    towards_zero = (error > 0) != (total > 0)
    bits[inexact & towards_zero] -= 1
    bits[inexact & ~towards_zero] += 1
    return bits.view(np.float64).astype(np.float32)


def fused_exact(a: float, b: float, c: float) -> Fraction:
    """a * b + c without rounding."""
    return Fraction(a) * Fraction(b) + Fraction(c)


def _lane_sums(query: Floats, rows: Floats, square_of_difference: bool) -> Floats:
    """One query with each row, or each of as many queries with its own row."""
    n, dim = rows.shape
    padded = -(-dim // LANES) * LANES
    q = np.zeros((n, padded), np.float32)
    q[:, :dim] = query
    x = np.zeros((n, padded), np.float32)
    x[:, :dim] = rows
    lanes = np.zeros((n, LANES), np.float32)
    for start in range(0, padded, LANES):
        left = q[:, start : start + LANES]
        right = x[:, start : start + LANES]
        if square_of_difference:
            left = right = left - right
        lanes = fused(left, right, lanes)
    for width in (8, 4, 2, 1):
        lanes = lanes[:, :width] + lanes[:, width : 2 * width]
    return lanes[:, 0]


def canonical_dot(query: Floats, rows: Floats) -> Floats:
    """The canonical inner product of one query with each row."""
    return _lane_sums(query, rows, square_of_difference=False) + np.float32(0)


def normalised(rows: npt.NDArray[Any]) -> Floats:
    """Rows as a cosine index stores them."""
    rows = np.asarray(rows, np.float64)
    if not len(rows):
        return rows.astype(np.float32)
    exponents = np.frexp(np.abs(rows).max(axis=1, keepdims=True))[1]
    scaled = np.ldexp(rows, 1 - exponents).astype(np.float32)
    exponents = np.frexp(np.abs(scaled).max(axis=1, keepdims=True))[1]  # rounding may have reached the next power
    scaled = np.ldexp(scaled.astype(np.float64), 1 - exponents).astype(np.float32)
    unit: Floats = scaled / np.sqrt(canonical_dot(scaled, scaled))[:, None]
    return unit


def prepared(metric: str, rows: npt.NDArray[Any]) -> Floats:
    """Rows or queries as the metric sees them."""
    return normalised(rows) if metric == "cosine" else np.asarray(rows, np.float32)


def int8_codes(rows: Floats) -> tuple[Whole, Floats]:
    """Whole numbers from -127 to 127 and the scale of each row, all in float32. A row of tiny numbers is all zero.

    A scale is the largest magnitude / 127 rounded up to the 8 significant bits that the upper half of a float32 has.
    """
    largest = np.abs(rows).max(axis=1, initial=0).astype(np.float32)
    usable = largest >= np.float32(2.0**-100)
    quotients = np.where(usable, largest, np.float32(127)) / np.float32(127)
    places = np.frexp(quotients)[1] - 8
    scales = np.ldexp(np.ceil(np.ldexp(quotients, -places)), places).astype(np.float32)
    codes = np.rint(rows * (np.float32(1) / scales)[:, None]).astype(np.int64)  # of two as near rint takes the even one
    return np.where(usable[:, None], codes, 0), np.where(usable, scales, np.float32(0))


def decoded(codec: str, rows: Floats) -> Floats:
    """What is kept of prepared rows."""
    if codec == "float16":
        return rows.astype(np.float16).astype(np.float32)
    if codec == "int8":
        codes, scales = int8_codes(rows)
        return codes.astype(np.float32) * scales[:, None]
    return rows


def stored(metric: str, codec: str, rows: npt.NDArray[Any]) -> Floats:
    """Rows as an index with this metric and codec keeps them."""
    return decoded(codec, prepared(metric, rows))


def scores(metric: str, query: Floats, rows: Floats) -> Floats:
    """Canonical scores of one prepared query against prepared rows."""
    if metric == "squared_l2":
        return np.float32(0) - _lane_sums(query, rows, square_of_difference=True)
    products = canonical_dot(query, rows)
    return np.clip(products, np.float32(-1), np.float32(1)) + np.float32(0) if metric == "cosine" else products


def ranked(ids: Iterable[int], values: Iterable[float], k: int) -> list[tuple[int, float]]:
    """The first k under score descending, then id ascending."""
    pairs = [(int(i), float(s)) for i, s in zip(ids, values, strict=True)]
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:k]


def best(ids: Whole, values: Floats, k: int, groups: Whole | None = None) -> Whole:
    """Places of the first k under score descending, then id ascending; with groups only the first of each counts."""
    order = np.lexsort((ids, -values))
    if groups is not None:
        order = order[np.sort(np.unique(groups[order], return_index=True)[1])]
    return order[:k]


def search(
    metric: str, query: npt.NDArray[Any], rows: Mapping[int, Any], k: int, codec: str = "float32"
) -> list[tuple[int, float]]:
    """Brute force over a dict of id to vector."""
    if not rows:
        return []
    ids = list(rows)
    kept = stored(metric, codec, np.stack([rows[i] for i in ids]))
    return ranked(ids, scores(metric, prepared(metric, query[None])[0], kept), k)


def may_read(rule: tuple[str, Iterable[str] | None, Iterable[str]], tenant: str, groups: Iterable[str]) -> bool:
    """Rule semantics in plain set logic; a rule is (tenant, allow or None for anyone, deny)."""
    rule_tenant, allow, deny = rule
    held = set(groups)
    if rule_tenant != tenant:
        return False
    if held & set(deny):
        return False
    return allow is None or bool(held & set(allow))
