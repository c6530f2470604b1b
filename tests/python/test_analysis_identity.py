# SPDX-License-Identifier: Apache-2.0
"""The identity of an analyser: kept beside an index, read again, and refused where terms would differ."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
import pickle
from typing import Any

import pytest

from evidex.errors import InvalidInput, VersionMismatch
from evidex.text import Analyzer
from evidex.text import analysis as module

OF_DEFAULT = (
    '{"kind":"evidex.text.Analyzer","language":null,"rules":1,"snowball":null,"split_identifiers":true,"stop_words":[]}'
)
SAMPLE = (
    "The IX-2350-B filter, getUserById(user_id) at /etc/ssl/openssl.cnf: v1.2.3 weighs 10,5kg. C++ "
    "\u65e5\u672c\u8a9e\u3067 \u0e44\u0e17\u0e22 \u0928\u092e\u0938\u094d\u0924\u0947 \u05e9\u05dc\u05d5\u05dd "
    "Stra\u00dfe \uff21\uff22 \ufb01x d\u2019\u00e9t\u00e9 \U0001f600 " + "long" * 70
)


def changed(**entries: Any) -> str:
    return json.dumps({**json.loads(OF_DEFAULT), **entries})


def test_the_documented_identity() -> None:
    assert Analyzer().identity == OF_DEFAULT


def test_the_same_terms_in_every_release() -> None:
    """Guards every stored index: terms that change need a new number of rules. Seen red: parts of weight 1."""
    digest = hashlib.sha256(json.dumps(Analyzer().terms(SAMPLE)).encode()).hexdigest()
    assert (module._RULES, digest) == (1, "de4743a842a2c8f978212162e0eeb4ec060b15872deaaa7b7fd456a9196adb1b")


@pytest.mark.parametrize(
    "arguments",
    [{}, {"stop_words": ["b", "a", "B"]}, {"split_identifiers": False}, {"language": "english", "stem": False}],
    ids=str,
)
def test_read_again_it_is_the_same(arguments: dict[str, Any]) -> None:
    """Seen red: stop words lost on the way."""
    analyzer = Analyzer(**arguments)
    for other in (
        Analyzer.from_identity(analyzer.identity),
        pickle.loads(pickle.dumps(analyzer)),
        copy.deepcopy(analyzer),
        Analyzer(**arguments),
    ):
        assert other == analyzer and hash(other) == hash(analyzer) and other.identity == analyzer.identity
        assert other.terms(SAMPLE) == analyzer.terms(SAMPLE)


def test_what_decides_terms_decides_the_identity() -> None:
    """Seen red: ``split_identifiers`` left out of the identity."""
    different = [Analyzer(), Analyzer(stop_words=["a"]), Analyzer(split_identifiers=False)]
    assert len({one.identity for one in different}) == len(set(different)) == 3
    assert Analyzer(stop_words=["a", "b"]) == Analyzer(stop_words=["B", "A", "a"])
    assert Analyzer("english", stem=False) == Analyzer(stop_words=Analyzer("english", stem=False).stop_words)


def test_what_was_read_before_is_no_part_of_it() -> None:
    one, other = Analyzer(), Analyzer()
    one.terms(SAMPLE)
    assert one == other and hash(one) == hash(other)


def test_it_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Analyzer().language = "german"  # type: ignore[misc]


def test_stems_of_another_version_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Snowball changes its algorithms between versions. Seen red: the version not compared."""
    pytest.importorskip("Stemmer", reason="the extra 'text' is not installed: pip install evidex[text]")
    english = Analyzer("english")
    again = Analyzer.from_identity(english.identity)
    assert again == english and again.terms("filters of pumps") == [("filter", 4), ("pump", 4)]
    monkeypatch.setattr(module, "snowball_version", lambda: "9.0.1")
    with pytest.raises(VersionMismatch, match=r"installed is 9\.0\.1.*index the texts again"):
        Analyzer.from_identity(english.identity)
    assert Analyzer("english") != english


def test_rules_of_another_evidex_are_refused() -> None:
    """Seen red: any number taken."""
    with pytest.raises(VersionMismatch, match="made with rules 2 of evidex.text.Analyzer, this evidex has rules 1"):
        Analyzer.from_identity(changed(rules=2))


@pytest.mark.parametrize(
    "identity",
    [
        None,
        json.loads(OF_DEFAULT),
        "",
        "[]",
        "{}",
        "\ud800",
        "[" * 100_000,
        OF_DEFAULT[:-1],
        OF_DEFAULT.replace('"rules":1', '"rules":1,"rules":1'),
        changed(kind="mine"),
        changed(rules=0),
        changed(rules=True),
        changed(rules="1"),
        changed(rules=None),
        changed(more=1),
        json.dumps({"kind": "evidex.text.Analyzer", "rules": 1}),
        changed(language="english"),
        changed(snowball="3.0.1"),
        changed(language="english", snowball=3),
        changed(language="english", snowball="3.0.1; rm"),
        changed(language=3, snowball="3.0.1"),
        changed(stop_words="the"),
        changed(stop_words={"a": 1}),
        changed(stop_words=[1]),
        changed(split_identifiers=1),
    ],
    ids=lambda identity: str(identity)[:40],
)
def test_what_is_no_identity_is_refused(identity: Any) -> None:
    with pytest.raises((InvalidInput, VersionMismatch) if "3.0.1" in str(identity) else InvalidInput):
        Analyzer.from_identity(identity)
