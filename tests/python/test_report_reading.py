# SPDX-License-Identifier: Apache-2.0
"""Records out of files that may be broken or hostile: what is refused, why, and what is none the worse for it."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import report_examples as examples
from evidex import InvalidInput, MissingStore, VersionMismatch
from evidex.bench import results
from evidex.bench.records import VERSION

GOOD = examples.swept("hnswlib", {"m": 16}, {"ef_search": 20}, 0.9, 5000.0, mask="random", share=0.1)


def changed(path: str, value: Any) -> str:
    """The line of a good record, one field of which is another; ``...`` takes it out."""
    record = json.loads(json.dumps(GOOD.to_dict()))
    *above, last = path.split(".")
    part = record
    for name in above:
        part = part[name]
    if value is ...:
        del part[last]
    else:
        part[last] = value
    return json.dumps(record)


def why(tmp_path: Path, line: str | bytes) -> str:
    """Why a line between two good ones is left out."""
    path = tmp_path / "r.jsonl"
    good = json.dumps(GOOD.to_dict()).encode()
    path.write_bytes(b"\n".join([good, line.encode() if isinstance(line, str) else line, good]))
    read = results.read([path])
    assert read.records == (GOOD, GOOD)
    (one,) = read.skipped
    assert (one.file, one.line, read.broken) == (str(path), 2, 1)
    return one.why


def test_what_was_written_is_read(tmp_path: Path) -> None:
    """Every field, with its type: what bench writes is what report reads."""
    records = examples.run()
    read = results.read([examples.write(tmp_path / "r.jsonl", records)])
    assert read.records == tuple(records)
    assert (read.skipped, read.broken, read.files) == ((), 0, (str(tmp_path / "r.jsonl"),))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("nope", "no JSON: Expecting value"),
        ('{"version": 1', "no JSON"),
        (b"\xff\xfe{}", "no UTF-8 at byte 0"),
        ("[1, 2]", "line: expected a JSON object, got [1, 2] (list)"),
        ("[" * 100_000, "nested too deep"),
        ('{"version": 1, "version": 1}', "a name comes twice"),
        ('{"version": NaN}', "NaN is no number"),
        ("{}", "version: expected a whole number"),
        (changed("version", 0), "version: expected a whole number"),
        (changed("version", True), "version: expected a whole number"),
        (changed("version", "1"), "version: expected a whole number"),
        (changed("status", "fine"), "status: expected one of ok, failed, left_out, got 'fine'"),
        (changed("status", ["ok"]), "status: expected one of"),
        (changed("date", "yesterday"), "date: expected UTC"),
        (changed("answers", ...), "answers: is missing"),
        (changed("answers", None), "answers, latency: null although status is ok"),
        (changed("latency", []), "latency: expected a JSON object"),
        (changed("machine", None), "machine: expected a JSON object"),
        (changed("machine.cores", 2.5), "machine.cores: expected a whole number"),
        (changed("machine.isa", None), "machine.isa: expected a str"),
        (changed("data.dim", 0), "data.dim: expected a number above 0"),
        (changed("data.rows", 2**70), "data.rows: expected a whole number"),
        (changed("setting.k", "10"), "setting.k: expected a whole number"),
        (changed("setting.threads", -1), "setting.threads: expected a number above 0"),
        (changed("setting.selectivity", 1.5), "setting.selectivity: expected a number above 0 and at most 1, got 1"),
        (changed("setting.selectivity", None), "a mask has one, and nothing else has"),
        (changed("setting.permitted", 10**6), "setting.permitted: expected a number at least 0 and at most 100000"),
        (changed("answers.recall", 1.01), "answers.recall: expected"),
        (changed("answers.recall", True), "answers.recall: expected a finite number"),
        (changed("answers.ids_equal", 1), "answers.ids_equal: expected True or False"),
        (changed("latency.p50_ms", 0), "latency.p50_ms: expected a number above 0"),
        (changed("latency.queries_per_s", -3.0), "latency.queries_per_s: expected"),
        (changed("latency.p99_ms", 10**400), "latency.p99_ms: expected a finite number"),
        (changed("build.seconds", -1.0), "build.seconds: expected"),
        (changed("system.given", "\ud800"), "system.given: expected text with a UTF-8 form"),
        (changed("system.options", {"\udfff": 1}), "system.options: expected text with a UTF-8 form"),
        (changed("system.options", {"a": {"b": [[[[1]]]]}}), "system.options: nested deeper"),
        (changed("system.options", [1]), "system.options: expected a JSON object"),
        (changed("sweep.grid", {"m": 16}), "sweep.grid: expected a list"),
        (changed("sweep.queries", [500]), "sweep.queries: expected a list of 2"),
        (changed("sweep.queries", ["a", "b"]), "sweep.queries: expected a whole number"),
        (changed("sweep.tuned_recall", 7), "sweep.tuned_recall: expected"),
        (changed("sweep.chosen", None), "sweep.chosen: expected True or False"),
        (json.dumps(GOOD.to_dict()).replace("5000.0", "1e999"), "latency.queries_per_s: expected a finite number"),
        (changed("system.options", {"a": 7.5}).replace("7.5", "1e999"), "system.options: expected a finite"),
        (changed("reason", "x" * results.MOST_LINE), f"more than {results.MOST_LINE} bytes"),
    ],
)  # fmt: skip
def test_a_broken_line_is_told_and_left_out(tmp_path: Path, line: str | bytes, reason: str) -> None:
    assert reason in why(tmp_path, line)


def test_every_field_is_checked(tmp_path: Path) -> None:
    """No field takes an object where it has another type, nor may it be absent, unless it was added later.

    Seen red: with ``int`` taken out of the types that are checked.
    """

    def paths(value: dict[str, Any], above: str = "") -> list[str]:
        found = []
        for name, part in value.items():
            found.append(f"{above}{name}")
            if isinstance(part, dict) and name not in ("options", "build", "search", "grid"):
                found += paths(part, f"{above}{name}.")
        return found

    for path in paths(GOOD.to_dict()):
        assert path.split(".")[-1] in why(tmp_path, changed(path, [{}]))
        if path not in ("sweep", "sparse"):
            assert "is missing" in why(tmp_path, changed(path, ...)) or path == "version"


def test_older_and_newer_lines_of_the_same_version(tmp_path: Path) -> None:
    """A field with a default was added later and may be missing; fields that are not known are passed over."""
    later = json.loads(changed("colour", "blue"))
    later["machine"]["fans"] = 3
    (tmp_path / "r.jsonl").write_text(f"\ufeff{changed('sweep', ...)}\r\n\n   \n{json.dumps(later)}", encoding="utf-8")
    read = results.read([tmp_path / "r.jsonl"])
    assert read.records == (replace(GOOD, sweep=None), GOOD)
    assert read.broken == 0


def test_a_newer_version_is_no_broken_line(tmp_path: Path) -> None:
    """Whatever else such a line holds.

    Seen red: with the version looked at after the other fields.
    """
    path = examples.write(tmp_path / "r.jsonl", [GOOD], json.dumps({"version": VERSION + 1, "benchmark": ["new"]}))
    with pytest.raises(VersionMismatch, match=rf"r\.jsonl:2: record version {VERSION + 1} is newer .* update evidex"):
        results.read([path])


def test_files_that_hold_nothing(tmp_path: Path) -> None:
    with pytest.raises(MissingStore, match="absent is not there"):
        results.read([tmp_path / "absent"])
    with pytest.raises(InvalidInput, match="cannot be read"):
        results.read([tmp_path])
    (tmp_path / "empty").write_bytes(b"\n\n")
    with pytest.raises(InvalidInput, match="no record in .*empty; pass files that evidex bench --out wrote$"):
        results.read([tmp_path / "empty"])
    (tmp_path / "other").write_bytes(b"a\nb\n")
    with pytest.raises(InvalidInput, match="no record in .*; the first of 2 lines is .*other:1: no JSON"):
        results.read([tmp_path / "empty", tmp_path / "other"])


def test_several_files_keep_their_order_and_lines(tmp_path: Path) -> None:
    other = replace(GOOD, date="2026-03-02T10:00:00Z")
    first = examples.write(tmp_path / "a.jsonl", [GOOD], "broken")
    second = examples.write(tmp_path / "b.jsonl", [other], "", "{}")
    read = results.read([second, first])
    assert read.records == (other, GOOD)
    assert [(Path(one.file).name, one.line) for one in read.skipped] == [("b.jsonl", 3), ("a.jsonl", 2)]


def test_reasons_are_bounded_and_counted(tmp_path: Path) -> None:
    """Seen red: with every reason kept."""
    path = examples.write(tmp_path / "r.jsonl", [GOOD], *["x"] * (results.MOST_TOLD + 5))
    read = results.read([path])
    assert (len(read.skipped), read.broken) == (results.MOST_TOLD, results.MOST_TOLD + 5)


def test_a_line_without_end_takes_no_memory(tmp_path: Path) -> None:
    """One of 40 MB, read in parts of which only the first is kept.

    Seen red: with readline unbounded.
    """
    path = tmp_path / "r.jsonl"
    with path.open("wb") as file:
        for _ in range(40):
            file.write(b"x" * 10**6)
        file.write(b"\n" + json.dumps(GOOD.to_dict()).encode())
    tracemalloc.start()
    try:
        read = results.read([path])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert read.records == (GOOD,)
    assert [one.line for one in read.skipped] == [1]
    assert peak < 5 * results.MOST_LINE


def test_files_together_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blank lines and what follows of one that is too long count too.

    Seen red: with only lines that are looked at counted.
    """
    path = examples.write(tmp_path / "r.jsonl", [GOOD])
    size = path.stat().st_size
    monkeypatch.setattr(results, "MOST_BYTES", 2 * size)
    assert len(results.read([path, path]).records) == 2
    blank = tmp_path / "blank"
    blank.write_bytes(b"\n" * (size + 1))
    with pytest.raises(InvalidInput, match=f"more than {2 * size} bytes at .*blank:[0-9]+; report on fewer files"):
        results.read([path, blank])
    monkeypatch.setattr(results, "MOST_LINE", 8)
    blank.write_bytes(b"x" * (2 * size + 1))
    with pytest.raises(InvalidInput, match="more than .* bytes at .*blank:1"):
        results.read([blank])
