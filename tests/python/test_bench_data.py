# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: where vectors come from, what is refused, and which rows a mask permits."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidex import InvalidInput
from evidex.bench import datasets, masks

ROWS = np.random.default_rng(0).standard_normal((40, 6)).astype(np.float16)
QUERIES = np.random.default_rng(1).standard_normal((9, 6))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.save(tmp_path / "vectors.npy", ROWS)
    np.save(tmp_path / "queries.npy", QUERIES)
    return tmp_path


def test_a_folder_is_read_converted_and_shuffled(folder: Path) -> None:
    whole = datasets.from_folder(folder, None, None, seed=0)
    assert whole.vectors.dtype == whole.queries.dtype == np.float32
    assert np.array_equal(whole.vectors, ROWS.astype(np.float32))
    narrow = QUERIES.astype(np.float32)
    assert not np.array_equal(whole.queries, narrow)
    assert sorted(map(tuple, whole.queries)) == sorted(map(tuple, narrow))
    assert (whole.facts.source, whole.facts.name, whole.facts.seed) == ("data", folder.name, None)
    part = datasets.from_folder(folder, 10, 4, seed=0)
    assert np.array_equal(part.vectors, whole.vectors[:10])
    assert np.array_equal(part.queries, whole.queries[:4])
    assert (part.facts.rows, part.facts.dim, part.facts.queries) == (10, 6, 4)
    assert part.facts.digest != whole.facts.digest
    other = datasets.from_folder(folder, None, None, seed=1)
    assert not np.array_equal(other.queries, whole.queries)
    assert datasets.from_folder(folder, None, None, seed=0).facts == whole.facts


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("vectors.npy", np.zeros(6, np.float32), r"vectors: expected shape \[n, dim\]"),
        ("vectors.npy", np.zeros((0, 6), np.float32), r"vectors: expected shape \[n, dim\]"),
        ("vectors.npy", np.zeros((4, 6), np.int64), "vectors: expected dtype float16"),
        ("vectors.npy", np.array([[0] * 6, [np.nan] * 6]), "vectors: row 1 holds NaN or infinity"),
        ("vectors.npy", np.array([[None] * 6]), "is no array that numpy can read"),
        ("queries.npy", np.zeros((4, 5), np.float32), r"queries: expected shape \[n, 6\]"),
        ("queries.npy", np.zeros(6, np.float32), r"queries: expected shape \[nq, 6\]"),
        ("queries.npy", np.full((1, 6), np.inf, np.float32), "queries: row 0 holds NaN or infinity"),
    ],
)
def test_wrong_arrays_are_refused(folder: Path, name: str, array: Any, message: str) -> None:
    np.save(folder / name, array)
    with pytest.raises(InvalidInput, match=message):
        datasets.from_folder(folder, None, None, seed=0)


def test_wrong_folders_and_numbers_are_refused(folder: Path) -> None:
    with pytest.raises(InvalidInput, match=r"rows: expected a number from 1 to 40, which the data has, got 41"):
        datasets.from_folder(folder, 41, None, seed=0)
    with pytest.raises(InvalidInput, match="queries: expected a number from 1 to 9"):
        datasets.from_folder(folder, None, 0, seed=0)
    (folder / "vectors.npy").write_bytes(b"\x93NUMPY truncated")
    with pytest.raises(InvalidInput, match="vectors.npy is no array"):
        datasets.from_folder(folder, None, None, seed=0)
    (folder / "vectors.npy").unlink()
    with pytest.raises(InvalidInput, match="vectors.npy is absent"):
        datasets.from_folder(folder, None, None, seed=0)


def test_hdf5_is_read_with_its_metric(tmp_path: Path) -> None:
    h5py: Any = pytest.importorskip("h5py")

    path = tmp_path / "toy.hdf5"
    with h5py.File(path, "w") as file:
        file["train"], file["test"] = ROWS, QUERIES
        file.attrs["distance"] = "euclidean"
    data = datasets.from_hdf5(path, 30, 5, seed=0)
    assert data.metric == "squared_l2"
    assert np.array_equal(data.vectors, ROWS[:30].astype(np.float32))
    assert (data.facts.source, data.facts.name, data.facts.queries) == ("hdf5", "toy.hdf5", 5)
    with pytest.raises(InvalidInput, match="rows: expected a number from 1 to 40"):
        datasets.from_hdf5(path, 41, None, seed=0)
    with h5py.File(path, "a") as file:
        file.attrs["distance"] = "jaccard"
    with pytest.raises(InvalidInput, match="one of angular, euclidean, ip, dot, got 'jaccard'"):
        datasets.from_hdf5(path, None, None, seed=0)
    with h5py.File(path, "a") as file:
        del file["test"]
    with pytest.raises(InvalidInput, match="has no test"):
        datasets.from_hdf5(path, None, None, seed=0)
    path.write_bytes(b"not hdf5")
    with pytest.raises(InvalidInput, match="cannot be read"):
        datasets.from_hdf5(path, None, None, seed=0)


