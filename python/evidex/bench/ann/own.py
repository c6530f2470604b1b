# SPDX-License-Identifier: Apache-2.0
"""evidex itself.

Parameters of building are keywords of DenseIndex, those of searching are keywords of its ``search``: a way of searching
with a grid of its own is a subclass that names both, and a place in ``KINDS``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import AllowMask, DenseIndex, __version__
from ..peers import Allow, Floats
from .peer import SweepPeer

__all__ = ["KINDS"]

_RESCORED = {"small": (20, 100), "full": (10, 15, 20, 30, 45, 70, 100, 150, 220, 350, 600)}
_RECALLS = {"small": (0.9, 0.99), "full": (0.8, 0.9, 0.95, 0.99, 0.999)}


class _Evidex(SweepPeer):
    """An open DenseIndex with its defaults: exact."""

    name = "evidex"

    def build(self, vectors: Floats, metric: str) -> None:
        self.index = DenseIndex(vectors.shape[1], metric=metric, **self.parameters)
        self.index.add(np.arange(len(vectors)), vectors)

    def prepare(self, allow: Allow | None) -> Any:
        return None if allow is None else AllowMask.from_bools(self.index, allow)

    def search(self, queries: Floats, k: int, allow: Any) -> Any:
        return self.index.search(queries, k, allow=allow, threads=self.threads, **self.tuned).ids

    def version(self) -> str:
        return __version__


class _EvidexInt8(_Evidex):
    """Codes of one byte per dimension and no rows beside them: exact over what the codes say."""

    name = "evidex-int8"

    @classmethod
    def builds(cls, rows: int, dim: int, grid: str) -> list[dict[str, Any]]:
        return [{"codec": "int8"}]


class _Coded(_Evidex):
    """Rows and 4-bit codes beside them; the best by their codes are scored."""

    codes = "binary"

    @classmethod
    def searches(cls, build: dict[str, Any], grid: str) -> list[dict[str, Any]]:
        return [{"plan": f"{cls.codes} codes, {count} rescored"} for count in _RESCORED[grid]]

    def build(self, vectors: Floats, metric: str) -> None:
        super().build(vectors, metric)
        self.index.train(self.codes)


class _EvidexBinary(_Coded):
    name = "evidex-binary"


class _EvidexPq4(_Coded):
    name = "evidex-pq4"
    codes = "pq4"


class _EvidexInt8Binary(_Coded):
    """The same without float32: what is scored are int8 codes."""

    name = "evidex-int8-binary"

    @classmethod
    def builds(cls, rows: int, dim: int, grid: str) -> list[dict[str, Any]]:
        return [{"codec": "int8"}]


class _EvidexPlanned(_Coded):
    """Exact or by codes, whatever costs less by what was measured at training; a mask may change it."""

    name = "evidex-planned"

    @classmethod
    def searches(cls, build: dict[str, Any], grid: str) -> list[dict[str, Any]]:
        return [{"recall": recall} for recall in _RECALLS[grid]]


KINDS = (_Evidex, _EvidexInt8, _EvidexBinary, _EvidexPq4, _EvidexInt8Binary, _EvidexPlanned)
