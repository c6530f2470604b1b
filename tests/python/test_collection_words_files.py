# SPDX-License-Identifier: Apache-2.0
"""P10 for words: files that were cut, changed or crafted, and versions that know no words (cases D8, D9, F10)."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidex import UNRESTRICTED, Collection, CorruptFile, DenseIndex, InvalidInput, SparseIndex
from evidex.lexical.documents import postings_of
from evidex.store import npy
from evidex.text import Analyzer
from hostile_postings import (
    NO_WORDS_OF_A_ROW,
    changed,
    crafted,
    postings_file,
    settings_of,
    with_analyzer,
    with_digests,
)
from store_examples import copied, quick_folder
from store_hostile import Attack, cut, flipped, make, problems
from words_examples import OPEN, said, sources, stocked, words

LONG = os.environ.get("EVIDEX_LONG") == "1"


@pytest.fixture
def folder() -> Iterator[Path]:
    """Four segments of one row each."""
    with quick_folder() as path:
        stocked(words(path / "kb")).close()
        yield path / "kb"


def test_they_lie_in_a_file_of_each_segment(folder: Path) -> None:
    for segment, text in enumerate(OPEN.values(), start=1):
        stored = np.load(postings_file(folder, segment))
        assert stored.tobytes() == postings_of([text], Analyzer()).bytes().tobytes()
    stocked(words(folder.with_name("plain"), analyzer=None)).close()
    assert not postings_file(folder.with_name("plain")).exists()


def asked_and_verified(folder: Path) -> None:
    with words(folder, "r") as kb:
        with suppress(CorruptFile):  # whatever comes of it is typed
            said(kb, "the refund of thirty days within")
        kb.verify()


def test_a_byte_that_was_flipped(folder: Path) -> None:
    """Seen red with words left out of what verify() reads."""
    whole = postings_file(folder).read_bytes()
    for at in range(npy.HEADER_BYTES, len(whole), 5):
        flipped("segments/00000001/postings.npy", at, at % 8)(folder)
        with pytest.raises(CorruptFile, match="postings"):
            asked_and_verified(folder)
        postings_file(folder).write_bytes(whole)
    asked_and_verified(folder)


def test_what_is_damaged_is_named_whenever_it_is_found(folder: Path) -> None:
    """Opening reads no list. Seen red with what terms, a search, and rewriting find passed on without a name."""
    many = folder.with_name("many")
    with words(many) as kb:
        kb.put_document("all", "v1", chunks=list(OPEN.values()))
    content = np.load(postings_file(many))
    found: dict[tuple[int, str], str] = {}
    for at, step in product(range(0, len(content), 1 if LONG else 3), ("open", "search", "rewrite")):
        other = content.copy()
        other[at] ^= 255
        changed_copy = copied(many, folder.with_name("copy"))
        crafted(changed_copy, other)
        try:
            with words(changed_copy) as kb:
                if step == "search":
                    said(kb, " ".join(OPEN.values()))
                elif step == "rewrite":
                    kb.optimize()
        except CorruptFile as error:
            found[at, step] = str(error)
    opened = {at for at, step in found if step == "open"}
    assert opened and {step for at, step in found if at not in opened} == {"search", "rewrite"}
    assert [error for error in found.values() if "/00000001/postings.npy: postings: " not in error] == []


def test_a_file_that_was_cut_or_is_longer(folder: Path) -> None:
    name, size = "segments/00000001/postings.npy", postings_file(folder).stat().st_size
    for length in [*range(0, size, 9), size - 1, size + 1, size + 4096]:
        whole = postings_file(folder).read_bytes()
        cut(name, length)(folder)
        for mode in ("r", "rw"):
            with pytest.raises(CorruptFile, match="postings"):
                words(folder, mode)
        postings_file(folder).write_bytes(whole)
    postings_file(folder).unlink()
    with pytest.raises(CorruptFile, match=r"postings\.npy: cannot be read"):
        words(folder, "r")


@pytest.mark.parametrize("what", NO_WORDS_OF_A_ROW)
def test_crafted_words_are_refused(folder: Path, what: str) -> None:
    crafted(folder, NO_WORDS_OF_A_ROW[what]())
    for mode in ("r", "rw"):
        with pytest.raises(CorruptFile, match="00000001"):
            words(folder, mode)


def test_crafted_bytes_with_the_digest_that_goes_with_them_crash_nothing(folder: Path) -> None:
    """Bytes in turn are others. In a child, whose death would show."""
    made = folder.with_name("made")
    make(made)
    number = int(min(path.parent.name for path in made.rglob("postings.npy")))
    content = np.load(postings_file(made, number))

    def attack(at: int) -> Attack:
        def put(of: Path) -> None:
            other = content.copy()
            other[at] ^= 1 + at % 255
            crafted(of, other, number)

        return f"byte {at}", put

    ats = range(0, len(content), 1 if LONG else 1 + len(content) // 60)
    assert problems(made, [attack(at) for at in ats], modes="r rw" if LONG else "r") == []


@pytest.mark.parametrize("digest", [None, 5, ["a"], "absent"])
def test_a_catalog_without_their_checksum(folder: Path, digest: Any) -> None:
    with_digests(folder, lambda d: d.pop("postings") if digest == "absent" else d.update(postings=digest))
    for mode in ("r", "rw"):
        with pytest.raises(CorruptFile, match=r"the catalog has no checksum of postings\.npy"):
            words(folder, mode)


def test_another_checksum(folder: Path) -> None:
    with_digests(folder, lambda digests: digests.update(postings="0" * 64))
    with words(folder, "r") as kb, pytest.raises(CorruptFile, match=r"postings\.npy: its bytes are not those"):
        kb.verify()


@pytest.mark.parametrize("said_to_be", ["no analyser", "{}", '{"kind":"evidex.text.Analyzer"', "[]", "\x00"])
def test_an_analyzer_that_is_none(folder: Path, said_to_be: str) -> None:
    """Vectors are found all the same."""
    with_analyzer(folder, said_to_be)
    with words(folder, "r", analyzer=None) as kb:
        assert len(kb.retrieve("office")) == len(OPEN)
        for mode in ("sparse", "hybrid"):
            with pytest.raises(CorruptFile):
                kb.retrieve("office", mode=mode)


@pytest.mark.parametrize("value", [5, ["a"], {"kind": 1}, True, ""])
def test_settings_with_another_kind_of_analyzer(folder: Path, value: Any) -> None:
    with_analyzer(folder, value)
    with pytest.raises(CorruptFile, match="settings"):
        words(folder, "r", analyzer=None)


def test_a_version_that_knows_no_words_refuses_the_folder(folder: Path) -> None:  # case D9
    """It would add rows without words. Such a version asks for kind "collection", and takes a folder without words."""
    plain = folder.with_name("plain")
    stocked(words(plain, analyzer=None)).close()
    kinds = []
    for path in (folder, plain):
        with closing(sqlite3.connect(path / "catalog.sqlite")) as catalog:
            kinds.append(catalog.execute("SELECT value FROM meta WHERE key = 'kind'").fetchone()[0])
    assert kinds == ["collection with words", "collection"]
    assert "analyzer" not in settings_of(plain)
    for load in (DenseIndex.load, SparseIndex.load):
        with pytest.raises(InvalidInput, match="collection"):
            load(folder, policy=None)


@pytest.mark.parametrize("kind", ["collection", "collection of poems", 5])
def test_a_kind_that_does_not_fit(folder: Path, kind: Any) -> None:
    """Seen red: words were kept or not as the settings said, whatever the kind."""
    changed(folder, "kind", kind)
    for mode in ("r", "rw"):
        with pytest.raises(CorruptFile if kind == "collection" else InvalidInput):
            words(folder, mode)
    changed(folder, "kind", "collection with words")
    with_analyzer(folder, None)
    with pytest.raises(CorruptFile, match="restore"):
        words(folder, "rw", analyzer=None)


def test_words_of_an_unreadable_segment_leave_the_reader_where_it_was(folder: Path) -> None:
    """A refresh that fails can be made again."""
    with words(folder) as writer, words(folder, "r") as reader:
        assert isinstance(reader, Collection)
        writer.put_document("new", "v1", chunks=["a zebra"])
        whole = postings_file(folder, 5).read_bytes()
        postings_file(folder, 5).write_bytes(whole[:-1])
        for _ in range(2):
            with pytest.raises(CorruptFile):
                reader.refresh()
            assert sources(reader, "zebra") == []
            assert sources(reader, "nine") == ["office"]
        postings_file(folder, 5).write_bytes(whole)
        reader.refresh()
        assert sources(reader, "zebra") == ["new"]
    assert Collection.open(folder, policy=UNRESTRICTED).stats()["words"]["parts"] == 5
