# SPDX-License-Identifier: Apache-2.0
"""What may be given as documents and queries, and how it becomes what the core reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from .. import _checks, _core
from ..errors import InvalidInput
from ..text import Analyzer

__all__ = ["Csr", "Documents", "Queries", "SparseVectors", "no_postings", "postings_of", "queries_of", "vectors_of"]

Terms: TypeAlias = "dict[str, int]"


class Csr(Protocol):
    """A sparse matrix in rows, such as ``scipy.sparse.csr_array``."""

    indptr: Any
    indices: Any
    data: Any
    shape: Any


Documents: TypeAlias = "Sequence[str] | Sequence[Mapping[str, int]] | Csr | tuple[Any, Any, Any]"
Queries: TypeAlias = "str | Mapping[str, int] | Documents"

_LARGEST_INDEX = 2**32 - 1
_MOST_QUARTERS = 2**31 - 1
_MOST_TERM_BYTES = 2**16 - 1
_MOST_SQUARED_NORM = 2.0**125  # no product of two such vectors overflows float32


class SparseVectors(NamedTuple):
    """Components i from starts[r] to starts[r + 1] are those of vector r.

    Attributes:
        indices: int64 [n], 0 to 2**32 - 1, ascending and distinct in each vector.
        values: float32 [n], above 0.
        starts: int64 [vectors + 1].
    """

    indices: npt.NDArray[np.int64]
    values: npt.NDArray[np.float32]
    starts: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1


def no_postings(rows: int, weighted: bool) -> _core.Postings:
    """Those of rows without a term."""
    starts = np.zeros(rows + 1, dtype=np.int64)
    if weighted:
        return _core.Postings.of_vectors(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32), starts)
    none = np.empty(0, dtype=np.int32)
    return _core.Postings.of_terms([], none, none, starts)


def postings_of(documents: object, analyzer: Analyzer | None) -> _core.Postings:
    """The postings of documents, numbered from 0."""
    if analyzer is None:
        return _core.Postings.of_vectors(*vectors_of(documents, "documents"))
    number_of: dict[str, int] = {}
    numbers: list[int] = []
    weights: list[int] = []
    starts = [0]
    for place, document in enumerate(_listed(documents, "documents")):
        counts = _terms(document, f"documents[{place}]", analyzer)
        numbers.extend(number_of.setdefault(term, len(number_of)) for term in counts)
        weights.extend(counts.values())
        starts.append(len(numbers))
    return _core.Postings.of_terms(
        list(number_of),
        np.array(numbers, dtype=np.int32),
        np.array(weights, dtype=np.int32),
        np.array(starts, dtype=np.int64),
    )


def queries_of(queries: object, analyzer: Analyzer, name: str) -> list[Terms]:
    """Terms of each query with their quarters; a str or a Mapping is one query."""
    if isinstance(queries, (str, dict, Mapping)):  # dict for its own sake: a Mapping takes long to tell
        return [_terms(queries, name, analyzer)]
    return [_terms(one, f"{name}[{place}]", analyzer) for place, one in enumerate(_listed(queries, name))]


def vectors_of(given: object, name: str) -> SparseVectors:
    """Sparse vectors from a CSR matrix or from three arrays, checked and each in the order of its indices.

    Raises:
        InvalidInput: For arrays that do not fit each other, an index that is negative or above 2**32 - 1 or twice in
            one vector, a weight that is negative or not finite, and a squared norm above 2**125.
    """
    indices, values, starts = _arrays_of(given, name)
    wrong = (indices < 0) | (indices > _LARGEST_INDEX)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InvalidInput(f"{name}: expected indices from 0 to 2**32 - 1, got {indices[at]} at position {at}")
    with np.errstate(over="ignore", under="ignore"):
        weights = values.astype(np.float32)
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        at = int(np.argmax(wrong))
        row = int(np.searchsorted(starts, at, side="right")) - 1
        raise InvalidInput(
            f"{name}: vector {row} has weight {values[at]!r}; expected finite weights within float32, 0 or greater"
        )
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = np.lexsort((indices, rows))
    order = order[weights[order] > 0]
    rows, indices, weights = rows[order], indices[order], weights[order]
    twice = (rows[1:] == rows[:-1]) & (indices[1:] == indices[:-1])
    if twice.any():
        at = int(np.argmax(twice))
        raise InvalidInput(
            f"{name}: vector {rows[at]} has index {indices[at]} twice; add its weights up first (sum_duplicates())"
        )
    squared = np.bincount(rows, np.square(weights, dtype=np.float64), minlength=1)
    if squared.max() > _MOST_SQUARED_NORM:
        raise InvalidInput(
            f"{name}: vector {int(squared.argmax())} has squared norm {squared.max():g}, above the limit 2**125; scale "
            "the vectors down"
        )
    begins = np.searchsorted(rows, np.arange(len(starts))).astype(np.int64, copy=False)
    return SparseVectors(np.ascontiguousarray(indices, dtype=np.int64), np.ascontiguousarray(weights), begins)


def _arrays_of(given: Any, name: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Indices, values and starts whose shapes, dtypes and lengths are those of sparse vectors."""
    if isinstance(given, tuple) and len(given) == 3:
        columns, (indices, values, starts) = None, given
    elif all(hasattr(given, part) for part in ("indptr", "indices", "data", "shape")):
        if getattr(given, "format", "csr") != "csr":
            _checks.refuse(name, given, "a matrix in CSR form", "convert it with .tocsr()")
        indices, values, starts = given.indices, given.data, given.indptr
        columns = given.shape
    else:
        advice = "an index made with analyzer=None holds sparse vectors"
        _checks.refuse(name, given, "a CSR matrix, or (indices, values, starts)", advice)
    numbers, begins = _whole_numbers(indices, f"{name}: indices"), _whole_numbers(starts, f"{name}: starts")
    weights = np.asarray(values)
    if weights.ndim != 1 or (weights.dtype.kind not in "iuf" and weights.size > 0):
        raise InvalidInput(f"{name}: expected real weights of shape [n], got {weights.dtype} {list(weights.shape)}")
    if len(begins) == 0 or begins[0] != 0 or (np.diff(begins) < 0).any():
        raise InvalidInput(f"{name}: expected starts (indptr) that ascend from 0, one more than there are vectors")
    n = int(begins[-1])
    if len(numbers) < n or len(weights) < n or (columns is None and not len(numbers) == len(weights) == n):
        raise InvalidInput(
            f"{name}: starts (indptr) end at {n}, but there are {len(numbers)} indices and {len(weights)} weights"
        )
    if columns is not None:
        _require_shape(columns, len(begins) - 1, numbers[:n], name)
    return numbers[:n], weights[:n], begins


