# SPDX-License-Identifier: Apache-2.0
"""Questions about the columns of an index, and their answers: one bool per row.

A row whose value is missing matches no comparison, ``!=`` included; only ``is_missing()`` asks for it. ``~p`` matches
exactly the rows that ``p`` does not match, so ``~(where("lang") == "en")`` has the rows without a language in it and
``where("lang") != "en"`` has not. With that, ``&``, ``|`` and ``~`` are plain set operations: there is no third value.

Strings compare code point by code point, without case folding or normalisation; dates compare as dates.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import NoReturn, TypeAlias

import numpy as np

from . import _checks
from ._column import Bools
from ._scalar import Scalar, plain
from .columns import ColumnsView
from .errors import InvalidInput

__all__ = ["ColumnRef", "Predicate", "evaluate", "required", "where"]

Value: TypeAlias = "Scalar | np.generic"

_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_METHODS = {"in": "isin", "startswith": "startswith", "missing": "is_missing"}
_JOINTS = ("&", "|", "~")
_OPERATORS = (*_COMPARISONS, *_METHODS, *_JOINTS)
_MOST_DEPTH = 100
_MOST_SHOWN = 10

_USE_SIGNS = "write &, | and ~ for and, or and not, and parentheses around each comparison: (a == 1) & ~(b < 2)"


class Predicate:
    """What a row's values must be. Made by :func:`where`, combined with ``&``, ``|`` and ``~``; never changes.

    Equal predicates ask the same of the same column in the same words, types included.
    """

    __slots__ = ("_hash", "column", "depth", "operator", "parts", "values", "weight")
    __array_ufunc__ = None  # numpy arrays and scalars leave operators to this class

    operator: str
    column: str
    values: tuple[Scalar, ...]
    parts: tuple[Predicate, ...]
    depth: int
    _hash: int
    weight: int  # bytes, roughly: what it costs to keep

    def __init__(
        self, operator: str, column: str = "", values: Iterable[Scalar] = (), parts: Iterable[Predicate] = ()
    ) -> None:
        if operator not in _OPERATORS:
            _checks.refuse("operator", operator, f"one of {' '.join(_OPERATORS)}", "make predicates with where()")
        own, below = tuple(values), tuple(parts)
        depth = 1 + max((part.depth for part in below), default=0)
        if depth > _MOST_DEPTH:
            raise InvalidInput(f"where: nested {depth} deep, at most {_MOST_DEPTH}; isin() takes many values at once")
        weight = 200 + 8 * len(own) + sum(map(sys.getsizeof, own)) + sum(part.weight for part in below)
        for name, value in (
            ("operator", operator),
            ("column", column),
            ("values", own),
            ("parts", below),
            ("depth", depth),
            ("weight", weight),
            ("_hash", hash((operator, column, own, below))),
        ):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a predicate never changes; {name} cannot be set")

    def __reduce__(self) -> tuple[type[Predicate], tuple[object, ...]]:
        return Predicate, (self.operator, self.column, self.values, self.parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Predicate):
            return NotImplemented
        return self is other or (
            (hash(self), self.operator, self.column) == (hash(other), other.operator, other.column)
            and self.values == other.values
            and all(type(mine) is type(its) for mine, its in zip(self.values, other.values, strict=True))
            and self.parts == other.parts
        )

    def __and__(self, other: Predicate) -> Predicate:
        return self._joined("&", other)

    def __or__(self, other: Predicate) -> Predicate:
        return self._joined("|", other)

    def __invert__(self) -> Predicate:
        return self.parts[0] if self.operator == "~" else Predicate("~", parts=(self,))

    def __bool__(self) -> bool:
        raise TypeError(f"a predicate is neither true nor false: {_USE_SIGNS}; between() for a < x < b")

    def __repr__(self) -> str:
        if self.operator == "~":
            return f"~({self.parts[0]!r})"
        if self.operator in _JOINTS:
            return f" {self.operator} ".join(f"({part!r})" for part in self.parts)
        if self.operator in _COMPARISONS:
            return f"where({self.column!r}) {self.operator} {self.values[0]!r}"
        if self.operator != "in":
            return f"where({self.column!r}).{_METHODS[self.operator]}({', '.join(map(repr, self.values))})"
        shown = ", ".join(map(repr, self.values[:_MOST_SHOWN]))
        more = len(self.values) - _MOST_SHOWN
        return f"where({self.column!r}).isin([{shown}{f', ... {more} more' if more > 0 else ''}])"

    def _joined(self, operator: str, other: Predicate) -> Predicate:
        if not isinstance(other, Predicate):
            return NotImplemented
        return Predicate(operator, parts=(*self._parts_of(operator), *other._parts_of(operator)))

    def _parts_of(self, operator: str) -> tuple[Predicate, ...]:
        return self.parts if self.operator == operator else (self,)


class ColumnRef:
    """A column to ask about; made by :func:`where`. It is no predicate until it is compared with something."""

    __slots__ = ("name",)
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]  # == asks about the column

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, value: object) -> Predicate:  # type: ignore[override]
        return self._compare("==", value)

    def __ne__(self, value: object) -> Predicate:  # type: ignore[override]
        return self._compare("!=", value)

    def __lt__(self, value: object) -> Predicate:
        return self._compare("<", value)

    def __le__(self, value: object) -> Predicate:
        return self._compare("<=", value)

    def __gt__(self, value: object) -> Predicate:
        return self._compare(">", value)

    def __ge__(self, value: object) -> Predicate:
        return self._compare(">=", value)

    def isin(self, values: Iterable[Value]) -> Predicate:
        """One of these; none at all match nothing."""
        distinct = {(type(one).__name__, one) for one in map(self._value, _checks.members(values, f"{self!r}.isin"))}
        return Predicate("in", self.name, (one for _, one in sorted(distinct)))

    def between(self, least: Value | None, most: Value | None) -> Predicate:
        """From ``least`` to ``most``, both included; None leaves an end open, but not both."""
        if least is None and most is None:
            raise InvalidInput(f"{self!r}.between: both ends are None; give one, or ask ~{self!r}.is_missing()")
        if most is None:
            return self >= least
        return self <= most if least is None else (self >= least) & (self <= most)

    def startswith(self, prefix: str) -> Predicate:
        """A str with this beginning; every str begins with the empty one."""
        return Predicate("startswith", self.name, (self._value(_checks.text(prefix, f"{self!r}.startswith")),))

    def is_missing(self) -> Predicate:
        """No value was given for the row."""
        return Predicate("missing", self.name)

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} is neither true nor false: compare it with a value, and {_USE_SIGNS}")

    def _no_joint(self, *_: object) -> NoReturn:
        raise TypeError(f"{self!r} is no predicate yet: compare it with a value, and {_USE_SIGNS}")

    __and__ = __rand__ = __or__ = __ror__ = __invert__ = _no_joint

    def __repr__(self) -> str:
        return f"where({self.name!r})"

    def _compare(self, operator: str, value: object) -> Predicate:
        return Predicate(operator, self.name, (self._value(value),))

    def _value(self, value: object) -> Scalar:
        given = plain(value)
        if given is None:
            advice = "pass a plain value"
            if value is None:
                advice = "is_missing() asks for missing values"
            elif isinstance(value, datetime):
                advice = "a datetime is not a date: pass value.date()"
            _checks.refuse(repr(self), value, "a str, int, float (not NaN), bool or datetime.date", advice)
        return given


def where(column: str) -> ColumnRef:
    """Names a column to make a predicate of: ``where("year").between(2020, None) & (where("lang") == "en")``.

    Compare it with ``==``, ``!=``, ``<``, ``<=``, ``>``, ``>=``, or call ``isin``, ``between``, ``startswith`` or
    ``is_missing``. A row whose value is missing matches no comparison; ``~p`` matches what ``p`` does not.

    Raises:
        InvalidInput: If ``column`` is no str; where values are compared, for one that can be in no column. A column
            that an index does not have, or that is of another type, is refused by its search.
    """
    return ColumnRef(str.__str__(_checks.text(column, "where")))


def required(value: object, name: str) -> Predicate:
    """The value if it is a predicate, otherwise InvalidInput."""
    if isinstance(value, Predicate):
        return value
    advice = "compare the column with a value" if isinstance(value, ColumnRef) else "None does not narrow"
    if callable(value):
        advice = "AllowMask.from_callable makes an allow mask of a function"
    _checks.refuse(name, value, 'a predicate such as where("lang") == "en"', advice)


def evaluate(predicate: Predicate, view: ColumnsView) -> Bools:
    """Which rows of the view match, bool [rows].

    Raises:
        InvalidInput: If the view has no such column, or a value or an operator does not go with a column's type;
            whatever the rows are, so that no error tells anything of them.
    """
    operator, parts = predicate.operator, predicate.parts
    if operator == "~":
        matched = evaluate(parts[0], view)
        return np.logical_not(matched, out=matched)
    if operator in _JOINTS:
        join: Callable[..., Bools] = np.logical_and if operator == "&" else np.logical_or
        matched = evaluate(parts[0], view)
        for part in parts[1:]:
            join(matched, evaluate(part, view), out=matched)
        return matched
    column, values = view.columns.column(predicate.column), predicate.values
    if operator == "in":
        return column.among(values, view.rows)
    if operator == "startswith":
        return column.starts_with(values[0], view.rows)
    if operator == "missing":
        return column.missing(view.rows)
    return column.compare(operator, values[0], view.rows)
