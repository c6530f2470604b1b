# SPDX-License-Identifier: Apache-2.0
"""Validators for plain Python values: each returns the value in its plain type or raises InvalidInput."""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Any, NoReturn, TypeGuard, TypeVar, cast

import numpy as np

from .errors import InvalidInput

__all__ = [
    "IdT",
    "finite",
    "flag",
    "ids",
    "integer",
    "json_object",
    "members",
    "refuse",
    "text",
    "texts",
    "utf8",
    "whole",
]

IdT = TypeVar("IdT", str, int)
_T = TypeVar("_T")


def refuse(name: str, given: object, expected: str, advice: str) -> NoReturn:
    """Raises InvalidInput in the one shape every message has: what came, what was expected, what to do."""
    raise InvalidInput(f"{name}: expected {expected}, got {reprlib.repr(given)} ({type(given).__name__}); {advice}")


def integer(value: object) -> TypeGuard[int | np.integer[Any]]:
    """A Python or numpy integer. No bool, and no duration, which numpy counts among its integers."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))


def whole(value: object, name: str, *, least: int = 0, most: int | None = None) -> int:
    """A Python or numpy integer between ``least`` and ``most``, both included; a bool is not a number here."""
    number = value if type(value) is int else int(value) if integer(value) else least - 1
    if number < least or (most is not None and number > most):
        limits = f"at least {least}" if most is None else f"from {least} to {most}"
        refuse(name, value, f"a whole number {limits}", "pass an int in that range")
    return number


def flag(value: object, name: str) -> bool:
    """True or False, nothing that is merely true."""
    if type(value) is bool:  # as it mostly is
        return value
    if not isinstance(value, np.bool_):
        refuse(name, value, "True or False", "pass one of the two")
    return bool(value)


def finite(value: object, name: str) -> float:
    """A Python or numpy real number that is neither NaN nor infinite (nor an int too large for a float)."""
    if type(value) is float and math.isfinite(value):  # as it mostly is
        return value
    number = math.nan
    if integer(value) or isinstance(value, (float, np.floating)):
        with suppress(OverflowError):  # an int may be too large
            number = float(value)
    if not math.isfinite(number):
        refuse(name, value, "a finite number", "pass an int or a float, never NaN, infinity or a bool")
    return number


def text(value: object, name: str) -> str:
    """A str; bytes are refused because guessing their encoding corrupts text silently."""
    if not isinstance(value, str):
        refuse(name, value, "a str", "decode bytes or convert the value first")
    return value


def utf8(value: object, name: str) -> str:
    """A str that can be written as UTF-8, that is, one without lone surrogates."""
    checked = text(value, name)
    try:
        checked.encode()
    except UnicodeEncodeError as error:
        refuse(name, value, f"text with a UTF-8 form at character {error.start}", "repair how it was decoded")
    return checked


def members(value: Iterable[_T], name: str) -> tuple[_T, ...]:
    """The items of an iterable; a str is refused, as it would fall apart into characters."""
    if type(value) not in (list, tuple) and (isinstance(value, (str, bytes)) or not isinstance(value, Iterable)):
        refuse(name, value, "an iterable of items", "wrap a single item in a list")
    return tuple(value)


def texts(value: Iterable[str], name: str) -> tuple[str, ...]:
    """The items of an iterable of str, each checked; the message names the position of the first wrong one."""
    return tuple(text(item, f"{name}[{position}]") for position, item in enumerate(members(value, name)))


def ids(value: Iterable[IdT], name: str, *, ordered: bool = True) -> tuple[IdT, ...]:
    """Distinct ids in order of first appearance, all str or all non-negative int (numpy integers become int).

    Negative ids are refused because -1 is the padding of search results. With ``ordered``, sets and
    mappings are refused: their order carries no rank.
    """
    if ordered and isinstance(value, (AbstractSet, Mapping)):
        refuse(name, value, "ids in ranked order", "pass a list, best first")
    plain: dict[str | int, None] = {}
    for position, item in enumerate(members(value, name)):
        where = f"{name}[{position}]"
        if isinstance(item, str):
            plain[str.__str__(item)] = None  # numpy.str_ and other subclasses become str
        elif integer(item) and item >= 0:
            plain[int(item)] = None
        else:
            refuse(where, item, "an id (a str, or an int of at least 0)", "leave out padding such as -1")
    if len({type(item) is int for item in plain}) > 1:
        refuse(name, list(plain), "ids of one kind", "use only str or only int ids in one call")
    return cast("tuple[IdT, ...]", tuple(plain))


def json_object(line: bytes, name: str, advice: str) -> dict[str, Any]:
    """A JSON object from UTF-8 that somebody else wrote: no name twice, no NaN, no infinity by name.

    Raises:
        InvalidInput: For anything else.
    """
    try:
        value = json.loads(line.decode(), object_pairs_hook=_distinct, parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"no UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise InvalidInput("no JSON that can be read: nested too deep") from error
    except ValueError as error:
        raise InvalidInput(f"no JSON: {error}") from error
    if not isinstance(value, dict):
        refuse(name, value, "a JSON object", advice)
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a name comes twice in one object")
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")
