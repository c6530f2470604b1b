# SPDX-License-Identifier: Apache-2.0
"""The command line as a user meets it: output, JSON, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import pytest

from evidex import __version__, _core, handbook
from evidex.cli import main
from evidex.cli._handbook import HandbookIndex
from evidex.cli._output import table
from evidex.encoders import HashingEncoder


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    assert main(arguments) == 0
    captured = capsys.readouterr()
    return captured.out, captured.err


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    out, _ = run(capsys, *arguments, "--json")
    return dict(json.loads(out))


def test_info_tells_what_runs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVIDEX_ISA", raising=False)
    out, _ = run(capsys, "info")
    assert f"evidex {__version__}" in out
    assert f"instruction set: {_core.active_isa()}\n" in out
    assert "gather squared_l2" in out
    facts = run_json(capsys, "info")
    assert facts["threads"] == _core.default_threads()
    assert [isa["name"] for isa in facts["isas"]][-1] == "scalar"
    assert all(kind in ("native", "generic") for isa in facts["isas"] for kind in isa["slots"].values())
    assert sum(isa["active"] for isa in facts["isas"]) == 1
    assert {isa["self_test"] for isa in facts["isas"] if isa["supported"]} == {"passed"}
    monkeypatch.setenv("EVIDEX_ISA", _core.active_isa())
    out, _ = run(capsys, "info")
    assert "(forced by EVIDEX_ISA)" in out


def test_demo_shows_every_outcome(capsys: pytest.CaptureFixture[str]) -> None:  # cases H14, H16
    out, err = run(capsys, "demo", "--encoder", "hashing")
    assert err.count("[5/5]") == 1
    assert out.count("abstains: below_threshold") == 2
    assert "same ids" in out
    assert "yes" in out
    assert "which is not proof" in out


def test_demo_json_is_whole_and_permitted(capsys: pytest.CaptureFixture[str]) -> None:  # cases H11, H14, H16
    """Every packet holds only its caller's evidence, within budget, at exact spans."""
    report = run_json(capsys, "demo", "--encoder", "hashing")
    documents = {(d.tenant, d.source, d.revision): d for d in handbook.documents()}
    assert report["legs"] == ["hashing"]
    assert len(report["questions"]) == 6
    for asked in report["questions"]:
        caller = asked["caller"]
        for item in asked["evidence"]:
            chunk = item["chunk"]
            document = documents[chunk["tenant"], chunk["source"], chunk["revision"]]
            assert document.text[chunk["start"] : chunk["end"]] == chunk["text"]
            assert document.tenant == caller["tenant"]
            assert not document.deny & set(caller["groups"])
            assert document.allow is None or document.allow & set(caller["groups"])
        if asked["reason"]:
            assert asked["reply"] == {"answer": "", "citations": []}
            assert asked["evidence"] == []
    by_id = {asked["id"]: asked for asked in report["questions"]}
    assert by_id["q20"]["question"] == by_id["q21"]["question"]
    assert by_id["q20"]["reply"]["citations"] != by_id["q21"]["reply"]["citations"]
    assert by_id["q30"]["reason"] == "below_threshold"
    assert report["exact_search"]["same_ids"] is True
    held_out = report["held_out"]
    assert (held_out["retrieval"]["questions"], held_out["answerable"], held_out["unanswerable"]) == (20, 15, 5)


@pytest.mark.skipif(find_spec("wordllama") is None, reason="the extra 'demo' is not installed")
def test_demo_takes_the_optional_encoder_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_json(capsys, "demo")["legs"] == ["hashing", "wordllama"]
    report = run_json(capsys, "demo", "--encoder", "wordllama")
    assert report["legs"] == ["wordllama"]
    assert report["floor"]["floor"]["leg"] == "wordllama"


def test_demo_works_without_extras(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert run_json(capsys, "demo")["legs"] == ["hashing"]
    assert main(["demo", "--encoder", "wordllama"]) == 1
    assert "pip install evidex[demo]" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["demo", "--encoder", "bert"], ["info", "--loud"]])
def test_wrong_usage_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "usage: evidex" in capsys.readouterr().err


def test_evidex_errors_exit_with_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("evidex.cli.info._core.isas", lambda: _core._testing.raise_error("InvalidInput"))
    assert main(["info"]) == 1
    assert capsys.readouterr().err == "evidex: raised on purpose\n"


def test_a_reader_that_leaves_is_no_traceback() -> None:
    program = "import sys; from evidex.cli import main; sys.exit(main(['info']))"
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.close()
    _, errors = child.communicate(timeout=60)
    assert (child.returncode, errors) == (1, b"")


def test_the_module_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "evidex.cli", "--version"], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == f"evidex {__version__}\n"


def test_tables_line_up() -> None:
    assert table(["a", "bb"], [["long", 1], ["x", 22]]) == "a     bb\n----  --\nlong   1\nx     22"


def test_no_caller_of_the_handbook_gets_what_is_hidden_from_it() -> None:  # cases A12, A17, H14
    """P1 on real text: the passages hidden from a caller never come back, however deep it looks."""
    world = HandbookIndex([HashingEncoder(256)])
    checked = 0
    for question in handbook.questions():
        hidden = world.holding(question.hidden)
        found = {item.chunk.id for item in world.search(question.text, question.caller, 1000)}
        assert not hidden & found
        checked += bool(hidden)
    assert checked == 6
