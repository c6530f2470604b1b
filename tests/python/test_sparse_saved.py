# SPDX-License-Identifier: Apache-2.0
"""SparseIndex.save and load: what comes back is what was there, or a typed error (cases B22, D8, F10)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from audit_logs import objects_of
from evidex import (
    ANY_IN_TENANT,
    UNRESTRICTED,
    AccessError,
    AllowMask,
    Collection,
    Columns,
    CorruptFile,
    DenseIndex,
    InvalidInput,
    MissingStore,
    Policy,
    RetrievalLog,
    SparseIndex,
    StaleMask,
    VersionMismatch,
    where,
)
from evidex.store import saved as saved_module
from evidex.text import Analyzer
from hostile_postings import NO_VECTOR_OF_A_ROW, NO_WORDS_OF_A_ROW, crafted, with_analyzer, with_digests
from sparse_examples import ALICE, bits, index_of, matrix

QUERIES = ["pump", "valve manual", "w7 pump w3", "absent"]


def filled(rows: int = 300, **options: Any) -> SparseIndex:
    """Guarded, with columns, groups, removed rows, several parts and rules that were changed."""
    rng = np.random.default_rng(5)
    policy = Policy()
    rules = [policy.rule("acme", {"support"}), policy.rule("acme", ANY_IN_TENANT), policy.rule("zenith", {"x"})]
    index = SparseIndex(policy=policy, columns=Columns({"n": int}), **options)
    for start in range(0, rows, 100):
        texts = [f"pump w{rng.integers(9)} {'valve ' * rng.integers(3)} manual{i}" for i in range(100)]
        of = rng.integers(0, 3, 100)
        metadata = {"n": [None if i % 7 == 0 else i for i in range(100)]}
        groups = start + np.arange(100) + 10_000
        index.add(None, texts, [rules[i] for i in of], groups, metadata=metadata)
    index.remove(np.arange(0, rows, 11))
    policy.change(rules[2], {"y"})
    index.set_rule([10_002], rules[1])
    return index


def same(one: SparseIndex, other: SparseIndex) -> None:
    """Every answer, bit for bit."""
    for who in (ALICE, UNRESTRICTED):
        for options in ({}, {"ranking": "tfidf"}, {"scope": "collection"}, {"where": where("n") > 50}):
            mine, its = (index.search(QUERIES, 30, principal=who, **options) for index in (one, other))
            assert bits(mine) == bits(its)
        mine, its = (index.search(QUERIES, 30, principal=who, group_by=True) for index in (one, other))
        assert mine.groups is not None and its.groups is not None
        assert mine.groups.tolist() == its.groups.tolist()
        assert one.ids(principal=who).tolist() == other.ids(principal=who).tolist()
    assert one.explain("pump", principal=ALICE) == other.explain("pump", principal=ALICE)
    assert (len(one), one.columns, one.analyzer) == (len(other), other.columns, other.analyzer)


@pytest.mark.parametrize("segment", [2**18, 64])
def test_what_is_loaded_answers_as_what_was_saved(
    tmp_path: Path, segment: int, monkeypatch: pytest.MonkeyPatch
) -> None:  # case B22
    """Also of several segments, between which there are numbers that no row has.

    Seen red with the postings of the first rows written in place of those that were not removed.
    """
    monkeypatch.setattr(saved_module, "_ROWS", segment)
    monkeypatch.setattr(saved_module, "_VALUES", min(segment, 2**16))
    index = filled()
    index.save(tmp_path / "saved")
    loaded = SparseIndex.load(tmp_path / "saved", policy=Policy())
    same(index, loaded)
    for changed in (index, loaded):
        assert changed.policy is not None
        rule = changed.policy.rule("acme", {"support"})
        assert changed.add(None, ["pump new"], rule, metadata={"n": [99]}).tolist() == [300]
        changed.upsert([1, 2], ["pump pump again", "valve"], rule)
        changed.remove([4])
    assert bits(index.search(QUERIES, 500, principal=ALICE)) == bits(loaded.search(QUERIES, 500, principal=ALICE))
    for changed in (index, loaded):
        changed.optimize()
    assert bits(index.search(QUERIES, 500, principal=ALICE)) == bits(loaded.search(QUERIES, 500, principal=ALICE))
    same(filled(), SparseIndex.load(tmp_path / "saved", policy=Policy()))


def test_vectors_and_an_empty_index(tmp_path: Path) -> None:
    index = SparseIndex(analyzer=None)
    index.save(tmp_path / "saved")
    loaded = SparseIndex.load(tmp_path / "saved")
    assert (len(loaded), loaded.analyzer) == (0, None)
    assert loaded.search(matrix([{1: 1.0}])).counts.tolist() == [0]
    index.add([7, 9], matrix([{1: 0.1, 2**32 - 1: 3.0}, {1: 2.0}]))
    index.remove([9])
    index.save(tmp_path / "saved")
    loaded = SparseIndex.load(tmp_path / "saved")
    query = matrix([{1: 1.0, 2**32 - 1: 0.3}])
    assert bits(loaded.search(query)) == bits(index.search(query))
    assert loaded.add(None, matrix([{5: 1.0}])).tolist() == [10]


def test_the_analyzer_is_the_one_it_was_made_with(tmp_path: Path) -> None:  # case F10
    index = SparseIndex(analyzer=Analyzer("english"))
    index.add(None, ["running pumps"])
    index.save(tmp_path / "saved")
    for given in (None, Analyzer("english")):
        loaded = SparseIndex.load(tmp_path / "saved", analyzer=given)
        assert loaded.analyzer == Analyzer("english")
        assert bits(loaded.search("run")) == bits(index.search("run"))
    for other in (Analyzer(), Analyzer("german"), "english"):
        with pytest.raises(InvalidInput, match=r"analyzer: .*what is stored was made with .*english"):
            SparseIndex.load(tmp_path / "saved", analyzer=other)  # type: ignore[arg-type]
    SparseIndex(analyzer=None).save(tmp_path / "vectors")
    with pytest.raises(InvalidInput, match=r"analyzer: .*what is stored was made with none"):
        SparseIndex.load(tmp_path / "vectors", analyzer=Analyzer())


def test_a_log_may_be_given_when_loading(tmp_path: Path) -> None:
    filled().save(tmp_path / "saved")
    with RetrievalLog(tmp_path / "log", key=None) as log:
        SparseIndex.load(tmp_path / "saved", policy=Policy(), log=log).search("pump", principal=ALICE)
    assert [entry["action"] for entry in objects_of(tmp_path / "log")] == ["open", "search"]


def test_an_analyzer_of_another_version_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    filled().save(folder)
    with_analyzer(folder, Analyzer().identity.replace('"rules":1', '"rules":2'))
    with pytest.raises(VersionMismatch, match="rules 2"):
        SparseIndex.load(folder, policy=Policy())
    with_analyzer(folder, "no identity")
    with pytest.raises(CorruptFile, match="identity"):
        SparseIndex.load(folder, policy=Policy())
    for value in (7, "", ["a"], True):
        with_analyzer(folder, value)
        with pytest.raises(CorruptFile, match="settings"):
            SparseIndex.load(folder, policy=Policy())
    with_analyzer(folder, None)  # vectors, says the catalog, and its postings are of words
    with pytest.raises(CorruptFile, match=r"postings\.npy: expected postings of .* rows of vectors; restore"):
        SparseIndex.load(folder, policy=Policy())


def test_each_file_damaged_is_refused_whole(tmp_path: Path) -> None:  # case D8
    """Seen red with the digests not compared."""
    filled().save(tmp_path / "saved")
    files = sorted((tmp_path / "saved").rglob("*.npy"))
    assert [path.name for path in files] == ["groups.npy", "ids.npy", "postings.npy", "rules.npy"]
    for path in files:
        whole = path.read_bytes()
        for cut in (0, 1, 100, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:cut])
            with pytest.raises(CorruptFile, match=path.name):
                SparseIndex.load(tmp_path / "saved", policy=Policy())
        path.write_bytes(whole + b"\0")
        with pytest.raises(CorruptFile, match=path.name):
            SparseIndex.load(tmp_path / "saved", policy=Policy())
        path.unlink()
        with pytest.raises(CorruptFile, match=path.name):
            SparseIndex.load(tmp_path / "saved", policy=Policy())
        for at in range(0, len(whole), 37):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            with pytest.raises(CorruptFile):
                SparseIndex.load(tmp_path / "saved", policy=Policy())
        path.write_bytes(whole)
    same(filled(), SparseIndex.load(tmp_path / "saved", policy=Policy()))


@pytest.mark.parametrize("what", NO_WORDS_OF_A_ROW)
def test_crafted_words_are_refused(tmp_path: Path, what: str) -> None:
    """With the digest that goes with them. Seen red with the number of rows, and the kind, not compared."""
    index_of(["a b c"]).save(tmp_path / "saved")
    crafted(tmp_path / "saved", NO_WORDS_OF_A_ROW[what]())
    with pytest.raises(CorruptFile, match=r"postings\.npy: .*restore"):
        SparseIndex.load(tmp_path / "saved")


@pytest.mark.parametrize("what", NO_VECTOR_OF_A_ROW)
def test_crafted_vectors_are_refused(tmp_path: Path, what: str) -> None:
    index = SparseIndex(analyzer=None)
    index.add(None, matrix([{1: 2.0}]))
    index.save(tmp_path / "saved")
    crafted(tmp_path / "saved", NO_VECTOR_OF_A_ROW[what]())
    with pytest.raises(CorruptFile, match=r"postings\.npy: .*restore"):
        SparseIndex.load(tmp_path / "saved")


@pytest.mark.parametrize("digest", [None, 5, ["a"], "0" * 64, "absent"])
def test_another_checksum(tmp_path: Path, digest: object) -> None:
    index_of(["a b c"]).save(tmp_path / "saved")
    with_digests(tmp_path / "saved", lambda d: d.pop("postings") if digest == "absent" else d.update(postings=digest))
    with pytest.raises(CorruptFile, match=r"no checksum of postings\.npy|postings\.npy: its bytes are not those"):
        SparseIndex.load(tmp_path / "saved")


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(MissingStore):
        SparseIndex.load(tmp_path / "nothing")
    filled().save(tmp_path / "sparse")
    with pytest.raises(AccessError, match="policy"):
        SparseIndex.load(tmp_path / "sparse")
    DenseIndex(2).save(tmp_path / "dense")
    Collection.open(tmp_path / "kb", "rw", policy=UNRESTRICTED, dim=2).close()
    refused: list[tuple[Callable[[], object], str]] = [
        (lambda: SparseIndex.load(tmp_path / "dense"), r"use DenseIndex\.load"),
        (lambda: SparseIndex().save(tmp_path / "dense"), r"use DenseIndex\.load"),
        (lambda: DenseIndex.load(tmp_path / "sparse", policy=Policy()), r"use SparseIndex\.load"),
        (lambda: DenseIndex(2).save(tmp_path / "sparse"), r"use SparseIndex\.load"),
        (lambda: SparseIndex.load(tmp_path / "kb"), r"Collection\.open"),
        (lambda: SparseIndex().save(tmp_path / "kb"), r"Collection\.open"),
        (lambda: Collection.open(tmp_path / "sparse", policy=UNRESTRICTED), r"SparseIndex\.load"),
    ]
    for call, message in refused:
        with pytest.raises(InvalidInput, match=message):
            call()
    SparseIndex().save(tmp_path / "open")
    with pytest.raises(InvalidInput, match="policy"):
        SparseIndex.load(tmp_path / "open", policy=Policy())


def test_a_mask_of_the_saved_one_is_stale_and_saving_again_replaces(tmp_path: Path) -> None:
    index = SparseIndex()
    index.add([1, 2], ["a", "a b"])
    mask = AllowMask.from_ids(index, [1])
    index.save(tmp_path / "saved")
    loaded = SparseIndex.load(tmp_path / "saved")
    with pytest.raises(StaleMask):
        loaded.search("a", allow=mask)
    index.remove([1])
    index.save(tmp_path / "saved")
    assert SparseIndex.load(tmp_path / "saved").search("a")[0].ids.tolist() == [2]
    assert sorted(loaded.search("a")[0].ids.tolist()) == [1, 2]  # its files are gone, its pages are not
