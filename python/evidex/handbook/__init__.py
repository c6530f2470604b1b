# SPDX-License-Identifier: Apache-2.0
"""A small authored handbook of two invented sister companies, with questions whose answers are known.

The demo, the documentation and the tests run on it. Two tenants share a few source names but no document, five groups
appear in the rules, some policies have an old revision next to the current one, and every question names its caller.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from evidex.errors import InvalidInput

__all__ = ["Caller", "Document", "Gold", "Question", "documents", "questions"]

_SPLITS = ("development", "held_out")


@dataclass(frozen=True, slots=True)
class Document:
    """One revision of one document together with its access rule.

    Attributes:
        tenant: The company the document belongs to.
        source: The document's stable name inside its tenant.
        revision: The name of this version of it.
        text: The whole Markdown text; every span of a question counts characters in it.
        current: Whether this is the revision in force. Exactly one revision of a source is.
        allow: Groups that may read it, or None where everybody in the tenant may.
        deny: Groups that may not read it, whatever else they belong to.
    """

    tenant: str
    source: str
    revision: str
    text: str
    current: bool
    allow: frozenset[str] | None
    deny: frozenset[str]


@dataclass(frozen=True, slots=True)
class Gold:
    """A passage that answers a question: ``quote`` is exactly ``text[start:end]`` of that revision.

    Attributes:
        tenant: Tenant of the document.
        source: The document's name inside its tenant.
        revision: The revision whose text is counted.
        start: First character of the passage.
        end: One past its last character.
        quote: The passage itself.
    """

    tenant: str
    source: str
    revision: str
    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, in plain values; the application turns it into a principal.

    Attributes:
        id: Name of the caller.
        tenant: The caller's company.
        groups: The caller's groups; may be empty.
    """

    id: str
    tenant: str
    groups: frozenset[str]


@dataclass(frozen=True, slots=True)
class Question:
    """A question as one caller asks it, and where its answer lies.

    Attributes:
        id: Stable name, ``q01`` to ``q40``.
        split: ``"development"`` (for tuning) or ``"held_out"`` (for reporting).
        family: What makes the question hard, for example ``"exact_id"``, ``"version"`` or ``"no_answer"``.
        text: The question itself.
        caller: Who asks it.
        answerable: Whether current revisions that this caller may read answer it.
        gold: The passages that answer it; empty if it is not answerable. All of them are needed together.
        hidden: The passages that would answer it but are closed to this caller.
    """

    id: str
    split: str
    family: str
    text: str
    caller: Caller
    answerable: bool
    gold: tuple[Gold, ...]
    hidden: tuple[Gold, ...]


def documents(current_only: bool = True) -> tuple[Document, ...]:
    """Gives the handbook's documents of both tenants, in the order of the manifest.

    Args:
        current_only: Leave out the revisions that are no longer in force.

    Returns:
        Documents with their rules. With ``current_only=False`` an old revision comes before the one that replaced it.
    """
    return tuple(document for document in _load_documents() if document.current or not current_only)


def questions(split: str | None = None) -> tuple[Question, ...]:
    """Gives the questions, in the order of their ids.

    Args:
        split: ``"development"``, ``"held_out"``, or None for both.

    Returns:
        The questions of that split.

    Raises:
        InvalidInput: The split is neither of the two.
    """
    if split is not None and split not in _SPLITS:
        raise InvalidInput(f"split is {split!r}: expected 'development', 'held_out' or None")
    return tuple(question for question in _load_questions() if split is None or question.split == split)


def _read(*path: str) -> str:
    resource = files(__name__)
    for part in path:
        resource = resource.joinpath(part)
    return resource.read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _load_documents() -> tuple[Document, ...]:
    entries: list[Mapping[str, Any]] = json.loads(_read("manifest.json"))
    return tuple(
        Document(
            tenant=entry["tenant"],
            source=entry["source"],
            revision=entry["revision"],
            text=_read("documents", entry["file"]),
            current=entry["current"],
            allow=None if entry["allow"] == "any" else frozenset(entry["allow"]),
            deny=frozenset(entry["deny"]),
        )
        for entry in entries
    )


@lru_cache(maxsize=1)
def _load_questions() -> tuple[Question, ...]:
    entries: list[Mapping[str, Any]] = json.loads(_read("questions.json"))
    return tuple(
        Question(
            id=entry["id"],
            split=entry["split"],
            family=entry["family"],
            text=entry["text"],
            caller=Caller(
                id=entry["principal"]["id"],
                tenant=entry["principal"]["tenant"],
                groups=frozenset(entry["principal"]["groups"]),
            ),
            answerable=entry["answerable"],
            gold=_passages(entry["gold"]),
            hidden=_passages(entry.get("hidden", ())),
        )
        for entry in entries
    )


def _passages(entries: Iterable[Mapping[str, Any]]) -> tuple[Gold, ...]:
    return tuple(Gold(**entry) for entry in entries)
