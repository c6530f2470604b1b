# SPDX-License-Identifier: Apache-2.0
"""Who finds what in a collection by words and by both, and what hidden documents change: nothing (cases A11, A12,
A13, F9, H14)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from audit_logs import KEY, objects_of
from collections_examples import HashEncoder
from evidex import (
    ANY_IN_TENANT,
    UNRESTRICTED,
    AccessError,
    AllowMask,
    Collection,
    Policy,
    Principal,
    RetrievalLog,
    StaleMask,
    rrf,
)
from evidex.store.reader import CollectionReader
from store_examples import quick_folder
from words_examples import GUARDED, alone, guarded, ruled, said, scores, sources, words

ALICE = Principal("alice", "acme", {"support"})
BOB = Principal("bob", "acme", {"legal"})
MALLORY = Principal("mallory", "zenith", {"support"})
MINE = {ALICE: ["open"], BOB: ["open", "legal"], MALLORY: ["foreign"]}
MODES = ("dense", "sparse", "hybrid")
each_mode = pytest.mark.parametrize("mode", MODES)
with_words = pytest.mark.parametrize("mode", MODES[1:])
QUESTIONS = ("secret salary", "salary of the court", "bands public", "nonsense")


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as path:
        yield path


@each_mode
def test_each_finds_its_own(mode: str) -> None:  # case H14
    kb = guarded()
    for who, mine in MINE.items():
        assert set(sources(kb, "secret salary", mode=mode, principal=who)) == set(mine)
    assert set(sources(kb, "secret salary", mode=mode, principal=UNRESTRICTED)) == set(GUARDED)
    for nobody in (Principal("x", "nowhere", {"support"}), Principal("x", "acme", ())):
        assert kb.retrieve("secret salary", mode=mode, principal=nobody) == ()
    for malformed in (None, "alice", ("alice", "acme"), Policy(), True):
        with pytest.raises(AccessError, match="principal"):
            kb.retrieve("secret salary", mode=mode, principal=malformed)  # type: ignore[arg-type]


@each_mode
@pytest.mark.parametrize("optimized", [False, True])
def test_a_secret_that_is_best_in_both_legs_is_in_none(mode: str, optimized: bool) -> None:  # case A12
    """Nor does it take up a place: Seen red with a leg that gets no mask."""
    kb = guarded()
    if optimized:
        kb.optimize()
    assert sources(kb, "secret salary", 1, mode, principal=UNRESTRICTED) == ["secret"]
    for reader in (kb, kb.snapshot()):
        for k in (1, 2, 3, 50):
            for who, mine in MINE.items():
                found = said(reader, "secret salary", k, mode, principal=who)
                assert len(found) == min(k, len(mine))
                assert {one[0] for one in found} <= set(mine)
                assert sorted(set().union(*(one[4].values() for one in found)))[0] == 1


@with_words
@pytest.mark.parametrize("how", [{}, {"scope": "permitted"}], ids=str)
def test_hidden_documents_change_no_bit(mode: str, how: dict[str, Any]) -> None:  # cases A11, F9
    """Seen red with the statistics of all rows."""
    whole = guarded()
    for who, mine in MINE.items():
        only = guarded(mine)
        for question in QUESTIONS:
            for k in (1, 10):
                found = whole.retrieve(question, k, mode=mode, principal=who, **how)
                assert found == only.retrieve(question, k, mode=mode, principal=who, **how)
        whole.put_document("more", "v1", chunks=["salary court bands"] * 9, rule=ruled_nobody(whole))
        whole.optimize()


def ruled_nobody(kb: Collection) -> Any:
    assert kb._policy is not None
    return ruled(kb._policy)["secret"]


def test_many_hidden_documents_take_no_place_in_a_leg() -> None:  # cases A11, A12
    """More of them than legs are deep. Seen red with the mask applied after the k best were chosen."""
    policy = Policy()
    kb = words(policy=policy, metric="ip")
    rules = ruled(policy)
    best = HashEncoder.vector("salary")
    chunks = [f"salary {place} " for place in range(500)]
    kb.put_document("h", "v1", chunks=chunks, vectors=[[9 * one for one in best]] * 500, rule=rules["secret"])
    kb.put_document("s", "v1", chunks=[f"salary {'and more ' * n}" for n in range(150)], rule=rules["open"])
    only = words(policy=(other := Policy()), metric="ip")
    only.put_document("s", "v1", chunks=[f"salary {'and more ' * n}" for n in range(150)], rule=ruled(other)["open"])
    for mode in MODES:
        found = kb.retrieve("salary", 20, mode=mode, principal=ALICE)
        assert found == only.retrieve("salary", 20, mode=mode, principal=ALICE)
        assert len(found) == 20


def test_scope_says_whose_words_are_counted() -> None:  # case F9
    kb = guarded()
    texts = list(GUARDED.values())

    def of(question: str, who: Any, **how: Any) -> list[tuple[str, float]]:
        by_words = scores(kb, question, principal=who, **how)
        both = said(kb, question, mode="hybrid", principal=who, **how)
        assert sorted((text, legs["sparse"]) for _, text, _, legs, _ in both if "sparse" in legs) == by_words
        return by_words

    for question in QUESTIONS:
        for who, mine in MINE.items():
            own = [GUARDED[name] for name in mine]
            tenant = texts[3:] if who is MALLORY else texts[:3]
            for scope, counted in ((None, own), ("permitted", own), ("tenant", tenant), ("collection", texts)):
                expected = [pair for pair in alone(counted, question) if pair[0] in own]
                assert of(question, who, scope=scope) == expected
        assert of(question, UNRESTRICTED) == of(question, UNRESTRICTED, scope="collection") == alone(texts, question)


def test_a_word_that_all_of_a_tenant_have_tells_little_there() -> None:  # case F9
    policy = Policy()
    kb = words(policy=policy)
    acme, zenith = policy.rule("acme", ANY_IN_TENANT), policy.rule("zenith", ANY_IN_TENANT)
    kb.put_document("a", "v1", chunks=[*["pump manual"] * 9, "pump valve"], rule=acme)
    kb.put_document("z", "v1", chunks=["other things"] * 200, rule=zenith)

    def least(word: str, scope: str) -> float:
        return min(score for _, score in scores(kb, word, principal=ALICE, scope=scope))

    assert least("pump", "permitted") < 0.1 < least("pump", "collection") / 10
    assert least("pump", "permitted") < least("valve", "permitted") / 10


@each_mode
@pytest.mark.parametrize("stored", [False, True])
def test_a_revoked_right_counts_at_once_in_every_snapshot(folder: Path, mode: str, stored: bool) -> None:
    """In another process's reader too; and words are counted anew. Seen red with counts that are kept by the state."""
    kb = guarded(folder=folder / "kb" if stored else None)
    readers: list[Any] = [kb, kb.snapshot()]
    if stored:
        readers.append(words(folder / "kb", "r", Policy(), metric=None, analyzer=None))
        readers.append(readers[-1].snapshot())

    def everywhere(who: Principal, mine: list[str]) -> None:
        only = guarded(mine).retrieve("secret salary", mode=mode, principal=who)
        for reader in readers:
            assert reader.retrieve("secret salary", mode=mode, principal=who) == only

    everywhere(BOB, ["open", "legal"])
    kb.set_rule("acme", "open", ruled_nobody(kb))
    assert {len(one.retrieve("salary", mode=mode, principal=ALICE)) for one in readers} == {0}
    everywhere(BOB, ["legal"])
    assert kb._policy is not None
    kb.set_rule("acme", "open", ruled(kb._policy)["open"])
    everywhere(BOB, ["open", "legal"])
    everywhere(ALICE, ["open"])
    kb.change_rule(ruled(kb._policy)["legal"], {"nobody"})
    everywhere(BOB, ["open"])
    for one in reversed(readers):
        one.close()


