# SPDX-License-Identifier: Apache-2.0
"""What every built-in system of a sweep has."""

from __future__ import annotations

import importlib.metadata
from typing import Any

import numpy as np

from ..peers import Floats, Peer

__all__ = ["SweepPeer", "only_directions"]


def only_directions(vectors: Floats, metric: str) -> bool:
    """Whether the best rows follow from their directions alone: under cosine, and where all are of length 1."""
    return metric == "cosine" or bool((abs(np.linalg.norm(vectors, axis=1) - 1) < 1e-3).all())


class SweepPeer(Peer):
    """A peer with a grid; by default one point, no masks.

    Attributes:
        module: What has to be importable for it.
        package: What brings that module.
        parameters: Of building.
        tuned: Of searching.
    """

    module = "numpy"
    package = "numpy"

    def __init__(self, threads: int, **build: Any) -> None:
        super().__init__(threads)
        self.parameters = build
        self.tuned: dict[str, Any] = {}

    @classmethod
    def builds(cls, rows: int, dim: int, grid: str) -> list[dict[str, Any]]:
        """Parameters of building, for so many rows."""
        return [{}]

    @classmethod
    def searches(cls, build: dict[str, Any], grid: str) -> list[dict[str, Any]]:
        """Parameters of searching what ``build`` made."""
        return [{}]

    def tune(self, search: dict[str, Any]) -> None:
        """Sets them; after prepare, before the searches they are for."""
        self.tuned = search

    def version(self) -> str:
        """Of the package."""
        return importlib.metadata.version(self.package)
