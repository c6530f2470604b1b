# SPDX-License-Identifier: Apache-2.0
"""From callers to rows: grants, allow masks, and the guard that every read of an index passes."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt

from . import _arrays, _checks, predicates
from ._core import Bitmask, Snapshot
from .access import UNRESTRICTED, Caller, Policy, Principal
from .columns import Columns
from .errors import AccessError, InvalidInput, StaleMask
from .index_columns import matching

__all__ = ["AllowMask", "Guard"]

_T = TypeVar("_T")

_ALL_HAVE_THE_FIRST = np.empty(0, dtype=np.uint32)
_ALL_HAVE_THE_FIRST.flags.writeable = False

logger = logging.getLogger("evidex.access")


class Maskable(Protocol):
    """What :class:`AllowMask` needs from an index."""

    def _mask_of_ids(self, ids: object) -> AllowMask: ...
    def _mask_of_bools(self, allow: object, principal: Caller) -> AllowMask: ...
    def _mask_of_callable(self, function: Callable[[int], bool], principal: Caller) -> AllowMask: ...


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

    @classmethod
    def from_callable(cls, index: Maskable, function: Callable[[int], bool], principal: Caller = None) -> AllowMask:
        """Allows each id that ``function(id)`` is True for. It is called now, once for each id the principal may read.

        Raises:
            InvalidInput: If it returns anything but True or False. What it raises itself is passed on.
            AccessError: On a guarded index without a proper principal.
        """
        return index._mask_of_callable(function, principal)

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

    The newest masks are kept, within a bound on their memory. A kept mask is used only for the very snapshot and
    rights it was compiled for, so it can never outlive a change of either.
    """

    _MOST_BYTES = 64 * 2**20
    _RERUNS = 3

    def __init__(self, policy: Policy | None) -> None:
        self.policy = policy
        self._lock = threading.Lock()
        self._masks: OrderedDict[object, Bitmask] = OrderedDict()
        self._kept_bytes = 0

    def visible(self, snapshot: Snapshot, principal: object) -> Bitmask:
        """The one place where a caller becomes rows."""
        policy = self.policy
        if policy is None:
            if principal is not None:
                raise InvalidInput(
                    f"principal: this index is open, so {principal!r} would restrict nothing; leave it out, or make "
                    "the index with policy=..."
                )
            return self.everything(snapshot)
        if principal is UNRESTRICTED:
            logger.info("UNRESTRICTED read of layout %d, generation %d", snapshot.layout, snapshot.generation)
            return self.everything(snapshot)
        if type(principal) is not Principal:
            raise AccessError(
                "principal: a guarded index is read as somebody: pass the authenticated Principal, or UNRESTRICTED "
                f"if reading everything is meant; got {principal!r}"
            )
        key = (principal.tenant, principal.groups, snapshot.layout, snapshot.generation, self._rights(snapshot))
        return self._kept(key) or self._keep(key, snapshot.grant(policy.decide(principal)))

    def settled(
        self,
        snapshot: Snapshot,
        principal: object,
        run: Callable[[], _T],
        rows_of: Callable[[_T], _arrays.Ids] | None = None,
    ) -> _T:
        """What ``run()`` reads of a snapshot, unless a right to it was revoked meanwhile; then it runs again.

        Args:
            snapshot: What is read.
            principal: Who reads.
            run: Reads, by the newest rights.
            rows_of: The rows that came out, -1 for none; without it any change of rights makes ``run`` run again.

        Raises:
            AccessError: If rights were revoked during every one of a few runs.
        """
        for _ in range(self._RERUNS + 1):
            rights = self._rights(snapshot)
            result = run()
            if self._rights(snapshot) == rights or principal is UNRESTRICTED:
                return result
            if rows_of is not None:
                rows = rows_of(result)
                if self.visible(snapshot, principal).test(rows[rows >= 0]).all():
                    return result
        raise AccessError(
            f"rights were revoked during each of {self._RERUNS + 1} runs of this call, so nothing is returned; "
            "try again"
        )

    def _rights(self, snapshot: Snapshot) -> tuple[int, int]:
        """Changes whenever a rule or an owner's rule does."""
        return (0 if self.policy is None else self.policy.generation), snapshot.rights_generation

    def narrowed(
        self,
        snapshot: Snapshot,
        rows: Bitmask,
        allow: object,
        where: object = None,
        columns: Columns | None = None,
    ) -> Bitmask:
        """Of some rows those that ``allow`` has, and of them those that match ``where``.

        Args:
            snapshot: What is read.
            rows: What :meth:`visible` gave for who reads it, in this run.
            allow: An AllowMask, or bools aligned with the caller's own ids; None does not narrow.
            where: A predicate about the columns; None does not narrow.
            columns: What the index keeps for the snapshot's layout, if it has columns.
        """
        if isinstance(allow, AllowMask):
            rows = _both(rows, allow.require_layout(snapshot.layout))
        elif callable(allow):
            advice = "AllowMask.from_callable makes a mask of a function, once"
            _checks.refuse("allow", allow, "an AllowMask or a bool array", advice)
        elif allow is not None:
            rows = self.select(snapshot, rows, allow)
        return rows if where is None else _both(rows, self._matching(snapshot, where, columns))

    def narrowed_each(
        self,
        snapshot: Snapshot,
        visible: Bitmask,
        allow: object,
        nq: int,
        where: object = None,
        columns: Columns | None = None,
    ) -> tuple[list[Bitmask], npt.NDArray[np.uint32]]:
        """Distinct masks, as :meth:`narrowed`, and which of them each query has; no numbers where all have the first.

        ``allow`` may be one for each query: a list or tuple of AllowMasks, or bools [nq, n]; so may ``where``: a list
        or tuple of predicates, or None. Queries that name the same, or the same bools, share one.
        """
        if allow is None and where is None:  # as it mostly is
            return [visible], _ALL_HAVE_THE_FIRST
        if nq == 0 and isinstance(allow, (list, tuple)) and not allow:
            allow = None  # one mask for each of no queries
        allows = _one_each(allow, nq, "allow", "masks") if _is_per_query(allow) else None
        wheres = _one_each(where, nq, "where", "predicates") if isinstance(where, (list, tuple)) else None
        if allows is None and wheres is None:
            return [self.narrowed(snapshot, visible, allow, where, columns)], _ALL_HAVE_THE_FIRST
        if nq == 0:
            return [visible], _ALL_HAVE_THE_FIRST
        masks: list[Bitmask] = []
        number_of: dict[object, int] = {}
        numbers = np.empty(nq, dtype=np.uint32)
        for query in range(nq):
            one = allow if allows is None else allows[query]
            asked = where if wheres is None else wheres[query]
            same = allows is None or isinstance(one, AllowMask)
            key = (
                id(one) if same else _arrays.bool_bytes(one, "allow"),
                None if asked is None else predicates.required(asked, "where"),
            )
            if key not in number_of:
                number_of[key] = len(masks)
                masks.append(self.narrowed(snapshot, visible, one, asked, columns))
            numbers[query] = number_of[key]
        return masks, numbers

    def _matching(self, snapshot: Snapshot, where: object, columns: Columns | None) -> Bitmask:
        """The rows that match, hidden ones included: it is for the caller of this to take those out."""
        predicate = predicates.required(where, "where")
        if columns is None:
            raise InvalidInput("where: this index has no columns; make it with columns=Columns({...})")
        key = (predicate, snapshot.layout, snapshot.rows)
        return self._kept(key) or self._keep(key, matching(snapshot, columns, predicate))

    @staticmethod
    def select(snapshot: Snapshot, visible: Bitmask, allow: object) -> Bitmask:
        """The visible rows at whose place ``allow`` is true."""
        readable = visible if snapshot.rows == snapshot.live_rows else _both(visible, snapshot.live())
        packed = _arrays.packed_bools(allow, readable.count, "allow", "the ids that ids() gives this caller")
        if readable.count == readable.rows:
            return Bitmask.from_packed(readable.rows, packed)
        return readable.select(packed)

    def of_tenant(self, snapshot: Snapshot, tenant: str) -> Bitmask:
        """All rows of a tenant, hidden ones included: for statistics over them, never for what is read."""
        policy = self.policy
        key = ("of tenant", tenant, snapshot.layout, snapshot.generation, self._rights(snapshot))
        if (mask := self._kept(key)) is None:
            allowed = np.empty(0, dtype=np.uint8) if policy is None else policy.of_tenant(tenant)
            mask = self._keep(key, snapshot.grant(allowed))
        return mask

    def everything(self, snapshot: Snapshot) -> Bitmask:
        """All rows of the snapshot: for open indexes and UNRESTRICTED only, and for statistics over all rows."""
        key = ("everything", snapshot.rows)
        return self._kept(key) or self._keep(key, Bitmask.ones(snapshot.rows))

    def _kept(self, key: object) -> Bitmask | None:
        with self._lock:
            if (mask := self._masks.get(key)) is not None:
                self._masks.move_to_end(key)
            return mask

    def _keep(self, key: object, mask: Bitmask) -> Bitmask:
        with self._lock:
            if key not in self._masks:
                self._masks[key] = mask
                self._kept_bytes += _bytes(key, mask)
            while len(self._masks) > 1 and self._kept_bytes > self._MOST_BYTES:
                self._kept_bytes -= _bytes(*self._masks.popitem(last=False))
        return mask


def _bytes(key: object, mask: Bitmask) -> int:
    """Roughly what a kept mask costs, its key and the summaries included."""
    asked = key[0] if isinstance(key, tuple) else None
    return 512 + mask.rows // 8 + (asked.weight if isinstance(asked, predicates.Predicate) else 0)


def _one_each(given: Sequence[object], nq: int, name: str, what: str) -> Sequence[object]:
    if len(given) != nq:
        raise InvalidInput(f"{name}: {len(given)} {what} given for {nq} queries; pass one for all, or one for each")
    return given


def _is_per_query(allow: object) -> TypeGuard[Sequence[object]]:
    if isinstance(allow, (list, tuple)):
        return any(isinstance(one, (AllowMask, np.ndarray, list, tuple)) for one in allow)
    return isinstance(allow, np.ndarray) and allow.ndim == 2


def _both(visible: Bitmask, other: Bitmask) -> Bitmask:
    """Rows in both. Where everything is visible the other mask is the answer, which saves making a new one per call."""
    if visible.count == visible.rows >= other.rows:
        return other
    return visible & other
