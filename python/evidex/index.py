# SPDX-License-Identifier: Apache-2.0
"""DenseIndex: exact top-k over vectors, for one caller at a time. A thin face of the core."""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy.typing as npt

from . import _arrays, _checks, _core
from .access import Policy, Rule
from .audit import RetrievalLog
from .columns import Columns, Metadata
from .index_columns import IndexColumns
from .store.saved import Saved, load, save
from .store.settings import Settings
from .training import CodedIndex
from .writing import WrittenRows

__all__ = ["DenseIndex"]


class DenseIndex(CodedIndex, WrittenRows):
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
        columns: Names and types of values that are stored with the rows, for ``where=`` to ask about. The index keeps
            the values; the Columns given stay without rows.
        log: Gets a record of every read before it returns; a read that cannot be recorded raises NotLogged instead.

    Raises:
        InvalidInput: If an argument is none of these.
    """

    _noun = "vectors"

    def __init__(
        self,
        dim: int,
        *,
        metric: str = "cosine",
        policy: Policy | None = None,
        codec: str = "float32",
        prescan: bool = True,
        columns: Columns | None = None,
        log: RetrievalLog | None = None,
    ) -> None:
        self._begin(policy, log)
        size = _checks.whole(dim, "dim", least=1, most=2**20)
        self._settings = Settings.of(size, metric, codec, policy is not None, columns, None)
        self._dim, self._metric, self._codec = size, self._settings.metric, self._settings.codec
        self._unit_rows = self._settings.unit_rows
        self._coded = _checks.flag(prescan, "prescan")
        store = self._settings.new_store(self._coded, None)
        self._keep_in(store, None if columns is None else IndexColumns(columns, store))

    def _keep_in(self, store: _core.RowStore, columns: IndexColumns | None) -> None:
        super()._keep_in(store, columns)
        self._store: _core.RowStore = store

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

    def __repr__(self) -> str:
        guard = "open" if self.policy is None else "guarded"
        return f"DenseIndex({len(self)} rows, dim={self._dim}, metric={self._metric!r}, codec={self._codec!r}, {guard})"

    def add(
        self,
        ids: npt.ArrayLike | None,
        vectors: npt.ArrayLike,
        rules: Rule | Iterable[Rule] | None = None,
        groups: npt.ArrayLike | None = None,
        *,
        metadata: Metadata | None = None,
    ) -> _arrays.Ids:
        """Stores new rows, all or none.

        Args:
            ids: int64 [n], distinct and not stored yet; None chooses the next ids above all ever stored.
            vectors: float16, float32 or float64 [n, dim]; under cosine divided by the norm, then stored as ``codec``
                says.
            rules: On a guarded index one Rule for all rows or one per row; on an open one None. A rule belongs to a
                row's group: the rows of a group share it, and a group that is stored must keep the one it has.
            groups: int64 [n], 0 or greater: what ``search(group_by=True)`` takes the best row of, for example the
                number of the document that a row is a chunk of. None: each row is its own group, numbered like its
                id.
            metadata: For each column a list or numpy array with one value per row, None where it is missing; a column
                left out is missing in all of them.

        Returns:
            The ids, int64 [n].

        Raises:
            InvalidInput: For an id given twice or stored already, wrong shapes or dtypes, NaN, infinity, a
                zero vector under cosine, a squared norm above 2**125 under the others, a component that overflows
                float16 where that is the codec, another policy's rule, a group with two rules,
                metadata of a column that the index does not have or of another type.
            AccessError: On a guarded index, for rows without a rule.
        """
        given = self._written(ids, self._rows(vectors), rules, groups, metadata)
        self._extend_codes()
        return given

    def upsert(
        self,
        ids: npt.ArrayLike,
        vectors: npt.ArrayLike,
        rules: Rule | Iterable[Rule] | None = None,
        groups: npt.ArrayLike | None = None,
        *,
        metadata: Metadata | None = None,
    ) -> _arrays.Ids:
        """Stores rows, replacing those whose ids are stored already, rule, group and metadata included; all or none.

        Arguments, result and errors are those of :meth:`add`, except that stored ids are welcome, and that a group that
        is stored gets the rule given, all its rows with it.
        """
        given = self._written(ids, self._rows(vectors), rules, groups, metadata, replace=True)
        self._extend_codes()
        return given

    def optimize(self) -> None:
        """Lays rows under one rule side by side and drops what was removed, so that a caller's rows become runs.

        Ids, scores and every answer stay what they are, bit for bit; only the order of :meth:`ids` changes. It is a new
        layout: an AllowMask made before is stale afterwards. Searches go on meanwhile; needs memory for a second copy.
        """
        self._laid_out_anew()
        self._make_codes_again()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the index to a folder, durably: what was saved there before is replaced in one step, or stays.

        Rules, groups, metadata, automatic ids and the codes of :meth:`train` are kept; the retrieval log is not part of
        it.

        Raises:
            InvalidInput: If the path is no folder, cannot be written, or holds a collection.
            LockHeld: If it is being written already.
            NotStored: If it cannot be made durable.
        """
        snapshot, columns = self._pinned()
        save(path, Saved(self._settings, self._store, self._coded, self.policy, snapshot, columns, self._codes))

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, policy: Policy | None = None, log: RetrievalLog | None = None
    ) -> DenseIndex:
        """The index that was saved in a folder. Its rows are mapped: read when first needed, shared between processes.

        It may be changed, which does not change the folder; nor does the folder change it afterwards. Codes are mapped
        too, and one ``plan=`` gives the same hits as before. Where the instruction set or the processor is not the one
        that their costs were measured with, the first search with a recall below 1 measures them, once.

        Args:
            path: The folder.
            policy: For a guarded index a Policy, which gets its rules; None for an open one.
            log: As in :class:`DenseIndex`.

        Raises:
            MissingStore: If nothing was saved there.
            AccessError: If it has rules and no policy was given.
            InvalidInput: If it has none and a policy was given, or a collection lies there.
            CorruptFile, VersionMismatch: If its files are damaged, or newer than this version.
        """
        saved = load(path, policy)
        kept = saved.settings
        index = cls(kept.dim, metric=kept.metric, policy=policy, codec=kept.codec, prescan=saved.prescan, log=log)
        index._settings, index._codes = kept, saved.codes
        index._keep_in(saved.store, None if saved.columns is None else IndexColumns.around(saved.columns, saved.store))
        return index

    def _rows(self, vectors: object) -> _arrays.Floats:
        return _arrays.vectors(vectors, self._dim, "vectors", scaled=self._unit_rows)
