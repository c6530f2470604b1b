# SPDX-License-Identifier: Apache-2.0
"""Objects that are known for as long as somebody else keeps them."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import Generic, TypeVar

__all__ = ["Alive"]

T = TypeVar("T")


class Alive(Generic[T]):
    """Weak references, in the order in which they were added.

    A weakref.WeakSet runs Python code when one of its objects goes, and Python ignores what is raised there: a Ctrl-C
    that comes while a large object is freed would be lost. This looks for the dead when something is added.
    """

    def __init__(self) -> None:
        self._references: list[weakref.ref[T]] = []

    def add(self, one: T) -> None:
        """Knows one more. Any thread may, and no lock is taken, which a forked child might find held."""
        for reference in list(self._references):
            if reference() is None:
                with suppress(ValueError):  # another thread was faster
                    self._references.remove(reference)
        if not any(known is one for known in self):
            self._references.append(weakref.ref(one))

    def __iter__(self) -> Iterator[T]:
        for reference in list(self._references):
            one = reference()
            if one is not None:
                yield one
