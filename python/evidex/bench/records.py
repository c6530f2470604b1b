# SPDX-License-Identifier: Apache-2.0
"""The record of a benchmark: one JSON object, on one line, per system and setting.

Fields are added, never renamed; a change of meaning raises ``version``. A part that a benchmark does not have, or
that a failed system never reached, is null. Times are wall-clock, sizes are bytes, a GB is 10**9 bytes.

Record
    version     int, of this format
    benchmark   what was asked: ``exact``, ``filtered``, ``ann``, ``sparse``; later ``ingest``, ``pipeline``
    date        start of the run, UTC, ISO 8601 to the second
    status      ``ok``; ``failed`` (an error, a crash, no answer in time); ``left_out`` (the system cannot do this)
    reason      why it is not ``ok``, with the end of what the system wrote to standard error, else null
    machine, data, setting, system, build, answers, latency, ratio, sweep, sparse    the objects below

Machine: where it ran, the same in every record of a run
    processor, system, python, numpy    names and versions
    cores                   logical processors this process may use (affinity)
    threads                 threads of the next two figures: those every system was limited to
    read_gb_s               read bandwidth: the best of several sums over ``probe_bytes`` of float64 by numpy, GB/s
    multiply_add_gflop_s    the best of several float32 matrix products by numpy, GFLOP/s (an addition and a
                            multiplication are two)
    probe_bytes             size of the array that was summed, bytes
    evidex                  version
    isa                     instruction set evidex chose

Data: what was searched
    source      ``data``, ``hdf5`` or ``synthetic``; ``corpus`` where texts are searched
    name        folder or file without its path (of a corpus both), or ``N,D``
    rows, dim   of the vectors; of a corpus documents, and distinct terms from ``tokens``
    queries     distinct queries that were asked
    seed        int of synthetic data, else null
    digest      of the float32 bytes of rows and queries, or of their texts: equal digests are equal data

Setting: what was asked, the same for every system
    metric      ``inner_product``, ``cosine``, ``squared_l2``; ``bm25`` with k1 = 1.2 and b = 0.75
    k           neighbours asked for
    batch       queries per call
    threads     limit for each system
    rounds      the systems take turns in each round
    calls       timed calls per system, over all rounds
    seed        of the order of the queries and of the mask
    mask        ``random``, ``run``, ``correlated``, ``anti``, or null for none
    selectivity  share of the rows that was asked for, or null
    permitted   rows the mask permits; all of them without one

System: who answered
    given       as it was asked for: a built-in name or ``module:Class``
    name        what it calls itself
    version     of the library behind it, or null if it did not start
    options     what it was told beyond the setting: object of plain values

Build: from vectors to something searchable
    seconds             wall-clock, in the child
    rss_before_bytes    resident memory of the child with the library loaded and no vectors
    rss_after_bytes     after building, once the vectors it was given are let go; freed memory returned to the system
    rss_growth_bytes    the difference of the two; all three are null on systems without /proc
    rss_searched_bytes  the same after its first turn of searches, so with what they made and keep: code, buffers,
                        threads; null before it, and on systems without /proc
    bytes_per_row       growth divided by the rows kept; means little below some 10 MB of vectors
    prepare_seconds     making the mask ready, once per setting, or null without a mask

Answers: against float64 brute force over the permitted rows
    checked     answers compared: every timed one
    recall      mean share of the k best (or of all permitted, if fewer) that were returned. A returned row counts if
                it is permitted, not repeated, and its float64 score reaches the k-th best less 1e-6 of that score's
                magnitude: ties are right either way
    ids_equal   whether every answer has the ids of brute force in its order (score descending, then id ascending);
                false with recall 1 means ties or rounding of float32
    ids_equal_share     share of answers of which that is true
    forbidden   ids returned that the mask denies or that no row has; 0 for a right system
    beyond_rounding     answers with other ids that neither ties nor float32 explain: too few rows, one of them not
                permitted or there twice, or one that comes before another (right ones that are missing count as coming
                last) whose float64 score is greater by more than both may err: (dim / 8 + 16) 2**-24 times the
                magnitudes that are added up (query times row; 1 under cosine; under squared L2 the distance). 0 for
                evidex, also where scores are so small beside those magnitudes that rounding alone makes recall less

Latency: of single calls, in the child, around the search alone
    p50_ms, p95_ms, p99_ms    of a call (one batch), milliseconds, interpolated linearly
    queries_per_s             queries answered divided by the sum of all calls

Ratio: paired by round; null for the base itself
    base        the system divided by this one: ``evidex``
    median      over rounds, of (median call of the base) / (median call of this system): below 1 the base is faster
    low, high   percentile bootstrap interval of that median over rounds
    confidence  of the interval, 0.95
    rounds      pairs it rests on; with few the interval is too narrow
    resamples   of the bootstrap; its seed is the setting's

Sweep: which point of a grid of parameters this is (``ann``); null in other benchmarks
    build, search       the parameters of this point, those of building and those of searching: objects of plain values
    grid                every value that was tried: object of lists by name of parameter
    tuned_on, queries   ``[first, end)`` of the queries on which parameters are chosen, and of those reported on
    tuned_recall, tuned_queries_per_s   on the former, or null if it failed before; answers and latency are of the
                        latter
    chosen              whether on the former no other point of its system was both as right and faster, or both as fast
                        and more right: the Pareto front

Sparse: what ``sparse`` adds; null in other benchmarks
    form        ``text``: analysed by each system, in its time; ``tokens``: the same terms for all, made before
    words       how many words of each query were asked, from its first on; null for all
    scope       rows of the statistics: ``permitted``, ``tenant``, ``collection``; null without a mask
    caller      ``same``: one principal makes every call; ``new``: each is made by one that never searched and reads
                other rows, about ``permitted``; its grant is compiled before; null without a mask
    agreement   share of answers with the ids of the reference, in any order, but for ties; null without answers
    documents_per_s     documents divided by the seconds of building; null, as are the next three, if it was never built
    postings            pairs of a document and a term in it
    index_bytes, bytes_per_posting   of the index alone, by the system's own count; null if it has none

Its answers are compared with BM25 in float64 over the terms of the system; ``beyond_rounding`` counts those that 1e-6
of a score does not explain. Memory is measured with the documents loaded, before building and after it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any, Literal

__all__ = [
    "VERSION",
    "Answers",
    "Build",
    "Data",
    "Latency",
    "Machine",
    "Ratio",
    "Record",
    "Setting",
    "Sparse",
    "Status",
    "Sweep",
    "System",
    "utc_now",
]

VERSION = 1
Status = Literal["ok", "failed", "left_out"]


@dataclass(frozen=True)
class Machine:
    """Where it ran."""

    processor: str
    system: str
    cores: int
    python: str
    numpy: str
    threads: int
    read_gb_s: float
    multiply_add_gflop_s: float
    probe_bytes: int
    evidex: str
    isa: str


@dataclass(frozen=True)
class Data:
    """What was searched."""

    source: str
    name: str
    rows: int
    dim: int
    queries: int
    seed: int | None
    digest: str


@dataclass(frozen=True)
class Setting:
    """What was asked."""

    metric: str
    k: int
    batch: int
    threads: int
    rounds: int
    calls: int
    seed: int
    mask: str | None
    selectivity: float | None
    permitted: int


@dataclass(frozen=True)
class System:
    """Who answered."""

    given: str
    name: str
    version: str | None
    options: dict[str, Any]


@dataclass(frozen=True)
class Build:
    """From vectors to something searchable."""

    seconds: float
    rss_before_bytes: int | None
    rss_after_bytes: int | None
    rss_growth_bytes: int | None
    rss_searched_bytes: int | None
    bytes_per_row: float | None
    prepare_seconds: float | None


@dataclass(frozen=True)
class Answers:
    """How right it was."""

    checked: int
    recall: float
    ids_equal: bool
    ids_equal_share: float
    forbidden: int
    beyond_rounding: int


@dataclass(frozen=True)
class Latency:
    """How fast it was."""

    p50_ms: float
    p95_ms: float
    p99_ms: float
    queries_per_s: float


@dataclass(frozen=True)
class Ratio:
    """The base's time divided by this system's."""

    base: str
    median: float
    low: float
    high: float
    confidence: float
    rounds: int
    resamples: int


@dataclass(frozen=True)
class Sweep:
    """A point of a grid of parameters."""

    build: dict[str, Any]
    search: dict[str, Any]
    grid: dict[str, list[Any]]
    tuned_on: tuple[int, int]
    queries: tuple[int, int]
    tuned_recall: float | None
    tuned_queries_per_s: float | None
    chosen: bool


@dataclass(frozen=True)
class Sparse:
    """Texts searched by their terms."""

    form: str
    words: int | None
    scope: str | None
    caller: str | None
    agreement: float | None
    documents_per_s: float | None
    postings: int | None
    index_bytes: int | None
    bytes_per_posting: float | None


@dataclass(frozen=True)
class Record:
    """One system in one setting."""

    version: int
    benchmark: str
    date: str
    status: Status
    reason: str | None
    machine: Machine
    data: Data
    setting: Setting
    system: System
    build: Build | None
    answers: Answers | None
    latency: Latency | None
    ratio: Ratio | None
    sweep: Sweep | None = None
    sparse: Sparse | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def utc_now() -> str:
    """The date of a record."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
