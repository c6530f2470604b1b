# SPDX-License-Identifier: Apache-2.0
"""Small collections for tests: texts and vectors follow from names, so what is stored follows from a few words."""

from __future__ import annotations

import random
import shutil
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from evidex import UNRESTRICTED, Collection, Document, Policy, Principal, Rule, SparseIndex
from evidex.access import Caller
from evidex.store.reader import CollectionReader
from evidex.text import Analyzer

DIM = 8
TENANT = "acme"
READERS = {group: Principal(f"reader-{group}", TENANT, {group}) for group in ("a", "b")}
OPTIONS: dict[str, Any] = {"dim": DIM, "metric": "ip", "analyzer": Analyzer()}  # vectors are kept to the bit
QUESTION = "Part 2 of d1, d3 or d5?"


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A new folder in memory where there is one: a durable write takes tens of milliseconds on a disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


def texts(source: str, revision: str) -> list[str]:
    """One to three chunks."""
    count = 1 + zlib.crc32(f"{source} {revision}".encode()) % 3
    return [f"Part {part} of {source}, as of {revision}. " for part in range(count)]


def vectors(source: str, revision: str, dim: int = DIM) -> Any:
    """Small whole numbers: scores are exact in any order of addition."""
    seed = zlib.crc32(f"{source}|{revision}".encode())
    rows = len(texts(source, revision))
    return np.random.default_rng(seed).integers(-8, 9, (rows, dim)).astype(np.float32)


def document(source: str, revision: str, rule: Rule | None, dim: int = DIM) -> Document:
    return Document(source, revision, chunks=texts(source, revision), vectors=vectors(source, revision, dim), rule=rule)


def rules_of(policy: Policy) -> dict[str, Rule]:
    """A rule for each group; the same rules each time."""
    return {group: policy.rule(TENANT, {group}) for group in READERS}


def opened(folder: Path, mode: str = "r", **options: Any) -> Collection:
    given = OPTIONS | options if mode == "rw" else options
    return Collection.open(folder, mode, policy=Policy(), **given)


def filled(folder: Path, documents: int = 4, **options: Any) -> Collection:
    """Documents d0, d1, ... in their revision r1, under the rules of a and b by turns; d0 has an r0 that is retired."""
    collection = opened(folder, "rw", **options)
    assert collection._policy is not None
    rules = rules_of(collection._policy)
    dim = collection.settings.dim
    collection.put_documents([document("d0", "r0", rules["a"], dim)])
    collection.put_documents([document(f"d{i}", "r1", rules["ab"[i % 2]], dim) for i in range(documents)])
    return collection


@dataclass(frozen=True)
class Doc:
    """What a document is: who reads it, its visible revision, and all that are stored."""

    group: str | None
    visible: str | None
    revisions: frozenset[str]


State = Mapping[str, Doc]


@dataclass(frozen=True)
class Op:
    """A call that changes a collection."""

    name: str
    documents: tuple[tuple[str, str, str], ...] = ()  # source, revision, group
    each: bool = False  # a batch for each document


def choose(rng: random.Random, state: State) -> Op:
    """A call that can succeed."""
    name = rng.choice(["put"] * 4 + ["delete", "restore", "set_rule", "optimize", "compact", "erase"])
    visible = sorted(source for source, doc in state.items() if doc.visible)
    if name in ("optimize", "compact"):
        return Op(name)
    if name == "put" or not visible:
        sources = rng.sample(range(12), rng.randrange(1, 5))
        new = tuple((f"d{source}", f"r{rng.randrange(10**6)}", rng.choice("ab")) for source in sources)
        return Op("put", new, rng.random() < 0.4)
    source = rng.choice(visible if name == "delete" else sorted(state))
    return Op(name, ((source, rng.choice(sorted(state[source].revisions)), rng.choice("ab")),))


