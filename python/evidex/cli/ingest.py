# SPDX-License-Identifier: Apache-2.0
"""``evidex ingest``: text files or JSON lines into a collection. Run again, it goes on where it was."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from .. import _checks
from ..access import ANY_IN_TENANT, UNRESTRICTED, Policy, Rule
from ..columns import Columns
from ..encoders import Encoder, HashingEncoder, get_encoder
from ..errors import AccessError, InvalidInput, MissingStore, NotFound
from ..store import Collection
from ..store.settings import Settings
from ._inputs import CHUNK_SIZE, KINDS, LINES, Input, Reading, Skipped, Source, open_source
from ._output import add_json_flag, print_json, progress, shown
from ._store import BUILT_IN, TYPES, bytes_of, facts_of, settings_of, summary

__all__ = ["register"]

_OWN = {"catalog.sqlite", "catalog.sqlite-wal", "catalog.sqlite-shm", "readers", "segments", "writer.lock"}
_MOST_LISTED = 1000
_LONGEST = 400


def register(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options."""
    parser.add_argument(
        "input",
        metavar="INPUT",
        help=f"a folder, whose files ending in {' '.join(KINDS)} are read, those below it too, hidden ones and links "
        f"not; one such file; or a file of JSON objects, one a line, ending in {' or '.join(LINES)}",
    )
    parser.add_argument("store", metavar="STORE", help="folder of the collection; made if it is not there")
    read = parser.add_argument_group("what is read")
    read.add_argument("--max-bytes", type=int, default=2**24, metavar="N", help="of a file or line (default: 16777216)")
    read.add_argument(
        "--revision", metavar="R", help="name of the revision that documents without one have (default: from content)"
    )
    read.add_argument(
        "--chunk-size",
        type=int,
        default=CHUNK_SIZE,
        metavar="N",
        help=f"most characters of a chunk (default: {CHUNK_SIZE})",
    )
    rights = parser.add_argument_group("who may read", "for all documents that do not say so themselves")
    rights.add_argument("--tenant", metavar="T", help="whose they are, with --allow or --any-in-tenant")
    rights.add_argument("--allow", metavar="G", action="append", default=[], help="a group that may read; repeat it")
    rights.add_argument("--any-in-tenant", action="store_true", help="everybody of the tenant may read")
    rights.add_argument("--deny", metavar="G", action="append", default=[], help="a group that may not; repeat it")
    rights.add_argument("--guarded", action="store_true", help="a new collection whose JSON lines say it, each its own")
    rights.add_argument("--open", action="store_true", help="a new collection without rules: anybody may read it")
    new = parser.add_argument_group("a new collection")
    new.add_argument(
        "--encoder",
        choices=(*BUILT_IN, "none"),
        help="makes vectors of texts; none where JSON lines bring vectors (default: as stored, hashing for a new one)",
    )
    new.add_argument("--dim", type=int, metavar="N", help="components of vectors, where the encoder leaves a choice")
    new.add_argument(
        "--columns",
        metavar="NAME=TYPE",
        action="append",
        default=[],
        help=f"metadata of JSON lines, {', '.join(TYPES)}; repeat for several",
    )
    parser.add_argument(
        "--batch", type=int, default=8192, metavar="N", help="chunks made durable at a time, about (default: 8192)"
    )
    add_json_flag(parser)
    parser.set_defaults(run=run, refuse=parser.error)


def run(given: argparse.Namespace) -> int:
    """Ingests and prints what came of it; 3 if inputs were left out.

    Raises:
        EvidexError: If the input or the collection cannot be opened; nothing is stored then. Or if it cannot be
            written any more; what was stored before stays.
    """
    _require_usage(given)
    most = _checks.whole(given.max_bytes, "max-bytes", least=1)
    size = _checks.whole(given.chunk_size, "chunk-size", least=1)
    batch = _checks.whole(given.batch, "batch", least=1)
    source = open_source(given.input, os.path.realpath(given.store))
    settings = _settings(given.store)
    policy = _policy(given, settings, lines=source.files is None)
    encoder = _encoder(given, settings)
    with Collection.open(
        given.store,
        "rw",
        policy=UNRESTRICTED if policy is None else policy,  # a Policy without rules is false
        encoder=encoder,
        dim=given.dim,
        columns=_columns(given.columns),
    ) as kb:
        rule = None if policy is None or given.tenant is None else _rule(given, policy)
        reading = Reading(policy, rule, kb.settings.columns, given.revision, size, most)
        sink = Sink(kb, source, size, batch)
        for one in source.read(reading):
            sink.take(one)
        sink.flush()
        facts = facts_of(kb, given.store)
    facts["bytes"] = bytes_of(given.store)
    if given.json:
        print_json(sink.as_json() | {"collection": facts})
    else:
        print(sink.as_text())
        print(summary(facts))
    return 3 if sink.left_out else 0


