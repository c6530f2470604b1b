# SPDX-License-Identifier: Apache-2.0
"""Durable collections of documents."""

from __future__ import annotations

from .collection import Collection
from .documents import Document
from .settings import EncoderIdentity
from .snapshot import CollectionSnapshot
from .writer import Put

__all__ = ["Collection", "CollectionSnapshot", "Document", "EncoderIdentity", "Put"]
