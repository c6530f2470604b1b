# SPDX-License-Identifier: Apache-2.0
"""The child of a run over texts: as :mod:`evidex.bench.worker`, with documents and queries in files of JSON lines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from .. import worker
from . import load as load_peer

__all__ = ["Worker", "digest_of", "read", "write"]


def write(path: Path, values: Iterable[Any]) -> None:
    """One JSON value a line."""
    with path.open("w", encoding="utf-8") as file:
        for value in values:
            file.write(json.dumps(value) + "\n")


def read(path: str | Path) -> list[Any]:
    """What :func:`write` wrote."""
    with Path(path).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def digest_of(path: Path) -> str:
    """Equal for equal files."""
    return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()


class Worker:
    """One method per request; each returns the fields of its answer."""

    REQUESTS: ClassVar[tuple[str, ...]] = ("load", "build", "terms", "tune", "search")

    def __init__(self) -> None:
        self.peer: Any = None
        self.searched: int | None = None

    def load(self, peer: str, threads: int, form: str, build: dict[str, Any]) -> dict[str, Any]:
        """Imports the system."""
        self.peer = load_peer(peer, threads, form, build)
        return {"name": str(self.peer.name), "version": str(self.peer.version())}

    def build(self, documents: str) -> dict[str, Any]:
        """Times building alone; the documents are in memory before and after, so that growth is the system's."""
        given = self.peer.documents(read(documents))
        before = worker.resident_bytes()
        began = perf_counter()
        self.peer.build(given)
        seconds = perf_counter() - began
        after = worker.resident_bytes()
        del given
        size = self.peer.index_bytes()
        return {"seconds": seconds, "before": before, "after": after, "options": self.peer.options, "bytes": size}

    def terms(self, texts: str, out: str) -> dict[str, Any]:
        """Writes the system's own terms of each text."""
        write(Path(out), (dict(self.peer.terms(text)) for text in read(texts)))
        return {}

    def tune(self, search: dict[str, Any]) -> dict[str, Any]:
        """Sets the parameters of the searches that follow."""
        self.peer.tune(search)
        return {}

    def search(self, queries: str, batch: int, k: int, out: str) -> dict[str, Any]:
        """Times one call per batch, after one untimed call; see :meth:`evidex.bench.worker.Worker.search`."""
        asked = self.peer.queries(read(queries))
        batches = [asked[first : first + batch] for first in range(0, len(asked), batch)]
        seconds, found = worker.timed(lambda part: self.peer.search(part, k), batches)
        np.save(out, worker.padded(found, [len(part) for part in batches], k))
        del asked, batches, found
        if self.searched is None:
            self.searched = worker.resident_bytes()
        return {"seconds": seconds, "resident": self.searched}


if __name__ == "__main__":
    worker.main(Worker())
