# SPDX-License-Identifier: Apache-2.0
"""Every way to ask an index for the best rows; whatever the way, the hits are the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evidex import DenseIndex, Hits

Found = list[tuple[int, float]]
_MANY = 20  # queries: more than run side by side, in no multiple of it
_WORST = -3e38


def found(hits: Hits) -> list[Found]:
    """Each query's hits; what lies beyond its count is padding."""
    for query, count in enumerate(hits.counts):
        assert (hits.ids[query, count:] == -1).all()
        assert (hits.scores[query, count:] == -np.inf).all()
    return [list(zip(ids.tolist(), scores.tolist(), strict=True)) for ids, scores in hits]


def agreed(index: DenseIndex, query: npt.NDArray[Any], k: int, *, allow: Any = None, **options: Any) -> Found:
    """What each way finds for one query in an index whose rows are their own groups."""
    many = np.tile(query, (_MANY, 1))
    each = None if allow is None else [allow] * _MANY
    explained = index.explain(query, k, allow=allow, **options)
    answers: dict[str, Sequence[Found]] = {
        "one query": found(index.search(query, k, allow=allow, **options)),
        "many queries": found(index.search(many, k, allow=allow, **options)),
        "a mask for each query": found(index.search(many, k, allow=each, **options)),
        "groups": found(index.search(query, k, allow=allow, group_by=True, **options)),
        "radius": found(index.radius(many, _WORST, limit=k, allow=allow, **options)),
        "explain": [list(explained.hits)],
    }
    first = answers["one query"][0]
    assert {way for way, answer in answers.items() for one in answer if one != first} == set()
    assert explained.returned == len(first) == min(k, explained.permitted)
    return first
