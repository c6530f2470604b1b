# SPDX-License-Identifier: Apache-2.0
"""``evidex info``: what runs here and why; with a collection, what it is and holds."""

from __future__ import annotations

import argparse
import os
import platform
from dataclasses import asdict

import numpy as np

from .. import _core
from ._output import add_json_flag, print_json, shown, table

__all__ = ["register"]


def register(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options."""
    parser.add_argument("store", metavar="STORE", nargs="?", help="folder of a collection (default: this machine)")
    add_json_flag(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Prints what the core reports, or what a collection holds."""
    if given.store is not None:
        describe(given.store, as_json=given.json)
        return
    metrics = [name for name, *_ in _core.metrics()]
    facts = {
        "evidex": _core.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "isa": _core.active_isa(),
        "isa_forced": os.environ.get("EVIDEX_ISA") or None,
        "threads": _core.default_threads(),
        "metrics": metrics,
        "isas": _core.isas(),
    }
    if given.json:
        print_json(facts)
        return
    forced = " (forced by EVIDEX_ISA)" if facts["isa_forced"] else ""
    print(f"evidex {facts['evidex']}, Python {facts['python']}, numpy {facts['numpy']}, {facts['machine']}")
    print(f"instruction set: {facts['isa']}{forced}")
    print(f"threads by default: {facts['threads']} (affinity and cgroup quota)")
    print(f"metrics: {', '.join(metrics)}\n")
    isas = _core.isas()
    states = [["supported", *("yes" if isa["supported"] else "no" for isa in isas)]]
    states.append(["self-test", *(isa["self_test"] for isa in isas)])
    slots = [[slot, *(isa["slots"][slot] for isa in isas)] for slot in isas[0]["slots"]]
    print(table(["kernel slot", *(isa["name"] for isa in isas)], states + slots))


def describe(store: str, *, as_json: bool) -> None:
    """Prints what a collection was made with, and what it holds."""
    from ._store import bytes_of, facts_of, open_to, settings_of

    settings = settings_of(store)
    with open_to("r", store, settings) as kb:
        facts = facts_of(kb, store)
    facts["bytes"] = bytes_of(store)
    if as_json:
        print_json(facts | {"settings": asdict(settings)})
        return
    made = settings.encoder
    print(f"collection {shown(store)}, generation {facts['generation']}, {facts['bytes']:,} bytes")
    print(f"who may read: {'by rules, ' + str(facts['rules']) if settings.guarded else 'anybody (open)'}")
    print(f"vectors: {settings.dim} x {settings.codec}, {settings.metric}")
    print(f"encoder: {'none, vectors are given' if made is None else shown(made.name)}")
    columns = ", ".join(f"{name} ({kind})" for name, kind in settings.columns.items())
    print(f"columns: {shown(columns) or 'none'}\n")
    counted = ("documents", "chunks", "revisions", "segments")
    print(table(["what", "how many"], [[what, facts[what]] for what in counted]))
