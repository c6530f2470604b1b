# SPDX-License-Identifier: Apache-2.0
"""``evidex ingest``: each option acts, what is there is passed over, who may read is said."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from cli_runs import ALICE, MALLORY, SUPPORT, Shell
from evidex import UNRESTRICTED, Collection, Policy

OPEN = ("--open",)


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, capsys)


def counts(report: dict[str, Any]) -> tuple[int, int, int, int]:
    return report["stored"], report["restored"], report["unchanged"], report["left_out"]


def test_a_folder_with_all_below_it(shell: Shell) -> None:
    shell.write(refund="Refunds take 14 days.", a__b__pumps="Pumps.")
    for name in ("x.md", "y.MARKDOWN", "z.rst", ".hidden.txt", ".git/config.txt"):
        (shell.docs / name).parent.mkdir(exist_ok=True)
        (shell.docs / name).write_text(f"text of {name}")
    out, err = shell.run("ingest", shell.docs, shell.kb, *OPEN)
    assert out.startswith("5 documents stored (5 chunks), 0 unchanged, 0 left out\n")
    assert f"{shell.kb}: 5 documents, 5 chunks, generation 1, " in out
    assert err == "[5/5] 5 documents stored, 0 there\n"
    assert sorted(shell.search("text")) == ["a/b/pumps.txt", "refund.txt", "x.md", "y.MARKDOWN", "z.rst"]


def test_one_file_is_named_after_itself(shell: Shell) -> None:
    shell.write(a__refund="Refunds.")
    report = shell.ingest(shell.docs / "a" / "refund.txt", *OPEN)
    assert counts(report) == (1, 0, 0, 0)
    assert shell.search("refunds") == ["refund.txt"]
    assert report["collection"]["bytes"] == shell.json("info", shell.kb)["bytes"]


def test_what_is_there_is_passed_over_and_what_changed_is_revised(shell: Shell) -> None:
    shell.ingest(shell.write(a="one", b="two"), *OPEN)
    assert counts(shell.ingest(shell.docs)) == (0, 0, 2, 0)
    shell.write(b="three", c="four")
    assert counts(shell.ingest(shell.docs)) == (2, 0, 1, 0)
    assert sorted(shell.search("one")) == ["a.txt", "b.txt", "c.txt"]
    shell.write(b="two")  # as it was at first: that revision is retained, and comes back
    assert counts(shell.ingest(shell.docs)) == (0, 1, 2, 0)
    assert counts(shell.ingest(shell.docs)) == (0, 0, 3, 0)
    assert "1 restored" in shell.run("ingest", shell.write(b="three"), shell.kb)[0]
    facts = shell.json("info", shell.kb)
    assert (facts["documents"], facts["revisions"]) == (3, 4)


def test_what_comes_back_comes_back_under_the_rule_of_now(shell: Shell) -> None:
    shell.ingest(shell.write(a="one"), *SUPPORT)
    shell.ingest(shell.write(a="two"), *SUPPORT)
    assert counts(shell.ingest(shell.write(a="one"), "--tenant", "acme", "--allow", "interns")) == (0, 1, 0, 0)
    assert (shell.search("one", *ALICE), shell.search("one", *MALLORY)) == ([], ["a.txt"])


def test_an_interrupted_ingest_goes_on(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.write(**{f"n{at}": f"number {at}" for at in range(6)})
    put, calls = Collection.put_documents, []

    def interrupted(self: Collection, documents: Any, **options: Any) -> Any:
        calls.append(len(documents))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return put(self, documents, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Collection, "put_documents", interrupted)
        out, err = shell.run("ingest", shell.docs, shell.kb, *OPEN, "--batch", 2, code=130)
    assert out == "" and err.endswith("[4/6] 4 documents stored, 0 there\nevidex: interrupted\n") and calls == [2, 2, 2]
    report = shell.ingest(shell.docs, "--batch", 2)
    assert (counts(report), report["chunks"]) == ((2, 0, 4, 0), 2)


def test_batch_is_what_is_made_durable_at_a_time(shell: Shell) -> None:
    shell.write(a="one", b="two", c="three")
    shell.ingest(shell.docs, *OPEN, "--batch", 1)
    assert shell.json("info", shell.kb)["generation"] == 3
    other = Shell(shell.folder / "other", shell._capsys)
    other.folder.mkdir()
    assert other.ingest(shell.docs, *OPEN)["collection"]["generation"] == 1


def test_chunk_size_is_part_of_a_revision(shell: Shell) -> None:
    shell.ingest(shell.write(a="One sentence. " * 100), *OPEN)
    (before,) = {hit["revision"] for hit in shell.json("search", shell.kb, "sentence")["hits"]}
    report = shell.ingest(shell.docs, "--chunk-size", 100)
    assert (report["stored"], report["chunks"]) == (1, 15)
    hits = shell.json("search", shell.kb, "sentence")["hits"]
    assert {hit["revision"] for hit in hits} == {f"{before}-100"}
    assert max(len(hit["text"]) for hit in hits) <= 100


def test_revision_names_what_has_no_name(shell: Shell) -> None:
    shell.ingest(shell.write(a="one"), *OPEN, "--revision", "v1")
    assert shell.json("search", shell.kb, "one")["hits"][0]["revision"] == "v1"
    report = shell.ingest(shell.write(a="two"), "--revision", "v1", code=3)
    assert "a revision never changes" in report["listed"][0]["reason"]
    lines = shell.lines({"source": "x", "text": "three", "revision": "own"}, {"source": "y", "text": "three"})
    shell.ingest(lines, "--revision", "v2")
    assert {h["source"]: h["revision"] for h in shell.json("search", shell.kb, "three")["hits"]} == {
        "a.txt": "v1",
        "x": "own",
        "y": "v2",
    }
    shell.ingest(shell.write(a="two"), "--revision", "v2")
    report = shell.ingest(shell.write(a="one"), "--revision", "v1", code=3)  # a name that was given is not brought back
    assert "was retired" in report["listed"][0]["reason"]


@pytest.mark.parametrize(
    ("options", "readers"),
    [
        (["--allow", "support"], "s"),
        (["--allow", "support", "--allow", "interns"], "si"),
        (["--any-in-tenant"], "si"),
        (["--any-in-tenant", "--deny", "support"], "i"),
        (["--any-in-tenant", "--deny", "support", "--deny", "interns"], ""),
    ],
)
def test_rights_of_a_folder(shell: Shell, options: list[str], readers: str) -> None:
    shell.ingest(shell.write(a="one"), "--tenant", "acme", "--allow", "nobody")
    assert counts(shell.ingest(shell.docs, "--tenant", "acme", *options)) == (0, 0, 1, 0)  # the rule alone is changed
    found = {who: shell.search("one", *caller) for who, caller in (("s", ALICE), ("i", MALLORY))}
    assert "".join(who for who in found if found[who]) == readers
    shell.ingest(shell.docs, "--tenant", "z", *options)  # another tenant's document of the same name
    assert len(shell.search("one", "--unrestricted")) == 2


def test_rights_of_lines(shell: Shell) -> None:
    report = shell.ingest(
        shell.lines(
            {"source": "own", "text": "one", "tenant": "acme", "allow": ["support", "x"], "deny": ["y"]},
            {"source": "all", "text": "one", "tenant": "acme", "any_in_tenant": True},
            {"source": "none", "text": "one"},
        ),
        "--guarded",
        code=3,
    )
    assert counts(report) == (2, 0, 0, 1)
    assert report["listed"][0]["input"] == "line 3" and "never implied" in report["listed"][0]["reason"]
    assert sorted(shell.search("one", *ALICE)) == ["all", "own"]
    assert shell.search("one", *ALICE, "--group", "y") == ["all"]
    assert shell.search("one", *MALLORY) == ["all"]
    rest = shell.lines({"source": "none", "text": "one"}, {"source": "z", "text": "one", "tenant": "z", "allow": []})
    shell.ingest(rest, *SUPPORT)  # for those lines that do not say
    assert sorted(shell.search("one", *ALICE)) == ["all", "none", "own"]


def test_who_may_read_is_never_implied(shell: Shell) -> None:
    lines = shell.lines({"source": "a", "text": "one"})
    for source, options in ((shell.write(a="one"), ()), (lines, ()), (shell.docs, ("--guarded",))):
        assert "never implied" in shell.run("ingest", source, shell.kb, *options, code=1)[1]
        assert not shell.kb.exists()
    shell.ingest(shell.docs, *SUPPORT)
    for source, options in ((shell.docs, ()), (shell.docs, ("--open",)), (lines, ("--open",))):
        assert shell.run("ingest", source, shell.kb, *options, code=1)[1].startswith("evidex: ")
    assert shell.ingest(lines, code=3)["stored"] == 0


def test_an_open_collection_keeps_no_rules(shell: Shell) -> None:
    lines = shell.lines({"source": "a", "text": "one", "tenant": "t", "any_in_tenant": True})
    report = shell.ingest(lines, *OPEN, code=3)
    assert "keeps no rules" in report["listed"][0]["reason"]
    for options in (SUPPORT, ("--guarded",)):
        assert "keeps no rules" in shell.run("ingest", lines, shell.kb, *options, code=1)[1]
    with Collection.open(shell.kb, policy=UNRESTRICTED) as kb:
        assert kb.count() == 0


@pytest.mark.parametrize(
    "options",
    [
        (*OPEN, *SUPPORT),
        (*OPEN, "--guarded"),
        ("--allow", "a"),
        ("--any-in-tenant",),
        ("--deny", "a"),
        ("--tenant", "t"),
        ("--tenant", "t", "--deny", "a"),
        ("--tenant", "t", "--allow", "a", "--any-in-tenant"),
        ("--encoder", "bert"),
        ("--chunk-size", "big"),
    ],
)
def test_options_that_contradict_each_other_are_wrong_usage(shell: Shell, options: tuple[str, ...]) -> None:
    assert "usage: evidex ingest" in shell.run("ingest", shell.write(a="one"), shell.kb, *options, code=2)[1]
    assert not shell.kb.exists()


@pytest.mark.parametrize("option", ["--batch", "--chunk-size", "--max-bytes"])
def test_numbers_are_at_least_one(shell: Shell, option: str) -> None:
    _, err = shell.run("ingest", shell.write(a="one"), shell.kb, *OPEN, option, 0, code=1)
    assert err.startswith(f"evidex: {option[2:]}: expected a whole number at least 1")
    assert not shell.kb.exists()


def test_the_encoder_is_the_one_the_collection_was_made_with(shell: Shell) -> None:
    shell.ingest(shell.write(a="one"), *OPEN, "--encoder", "hashing", "--dim", 64)
    assert shell.json("info", shell.kb)["settings"]["encoder"]["dim"] == 64
    shell.write(b="two")
    assert counts(shell.ingest(shell.docs)) == (1, 0, 1, 0)  # as stored
    assert counts(shell.ingest(shell.docs, "--encoder", "hashing")) == (0, 0, 2, 0)
    assert "made with 64, not 32" in shell.run("ingest", shell.docs, shell.kb, "--dim", 32, code=1)[1]
    assert counts(shell.ingest(shell.docs, "--encoder", "none")) == (0, 0, 2, 0)  # nothing to encode
    shell.write(c="three")
    report = shell.ingest(shell.docs, "--encoder", "none", code=3)
    assert "opened without an encoder" in report["listed"][0]["reason"]


@pytest.mark.skipif(find_spec("wordllama") is None, reason="the extra 'demo' is not installed")
def test_an_encoder_with_a_model(shell: Shell) -> None:
    shell.ingest(shell.write(a="Refunds are paid within 14 days.", b="Pumps"), *OPEN, "--encoder", "wordllama")
    assert shell.json("info", shell.kb)["settings"]["encoder"]["name"] == "wordllama"
    assert shell.search("money back")[0] == "a.txt"
    assert "not the one" in shell.run("ingest", shell.docs, shell.kb, "--encoder", "hashing", code=1)[1]


def test_vectors_of_lines(shell: Shell) -> None:
    line = {"source": "a", "revision": "1", "chunks": ["one ", "two"], "vectors": [[1, 0.5], [0, -2]]}
    assert (
        "dim: a new collection needs"
        in shell.run("ingest", shell.lines(line), shell.kb, *OPEN, "--encoder", "none", code=1)[1]
    )
    report = shell.ingest(shell.lines(line), *OPEN, "--encoder", "none", "--dim", 2)
    assert (report["stored"], report["chunks"]) == (1, 2)
    with Collection.open(shell.kb, policy=UNRESTRICTED) as kb:
        ids, _ = kb.search([[0.0, -1.0]], 2)[0]
        assert [chunk.text for chunk in kb._chunks(ids.tolist())] == ["two", "one "]
    assert "no encoder can be asked" in shell.run("search", shell.kb, "one", code=1)[1]
    assert counts(shell.ingest(shell.lines(line))) == (0, 0, 1, 0)
    line["vectors"] = [[1, 0.5], [0, -3.0]]
    assert "other content" in shell.ingest(shell.lines(line), code=3)["listed"][0]["reason"]


def test_columns_are_for_a_new_collection(shell: Shell) -> None:
    shell.ingest(shell.write(a="one"), *OPEN, "--columns", "lang=str", "--columns", "day=date")
    assert shell.json("info", shell.kb)["settings"]["columns"] == {"lang": "str", "day": "date"}
    assert "was made with" in shell.run("ingest", shell.docs, shell.kb, "--columns", "lang=str", code=1)[1]
    same = ("--columns", "lang=str", "--columns", "day=date")
    assert counts(shell.ingest(shell.docs, *same)) == (0, 0, 1, 0)
    for wrong in ("lang", "lang=text", "=str"):
        assert "columns" in shell.run("ingest", shell.docs, shell.folder / "n", *OPEN, "--columns", wrong, code=1)[1]
    twice = ("--columns", "a=str", "--columns", "a=int")
    assert "each NAME once" in shell.run("ingest", shell.docs, shell.folder / "n", *OPEN, *twice, code=1)[1]


def test_a_source_that_comes_twice_ends_as_its_last_revision(shell: Shell) -> None:
    lines = shell.lines(*({"source": "a", "revision": str(at), "text": f"number {at}"} for at in range(3)))
    assert counts(shell.ingest(lines, *OPEN)) == (3, 0, 0, 0)
    (hit,) = shell.json("search", shell.kb, "number")["hits"]
    assert hit["revision"] == "2"
    again = [{"source": "a", "revision": "3", "text": "three"}, {"source": "a", "revision": "2", "text": "other"}]
    assert counts(shell.ingest(shell.lines(*again), code=3)) == (1, 0, 0, 1)


def test_other_files_are_no_place_for_a_collection(shell: Shell) -> None:
    _, err = shell.run("ingest", shell.lines(), shell.write(a="one"), *OPEN, code=1)  # the two the wrong way round
    assert "is no collection and holds other files, such as 'a.txt'" in err
    assert [path.name for path in shell.docs.iterdir()] == ["a.txt"]
    shell.kb.mkdir()
    assert shell.ingest(shell.docs, *OPEN)["stored"] == 1


def test_a_collection_inside_the_folder_is_not_ingested(shell: Shell) -> None:
    shell.write(a="one")
    inside = shell.docs / "kb"
    for options in (OPEN, ()):
        assert shell.json("ingest", shell.docs, inside, *options)["left_out"] == 0


def test_a_guarded_collection_can_be_used_from_python(shell: Shell) -> None:
    """The names of built-in encoders open what the command line made."""
    shell.ingest(shell.write(a="one"), *SUPPORT)
    with Collection.open(shell.kb, "rw", policy=Policy(), encoder="hashing") as kb:
        assert kb.settings.guarded and kb.count(principal=UNRESTRICTED) == 1
