# SPDX-License-Identifier: Apache-2.0
"""What keeps a collection small, quick and sound: rewriting its segments, dropping what is retired, checking it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..errors import CorruptFile, NotFound
from ..lexical.parts import gathered
from ..text.identity import ChunkNames, row_of
from .catalog import Catalog
from .chunks import PIECE, read_text
from .entries import living_segments
from .family import View
from .publishing import Publisher
from .segments import Segments

__all__ = ["Progress", "Upkeep"]

Progress = Callable[[int, int], None]

_ROWS = 2**18  # of a rewritten segment: what is in memory at a time


class Upkeep:
    """Works on a collection that is open for writing."""

    def __init__(self, catalog: Catalog, segments: Segments, publisher: Publisher) -> None:
        self._catalog = catalog
        self._segments = segments
        self._publisher = publisher

    def require_sound(self) -> None:
        """To be called before rows are copied: copies get digests of their own, and would hide damage.

        Reads the files in no transaction, since other reads wait for that.

        Raises:
            CorruptFile: For a segment that is not what was written.
        """
        for stored in living_segments(self._catalog):
            self._segments.verify(stored)

    def rewrite(self, view: View, ranks: npt.NDArray[np.uint32], progress: Progress | None) -> None:
        """Lays rows under one rule side by side in new segments; rows of no revision that is kept are left out.

        Args:
            view: The newest one.
            ranks: Place in the new order of each rule, by its number in the catalog.
            progress: Called with rows written and rows in all.
        """
        with self._catalog.changing():
            generation = self._catalog.counter("generation") + 1
            places = self._catalog.all(
                "SELECT places.rowid, revision, segment, first, died, documents.rule, rows FROM places "
                "JOIN revisions ON revisions.number = revision JOIN documents ON documents.number = document "
                "ORDER BY died IS NULL, born",
                kinds="iiiiIIi",
            )
            newest = {place[1]: place for place in places}.values()  # where a revision is visible, or was last
            order = sorted(newest, key=lambda p: (p[4] is not None, _rank(ranks, p[5]), p[2], p[3]))
            self._catalog.run("UPDATE segments SET died = ? WHERE died IS NULL", (generation,))
            self._write(view, order, generation, progress)
            self._catalog.set_meta("generation", generation)

    def _write(self, view: View, order: list[Any], generation: int, progress: Progress | None) -> None:
        total = sum(place[6] for place in order)
        done = 0
        number = 1 + int((self._catalog.one("SELECT max(number) FROM segments") or (0,))[0] or 0)
        batch: list[Any] = []
        rows = 0
        for place in [*order, None]:
            if place is not None:
                batch.append(place)
                rows += place[6]
            if batch and (place is None or rows >= _ROWS):
                self._write_segment(view, number, batch, generation)
                done += rows
                number, batch, rows = number + 1, [], 0
                if progress is not None:
                    progress(done, total)

    def _write_segment(self, view: View, number: int, places: list[Any], generation: int) -> None:
        rows = np.concatenate(
            [
                view.family.place(segment, first, count) + np.arange(count)
                for _, _, segment, first, _, _, count in places
            ]
        ).astype(np.int64)
        rules = np.concatenate(
            [np.full(place[6], _core.NO_RULE if place[5] is None else place[5], dtype=np.uint32) for place in places]
        )
        words = None if view.parts is None else gathered(view.parts, rows, False)
        self._publisher.keep(number, view.pinned.gather(rows), words, rules, generation)
        first = 0
        for rowid, revision, _, _, died, _, count in places:
            if died is None:
                self._catalog.run("UPDATE places SET died = ? WHERE rowid = ?", (generation, rowid))
            self._catalog.run(
                "INSERT INTO places (revision, segment, first, born, died) VALUES (?, ?, ?, ?, ?)",
                (revision, number, first, generation, None if died is None else generation),
            )
            first += count

    def hide(self, document: int) -> None:
        """Retires a document and leaves it without a rule: readable by nobody, in no snapshot."""
        of_it = "revision IN (SELECT number FROM revisions WHERE document = ?)"
        with self._catalog.changing():
            if self._catalog.one(f"SELECT 1 FROM places WHERE died IS NULL AND {of_it}", (document,)) is not None:
                generation = self._catalog.counter("generation") + 1
                self._catalog.run(f"UPDATE places SET died = ? WHERE died IS NULL AND {of_it}", (generation, document))
                self._catalog.set_meta("generation", generation)
            rights = self._catalog.counter("rights") + 1
            self._catalog.run("UPDATE documents SET rule = NULL, changed = ? WHERE number = ?", (rights, document))
            self._catalog.set_meta("rights", rights)

    def shows(self, least: int, document: int) -> bool:
        """Whether a generation from ``least`` on has a revision of a document."""
        found = self._catalog.one(f"SELECT 1 FROM revisions WHERE document = ? AND {_SHOWN}", (document, least))
        return found is not None

    def forget(self, least: int, only: int | None = None) -> int:
        """Drops retired revisions that no generation from ``least`` on shows; of document ``only``, if one is given.

        Returns how many there were.
        """
        with self._catalog.changing():
            found = self._catalog.all(
                f"SELECT number FROM revisions WHERE NOT {_SHOWN} AND (? IS NULL OR document = ?)",
                (least, only, only),
            )
            for table in ("chunks", "texts", "places"):
                self._catalog.run_many(f"DELETE FROM {table} WHERE revision = ?", found)
            self._catalog.run_many("DELETE FROM revisions WHERE number = ?", found)
            self._catalog.run("DELETE FROM documents WHERE number NOT IN (SELECT document FROM revisions)")
        return len(found)

    def sweep(self, least: int) -> None:
        """Deletes segments that no generation from ``least`` on reads, and what crashes left behind."""
        with self._catalog.changing():
            self._catalog.run("DELETE FROM segments WHERE died IS NOT NULL AND died <= ?", (least,))
            self._catalog.run(
                "DELETE FROM places WHERE died IS NOT NULL AND segment NOT IN (SELECT number FROM segments)"
            )
        kept = {number for (number,) in self._catalog.all("SELECT number FROM segments")}
        self._segments.remove_others(kept)

    def shrink(self) -> bool:
        """Gives back what the catalog does not need, overwritten first, and empties its log.

        Says whether that worked: a process that reads the log keeps it.
        """
        self._catalog.run("VACUUM")
        busy = self._catalog.one("PRAGMA wal_checkpoint(TRUNCATE)")
        return busy is not None and busy[0] == 0

    def verify(self, progress: Progress | None) -> None:
        """Reads everything.

        Raises:
            CorruptFile: For the first thing that is not as it was written.
        """
        path = self._catalog.path
        with self._catalog.reading():
            if self._catalog.all("PRAGMA integrity_check(1)") != [("ok",)]:
                raise CorruptFile(f"{path}: SQLite finds it damaged; restore the file from a copy")
            segments = living_segments(self._catalog, everything=True)
            for done, stored in enumerate(segments):
                self._segments.verify(stored)
                if progress is not None:
                    progress(done + 1, len(segments))
            for what, query in _BROKEN.items():
                if (found := self._catalog.one(query)) is not None:
                    raise CorruptFile(f"{path}: {what} ({found[0]}); restore the file from a copy")
            self._verify_texts()

    def _verify_texts(self) -> None:
        """Every chunk's id follows from its names and its text."""
        for number, tenant, source, revision, characters in self._catalog.all(
            "SELECT revisions.number, tenant, source, name, characters FROM revisions "
            "JOIN documents ON documents.number = document",
            kinds="isssi",
        ):
            text = read_text(self._catalog, number, 0, characters)
            names = ChunkNames(tenant, source, revision)
            for row, start, stop, digest in self._catalog.all(
                "SELECT id, start, stop, digest FROM chunks WHERE revision = ?", (number,), "iiib"
            ):
                if names.digest(start, stop, text[start:stop]) != digest or row_of(digest) != row:
                    raise CorruptFile(
                        f"{self._catalog.path}: chunk {digest.hex()} of {source!r} is not what was written; restore "
                        "the file from a copy"
                    )

    def document(self, tenant: str, source: str) -> int:
        """The number of a document."""
        found = self._catalog.one("SELECT number FROM documents WHERE tenant = ? AND source = ?", (tenant, source))
        if found is None:
            raise NotFound(f"no such document: {source!r} of tenant {tenant!r}")
        return int(found[0])


