# SPDX-License-Identifier: Apache-2.0
"""P10 for collections: cut, changed and replaced files give a typed error or the right answer (cases C3, C10, D8)."""

from __future__ import annotations

import fcntl
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evidex import CorruptFile, MissingStore
from store_examples import TENANT, content, copied, opened, quick_folder
from store_hostile import Attack, cut, flipped, make, pickles, problems, replaced, use

LONG = os.environ.get("EVIDEX_LONG") == "1"


@pytest.fixture(params=["float32", "int8"])
def made(request: pytest.FixtureRequest) -> Iterator[Path]:
    with quick_folder() as path:
        make(path / "made", request.param)
        yield path / "made"


@pytest.fixture
def plain() -> Iterator[Path]:
    with quick_folder() as path:
        make(path / "made")
        yield path / "made"


def arrays(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.npy"))


def files(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in arrays(folder)}


def lengths(size: int, sample: int) -> list[int]:
    """All of them in the long run, otherwise some."""
    if LONG:
        return list(range(size))
    pages = [at + more for at in range(0, size, 4096) for more in (0, 1, 100)]
    return sorted({*range(0, 100, 7), *pages, *random.Random(1).sample(range(size), sample), size - 1})


def test_the_example_is_right(made: Path) -> None:
    for mode in ("r", "rw"):
        outcome, _ = use(copied(made, made.with_name("c")), mode)
        assert set(outcome.values()) == {"fine"}, outcome
    assert problems(made, [("nothing", lambda _: None)], modes="r rw") == []


def test_an_array_that_is_cut(made: Path) -> None:
    """At every byte, and one byte longer."""
    data = {name: (made / name).read_bytes() for name in arrays(made)}
    attacks: list[Attack] = [
        (f"{name} to {size}", cut(name, size))
        for name, whole in data.items()
        for size in [*range(0, len(whole), 1 if LONG else 13), len(whole) - 1, len(whole) + 1]
    ]
    assert problems(made, attacks, lambda outcome, _: outcome == {"open": "CorruptFile"}) == []


def test_each_byte_of_an_arrays_header(made: Path) -> None:
    attacks: list[Attack] = []
    for name in arrays(made):
        attacks += [(f"{name} byte {at}", flipped(name, at, at % 8)) for at in range(0, 128)]
    attacks = attacks if LONG else attacks[::13]
    assert problems(made, attacks, lambda outcome, _: outcome == {"open": "CorruptFile"}) == []


def test_each_byte_of_an_arrays_elements(made: Path) -> None:
    """Opening does not read them, verify() does."""
    attacks: list[Attack] = []
    for name in arrays(made):
        whole = (made / name).read_bytes()
        attacks += [(f"{name} byte {at}", flipped(name, at, at % 8)) for at in range(128, len(whole))]
    attacks = attacks if LONG else attacks[::13]
    assert problems(made, attacks, lambda outcome, _: outcome.get("verify", outcome["open"]) == "CorruptFile") == []


@pytest.mark.parametrize("work", ["optimize", "compact", "erase"])
def test_what_is_damaged_is_not_copied(made: Path, work: str) -> None:
    """A copy has a digest of its own: verify() would find it sound. Seen red without a look at them before copying."""
    refused = set()
    for name in arrays(made):
        folder = copied(made, made.with_name("damaged"))
        flipped(name, (made / name).stat().st_size - 1)(folder)
        before = files(folder)
        try:
            collection = opened(folder, "rw")
        except CorruptFile:
            continue  # found by opening
        file = name.split("/")[-1]
        with collection, pytest.raises(CorruptFile, match=file):
            getattr(collection, work)(*((TENANT, "d2") if work == "erase" else ()))
        assert files(folder) == before
        with opened(folder) as again, pytest.raises(CorruptFile, match=file):
            again.verify()
        refused.add(file)
    assert {"ids.npy", "postings.npy"} <= refused and refused & {"vectors.npy", "facts.npy"}


def test_elements_of_all_kinds(made: Path) -> None:
    """Every number in turn as large, as small or as odd as it can be."""
    attacks: list[Attack] = []
    for name in arrays(made):
        whole = (made / name).read_bytes()
        for fill in (
            b"\0" * 8,
            b"\xff" * 8,
            b"\xff" * 7 + b"\x7f",
            b"\0\0\xc0\x7f" * 2,
            b"\0\0\x80\xff" * 2,
            b"\x80" * 8,
        ):
            ats = range(128, len(whole) - 7, 8 if LONG else 120)
            attacks += [(f"{name} {fill!r} at {at}", replaced(name, whole[:at] + fill + whole[at + 8 :])) for at in ats]
            attacks.append(
                (f"{name} all {fill!r}", replaced(name, whole[:128] + (fill * len(whole))[: len(whole) - 128]))
            )
    assert problems(made, attacks, modes="r rw" if LONG else "r") == []


def test_a_catalog_that_is_cut(plain: Path) -> None:
    whole = (plain / "catalog.sqlite").read_bytes()
    attacks: list[Attack] = [(f"catalog to {size}", cut("catalog.sqlite", size)) for size in lengths(len(whole), 60)]
    assert problems(plain, attacks, lambda outcome, _: outcome.get("verify") != "fine") == []


def test_bits_of_a_catalog(plain: Path) -> None:
    """Any bit may lie. In the first pages, which say where the others are, and anywhere."""
    whole = (plain / "catalog.sqlite").read_bytes()
    rng = random.Random(None if LONG else 2)
    places = [rng.randrange(108) for _ in range(30)] + [rng.randrange(len(whole)) for _ in range(5000 if LONG else 60)]
    places += [at * 4096 + rng.randrange(12) for at in range(len(whole) // 4096)]
    attacks: list[Attack] = [(f"byte {at}", flipped("catalog.sqlite", at, rng.randrange(8))) for at in places]
    assert problems(plain, attacks, modes="r rw") == []


def test_a_log_that_is_cut_or_changed(plain: Path) -> None:
    """What waits in SQLite's log is part of the collection; cut, an older state may be there."""
    folder = plain.with_name("waiting")
    writer = make(folder, close=False)
    copy = copied(folder, plain.with_name("copy"))
    for lease in (copy / "readers").iterdir():
        lease.unlink()
    writer.close()
    whole = (copy / "catalog.sqlite-wal").read_bytes()
    assert len(whole) > 10_000
    attacks: list[Attack] = [
        (f"log to {size}", cut("catalog.sqlite-wal", size)) for size in lengths(len(whole), 40)[:: 53 if LONG else 5]
    ]
    rng = random.Random(3)
    for at in [*range(0, 56, 5), *(rng.randrange(len(whole)) for _ in range(400 if LONG else 40))]:
        attacks.append((f"log byte {at}", flipped("catalog.sqlite-wal", at, rng.randrange(8))))
    attacks += [(f"shm byte {at}", flipped("catalog.sqlite-shm", at, 3)) for at in range(0, 140, 9)]
    assert problems(copy, attacks) == []


def test_the_text_of_a_chunk_that_was_changed(plain: Path) -> None:
    """It is not handed out, though SQLite sees nothing wrong. Seen red: verify() passed."""
    whole = (plain / "catalog.sqlite").read_bytes()
    at = whole.index(b"Part 0 of d1")
    attacks: list[Attack] = [(f"byte {at + more}", flipped("catalog.sqlite", at + more)) for more in range(0, 20, 3)]
    wanted = {"answers": "CorruptFile", "verify": "CorruptFile"}
    assert problems(plain, attacks, lambda outcome, _: wanted.items() <= outcome.items()) == []


def pipe(part: Path, outside: Path) -> None:
    os.mkfifo(outside.with_name("pipe"))
    part.symlink_to(outside.with_name("pipe"))


LINKS: dict[str, Callable[[Path, Path], None]] = {
    "a link to the same bytes": lambda part, outside: part.symlink_to(outside),
    "a link to nothing": lambda part, _: part.symlink_to("nowhere"),
    "a link to zeros": lambda part, _: part.symlink_to("/dev/zero"),
    "a link to a folder": lambda part, _: part.symlink_to("/"),
    "a link to a pipe": pipe,
    "a pipe": lambda part, _: os.mkfifo(part),
    "a folder": lambda part, _: part.mkdir(),
    "nothing": lambda part, _: None,
}


@pytest.mark.parametrize("instead", LINKS)
def test_a_file_that_is_something_else(made: Path, instead: str) -> None:
    """Nothing outside the folder is read, waited for, or changed."""
    outside = made.with_name("outside")
    names = [*arrays(made), *(f"catalog.sqlite{end}" for end in ("", "-wal", "-shm")), "writer.lock"]

    def attack(name: str) -> Attack:
        def put(folder: Path) -> None:
            if not (folder / name).exists():
                (folder / name).touch()
            outside.write_bytes((folder / name).read_bytes())
            (folder / name).unlink()
            outside.with_name("pipe").unlink(missing_ok=True)
            LINKS[instead](folder / name, outside)

        return name, put

    optional = ("writer.lock", "catalog.sqlite-wal", "catalog.sqlite-shm")
    refused = [attack(name) for name in names if name not in optional]
    typed = {"CorruptFile", "MissingStore"}
    assert problems(made, refused, lambda outcome, _: outcome["open"] in typed) == []
    assert problems(made, [attack(name) for name in optional], modes="r rw") == []


@pytest.mark.parametrize("name", ["segments", "readers", "segments/00000005"])
def test_a_link_in_place_of_a_folder(plain: Path, name: str) -> None:
    """Seen red: the writer removed what was in the folder that it led to."""
    outside = plain.with_name("mine")
    (outside / "inner").mkdir(parents=True)
    name = name if name[-1] == "s" else arrays(plain)[0].rsplit("/", 1)[0]
    for path in (outside / "file", outside / "inner" / "file"):
        path.write_text("mine")

    def attack(folder: Path) -> None:
        copied(folder / name, outside / "copy")
        for inner in sorted((folder / name).rglob("*"), reverse=True):
            inner.unlink() if inner.is_file() else inner.rmdir()
        (folder / name).rmdir()
        (folder / name).symlink_to(outside / "copy" if "/" in name else outside)

    assert problems(plain, [(name, attack)], lambda o, _: o == {"open": "CorruptFile"}, "r rw") == []
    assert (outside / "file").read_text() == (outside / "inner" / "file").read_text() == "mine"


def test_nothing_is_unpickled(made: Path) -> None:  # case C10
    mark = made.with_name("executed")
    names = [*arrays(made), "catalog.sqlite", "catalog.sqlite-wal", "writer.lock", "readers/1-ab"]
    attacks = [(f"{name}: {kind}", replaced(name, data)) for name in names for kind, data in pickles(mark).items()]
    assert problems(made, attacks, modes="r rw") == []
    assert not mark.exists()


LEASES = [b"", b"-1", b"9" * 20, b"9" * 19 + b"x", b"\xff" * 20, b"0" * 10**6, "٣".encode() * 10]


@pytest.mark.parametrize("said", LEASES, ids=lambda said: repr(said[:8]))
def test_a_lease_may_say_anything(plain: Path, said: bytes) -> None:
    """A live one that says nothing keeps everything; a dead one is removed."""
    lease = plain / "readers" / "1-ab"
    lease.write_bytes(said)
    with lease.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        with opened(plain, "rw") as collection:
            collection.delete_document(TENANT, "d2")
            collection.compact()
            kept = content(collection)["stored"]
            assert (("d2", "r1") in kept) == (said != b"9" * 20)
            assert lease.exists()
    with opened(plain, "rw") as collection:
        collection.compact()
        assert content(collection)["stored"] == [("d0", "r1"), ("d1", "r1")]
    assert not lease.exists()


def test_what_is_in_the_way_of_leases(plain: Path) -> None:
    os.mkfifo(plain / "readers" / "1-ab")
    (plain / "readers" / "2-ab").mkdir()
    (plain / "readers" / "3-ab").symlink_to("/etc/hostname")
    with opened(plain, "rw") as collection:
        collection.compact()
        collection.verify()


def test_a_journal_that_sqlite_would_play_back(plain: Path) -> None:
    """A collection has none; played back it could change the catalog, or remove other files. Seen red: it did."""
    before = (plain / "catalog.sqlite").read_bytes()
    magic = bytes.fromhex("d9d505f920a163d7")
    header = magic + (1).to_bytes(4, "big") + bytes(4) + (2).to_bytes(4, "big") + (512).to_bytes(4, "big")
    (plain / "catalog.sqlite-journal").write_bytes((header + (4096).to_bytes(4, "big")).ljust(512, b"\0") + bytes(4104))
    for mode in ("r", "rw"):
        with pytest.raises(CorruptFile):
            opened(plain, mode)
    assert (plain / "catalog.sqlite").read_bytes() == before


@pytest.mark.parametrize("size", [0, 1, 100, 4096])
def test_a_journal_that_a_crash_left_before_anything_was_stored(plain: Path, size: int) -> None:
    """SQLite has one while it makes the file."""
    folder = plain.with_name("new")
    folder.mkdir()
    (folder / "catalog.sqlite").write_bytes((plain / "catalog.sqlite").read_bytes()[:size])
    (folder / "catalog.sqlite-journal").write_bytes(b"\xd9" * 700)
    with pytest.raises(MissingStore):
        opened(folder)
    with opened(folder, "rw") as collection:
        collection.verify()
    with opened(folder) as collection:
        assert len(collection) == 0
