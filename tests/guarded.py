# SPDX-License-Identifier: Apache-2.0
"""A guarded index, and beside it what it should hold and who may read it, in plain arrays and sets."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

import reference
from evidex import ANY_IN_TENANT, AllowMask, Columns, DenseIndex, Policy, Rule
from many_rows import KINDS, Rng, storable
from reference import Floats, Whole

TENANTS = ("acme", "zenith")
GROUPS = ("a", "b", "c", "d")
MOST_IDS = 3600
DOCUMENTS = 300  # numbered from MOST_IDS on, or like any row: one that belongs to none is a group numbered like its id
BULK = 2500  # enough rows for a pre-scan, most of them under the first rule
LANGUAGES = ("en", "de", None)

Parts: TypeAlias = "tuple[str, frozenset[str] | None, frozenset[str]]"
Caller: TypeAlias = "tuple[str, frozenset[str]]"
Bools: TypeAlias = "npt.NDArray[np.bool_]"


def drawn_parts(rng: Rng) -> Parts:
    allow = None if rng.random() < 0.2 else drawn_groups(rng, 0.4)
    return TENANTS[int(rng.random() < 0.3)], allow, drawn_groups(rng, 0.15)


def drawn_groups(rng: Rng, share: float) -> frozenset[str]:
    return frozenset(group for group in GROUPS if rng.random() < share)


class Guarded:
    """Place i of an array is about the row with id i, or, in ``rule_of``, about group i."""

    def __init__(self, bulk: bool, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.dim = 32 if bulk else 3
        self.metric, self.codec = str(rng.choice(reference.METRICS)), str(rng.choice(reference.CODECS))
        self.pool = KINDS[rng.choice(["whole", "clustered", "normal"])](rng, 60, self.dim)
        first: list[Parts] = [(TENANTS[0], None, frozenset())] if bulk else []
        self.parts = list(dict.fromkeys(first + [drawn_parts(rng) for _ in range(rng.integers(2, 7))]))
        self.policy = Policy()
        self.rules = [self.made(one) for one in self.parts]
        self.index = self.empty()
        self.given = np.zeros((MOST_IDS, self.dim), np.float32)
        self.kept = np.zeros((MOST_IDS, self.dim), np.float32)  # what the codec leaves of it
        self.group = np.zeros(MOST_IDS, np.int64)
        self.language = np.zeros(MOST_IDS, np.int64)  # place in LANGUAGES
        self.year = np.zeros(MOST_IDS, np.int64)  # -1: missing
        self.version = np.zeros(MOST_IDS, np.int64)  # the write that it comes from, 0: not stored
        self.writes = 0
        self.rule_of = np.full(MOST_IDS + DOCUMENTS, -1)  # -1: a group without rows
        self.named = np.full(MOST_IDS + DOCUMENTS, False)  # groups that keep their rule when their rows are gone
        self.mask: tuple[AllowMask, Whole] | None = None  # made earlier, of these versions
        n, few = (BULK, 0.08) if bulk else (int(rng.integers(100)), 1)  # under other rules than the first
        rule_of = np.where(rng.random(DOCUMENTS) < few, rng.integers(0, len(self.rules), DOCUMENTS), 0)
        documents = rng.integers(0, DOCUMENTS, n)
        self.add(n, MOST_IDS + documents, rule_of[documents])

    def made(self, parts: Parts) -> Rule:
        tenant, allow, deny = parts
        return self.policy.rule(tenant, ANY_IN_TENANT if allow is None else allow, deny)

    def empty(self) -> DenseIndex:
        columns = Columns({"language": str, "year": int})
        return DenseIndex(self.dim, metric=self.metric, codec=self.codec, policy=self.policy, columns=columns)

    @property
    def stored(self) -> Bools:
        return self.version > 0

    def readable(self, caller: Caller) -> Bools:
        """The oracle: the sentence in docs/security.md, in set logic."""
        decided = np.array([reference.may_read(parts, *caller) for parts in self.parts])
        readable: Bools = self.stored & decided[self.rule_of[self.group]]
        return readable

    def drawn_caller(self) -> Caller:
        """Mostly somebody whom a rule lets read, if it lets anybody; sometimes of a tenant and groups no rule knows."""
        rng = self.rng
        kind = rng.choice(["reader of the first", "reader", "anybody", "unknown"], p=[0.3, 0.4, 0.25, 0.05])
        if kind in ("anybody", "unknown"):
            groups = drawn_groups(rng, 0.4)
            return (str(rng.choice(TENANTS)), groups) if kind == "anybody" else ("nobody's", groups | {"unknown"})
        tenant, allow, deny = self.parts[0 if kind != "reader" else rng.integers(len(self.parts))]
        return tenant, frozenset(GROUPS if allow is None else allow) - deny

    def alone(self, ids: Whole) -> DenseIndex:
        """An index that never had any other rows."""
        index = self.empty()
        self.into(index.add, ids)
        return index

    def into(self, write: Any, ids: Whole) -> None:
        languages = [LANGUAGES[i] for i in self.language[ids]]
        years = [None if year < 0 else year for year in self.year[ids].tolist()]
        rules = [self.rules[number] for number in self.rule_of[self.group[ids]]]
        groups = None if (self.group[ids] == ids).all() else self.group[ids]
        write(ids, self.given[ids], rules, groups, metadata={"language": languages, "year": years})

    def add(self, n: int, groups: Whole | None, numbers: Whole) -> None:
        """New rows; of groups, or each its own. Groups that have rules keep them."""
        ids = self.rng.permutation(np.flatnonzero(~self.stored))[:n]
        groups = ids if groups is None else groups[: len(ids)]
        self.write(
            self.index.add, ids, groups, np.where(self.rule_of[groups] < 0, numbers[: len(ids)], self.rule_of[groups])
        )

    def upsert(self, ids: Whole, groups: Whole | None, number: int) -> None:
        self.forget(ids)
        self.write(self.index.upsert, ids, ids if groups is None else groups, np.full(len(ids), number))

    def write(self, method: Any, ids: Whole, groups: Whole, numbers: Whole) -> None:
        n = len(ids)
        values = self.pool[self.rng.integers(0, len(self.pool), n)]
        values = values + (self.rng.random((n, 1)) < 0.7) * self.rng.standard_normal(values.shape)
        values[~values.any(axis=1), 0] = 1
        self.given[ids] = storable(values, self.codec) if n else values
        self.kept[ids] = reference.stored(self.metric, self.codec, self.given[ids])
        self.group[ids], self.rule_of[groups] = groups, numbers
        self.named[groups] |= (groups != ids).any()
        self.language[ids] = self.rng.integers(0, len(LANGUAGES), n)
        self.year[ids] = self.rng.choice([-1, 2018, 2019, 2020, 2021], n)
        self.writes += 1
        self.version[ids] = self.writes
        self.into(method, ids)

    def remove(self, ids: Whole) -> None:
        self.index.remove(ids)
        self.forget(ids)
        self.version[ids] = 0

    def forget(self, ids: Whole) -> None:
        """These rows go, and with them the groups that were nothing but one of them."""
        own = ids[self.stored[ids] & (self.group[ids] == ids)]
        self.rule_of[own[~self.named[own]]] = -1

    def change(self, number: int) -> None:
        """What a rule says, or one rule more."""
        _, allow, deny = parts = drawn_parts(self.rng)
        if number < len(self.rules):
            self.policy.change(self.rules[number], ANY_IN_TENANT if allow is None else allow, deny)
            self.parts[number] = (self.parts[number][0], allow, deny)
        elif (rule := self.made(parts)) not in self.rules:
            self.rules.append(rule)
            self.parts.append(parts)

    def scores(self, queries: Floats) -> Floats:
        """Canonical, [nq, rows stored]."""
        rows = self.kept[self.stored]
        return np.stack([reference.scores(self.metric, q, rows) for q in reference.prepared(self.metric, queries)])
