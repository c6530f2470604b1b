# SPDX-License-Identifier: Apache-2.0
"""DenseIndex.save and load: what comes back is what was there, or a typed error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reference
from evidex import (
    ANY_IN_TENANT,
    UNRESTRICTED,
    AccessError,
    AllowMask,
    Collection,
    Columns,
    CorruptFile,
    DenseIndex,
    EvidexError,
    InvalidInput,
    LockHeld,
    MissingStore,
    Policy,
    Principal,
    StaleMask,
    where,
)
from evidex.store.files import WriterLock

ALICE = Principal("alice", "acme", {"a"})
TYPES = {"lang": str, "n": int, "day": date, "weight": float, "open": bool}


def filled(codec: str = "float32", metric: str = "cosine", rows: int = 700, dim: int = 40) -> DenseIndex:
    """Guarded, with columns, groups, removed rows, and rules that were changed."""
    rng = np.random.default_rng(7)
    policy = Policy()
    rules = [policy.rule("acme", {name}) for name in "abc"] + [policy.rule("acme", ANY_IN_TENANT, {"d"})]
    index = DenseIndex(dim, metric=metric, codec=codec, policy=policy, columns=Columns(TYPES))
    metadata: dict[str, Any] = {
        "lang": ["en", "de", None, "naïve", ""] * (rows // 5),
        "n": [1, None, 2**63 - 1, -5, 0] * (rows // 5),
        "day": [date(2020, 1, 1), None, date.min, date.max, date(2024, 2, 29)] * (rows // 5),
        "weight": [1.5, None, 0.1, 1e300, -0.0] * (rows // 5),
        "open": [True, False, None, True, False] * (rows // 5),
    }
    of_document = np.arange(rows) // 3 % 4
    groups = np.arange(rows) // 3 + 10_000
    index.add(None, rng.standard_normal((rows, dim)), [rules[i] for i in of_document], groups, metadata=metadata)
    index.remove(np.arange(0, rows, 11))
    policy.change(rules[1], {"a"})
    index.set_rule([10_002], rules[0])
    return index


def same(one: DenseIndex, other: DenseIndex, principal: Any = ALICE) -> None:
    """Every answer, bit for bit."""
    queries = np.random.default_rng(8).standard_normal((4, one.dim))
    flag = where("open") == True  # noqa: E712
    for asked in (None, where("lang") == "en", where("n") > 0, where("day") < date(2024, 3, 1), flag):
        mine = one.search(queries, 20, principal=principal, where=asked)
        its = other.search(queries, 20, principal=principal, where=asked)
        assert mine.ids.tobytes() == its.ids.tobytes() and mine.scores.tobytes() == its.scores.tobytes()
    grouped, others = (index.search(queries, 9, principal=principal, group_by=True) for index in (one, other))
    assert grouped.groups is not None and others.groups is not None
    assert grouped.groups.tolist() == others.groups.tolist()
    assert one.ids(principal=principal).tolist() == other.ids(principal=principal).tolist()
    assert (
        one.get(one.ids(principal=principal), principal=principal).tobytes()
        == other.get(other.ids(principal=principal), principal=principal).tobytes()
    )
    assert one.explain(queries[0], 5, principal=principal) == other.explain(queries[0], 5, principal=principal)
    assert len(one) == len(other) and one.columns == other.columns


@pytest.mark.parametrize("codec", reference.CODECS)
@pytest.mark.parametrize("rows", [15, 700, 3000])  # 3,000 have codes beside them
def test_what_is_loaded_answers_as_what_was_saved(tmp_path: Path, codec: str, rows: int) -> None:
    """Seen red with one rule for all rows in the segment, and with a row's groups left out."""
    index = filled(codec, rows=rows)
    index.save(tmp_path / "saved")
    same(index, DenseIndex.load(tmp_path / "saved", policy=Policy()))


@pytest.mark.parametrize("metric", reference.METRICS)
def test_each_metric(tmp_path: Path, metric: str) -> None:
    index = filled(metric=metric)
    index.save(tmp_path / "saved")
    loaded = DenseIndex.load(tmp_path / "saved", policy=Policy())
    assert loaded.metric == index.metric
    same(index, loaded)


def test_an_open_index_without_codes_and_an_empty_one(tmp_path: Path) -> None:
    index = DenseIndex(40, prescan=False)
    index.save(str(tmp_path / "saved"))
    assert len(DenseIndex.load(tmp_path / "saved")) == 0
    rows = np.random.default_rng(1).standard_normal((3000, 40))
    index.add(None, rows)
    index.save(tmp_path / "saved")
    loaded = DenseIndex.load(tmp_path / "saved")
    assert loaded.explain(rows[0]).plan == index.explain(rows[0]).plan == "exact scan"


def test_the_loaded_index_can_be_changed_and_the_folder_stays(tmp_path: Path) -> None:
    index = filled()
    index.save(tmp_path / "saved")
    loaded = DenseIndex.load(tmp_path / "saved", policy=(policy := Policy()))
    rule = policy.rule("acme", {"a"})
    new = np.random.default_rng(2).standard_normal((2, 40))
    ids = loaded.add(None, new, rule, metadata={"lang": ["xx", None]})
    assert ids.tolist() == index.add(None, new, index.policy.rule("acme", {"a"})).tolist()  # type: ignore[union-attr]
    assert loaded.ids(principal=ALICE, where=where("lang") == "xx").tolist() == [ids[0]]
    loaded.upsert([1], new[:1], rule)
    loaded.remove([2])
    with pytest.raises(InvalidInput, match="stored already"):
        loaded.add([1], new[:1], rule)
    loaded.set_rule([10_003], rule)
    before = loaded.ids(principal=ALICE)
    loaded.optimize()
    assert sorted(loaded.ids(principal=ALICE)) == sorted(before)
    assert len(DenseIndex.load(tmp_path / "saved", policy=Policy())) == len(filled())


