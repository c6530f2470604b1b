# SPDX-License-Identifier: Apache-2.0
"""Faults of the guard that the tests and the benchmark of access rights must find."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

import numpy as np

from evidex import DenseIndex, _core
from evidex.masks import Guard

_visible, _narrowed_each, _radius = Guard.visible, Guard.narrowed_each, DenseIndex.radius


def _last_word(self: Guard, snapshot: Any, principal: Any) -> Any:
    rows = np.arange(snapshot.rows)
    readable = _visible(self, snapshot, principal).test(rows)
    return _core.Bitmask.from_rows(snapshot.rows, rows[readable | (rows >= snapshot.rows // 64 * 64)])


def _without_mask(self: DenseIndex, *given: Any, **how: Any) -> Any:
    def everything(guard: Guard, snapshot: Any, *asked: Any) -> Any:
        masks, mask_of = _narrowed_each(guard, snapshot, *asked)
        return [_core.Bitmask.ones(snapshot.rows) for _ in masks], mask_of

    with mock.patch.object(Guard, "narrowed_each", everything):
        return _radius(self, *given, **how)


LEAKS: dict[str, tuple[type, str, Any]] = {
    "the last partial word of a mask is not compiled": (Guard, "visible", _last_word),
    "a kept grant outlives a change of rights": (Guard, "_rights", lambda self, snapshot: (0, 0)),
    "a second way to search drops the mask": (DenseIndex, "radius", _without_mask),
}


def planted(leak: str) -> AbstractContextManager[Any]:
    """The library with this fault."""
    where, name, fault = LEAKS[leak]
    return mock.patch.object(where, name, fault)
