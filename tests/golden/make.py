# SPDX-License-Identifier: Apache-2.0
"""Makes the folders that every later version must read, each as a zip: ``python tests/golden/make.py [SET ...]``.

Run once for each set of a version of the format, by the version that brought it. What is in git is never made anew.
"""

from __future__ import annotations

import json
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import golden_rows as rows
import golden_words as words
from evidex.store.schema import FORMAT

SETS: dict[str, dict[str, tuple[Callable[[Path], None], Callable[[Path], Any]]]] = {
    "": {
        "float32": (lambda folder: rows.make_collection(folder, "float32", "cosine"), rows.read_collection),
        "int8": (lambda folder: rows.make_collection(folder, "int8", "ip"), rows.read_collection),
        "index": (rows.make_index, rows.read_index),
    },
    "words": {
        "collection": (words.make_collection, words.read_collection),
        "texts": (words.make_texts, words.read_texts),
        "vectors": (words.make_vectors, words.read_vectors),
    },
    "codes": {"codes": (words.make_codes, words.read_codes)},
}
"""How each folder of a set is made, and read. The first set is that of the first version; the others came later."""


def place(name: str) -> Path:
    """Where a set of this version lies."""
    return Path(__file__).parent / name / f"v{FORMAT}"


def pack(folder: Path, to: Path) -> None:
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder)
            if path.is_file() and (name.parts[0] == "segments" or name.name == "catalog.sqlite"):
                file.write(path, name)


def make(name: str, at: Path) -> None:
    """Makes a set in a folder that is not there yet."""
    at.mkdir(parents=True)
    expected = {}
    with tempfile.TemporaryDirectory() as made:
        for one, (write, read) in SETS[name].items():
            write(Path(made) / one)
            expected[one] = read(Path(made) / one)
            pack(Path(made) / one, at / f"{one}.zip")
    lines = (f"{json.dumps(one)}: {json.dumps(said)}" for one, said in expected.items())
    (at / "expected.json").write_text("{" + ",\n".join(lines) + "}\n", encoding="ascii")


def main(names: list[str]) -> None:
    """Makes the sets named, or all that are not there."""
    if kept := [str(place(name)) for name in names if place(name).exists()]:
        raise SystemExit(f"{', '.join(kept)}: there already; what is in git is never made anew")
    for name in names or SETS:
        if not place(name).exists():
            make(name, place(name))
            print(f"made {place(name)}: {', '.join(SETS[name])}")


if __name__ == "__main__":
    main(sys.argv[1:])
