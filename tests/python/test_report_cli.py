# SPDX-License-Identifier: Apache-2.0
"""``evidex report`` as a user meets it: files, exit codes, JSON, what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import report_examples as examples
from cli_runs import Shell
from evidex.bench import page
from evidex.bench.records import VERSION

RUN = examples.run()


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    examples.without_plotly(monkeypatch)
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capsys)


@pytest.fixture
def records(tmp_path: Path) -> Path:
    return examples.write(tmp_path / "r.jsonl", RUN)


def test_it_writes_a_page_and_says_so(shell: Shell, records: Path) -> None:
    out, err = shell.run("report", records, "-o", "report.html")
    size = Path("report.html").stat().st_size
    assert (out, err) == (f"report.html: {size} bytes, {len(RUN)} records of 1 files\n", "")
    first = Path("report.html").read_bytes()
    shell.run("report", records, "--out", "report.html")
    assert Path("report.html").read_bytes() == first
    assert sorted(os.listdir()) == ["r.jsonl", "report.html"]


def test_broken_lines_are_told_and_the_code_is_3(shell: Shell, tmp_path: Path) -> None:
    """A line cannot speak to the terminal either."""
    path = examples.write(tmp_path / "r\n.jsonl", RUN, "broken", '{"version": "\\u001b[31m"}')
    out, err = shell.run("report", path, "-o", "report.html", code=3)
    assert out.endswith(f"{len(RUN)} records of 1 files, 2 broken lines left out\n")
    first, second = err.splitlines()
    assert first.startswith("evidex: ") and r"r\n.jsonl:240: no JSON: Expecting value" in first
    assert r"r\n.jsonl:241: version: expected a whole number" in second and "\x1b" not in second
    examples.write(path, RUN[:1], *["broken"] * 50)
    assert len(shell.run("report", path, "-o", "report.html", code=3)[1].splitlines()) == 21


def test_json(shell: Shell, tmp_path: Path, records: Path) -> None:
    more = examples.write(tmp_path / "more.jsonl", RUN[:3], "broken")
    told = shell.json("report", records, more, "-o", "report.html", code=3)
    why = told["skipped"][0].pop("why")
    assert why.startswith("no JSON")
    assert told == {
        "out": "report.html",
        "bytes": Path("report.html").stat().st_size,
        "records": len(RUN),
        "older": 3,
        "groups": 1,
        "broken": 1,
        "skipped": [{"file": str(more), "line": 4}],
    }


def test_markdown_needs_neither_a_page_nor_plotly(shell: Shell, records: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples.without_plotly(monkeypatch, None)
    out, err = shell.run("report", records, "--markdown")
    assert out.startswith("## sentences") and err == ""
    assert os.listdir() == ["r.jsonl"]
    assert "plots need plotly" in shell.run("report", records, "-o", "report.html", code=1)[1]
    examples.without_plotly(monkeypatch)
    assert shell.run("report", records, "--markdown", "-o", "report.html")[0] == out
    assert Path("report.html").exists()


def test_the_target_is_the_callers(shell: Shell, records: Path) -> None:
    low, high = (shell.run("report", records, "--markdown", "--recall", target)[0] for target in ("0.8", "1"))
    assert "At recall of at least 0.8" in low and "At recall of at least 1" in high
    assert low.count("| no |") < high.count("| no |")


@pytest.mark.parametrize("target", ["0", "1.5", "-1", "nan", "inf"])
def test_a_target_that_is_none_is_refused(shell: Shell, records: Path, target: str) -> None:
    assert "recall: expected" in shell.run("report", records, "--markdown", f"--recall={target}", code=1)[1]


def test_what_cannot_be_read_is_an_error(shell: Shell, tmp_path: Path, records: Path) -> None:
    assert "absent is not there" in shell.run("report", records, "absent", "-o", "report.html", code=1)[1]
    (tmp_path / "empty").write_bytes(b"")
    assert "results: no record in" in shell.run("report", tmp_path / "empty", "-o", "report.html", code=1)[1]
    newer = examples.write(tmp_path / "newer", RUN, json.dumps({"version": VERSION + 1}))
    assert "update evidex" in shell.run("report", newer, "-o", "report.html", code=1)[1]
    assert not Path("report.html").exists()


def test_what_cannot_be_written_is_refused_before_anything_is_read(
    shell: Shell, tmp_path: Path, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device or a folder stays what it is, and so do the records.

    Seen red: with the look at whether it is a plain file, or one of the inputs, taken out.
    """
    monkeypatch.setattr("evidex.bench.results.read", None)
    before = records.read_bytes()
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(records)
    os.mkfifo(tmp_path / "pipe")
    for name, why in (
        ("folder", "is there and no plain file; name a file, such as folder/report.html"),
        ("pipe", "is there and no plain file"),
        ("absent/report.html", "is in no folder that exists"),
        ("r.jsonl", "is one of the files to read"),
        ("link", "is one of the files to read"),
    ):
        assert f"out: {name} {why}" in shell.run("report", records, "-o", name, code=1)[1]
    assert "out: expected a file to write, got none" in shell.run("report", records, code=1)[1]
    assert records.read_bytes() == before


def test_a_page_is_whole_or_the_old_one(shell: Shell, records: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen red: with the content written in place."""
    Path("report.html").write_text("old", encoding="utf-8")
    Path("link.html").symlink_to("report.html")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        assert "cannot be written: No space left" in shell.run("report", records, "-o", "report.html", code=1)[1]
    with monkeypatch.context() as patch:
        patch.setattr(page, "page", lambda *_: "\ud800")
        with pytest.raises(UnicodeEncodeError):
            shell.run("report", records, "-o", "report.html")
    assert Path("report.html").read_text(encoding="utf-8") == "old"
    assert sorted(os.listdir()) == ["link.html", "r.jsonl", "report.html"]
    shell.run("report", records, "-o", "link.html")
    assert Path("link.html").is_symlink() and Path("report.html").read_bytes().startswith(b"<!DOCTYPE html>")


@pytest.mark.parametrize("arguments", [[], ["-o", "x"], ["r.jsonl", "--markdown", "--json"], ["r.jsonl", "--mark"]])
def test_wrong_usage_exits_with_2(shell: Shell, records: Path, arguments: list[str]) -> None:
    assert "usage: evidex" in shell.run("report", *arguments, code=2)[1]


def test_help_says_what_it_prints(shell: Shell) -> None:
    out = shell.run("report", "--help")[0]
    for what in ("RESULTS.jsonl", "--markdown", "--json", "--recall", "-o"):
        assert what in out
    assert "report" in shell.run("--help")[0]