@pytest.mark.parametrize(
    ("mode", "before"), [*((mode, "_chunks") for mode in MODES), *((mode, "_by_words") for mode in MODES[1:])]
)
def test_what_is_revoked_while_it_is_looked_for_tells_nothing(
    mode: str, before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither as a hit of one leg nor by its words. Seen red without a look at the rights at the end."""
    kb, calls = guarded(), [0]
    real = getattr(CollectionReader, before)

    def stand_in(*given: Any) -> Any:
        calls[0] += 1
        if calls[0] == 1:
            kb.set_rule("acme", "legal", ruled_nobody(kb))
        return real(*given)

    monkeypatch.setattr(CollectionReader, before, stand_in)
    found = kb.retrieve("salary of the court", mode=mode, principal=BOB)
    assert calls == [2]
    monkeypatch.undo()
    assert found == guarded(["open"]).retrieve("salary of the court", mode=mode, principal=BOB)


def test_rights_that_never_settle_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = guarded()
    assert kb._policy is not None
    rules = [ruled(kb._policy)["legal"], ruled(kb._policy)["open"]]
    real = CollectionReader._chunks

    def stand_in(*given: Any) -> Any:
        rules.reverse()
        kb.set_rule("acme", "legal", rules[0])
        return real(*given)

    monkeypatch.setattr(CollectionReader, "_chunks", stand_in)
    with pytest.raises(AccessError, match="try again"):
        kb.retrieve("salary", mode="hybrid", principal=BOB)


@with_words
def test_a_mask_narrows_hits_and_changes_no_score(mode: str) -> None:
    kb = guarded()
    everything = {one[0]: one[3] for one in said(kb, "secret salary", mode=mode, principal=BOB)}
    ids = {chunk.source: int(chunk.id[:16], 16) >> 1 for chunk in kb.chunks(principal=UNRESTRICTED)}
    mask = AllowMask.from_ids(kb, [ids["legal"], ids["secret"]])
    [(name, _, _, legs, ranks)] = said(kb, "secret salary", mode=mode, principal=BOB, allow=mask)
    assert (name, legs) == ("legal", everything["legal"])
    assert set(ranks.values()) == {1}
    kb.optimize()
    with pytest.raises(StaleMask):
        kb.retrieve("secret salary", mode=mode, principal=BOB, allow=mask)


def test_each_leg_is_logged(folder: Path) -> None:
    with RetrievalLog(folder / "log.jsonl", key=KEY) as log:
        kb = guarded(log=log)
        for mode in MODES:
            kb.retrieve("secret salary", 7, mode=mode, principal=BOB)
        kb.retrieve("secret salary", mode="hybrid", principal=ALICE, scope="tenant")
        lines = objects_of(folder / "log.jsonl")[1:]
        ids = {who: kb.ids(principal=who).tolist() for who in (ALICE, BOB)}
    exact, sparse = "exact scan", "sparse bm25, exact, scope="
    assert [line["plan"].startswith(exact) for line in lines] == [True, False] * 3
    assert [line["plan"] for line in lines[1::2]] == [f"{sparse}permitted"] * 2 + [f"{sparse}tenant"]
    assert [(line["action"], line["k"]) for line in lines] == [("search", k) for k in (7, 7, 100, 100, 100, 100)]
    assert [line["who"]["id"] for line in lines] == ["bob"] * 4 + ["alice"] * 2
    assert "salary" not in (folder / "log.jsonl").read_text()
    assert [set(line["ids"][0]) for line in lines] == [set(ids[who]) for who in (BOB,) * 4 + (ALICE,) * 2]


def test_few_counts_are_kept_and_fewer_states() -> None:
    """Each keeps its postings in memory. Seen red where states were told apart by the generations of their rows, which
    begin anew when segments are rewritten: those of before were kept, and those of now never."""
    kb = guarded()
    for number in range(100):
        for who in (Principal("x", "acme", {"legal", f"team-{number}"}), BOB):
            kb.retrieve("salary", mode="sparse", principal=who)
        if number % 10 == 0:
            kb.put_document(f"s{number}", "v1", "salary", rule=ruled_nobody(kb))
        if number % 25 == 0:
            kb.optimize()
    kept = kb._statistics._kept
    assert 3 < len(kept) <= 64
    assert len({id(one.state) for one in kept.values()}) <= 3
    assert any(one.state is kb._now().words for one in kept.values())


def test_a_hybrid_answer_is_made_of_what_each_leg_says() -> None:  # P2 of the fusion follows from that of its legs
    kb, reads = guarded(), {}
    for mode in MODES[:2]:
        reads[mode] = sources(kb, "secret salary", mode=mode, principal=BOB)
    fused = rrf(list(reads.values()))
    both = said(kb, "secret salary", mode="hybrid", principal=BOB)
    assert {one[0]: one[2] for one in both} == dict(fused)
