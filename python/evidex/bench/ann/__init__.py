# SPDX-License-Identifier: Apache-2.0
"""Sweeps over parameters: recall against time, and the systems that have parameters to try.

A peer of one's own is asked for as ``--peers module:Mine`` and looks like those of :mod:`evidex.bench.peers`, with the
grid beside it::

    class Mine:
        name = "mine"
        @classmethod
        def builds(cls, rows: int, dim: int, grid: str): ...   # list of dicts: parameters of building
        @classmethod
        def searches(cls, build: dict, grid: str): ...         # list of dicts: parameters of searching, for one build
        def __init__(self, threads: int, **build) -> None: ...
        def build(self, vectors, metric) -> None: ...
        def prepare(self, allow): ...
        def tune(self, search: dict) -> None: ...              # after prepare, before every turn of searches; not timed
        def search(self, queries, k, allow): ...
        def version(self) -> str: ...

``grid`` is ``small`` or ``full``; parameters are plain values that JSON has. Every build runs in a process of its own.
One without a grid is one point. :class:`SweepPeer` keeps both kinds of parameters and refuses masks.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from typing import Any

from ...errors import InvalidInput
from .. import peers
from . import faiss_indexes, graphs, own, quantised, scann_indexes
from .peer import SweepPeer

__all__ = ["BUILT_IN", "FAMILIES", "GRIDS", "SweepPeer", "expand", "grid", "installed", "load"]

GRIDS = ("small", "full")

_KINDS = (*own.KINDS, *faiss_indexes.KINDS, *graphs.KINDS, *scann_indexes.KINDS, *quantised.KINDS)
BUILT_IN: dict[str, Any] = {**{kind.name: kind for kind in _KINDS}, "numpy": peers.BUILT_IN["numpy"]}
FAMILIES = {family: [name for name in BUILT_IN if name.startswith(f"{family}-")] for family in ("faiss", "scann")}


def expand(given: Sequence[str]) -> list[str]:
    """Names of systems; that of a library stands for all it has.

    Raises:
        InvalidInput: For a name that is neither, nor ``module:Class``, or that comes twice.
    """
    names = [one for name in given for one in FAMILIES.get(name, [name])]
    for name in names:
        peers.require_known(name, [*BUILT_IN, *FAMILIES])
    if len(set(names)) < len(names):
        raise InvalidInput(f"peers: expected distinct names, got {','.join(given)!r}")
    return names


def installed() -> list[str]:
    """Names of the built-in systems whose library is there, whether or not it loads."""
    return [name for name, kind in BUILT_IN.items() if importlib.util.find_spec(getattr(kind, "module", "numpy"))]


def grid(given: str, rows: int, dim: int, size: str) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The points of a system: parameters of building, each with those of searching.

    Raises:
        ValueError: If a system of one's own gives anything but dicts of plain values.
    """
    kind = _kind(given)
    if not hasattr(kind, "builds"):
        return [({}, [{}])]
    points = [(build, kind.searches(build, size)) for build in kind.builds(rows, dim, size)]
    for build, searches in points:
        if not searches or not all(_plain(parameters) for parameters in (build, *searches)):
            raise ValueError(f"expected dicts of plain values, got {build!r} and {searches!r}")
    if not points:
        raise ValueError("expected at least one dict of parameters of building, got none")
    return points


def load(given: str, threads: int, build: dict[str, Any]) -> Any:
    """The peer, limited to so many threads, with these parameters of building."""
    return _kind(given)(threads, **build)


def _kind(given: str) -> Any:
    return BUILT_IN[given] if given in BUILT_IN else peers.imported(given)


def _plain(parameters: Any) -> bool:
    """Whether a record shows them as they are."""
    try:
        return isinstance(parameters, dict) and json.loads(json.dumps(parameters, allow_nan=False)) == parameters
    except (TypeError, ValueError):
        return False
