# SPDX-License-Identifier: Apache-2.0
"""``evidex info``: what runs here and why."""

from __future__ import annotations

import argparse
import os
import platform
from typing import Any

import numpy as np

from .. import _core
from ._output import add_json_flag, print_json, table

__all__ = ["register"]


def register(commands: Any) -> None:
    """Adds the command to the parser."""
    parser = commands.add_parser("info", help="version, instruction set, kernels and threads on this machine")
    add_json_flag(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Prints what the core reports."""
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
