# SPDX-License-Identifier: Apache-2.0
"""Folders of each version of the format open for ever, with the same answers to the bit (case D9)."""

from __future__ import annotations

import importlib.util
import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from evidex import (
    UNRESTRICTED,
    Collection,
    CorruptFile,
    DenseIndex,
    InvalidInput,
    MissingStore,
    Policy,
    Put,
    VersionMismatch,
    where,
)
from evidex.store.schema import FORMAT

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
VERSIONS = sorted(path.name for path in GOLDEN.glob("v*"))
COLLECTIONS = [(version, name) for version in VERSIONS for name in ("float32", "int8")]


def load_maker() -> Any:
    spec = importlib.util.spec_from_file_location("golden_make", GOLDEN / "make.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make = load_maker()


def unpacked(version: str, name: str, to: Path) -> Path:
    with zipfile.ZipFile(GOLDEN / version / f"{name}.zip") as file:
        file.extractall(to / name)
    return to / name


def expected(version: str, name: str) -> Any:
    return json.loads((GOLDEN / version / "expected.json").read_text(encoding="ascii"))[name]


def test_there_is_one_of_this_version() -> None:
    assert f"v{FORMAT}" in VERSIONS
    assert sum(path.stat().st_size for path in GOLDEN.rglob("*") if path.is_file()) < 200_000


@pytest.mark.parametrize(("version", "name"), COLLECTIONS)
def test_a_collection_is_read_as_ever(version: str, name: str, tmp_path: Path) -> None:
    folder = unpacked(version, name, tmp_path)
    before = (folder / "catalog.sqlite").read_bytes()
    with Collection.open(folder, policy=Policy()) as collection:
        collection.verify()
        said = expected(version, name)
        assert json.loads(json.dumps(make.answers(collection))) == said["answers"]
        assert json.loads(json.dumps(make.texts(collection))) == said["chunks"]
        asked = (where("on") < make.date(2025, 1, 1)) & (where("weight") == 0.1) & (where("year") == -3)
        found = collection.search(make.QUERY, 50, principal=UNRESTRICTED, where=asked)
        assert 0 < int(found.counts[0]) < len(collection)
    assert (folder / "catalog.sqlite").read_bytes() == before


@pytest.mark.parametrize(("version", "name"), COLLECTIONS)
def test_a_collection_is_gone_on_with(version: str, name: str, tmp_path: Path) -> None:
    folder = unpacked(version, name, tmp_path)
    policy = Policy()
    with Collection.open(folder, "rw", policy=policy) as collection:
        rule = policy.rule("zenith", {"a"})
        same = make.numbered(3, [rule] * 4)
        assert collection.put_documents([same]) == Put(0, 1, 0), "what is stored already is not known again"
        collection.put_document("more", "1", chunks=["more"], vectors=make.vectors(1, 1), rule=rule)
        collection.restore("acme", "doc 0", "1")
        collection.erase("acme", "long")
        collection.compact()
        collection.verify()
        assert len(collection.ids(principal=make.CALLERS["zoe"])) == 5


@pytest.mark.parametrize("version", VERSIONS)
def test_an_index_is_read_as_ever(version: str, tmp_path: Path) -> None:
    index = DenseIndex.load(unpacked(version, "index", tmp_path), policy=Policy())
    assert json.loads(json.dumps(make.answers(index))) == expected(version, "index")["answers"]
    with pytest.raises(InvalidInput, match="holds an index"):
        Collection.open(tmp_path / "index", policy=Policy())


def test_the_maker_makes_what_is_there(tmp_path: Path) -> None:
    """Of this version: today's code writes what gives the same answers."""
    make.main(tmp_path / "new")
    assert json.loads((tmp_path / "new" / "expected.json").read_text()) == {
        name: expected(f"v{FORMAT}", name) for name in ("float32", "int8", "index")
    }


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
