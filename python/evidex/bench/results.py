# SPDX-License-Identifier: Apache-2.0
"""Records out of files that somebody else wrote: each line is checked, a broken one is told and left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from .. import __version__, _checks
from ..errors import InvalidInput, MissingStore, VersionMismatch
from .records import VERSION, Record

__all__ = ["MOST_BYTES", "MOST_LINE", "MOST_TOLD", "Results", "Skipped", "read"]

MOST_LINE = 2**20
MOST_BYTES = 2**26
"""Of all files together: a record takes about 2 KB, and several times that in memory."""
MOST_TOLD = 1000
"""Broken lines of which the reason is kept; more are counted."""

_WHOLE = 2**63 - 1
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class Skipped:
    """A line that was left out, and why."""

    file: str
    line: int
    why: str


@dataclass(frozen=True, slots=True)
class Results:
    """What was read.

    Attributes:
        files: As they were named.
        records: In the order of files and lines.
        skipped: Broken lines, the first ``MOST_TOLD`` of them.
        broken: How many there were.
    """

    files: tuple[str, ...]
    records: tuple[Record, ...]
    skipped: tuple[Skipped, ...]
    broken: int


def read(paths: Sequence[Path]) -> Results:
    """Reads every record; blank lines and fields that this version does not know are passed over.

    Args:
        paths: Files of one JSON object a line, as ``evidex bench --out`` writes them.

    Raises:
        MissingStore: If a file is not there.
        InvalidInput: If one cannot be read, if they hold more than ``MOST_BYTES``, or if no line is a record.
        VersionMismatch: If a record was written by a newer evidex in a form that this one does not know.
    """
    kept: list[Record] = []
    told: list[Skipped] = []
    broken = 0
    for path, number, line in _lines(paths):
        try:
            kept.append(_record(line, f"{path}:{number}"))
        except InvalidInput as error:
            broken += 1
            if len(told) < MOST_TOLD:
                told.append(Skipped(str(path), number, str(error)))
    if not kept:
        first = f"; the first of {broken} lines is {told[0].file}:{told[0].line}: {told[0].why}" if told else ""
        raise InvalidInput(
            f"results: no record in {', '.join(map(str, paths))}; pass files that evidex bench --out wrote{first}"
        )
    return Results(tuple(map(str, paths)), tuple(kept), tuple(told), broken)


def _lines(paths: Sequence[Path]) -> Iterator[tuple[Path, int, bytes]]:
    """File, number and bytes of lines that are not blank; of one that is too long, its first ``MOST_LINE + 1``."""
    left = MOST_BYTES
    for path in paths:
        try:
            with path.open("rb") as file:
                number, ended = 0, True
                while part := file.readline(MOST_LINE + 1):
                    left -= len(part)
                    if left < 0:
                        raise InvalidInput(
                            f"results: more than {MOST_BYTES} bytes at {path}:{number}; report on fewer files at a time"
                        )
                    begins, ended = ended, part.endswith(b"\n")
                    if begins:
                        number += 1
                        part = part.removeprefix(b"\xef\xbb\xbf") if number == 1 else part
                        if part.strip():
                            yield path, number, part
        except FileNotFoundError as error:
            raise MissingStore(f"results: {path} is not there; pass a file that evidex bench --out wrote") from error
        except OSError as error:
            raise InvalidInput(
                f"results: {path} cannot be read ({error.strerror}); pass a file that evidex bench --out wrote"
            ) from error


def _record(line: bytes, where: str) -> Record:
    if len(line) > MOST_LINE:
        raise InvalidInput(f"more than {MOST_LINE} bytes, which is no record of evidex bench")
    value = _checks.json_object(line, "line", "write a record as evidex.bench.records documents it")
    version = _checks.whole(value.get("version"), "version", least=1, most=_WHOLE)
    if version > VERSION:
        raise VersionMismatch(
            f"{where}: record version {version} is newer than {VERSION}, the newest that evidex {__version__} knows; "
            "update evidex"
        )
    record: Record = _made(Record, value, "")
    _require_sound(record)
    return record


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _made(kind: Any, value: object, where: str) -> Any:
    """A dataclass of records.py from an object with at least its fields; one with a default was added later."""
    if not isinstance(value, dict):
        _checks.refuse(where.rstrip(".") or "line", value, "a JSON object", "see evidex.bench.records")
    given = {}
    for field in fields(kind):
        if field.name in value:
            given[field.name] = _typed(_hints(kind)[field.name], value[field.name], where + field.name)
        elif field.default is MISSING:
            raise InvalidInput(f"{where}{field.name}: is missing; see evidex.bench.records")
    return kind(**given)


def _typed(hint: Any, value: object, name: str) -> Any:
    """The value, if it has the type that records.py says."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        rest = [one for one in inside if one is not NoneType]
        return None if value is None else _typed(rest[0], value, name)
    if is_dataclass(hint):
        return _made(hint, value, f"{name}.")
    if origin is Literal:
        return value if value in inside else _checks.refuse(name, value, f"one of {', '.join(inside)}", "repair it")
    if origin is tuple:
        return tuple(_typed(one, part, name) for one, part in zip(inside, _list(value, name, len(inside)), strict=True))
    if origin is list:
        return [_typed(inside[0], part, name) for part in _list(value, name)]
    if origin is dict:
        if not isinstance(value, dict):
            _checks.refuse(name, value, "a JSON object", "see evidex.bench.records")
        return {_checks.utf8(key, name): _typed(inside[1], part, name) for key, part in value.items()}
    if hint is int:
        return _checks.whole(value, name, least=-_WHOLE, most=_WHOLE)
    checks = {float: _checks.finite, bool: _checks.flag, str: _checks.utf8, Any: _plain}
    return checks[hint](value, name)


