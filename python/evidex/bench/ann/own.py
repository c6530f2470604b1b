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


KINDS = (_Evidex, _EvidexInt8)
