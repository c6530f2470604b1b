# SPDX-License-Identifier: Apache-2.0
"""The analyser of a collection: given, or made of what is stored when it is first needed."""

from __future__ import annotations

from ..lexical.analyzers import analyzer_of
from ..text import Analyzer

__all__ = ["Analysis"]


class Analysis:
    """What cuts a collection's texts into words, and its questions.

    A reader that asks by vectors only needs no stemmer, so nothing is made before somebody asks for it.
    """

    def __init__(self, stored: str | None, given: Analyzer | None) -> None:
        """Of the identity that is stored, None for a collection without words.

        Raises:
            InvalidInput: If another analyser was given.
        """
        self._stored = stored
        self._made = None if given is None else analyzer_of(stored, given)

    @property
    def analyzer(self) -> Analyzer | None:
        """The analyser; None where no words are kept.

        Raises:
            InvalidInput: If it needs a stemmer that is not installed.
            VersionMismatch: If it is of another version.
            CorruptFile: If what is stored is no analyser.
        """
        if self._made is None and self._stored is not None:
            self._made = analyzer_of(self._stored, None)
        return self._made
