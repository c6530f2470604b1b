# SPDX-License-Identifier: Apache-2.0
"""evidex itself: an open index, and one with rules that is read by one principal or by many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from ... import UNRESTRICTED, Policy, Principal, SparseIndex, __version__
from ...access import Caller
from ...text import Analyzer
from . import folders, texts
from .peer import SparsePeer

__all__ = ["KINDS"]

_TENANT = "acme"


class _Evidex(SparsePeer):
    """An open SparseIndex; text through ``Analyzer("english")`` with its identifiers and parts."""

    name = "evidex"
    operator: Caller = None

    def __init__(self, threads: int, form: str, **build: Any) -> None:
        super().__init__(threads, form, **build)
        self.analyzer = Analyzer("english") if form == "text" else texts.analyzer()

    def build(self, documents: Any) -> None:
        self.index = SparseIndex(analyzer=self.analyzer)
        self.index.add(np.arange(len(documents)), documents)

    def search(self, queries: Sequence[Any], k: int) -> Any:
        return self.index.search(queries, k, threads=self.threads).ids

    def terms(self, text: str) -> Mapping[str, int]:
        return self.analyzer.counts(text)

    def index_bytes(self) -> int | None:
        return int(self.index.stats(principal=self.operator)["bytes"])

    def version(self) -> str:
        return __version__


class _Guarded(_Evidex):
    """An index with a rule per folder; ``tune`` says who makes which of the calls that follow."""

    name = "evidex-guarded"
    operator = UNRESTRICTED

    def build(self, documents: Any) -> None:
        own = self.parameters
        self.folders = folders.make(own["mask"], own["share"], len(documents), own["seed"])
        self.options = {"rules": self.folders.count, "of one principal": self.folders.read_by(0).size}
        policy = Policy()
        rules = [policy.rule(_TENANT, {_group(folder)}) for folder in range(self.folders.count)]
        self.index = SparseIndex(analyzer=self.analyzer, policy=policy)
        self.index.add(np.arange(len(documents)), documents, [rules[folder] for folder in self.folders.of.tolist()])

    def tune(self, search: dict[str, Any]) -> None:
        self.scope = search["scope"]
        callers = [self._principal(number) for number in search["callers"]]
        for caller in set(callers):
            self.index.count(principal=caller)  # compiles the grant; words are counted by the search
        self.callers = cycle(callers)

    def search(self, queries: Sequence[Any], k: int) -> Any:
        caller = next(self.callers)
        return self.index.search(queries, k, principal=caller, scope=self.scope, threads=self.threads).ids

    def _principal(self, number: int) -> Principal:
        groups = [_group(folder) for folder in self.folders.read_by(number).tolist()]
        return Principal(f"caller {number}", _TENANT, groups)


def _group(folder: int) -> str:
    return f"folder {folder}"


KINDS = (_Evidex, _Guarded)
