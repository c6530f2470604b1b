# SPDX-License-Identifier: Apache-2.0
"""How good the sparse leg is: on judged questions, on names that no vector knows, and fused with the dense leg.

    python benchmarks/sparse.py [--only quality,grid,names,hybrid] [--documents 20000] [--names 200] [--seed 0]

How fast it is, beside other libraries: evidex bench sparse.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from common import data_folder, machine

from evidex import DenseIndex, SparseIndex
from evidex.bench.sparse.texts import documents, lines
from evidex.evaluation import mean_metrics, metrics
from evidex.fusion import rrf
from evidex.text import Analyzer

K = 10
DEPTH = 100  # of each leg before fusion
DECOYS = 4  # documents for each name that have its piece as a word
RESAMPLES = 2000
SETS = ("scifact", "cranfield")

# The declared grid; nothing outside it was tried.
K1S = (0.9, 1.2, 1.5, 2.0)
BS = (0.4, 0.6, 0.75, 0.9)
ANALYZERS: dict[str, Callable[[], Analyzer]] = {
    "stems, parts": lambda: Analyzer("english"),
    "stems, no parts": lambda: Analyzer("english", split_identifiers=False),
    "no stems, parts": lambda: Analyzer("english", stem=False),
    "no stems, no parts": lambda: Analyzer("english", stem=False, split_identifiers=False),
}

Ranking = list[list[str]]


@dataclass(frozen=True)
class Judged:
    """Questions of one split, and what answers them."""

    texts: list[str]
    grades: list[dict[str, int]]


@cache
def corpus(name: str) -> tuple[list[str], list[str]]:
    """Ids and texts, each its title and then its text."""
    path = data_folder(name) / "corpus.jsonl"
    return [str(line["id"]) for _, line in lines(path, "corpus")], documents(path, "corpus")


@cache
def judged(name: str, split: str = "") -> Judged:
    folder = data_folder(name)
    asked = {str(line["id"]): str(line["text"]) for _, line in lines(folder / f"queries{split}.jsonl", "questions")}
    grades: dict[str, dict[str, int]] = {one: {} for one in asked}
    with (folder / f"qrels{split}.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if row["query_id"] in grades and int(row["grade"]) > 0:
                grades[row["query_id"]][row["doc_id"]] = int(row["grade"])
    return Judged(list(asked.values()), list(grades.values()))


@cache
def indexed(name: str, analyzer: str = "stems, parts") -> SparseIndex:
    index = SparseIndex(analyzer=ANALYZERS[analyzer]())
    index.add(None, corpus(name)[1])
    return index


def found(ids: Sequence[str], rows: npt.NDArray[np.int64]) -> Ranking:
    """Names of the rows of each query, padding left out."""
    return [[ids[row] for row in one if row != -1] for one in rows.tolist()]


def binary(ranked: Ranking, grades: Sequence[Mapping[str, int]]) -> list[float]:
    """nDCG@10 of each question with an answer, every grade counted as one."""
    values = [metrics(one, list(wanted), K).ndcg for one, wanted in zip(ranked, grades, strict=True)]
    return [value for value in values if value is not None]


def graded(ranked: Ranking, grades: Sequence[Mapping[str, int]]) -> float:
    """Mean nDCG@10 with the grade as the gain, as trec_eval has it."""

    def gain(values: Sequence[int]) -> float:
        return math.fsum(value / math.log2(rank + 1) for rank, value in enumerate(values[:K], 1))

    return float(
        np.mean(
            [
                gain([wanted.get(one, 0) for one in ids]) / gain(sorted(wanted.values(), reverse=True))
                for ids, wanted in zip(ranked, grades, strict=True)
                if wanted
            ]
        )
    )


def quality() -> None:
    """k1 = 1.2, b = 0.75, Analyzer("english"), nothing tuned."""
    print('\nnDCG@10, k1=1.2, b=0.75, Analyzer("english"), title and text as one text')
    for name in SETS:
        asked = judged(name)
        ranked = found(corpus(name)[0], indexed(name).search(asked.texts, K, threads=1).ids)
        scored = mean_metrics(metrics(one, list(wanted), K) for one, wanted in zip(ranked, asked.grades, strict=True))
        by_grades = graded(ranked, asked.grades)
        print(f"{name}: {scored.ndcg:.4f} over {scored.answerable} questions, by grades {by_grades:.4f}")


def grid() -> None:
    """The best point on the questions for training, and what it and the usual one get on those for testing."""
    train, test = judged("scifact", "_train"), judged("scifact")
    ids, points = corpus("scifact")[0], []
    for analyzer, k1, b in itertools.product(ANALYZERS, K1S, BS):
        hits = indexed("scifact", analyzer).search(train.texts, K, k1=k1, b=b, threads=1)
        points.append((float(np.mean(binary(found(ids, hits.ids), train.grades))), analyzer, k1, b))
    points.sort(key=lambda point: -point[0])
    print(f"\nscifact: {len(points)} points on {len(train.texts)} questions for training: {', '.join(ANALYZERS)};")
    print(f"k1 {', '.join(map(str, K1S))}; b {', '.join(map(str, BS))}")
    for analyzer in ANALYZERS:
        best = next(point for point in points if point[1] == analyzer)
        print(f"  {analyzer}: best on train {best[0]:.4f} with k1={best[2]} b={best[3]}")
    for told, (score, analyzer, k1, b) in (
        ("best on train", points[0]),
        ("usual", next(point for point in points if point[1:] == ("stems, parts", 1.2, 0.75))),
    ):
        hits = indexed("scifact", analyzer).search(test.texts, K, k1=k1, b=b, threads=1)
        reported = float(np.mean(binary(found(ids, hits.ids), test.grades)))
        print(f"{told}: {analyzer}, k1={k1} b={b}: train {score:.4f}, test {reported:.4f}")


SYLLABLES = "bar dol fen gim hul jop kez lum mor nib pax qol rud sev tam vok wex zil".split()


def generated(count: int, seed: int) -> list[tuple[str, str, str]]:
    """(shape, name, the piece of it by which somebody may remember it): each piece once, from 10 shapes in turn."""
    rng = np.random.default_rng([seed, 7])

    def word() -> str:
        return "".join(rng.choice(SYLLABLES, 3).tolist())

    def number() -> str:
        return str(rng.integers(1000, 100_000))

    def letters(most: int) -> str:
        return "".join(chr(65 + one) for one in rng.integers(0, 26, int(rng.integers(1, most + 1))))

    def version() -> str:
        return ".".join(map(str, rng.integers(0, 200, 3)))

    def made(shape: int) -> tuple[str, str, str]:
        piece = [word, number, version][(0, 1, 0, 0, 1, 2, 0, 0, 0, 1)[shape]]()
        title = piece.capitalize()
        return (
            ("word with signs", f"{title}{rng.choice(['++', '#'])}", title),
            ("part number", f"{letters(3)}-{piece}-{letters(1)}", piece),
            ("camel case", f"{rng.choice(['get', 'set', 'find'])}{title}ById", piece),
            ("snake case", f"{piece}_{rng.choice(['id', 'count', 'name'])}", piece),
            ("CVE", f"CVE-{rng.integers(1999, 2026)}-{piece}", piece),
            ("version", f"v{piece}", piece),
            ("C++ name", f"std::{piece}_{rng.choice(['view', 'ptr'])}", piece),
            ("path", f"/{rng.choice(['etc', 'srv', 'usr/lib'])}/{piece}/{word()}.{rng.choice(['conf', 'py'])}", piece),
            ("acronym inside", f"parse{letters(3)}x{title}", piece),
            ("order code", f"{letters(2)}{piece}/{letters(2)}", piece),
        )[shape]

    names: dict[str, tuple[str, str, str]] = {}
    while len(names) < count:
        one = made(len(names) % 10)
        names.setdefault(one[2].lower(), one)
    return list(names.values())


def names(total: int, count: int, seed: int, decoys: int, analyzer: str) -> None:
    """Each name in one document, asked for whole, in upper and lower case, and by its piece."""
    there = documents(data_folder("wordnet-minilm") / "texts.jsonl", "corpus")
    texts = list(itertools.islice(itertools.cycle(there), total))
    rng = np.random.default_rng([seed, 8])
    hidden = generated(count, seed)
    chosen = rng.permutation(total)[: count * (1 + decoys)].reshape(1 + decoys, count).tolist()
    for number, places in enumerate(chosen):
        for place, (_, name, piece) in zip(places, hidden, strict=True):
            words = texts[place].split()
            words.insert(int(rng.integers(0, len(words) + 1)), name if number == 0 else piece)
            texts[place] = " ".join(words)
    index = SparseIndex(analyzer=ANALYZERS[analyzer]())
    index.add(None, texts)
    print(f"\n{count} names in {total} documents, {analyzer}: at rank 1 whole, in upper and lower case, and in the top")
    print(f"{K} by a piece of it, which {decoys} more documents have as a word")
    tally: dict[str, list[int]] = {}
    missed: list[str] = []
    for place, (shape, name, piece) in zip(chosen[0], hidden, strict=True):
        cases = [one for one in (name.upper(), name.lower()) if one != name]
        first = [index.search(one, K, threads=1).ids[0].tolist()[:1] == [place] for one in (name, *cases)]
        near = place in index.search(piece, K, threads=1).ids[0].tolist()
        row = tally.setdefault(shape, [0, 0, 0, 0])
        for column, yes in enumerate((True, first[0], all(first[1:]), near)):
            row[column] += yes
        missed += [] if near and all(first) else [f"{name} ({piece})"]
    for shape, row in [*tally.items(), ("all", [sum(column) for column in zip(*tally.values(), strict=True)])]:
        print(f"  {shape:16} of {row[0]:3}: whole {row[1]:3}, other case {row[2]:3}, by a piece {row[3]:3}")
    print(f"  missed: {', '.join(missed[:8]) or 'none'}{' ...' if len(missed) > 8 else ''}")


def hybrid(seed: int) -> None:
    """Reciprocal ranks of both legs, constant 60, against each leg."""
    print(f"\nnDCG@10 of each leg and of both fused by rank ({DEPTH} of each, constant 60, nothing tuned)")
    for name in SETS:
        asked, ids, folder = judged(name), corpus(name)[0], data_folder(name)
        rows, queries = (np.load(folder / f"{one}.npy").astype(np.float32) for one in ("vectors", "queries"))
        dense_index = DenseIndex(rows.shape[1])
        dense_index.add(None, rows)
        legs = {
            "sparse": found(ids, indexed(name).search(asked.texts, DEPTH, threads=1).ids),
            "dense": found(ids, dense_index.search(queries, DEPTH, threads=1).ids),
        }
        legs["fused"] = [list(rrf(pair).ids) for pair in zip(legs["sparse"], legs["dense"], strict=True)]
        scores = {leg: np.array(binary(ranked, asked.grades)) for leg, ranked in legs.items()}
        print(f"{name}: " + ", ".join(f"{leg} {values.mean():.4f}" for leg, values in scores.items()))
        for leg in ("sparse", "dense"):
            low, high = interval(scores["fused"] - scores[leg], seed)
            print(f"  fused less {leg}: {(scores['fused'] - scores[leg]).mean():+.4f} [{low:+.4f}, {high:+.4f}]")


def interval(differences: npt.NDArray[np.float64], seed: int) -> tuple[float, float]:
    """Of the mean over questions, 95 %, by the bootstrap."""
    chosen = np.random.default_rng([seed, 9]).integers(0, len(differences), (RESAMPLES, len(differences)))
    low, high = np.percentile(differences[chosen].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="quality,grid,names,hybrid")
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--names", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    parts = given.only.split(",")
    print(machine())
    if "quality" in parts:
        quality()
    if "grid" in parts:
        grid()
    if "names" in parts:
        for decoys, analyzer in ((0, "stems, parts"), (DECOYS, "stems, parts"), (0, "stems, no parts")):
            names(given.documents, given.names, given.seed, decoys, analyzer)
    if "hybrid" in parts:
        hybrid(given.seed)


if __name__ == "__main__":
    main()
