# SPDX-License-Identifier: Apache-2.0
"""English words too common to tell one passage from another."""

from __future__ import annotations

__all__ = ["STOP_WORDS"]

STOP_WORDS = frozenset(
    {
        "a", "about", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do", "does",
        "for", "from", "had", "has", "have", "he", "her", "his", "how", "i", "if", "in", "into", "is", "it", "its",
        "me", "my", "of", "on", "or", "our", "she", "should", "so", "than", "that", "the", "their", "them", "then",
        "there", "these", "they", "this", "those", "to", "was", "we", "were", "what", "when", "where", "which", "who",
        "why", "will", "with", "would", "you", "your",
    }
)  # fmt: skip
