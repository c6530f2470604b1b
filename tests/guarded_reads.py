# SPDX-License-Identifier: Apache-2.0
"""Every way to read a guarded index, compared with brute force over what the caller may read, and with the same index
built without the rows it may not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import note

import reference
from evidex import AccessError, AllowMask, DenseIndex, Hits, NotFound, Predicate, Principal, where
from guarded import LANGUAGES, MOST_IDS, Bools, Guarded
from many_rows import Rng
from reference import Floats

# What where= asks, and the rows for which that is true.
WHERES: tuple[tuple[Predicate | None, Callable[[Guarded], Bools]], ...] = (
    (None, lambda of: np.full(MOST_IDS, True)),
    (where("language") == "en", lambda of: of.language == LANGUAGES.index("en")),
    (where("language").is_missing(), lambda of: of.language == LANGUAGES.index(None)),
    (where("year") >= 2020, lambda of: of.year >= 2020),
    (~(where("year") >= 2019) | (where("language") == "de"), lambda of: (of.year < 2019) | (of.language == 1)),
)


@dataclass(frozen=True)
class Read:
    """How to read."""

    k: int
    limit: int | None
    aims: list[str]  # what each query is like
    allow: str  # of ALLOWS
    share: float  # of the rows that allow= lets through
    wheres: list[int]  # places in WHERES: one for all queries, or one for each
    group_by: bool
    threads: int | None
    batch: int  # of items

    @classmethod
    def drawn(cls, rng: Rng) -> Read:
        nq = int(rng.integers(1, 5))
        return cls(
            k=int(rng.choice([0, 1, 5, 30, 130, 5000])),
            limit=(None, 0, 1, 20)[rng.integers(4)],
            aims=rng.choice(["denied", "near denied", "permitted", "anything"], nq, p=[0.65, 0.2, 0.1, 0.05]).tolist(),
            allow=str(rng.choice(list(ALLOWS))),
            share=float(rng.choice([0.01, 0.3, 0.99, 0.99])),
            wheres=(rng.integers(0, len(WHERES), rng.choice([1, nq])) * (rng.random() < 0.5)).tolist(),
            group_by=bool(rng.random() < 0.5),
            threads=(1, 2, None)[rng.integers(3)],
            batch=int(rng.choice([7, 64, 1000])),
        )


class Question:
    """A read of a world, which can be put to any index that holds the rows which the caller may read."""

    def __init__(self, of: Guarded, read: Read) -> None:
        self.of, self.read, self.rng, nq = of, read, of.rng, len(read.aims)
        caller = of.drawn_caller()
        self.who, self.mine = Principal("p", *caller), of.readable(caller)
        self.some = self.rng.random((nq if "each" in read.allow else 1, MOST_IDS)) < read.share
        if read.allow == "nothing said":
            self.some[:] = True
        elif read.allow == "a mask made earlier" and of.mask is not None:
            self.some[0] = of.stored & (of.mask[1] == of.version)
        self.queries = np.stack([self.query(aim) for aim in read.aims])
        self.scores = of.scores(self.queries)
        self.least = float(self.rng.choice(self.scores[0])) if self.scores.size else 0.0
        self.like = self.rng.choice(np.flatnonzero(self.mine), nq) if self.mine.any() else np.empty(0, np.int64)

    def query(self, aim: str) -> Floats:
        of = self.of
        rows = np.flatnonzero(of.stored & (self.mine == (aim == "permitted")))
        if aim == "anything" or not len(rows):
            return self.rng.standard_normal(of.dim).astype(np.float32)
        noise = 0.1 * self.rng.standard_normal(of.dim) if aim == "near denied" else 0
        near: Floats = (of.given[self.rng.choice(rows)] + noise).astype(np.float32)
        return near

    def allowed(self) -> Bools:
        """[nq, ids], by plain logic."""
        matched = np.stack([WHERES[i][1](self.of) for i in self.read.wheres])
        return np.broadcast_to(self.mine & self.some & matched, (len(self.queries), MOST_IDS))

    def function(self, one: int) -> bool:
        assert self.mine[one], f"leak: a function was asked about row {one}"
        return bool(self.some[0, one])

    def how(self, index: DenseIndex) -> dict[str, Any]:
        """The keywords of a search by all queries."""
        wheres = [WHERES[i][0] for i in self.read.wheres]
        asked = wheres[0] if len(self.read.wheres) == 1 else wheres
        allow = ALLOWS[self.read.allow](index, self)
        return {"principal": self.who, "allow": allow, "where": asked, "threads": self.read.threads}

    def put_to(self, index: DenseIndex) -> dict[str, Any]:
        """What each function answers."""
        read, who, how = self.read, self.who, self.how(index)
        grouped = how | {"group_by": read.group_by}
        single = {name: one[0] if isinstance(one, list) or np.ndim(one) == 2 else one for name, one in grouped.items()}
        found: dict[str, Any] = {
            "search": index.search(self.queries, read.k, **grouped),
            "radius": index.radius(self.queries, self.least, limit=read.limit, **how),
            "explain": index.explain(self.queries[0], read.k, **single),
            "ids": index.ids(principal=who, where=single["where"]),
            "count": index.count(principal=who, where=single["where"]),
            "items": list(index.items(batch=read.batch, principal=who)),
        }
        if len(self.like):
            found["neighbours"] = index.neighbours(self.like, read.k, **grouped)
            found["get"] = index.get(self.like, principal=who)
        return found


ALLOWS: dict[str, Callable[[DenseIndex, Question], Any]] = {
    "nothing said": lambda index, of: None,
    "ids": lambda index, of: AllowMask.from_ids(index, np.flatnonzero(of.some[0])),
    "bools": lambda index, of: of.some[0, index.ids(principal=of.who)],
    "a mask of bools": lambda index, of: AllowMask.from_bools(index, ALLOWS["bools"](index, of), of.who),
    "a function": lambda index, of: AllowMask.from_callable(index, of.function, of.who),
    # Another index has no rows of then: it gets one of the rows that are still those that were allowed.
    "a mask made earlier": lambda index, of: (
        of.of.mask[0] if index is of.of.index and of.of.mask else ALLOWS["ids"](index, of)
    ),
    "masks for each": lambda index, of: [AllowMask.from_ids(index, np.flatnonzero(one)) for one in of.some],
    "bools for each": lambda index, of: of.some[:, index.ids(principal=of.who)],
}


def said(answer: Any) -> Any:
    """All of it, in a form to compare bit for bit."""
    if isinstance(answer, np.ndarray):
        return answer.shape, answer.tobytes()
    if isinstance(answer, Hits):
        arrays = (answer.ids, answer.scores, answer.counts, answer.certified, answer.groups)
        return [said(one) for one in arrays], answer.reason.tolist(), answer.k
    return [said(one) for one in answer] if isinstance(answer, (list, tuple)) else answer


def require_permitted(function: str, ids: Iterable[int], permitted: Bools) -> None:
    """P1."""
    given = np.asarray(ids, dtype=np.int64)
    leaked = given[~permitted[given]].tolist()
    assert not leaked, f"leak: {function} gave rows {leaked[:5]}"


def check(of: Guarded) -> Iterator[str]:
    """Reads in some way, and yields what the draw was like."""
    read = Read.drawn(of.rng)
    question = Question(of, read)
    note(f"{question.who} {read}")
    index, mine = of.index, question.mine
    answers = question.put_to(index)
    explained = answers["explain"]
    allowed = question.allowed()
    for function in ("search", "radius", "neighbours"):
        for query, hits in enumerate(answers.get(function, ())):
            require_permitted(function, hits.ids, allowed[query])
    require_permitted("explain", [i for i, _ in explained.hits], allowed[0])
    require_permitted("ids", answers["ids"], mine)
    items = [i for ids, _ in answers["items"] for i in ids.tolist()]
    require_permitted("items", items, mine)
    assert sorted(items) == np.flatnonzero(mine).tolist(), "stale: a right is not the newest"
    alone = question.put_to(of.alone(index.ids(principal=question.who)))
    assert [(f, said(answer)) for f, answer in answers.items()] == [(f, said(answer)) for f, answer in alone.items()]
    assert explained.operator is None
    require_brute_force(question, allowed, answers["search"], answers["radius"])
    require_closed(question)
    stored = np.flatnonzero(of.stored)
    for query in range(len(question.queries)):
        yield "query"
        first = stored[reference.best(stored, question.scores[query], 1)]
        if mine.any() and not mine[first].all():
            yield "led by a denied row"
    if len(set(read.wheres)) > 1:
        yield "where for each"
    yield from (read.allow, f"where {read.wheres[0]}", of.metric, of.codec, explained.plan.split(" of ")[0])


def require_brute_force(question: Question, allowed: Bools, hits: Hits, near: Hits) -> None:
    """Ids, order and score bits."""
    of, read = question.of, question.read
    stored = np.flatnonzero(of.stored)
    most = len(stored) if read.limit is None else read.limit
    for query, permitted in enumerate(allowed[:, stored]):
        rows, scores = stored[permitted], question.scores[query, permitted]
        best = reference.best(rows, scores, read.k, of.group[rows] if read.group_by else None)
        close = reference.best(rows, scores, most)
        for found, places in ((hits, best), (near, close[scores[close] >= np.float32(question.least)])):
            assert found[query].ids.tolist() == rows[places].tolist()
            assert found[query].scores.tobytes() == scores[places].tobytes()
            assert (
                found.groups is None or found.groups[query, : len(places)].tolist() == of.group[rows[places]].tolist()
            )


def require_closed(question: Question) -> None:
    """P3: hidden and unknown ids are alike, nobody reads nothing, and the operator's figures are the operator's."""
    index, query = question.of.index, question.queries[0]
    for hidden in question.rng.permutation(np.flatnonzero(~question.mine))[:2].tolist():
        for by_id in (index.get, index.neighbours):
            with pytest.raises(NotFound, match=f"^no such id: {hidden}$"):
                by_id([hidden], principal=question.who)
    nobody = (None, "p")[question.rng.integers(2)]
    closed: list[tuple[Callable[..., object], object, list[Any]]] = [
        (index.stats, question.who, []),
        *((read, nobody, []) for read in (index.count, index.ids, index.items, index.stats)),
        *((read, nobody, [query]) for read in (index.search, index.explain)),
        *((read, nobody, [[0]]) for read in (index.get, index.neighbours)),
        (index.radius, nobody, [query, -1.0]),
    ]
    for read, principal, given in closed:
        with pytest.raises(AccessError):
            read(*given, principal=principal)