def _rank(ranks: npt.NDArray[np.uint32], rule: object) -> int:
    return int(ranks[rule]) if isinstance(rule, int) and 0 <= rule < len(ranks) else 2**32


# Whether a generation after the given one has a revision. Where rows of a retired one moved to, none has it.
_SHOWN = "EXISTS (SELECT 1 FROM places WHERE revision = number AND (died IS NULL OR (died > ? AND born < died)))"

# What must not be found.
_BROKEN = {
    "two visible revisions of a document": "SELECT document FROM revisions JOIN places ON revision = number "
    "WHERE died IS NULL GROUP BY document HAVING count(*) > 1",
    "a revision without its document": "SELECT number FROM revisions WHERE document NOT IN "
    "(SELECT number FROM documents)",
    "a revision without all its chunks": "SELECT number FROM revisions WHERE rows <> "
    "(SELECT count(*) FROM chunks WHERE revision = revisions.number)",
    "a chunk without its revision": "SELECT id FROM chunks WHERE revision NOT IN (SELECT number FROM revisions)",
    "a chunk outside its text": "SELECT id FROM chunks JOIN revisions ON revisions.number = revision "
    "WHERE start < 0 OR stop <= start OR stop > characters",
    "a revision without its text": "SELECT number FROM revisions WHERE (SELECT count(*) FROM texts "
    f"WHERE revision = number) <> (characters + {PIECE - 1}) / {PIECE}",
    "a place outside its segment": "SELECT revision FROM places JOIN revisions ON revisions.number = revision "
    "LEFT JOIN segments ON segments.number = segment WHERE segments.number IS NULL OR first < 0 "
    "OR first + revisions.rows > segments.rows",
    "a rule that is not stored": "SELECT number FROM documents WHERE rule IS NOT NULL AND rule NOT IN "
    "(SELECT number FROM rules)",
}
