# SPDX-License-Identifier: Apache-2.0
"""``evidex demo``: the whole way from documents with access rights to checked answers, on the built-in handbook."""

from __future__ import annotations

import argparse
import importlib.util
import time
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np

from .. import _core, handbook
from ..access import UNRESTRICTED
from ..citations import extractive_answer, validate_reply
from ..encoders import HashingEncoder, get_encoder
from ..evaluation import Calibration, MeanMetrics, calibrate_floor, mean_metrics, metrics
from ..packing import pack
from ..types import Packet
from ._handbook import HandbookIndex
from ._output import add_json_flag, print_json, progress, table

__all__ = ["register"]

_STEPS = 5
_K = 5
_BUDGET = 2400
_HASHING_DIM = 1024
_ROUNDS = 200

# What is shown, and which question of the handbook shows it.
_SHOWN = (
    ("an exact identifier", "q01"),
    ("the same question under the other tenant", "q02"),
    ("one question, first tenant", "q20"),
    ("the same question, second tenant", "q21"),
    ("denied: the answer exists, but not for this caller", "q35"),
    ("nothing in the handbook answers this", "q30"),
)


def register(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options."""
    parser.add_argument(
        "--encoder",
        choices=("hashing", "wordllama"),
        action="append",
        help="a leg to search; repeat for several, the first one carries the evidence floor "
        "(default: hashing, and wordllama where pip install evidex[demo] has put it)",
    )
    add_json_flag(parser)
    parser.set_defaults(run=run)


@dataclass(frozen=True)
class Shown:
    """One question with the packet it led to."""

    title: str
    question: handbook.Question
    packet: Packet


@dataclass(frozen=True)
class HeldOut:
    """How the floor and the ranking do on questions nothing was tuned on."""

    retrieval: MeanMetrics
    kept: int
    answerable: int
    refused: int
    unanswerable: int


@dataclass(frozen=True)
class Race:
    """Exact search against numpy on the demo's own vectors, medians of interleaved rounds."""

    rows: int
    queries: int
    evidex_us: float
    numpy_us: float
    same_ids: bool


def run(given: argparse.Namespace) -> None:
    """Runs the demo and prints it."""
    names = given.encoder or ["hashing", *(["wordllama"] if importlib.util.find_spec("wordllama") else [])]
    progress(1, _STEPS, f"loading encoders: {', '.join(names)}")
    encoders = [HashingEncoder(_HASHING_DIM) if name == "hashing" else get_encoder(name) for name in names]
    progress(2, _STEPS, f"chunking, encoding and indexing {len(handbook.documents())} documents")
    world = HandbookIndex(encoders)
    progress(3, _STEPS, "calibrating the evidence floor on the development questions")
    calibration = calibrate(world)
    progress(4, _STEPS, "asking as several principals")
    asked = {question.id: question for question in handbook.questions()}
    shown = [Shown(title, asked[key], answer(world, asked[key], calibration)) for title, key in _SHOWN]
    held_out = evaluate(world, calibration)
    progress(5, _STEPS, "comparing with numpy")
    race = compare(world)
    if given.json:
        print_json(as_json(world, calibration, shown, held_out, race))
    else:
        print_text(world, calibration, shown, held_out, race)


def calibrate(world: HandbookIndex) -> Calibration:
    """The floor that best parts answerable from unanswerable development questions (case H16)."""
    leg = next(iter(world.legs))
    best: dict[bool, list[float]] = {True: [], False: []}
    for question in handbook.questions("development"):
        scores = [item.legs[leg] for item in world.search(question.text, question.caller, _K) if leg in item.legs]
        best[question.answerable] += [max(scores)] if scores else []
    return calibrate_floor(best[True], best[False], leg=leg)


def answer(world: HandbookIndex, question: handbook.Question, calibration: Calibration) -> Packet:
    """Searches as the question's caller and packs, or abstains."""
    found = world.search(question.text, question.caller, _K)
    return pack(found, question=question.text, budget=_BUDGET, floor=calibration.floor)


def evaluate(world: HandbookIndex, calibration: Calibration) -> HeldOut:
    """Counts on the held-out half."""
    results = []
    kept = refused = 0
    questions = handbook.questions("held_out")
    for question in questions:
        found = world.search(question.text, question.caller, _K)
        abstains = pack(found, budget=_BUDGET, floor=calibration.floor).abstain
        kept += question.answerable and not abstains
        refused += not question.answerable and abstains
        results.append(metrics([item.chunk.id for item in found], world.holding(question.gold), k=_K))
    answerable = sum(question.answerable for question in questions)
    return HeldOut(mean_metrics(results), kept, answerable, refused, len(questions) - answerable)


def compare(world: HandbookIndex) -> Race:
    """Times single queries over all rows, one system after the other in each round."""
    name, index = next(iter(world.legs.items()))
    ids = index.ids(principal=UNRESTRICTED)
    rows = index.get(ids, principal=UNRESTRICTED)
    queries = world.encoders[name].encode([question.text for question in handbook.questions()])
    times: dict[str, list[float]] = {"evidex": [], "numpy": []}
    same = True
    for round_number in range(_ROUNDS):
        query = queries[round_number % len(queries)]
        began = time.perf_counter()
        hits = index.search(query, 10, principal=UNRESTRICTED, threads=1)
        between = time.perf_counter()
        scores = rows @ query
        order = np.lexsort((ids, -scores))[:10]
        times["numpy"].append(time.perf_counter() - between)
        times["evidex"].append(between - began)
        same = same and hits[0].ids.tolist() == ids[order].tolist()
    micros = {name: 1e6 * median(values) for name, values in times.items()}
    return Race(len(ids), len(queries), micros["evidex"], micros["numpy"], same)


def as_json(
    world: HandbookIndex, calibration: Calibration, shown: list[Shown], held_out: HeldOut, race: Race
) -> dict[str, Any]:
    """Everything the text shows, and the packets whole."""
    return {
        "legs": list(world.legs),
        "isa": _core.active_isa(),
        "chunks": len(world.chunks),
        "floor": asdict(calibration),
        "questions": [
            {
                "title": item.title,
                "id": item.question.id,
                "question": item.question.text,
                "caller": {**asdict(item.question.caller), "groups": sorted(item.question.caller.groups)},
                "evidence": [asdict(evidence) for evidence in item.packet.evidence],
                "omitted": [asdict(omitted) for omitted in item.packet.omitted],
                "size": item.packet.size,
                "reason": item.packet.reason,
                "reply": extractive_answer(item.packet).to_dict(),
            }
            for item in shown
        ],
        "held_out": asdict(held_out),
        "exact_search": asdict(race),
    }


def print_text(
    world: HandbookIndex, calibration: Calibration, shown: list[Shown], held_out: HeldOut, race: Race
) -> None:
    """The demo as a person reads it."""
    floor = calibration.floor
    print(
        f"\n{len(world.chunks)} chunks of current revisions, legs: {', '.join(world.legs)}, "
        f"{_core.active_isa()} kernels"
    )
    print(
        f"evidence floor: best {floor.leg} score of at least {floor.min_score:.3f}; on the development questions it "
        f"keeps {calibration.kept} of {calibration.answerable} answerable and refuses {calibration.refused} of "
        f"{calibration.unanswerable} others"
    )
    for item in shown:
        print_packet(item)
    retrieval = held_out.retrieval
    print(
        f"\n== held-out questions ({retrieval.questions}, "
        f"of which {retrieval.answerable} have an answer for their caller)"
    )
    print(
        table(
            ["measure", "value", "of"],
            [
                [f"any-hit@{_K}", f"{retrieval.any_hit:.3f}", f"{retrieval.answerable} answerable"],
                [f"recall@{_K}", f"{retrieval.recall:.3f}", f"{retrieval.answerable} answerable"],
                ["reciprocal rank", f"{retrieval.reciprocal_rank:.3f}", f"{retrieval.answerable} answerable"],
                ["kept by the floor", held_out.kept, f"{held_out.answerable} answerable"],
                ["refused by the floor", held_out.refused, f"{held_out.unanswerable} unanswerable"],
            ],
        )
    )
    print(f"\n== exact search, {race.rows} rows, k=10, one thread, median of {_ROUNDS} single queries")
    ratio = race.evidex_us / race.numpy_us
    print(
        table(
            ["system", "us", "ratio", "same ids"],
            [
                ["evidex", f"{race.evidex_us:.1f}", f"{ratio:.2f}", "yes" if race.same_ids else "NO"],
                ["numpy (product, full sort)", f"{race.numpy_us:.1f}", "1.00", ""],
            ],
        )
    )


def print_packet(item: Shown) -> None:
    """One question, what its caller may be told, and the check of the reply."""
    caller, packet = item.question.caller, item.packet
    groups = ", ".join(sorted(caller.groups)) or "no groups"
    print(f"\n== {item.title}\n{caller.id} of {caller.tenant} ({groups}) asks: {item.question.text}")
    if packet.abstain:
        print(f"   abstains: {packet.reason}")
        return
    for evidence in packet.evidence:
        chunk = evidence.chunk
        scores = " ".join(f"{leg} {score:.3f}" for leg, score in evidence.legs.items())
        first_line = " ".join(chunk.text.split())[:40]
        print(
            f"   {scores}  {chunk.id[:12]}  {chunk.source}@{chunk.revision} "
            f"[{chunk.start}, {chunk.end})  {first_line}..."
        )
    left_out = f", {len(packet.omitted)} more did not fit" if packet.omitted else ""
    print(f"   packet: {packet.size} of {packet.budget} characters{left_out}")
    reply = extractive_answer(packet)
    report = validate_reply(reply, packet)
    print(f"   answer: {' '.join(reply.answer.split())}")
    print(
        f"   cites {reply.citations[0][:12]}: {'well formed' if report.valid else report.reason} (which is not proof)"
    )
