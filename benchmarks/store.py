# SPDX-License-Identifier: Apache-2.0
"""What durability costs: ingest beside sqlite-vec and lancedb, opening, revising, compacting.

    python benchmarks/store.py [--only ingest,open,revise,compact] [--folder F] [--rounds 3]

One publish per batch, each durable before the next one (evidex and sqlite-vec wait for the disk; lancedb does not).
Vectors are given. The clock stops when the rows can be searched under a principal's rights.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import Floats, machine, wordnet

from evidex import Collection, Document, Policy, Principal

ROWS, BATCH = 100_000, 10_000
ALICE = Principal("alice", "acme", {"staff"})


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def documents(vectors: Floats, rule: Any, chunks: int) -> Iterator[Document]:
    for first in range(0, len(vectors), chunks):
        texts = [f"row {row}, with a little text of its own" for row in range(first, first + chunks)]
        yield Document(f"document {first}", "1", chunks=texts, vectors=vectors[first : first + chunks], rule=rule)


def evidex(folder: Path, vectors: Floats, query: Floats, chunks: int = 1) -> None:
    policy = Policy()
    rule = policy.rule("acme", {"staff"})
    with Collection.open(folder / "kb", "rw", policy=policy, dim=vectors.shape[1], metric="ip") as kb:
        kb.put_documents(documents(vectors, rule, chunks), batch=BATCH)
        assert kb.search(query, 10, principal=ALICE).counts[0] == 10


def sqlite_vec(folder: Path, vectors: Floats, query: Floats) -> None:
    import pysqlite3 as sqlite3  # the standard one is often built without extensions
    import sqlite_vec as extension

    connection = sqlite3.connect(folder / "vec.sqlite", isolation_level=None)
    connection.enable_load_extension(True)
    extension.load(connection)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"CREATE VIRTUAL TABLE vectors USING vec0(embedding float[{vectors.shape[1]}], tenant text)")
    connection.execute("CREATE TABLE texts (id INTEGER PRIMARY KEY, body TEXT)")
    for first in range(0, len(vectors), BATCH):
        connection.execute("BEGIN")
        rows = range(first, min(first + BATCH, len(vectors)))
        connection.executemany(
            "INSERT INTO vectors (rowid, embedding, tenant) VALUES (?, ?, 'acme')",
            ((row, vectors[row].tobytes()) for row in rows),
        )
        connection.executemany(
            "INSERT INTO texts VALUES (?, ?)", ((row, f"row {row}, with a little text of its own") for row in rows)
        )
        connection.execute("COMMIT")
    found = connection.execute(
        "SELECT rowid FROM vectors WHERE embedding MATCH ? AND k = 10 AND tenant = 'acme'", (query.tobytes(),)
    ).fetchall()
    assert len(found) == 10
    connection.close()


def lancedb(folder: Path, vectors: Floats, query: Floats) -> None:
    import lancedb as database
    import pyarrow as pa

    dim = vectors.shape[1]
    kind = pa.schema(
        [("id", pa.int64()), ("vector", pa.list_(pa.float32(), dim)), ("text", pa.string()), ("tenant", pa.string())]
    )
    table = database.connect(folder / "lance").create_table("rows", schema=kind)
    for first in range(0, len(vectors), BATCH):
        some = vectors[first : first + BATCH]
        ids = range(first, first + len(some))
        flat = pa.FixedSizeListArray.from_arrays(pa.array(some.reshape(-1)), dim)
        texts = [f"row {row}, with a little text of its own" for row in ids]
        table.add(pa.table([pa.array(ids), flat, pa.array(texts), pa.array(["acme"] * len(some))], schema=kind))
    found = table.search(query).where("tenant = 'acme'", prefilter=True).limit(10).to_arrow()
    assert found.num_rows == 10


SYSTEMS: dict[str, Callable[[Path, Floats, Floats], None]] = {
    "evidex": evidex,
    "evidex, documents of 10 chunks": partial(evidex, chunks=10),
    "sqlite-vec": sqlite_vec,
    "lancedb": lancedb,
}


def ingest(folder: Path, rounds: int) -> None:
    rows, queries = wordnet()
    vectors = rows[:ROWS]
    took: dict[str, list[float]] = {name: [] for name in SYSTEMS}
    bytes_of = {}
    for turn in range(rounds):
        for name, system in SYSTEMS.items():
            with tempfile.TemporaryDirectory(dir=folder) as own:
                began = time.perf_counter()
                system(Path(own), vectors, queries[turn])
                took[name].append(time.perf_counter() - began)
                bytes_of[name] = size(Path(own))
    for name, seconds in took.items():
        median = float(np.median(seconds))
        print(
            f"{name}: {ROWS / median:,.0f} rows/s ({', '.join(f'{one:.2f}' for one in seconds)} s), "
            f"{bytes_of[name] / ROWS:,.0f} bytes/row on disk"
        )


OPEN = """
import json, sys, time
before = time.perf_counter()
import numpy as np
from evidex import Collection, Policy, Principal
def private():
    kinds = {"Private_Clean:": 0, "Private_Dirty:": 0, "Shared_Clean:": 0, "mapped": 0}
    anonymous = 0
    npy = False
    for line in open("/proc/self/smaps"):
        parts = line.split()
        if "-" in parts[0] and ":" not in parts[0]:
            npy = line.rstrip().endswith(".npy")
        elif parts[0] in kinds and npy:
            kinds[parts[0]] += int(parts[1])
        elif parts[0] in ("Private_Dirty:",):
            anonymous += int(parts[1])
    return anonymous, kinds
