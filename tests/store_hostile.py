# SPDX-License-Identifier: Apache-2.0
"""Attacks on the files of a collection, in children with little memory: what comes of opening and using them."""

from __future__ import annotations

import functools
import io
import os
import pickle
import resource
import shutil
import time
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from evidex import UNRESTRICTED, Collection, Columns, EvidexError, Policy, where
from evidex.access import Caller
from evidex.text import Analyzer
from store_examples import DIM, QUESTION, READERS, TENANT, document, rules_of
from store_processes import Child

MOST_SECONDS = 1.0  # of processor time, for all that is tried after one attack
MOST_MEMORY = 512 * 2**20  # beyond what the process that runs the tests has
QUERY = np.arange(DIM, dtype=np.float32) - 3
COLUMNS: dict[str, type] = {"lang": str, "year": int, "on": date}

Attack = tuple[str, Callable[[Path], None]]
Outcome = dict[str, str]


def make(folder: Path, codec: str = "float32", close: bool = True) -> Collection:
    """Two segments, a retired revision, a rule that was changed and a document under another one, metadata, words."""
    policy = Policy()
    how: dict[str, Any] = {"dim": DIM, "metric": "ip", "codec": codec, "columns": Columns(COLUMNS)}
    collection = Collection.open(folder, "rw", policy=policy, analyzer=Analyzer(), **how)
    rules = rules_of(policy)
    for source, revision, group in [("d0", "r0", "a"), ("d0", "r1", "a"), ("d2", "r1", "a"), ("d1", "r1", "b")]:
        one = document(source, revision, rules[group])
        metadata = {"lang": "en", "year": 2001, "on": date(2020, 1, 2)}
        collection.put_document(
            source, revision, chunks=one.chunks, vectors=one.vectors, rule=one.rule, metadata=metadata
        )
        if source == "d2":
            collection.optimize()
    collection.set_rule(TENANT, "d1", rules["a"])
    collection.change_rule(rules["b"], {"b", "c"})
    if close:
        collection.close()
    return collection


def answers(collection: Collection) -> list[Any]:
    """What is found, by whom."""
    found: list[Any] = []
    callers: list[Caller] = [*READERS.values(), UNRESTRICTED]
    for principal in callers:
        hits = collection.search(QUERY, 20, principal=principal)
        found.append((hits.ids.tolist(), hits.scores.tolist()))
        found.append([chunk.text for chunk in collection.chunks(principal=principal)])
        found.append([(one.chunk.id, one.score) for one in by_words(collection, principal)])
    return found


def by_words(collection: Collection, principal: Caller, **how: Any) -> Any:
    return collection.retrieve(QUESTION, 20, mode="sparse", principal=principal, **how)


def _reads() -> dict[str, Callable[[Collection], object]]:
    def first(collection: Collection) -> object:
        for chunk in collection.chunks(principal=UNRESTRICTED):
            return collection.get_chunk(chunk.id, principal=UNRESTRICTED)
        return None

    asked = (where("lang") == "en") & (where("year") > 1999) & (where("on") < date(2021, 1, 1))
    return {
        "answers": answers,
        "groups": lambda c: c.search(QUERY, 5, principal=READERS["a"], group_by=True),
        "where": lambda c: c.search(QUERY, 5, principal=READERS["a"], where=asked),
        "words": lambda c: by_words(c, READERS["a"], where=asked, scope="tenant"),
        "chunk": first,
        "stats": lambda c: c.stats(principal=UNRESTRICTED),
        "snapshot": lambda c: c.snapshot().close(),
        "verify": lambda c: c.verify(),
    }


def _writes() -> dict[str, Callable[[Collection], object]]:
    def put(collection: Collection) -> object:
        assert collection._policy is not None
        rule = rules_of(collection._policy)["a"]
        return collection.put_documents([document("d0", "r7", rule), document("d7", "r7", rule)])

    return {
        "put": put,
        "delete": lambda c: c.delete_document(TENANT, "d2"),
        "restore": lambda c: c.restore(TENANT, "d0", "r0"),
        "optimize": lambda c: c.optimize(),
        "erase": lambda c: c.erase(TENANT, "d1"),
        "compact": lambda c: c.compact(),
        "verify": lambda c: c.verify(),
        "answers": answers,
    }


