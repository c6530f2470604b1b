# SPDX-License-Identifier: Apache-2.0
"""Small collections that keep words, and what they say."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from collections_examples import HashEncoder
from evidex import UNRESTRICTED, Collection, Policy, SparseIndex
from evidex.text import Analyzer

OPEN: dict[str, str] = {
    "refunds": "Refunds are paid within thirty days of the refund request.",
    "office": "The office opens at eight and the desk at nine.",
    "parts": "Pump IX-2350-B replaces the valve of pump AX-7.",
    "days": "Thirty days are a month at the office.",
}

QUESTIONS = ("thirty days of the office", "refund", "pump AX-7 valve 2350", "the", "nonsense")


def words(folder: Path | None = None, mode: str = "rw", policy: Any = UNRESTRICTED, **how: Any) -> Collection:
    """A collection with words, in a folder or in memory."""
    given: dict[str, Any] = {"policy": policy, "encoder": HashEncoder(), "analyzer": Analyzer()} | how
    return Collection.in_memory(**given) if folder is None else Collection.open(folder, mode, **given)


def stocked(kb: Collection, texts: dict[str, str] | None = None, rule: Any = None) -> Collection:
    """A document for each text, one chunk each."""
    for source, text in (OPEN if texts is None else texts).items():
        kb.put_document(source, "v1", chunks=[text], rule=rule)
    return kb


def said(reader: Any, question: str, k: int = 100, mode: str = "sparse", **how: Any) -> list[tuple[Any, ...]]:
    """All that is said of each chunk, best first."""
    return [
        (one.chunk.source, one.chunk.text, one.score, dict(one.legs), dict(one.ranks))
        for one in reader.retrieve(question, k, mode=mode, **how)
    ]


def sources(reader: Any, question: str, k: int = 100, mode: str = "sparse", **how: Any) -> list[str]:
    return [one[0] for one in said(reader, question, k, mode, **how)]


def scores(reader: Any, question: str, **how: Any) -> list[tuple[str, float]]:
    """Texts and scores by words."""
    return sorted((text, score) for _, text, score, *_ in said(reader, question, **how))


def alone(texts: Iterable[str], question: str) -> list[tuple[str, float]]:
    """Texts and scores of an index that never held others."""
    every = list(texts)
    index = SparseIndex()
    index.add(range(len(every)), every)
    best = index.search(question, len(every))[0]
    return sorted((every[i], score) for i, score in zip(best.ids.tolist(), best.scores.tolist(), strict=True))


def visible(reader: Any) -> list[str]:
    return [chunk.text for chunk in reader.chunks()]


def require_alone(reader: Any) -> None:
    """Frequencies and lengths are those of the visible chunks: scores have the bits of an index that held no others."""
    for question in QUESTIONS:
        assert scores(reader, question) == alone(visible(reader), question)


def files_with(folder: Path, word: str) -> list[str]:
    """Names of files that hold a word in any case."""
    found = []
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError, IsADirectoryError):
            if word.lower().encode() in path.read_bytes().lower():
                found.append(path.name)
    return found


def ruled(policy: Policy) -> dict[str, Any]:
    """Rules of the documents of :func:`guarded`."""
    return {
        "secret": policy.rule("acme", ()),
        "open": policy.rule("acme", {"support", "legal"}),
        "legal": policy.rule("acme", {"legal"}),
        "foreign": policy.rule("zenith", {"support"}),
    }


GUARDED = {
    "secret": "secret salary secret salary",
    "open": "salary bands are public",
    "legal": "secret salary of the court",
    "foreign": "salary secret",
}


def guarded(kept: Iterable[str] = tuple(GUARDED), folder: Path | None = None, **how: Any) -> Collection:
    """Of each document of GUARDED that is kept, one chunk under its rule; chunk vectors are best for the secret."""
    policy = Policy()
    kb = words(folder, policy=policy, metric="ip", **how)
    rules, asked = ruled(policy), HashEncoder.vector("secret salary")
    for place, (source, text) in enumerate(GUARDED.items()):
        if source in kept:
            vector = [[(9.0 - 2 * place) * part for part in asked]]
            kb.put_document(source, "v1", chunks=[text], vectors=vector, rule=rules[source])
    return kb
