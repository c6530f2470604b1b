# SPDX-License-Identifier: Apache-2.0
"""Which rows a filtered search may return: four shapes, since what a filter costs depends on where its rows lie."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .. import _arrays
from ..errors import InvalidInput

__all__ = ["KINDS", "Allow", "make", "unit_rows"]

Allow: TypeAlias = npt.NDArray[np.bool_]

KINDS = ("random", "run", "correlated", "anti")


def make(kind: str, share: float, vectors: _arrays.Floats, queries: _arrays.Floats, *, unit: bool, seed: int) -> Allow:
    """A bool array [rows] that permits ``share`` of the rows, rounded, at least one.

    Args:
        kind: ``random``: anywhere. ``run``: one contiguous stretch at a random place. ``correlated``: the rows
            nearest to a row chosen at random. ``anti``: the rows farthest from the mean of the queries.
        share: Above 0, at most 1.
        vectors: float32 [rows, dim].
        queries: float32 [nq, dim].
        unit: Whether the metric compares directions only: near and far are then those of unit vectors.
        seed: The same mask for the same seed.

    Raises:
        InvalidInput: For another kind or share.
    """
    if kind not in KINDS:
        raise InvalidInput(f"mask: expected one of {', '.join(KINDS)}, got {kind!r}")
    if not 0 < share <= 1:
        raise InvalidInput(f"selectivity: expected a share above 0 and at most 1, got {share!r}")
    n = len(vectors)
    permitted = max(1, round(n * share))
    rng = np.random.default_rng([seed, 4])
    allow = np.zeros(n, np.bool_)
    if kind == "random":
        allow[rng.permutation(n)[:permitted]] = True
    elif kind == "run":
        first = int(rng.integers(0, n - permitted + 1))
        allow[first : first + permitted] = True
    elif kind == "correlated":
        allow[_by_distance(vectors, vectors[int(rng.integers(n))], unit)[:permitted]] = True
    else:
        mean = (unit_rows(queries) if unit else queries).mean(axis=0)
        allow[_by_distance(vectors, mean, unit)[n - permitted :]] = True
    return allow


def _by_distance(vectors: _arrays.Floats, centre: _arrays.Floats, unit: bool) -> npt.NDArray[np.intp]:
    """Row numbers, nearest first."""
    if unit:
        vectors, centre = unit_rows(vectors), unit_rows(centre[None])[0]
    squares: _arrays.Floats = np.einsum("ij,ij->i", vectors, vectors)
    return np.argsort(squares - 2 * (vectors @ centre), kind="stable")


def unit_rows(rows: _arrays.Floats) -> _arrays.Floats:
    """Rows divided by their norm, in float32."""
    norms: _arrays.Floats = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.maximum(norms, 1e-30)).astype(np.float32, copy=False)
