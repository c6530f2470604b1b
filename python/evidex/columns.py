# SPDX-License-Identifier: Apache-2.0
"""The columns of an index: typed values, parallel to its rows, that predicates are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _checks
from ._column import Column, StrColumn
from ._scalar import KINDS, Scalar
from .errors import InvalidInput

__all__ = ["Batch", "Columns", "ColumnsView", "Metadata"]

Metadata: TypeAlias = "Mapping[str, Sequence[object] | npt.NDArray[Any]]"


@dataclass(frozen=True, slots=True)
class Batch:
    """Checked values of new rows; :meth:`Columns.store` takes it."""

    rows: int
    prepared: Mapping[str, Any]


class Columns:
    """The columns of an index: names, types, and one value per row in each, or none.

    Strings are kept as they are: no case folding, no Unicode normalisation. A float is kept as float64, and an int is
    accepted for one if that loses nothing; otherwise a value is of its column's type, so True is no int, 1.0 is no int,
    and a datetime is no date. NaN is refused; None, or leaving a column out, says that a value is missing.

    Args:
        types: For each name ``str``, ``int``, ``float``, ``bool`` or ``datetime.date``.

    Raises:
        InvalidInput: For a name that is empty or not a str, and for another type.
    """

    def __init__(self, types: Mapping[str, type]) -> None:
        if not isinstance(types, Mapping):
            _checks.refuse("columns", types, "a mapping of names to types", 'pass for example {"lang": str}')
        self._columns: dict[str, Column] = {}
        for given, kind in types.items():
            name = str.__str__(_checks.text(given, "columns"))
            if not name:
                _checks.refuse("columns", given, "a name", "name each column")
            if not isinstance(kind, type) or kind not in KINDS:
                _checks.refuse(
                    f"columns[{name!r}]", kind, "str, int, float, bool or datetime.date", "choose one of these"
                )
            self._columns[name] = StrColumn(name) if kind is str else Column(name, kind)
        self.types: Mapping[str, type] = MappingProxyType({name: one.kind for name, one in self._columns.items()})
        self._rows = 0

    @property
    def rows(self) -> int:
        """Rows stored."""
        return self._rows

    def __repr__(self) -> str:
        return f"Columns({{{', '.join(f'{name!r}: {kind.__name__}' for name, kind in self.types.items())}}})"

    def append(self, metadata: Metadata | None, rows: int) -> None:
        """Stores the values of new rows, all or none. Threads that append must wait for one another; readers need not.

        Args:
            metadata: For each name a list or numpy array with one value per row, None where it is missing. A column
                left out is missing in all of them.
            rows: How many rows.

        Raises:
            InvalidInput: For an unknown column, and for a wrong type or number of values.
        """
        self.store(self.prepare(metadata, rows), self.rows)

    def prepare(self, metadata: object, rows: int) -> Batch:
        """Checks the values of new rows without storing them. Arguments and errors are those of :meth:`append`."""
        _checks.whole(rows, "rows")
        if metadata is None:
            metadata = {}
        if not isinstance(metadata, Mapping):
            _checks.refuse("metadata", metadata, "a mapping of column names to values", 'pass {"lang": ["en", "de"]}')
        for name in metadata:
            if name not in self._columns:
                raise InvalidInput(f"metadata: no column {name!r}; there are {self._listed()}")
        return Batch(
            rows,
            {
                name: column.prepare(metadata[name], rows) if name in metadata else column.absent(rows)
                for name, column in self._columns.items()
            },
        )

    def store(self, batch: Batch, start: int) -> None:
        """Stores a batch as the rows from ``start`` on; nobody may have been shown rows from there on.

        A batch whose rows then came to nothing needs no undoing: the next one is stored over it.
        """
        for name, prepared in batch.prepared.items():
            self._columns[name].store(start, prepared)
        self._rows = start + batch.rows

    def taken(self, rows: npt.NDArray[np.int64]) -> Columns:
        """Columns with the values of these rows, in this order; -1 gives a row without any."""
        kept = Columns({})
        kept._columns = {name: column.taken(rows) for name, column in self._columns.items()}
        kept.types, kept._rows = self.types, len(rows)
        return kept

    def values(self) -> dict[str, list[Scalar | None]]:
        """Each column's values, None where one is missing."""
        return {name: column.values(self.rows) for name, column in self._columns.items()}

    def view(self, rows: int) -> ColumnsView:
        """The first ``rows`` rows, whatever is appended meanwhile."""
        return ColumnsView(self, _checks.whole(rows, "rows", most=self.rows))

    def column(self, name: str) -> Column:
        """The column of that name, for a predicate."""
        if name not in self._columns:
            raise InvalidInput(f"where({name!r}): no column of this name; there are {self._listed()}")
        return self._columns[name]

    def _listed(self) -> str:
        return ", ".join(f"{name!r} ({kind.__name__})" for name, kind in self.types.items()) or "none at all"


@dataclass(frozen=True, slots=True)
class ColumnsView:
    """The first rows of columns; made by :meth:`Columns.view`."""

    columns: Columns
    rows: int
