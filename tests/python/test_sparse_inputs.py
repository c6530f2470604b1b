# SPDX-License-Identifier: Apache-2.0
"""What SparseIndex is given that is no document, no query or no parameter: a typed error, and nothing is changed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from evidex import Columns, InvalidInput, NotFound, Policy, SparseIndex
from evidex.text import Analyzer
from sparse_examples import F7, Matrix, bits, index_of, matrix

SURROGATE = "half \ud800"
NAN, INFINITY = float("nan"), float("inf")
STARTS = "ascend from 0"

DOCUMENTS: list[tuple[Any, str]] = [
    ("a single text", "documents: expected a sequence"),
    (b"bytes", "documents: expected a sequence"),
    ({"a": 4}, "documents: expected a sequence"),
    (7, "documents: expected a sequence"),
    (matrix([{1: 1.0}]), "analyzer=None"),
    (["fine", SURROGATE], r"documents\[1\]: expected text with a UTF-8 form"),
    (["fine", b"bytes"], r"documents\[1\]: expected a str, or a mapping"),
    (["fine", None], r"documents\[1\]"),
    ([{"a": -1}], r"documents\[0\]\['a'\]: expected a whole number from 0"),
    ([{"a": 1.5}], r"documents\[0\]\['a'\]"),
    ([{"a": NAN}], r"documents\[0\]\['a'\]"),
    ([{"a": True}], r"documents\[0\]\['a'\]"),
    ([{"a": 2**31}], r"documents\[0\]\['a'\]"),
    ([{SURROGATE: 4}], r"documents\[0\]: expected text with a UTF-8 form"),
    ([{7: 4}], r"documents\[0\]: expected a str"),
    ([{"x" * 70_000: 4}], r"documents\[0\]: a term of 70000 characters"),
    ([{"a": 2**31 - 1, "b": 2**31 - 1, "c": 2}], r"documents\[0\]: it is too long"),
]

VECTORS: list[tuple[Any, str]] = [
    (["text"], "expected a CSR matrix"),
    (np.eye(3), "expected a CSR matrix"),
    ([{1: 2.0}], "expected a CSR matrix"),
    (Matrix([0, 1], [2], [1.0], (1, 3), "csc"), "tocsr"),
    (Matrix([0, 2], [2], [1.0], (1, 3)), "end at 2"),
    (Matrix([0, 1, 1], [2], [1.0], (1, 3)), "shape"),
    (Matrix([0, 1], [3], [1.0], (1, 3)), "shape"),
    (Matrix([0, 1], [2], [1.0], 1), "shape"),
    (([2], [1.0], [1, 1]), STARTS),
    (([2], [1.0], [0, 1, 0]), STARTS),
    (([2], [1.0], []), STARTS),
    (([2], [1.0], [0, 0]), "end at 0"),
    (([2, 3], [1.0], [0, 2]), "end at 2"),
    (([2.0], [1.0], [0, 1]), "indices: expected whole numbers"),
    (([[2]], [1.0], [0, 1]), "indices: expected whole numbers"),
    (([-1], [1.0], [0, 1]), "indices from 0"),
    (([2**32], [1.0], [0, 1]), "indices from 0"),
    ((np.array([2**63], dtype=np.uint64), [1.0], [0, 1]), "too large"),
    (([1, 1], [1.0, 2.0], [0, 2]), "vector 0 has index 1 twice"),
    (([1, 2], [1.0, -2.0], [0, 1, 2]), "vector 1 has weight .*-2"),
    (([1], [NAN], [0, 1]), "vector 0 has weight"),
    (([1], [INFINITY], [0, 1]), "vector 0 has weight"),
    (([1], [1e39], [0, 1]), "within float32"),
    (([1, 1], [1, 1e19], [0, 1, 2]), r"vector 1 has squared norm 1e\+38"),
    (([1], ["x"], [0, 1]), "expected real weights"),
    (([1], [1j], [0, 1]), "expected real weights"),
]


def words() -> SparseIndex:
    return index_of(F7)


def vectors() -> SparseIndex:
    index = SparseIndex(analyzer=None)
    index.add(None, matrix([{1: 1.0, 5: 0.5}, {5: 2.0}]))
    return index


@pytest.mark.parametrize(("given", "message"), DOCUMENTS, ids=[repr(given)[:40] for given, _ in DOCUMENTS])
def test_what_is_no_document_changes_nothing(given: Any, message: str) -> None:
    index = words()
    before = bits(index.search(["quick", "foo"]))
    with pytest.raises(InvalidInput, match=message):
        index.add(None, given)
    with pytest.raises(InvalidInput, match=message):
        index.upsert([0, 1], given)
    assert bits(index.search(["quick", "foo"])) == before
    assert len(index) == 5


@pytest.mark.parametrize(("given", "message"), DOCUMENTS[4:-1], ids=[repr(given)[:40] for given, _ in DOCUMENTS[4:-1]])
def test_what_is_no_query_is_refused(given: Any, message: str) -> None:
    """A query has no length: the last of the list is one."""
    with pytest.raises(InvalidInput, match=message.replace("documents", "queries")):
        words().search(given)


@pytest.mark.parametrize(("given", "message"), VECTORS, ids=[repr(given)[:40] for given, _ in VECTORS])
def test_what_is_no_sparse_vector_is_refused(given: Any, message: str) -> None:
    index = vectors()
    query = matrix([{5: 1.0}])
    before = bits(index.search(query))
    with pytest.raises(InvalidInput, match=message):
        index.add(None, given)
    with pytest.raises(InvalidInput, match=message):
        index.search(given)
    assert bits(index.search(query)) == before
    assert len(index) == 2


def test_weights_of_zero_are_left_out() -> None:
    index = vectors()
    index.add([10, 11], matrix([{5: 0.0, 7: 1.0}, {7: 1e-60}]))
    assert index.search(matrix([{5: 1.0}]))[0].ids.tolist() == [1, 0]
    assert index.search(matrix([{7: 1.0}, {7: 0.0}])).counts.tolist() == [1, 0]
    terms = index_of([{"a": 0, "b": 4}, {"a": 4}])
    assert terms.search("a")[0].ids.tolist() == [1]
    assert terms.search([{"a": 0, "b": 4}])[0].ids.tolist() == [0]


def test_components_may_come_in_any_order_and_type() -> None:
    one, other = SparseIndex(analyzer=None), SparseIndex(analyzer=None)
    one.add(None, ([9, 2, 5], [1, 2, 3], [0, 3]))
    other.add(None, (np.array([2, 5, 9], np.uint8), np.array([2, 3, 1], np.float16), np.array([0, 3], np.int32)))
    queries = ([9, 2, 2], [0.5, 0.25, 1.0], [0, 2, 3]), ([2, 9, 2], [0.25, 0.5, 1.0], [0, 2, 3])
    assert bits(one.search(queries[0])) == bits(other.search(queries[1]))
    assert one.search(queries[0]).scores[:, 0].tolist() == [1.0, 2.0]


def test_a_matrix_of_scipy_will_do() -> None:
    sparse = pytest.importorskip("scipy.sparse", reason="scipy is not installed")
    dense = np.array([[0, 1.5, 0], [2, 0, 1]])
    index = SparseIndex(analyzer=None)
    index.add(None, sparse.csr_array(dense))
    assert index.search(sparse.csr_matrix(dense)).scores[:, 0].tolist() == [2.25, 5.0]
    with pytest.raises(InvalidInput, match="tocsr"):
        index.search(sparse.csc_array(dense))


def test_scipy_is_not_imported() -> None:
    program = (
        "import sys, evidex; i = evidex.SparseIndex(analyzer=None); i.add(None, ([1], [1.0], [0, 1])); "
        "i.search(([1], [1.0], [0, 1])); print('scipy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": -1}, "k: "),
        ({"k": 1.5}, "k: "),
        ({"threads": 0}, "threads: "),
        ({"group_by": 1}, "group_by: "),
        ({"ranking": "BM25"}, "ranking: expected 'bm25' or 'tfidf'"),
        ({"ranking": None}, "ranking: "),
        ({"k1": -0.1}, "k1: expected a number from 0 to 1000"),
        ({"k1": NAN}, "k1: "),
        ({"k1": INFINITY}, "k1: "),
        ({"k1": 1001}, "k1: "),
        ({"b": 1.01}, "b: expected a number from 0 to 1"),
        ({"b": -0.01}, "b: "),
        ({"b": "x"}, "b: "),
        ({"ranking": "tfidf", "k1": 2}, "k1: 2.0 would change nothing"),
        ({"ranking": "tfidf", "b": 0}, "b: 0.0 would change nothing"),
        ({"scope": "permitted"}, "scope: this index is open"),
        ({"scope": "tenant"}, "scope: this index is open"),
        ({"scope": "all"}, "scope: expected one of"),
        ({"scope": 1}, "scope: expected one of"),
        ({"where": "x"}, "where: "),
        ({"allow": "x"}, "allow: "),
        ({"principal": "x"}, "principal: this index is open"),
    ],
    ids=str,
)
def test_what_is_no_option_is_refused(options: dict[str, Any], message: str) -> None:
    for call in (words().search, words().explain):
        with pytest.raises(InvalidInput, match=message):
            call("quick", **options)


@pytest.mark.parametrize(
    "options", [{"ranking": "tfidf"}, {"k1": 1}, {"b": 0.5}, {"scope": "collection"}, {"scope": "tenant"}], ids=str
)
def test_options_of_words_are_not_for_vectors(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=f"{next(iter(options))}: .* would change nothing with an index of vectors"):
        vectors().search(matrix([{1: 1.0}]), **options)


def test_explain_is_about_one_query() -> None:
    with pytest.raises(InvalidInput, match="query: expected one query, got 2"):
        words().explain(["a", "b"])
    with pytest.raises(InvalidInput, match="query: expected one query, got 0"):
        words().explain([])
    assert words().search([]).ids.shape == (0, 10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"analyzer": "english"}, "analyzer: expected an Analyzer"),
        ({"analyzer": Analyzer}, "analyzer: "),
        ({"policy": "x"}, "policy: "),
        ({"columns": {"a": str}}, "columns: "),
        ({"log": "x"}, "log: "),
    ],
    ids=str,
)
def test_what_no_index_is_made_of(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        SparseIndex(**options)


def test_rows_are_refused_as_in_other_indexes() -> None:
    index = words()
    refused: list[tuple[Callable[[], object], type[Exception], str]] = [
        (lambda: index.add([7], ["a", "b"]), InvalidInput, "1 given for 2 documents"),
        (lambda: index.add([7, 7], ["a", "b"]), InvalidInput, "each id may be given once"),
        (lambda: index.add([0], ["a"]), InvalidInput, "stored already"),
        (lambda: index.add([-1], ["a"]), InvalidInput, "ids: "),
        (lambda: index.add(None, ["a"], groups=[1, 2]), InvalidInput, "groups: 2 given for 1 documents"),
        (lambda: index.add(None, ["a"], Policy().rule("t", {"g"})), InvalidInput, "SparseIndex"),
        (lambda: index.add(None, ["a"], metadata={"x": [1]}), InvalidInput, "columns"),
        (lambda: index.upsert(None, ["a"]), InvalidInput, "ids: "),  # type: ignore[arg-type]
        (lambda: index.remove([99]), NotFound, "99"),
        (lambda: index.set_rule([1], Policy().rule("t", {"g"})), InvalidInput, "SparseIndex"),
    ]
    for call, error, message in refused:
        with pytest.raises(error, match=message):
            call()
    assert index.ids().tolist() == [0, 1, 2, 3, 4]
    columns = SparseIndex(columns=Columns({"n": int}))
    with pytest.raises(InvalidInput, match="metadata"):
        columns.add(None, ["a"], metadata={"m": [1]})
    assert len(columns) == 0
    assert columns.add(None, ["a"], metadata={"n": [1]}).tolist() == [0]
