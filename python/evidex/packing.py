# SPDX-License-Identifier: Apache-2.0
"""Packing evidence into a budget: whole chunks, counted exactly as a generator will read them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from ._checks import finite, members, refuse, text, whole
from .types import Chunk, Evidence, Floor, Omitted, Packet

__all__ = ["pack"]

_SEPARATOR = "\n\n"


def pack(
    evidence: Iterable[Evidence],
    *,
    question: str = "",
    budget: int,
    tokenizer: Callable[[str], int] | None = None,
    reserve: int = 0,
    floor: Floor | None = None,
    overflow: str = "skip",
) -> Packet:
    """Packs the best evidence that fits, or abstains and says why.

    Each chunk is rendered as a header line (citation id, source, revision, span) and its text; a blank line
    parts the blocks. Before a chunk is taken, the *whole* text it would lead to is counted, headers and
    separators included, so a tokenizer that merges tokens at the joints is still within the budget.
    Chunks are taken whole, by descending score (ties: ascending chunk id). A chunk that repeats an id, or
    overlaps a packed span of the same revision, is left out; so is one that does not fit, and smaller ones
    after it are still tried.

    Args:
        evidence: Permitted chunks with their scores, in any order.
        question: Carried in the packet for whoever answers from it.
        budget: Most units the rendered text may have, at least 0.
        tokenizer: Counts the units of a text; ``None`` counts characters.
        reserve: Units of the budget kept free for instructions, question and answer.
        floor: The score that the best chunk of the named leg must reach; without it nothing is refused for
            being weak. A leg that found nothing does not reach it.
        overflow: ``"skip"`` lists a chunk that does not fit under ``omitted``, ``"error"`` refuses it.

    Returns:
        The packet. ``omitted`` lists what was left out in the order it was considered; its sizes count each
        block on its own.

    Raises:
        InvalidInput: For any other argument, for a tokenizer that does not return a whole number of at least
            0, and under ``overflow="error"`` for the first chunk that does not fit.
    """
    asked = text(question, "question")
    limit = whole(budget, "budget")
    room = max(limit - whole(reserve, "reserve"), 0)
    count = _counter(tokenizer)
    if not isinstance(overflow, str) or overflow not in ("skip", "error"):
        refuse("overflow", overflow, "'skip' or 'error'", "choose one of the two")
    ranked = _ranked(evidence)

    if floor is not None and not _reaches(floor, ranked):
        weak = tuple(_omit(item.chunk, count, "below_threshold") for item in ranked)
        return Packet(asked, (), "", 0, limit, weak, "below_threshold" if ranked else "nothing_found")

    packed: list[Evidence] = []
    omitted: list[Omitted] = []
    seen: set[str] = set()
    rendered, size = "", 0
    for item in ranked:
        chunk = item.chunk
        if chunk.id in seen:
            omitted.append(_omit(chunk, count, "duplicate"))
            continue
        seen.add(chunk.id)
        if any(_overlap(chunk, other.chunk) for other in packed):
            omitted.append(_omit(chunk, count, "overlap"))
            continue
        prospective = rendered + (_SEPARATOR if packed else "") + _block(chunk)
        needed = count(prospective)
        if room > 0 and needed <= room:  # without room nothing is packed, whatever a tokenizer calls free
            packed.append(item)
            rendered, size = prospective, needed
        elif overflow == "error":
            refuse(
                "budget",
                limit,
                f"room for chunk {chunk.id}: with it the packet has {needed} units where {room} are free "
                f"(the reserve takes {limit - room})",
                "raise the budget, cut smaller chunks, or use overflow='skip'",
            )
        else:
            omitted.append(_omit(chunk, count, "over_budget"))
    reason = None if packed else "over_budget" if ranked else "nothing_found"
    return Packet(asked, tuple(packed), rendered, size, limit, tuple(omitted), reason)


def _block(chunk: Chunk) -> str:
    # Quoted as JSON, so that a line break in a name cannot pass for the header of another chunk.
    source, revision = (json.dumps(name, ensure_ascii=False) for name in (chunk.source, chunk.revision))
    return f"[{chunk.id}] {source} revision {revision} characters {chunk.start}-{chunk.end}\n{chunk.text}"


def _counter(tokenizer: Callable[[str], int] | None) -> Callable[[str], int]:
    if tokenizer is None:
        return len
    if not callable(tokenizer):
        refuse("tokenizer", tokenizer, "None or a callable from str to int", "pass the counting function itself")
    return lambda rendered: whole(tokenizer(rendered), "the tokenizer's count")


def _ranked(evidence: Iterable[Evidence]) -> list[Evidence]:
    given = members(evidence, "evidence")
    for place, item in enumerate(given):
        if not isinstance(item, Evidence):
            refuse(f"evidence[{place}]", item, "an Evidence", "wrap the chunk: Evidence(chunk, score)")
        finite(item.score, f"evidence[{place}].score")
    return sorted(given, key=lambda item: (-item.score, item.chunk.id))


def _reaches(floor: Floor, ranked: list[Evidence]) -> bool:
    if not isinstance(floor, Floor):
        refuse("floor", floor, "None or a Floor", "name the leg: Floor('dense', 0.4)")
    leg, least = text(floor.leg, "floor.leg"), finite(floor.min_score, "floor.min_score")
    scores = [finite(item.legs[leg], f"legs[{leg!r}]") for item in ranked if leg in item.legs]
    return max(scores, default=float("-inf")) >= least


def _overlap(one: Chunk, other: Chunk) -> bool:
    same = (one.tenant, one.source, one.revision) == (other.tenant, other.source, other.revision)
    return same and one.start < other.end and other.start < one.end


def _omit(chunk: Chunk, count: Callable[[str], int], reason: str) -> Omitted:
    return Omitted(chunk.id, count(_block(chunk)), reason)
