# SPDX-License-Identifier: Apache-2.0
"""Names of tenants and groups: which are names at all, and numbers for them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from . import _checks
from .errors import InvalidInput

__all__ = ["Numbers", "name", "names"]


class Numbers:
    """Numbers for names, from 0 up."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    def known(self, name: str) -> int | None:
        return self._numbers.get(name)

    def of_each(self, names: Iterable[str]) -> npt.NDArray[np.uint32]:
        return np.array([self.of(name) for name in names], dtype=np.uint32)

    def known_of(self, names: Iterable[str]) -> npt.NDArray[np.uint32]:
        return np.array([self._numbers[name] for name in names if name in self._numbers], dtype=np.uint32)


def name(value: object, what: str) -> str:
    checked = str.__str__(_checks.text(value, what))
    if not checked:
        raise InvalidInput(f"{what}: expected a name, got an empty str")
    return checked


def names(values: Iterable[str], what: str) -> frozenset[str]:
    return frozenset(name(value, what) for value in _checks.members(values, what))
