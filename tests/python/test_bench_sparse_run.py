# SPDX-License-Identifier: Apache-2.0
"""``evidex bench sparse`` from the command line to records: turns, callers, failures, what is checked."""

from __future__ import annotations

import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields, replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_texts import files
from evidex import __version__
from evidex.bench import groups, records, results
from evidex.bench.sparse import folders, texts, turns
from evidex.cli import main

OWN = """
import os, time
import numpy as np
from evidex.bench.sparse.peer import SparsePeer
from evidex.bench.sparse.reference import Reference, ranked

class Right(SparsePeer):
    name = "right one"

    def __init__(self, threads, form, **build):
        super().__init__(threads, form, **build)
        self.options = {"told": [threads, form]}

    def build(self, documents):
        self.reference = Reference(self.all_of(one) for one in documents)

    def all_of(self, given):
        return self.terms(given) if self.form == "text" else given

    def search(self, queries, k):
        ids = np.full((len(queries), k), -1)
        for row, query in zip(ids, queries):
            best = ranked(self.reference.scores(self.all_of(query), self.reference.statistics()), k)
            row[: len(best)] = best
        return ids

    def terms(self, text):
        return {word: 4 * text.split().count(word) for word in text.split()}

    def index_bytes(self):
        return 3 * self.reference.entries

    def version(self):
        return "7"

class A(Right):
    def search(self, queries, k):
        with open("turns.log", "a") as file:
            file.write(f" {type(self).__name__}{len(queries)}")
        return super().search(queries, k)

class B(A):
    pass

class Wrong(Right):
    def search(self, queries, k):
        ids = super().search(queries, k)
        ids[:, 0] = 10**6
        return ids

class Crash(Right):
    def search(self, queries, k):
        os._exit(3)

class NoText(Right):
    def __init__(self, threads, form, **build):
        super().__init__(threads, form, **build)
        if form == "text":
            raise NotImplementedError("no analysis today")

class NoTerms(Right):
    def terms(self, text):
        raise RuntimeError("I will not say")
"""
KINDS = ("Right", "Wrong", "Crash", "NoText", "NoTerms", "Absent")


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One run with all of them, both forms, two lengths and batch sizes, and principals."""
    folder = tmp_path_factory.mktemp("sparse")
    (folder / "own_sparse.py").write_text(OWN, encoding="utf-8")
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(folder)
        code = main(
            [
                *("bench", "sparse", *files(folder), "--out", "records.jsonl"),
                *"-k 5 --rounds 2 --batch 1,4 --words 2,all --selectivity 0.5 --scope permitted".split(),
                *("--peers", ",".join(f"own_sparse:{kind}" for kind in KINDS)),
            ]
        )
    path = folder / "records.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {"code": code, "out": out.getvalue(), "err": err.getvalue(), "records": lines, "path": path}


def of(run: dict[str, Any], given: str, **sparse: Any) -> list[dict[str, Any]]:
    return [
        record
        for record in run["records"]
        if record["system"]["given"] == given and all(record["sparse"][name] == one for name, one in sparse.items())
    ]


def test_evidex_is_right_from_text_and_from_tokens_for_everybody(company: dict[str, Any]) -> None:
    """Seen red: with answers judged as the next caller's, and by the statistics of all rows under a principal."""
    for given, count in (("evidex", 8), ("evidex-warm", 16), ("evidex-cold", 8)):
        found = of(company, given)
        assert len(found) == count
        for record in found:
            assert (record["status"], record["benchmark"], record["setting"]["metric"]) == ("ok", "sparse", "bm25")
            answers = record["answers"]
            assert (answers["recall"], answers["forbidden"], answers["beyond_rounding"]) == (1.0, 0, 0)
            assert record["sparse"]["agreement"] == 1.0
            assert record["system"]["version"] == __version__


def test_principals_read_their_share(company: dict[str, Any]) -> None:
    for given, caller, masks in (("evidex-warm", "same", {"random", "run"}), ("evidex-cold", "new", {"random"})):
        found = of(company, given, caller=caller)
        assert {record["setting"]["mask"] for record in found} == masks
        for record in found:
            assert (record["setting"]["selectivity"], record["setting"]["permitted"]) == (0.5, 100)
            assert record["sparse"]["scope"] == "permitted"
            assert record["system"]["options"] == {"rules": 20, "of one principal": 10}
            assert record["ratio"]["base"] == "evidex"
    for record in of(company, "evidex"):
        assert record["sparse"]["caller"] is record["sparse"]["scope"] is record["setting"]["mask"] is None
        assert record["ratio"] is None


def test_a_record_is_complete(company: dict[str, Any]) -> None:
    right = of(company, "own_sparse:Right", form="tokens", words=2)[1]
    assert list(right) == [field.name for field in fields(records.Record)]
    assert [name for name, value in right.items() if value is None] == ["reason", "sweep"]
    assert list(right["sparse"]) == [field.name for field in fields(records.Sparse)]
    assert right["system"] == {
        **{"given": "own_sparse:Right", "name": "right one"},
        **{"version": "7", "options": {"told": [1, "tokens"]}},
    }
    setting = right["setting"]
    assert (setting["batch"], setting["calls"], setting["rounds"], setting["k"]) == (4, 4, 2, 5)
    assert (right["data"]["source"], right["data"]["rows"], right["data"]["queries"]) == ("corpus", 200, 12)
    assert right["data"]["name"].endswith("/corpus.jsonl") and right["data"]["dim"] > 100
    sparse = right["sparse"]
    assert sparse["index_bytes"] == 3 * sparse["postings"]
    assert sparse["bytes_per_posting"] == 3.0
    assert sparse["documents_per_s"] == pytest.approx(200 / right["build"]["seconds"])
    assert 200 < sparse["postings"] < 200 * 31
    assert right["answers"]["checked"] == 16
    text = of(company, "own_sparse:Right", form="text", words=2)[1]
    assert text["sparse"]["agreement"] == sparse["agreement"] == 1.0


