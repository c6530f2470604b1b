# SPDX-License-Identifier: Apache-2.0
"""bm25s, tantivy and rank-bm25, each in the way that its documentation calls fast."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..peers import library
from .peer import SparsePeer, repeated
from .reference import K1, B

__all__ = ["KINDS"]


class _Bm25s(SparsePeer):
    """Scores made while indexing, added up by numpy; its tokenizer with English stop words and PyStemmer."""

    name = "bm25s-numpy"
    module = package = "bm25s"
    backend = "numpy"

    def __init__(self, threads: int, form: str, **build: Any) -> None:
        super().__init__(threads, form, **build)
        self.bm25s = library("bm25s", "bm25s")
        self.options = {"method": "lucene", "backend": self.backend}
        if form == "text":
            stemmer = library("Stemmer", "PyStemmer").Stemmer("english")
            self.options |= {"stopwords": "english", "stemmer": "english"}
            self.tokenizer = library("bm25s.tokenization", "bm25s").Tokenizer(stopwords="english", stemmer=stemmer)

    def documents(self, given: Sequence[Any]) -> Any:
        if self.form == "text":
            return given
        # Its vocabulary needs a word for queries without any word that it knows.
        vocabulary = {"": 0}
        return [
            [vocabulary.setdefault(term, len(vocabulary)) for term in repeated(terms)] for terms in given
        ], vocabulary

    def build(self, documents: Any) -> None:
        index = self.bm25s.BM25(k1=K1, b=B, method="lucene", backend=self.backend)
        if self.form == "text":
            documents = self.tokenizer.tokenize(documents, return_as="tuple", show_progress=False)
        index.index(documents, show_progress=False)
        self.index = index

    def queries(self, given: Sequence[Any]) -> Sequence[Any]:
        if self.form == "text":
            return given
        known = self.index.vocab_dict
        return [[known[term] for term in repeated(terms) if term in known] or [known[""]] for terms in given]

    def search(self, queries: Sequence[Any], k: int) -> Any:
        if self.form == "text":
            queries = self.tokenizer.tokenize(queries, update_vocab=False, show_progress=False)
        k = min(k, self.index.scores["num_docs"])  # it refuses a larger one
        threads = 0 if self.threads == 1 else self.threads
        found = self.index.retrieve(list(queries), k=k, n_threads=threads, show_progress=False)
        # It fills up with rows that have no term of the query.
        return np.where(found.scores > 0, found.documents, -1).astype(np.int64)

    def terms(self, text: str) -> Mapping[str, int]:
        # Numbers of its vocabulary serve as terms: turning them into words takes as long as the vocabulary is large.
        (numbers,) = self.tokenizer.tokenize([text], update_vocab=False, show_progress=False)
        empty = self.tokenizer.get_vocab_dict().get("")
        return {str(number): 4 * times for number, times in Counter(numbers).items() if number != empty}

    def index_bytes(self) -> int | None:
        return sum(part.nbytes for part in self.index.scores.values() if isinstance(part, np.ndarray))


class _Bm25sNumba(_Bm25s):
    """The same with loops that numba compiles, in the search that is not timed."""

    name = "bm25s-numba"
    module = "numba"
    backend = "numba"

    def __init__(self, threads: int, form: str, **build: Any) -> None:
        library("numba", "numba")
        super().__init__(threads, form, **build)


class _Tantivy(SparsePeer):
    """One segment in files, without positions; k1 and b are its own constants, 1.2 and 0.75.

    From text it stems as its ``en_stem`` does and keeps stop words; queries are disjunctions of terms. From tokens the
    query objects are made before. It rounds lengths to a byte, so that its order is not quite that of BM25.
    """

    name = module = package = "tantivy"

    def __init__(self, threads: int, form: str, **build: Any) -> None:
        super().__init__(threads, form, **build)
        self.tantivy: Any = library("tantivy", "tantivy")
        kind, filters = self.tantivy.Tokenizer, self.tantivy.Filter
        if form == "text":
            made = self.tantivy.TextAnalyzerBuilder(kind.simple()).filter(filters.remove_long(40))
            made = made.filter(filters.lowercase()).filter(filters.stemmer("english"))
        else:
            made = self.tantivy.TextAnalyzerBuilder(kind.whitespace())
        self.analyzer = made.build()
        self.options = {"analysis": "en_stem" if form == "text" else "whitespace", "record": "freq", "count": False}

    def documents(self, given: Sequence[Any]) -> Any:
        return given if self.form == "text" else [" ".join(repeated(terms)) for terms in given]

    def build(self, documents: Any) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="evidex-bench-tantivy-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        fields = self.tantivy.SchemaBuilder()
        fields.add_text_field("body", tokenizer_name="own", index_option="freq")
        fields.add_integer_field("row", fast=True)
        self.schema = fields.build()
        index = self.tantivy.Index(self.schema, path=str(self.folder))
        index.register_tokenizer("own", self.analyzer)
        writer = index.writer(num_threads=1)
        for row, text in enumerate(documents):
            writer.add_document(self.tantivy.Document(body=text, row=row))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        self.searcher = index.searcher()
        self.options |= {"segments": self.searcher.num_segments}

    def queries(self, given: Sequence[Any]) -> Sequence[Any]:
        return given if self.form == "text" else [self._query(repeated(terms)) for terms in given]

    def search(self, queries: Sequence[Any], k: int) -> Any:
        ids = np.full((len(queries), k), -1, np.int64)
        for place, query in enumerate(queries):
            asked = self._query(self.analyzer.analyze(query)) if self.form == "text" else query
            hits = self.searcher.search(asked, k, count=False).hits
            rows = self.searcher.fast_field_values("row", [address for _, address in hits])
            ids[place, : len(rows)] = rows
        return ids

    def terms(self, text: str) -> Mapping[str, int]:
        return {term: 4 * times for term, times in Counter(self.analyzer.analyze(text)).items()}

    def index_bytes(self) -> int | None:
        return sum(path.stat().st_size for path in self.folder.iterdir() if path.is_file())

    def _query(self, words: Sequence[str]) -> Any:
        query = self.tantivy.Query
        parts = []
        for word, times in Counter(words).items():
            part = query.term_query(self.schema, "body", word, index_option="freq")
            should = self.tantivy.Occur.Should
            parts.append((should, part if times == 1 else query.boost_query(part, float(times))))
        return query.boolean_query(parts)


class _RankBm25(SparsePeer):
    """BM25Okapi, whose idf differs (negative ones are raised to a floor): dicts, and a loop over all documents."""

    name = "rank-bm25"
    module = "rank_bm25"
    package = "rank-bm25"

    def __init__(self, threads: int, form: str, **build: Any) -> None:
        super().__init__(threads, form, **build)
        self.kind: Any = library("rank_bm25", "rank-bm25").BM25Okapi
        if form == "text":
            raise NotImplementedError("rank-bm25 takes tokens and has no analysis of texts")
        self.options = {"kind": "BM25Okapi"}

    def documents(self, given: Sequence[Any]) -> Any:
        return [repeated(terms) for terms in given]

    def build(self, documents: Any) -> None:
        self.index = self.kind(documents, k1=K1, b=B)

    def queries(self, given: Sequence[Any]) -> Sequence[Any]:
        return [repeated(terms) for terms in given]

    def search(self, queries: Sequence[Any], k: int) -> Any:
        ids = np.full((len(queries), k), -1, np.int64)
        width = min(k, self.index.corpus_size)
        for place, query in enumerate(queries):
            scores = self.index.get_scores(query)
            at = np.argpartition(scores, len(scores) - width)[len(scores) - width :]
            at = at[np.lexsort((at, -scores[at]))]
            at = at[scores[at] > 0]
            ids[place, : len(at)] = at
        return ids


KINDS = (_Bm25s, _Bm25sNumba, _Tantivy, _RankBm25)
