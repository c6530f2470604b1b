# SPDX-License-Identifier: Apache-2.0
"""P1, P4, P5, P6, P7 where codes are read first: against brute force in canonical arithmetic, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import reference
from evidex import AllowMask, DenseIndex
from many_rows import KINDS, LEAST_DIM, LEAST_PER_HIT, LEAST_PERMITTED, Call, Many, calls, many, more_examples, require
from strategies import ISAS, forced_isa

cases = many().flatmap(lambda of: st.tuples(st.just(of), calls(of)))
larger_cases = many(st.integers(17_000, 20_000)).flatmap(lambda of: st.tuples(st.just(of), calls(of)))


def allow_of(of: Many, call: Call, index: DenseIndex) -> Any:
    """The call's masks in one of the forms that are accepted."""
    masks = {id(allowed): AllowMask.from_bools(index, of.bools(index, allowed)) for allowed in call.allowed}
    if len(call.allowed) > 1:
        return [masks[id(allowed)] for allowed in call.allowed]
    return masks[id(call.allowed[0])]


def expected_plan(of: Many, call: Call) -> str:
    permitted = int(call.allowed_of(0).sum())
    worth = permitted >= LEAST_PERMITTED and permitted // LEAST_PER_HIT >= min(call.k, permitted)
    scan = "exact pre-scan" if call.prescan and worth and of.pool.shape[1] >= LEAST_DIM else "exact scan"
    return scan if of.codec == "float32" else f"{scan} of decoded {of.codec} rows"


def check(of: Many, call: Call) -> None:
    scores = of.scores()
    with forced_isa(call.isa):
        index = of.index(prescan=call.prescan)
        allow = allow_of(of, call, index)
        hits = index.search(of.queries, call.k, allow=allow, group_by=call.group_by, threads=call.threads)
        first = of.bools(index, call.allowed_of(0))
        explained = index.explain(of.queries[0], call.k, allow=first, group_by=call.group_by)
    require(hits, of, call, scores)
    assert explained.plan == expected_plan(of, call)
    assert explained.hits == tuple(zip(*(x.tolist() for x in hits[0]), strict=True))
    assert explained.operator is not None
    event(f"{explained.plan.split(' of ')[0]}, abandoned: {explained.operator['abandoned']}")


@more_examples
@given(case=cases)
def test_whatever_the_codes_say_the_answer_is_brute_force(case: tuple[Many, Call]) -> None:
    """Seen red: a threshold one place up, which loses ties; rows that are not permitted among the seeds; seeds of a
    grouped search chosen by row; norms of codes rounded up to 16 bits under squared L2."""
    check(*case)


@given(case=larger_cases)
def test_whatever_a_sample_decides_the_answer_is_brute_force(case: tuple[Many, Call]) -> None:
    """So many rows that how much the codes tell is found out first, and acted upon. Seen red: residuals times 0.9."""
    check(*case)


@given(case=cases, rank=st.integers(0, 300), limit=st.none() | st.integers(0, 40))
def test_a_radius_is_brute_force_cut_at_the_score(case: tuple[Many, Call], rank: int, limit: int | None) -> None:
    """P1, P4, P6, P7, cases B19, G10: the threshold is a score that occurs, and the rows that have it stay. Seen red:
    a least score one place up after the codes were read."""
    of, call = case
    scores = of.scores()
    least = np.sort(scores[0])[-1 - rank]
    with forced_isa(call.isa):
        index = of.index(prescan=call.prescan)
        allow = allow_of(of, call, index)
        hits = index.radius(of.queries, float(least), limit=limit, allow=allow, threads=call.threads)
    for query in range(len(of.queries)):
        rows = np.flatnonzero(call.allowed_of(query) & (scores[query] >= least))
        places = rows[reference.best(of.ids[rows], scores[query, rows], 2**63 - 1 if limit is None else limit)]
        assert hits[query].ids.tolist() == of.ids[places].tolist()
        assert hits[query].scores.tobytes() == scores[query, places].tobytes()
    assert hits.ids.shape == (len(of.queries), hits.counts.max())
    assert hits.certified.all()


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("metric", reference.METRICS)
@pytest.mark.parametrize("nq", [1, 3])
@pytest.mark.parametrize("prescan", [False, True])
def test_a_few_rows_before_many_keep_their_places(isa: str, metric: str, nq: int, prescan: bool) -> None:
    """P7. Single permitted rows are collected, words full of them are taken at once: here the best rows stand alone
    before, between and after such words. Seen red: a block that overwrites the planes, or the numbers, of rows that
    wait."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((64 * 50, 32)).astype(np.float32)
    rows *= np.where(np.arange(len(rows)) % 640 == 63, 3, 1)[:, None].astype(np.float32)
    allow = np.arange(len(rows)) // 64 % 10 != 0
    allow[63::640] = True
    queries = rows[63:64] + 0.1 * rng.standard_normal((nq, 32)).astype(np.float32)
    of = Many(metric, "float32", rows, np.arange(3200), np.arange(3200), None, queries, churned=False)
    call = Call(k=5, allowed=[allow], group_by=False, prescan=prescan, isa=isa, threads=1)
    with forced_isa(isa):
        index = of.index(prescan=prescan)
        require(index.search(queries, 5, allow=allow), of, call, of.scores())
        assert index.explain(queries[0], 5, allow=allow).plan == expected_plan(of, call)


@pytest.mark.parametrize("kind", ["clustered", "normal"])
@pytest.mark.parametrize(("metric", "codec"), list(zip(reference.METRICS, reference.CODECS, strict=True)))
def test_threads_share_a_prescan(metric: str, codec: str, kind: str) -> None:
    """P5: with enough rows and queries for several workers, over one mask and over three; in the first kind of data
    the high plane of the codes leaves few rows over, in the second it does not. Seen red: the second worker's rows
    left out."""
    rng = np.random.default_rng(7)
    pool = KINDS[kind](rng, 500, 64).astype(np.float32)
    n, nq = 20000, 33
    queries = pool[:nq] + 0.3 * rng.standard_normal((nq, 64)).astype(np.float32)
    pick, documents = rng.integers(0, 500, n), np.arange(n) // 7
    of = Many(metric, codec, pool, pick, rng.permutation(n), documents, queries, churned=False)
    few = [rng.random(n) < share for share in (0.9, 0.3, 0.02)]
    scores = of.scores()
    index = of.index()
    for allowed in ([np.full(n, True)], [few[i] for i in rng.integers(0, 3, nq)]):
        for group_by in (False, True):
            call = Call(k=40, allowed=allowed, group_by=group_by, prescan=True, isa=ISAS[0], threads=1)
            allow = allow_of(of, call, index)
            for threads in (1, 2, 3):
                require(index.search(queries, 40, allow=allow, group_by=group_by, threads=threads), of, call, scores)


def test_codes_that_tell_nothing_are_given_up() -> None:
    """And only those: otherwise the properties above would prove little."""
    rng = np.random.default_rng(3)
    for kind, abandoned in (("clustered", False), ("near ties", True)):
        rows = KINDS[kind](rng, 40_000, 32).astype(np.float32)
        index = DenseIndex(32, metric="ip")
        index.add(None, rows)
        explained = index.explain(rows[0], 10)
        assert explained.plan == "exact pre-scan"
        assert explained.operator is not None
        assert explained.operator["abandoned"] is abandoned
