# SPDX-License-Identifier: Apache-2.0
"""Attacks on the postings of what is stored: files with another content, and a catalog that says something else."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from evidex import _core
from evidex.lexical.documents import postings_of
from evidex.store import npy
from evidex.text import Analyzer


def postings_file(folder: Path, segment: int = 1) -> Path:
    return folder / "segments" / f"{segment:08d}" / "postings.npy"


def changed(folder: Path, key: str, value: Any) -> None:
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as catalog, catalog:
        assert catalog.execute("UPDATE meta SET value = ? WHERE key = ?", (value, key)).rowcount == 1


def settings_of(folder: Path) -> Any:
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as catalog:
        return json.loads(catalog.execute("SELECT value FROM meta WHERE key = 'settings'").fetchone()[0])


def with_analyzer(folder: Path, value: Any) -> None:
    """Settings that name another analyser."""
    changed(folder, "settings", json.dumps(settings_of(folder) | {"analyzer": value}))


def with_digests(folder: Path, change: Callable[[dict[str, Any]], object], segment: int = 1) -> None:
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as catalog, catalog:
        found = catalog.execute("SELECT digests FROM segments WHERE number = ?", (segment,)).fetchone()
        change(digests := json.loads(found[0]))
        catalog.execute("UPDATE segments SET digests = ? WHERE number = ?", (json.dumps(digests), segment))


def crafted(folder: Path, content: Any, segment: int = 1) -> None:
    """Puts an array in the place of a segment's postings, with the digest that goes with it."""
    postings_file(folder, segment).unlink()
    digest = hashlib.sha256()
    npy.write(str(postings_file(folder, segment)), content, digest)
    with_digests(folder, lambda digests: digests.update(postings=digest.hexdigest()), segment)


def of_vectors(rows: int) -> Any:
    """Postings of rows with one component each."""
    one = np.zeros(rows, dtype=np.int64), np.ones(rows, dtype=np.float32), np.arange(rows + 1)
    return _core.Postings.of_vectors(*one).bytes()


def of_words(*texts: str) -> Any:
    return postings_of(list(texts), Analyzer()).bytes()


NO_POSTINGS: dict[str, Callable[[], Any]] = {
    "nothing": lambda: np.empty(0, dtype=np.uint8),
    "zeros": lambda: np.zeros(4096, dtype=np.uint8),
    "ones": lambda: np.full(4096, 255, dtype=np.uint8),
    "noise": lambda: np.random.default_rng(1).integers(0, 256, 5000, dtype=np.uint8),
    "other numbers": lambda: of_words("a").astype(np.uint16),
    "all but its last byte": lambda: of_words("a b c")[:-1],
    "its first half": lambda: np.array_split(of_words("a b c"), 2)[0],
}
NO_WORDS_OF_A_ROW: dict[str, Callable[[], Any]] = {
    "words of two rows": lambda: of_words("a", "b"),
    "words of no row": of_words,
    "weights of vectors": lambda: of_vectors(1),
    **NO_POSTINGS,
}
NO_VECTOR_OF_A_ROW: dict[str, Callable[[], Any]] = {
    "vectors of two rows": lambda: of_vectors(2),
    "vectors of no row": lambda: of_vectors(0),
    "words": lambda: of_words("a"),
    **NO_POSTINGS,
}
