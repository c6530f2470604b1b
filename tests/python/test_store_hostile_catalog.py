# SPDX-License-Identifier: Apache-2.0
"""P10 for what a catalog says: numbers, names and JSON that nobody wrote there give a typed error, not a crash."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from evidex import CorruptFile, VersionMismatch
from evidex.store.catalog import Catalog
from store_examples import Op, opened, perform, quick_folder
from store_hostile import Attack, make, pickles, problems

LONG = os.environ.get("EVIDEX_LONG") == "1"

COLUMNS = {
    "rules": "number tenant parts changed",
    "documents": "number tenant source rule changed",
    "revisions": "number document name digest metadata characters rows",
    "places": "revision segment first born died",
    "texts": "revision piece body",
    "chunks": "id revision number start stop digest",
    "segments": "number rows coded digests rights born died",
}
NUMBERS = (0, -1, 1, 7, 2**31, 2**32, 2**40, 2**63 - 1, -(2**63))
OTHERS = ("text", "", "1", b"\xff\xfe", b"", 1.5, 1e300, float("inf"), "\0", "x" * 10**6)
VALUES = (*NUMBERS, *OTHERS)
DEEP = "[" * 100_000
JSONS = ("", "{", "[]", "null", "7", '"a"', "{}", DEEP, '{"a":' + "9" * 5000 + "}", "NaN", '{"a": NaN}')


@pytest.fixture
def made() -> Iterator[Path]:
    with quick_folder() as path:
        make(path / "made")
        yield path / "made"


def says(sql: str, *values: object, rows: int = 1) -> Callable[[Path], None]:
    """Changes the catalog as whoever can write the file could."""

    def attack(folder: Path) -> None:
        with closing(sqlite3.connect(folder / "catalog.sqlite", isolation_level=None)) as catalog:
            with suppress(sqlite3.IntegrityError):  # some cannot be written even so
                catalog.execute(sql, values)
            catalog.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    return attack


def cells() -> Iterator[tuple[str, str, str]]:
    """Table, column, and a condition: all rows, or the last."""
    for table, columns in COLUMNS.items():
        for column in columns.split():
            yield table, column, "1"
            last = {"texts": "(revision, piece) = (SELECT max(revision), 0 FROM texts)"}
            yield table, column, last.get(table, f"rowid = (SELECT max(rowid) FROM {table})")


def test_rows_that_no_memory_holds(made: Path) -> None:
    """Seen red: MemoryError, before anybody looked at the file."""
    assert problems(made, [("rows", says("UPDATE segments SET rows = ?", 2**31))]) == []


def test_an_index_that_says_other_than_its_table(made: Path) -> None:
    """As after a flipped bit. Seen red: KeyError."""
    real = Catalog.all

    def all_rows(self: Catalog, sql: str, *given: Any, **options: Any) -> Any:
        rows = real(self, sql, *given, **options)
        return [(row[0], 7, *row[2:]) for row in rows] if "FROM revisions WHERE document IN" in sql else rows

    refused = pytest.raises(CorruptFile, match="no such document")
    with opened(made, "rw") as writer, mock.patch.object(Catalog, "all", all_rows), refused:
        perform(writer, Op("delete", (("d0", "r1", "a"),)))


@pytest.mark.parametrize("table", COLUMNS)
def test_each_column_with_each_kind_of_value(made: Path, table: str) -> None:
    """Seen red: TypeError, KeyError, MemoryError, a warning of numpy."""
    values = VALUES if LONG else (*VALUES[:3], *VALUES[5:11], b"", 1e300)
    attacks: list[Attack] = [
        (
            f"{column} = {str(value)[:20]!r} where {rows[:6]}",
            says(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {rows}", value),
        )
        for one, column, rows in cells()
        if one == table
        for number, value in enumerate(values)
        if LONG or (number % 2 == 0) == (rows == "1")
    ]
    attacks += [
        (f"no {table}", says(f"DELETE FROM {table}")),
        (f"half of {table}", says(f"DELETE FROM {table} WHERE rowid % 2")),
    ]
    if table == "texts":
        attacks.pop()
    assert (
        problems(made, attacks, modes="r rw" if LONG else "rw" if table in ("places", "segments", "revisions") else "r")
        == []
    )


@pytest.mark.parametrize("key", ["generation", "rights", "settings", "reference", "kind"])
def test_what_is_said_of_the_whole(made: Path, key: str) -> None:
    attacks: list[Attack] = [
        (f"{key} = {str(value)[:20]!r}", says("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, value))
        for value in (*VALUES, *JSONS, b"\0" * 32, b"\xff" * 32)
    ]
    attacks.append((f"no {key}", says("DELETE FROM meta WHERE key = ?", key)))
    assert problems(made, attacks, modes="r rw") == []


ODD: tuple[Any, ...] = (0, -1, 2**20 + 1, 2**63, 1.0, float("nan"), True, None, "", "x", [], {}, ["a"], {"a": 1}, [[]])


def test_each_part_of_the_settings(made: Path) -> None:
    with closing(sqlite3.connect(made / "catalog.sqlite")) as catalog:
        settings = json.loads(catalog.execute("SELECT value FROM meta WHERE key = 'settings'").fetchone()[0])
    attacks: list[Attack] = []
    encoder = {"name": "e", "dim": 8}
    for what in settings:
        for value in (
            *ODD,
            encoder,
            encoder | {"dim": 9},
            encoder | {"extra": 1},
            {"lang": "date"},
            "ip",
            "int8",
            "l2",
        ):
            text = json.dumps(settings | {what: value})
            attacks.append((f"{what} = {value!r}", says("UPDATE meta SET value = ? WHERE key = 'settings'", text)))
        text = json.dumps({key: value for key, value in settings.items() if key != what})
        attacks.append((f"no {what}", says("UPDATE meta SET value = ? WHERE key = 'settings'", text)))
    assert problems(made, attacks) == []


@pytest.mark.parametrize(
    ("table", "column", "keys"),
    [("rules", "parts", "allow deny"), ("revisions", "metadata", "lang year on"), ("segments", "digests", "ids rules")],
)
def test_json_of_other_shapes(made: Path, table: str, column: str, keys: str) -> None:
    texts = [*JSONS, *(json.dumps(value) for value in ODD)]
    for key in keys.split():
        texts += [json.dumps({other: [] for other in keys.split()} | {key: value}) for value in ODD]
    attacks: list[Attack] = [
        (f"{column} = {text[:30]}", says(f"UPDATE {table} SET {column} = ?", text)) for text in texts
    ]
    assert problems(made, attacks, modes="r rw" if LONG else "r") == []


def test_nothing_is_unpickled(made: Path) -> None:  # case C10
    mark = made.with_name("executed")
    attacks = [
        (f"{table}.{column}: {kind}", says(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {rows}", data))
        for table, column, rows in cells()
        for kind, data in pickles(mark).items()
    ]
    assert problems(made, attacks if LONG else attacks[::2]) == []
    assert not mark.exists()


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TRIGGER more AFTER UPDATE ON documents BEGIN UPDATE documents SET rule = 1; END",
        "CREATE VIEW more AS SELECT 1",
        "CREATE TABLE more (x)",
        "CREATE INDEX more ON texts (body)",
        "DROP INDEX places_died",
        "DROP TABLE texts",
        "ALTER TABLE chunks ADD COLUMN more",
        "ALTER TABLE documents RENAME TO others",
        "PRAGMA application_id = 7",
        "PRAGMA user_version = 0",
    ],
)
def test_other_tables_than_there_should_be(made: Path, sql: str) -> None:
    """A trigger would be code that runs; a view could run for ever."""
    says(sql)(made)
    for mode in ("r", "rw"):
        with pytest.raises(CorruptFile):
            opened(made, mode)


def test_a_newer_version(made: Path) -> None:  # case D9
    says("PRAGMA user_version = 2")(made)
    before = (made / "catalog.sqlite").read_bytes()
    for mode in ("r", "rw"):
        with pytest.raises(VersionMismatch, match="install a newer evidex"):
            opened(made, mode)
    assert (made / "catalog.sqlite").read_bytes() == before
