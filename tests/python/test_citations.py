# SPDX-License-Identifier: Apache-2.0
"""Extractive answers, the form of replies, and the literal check with its known miss."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidex._literals import literals, unsupported
from evidex.citations import Reply, extractive_answer, validate_reply
from evidex.errors import InvalidInput
from evidex.packing import pack
from evidex.types import Chunk, Evidence, Packet


def packet_of(*texts: str, question: str = "") -> Packet:
    chunks = [Chunk(f"c{place}", "acme", f"s{place}", "v1", 0, len(text), text) for place, text in enumerate(texts)]
    return pack([Evidence(chunk, -float(place)) for place, chunk in enumerate(chunks)], budget=10**6, question=question)


BACKUPS = packet_of("Backups are retained for 30 days.", "The office opens at 8.")
NOTHING = packet_of()


def test_answer_is_the_sentence_that_shares_most_words() -> None:
    """Guards "built from the packet only"; taking the first sentence always turned this red."""
    text = "We sell lamps. The refund window is 30 days!  Ask support."
    packet = packet_of("Opening hours vary.", text, question="How long is the REFUND window?")
    reply = extractive_answer(packet)
    assert reply == Reply("The refund window is 30 days!", ("c1",))
    assert reply.answer in text
    assert validate_reply(reply, packet).valid


def test_repeated_words_count_once_and_ties_go_to_the_better_evidence() -> None:
    question = "refund window"
    assert extractive_answer(packet_of("Refund refund refund.", "Refund window.", question=question)).citations == (
        "c1",
    )
    assert extractive_answer(packet_of("A refund.", "The refund.", question=question)).answer == "A refund."
    assert extractive_answer(packet_of("One refund. Two refund.", question=question)).answer == "One refund."


def test_a_rare_word_outweighs_common_ones() -> None:
    """Counting every shared word alike turned this red."""
    text = "What is the point of the bell? The E4012 light. What is the time of the day?\n| E4099 | the other |"
    assert extractive_answer(packet_of(text, question="What is the meaning of the E4012?")).answer == "The E4012 light."
    assert extractive_answer(packet_of(text, question="E4099?")).answer == "| E4099 | the other |"


def test_question_acts_and_no_shared_word_falls_back_to_the_best_evidence() -> None:
    texts = ("Red lamps. Blue lamps.", "Green lamps.")
    assert extractive_answer(packet_of(*texts, question="blue")).answer == "Blue lamps."
    assert extractive_answer(packet_of(*texts, question="zebra")).answer == "Red lamps."


def test_sentences_end_at_marks_and_blank_lines() -> None:
    text = "# Returns\n \nSee 2.5 for\ndetails. Next\u3002Last"
    for word, sentence in [("returns", "# Returns"), ("details", "See 2.5 for\ndetails."), ("last", "Last")]:
        assert extractive_answer(packet_of(text, question=word)).answer == sentence


def test_nothing_to_answer_from() -> None:  # case H11, case H12
    assert extractive_answer(NOTHING) == Reply("", ())
    assert extractive_answer(packet_of(" \n")) == Reply("", ())
    assert validate_reply(extractive_answer(NOTHING), NOTHING).valid


def test_reply_as_plain_types() -> None:  # case H12
    reply = Reply("Backups are retained for 30 days.", ("c0",))
    assert reply.to_dict() == {"answer": "Backups are retained for 30 days.", "citations": ["c0"]}
    for form in (reply, reply.to_dict(), MappingProxyType(reply.to_dict())):
        report = validate_reply(form, BACKUPS)
        assert (report.valid, report.reason, report.cited, report.known) == (True, None, 1, 1)
        assert report.unsupported_literals == ()


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("text", "not_a_mapping"),
        (None, "not_a_mapping"),
        ([("answer", "a"), ("citations", [])], "not_a_mapping"),
        ({}, "wrong_keys"),
        ({"answer": "a"}, "wrong_keys"),
        ({"answer": "a", "citations": ["c0"], "note": ""}, "wrong_keys"),
        ({"answer": None, "citations": []}, "answer_not_text"),
        (Reply(3, ()), "answer_not_text"),  # type: ignore[arg-type]
        ({"answer": "a", "citations": "c0"}, "citations_not_ids"),
        ({"answer": "a", "citations": {"c0"}}, "citations_not_ids"),
        ({"answer": "a", "citations": [0]}, "citations_not_ids"),
        ({"answer": "a", "citations": [["c0"]]}, "citations_not_ids"),
        (Reply("a", ("c0", "c0")), "duplicate_citation"),
        (Reply("a", ("c0", "c9")), "unknown_citation"),
        (Reply("a", ()), "missing_citation"),
        (Reply("", ("c0",)), "citation_without_answer"),
        (Reply(" \n", ("c0",)), "citation_without_answer"),
    ],
)
def test_each_violation_has_its_own_reason(reply: Any, reason: str) -> None:  # case H12
    """Guards H12; each branch of ``validate_reply`` removed in turn turned its row red."""
    report = validate_reply(reply, BACKUPS)
    assert (report.valid, report.reason, report.unsupported_literals) == (False, reason, ())


def test_an_abstaining_packet_supports_nothing() -> None:  # case H11, case H12
    assert validate_reply(Reply("Yes.", ("c0",)), NOTHING).reason == "answer_from_abstaining_packet"
    assert validate_reply(Reply("Yes.", ()), NOTHING).reason == "answer_from_abstaining_packet"
    assert validate_reply(Reply("", ("c0",)), NOTHING).reason == "citation_without_answer"
    assert validate_reply(Reply("", ()), NOTHING).valid


def test_abstaining_is_allowed_when_there_is_evidence() -> None:  # case H12
    assert validate_reply({"answer": "", "citations": []}, BACKUPS).valid


def test_counts_of_citations() -> None:
    report = validate_reply(Reply("a", ("c0", "c1", "c9")), BACKUPS)
    assert (report.cited, report.known) == (3, 2)


@pytest.mark.parametrize("packet", [None, {}, "packet"])
def test_packet_refused(packet: Any) -> None:
    with pytest.raises(InvalidInput, match="packet"):
        validate_reply(Reply("", ()), packet)
    with pytest.raises(InvalidInput, match="packet"):
        extractive_answer(packet)


def test_numbers_must_occur_in_a_cited_span() -> None:  # case H13
    """Guards the literal check; searching all of the packet in place of the cited spans turned this red."""
    assert validate_reply(Reply("Backups are retained for 30 days.", ("c0",)), BACKUPS).unsupported_literals == ()
    assert validate_reply(Reply("Backups stay thirty days.", ("c0",)), BACKUPS).unsupported_literals == ()
    flagged = validate_reply(Reply("Ninety days.", ("c0",)), BACKUPS)
    assert flagged.valid and flagged.unsupported_literals == ("Ninety",)
    assert validate_reply(Reply("30 days.", ("c1",)), BACKUPS).unsupported_literals == ("30",)
    assert validate_reply(Reply("30 days, from 8.", ("c1", "c0")), BACKUPS).unsupported_literals == ()


def test_known_miss_a_wrong_claim_with_the_right_number_passes() -> None:  # case H13
    """Pins the limit the docs admit: two valid citations, of which only the first supports its sentence."""
    for claim in ("Backups are retained for 30 days.", "All deleted files are recoverable for 30 days."):
        report = validate_reply(Reply(claim, ("c0",)), BACKUPS)
        assert (report.valid, report.cited, report.known, report.unsupported_literals) == (True, 1, 1, ())
    assert "not proof" in (validate_reply.__doc__ or "")


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("30 days, 1304 and 3.30", ["30", "1304", "3.3"]),
        ("v3.30 E4012 x30", []),
        ("AX-2207", ["2207"]),
        ("1,000 equals 1000.0 and 01000", ["1000"]),
        ("1,234,567.50", ["1234567.5"]),
        ("12,34 1.2.3 10:30", ["12,34", "1.2.3", "10:30"]),
        ("-5 or \u22127, 5-10, .5, 0", ["-5", "-7", "5", "10", "0.5", "0"]),
        ("5GB at 30% for $7.", ["5", "30", "7"]),
        ("\u0663\u0660 days", ["30"]),
        ("Thirty zero forty-two seventy  six", ["30", "0", "42", "76"]),
        ("one hundred and five; two thousand; hundred", ["105", "2000", "100"]),
        ("two million three hundred thousand and five", ["2300005"]),
        ("five hundred twenty thousand", ["520000"]),
        ("between five and ten, nineteen eighty-four", ["5", "10", "19", "84"]),
        ("someone onerous seventh f\u0131ve \u017fix", []),
        ("5 March 2026", ["2026-03-05"]),
        ("March 5th, 2026 / 05 mar. 2026 / 2026-03-05T10", ["2026-03-05"]),
        ("1st May 2026, 2026-03-051", ["2026-05-01", "2026", "3", "51"]),
        ("May 5, 20261", ["5", "20261"]),
    ],
)
def test_literals(text: str, forms: list[str]) -> None:
    assert list(literals(text)) == forms


@pytest.mark.parametrize(
    ("answer", "span", "flagged"),
    [
        ("30", "1304", ("30",)),
        ("30", "3.30", ("30",)),
        ("30", "v3.30", ("30",)),
        ("3.30", "3.3", ()),
        ("1,000", "one thousand", ()),
        ("on 5 March 2026", "2026-03-05", ()),
        ("on 2026-03-06", "5 March 2026", ("2026-03-06",)),
        ("in 2026", "5 March 2026", ()),
        ("2026", "2026-rev", ()),
        ("40 and forty and 41", "", ("40", "41")),
    ],
)
def test_unsupported(answer: str, span: str, flagged: tuple[str, ...]) -> None:
    assert unsupported(answer, [span]) == flagged


@given(st.text(alphabet="0123456789 .,:-andonetwohurmilb\u0663\u22125", max_size=60) | st.text(max_size=60))
def test_any_text_supports_itself(text: str) -> None:
    assert unsupported(text, [text]) == ()


@given(st.integers(0, 10**9))
def test_grouped_and_plain_digits_agree(number: int) -> None:
    assert list(literals(f"{number:,}")) == list(literals(f"{number}")) == [str(number)]
