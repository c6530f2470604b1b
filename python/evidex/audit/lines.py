# SPDX-License-Identifier: Apache-2.0
"""One line of the log: how it is sealed, and how a line of unknown origin is read."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

__all__ = [
    "BREAK",
    "MAGIC",
    "MOST_LINE",
    "READS",
    "START",
    "VERSION",
    "Line",
    "Torn",
    "digest",
    "parse",
    "seal",
    "split",
]

VERSION = 1
MOST_LINE = 2**20
"""Longest line in bytes, newline included."""
START = "0" * 64
"""``prev`` of the first line."""
MAGIC = b'{"version":1,"seq":'
BREAK = b"~\n"
"""Ends a torn line; a newline alone could make it whole."""
READS = frozenset({"search", "radius", "explain", "get", "ids", "count", "items"})

_SEAL = re.compile(rb',"seal":"([0-9a-f]{64})"\}\n')
_SEAL_LENGTH = 76
_HEX = re.compile(r"[0-9a-f]{64}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", re.ASCII)
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Torn:
    """Bytes between two lines that are no line."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Line:
    """What the chain needs to know of a line. The last three are those of the first line of a file."""

    seq: int
    time: str
    prev: str
    action: str
    torn: Torn | None = None
    file: int = 0
    oldest: int = 0
    keyed: bool = False


def seal(fields: Mapping[str, Any], key: bytes | None) -> bytes:
    """The line that holds these fields.

    Raises:
        ValueError: For a number that JSON does not have.
    """
    body = json.dumps(fields, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")
    return body[:-1] + b',"seal":"' + _mac(body, key).encode("ascii") + b'"}\n'


def digest(line: bytes) -> str:
    """SHA-256 of a whole line, newline included."""
    return hashlib.sha256(line).hexdigest()


def split(line: bytes) -> tuple[bytes, str] | None:
    """A line without its seal, and the seal; None where there is none."""
    found = _SEAL.fullmatch(line[-_SEAL_LENGTH:])
    return (line[:-_SEAL_LENGTH] + b"}", found[1].decode("ascii")) if found else None


def is_sealed(body: bytes, given: str, key: bytes | None) -> bool:
    """Whether a seal is the right one."""
    return hmac.compare_digest(_mac(body, key), given)


def parse(body: bytes) -> Line:
    """Reads a line without its seal, whoever wrote it; time and memory are bounded by its length.

    Raises:
        ValueError: Says what is wrong with it.
    """
    try:
        found = json.loads(
            body.decode("ascii"),
            object_pairs_hook=_distinct,
            parse_int=_int,
            parse_float=_float,
            parse_constant=_refuse_constant,
        )
    except UnicodeDecodeError as error:
        raise ValueError("bytes that are not ASCII") from error
    except json.JSONDecodeError as error:
        raise ValueError("not JSON") from error
    except RecursionError as error:
        raise ValueError("JSON that is nested too deeply") from error
    if not isinstance(found, dict):
        raise ValueError("JSON, but not an object")
    if not _is_whole(found.get("version"), VERSION, _LARGEST):
        raise ValueError("no version of this format")
    if found["version"] != VERSION:
        raise ValueError(
            f"version {found['version']} of the format, and only {VERSION} is known here; use a newer evidex"
        )
    return _line(found)


def _line(found: dict[str, Any]) -> Line:
    action = found.get("action")
    if not _is_whole(found.get("seq"), 0, _LARGEST):
        raise ValueError("no whole number as seq")
    if not isinstance(found.get("time"), str) or not _TIME.fullmatch(found["time"]):
        raise ValueError("no time in UTC, ISO 8601 to the microsecond")
    if not _is_hex(found.get("prev")):
        raise ValueError("no digest as prev")
    place = found["seq"], found["time"], found["prev"]
    if action == "open":
        if not (_is_whole(found.get("file"), 1, _LARGEST) and _is_whole(found.get("oldest"), 1, found["file"])):
            raise ValueError("an opening without proper numbers of files")
        if not isinstance(found.get("keyed"), bool):
            raise ValueError("an opening that does not say whether there is a key")
        torn = None if found.get("torn") is None else _torn(found["torn"])
        return Line(*place, "open", torn, found["file"], found["oldest"], found["keyed"])
    if action == "resume":
        return Line(*place, "resume", _torn(found.get("torn")))
    if not isinstance(action, str) or action not in READS:
        raise ValueError("an action that this format does not have")
    return Line(*place, action)


def _torn(value: object) -> Torn:
    if not (isinstance(value, dict) and _is_whole(value.get("bytes"), 1, _LARGEST) and _is_hex(value.get("sha256"))):
        raise ValueError("torn bytes without a proper length and digest")
    return Torn(value["bytes"], value["sha256"])


def _mac(body: bytes, key: bytes | None) -> str:
    return hashlib.sha256(body).hexdigest() if key is None else hmac.digest(key, body, "sha256").hex()


def _is_whole(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_hex(value: object) -> bool:
    return isinstance(value, str) and _HEX.fullmatch(value) is not None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key that occurs twice")
    return found


def _int(text: str) -> int:
    if len(text) > 20:  # before int(), whose time grows with the square of the length
        raise ValueError("a number out of range")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number out of range")
    return value


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError("a number that JSON does not have")