def test_ids_that_were_removed_are_not_chosen_again(tmp_path: Path) -> None:
    index = DenseIndex(2)
    index.add([41], np.eye(2)[:1])
    index.remove([41])
    index.save(tmp_path / "saved")
    assert DenseIndex.load(tmp_path / "saved").add(None, np.eye(2)[:1]).tolist() == [42]


def test_a_mask_of_the_saved_one_is_stale(tmp_path: Path) -> None:
    index = DenseIndex(2)
    index.add([1, 2], np.eye(2))
    mask = AllowMask.from_ids(index, [1])
    index.save(tmp_path / "saved")
    with pytest.raises(StaleMask):
        DenseIndex.load(tmp_path / "saved").search([1.0, 0.0], allow=mask)


def test_saving_again_replaces_and_what_was_loaded_stays(tmp_path: Path) -> None:
    first, second = filled(rows=700), filled(rows=3000)
    first.save(tmp_path / "saved")
    loaded = DenseIndex.load(tmp_path / "saved", policy=Policy())
    second.save(tmp_path / "saved")
    same(second, DenseIndex.load(tmp_path / "saved", policy=Policy()))
    same(first, loaded)  # its files are gone, its pages are not
    assert len(os.listdir(tmp_path / "saved" / "segments")) == 1


def test_rights_of_the_loaded_one_follow_its_policy(tmp_path: Path) -> None:
    index = filled()
    index.save(tmp_path / "saved")
    loaded = DenseIndex.load(tmp_path / "saved", policy=(policy := Policy()))
    assert loaded.count(principal=ALICE) > 0
    for rule in policy.rules():
        policy.change(rule, {"nobody"})
    assert loaded.count(principal=ALICE) == 0


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(MissingStore):
        DenseIndex.load(tmp_path / "nothing")
    filled().save(tmp_path / "guarded")
    with pytest.raises(AccessError, match="policy"):
        DenseIndex.load(tmp_path / "guarded")
    with pytest.raises(InvalidInput, match="policy"):
        DenseIndex.load(tmp_path / "guarded", policy=object())  # type: ignore[arg-type]
    DenseIndex(2).save(tmp_path / "open")
    with pytest.raises(InvalidInput, match="policy"):
        DenseIndex.load(tmp_path / "open", policy=Policy())
    Collection.open(tmp_path / "kb", "rw", policy=UNRESTRICTED, dim=2).close()
    with pytest.raises(InvalidInput, match=r"Collection\.open"):
        DenseIndex.load(tmp_path / "kb")
    with pytest.raises(InvalidInput, match=r"Collection\.open"):
        DenseIndex(2).save(tmp_path / "kb")
    with pytest.raises(InvalidInput, match=r"DenseIndex\.load"):
        Collection.open(tmp_path / "open", policy=UNRESTRICTED)
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput):
        DenseIndex(2).save(tmp_path / "file")
    for wrong in ("", "a\0b", 5, b"x"):
        with pytest.raises(InvalidInput, match="path"):
            DenseIndex(2).save(wrong)  # type: ignore[arg-type]
    lock = WriterLock(str(tmp_path / "open"))
    with pytest.raises(LockHeld, match=f"process {os.getpid()}"):
        DenseIndex(2).save(tmp_path / "open")
    lock.release()


def test_each_file_cut_or_gone_is_refused_whole(tmp_path: Path) -> None:  # case D8
    filled(rows=3000).save(tmp_path / "saved")
    files = [path for path in (tmp_path / "saved").rglob("*") if path.suffix in (".npy", ".sqlite")]
    assert len(files) == 8
    for path in files:
        whole = path.read_bytes()
        for cut in (0, 1, 100, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:cut])
            if path.suffix == ".sqlite" and cut == len(whole) - 1:
                continue  # the last byte of its last page is not part of anything
            with pytest.raises((CorruptFile, MissingStore)):
                DenseIndex.load(tmp_path / "saved", policy=Policy())
            assert path.stat().st_size == cut
        path.write_bytes(whole)
        path.rename(path.with_suffix(".away"))
        with pytest.raises((CorruptFile, MissingStore)):
            DenseIndex.load(tmp_path / "saved", policy=Policy())
        path.with_suffix(".away").rename(path)
    same(filled(rows=3000), DenseIndex.load(tmp_path / "saved", policy=Policy()))


SAVES = """
import sys
import numpy as np
from evidex import DenseIndex
for turn in range(10**6):
    index = DenseIndex(64)
    index.add(None, np.full((1000 + turn, 64), 1.0 + turn, dtype=np.float32) + np.eye(64, dtype=np.float32)[0])
    index.save(sys.argv[1])
    print(1000 + turn, flush=True)
"""


@pytest.mark.parametrize("kills", [4, pytest.param(100, marks=pytest.mark.long)])
def test_killed_while_saving_the_old_one_or_the_new_one_is_there(tmp_path: Path, kills: int) -> None:  # case D7
    rng = np.random.default_rng(3)
    folder = tmp_path / "saved"
    for _ in range(kills):
        with subprocess.Popen([sys.executable, "-c", SAVES, str(folder)], stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            said = int(child.stdout.readline())
            time.sleep(float(rng.uniform(0, 0.1)))
            child.send_signal(signal.SIGKILL)
            rest = child.stdout.read().split()
        last = max([said, *map(int, rest)])
        try:
            found = len(DenseIndex.load(folder))
        except EvidexError as error:
            raise AssertionError(f"nothing could be loaded after {last} rows were saved") from error
        assert found in (last, last + 1)
