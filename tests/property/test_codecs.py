# SPDX-License-Identifier: Apache-2.0
"""P5, P7 of rows that are stored as float16 or int8: brute force over what the codec's definition says is kept."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import reference
from evidex import DenseIndex
from strategies import ISAS, Data, data, forced_isa


def fitting(d: Data, codec: str) -> Data:
    """Small enough for float16."""
    return Data(d.metric, d.ids, d.rows * np.float32(2.0**-8 if codec == "float16" else 1), d.queries)


@given(
    d=data(),
    codec=st.sampled_from(reference.CODECS),
    k=st.integers(0, 250),
    prescan=st.booleans(),
    isas=st.tuples(st.sampled_from(ISAS), st.sampled_from(ISAS)),
)
def test_a_codec_is_brute_force_over_decoded_rows(
    d: Data, codec: str, k: int, prescan: bool, isas: tuple[str, str]
) -> None:
    """Also where one instruction set writes and another searches. Seen red: codes cut off instead of rounded."""
    d = fitting(d, codec)
    index = DenseIndex(d.queries.shape[1], metric=d.metric, codec=codec, prescan=prescan)
    with forced_isa(isas[0]):
        index.add(d.ids, d.rows.reshape(-1, d.queries.shape[1]))
    with forced_isa(isas[1]):
        hits = index.search(d.queries, k)
        kept = index.get(d.ids)
    assert kept.tobytes() == reference.stored(d.metric, codec, d.rows).tobytes()
    for number, query in enumerate(d.queries):
        expected = reference.search(d.metric, query, d.by_id, k, codec)
        assert list(zip(*(x.tolist() for x in hits[number]), strict=True)) == expected
    assert hits.certified.all()


@given(
    d=data(max_rows=120),
    codec=st.sampled_from(reference.CODECS),
    isa=st.sampled_from(ISAS),
    seed=st.integers(0, 2**32 - 1),
)
def test_what_is_kept_of_a_row_depends_on_that_row_alone(d: Data, codec: str, isa: str, seed: int) -> None:
    """P2, P5: among other rows, in another order, one by one, in place of another row. Seen red: a scale that is not
    below that of the row before."""
    d = fitting(d, codec)
    if not len(d.ids):
        return
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(d.ids))
    together = DenseIndex(d.rows.shape[1], metric=d.metric, codec=codec)
    together.add(d.ids, d.rows)
    single = DenseIndex(d.rows.shape[1], metric=d.metric, codec=codec)
    half = len(order) // 2
    with forced_isa(isa):
        single.add(d.ids[order[:half]], -d.rows[order[:half]])
        for i in order[half:]:
            single.add(d.ids[i : i + 1], d.rows[i : i + 1])
        single.upsert(d.ids[order[:half]], d.rows[order[:half]])
    assert together.get(d.ids).tobytes() == single.get(d.ids).tobytes()
