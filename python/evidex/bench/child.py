# SPDX-License-Identifier: Apache-2.0
"""One child process seen from the parent: limited threads, asked line by line, never waited for without end."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from ..errors import EvidexError

__all__ = ["Child", "ChildError", "ChildGone", "LeftOut"]

_PATIENCE = 5.0  # seconds between the end of its input and the end of a child
_TAIL = 600  # characters of standard error that go into a reason
_LIMITS = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "RAYON")


class ChildError(EvidexError):
    """The system failed: an error of its own, the end of its process, or no answer in time."""


class ChildGone(ChildError):
    """It failed and there is no process any more."""


class LeftOut(Exception):
    """The system says that it cannot do this."""


class Child:
    """A worker process.

    Args:
        folder: For its standard error.
        name: Unique in this run.
        threads: Limit for the thread pools of its libraries.
        timeout: Most seconds to wait for one answer.
        module: What runs in it.
    """

    def __init__(
        self, folder: Path, name: str, threads: int, timeout: float, module: str = "evidex.bench.worker"
    ) -> None:
        self._timeout = timeout
        self._stderr = folder / f"{name}.stderr"
        limits = {f"{library}_NUM_THREADS": str(threads) for library in _LIMITS}
        limits["VECLIB_MAXIMUM_THREADS"] = str(threads)
        with self._stderr.open("wb") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={**os.environ, **limits},
            )
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def ask(self, do: str, **fields: Any) -> dict[str, Any]:
        """Sends a request and waits for its answer.

        Raises:
            ChildError: If it failed; ChildGone if it ended, or was ended because it did not answer in time.
            LeftOut: If the system cannot do this.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **fields}).encode() + b"\n")
            self._process.stdin.flush()
            line = self._lines.get(timeout=self._timeout)
        except OSError:
            line = b""
        except queue.Empty:
            self.close(kill=True)
            raise ChildGone(f"no answer to {do!r} within {self._timeout:g} s{self._tail()}") from None
        if not line:
            self.close(kill=True)
            raise ChildGone(f"the process ended with code {self._process.returncode} at {do!r}{self._tail()}")
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError:
            self.close(kill=True)
            raise ChildGone(f"{line[:80]!r} is no answer to {do!r}{self._tail()}") from None
        if answer.get("kind") == "left_out":
            raise LeftOut(answer["error"])
        if "error" in answer:
            raise ChildError(f"{answer['error']} (at {do!r}){self._tail()}")
        return answer

    def close(self, *, kill: bool = False) -> None:
        """Ends the process: politely, or at once; may be called again."""
        if kill:
            self._process.kill()
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(_PATIENCE)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._lines.put(line)
        self._lines.put(b"")

    def _tail(self) -> str:
        text = self._stderr.read_text(encoding="utf-8", errors="replace").strip()
        return f"; standard error ends: {text[-_TAIL:]}" if text else ""
