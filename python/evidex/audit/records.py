# SPDX-License-Identifier: Apache-2.0
"""What the log says of a read: who, and the ids and scores, in parts that fit into a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..access import UNRESTRICTED, Principal
from ..errors import InvalidInput
from .lines import MOST_LINE

__all__ = ["Lists", "parts", "who"]

Lists: TypeAlias = "Sequence[npt.NDArray[Any]] | None"

# Most bytes that a hit (an id of 19 digits, a float of 24 characters, two commas) and a pair of lists take.
_HIT = 48
_LIST = 6
_ROOM = MOST_LINE // 2  # the other half is for the rest of the line


def who(principal: object) -> dict[str, Any] | str | None:
    """A caller as JSON.

    Raises:
        InvalidInput: If it is no Principal, UNRESTRICTED or None.
    """
    if principal is None:
        return None
    if principal is UNRESTRICTED:
        return "UNRESTRICTED"
    if type(principal) is not Principal:
        raise InvalidInput(f"principal: expected a Principal, UNRESTRICTED or None, got {principal!r}; pass who read")
    return {"id": principal.id, "tenant": principal.tenant, "groups": sorted(principal.groups)}


def parts(ids: Lists, scores: Lists) -> list[dict[str, Any]]:
    """The fields ``query``, ``ids`` and ``scores`` of each line of a read.

    Raises:
        InvalidInput: For anything but one-dimensional int64 ids and as many float32 scores, per query.
    """
    if ids is None:
        if scores is not None:
            raise InvalidInput("scores: given without ids; pass the ids they belong to")
        return [{"query": 0, "ids": None, "scores": None}]
    _require_hits(ids, scores)
    done: list[dict[str, Any]] = []
    room = 0
    for query, found in enumerate(ids):
        start = 0
        while start == 0 or start < len(found):
            if room < _LIST + _HIT:
                done.append({"query": query, "ids": [], "scores": None if scores is None else []})
                room = _ROOM
            end = min(len(found), start + (room - _LIST) // _HIT)
            done[-1]["ids"].append(found[start:end].tolist())
            if scores is not None:
                done[-1]["scores"].append(scores[query][start:end].tolist())
            room -= _LIST + _HIT * (end - start)
            start = max(end, 1)
    return done or [{"query": 0, "ids": [], "scores": None if scores is None else []}]


def _require_hits(ids: Sequence[npt.NDArray[Any]], scores: Lists) -> None:
    """Nothing but ids and scores gets into the log: no vector has this form, and no text."""
    if scores is not None and len(scores) != len(ids):
        raise InvalidInput(f"scores: {len(scores)} lists given for {len(ids)} lists of ids; pass one per query")
    for name, lists, dtype in (("ids", ids, np.int64), ("scores", scores or (), np.float32)):
        for query, one in enumerate(lists):
            if not isinstance(one, np.ndarray) or one.ndim != 1 or one.dtype != dtype:
                given = f"{one.dtype} {one.shape}" if isinstance(one, np.ndarray) else type(one).__name__
                raise InvalidInput(
                    f"{name}: query {query} has {given}, expected {np.dtype(dtype)} [hits]; pass the arrays of a search"
                )
    for query, one in enumerate(scores or ()):
        if len(one) != len(ids[query]):
            raise InvalidInput(
                f"scores: query {query} has {len(one)} for {len(ids[query])} ids; pass one score per hit"
            )
