# SPDX-License-Identifier: Apache-2.0
"""From callers to rows: grants, allow masks, and the guard that every read of an index passes."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeGuard

import numpy as np
import numpy.typing as npt

from . import _arrays
from ._core import Bitmask, Snapshot
from .access import UNRESTRICTED, Caller, Policy, Principal
from .errors import AccessError, InvalidInput, StaleMask

__all__ = ["AllowMask", "Guard"]

logger = logging.getLogger("evidex.access")


class Maskable(Protocol):
    """What :class:`AllowMask` needs from an index."""

    def _mask_of_ids(self, ids: object) -> AllowMask: ...
    def _mask_of_bools(self, allow: object, principal: Caller) -> AllowMask: ...


@dataclass(frozen=True, slots=True, eq=False)
class AllowMask:
    """One bit per row of a layout, made once and used for any number of searches.

    Rows added after it was made count as denied; so does the new row of an id that was upserted. It only
    narrows: on a guarded index it is combined with the principal's grant, never a replacement for it.
    Its bits are the application's, not the principal's: do not show them to callers.
    """

    layout: int
    bits: Bitmask

    @classmethod
    def from_ids(cls, index: Maskable, ids: _arrays.Ids | Iterable[int]) -> AllowMask:
        """Allows exactly these ids, in any order, repeats included; no ids allow nothing.

        Raises:
            InvalidInput: For a negative id, and on an open index for an unknown one. On a guarded index
                unknown ids are simply not allowed, exactly like hidden ones.
        """
        return index._mask_of_ids(ids)

    @classmethod
    def from_bools(cls, index: Maskable, allow: npt.NDArray[np.bool_], principal: Caller = None) -> AllowMask:
        """Allows row i of ``index.ids(principal=principal)`` where ``allow[i]``; lengths must be equal."""
        return index._mask_of_bools(allow, principal)

    def require_layout(self, layout: int) -> Bitmask:
        """The bits, if they number the rows of ``layout``; otherwise raises StaleMask."""
        if self.layout != layout:
            raise StaleMask(
                f"allow: this mask numbers the rows of layout {self.layout}, the index searched has layout {layout}; "
                "build the mask again from this index"
            )
        return self.bits

    def __repr__(self) -> str:
        return f"AllowMask(layout={self.layout}, rows={self.bits.rows})"


class Guard:
    """Turns a caller, and what it narrows its search to, into the rows it may read.

    The newest few masks are kept. A kept mask is used only for the very snapshot and number of rules it was
    compiled for, so it can never outlive a change of either.
    """

    _KEPT = 32

    def __init__(self, policy: Policy | None) -> None:
        self.policy = policy
        self._lock = threading.Lock()
        self._masks: OrderedDict[object, Bitmask] = OrderedDict()

    def visible(self, snapshot: Snapshot, principal: object) -> Bitmask:
        """The one place where a caller becomes rows."""
        policy = self.policy
        if policy is None:
            if principal is not None:
                raise InvalidInput(
                    f"principal: this index is open, so {principal!r} would restrict nothing; leave it out, or make "
                    "the index with DenseIndex(..., policy=...)"
                )
            return self._everything(snapshot)
        if principal is UNRESTRICTED:
            logger.info("UNRESTRICTED read of layout %d, generation %d", snapshot.layout, snapshot.generation)
            return self._everything(snapshot)
        if type(principal) is not Principal:
            raise AccessError(
                "principal: a guarded index is read as somebody: pass the authenticated Principal, or UNRESTRICTED "
                f"if reading everything is meant; got {principal!r}"
            )
        caller = principal
        key = (caller.tenant, caller.groups, snapshot.generation, len(policy))
        return self._kept(key, lambda: snapshot.grant(policy.decide(caller)))

    def narrowed(self, snapshot: Snapshot, principal: object, allow: object) -> Bitmask:
        """What the caller may read, narrowed by ``allow``: an AllowMask, or bools aligned with its own ids."""
        visible = self.visible(snapshot, principal)
        if allow is None:
            return visible
        if isinstance(allow, AllowMask):
            return _both(visible, allow.require_layout(snapshot.layout))
        return self.select(snapshot, visible, allow)

    def narrowed_each(
        self, snapshot: Snapshot, principal: object, allow: object, nq: int
    ) -> tuple[list[Bitmask], npt.NDArray[np.uint32]]:
        """Distinct masks, and which of them each query has; no numbers where all have the first.

        ``allow`` may be one for each query: a list or tuple of AllowMasks, or bools [nq, n]. Queries that name the same
        mask, or the same bools, share one.
        """
        if nq == 0 and isinstance(allow, (list, tuple)) and not allow:
            allow = None  # one mask for each of no queries
        if not _is_per_query(allow):
            return [self.narrowed(snapshot, principal, allow)], np.empty(0, dtype=np.uint32)
        if len(allow) != nq:
            raise InvalidInput(f"allow: {len(allow)} masks given for {nq} queries; pass one for all, or one for each")
        if nq == 0:
            return [self.narrowed(snapshot, principal, None)], np.empty(0, dtype=np.uint32)
        masks: list[Bitmask] = []
        number_of: dict[object, int] = {}
        numbers = np.empty(nq, dtype=np.uint32)
        for query, one in enumerate(allow):
            key = id(one) if isinstance(one, AllowMask) else _arrays.bool_bytes(one, "allow")
            if key not in number_of:
                number_of[key] = len(masks)
                masks.append(self.narrowed(snapshot, principal, one))
            numbers[query] = number_of[key]
        return masks, numbers

    @staticmethod
    def select(snapshot: Snapshot, visible: Bitmask, allow: object) -> Bitmask:
        """The visible rows at whose place ``allow`` is true."""
        readable = visible if snapshot.rows == snapshot.live_rows else _both(visible, snapshot.live())
        packed = _arrays.packed_bools(allow, readable.count, "allow", "the ids that ids() gives this caller")
        if readable.count == readable.rows:
            return Bitmask.from_packed(readable.rows, packed)
        return readable.select(packed)

    def _everything(self, snapshot: Snapshot) -> Bitmask:
        """All rows of the snapshot: for open indexes and UNRESTRICTED only."""
        return self._kept(("everything", snapshot.rows), lambda: Bitmask.ones(snapshot.rows))

    def _kept(self, key: object, compile_mask: Callable[[], Bitmask]) -> Bitmask:
        with self._lock:
            if key in self._masks:
                self._masks.move_to_end(key)
                return self._masks[key]
        mask = compile_mask()
        with self._lock:
            self._masks[key] = mask
            while len(self._masks) > self._KEPT:
                self._masks.popitem(last=False)
        return mask


def _is_per_query(allow: object) -> TypeGuard[Sequence[object]]:
    if isinstance(allow, (list, tuple)):
        return any(isinstance(one, (AllowMask, np.ndarray, list, tuple)) for one in allow)
    return isinstance(allow, np.ndarray) and allow.ndim == 2


def _both(visible: Bitmask, other: Bitmask) -> Bitmask:
    """Rows in both. Where everything is visible the other mask is the answer, which saves making a new one per call."""
    if visible.count == visible.rows >= other.rows:
        return other
    return visible & other
