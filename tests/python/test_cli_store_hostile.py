# SPDX-License-Identifier: Apache-2.0
"""Hostile input of ``evidex ingest``: what cannot be read is said and left out, all else is stored."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli_runs import Shell
from evidex import Policy
from evidex.cli._inputs import Input, Reading, Skipped, open_source

OPEN = ("--open",)


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, capsys)


def reasons(report: dict[str, Any]) -> dict[str, str]:
    assert len(report["listed"]) == report["left_out"]
    return {one["input"]: one["reason"] for one in report["listed"]}


def test_files_that_are_no_text(shell: Shell) -> None:
    shell.write(good="one", blank=" \n\t", empty="", nul="a\0b", bom="\ufefftext")
    (shell.docs / "binary.txt").write_bytes(os.urandom(1000) + b"\xff")
    (shell.docs / "utf16.md").write_bytes("text".encode("utf-16"))
    (shell.docs / "paper.pdf").write_bytes(b"%PDF")
    (shell.docs / "noending").write_bytes(b"text")
    (shell.docs / "docs.jsonl").write_bytes(b"{}")
    os.mkfifo(shell.docs / "pipe.txt")
    said = reasons(report := shell.ingest(shell.docs, *OPEN, code=3))
    assert report["stored"] == 2
    assert {name: reason.split(";")[0].split(":")[0] for name, reason in said.items()} == {
        "binary.txt": said["binary.txt"].split(";")[0],
        "utf16.md": "no UTF-8 at byte 0",
        "blank.txt": "nothing in it",
        "empty.txt": "nothing in it",
        "nul.txt": "text",
        "pipe.txt": "no plain file",
        **dict.fromkeys(("docs.jsonl", "noending", "paper.pdf"), "another kind of file than .txt .md .markdown .rst"),
    }
    assert said["binary.txt"].startswith("no UTF-8 at byte ") and "has a NUL at character 1" in said["nul.txt"]
    hits = shell.json("search", shell.kb, "text")["hits"]
    assert [(hit["source"], hit["text"]) for hit in hits if hit["source"] == "bom.txt"] == [("bom.txt", "text")]
    _, err = shell.run("ingest", shell.docs, shell.kb, code=3)
    assert err.count("left out: ") == 9 and "left out: paper.pdf: another kind of file than .txt" in err


def test_max_bytes_limits_files(shell: Shell) -> None:
    shell.write(small="x" * 10, large="x" * 11)
    assert reasons(shell.ingest(shell.docs, *OPEN, "--max-bytes", 10, code=3)) == {
        "large.txt": "more than 10 bytes; --max-bytes takes larger ones"
    }
    assert shell.ingest(shell.docs, "--max-bytes", 11)["stored"] == 1
    with open(shell.docs / "sparse.txt", "wb") as file:
        file.truncate(2**40)  # not read, since its size says enough
    assert list(reasons(shell.ingest(shell.docs, code=3))) == ["sparse.txt"]


def test_links_are_not_followed(shell: Shell) -> None:
    shell.write(a__good="one")
    (shell.folder / "secret.txt").write_text("secret")
    links = {"file.txt": shell.folder / "secret.txt", "up": shell.folder, "in.txt": shell.docs / "a" / "good.txt"}
    links |= {"round": shell.docs, "self": shell.docs / "self", "dead.txt": shell.docs / "nothing"}
    for name, target in links.items():
        (shell.docs / name).symlink_to(target)
    report = shell.ingest(shell.docs, *OPEN, code=3)
    assert (report["stored"], sorted(reasons(report))) == (1, sorted(links))


def test_a_folder_that_becomes_a_link_meanwhile_is_not_followed(shell: Shell) -> None:
    shell.write(a__b__one="one", c="three")
    source = open_source(str(shell.docs), "")
    (outside := shell.folder / "outside").mkdir()
    (outside / "one.txt").write_text("secret")
    (shell.docs / "a" / "b").rename(shell.folder / "gone")
    (shell.docs / "a" / "b").symlink_to(outside)
    (shell.docs / "c.txt").unlink()
    (shell.docs / "c.txt").symlink_to(outside / "one.txt")
    found = list(source.read(Reading(None, None, {}, None, 800, 100)))
    assert [type(one) for one in found] == [Skipped, Skipped]
    assert all("cannot be read" in one.reason for one in found if isinstance(one, Skipped))


def test_a_file_that_is_gone_or_is_no_file_any_more(shell: Shell) -> None:
    shell.write(a="one", b="two", c="three")
    source = open_source(str(shell.docs), "")
    for name in "ab":
        (shell.docs / f"{name}.txt").unlink()
    os.mkfifo(shell.docs / "b.txt")
    said = list(source.read(Reading(None, None, {}, None, 800, 100)))
    assert [one.reason for one in said if isinstance(one, Skipped)] == [
        "cannot be read (No such file or directory)",
        "no plain file",
    ]


def test_names_that_are_no_utf8(shell: Shell) -> None:
    shell.write(good="one")
    for raw in (b"caf\xe9.txt", b"caf\xe9.pdf", b"esc\x1b[31m.txt"):
        (shell.docs / os.fsdecode(raw)).write_text("two")
    report = shell.ingest(shell.docs, *OPEN, code=3)
    assert report["stored"] == 2
    assert sorted(reasons(report)) == [os.fsdecode(b"caf\xe9.pdf"), os.fsdecode(b"caf\xe9.txt")]
    _, err = shell.run("ingest", shell.docs, shell.kb, code=3)
    assert "left out: caf\\udce9.pdf: " in err and "\x1b" not in err


def test_a_folder_deeper_than_a_path_may_be_long(shell: Shell) -> None:
    shell.write(good="one")
    at = os.open(shell.docs, os.O_RDONLY)
    for _ in range(30):
        os.mkdir("d" * 200, dir_fd=at)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    report = shell.ingest(shell.docs, *OPEN, code=3)
    assert report["stored"] == 1
    assert list(reasons(report).values()) == ["cannot be listed (File name too long)"]


LINES: list[tuple[bytes, str]] = [
    (b"{", "no JSON: Expecting property name"),
    (b"\xff", "no UTF-8 at byte 0"),
    (b"[1]", "expected a JSON object"),
    (b"null", "expected a JSON object"),
    (b'{"a":' * 100_000, "nested too deep"),
    (b"[" * 100_000, "nested too deep"),
    (b'{"source": "a", "text": "b", "text": "c"}', "comes twice"),
    (b'{"source": "a", "text": "b", "alow": ["c"]}', "misspelt"),
    (b'{"source": "a", "text": "\\ud800"}', "text: expected text with a UTF-8 form"),
    (b'{"source": "\\udfff", "text": "b"}', "source: expected text with a UTF-8 form"),
    (b'{"source": "a", "revision": "\\udfff", "text": "b"}', "revision: expected text with a UTF-8 form"),
    (b'{"source": "a", "chunks": ["b", "\\ud800"]}', "UTF-8 form"),
    (b'{"source": "a", "text": "b\\u0000"}', "NUL at character 1"),
    (b'{"source": "a\\u0000", "text": "b"}', "without NUL"),
    (b'{"text": "b"}', "source: expected a str"),
    (b'{"source": ["a"], "text": "b"}', "source: expected a str"),
    (b'{"source": "", "text": "b"}', "source: expected 1 to 1024 characters"),
    (b'{"source": "a", "revision": 1, "text": "b"}', "revision: expected a str"),
    (b'{"source": "a"}', "needs either text or chunks"),
    (b'{"source": "a", "text": "b", "chunks": ["b"]}', "needs either text or chunks"),
    (b'{"source": "a", "text": ["b"]}', "text: expected a str"),
    (b'{"source": "a", "text": " \\n"}', "nothing in it"),
    (b'{"source": "a", "chunks": "b"}', "chunks: expected a list"),
    (b'{"source": "a", "chunks": {"b": 1}}', "chunks: expected a list"),
    (b'{"source": "a", "chunks": [1]}', "chunks[0]: expected a str"),
    (b'{"source": "a", "chunks": []}', "nothing in it"),
    (b'{"source": "a", "chunks": ["b", " "]}', "leave blank chunks out"),
    (b'{"source": "a", "text": "b", "vectors": [[NaN, 1]]}', "NaN is no number"),
    (b'{"source": "a", "text": "b", "vectors": [["1", 1]]}', "a list of numbers"),
    (b'{"source": "a", "text": "b", "vectors": [[true, 1]]}', "a list of numbers"),
    (b'{"source": "a", "text": "b", "vectors": [[1], [1, 2]]}', "all of one length"),
    (b'{"source": "a", "text": "b", "vectors": [[1, 2]]}', "vectors of 'a': expected shape [n, 256]"),
    (b'{"source": "a", "text": "b", "vectors": [[1e999, 2]]}', "vectors"),
    (b'{"source": "a", "text": "b", "vectors": [[1' + b"0" * 400 + b", 2]]}", "numbers that a float holds"),
    (b'{"source": "a", "text": "b", "metadata": {"n": 1' + b"0" * 5000 + b"}}", "no JSON: "),
    (b'{"source": "a", "text": "b", "metadata": {"n": 1.5}}', "n"),
    (b'{"source": "a", "text": "b", "metadata": {"day": "1.3.24"}}', "YYYY-MM-DD"),
    (b'{"source": "a", "text": "b", "metadata": {"m": 1}}', "no column 'm'"),
    (b'{"source": "a", "text": "b", "metadata": [1]}', "a mapping of column names"),
]
RULES: list[tuple[bytes, str]] = [
    (b'"tenant": "t"', "either"),
    (b'"allow": ["g"]', "tenant: expected a str"),
    (b'"deny": ["g"]', "either"),
    (b'"tenant": "t", "allow": null', "allow: expected a list"),
    (b'"tenant": "t", "allow": "g"', "allow: expected a list"),
    (b'"tenant": "t", "allow": {"g": 1}', "allow: expected a list"),
    (b'"tenant": "t", "allow": [1]', "allow: expected a str"),
    (b'"tenant": "t", "allow": ["g"], "deny": "h"', "deny: expected a list"),
    (b'"tenant": "t", "allow": ["g"], "any_in_tenant": true', "either"),
    (b'"tenant": "t", "any_in_tenant": false', "either"),
    (b'"tenant": "t", "any_in_tenant": 1', "either"),
    (b'"tenant": null, "any_in_tenant": true', "tenant: expected a str"),
    (b'"tenant": "", "any_in_tenant": true', "tenant"),
]


def test_broken_lines_are_reported_with_their_number(shell: Shell) -> None:
    good = [
        b'\xef\xbb\xbf{"source": "first", "text": "one"}\r',
        b"",
        b' {"source": "last", "text": "two", "vectors": null}',
    ]
    lines = shell.lines(good[0], good[1], *(line for line, _ in LINES), good[2])
    columns = ("--columns", "n=int", "--columns", "day=date")
    report = shell.ingest(lines, *OPEN, *columns, code=3)
    said = reasons(report)
    assert report["stored"] == 2
    missing = {number: said.get(f"line {number}", "") for number in range(3, 3 + len(LINES))}
    assert {n: said for n, said in missing.items() if LINES[n - 3][1] not in said} == {}
    assert len(said) == len(LINES) and max(map(len, said.values())) < 500


def test_lines_with_a_broken_rule_fall_back_to_no_other(shell: Shell) -> None:
    lines = shell.lines(*(b'{"source": "a", "text": "one", %b}' % rule for rule, _ in RULES))
    report = shell.ingest(lines, "--tenant", "acme", "--any-in-tenant", code=3)
    assert report["stored"] == 0
    said = list(reasons(report).values())
    assert [(rule, reason) for (rule, part), reason in zip(RULES, said, strict=True) if part not in reason] == []


def test_max_bytes_limits_lines(shell: Shell) -> None:
    line = b'{"source": "%d", "text": "one"}'
    most = len(line) - 1
    lines = shell.lines(line % 1, b'{"source": "2", "text": "' + b"x" * 70_000 + b'"}', line % 3, line % 44, line % 5)
    report = shell.ingest(lines, *OPEN, "--max-bytes", most, code=3)
    assert (report["stored"], sorted(reasons(report))) == (3, ["line 2", "line 4"])
    assert "more than 30 bytes" in reasons(report)["line 2"]
    assert shell.ingest(lines)["stored"] == 2


def test_one_bad_document_costs_no_other(shell: Shell) -> None:
    """In whichever place of a batch, and whether it is refused before or after it is encoded."""
    old = [{"source": f"old{at}", "revision": "1", "text": "one"} for at in range(3)]
    shell.ingest(shell.lines(*old), *OPEN)
    for one in old:
        one["text"] = "two"
    good = [{"source": f"new{at}", "text": f"number {at}"} for at in range(8)]
    mixed = [old[0], *good[:3], {"source": "nul", "text": "\0"}, *good[3:5], old[1], *good[5:], old[2]]
    report = shell.ingest(shell.lines(*mixed), code=3)
    assert (report["stored"], sorted(reasons(report))) == (8, ["line 1", "line 12", "line 5", "line 8"])
    assert report["collection"]["documents"] == 11


@pytest.mark.parametrize("name", ["missing", "paper.pdf", "pipe.txt"])
def test_what_cannot_be_ingested_makes_no_collection(shell: Shell, name: str) -> None:
    (shell.folder / "paper.pdf").write_bytes(b"%PDF")
    os.mkfifo(shell.folder / "pipe.txt")
    assert shell.run("ingest", shell.folder / name, shell.kb, *OPEN, code=1)[1].startswith("evidex: input: ")
    assert not shell.kb.exists()


def test_the_list_of_what_was_left_out_is_bounded(shell: Shell) -> None:
    report = shell.ingest(shell.lines(*[b"?"] * 1001), *OPEN, code=3)
    assert (report["left_out"], len(report["listed"])) == (1001, 1000)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
fields = st.sampled_from(
    ["source", "revision", "text", "chunks", "vectors", "metadata", "tenant", "allow", "any_in_tenant", "deny", "x"]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents=st.lists(st.binary(max_size=20) | st.dictionaries(fields, json_values, max_size=6), max_size=4))
def test_any_lines_are_documents_or_reasons(shell: Shell, documents: list[Any]) -> None:
    path = shell.lines(*documents)
    policy = Policy()
    for one in open_source(str(path), "").read(Reading(policy, None, {"day": "date"}, None, 800, 200)):
        assert isinstance(one, Skipped) or (isinstance(one, Input) and one.document.rule is not None)
    assert stat.S_ISREG(path.stat().st_mode)
