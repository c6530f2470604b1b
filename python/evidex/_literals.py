# SPDX-License-Identifier: Apache-2.0
"""Numbers and dates in running English text, in a form that compares equal when they mean the same."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

__all__ = ["literals", "unsupported"]

_ONES = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_TEENS = ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9}
_WORDS = {word: value for value, word in enumerate(["zero", *_ONES, *_TEENS])}
_WORDS |= {word: value for value, word in zip(range(20, 100, 10), _TENS, strict=True)}
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

_GAP = r"(?:\s+|-)"
_AND = rf"{_GAP}(?:and\s+)?"
_ONE, _TEEN, _TEN, _SCALE = ("|".join(words) for words in (_ONES, _TEENS, _TENS, _SCALES))
_SMALL = rf"(?:(?:{_TEN})(?:{_GAP}(?:{_ONE})\b)?|{_TEEN}|{_ONE}|zero)"
_HUNDREDS = rf"(?:(?:{_SMALL}{_GAP})?hundred\b(?:{_AND}{_SMALL}\b)?|{_SMALL}\b)"
_SPELLED = rf"(?:(?:{_HUNDREDS}{_GAP})?(?:{_SCALE})\b(?:{_AND}{_HUNDREDS})?)"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)

# The look-behinds keep a literal from starting inside a word (E4012) or inside a longer number (3.30).
_LITERAL = re.compile(
    rf"""
    (?<!\w)(?<!\d[.,:])(?=[\d.\u2212a-zA-Z-])(?:
        (?P<iso>\d{{4}}-\d\d-\d\d)(?!\d)
      | (?P<day>\d{{1,2}})(?ai:st|nd|rd|th)?\s+(?P<month>(?ai:{_MONTH}))\b\.?,?\s+(?P<year>\d{{4}})(?!\d)
      | (?P<month2>(?ai:{_MONTH}))\b\.?\s+(?P<day2>\d{{1,2}})(?ai:st|nd|rd|th)?,?\s+(?P<year2>\d{{4}})(?!\d)
      | (?P<number>[-\u2212]?(?:\d+(?:[.,:]\d+)*|\.\d+))
      | (?P<words>(?ai:(?:{_SPELLED}{_AND})*(?:{_SPELLED}|{_HUNDREDS})))(?!\w)
    )""",
    re.VERBOSE,
)
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_PLAIN = re.compile(r"\d*\.?\d+")


def literals(text: str) -> dict[str, str]:
    """The distinct numbers and dates of a text: canonical form -> as first written, in order of appearance.

    Numbers become digits without grouping commas, leading zeros or trailing decimal zeros (``1,000`` and
    ``one thousand`` are ``1000``), dates become ``YYYY-MM-DD``. A run that is neither (``10:30``, ``1.2.3``) stays as
    it is. Ordinals, fractions in words and digits followed by a scale word are not combined.
    """
    found: dict[str, str] = {}
    for match in _LITERAL.finditer(text):
        found.setdefault(_canonical(match), match[0])
    return found


def unsupported(answer: str, spans: Iterable[str]) -> tuple[str, ...]:
    """The literals of the answer, as written there, that occur in none of the spans. A date supports its year."""
    known: set[str] = set()
    for span in spans:
        for form in literals(span):
            known |= {form, form[:4]} if re.fullmatch(r"\d{4}-\d\d-\d\d", form) else {form}
    return tuple(written for form, written in literals(answer).items() if form not in known)


def _canonical(match: re.Match[str]) -> str:
    if match["iso"]:
        return _ascii_digits(match["iso"])
    month, day, year = match["month"] or match["month2"], match["day"] or match["day2"], match["year"] or match["year2"]
    if month:
        return f"{_ascii_digits(year)}-{_MONTHS.index(month[:3].lower()) + 1:02}-{_ascii_digits(day):0>2}"
    return _spelled(match["words"]) if match["words"] else _number(_ascii_digits(match["number"]))


def _ascii_digits(written: str) -> str:
    return "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in written)


def _number(digits: str) -> str:
    sign, body = ("-", digits[1:]) if digits[0] in "-\u2212" else ("", digits)
    if _GROUPED.fullmatch(body):
        body = body.replace(",", "")
    if not _PLAIN.fullmatch(body):
        return sign + body
    whole, _, fraction = body.partition(".")
    fraction = fraction.rstrip("0")
    return sign + (whole.lstrip("0") or "0") + ("." + fraction if fraction else "")


def _spelled(words: str) -> str:
    total = current = 0
    for word in re.split(r"[\s-]+", words.lower()):
        if word == "hundred":
            current = max(current, 1) * 100
        elif word in _SCALES:
            total += max(current, 1) * _SCALES[word]
            current = 0
        elif word != "and":
            current += _WORDS[word]
    return str(total + current)
