# SPDX-License-Identifier: Apache-2.0
"""The values that travel from retrieval to a checked answer: chunks, evidence, packets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Chunk", "Evidence", "Floor", "Omitted", "Packet", "Span"]


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open range ``[start, end)`` of characters in one revision's text."""

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Chunk:
    """A retrievable unit: ``text`` is exactly ``source_text[start:end]`` of that revision.

    ``id`` is the hex digest made by :func:`evidex.text.chunk_id` from all the other fields.
    """

    id: str
    tenant: str
    source: str
    revision: str
    start: int
    end: int
    text: str

    @property
    def span(self) -> Span:
        """The chunk's place in its source."""
        return Span(self.start, self.end)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A permitted chunk with the score it was ranked by and the score each leg gave it.

    ``score`` orders evidence (higher is better) and is not a probability. ``legs`` maps a leg's
    name ("dense", ...) to that leg's own score, ``ranks`` to its rank there, from 1; a leg that did
    not find the chunk is absent.
    """

    chunk: Chunk
    score: float
    # Not proxies by default: evidence can be copied and pickled.
    legs: Mapping[str, float] = field(default_factory=dict)
    ranks: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Floor:
    """Evidence floor: the least score the best chunk of a named leg must reach before anything is packed."""

    leg: str
    min_score: float


@dataclass(frozen=True, slots=True)
class Omitted:
    """A chunk left out of a packet, its size in the packet's unit, and why.

    ``reason`` is one of ``"over_budget"``, ``"duplicate"``, ``"overlap"``, ``"below_threshold"``.
    """

    id: str
    size: int
    reason: str


@dataclass(frozen=True, slots=True)
class Packet:
    """The evidence that fitted the budget, rendered and ready for a generator.

    ``reason`` is ``None`` when there is evidence; otherwise the packet abstains because of
    ``"nothing_found"``, ``"below_threshold"`` or ``"over_budget"`` and ``text`` is empty.
    ``size`` counts ``text`` in the tokenizer's unit (characters by default) and never exceeds ``budget``.
    """

    question: str
    evidence: tuple[Evidence, ...]
    text: str
    size: int
    budget: int
    omitted: tuple[Omitted, ...]
    reason: str | None

    @property
    def abstain(self) -> bool:
        """True when there is nothing to answer from; such a packet never reaches a generator."""
        return self.reason is not None

    @property
    def ids(self) -> tuple[str, ...]:
        """Chunk ids in packed order: all that a reply may cite."""
        return tuple(item.chunk.id for item in self.evidence)