def test_hdf5_without_its_package_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(InvalidInput, match=r"pip install evidex\[bench\]"):
        datasets.from_hdf5(tmp_path / "any.hdf5", None, None, seed=0)


def test_synthetic_data_is_clustered_and_follows_its_seed() -> None:
    data = datasets.synthetic(400, 64, None, 7, seed=3)
    assert data.vectors.shape == (400, 64)
    assert data.queries.shape == (7, 64)
    assert data.facts.seed == 3
    assert datasets.synthetic(400, 64, None, 7, seed=3).facts.digest == data.facts.digest
    assert datasets.synthetic(400, 64, None, 7, seed=4).facts.digest != data.facts.digest
    distances = np.linalg.norm(data.vectors[:, None] - data.vectors[None], axis=2)
    nearest = np.partition(distances, 1, axis=1)[:, 1]
    assert np.median(nearest) < 0.6 * np.median(distances)
    assert len(datasets.synthetic(30, 2, 20, None, seed=0).vectors) == 20
    with pytest.raises(InvalidInput, match="at least 1 row and 1 dimension, got 0,4"):
        datasets.synthetic(0, 4, None, None, seed=0)


@pytest.mark.parametrize("kind", masks.KINDS)
@pytest.mark.parametrize(("share", "permitted"), [(1.0, 400), (0.25, 100), (0.01, 4), (1e-9, 1)])
def test_a_mask_permits_its_share(kind: str, share: float, permitted: int) -> None:
    data = datasets.synthetic(400, 8, None, 5, seed=0)
    allow = masks.make(kind, share, data.vectors, data.queries, unit=False, seed=0)
    assert allow.dtype == np.bool_
    assert (len(allow), allow.sum()) == (400, permitted)


def test_random_masks_scatter_and_follow_their_seed_and_runs_do_not_scatter() -> None:
    data = datasets.synthetic(400, 8, None, 5, seed=0)
    scattered = {}
    for kind in ("random", "run"):
        allow = masks.make(kind, 0.1, data.vectors, data.queries, unit=False, seed=0)
        scattered[kind] = int(np.diff(np.flatnonzero(allow)).max())
        assert np.array_equal(allow, masks.make(kind, 0.1, data.vectors, data.queries, unit=False, seed=0))
        assert not np.array_equal(allow, masks.make(kind, 0.1, data.vectors, data.queries, unit=False, seed=1))
    assert scattered["run"] == 1
    assert scattered["random"] > 5


@pytest.mark.parametrize("unit", [False, True])
def test_correlated_rows_are_near_and_anti_rows_are_far(unit: bool) -> None:
    data = datasets.synthetic(500, 8, None, 5, seed=0)
    lengths = np.random.default_rng(2).uniform(0.1, 10, (500, 1)).astype(np.float32)
    vectors = data.vectors * lengths

    def seen(rows: Any) -> Any:
        return rows / np.linalg.norm(rows, axis=1, keepdims=True) if unit else rows

    near = masks.make("correlated", 0.1, vectors, data.queries, unit=unit, seed=0)
    distances = np.linalg.norm(seen(vectors)[:, None] - seen(vectors)[near][None], axis=2)
    within, beyond = distances[near].max(axis=0), distances[~near].min(axis=0)
    assert (within <= beyond + 1e-5).any()  # around one of them, the others are nearer than all the rest
    far = masks.make("anti", 0.1, vectors, data.queries, unit=unit, seed=0)
    mean = seen(data.queries).mean(axis=0, keepdims=True)
    away = np.linalg.norm(seen(vectors) - seen(mean), axis=1)
    assert away[far].min() >= away[~far].max() - 1e-5


@pytest.mark.parametrize(("kind", "share"), [("none", 0.1), ("random", 0.0), ("run", 1.1), ("anti", float("nan"))])
def test_wrong_masks_are_refused(kind: str, share: float) -> None:
    with pytest.raises(InvalidInput, match="^(mask|selectivity): expected"):
        masks.make(kind, share, np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32), unit=False, seed=0)
