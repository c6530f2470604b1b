# SPDX-License-Identifier: Apache-2.0
"""SparseIndex: exact top-k by words, or by sparse vectors, for one caller at a time. A thin face of the core."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from .. import _arrays, _core
from ..access import Policy, Rule
from ..audit import RetrievalLog
from ..columns import Columns, Metadata
from ..index_columns import IndexColumns
from ..lexical.analyzers import analyzer_of
from ..lexical.documents import Documents, postings_of
from ..lexical.parts import Part
from ..lexical.statistics import Statistics
from ..store.saved import SPARSE, Saved, load, save
from ..store.settings import Settings
from ..text import Analyzer
from ..writing import WrittenRows
from .reading import SparseReader
from .rows import PostedRows

__all__ = ["SparseIndex"]

_PLAIN: Final = Analyzer()


class SparseIndex(SparseReader, WrittenRows):
    """Documents by their words, searched exactly: the same ids, order and score bits on every machine.

    Scores are BM25, TF-IDF cosines or, without an analyser, inner products of sparse vectors; higher is better. Hits
    are rows with a term of the query, ordered by score descending, then id ascending. Words are counted over the rows
    that the caller may read unless more is asked for, so hidden rows change no bit of an answer. Neither do the order
    in which rows came, how they were cut into calls, what was removed, and :meth:`optimize`.

    Rows, rules, groups, columns, masks and the log are as in :class:`DenseIndex`; both may share a policy and ids.

    Any number of threads may search while one writes; each call sees the index as it was when it started.

    Args:
        analyzer: What cuts documents and queries into terms. None: rows are sparse vectors, for example of SPLADE.
        policy: With a policy the index is guarded: rows need rules and every read needs a principal. Without one it is
            open.
        columns: Names and types of values that are stored with the rows, for ``where=`` to ask about. The index keeps
            the values; the Columns given stay without rows.
        log: Gets a record of every read before it returns; a read that cannot be recorded raises NotLogged instead.

    Raises:
        InvalidInput: If an argument is none of these.
    """

    _noun = "documents"

    def __init__(
        self,
        *,
        analyzer: Analyzer | None = _PLAIN,
        policy: Policy | None = None,
        columns: Columns | None = None,
        log: RetrievalLog | None = None,
    ) -> None:
        self._begin(policy, log)
        self._settings = Settings.without_vectors(policy is not None, columns, analyzer)
        self._analyzer = analyzer
        store = self._settings.new_store(False, None)
        self._hold(store, None if columns is None else IndexColumns(columns, store), ())

    def _hold(self, store: _core.RowStore, columns: IndexColumns | None, parts: tuple[Part, ...]) -> None:
        self._keep_in(store, columns)
        self._store = PostedRows(store, columns, self._analyzer is None, parts)
        self._statistics = Statistics(self._guard)

    @property
    def analyzer(self) -> Analyzer | None:
        """What cuts documents and queries into terms; None where rows are vectors."""
        return self._analyzer

    def __repr__(self) -> str:
        guard = "open" if self.policy is None else "guarded"
        return f"SparseIndex({len(self)} rows, {'vectors' if self._analyzer is None else 'terms'}, {guard})"

    def add(
        self,
        ids: npt.ArrayLike | None,
        documents: Documents,
        rules: Rule | Iterable[Rule] | None = None,
        groups: npt.ArrayLike | None = None,
        *,
        metadata: Metadata | None = None,
    ) -> _arrays.Ids:
        """Stores new rows, all or none.

        A document without words has length 0: it counts as a row and is never a hit. Text may be of any script and
        length, and hold NUL characters, which separate words.

        Args:
            ids: int64 [n], distinct and not stored yet; None chooses the next ids above all ever stored.
            documents: A str for each row; or a mapping from terms to quarters (whole numbers, 0 or greater: 4 for each
                time that a term occurs, as :meth:`Analyzer.counts` gives them), which is taken as it is. Without an
                analyser sparse vectors: a CSR matrix [n, any] such as ``scipy.sparse.csr_array``, or a tuple of arrays
                (indices [m], values [m], starts [n + 1]): components i from starts[r] to starts[r + 1] are those of row
                r, in any order. Indices are 0 to 2**32 - 1, weights become float32 and those of 0 are left out.
            rules: As in :meth:`DenseIndex.add`.
            groups: As in :meth:`DenseIndex.add`.
            metadata: As in :meth:`DenseIndex.add`.

        Returns:
            The ids, int64 [n].

        Raises:
            InvalidInput: For an id given twice or stored already, documents of another kind, text without a UTF-8 form
                (lone surrogates), weights that are negative, not whole where they are quarters, or not finite, a
                squared norm above 2**125, arrays that do not fit each other, an index twice in one row, another
                policy's rule, a group with two rules, metadata of a column that the index does not have or of another
                type.
            AccessError: On a guarded index, for rows without a rule.
        """
        return self._post(ids, documents, rules, groups, metadata, replace=False)

    def upsert(
        self,
        ids: npt.ArrayLike,
        documents: Documents,
        rules: Rule | Iterable[Rule] | None = None,
        groups: npt.ArrayLike | None = None,
        *,
        metadata: Metadata | None = None,
    ) -> _arrays.Ids:
        """Stores rows, replacing those whose ids are stored already, rule, group and metadata included; all or none.

        Arguments, result and errors are those of :meth:`add`, except that stored ids are welcome, and that a group that
        is stored gets the rule given, all its rows with it.
        """
        return self._post(ids, documents, rules, groups, metadata, replace=True)

    def _post(
        self,
        ids: object,
        documents: object,
        rules: Rule | Iterable[Rule] | None,
        groups: object,
        metadata: object,
        *,
        replace: bool,
    ) -> _arrays.Ids:
        postings = postings_of(documents, self._analyzer)
        rows = np.empty((postings.rows, 0), dtype=np.float32)
        return self._store.append(postings, lambda: self._written(ids, rows, rules, groups, metadata, replace=replace))

    def remove(self, ids: npt.ArrayLike) -> None:
        """Removes rows, all or none. Removed ids are never chosen automatically again.

        Raises:
            NotFound: If any id is not stored.
            InvalidInput: For a negative id or one given twice.
        """
        self._store.change(lambda: super(SparseIndex, self).remove(ids))

    def optimize(self) -> None:
        """Drops what was removed, lays rows under one rule side by side, and makes all postings one part.

        Ids, scores and every answer stay what they are, bit for bit; only the order of :meth:`ids` changes. It is a new
        layout: an AllowMask made before is stale afterwards. Searches go on meanwhile; needs memory for a second copy.
        """
        self._store.change(self._laid_out_anew)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the index to a folder, durably: what was saved there before is replaced in one step, or stays.

        Rules, groups, metadata, automatic ids and the analyser's identity are kept; the retrieval log is not part of
        it.

        Raises:
            InvalidInput: If the path is no folder, cannot be written, or holds a collection or another kind of index.
            LockHeld: If it is being written already.
            NotStored: If it cannot be made durable.
        """
        state = self._store.state
        settings, store = self._settings, self._writable
        save(path, Saved(settings, store, False, self.policy, state.snapshot, state.columns, parts=state.parts))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        analyzer: Analyzer | None = None,
        policy: Policy | None = None,
        log: RetrievalLog | None = None,
    ) -> SparseIndex:
        """The index that was saved in a folder. Its postings are mapped, after every byte of them was checked.

        It may be changed, which does not change the folder; nor does the folder change it afterwards.

        Args:
            path: The folder.
            analyzer: The one it was made with, compared by its identity; None makes it of what was saved.
            policy: For a guarded index a Policy, which gets its rules; None for an open one.
            log: As in :class:`SparseIndex`.

        Raises:
            MissingStore: If nothing was saved there.
            AccessError: If it has rules and no policy was given.
            InvalidInput: If it has none and a policy was given, if it was made with another analyser, and if a
                collection or another kind of index lies there.
            CorruptFile: If its files are damaged.
            VersionMismatch: If they are newer than this version, or its analyser is of another one.
        """
        saved = load(path, policy, SPARSE)
        index = cls(analyzer=analyzer_of(saved.settings.analyzer, analyzer), policy=policy, log=log)
        index._settings = saved.settings
        columns = None if saved.columns is None else IndexColumns.around(saved.columns, saved.store)
        index._hold(saved.store, columns, saved.parts or ())
        return index
