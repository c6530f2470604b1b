# SPDX-License-Identifier: Apache-2.0
"""The shipped handbook is what the demo, the docs and the other tests take it for."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import FrozenInstanceError
from importlib.resources import files

import pytest

from evidex import handbook
from evidex.errors import EvidexError, InvalidInput
from evidex.handbook import Caller, Document, Gold, Question

ALL = handbook.documents(current_only=False)
CURRENT = handbook.documents()
QUESTIONS = handbook.questions()
BY_KEY = {(d.tenant, d.source, d.revision): d for d in ALL}

TENANTS = {"brindlemoor", "ostrelle"}
GROUPS = {"staff", "support", "engineering", "legal", "contractors"}
FAMILIES = {
    "exact_id",
    "paraphrase",
    "table",
    "code",
    "version",
    "multi_passage",
    "no_answer",
    "permission_denied",
}

PARTS = "brindlemoor:products/parts-catalogue@r7"
ERRORS = {"brindlemoor": "brindlemoor:support/error-codes@r3", "ostrelle": "ostrelle:support/error-codes@2025-06"}
RATES = "ostrelle:fleet/rate-card@2025-04"
HOME = {"v1": "brindlemoor:policies/remote-work@v1", "v2": "brindlemoor:policies/remote-work@v2"}
IDENTIFIERS = {
    "AX-2207": {PARTS, "brindlemoor:guides/pump-cleaning@r3"},
    "AX-2207-H": {PARTS},
    "AX-2270": {PARTS},
    "AX-2027": {PARTS},
    "AX-2720": {PARTS, ERRORS["brindlemoor"]},
    "BX-2207": {PARTS},
    "E4012": set(ERRORS.values()),
    "E4021": {ERRORS["brindlemoor"]},
    "E4102": set(ERRORS.values()),
    "E4120": {ERRORS["ostrelle"]},
    "E4201": {ERRORS["brindlemoor"]},
    "E5012": {ERRORS["ostrelle"]},
    "LV-301": {RATES},
    "LV-310": {RATES},
    "LV-130": {RATES},
    "TS-045": {RATES},
    "ES-054": {RATES},
    "TH-450": {RATES},
    "HR-118": {HOME["v1"], HOME["v2"]},
    "HR-181": {HOME["v2"]},
    "settle_flow": {"brindlemoor:engineering/flow-settling@r2", "brindlemoor:engineering/commissioning@r4"},
}

# What the old revision says and what the one in force says.
CHANGED = {
    ("brindlemoor", "policies/refund"): ("within 21 days of delivery", "within 35 days of delivery"),
    ("brindlemoor", "policies/remote-work"): ("up to two days a week", "up to three days a week"),
    ("brindlemoor", "policies/data-retention"): ("retained for 14 days", "retained for 30 days"),
    ("ostrelle", "policies/refund"): ("at least 48 hours before", "at least 72 hours before"),
}

# A word of each question without an answer that a text answering it could hardly avoid.
UNANSWERED = {"q30": "teleportation", "q31": "voucher", "q32": "E4210", "q33": "drone", "q34": "parental"}


def name_of(item: Document | Gold) -> str:
    return f"{item.tenant}:{item.source}@{item.revision}"


def document_of(gold: Gold) -> Document:
    return BY_KEY[gold.tenant, gold.source, gold.revision]


def barrier(caller: Caller, document: Document) -> str | None:
    """Why the caller may not read the document, or None if nothing is in the way."""
    if caller.tenant != document.tenant:
        return "other tenant"
    if caller.groups & document.deny:
        return "denied group"
    if document.allow is not None and not caller.groups & document.allow:
        return "missing group"
    return None


def key_words(text: str) -> set[str]:
    """The first five letters of every word of at least four letters, without words that carry no meaning."""
    plain = {"after", "does", "from", "have", "into", "that", "them", "then", "they", "this", "what", "when", "where"}
    plain |= {"which", "will", "with", "your", "their", "there", "before", "because", "every", "first", "whatever"}
    return {word[:5] for word in re.findall(r"[a-z]{4,}", text.lower()) if word not in plain}


def family(name: str) -> list[Question]:
    return [question for question in QUESTIONS if question.family == name]


# --- documents ---------------------------------------------------------------------------------------------------


def test_document_counts_tenants_and_groups() -> None:
    assert (len(ALL), len(CURRENT)) == (26, 22)
    assert {d.tenant for d in ALL} == TENANTS
    assert Counter(d.tenant for d in CURRENT) == {"brindlemoor": 14, "ostrelle": 8}
    assert {group for d in ALL for group in (d.allow or frozenset()) | d.deny} == GROUPS
    assert len(BY_KEY) == len(ALL)


def test_every_document_file_is_listed_and_has_plain_line_ends() -> None:
    folder = files("evidex.handbook").joinpath("documents")
    shipped = {entry.name: entry.read_bytes() for entry in folder.iterdir()}
    assert len(shipped) == len(ALL)
    assert sorted(data.decode("utf-8") for data in shipped.values()) == sorted(d.text for d in ALL)
    for name, data in shipped.items():
        assert name.endswith(".md") and b"\r" not in data and data.endswith(b"\n"), name


@pytest.mark.parametrize("document", ALL, ids=name_of)
def test_document_is_short_prose_with_a_title(document: Document) -> None:
    assert 600 <= len(document.text) < 2600
    assert document.text.startswith("# ")


def test_texts_are_all_different_and_not_only_ascii() -> None:
    assert len({d.text for d in ALL}) == len(ALL)
    assert {"é", "→", "°"} == {char for d in ALL for char in d.text if ord(char) > 127}


def test_exactly_one_current_revision_per_source() -> None:
    current = Counter((d.tenant, d.source) for d in ALL if d.current)
    assert set(current) == {(d.tenant, d.source) for d in ALL}
    assert set(current.values()) == {1}
    assert tuple(d for d in ALL if d.current) == CURRENT


def test_old_revision_comes_before_the_one_that_replaced_it() -> None:
    for key in {(d.tenant, d.source) for d in ALL}:
        assert [d.current for d in ALL if (d.tenant, d.source) == key] in ([True], [False, True]), key


@pytest.mark.parametrize("key", CHANGED, ids=":".join)
def test_revisions_differ_in_the_figure_that_matters(key: tuple[str, str]) -> None:
    old, new = (d for d in ALL if (d.tenant, d.source) == key)
    before, now = CHANGED[key]
    assert (old.current, new.current) == (False, True)
    assert old.revision < new.revision
    assert before in old.text and now not in old.text
    assert now in new.text and before not in new.text
    assert (old.allow, old.deny) == (new.allow, new.deny)


def test_sources_with_two_revisions_are_the_listed_ones() -> None:
    revisions = Counter((d.tenant, d.source) for d in ALL)
    assert {key for key, count in revisions.items() if count == 2} == set(CHANGED)


def test_same_source_in_both_tenants_has_different_text() -> None:
    shared = {d.source for d in ALL if d.tenant == "brindlemoor"} & {d.source for d in ALL if d.tenant == "ostrelle"}
    assert shared == {"policies/refund", "policies/data-retention", "support/error-codes"}
    for source in shared:
        ours, theirs = (d for d in CURRENT if d.source == source)
        assert {ours.tenant, theirs.tenant} == TENANTS
        assert ours.text != theirs.text


def test_rules_cover_open_group_and_deny() -> None:
    assert any(d.allow is None and not d.deny for d in ALL)
    assert any(d.allow is None and d.deny for d in ALL)
    assert any(d.allow is not None and d.deny for d in ALL)
    for d in ALL:
        assert d.allow != frozenset(), "a rule that allows nobody"
        assert not (d.allow or frozenset()) & d.deny, "a group both allowed and denied"


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_identifier_occurs_in_exactly_its_documents(identifier: str) -> None:
    whole = re.compile(rf"(?<![\w-]){re.escape(identifier)}(?![\w-])")
    assert {name_of(d) for d in ALL if whole.search(d.text)} == IDENTIFIERS[identifier]


def test_no_identifier_is_missing_from_the_list() -> None:
    found = {word for d in ALL for word in re.findall(r"\b[A-Z]{2}-\d{3,4}(?:-[A-Z])?\b|\bE\d{4}\b", d.text)}
    assert found == set(IDENTIFIERS) - {"settle_flow"}


def test_tables_code_and_contradiction_are_there() -> None:
    tables = {d.source for d in CURRENT if re.search(r"^\|(?:\s*:?-+:?\s*\|){3,}$", d.text, re.MULTILINE)}
    assert tables == {"products/parts-catalogue", "people/pay-bands", "fleet/rate-card"}
    assert [d.source for d in CURRENT if "def settle_flow(" in d.text] == ["engineering/flow-settling"]
    assert [d.source for d in CURRENT if " = settle_flow(" in d.text] == ["engineering/commissioning"]
    earlier, later = (d for d in CURRENT if d.source.startswith("releases/"))
    assert earlier.source < later.source
    assert "Released 12 February 2025" in earlier.text and "Released 3 June 2025" in later.text
    assert "primes itself automatically" in earlier.text and "Self-priming withdrawn" in later.text


# --- questions ---------------------------------------------------------------------------------------------------


def test_question_counts_ids_and_splits() -> None:
    assert [q.id for q in QUESTIONS] == [f"q{n:02}" for n in range(1, 41)]
    assert Counter(q.split for q in QUESTIONS) == {"development": 20, "held_out": 20}


def test_every_family_is_in_both_splits() -> None:
    assert {q.family for q in QUESTIONS} == FAMILIES
    for name in FAMILIES:
        splits = Counter(q.split for q in family(name))
        assert splits.total() >= 3 and set(splits) == {"development", "held_out"}, name


def test_callers_are_consistent() -> None:
    callers = {q.caller for q in QUESTIONS}
    assert len({caller.id for caller in callers}) == len(callers), "one id with two sets of rights"
    assert {caller.tenant for caller in callers} == TENANTS
    assert {group for caller in callers for group in caller.groups} == GROUPS
    assert any(not caller.groups for caller in callers)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)
def test_spans_equal_their_quotes_which_occur_once(question: Question) -> None:
    for gold in question.gold + question.hidden:
        document = document_of(gold)
        assert document.text[gold.start : gold.end] == gold.quote
        assert 20 <= len(gold.quote) <= 200
        assert [name_of(d) for d in ALL for _ in range(d.text.count(gold.quote))] == [name_of(document)]
        assert document.current


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)
def test_gold_is_readable_and_hidden_is_not(question: Question) -> None:
    assert [barrier(question.caller, document_of(gold)) for gold in question.gold] == [None] * len(question.gold)
    assert all(barrier(question.caller, document_of(gold)) for gold in question.hidden)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)
def test_answerable_says_whether_there_is_gold(question: Question) -> None:
    assert question.answerable == bool(question.gold)
    assert question.answerable == (question.family not in {"no_answer", "permission_denied"})
    assert bool(question.hidden) == (question.family == "permission_denied")


def test_some_span_differs_between_characters_and_bytes() -> None:
    golds = [gold for q in QUESTIONS for gold in q.gold]
    assert any(len(document_of(gold).text[: gold.start].encode("utf-8")) != gold.start for gold in golds)


def test_exact_id_questions_name_an_identifier_of_their_quote() -> None:
    for question in family("exact_id"):
        (identifier,) = re.findall(r"[A-Z]+-?\d+", question.text)
        assert identifier in IDENTIFIERS
        assert all(identifier in gold.quote for gold in question.gold), question.id


def test_paraphrases_share_no_key_word_with_their_quote() -> None:
    for question in family("paraphrase"):
        for gold in question.gold:
            assert not key_words(question.text) & key_words(gold.quote), question.id


def test_table_quotes_are_table_rows() -> None:
    for question in family("table"):
        assert all(re.fullmatch(r"\|.+\|", gold.quote) for gold in question.gold), question.id


def test_code_quotes_lie_in_code_blocks_of_both_documents() -> None:
    golds = [gold for question in family("code") for gold in question.gold]
    assert {gold.source for gold in golds} == {"engineering/flow-settling", "engineering/commissioning"}
    for gold in golds:
        assert document_of(gold).text[: gold.start].count("```") % 2 == 1, gold


def test_version_questions_have_an_outdated_answer_elsewhere() -> None:
    asked = {(gold.tenant, gold.source) for question in family("version") for gold in question.gold}
    assert asked == set(CHANGED) | {("brindlemoor", "releases/firmware-6.4")}
    for question in family("version"):
        (gold,) = question.gold
        if gold.source.startswith("policies/"):
            assert CHANGED[gold.tenant, gold.source][1] in gold.quote, question.id


def test_multi_passage_questions_need_two_documents() -> None:
    for question in family("multi_passage"):
        assert len({(gold.tenant, gold.source) for gold in question.gold}) >= 2, question.id


def test_nothing_answers_the_unanswerable() -> None:
    assert {question.id for question in family("no_answer")} == set(UNANSWERED)
    for question in family("no_answer"):
        word = UNANSWERED[question.id]
        assert word in question.text
        assert not [name_of(d) for d in ALL if word.lower() in d.text.lower()], question.id


@pytest.mark.parametrize("split", ["development", "held_out"])
def test_permission_is_denied_in_every_way_in_each_split(split: str) -> None:
    reasons = {
        barrier(question.caller, document_of(gold))
        for question in handbook.questions(split)
        for gold in question.hidden
    }
    assert reasons == {"other tenant", "denied group", "missing group"}


def test_a_denied_group_outweighs_an_allowed_one() -> None:
    hidden = [(q.caller, document_of(gold)) for q in QUESTIONS for gold in q.hidden]
    assert any(caller.groups & (d.allow or frozenset()) and caller.groups & d.deny for caller, d in hidden)


def test_a_group_of_the_same_name_in_another_tenant_grants_nothing() -> None:
    hidden = [(q.caller, document_of(gold)) for q in QUESTIONS for gold in q.hidden]
    assert any(caller.tenant != d.tenant and caller.groups & (d.allow or frozenset()) for caller, d in hidden)


def test_same_question_in_both_tenants_has_each_ones_own_gold() -> None:
    by_text: dict[str, list[Question]] = {}
    for question in QUESTIONS:
        by_text.setdefault(question.text, []).append(question)
    twins = [asked for asked in by_text.values() if len(asked) > 1]
    assert sorted(asked[0].family for asked in twins) == ["exact_id", "version"]
    for asked in twins:
        assert sorted(q.caller.tenant for q in asked) == sorted(TENANTS)
        assert len({q.split for q in asked}) == 1, "a twin would leak from one split into the other"
        for question in asked:
            assert {gold.tenant for gold in question.gold} == {question.caller.tenant}


# --- loader ------------------------------------------------------------------------------------------------------


def test_splits_partition_the_questions() -> None:
    development, held_out = handbook.questions("development"), handbook.questions("held_out")
    assert {q.split for q in development} == {"development"}
    assert {q.split for q in held_out} == {"held_out"}
    assert sorted(development + held_out, key=lambda q: q.id) == list(QUESTIONS)


@pytest.mark.parametrize("split", ["dev", "", "Development", "all"])
def test_unknown_split_names_both_valid_ones(split: str) -> None:
    with pytest.raises(InvalidInput, match=r"'development', 'held_out'") as caught:
        handbook.questions(split)
    assert repr(split) in str(caught.value)
    assert isinstance(caught.value, EvidexError) and isinstance(caught.value, ValueError)


def test_values_are_frozen_and_hashable() -> None:
    for value, attribute in ((ALL[0], "text"), (QUESTIONS[0], "gold"), (QUESTIONS[0].gold[0], "start")):
        with pytest.raises(FrozenInstanceError):
            setattr(value, attribute, None)
    assert len(set(ALL)) == len(ALL) and len(set(QUESTIONS)) == len(QUESTIONS)
