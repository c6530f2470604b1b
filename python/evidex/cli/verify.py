# SPDX-License-Identifier: Apache-2.0
"""``evidex verify``: whether a collection is as it was written."""

from __future__ import annotations

import argparse

from ..errors import CorruptFile
from ._output import add_json_flag, print_json, progress
from ._store import bytes_of, facts_of, open_to, settings_of, summary

__all__ = ["register"]


def register(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options."""
    parser.add_argument("store", metavar="STORE", help="folder of the collection")
    add_json_flag(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Checks a collection and prints what was found.

    Raises:
        CorruptFile: At the end, if something is wrong with it.
    """
    try:
        with open_to("r", given.store, settings_of(given.store)) as kb:
            kb.verify(progress=lambda done, total: progress(done, total, "segments read"))
            facts = facts_of(kb, given.store)
        facts["bytes"] = bytes_of(given.store)
    except CorruptFile as error:
        if given.json:
            print_json({"store": given.store, "ok": False, "problem": str(error)})
        else:
            print("not ok")
        raise
    if given.json:
        print_json({"store": given.store, "ok": True, "problem": None} | facts)
    else:
        print(f"{summary(facts)}\nok")
