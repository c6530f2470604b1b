# SPDX-License-Identifier: Apache-2.0
"""Small retrieval logs, and an independent way to seal their lines."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import numpy as np

from evidex import Principal, RetrievalLog

KEY = b"a key of the tests, 32 bytes lon"
OTHER = b"another key of the tests, 32 byt"
ALICE = Principal("alice", "acme", {"support", "legal"})
ZEROS = "0" * 64


def add(log: RetrievalLog, number: int, principal: object = ALICE) -> None:
    """One search that found rows ``number`` and 7."""
    ids, scores = np.array([number, 7]), np.array([0.75, 0.1], np.float32)
    log.record("search", principal, layout=3, generation=5, plan="exact scan", k=2, ids=[ids], scores=[scores])


def write(path: Path, reads: int = 5, key: bytes | None = KEY, **options: Any) -> str:
    """A log of so many reads; its head."""
    with RetrievalLog(path, key=key, **options) as log:
        for number in range(reads):
            add(log, number)
        return log.head


def three_files(path: Path, key: bytes | None = KEY, **options: Any) -> str:
    """Files of three lines: an opening and two reads each."""
    return write(path, 6, key, most_bytes=800, **options)


def rotated(path: Path, number: int) -> Path:
    """Where a full file is."""
    return path.with_name(f"{path.name}.{number:06d}")


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def objects_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines_of(path)]


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def sealed(body: bytes, key: bytes | None = None) -> bytes:
    """The line made of a body, which need not be JSON."""
    seal = sha(body) if key is None else hmac.new(key, body, "sha256").hexdigest()
    return body[:-1] + b',"seal":"' + seal.encode() + b'"}\n'


def resealed(line: bytes, prev: str | None = None, key: bytes | None = None, **change: Any) -> bytes:
    """A line with some of its fields changed."""
    fields = {**json.loads(line), **change}
    del fields["seal"]
    if prev is not None:
        fields["prev"] = prev
    return sealed(json.dumps(fields, separators=(",", ":")).encode(), key)
