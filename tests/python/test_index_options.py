# SPDX-License-Identifier: Apache-2.0
"""DenseIndex: codec= and prescan= act, refuse what is neither, and break no other promise (P12)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reference
from evidex import DenseIndex, InvalidInput
from examples import EYE

RNG = np.random.default_rng(11)
ROWS = RNG.standard_normal((2048, 40)).astype(np.float32)
PLANS = {
    "float32": "",
    "float16": " of decoded float16 rows",
    "int8": " of decoded int8 rows",
}


def filled(rows: Any = ROWS, **options: Any) -> DenseIndex:
    index = DenseIndex(rows.shape[1], **options)
    index.add(None, rows)
    return index


@pytest.mark.parametrize("codec", ["f32", "INT8", "", None, 3, 0, ["int8"], True])
def test_codec_is_one_of_the_list(codec: Any) -> None:
    with pytest.raises(InvalidInput, match="codec: expected one of float32, float16, int8"):
        DenseIndex(3, codec=codec)


@pytest.mark.parametrize("prescan", [1, 0, None, "yes", 1.0, [True]])
def test_prescan_is_true_or_false(prescan: Any) -> None:
    with pytest.raises(InvalidInput, match="prescan: expected True or False"):
        DenseIndex(3, prescan=prescan)


@pytest.mark.parametrize("codec", reference.CODECS)
def test_codec_acts(codec: str) -> None:  # case B20
    index = filled(codec=codec)
    assert index.codec == codec
    assert f"codec='{codec}'" in repr(index)
    explained = index.explain(ROWS[0])
    assert (explained.codec, explained.plan) == (codec, "exact pre-scan" + PLANS[codec])
    assert index.explain(ROWS[0], 2048).plan == "exact scan" + PLANS[codec]
    assert explained.certified
    kept = index.get(np.arange(2048))
    assert kept.dtype == np.float32
    assert kept.tobytes() == reference.stored("cosine", codec, ROWS).tobytes()
    assert len({filled(codec=other).get(0).tobytes() for other in reference.CODECS}) == 3


def test_codec_is_float32_and_prescan_true_unless_said() -> None:
    assert DenseIndex(3).codec == "float32"
    assert filled().explain(ROWS[0]).plan == "exact pre-scan"
    assert filled(prescan=np.True_).explain(ROWS[0]).plan == "exact pre-scan"


@pytest.mark.parametrize("codec", reference.CODECS)
def test_prescan_acts(codec: str) -> None:  # case B20
    """Seen red: codes read whatever was said."""
    with_codes, without = filled(codec=codec), filled(codec=codec, prescan=False)
    assert with_codes.explain(ROWS[0]).plan == "exact pre-scan" + PLANS[codec]
    assert without.explain(ROWS[0]).plan == "exact scan" + PLANS[codec]
    few, all_rows = (index.search(ROWS[:50], 10) for index in (with_codes, without))
    assert few.ids.tobytes() == all_rows.ids.tobytes()
    assert few.scores.tobytes() == all_rows.scores.tobytes()
    assert few.certified.all() and all_rows.certified.all()


def test_the_plan_follows_from_permitted_rows_and_hits_alone() -> None:
    """Seen red: rows stored where rows permitted were meant."""
    index = filled(np.concatenate([ROWS, ROWS[:200]]))
    allow = np.arange(2248) < 2048

    def plan(k: int, allow: Any = allow, **options: Any) -> str:
        return index.explain(ROWS[0], k, allow=allow, **options).plan

    for group_by in (False, True):
        assert plan(128, group_by=group_by) == "exact pre-scan"
        assert plan(129, group_by=group_by) == "exact scan"
    assert plan(1, np.arange(2248) < 2047) == "exact scan"
    assert plan(0) == "exact pre-scan"
    assert plan(140, None) == "exact pre-scan"
    assert plan(141, None) == "exact scan"
    index.remove(np.arange(200))
    assert plan(128, None) == "exact pre-scan"
    index.remove([200])
    assert plan(1, None) == "exact scan"
    for dim, expected in ((31, "exact scan"), (32, "exact pre-scan")):
        assert filled(ROWS[:, :dim]).explain(ROWS[0, :dim]).plan == expected


@pytest.mark.parametrize("codec", reference.CODECS)
def test_every_hit_is_certified(codec: str) -> None:
    for metric in reference.METRICS:
        index = filled(metric=metric, codec=codec)
        assert index.search(ROWS[:3], 5).certified.tolist() == [True] * 3
        assert index.search(ROWS[:3], 5, group_by=True, allow=np.arange(2048) < 3).certified.tolist() == [True] * 3
        assert index.radius(ROWS[:3], -1.0).certified.tolist() == [True] * 3
        assert index.explain(ROWS[0]).certified


# float16


@pytest.mark.parametrize("metric", ["ip", "l2"])
def test_a_row_that_overflows_float16_is_named(metric: str) -> None:  # P8, case H8
    """Seen red: only the first component looked at."""
    index = DenseIndex(3, metric=metric, codec="float16")
    index.add([7], EYE[:1])
    generation = index.explain(EYE[0]).operator
    rows = np.ones((400, 3))
    rows[333, 1] = -65520
    message = r"vectors: row 333 holds -65520 at position 1, which overflows float16 \(largest 65504\)"
    for write, first in ((index.add, 8), (index.upsert, 1)):
        with pytest.raises(InvalidInput, match=message):
            write(np.arange(400) + first, rows)
    assert index.ids().tolist() == [7]
    assert index.get(7).tolist() == [[1, 0, 0]]
    assert index.explain(EYE[0]).operator == generation
    rows[333, 1] = np.nextafter(np.float32(-65520), np.float32(0))
    index.add(np.arange(400) + 8, rows)
    assert index.get(341).tolist() == [[1, -65504, 1]]


def test_cosine_rows_never_overflow_float16() -> None:  # case H8
    index = DenseIndex(2, codec="float16")
    index.add([1, 2, 3], np.array([[3e200, 4e200], [3e-200, -4e-200], [1e38, 0]]))
    assert index.get([1, 2, 3]).tolist() == np.array([[0.6, 0.8], [0.6, -0.8], [1, 0]], np.float16).tolist()


# int8


def test_int8_has_a_largest_dimension() -> None:
    with pytest.raises(InvalidInput, match="dim: codec int8 holds at most 131072 components per row, got 131073"):
        DenseIndex(131073, codec="int8")
    for codec in ("float16", "float32"):
        assert DenseIndex(131073, codec=codec).dim == 131073
    index = DenseIndex(131072, codec="int8", metric="ip")
    index.add([1, 2], np.array([[-127.0], [127.0]]) * np.ones((1, 131072)))
    assert index.search(np.ones(131072), 2).ids.tolist() == [[2, 1]]
    assert index.search(np.ones(131072), 2).scores.tolist() == [[127 * 131072, -127 * 131072]]


def test_vectors_have_components() -> None:
    """The core keeps rows of none, for what has something else beside them."""
    with pytest.raises(InvalidInput, match="dim: expected a whole number from 1"):
        DenseIndex(0)


def test_int8_rows_have_a_scale_of_their_own() -> None:
    """Tiny rows beside large ones keep their digits; what is below 2**-100 is all zeros."""
    rows = np.array([[1, -0.5, 0.25], [1e18, -5e17, 2.5e17], [1e-20, -5e-21, 2.5e-21], [2.0**-101, 0, 0]])
    index = DenseIndex(3, metric="ip", codec="int8")
    index.add([0, 1, 2, 3], rows)
    kept = index.get([0, 1, 2, 3])
    half_a_step = 0.5 / 127 * (1 + 2.0**-7)
    assert (np.abs(kept[:3] - rows[:3]).max(axis=1) <= half_a_step * rows[:3, 0]).all()
    assert kept[3].tolist() == [0, 0, 0]


@pytest.mark.parametrize("codec", ["float16", "int8"])
def test_refused_rows_change_nothing(codec: str) -> None:
    """P8, P9: also where the first blocks of rows have been coded already."""
    index = filled(ROWS, codec=codec)
    before = index.search(ROWS[:5], 20)
    bad = np.concatenate([ROWS, ROWS[:700]])
    bad[2700, 3] = np.inf
    for write in (index.add, index.upsert):
        with pytest.raises(InvalidInput, match="row 2700 holds inf at position 3"):
            write(np.arange(2748) + 5000, bad)
    with pytest.raises(InvalidInput, match="groups"):
        index.upsert(np.arange(3), ROWS[:3] * 2, groups=[1, 2])
    after = index.search(ROWS[:5], 20)
    assert after.ids.tobytes() == before.ids.tobytes()
    assert after.scores.tobytes() == before.scores.tobytes()
    assert len(index) == 2048
