# SPDX-License-Identifier: Apache-2.0
"""Every rule about numpy input: what is accepted, how it becomes the one form the core reads, what is refused.

Vectors: float16, float32 or float64 of any layout, byte order, alignment or writability become C-contiguous
native float32. Ids: any integer dtype becomes int64. Masks: bool becomes packed bits.
"""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _checks
from .errors import InvalidInput

__all__ = ["Floats", "Ids", "PackedBits", "bool_bytes", "ids", "packed_bools", "queries", "score", "vectors"]

Floats: TypeAlias = npt.NDArray[np.float32]
Ids: TypeAlias = npt.NDArray[np.int64]
PackedBits: TypeAlias = npt.NDArray[np.uint8]
_Array: TypeAlias = npt.NDArray[Any]

_FLOAT32 = np.dtype(np.float32)
_LARGEST_ID = 2**63 - 1


def vectors(value: object, dim: int, name: str, *, scaled: bool) -> Floats:
    """Rows to store: shape [n, dim]. See :func:`queries` for ``scaled``."""
    array = _as_array(value, name)
    if array.ndim != 2 or array.shape[1] != dim:
        raise InvalidInput(f"{name}: expected shape [n, {dim}], got shape {list(array.shape)}{_hint(array, dim)}")
    return _float32(array, name, scaled)


def queries(value: object, dim: int, name: str, *, scaled: bool) -> Floats:
    """Vectors to search with: shape [nq, dim], or [dim] for one.

    ``scaled`` says that the metric divides by the norm: float64 rows are then brought near 1 by a power of
    two before they become float32, so that no length overflows or underflows (case H8).
    """
    array = _as_array(value, name)
    if array.ndim == 1 and array.shape[0] == dim:
        array = array.reshape(1, dim)
    if array.ndim != 2 or array.shape[1] != dim:
        raise InvalidInput(
            f"{name}: expected shape [nq, {dim}] or [{dim}], got shape {list(array.shape)}{_hint(array, dim)}"
        )
    return _float32(array, name, scaled)


def ids(value: object, name: str = "ids") -> Ids:
    """Ids from 0 to 2**63 - 1, shape [n]; a single int stands for one id."""
    array = _as_array(value, name)
    if array.size == 0 and array.ndim == 1 and not isinstance(value, np.ndarray):
        return np.empty(0, dtype=np.int64)  # an empty list has no dtype of its own
    if array.dtype.kind not in "iu":
        raise InvalidInput(f"{name}: expected integers from 0 to 2**63 - 1, got dtype {array.dtype}")
    if array.ndim > 1:
        raise InvalidInput(f"{name}: expected shape [n], got shape {list(array.shape)}")
    array = array.reshape(-1)
    wrong = (array < 0) if array.dtype.kind == "i" else (array > _LARGEST_ID)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InvalidInput(f"{name}: expected integers from 0 to 2**63 - 1, got {array[at]} at position {at}")
    return np.require(array, dtype=np.int64, requirements=["C", "A"])


def packed_bools(value: object, length: int, name: str, aligned_with: str) -> PackedBits:
    """A bool array of exactly ``length`` as bits, the first one lowest."""
    array = _as_array(value, name)
    if array.dtype != np.bool_:
        raise InvalidInput(f"{name}: expected an AllowMask or a bool array, got dtype {array.dtype}")
    if array.ndim != 1 or array.shape[0] != length:
        raise InvalidInput(
            f"{name}: expected shape [{length}], one bool for each of {aligned_with}, got shape {list(array.shape)}"
        )
    return np.packbits(array, bitorder="little")


def bool_bytes(value: object, name: str) -> bytes:
    """A bool array's contents, to tell equal ones."""
    array = _as_array(value, name)
    if array.dtype != np.bool_:
        raise InvalidInput(f"{name}: expected AllowMasks or bool arrays, got dtype {array.dtype}")
    return np.packbits(array).tobytes() + str(array.shape).encode()


def score(value: object, name: str) -> float:
    """A finite number as the float32 that scores are compared with."""
    with np.errstate(over="ignore"):
        rounded = np.float32(_checks.finite(value, name))
    if not np.isfinite(rounded):
        raise InvalidInput(f"{name}: expected a number within float32, got {value!r}; no score is that large")
    return float(rounded)


def _as_array(value: object, name: str) -> _Array:
    # numpy imports numpy.ma on first use, which takes long; without it nothing can be a masked array.
    if "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray):
        raise InvalidInput(f"{name}: masked arrays are not accepted, since masked places would count; fill them first")
    try:
        return np.asarray(value)  # also strips subclasses, whose methods may behave otherwise
    except Exception as error:  # numpy asks the object itself, which may raise anything
        raise InvalidInput(f"{name}: expected an array, got {type(value).__name__}: {error}") from error


def _hint(array: _Array, dim: int) -> str:
    return f"; reshape a single vector to [1, {dim}]" if array.shape == (dim,) else ""


def _float32(array: _Array, name: str, scaled: bool) -> Floats:
    if array.dtype == _FLOAT32 and array.flags.c_contiguous and array.flags.aligned:
        return array
    if array.dtype.kind != "f" or array.dtype.itemsize not in (2, 4, 8):
        raise InvalidInput(
            f"{name}: expected dtype float16, float32 or float64, got {array.dtype}; convert with .astype('float32')"
        )
    if array.dtype.itemsize == 8:
        array = _narrowed(array, name, scaled)
    return np.require(array, dtype=np.float32, requirements=["C", "A"])


def _narrowed(array: _Array, name: str, scaled: bool) -> _Array:
    """float64 as float32: scaled rows cannot overflow, others are refused by name if they do."""
    if scaled and array.shape[0] > 0:
        largest = np.abs(array).max(axis=1, keepdims=True)
        exponent = np.frexp(np.where(np.isfinite(largest), largest, 1.0))[1]
        narrow: _Array = np.ldexp(array, 1 - exponent).astype(np.float32)
        return narrow
    with np.errstate(over="ignore"):
        narrow = array.astype(np.float32)
    lost = np.isinf(narrow) & np.isfinite(array)
    if lost.any():
        row, position = (int(i) for i in np.argwhere(lost)[0])
        raise InvalidInput(
            f"{name}: row {row} holds {array[row, position]!r} at position {position}, which overflows float32 "
            f"(largest {np.finfo(np.float32).max}); scale the vectors down"
        )
    return narrow