start, _ = private()
began = time.perf_counter()
kb = Collection.open(sys.argv[1], policy=Policy())
opened = time.perf_counter() - began
after, kinds = private()
query = np.load(sys.argv[2])
alice = Principal("alice", "acme", {"staff"})
times = []
for _ in range(5):
    began = time.perf_counter()
    kb.search(query, 10, principal=alice, threads=1)
    times.append(time.perf_counter() - began)
last, kinds_after = private()
print(json.dumps({"open_ms": opened * 1e3, "private_kb": after - start, "npy_before_search_kb": kinds,
                  "search_ms": [t * 1e3 for t in times], "private_after_kb": last - start, "npy_after_kb": kinds_after,
                  "rows": len(kb)}), flush=True)
sys.stdin.read()
"""


def opening(folder: Path, rows: int = 1_000_000, dim: int = 384) -> None:
    path, query = folder / "large", folder / "query.npy"
    rng = np.random.default_rng(0)
    if not path.exists():
        policy = Policy()
        rule = policy.rule("acme", {"staff"})
        with Collection.open(path, "rw", policy=policy, dim=dim, metric="ip") as kb:
            began = time.perf_counter()
            for first in range(0, rows, 100_000):
                vectors = rng.standard_normal((100_000, dim), dtype=np.float32)
                some = (
                    Document(
                        f"d{first + at}",
                        "1",
                        chunks=[f"{first + at + c}" for c in range(10)],
                        vectors=vectors[at : at + 10],
                        rule=rule,
                    )
                    for at in range(0, len(vectors), 10)
                )
                kb.put_documents(some, batch=100_000)
            print(f"{rows} x {dim} stored in {time.perf_counter() - began:.1f} s, {size(path) / rows:,.0f} bytes/row")
    np.save(query, rng.standard_normal(dim, dtype=np.float32))
    children = []
    for _ in range(2):
        child = subprocess.Popen(
            [sys.executable, "-c", OPEN, str(path), str(query)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stdout is not None
        found = json.loads(child.stdout.readline())
        children.append(child)
        print(
            f"opened in {found['open_ms']:.1f} ms, {found['private_kb'] / 1024:.1f} MiB private; searches "
            f"{', '.join(f'{one:.1f}' for one in found['search_ms'])} ms, "
            f"then {found['private_after_kb'] / 1024:.1f} MiB private; of the mapped files {found['npy_after_kb']}"
        )
    for child in children:
        child.communicate("")


def written() -> int:
    """Bytes this process had written to disk so far."""
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("write_bytes:"))


def revise(folder: Path) -> None:
    rows, _ = wordnet()
    vectors = rows[:ROWS]
    policy = Policy()
    rule = policy.rule("acme", {"staff"})
    path = folder / "revise"
    with Collection.open(path, "rw", policy=policy, dim=384, metric="ip") as kb:
        kb.put_documents(documents(vectors, rule, 1), batch=BATCH)
        took, bytes_of = [], []
        for turn in range(20):
            before = written()
            began = time.perf_counter()
            kb.put_document("document 77", f"r{turn}", chunks=["revised"], vectors=vectors[turn : turn + 1], rule=rule)
            took.append(time.perf_counter() - began)
            bytes_of.append(written() - before)
        print(
            f"revising one of {ROWS} documents: {np.median(took) * 1e3:.1f} ms (fsyncs included), "
            f"{np.median(bytes_of) / 1024:.0f} KiB written"
        )
        took = []
        for _ in range(20):
            began = time.perf_counter()
            kb.set_rule("acme", "document 78", policy.rule("acme", {"staff", f"g{len(took)}"}))
            took.append(time.perf_counter() - began)
        print(f"another rule for one: {np.median(took) * 1e3:.1f} ms")
    shutil.rmtree(path)


def compact(folder: Path) -> None:
    rows, _ = wordnet()
    policy = Policy()
    rule = policy.rule("acme", {"staff"})
    path, fresh = folder / "rounds", folder / "fresh"
    with Collection.open(path, "rw", policy=policy, dim=384, metric="ip") as kb:
        kb.put_documents(documents(rows[:10_000], rule, 10), batch=BATCH)
        for turn in range(100):
            some = rows[20_000 + turn * 500 : 20_000 + turn * 500 + 500]
            kb.put_documents(
                Document(f"passing {turn} {at}", "1", chunks=["it passes"], vectors=some[at : at + 1], rule=rule)
                for at in range(len(some))
            )
            for at in range(len(some)):
                kb.delete_document("acme", f"passing {turn} {at}") if at % 50 == 0 else None
        full = size(path)
        for turn in range(100):
            for at in range(500):
                if at % 50:
                    kb.delete_document("acme", f"passing {turn} {at}")
        began = time.perf_counter()
        kb.compact()
        took = time.perf_counter() - began
    other = Policy()
    with Collection.open(fresh, "rw", policy=other, dim=384, metric="ip") as kb:
        kb.put_documents(documents(rows[:10_000], other.rule("acme", {"staff"}), 10), batch=BATCH)
    print(
        f"100 rounds of adding 500 and deleting them, 10,000 stay: {full:,} bytes, {size(path):,} after compact() "
        f"({took:.2f} s), {size(fresh):,} built afresh: {size(path) / size(fresh):.3f}"
    )
    for one in (path, fresh):
        shutil.rmtree(one)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="ingest,open,revise,compact")
    parser.add_argument("--folder", type=Path, help="on the disk to measure; a temporary one without")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print(machine())
    folder = given.folder or Path(tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    parts: dict[str, Callable[[], None]] = {
        "ingest": lambda: ingest(folder, given.rounds),
        "open": lambda: opening(folder),
        "revise": lambda: revise(folder),
        "compact": lambda: compact(folder),
    }
    for name in given.only.split(","):
        parts[name]()
    if given.folder is None:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
