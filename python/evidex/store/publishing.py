# SPDX-License-Identifier: Apache-2.0
"""Changes of documents, each one transaction: what the next generation of a collection has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np

from .. import _arrays, _checks, _core
from ..access import Rule
from ..errors import CorruptFile, InvalidInput, NotFound
from ..lexical.documents import postings_of
from .addition import INSERT, Addition, Known
from .analysis import Analysis
from .catalog import Catalog
from .documents import Prepared
from .entries import keep_reference, keep_segment, next_number
from .rights import Rights, parts_json
from .segments import Segments

__all__ = ["Publisher"]

_AT_ONCE = 400


class Publisher:
    """Writes to the catalog and the segments of a collection that is open for writing."""

    def __init__(self, catalog: Catalog, segments: Segments, rights: Rights, analysis: Analysis) -> None:
        self._catalog = catalog
        self._analysis = analysis
        self._segments = segments
        self._rights = rights

    def new(self, documents: Sequence[Prepared]) -> list[bool]:
        """Which of these :meth:`put` would store. Errors are those of it."""
        with self._catalog.reading():
            known = self._known({(one.tenant, one.source) for one in documents})
        nothing = Known(0, None, {})
        return [not _is_there(known.get((one.tenant, one.source), nothing), one) for one in documents]

    def put(
        self, store: _core.RowStore, documents: Sequence[Prepared], vectors: Sequence[_arrays.Floats | None]
    ) -> list[bool]:
        """Stores documents and makes their revisions the visible ones; says for each whether anything was new.

        Args:
            store: Knows how rows are kept.
            documents: What to store, no document twice.
            vectors: Of the chunks of each; None for one that is there already.

        Raises:
            InvalidInput: If a revision is stored with other content, or was retired; or for a vector that cannot be
                stored. Nothing is changed then.
        """
        words = self._words(documents, vectors)  # which takes a while, and reads wait for a transaction
        with self._catalog.changing(), self._rules() as number_of:
            generation = self._catalog.counter("generation") + 1
            batch = Addition(
                next_number(self._catalog, "segments"), generation, next_number(self._catalog, "revisions")
            )
            known = self._known({(one.tenant, one.source) for one in documents})
            new: list[bool] = []
            offered = 0
            for one, of_chunks in zip(documents, vectors, strict=True):
                rule = None if one.rule is None else number_of(one.rule)
                document = known.get((one.tenant, one.source)) or batch.document(one, rule)
                self._follow_rule(document, rule)
                new.append(not _is_there(document, one))
                if new[-1]:
                    if of_chunks is None:
                        raise InvalidInput(f"documents: {one.source!r} was changed by another thread; put it again")
                    self._retire(document, generation)
                    batch.revision(one, document.number, rule, of_chunks, offered)
                offered += 0 if of_chunks is None else len(one.spans)
            if any(new):
                for table, values in batch.rows.items():
                    self._catalog.run_many(INSERT[table], values)
                rules = np.array(batch.rules, dtype=np.uint32)
                of_rows = None if words is None else batch.words(words)
                self.keep(batch.segment, batch.encoded(store), of_rows, rules, generation)
                self._catalog.set_meta("generation", generation)
            return new

    def _words(self, documents: Sequence[Prepared], vectors: Sequence[_arrays.Floats | None]) -> _core.Postings | None:
        """Postings of the chunks that have vectors, one after the other."""
        analyzer = self._analysis.analyzer
        if analyzer is None:
            return None
        offered = zip(documents, vectors, strict=True)
        return postings_of([text for one, given in offered if given is not None for text in one.texts], analyzer)

    def keep(
        self, number: int, segment: _core.Segment, words: _core.Postings | None, rules: Any, generation: int
    ) -> None:
        """Writes a segment and its entry, and what codes refer to if that is new. Inside a transaction."""
        keep_segment(self._catalog, self._segments.write(number, segment, rules, words), generation)
        keep_reference(self._catalog, segment.reference)

    def delete(self, tenant: str, source: str) -> None:
        """Retires the visible revision of a document.

        Raises:
            NotFound: If there is none.
        """
        with self._catalog.changing():
            document = self._document(tenant, source)
            if not any(visible for *_, visible in document.revisions.values()):
                raise NotFound(f"no such document: {source!r} of tenant {tenant!r} has no visible revision")
            generation = self._catalog.counter("generation") + 1
            self._retire(document, generation)
            self._catalog.set_meta("generation", generation)

    def restore(self, tenant: str, source: str, revision: str) -> None:
        """Makes a retained revision the visible one again.

        Raises:
            NotFound: If it is not retained.
        """
        with self._catalog.changing():
            document = self._document(tenant, source)
            if revision not in document.revisions:
                raise NotFound(f"no such revision: {revision!r} of {source!r} is not retained; put it again")
            number, _, visible = document.revisions[revision]
            if visible:
                return
            generation = self._catalog.counter("generation") + 1
            self._retire(document, generation)
            self._catalog.run(
                "INSERT INTO places (revision, segment, first, born) SELECT revision, segment, first, ? FROM places "
                "WHERE revision = ? ORDER BY born DESC LIMIT 1",
                (generation, number),
            )
            self._catalog.set_meta("generation", generation)

    def set_rule(self, tenant: str, source: str, rule: Rule) -> None:
        """Puts a document under another rule of the same tenant."""
        if not isinstance(rule, Rule):
            _checks.refuse("rule", rule, "a Rule", "make one with policy.rule(...)")
        if rule.tenant != tenant:
            raise InvalidInput(
                f"rule: {rule!r} is about tenant {rule.tenant!r}, the document is {tenant!r}'s; a document stays with "
                "its tenant: delete it and put it under the other one"
            )
        with self._catalog.changing(), self._rules() as number_of:
            self._follow_rule(self._document(tenant, source), number_of(rule))

    def change_rule(self, rule: Rule, allow: Any, deny: Any) -> None:
        """Makes a stored rule say something else."""
        with self._catalog.changing(), self._rules() as number_of:
            number = number_of(rule)
            self._changed = True
            self._catalog.run(
                "UPDATE rules SET parts = ?, changed = ? WHERE number = ?",
                (parts_json(allow, deny), self._catalog.counter("rights") + 1, number),
            )

    @contextmanager
    def _rules(self) -> Iterator[Any]:
        """Stored numbers of rules; at the end the change of rights is counted, if there was one."""
        self._changed = False
        self._rights.sync()  # a call that was interrupted after its transaction may have stored rules
        after = self._catalog.counter("rights") + 1
        numbers: dict[int, int] = {}

        def number_of(rule: Rule) -> int:
            if rule.number not in numbers:
                numbers[rule.number], made = self._rights.stored_number(rule, after)
                self._changed = self._changed or made
            return numbers[rule.number]

        yield number_of
        if self._changed:
            self._catalog.set_meta("rights", after)

    def _follow_rule(self, document: Known, rule: int | None) -> None:
        if document.rule == rule:
            return
        self._changed = True
        self._catalog.run(
            "UPDATE documents SET rule = ?, changed = ? WHERE number = ?",
            (rule, self._catalog.counter("rights") + 1, document.number),
        )

    def _retire(self, document: Known, generation: int) -> None:
        for name, (number, digest, visible) in document.revisions.items():
            if visible:
                self._catalog.run(
                    "UPDATE places SET died = ? WHERE revision = ? AND died IS NULL", (generation, number)
                )
                document.revisions[name] = number, digest, False

    def _document(self, tenant: str, source: str) -> Known:
        found = self._known({(tenant, source)})
        if not found:
            raise NotFound(f"no such document: {source!r} of tenant {tenant!r}")
        return found[tenant, source]

    def _known(self, names: set[tuple[str, str]]) -> dict[tuple[str, str], Known]:
        """The documents of these that are stored."""
        found: dict[tuple[str, str], Known] = {}
        by_number: dict[int, Known] = {}
        if self._catalog.one("SELECT 1 FROM documents LIMIT 1") is None:
            return found
        rest = iter(sorted(names))
        while some := list(islice(rest, _AT_ONCE)):
            marks = ",".join("(?, ?)" for _ in some)
            flat = [part for pair in some for part in pair]
            for number, tenant, source, rule in self._catalog.all(
                # A join, since a list of pairs would not use the index.
                f"WITH wanted (tenant, source) AS (VALUES {marks}) "
                "SELECT number, wanted.tenant, wanted.source, rule FROM wanted CROSS JOIN documents "
                "ON documents.tenant = wanted.tenant AND documents.source = wanted.source",
                flat,
                "issI",
            ):
                by_number[number] = found[tenant, source] = Known(number, rule, {})
        numbers = iter(by_number)
        while few := list(islice(numbers, _AT_ONCE)):
            for number, document, name, digest, visible in self._catalog.all(
                "SELECT number, document, name, digest, EXISTS (SELECT 1 FROM places WHERE revision = number "
                f"AND died IS NULL) FROM revisions WHERE document IN ({','.join('?' * len(few))})",
                few,
                "iisbi",
            ):
                if document not in by_number:  # an index that says other than its table
                    raise CorruptFile(f"{self._catalog.path}: revision {number} is of no such document; run verify()")
                by_number[document].revisions[name] = number, digest, bool(visible)
        return found


def _is_there(document: Known, one: Prepared) -> bool:
    """Whether exactly this is the visible revision."""
    if one.revision not in document.revisions:
        return False
    _, digest, visible = document.revisions[one.revision]
    if digest != one.digest:
        raise InvalidInput(
            f"revision: {one.revision!r} of {one.source!r} is stored with other content; a revision never changes: "
            "give the new content a revision of its own"
        )
    if not visible:
        raise InvalidInput(f"revision: {one.revision!r} of {one.source!r} was retired; restore(...) brings it back")
    return True
