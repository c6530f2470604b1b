# SPDX-License-Identifier: Apache-2.0
"""A corpus and questions for ``evidex bench sparse``: made-up words, few of them often, many of them seldom."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

_SYLLABLES = "bar dol fen gim hul jop kez lum mor nib pax qol rud sev tam vok wex zil".split()


def words() -> list[str]:
    """Distinct ones that no stemmer shortens to the same and no list of stop words has."""
    return [one + other for one in _SYLLABLES for other in _SYLLABLES]


def texts(count: int, longest: int, seed: int) -> list[str]:
    """Texts of 3 to ``longest`` words each, number i of them as often as 1 / i."""
    known = words()
    shares = 1 / np.arange(1, len(known) + 1)
    rng = np.random.default_rng(seed)
    return [
        " ".join(rng.choice(known, int(rng.integers(3, longest + 1)), p=shares / shares.sum()).tolist())
        for _ in range(count)
    ]


def files(folder: Path, rows: int = 200, queries: int = 12) -> list[str]:
    """Options that name a corpus, the first half of whose documents have titles, and questions."""
    documents = [
        {"id": str(row), "text": text, **({"title": text.split()[0]} if row < rows // 2 else {})}
        for row, text in enumerate(texts(rows, 30, 0))
    ]
    asked = [{"id": str(row), "text": text} for row, text in enumerate(texts(queries, 8, 1))]
    for name, lines in (("corpus", documents), ("questions", asked)):
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return ["--corpus", str(folder / "corpus.jsonl"), "--questions", str(folder / "questions.jsonl")]
