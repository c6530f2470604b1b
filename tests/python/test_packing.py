# SPDX-License-Identifier: Apache-2.0
"""Packing: the budget holds for what is rendered, and everything left out is accounted for."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidex.errors import InvalidInput
from evidex.packing import pack
from evidex.text import chunk_id
from evidex.types import Chunk, Evidence, Floor, Packet


def make(text: str, score: float, source: str = "", start: int = 0, **legs: float) -> Evidence:
    source, end = source or f"source of {text[:12]}", start + len(text)
    name = chunk_id("acme", source, "v1", start, end, text)
    return Evidence(Chunk(name, "acme", source, "v1", start, end, text), score, legs)


def body_only(rendered: str) -> int:
    """Counts the characters "x" alone, so that headers and separators are free."""
    return rendered.count("x")


def joint_merging(rendered: str) -> int:
    """A counter that is not additive: every pair of equal neighbours is one unit, across joints as well."""
    return len(re.sub(r"(.)\1", r"\1", rendered, flags=re.DOTALL)) + 3 * rendered.count("\n\n")


def body(size: int, score: float, place: int) -> Evidence:
    return make("x" * size, score, source=f"s{place}")


def test_rendering_is_complete_and_counted() -> None:  # case F14
    one, two = make("First text.", 2.0, source="a/b"), make("Second.", 1.0, source='q"\n[x]')
    packet = pack([two, one], budget=1000)
    first, second = one.chunk.id, two.chunk.id
    assert packet.text == (
        f'[{first}] "a/b" revision "v1" characters 0-11\nFirst text.\n\n'
        f'[{second}] "q\\"\\n[x]" revision "v1" characters 0-7\nSecond.'
    )
    assert packet.size == len(packet.text)
    assert packet.ids == (first, second)
    assert (packet.reason, packet.abstain, packet.omitted) == (None, False, ())


def test_a_chunk_that_does_not_fit_does_not_stop_smaller_ones() -> None:  # case F14, case H11
    """Guards "skipped and the rest packed"; stopping at the first misfit turned this red."""
    sixty, fifty, thirty = body(60, 3.0, 1), body(50, 2.0, 2), body(30, 1.0, 3)
    packet = pack([sixty, fifty, thirty], budget=100, tokenizer=body_only)
    assert packet.evidence == (sixty, thirty)
    assert (packet.size, body_only(packet.text)) == (90, 90)
    assert [(item.id, item.size, item.reason) for item in packet.omitted] == [(fifty.chunk.id, 50, "over_budget")]
    huge = body(150, 9.0, 4)
    assert pack([huge, sixty, thirty], budget=100, tokenizer=body_only).evidence == (sixty, thirty)


def test_headers_and_separators_count() -> None:  # case F14
    """Guards "counted as rendered"; counting the chunk texts alone turned this red."""
    items = [make("a" * 10, 2.0), make("b" * 10, 1.0)]
    whole = pack(items, budget=10_000).size
    assert len(pack(items, budget=whole).evidence) == 2
    assert len(pack(items, budget=whole - 1).evidence) == 1
    assert pack(items, budget=20).reason == "over_budget"


def test_overflow_error_names_the_chunk_and_the_sizes() -> None:  # case H11
    sixty, fifty = body(60, 3.0, 1), body(50, 2.0, 2)
    with pytest.raises(InvalidInput) as caught:
        pack([sixty, fifty], budget=103, reserve=3, tokenizer=body_only, overflow="error")
    message = str(caught.value)
    assert "110 units where 100 are free" in message and fifty.chunk.id in message
    assert "reserve takes 3" in message and "got 103" in message
    assert pack([sixty], budget=60, tokenizer=body_only, overflow="error").evidence == (sixty,)


@pytest.mark.parametrize("tokenizer", [None, body_only])
def test_budget_zero_abstains(tokenizer: Any) -> None:  # case H11, case F14
    """Guards "budget 0: empty"; dropping the ``room > 0`` test turned the free chunk below red."""
    packet = pack([make("yyy", 1.0)], budget=0, tokenizer=tokenizer)
    assert (packet.reason, packet.text, packet.size, packet.evidence) == ("over_budget", "", 0, ())
    assert packet.abstain and [item.reason for item in packet.omitted] == ["over_budget"]


def test_reserve_acts() -> None:  # case F14
    item = body(60, 1.0, 1)
    assert pack([item], budget=100, reserve=40, tokenizer=body_only).evidence == (item,)
    assert pack([item], budget=100, reserve=41, tokenizer=body_only).reason == "over_budget"
    assert pack([item], budget=100, reserve=10**9, tokenizer=body_only).reason == "over_budget"


def test_nothing_found() -> None:  # case H11
    for floor in (None, Floor("dense", 0.5)):
        assert pack([], budget=100, floor=floor, question="why?") == Packet("why?", (), "", 0, 100, (), "nothing_found")


def test_duplicates_and_overlaps_are_dropped() -> None:  # case H11
    """Guards "never a repeated chunk"; removing either test in ``pack`` turned this red."""
    base = make("x" * 10, 5.0, source="s")
    inside = make("x" * 10, 4.0, source="s", start=9)
    beside = make("x" * 10, 3.0, source="s", start=10)
    elsewhere = make("x" * 10, 2.0, source="t", start=5)
    packet = pack([base, base, inside, beside, elsewhere], budget=10_000)
    assert packet.evidence == (base, beside, elsewhere)
    assert [(item.id, item.reason) for item in packet.omitted] == [
        (base.chunk.id, "duplicate"),
        (inside.chunk.id, "overlap"),
    ]


def test_other_tenants_and_revisions_do_not_overlap() -> None:  # case H9
    chunks = [
        Chunk(f"{place}", tenant, "s", revision, 0, 5, "hello")
        for place, (tenant, revision) in enumerate([("a", "v1"), ("b", "v1"), ("a", "v2")])
    ]
    assert len(pack([Evidence(chunk, 1.0) for chunk in chunks], budget=1000).evidence) == 3


def test_a_chunk_too_large_does_not_shadow_an_overlapping_one() -> None:
    large, small = make("x" * 100, 2.0, source="s"), make("x" * 10, 1.0, source="s", start=5)
    assert pack([large, small], budget=50, tokenizer=body_only).evidence == (small,)


def test_order_is_by_score_then_id() -> None:
    """Guards P4; sorting by score alone turned this red."""
    items = [make(f"text {place}", 1.0) for place in range(6)]
    packet = pack(items, budget=10_000)
    assert list(packet.ids) == sorted(packet.ids)
    assert packet == pack(items[::-1], budget=10_000)
    assert pack([*items, make("best", 2.0)], budget=10_000).evidence[0].chunk.text == "best"


def test_evidence_floor() -> None:  # cases H16, B19
    """Guards abstaining below a floor; ``>`` for ``>=`` and ``min`` for ``max`` each turned this red."""
    weak, strong = make("weak", 2.0, dense=0.2, sparse=9.0), make("strong", 1.0, dense=0.5)
    assert pack([weak, strong], budget=1000, floor=Floor("dense", 0.5)).evidence == (weak, strong)
    packet = pack([weak, strong], budget=1000, floor=Floor("dense", 0.51), question="quantum teleportation")
    assert (packet.reason, packet.evidence, packet.text) == ("below_threshold", (), "")
    assert [(item.id, item.reason) for item in packet.omitted] == [
        (weak.chunk.id, "below_threshold"),
        (strong.chunk.id, "below_threshold"),
    ]
    assert pack([strong], budget=1000, floor=Floor("sparse", -1e9)).reason == "below_threshold"
    assert pack([weak], budget=1000, floor=Floor("sparse", 9)).reason is None


def test_omitted_sizes_count_the_block_alone() -> None:
    items = [body(60, 3.0, 1), body(50, 2.0, 2)]
    assert pack(items, budget=60, tokenizer=body_only).omitted[0].size == 50
    assert pack(items[1:], budget=1).omitted[0].size == pack(items[1:], budget=1000).size


def test_question_is_carried() -> None:
    assert pack([make("a", 1.0)], budget=1000, question="why?").question == "why?"


@pytest.mark.parametrize(
    "bad",
    [
        {"budget": -1},
        {"budget": True},
        {"budget": 10.0},
        {"reserve": -1},
        {"reserve": False},
        {"tokenizer": 3},
        {"tokenizer": lambda rendered: rendered.split()},
        {"tokenizer": lambda rendered: -1},
        {"tokenizer": lambda rendered: True},
        {"floor": 0.5},
        {"floor": Floor("dense", math.nan)},
        {"floor": Floor("dense", True)},
        {"floor": Floor(3, 0.5)},  # type: ignore[arg-type]
        {"overflow": "cut"},
        {"overflow": None},
        {"overflow": []},
        {"question": None},
        {"evidence": None},
        {"evidence": "ab"},
        {"evidence": [make("a", 1.0).chunk]},
        {"evidence": [make("a", math.nan)]},
        {"evidence": [make("a", True)]},
        {"evidence": [make("a", 1.0, dense=math.nan)], "floor": Floor("dense", 0.5)},
    ],
)
def test_refused(bad: dict[str, Any]) -> None:
    given_: dict[str, Any] = {"evidence": [make("a", 1.0, dense=1.0)], "budget": 100, **bad}
    with pytest.raises(InvalidInput):
        pack(given_.pop("evidence"), **given_)


@given(
    sizes=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3)), max_size=8),
    budget=st.integers(0, 500),
    reserve=st.integers(0, 50),
    tokenizer=st.sampled_from([None, joint_merging, body_only]),
)
def test_the_final_recount_is_within_the_budget(
    sizes: list[tuple[int, int]], budget: int, reserve: int, tokenizer: Any
) -> None:  # case F14
    """Guards F14; adding up block sizes in place of counting the whole text turned this red."""
    items = [make("x" * size + "\n", float(score), source=f"s{place}") for place, (size, score) in enumerate(sizes)]
    packet = pack(items, budget=budget, reserve=reserve, tokenizer=tokenizer)
    assert packet.size == (tokenizer or len)(packet.text) <= max(budget - reserve, 0)
    assert all(item.chunk.text in packet.text for item in packet.evidence)
    assert len(packet.evidence) + len(packet.omitted) == len(items)
    assert packet.abstain == (not packet.evidence)


def test_evidence_can_be_copied_and_pickled() -> None:
    """Seen red with read-only proxies as what legs and ranks are by default."""
    chunk = Chunk(chunk_id("t", "s", "r", 0, 1, "x"), "t", "s", "r", 0, 1, "x")
    for one in (Evidence(chunk, 0.5), Evidence(chunk, 0.5, {"dense": 0.5}, {"dense": 1})):
        assert copy.deepcopy(one) == one
        assert pickle.loads(pickle.dumps(one)) == one
        assert dataclasses.asdict(one)["score"] == 0.5
