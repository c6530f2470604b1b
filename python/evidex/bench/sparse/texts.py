# SPDX-License-Identifier: Apache-2.0
"""Texts and questions to measure on: JSON lines, with a title where there is one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InvalidInput
from ...text import Analyzer
from ..records import Data

__all__ = ["Corpus", "analyzer", "beginning", "documents", "from_files", "lines"]

_DEFAULT_QUERIES = 1000


@dataclass(frozen=True)
class Corpus:
    """Documents and questions.

    Attributes:
        documents: A text each; number i has id i.
        queries: In a shuffled order.
        document_terms, query_terms: Of each the same terms for every system, with their counts.
        facts: For the record.
    """

    documents: tuple[str, ...]
    queries: tuple[str, ...]
    document_terms: tuple[dict[str, int], ...]
    query_terms: tuple[dict[str, int], ...]
    facts: Data

    def asked(self, words: int | None) -> tuple[tuple[str, ...], tuple[dict[str, int], ...]]:
        """Questions and their terms, cut to so many words."""
        if words is None:
            return self.queries, self.query_terms
        cut = tuple(beginning(query, words) for query in self.queries)
        counts = analyzer().counts
        return cut, tuple(counts(query) for query in cut)


def analyzer() -> Analyzer:
    """What makes the terms that every system gets: words alone, so that each counts 1 to everybody.

    Raises:
        InvalidInput: Without PyStemmer.
    """
    return Analyzer("english", split_identifiers=False)


def beginning(text: str, words: int) -> str:
    """The first so many words, as spaces separate them."""
    return " ".join(text.split(maxsplit=words)[:words])


def from_files(corpus: Path, questions: Path, rows: int | None, queries: int | None, seed: int) -> Corpus:
    """One JSON object a line, with ``text``, and with ``title`` if there is one, which is put before the text.

    Args:
        corpus: Documents.
        questions: Of the same form.
        rows: The first so many documents; None for all.
        queries: So many questions, chosen by ``seed``; None for at most 1,000.
        seed: Of their order.

    Raises:
        InvalidInput: For files that cannot be read, lines of another form, fewer lines than asked for or none, and
            without PyStemmer.
    """
    kept = _first(documents(corpus, "corpus"), rows, "rows")
    there = documents(questions, "questions")
    order = np.random.default_rng([seed, 3]).permutation(len(there)).tolist()
    wanted = min(_DEFAULT_QUERIES, len(there)) if queries is None else queries
    asked = _first([there[place] for place in order], wanted, "queries")
    digest = hashlib.blake2b(digest_size=8)
    for text in (*kept, "", *asked):
        digest.update(text.encode() + b"\0")
    counts = analyzer().counts
    terms = tuple(counts(text) for text in kept)
    distinct = {term for found in terms for term in found}
    name = f"{corpus.resolve().parent.name}/{corpus.name}"
    facts = Data("corpus", name, len(kept), max(1, len(distinct)), len(asked), None, digest.hexdigest())
    return Corpus(tuple(kept), tuple(asked), terms, tuple(counts(text) for text in asked), facts)


def documents(path: Path, name: str) -> list[str]:
    """The text of every line, its title before it.

    Args:
        path: One JSON object a line; blank lines are passed over.
        name: Of the option that named it, for messages.

    Raises:
        InvalidInput: For a file that cannot be read, another form, or no line at all.
    """
    found = []
    for number, line in lines(path, name):
        title, text = line.get("title") or "", line.get("text")
        if not isinstance(text, str) or not isinstance(title, str):
            raise InvalidInput(
                f"{name}: {path}:{number} has no text; expected an object with text, and title if there is one, as str"
            )
        joined = f"{title} {text}" if title else text
        try:
            joined.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput(f"{name}: {path}:{number} has a text without a form in UTF-8: {error.reason}") from error
        found.append(joined)
    if not found:
        raise InvalidInput(f"{name}: {path} has no line; expected one JSON object a line")
    return found


def lines(path: Path, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number and object of every line that is not blank.

    Raises:
        InvalidInput: For a file that cannot be read, and a line that is no object.
    """
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    value = json.loads(line)
                    if not isinstance(value, dict):
                        raise InvalidInput(f"{name}: {path}:{number} is no JSON object")
                    yield number, value
    except OSError as error:
        raise InvalidInput(f"{name}: {path} cannot be read: {error.strerror}; name a file of JSON lines") from error
    except ValueError as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{name}: {path} is no file of JSON lines: {error}") from error


def _first(there: Sequence[str], wanted: int | None, name: str) -> Sequence[str]:
    if wanted is not None and not 1 <= wanted <= len(there):
        raise InvalidInput(f"{name}: expected a number from 1 to {len(there)}, which the file has, got {wanted}")
    return there[:wanted]
