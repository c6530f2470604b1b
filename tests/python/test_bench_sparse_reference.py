# SPDX-License-Identifier: Apache-2.0
"""``evidex bench sparse``: the reference in float64, who counts as right against it, and folders."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from bench_texts import texts
from evidex import InvalidInput
from evidex.bench.sparse import folders
from evidex.bench.sparse.judging import Asked, judge
from evidex.bench.sparse.reference import Reference, Tally, ranked


def terms(text: str) -> dict[str, int]:
    return {word: 4 * text.split().count(word) for word in text.split()}


SMALL = Reference([terms("cat sat"), terms("cat cat mat hat"), terms(""), terms("dog sat sat")])


def test_scores_worked_by_hand() -> None:
    """Seen red: without the half in idf, with the longest length for the mean, and with the query's counts left out."""
    everything = SMALL.statistics()
    assert (everything.rows, everything.average, SMALL.entries) == (4, 9.0, 7)
    idf = math.log(1 + (4 - 2 + 0.5) / 2.5)
    found = SMALL.scores({"cat": 4, "unknown": 4}, everything)
    assert set(found) == {0, 1}
    assert found[0] == pytest.approx(idf / (1 + 1.2 * (0.25 + 0.75 * 8 / 9)), rel=1e-15)
    assert found[1] == pytest.approx(idf * 2 / (2 + 1.2 * (0.25 + 0.75 * 16 / 9)), rel=1e-15)
    twice = SMALL.scores({"cat": 8}, everything)
    assert twice[0] == pytest.approx(2 * found[0], rel=1e-15)
    (rare,) = SMALL.scores({"mat": 4}, everything).values()
    assert rare == pytest.approx(math.log(1 + (4 - 1 + 0.5) / 1.5) / (1 + 1.2 * (0.25 + 0.75 * 16 / 9)), rel=1e-15)
    part = SMALL.scores({"cat": 2}, everything)
    assert part[0] == pytest.approx(found[0] / 2, rel=1e-15)


def test_a_scope_is_the_corpus_of_its_rows_alone() -> None:
    """Seen red: document frequencies of all rows under a scope."""
    corpus = [terms(text) for text in texts(80, 12, 3)]
    allow = np.arange(80) % 3 == 1
    whole, alone = Reference(corpus), Reference([one for one, kept in zip(corpus, allow, strict=True) if kept])
    rows = np.flatnonzero(allow).tolist()
    for text in texts(10, 5, 4):
        under = whole.scores(terms(text), whole.statistics(allow), allow.tobytes())
        assert under == {rows[row]: score for row, score in alone.scores(terms(text), alone.statistics()).items()}
        narrowed = whole.scores(terms(text), whole.statistics(), allow.tobytes())
        every = whole.scores(terms(text), whole.statistics())
        assert narrowed == {row: score for row, score in every.items() if allow[row]}
    assert whole.statistics(np.zeros(80, np.bool_)).average == 0


def test_the_best_are_ordered_by_score_and_then_by_row() -> None:
    assert ranked({7: 1.0, 3: 2.0, 5: 1.0, 1: 0.5}, 3) == [3, 5, 7]
    assert ranked({7: 1.0, 5: 1.0}, 1) == [5]
    assert ranked({7: 1.0}, 5) == [7]
    assert ranked({}, 5) == []


SCORES = {4: 3.0, 9: 2.0, 2: 1.0, 8: 1.0, 5: 0.5}


@pytest.mark.parametrize(
    ("given", "recall", "same", "agrees", "explained"),
    [
        ([4, 9, 2], 1.0, 1, 1, True),
        ([4, 9, 8], 1.0, 0, 1, True),  # ties with 2
        ([9, 4, 2], 1.0, 0, 1, False),  # all of them, in another order
        ([4, 9, 5], 2 / 3, 0, 0, False),
        ([4, 9], 2 / 3, 0, 0, False),
        ([4, 9, 9], 2 / 3, 0, 0, False),
        ([4, 9, 2, 8], 1.0, 0, 0, False),
        ([4, 9, 77], 2 / 3, 0, 0, False),  # has no term of the question
        ([], 0.0, 0, 0, False),
        ([-1, -1], 0.0, 0, 0, False),
    ],
)
def test_an_answer_is_right_but_for_ties(
    given: Sequence[int], recall: float, same: int, agrees: int, explained: bool
) -> None:
    """Seen red: rows counted twice, too few rows taken for agreement, order left out of what rounding explains."""
    tally = Tally(3)
    tally.judge(given, SCORES, ranked(SCORES, 3), 0)
    got = tally.answers()
    assert got.recall == pytest.approx(recall)
    assert (got.checked, tally.same, tally.agreeing, got.beyond_rounding) == (1, same, agrees, int(not explained))


