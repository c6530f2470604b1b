# SPDX-License-Identifier: Apache-2.0
"""One line of JSON as one document: {source, revision, text or chunks, vectors, metadata, and who may read it}."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _checks
from ..access import ANY_IN_TENANT, Policy, Rule
from ..errors import AccessError, InvalidInput

__all__ = ["document_of"]

_RULE = ("tenant", "allow", "any_in_tenant", "deny")
_FIELDS = ("source", "revision", "text", "chunks", "vectors", "metadata", *_RULE)


def document_of(
    line: bytes, policy: Policy | None, rule: Rule | None, columns: dict[str, str]
) -> tuple[dict[str, Any], bytes]:
    """A document's fields, and the bytes that a revision without a name is named after.

    Args:
        line: UTF-8.
        policy: Makes the line's own rule; None on an open collection.
        rule: Of a document that says nothing of its own.
        columns: Types of metadata by name.

    Raises:
        InvalidInput: For what is no such JSON object. The collection checks names, texts, vectors and values.
        AccessError: If nobody says who may read it.
    """
    value = _checks.json_object(line, "line", 'write {"source": ..., "text": ...}')
    if unknown := sorted(value.keys() - set(_FIELDS)):
        _checks.refuse("field", unknown[0], f"one of {', '.join(_FIELDS)}", "misspelt, it would be missing")
    chunks = value.get("chunks")
    if chunks is not None and not isinstance(chunks, list):
        _checks.refuse("chunks", chunks, "a list of texts", "put a single one in brackets, or call it text")
    text = value.get("text")
    revision = value.get("revision")
    fields = {
        "source": _checks.utf8(value.get("source"), "source"),
        "revision": None if revision is None else _checks.utf8(revision, "revision"),
        "text": None if text is None else _checks.utf8(text, "text"),
        "chunks": None if chunks is None else _checks.texts(chunks, "chunks"),
        "vectors": _vectors(value.get("vectors")),
        "metadata": _metadata(value.get("metadata"), columns),
        "rule": _rule(value, policy, rule),
    }
    content = [value.get(name) for name in ("text", "chunks", "vectors", "metadata")]
    return fields, json.dumps(content, sort_keys=True).encode()


def _vectors(given: object) -> npt.NDArray[np.float64] | None:
    if given is None:
        return None
    if not isinstance(given, list) or not all(
        isinstance(row, list) and all(type(number) in (int, float) for number in row) for row in given
    ):
        _checks.refuse("vectors", given, "a list with a list of numbers for each chunk", "one vector per chunk")
    try:
        return np.array(given, dtype=np.float64)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(f"vectors: all of one length, and numbers that a float holds: {error}") from error


def _metadata(given: object, columns: dict[str, str]) -> object:
    """JSON has no dates: they are written as text."""
    if not isinstance(given, dict):
        return given
    try:
        return {
            name: date.fromisoformat(value) if columns.get(name) == "date" and isinstance(value, str) else value
            for name, value in given.items()
        }
    except ValueError as error:
        raise InvalidInput(f"metadata: dates are written YYYY-MM-DD: {error}") from error


def _rule(value: dict[str, Any], policy: Policy | None, rule: Rule | None) -> Rule | None:
    own = [name for name in _RULE if name in value]
    if policy is None:
        if own:
            raise InvalidInput(f"{own[0]}: this collection is open and keeps no rules; leave it out")
        return None
    if not own:
        if rule is None:
            raise AccessError("rule: who may read it is never implied; give tenant with allow or any_in_tenant")
        return rule
    allow, deny, anybody = value.get("allow"), value.get("deny", []), value.get("any_in_tenant")
    if ("allow" in value) == ("any_in_tenant" in value) or ("any_in_tenant" in value and anybody is not True):
        raise InvalidInput('allow: a rule has either "allow": [groups] or "any_in_tenant": true')
    for name, groups in (("allow", [] if anybody else allow), ("deny", deny)):
        if not isinstance(groups, list):
            _checks.refuse(name, groups, "a list of groups", "put a single one in brackets")
    return policy.rule(value.get("tenant"), ANY_IN_TENANT if anybody else allow, deny)  # type: ignore[arg-type]
