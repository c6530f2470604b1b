# SPDX-License-Identifier: Apache-2.0
"""Every shape numpy input can take: the contiguous result or a typed error (cases C1, C2, B18, H8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from evidex import AllowMask, DenseIndex, InvalidInput, Policy, _arrays

Array = npt.NDArray[Any]
DIM = 6
ROWS = np.random.default_rng(11).standard_normal((8, DIM)).astype(np.float16)  # exact in all three float types


def misaligned(a: Array) -> Array:
    raw = np.zeros(a.nbytes + 1, np.uint8)[1:]
    out = raw.view(a.dtype).reshape(a.shape) if a.size else a
    out[...] = a
    return out


def spread(a: Array, axis: int) -> Array:
    shape = list(a.shape)
    shape[axis] *= 2
    out = np.full(shape, 7, a.dtype)
    view = out[::2] if axis == 0 else out[:, ::2]
    view[...] = a
    return view


def read_only(a: Array) -> Array:
    a = a.copy()
    a.flags.writeable = False
    return a


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "every second row": lambda a: spread(a, 0),
    "every second column": lambda a: spread(a, 1),
    "reversed": lambda a: a[::-1].copy()[::-1],
    "read-only": read_only,
    "byte-swapped": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "misaligned": misaligned,
    "subclass": lambda a: a.view(np.matrix) if a.ndim == 2 else a,
}


@pytest.mark.filterwarnings("ignore:.*matrix subclass.*")
@pytest.mark.parametrize("metric", ["ip", "l2", "cosine"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout_equals_the_contiguous_copy(layout: str, dtype: str, metric: str) -> None:  # case C1
    """P8. Seen red: byte order not compared, so that a swapped array passed as it was."""
    plain = DenseIndex(DIM, metric=metric)
    plain.add(np.arange(8), ROWS.astype(np.float32))
    expected = plain.search(ROWS[:3].astype(np.float32), 5)
    odd = DenseIndex(DIM, metric=metric)
    odd.add(np.arange(8), LAYOUTS[layout](ROWS.astype(dtype)))
    hits = odd.search(LAYOUTS[layout](ROWS[:3].astype(dtype)), 5)
    assert hits.ids.tobytes() == expected.ids.tobytes()
    assert hits.scores.tobytes() == expected.scores.tobytes()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_core_gets_one_form(layout: str, dtype: str) -> None:  # case C1
    """Misaligned reads may work here and trap elsewhere. Seen red: np.ascontiguousarray in place of np.require."""
    array = _arrays.vectors(LAYOUTS[layout](ROWS.astype(dtype)), DIM, "vectors", scaled=False)
    assert type(array) is np.ndarray
    assert array.dtype == np.float32
    assert array.dtype.isnative
    assert array.flags.c_contiguous
    assert array.flags.aligned
    assert np.array_equal(array, ROWS)


def test_a_broadcast_array_is_read_as_its_copy() -> None:
    index = DenseIndex(DIM, metric="ip")
    index.add(np.arange(3), np.broadcast_to(ROWS[0], (3, DIM)))
    assert np.array_equal(index.get([0, 1, 2]), np.tile(ROWS[0].astype(np.float32), (3, 1)))


REFUSED_DTYPES = [
    np.int8, np.int32, np.uint64, np.bool_, np.complex64, np.longdouble, object, "U4", "S4", "M8[s]", "m8[s]", "V4",
]  # fmt: skip


@pytest.mark.parametrize("dtype", REFUSED_DTYPES, ids=str)
def test_other_dtypes_are_refused_by_name(dtype: Any) -> None:  # case C1
    index = DenseIndex(2, metric="ip")
    values = np.ones((1, 2)).astype(dtype)
    for call in (lambda: index.add([1], values), lambda: index.search(values)):
        with pytest.raises(InvalidInput, match="expected dtype float16, float32 or float64"):
            call()
    assert len(index) == 0


SHAPES: list[Any] = [
    np.float32(1), np.ones(2), np.ones(4), np.ones(0), np.ones((3, 1)), np.ones((1, 3, 1)), np.ones((2, 2)),
    np.ones((2, 0)), "abc", [[1.0, 2.0], [3.0]], None, {}, [1.0, 2.0, "x"],
]  # fmt: skip


@pytest.mark.parametrize("value", SHAPES, ids=repr)
def test_wrong_shapes_name_both_sizes(value: Any) -> None:  # case B18
    index = DenseIndex(3, metric="ip")
    index.add([1], [[1.0, 0.0, 0.0]])
    for call in (lambda: index.add([2], value), lambda: index.search(value), lambda: index.explain(value)):
        with pytest.raises(InvalidInput):
            call()
    if isinstance(value, np.ndarray):
        with pytest.raises(InvalidInput) as caught:
            index.search(value)
        assert "3" in str(caught.value)
        assert str(list(value.shape)) in str(caught.value)
    assert len(index) == 1


def test_hostile_objects_are_typed_errors() -> None:
    class Hostile:
        def __array__(self, *_: Any, **__: Any) -> Array:
            raise RuntimeError("no")

    index = DenseIndex(3)
    for call in (lambda: index.search(Hostile()), lambda: index.get(Hostile())):
        with pytest.raises(InvalidInput, match="Hostile"):
            call()
    with pytest.raises(InvalidInput, match="masked"):
        index.search(np.ma.masked_array(np.ones(3), [False, True, False]))


def test_empty_input_is_no_rows() -> None:
    index = DenseIndex(3, metric="ip")
    assert index.add([], np.empty((0, 3))).tolist() == []
    assert index.add(None, np.empty((0, 3), np.float32)).tolist() == []
    index.upsert([], np.empty((0, 3)))
    index.remove([])
    assert index.get([]).shape == (0, 3)
    hits = index.search(np.empty((0, 3)))
    assert hits.ids.shape == (0, 10)
    assert len(hits) == 0
    assert list(hits) == []


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", ">i8", "u1", "u8", ">u2"])
def test_any_integer_dtype_holds_ids(dtype: str) -> None:
    index = DenseIndex(1, metric="ip")
    ids = index.add(np.array([5, 0, 7], dtype)[::-1], [[1.0], [2.0], [3.0]])
    assert ids.tolist() == [7, 0, 5]
    assert ids.dtype == np.int64
    assert index.get(np.array([0], dtype)).tolist() == [[2.0]]


BAD_IDS: list[Any] = [
    [-1], [1.0], [True], ["1"], [None], np.array([2**63], np.uint64), [2**70], np.ones((1, 1), int), -1, 1.5,
    np.empty(0), np.array([1], "m8[s]"), np.array([1], "M8[s]"), [np.timedelta64(1)], np.array([1], object),
    np.array([1], np.complex64), np.zeros(1, "V8"), 1j,
]  # fmt: skip


@pytest.mark.parametrize("ids", BAD_IDS, ids=repr)
def test_bad_ids_are_refused_everywhere(ids: Any) -> None:  # cases A6, B21
    """Numbers of groups too. Seen red: every dtype that numpy casts to int64."""
    index = DenseIndex(1, metric="ip")
    index.add([3], [[1.0]])
    calls: list[Callable[[], object]] = [
        lambda: index.add(ids, [[1.0]]),
        lambda: index.upsert(ids, [[1.0]]),
        lambda: index.remove(ids),
        lambda: index.get(ids),
        lambda: AllowMask.from_ids(index, ids),
    ]
    for call in calls:
        with pytest.raises(InvalidInput, match="ids"):
            call()
    policy = Policy()
    guarded = DenseIndex(1, metric="ip", policy=policy)
    of_groups: list[Callable[[], object]] = [
        lambda: index.add([4], [[1.0]], groups=ids),
        lambda: index.upsert([3], [[1.0]], groups=ids),
        lambda: guarded.set_rule(ids, policy.rule("t", {"g"})),
    ]
    for call in of_groups:
        with pytest.raises(InvalidInput, match="groups"):
            call()
    assert index.ids().tolist() == [3]


def test_float64_keeps_its_range_under_cosine() -> None:  # case H8
    index = DenseIndex(3)
    rows = np.array([[1e200, 0, 0], [1e-200, 1e-200, 0], [0, 5e-324, 5e-324], [1e300, 1e-300, 1e-300]])
    index.add(np.arange(4), rows)
    index.add([4], np.array([[1e30, 1e30, 0]], np.float32))
    index.add([5], np.array([[0, 1e-45, 1e-45]], np.float32))
    half = np.float32(np.sqrt(np.float32(0.5)))
    stored = index.get(np.arange(6))
    assert np.isfinite(stored).all()
    assert np.abs(np.linalg.norm(stored, axis=1) - 1).max() < 1e-6
    assert np.abs(stored[[1, 4]] - [half, half, 0]).max() < 1e-6
    assert np.abs(stored[[2, 5]] - [0, half, half]).max() < 1e-6
    assert index.search([1e-250, 0, 0], 1).ids.tolist() == [[0]]


@pytest.mark.parametrize("metric", ["ip", "l2"])
def test_norms_that_could_overflow_are_refused(metric: str) -> None:  # case H8
    """P8. The limit itself is welcome, the next float above it is not. Seen red: limit raised to 2**127."""
    index = DenseIndex(2, metric=metric)
    limit = np.float32(2.0**62.5)
    if np.float64(limit) ** 2 > 2.0**125:
        limit = np.nextafter(limit, np.float32(0))
    index.add([0, 1], np.array([[limit, 0], [-limit, 0]], np.float32))
    assert np.isfinite(index.search(np.array([limit, 0], np.float32), 2).scores).all()
    for value in (np.nextafter(limit, np.float32(np.inf)), np.float32(3e38), 1e30):
        with pytest.raises(InvalidInput, match=r"row 1 has squared norm .*2\^125"):
            index.add([5, 6], np.array([[1, 0], [value, 0]], np.float32))
        with pytest.raises(InvalidInput, match="squared norm"):
            index.search(np.array([value, 0], np.float32))
    with pytest.raises(InvalidInput, match=r"row 1 holds .*1e\+200.* at position 0, which overflows float32"):
        index.add([5, 6], np.array([[1, 0], [1e200, 0]]))
    assert len(index) == 2


def test_tiny_values_survive() -> None:
    index = DenseIndex(2, metric="l2")
    index.add([0, 1], np.array([[1e-45, 0], [0, 0]], np.float32))
    hits = index.search(np.array([1e-45, 0], np.float32), 2)
    assert hits.scores.tolist() == [[0.0, 0.0]]
    assert hits.ids.tolist() == [[0, 1]]


def test_a_score_is_never_negative_zero() -> None:
    """P4: equal scores have equal bits. Seen red: finish() of the inner product without its + 0."""
    index = DenseIndex(16, metric="ip")
    index.add([2, 1], np.array([[-1e-30] * 16, [0] * 16], np.float32))
    hits = index.search(np.full(16, 1e-30, np.float32), 2)
    assert hits.scores.tobytes() == np.zeros((1, 2), np.float32).tobytes()
    assert hits.ids.tolist() == [[1, 2]]


BAD_MASKS: list[Any] = [
    np.ones(2, bool), np.ones(4, bool), np.ones((3, 1), bool), np.ones(3, np.uint8), np.ones(3), [1, 0, 1], "abc",
    np.bool_(True), True, lambda row: True, [0, 1, 2], object(), np.ones(3, object), np.ones(3, "m8[s]"),
    np.zeros(3, "M8[s]"), np.ones(3, np.complex64), np.zeros(3, "V1"),
]  # fmt: skip


@pytest.mark.parametrize("allow", BAD_MASKS, ids=repr)
def test_bad_masks_are_refused(allow: Any) -> None:  # case A13
    """Seen red: every dtype that numpy casts to bool."""
    index = DenseIndex(1, metric="ip")
    index.add([1, 2, 3], [[1.0], [2.0], [3.0]])
    for call in (
        lambda: index.search([1.0], allow=allow),
        lambda: index.explain([1.0], allow=allow),
        lambda: AllowMask.from_bools(index, allow),
    ):
        with pytest.raises(InvalidInput, match="allow"):
            call()


def test_bool_arrays_of_any_layout_and_content() -> None:  # case C1
    index = DenseIndex(1, metric="ip")
    index.add(np.arange(5), np.arange(5, dtype=np.float32)[:, None])
    index.remove([1])
    wanted = np.array([True, False, True, True])
    strided = np.zeros(8, bool)
    strided[::2] = wanted
    odd = np.array([2, 0, 255, 3], np.uint8).view(bool)  # true, however the byte says it
    for allow in (wanted, strided[::2], wanted[::-1].copy()[::-1], read_only(wanted), odd, wanted.tolist()):
        assert index.search([1.0], 5, allow=allow).ids[0, :3].tolist() == [4, 3, 0]
        assert index.search([1.0], 5, allow=allow).counts.tolist() == [3]
