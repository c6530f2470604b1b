# SPDX-License-Identifier: Apache-2.0
"""What every system of ``evidex bench sparse`` has."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["SparsePeer", "repeated"]


def repeated(terms: Mapping[str, int]) -> list[str]:
    """Terms as often as they are counted, a quarter of their weight."""
    return [term for term, weight in terms.items() for _ in range(weight // 4)]


class SparsePeer:
    """Texts, or terms with their weights in quarters, in; row numbers out.

    Attributes:
        name: How it is asked for.
        module: What has to be importable for it.
        package: What brings that module.
        form: ``text`` or ``tokens``: what it is given, and what it is asked.
        options: Plain values for the record.
        parameters: Of building.
    """

    name = "?"
    module = "numpy"
    package = "numpy"

    def __init__(self, threads: int, form: str, **build: Any) -> None:
        self.threads = threads
        self.form = form
        self.parameters = build
        self.options: dict[str, Any] = {}

    def documents(self, given: Sequence[Any]) -> Any:
        """Documents in the form that ``build`` likes best; not timed."""
        return given

    def build(self, documents: Any) -> None:
        """Makes them searchable."""
        raise NotImplementedError

    def queries(self, given: Sequence[Any]) -> Sequence[Any]:
        """Queries in the form that ``search`` likes best; not timed, after building."""
        return given

    def tune(self, search: dict[str, Any]) -> None:
        """Parameters of the searches that follow; not timed."""

    def search(self, queries: Sequence[Any], k: int) -> Any:
        """Row numbers [nq, width], best first, padded with -1; no row without a term of the query."""
        raise NotImplementedError

    def terms(self, text: str) -> Mapping[str, int]:
        """Its own terms of a text with their weights in quarters, for the reference."""
        raise NotImplementedError(f"{self.name} has no analysis of texts")

    def index_bytes(self) -> int | None:
        """What its index takes by its own count."""
        return None

    def version(self) -> str:
        """Of the package."""
        return importlib.metadata.version(self.package)
