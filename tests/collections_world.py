# SPDX-License-Identifier: Apache-2.0
"""A collection, and beside it what it should hold in plain dicts: documents, revisions, rules, what showed when."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

import reference
from collections_examples import DIM, HashEncoder, Revision
from evidex import (
    ANY_IN_TENANT,
    UNRESTRICTED,
    Collection,
    CollectionSnapshot,
    Columns,
    Document,
    InvalidInput,
    NotFound,
    Policy,
    Principal,
    Rule,
)
from evidex.text import Analyzer, chunk_id
from evidex.text.identity import row_id
from evidex.types import Chunk
from guarded import TENANTS, Parts, drawn_groups, drawn_parts
from reference import Floats

SOURCES = ("a", "b/c", "d")
WORDS = ("refund", "Müller", "thirty", "days", "AX-7", "the\nrest", "x" * 40)
TYPES: dict[str, type] = {"lang": str, "year": int, "day": date}
Key: TypeAlias = "tuple[str, str]"
Reader: TypeAlias = "Collection | CollectionSnapshot"


@dataclass
class Held:
    """A document: its rule, by place in World.parts, and its revisions that are kept."""

    rule: int
    revisions: dict[str, Revision] = field(default_factory=dict)
    visible: str | None = None


@dataclass(frozen=True)
class Row:
    """A chunk that a reader should find."""

    id: int
    key: Key
    chunk: Chunk
    vector: Floats
    metadata: dict[str, Any]


class World:
    """``states[g]`` is what generation g shows."""

    def __init__(self, seed: int, folder: Path | None) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.path = folder
        self.guarded, self.columns = bool(rng.random() < 0.7), bool(rng.random() < 0.5)
        self.analyzer = Analyzer() if rng.random() < 0.7 else None
        self.metric, self.codec = str(rng.choice(reference.METRICS)), str(rng.choice(reference.CODECS))
        self.parts: list[Parts] = list({drawn_parts(rng): None for _ in range(5)}) if self.guarded else []
        self.docs: dict[Key, Held] = {}
        self.states: dict[int, dict[Key, Revision]] = {}
        self.names = 0
        self.policy = Policy()
        self.rules: list[Rule] = []
        self.pinned: list[tuple[CollectionSnapshot, int]] = []
        self.encoder = HashEncoder()
        self.kb = self.opened("rw") if folder is not None else self.empty()
        self.reader = self.opened("r") if folder is not None else None
        self.read_at = 0
        self.make_rules()
        self.noted()
        for many in (6, 4):  # of some an older revision is there too
            self.put([(number, number) for number in range(many)], 100)
        if self.reader is not None and rng.random() < 0.5:
            self.refresh()

    def empty(self, policy: Policy | None = None) -> Collection:
        """Another one in memory with the same settings, under the world's policy or another."""
        return Collection.in_memory(policy=self.policy_or(policy), encoder=self.encoder, **self.how)

    def opened(self, mode: str) -> Collection:
        assert self.path is not None
        policy = self.policy if mode == "rw" else Policy()
        return Collection.open(self.path, mode, policy=self.policy_or(policy), encoder=self.encoder, **self.how)

    def policy_or(self, policy: Policy | None) -> Any:
        return UNRESTRICTED if not self.guarded else self.policy if policy is None else policy

    @property
    def how(self) -> dict[str, Any]:
        columns = Columns(TYPES) if self.columns else None
        return {"metric": self.metric, "codec": self.codec, "columns": columns, "analyzer": self.analyzer}

    def make_rules(self) -> None:
        self.rules = [made(self.policy, parts) for parts in self.parts]

    def noted(self) -> None:
        """What this generation shows; those in between show the same, as they only moved rows."""
        shown = {key: held.revisions[held.visible] for key, held in self.docs.items() if held.visible is not None}
        for generation in range(max(self.states, default=-1) + 1, self.kb.generation):
            self.states[generation] = self.states[generation - 1]
        self.states[self.kb.generation] = shown

    def key(self, number: int) -> Key:
        tenant = TENANTS[number % 2] if self.guarded else ""
        return tenant, SOURCES[number // 2 % len(SOURCES)]

    def rule_for(self, tenant: str, number: int) -> int:
        """Place of a rule of a tenant, made if there is none yet; -1 in an open world."""
        if not self.guarded:
            return -1
        places = [place for place, parts in enumerate(self.parts) if parts[0] == tenant]
        if not places:
            self.parts.append((tenant, None, frozenset()))
            self.make_rules()
            return len(self.parts) - 1
        return places[number % len(places)]

    def drawn(self) -> Revision:
        rng = self.rng
        self.names += 1
        chunks = tuple(" ".join(rng.choice(WORDS, 3)) for _ in range(rng.integers(1, 5)))
        vectors = np.round(rng.standard_normal((len(chunks), DIM)) * 2).astype(np.float32)
        vectors[~vectors.any(axis=1), 0] = 1
        metadata: dict[str, Any] = {}
        if self.columns and rng.random() < 0.8:
            metadata = {"lang": ("en", "de", None)[rng.integers(3)], "year": 2018 + int(rng.integers(5))}
            metadata |= {"day": date(2024, 1, int(rng.integers(1, 5)))} if rng.random() < 0.5 else {}
        return Revision(f"v{self.names}", chunks, vectors if rng.random() < 0.5 else None, metadata)

    def document(self, key: Key, revision: Revision, rule: int) -> Document:
        given: dict[str, Any] = {"chunks": revision.chunks, "vectors": revision.vectors}
        given |= {"metadata": revision.metadata or None, "rule": self.rules[rule] if self.guarded else None}
        return Document(key[1], revision.name, **given)

    def put(self, numbers: list[tuple[int, int]], batch: int) -> None:
        """New revisions of documents, by number and number of rule."""
        waiting = []
        for number, rule_number in numbers:
            key = self.key(number)
            waiting.append((key, self.drawn(), self.rule_for(key[0], rule_number)))
        done = [0]

        def landed(count: int) -> None:
            """A batch is there, and no more than that."""
            for key, revision, rule in waiting[done[-1] : count]:
                held = self.docs.setdefault(key, Held(rule))
                held.rule, held.visible = rule, revision.name
                held.revisions[revision.name] = revision
            done.append(count)
            self.noted()

        put = self.kb.put_documents((self.document(*one) for one in waiting), batch=batch, progress=landed)
        chunks = sum(len(revision.chunks) for _, revision, _ in waiting)
        assert (put.stored, put.unchanged, put.chunks, done[-1]) == (len(waiting), 0, chunks, len(waiting))

    def put_again(self, number: int, rule_number: int, place: int) -> None:
        """A revision that is there already: the visible one changes at most the rule, others are refused."""
        key = self.key(number)
        held = self.docs.get(key)
        if held is None:
            return
        revision = list(held.revisions.values())[place % len(held.revisions)]
        rule = self.rule_for(key[0], rule_number)
        before = self.kb.generation
        other = Revision(revision.name, (*revision.chunks, "more"), None, revision.metadata)
        with pytest.raises(InvalidInput, match="stored with other content"):
            self.kb.put_documents([self.document(key, other, rule)])
        if revision.name != held.visible:
            with pytest.raises(InvalidInput, match="was retired; restore"):
                self.kb.put_documents([self.document(key, revision, rule)])
        else:
            put = self.kb.put_documents([self.document(key, revision, rule)])
            assert (put.stored, put.unchanged, put.chunks) == (0, 1, 0)
            held.rule = rule
        assert self.kb.generation == before

    def delete(self, number: int) -> None:
        key = self.key(number)
        held = self.docs.get(key)
        if held is None or held.visible is None:
            with pytest.raises(NotFound, match="^no such document: "):
                self.kb.delete_document(key[0] or None, key[1])
            return
        self.kb.delete_document(key[0] or None, key[1])
        held.visible = None
        self.noted()

    def restore(self, number: int, place: int) -> None:
        key = self.key(number)
        held = self.docs.get(key)
        with pytest.raises(NotFound, match="^no such (document|revision): "):
            self.kb.restore(key[0] or None, key[1], "never")
        if held is not None:
            name = list(held.revisions)[place % len(held.revisions)]
            self.kb.restore(key[0] or None, key[1], name)
            held.visible = name
            self.noted()

    def set_rule(self, number: int, rule_number: int) -> None:
        key = self.key(number)
        if self.guarded and key in self.docs:
            self.docs[key].rule = self.rule_for(key[0], rule_number)
            self.kb.set_rule(*key, self.rules[self.docs[key].rule])

    def change_rule(self, number: int) -> None:
        parts = drawn_parts(self.rng)
        if not self.guarded or (parts := (self.parts[number % len(self.parts)][0], *parts[1:])) in self.parts:
            return  # two rules that say the same cannot be told apart once the collection is opened anew
        rule = self.rules[number % len(self.rules)]
        self.kb.change_rule(rule, ANY_IN_TENANT if parts[1] is None else parts[1], parts[2])
        self.parts[number % len(self.parts)] = parts

    def compact(self) -> None:
        generations = [self.kb.generation, *(generation for _, generation in self.pinned)]
        least = min(generations if self.reader is None else [*generations, self.read_at])
        self.kb.compact()
        for key, held in list(self.docs.items()):
            shown = {self.states[g][key].name for g in self.states if g >= least and key in self.states[g]}
            held.revisions = {n: one for n, one in held.revisions.items() if n == held.visible or n in shown}
            if not held.revisions:
                del self.docs[key]
        self.noted()

    def reopen(self, new_policy: bool) -> None:
        if self.path is None:
            return
        self.kb.close()
        self.pinned = [(one, generation) for one, generation in self.pinned if not one.closed]
        if new_policy:
            self.policy = Policy()
        self.kb = self.opened("rw")
        self.make_rules()
        assert self.kb.generation == max(self.states)

    def pin(self, of_reader: bool) -> None:
        if len(self.pinned) < 4:
            reader = self.reader if of_reader and self.reader is not None else self.kb
            self.pinned.append((reader.snapshot(), reader.generation))

    def unpin(self, place: int) -> None:
        if self.pinned:
            self.pinned.pop(place % len(self.pinned))[0].close()

    def refresh(self) -> None:
        if self.reader is not None:
            self.read_at = self.reader.refresh()
            assert self.read_at == self.kb.generation

    def readers(self) -> list[tuple[Reader, int]]:
        """Everything that can be read, with its generation."""
        second: list[tuple[Reader, int]] = [] if self.reader is None else [(self.reader, self.read_at)]
        return [(self.kb, self.kb.generation), *second, *self.pinned]

    def drawn_caller(self) -> Principal | None:
        """Mostly somebody whom the rule of a document lets read, if it lets anybody."""
        if not self.guarded:
            return None
        tenant, allow, deny = self.parts[self.rng.choice([held.rule for held in self.docs.values()] or [0])]
        groups = drawn_groups(self.rng, 0.5)
        if self.rng.random() < 0.7:
            groups = frozenset(list(groups if allow is None else allow)[:1]) - deny
        return Principal("p", tenant if self.rng.random() < 0.9 else "nobody's", groups)

    def rows(self, generation: int, who: Any) -> list[Row]:
        """What somebody should find of a generation, by the rules of now."""
        found = []
        for key, revision in self.states[generation].items():
            parts = self.parts[self.docs[key].rule] if isinstance(who, Principal) else None
            if parts is not None and not reference.may_read(parts, who.tenant, who.groups):
                continue
            at = 0
            for text, vector in zip(revision.chunks, revision.rows, strict=True):
                id = chunk_id(*key, revision.name, at, at + len(text), text)
                chunk = Chunk(id, *key, revision.name, at, at + len(text), text)
                found.append(Row(row_id(id), key, chunk, vector, revision.metadata))
                at += len(text)
        return found

    def close(self) -> None:
        self.kb.close()
        if self.reader is not None:
            self.reader.close()


def made(policy: Policy, parts: Parts) -> Rule:
    tenant, allow, deny = parts
    return policy.rule(tenant, ANY_IN_TENANT if allow is None else allow, deny)
