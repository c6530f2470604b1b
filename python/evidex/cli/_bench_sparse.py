# SPDX-License-Identifier: Apache-2.0
"""``evidex bench sparse``: BM25 beside other libraries, on one's own texts."""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

from .. import _checks
from ..bench import lines, records, report, sparse
from ..bench.sparse import tables, texts, turns
from ..errors import InvalidInput
from ._output import add_json_flag, progress, table
from ._records import raise_for, recorded, require_sound

__all__ = ["register"]


def register(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    add_json_flag(parser)
    for name, what in (
        ("--corpus", "documents: an object with text, and title if there is one, a line"),
        ("--questions", "queries, likewise"),
    ):
        parser.add_argument(name, type=Path, required=True, metavar="FILE.jsonl", help=what)
    parser.add_argument("--rows", type=int, help="use the first so many documents (default: all)")
    parser.add_argument("--queries", type=int, help="use so many queries (default: at most 1000)")
    names = ", ".join(["bm25s", *(name for name in sparse.BUILT_IN if not name.startswith(sparse.BASE))])
    own = "or module:Class of your own, see evidex.bench.sparse"
    parser.add_argument("--peers", help=f"separated by commas: {names}, {own} (default: all that are installed)")
    forms = "each system's own analysis of text, or the same terms for all, analysed before"
    parser.add_argument(
        "--form", type=_forms, default=list(sparse.FORMS), help=f"text, tokens: {forms} (default: both)"
    )
    parser.add_argument(
        "--words", type=_words, default=[4, None], help="first words of each query: numbers or all (default: 4,all)"
    )
    parser.add_argument("-k", type=int, default=10, help="documents asked for (default: 10)")
    parser.add_argument("--batch", type=_numbers, default=[1, 100], help="queries per call (default: 1,100)")
    parser.add_argument(
        "--selectivity",
        type=_shares,
        default=[],
        help="share of the documents that a principal may read, for evidex alone: of scattered folders, by the same "
        "principal again and again and by a new one in each call, and of neighbouring ones (default: not measured)",
    )
    parser.add_argument("--scope", choices=sparse.SCOPES, help="of their statistics (default: permitted)")
    parser.add_argument("--threads", type=int, default=1, help="limit for every system (default: 1)")
    parser.add_argument("--rounds", type=int, default=10, help="turns that the systems take (default: 10)")
    parser.add_argument("--seed", type=int, default=0, help="of the order, folders and intervals (default: 0)")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one answer (default: 600)")
    parser.add_argument("--out", type=Path, metavar="FILE.jsonl", help="append one record per system and setting")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Runs the benchmark and prints it.

    Raises:
        EvidexError: At the end, if a system failed, or if evidex gave a wrong answer.
    """
    require_sound(given)
    for value in given.words:
        if value is not None:
            _checks.whole(value, "words", least=1)
    for share in given.selectivity:
        if not 0 < share <= 1:
            raise InvalidInput(f"selectivity: expected shares above 0 and at most 1, got {share}")
    if given.scope is not None and not given.selectivity:
        raise InvalidInput("scope: there is no principal whose statistics it could be; add --selectivity")
    peers = sparse.installed() if given.peers is None else [name for name in given.peers.split(",") if name]
    peers = sparse.expand(peers)
    if given.out is not None:
        lines.require_writable(given.out)
    data = texts.from_files(given.corpus, given.questions, given.rows, given.queries, given.seed)
    plan = turns.Plan(
        benchmark=given.benchmark,
        metric="bm25",
        peers=peers,
        forms=given.form,
        words=given.words,
        batches=given.batch,
        shares=given.selectivity,
        scope=given.scope or sparse.SCOPES[0],
        **{name: getattr(given, name) for name in ("k", "threads", "rounds", "seed", "timeout")},
    )
    raise_for(recorded(given, turns.run(data, plan, progress), print_text))


def print_text(done: list[records.Record]) -> None:
    """A table per form, length and batch size."""
    print(report.headline(done))
    for _, group in itertools.groupby(done, key=tables.key):
        members = list(group)
        print(f"\n{tables.title(members[0])}")
        print(table(tables.HEADER, [tables.row(record) for record in members]))
        for note in report.notes(members):
            print(note)


def _forms(text: str) -> list[str]:
    found = list(dict.fromkeys(text.split(",")))
    if unknown := [one for one in found if one not in sparse.FORMS]:
        raise argparse.ArgumentTypeError(f"expected {' or '.join(sparse.FORMS)}, got {unknown[0]!r}")
    return found


def _numbers(text: str) -> list[int]:
    try:
        return list(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected whole numbers such as 1 or 1,100, got {text!r}") from error


def _words(text: str) -> list[int | None]:
    try:
        return list(dict.fromkeys(None if part == "all" else int(part) for part in text.split(",")))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected numbers or all, such as 4,all, got {text!r}") from error


def _shares(text: str) -> list[float]:
    try:
        return list(dict.fromkeys(float(part) for part in text.split(",")))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected shares such as 0.1 or 0.1,0.01, got {text!r}") from error
