# SPDX-License-Identifier: Apache-2.0
"""Chunkers: where to cut a text. Sizes are counted in characters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from .._checks import refuse, text, texts, whole
from ..types import Chunk, Span
from .identity import chunk_id

__all__ = ["Chunker", "Fixed", "Recursive"]


class Chunker(ABC):
    """Cuts a text into spans. A chunker of your own needs only :meth:`spans`."""

    __slots__ = ()

    @abstractmethod
    def spans(self, text: str) -> list[Span]:
        """The spans of a text in ascending order; none for an empty text."""

    def chunks(self, text: str, *, tenant: str, source: str, revision: str) -> list[Chunk]:
        """The chunks of one revision of a document, in ascending order.

        Args:
            text: The whole revision.
            tenant: Owner of the document.
            source: Stable name of the document inside its tenant.
            revision: Version of the document.

        Raises:
            InvalidInput: For wrong types, and for text without a UTF-8 form (lone surrogates).
        """
        made = []
        for span in self.spans(text):
            part = text[span.start : span.end]
            name = chunk_id(tenant, source, revision, span.start, span.end, part)
            made.append(Chunk(name, tenant, source, revision, span.start, span.end, part))
        return made


@dataclass(frozen=True, slots=True)
class Fixed(Chunker):
    """Windows of ``size`` characters, each starting ``size - overlap`` after the one before.

    The last window may be shorter and always holds characters that no other window holds.

    Attributes:
        size: Characters per window, at least 1.
        overlap: Characters shared by neighbouring windows, at least 0 and below ``size``.

    Raises:
        InvalidInput: For other sizes.
    """

    size: int
    overlap: int = 0

    def __post_init__(self) -> None:
        size = whole(self.size, "size", least=1)
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "overlap", whole(self.overlap, "overlap", most=size - 1))

    def spans(self, text: str) -> list[Span]:
        """The windows of a text.

        Raises:
            InvalidInput: When ``text`` is not a str.
        """
        length = _length(text)
        # A window is needed only while the one before it leaves characters uncovered.
        starts = range(0, max(length - self.overlap, min(length, 1)), self.size - self.overlap)
        return [Span(start, min(start + self.size, length)) for start in starts]


@dataclass(frozen=True, slots=True)
class Recursive(Chunker):
    """Spans without gap or overlap, each as long as ``size`` allows, cut after the best separator in reach.

    From each cut the next ``size`` characters are searched for the first separator of the list, then the
    second, and so on; the cut falls behind the last place where that separator ends. An unbroken run
    longer than ``size`` is cut hard. The result is that of splitting level by level and merging greedily,
    reached in one pass: time grows linearly with the text and nothing recurses.

    Attributes:
        size: Most characters per span, at least 1.
        separators: From most to least wanted; each stays at the end of the span before it.

    Raises:
        InvalidInput: For another size, and for an empty separator.
    """

    size: int
    separators: tuple[str, ...] = ("\n\n", "\n", ". ", " ")

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole(self.size, "size", least=1))
        object.__setattr__(self, "separators", texts(self.separators, "separators"))
        if "" in self.separators:
            refuse("separators", self.separators, "separators of at least one character", "drop the empty one")

    def spans(self, text: str) -> list[Span]:
        """The spans of a text.

        Raises:
            InvalidInput: When ``text`` is not a str.
        """
        length = _length(text)
        found: list[Span] = []
        start = 0
        while start < length:
            end = self._cut(text, start) if length - start > self.size else length
            found.append(Span(start, end))
            start = end
        return found

    def _cut(self, text: str, start: int) -> int:
        limit = start + self.size
        for separator in self.separators:
            at = text.rfind(separator, start, limit)
            if at >= 0:
                return at + len(separator)
        return limit


def _length(value: str) -> int:
    return len(text(value, "text"))
