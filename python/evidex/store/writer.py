# SPDX-License-Identifier: Apache-2.0
"""Changing a collection."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _checks
from ..access import AnyInTenant, Policy, Rule, lists
from ..errors import InvalidInput, LockHeld
from ..text import Chunker
from .batches import batches, vectors_of
from .documents import Document, Prepared, name
from .publishing import Publisher
from .reader import CollectionReader
from .rights import Rights
from .upkeep import Progress, Upkeep

__all__ = ["CollectionWriter", "Put"]

_BATCH_ROWS = 8192


@dataclass(frozen=True, slots=True)
class Put:
    """What came of putting documents: how many were new, how many were there already, and chunks stored."""

    stored: int
    unchanged: int
    chunks: int


class CollectionWriter(CollectionReader):
    """What changes a collection. Made by :class:`evidex.Collection`; each call needs ``mode="rw"``."""

    _folder: str | None
    _mode: str
    _pid: int
    _policy: Policy | None
    _changing: Any
    _rights: Rights
    _publisher: Publisher
    _upkeep: Upkeep
    refresh: Callable[[], int]
    _least: Callable[[], int]
    _require_open: Callable[[], None]

    def put_document(
        self,
        source: str,
        revision: str,
        text: str | None = None,
        *,
        chunks: Sequence[str] | None = None,
        vectors: npt.ArrayLike | None = None,
        rule: Rule | None = None,
        metadata: Mapping[str, object] | None = None,
        chunker: Chunker | None = None,
    ) -> Put:
        """Stores a revision of a document and makes it the visible one; the one before is retired with it.

        Arguments are those of :class:`evidex.Document`. Putting what is there already changes nothing. A rule other
        than the document has becomes its rule, as with :meth:`set_rule`.

        Raises:
            InvalidInput: If the revision is stored with other content or was retired, or for what cannot be stored:
                blank or overlong texts, NUL, lone surrogates, wrong vectors or metadata.
            AccessError: For a document without a rule in a guarded collection.
            NotStored: If it cannot be made durable. Nothing is changed by a call that raises one of these. An
                interrupt may come just after the change was made durable; the next :meth:`refresh` shows it.
        """
        return self.put_documents([Document(source, revision, text, chunks, vectors, rule, metadata, chunker)])

    def put_documents(
        self,
        documents: Iterable[Document],
        *,
        batch: int = _BATCH_ROWS,
        progress: Callable[[int], None] | None = None,
    ) -> Put:
        """Stores documents in batches. Each batch is there whole or not at all, and made durable once.

        If it is interrupted, call it again with the same documents: what is stored already is passed over.

        Args:
            documents: May be a generator; a document that comes twice is put twice.
            batch: Chunks after which a batch ends.
            progress: Called after each batch with the documents done.

        Raises:
            InvalidInput, AccessError, NotStored: As :meth:`put_document`; batches before the one that failed stay.
        """
        most = _checks.whole(batch, "batch", least=1)
        self._writing()  # refused before any text goes to the encoder
        stored = unchanged = chunks = 0
        for some in batches(documents, most, self._settings):
            new = self._publish(some)
            stored += sum(new)
            unchanged += len(new) - sum(new)
            chunks += sum(len(one.spans) for one, is_new in zip(some, new, strict=True) if is_new)
            if progress is not None:
                progress(stored + unchanged)
        return Put(stored, unchanged, chunks)

    def add_texts(
        self, texts: Iterable[str], *, rule: Rule | None = None, metadata: Mapping[str, object] | None = None
    ) -> list[str]:
        """Stores texts as documents of their own, named after their content; for notebooks. Returns the sources."""
        given = _checks.texts(texts, "texts")
        sources = [f"text-{hashlib.sha256(_checks.utf8(one, 'texts').encode()).hexdigest()[:24]}" for one in given]
        self.put_documents(
            Document(source, "1", one, rule=rule, metadata=metadata) for source, one in zip(sources, given, strict=True)
        )
        return sources

    def delete_document(self, tenant: str | None, source: str) -> None:
        """Retires the visible revision; until :meth:`compact` it can be restored. ``tenant`` is None on an open one.

        Raises:
            NotFound: If no revision is visible.
        """
        with self._writing():
            self._publisher.delete(self._tenant(tenant), name(source, "source"))
            self.refresh()

    def restore(self, tenant: str | None, source: str, revision: str) -> None:
        """Makes a retired revision the visible one again.

        Raises:
            NotFound: If it is not stored any more, or never was.
        """
        with self._writing():
            self._publisher.restore(self._tenant(tenant), name(source, "source"), name(revision, "revision"))
            self.refresh()

    def set_rule(self, tenant: str, source: str, rule: Rule) -> None:
        """Puts a document under another rule of its tenant: it counts for the next read of every process and snapshot.

        Raises:
            NotFound: If there is no such document.
            InvalidInput: For a rule of another policy or tenant, and on an open collection.
        """
        with self._writing():
            self._require_rules()
            self._publisher.set_rule(self._tenant(tenant), name(source, "source"), rule)
            self._rights.sync()

    def change_rule(self, rule: Rule, allow: Iterable[str] | AnyInTenant, deny: Iterable[str] = ()) -> None:
        """Makes a rule say something else, for all documents under it, as :meth:`Policy.change` does for an index.

        Raises:
            InvalidInput: As :meth:`Policy.change`, and on an open collection.
        """
        with self._writing():
            self._require_rules()
            self._publisher.change_rule(rule, *lists(allow, deny))
            self._rights.sync()

    def optimize(self, *, progress: Progress | None = None) -> None:
        """Lays rows under one rule side by side, in new segments: what a caller may read becomes runs.

        Ids and answers stay what they are, bit for bit. Retired revisions are kept.

        Args:
            progress: Called with rows written and rows in all.

        Raises:
            CorruptFile: If a file is not what was written: it is checked before its rows are copied. Nothing is
                changed then.
        """
        with self._writing():
            self.refresh()  # a call before may have been interrupted after its transaction
            self._upkeep.require_sound()
            self._upkeep.rewrite(self._now(), self._stored_ranks(), progress)
            self.refresh()
            self._upkeep.sweep(self._least())

    def compact(self, *, progress: Progress | None = None) -> None:
        """Drops retired revisions, for good, and gives their memory back; what a snapshot or reader pins stays.

        Arguments and errors are those of :meth:`optimize`, which this does too.
        """
        with self._writing():
            self.refresh()
            self._upkeep.require_sound()
            least = self._least()
            with self._catalog.changing():
                self._upkeep.forget(least)
                self._upkeep.rewrite(self._now(), self._stored_ranks(), progress)
            self.refresh()
            self._upkeep.sweep(self._least())
            self._upkeep.shrink()

    def erase(self, tenant: str | None, source: str) -> None:
        """Removes all revisions of a document and every byte of them from the collection's files.

        Raises:
            NotFound: If there is no such document.
            LockHeld: If a snapshot or another process still reads a state that shows it, or files that have it. In a
                guarded collection nobody can read it then, not even from that state; in an open one only from that
                state. The message says what to call when they have let go: this again, or :meth:`compact`.
            CorruptFile: As :meth:`optimize`; nobody can read it then.
        """
        with self._writing():
            owner = self._tenant(tenant)
            number = self._upkeep.document(owner, name(source, "source"))
            self._upkeep.hide(number)
            self._rights.sync()
            self.refresh()
            if self._upkeep.shows(least := self._least(), number):
                who = "nobody" if self._settings.guarded else "nobody else"
                raise LockHeld(
                    f"erase: generation {least} is still read, by a snapshot or another process, so the bytes of "
                    f"{source!r} are still stored; {who} can read them. Close what reads it or let it refresh(), and "
                    "call erase again"
                )
            self._upkeep.require_sound()
            with self._catalog.changing():
                self._upkeep.forget(least, number)
                self._upkeep.rewrite(self._now(), self._stored_ranks(), None)
            self.refresh()
            self._upkeep.sweep(least := self._least())
            if not self._upkeep.shrink() or least < self.generation:
                raise LockHeld(
                    f"erase: {source!r} is gone for everybody, but files that others still read have bytes of it. "
                    "Close what reads them or let it refresh(), and call compact()"
                )

    def verify(self, *, progress: Progress | None = None) -> None:
        """Reads every byte and checks it against what was written.

        Args:
            progress: Called with segments read and segments in all.

        Raises:
            CorruptFile: For the first thing that is wrong.
        """
        self._require_open()
        self._upkeep.verify(progress)

    def _publish(self, batch: list[Prepared]) -> list[bool]:
        self._writing()
        new = [True] * len(batch)
        if self._settings.analyzer is not None or any(one.vectors is None for one in batch):
            new = self._publisher.new(batch)  # what is there already is not encoded and analysed again
        vectors = vectors_of(batch, new, self._settings, self._encoder)
        with self._writing():
            new = self._publisher.put(self._now().family.store, batch, vectors)
            if any(new):
                self.refresh()
            self._rights.sync()
        return new

    def _writing(self) -> Any:
        """The lock under which one thread changes the collection."""
        self._require_open()
        if self._mode != "rw":
            raise InvalidInput('mode: this collection was opened to be read; open it with mode="rw"')
        if self._folder is not None and self._pid != os.getpid():
            raise InvalidInput("collection: it was opened for writing before a fork; open it in this process")
        return self._changing

    def _tenant(self, tenant: object) -> str:
        if self._settings.guarded:
            return name(tenant, "tenant")
        if tenant not in (None, ""):
            _checks.refuse("tenant", tenant, "None", "an open collection has no tenants")
        return ""

    def _require_rules(self) -> Policy:
        if self._policy is None:
            raise InvalidInput("rule: this collection is open and keeps no rules")
        return self._policy

    def _stored_ranks(self) -> npt.NDArray[np.uint32]:
        return np.empty(0, dtype=np.uint32) if self._policy is None else self._rights.ranks()
