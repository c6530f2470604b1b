# SPDX-License-Identifier: Apache-2.0
"""DenseIndex.train and search(recall=, rescore=, plan=): what is found by codes, and what no code may change."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import reference
from codes_examples import KINDS, QUERIES, ROWS, filled, forced, recall_of
from evidex import AccessError, AllowMask, DenseIndex, Policy, Principal, RetrievalLog
from strategies import ISAS, forced_isa


@pytest.fixture(scope="module", params=KINDS)
def index(request: pytest.FixtureRequest) -> DenseIndex:
    return filled(request.param)


def test_codes_find_most_and_say_that_they_are_not_certain(index: DenseIndex) -> None:
    """Scores are exact all the same, in order. Seen red with certified left true."""
    exact = index.search(QUERIES, 10)
    found = index.search(QUERIES, 10, plan=forced(index, 200))
    assert exact.certified.all() and not found.certified.any()
    assert recall_of(found, exact) >= 0.8
    for query, (ids, scores) in enumerate(found):
        alone = index.search(QUERIES[query], 10, allow=AllowMask.from_ids(index, ids))
        assert alone.ids[0].tolist() == ids.tolist()
        assert alone.scores[0].tobytes() == scores.tobytes()
    assert index.explain(QUERIES[0], 10, plan=forced(index, 200)).certified is False


def test_recall_chooses_a_plan_that_can_be_replayed(index: DenseIndex) -> None:
    plans = [index.explain(QUERIES[0], 10, recall=recall).plan for recall in (0.5, 0.9, 0.99)]
    counts = [int(plan.split()[2]) for plan in plans if "codes" in plan]
    assert counts == sorted(counts)
    for recall in (0.5, 0.9, 0.99):
        plan = index.explain(QUERIES[0], 10, recall=recall).plan
        chosen = index.search(QUERIES[:1], 10, recall=recall)
        again = index.search(QUERIES[:1], 10, plan=plan)
        assert (chosen.ids.tolist(), chosen.scores.tobytes()) == (again.ids.tolist(), again.scores.tobytes())
        assert chosen.certified.tolist() == again.certified.tolist()
    assert index.search(QUERIES, 10, plan="exact").certified.all()
    assert index.search(QUERIES, 10, plan="exact pre-scan").certified.all()


def test_more_candidates_are_asked_for_higher_targets_and_deeper_hits() -> None:
    codes = filled()._codes["binary"]
    by_recall = [codes.candidates(10, recall) or 10**6 for recall in (0.3, 0.6, 0.9, 0.99, 0.999)]
    by_k = [codes.candidates(k, 0.9) or 10**6 for k in (1, 10, 100, 1000)]
    assert by_recall == sorted(by_recall) and by_recall[0] < by_recall[-1]
    assert by_k == sorted(by_k) and by_k[0] < by_k[-1]
    assert all(codes.candidates(k, 0.1) >= k for k in (1, 5, 50, 500, 5000))  # type: ignore[operator]
    assert codes.candidates(0, 0.5) is not None


def test_targets_are_reached_on_rows_of_the_index(index: DenseIndex) -> None:
    """Floors far below what is measured, to notice breakage."""
    asked = ROWS[::30]
    exact = index.search(asked, 10)
    held = index._codes[index.stats()["codes"][0]["kind"]]
    for target in (0.5, 0.9, 0.99):
        found = index.search(asked, 10, plan=forced(index, held.candidates(10, target) or 3000))
        assert recall_of(found, exact) >= target - 0.05


def test_rescore_acts(index: DenseIndex) -> None:
    """P12: as many rows as that are scored, and at least k."""
    exact = index.search(QUERIES, 10)
    few, many = (recall_of(index.search(QUERIES, 10, plan=forced(index, n)), exact) for n in (1, 2000))
    assert few < many
    assert index.search(QUERIES, 10, plan=forced(index, 1)).counts.tolist() == [10] * len(QUERIES)
    plan = index.explain(QUERIES[0], 10, recall=0.9, rescore=77).plan
    assert plan == forced(index, 77) or plan.startswith("exact")


def test_groups_are_found_exactly(index: DenseIndex) -> None:
    found = index.search(QUERIES, 10, group_by=True, plan=forced(index, 20))
    assert found.certified.all()
    assert found.ids.tolist() == index.search(QUERIES, 10, group_by=True).ids.tolist()


def test_few_permitted_rows_are_all_scored(index: DenseIndex) -> None:
    """A batch has a plan for each mask. Seen red with the first mask's taken for all."""
    ids = index.ids()
    masks = [AllowMask.from_ids(index, ids[:n]) for n in (5, 2000)]
    found = index.search(QUERIES[:2], 10, allow=masks, plan=forced(index, 20))
    assert found.certified.tolist() == [True, False]
    assert found.counts.tolist() == [5, 10]


