# SPDX-License-Identifier: Apache-2.0
"""Every error evidex raises on purpose. Each also derives from the builtin a caller would expect."""

from __future__ import annotations

__all__ = [
    "AccessError",
    "Cancelled",
    "CorruptFile",
    "EncoderMismatch",
    "EvidexError",
    "InvalidInput",
    "LockHeld",
    "MissingStore",
    "NotFound",
    "NotLogged",
    "NotStored",
    "StaleMask",
    "VersionMismatch",
]


class EvidexError(Exception):
    """Root of all errors raised by evidex."""


class InvalidInput(EvidexError, ValueError):
    """An argument was refused before anything changed: the message names what was given and what was expected."""


class AccessError(EvidexError, PermissionError):
    """A principal is missing or malformed, or a row came without a rule. Nothing was read."""


class StaleMask(EvidexError):
    """An allow mask belongs to another layout: build it again from the index being searched."""


class NotFound(EvidexError, KeyError):
    """No such id for this caller. Hidden and unknown ids raise the same error with the same message."""

    def __str__(self) -> str:
        # KeyError shows repr(args[0]), which turns a sentence into a quoted string.
        return str(self.args[0]) if self.args else ""


class Cancelled(EvidexError):
    """A running call was asked to stop and did; the index is unchanged."""


class CorruptFile(EvidexError, OSError):
    """A file is not what it should be: cut, edited, or another kind of file. Nothing was written to it."""


class LockHeld(EvidexError):
    """Another process, or another object of this one, is writing what can have one writer at a time."""


class NotLogged(EvidexError, OSError):
    """A read could not be written to the retrieval log, so it returned nothing."""


class MissingStore(EvidexError, FileNotFoundError):
    """Nothing is stored at this path."""


class VersionMismatch(EvidexError):
    """A collection or a record was written by a newer evidex, in a form this one does not know. Nothing was changed."""


class EncoderMismatch(EvidexError, ValueError):
    """An encoder is not the one whose vectors a collection holds: scores between the two would mean nothing."""


class NotStored(EvidexError, OSError):
    """A change could not be made durable: the disk is full, read-only or failing. The collection is unchanged."""
