# SPDX-License-Identifier: Apache-2.0
"""One typed column: which values fit, how they are kept, and which rows compare how with a value.

A column is one number per row, in chunks. Rows are appended and never rewritten, so whoever looks at the first n rows
reads the same values for ever, without a lock, while another thread appends.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import date, datetime
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Final, NoReturn, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from . import _checks
from ._scalar import EPOCH, Scalar, plain
from .errors import InvalidInput

__all__ = ["Bools", "Column", "StrColumn"]

Bools: TypeAlias = npt.NDArray[np.bool_]
_Numbers: TypeAlias = npt.NDArray[Any]

_CHUNK_ROWS = 65_536
_LEAST_INT: Final = -(2**63)  # stands for a missing int, so it is the one int64 that is no value
_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
    "==": eq,
    "!=": ne,
}
# How a type is kept, and the number that stands for a missing value. No value is NaN, so that may be one.
_KEPT: dict[type, tuple[type[np.generic], float]] = {
    str: (np.int32, -1),
    int: (np.int64, _LEAST_INT),
    float: (np.float64, np.nan),
    bool: (np.int8, -1),
    date: (np.int32, -(2**31)),
}
_EXPECTED = {
    str: "a str",
    int: "an int from -(2**63 - 1) to 2**63 - 1",
    float: "a float, or an int that is one exactly",
    bool: "True or False",
    date: "a datetime.date",
}


class Column:
    """One column of numbers. One thread may store while others read what was there before."""

    def __init__(self, name: str, kind: type) -> None:
        self.name = name
        self.kind = kind
        self._dtype, self._missing = _KEPT[kind]
        self._chunks: list[_Numbers] = []

    def prepare(self, given: object, rows: int) -> Any:
        """What :meth:`store` takes, from one value per row; nothing changes yet.

        Raises:
            InvalidInput: For a wrong type or number of values; the message names the column and the row.
        """
        values = self._sequence(given)
        if len(values) != rows:
            raise InvalidInput(
                f"{self._place()}: {len(values)} given for {rows} rows; pass one per row, None for a missing value"
            )
        whole = self._whole(values) if isinstance(values, np.ndarray) else None
        return self._each_number(values) if whole is None else whole

    def taken(self, rows: npt.NDArray[np.int64]) -> Column:
        """A column with the values of these rows, in this order; -1 gives a row without a value."""
        kept = Column(self.name, self.kind)
        kept.store(0, self._taken(rows))
        return kept

    def absent(self, rows: int) -> _Numbers:
        """What :meth:`store` takes where no row has a value."""
        return np.full(rows, self._missing, self._dtype)

    def store(self, start: int, prepared: Any) -> None:
        """Writes values from row ``start`` on; nobody may have been shown a row from there on."""
        done = 0
        while done < len(prepared):
            chunk, at = divmod(start + done, _CHUNK_ROWS)
            if chunk == len(self._chunks):
                self._chunks.append(np.empty(_CHUNK_ROWS, self._dtype))
            piece = prepared[done : done + _CHUNK_ROWS - at]
            self._chunks[chunk][at : at + len(piece)] = piece
            done += len(piece)

    def fitting(self, value: object, row: int | None = None) -> Scalar:
        """The value as this column's type, or InvalidInput; without a row it is one that a predicate compares with."""
        given = plain(value)
        if self.kind is float and type(given) is int:
            try:
                given = number if (number := float(given)) == given else None
            except OverflowError:
                given = None
        if given is None or type(given) is not self.kind or (type(given) is int and abs(given) >= -_LEAST_INT):
            self._refuse(value, row)
        return given

    def values(self, rows: int) -> list[Scalar | None]:
        """The first rows' values, None where one is missing."""
        numbers = self._taken(np.arange(rows, dtype=np.int64))
        return [
            self._value(one) if ok else None for one, ok in zip(numbers.tolist(), self._present(numbers), strict=True)
        ]

    def _value(self, number: Any) -> Scalar:
        return date.fromordinal(number + EPOCH) if self.kind is date else cast(Scalar, self.kind(number))

    def compare(self, operator: str, value: Scalar, rows: int) -> Bools:
        """Which of the first rows have a value that compares so with ``value``."""
        if self.kind is bool and operator not in ("==", "!="):
            raise InvalidInput(f"{self._asked()}: holds bool, which has no order: {operator} is refused; use == or !=")
        number, holds = self._number(self.fitting(value)), _ORDER[operator]
        return self._each(rows, lambda piece: holds(piece, number) & self._present(piece))

    def among(self, values: Sequence[Scalar], rows: int) -> Bools:
        """Which of the first rows have one of ``values``."""
        numbers = np.unique(np.array([self._number(self.fitting(value)) for value in values], self._dtype))
        if len(numbers) == 0:
            return np.zeros(rows, np.bool_)

        def found(piece: _Numbers) -> Bools:
            at = np.searchsorted(numbers, piece)
            at[at == len(numbers)] = 0
            return cast(Bools, numbers[at] == piece)

        return self._each(rows, found)

    def starts_with(self, prefix: Scalar, rows: int) -> Bools:
        """Which of the first rows have a str that starts with ``prefix``."""
        raise InvalidInput(f"{self._asked()}: holds {self.kind.__name__}, and only str has prefixes")

    def missing(self, rows: int) -> Bools:
        """Which of the first rows have no value."""
        return self._each(rows, lambda piece: ~self._present(piece))

    def _taken(self, rows: npt.NDArray[np.int64]) -> _Numbers:
        numbers, kept = self.absent(len(rows)), rows >= 0
        if kept.any():
            numbers[kept] = np.concatenate(self._chunks)[rows[kept]]
        return numbers

    def _each(self, rows: int, test: Callable[[_Numbers], Bools]) -> Bools:
        matched = np.empty(rows, np.bool_)
        for start in range(0, rows, _CHUNK_ROWS):
            piece = self._chunks[start // _CHUNK_ROWS][: rows - start]
            matched[start : start + len(piece)] = test(piece)
        return matched

    def _present(self, piece: _Numbers) -> Bools:
        return cast(Bools, ~np.isnan(piece) if self.kind is float else piece != self._missing)

    @staticmethod
    def _number(value: Any) -> Any:
        return value.toordinal() - EPOCH if isinstance(value, date) else value

    def _each_number(self, values: Sequence[object] | _Numbers) -> Any:
        fitting, number, missing = self.fitting, self._number, self._missing
        numbers = [missing if value is None else number(fitting(value, row)) for row, value in enumerate(values)]
        return np.array(numbers, self._dtype)

    def _whole(self, values: _Numbers) -> _Numbers | None:
        """An array of just this column's type at once; None if it must be looked at value by value."""
        code = values.dtype.kind
        if self.kind is int and code in "iu":
            wrong = values > -_LEAST_INT - 1 if code == "u" else values == _LEAST_INT
        elif self.kind is float and code == "f" and values.dtype.itemsize <= 8:
            wrong = np.isnan(values)
        elif self.kind is date and code == "M" and np.datetime_data(values.dtype) == ("D", 1):
            days = values.astype(np.int64)  # NaT is the least int64
            wrong = (days < 1 - EPOCH) | (days > date.max.toordinal() - EPOCH)
        elif self.kind is bool and code == "b":
            wrong = np.zeros(0, np.bool_)
        else:
            return None
        if wrong.any():
            row = int(np.argmax(wrong))
            self._refuse(values[row], row)
        return values.astype(self._dtype)

    def _sequence(self, given: object) -> Sequence[object] | _Numbers:
        # Without numpy.ma, which takes long to import, nothing can be a masked array.
        masked = "numpy.ma" in sys.modules and isinstance(given, np.ma.MaskedArray)
        if isinstance(given, np.ndarray) and given.ndim == 1 and not masked:
            return np.asarray(given)
        if isinstance(given, Sequence) and not isinstance(given, (str, bytes, bytearray)):
            return list(given)
        _checks.refuse(self._place(), given, "a list or a plain numpy array [n]", "pass one value per row")

    def _place(self) -> str:
        return f"metadata[{self.name!r}]"

    def _asked(self) -> str:
        return f"where({self.name!r})"

    def _refuse(self, value: object, row: int | None) -> NoReturn:
        place = self._asked() if row is None else f"{self._place()}[{row}]"
        advice = f"the column holds {self.kind.__name__}{'' if row is None else '; None stands for a missing value'}"
        if isinstance(value, datetime):
            advice = "a datetime is not a date: pass value.date()"
        elif isinstance(value, (float, np.floating, np.datetime64)) and value != value:  # noqa: PLR0124
            advice = "NaN and NaT are no values; None stands for a missing one, and is_missing() asks for it"
        _checks.refuse(place, value, _EXPECTED[self.kind], advice)


class StrColumn(Column):
    """Strings as numbers into a list of the distinct ones, so that each of them is looked at once."""

    def __init__(self, name: str) -> None:
        super().__init__(name, str)
        self._strings: list[str] = []
        self._number_of: dict[str, int] = {}
        self._last = (-1, 0)

    def store(self, start: int, prepared: Any) -> None:
        """As above; strings of rows that were stored here before and never shown are forgotten."""
        if start == self._last[0]:
            for string in self._strings[self._last[1] :]:
                self._number_of.pop(string, None)
            del self._strings[self._last[1] :]
        self._last = (start, len(self._strings))
        if isinstance(prepared, np.ndarray):
            super().store(start, prepared)
            return
        number_of, strings = self._number_of, self._strings
        for value in prepared:
            if value is not None and value not in number_of:
                strings.append(value)  # first, so that an interrupt leaves no number without its string
                number_of[value] = len(strings) - 1
        super().store(start, np.array([number_of.get(value, -1) for value in prepared], self._dtype))

    def _value(self, number: int) -> Scalar:
        return self._strings[number]

    def taken(self, rows: npt.NDArray[np.int64]) -> StrColumn:
        """As above; strings that none of these rows has are forgotten."""
        kept = StrColumn(self.name)
        kept.store(0, [None if number < 0 else self._strings[number] for number in self._taken(rows).tolist()])
        return kept

    def compare(self, operator: str, value: Scalar, rows: int) -> Bools:
        """Which of the first rows have a value that compares so with ``value``, code point by code point."""
        wanted, holds = self.fitting(value), _ORDER[operator]
        if operator == "==":
            return self.among((wanted,), rows)
        return self._each_string(lambda string: holds(string, wanted), rows)

    def among(self, values: Sequence[Scalar], rows: int) -> Bools:
        """Which of the first rows have one of ``values``."""
        matches = np.zeros(len(self._strings) + 1, np.bool_)  # the last place is what -1, missing, looks at
        for value in values:
            number = self._number_of.get(cast(str, self.fitting(value)), -1)
            if 0 <= number < len(matches) - 1:
                matches[number] = True
        return self._each(rows, lambda piece: matches[piece])

    def starts_with(self, prefix: Scalar, rows: int) -> Bools:
        """Which of the first rows have a str that starts with ``prefix``, code point by code point."""
        start = cast(str, self.fitting(prefix))
        return self._each_string(lambda string: string.startswith(start), rows)

    def _each_string(self, test: Callable[[str], bool], rows: int) -> Bools:
        matches = np.array([*map(test, self._strings[:]), False], np.bool_)
        return self._each(rows, lambda piece: matches[piece])

    def _each_number(self, values: Sequence[object] | _Numbers) -> Any:
        return [None if value is None else self.fitting(value, row) for row, value in enumerate(values)]
