# SPDX-License-Identifier: Apache-2.0
"""Independent references, written the slow obvious way from the definitions, sharing no code with evidex.

``fused`` is checked against exact rational arithmetic in test_reference.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
METRICS = ("inner_product", "cosine", "squared_l2")
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
    n, dim = rows.shape
    padded = -(-dim // LANES) * LANES
    q = np.zeros(padded, np.float32)
    q[:dim] = query
    x = np.zeros((n, padded), np.float32)
    x[:, :dim] = rows
    lanes = np.zeros((n, LANES), np.float32)
    for start in range(0, padded, LANES):
        left = np.broadcast_to(q[start : start + LANES], (n, LANES))
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
    out = np.zeros(rows.shape, np.float32)
    for i, row in enumerate(rows):
        exponent = np.frexp(np.abs(row).max())[1]
        scaled = np.ldexp(row, 1 - exponent).astype(np.float32)
        top = np.abs(scaled).max()
        scaled = np.ldexp(scaled.astype(np.float64), 1 - np.frexp(top)[1]).astype(np.float32)
        out[i] = scaled / np.sqrt(canonical_dot(scaled, scaled[None])[0])
    return out


def prepared(metric: str, rows: npt.NDArray[Any]) -> Floats:
    """Rows or queries as the metric sees them."""
    return normalised(rows) if metric == "cosine" else np.asarray(rows, np.float32)


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


def search(metric: str, query: npt.NDArray[Any], rows: Mapping[int, Any], k: int) -> list[tuple[int, float]]:
    """Brute force over a dict of id to vector."""
    if not rows:
        return []
    ids = list(rows)
    stored = prepared(metric, np.stack([rows[i] for i in ids]))
    return ranked(ids, scores(metric, prepared(metric, query[None])[0], stored), k)


def may_read(rule: tuple[str, Iterable[str] | None, Iterable[str]], tenant: str, groups: Iterable[str]) -> bool:
    """Rule semantics in plain set logic; a rule is (tenant, allow or None for anyone, deny)."""
    rule_tenant, allow, deny = rule
    held = set(groups)
    if rule_tenant != tenant:
        return False
    if held & set(deny):
        return False
    return allow is None or bool(held & set(allow))
