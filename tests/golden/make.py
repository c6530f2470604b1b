# SPDX-License-Identifier: Apache-2.0
"""Makes the folders that every later version must read, each as a zip: ``python tests/golden/make.py``.

Run once for each version of the format, by the version that brought it. What is in git is never made anew.
"""

from __future__ import annotations

import json
import sys
import tempfile
import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from evidex import ANY_IN_TENANT, UNRESTRICTED, Collection, Columns, DenseIndex, Document, Policy, Principal, Rule
from evidex.access import Caller
from evidex.store.schema import FORMAT

COLUMNS: dict[str, type] = {"lang": str, "year": int, "weight": float, "draft": bool, "on": date}
CALLERS: dict[str, Caller] = {
    "ann": Principal("ann", "acme", {"a"}),
    "bob": Principal("bob", "acme", {"b"}),
    "zoe": Principal("zoe", "zenith", {"a"}),
    "everything": UNRESTRICTED,
}
QUERY = np.arange(16, dtype=np.float32) - 7.25


def vectors(rows: int, seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal((rows, 16)).astype(np.float32)


def numbered(number: int, rules: list[Rule]) -> Document:
    odd = {"lang": "de", "year": -3, "weight": 0.1, "draft": True, "on": date(2024, 2, 29)}
    chunks = [
        f"Erster Absatz von {number}: Gr\u00f6\u00dfe, \u5927\u304d\u3055, \U0001f4cf.\n\n",
        "Second paragraph.\n",
    ]
    return Document(
        f"doc {number}",
        "1",
        chunks=chunks,
        vectors=vectors(2, number),
        rule=rules[number % 4],
        metadata=odd if number % 2 else {"lang": "en"},
    )


def make_collection(folder: Path, codec: str, metric: str) -> None:
    policy = Policy()
    with Collection.open(
        folder, "rw", policy=policy, dim=16, metric=metric, codec=codec, columns=Columns(COLUMNS)
    ) as collection:
        rules = [
            policy.rule("acme", {"a"}),
            policy.rule("acme", {"b"}, {"c"}),
            policy.rule("acme", ANY_IN_TENANT),
            policy.rule("zenith", {"a"}),
        ]
        for half in (range(4), range(4, 8)):
            collection.put_documents(numbered(number, rules) for number in half)
            if 0 in half:
                collection.optimize()
        collection.put_document("doc 0", "2", chunks=["Anew."], vectors=vectors(1, 99), rule=rules[0])
        collection.delete_document("acme", "doc 5")
        collection.set_rule("acme", "doc 2", rules[0])
        collection.change_rule(rules[1], {"b", "d"})
        collection.put_document("long", "1", chunks=["x" * 20_000, "the end"], vectors=vectors(2, 7), rule=rules[2])


def make_index(folder: Path) -> None:
    policy = Policy()
    index = DenseIndex(16, metric="l2", policy=policy, columns=Columns(COLUMNS))
    rules = [policy.rule("acme", {"a"}), policy.rule("acme", ANY_IN_TENANT)]
    metadata: dict[str, list[Any]] = {
        "lang": ["en", "de", None, "en", "fr"],
        "on": [date(2020, 1, 1)] * 5,
        "year": list(range(5)),
    }
    index.add([3, 1, 4, 15, 9], vectors(5, 5), [rules[i % 2] for i in range(5)], metadata=metadata)
    index.remove([4])
    index.save(folder)


def answers(reader: Any) -> dict[str, Any]:
    """What each caller finds: ids, and scores to the bit."""
    found = {}
    for name, principal in CALLERS.items():
        ids, scores = reader.search(QUERY, 50, principal=principal)[0]
        found[name] = [ids.tolist(), [float(score).hex() for score in scores]]
    return found


def texts(collection: Collection) -> dict[str, Any]:
    return {
        name: [
            [one.id, one.source, one.revision, len(one.text), one.text[:60]] for one in collection.chunks(principal=p)
        ]
        for name, p in CALLERS.items()
    }


def pack(folder: Path, to: Path) -> None:
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder)
            if path.is_file() and (name.parts[0] == "segments" or name.name == "catalog.sqlite"):
                file.write(path, name)


def main(at: Path) -> None:
    at.mkdir()
    expected = {}
    with tempfile.TemporaryDirectory() as made:
        for name, codec, metric in [("float32", "float32", "cosine"), ("int8", "int8", "ip")]:
            make_collection(Path(made) / name, codec, metric)
            with Collection.open(Path(made) / name, policy=Policy()) as collection:
                expected[name] = {"answers": answers(collection), "chunks": texts(collection)}
        make_index(Path(made) / "index")
        expected["index"] = {"answers": answers(DenseIndex.load(Path(made) / "index", policy=Policy()))}
        for name in expected:
            pack(Path(made) / name, at / f"{name}.zip")
    lines = (f"{json.dumps(name)}: {json.dumps(said)}" for name, said in expected.items())
    (at / "expected.json").write_text("{" + ",\n".join(lines) + "}\n", encoding="ascii")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / f"v{FORMAT}")
