# SPDX-License-Identifier: Apache-2.0
"""The tables of a collection's catalog, and opening the SQLite file that holds them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import quote

from ..errors import CorruptFile, InvalidInput, MissingStore, NotStored, VersionMismatch

__all__ = ["FORMAT", "connect", "create", "failures", "require_schema"]

FORMAT = 1
"""Version of everything on disk. A change that this version could misread gets the next number."""

_APPLICATION = 0x45764458
_PAGE = 4096  # bytes; a file that is no longer has no tables

# `changed` and `rights` count changes of rights, `born` and `died` generations; died is NULL while it lasts.
_TABLES = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID",
    "CREATE TABLE rules (number INTEGER PRIMARY KEY, tenant TEXT NOT NULL, parts TEXT NOT NULL, "
    "changed INTEGER NOT NULL)",
    "CREATE TABLE documents (number INTEGER PRIMARY KEY, tenant TEXT NOT NULL, source TEXT NOT NULL, rule INTEGER, "
    "changed INTEGER NOT NULL, UNIQUE (tenant, source))",
    "CREATE TABLE revisions (number INTEGER PRIMARY KEY, document INTEGER NOT NULL, name TEXT NOT NULL, "
    "digest BLOB NOT NULL, metadata TEXT NOT NULL, characters INTEGER NOT NULL, rows INTEGER NOT NULL, "
    "UNIQUE (document, name))",
    "CREATE TABLE places (revision INTEGER NOT NULL, segment INTEGER NOT NULL, first INTEGER NOT NULL, "
    "born INTEGER NOT NULL, died INTEGER)",
    "CREATE TABLE texts (revision INTEGER NOT NULL, piece INTEGER NOT NULL, body BLOB NOT NULL, "
    "PRIMARY KEY (revision, piece)) WITHOUT ROWID",
    "CREATE TABLE chunks (id INTEGER PRIMARY KEY, revision INTEGER NOT NULL, number INTEGER NOT NULL, "
    "start INTEGER NOT NULL, stop INTEGER NOT NULL, digest BLOB NOT NULL)",
    "CREATE TABLE segments (number INTEGER PRIMARY KEY, rows INTEGER NOT NULL, coded INTEGER NOT NULL, "
    "digests TEXT NOT NULL, rights INTEGER NOT NULL, born INTEGER NOT NULL, died INTEGER)",
    "CREATE INDEX documents_changed ON documents (changed) WHERE changed > 0",
    "CREATE INDEX places_revision ON places (revision)",
    "CREATE INDEX places_segment ON places (segment, first)",
    "CREATE INDEX places_born ON places (born)",
    "CREATE INDEX places_died ON places (died) WHERE died IS NOT NULL",
    "CREATE INDEX chunks_revision ON chunks (revision)",
)


def connect(folder: str | None, *, write: bool, new: bool = False) -> tuple[sqlite3.Connection, bool]:
    """Opens the catalog of a folder; None is one in memory. True says that it was taken for one that never changes.

    Raises:
        MissingStore: If there is none.
        CorruptFile: If it cannot be opened.
    """
    if folder is None:
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        _prepare(connection, ":memory:", write=True)
        return connection, False
    path = os.path.join(folder, "catalog.sqlite")
    if not new and not os.path.lexists(path):
        raise MissingStore(f"path: {folder!r} is no collection: it has no catalog.sqlite")
    for name in ("", "-wal", "-shm"):
        if os.path.lexists(path + name) and (os.path.islink(path + name) or not os.path.isfile(path + name)):
            raise CorruptFile(f"{path}{name}: expected a plain file")
    _require_no_journal(path, new)
    uri = f"file:{quote(os.fsencode(os.path.abspath(path)))}"
    with failures(path):
        try:
            return _opened(f"{uri}?mode={'rwc' if new else 'rw'}", path, write), False
        except sqlite3.OperationalError:
            if write or _waiting(path):
                raise
            # Media that cannot be written: nobody else can write there either, as far as it seems.
            return _opened(f"{uri}?immutable=1", path, write), True


def _opened(uri: str, path: str, write: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=30)
    try:
        _prepare(connection, path, write)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: str, write: bool) -> None:
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA mmap_size = 0")  # a file cut by somebody else would be a bus error
    if write:
        require_schema(connection, path)  # what is no catalog of ours is not made one
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA journal_mode = WAL")
    else:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("SELECT count(*) FROM sqlite_master")


def _require_no_journal(path: str, new: bool) -> None:
    """Refuses what SQLite would play back into the catalog: only a crash while the file was made leaves one of ours."""
    if not os.path.lexists(path + "-journal"):
        return
    if _waiting(path) or (os.path.exists(path) and os.path.getsize(path) > _PAGE):
        raise CorruptFile(f"{path}-journal: a collection has no such file; restore the folder from a copy")
    if not new:
        raise MissingStore(f"path: {path!r} holds no collection yet")
    with suppress(FileNotFoundError):
        os.truncate(path, 0)
    os.unlink(path + "-journal")


def _waiting(path: str) -> bool:
    """Whether changes wait in the log beside the catalog, which cannot be read where nothing can be written."""
    return os.path.exists(path + "-wal") and os.path.getsize(path + "-wal") > 0


def create(connection: sqlite3.Connection) -> None:
    """Makes the tables, inside the caller's transaction."""
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    for table in _TABLES:
        connection.execute(table)


def require_schema(connection: sqlite3.Connection, path: str) -> bool:
    """Whether the tables are there; False for a file without any.

    Raises:
        VersionMismatch: If a newer version wrote the file.
        CorruptFile: If it is another kind of file, or holds other tables, views or triggers than it should.
    """
    with failures(path):
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        found = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    if application == 0 and version == 0 and not found:
        return False
    if application != _APPLICATION:
        raise CorruptFile(f"{path}: this SQLite file is no catalog of a collection")
    if version > FORMAT:
        raise VersionMismatch(
            f"{path}: written in format {version}, this version of evidex knows {FORMAT}; install a newer evidex"
        )
    if version != FORMAT or {sql for (sql,) in found} != set(_TABLES):
        raise CorruptFile(f"{path}: its tables are not those of format {FORMAT}; restore the file from a copy")
    return True


@contextmanager
def failures(path: str) -> Iterator[None]:
    """Says what SQLite reports as errors of this package."""
    try:
        yield
    except sqlite3.OperationalError as error:
        said = str(error)
        if "full" in said or "I/O" in said or "readonly" in said or "unable to open" in said or "locked" in said:
            raise NotStored(f"{path}: {said}; nothing was changed. Free the disk, or make it writable") from error
        raise CorruptFile(f"{path}: {said}; restore the file from a copy") from error
    except sqlite3.IntegrityError as error:
        raise InvalidInput(f"{path}: two chunks have one row id (about one pair in 2**63): {error}") from error
    except sqlite3.DatabaseError as error:
        raise CorruptFile(f"{path}: {error}; restore the file from a copy") from error
    except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path}: {error}") from error