def test_nothing_is_the_right_answer_where_nothing_matches() -> None:
    tally = Tally(3)
    tally.judge([], {}, [], 0)
    tally.judge([4], {}, [], 0)
    got = tally.answers()
    assert (got.recall, tally.agreement, got.ids_equal_share, got.beyond_rounding) == (0.5, 0.5, 0.5, 1)


def test_rounding_of_float32_is_no_mistake_and_more_is() -> None:
    near, far = {1: 1.0, 2: 1.0 + 1e-7}, {1: 1.0, 2: 1.0 + 1e-5}
    for scores, beyond in ((near, 0), (far, 1)):
        tally = Tally(2)
        tally.judge([1, 2], scores, ranked(scores, 2), 0)
        assert (tally.agreement, tally.beyond) == (1.0, beyond)


@pytest.mark.parametrize("scope", ["permitted", "collection"])
def test_each_caller_is_judged_by_its_own_rows(scope: str) -> None:
    """Seen red: every caller judged as the first one."""
    corpus = [terms(text) for text in texts(100, 12, 5)]
    reference, made = Reference(corpus), folders.make("random", 0.5, 100, 0)
    questions = [terms(text) for text in texts(4, 5, 6)]
    ids = np.full((4, 5), -1, np.int64)
    for row, question in enumerate(questions):
        allow = made.permitted(row)
        statistics = reference.statistics(allow if scope == "permitted" else None)
        best = ranked(reference.scores(question, statistics, allow.tobytes()), 5)
        ids[row, : len(best)] = best
    tally, open_tally = Tally(5), Tally(5)
    turn = Asked(np.arange(4), np.arange(4), ids)
    judge(reference, questions, [(made, [turn], tally), (None, [turn], open_tally)], 5, scope)
    assert (tally.agreement, tally.answers().ids_equal, tally.forbidden, tally.checked) == (1.0, True, 0, 4)
    assert open_tally.agreement < 1
    wrong = Tally(5)
    denied = np.flatnonzero(~made.permitted(0))[:2].tolist()
    judge(
        reference,
        questions,
        [(made, [Asked(np.array([0]), np.array([0]), np.array([[*denied, 100]]))], wrong)],
        5,
        scope,
    )
    assert wrong.forbidden == 3


@pytest.mark.parametrize("kind", folders.KINDS)
@pytest.mark.parametrize(("share", "count"), [(0.1, 100), (0.5, 20), (1.0, 10), (0.01, 1000)])
def test_a_caller_reads_its_share(kind: str, share: float, count: int) -> None:
    made = folders.make(kind, share, 3000, 0)
    assert made.count == count
    assert np.bincount(made.of).tolist() == [3000 // count] * count
    read = [made.permitted(caller) for caller in range(8)]
    assert {int(one.sum()) for one in read} == {round(3000 * share)}
    assert np.array_equal(read[3], folders.make(kind, share, 3000, 0).permitted(3))
    stretches = int(np.diff(np.flatnonzero(read[3])).max())
    assert (stretches == 1) == (kind == "run" or share == 1)
    if share < 1:
        assert len({one.tobytes() for one in read}) > 4  # of 11 stretches of 10 in 20, one comes twice


def test_wrong_folders_are_refused() -> None:
    with pytest.raises(InvalidInput, match="selectivity: 0.1 makes 100 folders of which a caller reads 10"):
        folders.make("run", 0.1, 99, 0)
    with pytest.raises(InvalidInput, match="mask: expected one of random, run, got 'anti'"):
        folders.make("anti", 0.1, 1000, 0)
    with pytest.raises(InvalidInput, match="selectivity: expected shares"):
        folders.make("run", 0.0, 1000, 0)
