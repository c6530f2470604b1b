# SPDX-License-Identifier: Apache-2.0
"""Codes of a saved index: what is loaded answers as what was saved, and follows what is written afterwards."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import reference
from codes_examples import KINDS, QUERIES, RNG, ROWS, filled, forced
from evidex import UNRESTRICTED, AllowMask, Collection, DenseIndex, InvalidInput, Policy, Principal, _costs, codes
from strategies import ISAS, forced_isa


def saved(index: DenseIndex, folder: Path, policy: Policy | None = None) -> DenseIndex:
    index.save(folder)
    return DenseIndex.load(folder, policy=policy)


def same_by_codes(one: DenseIndex, other: DenseIndex, **asked: Any) -> None:
    """Hits and scores of each kind and many plans, and the plans themselves."""
    assert one._codes.keys() == other._codes.keys()
    for kind in one._codes:
        for candidates in (1, 12, 40, 300):
            plan = f"{kind} codes, {candidates} rescored"
            mine, its = (index.search(QUERIES, 10, plan=plan, **asked) for index in (one, other))
            assert mine.ids.tobytes() == its.ids.tobytes() and mine.scores.tobytes() == its.scores.tobytes()
            assert mine.certified.tolist() == its.certified.tolist() == [False] * len(QUERIES)
            assert one.explain(QUERIES[0], 10, plan=plan, **asked).plan == plan
            assert other.explain(QUERIES[0], 10, plan=plan, **asked).plan == plan


def changed(index: DenseIndex, rules: Any = None) -> None:
    """Rows removed, rows given again, and some at the end that have no codes."""
    index.remove(np.arange(7, 2500, 9))
    index.upsert(np.arange(0, 40, 2), ROWS[100:120], rules)
    index.add(None, ROWS[:9] + 0.01, rules)


def blocks(index: DenseIndex, kind: str, again: bool = False) -> list[bytes]:
    """Codes and facts of the rows that have some; with ``again`` coded anew."""
    snapshot, held = index._store.snapshot(), index._codes[kind]
    core = held.again(snapshot).core if again else held.core
    rows = np.flatnonzero(snapshot.live().test(np.arange(snapshot.rows, dtype=np.int64)))
    return [part.tobytes() for part in core.gather(rows[rows < core.rows])]


@pytest.mark.parametrize("codec", reference.CODECS)
@pytest.mark.parametrize("metric", reference.METRICS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_loaded_answers_as_what_was_saved(kind: str, metric: str, codec: str, tmp_path: Path) -> None:
    """Seen red with the last block taken for a full one by either scan, and with rows' codes a place further."""
    index = filled(kind, ROWS[:2983], metric=metric, codec=codec)
    changed(index)
    loaded = saved(index, tmp_path / "saved")
    assert index._codes[kind].core.rows == 2983 // 64 * 64 + 64
    coded = loaded._codes[kind].core.rows
    assert coded % 64 != 0 and coded < len(loaded)
    same_by_codes(index, loaded)
    few = index.ids()[::3]
    for one in ({"allow": AllowMask.from_ids(loaded, few)}, {"threads": 2}):
        mine = one if "threads" in one else {"allow": AllowMask.from_ids(index, few)}
        plan = f"{kind} codes, 30 rescored"
        left, right = index.search(QUERIES, 10, plan=plan, **mine), loaded.search(QUERIES, 10, plan=plan, **one)
        assert left.ids.tolist() == right.ids.tolist() and left.scores.tobytes() == right.scores.tobytes()


def test_both_kinds_and_all_that_is_known_of_them(tmp_path: Path) -> None:
    """Seen red with the fit of training saved in place of today's, and with ranks in another order."""
    index = filled("binary")
    index.train("pq4", seed=9)
    changed(index)
    index.add(None, ROWS[:200] * 2)
    loaded = saved(index, tmp_path / "saved")
    same_by_codes(index, loaded)
    for mine, its in zip(index.stats()["codes"], loaded.stats()["codes"], strict=True):
        assert its.pop("rows") <= mine.pop("rows")
        assert mine == its and mine["drift"]["rows"] > 0
    for kind in KINDS:
        for k in (1, 7, 100):
            for recall in (0.3, 0.9, 0.99):
                assert index._codes[kind].candidates(k, recall) == loaded._codes[kind].candidates(k, recall)
    assert loaded.stats()["codes"][1]["seed"] == 9
    same_by_codes(index, saved(loaded, tmp_path / "again"))


