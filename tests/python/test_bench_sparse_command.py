# SPDX-License-Identifier: Apache-2.0
"""``evidex bench sparse`` as a command: what it reads, what it is told by default, what it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench_texts import files
from evidex import InvalidInput
from evidex.bench import records, sparse
from evidex.bench.sparse import texts, turns
from evidex.cli import main


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[texts.Corpus, turns.Plan]]:
    """What a run was told; nothing runs."""
    told: list[tuple[texts.Corpus, turns.Plan]] = []

    def run(data: texts.Corpus, plan: turns.Plan, progress: Any) -> Iterator[records.Record]:
        told.append((data, plan))
        return iter([])

    monkeypatch.setattr(turns, "run", run)
    return told


def test_the_defaults_and_what_options_change(
    tmp_path: Path, seen: list[tuple[texts.Corpus, turns.Plan]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sparse, "installed", lambda: ["tantivy"])
    arguments = ["bench", "sparse", *files(tmp_path), "--json"]
    assert main(arguments) == 0
    assert main([*arguments, *"--peers bm25s --form tokens --words all,7 --batch 8 --selectivity 0.5,0.1".split()]) == 0
    assert main([*arguments, *"--selectivity 0.5 --scope tenant -k 3 --rounds 4 --seed 5 --threads 2".split()]) == 0
    plans = [plan for _, plan in seen]
    assert [list(plan.peers) for plan in plans] == [["tantivy"], ["bm25s-numpy", "bm25s-numba"], ["tantivy"]]
    assert [list(plan.forms) for plan in plans[:2]] == [["text", "tokens"], ["tokens"]]
    assert [list(plan.words) for plan in plans[:2]] == [[4, None], [None, 7]]
    assert [list(plan.batches) for plan in plans[:2]] == [[1, 100], [8]]
    assert [list(plan.shares) for plan in plans] == [[], [0.5, 0.1], [0.5]]
    assert [plan.scope for plan in plans] == ["permitted", "permitted", "tenant"]
    assert (plans[0].k, plans[0].rounds, plans[0].seed, plans[0].threads) == (10, 10, 0, 1)
    assert (plans[2].k, plans[2].rounds, plans[2].seed, plans[2].threads) == (3, 4, 5, 2)


def test_titles_come_before_texts_and_queries_are_cut(tmp_path: Path) -> None:
    corpus, questions = tmp_path / "c.jsonl", tmp_path / "q.jsonl"
    corpus.write_text(
        '{"_id": 1, "title": "A Cat", "text": "sat"}\n\n{"text": "on  mats", "title": ""}\n', encoding="utf-8"
    )
    questions.write_text('{"text": "which  cats\\tsit on\\nmats"}\n', encoding="utf-8")
    data = texts.from_files(corpus, questions, None, None, 0)
    assert data.documents == ("A Cat sat", "on  mats")
    assert data.document_terms == ({"cat": 4, "sat": 4}, {"mat": 4})
    assert data.asked(3) == (("which cats sit",), ({"cat": 4, "sit": 4},))
    assert data.asked(None)[0] == ("which  cats\tsit on\nmats",)
    assert (data.facts.dim, data.facts.rows, data.facts.queries, data.facts.seed) == (3, 2, 1, None)


def test_queries_are_shuffled_by_the_seed_and_digests_tell_texts(tmp_path: Path) -> None:
    corpus, questions = (Path(path) for path in files(tmp_path)[1::2])
    one, same, other = (texts.from_files(corpus, questions, 150, 10, seed) for seed in (0, 0, 1))
    assert one == same
    assert set(one.queries) != set(other.queries) or one.queries != other.queries
    assert one.facts.digest != other.facts.digest
    assert (len(one.documents), len(one.queries)) == (150, 10)
    every = texts.from_files(corpus, questions, None, None, 0)
    assert sorted(every.queries) == sorted(texts.documents(questions, "questions"))
    assert every.facts.digest != one.facts.digest


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "is no file of JSON lines"),
        ("[1]", ":2 is no JSON object"),
        ('{"id": "1"}', ":2 has no text; expected an object with text"),
        ('{"text": 7}', ":2 has no text"),
        ('{"text": "a", "title": ["b"]}', ":2 has no text"),
        ('{"text": "\\ud800"}', ":2 has a text without a form in UTF-8"),
    ],
)
def test_broken_files_are_refused_by_file_and_line(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(f'{{"text": "a"}}\n{line}\n', encoding="utf-8")
    with pytest.raises(InvalidInput, match=f"^corpus: {path}"):
        texts.documents(path, "corpus")
    with pytest.raises(InvalidInput, match=message):
        texts.documents(path, "corpus")


def test_absent_empty_and_binary_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="questions: .* cannot be read: No such file"):
        texts.documents(tmp_path / "none", "questions")
    (tmp_path / "empty").write_text("\n \n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="has no line"):
        texts.documents(tmp_path / "empty", "corpus")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="is no file of JSON lines"):
        texts.documents(tmp_path / "binary", "corpus")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--peers", "lucene"], "tantivy, rank-bm25, bm25s or module:Class, got 'lucene'"),
        (["--peers", "tantivy,tantivy"], "distinct names"),
        (["--peers", "bm25s,bm25s-numba"], "distinct names"),
        (["--peers", "evidex"], "peers: expected one of"),
        (["-k", "0"], "k: expected a whole number"),
        (["--batch", "4,0"], "batch: expected"),
        (["--words", "0,all"], "words: expected"),
        (["--threads", "0"], "threads: expected"),
        (["--rounds", "0"], "rounds: expected"),
        (["--seed", "-1"], "seed: expected"),
        (["--timeout", "0"], "timeout: expected"),
        (["--rows", "201"], "rows: expected a number from 1 to 200"),
        (["--queries", "13"], "queries: expected a number from 1 to 12"),
        (["--queries", "0"], "queries: expected"),
        (["--selectivity", "0.5,0"], "selectivity: expected shares above 0 and at most 1, got 0.0"),
        (["--selectivity", "0.01"], "selectivity: 0.01 makes 1000 folders"),
        (["--scope", "tenant"], "scope: there is no principal whose statistics it could be"),
        (["--out", "no/such/folder/a.jsonl"], "cannot be written"),
        (["--corpus", "absent.jsonl"], "corpus: absent.jsonl cannot be read"),
    ],
)
def test_wrong_values_exit_with_1_before_anything_runs(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "Child", None)
    assert main(["bench", "sparse", *files(tmp_path), *arguments]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--form", "words"],
        ["--words", "some"],
        ["--batch", "1.5"],
        ["--selectivity", "half"],
        ["--scope", "all"],
        ["--metric", "cosine"],
        None,
    ],
)
def test_wrong_usage_exits_with_2(
    arguments: list[str] | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["bench", "sparse", *([] if arguments is None else [*files(tmp_path), *arguments])])
    assert stopped.value.code == 2
    assert "usage: evidex" in capsys.readouterr().err


def test_json_is_one_object_on_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["bench", "sparse", *files(tmp_path), *"--peers= --form text --words all --batch 1 --json".split()])
    out, err = capsys.readouterr()
    assert code == 0, err
    (record,) = json.loads(out)["records"]
    assert (record["system"]["given"], record["status"], record["answers"]["recall"]) == ("evidex", "ok", 1.0)
