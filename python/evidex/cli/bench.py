# SPDX-License-Identifier: Apache-2.0
"""``evidex bench exact`` and ``evidex bench filtered``: evidex beside other libraries, on one's own vectors."""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

from .. import _checks
from ..bench import datasets, harness, lines, masks, peers, records, report
from ..errors import EvidexError, InvalidInput
from ._output import add_json_flag, print_json, progress, table

__all__ = ["register"]

_METRICS = {
    **dict.fromkeys(("ip", "inner_product"), "inner_product"),
    **dict.fromkeys(("cos", "cosine"), "cosine"),
    **dict.fromkeys(("l2", "squared_l2"), "squared_l2"),
}


def register(parser: argparse.ArgumentParser) -> None:
    """Adds the command's benchmarks and options."""
    kinds = parser.add_subparsers(dest="benchmark", required=True, metavar="BENCHMARK")
    exact = kinds.add_parser("exact", help="searches over all rows")
    filtered = kinds.add_parser("filtered", help="searches over the rows that a mask permits")
    for one in (exact, filtered):
        _add_options(one)
        add_json_flag(one)
        one.set_defaults(run=run, mask=None, selectivity=None)
    filtered.add_argument(
        "--selectivity",
        action="append",
        type=_shares,
        help="share of the rows permitted; repeat or separate by commas (default: 0.01)",
    )
    filtered.add_argument(
        "--mask",
        choices=masks.KINDS,
        default="random",
        help="random rows, one run of rows, the rows nearest to a random one, "
        "or those farthest from the queries' mean (default: random)",
    )


def _add_options(parser: argparse.ArgumentParser) -> None:
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path, metavar="DIR", help="folder with vectors.npy and queries.npy")
    source.add_argument("--hdf5", type=Path, metavar="FILE", help="file in the layout of ann-benchmarks")
    source.add_argument("--synthetic", type=_size, metavar="N,D", help="clustered Gaussian vectors, made from --seed")
    parser.add_argument("--rows", type=int, help="use the first so many (default: all)")
    parser.add_argument("--queries", type=int, help="use so many (default: at most 1000)")
    parser.add_argument("-k", type=int, default=10, help="neighbours asked for (default: 10)")
    parser.add_argument("--batch", type=int, default=1, help="queries per call (default: 1)")
    parser.add_argument("--threads", type=int, default=1, help="limit for every system (default: 1)")
    parser.add_argument("--metric", choices=list(_METRICS), help="default: what the HDF5 file says, else cosine")
    parser.add_argument("--rounds", type=int, default=10, help="turns that the systems take (default: 10)")
    parser.add_argument("--seed", type=int, default=0, help="of synthetic data, masks, order, intervals (default: 0)")
    parser.add_argument(
        "--peers",
        default="numpy",
        help=f"separated by commas: {', '.join(n for n in peers.BUILT_IN if n != harness.BASE)}, or module:Class of "
        "your own, see evidex.bench.peers (default: numpy)",
    )
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one answer (default: 600)")
    parser.add_argument("--out", type=Path, metavar="FILE.jsonl", help="append one record per system and setting")


def run(given: argparse.Namespace) -> None:
    """Runs a benchmark and prints it.

    Raises:
        EvidexError: At the end, if a system failed, or if evidex gave a wrong answer.
    """
    settings = _settings(given)
    plan_peers = [peers.require_known(name) for name in given.peers.split(",") if name]
    if len(set(plan_peers)) < len(plan_peers) or harness.BASE in plan_peers:
        raise InvalidInput(f"peers: expected distinct names besides {harness.BASE}, got {given.peers!r}")
    if given.out is not None:
        lines.require_writable(given.out)
    data = _data(given)
    plan = harness.Plan(
        benchmark=given.benchmark,
        metric=_METRICS[given.metric] if given.metric else data.metric or "cosine",
        peers=plan_peers,
        masks=settings,
        k=given.k,
        batch=given.batch,
        threads=given.threads,
        rounds=given.rounds,
        seed=given.seed,
        timeout=given.timeout,
    )
    done: list[records.Record] = []
    for record in harness.run(data, plan, progress):
        done.append(record)
        if given.out is not None:
            lines.append(given.out, record)
    if given.json:
        print_json({"records": [record.to_dict() for record in done]})
    else:
        print_text(done)
    if wrong := report.mistakes(done, harness.BASE):
        raise EvidexError(
            f"bench: evidex answered wrongly: {'; '.join(wrong)}. That is a defect of evidex: please report it with "
            "its records (--json or --out)"
        )
    if failed := report.failures(done):
        raise EvidexError(f"bench: {', '.join(failed)} failed; the reason stands in the records")


def print_text(done: list[records.Record]) -> None:
    """A table per setting."""
    print(report.headline(done))
    for _, group in itertools.groupby(done, key=lambda record: record.setting):
        setting = list(group)
        print(f"\n{report.title(setting[0])}")
        print(table(report.HEADER, [report.cells(record) for record in setting]))
        for note in report.notes(setting):
            print(note)


def _settings(given: argparse.Namespace) -> list[tuple[str, float] | tuple[None, None]]:
    for name, most in (("k", 65536), ("batch", None), ("threads", 1024), ("rounds", None)):
        _checks.whole(getattr(given, name), name, least=1, most=most)
    _checks.whole(given.seed, "seed")
    if not _checks.finite(given.timeout, "timeout") > 0:
        raise InvalidInput(f"timeout: expected seconds above 0, got {given.timeout}")
    if given.mask is None:
        return [(None, None)]
    shares = list(itertools.chain.from_iterable(given.selectivity or [[0.01]]))
    for share in shares:
        if not 0 < share <= 1:
            raise InvalidInput(f"selectivity: expected shares above 0 and at most 1, got {share}")
    return [(given.mask, share) for share in shares]


def _data(given: argparse.Namespace) -> datasets.Dataset:
    if given.data is not None:
        return datasets.from_folder(given.data, given.rows, given.queries, given.seed)
    if given.hdf5 is not None:
        return datasets.from_hdf5(given.hdf5, given.rows, given.queries, given.seed)
    rows, dim = given.synthetic
    return datasets.synthetic(rows, dim, given.rows, given.queries, given.seed)


def _size(text: str) -> tuple[int, int]:
    try:
        rows, dim = (int(part) for part in text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected rows and dimension such as 100000,384, got {text!r}") from error
    return rows, dim


def _shares(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected shares such as 0.01 or 0.5,0.1, got {text!r}") from error