class Sink:
    """Stores documents in batches and counts. A document that cannot be stored is left out, the others are not."""

    def __init__(self, kb: Collection, source: Source, size: int, batch: int) -> None:
        self._kb, self._source, self._size, self._most = kb, source, size, batch
        self._batch: list[Input] = []
        self._names: set[tuple[str, str]] = set()
        self._chunks = 0
        self.stored = self.restored = self.unchanged = self.chunks = self.left_out = 0
        self.listed: list[dict[str, str]] = []

    def take(self, one: Input | Skipped) -> None:
        """Takes a document, or notes that one is left out."""
        if isinstance(one, Skipped):
            self._skip(one.where, one.reason)
            return
        document = one.document
        tenant = "" if document.rule is None else document.rule.tenant
        if (tenant, document.source) in self._names:  # put_documents would end its transaction there
            self.flush()
        self._names.add((tenant, document.source))
        self._batch.append(one)
        self._chunks += len(document.chunks or ()) + len(document.text or "") // self._size + 1
        if self._chunks >= self._most:
            self.flush()

    def flush(self) -> None:
        """Makes durable what waits."""
        if self._batch:
            self._store(self._batch)
            progress(self._batch[-1].at, self._source.size, f"{self.stored} documents stored, {self.unchanged} there")
        self._batch, self._names, self._chunks = [], set(), 0

    def _store(self, batch: list[Input]) -> None:
        """All at once; where one of them is refused, each half on its own."""
        try:
            put = self._kb.put_documents([one.document for one in batch], batch=2**62)
        except (InvalidInput, AccessError) as error:
            if len(batch) > 1:
                self._store(batch[: len(batch) // 2])
                self._store(batch[len(batch) // 2 :])
            elif self._restored(batch[0], str(error)):
                self.restored += 1
            else:
                self._skip(batch[0].where, str(error))
            return
        self.stored += put.stored
        self.unchanged += put.unchanged
        self.chunks += put.chunks

    def _restored(self, one: Input, said: str) -> bool:
        """Whether it had this very content before, which is the visible one again."""
        document, rule = one.document, one.document.rule
        retired = f"revision: {document.revision!r} of {document.source!r} was retired"
        if not one.derived or not said.startswith(retired):
            return False
        try:
            if rule is not None:  # first, so that nobody sees it by the old one
                self._kb.set_rule(rule.tenant, document.source, rule)
            self._kb.restore(None if rule is None else rule.tenant, document.source, document.revision)
        except NotFound:
            return False
        return True

    def _skip(self, where: str, reason: str) -> None:
        reason = reason if len(reason) <= _LONGEST else f"{reason[:_LONGEST]}..."
        self.left_out += 1
        if len(self.listed) < _MOST_LISTED:
            self.listed.append({"input": where, "reason": reason})
        print(f"left out: {shown(where)}: {shown(reason)}", file=sys.stderr)

    def as_json(self) -> dict[str, Any]:
        """Counts, and the first of what was left out."""
        return {
            "stored": self.stored,
            "restored": self.restored,
            "unchanged": self.unchanged,
            "chunks": self.chunks,
            "left_out": self.left_out,
            "listed": self.listed,
        }

    def as_text(self) -> str:
        """Counts in one line."""
        restored = f", {self.restored} restored" if self.restored else ""
        return (
            f"{self.stored} documents stored ({self.chunks} chunks){restored}, {self.unchanged} unchanged, "
            f"{self.left_out} left out"
        )


def _require_usage(given: argparse.Namespace) -> None:
    named = given.tenant is not None
    if given.open and (named or given.guarded or given.allow or given.any_in_tenant or given.deny):
        given.refuse("--open is for a collection without rules: leave out --tenant, --allow, --deny and --guarded")
    if not named and (given.allow or given.any_in_tenant or given.deny):
        given.refuse("--allow, --any-in-tenant and --deny need --tenant")
    if named and bool(given.allow) == given.any_in_tenant:
        given.refuse("--tenant needs either --allow or --any-in-tenant: who may read is never implied")


def _settings(store: str) -> Settings | None:
    """Those of the collection that is there, None for a new one."""
    try:
        return settings_of(store)
    except MissingStore:
        there = os.listdir(store) if os.path.isdir(store) and os.access(store, os.R_OK) else []
        if others := sorted(set(there) - _OWN):
            raise InvalidInput(
                f"store: {store!r} is no collection and holds other files, such as {others[0]!r}; name an empty or a "
                "new folder"
            ) from None
        return None


def _policy(given: argparse.Namespace, settings: Settings | None, *, lines: bool) -> Policy | None:
    """One for a collection with rules."""
    says = given.tenant is not None or given.guarded
    guarded = settings.guarded if settings is not None else says or not given.open
    if not guarded and says:
        raise InvalidInput("tenant: this collection is open and keeps no rules; leave out who may read")
    if guarded and given.open:
        raise InvalidInput("open: this collection has rules, so its documents need one; leave --open out")
    if guarded and given.tenant is None and not (lines and (settings is not None or given.guarded)):
        raise AccessError(
            "rule: who may read is never implied; say --tenant T with --allow G or --any-in-tenant, or for a new "
            "collection --open if anybody may read it, or --guarded if each JSON line says who"
        )
    return Policy() if guarded else None


def _rule(given: argparse.Namespace, policy: Policy) -> Rule:
    return policy.rule(given.tenant, ANY_IN_TENANT if given.any_in_tenant else given.allow, given.deny)


def _encoder(given: argparse.Namespace, settings: Settings | None) -> Encoder | None:
    made = None if settings is None else settings.encoder
    name = given.encoder or (made.name if made is not None else "hashing" if settings is None else "none")
    if name == "hashing":
        dim = made.dim if given.dim is None and made is not None and made.name == name else given.dim
        return HashingEncoder() if dim is None else HashingEncoder(dim)
    return get_encoder(name) if name in BUILT_IN else None


def _columns(given: list[str]) -> Columns | None:
    types = {}
    for one in given:
        name, sign, kind = one.partition("=")
        if not sign or kind not in TYPES or name in types:
            raise InvalidInput(f"columns: expected each NAME once, as NAME=TYPE of {', '.join(TYPES)}, got {one!r}")
        types[name] = TYPES[kind]
    return Columns(types) if types else None
