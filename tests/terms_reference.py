# SPDX-License-Identifier: Apache-2.0
"""Terms of ASCII text by hand: slow, character by character, without patterns, from the description of Analyzer."""

from __future__ import annotations

__all__ = ["terms"]

STRONG = "/\\:@?=#%~&"
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def terms(text: str) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for run in text.split():
        for token in _tokens(_without_possessive(run)):
            found += _apart(token, 4, 0)
    return [(term.lower().replace(",", "."), weight) for term, weight in found]


def _at(text: str, place: int) -> str:
    return text[place] if 0 <= place < len(text) else " "


def _letter(char: str) -> bool:
    return char.lower() in LETTERS


def _upper(char: str) -> bool:
    return _letter(char) and char != char.lower()


def _digit(char: str) -> bool:
    return char in "0123456789"


def _word(char: str) -> bool:
    return _letter(char) or _digit(char)


def _without_possessive(run: str) -> str:
    kept, place = "", 0
    while place < len(run):
        after = _at(run, place + 2)
        possessive = run[place] == "'" and _at(run, place + 1) in "sS" and _word(_at(run, place - 1))
        if possessive and not _word(after) and after != "_":
            place += 2
            continue
        kept += run[place]
        place += 1
    return kept


def _joiner(run: str, place: int) -> int:
    """Length of what stands between two words at this place, or 0."""
    before, here, after = _at(run, place - 1), _at(run, place), _at(run, place + 1)
    length = 1
    if here == "_":
        while _at(run, place + length) == "_":
            length += 1
        return length if length <= 3 and _word(_at(run, place + length)) else 0
    if here in STRONG:
        while _at(run, place + length) in STRONG:
            length += 1
        if length > 3:
            return 0
        length += _at(run, place + length) in ".-"
        return length if _word(_at(run, place + length)) else 0
    joins = (
        (here in "-.+" and _word(after))
        or (here == "'" and _letter(before) and _letter(after))
        or (here == "," and _digit(before) and _digit(after))
    )
    return 1 if joins else 0


def _tokens(run: str) -> list[str]:
    found, place = [], 0
    while place < len(run):
        if not _word(run[place]):
            place += 1
            continue
        start, words = place, 1
        sharp = _at(run, place + 1) == "#" and not _word(_at(run, place + 2))
        signs = 2 if run[place + 1 : place + 3] == "++" else int(sharp)
        if signs and _letter(run[place]) and not _word(_at(run, place - 1)):
            place += 1 + signs
        else:
            while _word(_at(run, place)):
                place += 1
                if not _word(_at(run, place)) and words < 64 and (length := _joiner(run, place)):
                    place += length
                    words += 1
        found.append(run[start:place])
    return found


def _apart(token: str, weight: int, level: int) -> list[tuple[str, int]]:
    found = [(token, weight)]
    for deeper, split in enumerate((_segments, _names, _cases, _numbers)):
        if deeper < level or (deeper >= 2 and len(token) > 64):
            continue
        parts = split(token)
        if len(parts) > 1:
            for part in parts:
                found += _apart(part, weight // 2 or 1, deeper + 1)
            break
    return found


def _segments(token: str) -> list[str]:
    for char in STRONG:
        token = token.replace(char, " ")
    return [part for part in (part.strip(".-_'+,") for part in token.split()) if part]


def _names(token: str) -> list[str]:
    apart = ""
    for place, char in enumerate(token):
        number = char in ".," and _digit(_at(token, place - 1)) and _digit(_at(token, place + 1))
        apart += char if _word(char) or number else " "
    return apart.split()


def _cases(token: str) -> list[str]:
    found, place = [], 0
    while place < len(token):
        start = place
        if _digit(token[place]):
            while _digit(_at(token, place)) or (_at(token, place) in ".," and _digit(_at(token, place + 1))):
                place += 1
        elif _letter(token[place]):
            while _upper(_at(token, place)):
                place += 1
            capitals = place - start
            while _letter(_at(token, place)) and not _upper(_at(token, place)):
                place += 1
            small = place - start - capitals
            plural = small == 1 and not _letter(_at(token, place))
            if capitals > 1 and small and not plural:  # HTTPServer
                place = start + capitals - 1
        else:
            place += 1
            continue
        found.append(token[start:place])
    return found


def _numbers(token: str) -> list[str]:
    groups = token.replace(",", ".").split(".")
    return groups if len(groups) > 2 and all(map(_digit, "".join(groups))) else [token]
