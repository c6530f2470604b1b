# SPDX-License-Identifier: Apache-2.0
"""Vectors and queries to measure on: a folder of .npy files, an HDF5 file of ann-benchmarks, or made up here."""

from __future__ import annotations

import hashlib
import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import _arrays
from ..errors import InvalidInput
from .records import Data

__all__ = ["Dataset", "from_folder", "from_hdf5", "synthetic"]

_DEFAULT_QUERIES = 1000
_SPREAD = 0.5  # of a cluster, against distances of the order of 1 per dimension between centres
# What ann-benchmarks calls a metric.
_DISTANCES = {"angular": "cosine", "euclidean": "squared_l2", "ip": "inner_product", "dot": "inner_product"}


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows, queries in a shuffled order, and where they come from.

    Attributes:
        vectors: float32 [rows, dim].
        queries: float32 [queries, dim].
        metric: The one the source names, else None.
        facts: For the record.
    """

    vectors: _arrays.Floats
    queries: _arrays.Floats
    metric: str | None
    facts: Data


def from_folder(folder: Path, rows: int | None, queries: int | None, seed: int) -> Dataset:
    """``vectors.npy`` and ``queries.npy``, float16, float32 or float64, shape [n, dim].

    Args:
        folder: Where both files are.
        rows: The first so many; None for all.
        queries: So many of them, chosen by ``seed``; None for at most 1,000.
        seed: Of the queries' order.

    Raises:
        InvalidInput: For missing or unreadable files, other shapes and dtypes, NaN or infinity, or more rows or
            queries than there are.
    """
    vectors, asked = _npy(folder / "vectors.npy"), _npy(folder / "queries.npy")
    return _dataset("data", folder.resolve().name, vectors, asked, rows, queries, seed)


def from_hdf5(path: Path, rows: int | None, queries: int | None, seed: int) -> Dataset:
    """``train``, ``test`` and the attribute ``distance``, as ann-benchmarks lays them out. See :func:`from_folder`.

    Raises:
        InvalidInput: As there, for another distance, and where h5py is not installed.
    """
    try:
        h5py: Any = importlib.import_module("h5py")
    except ImportError as error:
        raise InvalidInput("hdf5: reading it needs h5py, which is not installed: pip install evidex[bench]") from error
    try:
        with h5py.File(path, "r") as file:
            distance = file.attrs.get("distance", "absent")
            missing = [name for name in ("train", "test") if name not in file]
            if missing:
                raise InvalidInput(f"hdf5: {path} has no {' and no '.join(missing)}; expected train and test")
            train = file["train"][: rows if rows is None else max(rows, 0)]
            held, asked = len(file["train"]), file["test"][:]
    except OSError as error:
        raise InvalidInput(f"hdf5: {path} cannot be read: {error}") from error
    name = distance.decode() if isinstance(distance, bytes) else str(distance)
    if name not in _DISTANCES:
        raise InvalidInput(f"hdf5: expected the attribute distance to be one of {', '.join(_DISTANCES)}, got {name!r}")
    _at_most("rows", rows, held)
    return _dataset("hdf5", path.name, train, asked, rows, queries, seed, metric=_DISTANCES[name])


def synthetic(n: int, dim: int, rows: int | None, queries: int | None, seed: int) -> Dataset:
    """Clustered Gaussian rows: sqrt(n) centres from N(0, 1), rows around them at half that spread; queries likewise.

    The first rows of a larger set are not those of a smaller one: the number of clusters differs.
    """
    if n < 1 or dim < 1:
        raise InvalidInput(f"synthetic: expected at least 1 row and 1 dimension, got {n},{dim}")
    centres = np.random.default_rng([seed, 0]).standard_normal((max(1, round(n**0.5)), dim), dtype=np.float32)
    asked = _DEFAULT_QUERIES if queries is None else queries
    vectors, around = (_around(centres, count, [seed, stream]) for stream, count in ((1, n), (2, max(asked, 1))))
    return _dataset("synthetic", f"{n},{dim}", vectors, around, rows, queries, seed, made=True)


def _around(centres: _arrays.Floats, count: int, seed: list[int]) -> _arrays.Floats:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((count, centres.shape[1]), dtype=np.float32)
    rows *= np.float32(_SPREAD)
    rows += centres[rng.integers(0, len(centres), count)]
    return rows


def _npy(path: Path) -> Any:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError as error:
        raise InvalidInput(f"data: {path} is absent; the folder needs vectors.npy and queries.npy") from error
    except (OSError, ValueError, EOFError) as error:
        raise InvalidInput(f"data: {path} is no array that numpy can read: {error}") from error


def _dataset(
    source: str,
    name: str,
    vectors: Any,
    asked: Any,
    rows: int | None,
    queries: int | None,
    seed: int,
    *,
    metric: str | None = None,
    made: bool = False,
) -> Dataset:
    if vectors.ndim != 2 or 0 in vectors.shape:
        raise InvalidInput(f"vectors: expected shape [n, dim], n and dim at least 1, got {list(vectors.shape)}")
    _at_most("rows", rows, len(vectors))
    kept = _checked(vectors[:rows], vectors.shape[1], "vectors")
    if asked.ndim != 2 or len(asked) < 1:
        raise InvalidInput(f"queries: expected shape [nq, {kept.shape[1]}], nq at least 1, got {list(asked.shape)}")
    wanted = min(_DEFAULT_QUERIES, len(asked)) if queries is None else queries
    _at_most("queries", wanted, len(asked))
    order = np.random.default_rng([seed, 3]).permutation(len(asked))[:wanted]
    shuffled = _checked(asked[order], kept.shape[1], "queries")
    digest = hashlib.blake2b(kept.data, digest_size=8)
    digest.update(shuffled.data)
    facts = Data(source, name, len(kept), kept.shape[1], len(shuffled), seed if made else None, digest.hexdigest())
    return Dataset(kept, shuffled, metric, facts)


def _checked(array: Any, dim: int, name: str) -> _arrays.Floats:
    """float32 in memory, every value finite: the systems differ in what they do with others."""
    converted = _arrays.vectors(array, dim, name, scaled=False)
    if converted.base is not None:
        converted = converted.copy()  # a view would keep its file, or all of a larger array
    for first in range(0, len(converted), 65536):
        finite = np.isfinite(converted[first : first + 65536]).all(axis=1)
        if not finite.all():
            raise InvalidInput(f"{name}: row {first + int(np.argmin(finite))} holds NaN or infinity")
    return converted


def _at_most(name: str, wanted: int | None, there: int) -> None:
    if wanted is not None and not 1 <= wanted <= there:
        raise InvalidInput(f"{name}: expected a number from 1 to {there}, which the data has, got {wanted}")