def test_a_guarded_index(tmp_path: Path) -> None:
    """P1 of loaded codes: rights are those of the loaded index's policy."""
    policy = Policy()
    rules = [policy.rule("acme", {"a"}), policy.rule("acme", {"b"})]
    index = DenseIndex(48, policy=policy)
    index.add(None, ROWS, [rules[i % 3 > 0] for i in range(len(ROWS))])
    for kind in KINDS:
        index.train(kind)
    changed(index, rules[0])
    loaded = saved(index, tmp_path / "saved", its := Policy())
    for principal in (Principal("alice", "acme", {"a"}), Principal("bob", "acme", {"b"}), UNRESTRICTED):
        same_by_codes(index, loaded, principal=principal)
    its.change(its.rules()[0], {"nobody"})
    plan = "binary codes, 50 rescored"
    assert loaded.search(QUERIES, 5, principal=Principal("alice", "acme", {"a"}), plan=plan).counts.max() == 0


@pytest.mark.parametrize("kind", KINDS)
def test_loaded_codes_follow_every_write(kind: str, tmp_path: Path) -> None:
    """Seen red with rows of the half full block left out when it was filled."""
    index = filled(kind)
    index.remove(np.arange(0, 100))
    loaded = saved(index, tmp_path / "saved")
    plan = f"{kind} codes, 50 rescored"
    assert loaded._codes[kind].core.rows % 64 != 0
    best = loaded.add(None, QUERIES)  # their row numbers begin a thousand further: the half full block is full now
    assert loaded._codes[kind].core.rows == loaded._store.snapshot().rows // 64 * 64
    assert loaded.search(QUERIES, 1, plan=plan).ids[:, 0].tolist() == best.tolist()
    loaded.add(None, np.tile(-QUERIES, (20, 1)))
    assert loaded._codes[kind].core.rows == loaded._store.snapshot().rows // 64 * 64
    assert blocks(loaded, kind) == blocks(loaded, kind, again=True)
    assert loaded.stats()["codes"][0]["drift"]["rows"] > 300
    assert loaded.search(QUERIES, 1, plan=plan).ids[:, 0].tolist() == best.tolist()
    loaded.upsert(best, -QUERIES)
    assert not set(loaded.search(QUERIES, 1, plan=plan).ids[:, 0].tolist()) & set(best.tolist())
    loaded.upsert(best, QUERIES)
    loaded.optimize()
    assert loaded.search(QUERIES, 1, plan=plan).ids[:, 0].tolist() == best.tolist()
    loaded.train(kind, seed=3)
    loaded.remove(best)
    assert not set(loaded.search(QUERIES, 1, plan=plan).ids[:, 0].tolist()) & set(best.tolist())
    same_by_codes(index, DenseIndex.load(tmp_path / "saved"))


@pytest.mark.parametrize("rows", [2**16 - 30, 2**16 + 70, 2**18 + 200])
def test_several_pieces_and_segments(rows: int, tmp_path: Path) -> None:
    """At their borders. Seen red with the codes of each segment mapped from its first block on."""
    vectors = RNG.standard_normal((rows, 3)).astype(np.float32)
    index = DenseIndex(3, metric="l2")
    index.add(None, vectors)
    index.train("binary")
    loaded = saved(index, tmp_path / "saved")
    plan = "binary codes, 200 rescored"
    for _ in range(2):
        left, right = (one.search(vectors[-40:], 10, plan=plan) for one in (index, loaded))
        assert left.ids.tolist() == right.ids.tolist() and left.scores.tobytes() == right.scores.tobytes()
        assert not left.certified.any()
        for one in (index, loaded):
            one.add(None, vectors[:100] + 0.5)
    assert blocks(loaded, "binary") == blocks(loaded, "binary", again=True)


def test_few_rows_left_and_none(tmp_path: Path) -> None:
    index = filled()
    index.remove(np.arange(2990))
    loaded = saved(index, tmp_path / "few")
    assert loaded._codes["binary"].core.rows == 0 and len(loaded) == 10
    loaded.remove(loaded.ids())
    empty = saved(loaded, tmp_path / "none")
    assert empty.search(QUERIES, 3, recall=0.5).counts.max() == 0
    empty.add(None, ROWS)
    plan = forced(empty, 40)
    assert (
        empty.search(QUERIES, 3, plan=plan).scores.tobytes() == filled().search(QUERIES, 3, plan=plan).scores.tobytes()
    )


def test_codes_end_with_the_index_that_had_them(tmp_path: Path) -> None:
    filled().save(tmp_path / "saved")
    loaded = saved(filled(None), tmp_path / "saved")
    assert loaded.stats()["codes"] == [] and loaded.search(QUERIES, 5, recall=0.5).certified.all()
    with pytest.raises(InvalidInput, match="holds no binary codes"):
        loaded.search(QUERIES, 5, plan="binary codes, 50 rescored")
    with pytest.raises(InvalidInput, match="holds an index"):
        Collection.open(tmp_path / "saved", policy=UNRESTRICTED)


