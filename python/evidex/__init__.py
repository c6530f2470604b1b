# SPDX-License-Identifier: Apache-2.0
"""evidex: permission-first, exact and reproducible retrieval, embedded in your process.

See README.md for a first example and ARCHITECTURE.md for the map of the code.
"""

from __future__ import annotations

from . import encoders, errors, evaluation, text
from ._core import __version__
from .access import ANY_IN_TENANT, UNRESTRICTED, Policy, Principal, Rule
from .citations import Reply, ReplyReport, extractive_answer, validate_reply
from .errors import AccessError, Cancelled, EvidexError, InvalidInput, NotFound, StaleMask
from .fusion import Fused, rrf
from .hits import Explanation, Hits
from .index import DenseIndex
from .masks import AllowMask
from .packing import pack
from .types import Chunk, Evidence, Floor, Omitted, Packet, Span

__all__ = [
    "ANY_IN_TENANT",
    "UNRESTRICTED",
    "AccessError",
    "AllowMask",
    "Cancelled",
    "Chunk",
    "DenseIndex",
    "Evidence",
    "EvidexError",
    "Explanation",
    "Floor",
    "Fused",
    "Hits",
    "InvalidInput",
    "NotFound",
    "Omitted",
    "Packet",
    "Policy",
    "Principal",
    "Reply",
    "ReplyReport",
    "Rule",
    "Span",
    "StaleMask",
    "__version__",
    "encoders",
    "errors",
    "evaluation",
    "extractive_answer",
    "pack",
    "rrf",
    "text",
    "validate_reply",
]
