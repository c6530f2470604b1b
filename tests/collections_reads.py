# SPDX-License-Identifier: Apache-2.0
"""Everything that can be read of a collection, compared with brute force over what should be found, and with a
collection that never had anything else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import pytest

import reference
from collections_examples import DIM, HashEncoder
from collections_world import WORDS, Reader, Row, World
from evidex import (
    ANY_IN_TENANT,
    UNRESTRICTED,
    AccessError,
    Collection,
    Document,
    Evidence,
    NotFound,
    Policy,
    Predicate,
    SparseIndex,
    rrf,
    where,
)
from evidex.text import chunk_id
from guarded_reads import said
from reference import Floats

# What where= asks, and the documents for whose metadata that is true.
WHERES: tuple[tuple[Predicate, Callable[[dict[str, Any]], bool]], ...] = (
    (where("lang") == "en", lambda of: of.get("lang") == "en"),
    (where("lang").is_missing(), lambda of: of.get("lang") is None),
    (where("year") >= 2020, lambda of: of.get("year", 0) >= 2020),
    (where("day") <= date(2024, 1, 2), lambda of: "day" in of and of["day"] <= date(2024, 1, 2)),
)


@dataclass(frozen=True)
class Asked:
    """How to read."""

    who: Any
    queries: Floats
    question: str
    k: int
    least: float
    where: int | None
    words: bool

    @classmethod
    def drawn(cls, world: World, who: Any) -> Asked:
        rng = world.rng
        queries = np.round(rng.standard_normal((2, DIM)) * 2).astype(np.float32)
        queries[~queries.any(axis=1), 0] = 1
        asked = int(rng.integers(len(WHERES))) if world.columns and rng.random() < 0.5 else None
        least = float(rng.choice([-1.0, 0.5]))
        question = f"what of {' '.join(rng.choice([*WORDS, 'ax']) for _ in range(rng.integers(3)))}?"
        return cls(who, queries, question, int(rng.choice([0, 1, 3, 50])), least, asked, world.analyzer is not None)

    def put_to(self, reader: Reader, some: list[Row]) -> dict[str, Any]:
        """What each function answers."""
        who, k = self.who, self.k
        how = {"principal": who, "where": None if self.where is None else WHERES[self.where][0]}
        ids = [row.id for row in some]
        return {
            "ids": reader.ids(**how),
            "count": reader.count(**how),
            "search": reader.search(self.queries, k, **how),
            "groups": reader.search(self.queries, k, group_by=True, **how),
            "radius": reader.radius(self.queries, self.least, **how),
            "neighbours": reader.neighbours(ids, k, **how) if ids else None,
            "get": reader.get(ids, principal=who),
            "explain": reader.explain(self.queries[0], k, **how),
            "retrieve": reader.retrieve(self.question, k, **how),
            "words": reader.retrieve(self.question, k, mode="sparse", **how) if self.words else None,
            "both": reader.retrieve(self.question, k, mode="hybrid", **how) if self.words else None,
            "items": list(reader.items(batch=2, principal=who)),
            "chunks": list(reader.chunks(batch=3, principal=who)),
            "get_chunk": [reader.get_chunk(row.chunk.id, principal=who) for row in some],
        }


def check(world: World, reader: Reader, generation: int) -> None:
    """As somebody, and on a guarded collection as everybody too."""
    who = world.drawn_caller()
    mine = world.rows(generation, who)
    everything = world.rows(generation, UNRESTRICTED)
    asked = Asked.drawn(world, who)
    some = [mine[int(place)] for place in world.rng.integers(0, len(mine), 2)] if mine else []
    answers = asked.put_to(reader, some)
    require_right(world, asked, answers, mine, some)
    require_closed(world, reader, who, mine, everything)
    if who is None:
        require_figures(world, reader, generation, everything, None)
    else:
        assert answers["explain"].operator is None
        require_figures(world, reader, generation, everything, UNRESTRICTED)
        twin = alone(world, [chunk.source for chunk in answers["chunks"]], who.tenant, generation)
        assert said_of(answers) == said_of(asked.put_to(twin, some)), "what is hidden shows"
        twin.close()


def said_of(answers: dict[str, Any]) -> list[Any]:
    return [(function, said(answer)) for function, answer in answers.items()]


def alone(world: World, sources: list[str], tenant: str, generation: int) -> Collection:
    """A collection that never had other documents than these, put in this order."""
    policy, documents = Policy(), []
    rule = policy.rule(tenant, ANY_IN_TENANT)
    for source in dict.fromkeys(sources):
        revision = world.states[generation][tenant, source]
        given: Any = {"chunks": revision.chunks, "vectors": revision.vectors, "metadata": revision.metadata or None}
        documents.append(Document(source, revision.name, rule=rule, **given))
    twin = world.empty(policy)
    twin.put_documents(documents)
    return twin


def require_right(world: World, asked: Asked, answers: dict[str, Any], mine: list[Row], some: list[Row]) -> None:
    matched = mine if asked.where is None else [row for row in mine if WHERES[asked.where][1](row.metadata)]
    by_id = {row.id: row for row in mine}
    vectors = {row.id: row.vector for row in matched}
    assert sorted(answers["ids"].tolist()) == sorted(vectors), "leak: or a right, or a change, is not the newest"
    assert answers["count"] == len(vectors)
    best = [found(world, query, vectors, asked.k) for query in asked.queries]
    assert [pairs(one) for one in answers["search"]] == best
    assert list(answers["explain"].hits) == best[0]
    close = [found(world, query, vectors, len(vectors)) for query in asked.queries]
    assert [pairs(one) for one in answers["radius"]] == [[p for p in one if p[1] >= asked.least] for one in close]
    for place, one in enumerate(answers["groups"]):
        firsts = {by_id[id].key: (id, score) for id, score in reversed(close[place])}
        assert pairs(one) == [pair for pair in close[place] if pair in firsts.values()][: asked.k]
    kept = [reference.stored(world.metric, world.codec, row.vector[None])[0] for row in some]
    assert [row.tobytes() for row in answers["get"]] == [row.tobytes() for row in kept]
    for place, row in enumerate(kept):
        assert pairs(answers["neighbours"][place]) == found(world, row, vectors, asked.k)
    spoken = np.array(HashEncoder.vector(asked.question), np.float32)
    dense = found(world, spoken, vectors, len(vectors))
    assert list(answers["retrieve"]) == evidence(by_id, dense, asked.k, dense=dense)
    if asked.words:
        sparse = [pair for pair in by_words(asked.question, mine) if pair[0] in vectors]
        assert list(answers["words"]) == evidence(by_id, sparse, asked.k, sparse=sparse)
        both = list(rrf([[id for id, _ in dense], [id for id, _ in sparse]]))
        assert list(answers["both"]) == evidence(by_id, both, asked.k, dense=dense, sparse=sparse)
    assert [i for ids, _ in answers["items"] for i in ids.tolist()] == [row_of(one.id) for one in answers["chunks"]]
    assert sorted(answers["chunks"], key=str) == sorted((row.chunk for row in mine), key=str)
    assert answers["get_chunk"] == [row.chunk for row in some]


def evidence(rows: dict[int, Row], best: list[Any], k: int, **legs: list[tuple[int, float]]) -> list[Evidence]:
    """The k best with what each leg that has them says of them."""
    of = {name: {id: (rank, score) for rank, (id, score) in enumerate(leg, 1)} for name, leg in legs.items()}
    found = []
    for id, score in best[:k]:
        places = {name: known[id] for name, known in of.items() if id in known}
        scores, ranks = ({name: place[part] for name, place in places.items()} for part in (1, 0))
        found.append(Evidence(rows[id].chunk, score, scores, ranks))  # type: ignore[arg-type]
    return found


def by_words(question: str, rows: list[Row]) -> list[tuple[int, float]]:
    """What an index of these rows alone says."""
    index = SparseIndex()
    index.add([row.id for row in rows], [row.chunk.text for row in rows])
    return pairs(index.search(question, len(rows))[0])


def found(world: World, query: Floats, vectors: dict[int, Floats], k: int) -> list[tuple[int, float]]:
    return reference.search(world.metric, query, vectors, k, world.codec)


def pairs(ranked: Any) -> list[tuple[int, float]]:
    return list(zip(ranked.ids.tolist(), ranked.scores.tolist(), strict=True))


def row_of(id: str) -> int:
    return int(id[:16], 16) >> 1


def require_closed(world: World, reader: Reader, who: Any, mine: list[Row], everything: list[Row]) -> None:
    """Hidden, retired and unknown chunks are alike, and nobody reads nothing."""
    readable = {row.chunk.id for row in mine}
    ever = [row.chunk.id for g in list(world.states)[-3:] for row in world.rows(g, UNRESTRICTED)]
    unknown = [chunk_id("acme", "never", "v1", 0, 1, "x")]
    for id in [id for id in world.rng.permutation([*ever, *unknown]).tolist() if id not in readable][:3]:
        with pytest.raises(NotFound, match=f"^no such chunk: {id}$"):
            reader.get_chunk(id, principal=who)
        with pytest.raises(NotFound, match=f"^no such id: {row_of(id)}$"):
            reader.get([row_of(id)], principal=who)
    if world.guarded:
        reads: list[Callable[[], object]] = [reader.count, reader.ids, reader.items, reader.chunks, reader.stats]
        reads += [lambda: reader.retrieve("what?"), lambda: reader.get_chunk(unknown[0])]
        for read in reads:
            with pytest.raises(AccessError):
                read()


def require_figures(world: World, reader: Reader, generation: int, rows: list[Row], who: Any) -> None:
    stats = reader.stats(principal=who)
    assert (stats["rows"], stats["generation"]) == (len(rows), generation)
    assert stats["documents"] == len(world.states[generation])
    assert stats["revisions"] == sum(len(held.revisions) for held in world.docs.values())
    assert reader.generation == generation and f"generation={generation}" in repr(reader)
    if isinstance(reader, Collection):
        assert len(reader) == len(rows)
