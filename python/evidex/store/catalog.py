# SPDX-License-Identifier: Apache-2.0
"""The catalog: one SQLite connection for a collection's object, its transactions and counters."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

from ..errors import CorruptFile, InvalidInput
from . import schema

__all__ = ["Catalog", "Row"]

Row: TypeAlias = "tuple[Any, ...]"
_KINDS: dict[str, tuple[type, ...]] = {"i": (int,), "I": (int, type(None)), "s": (str,), "b": (bytes,)}


class Catalog:
    """Reads and writes the tables of :mod:`.schema`. Any thread may use it; after a fork the child connects anew."""

    def __init__(self, folder: str | None, *, write: bool, new: bool = False) -> None:
        self.path = ":memory:" if folder is None else os.path.join(folder, "catalog.sqlite")
        self._folder = folder
        self._write = write
        self._lock = threading.RLock()
        self._commits = 0
        self._open = True
        self._pid = os.getpid()
        self._connects = 0
        self._seen = self._facts()
        self._connected, self._fixed = schema.connect(folder, write=write, new=new)

    def close(self) -> None:
        """Writes what waits in SQLite's log into the catalog, where nobody else reads it, and disconnects."""
        with self._lock:
            if not self._open:
                return
            self._open = False
            if self._pid != os.getpid():
                return
            if self._write and self._folder is not None:
                with suppress(sqlite3.Error):  # a reader may be in the way; the log stays then and is read
                    self._connected.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._connected.close()

    @property
    def _connection(self) -> sqlite3.Connection:
        if not self._open:
            raise InvalidInput("collection: it was closed; open it again")
        if self._pid != os.getpid() and self._folder is not None:
            if self._write:
                raise InvalidInput("collection: it was opened for writing before a fork; open it in this process")
            # Beside the parent's connection SQLite would take the parent's locks for its own, and lock nothing.
            self._connect_again()
        elif self._fixed and self._seen != self._facts() and not self._connected.in_transaction:
            self._connect_again()  # somebody may write after all
        return self._connected

    def _connect_again(self) -> None:
        self._connected.close()
        self._seen = self._facts()
        self._connected, self._fixed = schema.connect(self._folder, write=False)
        self._connects += 1
        self._pid = os.getpid()

    def _facts(self) -> object:
        """Differs where somebody has written, or is about to."""
        if self._folder is None or not os.path.exists(self.path):
            return None
        facts = os.stat(self.path)
        return facts.st_ino, facts.st_size, facts.st_mtime_ns, os.path.exists(self.path + "-wal")

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        with self._lock, schema.failures(self.path):
            yield self._connection

    @contextmanager
    def changing(self) -> Iterator[None]:
        """One durable transaction: all that happens inside is there when this ends, or nothing is.

        Inside another one it is part of that.
        """
        with self._using() as connection:
            if connection.in_transaction:
                yield
                return
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield
                self._commits += 1  # first, as a signal may come right after what it counts
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Several reads of one state."""
        with self._using() as connection:
            if connection.in_transaction:
                yield
                return
            try:
                connection.execute("BEGIN")
                yield
            finally:
                if connection.in_transaction:
                    connection.execute("COMMIT")

    def has_schema(self) -> bool:
        """Whether the tables are there, and exactly those."""
        with self._using() as connection:
            return schema.require_schema(connection, self.path)

    def create_schema(self) -> None:
        """Makes the tables, inside a transaction."""
        with self._using() as connection:
            schema.create(connection)

    def state(self) -> tuple[int, int, int]:
        """Differs after every change, this object's and everybody else's."""
        with self._using() as connection:  # each connection counts data_version from the same number on
            return connection.execute("PRAGMA data_version").fetchone()[0], self._commits, self._connects

    def run(self, sql: str, values: Sequence[object] = ()) -> int:
        """Executes one statement; the number of the last row it inserted."""
        with self._using() as connection:
            return connection.execute(sql, values).lastrowid or 0

    def run_many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Executes one statement for each row of values."""
        with self._using() as connection:
            connection.executemany(sql, rows)

    def all(self, sql: str, values: Sequence[object] = (), kinds: str = "") -> list[Row]:
        """All rows of a query.

        Args:
            sql: The query.
            values: For its marks.
            kinds: A letter for each column: i, s, b for a whole number from 0 on, str, bytes; I where None may be too.

        Raises:
            CorruptFile: If a value is of another kind.
        """
        with self._using() as connection:
            rows = connection.execute(sql, values).fetchall()
        types = [_KINDS[kind] for kind in kinds]
        for row in rows if types else ():
            for value, allowed in zip(row, types, strict=True):
                if type(value) not in allowed or (type(value) is int and value < 0):
                    raise CorruptFile(f"{self.path}: it holds {str(value)[:50]!r}; restore the file from a copy")
        return rows

    def one(self, sql: str, values: Sequence[object] = ()) -> Row | None:
        """The first row of a query."""
        with self._using() as connection:
            found: Row | None = connection.execute(sql, values).fetchone()
            return found

    def meta(self, key: str) -> Any:
        """A value of the collection as a whole."""
        found = self.one("SELECT value FROM meta WHERE key = ?", (key,))
        if found is None:
            raise CorruptFile(f"{self.path}: it says nothing of {key}; restore the file from a copy")
        return found[0]

    def counter(self, key: str) -> int:
        """One of the counters ``generation`` and ``rights``."""
        value = self.meta(key)
        if not isinstance(value, int) or value < 0:
            raise CorruptFile(f"{self.path}: {key} is {value!r}; restore the file from a copy")
        return value

    def set_meta(self, key: str, value: object) -> None:
        """Keeps a value of the collection as a whole: an int, str or bytes."""
        self.run("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))

    def json(self, text: object, what: str) -> Any:
        """A JSON value of the catalog.

        Raises:
            CorruptFile: If it is none.
        """
        try:
            if not isinstance(text, str):
                raise ValueError(f"a str was expected, not {type(text).__name__}")
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise CorruptFile(f"{self.path}: {what}: {error}; restore the file from a copy") from error
