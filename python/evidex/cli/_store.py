# SPDX-License-Identifier: Apache-2.0
"""What commands about collections share: looking at one, opening it, saying what it holds."""

from __future__ import annotations

import os
from datetime import date
from typing import Any

from ..access import UNRESTRICTED, Policy
from ..encoders import Encoder, HashingEncoder, get_encoder
from ..errors import InvalidInput, MissingStore
from ..store import Collection
from ..store.catalog import Catalog
from ..store.files import require_folder
from ..store.settings import Settings
from ._output import shown

__all__ = [
    "BUILT_IN",
    "TYPES",
    "bytes_of",
    "column_value",
    "encoder_of",
    "facts_of",
    "open_to",
    "settings_of",
    "summary",
]

BUILT_IN = ("hashing", "wordllama")
TYPES: dict[str, type] = {kind.__name__: kind for kind in (str, int, float, bool, date)}
"""Types of columns, by name."""


def settings_of(store: str) -> Settings:
    """What a collection was made with, before it is opened: whether it has rules, and whose vectors it holds.

    Raises:
        MissingStore: If there is none.
        CorruptFile, VersionMismatch: If it cannot be read.
    """
    require_folder(store)
    catalog = Catalog(store, write=False)
    try:
        if not catalog.has_schema():
            raise MissingStore(f"path: {store!r} holds no collection yet")
        return Settings.from_json(catalog.json(catalog.meta("settings"), "settings"), catalog.path)
    finally:
        catalog.close()


def encoder_of(settings: Settings) -> Encoder:
    """The encoder that made a collection's vectors.

    Raises:
        InvalidInput: If it is not a built-in one.
    """
    made = settings.encoder
    if made is None:
        raise InvalidInput(
            "encoder: this collection holds vectors that it was given, and no encoder can be asked for more; search it "
            "from Python with vectors"
        )
    if made.name not in BUILT_IN:
        raise InvalidInput(
            f"encoder: this collection was made with {made.name!r}, the command line has {', '.join(BUILT_IN)}; use "
            "it from Python"
        )
    return HashingEncoder(made.dim) if made.name == "hashing" else get_encoder(made.name)


def open_to(mode: str, store: str, settings: Settings, encoder: Encoder | None = None) -> Collection:
    """Opens a collection that is there."""
    return Collection.open(store, mode, policy=Policy() if settings.guarded else UNRESTRICTED, encoder=encoder)


def facts_of(kb: Collection, store: str) -> dict[str, Any]:
    """What a collection holds, for its operator. ``bytes`` comes when it is closed: a log lies beside an open one."""
    stats = kb.stats(principal=UNRESTRICTED if kb.settings.guarded else None)
    return {
        "store": store,
        "documents": stats["documents"],
        "chunks": stats["rows"],
        "revisions": stats["revisions"],
        "segments": stats["segments"],
        "rules": stats["rules"],
        "generation": stats["generation"],
    }


def summary(facts: dict[str, Any]) -> str:
    """Facts in one line."""
    return (
        f"{shown(facts['store'])}: {facts['documents']} documents, {facts['chunks']} chunks, generation "
        f"{facts['generation']}, {facts['bytes']:,} bytes"
    )


def bytes_of(store: str) -> int:
    """Size of all files of a collection."""
    total = 0
    for folder, _, files in os.walk(store):
        for name in files:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except OSError:
                continue  # a reader's lease that ended meanwhile
    return total


def column_value(columns: dict[str, str], name: str, text: str) -> Any:
    """A value of a column as it is written on the command line.

    Raises:
        InvalidInput: For an unknown column, and for what its type cannot be read from.
    """
    if name not in columns:
        raise InvalidInput(f"where: no column {name!r}; there are {', '.join(sorted(columns)) or 'none'}")
    kind = columns[name]
    try:
        if kind == "bool":
            return {"true": True, "false": False}[text]
        return date.fromisoformat(text) if kind == "date" else TYPES[kind](text)
    except (ValueError, KeyError) as error:
        example = {"bool": "true or false", "date": "YYYY-MM-DD"}.get(kind, f"a value of type {kind}")
        raise InvalidInput(f"{name}: expected {example}, got {text!r}") from error
