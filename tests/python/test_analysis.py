# SPDX-License-Identifier: Apache-2.0
"""Terms of documents and queries: identifiers whole and in parts, numbers, stop words, stems, what is refused."""

from __future__ import annotations

import math
import sys
import threading
from typing import Any

import pytest

from evidex.errors import InvalidInput
from evidex.text import Analyzer

PLAIN = Analyzer()


def of(text: str, analyzer: Analyzer = PLAIN) -> str:
    """Terms as `whole part:2 part:1`."""
    return " ".join(term if weight == 4 else f"{term}:{weight}" for term, weight in analyzer.terms(text))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The filter, of the AX pump.", "the filter of the ax pump"),
        ("IX-2350-B", "ix-2350-b ix:2 2350:2 b:2"),
        ("getUserById", "getuserbyid get:2 user:2 by:2 id:2"),
        ("getuserbyid", "getuserbyid"),
        ("user_id", "user_id user:2 id:2"),
        ("__init__", "init"),
        ("CVE-2024-1234", "cve-2024-1234 cve:2 2024:2 1234:2"),
        ("RULE-A002", "rule-a002 rule:2 a002:2 a:1 002:1"),
        ("v1.2.3", "v1.2.3 v:2 1.2.3:2 1:1 2:1 3:1"),
        ("192.168.0.1", "192.168.0.1 192:2 168:2 0:2 1:2"),
        ("/etc/ssl/openssl.cnf", "etc/ssl/openssl.cnf etc:2 ssl:2 openssl.cnf:2 openssl:1 cnf:1"),
        ("C:\\Users\\x", "c:\\users\\x c:2 users:2 x:2"),
        ("src/user_getById.py", "src/user_getbyid.py src:2 user_getbyid.py:2 user:1 getbyid:1 get:1 by:1 id:1 py:1"),
        (
            "jo.doe+news@example.com",
            "jo.doe+news@example.com jo.doe+news:2 jo:1 doe:1 news:1 example.com:2 example:1 com:1",
        ),
        ("https://example.com/a?x=1", "https://example.com/a?x=1 https:2 example.com:2 example:1 com:1 a:2 x:2 1:2"),
        ("HTTPServer", "httpserver http:2 server:2"),
        ("IDs and URLs", "ids and urls"),
        ("Hello NASA iPhone", "hello nasa iphone i:2 phone:2"),
        ("std::vector", "std::vector std:2 vector:2"),
        ("--no-cache", "no-cache no:2 cache:2"),
        ("C++ C# C++17 c+", "c++ c# c++ 17 c"),
        ("AT&T and/or", "at&t at:2 t:2 and/or and:2 or:2"),
        ("foo(bar)[0];x", "foo bar 0 x"),
        ("5kg", "5kg 5:2 kg:2"),
        ("5 kg", "5 kg"),
        ("10.5 MB 10.5MB", "10.5 mb 10.5mb 10.5:2 mb:2"),
        ("3,5 3.5 1,234", "3.5 3.5 1.234"),
        ("a,b", "a b"),
        ("2024-01-15 12:30", "2024-01-15 2024:2 01:2 15:2 12:30 12:2 30:2"),
        ("well-known", "well-known well:2 known:2"),
        ("user's USER'S users' O'Neil's", "user user users o'neil o:2 neil:2"),
        ("don\u2019t don't", "don't don:2 t:2 don't don:2 t:2"),
        ("wait...what a--b", "wait what a b"),
        ("", ""),
        (" \t\n\x1c", ""),
        ("?! ... -- \u00bf \U0001f600", ""),
    ],
)
def test_worked_by_hand(text: str, terms: str) -> None:  # case F10
    """Seen red: parts at full weight, no split at a change of case, the possessive kept, the comma kept."""
    assert of(text) == terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("IX-2350-B", "ix 2350 b"),
        ("getUserById user_id", "getuserbyid user_id"),
        ("3,5 v1.2.3 example.com", "3.5 v1.2.3 example.com"),
        ("/etc/ssl/openssl.cnf", "etc ssl openssl.cnf"),
        ("don't O'Neil's C++", "don't o'neil c"),
        ("\u65e5\u672c\u8a9e", "\u65e5\u672c \u672c\u8a9e"),
    ],
)
def test_words_alone(text: str, terms: str) -> None:
    """Seen red: ``split_identifiers`` left unread."""
    assert of(text, Analyzer(split_identifiers=False)) == terms


NAMES = ["getUserById", "user_id", "RULE-A002", "CVE-2024-1234"]


def product(question: str, passage: str, analyzer: Analyzer = PLAIN) -> int:
    passage_counts = analyzer.counts(passage)
    return sum(weight * passage_counts.get(term, 0) for term, weight in analyzer.counts(question).items())


@pytest.mark.parametrize("name", NAMES)
def test_names_are_found_whole_in_other_case_by_part_and_in_the_plural(name: str) -> None:  # case F10
    """Seen red: text lower-cased before it is taken apart (no parts of getUserById)."""
    parts = [term for term, weight in PLAIN.terms(name) if weight < 4]
    assert parts
    for question in [name, name.lower(), name.upper(), *parts]:
        assert product(question, f"see {name}.") > 0, question
    assert product(f"{name}s", name) > 0