def test_loading_codes_makes_none(tmp_path: Path) -> None:
    """It maps them. Seen red with codes made again."""
    filled("pq4").save(tmp_path / "saved")
    with (
        mock.patch.object(codes.Codes, "train", side_effect=AssertionError),
        mock.patch.object(codes.Codes, "again", side_effect=AssertionError),
    ):
        loaded = DenseIndex.load(tmp_path / "saved")
    maps = Path("/proc/self/maps")
    if maps.exists():
        assert str(tmp_path / "saved") in maps.read_text() and "pq4_codes.npy" in maps.read_text()
    assert loaded.search(QUERIES, 5, plan="pq4 codes, 50 rescored").counts.min() == 5


@pytest.mark.parametrize("kind", KINDS)
def test_costs_of_another_host_are_measured_once_when_they_are_needed(kind: str, tmp_path: Path) -> None:
    """P7: plans follow from costs of this host, and those stay. Seen red with the saved ones taken as they were, with
    new ones for each search, and with a plan= that measured."""
    with (
        mock.patch.object(_costs, "this_host", return_value="a distant machine"),
        mock.patch.object(codes, "this_host", return_value="a distant machine"),
    ):
        index = filled(kind)
        theirs = saved(index, tmp_path / "saved").stats()["codes"][0]["costs"]
    assert theirs is not None
    loaded = DenseIndex.load(tmp_path / "saved")
    with mock.patch.object(codes, "measured", side_effect=AssertionError("measured")):
        assert loaded.stats()["codes"][0]["costs"] is None
        assert not loaded.search(QUERIES, 10, plan=forced(loaded, 40)).certified.any()
        assert loaded.search(QUERIES, 10).certified.all()
        again = saved(loaded, tmp_path / "again")  # as they came
        assert again.stats()["codes"][0]["costs"] is None
    with mock.patch.object(codes, "measured", side_effect=_costs.measured) as measured:
        loaded.search(QUERIES, 10, recall=0.5)
        mine = loaded.stats()["codes"][0]["costs"]
        loaded.search(QUERIES, 10, recall=0.9)
        loaded.optimize()
        loaded.explain(QUERIES[0], 10, recall=0.5)
        assert measured.call_count == 1
        assert loaded.stats()["codes"][0]["costs"] == mine != theirs
        assert saved(loaded, tmp_path / "again").stats()["codes"][0]["costs"] == mine


def test_codes_of_another_layout_are_not_measured(tmp_path: Path) -> None:
    """As they are for a moment while rows are laid out anew. Seen red with the layout not looked at."""
    with mock.patch.object(codes, "this_host", return_value="a distant machine"):
        filled().save(tmp_path / "saved")
    loaded = DenseIndex.load(tmp_path / "saved")
    loaded._store.optimize(np.empty(0, dtype=np.uint32))
    with mock.patch.object(codes, "measured", side_effect=AssertionError("measured")):
        assert loaded.search(QUERIES, 10, recall=0.5).certified.all()
    again = saved(loaded, tmp_path / "again")  # made anew for the rows as they lie now
    assert blocks(again, "binary") == blocks(again, "binary", again=True)


def test_the_instruction_set_is_part_of_the_host(tmp_path: Path) -> None:
    for isa in ISAS:
        with forced_isa(isa):
            index = filled(rows=ROWS[:600])
            loaded = saved(index, tmp_path / isa)
            assert loaded.stats()["codes"][0]["costs"] == index.stats()["codes"][0]["costs"] is not None
    for isa in ISAS:
        with forced_isa(ISAS[0]):
            known = DenseIndex.load(tmp_path / isa).stats()["codes"][0]["costs"]
            assert (known is not None) == (isa == ISAS[0])


def test_many_threads_measure_once(tmp_path: Path) -> None:
    """Seen red without the lock."""
    with mock.patch.object(codes, "this_host", return_value="a distant machine"):
        filled().save(tmp_path / "saved")
    loaded = DenseIndex.load(tmp_path / "saved")

    def slowly(*asked: Any) -> Any:
        time.sleep(0.2)
        return _costs.measured(*asked)

    with mock.patch.object(codes, "measured", side_effect=slowly) as measured:
        threads = [threading.Thread(target=loaded.search, args=(QUERIES, 10), kwargs={"recall": 0.9}) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert measured.call_count == 1


def test_saving_beside_a_writer(tmp_path: Path) -> None:
    """How many rows have codes is decided once, and a new layout has its own."""
    index = filled()
    done = threading.Event()

    def write() -> None:
        while not done.is_set():
            index.add(None, ROWS[:130])
            index.optimize()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for turn in range(15):
            loaded = saved(index, tmp_path / str(turn))
            assert loaded.search(QUERIES, 10, plan="binary codes, 60 rescored").counts.min() == 10
            loaded.add(None, ROWS[:64])  # so that all blocks are full
            assert blocks(loaded, "binary") == blocks(loaded, "binary", again=True)
    finally:
        done.set()
        writer.join()
