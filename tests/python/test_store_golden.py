# SPDX-License-Identifier: Apache-2.0
"""Folders of each version of the format open for ever, with the same answers to the bit (case D9)."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import golden_rows as rows
import golden_words as words
import make
from evidex import (
    UNRESTRICTED,
    Collection,
    CorruptFile,
    DenseIndex,
    InvalidInput,
    MissingStore,
    Policy,
    Put,
    SparseIndex,
    VersionMismatch,
    where,
)
from evidex.store.schema import FORMAT

SETS = {name: sorted(path.name for path in make.place(name).parent.glob("v*")) for name in make.SETS}
VERSIONS = SETS[""]
COLLECTIONS = [(version, name) for version in VERSIONS for name in ("float32", "int8")]
LATER = [(of, version, name) for of in ("words", "codes") for version in SETS[of] for name in make.SETS[of]]
MAKER = Path(make.__file__)


def unpacked(version: str, name: str, to: Path, of: str = "") -> Path:
    with zipfile.ZipFile(MAKER.parent / of / version / f"{name}.zip") as file:
        file.extractall(to / name)
    return to / name


def expected(version: str, name: str, of: str = "") -> Any:
    return json.loads((MAKER.parent / of / version / "expected.json").read_text(encoding="ascii"))[name]


def plain(said: Any) -> Any:
    """As it comes back from JSON."""
    return json.loads(json.dumps(said))


def test_there_is_one_of_this_version() -> None:
    assert all(f"v{FORMAT}" in versions for versions in SETS.values())
    files = [path for path in MAKER.parent.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert sum(path.stat().st_size for path in files) < 200_000


@pytest.mark.parametrize(("version", "name"), COLLECTIONS)
def test_a_collection_is_read_as_ever(version: str, name: str, tmp_path: Path) -> None:
    folder = unpacked(version, name, tmp_path)
    before = (folder / "catalog.sqlite").read_bytes()
    with Collection.open(folder, policy=Policy()) as collection:
        collection.verify()
        said = expected(version, name)
        assert plain(rows.answers(collection)) == said["answers"]
        assert plain(rows.texts(collection)) == said["chunks"]
        asked = (where("on") < date(2025, 1, 1)) & (where("weight") == 0.1) & (where("year") == -3)
        found = collection.search(rows.QUERY, 50, principal=UNRESTRICTED, where=asked)
        assert 0 < int(found.counts[0]) < len(collection)
    assert (folder / "catalog.sqlite").read_bytes() == before


@pytest.mark.parametrize(("version", "name"), COLLECTIONS)
def test_a_collection_is_gone_on_with(version: str, name: str, tmp_path: Path) -> None:
    folder = unpacked(version, name, tmp_path)
    policy = Policy()
    with Collection.open(folder, "rw", policy=policy) as collection:
        rule = policy.rule("zenith", {"a"})
        same = rows.numbered(3, [rule] * 4)
        assert collection.put_documents([same]) == Put(0, 1, 0), "what is stored already is not known again"
        collection.put_document("more", "1", chunks=["more"], vectors=rows.vectors(1, 1), rule=rule)
        collection.restore("acme", "doc 0", "1")
        collection.erase("acme", "long")
        collection.compact()
        collection.verify()
        assert len(collection.ids(principal=rows.CALLERS["zoe"])) == 5


@pytest.mark.parametrize("version", VERSIONS)
def test_an_index_is_read_as_ever(version: str, tmp_path: Path) -> None:
    index = DenseIndex.load(unpacked(version, "index", tmp_path), policy=Policy())
    assert plain(rows.answers(index)) == expected(version, "index")["answers"]
    with pytest.raises(InvalidInput, match="holds an index"):
        Collection.open(tmp_path / "index", policy=Policy())


@pytest.mark.parametrize(("of", "version", "name"), LATER)
def test_words_and_codes_are_read_as_ever(of: str, version: str, name: str, tmp_path: Path) -> None:
    """Score bits, legs and ranks of each caller.

    Seen red with another k1 where none is asked for, another constant of fusion, terms cut after five characters, and
    codes turned by another seed.
    """
    folder = unpacked(version, name, tmp_path, of)
    before = (folder / "catalog.sqlite").read_bytes()
    _, read = make.SETS[of][name]
    assert plain(read(folder)) == expected(version, name, of)
    assert (folder / "catalog.sqlite").read_bytes() == before


@pytest.mark.parametrize("version", SETS["words"])
def test_a_collection_with_words_is_gone_on_with(version: str, tmp_path: Path) -> None:
    folder = unpacked(version, "collection", tmp_path, "words")
    policy = Policy()
    with Collection.open(folder, "rw", policy=policy, encoder=words.ByteEncoder()) as collection:
        collection.verify()
        assert plain(words.retrieved(collection)) == expected(version, "collection", "words")["answers"]
        rule = policy.rule("zenith", {"a"})
        assert collection.put_document("secret", "1", chunks=words.TEXTS["secret"], rule=rule) == Put(0, 1, 0)
        collection.put_document("more", "1", chunks=["Another pump, AX-9."], rule=rule)
        collection.restore("acme", "pumps", "1")
        collection.erase("acme", "notes")
        collection.compact()
        collection.verify()
        found = collection.retrieve("pump ax", mode="sparse", principal=rows.CALLERS["zoe"])
        assert [one.chunk.source for one in found] == ["more", "secret", "secret"]
        found = collection.retrieve("valve", mode="sparse", principal=rows.CALLERS["ann"])
        assert {one.chunk.source for one in found} == {"pumps", "valves"}


@pytest.mark.parametrize("version", SETS["words"])
def test_a_sparse_index_is_gone_on_with(version: str, tmp_path: Path) -> None:
    policy = Policy()
    index = SparseIndex.load(unpacked(version, "texts", tmp_path, "words"), policy=policy)
    index.optimize()
    index.save(tmp_path / "texts")
    _, read = make.SETS["words"]["texts"]
    assert plain(read(tmp_path / "texts")) == expected(version, "texts", "words")
    (new,) = index.add(None, ["a pump in zenith"], policy.rule("zenith", {"a"}), metadata={"year": [1]})
    index.remove([5])
    found = index.search("pump", principal=rows.CALLERS["zoe"])[0]
    assert new in found.ids and 5 not in found.ids


@pytest.mark.parametrize("version", SETS["words"])
def test_a_damaged_byte_of_postings_is_found(version: str, tmp_path: Path) -> None:
    """By verify(), and when an index is loaded. Seen red with either leaving postings out."""
    for name, (_, read) in make.SETS["words"].items():
        folder = unpacked(version, name, tmp_path, "words")
        for path in folder.rglob("postings.npy"):
            whole = path.read_bytes()
            for at in (0, 130, len(whole) // 2, len(whole) - 1):
                path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
                with pytest.raises(CorruptFile, match="postings"):
                    read(folder)
            path.write_bytes(whole)


@pytest.mark.parametrize("of", make.SETS)
def test_the_maker_makes_what_is_there(of: str, tmp_path: Path) -> None:
    """Of this version: today's code writes what gives the same answers."""
    make.make(of, tmp_path / "new")
    assert json.loads((tmp_path / "new" / "expected.json").read_text()) == {
        name: expected(f"v{FORMAT}", name, of) for name in make.SETS[of]
    }


