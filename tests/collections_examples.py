# SPDX-License-Identifier: Apache-2.0
"""Small collections that many tests use."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evidex import ANY_IN_TENANT, UNRESTRICTED, Collection, EncoderIdentity, Policy, Principal
from reference import Floats

DIM = 3
EYE = np.eye(DIM, dtype=np.float32)
ALICE = Principal("alice", "acme", {"a"})
BOB = Principal("bob", "zenith", {"a"})


class HashEncoder:
    """Whole numbers, so that scores tie often; counts the texts it was given."""

    identity = EncoderIdentity("whole", DIM, query_prefix="q: ", document_prefix="d: ")
    name, dim = "whole", DIM

    def __init__(self) -> None:
        self.seen: list[str] = []

    def encode(self, texts: Sequence[str]) -> Floats:
        self.seen += texts
        return np.array([self.vector(text) for text in texts], np.float32)

    @staticmethod
    def vector(text: str) -> list[float]:
        plain = text.removeprefix("q: ").removeprefix("d: ")
        drawn = [float(byte % 4 - 1) for byte in hashlib.sha256(plain.encode()).digest()[:DIM]]
        return drawn if any(drawn) else [1.0] * DIM


@dataclass(frozen=True)
class Revision:
    name: str
    chunks: tuple[str, ...]
    vectors: Floats | None  # None: the encoder's
    metadata: dict[str, Any]

    @property
    def rows(self) -> Floats:
        made = [HashEncoder.vector(one) for one in self.chunks]
        return np.array(made, np.float32) if self.vectors is None else self.vectors


def in_memory(**how: Any) -> Collection:
    """Without rules, of vectors that are given."""
    return Collection.in_memory(policy=UNRESTRICTED, **({"dim": DIM} | how))


def open_at(path: Path, mode: str = "rw", **how: Any) -> Collection:
    return Collection.open(path, mode, policy=UNRESTRICTED, dim=DIM, **how)


def guarded_at(path: Path, mode: str = "rw", policy: Policy | None = None, **how: Any) -> Collection:
    return Collection.open(path, mode, policy=Policy() if policy is None else policy, dim=DIM, **how)


def stocked(kb: Collection, policy: Policy | None = None) -> Collection:
    """Three documents of one chunk each: alice may read the first two, bob the third."""
    rules: list[Any] = [None] * 3
    if policy is not None:
        rules = [policy.rule("acme", {"a"}), policy.rule("acme", ANY_IN_TENANT), policy.rule("zenith", {"a"})]
    for place, rule in enumerate(rules):
        kb.put_document(f"s{place}", "v1", chunks=[f"text {place}"], vectors=EYE[place : place + 1], rule=rule)
    return kb


def texts_of(reader: Any, principal: Any = None) -> list[str]:
    return sorted(chunk.text for chunk in reader.chunks(principal=principal))


def stored_in(folder: Path) -> list[Any]:
    """All that a collection stores, whoever has it open: rows of the catalog's tables, and bytes of segments."""
    with closing(sqlite3.connect(f"file:{folder / 'catalog.sqlite'}?mode=ro", uri=True)) as catalog:
        tables = [name for (name,) in catalog.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = [(name, sorted(catalog.execute(f"SELECT * FROM {name}"), key=repr)) for name in sorted(tables)]
    files = sorted(one for one in (folder / "segments").rglob("*") if one.is_file())
    return [rows, [(str(one), one.read_bytes()) for one in files]]