def bm25(question: str, corpus: list[str]) -> list[float]:
    """k1 = 1.2, b = 0.75, frequencies and query weights in quarters, lengths as their sums."""
    documents = [PLAIN.counts(text) for text in corpus]
    average = sum(sum(counts.values()) for counts in documents) / len(documents)
    scores = [0.0] * len(corpus)
    for term, weight in PLAIN.counts(question).items():
        df = sum(term in counts for counts in documents)
        idf = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
        for place, counts in enumerate(documents):
            tf = counts.get(term, 0) / 4
            norm = 1.2 * (0.25 + 0.75 * sum(counts.values()) / average)
            scores[place] += weight / 4 * idf * tf * 2.2 / (tf + norm)
    return scores


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_name_ranks_its_document_above_those_that_hold_its_parts(name: str) -> None:  # case F10
    """Seen red: no term for the whole."""
    scattered = [" and ".join(term for term, weight in PLAIN.terms(one) if weight < 4) for one in NAMES]
    corpus = [*scattered, *(f"see {one} for more" for one in NAMES)]
    for question in (name, name.lower(), name.upper(), f"what is {name}?"):
        scores = bm25(question, corpus)
        assert max(scores) == scores[4 + NAMES.index(name)] > max(scores[:4])
    assert max(bm25(name, corpus)[:4]) > 0


def test_texts_without_words_have_no_terms_and_words_stay_themselves() -> None:  # case F7
    """Seen red: an empty text as one empty term, which any other empty text then matched."""
    for blank in ("", " ", "-", "\0", "'"):
        assert PLAIN.terms(blank) == [] and PLAIN.counts(blank) == {}
    corpus = ["foo", "dog", "baz", "quick god", "quick fox"]
    assert [product("quick", text) for text in corpus] == [0, 0, 0, 16, 16]
    assert [product("unknown words", text) for text in corpus] == [0] * 5


def test_counts_add_up_weights_in_order_of_appearance() -> None:
    """Seen red: the last weight in place of the sum."""
    assert PLAIN.counts("b user_id a user B") == {"b": 8, "user_id": 4, "user": 6, "id": 2, "a": 4}
    assert list(PLAIN.counts("b user_id a user B")) == ["b", "user_id", "user", "id", "a"]


def test_stop_words_are_left_out_alone_and_as_parts() -> None:
    """Seen red: stop words compared before folding; parts not compared."""
    chosen = Analyzer(stop_words=["THE", "\uff2fF"])
    assert chosen.stop_words == ("of", "the")
    assert of("The state-of-the-art OF", chosen) == "state-of-the-art state:2 art:2"
    assert of("what is the filter", Analyzer("english", stem=False)) == "filter"
    assert of("what is the", Analyzer("english", stem=False)) == ""
    assert of("the", Analyzer(stop_words=())) == "the"


def test_stemming_words_and_parts_but_no_identifiers() -> None:
    """Seen red: terms with digits and joiners stemmed; parts not stemmed."""
    pytest.importorskip("Stemmer", reason="the extra 'text' is not installed: pip install evidex[text]")
    english = Analyzer("english")
    assert (english.language, Analyzer("english", stem=False).language) == ("english", None)
    assert of("The running filters", english) == "run filter"
    assert of("user_ids", english) == "user_ids user:2 id:2"
    assert of("getUserByIds", english) == f"{of('getuserbyids', english)} get:2 user:2 id:2"
    assert of("filters-2 v2s", english) == "filters-2 filter:2 2:2 v2s v:2 2:2 s:2"
    long = "flying" * 11
    assert of(long, english) == long
    assert of("the filters", Analyzer("english", stop_words=())) == "the filter"
    assert of("die h\u00e4user", Analyzer("german")) == "die haus"


def test_a_stemmer_for_each_thread() -> None:
    pytest.importorskip("Stemmer", reason="the extra 'text' is not installed: pip install evidex[text]")
    words = [f"{stem}{end}" for stem in ("flow", "pump", "filter", "connect") for end in ("s", "ing", "ed", "ly", "")]
    expected = [Analyzer("english").terms(word) for word in words]
    shared, found = Analyzer("english"), []

    def run() -> None:
        found.append([shared.terms(word) for word in words])

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_without_the_package_stemming_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen red: the bare ImportError."""
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    with pytest.raises(InvalidInput, match=r"pip install evidex\[text\]"):
        Analyzer("english")
    assert of("filters", Analyzer("english", stem=False)) == "filters"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"language": 3}, "language"),
        ({"language": "german", "stem": False}, "language: expected None or english without stemming"),
        ({"stem": True}, "stem: expected False where language is None"),
        ({"language": "english", "stem": 1}, "stem"),
        ({"stop_words": "the"}, "stop_words.*wrap a single item"),
        ({"stop_words": ["a", 1]}, r"stop_words\[1\]"),
        ({"stop_words": ["a", "\ud800"]}, r"stop_words\[1\]"),
        ({"stop_words": 3}, "stop_words"),
        ({"split_identifiers": 1}, "split_identifiers"),
    ],
)
def test_arguments_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Analyzer(**arguments)


def test_an_unknown_language_is_refused_with_the_known_ones() -> None:
    pytest.importorskip("Stemmer", reason="the extra 'text' is not installed: pip install evidex[text]")
    with pytest.raises(InvalidInput, match="language: expected one of .*english.*'klingon'"):
        Analyzer("klingon")


@pytest.mark.parametrize("text", [None, 3, b"x", ["x"], "a\ud800", "\udfff"])
def test_texts_refused(text: Any) -> None:
    """Seen red: the surrogate let through."""
    for read in (PLAIN.terms, PLAIN.counts):
        with pytest.raises(InvalidInput, match="text:"):
            read(text)
