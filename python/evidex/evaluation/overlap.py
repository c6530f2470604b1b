# SPDX-License-Identifier: Apache-2.0
"""How alike two sets of terms are: what retrieval looked like before weights, to measure better ways against."""

from __future__ import annotations

from collections.abc import Iterable

from .._checks import texts

__all__ = ["jaccard", "token_overlap"]


def token_overlap(question: Iterable[str], passage: Iterable[str]) -> float:
    """The share of the question's distinct terms that are in the passage.

    It says nothing of how rare or frequent a term is, and a long passage has an easy time.

    Args:
        question: Terms, for example ``analyzer.counts(text)`` of an :class:`evidex.text.Analyzer`. Repeats and order
            do not count.
        passage: Terms from the same analyser.

    Returns:
        From 0.0 to 1.0; 0.0 for a question without terms.

    Raises:
        InvalidInput: For anything but iterables of str, and for a bare str, which would fall apart into characters.
    """
    asked, there = _distinct(question, "question"), _distinct(passage, "passage")
    return len(asked & there) / len(asked) if asked else 0.0


def jaccard(first: Iterable[str], second: Iterable[str]) -> float:
    """Distinct terms in both, divided by distinct terms in either; the order of the two does not matter.

    Jaccard, "The distribution of the flora in the alpine zone", New Phytologist 1912.

    Args:
        first: Terms, as for :func:`token_overlap`.
        second: Terms from the same analyser.

    Returns:
        From 0.0 to 1.0; 0.0 where neither has terms: nothing is shared.

    Raises:
        InvalidInput: As :func:`token_overlap`.
    """
    one, two = _distinct(first, "first"), _distinct(second, "second")
    return len(one & two) / len(one | two) if one or two else 0.0


def _distinct(terms: Iterable[str], name: str) -> frozenset[str]:
    return frozenset(texts(terms, name))
