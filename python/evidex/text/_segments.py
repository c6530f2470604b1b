# SPDX-License-Identifier: Apache-2.0
"""From a run of text without spaces to the pieces that become terms.

A text is looked at through its *shape*, a str of the same length that says of each character only what the rules
ask: ``A`` a capital, ``a`` any other letter (or a number that is no decimal digit), ``0`` a decimal digit, ``c`` a
character of a script written without spaces, a joiner as it is, and a space for all else. A combining mark takes the
shape of what it follows. The patterns below read shapes, so they are ASCII, small, and the same for every script.

Everything here takes time linear in the text: what a pattern repeats is either one set of characters or bounded.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterator

__all__ = ["LONGEST_WORD", "WHOLE", "bounded", "fold", "normal", "pieces", "segments", "shape_of"]

WHOLE = 4  # the weight of a whole; parts have quarters of it, so that sums are whole numbers
LONGEST_WORD = 64  # characters; a longer run of letters and digits is data, not a word: neither taken apart nor stemmed

_LONGEST_TERM = 255  # bytes of UTF-8
_KEPT = 128  # of a longer one
_MOST_MARKS = 30  # in a row, as in the stream-safe format of UAX #15
_MOST_KINDS = 1 << 15

_STRONG = r"/\\:@?=#%~&"  # between the segments of paths, addresses and URLs
_JOINERS = frozenset(r"/\:@?=#%~&-_.,'+")
_APOSTROPHES = str.maketrans("\u2019\u2010", "'-")  # NFKC leaves the typographic ones
_POSSESSIVE = re.compile(r"(?<=[^\W_])'[sS]\b")
# Characters without a form of their own (Default_Ignorable_Code_Point) except the zero width space, which separates.
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# Han, kana, Hangul, Thai, Lao, Myanmar and Khmer: their letters and marks, not their digits and punctuation.
_UNSPACED = re.compile(
    "[\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\U0001aff0-\U0001b16f\U00020000-\U0003ffff\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u1780-\u17d3\u17d7\u17dc\u17dd]"
)

_WORD = "[aA0]+"
_JOIN = rf"(?:_{{1,3}}|[-.+]|(?<=[aA])'(?=[aA])|(?<=0),(?=0)|[{_STRONG}]{{1,3}}[.-]?)"
_PLAIN_JOIN = r"(?:_{1,3}|(?<=[aA])[.'](?=[aA])|(?<=0)[.,](?=0))"
# At most 64 words to a token: a group that repeats without end would keep a place for each round.
_TOKEN = re.compile(rf"c+|(?<![aA0])[aA](?:\+\+|#(?![aA0]))|{_WORD}(?:{_JOIN}{_WORD}){{0,63}}")
_PLAIN_TOKEN = re.compile(rf"c+|{_WORD}(?:{_PLAIN_JOIN}{_WORD}){{0,63}}")
_LEVELS = (
    re.compile(rf"[aA0](?:[^{_STRONG}]*[aA0])?"),
    re.compile(r"[aA0]+(?:(?<=0)[.,](?=0)[aA0]+)*"),
    # IDs and URLs are words; HTTPServer is HTTP, Server; then Word, word, WORD; numbers with their points.
    re.compile(r"A{2,}a(?![aA])|A+(?=Aa)|A?a+|A+|0+(?:[.,]0+)*"),
    re.compile(r"0+"),
)
_CASES, _NUMBERS = 2, 3  # places in _LEVELS
_MARKS = re.compile(r"([^m]?)m+")
_TOO_MANY_MARKS = re.compile(rf"m{{{_MOST_MARKS + 1},}}")


class _Table(dict[int, str]):
    """For ``str.translate``: asks a function once for each character, as long as there are not too many."""

    def __init__(self, kind: Callable[[str], str]) -> None:
        super().__init__()
        self._kind = kind

    def __missing__(self, code: int) -> str:
        kind = self._kind(chr(code))
        if len(self) < _MOST_KINDS:
            self[code] = kind
        return kind


def _kind(char: str) -> str:
    if char in _JOINERS:
        return char
    if _UNSPACED.match(char):
        return "c"
    if char.isdecimal():
        return "0"
    if char.isalnum():
        return "A" if char.isupper() or char.istitle() else "a"
    return "m" if unicodedata.category(char)[0] == "M" else " "


def _starts_with_mark(char: str) -> str:
    return "m" if unicodedata.combining(unicodedata.normalize("NFKD", char)[0]) else " "


_KINDS = _Table(_kind)
_REORDERED = _Table(_starts_with_mark)


def normal(text: str) -> str:
    """NFKC without ignorable characters, with ASCII apostrophes and hyphens, and without the English possessive.

    Of more than 30 marks in a row the first 30 count: putting marks in their canonical order takes time quadratic in
    their number.
    """
    if not text.isascii():
        text = _IGNORABLE.sub("", text)  # first: what is taken out later would join runs of marks
        if len(text) > _MOST_MARKS:
            text = _without_surplus_marks(text)
        text = unicodedata.normalize("NFKC", text).translate(_APOSTROPHES)
    return _POSSESSIVE.sub("", text) if "'" in text else text


def _without_surplus_marks(text: str) -> str:
    kept, start = [], 0
    for run in _TOO_MANY_MARKS.finditer(text.translate(_REORDERED)):
        kept.append(text[start : run.start() + _MOST_MARKS])
        start = run.end()
    return "".join([*kept, text[start:]])


def fold(text: str) -> str:
    """What compares equal without regard to case and compatibility forms: definition D146 of the Unicode Standard."""
    if text.isascii():
        return text.lower()
    once = unicodedata.normalize("NFKC", unicodedata.normalize("NFD", text).casefold())
    return unicodedata.normalize("NFKC", once.casefold())


def shape_of(text: str) -> str:
    """The shape of a text in normal form, see the module."""
    shape = text.translate(_KINDS)
    if "m" not in shape:
        return shape
    return _MARKS.sub(lambda run: (run[1] or " ") * len(run[0]), shape)


def segments(shape: str, identifiers: bool) -> Iterator[tuple[int, int]]:
    """Where tokens start and end: compounds with all their joiners, or only words as UAX #29 has them."""
    for token in (_TOKEN if identifiers else _PLAIN_TOKEN).finditer(shape):
        yield token.span()


