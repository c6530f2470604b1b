# SPDX-License-Identifier: Apache-2.0
"""The references must themselves be right: against exact rationals, the standard library and plain Python."""

from __future__ import annotations

import struct
from fractions import Fraction
from typing import Any

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


@given(st.lists(st.floats(width=32, min_value=-65519, max_value=65519), min_size=1))
def test_float16_is_what_struct_packs(values: list[float]) -> None:
    kept = reference.decoded("float16", np.array([values], np.float32))[0]
    assert (
        kept.tobytes()
        == np.array(
            [struct.unpack("<e", struct.pack("<e", v))[0] for v in np.array(values, np.float32).tolist()], np.float32
        ).tobytes()
    )


@given(st.lists(st.floats(width=32, min_value=-(2.0**62), max_value=2.0**62), min_size=1, max_size=40))
def test_int8_codes_are_nearest_to_the_exact_quotient(values: list[float]) -> None:
    """But for the float32 roundings of the quotient itself, which may decide what lies half-way."""
    row = np.array([values], np.float32)
    codes, scales = reference.int8_codes(row)
    largest = max(abs(Fraction(float(v))) for v in row[0])
    assert (scales[0] == 0) == (largest < Fraction(2) ** -100)
    if scales[0] == 0:
        assert not codes.any()
        return
    scale = Fraction(float(scales[0]))
    assert scales.view(np.uint32)[0] & 0xFFFF == 0
    assert 1 - Fraction(1, 2**23) <= scale * 127 / largest <= 1 + Fraction(1, 2**7) + Fraction(1, 2**23)
    assert 126 <= np.abs(codes).max() <= 127
    for value, code in zip(row[0].tolist(), codes[0].tolist(), strict=True):
        assert abs(Fraction(value) / scale - code) <= Fraction(1, 2) + Fraction(1, 2**15)
    opposite, same = reference.int8_codes(-row)
    assert (opposite == -codes).all()
    assert same == scales


def test_int8_codes_half_way_are_even() -> None:
    """Rows whose scales need no rounding: 1, and the least there is."""
    rows = np.array([[127, 0.5, 1.5, 2.5, -0.5, -1.5], [127 * 2.0**-106, 0, 0, 0, 0, 2.0**-107]], np.float32)
    codes, scales = reference.int8_codes(rows)
    assert codes.tolist() == [[127, 0, 2, 2, 0, -2], [127, 0, 0, 0, 0, 0]]
    assert scales.tolist() == [1, 2.0**-106]
    least = np.array([[2.0**-100, 0], [np.nextafter(np.float32(2.0**-100), np.float32(0)), 0]], np.float32)
    assert (reference.decoded("int8", least)[:, 0] > 0).tolist() == [True, False]


def test_normalised_rows_have_length_one_whatever_length_they_came_with() -> None:
    """Also 1e200 and 1e-200, where they come in float64 (case H8)."""
    rows = np.array([[3e200, 4e200], [-3e-200, 4e-200], [0, 5e30], [1 - 2.0**-40, 0]])
    error = reference.normalised(rows) - np.array([[0.6, 0.8], [-0.6, 0.8], [0, 1], [1, 0]])
    assert np.abs(error).max() <= 2.0**-23


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=30),
    st.integers(0, 12),
    st.randoms(),
    st.booleans(),
)
def test_best_is_what_sorting_and_a_dict_give(pairs: list[tuple[int, int]], k: int, random: Any, grouped: bool) -> None:
    ids = random.sample(range(1000), len(pairs))
    found = sorted((-score, i, group, place) for place, (i, (score, group)) in enumerate(zip(ids, pairs, strict=True)))
    first: dict[int, int] = {}
    for place, (_, _, group, number) in enumerate(found):
        first.setdefault(group if grouped else place, number)
    scores, groups = np.array(pairs, np.float32).reshape(-1, 2).T
    places = reference.best(np.array(ids, np.int64), scores, k, groups.astype(np.int64) if grouped else None)
    assert places.tolist() == list(first.values())[:k]
