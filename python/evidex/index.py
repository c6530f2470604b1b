# SPDX-License-Identifier: Apache-2.0
"""DenseIndex: exact top-k over vectors, for one caller at a time. A thin face of the core."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from . import _arrays, _checks, _core
from .access import Policy, Rule
from .errors import InvalidInput
from .masks import Guard
from .reading import VectorReader

__all__ = ["DenseIndex"]

_METRICS = {name: facts for facts in _core.metrics() for name in facts[:2]}
_CODECS = dict(_core.codecs())


class DenseIndex(VectorReader):
    """Vectors with ids, searched exactly: the same ids, order and score bits on every machine.

    Scores are higher-is-better: inner product, cosine in [-1, 1], or the negative squared L2 distance. Hits
    are ordered by score descending, then id ascending. Sums are 16 lanes of fused multiply-add reduced by a
    fixed tree, so batch size, threads, row order and instruction set never change a bit.

    Rows are kept as float32 and, from 32 dimensions and at most 2,048 rows up, as int8 codes beside them (26 to 29 %
    more memory). An exact search reads the codes first, with a proven error bound, and then only the rows that can
    still be among the hits (docs/exactness.md): the answer is the same to the bit.

    Any number of threads may search while one writes; each call sees the index as it was when it started.

    Args:
        dim: Dimension of every vector, at least 1.
        metric: ``"cosine"`` (``"cos"``), ``"inner_product"`` (``"ip"``) or ``"squared_l2"`` (``"l2"``).
        policy: With a policy the index is guarded: rows need rules and every read needs a principal.
            Without one it is open.
        codec: How rows are stored: ``"float32"``, ``"float16"`` (half the memory) or ``"int8"`` (about a quarter; each
            row has a scale of its own, and nothing else is kept of it). Scores are those of the decoded rows, exact
            and certified for them, whatever was lost when they were stored.
        prescan: False keeps no codes beside the rows and scores every permitted row.

    Raises:
        InvalidInput: If an argument is none of these.
    """

    def __init__(
        self,
        dim: int,
        *,
        metric: str = "cosine",
        policy: Policy | None = None,
        codec: str = "float32",
        prescan: bool = True,
    ) -> None:
        if not isinstance(metric, str) or metric not in _METRICS:
            raise InvalidInput(f"metric: expected one of {', '.join(_METRICS)}, got {metric!r}")
        if policy is not None and not isinstance(policy, Policy):
            raise InvalidInput(f"policy: expected a Policy, or None for an open index, got {policy!r}")
        if not isinstance(codec, str) or codec not in _CODECS:
            raise InvalidInput(f"codec: expected one of {', '.join(_CODECS)}, got {codec!r}")
        self._dim = _checks.whole(dim, "dim", least=1, most=2**20)
        self._metric, _, number, self._unit_rows = _METRICS[metric]
        self._codec = codec
        self._store = _core.RowStore(self._dim, number, _CODECS[codec], _checks.flag(prescan, "prescan"))
        self._guard = Guard(policy)

    @property
    def dim(self) -> int:
        """Dimension of every vector."""
        return self._dim

    @property
    def metric(self) -> str:
        """Full name of the metric."""
        return self._metric

    @property
    def codec(self) -> str:
        """How rows are stored."""
        return self._codec

    @property
    def policy(self) -> Policy | None:
        """The policy of a guarded index, None for an open one."""
        return self._guard.policy

    def __len__(self) -> int:
        """Rows stored and not removed. The operator's figure: a principal may learn :meth:`count`."""
        return self._store.snapshot().live_rows

    def __repr__(self) -> str:
        guard = "open" if self.policy is None else "guarded"
        return f"DenseIndex({len(self)} rows, dim={self._dim}, metric={self._metric!r}, codec={self._codec!r}, {guard})"

    def add(
        self,
        ids: npt.ArrayLike | None,
        vectors: npt.ArrayLike,
        rules: Rule | Iterable[Rule] | None = None,
        groups: npt.ArrayLike | None = None,
    ) -> _arrays.Ids:
        """Stores new rows, all or none.

        Args:
            ids: int64 [n], distinct and not stored yet; None chooses the next ids above all ever stored.
            vectors: float16, float32 or float64 [n, dim]; under cosine divided by the norm, then stored as ``codec``
                says.
            rules: On a guarded index one Rule for all rows or one per row; on an open one None.
            groups: int64 [n], 0 or greater: what ``search(group_by=True)`` takes the best row of, for example the
                number of the document that a row is a chunk of. None: each row is its own group, numbered like its
                id.

        Returns:
            The ids, int64 [n].

        Raises:
            InvalidInput: For an id given twice or stored already, wrong shapes or dtypes, NaN, infinity, a
                zero vector under cosine, a squared norm above 2**125 under the others, a component that overflows
                float16 where that is the codec, another policy's rule.
            AccessError: On a guarded index, for rows without a rule.
        """
        rows = self._rows(vectors)
        if ids is not None:
            return self._write(self._store.add, ids, rows, rules, groups)
        first = self._store.add_automatic(rows, self._rule_numbers(rules, len(rows)), _groups(groups, len(rows)))
        return np.arange(first, first + len(rows), dtype=np.int64)

    def upsert(
        self,
        ids: npt.ArrayLike,
        vectors: npt.ArrayLike,
        rules: Rule | Iterable[Rule] | None = None,
        groups: npt.ArrayLike | None = None,
    ) -> _arrays.Ids:
        """Stores rows, replacing those whose ids are stored already, rule and group included; all or none.

        Arguments, result and errors are those of :meth:`add`, except that stored ids are welcome.
        """
        return self._write(self._store.upsert, ids, self._rows(vectors), rules, groups)

    def remove(self, ids: npt.ArrayLike) -> None:
        """Removes rows, all or none. Removed ids are never chosen automatically again.

        Raises:
            NotFound: If any id is not stored.
            InvalidInput: For a negative id or one given twice.
        """
        self._store.remove(_arrays.ids(ids))

    def _rows(self, vectors: object) -> _arrays.Floats:
        return _arrays.vectors(vectors, self._dim, "vectors", scaled=self._unit_rows)

    def _rule_numbers(self, rules: Rule | Iterable[Rule] | None, rows: int) -> npt.NDArray[np.uint32]:
        if self.policy is not None:
            return self.policy.numbers(rules, rows)
        if rules is not None:
            raise InvalidInput("rules: this index is open and keeps no rules; make it with DenseIndex(..., policy=...)")
        return np.zeros(rows, dtype=np.uint32)

    def _write(
        self,
        write: Callable[[_arrays.Ids, _arrays.Floats, npt.NDArray[np.uint32], _arrays.Ids | None], None],
        ids: object,
        rows: _arrays.Floats,
        rules: Rule | Iterable[Rule] | None,
        groups: object,
    ) -> _arrays.Ids:
        given = _arrays.ids(ids)
        if len(given) != len(rows):
            raise InvalidInput(f"ids: {len(given)} given for {len(rows)} vectors; pass one id per row")
        write(given, rows, self._rule_numbers(rules, len(rows)), _groups(groups, len(rows)))
        return given


def _groups(groups: object, rows: int) -> _arrays.Ids | None:
    if groups is None:
        return None
    given = _arrays.ids(groups, "groups")
    if len(given) != rows:
        raise InvalidInput(f"groups: {len(given)} given for {rows} vectors; pass one group per row")
    return given