@pytest.mark.parametrize("codec", reference.CODECS)
@pytest.mark.parametrize("metric", reference.METRICS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bits_on_every_instruction_set_and_thread_count(kind: str, metric: str, codec: str) -> None:
    """P5, and training again gives the same codes. Workers share such a search in tests/cpp/index/lookup_test.cpp."""
    rows = np.round(ROWS[:1500] * 2) / 2  # many equal estimates
    answers = set()
    for isa in ISAS:
        with forced_isa(isa):
            index = filled(kind, rows, metric=metric, codec=codec)
            for threads in (1, 2, 5):
                found = index.search(QUERIES, 10, plan=forced(index, 40), threads=threads)
                answers.add((found.ids.tobytes(), found.scores.tobytes()))
            one = [index.search(query, 10, plan=forced(index, 40)) for query in QUERIES]
            answers.add(
                (np.concatenate([o.ids for o in one]).tobytes(), np.concatenate([o.scores for o in one]).tobytes())
            )
    assert len(answers) == 1


def test_seeds_act() -> None:
    for kind in KINDS:
        found = []
        for seed in (0, 0, 1):
            index = filled(None)
            index.train(kind, seed=seed)
            found.append(index.search(QUERIES, 10, plan=forced(index, 12)).ids.tolist())
            assert index.stats()["codes"][0]["seed"] == seed
        assert found[0] == found[1] != found[2]


def test_codes_follow_every_write(index: DenseIndex) -> None:
    """Seen red with codes left as they were by add, and by optimize."""
    kind = index.stats()["codes"][0]["kind"]
    index = filled(kind)
    best = index.add(None, QUERIES)  # fewer than a word of 64 rows: not coded yet, scored all the same
    plan = forced(index, 50)
    assert index.search(QUERIES, 1, plan=plan).ids[:, 0].tolist() == best.tolist()
    index.add(None, np.tile(-QUERIES, (20, 1)))  # now they are
    assert index.stats()["codes"][0]["rows"] == 3420 // 64 * 64
    assert index.search(QUERIES, 1, plan=plan).ids[:, 0].tolist() == best.tolist()
    index.upsert(best, -QUERIES)
    assert not set(index.search(QUERIES, 1, plan=plan).ids[:, 0].tolist()) & set(best.tolist())
    index.upsert(best, QUERIES)
    index.optimize()
    assert index.search(QUERIES, 1, plan=plan).ids[:, 0].tolist() == best.tolist()
    assert index.search(QUERIES, 1, plan=plan).certified.tolist() == [False] * len(QUERIES)
    index.remove(best)
    assert not set(index.search(QUERIES, 1, plan=plan).ids[:, 0].tolist()) & set(best.tolist())


def test_drift_is_told() -> None:
    index = filled()
    codes = index.stats()["codes"][0]
    assert codes["kind"] == "binary" and codes["bytes_per_row"] == 12 and codes["rows"] == 2944
    assert codes["drift"]["rows"] == 0 and math.isnan(codes["drift"]["spread"])
    assert set(codes["costs"]) == {"row", "eighth", "sixty_fourth", "word", "candidate", "start"}
    index.add(None, ROWS[:640] + 1e-3)
    same = index.stats()["codes"][0]["drift"]
    assert 0.8 < same["spread"] < 1.2 and 0.95 < same["fit"] < 1.05
    other = filled(metric="ip")
    other.add(None, ROWS[:640] * 5 + 20)
    assert other.stats()["codes"][0]["drift"]["spread"] > 3


def test_the_log_has_the_plan(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with RetrievalLog(path, key=None) as log:
        index = filled(log=log)
        plan = forced(index, 20)
        index.search(QUERIES[:1], 3, plan=plan)
    assert f'"plan":"{plan}"' in path.read_text(encoding="utf-8").replace(": ", ":")


def test_d1_the_nearest_rows_are_removed(index: DenseIndex) -> None:
    """Case D1: those that come next are found, and a full answer."""
    index = filled(index.stats()["codes"][0]["kind"])
    gone = index.search(QUERIES[0], 10).ids[0]
    index.remove(gone)
    found = index.search(QUERIES[0], 10, plan=forced(index, 300))
    assert found.counts[0] == 10 and not set(found.ids[0].tolist()) & set(gone.tolist())
    half = index.ids()[::2]
    index.remove(half)
    assert not set(index.search(QUERIES, 20, plan=forced(index, 300)).ids.ravel().tolist()) & set(half.tolist())


def test_a9_selective_masks_give_full_answers(index: DenseIndex) -> None:
    """Cases A3, A9: near the query and far from it, whatever is permitted: min(k, permitted), twice the same."""
    order = index.search(QUERIES[0], 3000).ids[0]
    for near in (True, False):
        for permitted in (1, 10, 200, 1500):
            chosen = order[:permitted] if near else order[::-1][:permitted]
            mask = AllowMask.from_ids(index, chosen)
            for arguments in ({"recall": 0.5}, {"recall": 0.9, "rescore": 11}, {"plan": forced(index, 10)}):
                found = index.search(QUERIES[0], 10, allow=mask, **arguments)
                assert found.counts[0] == min(10, permitted)
                assert set(found.ids[0, : found.counts[0]].tolist()) <= set(chosen.tolist())
                again = index.search(QUERIES[0], 10, allow=mask, **arguments)
                assert again.ids.tolist() == found.ids.tolist()


def test_rights_hold_for_codes(index: DenseIndex) -> None:
    """P1, P3: a right that is revoked counts for the next search, and without a principal there is none."""
    policy = Policy()
    mine, theirs = policy.rule("acme", {"a"}), policy.rule("acme", {"b"})
    guarded = DenseIndex(48, policy=policy)
    guarded.add(None, ROWS, [mine if i % 3 == 0 else theirs for i in range(len(ROWS))])
    guarded.train(index.stats()["codes"][0]["kind"])
    alice = Principal("alice", "acme", {"a"})
    with pytest.raises(AccessError):
        guarded.search(QUERIES, 10, recall=0.5)
    plan = forced(guarded, 50)
    found = guarded.search(QUERIES, 10, principal=alice, plan=plan)
    assert (found.ids % 3 == 0).all() and not found.certified.any()
    policy.change(mine, {"nobody"})
    assert guarded.search(QUERIES, 10, principal=alice, plan=plan).counts.tolist() == [0] * len(QUERIES)