def test_one_failure_stops_nobody_else(company: dict[str, Any]) -> None:
    assert company["code"] == 1
    assert "bench: own_sparse:Crash, own_sparse:NoTerms, own_sparse:Absent failed" in company["err"]
    for record in of(company, "own_sparse:Crash"):
        assert (record["status"], record["latency"], record["sparse"]["agreement"]) == ("failed", None, None)
        assert "ended with code 3 at 'search'" in record["reason"]
        assert record["build"]["seconds"] > 0
    for record in of(company, "own_sparse:NoText"):
        left = record["sparse"]["form"] == "text"
        assert record["status"] == ("left_out" if left else "ok")
        assert record["reason"] == ("no analysis today" if left else None)
        assert (record["sparse"]["postings"] is None) == left
    assert {record["status"] for record in of(company, "own_sparse:NoTerms", form="text")} == {"failed"}
    assert {record["status"] for record in of(company, "own_sparse:NoTerms", form="tokens")} == {"ok"}
    assert "has no attribute 'Absent' (at 'load')" in of(company, "own_sparse:Absent")[0]["reason"]


def test_wrong_answers_are_counted(company: dict[str, Any]) -> None:
    for record in of(company, "own_sparse:Wrong"):
        answers = record["answers"]
        assert answers["forbidden"] == answers["beyond_rounding"] == answers["checked"]
        assert record["sparse"]["agreement"] == answers["ids_equal_share"] == 0.0


def test_the_text_has_a_table_per_form_length_and_batch(company: dict[str, Any]) -> None:
    out, err = company["out"], company["err"]
    assert out.count("evidex/this") == 8
    assert "\nfrom text, the first 2 words: bm25, k=5, batch 1, 12 calls in 2 rounds, seed 0\n" in out
    assert "\nfrom tokens, all words: bm25, k=5, batch 4, 4 calls in 2 rounds, seed 0\n" in out
    for line in (f"evidex {__version__} ", f"evidex-cold {__version__}, random 0.5", "own_sparse:Right 7 "):
        assert out.count(f"\n{line}") >= 8
    assert out.count(f"\nevidex-warm {__version__}, run 0.5") == 8
    assert "own_sparse:NoText: left out: no analysis today" in out
    assert "[15/15] checking answers from tokens, all words" in err


def test_reports_read_the_records_and_keep_forms_apart(company: dict[str, Any]) -> None:
    """Seen red: with from text and from tokens in one group."""
    read = results.read([company["path"]])
    assert read.broken == 0
    found = groups.group(groups.latest(read.records)[0])
    assert len(found) == 8
    for group in found:
        ours = [one for one in group.records if one.system.given.startswith("evidex")]
        assert [scope.mask for scope in group.scopes] == [None, "random", "run"]
        assert len(ours) == 4


def test_turns_begin_with_somebody_else_in_each_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen red: with the same beginning in every round."""
    (tmp_path / "own_sparse.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    corpus, questions = map(Path, files(tmp_path)[1::2])
    data = texts.from_files(corpus, questions, None, 6, 0)
    plan = turns.Plan("sparse", "bm25", ["own_sparse:A", "own_sparse:B"], rounds=3, probe_bytes=2**20)
    found = list(turns.run(data, replace(plan, forms=["tokens"], words=[None], batches=[1, 2])))
    names = ["evidex", "own_sparse:A", "own_sparse:B"]
    assert [(one.system.given, one.setting.batch) for one in found] == [(name, n) for n in (1, 2) for name in names]
    # In each of three rounds one call that does not count, then two queries, in calls of one and of two. evidex, whose
    # turns are not in the log, comes first, last, and between B and A.
    log = (tmp_path / "turns.log").read_text(encoding="utf-8").split()
    singles, pairs = ["A1"] * 3 + ["B1"] * 3, ["A2"] * 2 + ["B2"] * 2
    last = ["B1"] * 3 + ["A1"] * 3, ["B2"] * 2 + ["A2"] * 2
    assert log == [*singles, *singles, *last[0], *pairs, *pairs, *last[1]]


def test_new_callers_never_call_again(tmp_path: Path) -> None:
    """Seen red: with every turn beginning at the first of them."""

    class Fake:
        """A child that answers nothing to everything."""

        def __init__(self) -> None:
            self.callers: list[list[int]] = []

        def ask(self, do: str, **fields: Any) -> dict[str, Any]:
            if do == "tune":
                self.callers.append(fields["search"]["callers"])
                return {}
            np.save(fields["out"], np.full((4, 10), -1))
            return {"resident": None, "seconds": [1.0] * (4 // fields["batch"])}

    child, made = Fake(), folders.make("random", 0.5, 100, 0)
    parameters = {"mask": "random", "share": 0.5, "seed": 0}
    system = turns._System("evidex-guarded", parameters, child, folders=made)  # type: ignore[arg-type]
    plan = turns.Plan("sparse", "bm25", [], rounds=3)
    for batch in (1, 2):
        points = turns._turns([system], ["a"] * 12, plan, batch, tmp_path)
        warm, cold = points if points[0].caller == "same" else points[::-1]
        assert {caller for turn in warm.asked for caller in turn.callers.tolist()} == {0}
        asked = [caller for turn in cold.asked for caller in turn.callers[::batch].tolist()]
        assert len(set(asked)) == len(asked) == 12 // batch
    new = [caller for call in child.callers for caller in call if call[0] != 0]
    assert len(set(new)) == len(new) == 3 * (5 + 3)
