# SPDX-License-Identifier: Apache-2.0
"""The child: one system, told what to do by lines of JSON, with arrays in .npy files beside them.

Requests have ``do``; the answer to each is one line, with ``error`` and ``kind`` (``failed`` or ``left_out``) if it
did not work; the end of input ends it. The other fields of a request are the arguments of the method of :class:`Worker`
that ``do`` names: load, build, prepare, search, probe, and for sweeps grid and tune.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Any, BinaryIO, ClassVar, Protocol

import numpy as np

from ..errors import EvidexError
from . import ann, peers, probe

__all__ = ["Serving", "Worker", "main", "padded", "resident_bytes", "serve", "timed"]


def resident_bytes() -> int | None:
    """Resident memory of this process, once what was freed has been given back where the C library can.

    None on systems without /proc.
    """
    gc.collect()
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


class Worker:
    """One method per request; each returns the fields of its answer."""

    REQUESTS: ClassVar[tuple[str, ...]] = ("grid", "load", "build", "prepare", "tune", "search", "probe")

    def __init__(self) -> None:
        self.peer: Any = None
        self.allow: Any = None
        self.rows = 0
        self.searched: int | None = None

    def grid(self, peer: str, rows: int, dim: int, size: str) -> dict[str, Any]:
        """The points of a system's sweep: parameters of building, each with those of searching."""
        return {"grid": ann.grid(peer, rows, dim, size)}

    def load(self, peer: str, threads: int, build: dict[str, Any] | None = None) -> dict[str, Any]:
        """Imports the system; ``build`` has its parameters in a sweep."""
        self.peer = peers.load(peer, threads) if build is None else ann.load(peer, threads, build)
        return {"name": str(self.peer.name), "version": str(self.peer.version())}

    def build(self, vectors: str, metric: str) -> dict[str, Any]:
        """Builds from a file that is mapped, so that letting go of it leaves only what the system keeps."""
        before = resident_bytes()
        mapped = np.load(vectors, mmap_mode="r")
        rows = np.asarray(mapped)
        rows.max()  # brings the file in before the clock starts
        began = perf_counter()
        self.peer.build(rows, metric)
        seconds = perf_counter() - began
        self.rows, self.searched = len(rows), None
        del rows, mapped
        options = getattr(self.peer, "options", {})
        return {"seconds": seconds, "before": before, "after": resident_bytes(), "options": options}

    def prepare(self, allow: str | None) -> dict[str, Any]:
        """Makes a mask ready."""
        mask = None if allow is None else np.load(allow)
        began = perf_counter()
        self.allow = self.peer.prepare(mask)
        return {"seconds": perf_counter() - began}

    def tune(self, search: dict[str, Any]) -> dict[str, Any]:
        """Sets the parameters of the searches that follow."""
        if search or hasattr(self.peer, "tune"):  # a peer without a grid has neither
            self.peer.tune(search)
        return {}

    def search(self, queries: str, batch: int, k: int, out: str) -> dict[str, Any]:
        """Times one call per batch, after one untimed call; the answers go to a file.

        ``resident`` is the memory after the first request since the system was built.
        """
        asked = np.load(queries)
        batches = [asked[first : first + batch] for first in range(0, len(asked), batch)]
        seconds, found = timed(lambda part: self.peer.search(part, k, self.allow), batches)
        np.save(out, padded(found, [len(part) for part in batches], k))
        del asked, batches, found
        if self.searched is None:
            self.searched = resident_bytes()
        return {"seconds": seconds, "resident": self.searched}

    def probe(self, threads: int, bytes: int) -> dict[str, Any]:
        """Measures the machine."""
        return probe.measure(threads, bytes)


def timed(call: Callable[[Any], Any], batches: Sequence[Any]) -> tuple[list[float], list[Any]]:
    """Seconds and answers of one call per batch, after one for the last batch that does not count."""
    seconds, found = [], []
    call(batches[-1])
    for part in batches:
        began = perf_counter()
        ids = call(part)
        seconds.append(perf_counter() - began)
        found.append(ids)
    return seconds, found


def padded(found: list[Any], sizes: list[int], k: int) -> Any:
    """int64 [nq, k]; fewer columns are filled with -1, more are refused."""
    ids = np.full((sum(sizes), k), -1, np.int64)
    start = 0
    for part, size in zip(found, sizes, strict=True):
        array = np.asarray(part)
        if array.ndim != 2 or len(array) != size or array.shape[1] > k or array.dtype.kind not in "iu":
            raise ValueError(f"expected whole numbers [{size}, at most {k}], got {array.dtype} {list(array.shape)}")
        ids[start : start + size, : array.shape[1]] = array
        start += size
    return ids


class Serving(Protocol):
    """What answers requests: a method for each name in ``REQUESTS``."""

    REQUESTS: ClassVar[tuple[str, ...]]


def serve(requests: BinaryIO, answers: BinaryIO, worker: Serving | None = None) -> None:
    """Answers until there are no more requests."""
    worker = worker or Worker()
    for line in requests:
        request = json.loads(line)
        try:
            answer = _method(worker, request.pop("do"))(**request)
        except NotImplementedError as error:
            # Without a reason it is a method that was forgotten.
            kind = "left_out" if str(error) else "failed"
            answer = {"error": str(error) or "NotImplementedError", "kind": kind}
        except Exception as error:  # whatever the system raises is that system's failure
            if not isinstance(error, EvidexError):  # whose messages say it all
                traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}", "kind": "failed"}
        answers.write(json.dumps(answer, default=str).encode() + b"\n")
        answers.flush()


def _method(worker: Serving, do: str) -> Callable[..., dict[str, Any]]:
    if do not in worker.REQUESTS:
        raise ValueError(f"expected one of {', '.join(worker.REQUESTS)}, got {do!r}")
    method: Callable[..., dict[str, Any]] = getattr(worker, do)
    return method


def main(worker: Serving | None = None) -> None:
    """Keeps standard output for answers: what a library prints there goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers, worker)


if __name__ == "__main__":
    main()
