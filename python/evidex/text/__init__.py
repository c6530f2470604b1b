# SPDX-License-Identifier: Apache-2.0
"""Cutting documents into chunks and naming the chunks."""

from .chunking import Chunker, Fixed, Recursive
from .identity import chunk_id, row_id

__all__ = ["Chunker", "Fixed", "Recursive", "chunk_id", "row_id"]
