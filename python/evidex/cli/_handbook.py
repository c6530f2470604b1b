# SPDX-License-Identifier: Apache-2.0
"""The handbook as guarded indexes: chunk, encode, add with rules, search every leg as one principal, fuse."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import handbook
from ..access import ANY_IN_TENANT, Policy, Principal
from ..encoders import Encoder
from ..fusion import rrf
from ..index import DenseIndex
from ..text import Recursive, row_id
from ..types import Chunk, Evidence

__all__ = ["HandbookIndex"]

# Both chosen on the development questions alone.
_CHUNK_SIZE = 900
_DEPTH = 10


class HandbookIndex:
    """One dense leg per encoder, all under one policy. Current revisions only: one visible revision a document.

    Legs are named after their encoders.
    """

    def __init__(self, encoders: Sequence[Encoder]) -> None:
        self.encoders = {encoder.name: encoder for encoder in encoders}
        self.policy = Policy()
        chunker = Recursive(_CHUNK_SIZE)
        chunks: list[Chunk] = []
        rules = []
        for document in handbook.documents(current_only=True):
            allow = ANY_IN_TENANT if document.allow is None else document.allow
            rule = self.policy.rule(document.tenant, allow, document.deny)
            parts = chunker.chunks(
                document.text, tenant=document.tenant, source=document.source, revision=document.revision
            )
            chunks += parts
            rules += [rule] * len(parts)
        self.chunks = {row_id(chunk.id): chunk for chunk in chunks}
        self.legs: dict[str, DenseIndex] = {}
        for name, encoder in self.encoders.items():
            self.legs[name] = DenseIndex(encoder.dim, policy=self.policy)
            vectors = encoder.encode([f"{chunk.source}\n{chunk.text}" for chunk in chunks])
            self.legs[name].add(np.array(list(self.chunks)), vectors, rules)

    def search(self, text: str, caller: handbook.Caller, k: int) -> list[Evidence]:
        """The k best chunks the caller may read, by reciprocal rank over the legs."""
        principal = Principal(caller.id, caller.tenant, caller.groups)
        scores: dict[str, dict[int, float]] = {}
        for name, index in self.legs.items():
            ids, values = index.search(self.encoders[name].encode([text]), _DEPTH, principal=principal)[0]
            scores[name] = dict(zip(ids.tolist(), values.tolist(), strict=True))
        fused = rrf([list(leg) for leg in scores.values()])
        return [
            Evidence(self.chunks[i], score, {name: leg[i] for name, leg in scores.items() if i in leg})
            for i, score in list(fused)[:k]
        ]

    def holding(self, passages: Sequence[handbook.Gold]) -> set[str]:
        """Ids of the chunks that hold a part of any of the passages."""
        return {
            chunk.id
            for chunk in self.chunks.values()
            for gold in passages
            if (chunk.tenant, chunk.source, chunk.revision) == (gold.tenant, gold.source, gold.revision)
            and chunk.start < gold.end
            and gold.start < chunk.end
        }