def pieces(shape: str) -> Iterator[tuple[int, int, int]]:
    """A token and, in order of appearance, the parts it falls into, as (start, end, weight).

    Taking something apart halves the weight, down to 1: first between the segments of a path, an address or a URL;
    then at hyphens, underscores and points; then where the case changes or letters meet digits; and last a number
    with at least two points (a version, an address, a date) into its groups.
    """
    return _pieces(shape, 0, WHOLE, 0)


def _pieces(shape: str, offset: int, weight: int, level: int) -> Iterator[tuple[int, int, int]]:
    yield offset, offset + len(shape), weight
    for deeper in range(level, len(_LEVELS)):
        if deeper >= _CASES and len(shape) > LONGEST_WORD:
            return
        if deeper == _NUMBERS and shape.count(".") + shape.count(",") < 2:
            return
        parts = [part.span() for part in _LEVELS[deeper].finditer(shape)]
        if len(parts) > 1:
            for start, end in parts:
                yield from _pieces(shape[start:end], offset + start, max(1, weight // 2), deeper + 1)
            return


def bounded(term: str) -> str:
    """The term, or where it has more than 255 bytes its first 128 and a digest of all: long URLs stay distinct."""
    if len(term) * 4 <= _LONGEST_TERM:
        return term
    raw = term.encode()
    if len(raw) <= _LONGEST_TERM:
        return term
    # No other term has a space.
    return f"{raw[:_KEPT].decode(errors='ignore')} {hashlib.blake2b(raw, digest_size=16).hexdigest()}"
