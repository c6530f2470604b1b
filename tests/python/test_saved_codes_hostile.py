# SPDX-License-Identifier: Apache-2.0
"""P10 of saved codes: damaged files and catalogs are typed errors, and no codes lead to rows that are not permitted."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codes_examples import KINDS, QUERIES, ROWS, filled
from evidex import AllowMask, CorruptFile, DenseIndex, VersionMismatch
from evidex.store import schema


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    index = filled("binary")
    index.train("pq4")
    index.remove(range(0, 500, 7))
    index.save(made := tmp_path_factory.mktemp("sound") / "saved")
    return made


@pytest.fixture
def folder(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "saved"))


def of_codes(folder: Path) -> list[Path]:
    found = sorted(path for path in folder.rglob("*.npy") if path.name.startswith(KINDS))
    assert len(found) == 4
    return found


def refused(folder: Path) -> bool:
    try:
        DenseIndex.load(folder)
    except CorruptFile as error:
        return str(folder) in str(error)
    return False


def test_each_file_cut_grown_gone_or_another(folder: Path) -> None:  # cases D8, D11
    """Seen red with headers that were not looked at."""
    for path in of_codes(folder):
        whole = path.read_bytes()
        for other in (
            *(whole[:cut] for cut in (0, 1, 100, 128, len(whole) // 2, len(whole) - 1)),
            whole + b"\0",
            whole[:60] + b"9" + whole[61:],  # of the header
            b"\x93NUMPY" + bytes(len(whole) - 6),
        ):
            path.write_bytes(other)
            assert refused(folder), path.name
        path.unlink()
        assert refused(folder)
        path.with_suffix(".away").write_bytes(whole)
        path.symlink_to(path.with_suffix(".away"))
        assert refused(folder)
        path.unlink()
        path.mkdir()
        assert refused(folder)
        path.rmdir()
        path.with_suffix(".away").rename(path)
    assert not refused(folder)


def edited(folder: Path, key: str, value: object) -> None:
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as catalog:
        catalog.execute("UPDATE meta SET value = ? WHERE key = ?", (value, key))
        catalog.commit()


def said(folder: Path, key: str) -> Any:
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as catalog:
        return catalog.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()[0]


WRONG_NUMBERS: tuple[object, ...] = (None, "1", True, -1, 0.5, [], {}, float("nan"), float("inf"), 2**70, 10**400)
WRONG: dict[str, tuple[object, ...]] = {
    "seed": WRONG_NUMBERS,
    "rows": (*WRONG_NUMBERS, 2**40, 2929, 3000),  # 2,872 were coded; more are a block more
    "positions": (*WRONG_NUMBERS, 0, 8, 24),
    "ranks": (*WRONG_NUMBERS, [256], [256, 99], [2560, 10], [0, 0], [256, 100, 1], [-256, -100]),
    "room": (*(one for one in WRONG_NUMBERS if one != 1), 0.99, 1e9),
    "trained": (*WRONG_NUMBERS, [1, 2], [1.5, 0, 0], [1, -1, 0], [1, float("nan"), 0], [1, 1, 3], [1, 1, 1, 1]),
    "fit": (*WRONG_NUMBERS, [1, 2], [-1, 0, 0], [1, float("inf"), 0], [1, 1, float("nan")], ["1", 1, 1]),
    "costs": (*WRONG_NUMBERS, {"row": 1}, [1, 2, 3, 4, 5, 6], dict.fromkeys(("row", "eighth"), -1)),
    "host": (None, 1, b"x".hex() * 500, ["x"]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*WRONG, "costs of"])
def test_what_the_catalog_says_is_checked(name: str, kind: str, folder: Path) -> None:
    """Seen red without a check of finite numbers, of limits, and of the length of the host's name."""
    key = f"{kind} codes"
    right = json.loads(said(folder, key))
    if name == "costs of":
        costs = right["costs"]
        wrong = [costs | {cost: value} for cost in costs for value in (*WRONG_NUMBERS[:4], float("nan"), 1e300)]
        changes = [right | {"costs": one} for one in wrong]
    else:
        changes = [right | {name: value} for value in WRONG[name]]
        changes.append({other: value for other, value in right.items() if other != name})
    for change in changes:
        edited(folder, key, json.dumps(change))
        assert refused(folder), change.get(name)
    edited(folder, key, json.dumps(right))
    assert not refused(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_learnt_is_checked(kind: str, folder: Path) -> None:
    """Seen red with centroids that are not numbers taken, and ranks beyond all that can be."""
    changes: dict[str, list[Callable[[Any], Any]]] = {
        "codes": [lambda _: b"", lambda _: "", lambda _: "[]", lambda _: "null", lambda _: 5, lambda _: "[" * 10**5],
        "reference": [
            lambda _: b"",
            lambda _: "text",
            lambda _: 7,
            lambda was: was[:-1],
            lambda was: was[:-4],
            lambda was: was + bytes(4),
            lambda was: _with(was, np.nan),
            lambda was: _with(was, np.inf),
            lambda was: _with(was, 3e38),
        ],
        "centroids": [
            lambda was: was + bytes(4),
            lambda was: was + b"\0",
            lambda _: "text",
            lambda _: 0,
            *(
                [lambda was: was[:-4], lambda was: _with(was, np.nan), lambda was: _with(was, -3e38)][
                    : 3 * (kind == "pq4")
                ]
            ),
        ],
        "ranks": [
            lambda _: b"",
            lambda was: was[:-1],
            lambda was: was[:-2],
            lambda was: was + bytes(2),
            lambda was: b"\xff\xff" + was[2:],
            lambda _: "text",
        ],
    }
    for part, ways in changes.items():
        key = f"{kind} {part}"
        was = said(folder, key)
        for change in ways:
            edited(folder, key, change(was))
            assert refused(folder), part
        with closing(sqlite3.connect(folder / "catalog.sqlite")) as catalog:
            if part != "codes":
                catalog.execute("DELETE FROM meta WHERE key = ?", (key,))
                catalog.commit()
                assert refused(folder)
                catalog.execute("INSERT INTO meta (key, value) VALUES (?, ?)", (key, was))
                catalog.commit()
        edited(folder, key, was)
    assert not refused(folder)


def _with(was: bytes, value: float) -> bytes:
    numbers = np.frombuffer(was, dtype="<f4").copy()
    numbers[3] = value
    return numbers.tobytes()


def test_digests_that_are_missing(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as catalog:
        was = json.loads(catalog.execute("SELECT digests FROM segments").fetchone()[0])
        for name in ("binary_codes", "pq4_facts"):
            digests = json.dumps({key: value for key, value in was.items() if key != name})
            catalog.execute("UPDATE segments SET digests = ?", (digests,))
            catalog.commit()
            assert refused(folder)


def test_segments_that_cannot_have_codes(tmp_path: Path) -> None:
    """A second one after 640 rows, where only a whole piece has a next: blocks would be looked for where none are.
    Seen red with any number of rows taken for a segment that is not the last."""
    folder = tmp_path / "saved"
    filled(rows=ROWS[:640]).save(folder)
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as catalog:
        number = catalog.execute("SELECT number FROM segments").fetchone()[0]
        catalog.execute(
            "INSERT INTO segments SELECT number + 1, rows, coded, digests, rights, born, died FROM segments"
        )
        catalog.commit()
    shutil.copytree(folder / "segments" / f"{number:08d}", folder / "segments" / f"{number + 1:08d}")
    assert not refused(folder)  # codes end with the first
    right = json.loads(said(folder, "binary codes"))
    edited(folder, "binary codes", json.dumps(right | {"rows": 1280}))
    assert refused(folder)


def test_codes_of_more_rows_than_there_are(tmp_path: Path) -> None:
    """Their last block is full, so its file does not tell. Seen red without a look at how many there are."""
    filled(rows=ROWS[:640]).save(tmp_path / "saved")
    right = json.loads(said(tmp_path / "saved", "binary codes"))
    for rows in (641, 704, 2**40):
        edited(tmp_path / "saved", "binary codes", json.dumps(right | {"rows": rows}))
        assert refused(tmp_path / "saved")


def test_a_newer_version_is_told_apart(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as catalog:
        catalog.execute(f"PRAGMA user_version = {schema.FORMAT + 1}")
    with pytest.raises(VersionMismatch, match="install a newer evidex"):
        DenseIndex.load(folder)


@pytest.mark.parametrize("filler", ["random", "ones", "zeros"])
def test_codes_of_any_bytes_give_permitted_rows_in_order_with_their_scores(filler: str, folder: Path) -> None:
    """P1, P3, P4: what lies there decides which rows are scored, nothing else; facts that are no numbers included."""
    rng = np.random.default_rng(4)
    for path in of_codes(folder):
        whole = path.read_bytes()
        size = len(whole) - 128
        body = {"random": rng.bytes(size), "ones": b"\xff" * size, "zeros": bytes(size)}[filler]
        path.write_bytes(whole[:128] + body)
    loaded = DenseIndex.load(folder)
    allowed = loaded.ids()[::3]
    mask = AllowMask.from_ids(loaded, allowed)
    exact = loaded.search(QUERIES, 2000, allow=mask)
    for kind in KINDS:
        for candidates in (1, 30, 500):
            found = loaded.search(QUERIES, 10, allow=mask, plan=f"{kind} codes, {candidates} rescored")
            for query, (ids, scores) in enumerate(found):
                right = dict(zip(*(part.tolist() for part in exact[query]), strict=True))
                assert len(ids) == 10 == len(set(ids.tolist()))
                assert [right[one] for one in ids.tolist()] == scores.tolist()
                assert scores.tolist() == sorted(scores.tolist(), reverse=True)
        loaded.search(QUERIES, 10, recall=0.9)
    loaded.add(None, QUERIES)
    loaded.optimize()
    assert loaded.search(QUERIES, 1, plan="pq4 codes, 50 rescored").counts.min() == 1
