# SPDX-License-Identifier: Apache-2.0
"""From text to weighted terms, the same way for documents and for queries."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from .._checks import flag, json_object, refuse, texts, utf8, whole
from .._stop_words import STOP_WORDS
from ..errors import VersionMismatch
from ._segments import LONGEST_WORD, WHOLE, bounded, fold, normal, pieces, segments, shape_of
from ._stemming import Stemmer, snowball_version

__all__ = ["Analyzer"]

_RULES = 1  # of this module and _segments: a change that gives any text other terms is a new number
_KIND = "evidex.text.Analyzer"
_BUILT_IN: dict[str, Collection[str]] = {"english": STOP_WORDS}
_MOST_REMEMBERED = 1 << 16  # about 17 MB when full
_LONGEST_REMEMBERED = 64
_EDGES = "!\"$%&'()*,-./:;<=>?@[\\]^_`{|}~"  # ASCII punctuation without + and #: C++, C#

_Terms = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, init=False)
class Analyzer:
    r"""Cuts text into terms and says what each weighs: 4 for a whole, 2 or 1 for a part of one.

    Weights are quarters, as whole numbers, so that sums are exact. An analyser is immutable, may be shared by threads,
    and says all that decides its terms in :attr:`identity`, which belongs beside every index made with it: documents
    and queries must be analysed alike.

    *Words* are runs of letters, digits and combining marks, as in UAX #29 (Unicode Text Segmentation). Text is brought
    into NFKC, since full-width letters, ligatures and unit signs are ways of writing, not other words (the price:
    superscripts are digits like any other), and case is folded; accents stay. Ignorable characters (soft hyphens,
    joiners, direction marks) are taken out; all other symbols, emoji among them, separate. ``'s`` at the end of a word
    is dropped.

    *Identifiers* stay whole beyond UAX #29: letters and digits with ``- _ . ' + / \ : @ ? = # % ~ &`` between them are
    one term, and so are ``C++`` and ``C#``. Then they are taken apart, each time for half of the weight, down to 1:

    - ``IX-2350-B`` is ix-2350-b 4, ix 2, 2350 2, b 2; ``user_id`` and ``CVE-2024-1234`` likewise
    - ``getUserById`` is getuserbyid 4, get 2, user 2, by 2, id 2; ``5kg`` is 5kg 4, 5 2, kg 2, and meets ``5 kg``
    - ``/etc/ssl/openssl.cnf`` is etc/ssl/openssl.cnf 4, etc 2, ssl 2, openssl.cnf 2, openssl 1, cnf 1; URLs and e-mail
      addresses likewise
    - ``v1.2.3`` is v1.2.3 4, v 2, 1.2.3 2, 1 1, 2 1, 3 1

    A number with one point is not taken apart, and a comma between digits is a point: ``3,5`` is 3.5 (and ``1,234`` is
    1.234). A run of more than 64 letters and digits is data: not taken apart and not stemmed. A token ends after 64
    words. No term has more than 255 bytes of UTF-8: a longer one is replaced by its first 128 and a BLAKE2b digest.

    *Scripts written without spaces* (Han, kana, Hangul, Thai, Lao, Myanmar, Khmer) become overlapping pairs of
    characters, as in Lucene's CJKAnalyzer, and each character of a pair is a part with weight 1, so that a query of
    one character finds it.

    Terms of ``a + " " + b`` are those of ``a`` and then those of ``b``. Time is linear in the text. Letters newer than
    the Unicode version of the running Python separate words; that version is no part of the identity.

    Attributes:
        language: Of the stemmer, None without one.
        stop_words: What is left out, folded and sorted.
        split_identifiers: Whether there are identifiers and parts.
    """

    language: str | None
    stop_words: tuple[str, ...]
    split_identifiers: bool
    _known: _Known = field(repr=False, compare=False)
    _identity: str = field(repr=False)

    def __init__(
        self,
        language: str | None = None,
        *,
        stop_words: Iterable[str] | None = None,
        stem: bool | None = None,
        split_identifiers: bool = True,
    ) -> None:
        """Chooses the rules.

        Args:
            language: Name of a Snowball algorithm, such as ``"english"``: words are stemmed (extra ``text``) and, if it
                is English, stop words left out. None: neither.
            stop_words: Words to leave out instead, alone or as a part; compared folded, before stemming. ``()``: none.
            stem: False: do not stem; with it only ``"english"`` is a language, for its stop words.
            split_identifiers: False: only words as UAX #29 has them, all of weight 4; hyphens and slashes separate.

        Raises:
            InvalidInput: For other arguments, an unknown language, and when stemming needs PyStemmer and there is none.
        """
        named = None if language is None else utf8(language, "language")
        stems = named is not None if stem is None else flag(stem, "stem")
        if stems and named is None:
            refuse("stem", stem, "False where language is None", "name the language, such as 'english'")
        if not stems and named is not None and named not in _BUILT_IN:
            refuse("language", named, f"None or {' or '.join(_BUILT_IN)} without stemming", "it would change nothing")
        words: Iterable[str] = _BUILT_IN.get(named or "", ()) if stop_words is None else texts(stop_words, "stop_words")
        folded = {fold(normal(utf8(word, f"stop_words[{place}]"))) for place, word in enumerate(words)}
        split = flag(split_identifiers, "split_identifiers")
        own = {
            "language": named if stems else None,
            "stop_words": tuple(sorted(folded)),
            "split_identifiers": split,
        }
        for name, value in own.items():
            object.__setattr__(self, name, value)
        stemmer = Stemmer(named) if stems and named is not None else None
        object.__setattr__(self, "_known", _Known(frozenset(folded), stemmer, split))
        snowball = snowball_version() if stems else None
        described = {"kind": _KIND, "rules": _RULES, "snowball": snowball, **own}
        canonical = json.dumps(described, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        object.__setattr__(self, "_identity", canonical)

    @property
    def identity(self) -> str:
        """All that decides the terms, as canonical JSON: two analysers with the same identity are the same.

        It names the number of these rules and, with a stemmer, the version of its algorithms.
        """
        return self._identity

    @classmethod
    def from_identity(cls, identity: str) -> Analyzer:
        """The analyser that said this identity.

        Args:
            identity: What :attr:`identity` was, for example beside an index.

        Raises:
            VersionMismatch: For rules this evidex does not have, and for stems of another version of Snowball.
            InvalidInput: For anything else that is no identity, and when stemming needs PyStemmer and there is none.
        """
        advice = "pass what Analyzer.identity was"
        given = json_object(utf8(identity, "identity").encode(), "identity", advice)
        if given.get("kind") != _KIND:
            refuse("identity", identity, f"an identity of kind {_KIND}", "another analyser made it")
        rules = whole(given.get("rules"), "identity.rules", least=1)
        if rules != _RULES:
            raise VersionMismatch(
                f"identity: made with rules {rules} of {_KIND}, this evidex has rules {_RULES}; "
                "use the evidex that made it, or analyse and index the texts again"
            )
        if set(given) != {"kind", "rules", "snowball", "language", "stop_words", "split_identifiers"}:
            refuse("identity", identity, "the six entries of an identity", advice)
        language, snowball = given["language"], given["snowball"]
        if (language is None) != (snowball is None):
            refuse("identity", identity, "a language and a version of Snowball, or neither", advice)
        if snowball is not None:
            _require_snowball(snowball, advice)
        stop_words, split = given["stop_words"], given["split_identifiers"]
        if not isinstance(stop_words, list):
            refuse("identity.stop_words", stop_words, "a list of words", advice)
        return cls(language, stop_words=stop_words, stem=language is not None, split_identifiers=split)

    def terms(self, text: str) -> list[tuple[str, int]]:
        """Terms with their weights in order of appearance, a whole before its parts; none for a text without words.

        Raises:
            InvalidInput: If ``text`` is not a str, or has no UTF-8 form (lone surrogates).
        """
        return list(self._found(text))

    def counts(self, text: str) -> dict[str, int]:
        """Each term with the sum of its weights, in order of first appearance.

        Raises:
            InvalidInput: As :meth:`terms`.
        """
        counts: dict[str, int] = {}
        for term, weight in self._found(text):
            counts[term] = counts.get(term, 0) + weight
        return counts

    def _found(self, text: str) -> Iterator[tuple[str, int]]:
        return chain.from_iterable(map(self._known.__getitem__, utf8(text, "text").split()))

    def __reduce__(self) -> tuple[Callable[[str], Analyzer], tuple[str]]:
        return Analyzer.from_identity, (self._identity,)


class _Known(dict[str, _Terms]):
    """Terms of runs of text without spaces, made when first asked for. Few distinct ones make up most of any text."""

    def __init__(self, stop_words: frozenset[str], stem: Stemmer | None, identifiers: bool) -> None:
        super().__init__()
        self._stop_words, self._stem, self._identifiers = stop_words, stem, identifiers

    def __missing__(self, run: str) -> _Terms:
        found = self.plain(run)
        if found is None:
            found = self.analysed(run)
        if len(run) <= _LONGEST_REMEMBERED:
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[run] = found
        return found

    def plain(self, run: str) -> _Terms | None:
        """The terms of a word of ASCII letters in usual case with usual punctuation around it: a short cut."""
        word = run.strip(_EDGES)
        if not (word.isascii() and word.isalpha() and (word[1:].islower() or word.isupper())):
            return None
        return self._of("a" * len(word), word, WHOLE)

    def analysed(self, run: str) -> _Terms:
        """The terms of any run."""
        text = normal(run)
        shape = shape_of(text)
        found: list[tuple[str, int]] = []
        for start, end in segments(shape, self._identifiers):
            token, outline = text[start:end], shape[start:end]
            for first, last, weight in self._parts(outline):
                found += self._of(outline[first:last], token[first:last], weight)
        return tuple(found)

    def _parts(self, shape: str) -> Iterable[tuple[int, int, int]]:
        if shape[0] == "c":
            return _pairs(len(shape), self._identifiers)
        return pieces(shape) if self._identifiers else ((0, len(shape), WHOLE),)

    def _of(self, shape: str, piece: str, weight: int) -> _Terms:
        """The term of a piece, or none if it is a stop word."""
        term = fold(piece).replace(",", ".")
        if term in self._stop_words:
            return ()
        if self._stem and len(term) <= LONGEST_WORD and not shape.strip("aA'"):
            term = self._stem(term)
        return ((bounded(term), weight),)


def _require_snowball(version: object, advice: str) -> None:
    if not re.fullmatch(r"[0-9.]{1,20}", utf8(version, "identity.snowball")):
        refuse("identity.snowball", version, "a version such as 3.0.1", advice)
    if version != (installed := snowball_version()):
        raise VersionMismatch(
            f"identity: its stems are of Snowball {version}, installed is {installed}, whose stems may differ; "
            f'pip install "PyStemmer=={version}.*", or analyse and index the texts again'
        )


def _pairs(length: int, parts: bool) -> Iterator[tuple[int, int, int]]:
    """Overlapping pairs of characters, each followed by its first as a part, and the last; or one that is alone."""
    if length == 1:
        yield 0, 1, WHOLE
        return
    for start in range(length - 1):
        yield start, start + 2, WHOLE
        if parts:
            yield start, start + 1, 1
    if parts:
        yield length - 1, length, 1
