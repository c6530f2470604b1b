# SPDX-License-Identifier: Apache-2.0
"""What the benchmark scripts share: the data, interleaved timing, one line about the machine."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

Floats = npt.NDArray[np.float32]


def data_folder(name: str) -> Path:
    """A folder of the shared data: $EVIDEX_DATA, or ../shared/data beside the project."""
    folder = Path(os.environ.get("EVIDEX_DATA", ROOT.parent / "shared" / "data")) / name
    if not folder.is_dir():
        raise SystemExit(f"{folder} is absent: set EVIDEX_DATA to the folder that holds {name}")
    return folder


def wordnet() -> tuple[Floats, Floats]:
    """Rows [116659, 384] and queries [1000, 384], the queries shuffled."""
    folder = data_folder("wordnet-minilm")
    rows = np.load(folder / "vectors.npy").astype(np.float32)
    queries = np.load(folder / "queries.npy").astype(np.float32)
    return rows, queries[np.random.default_rng(20).permutation(len(queries))]


def digest(rows: Floats, queries: Floats) -> str:
    """As in the records of `evidex bench`: equal digests are equal data."""
    found = hashlib.blake2b(np.ascontiguousarray(rows).data, digest_size=8)
    found.update(np.ascontiguousarray(queries).data)
    return found.hexdigest()


def machine() -> str:
    """Processor, cores and versions, for the figures that go with them."""
    model = platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}"


def interleaved(systems: Mapping[str, Callable[[Any], object]], inputs: Any) -> dict[str, npt.NDArray[np.float64]]:
    """Seconds per input and system; all systems see an input before the next one, in rotating order."""
    names = list(systems)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for name in names:  # warm-up
        systems[name](inputs[0])
    for turn, given in enumerate(inputs):
        for offset in range(len(names)):
            name = names[(turn + offset) % len(names)]
            began = time.perf_counter()
            systems[name](given)
            seconds[name].append(time.perf_counter() - began)
    return {name: np.array(values) for name, values in seconds.items()}


def paired(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> float:
    """Median of the per-input ratios."""
    return float(np.median(one / other))
