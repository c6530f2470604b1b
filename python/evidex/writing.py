# SPDX-License-Identifier: Apache-2.0
"""Writing rows whatever is stored with them: ids, rules, groups, metadata; and the settings that all indexes have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from . import _arrays, _core
from .access import Policy, Rule
from .audit import RetrievalLog
from .errors import InvalidInput
from .index_columns import IndexColumns
from .masks import Guard
from .stored import StoredRows

__all__ = ["WrittenRows"]

_T = TypeVar("_T")


class WrittenRows(StoredRows):
    """What makes rows writable. Made by :class:`evidex.DenseIndex` and others."""

    _writable: _core.RowStore
    _noun: str  # what is given for each row

    def _begin(self, policy: object, log: object) -> None:
        """Before there are rows."""
        if policy is not None and not isinstance(policy, Policy):
            raise InvalidInput(f"policy: expected a Policy, or None for an open index, got {policy!r}")
        if log is not None and not isinstance(log, RetrievalLog):
            raise InvalidInput(f"log: expected a RetrievalLog, or None to keep no log, got {log!r}")
        self._guard, self._log = Guard(policy), log

    def _keep_in(self, store: _core.RowStore, columns: IndexColumns | None) -> None:
        """Says where rows are written, and their metadata."""
        self._writable, self._columns = store, columns

    @property
    def policy(self) -> Policy | None:
        """The policy of a guarded index, None for an open one."""
        return self._guard.policy

    @property
    def columns(self) -> Mapping[str, type]:
        """Names and types of the columns; empty where there are none."""
        return MappingProxyType({}) if self._columns is None else self._columns.types

    def __len__(self) -> int:
        """Rows stored and not removed. The operator's figure: a principal may learn :meth:`count`."""
        return self._store.snapshot().live_rows

    def set_rule(self, groups: npt.ArrayLike, rule: Rule) -> None:
        """Gives groups another rule, all or none: it counts for the next read of every snapshot, and no row is touched.

        Args:
            groups: int64 [n], as given to :meth:`add`; a row added without one is a group numbered like its id.
            rule: Of this index's policy.

        Raises:
            NotFound: If a group has no rows.
            InvalidInput: On an open index, or for another policy's rule.
        """
        if self.policy is None:
            raise InvalidInput(
                f"rule: this index is open and keeps no rules; make it with {type(self).__name__}(policy=...)"
            )
        number = int(self.policy.numbers(rule, 1)[0])
        self._writable.set_rule(_arrays.ids(groups, "groups"), number)

    def remove(self, ids: npt.ArrayLike) -> None:
        """Removes rows, all or none. Removed ids are never chosen automatically again.

        Raises:
            NotFound: If any id is not stored.
            InvalidInput: For a negative id or one given twice.
        """
        self._writable.remove(_arrays.ids(ids))

    def _laid_out_anew(self) -> None:
        """Rows under one rule side by side, without what was removed; their metadata with them."""
        ranks = np.empty(0, dtype=np.uint32) if self.policy is None else self.policy.ranks()
        if self._columns is None:
            self._writable.optimize(ranks)
        else:
            self._columns.optimize(lambda: self._writable.optimize(ranks))

    def _written(
        self,
        ids: object,
        rows: _arrays.Floats,
        rules: Rule | Iterable[Rule] | None,
        groups: object,
        metadata: object,
        *,
        replace: bool = False,
    ) -> _arrays.Ids:
        """Stores vectors, float32 [n, dim], with all that belongs to their rows; ``replace`` is for stored ids."""
        n, store = len(rows), self._writable
        given = None if ids is None and not replace else _arrays.ids(ids)
        if given is not None and len(given) != n:
            raise InvalidInput(f"ids: {len(given)} given for {n} {self._noun}; pass one id per row")
        numbers, of = self._rule_numbers(rules, n), self._groups(groups, n)
        if given is None:
            first = self._beside(metadata, n, lambda: store.add_automatic(rows, numbers, of))
            return np.arange(first, first + n, dtype=np.int64)
        write = store.upsert if replace else store.add
        self._beside(metadata, n, lambda: write(given, rows, numbers, of))
        return given

    def _rule_numbers(self, rules: Rule | Iterable[Rule] | None, rows: int) -> npt.NDArray[np.uint32]:
        if self.policy is not None:
            return self.policy.numbers(rules, rows)
        if rules is not None:
            raise InvalidInput(
                f"rules: this index is open and keeps no rules; make it with {type(self).__name__}(policy=...)"
            )
        return np.full(rows, _core.NO_RULE, dtype=np.uint32)

    def _groups(self, groups: object, rows: int) -> _arrays.Ids | None:
        if groups is None:
            return None
        given = _arrays.ids(groups, "groups")
        if len(given) != rows:
            raise InvalidInput(f"groups: {len(given)} given for {rows} {self._noun}; pass one group per row")
        return given

    def _beside(self, metadata: object, rows: int, write: Callable[[], _T]) -> _T:
        """Runs a write that appends rows, with their metadata."""
        if self._columns is not None:
            return self._columns.write(metadata, rows, write)
        if metadata is not None:
            raise InvalidInput(f"metadata: this index has no columns; make it with {type(self).__name__}(columns=...)")
        return write()
