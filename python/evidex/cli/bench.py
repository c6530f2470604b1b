# SPDX-License-Identifier: Apache-2.0
"""``evidex bench exact``, ``filtered`` and ``ann``: evidex beside other libraries, on one's own vectors.

``sparse``, on one's own texts, is in ``_bench_sparse.py``.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from typing import Any, TypeAlias

from ..bench import ann, datasets, harness, lines, masks, peers, records, report
from ..bench.ann import sweep, tables
from ..errors import InvalidInput
from . import _bench_sparse
from ._output import add_json_flag, progress, table
from ._records import raise_for, recorded, require_sound

__all__ = ["register"]

_METRICS = {
    **dict.fromkeys(("ip", "inner_product"), "inner_product"),
    **dict.fromkeys(("cos", "cosine"), "cosine"),
    **dict.fromkeys(("l2", "squared_l2"), "squared_l2"),
}


_Settings: TypeAlias = list[tuple[str, float] | tuple[None, None]]


def register(parser: argparse.ArgumentParser) -> None:
    """Adds the command's benchmarks and options."""
    kinds = parser.add_subparsers(dest="benchmark", required=True, metavar="BENCHMARK")
    exact = kinds.add_parser("exact", help="searches over all rows")
    filtered = kinds.add_parser("filtered", help="searches over the rows that a mask permits")
    swept = kinds.add_parser("ann", help="recall against time over grids of parameters; all builds stay in memory")
    names = [name for name in peers.BUILT_IN if name != harness.BASE]
    for one in (exact, filtered):
        _add_options(one, rounds=10)
        one.add_argument("--peers", default="numpy", help=f"{_peers(names, 'evidex.bench.peers')} (default: numpy)")
        one.set_defaults(run=run, mask=None, selectivity=None)
    _add_options(swept, rounds=3)
    names = [name for name in (*ann.FAMILIES, *ann.BUILT_IN) if name != harness.BASE]
    swept.add_argument("--peers", help=f"{_peers(names, 'evidex.bench.ann')} (default: all that are installed)")
    swept.add_argument("--grid", choices=ann.GRIDS, default="small", help="how many points (default: small)")
    swept.set_defaults(run=run_ann, selectivity=None)
    for one in (filtered, swept):
        one.add_argument(
            "--selectivity",
            action="append",
            type=_shares,
            help="share of the rows permitted; repeat or separate by commas (default: 0.01)",
        )
    _bench_sparse.register(kinds.add_parser("sparse", help="BM25 over texts, beside bm25s, tantivy and rank-bm25"))
    shapes = "random rows, one run of rows, the rows nearest to a random one, or those farthest from the queries' mean"
    filtered.add_argument("--mask", choices=masks.KINDS, default="random", help=f"{shapes} (default: random)")
    swept.add_argument(
        "--mask",
        type=_kinds,
        default=["none"],
        help=f"{', '.join(masks.KINDS)} or none, separated by commas: {shapes}, or all rows (default: none)",
    )


def _peers(names: list[str], module: str) -> str:
    return f"separated by commas: {', '.join(names)}, or module:Class of your own, see {module}"


def _add_options(parser: argparse.ArgumentParser, rounds: int) -> None:
    add_json_flag(parser)
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
    parser.add_argument("--rounds", type=int, default=rounds, help=f"turns that the systems take (default: {rounds})")
    parser.add_argument("--seed", type=int, default=0, help="of synthetic data, masks, order, intervals (default: 0)")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one answer (default: 600)")
    parser.add_argument("--out", type=Path, metavar="FILE.jsonl", help="append one record per system and setting")


def run(given: argparse.Namespace) -> None:
    """Runs a benchmark and prints it.

    Raises:
        EvidexError: At the end, if a system failed, or if evidex gave a wrong answer.
    """
    require_sound(given)
    settings = [(None, None)] if given.mask is None else _masked(given, [given.mask])
    data, options = _prepared(given, [peers.require_known(name) for name in given.peers.split(",") if name])
    done = recorded(given, harness.run(data, harness.Plan(masks=settings, **options), progress), print_text)
    raise_for(done)


def run_ann(given: argparse.Namespace) -> None:
    """Runs a sweep and prints what was chosen; as :func:`run`.

    Raises:
        EvidexError: At the end, if a system failed, or if evidex gave a wrong answer.
    """
    require_sound(given)
    settings: _Settings = [(None, None)] if "none" in given.mask else []
    kinds = [kind for kind in given.mask if kind != "none"]
    if given.selectivity and not kinds:
        raise InvalidInput("selectivity: there is no mask that it could apply to; name one with --mask")
    names = ann.installed() if given.peers is None else [name for name in given.peers.split(",") if name]
    if given.peers is None:
        names.remove(harness.BASE)
    data, options = _prepared(given, ann.expand(names))
    plan = sweep.Plan(masks=settings + _masked(given, kinds), grid=given.grid, **options)
    raise_for(recorded(given, sweep.run(data, plan, progress), print_sweep))


def print_text(done: list[records.Record]) -> None:
    """A table per setting."""
    print(report.headline(done))
    for _, group in itertools.groupby(done, key=lambda record: record.setting):
        setting = list(group)
        print(f"\n{report.title(setting[0])}")
        print(table(report.HEADER, [report.cells(record) for record in setting]))
        for note in report.notes(setting):
            print(note)


def print_sweep(done: list[records.Record]) -> None:
    """The grids, and a table of chosen points per setting."""
    print(report.headline(done))
    print("\ngrids")
    print("\n".join(tables.grids(done)))
    for _, group in itertools.groupby(done, key=lambda record: record.setting):
        setting = list(group)
        print(f"\n{tables.title(setting[0])}")
        print(table(tables.HEADER, tables.rows(setting)))
        for note in tables.notes(setting):
            print(note)


def _masked(given: argparse.Namespace, kinds: list[str]) -> _Settings:
    shares = list(itertools.chain.from_iterable(given.selectivity or [[0.01]]))
    for share in shares:
        if not 0 < share <= 1:
            raise InvalidInput(f"selectivity: expected shares above 0 and at most 1, got {share}")
    return [(kind, share) for kind in kinds for share in shares]


def _prepared(given: argparse.Namespace, systems: list[str]) -> tuple[datasets.Dataset, dict[str, Any]]:
    """The data, and what every plan is told."""
    if len(set(systems)) < len(systems) or harness.BASE in systems:
        raise InvalidInput(f"peers: expected distinct names besides {harness.BASE}, got {given.peers!r}")
    if given.out is not None:
        lines.require_writable(given.out)
    data = _data(given)
    return data, {
        "benchmark": given.benchmark,
        "metric": _METRICS[given.metric] if given.metric else data.metric or "cosine",
        "peers": systems,
        **{name: getattr(given, name) for name in ("k", "batch", "threads", "rounds", "seed", "timeout")},
    }


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


def _kinds(text: str) -> list[str]:
    kinds = list(dict.fromkeys(text.split(",")))
    if unknown := [kind for kind in kinds if kind not in ("none", *masks.KINDS)]:
        raise argparse.ArgumentTypeError(f"expected {', '.join(masks.KINDS)} or none, got {unknown[0]!r}")
    return kinds
