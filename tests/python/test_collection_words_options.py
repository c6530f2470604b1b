# SPDX-License-Identifier: Apache-2.0
"""P12: every keyword of Collection.retrieve acts, or is refused (cases B20, C2)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from evidex import UNRESTRICTED, AllowMask, Collection, Columns, InvalidInput, Principal, where
from words_examples import guarded, said

ALICE = Principal("alice", "acme", {"support"})
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown mode": ({"mode": "magic"}, "mode: expected one of dense, sparse, hybrid, got 'magic'"),
    "no mode": ({"mode": None}, "mode: expected one of"),
    "modes": ({"mode": ("dense", "sparse")}, "mode: expected one of"),
    "a scope of vectors": ({"scope": "permitted"}, "scope: 'permitted' would change nothing in mode 'dense'"),
    "an unknown scope": ({"mode": "sparse", "scope": "mine"}, "scope: expected one of permitted, tenant, collection"),
    "a scope that is none": ({"mode": "hybrid", "scope": 1}, "scope: expected one of"),
    "a tenant of nobody": (
        {"mode": "sparse", "scope": "tenant", "principal": UNRESTRICTED},
        "UNRESTRICTED has no tenant",
    ),
    "a blank question": ({"question": " \n", "mode": "sparse"}, "question: .*ask something"),
    "a question that is none": ({"question": {"salary": 4}, "mode": "sparse"}, "question: expected a str"),
    "k": ({"k": -1, "mode": "hybrid"}, "k: "),
    "threads": ({"threads": 0, "mode": "sparse"}, "threads: "),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_refused(what: str) -> None:
    wrong, message = WRONG[what]
    given: dict[str, Any] = {"question": "salary", "principal": ALICE} | wrong
    with pytest.raises(InvalidInput, match=f"(?s){message}"):
        guarded().retrieve(given.pop("question"), **given)


def columned() -> Any:
    kb = guarded(columns=Columns({"year": int}))
    policy = kb._policy
    assert policy is not None
    rule = policy.rule("acme", {"support", "legal"})
    kb.put_document("dated", "v1", chunks=["salary of 2020"], rule=rule, metadata={"year": 2020})
    kb.put_document("other", "v1", chunks=["secret of the bands"], rule=rule)
    return kb


KEYWORDS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "k": (lambda _: 1, lambda _: 2),
    "mode": (lambda _: "sparse", lambda _: "hybrid"),
    "principal": (lambda _: ALICE, lambda _: UNRESTRICTED),
    "allow": (lambda _: None, lambda kb: AllowMask.from_ids(kb, kb.ids(principal=ALICE)[:1])),
    "where": (lambda _: None, lambda _: where("year") == 2020),
    "scope": (lambda _: "permitted", lambda _: "collection"),
}


@pytest.mark.parametrize("mode", ["sparse", "hybrid"])
@pytest.mark.parametrize("name", KEYWORDS)
def test_each_keyword_of_retrieve_changes_something(name: str, mode: str) -> None:
    """Seen red with each of them left out of what is passed on."""
    kb, (one, other) = columned(), KEYWORDS[name]
    given: dict[str, Any] = {"k": 10, "mode": mode, "principal": ALICE}
    found = [said(kb, "salary bands", **{**given, name: value(kb)}) for value in (one, other)]
    assert found[0] != found[1]
    assert said(kb, "salary bands", threads=4, **given) == said(kb, "salary bands", threads=1, **given)


def test_all_keywords_are_tried() -> None:
    assert set(inspect.signature(Collection.retrieve).parameters) - {"self", "question", "threads"} == set(KEYWORDS)
    with pytest.raises(TypeError, match="ranking"):
        columned().retrieve("salary", ranking="tfidf", principal=ALICE)
