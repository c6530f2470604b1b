# SPDX-License-Identifier: Apache-2.0
"""The references must themselves be right: the fused multiply-add against exact rationals."""

from __future__ import annotations

import struct
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import reference

floats = st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=-(2.0**60), max_value=2.0**60)


def neighbours(value: np.float32) -> tuple[Fraction, Fraction]:
    return (
        Fraction(float(np.nextafter(value, np.float32(-np.inf)))),
        Fraction(float(np.nextafter(value, np.float32(np.inf)))),
    )


@given(floats, floats, floats)
def test_fused_is_the_nearest_float_and_even_on_ties(a: float, b: float, c: float) -> None:
    exact = reference.fused_exact(a, b, c)
    got = reference.fused(*(np.array([x], np.float32) for x in (a, b, c)))[0]
    below, above = neighbours(got)
    error = abs(Fraction(float(got)) - exact)
    assert error <= min(abs(below - exact), abs(above - exact))
    if error in (abs(below - exact), abs(above - exact)):
        assert struct.unpack("<I", struct.pack("<f", float(got)))[0] % 2 == 0


def test_canonical_dot_is_close_to_the_exact_product() -> None:
    rng = np.random.default_rng(5)
    for dim in (1, 5, 16, 17, 100):
        q, x = rng.standard_normal((2, dim)).astype(np.float32)
        exact = sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(q, x, strict=True))
        bound = (dim + 5) * 2.0**-24 * float(np.abs(q.astype(float) * x).sum())
        assert abs(float(reference.canonical_dot(q, x[None])[0]) - float(exact)) <= bound
