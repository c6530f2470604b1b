# SPDX-License-Identifier: Apache-2.0
"""An index with columns, open or guarded, and what can be read of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from evidex import ANY_IN_TENANT, Columns, DenseIndex, Principal, where
from examples import ORIGIN

TYPES: dict[str, type] = {"lang": str, "year": int}
EN, LATE = where("lang") == "en", where("year") >= 2020
NOBODY = Principal("bob", "nowhere", ())


def stocked(n: int = 10, **options: Any) -> DenseIndex:
    """Row i lies at 10 i on the first axis; even ones are English, row i is of year 2015 + i, row 9 has no values."""
    index = DenseIndex(4, metric="l2", columns=Columns(TYPES), **options)
    lie = np.zeros((n, 4), np.float32)
    lie[:, 0] = 10 * np.arange(n)
    metadata: dict[str, list[Any]] = {
        "lang": [None if i == 9 else ("en", "de")[i % 2] for i in range(n)],
        "year": [None if i == 9 else 2015 + i for i in range(n)],
    }
    rules = None
    if (policy := index.policy) is not None:  # a third of the rows is of another tenant
        mine, other = policy.rule("acme", ANY_IN_TENANT), policy.rule("zenith", ANY_IN_TENANT)
        rules = [other if i % 3 == 1 else mine for i in range(n)]
    index.add(np.arange(n), lie, rules, metadata=metadata)
    return index


READS: dict[str, Callable[..., list[int]]] = {
    "search": lambda index, **how: sorted(index.search(ORIGIN, 50, **how)[0].ids.tolist()),
    "radius": lambda index, **how: sorted(index.radius(ORIGIN, -1e9, **how)[0].ids.tolist()),
    "explain": lambda index, **how: sorted(i for i, _ in index.explain(ORIGIN, 50, **how).hits),
    "ids": lambda index, **how: index.ids(**how).tolist(),
}
