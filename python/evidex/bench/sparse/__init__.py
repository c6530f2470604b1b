# SPDX-License-Identifier: Apache-2.0
"""Texts searched by their terms: evidex's SparseIndex beside bm25s, tantivy and rank-bm25.

A peer of one's own is asked for as ``--peers module:Mine``::

    class Mine:
        name = "mine"
        def __init__(self, threads: int, form: str) -> None: ...   # "text" or "tokens"
        def documents(self, given): ...       # not timed: list of str, or of {term: quarters}; what build gets
        def build(self, documents) -> None: ...
        def queries(self, given): ...         # not timed: the same for queries; a list, parts of which search gets
        def search(self, queries, k): ...     # row numbers [nq, any width], best first, padded with -1
        def terms(self, text): ...            # from text: its own terms with their weights, 4 for one occurrence
        def index_bytes(self): ...            # by its own count, or None
        def version(self) -> str: ...

:class:`SparsePeer` has all but ``build`` and ``search``. From ``tokens`` every system gets the same terms, each as
often as it stands in the text, with weight 4; from ``text`` its answers are compared with BM25 over what its ``terms``
says.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

from ...errors import InvalidInput
from .. import peers
from . import others, own
from .peer import SparsePeer

__all__ = ["BASE", "BUILT_IN", "FORMS", "SCOPES", "SparsePeer", "expand", "installed", "load"]

BASE = "evidex"
FORMS = ("text", "tokens")
SCOPES = ("permitted", "tenant", "collection")

_OTHERS: dict[str, Any] = {kind.name: kind for kind in others.KINDS}
BUILT_IN: dict[str, Any] = {**{kind.name: kind for kind in own.KINDS}, **_OTHERS}
_FAMILIES = {"bm25s": [name for name in _OTHERS if name.startswith("bm25s-")]}


def expand(given: Sequence[str]) -> list[str]:
    """Names of systems beside evidex; ``bm25s`` stands for both of its backends.

    Raises:
        InvalidInput: For another name that is not ``module:Class`` either, or one that comes twice.
    """
    names = [one for name in given for one in _FAMILIES.get(name, [name])]
    for name in names:
        peers.require_known(name, [*_OTHERS, *_FAMILIES])
    if len(set(names)) < len(names):
        raise InvalidInput(f"peers: expected distinct names, got {','.join(given)!r}")
    return names


def installed() -> list[str]:
    """Names of the systems beside evidex whose library is there, whether or not it loads."""
    return [name for name, kind in _OTHERS.items() if importlib.util.find_spec(kind.module)]


def load(given: str, threads: int, form: str, build: dict[str, Any]) -> Any:
    """The system, limited to so many threads."""
    kind = BUILT_IN[given] if given in BUILT_IN else peers.imported(given)
    return kind(threads, form, **build)