def steps(state: State, op: Op) -> list[State]:
    """The states that a call passes through, each of which a crash may leave; the last is what it promises."""
    found: list[dict[str, Doc]] = []
    now = dict(state)
    for source, revision, group in op.documents:
        doc = now.get(source, Doc(group, None, frozenset()))
        if op.name == "put":
            now[source] = Doc(group, revision, doc.revisions | {revision})
        elif op.name == "delete":
            now[source] = replace(doc, visible=None)
        elif op.name == "restore":
            now[source] = replace(doc, visible=revision)
        elif op.name == "set_rule":
            now[source] = replace(doc, group=group)
        else:
            found.append(now | {source: Doc(None, None, doc.revisions)})  # hidden first
            del now[source]
        if op.each:
            found.append(dict(now))
    if op.name == "compact":
        now = {s: replace(doc, revisions=frozenset([doc.visible])) for s, doc in now.items() if doc.visible}
    return [*found, now]


def perform(collection: Collection, op: Op) -> None:
    assert collection._policy is not None
    rules = rules_of(collection._policy)
    if op.name == "put":
        given = [document(source, revision, rules[group]) for source, revision, group in op.documents]
        collection.put_documents(given, batch=1 if op.each else 1000)
    elif op.name == "restore":
        collection.restore(TENANT, *op.documents[0][:2])
    elif op.name == "set_rule":
        collection.set_rule(TENANT, op.documents[0][0], rules[op.documents[0][2]])
    elif op.name in ("delete", "erase"):
        (collection.delete_document if op.name == "delete" else collection.erase)(TENANT, op.documents[0][0])
    else:
        getattr(collection, op.name)()


def expected(state: State) -> dict[str, Any]:
    """What :func:`content` gives for a collection in this state."""
    found: dict[str, Any] = {"stored": sorted((source, r) for source, doc in state.items() for r in doc.revisions)}
    for group in ("a", "b", None):
        found[str(group)] = sorted(
            (source, doc.visible, text, vector.tobytes())
            for source, doc in state.items()
            if doc.visible and group in (doc.group, None)
            for text, vector in zip(texts(source, doc.visible), vectors(source, doc.visible), strict=True)
        )
        found[f"{group}'s words"] = by_words([row[2] for row in found[str(group)]])
    return found


def by_words(texts: list[str]) -> list[tuple[str, float]]:
    """What an index of these texts alone says to QUESTION."""
    index = SparseIndex()
    index.add(range(len(texts)), texts)
    (best,) = index.search(QUESTION, len(texts))
    return sorted((texts[i], score) for i, score in zip(best.ids.tolist(), best.scores.tolist(), strict=True))


def content(collection: CollectionReader) -> dict[str, Any]:
    """All that can be read, by whom, and the revisions that are stored."""
    found: dict[str, Any] = {
        "stored": sorted(
            collection._catalog.all("SELECT source, name FROM revisions JOIN documents ON documents.number = document")
        )
    }
    callers: list[tuple[str, Caller]] = [*READERS.items(), ("None", UNRESTRICTED)]
    for group, principal in callers:
        chunks = list(collection.chunks(principal=principal))
        rows = collection.get([int(chunk.id[:16], 16) >> 1 for chunk in chunks], principal=principal)
        found[group] = sorted(
            (one.source, one.revision, one.text, row.tobytes()) for one, row in zip(chunks, rows, strict=True)
        )
        best = collection.retrieve(QUESTION, 1000, mode="sparse", principal=principal)
        found[f"{group}'s words"] = sorted((one.chunk.text, one.score) for one in best)
    return found


def leftovers(folder: Path, collection: Collection) -> list[str]:
    """Names that a crash left behind."""
    kept = {f"{number:08d}" for (number,) in collection._catalog.all("SELECT number FROM segments")}
    return [path.name for path in (folder / "segments").iterdir() if path.name not in kept]


def copied(folder: Path, to: Path) -> Path:
    """A copy of a collection as it lies there, over what was there."""
    shutil.rmtree(to, ignore_errors=True)
    with suppress(FileNotFoundError):
        shutil.copytree(folder, to)
    return to


def large(rows: int, dim: int) -> Document:
    """A document of many chunks."""
    block = np.random.default_rng(1).standard_normal((rows, dim)).astype(np.float32)
    return Document("large", "r1", chunks=[f"part {i}" for i in range(rows)], vectors=block)