def test_the_maker_never_makes_anew_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="never made anew"):
        make.main(["codes", "words"])
    make.main([])
    assert capsys.readouterr().out == ""


def test_missing_newer_and_damaged_are_told_apart(tmp_path: Path) -> None:
    folder = unpacked(f"v{FORMAT}", "float32", tmp_path)
    with pytest.raises(MissingStore, match="nothing is at"):
        Collection.open(tmp_path / "none", policy=Policy())
    (tmp_path / "empty").mkdir()
    with pytest.raises(MissingStore, match="no collection"):
        Collection.open(tmp_path / "empty", policy=Policy())
    whole = (folder / "catalog.sqlite").read_bytes()
    (folder / "catalog.sqlite").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CorruptFile):
        Collection.open(folder, policy=Policy()).verify()
    (folder / "catalog.sqlite").write_bytes(whole)
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as catalog:
        catalog.execute(f"PRAGMA user_version = {FORMAT + 1}")
    for mode in ("r", "rw"):
        with pytest.raises(VersionMismatch, match=f"format {FORMAT + 1}.*install a newer evidex"):
            Collection.open(folder, mode, policy=Policy())
    (folder / "catalog.sqlite").write_bytes(b"some other file" * 1000)
    with pytest.raises(CorruptFile):
        Collection.open(folder, policy=Policy())
