# SPDX-License-Identifier: Apache-2.0
"""A pinned state of a collection."""

from __future__ import annotations

import os

from .family import View
from .files import Lease
from .reader import CollectionReader

__all__ = ["CollectionSnapshot", "lease_if_possible"]


class CollectionSnapshot(CollectionReader):
    """A state of a collection that later changes do not touch. Rights are those of now all the same.

    Made by :meth:`Collection.snapshot`; what it needs is kept on disk until it is closed or garbage. It ends with the
    collection that made it.
    """

    def __init__(self, lease: Lease | None, view: View) -> None:
        self._view = view
        self._lease = lease
        self._pid = os.getpid()

    @property
    def closed(self) -> bool:
        """Whether nothing can be read any more."""
        return self._view is None

    def close(self) -> None:
        """Lets go of what only this snapshot needs."""
        self._view = None
        self._release()

    def _release(self) -> None:
        lease, self._lease = self._lease, None
        if lease is not None and self._pid == os.getpid():
            lease.release()

    def __enter__(self) -> CollectionSnapshot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        # Short, as Python ignores what is raised here, a Ctrl-C too: the rows go by themselves afterwards.
        if hasattr(self, "_pid"):
            self._release()

    def __repr__(self) -> str:
        state = "closed" if (view := self._view) is None else f"generation={view.generation}"
        return f"CollectionSnapshot({state}, dim={self._dim}, metric={self._metric!r})"


def lease_if_possible(folder: str) -> Lease | None:
    """A lease; None on media that cannot be written, where nobody deletes anything either."""
    try:
        return Lease(folder)
    except OSError:
        return None
