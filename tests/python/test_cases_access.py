# SPDX-License-Identifier: Apache-2.0
"""What users of other libraries suffered with permissions (A): what is hidden neither comes back nor shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from audit_logs import KEY, objects_of
from evidex import (
    ANY_IN_TENANT,
    UNRESTRICTED,
    AccessError,
    AllowMask,
    Columns,
    DenseIndex,
    Evidence,
    InvalidInput,
    NotFound,
    Policy,
    Principal,
    RetrievalLog,
    StaleMask,
    _core,
    extractive_answer,
    pack,
    rrf,
    where,
)
from evidex.encoders import HashingEncoder
from evidex.evaluation import metrics
from evidex.types import Chunk, Packet
from examples import ALICE
from ways import agreed

DIM = 32


def everything(index: DenseIndex, queries: Any) -> list[Any]:
    """All that alice can learn of an index, to the byte."""
    mine = index.ids(principal=ALICE)
    found: list[Any] = [mine.tobytes(), index.count(principal=ALICE), index.get(mine, principal=ALICE).tobytes()]
    found += [(ids.tobytes(), vectors.tobytes()) for ids, vectors in index.items(batch=len(mine), principal=ALICE)]
    allow = np.arange(len(mine)) % 3 > 0
    asked: list[dict[str, Any]] = [
        {},
        {"allow": allow},
        {"where": where("lang") != "de"},
        {"allow": allow, "where": where("lang") == "en"},
    ]
    for options in asked:
        for k in (1, 10, 5000):
            best = [
                index.search(queries, k, principal=ALICE, **options),
                index.search(queries, k, principal=ALICE, group_by=True, **options),
                index.radius(queries, -50.0, limit=k, principal=ALICE, **options),
                index.neighbours(mine[:3], k, principal=ALICE, **options),
            ]
            for hits in best:
                arrays = (hits.ids, hits.scores, hits.counts, hits.certified, hits.groups)
                found += [array.tobytes() for array in arrays if array is not None]
                found += [hits.reason.tolist(), repr(hits)]
            found += [index.explain(query, k, principal=ALICE, **options) for query in queries]
        found.append(index.count(principal=ALICE, where=options.get("where")))
    return found


@pytest.mark.parametrize("prescan", [True, False])
def test_hidden_rows_near_the_query_show_nowhere(codec: str, prescan: bool) -> None:  # case A11
    """P against P and H, to the byte, explain included. Seen red: batches of items cut from the rows stored, so
    that their sizes told where hidden rows lie; explain with the rows stored for those permitted."""
    rng = np.random.default_rng(5)
    mine, others = 3000, 4000
    rows = rng.standard_normal((mine, DIM)).astype(np.float32)
    queries = rows[:4] + np.float32(0.1)
    hidden = queries[rng.integers(0, 4, others)] + rng.standard_normal((others, DIM)) * 0.01
    policy = Policy()
    shown = policy.rule("acme", {"a"})
    secret = [policy.rule("acme", {"b"}), policy.rule("z", {"a"}), policy.rule("acme", {"a"}, deny={"a"})]
    columns = Columns({"lang": str})
    alone, full = (
        DenseIndex(DIM, metric="l2", codec=codec, prescan=prescan, policy=policy, columns=columns) for _ in range(2)
    )
    for part in np.array_split(rng.permutation(mine), 3):
        metadata = {"lang": [("en", "de", None)[i % 3] for i in part]}
        for index in (alone, full):
            index.add(part, rows[part], shown, part // 4, metadata=metadata)
        some = rng.permutation(others)[: others // 4]
        full.upsert(some + mine, hidden[some], [secret[i % 3] for i in some], metadata={"lang": ["en"] * len(some)})
    full.remove(full.ids(principal=UNRESTRICTED)[-500:])
    assert everything(full, queries) == everything(alone, queries)
    assert ("pre-scan" in full.explain(queries[0], principal=ALICE).plan) == prescan
    beside = full.search(queries, 5, principal=UNRESTRICTED)
    assert (beside.ids >= mine).mean() > 0.5  # the hidden rows would be in the way


QUESTION = "When are refunds of pumps paid?"
ENCODERS = (HashingEncoder(64), HashingEncoder(96))


class Desk:
    """Texts of which one, hidden from alice, is the question itself; two legs; enough rows for codes to be read."""

    SECRET = 1500

    def __init__(self, codec: str, prescan: bool, secret: bool, log: RetrievalLog | None = None) -> None:
        policy = Policy()
        shown, hidden = policy.rule("acme", {"a"}), policy.rule("acme", {"board"})
        texts = {i: f"Note {i}: refunds of type {i % 40} are for pumps" for i in range(2100)}
        if secret:
            texts[self.SECRET] = QUESTION
        else:
            del texts[self.SECRET]
        self.chunks = {i: Chunk(f"{i:064x}", "acme", f"s{i}", "v1", 0, len(text), text) for i, text in texts.items()}
        self.legs = []
        for encoder in ENCODERS:
            leg = DenseIndex(encoder.dim, codec=codec, prescan=prescan, policy=policy, log=log)
            rules = [hidden if text == QUESTION else shown for text in texts.values()]
            leg.add(list(texts), encoder.encode(list(texts.values())), rules)
            self.legs.append(leg)

    def asked(self, principal: Principal) -> list[list[tuple[int, float]]]:
        """What each leg finds."""
        questions = [encoder.encode([QUESTION])[0] for encoder in ENCODERS]
        return [agreed(leg, query, 10, principal=principal) for leg, query in zip(self.legs, questions, strict=True)]

    def packed(self, principal: Principal) -> Packet:
        """What both legs found, fused and packed."""
        fused = rrf([[i for i, _ in leg] for leg in self.asked(principal)])
        evidence = [Evidence(self.chunks[i], score) for i, score in zip(fused.ids, fused.scores, strict=True)]
        return pack(evidence, question=QUESTION, budget=10_000)


@pytest.mark.parametrize("prescan", [True, False])
def test_a_secret_that_would_rank_first_is_in_no_leg(codec: str, prescan: bool, tmp_path: Path) -> None:  # case A12
    """Neither in a leg nor in what is made of legs, and it uses up no place. Seen red: a grouped search without the
    mask; legs cut to k before they are filtered; get of any id that is stored."""
    secret = Desk.SECRET
    with RetrievalLog(tmp_path / "reads.log", key=KEY) as log:
        desk, without = Desk(codec, prescan, True, log), Desk(codec, prescan, False)
        legs, packet = desk.asked(ALICE), desk.packed(ALICE)
        assert [len(leg) for leg in legs] == [10, 10]
        assert (legs, packet) == (without.asked(ALICE), without.packed(ALICE))
        assert QUESTION not in packet.text and extractive_answer(packet).answer != QUESTION
        assert desk.chunks[secret].id not in {*packet.ids, *(one.id for one in packet.omitted)}
        for leg, index in zip(legs, desk.legs, strict=True):
            assert metrics([i for i, _ in leg], [secret], k=10).found == 0
            assert ("pre-scan" in index.explain(np.ones(index.dim), principal=ALICE).plan) == prescan
            for read in (index.get, index.neighbours):
                with pytest.raises(NotFound):
                    read([secret], principal=ALICE)
            asked: list[int] = []
            AllowMask.from_callable(index, lambda i, asked=asked: bool(asked.append(i)), principal=ALICE)  # type: ignore[misc]
            assert asked == index.ids(principal=ALICE).tolist() == [i for i in range(2100) if i != secret]
        logged = [ids for line in objects_of(tmp_path / "reads.log") for ids in line.get("ids") or ()]
        assert len(logged) > 100 and all(secret not in ids for ids in logged)
        board = Principal("bea", "acme", {"a", "board"})
        assert [leg[0][0] for leg in desk.asked(board)] == [secret] * 2
        assert extractive_answer(desk.packed(board)).answer == QUESTION


def test_a_grant_holds_under_every_mask(codec: str) -> None:  # cases A12, A13
    """Seen red: allow= in place of the grant."""
    policy = Policy()
    index, alone = DenseIndex(1, metric="ip", policy=policy, codec=codec), DenseIndex(1, metric="ip", codec=codec)
    rules = [policy.rule("t", {"g"}), policy.rule("t", ANY_IN_TENANT)]
    rows, odd = np.arange(200.0)[:, None], np.arange(1, 200, 2)
    index.add(np.arange(200), rows, [rules[i % 2] for i in range(200)])
    alone.add(odd, rows[odd])
    nobody = Principal("p", "t", ())
    expected = agreed(alone, np.ones(1), 200)
    everything = AllowMask.from_ids(index, range(200))
    for allow in (None, everything, np.ones(100, bool), AllowMask.from_bools(index, np.ones(200, bool), UNRESTRICTED)):
        assert agreed(index, np.ones(1), 200, principal=nobody, allow=allow) == expected
    assert len(expected) == 100
    with pytest.raises(InvalidInput, match=r"shape \[100\]"):
        index.search([1.0], principal=nobody, allow=np.ones(200, bool))
    with pytest.raises(StaleMask):
        index.search([1.0], principal=nobody, allow=AllowMask.from_ids(alone, odd))


def test_chunks_have_the_rights_of_their_document() -> None:  # case A17
    """Rows, documents, rules: revoking writes nothing to the index. Seen red: grants kept whatever the rights;
    rows without a rule stored under the first one."""
    policy = Policy()
    index = DenseIndex(2, metric="ip", policy=policy)
    staff, board = policy.rule("acme", {"a", "staff"}), policy.rule("acme", {"board"})
    rows = np.array([[4.0, 0], [3, 0], [2, 0], [1, 0]])
    index.add([10, 11, 20, 21], rows, [staff, staff, board, board], groups=[1, 1, 2, 2])
    query = np.array([1.0, 0.0])

    def read(caller: Principal = ALICE) -> list[int]:
        found = agreed(index, query, 1, principal=caller)
        ids: list[int] = index.ids(principal=caller).tolist()
        assert [i for i, _ in found] == ids[:1]
        return ids

    with pytest.raises(AccessError, match="no row without a rule"):
        index.add([30], [[9.0, 0.0]], None, groups=[3])
    no_rule = np.full(1, _core.NO_RULE, np.uint32)  # what the library never writes
    index._store.add(np.array([30]), np.array([[9, 0]], np.float32), no_rule, np.array([3]))
    assert read() == [10, 11]
    for groups in ({"a"}, {"a", "board", "staff"}, ()):
        assert 30 not in read(Principal("p", "acme", groups))

    written = index.stats(principal=UNRESTRICTED)["generation"]
    assert read(Principal("alice", "acme", ())) == []  # the identity layer took the group from her
    policy.change(staff, allow={"staff"})  # the rule names it no more
    assert read() == []
    policy.change(staff, allow={"a", "staff"}, deny={"a"})
    assert read() == []
    policy.change(staff, allow={"a"})
    assert read() == [10, 11]
    index.set_rule([1], board)  # another rule for the document, whatever its chunks
    assert read() == []
    assert index.stats(principal=UNRESTRICTED)["generation"] == written
