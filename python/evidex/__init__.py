# SPDX-License-Identifier: Apache-2.0
"""evidex: permission-first, exact and reproducible retrieval, embedded in your process.

See README.md for a first example and ARCHITECTURE.md for the map of the code.
"""

from __future__ import annotations

from . import audit, encoders, errors, evaluation, text
from ._core import __version__
from .access import ANY_IN_TENANT, UNRESTRICTED, Policy, Principal, Rule
from .audit import RetrievalLog
from .citations import Reply, ReplyReport, extractive_answer, validate_reply
from .columns import Columns
from .errors import (
    AccessError,
    Cancelled,
    CorruptFile,
    EncoderMismatch,
    EvidexError,
    InvalidInput,
    LockHeld,
    MissingStore,
    NotFound,
    NotLogged,
    NotStored,
    StaleMask,
    VersionMismatch,
)
from .fusion import Fused, rrf
from .hits import Explanation, Hits
from .index import DenseIndex
from .masks import AllowMask
from .packing import pack
from .predicates import Predicate, where
from .sparse import SparseIndex
from .store import Collection, CollectionSnapshot, Document, EncoderIdentity, Put
from .types import Chunk, Evidence, Floor, Omitted, Packet, Span

__all__ = [
    "ANY_IN_TENANT",
    "UNRESTRICTED",
    "AccessError",
    "AllowMask",
    "Cancelled",
    "Chunk",
    "Collection",
    "CollectionSnapshot",
    "Columns",
    "CorruptFile",
    "DenseIndex",
    "Document",
    "EncoderIdentity",
    "EncoderMismatch",
    "Evidence",
    "EvidexError",
    "Explanation",
    "Floor",
    "Fused",
    "Hits",
    "InvalidInput",
    "LockHeld",
    "MissingStore",
    "NotFound",
    "NotLogged",
    "NotStored",
    "Omitted",
    "Packet",
    "Policy",
    "Predicate",
    "Principal",
    "Put",
    "Reply",
    "ReplyReport",
    "RetrievalLog",
    "Rule",
    "Span",
    "SparseIndex",
    "StaleMask",
    "VersionMismatch",
    "__version__",
    "audit",
    "encoders",
    "errors",
    "evaluation",
    "extractive_answer",
    "pack",
    "rrf",
    "text",
    "validate_reply",
    "where",
]
