# SPDX-License-Identifier: Apache-2.0
"""What the machine can do at most: how fast it reads memory and how fast it multiplies and adds."""

from __future__ import annotations

import platform
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from .. import DenseIndex

__all__ = ["BYTES", "measure", "processor"]

BYTES = 256 * 2**20
_SIDE = 1024
_TRIES = 5


def measure(threads: int, size: int) -> dict[str, Any]:
    """GB/s of a sum over ``size`` bytes by so many threads, GFLOP/s of a float32 matrix product, evidex's kernels.

    The product uses as many threads as numpy's BLAS was limited to by the environment of this process.
    """
    array = np.ones(size // 8)
    parts = np.array_split(array, threads)
    square = np.full((_SIDE, _SIDE), 0.5, np.float32)
    reads, products = [], []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(_TRIES):
            began = perf_counter()
            list(pool.map(np.sum, parts))
            reads.append(perf_counter() - began)
    for _ in range(_TRIES):
        began = perf_counter()
        square @ square
        products.append(perf_counter() - began)
    index = DenseIndex(1, metric="ip")
    return {
        "read_gb_s": array.nbytes / min(reads) / 1e9,
        "multiply_add_gflop_s": 2 * _SIDE**3 / min(products) / 1e9,
        "isa": index.explain(np.ones(1, np.float32), 1).isa,
    }


def processor() -> str:
    """The processor's name where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()
