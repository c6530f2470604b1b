# SPDX-License-Identifier: Apache-2.0
"""Answering from a packet and nothing else, and checking a reply against the packet it was made from."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ._checks import refuse
from ._literals import unsupported
from ._stop_words import STOP_WORDS
from .types import Packet

__all__ = ["Reply", "ReplyReport", "extractive_answer", "validate_reply"]

# A sentence ends at its mark and white space, at a blank line (a heading has no mark), or before a list item,
# heading or table row.
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n\s*\n|\n(?=[-*|#])")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer and the ids of the chunks it rests on. Abstaining is an empty answer without citations."""

    answer: str
    citations: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """The reply as plain JSON types: ``{"answer": str, "citations": [str, ...]}``."""
        return {"answer": self.answer, "citations": list(self.citations)}


@dataclass(frozen=True, slots=True)
class ReplyReport:
    """What :func:`validate_reply` found.

    Attributes:
        valid: True when the form of the reply and its citations hold; literals do not change it.
        reason: ``None`` when valid, otherwise the first violation in the order listed at :func:`validate_reply`.
        cited: Number of citations given; 0 when they could not be read.
        known: How many of those are ids of the packet.
        unsupported_literals: Numbers and dates of a valid reply, as written, that no cited chunk contains.
    """

    valid: bool
    reason: str | None
    cited: int
    known: int
    unsupported_literals: tuple[str, ...]


def extractive_answer(packet: Packet) -> Reply:
    """The sentence of the packed evidence that shares most with the question, verbatim.

    Each distinct word of the question that a sentence holds counts 1 / (packed sentences that hold it): rare words
    count most, English stop words not at all. Ties go to the evidence packed first, then to the earlier sentence.
    No generator is involved: the answer is a literal part of the one chunk it cites.

    Args:
        packet: What :func:`evidex.pack` returned.

    Returns:
        The sentence and its chunk's id; the empty reply when the packet abstains or holds only white space.

    Raises:
        InvalidInput: When ``packet`` is not a Packet.
    """
    asked = _words(_checked(packet).question) - STOP_WORDS
    sentences = [
        (sentence, item.chunk.id)
        for item in packet.evidence
        for sentence in map(str.strip, _SENTENCE_END.split(item.chunk.text))
        if sentence
    ]
    shared = [asked & _words(sentence) for sentence, _ in sentences]
    holding = Counter(word for words in shared for word in words)
    best, reply = -1.0, Reply("", ())
    for (sentence, chunk_id), words in zip(sentences, shared, strict=True):
        weight = math.fsum(1 / holding[word] for word in words)
        if weight > best:
            best, reply = weight, Reply(sentence, (chunk_id,))
    return reply


def validate_reply(reply: Reply | Mapping[str, object], packet: Packet) -> ReplyReport:
    """Checks the form of a reply, its citations, and its numbers and dates against the cited chunks.

    Passing is not proof. Citing a real chunk, and repeating its numbers, says nothing about whether the
    sentence follows from it: against a chunk that says data is "retained for 30 days", the claim "all deleted
    files are recoverable for 30 days" passes every check here.

    Reasons, in the order they are looked for: ``not_a_mapping``, ``wrong_keys`` (exactly ``answer`` and
    ``citations``), ``answer_not_text``, ``citations_not_ids`` (a list or tuple of str), ``duplicate_citation``,
    ``answer_from_abstaining_packet``, ``citation_without_answer``, ``unknown_citation``, ``missing_citation``.
    An answer of only white space counts as empty.

    Args:
        reply: A :class:`Reply`, or the mapping a generator returned; anything else is reported, not raised.
        packet: The packet the generator was given.

    Returns:
        The report; see :class:`ReplyReport`.

    Raises:
        InvalidInput: When ``packet`` is not a Packet.
    """
    spans = {item.chunk.id: item.chunk.text for item in _checked(packet).evidence}
    given: object = {"answer": reply.answer, "citations": reply.citations} if isinstance(reply, Reply) else reply
    if not isinstance(given, Mapping):
        return _malformed("not_a_mapping")
    if set(given) != {"answer", "citations"}:
        return _malformed("wrong_keys")
    answer, citations = given["answer"], given["citations"]
    if not isinstance(answer, str):
        return _malformed("answer_not_text")
    if not isinstance(citations, (list, tuple)) or not all(isinstance(name, str) for name in citations):
        return _malformed("citations_not_ids")

    known = [name for name in citations if name in spans]
    reason = None
    if len(set(citations)) < len(citations):
        reason = "duplicate_citation"
    elif answer.strip() and packet.abstain:
        reason = "answer_from_abstaining_packet"
    elif citations and not answer.strip():
        reason = "citation_without_answer"
    elif len(known) < len(citations):
        reason = "unknown_citation"
    elif answer.strip() and not citations:
        reason = "missing_citation"
    flagged = () if reason else unsupported(answer, (spans[name] for name in known))
    return ReplyReport(reason is None, reason, len(citations), len(known), flagged)


def _malformed(reason: str) -> ReplyReport:
    return ReplyReport(False, reason, 0, 0, ())


def _checked(packet: Packet) -> Packet:
    if not isinstance(packet, Packet):
        refuse("packet", packet, "a Packet", "pass what evidex.pack returned")
    return packet


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
