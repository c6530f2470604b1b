# SPDX-License-Identifier: Apache-2.0
"""Cutting documents into chunks, naming the chunks, and turning text into terms."""

from .analysis import Analyzer
from .chunking import Chunker, Fixed, Recursive
from .identity import chunk_id, row_id

__all__ = ["Analyzer", "Chunker", "Fixed", "Recursive", "chunk_id", "row_id"]
