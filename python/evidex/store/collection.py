# SPDX-License-Identifier: Apache-2.0
"""Collection: documents that are revised, on disk or in memory, and what of them a caller may find."""

from __future__ import annotations

import os
import threading
from types import TracebackType

from .. import _checks
from ..access import UNRESTRICTED, Policy, Unrestricted
from ..audit import RetrievalLog
from ..columns import Columns
from ..encoders import Encoder, get_encoder
from ..errors import AccessError, CorruptFile, InvalidInput, MissingStore
from ..lexical.statistics import Statistics
from ..text import Analyzer
from .alive import Alive
from .analysis import Analysis
from .catalog import Catalog
from .family import View
from .files import Lease, WriterLock, create_folder, has_catalog, leased, require_folder
from .newest import newest_view
from .publishing import Publisher
from .rights import Rights, StoredGuard
from .segments import FolderSegments, Layout, MemorySegments, Segments
from .settings import Settings, identity_of
from .snapshot import CollectionSnapshot, lease_if_possible
from .upkeep import Upkeep
from .writer import CollectionWriter

__all__ = ["Collection"]

_MODES = ("r", "rw")
_KIND = "collection"
_KIND_WITH_WORDS = "collection with words"  # a version that knows none would add rows without them


class Collection(CollectionWriter):
    """Documents with access rules, found by meaning: durable in a folder, or in memory.

    A document is known by its tenant, which is its rule's, and its source; one revision of it is visible. A change is
    there whole or not at all, and stays through a crash at any instant once the call returned. A reader sees the state
    of when it opened or last called :meth:`refresh`; rights are always the newest, whoever changed them.

    Any number of processes may read while one writes. Any thread may call anything. After a fork the child may read;
    a collection that was open for writing it must open itself. Made by :meth:`open` or :meth:`in_memory`; use it as a
    context manager, or close it.
    """

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        mode: str = "r",
        *,
        policy: Policy | Unrestricted,
        encoder: Encoder | str | None = None,
        dim: int | None = None,
        metric: str | None = None,
        codec: str | None = None,
        columns: Columns | None = None,
        analyzer: Analyzer | None = None,
        log: RetrievalLog | None = None,
    ) -> Collection:
        """Opens a collection in a folder, and with ``mode="rw"`` makes it if it is not there.

        Args:
            path: The folder.
            mode: ``"r"`` to read, ``"rw"`` to write too; one process at a time.
            policy: Gets the rules that are stored, and makes new ones: one Policy for each open collection.
                UNRESTRICTED for a collection without rules, which anybody may read.
            encoder: Makes vectors of texts, or the name of a built-in one; without it vectors are given.
            dim: Components per vector, where a new collection has no encoder.
            metric: As in :class:`DenseIndex`; cosine for a new collection.
            codec: As in :class:`DenseIndex`; float32 for a new collection.
            columns: Names and types of documents' metadata, for a new collection.
            analyzer: For a new collection that keeps words too, to be searched by them: ``retrieve(mode="sparse")`` and
                ``"hybrid"``. It is stored; who gives one later must give the same.
            log: As in :class:`DenseIndex`.

        Raises:
            MissingStore: If nothing is there to read.
            LockHeld: If it is being written already.
            EncoderMismatch: If the vectors are another encoder's.
            AccessError: If it has rules and ``policy`` is UNRESTRICTED.
            CorruptFile, VersionMismatch: If its files are damaged, or newer than this version.
            InvalidInput: For arguments that differ from what the collection was made with, and for a path that is no
                folder or, to write, cannot be written.
        """
        if mode not in _MODES:
            _checks.refuse("mode", mode, '"r" or "rw"', "choose one of the two")
        folder = _folder(path)
        one = cls.__new__(cls)
        one._begin(folder, mode, policy, _encoder(encoder), log)
        try:
            one._open(dim, metric, codec, columns, analyzer)
        except BaseException:
            one.close()
            raise
        return one

    @classmethod
    def in_memory(
        cls,
        *,
        policy: Policy | Unrestricted,
        encoder: Encoder | str | None = None,
        dim: int | None = None,
        metric: str = "cosine",
        codec: str = "float32",
        columns: Columns | None = None,
        analyzer: Analyzer | None = None,
        log: RetrievalLog | None = None,
    ) -> Collection:
        """A collection that ends with the process. Arguments and errors are those of :meth:`open`."""
        one = cls.__new__(cls)
        one._begin(None, "rw", policy, _encoder(encoder), log)
        try:
            one._open(dim, metric, codec, columns, analyzer)
        except BaseException:
            one.close()
            raise
        return one

    def _begin(
        self, folder: str | None, mode: str, policy: object, encoder: Encoder | None, log: RetrievalLog | None
    ) -> None:
        if policy is not UNRESTRICTED and not isinstance(policy, Policy):
            _checks.refuse("policy", policy, "a Policy, or UNRESTRICTED", "who may read is never implied")
        if log is not None and not isinstance(log, RetrievalLog):
            _checks.refuse("log", log, "a RetrievalLog, or None", "leave it out to keep no log")
        self._folder, self._mode, self._pid = folder, mode, os.getpid()
        self._policy = policy if isinstance(policy, Policy) else None
        self._given_encoder, self._given_log = encoder, log
        self._lock: WriterLock | None = None
        self._lease: Lease | None = None
        self._kept_policy = self._closed = False
        self._changing = threading.RLock()
        self._snapshots: Alive[CollectionSnapshot] = Alive()
        self._view: View | None = None
        self._views: Alive[View] = Alive()  # all that somebody still reads

    def _open(
        self, dim: object, metric: object, codec: object, columns: Columns | None, analyzer: Analyzer | None
    ) -> None:
        writes = self._mode == "rw"
        identity = None if self._given_encoder is None else identity_of(self._given_encoder)

        def settings() -> Settings:
            kept = metric or "cosine", codec or "float32", self._policy is not None
            return Settings.of(dim, *kept, columns, identity, analyzer)

        if writes and not (self._folder is not None and has_catalog(self._folder)):
            settings()  # wrong arguments are refused before anything is made
        if self._folder is not None:
            if writes:
                create_folder(self._folder)
                self._lock = WriterLock(self._folder)
            else:
                require_folder(self._folder)
                self._lease = lease_if_possible(self._folder)
        if self._policy is not None:
            self._policy.keep(repr(self))
            self._kept_policy = True
        self._catalog = Catalog(self._folder, write=writes, new=writes)
        there = self._folder is not None and self._catalog.has_schema()
        if not there:
            if not writes:
                raise MissingStore(f"path: {self._folder!r} holds no collection yet")
            with self._catalog.changing():
                self._catalog.create_schema()
                self._catalog.set_meta("kind", _KIND if analyzer is None else _KIND_WITH_WORDS)
                self._catalog.set_meta("settings", settings().to_json())
                self._catalog.set_meta("generation", 0)
                self._catalog.set_meta("rights", 0)
        if (kind := self._catalog.meta("kind")) not in (_KIND, _KIND_WITH_WORDS):
            raise InvalidInput(
                f"path: {self._folder!r} holds an index, not a collection; use DenseIndex.load or SparseIndex.load"
            )
        stored = Settings.from_json(self._catalog.json(self._catalog.meta("settings"), "settings"), self._catalog.path)
        if (kind == _KIND_WITH_WORDS) != (stored.analyzer is not None):
            raise CorruptFile(f"{self._catalog.path}: a {kind} with analyzer {stored.analyzer!r}; restore the file")
        self._require(stored, dim, metric, codec, columns)
        analysis = Analysis(stored.analyzer, analyzer)
        if identity is not None:
            stored.require_encoder(identity)
        self._segments: Segments = (
            MemorySegments() if self._folder is None else FolderSegments(self._folder, Layout(stored.dim, stored.codec))
        )
        self._rights = Rights(self._catalog, self._policy)
        self._publisher = Publisher(self._catalog, self._segments, self._rights, analysis)
        self._upkeep = Upkeep(self._catalog, self._segments, self._publisher)
        guard = StoredGuard(self._rights)
        encoder, log = self._given_encoder, self._given_log
        self._read_as(stored, self._catalog, guard, encoder, log, analysis, Statistics(guard))
        self.refresh()
        if writes:
            self._upkeep.sweep(self._least())  # what a crash left, a segment with erased rows for example

    def _require(self, stored: Settings, dim: object, metric: object, codec: object, columns: Columns | None) -> None:
        """The arguments given are what is stored."""
        if stored.guarded and self._policy is None:
            raise AccessError("policy: this collection has rules; pass a Policy(), which gets them")
        if not stored.guarded and self._policy is not None:
            raise InvalidInput(
                "policy: this collection has no rules, so a policy would restrict nothing; pass UNRESTRICTED"
            )
        stored.require_same(dim, metric, codec, columns)

    def refresh(self) -> int:
        """Moves on to the newest state, and says which generation that is."""
        with self._changing:
            view = newest_view(self._view, self._settings, self._catalog, self._segments, self._rights)
            if self._view is not None and view.family is not self._view.family:
                self._statistics.forget()  # segments were rewritten, perhaps without what was erased
            self._view = view
            self._views.add(view)
            if self._lease is not None:
                leased = {one._view for one in self._snapshots}  # by themselves
                read = [view.generation for view in self._views if view is self._view or view not in leased]
                self._lease.renew(min(read))
            return view.generation

    def snapshot(self) -> CollectionSnapshot:
        """The state that this collection is at, kept until the snapshot is closed or garbage."""
        with self._changing:
            self._require_open()
            lease = None if self._folder is None else lease_if_possible(self._folder)
            if lease is not None:
                lease.renew(self.generation)
            made = CollectionSnapshot(lease, self._now())
            self._lend_to(made)
            self._snapshots.add(made)
            return made

    def _least(self) -> int:
        """The oldest generation that anybody reads."""
        others = [] if self._folder is None else list(leased(self._folder))
        return min([self.generation, *(view.generation for view in self._views), *others])

    def _require_open(self) -> None:
        if self._closed:
            raise InvalidInput("collection: it was closed; open it again")

    def close(self) -> None:
        """Ends reading and writing, snapshots' too; what was stored stays. May be called again."""
        with self._changing:
            if self._closed:
                return
            self._closed, self._view = True, None
            for one in self._snapshots:
                one.close()
            if hasattr(self, "_catalog"):
                self._catalog.close()
            if self._pid == os.getpid():
                if self._lease is not None:
                    self._lease.release()
                if self._lock is not None:
                    self._lock.release()
            if self._kept_policy and self._policy is not None:
                self._policy.keep(None)

    def __enter__(self) -> Collection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        """Chunks that are visible. The operator's figure: a principal may learn :meth:`count`."""
        return self._now().pinned.live_rows

    def __repr__(self) -> str:
        where = "in memory" if self._folder is None else repr(self._folder)
        if (view := self._view) is None:
            return f"Collection({where}{', closed' if self._closed else ''})"
        chunks = f"{view.pinned.live_rows} chunks"
        return f"Collection({where}, {chunks}, generation={view.generation}, dim={self._dim}, mode={self._mode!r})"


def _folder(path: object) -> str:
    try:
        folder = os.fspath(path)  # type: ignore[call-overload]
        if isinstance(folder, str) and folder and "\0" not in folder and os.fsencode(folder):
            return folder
    except (TypeError, UnicodeEncodeError):
        pass
    _checks.refuse("path", path, "the name of a folder", "pass a str or a Path")


def _encoder(given: object) -> Encoder | None:
    if isinstance(given, str):
        return get_encoder(given)
    return given  # type: ignore[return-value]  # identity_of checks it
