# SPDX-License-Identifier: Apache-2.0
"""The table of what evidex must reach, line by line, in Markdown: figure, limits, interval, ok or short.

    python benchmarks/table.py [--data DIR | --synthetic N,D] [--metric ip|cosine|l2] [--only 1,5,9] [--rounds 10]

Systems run in processes of their own, in turns, answers checked against float64 brute force (evidex.bench.harness).
`must` and `goal` are held against medians; the interval is a bootstrap of 95 % over rounds, so with few rounds it is
too narrow. Needs faiss-cpu, and scann for line 3, which is skipped without it. Exit code 1: evidex answered wrongly,
or a system failed. A line that is short is no error.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import astuple, fields
from pathlib import Path

from common import ROOT, data_folder, machine
from judging import Bench, Row
from lines import LINES

from evidex import EvidexError, _core
from evidex.bench import datasets, lines

METRICS = {"ip": "inner_product", "cosine": "cosine", "l2": "squared_l2"}


def main() -> None:
    given = _arguments()
    # Children look for systems.py where Python looks.
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(Path(__file__).resolve().parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    try:
        data = _data(given)
        if given.out is not None:
            lines.require_writable(given.out)
    except EvidexError as error:
        raise SystemExit(str(error)) from error
    bench = Bench(
        data, METRICS[given.metric], given.rounds, given.seed, given.timeout, given.large, given.out, _progress
    )
    facts = data.facts
    print(f"{machine()}, {_core.active_isa()} kernels, commit {_commit()}")
    print(f"python {' '.join(sys.argv)}")
    print(
        f"{facts.source} {facts.name}: {facts.rows} x {facts.dim}, {facts.queries} queries, digest {facts.digest}, "
        f"metric {bench.metric}, {bench.rounds} rounds, seed {bench.seed}\n"
    )
    names = [field.name for field in fields(Row)]
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}", flush=True)
    for line in given.only:
        try:
            for row in LINES[line](bench):
                _print(row)
        except EvidexError as error:
            bench.failed.append(f"line {line}: {error}")
            _print(Row(line, *[""] * 5, "failed, see below"))
    raise SystemExit(_conclusion(bench))


def _print(row: Row) -> None:
    print(f"| {' | '.join(astuple(row))} |", flush=True)


def _conclusion(bench: Bench) -> int:
    """Says what went wrong; the exit code."""
    print()
    if bench.rounded:
        print(f"{bench.rounded} answers of evidex have other ids than float64, by ties or rounding of float32 alone")
    for reason in bench.failed:
        print(f"FAILED: {reason}")
    for reason in bench.wrong:
        print(f"WRONG ANSWERS: {reason}")
    if bench.wrong:
        print("WRONG ANSWERS: evidex is not exact here; its figures above mean nothing")
    return int(bool(bench.failed or bench.wrong))


def _data(given: argparse.Namespace) -> datasets.Dataset:
    if given.synthetic is not None:
        n, dim = given.synthetic
        return datasets.synthetic(n, dim, None, given.queries, given.seed)
    folder = data_folder("wordnet-minilm") if given.data is None else given.data
    return datasets.from_folder(folder, None, given.queries, given.seed)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--data", type=Path, metavar="DIR", help="vectors.npy, queries.npy (default: wordnet-minilm)")
    source.add_argument("--synthetic", type=_size, metavar="N,D", help="clustered Gaussian vectors, made from --seed")
    parser.add_argument("--metric", choices=list(METRICS), default="ip", help="default: ip")
    parser.add_argument("--only", type=_lines, metavar="LINE,...", default=list(LINES), help=f"of {', '.join(LINES)}")
    parser.add_argument("--rounds", type=int, default=10, help="turns that the systems take (default: 10)")
    parser.add_argument("--queries", type=int, help="use so many (default: at most 1000)")
    parser.add_argument("--large", type=_size, metavar="N,D", default=(1_000_000, 384), help="rows of line 9")
    parser.add_argument("--seed", type=int, default=0, help="of synthetic data, masks, order, intervals (default: 0)")
    parser.add_argument("--timeout", type=float, default=1800.0, help="seconds for one answer (default: 1800)")
    parser.add_argument("--out", type=Path, metavar="FILE.jsonl", help="append the harness's records")
    given = parser.parse_args()
    if given.rounds < 1:
        parser.error("--rounds: at least 1")
    return given


def _size(text: str) -> tuple[int, int]:
    try:
        rows, dim = (int(part) for part in text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected rows and dimension such as 100000,384, got {text!r}") from error
    return rows, dim


def _lines(text: str) -> list[str]:
    wanted = text.split(",")
    if unknown := [line for line in wanted if line not in LINES]:
        raise argparse.ArgumentTypeError(f"no such line: {', '.join(unknown)}; there are {', '.join(LINES)}")
    return wanted


def _progress(step: int, steps: int, what: str) -> None:
    print(f"[{step}/{steps}] {what}", file=sys.stderr, flush=True)


def _commit() -> str:
    done = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    main()