def use(folder: Path, mode: str = "r") -> tuple[Outcome, Any]:
    """What each way to use a collection comes to, ``fine`` or the name of a typed error; and the answers."""
    outcome: Outcome = {}
    found: list[Any] = []

    def tried(name: str, call: Callable[[], Any]) -> Any:
        try:
            result = call()
        except EvidexError as error:
            outcome[name] = type(error).__name__
            return None
        outcome[name] = "fine"
        return result

    opened = tried("open", lambda: Collection.open(folder, mode, policy=Policy()))
    if opened is not None:
        for name, call in (_reads() if mode == "r" else _writes()).items():
            result = tried(name, functools.partial(call, opened))
            if name == "answers":
                found.append(result)
        opened.close()
    return outcome, found[0] if found else None


def problems(
    made: Path, attacks: Iterable[Attack], expect: Callable[[Outcome, Any], bool] | None = None, modes: str = "r"
) -> list[str]:
    """What went wrong: an error that is not typed, a crash, too much time or memory, an outcome not expected."""
    work, whole = made.with_name("attacked"), files_of(made)
    said: list[str] = []

    def attack_all(say: Callable[[object], None]) -> None:
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MOST_MEMORY, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for label, attack in attacks:
            for mode in modes.split():
                restore(whole, work)
                attack(work)
                say((f"{label}, {mode}", "begins"))
                began = time.process_time()
                try:
                    outcome, found = use(work, mode)
                except BaseException as error:
                    where_ = error.__traceback__
                    while where_ is not None and where_.tb_next is not None:
                        where_ = where_.tb_next
                    at = "" if where_ is None else f" in {where_.tb_frame.f_code.co_filename}:{where_.tb_lineno}"
                    say((f"{label}, {mode}", f"{error!r}{at}"))
                    continue
                if (lasted := time.process_time() - began) > MOST_SECONDS:
                    say((f"{label}, {mode}", f"took {lasted:.1f} s"))
                if expect is not None and not expect(outcome, found):
                    say((f"{label}, {mode}", f"came to {outcome}"))
        say(("", "ends"))

    with Child(attack_all) as child:
        last = ("nothing", "")
        for last in child.all():
            if last[1] not in ("begins", "ends"):
                said.append(": ".join(last))
        if last != ("", "ends"):
            said.append(f"{last[0]}: the process died ({child.end()})")
    return said


def files_of(folder: Path) -> dict[Path, bytes | None]:
    """Contents of files, None for a folder, by path; for what is neither, something that no file holds."""
    found: dict[Path, bytes | None] = {}
    for path in folder.rglob("*"):
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            found[path.relative_to(folder)] = b"neither" * 1000
        else:
            found[path.relative_to(folder)] = None if path.is_dir() else path.read_bytes()
    return found


def restore(whole: dict[Path, bytes | None], folder: Path) -> None:
    """Makes a folder what it was; quicker than copying it anew."""
    now = files_of(folder) if folder.is_dir() else {}
    if now.keys() != whole.keys() or any(
        now[path] != data and (data is None or now[path] is None or len(now[path] or b"") == 7000)
        for path, data in whole.items()
    ):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        now = {}
    for path in sorted(whole):
        data = whole[path]
        if path not in now and data is None:
            (folder / path).mkdir()
        elif data is not None and now.get(path) != data:
            (folder / path).write_bytes(data)


def replaced(name: str, data: bytes) -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        (folder / name).write_bytes(data)

    return attack


def cut(name: str, size: int) -> Callable[[Path], None]:
    """Or made longer."""

    def attack(folder: Path) -> None:
        os.truncate(folder / name, size)

    return attack


def flipped(name: str, at: int, bit: int = 0) -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        data = bytearray((folder / name).read_bytes())
        data[at] ^= 1 << bit
        (folder / name).write_bytes(data)

    return attack


class Bomb:
    """Leaves a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = str(mark)

    def __reduce__(self) -> Any:
        return os.mkdir, (self.mark,)


def pickles(mark: Path) -> dict[str, bytes]:
    """As it is, and as numpy would store it."""
    raw = pickle.dumps(Bomb(mark))
    file = io.BytesIO()
    np.save(file, np.array([Bomb(mark)], dtype=object), allow_pickle=True)
    return {"pickle": raw, "object array": file.getvalue()}
