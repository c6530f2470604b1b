# SPDX-License-Identifier: Apache-2.0
"""``evidex compact``: drops retired revisions, for good, and gives their space back."""

from __future__ import annotations

import argparse

from ._output import add_json_flag, print_json, progress
from ._store import bytes_of, facts_of, open_to, settings_of, summary

__all__ = ["register"]


def register(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options."""
    parser.add_argument("store", metavar="STORE", help="folder of the collection; nobody else may be writing it")
    add_json_flag(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Compacts a collection and prints what it was and is."""
    settings = settings_of(given.store)
    before = bytes_of(given.store)
    with open_to("rw", given.store, settings) as kb:
        revisions = facts_of(kb, given.store)["revisions"]
        kb.compact(progress=lambda done, total: progress(done, total, "chunks laid in order"))
        facts = facts_of(kb, given.store)
    facts["bytes"] = bytes_of(given.store)
    dropped = revisions - facts["revisions"]
    if given.json:
        print_json(facts | {"bytes_before": before, "revisions_dropped": dropped})
    else:
        print(f"{dropped} retired revisions dropped, {before:,} bytes before\n{summary(facts)}")
