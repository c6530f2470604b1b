# SPDX-License-Identifier: Apache-2.0
"""``evidex search``, ``info STORE``, ``verify`` and ``compact`` as a user meets them."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cli_runs import ALICE, MALLORY, SUPPORT, Shell
from evidex import UNRESTRICTED, Collection, Policy

REFUND = "Refunds are paid within 14 days.\n\nAsk the desk."


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, capsys)


@pytest.fixture
def guarded(shell: Shell) -> Shell:
    """Two documents that group support of acme may read."""
    shell.ingest(shell.write(refund=REFUND, pumps="Pumps are shipped on Mondays."), *SUPPORT)
    return shell


@pytest.fixture
def opened(shell: Shell) -> Shell:
    """Three documents that anybody may read, with metadata of every type."""
    rows: list[dict[str, Any]] = [
        {"lang": "en", "year": 2024, "weight": 0.5, "draft": False, "day": "2024-02-29"},
        {"lang": "de", "year": 2024, "weight": 1.5, "draft": True, "day": "2024-03-01"},
        {"lang": "en", "year": 2023},
    ]
    lines = [{"source": str(at), "text": f"refund number {at}", "metadata": row} for at, row in enumerate(rows)]
    types = ("lang=str", "year=int", "weight=float", "draft=bool", "day=date")
    shell.ingest(shell.lines(*lines), "--open", *(word for one in types for word in ("--columns", one)))
    return shell


def test_search_prints_two_lines_a_hit(guarded: Shell) -> None:
    out, err = guarded.run("search", guarded.kb, "When are refunds paid?", *ALICE)
    first, text, *_ = out.splitlines()
    assert err == ""
    assert first.startswith(" 1. 0.") and "refund.txt@" in first and first.endswith(f"[0, {len(REFUND)})")
    assert text == "    Refunds are paid within 14 days."


def test_search_as_json_has_every_field(guarded: Shell) -> None:
    report = guarded.json("search", guarded.kb, "refunds", "--k", 1, *ALICE)
    (hit,) = report.pop("hits")
    assert report == {
        "store": str(guarded.kb),
        "question": "refunds",
        "k": 1,
        "where": [],
        "count": 1,
        "reason": None,
        "generation": None,
    }
    with Collection.open(guarded.kb, policy=Policy(), encoder="hashing") as kb:
        (found,) = kb.retrieve("refunds", 1, principal=UNRESTRICTED)
    assert hit.pop("rank") == 1
    assert (hit.pop("score"), hit.pop("legs")) == (found.score, dict(found.legs))
    assert hit == {name: getattr(found.chunk, name) for name in hit}
    assert list(hit) == ["id", "tenant", "source", "revision", "start", "end", "text"]


def test_k_limits_and_fewer_is_said(guarded: Shell) -> None:
    assert len(guarded.search("refunds", "-k", 1, *ALICE)) == 1
    report = guarded.json("search", guarded.kb, "refunds", *ALICE)
    assert (report["k"], report["count"], report["reason"]) == (10, 2, "fewer_than_k")


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_who_may_not_read_finds_what_there_is_in_an_empty_collection(
    guarded: Shell, shell: Shell, form: tuple[str, ...]
) -> None:  # P2, cases A12, A17
    """The same bytes, for strangers of every kind, as where nothing is stored."""
    strangers = (
        MALLORY,
        ("--principal", "eve", "--tenant", "acme"),
        ("--principal", "eve", "--tenant", "z", "--group", "support"),
    )
    said = {guarded.run("search", guarded.kb, "refunds", *who, *form) for who in strangers}
    guarded.ingest(guarded.write(more="More refunds."), *SUPPORT)
    said |= {guarded.run("search", guarded.kb, "refunds", *who, *form) for who in strangers}
    guarded.kb.rename(guarded.folder / "full")
    shell.ingest(shell.lines(), "--guarded")
    said |= {shell.run("search", shell.kb, "refunds", *MALLORY, *form)}
    assert len(said) == 1
    assert form or said == {("nothing found\n", "")}


def test_who_asks_is_never_implied(guarded: Shell) -> None:
    out, err = guarded.run("search", guarded.kb, "refunds", code=1)
    assert out == "" and "--principal ID --tenant T --group G" in err
    assert sorted(guarded.search("refunds", "--unrestricted")) == ["pumps.txt", "refund.txt"]
    assert guarded.json("search", guarded.kb, "refunds", "--unrestricted")["generation"] == 1
    for wrong in (ALICE[:2], ALICE[2:], ALICE[4:], (*ALICE, "--unrestricted")):
        assert "usage: evidex search" in guarded.run("search", guarded.kb, "refunds", *wrong, code=2)[1]
    assert (
        "malformed principal" in guarded.run("search", guarded.kb, "q", "--principal", "", "--tenant", "t", code=1)[1]
    )


def test_an_open_collection_takes_nobody(opened: Shell) -> None:
    assert sorted(opened.search("refund")) == ["0", "1", "2"]
    for who in (ALICE, ("--unrestricted",)):
        assert "this collection is open" in opened.run("search", opened.kb, "refund", *who, code=1)[1]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (["lang=en"], ["0", "2"]),
        (["lang=en", "year=2024"], ["0"]),
        (["weight=1.5"], ["1"]),
        (["draft=true"], ["1"]),
        (["draft=false"], ["0"]),
        (["day=2024-03-01"], ["1"]),
        (["lang="], []),
    ],
)
def test_where_narrows(opened: Shell, asked: list[str], found: list[str]) -> None:
    assert sorted(opened.search("refund", *(word for one in asked for word in ("--where", one)))) == found


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("lang", "expected NAME=VALUE"),
        ("colour=red", "no column 'colour'; there are day, draft, lang, weight, year"),
        ("year=soon", "expected a value of type int, got 'soon'"),
        ("draft=1", "expected true or false"),
        ("day=1.3.24", "expected YYYY-MM-DD"),
        ("weight=nan", "NaN"),
    ],
)
def test_a_wrong_where_is_an_error(opened: Shell, asked: str, message: str) -> None:
    assert message in opened.run("search", opened.kb, "refund", "--where", asked, code=1)[1]


@pytest.mark.parametrize("question", ["", "  ", "\ud800"])
def test_a_question_that_asks_nothing_is_an_error(opened: Shell, question: str) -> None:
    assert opened.run("search", opened.kb, question, code=1)[1].startswith("evidex: question: ")


def test_text_cannot_steer_the_terminal(shell: Shell) -> None:
    shell.ingest(shell.lines({"source": "a\x1b[2Jb", "text": "\x9b31m refund \u202e\x07 text"}), "--open")
    out, _ = shell.run("search", shell.kb, "refund")
    assert "a\\x1b[2Jb@" in out and "\\x9b31m refund \\u202e\\x07 text\n" in out
    assert all(character.isprintable() or character == "\n" for character in out)


def test_a_collection_of_another_encoder_is_for_python(shell: Shell) -> None:
    class Mine:
        name = "mine"
        dim = 2

        def encode(self, texts: Sequence[str]) -> Any:
            raise AssertionError

    Collection.open(shell.kb, "rw", policy=UNRESTRICTED, encoder=Mine()).close()
    assert "made with 'mine'" in shell.run("search", shell.kb, "refund", code=1)[1]
    report = shell.ingest(shell.lines({"source": "a", "text": "b"}), code=3)
    assert "opened without an encoder" in report["listed"][0]["reason"]
    assert shell.ingest(shell.lines({"source": "a", "text": "b", "vectors": [[1, 2]]}))["stored"] == 1
    assert "encoder: mine" in shell.run("info", shell.kb)[0]


def test_info_tells_what_a_collection_is(opened: Shell) -> None:
    opened.ingest(opened.lines({"source": "0", "text": "another refund"}))
    out, _ = opened.run("info", opened.kb)
    assert f"collection {opened.kb}, generation 2, " in out
    assert "who may read: anybody (open)\nvectors: 256 x float32, cosine\nencoder: hashing\n" in out
    assert "columns: lang (str), year (int), weight (float), draft (bool), day (date)\n" in out
    facts = opened.json("info", opened.kb)
    assert [facts[name] for name in ("documents", "chunks", "revisions", "segments", "generation")] == [3, 3, 4, 2, 2]
    assert facts["bytes"] == sum(path.stat().st_size for path in opened.kb.rglob("*") if path.is_file())
    assert (facts["settings"]["encoder"]["name"], facts["settings"]["guarded"]) == ("hashing", False)


def test_info_of_a_guarded_collection(guarded: Shell) -> None:
    assert "who may read: by rules, 1\n" in guarded.run("info", guarded.kb)[0]
    facts = guarded.json("info", guarded.kb)
    assert (facts["rules"], facts["settings"]["guarded"]) == (1, True)


def test_verify(guarded: Shell) -> None:
    out, err = guarded.run("verify", guarded.kb)
    assert out.endswith("bytes\nok\n") and "2 documents, 2 chunks, generation 1" in out
    assert err == "[1/1] segments read\n"
    report = guarded.json("verify", guarded.kb)
    assert (report["ok"], report["problem"], report["documents"]) == (True, None, 2)
    (vectors,) = guarded.kb.rglob("vectors.npy")
    content = bytearray(vectors.read_bytes())
    content[-1] ^= 1
    os.chmod(vectors, 0o600)
    vectors.write_bytes(content)
    out, err = guarded.run("verify", guarded.kb, code=1)
    assert out == "not ok\n" and "vectors.npy" in err
    report = guarded.json("verify", guarded.kb, code=1)
    assert (report["ok"], "vectors.npy" in report["problem"]) == (False, True)


def test_compact_gives_space_back(guarded: Shell) -> None:
    guarded.ingest(guarded.write(refund="No refunds. " * 20_000), *SUPPORT)
    guarded.ingest(guarded.write(refund=REFUND + " Thanks."), *SUPPORT)
    before = guarded.json("info", guarded.kb)
    out, err = guarded.run("compact", guarded.kb)
    assert "2 retired revisions dropped, " in out and err == "[2/2] chunks laid in order\n"
    after = guarded.json("info", guarded.kb)
    assert (before["revisions"], after["revisions"], after["documents"], after["segments"]) == (4, 2, 2, 1)
    assert after["bytes"] < before["bytes"] / 2
    report = guarded.json("compact", guarded.kb)
    assert report["revisions_dropped"] == 0
    assert report["bytes"] == guarded.json("info", guarded.kb)["bytes"]
    assert abs(report["bytes_before"] - after["bytes"]) < 100
    assert sorted(guarded.search("refund", *ALICE)) == ["pumps.txt", "refund.txt"]


@pytest.mark.parametrize("command", [("info",), ("verify",), ("compact",), ("search", "refund")])
def test_what_is_no_collection_is_an_error_and_left_alone(shell: Shell, command: tuple[str, ...]) -> None:
    name, *rest = command
    _, err = shell.run(name, shell.kb, *rest, code=1)
    assert err.startswith("evidex: path: nothing is at ") and not shell.kb.exists()
    shell.kb.mkdir()
    assert "no catalog.sqlite" in shell.run(name, shell.kb, *rest, code=1)[1] and not any(shell.kb.iterdir())
    (shell.kb / "catalog.sqlite").write_bytes(b"SQLite? No. " * 100)
    assert "catalog.sqlite" in shell.run(name, shell.kb, *rest, code=1)[1]
    assert shell.run(name, __file__, *rest, code=1)[1].count("is no folder") == 1


def test_compact_waits_for_no_other_writer(guarded: Shell) -> None:
    with Collection.open(guarded.kb, "rw", policy=Policy()):
        assert "is being written by process" in guarded.run("compact", guarded.kb, code=1)[1]
        assert "is being written by" in guarded.run("ingest", guarded.docs, guarded.kb, *SUPPORT, code=1)[1]
        assert guarded.run("verify", guarded.kb)[0].endswith("ok\n")


@pytest.mark.parametrize("command", ["ingest", "search", "info", "verify", "compact"])
def test_help_says_what_exit_codes_mean(shell: Shell, command: str) -> None:
    out, _ = shell.run(command, "--help")
    assert "Exit codes: 0 done, 1 an evidex error" in out and "3 done, but inputs were left" in out
    assert "usage: evidex" in shell.run(command, "--js", code=2)[1]  # no option is guessed from its beginning


def test_as_a_program(guarded: Shell) -> None:
    """Other commands are not imported, whatever is printed in whichever encoding."""
    program = "import sys; from evidex.cli import main; code = main(); print(*sys.modules); sys.exit(code)"
    words = ("search", str(guarded.kb), "refunds", *ALICE)
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, timeout=60, check=True
    )
    assert "refund.txt" in done.stdout
    assert not {"evidex.bench", "evidex.handbook", "evidex.cli.ingest"} & set(done.stdout.split())
    guarded.ingest(guarded.write(umlaut="Rückzahlung"), *SUPPORT)
    for form in ((), ("--json",)):
        done = subprocess.run(
            [sys.executable, "-m", "evidex", "search", str(guarded.kb), "rückzahlung", *ALICE, *form],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert ("R\\xfcckzahlung" if not form else "R\\u00fcckzahlung") in done.stdout
    assert json.loads(done.stdout)["hits"][0]["text"] == "Rückzahlung"


def test_the_example_of_the_readme(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:  # case E3
    readme = Path(__file__).resolve().parents[2] / "README.md"
    (block,) = re.findall(r"```sh\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(shell.folder)
    said = {}
    for line in block.splitlines():
        program, *words = shlex.split(line, comments=True)
        if program == "evidex":
            said[line] = shell.run(*words)[0]
            assert "  # " not in line or said[line] == line.split("  # ")[1] + "\n"
        else:
            subprocess.run(["sh", "-c", line], check=True, timeout=60)
    assert [*said.values()][1].startswith(" 1. 0.") and len(said) == 6