def _require_shape(shape: Any, rows: int, indices: npt.NDArray[np.int64], name: str) -> None:
    sound = isinstance(shape, tuple) and len(shape) == 2 and shape[0] == rows
    if not sound or (len(indices) > 0 and indices.max() >= shape[1]):
        raise InvalidInput(f"{name}: its shape is {shape!r}, its arrays are those of another; make the matrix anew")


def _whole_numbers(value: object, name: str) -> npt.NDArray[np.int64]:
    array = np.asarray(value)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size > 0):
        raise InvalidInput(f"{name}: expected whole numbers of shape [n], got {array.dtype} {list(array.shape)}")
    if array.dtype.kind == "u" and array.size > 0 and array.max() > np.iinfo(np.int64).max:
        raise InvalidInput(f"{name}: {array.max()} is too large")
    return np.ascontiguousarray(array, dtype=np.int64)


def _listed(given: object, name: str) -> Iterable[object]:
    if type(given) is list:  # as it mostly is
        return given
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable) or hasattr(given, "indptr"):
        advice = "wrap a single text in a list; sparse vectors are for an index made with analyzer=None"
        _checks.refuse(name, given, "a sequence of texts, or of mappings from terms to weights", advice)
    return given


def _terms(given: object, name: str, analyzer: Analyzer) -> Terms:
    if isinstance(given, str):
        return analyzer.counts(_checks.utf8(given, name))
    if _core.are_terms(given, _MOST_TERM_BYTES, _MOST_QUARTERS):  # nothing to convert, as it mostly is
        return given
    if not isinstance(given, Mapping):
        _checks.refuse(name, given, "a str, or a mapping from terms to weights", "decode or convert it first")
    found: Terms = {}
    for term, weight in given.items():
        if len(_checks.utf8(term, name).encode()) > _MOST_TERM_BYTES:
            raise InvalidInput(f"{name}: a term of {len(term)} characters; expected at most {_MOST_TERM_BYTES} bytes")
        if quarters := _checks.whole(weight, f"{name}[{term!r}]", most=_MOST_QUARTERS):
            found[term] = quarters
    return found