def _list(value: object, name: str, length: int | None = None) -> list[Any]:
    if not isinstance(value, list) or (length is not None and len(value) != length):
        _checks.refuse(name, value, "a list" if length is None else f"a list of {length}", "see evidex.bench.records")
    return value


def _plain(value: object, name: str, depth: int = 0) -> Any:
    """A plain value, or lists and objects of them: text that can be written, numbers that are finite."""
    if depth > _DEEPEST:
        raise InvalidInput(f"{name}: nested deeper than {_DEEPEST}")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _checks.utf8(value, name)
    if isinstance(value, list):
        return [_plain(part, name, depth + 1) for part in value]
    if isinstance(value, dict):
        return {_checks.utf8(key, name): _plain(part, name, depth + 1) for key, part in value.items()}
    return _typed(int, value, name) if isinstance(value, int) else _checks.finite(value, name)


def _require_sound(record: Record) -> None:
    """What types do not say, and pages rely on."""
    try:
        datetime.strptime(record.date, "%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        _checks.refuse("date", record.date, "UTC as 2026-01-31T12:00:00Z", "see evidex.bench.records")
    if record.status == "ok" and (record.answers is None or record.latency is None):
        raise InvalidInput("answers, latency: null although status is ok")
    asked = record.setting
    if (asked.mask is None) != (asked.selectivity is None):
        raise InvalidInput("setting.selectivity: a mask has one, and nothing else has")
    for name, value, positive, most in _limits(record):
        if value is not None and not (0 < value <= most if positive else 0 <= value <= most):
            limits = f"{'above' if positive else 'at least'} 0" + (f" and at most {most:.15g}" if most < _MOST else "")
            _checks.refuse(name, value, f"a number {limits}", "see evidex.bench.records")


_MOST = 1e18


def _limits(record: Record) -> Iterator[tuple[str, float | None, bool, float]]:
    """(name, number, whether 0 is too little, most)."""
    asked, data, sweep = record.setting, record.data, record.sweep
    for name, count in (("data.rows", data.rows), ("data.dim", data.dim), ("setting.k", asked.k)):
        yield name, count, True, _MOST
    for name in ("batch", "threads", "rounds", "calls"):
        yield f"setting.{name}", getattr(asked, name), True, _MOST
    yield "setting.permitted", asked.permitted, False, data.rows
    yield "setting.selectivity", asked.selectivity, True, 1.0
    if record.answers is not None:
        yield "answers.recall", record.answers.recall, False, 1.0
        yield "answers.ids_equal_share", record.answers.ids_equal_share, False, 1.0
    if record.latency is not None:
        for name in ("p50_ms", "p95_ms", "p99_ms", "queries_per_s"):
            yield f"latency.{name}", getattr(record.latency, name), True, _MOST
    if record.build is not None:
        yield "build.seconds", record.build.seconds, False, _MOST
    if (sparse := record.sparse) is not None:
        yield "sparse.words", sparse.words, True, _MOST
        yield "sparse.agreement", sparse.agreement, False, 1.0
        for name in ("documents_per_s", "postings", "index_bytes", "bytes_per_posting"):
            yield f"sparse.{name}", getattr(sparse, name), False, _MOST
    if sweep is not None:
        yield "sweep.tuned_recall", sweep.tuned_recall, False, 1.0
        yield "sweep.tuned_queries_per_s", sweep.tuned_queries_per_s, False, _MOST
