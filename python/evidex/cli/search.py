# SPDX-License-Identifier: Apache-2.0
"""``evidex search``: the chunks of a collection that are nearest to a question, of those that somebody may read."""

from __future__ import annotations

import argparse
from functools import reduce
from operator import and_
from typing import Any

from ..access import UNRESTRICTED, Caller, Principal
from ..errors import AccessError, InvalidInput
from ..predicates import Predicate, where
from ..store.settings import Settings
from ..types import Evidence
from ._output import add_json_flag, print_json, shown
from ._store import column_value, encoder_of, open_to, settings_of

__all__ = ["register"]

_SHOWN = 100


def register(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options."""
    parser.add_argument("store", metavar="STORE", help="folder of the collection")
    parser.add_argument("question", metavar="QUESTION", help="what to look for")
    parser.add_argument("-k", "--k", type=int, default=10, help="most chunks (default: 10)")
    who = parser.add_argument_group("who asks", "a collection with rules needs it, an open one has none")
    who.add_argument("--principal", metavar="ID", help="id of the caller, with --tenant")
    who.add_argument("--tenant", metavar="T", help="its tenant")
    who.add_argument("--group", metavar="G", action="append", help="a group that it is in; repeat for several")
    who.add_argument("--unrestricted", action="store_true", help="read everything, as the operator")
    parser.add_argument(
        "--where",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="only documents whose metadata has this value; repeat, and all must match",
    )
    add_json_flag(parser)
    parser.set_defaults(run=run, refuse=parser.error)


def run(given: argparse.Namespace) -> None:
    """Searches and prints what was found.

    Raises:
        AccessError: If the collection has rules and nobody asks.
        InvalidInput: For an unknown column, a blank question, a collection whose encoder is not built in.
    """
    named = given.principal is not None
    if named != (given.tenant is not None) or (given.group and not named):
        given.refuse("--principal needs --tenant, and --tenant and --group need --principal")
    if named and given.unrestricted:
        given.refuse("--principal and --unrestricted exclude each other")
    settings = settings_of(given.store)
    caller = _caller(given, settings)
    narrowed = _where(given.where, settings)
    with open_to("r", given.store, settings, encoder_of(settings)) as kb:
        found = kb.retrieve(given.question, given.k, principal=caller, where=narrowed)
        # It counts changes of documents that a principal may not read, so it is for who may read everything.
        generation = None if isinstance(caller, Principal) else kb.generation
    if given.json:
        print_json(as_json(given, found, generation))
    else:
        print_text(found)


def as_json(given: argparse.Namespace, found: tuple[Evidence, ...], generation: int | None) -> dict[str, Any]:
    """All there is."""
    return {
        "store": given.store,
        "question": given.question,
        "k": given.k,
        "where": given.where,
        "count": len(found),
        "reason": None if len(found) == given.k else "fewer_than_k",
        "generation": generation,
        "hits": [
            {
                "rank": rank,
                "score": item.score,
                "legs": dict(item.legs),
                "id": item.chunk.id,
                "tenant": item.chunk.tenant,
                "source": item.chunk.source,
                "revision": item.chunk.revision,
                "start": item.chunk.start,
                "end": item.chunk.end,
                "text": item.chunk.text,
            }
            for rank, item in enumerate(found, 1)
        ],
    }


def print_text(found: tuple[Evidence, ...]) -> None:
    """Two lines a hit."""
    if not found:
        print("nothing found")
    for rank, item in enumerate(found, 1):
        chunk = item.chunk
        first = " ".join(chunk.text.strip().splitlines()[0].split())
        cut = first if len(first) <= _SHOWN else f"{first[:_SHOWN]}..."
        print(f"{rank:>2}. {item.score:.4f}  {shown(f'{chunk.source}@{chunk.revision}')} [{chunk.start}, {chunk.end})")
        print(f"    {shown(cut)}")


def _caller(given: argparse.Namespace, settings: Settings) -> Caller:
    if not settings.guarded:
        if given.principal is not None or given.unrestricted:
            raise InvalidInput("principal: this collection is open, anybody may read it; leave out who asks")
        return None
    if given.unrestricted:
        return UNRESTRICTED
    if given.principal is None:
        raise AccessError(
            "principal: this collection has rules; say who asks, with --principal ID --tenant T --group G, or that "
            "everything is to be read, with --unrestricted"
        )
    return Principal(given.principal, given.tenant, given.group or ())


def _where(given: list[str], settings: Settings) -> Predicate | None:
    asked = []
    for one in given:
        name, sign, text = one.partition("=")
        if not sign:
            raise InvalidInput(f"where: expected NAME=VALUE, got {one!r}")
        asked.append(where(name) == column_value(settings.columns, name, text))
    return reduce(and_, asked) if asked else None
