# SPDX-License-Identifier: Apache-2.0
"""What users of other libraries suffered with masks and id lists (A): who owns the memory, what is no mask, cost."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from evidex import AllowMask, DenseIndex, EvidexError, InvalidInput, _arrays, _core
from examples import ORIGIN, Make, line
from scripts import LINUX, run


def test_masks_own_their_bits(monkeypatch: pytest.MonkeyPatch) -> None:  # case A6
    """The array is overwritten before the core reads. Seen red: bits made only when a mask is used."""
    index = line(2000)
    denied = np.random.default_rng(0).random(2000) < 0.3
    expected = index.search(ORIGIN, 5, allow=(~denied).copy()).ids.tolist()
    source = ~denied
    mask = AllowMask.from_bools(index, source)
    source[:] = True
    del source
    gc.collect()
    assert index.search(ORIGIN, 5, allow=mask).ids.tolist() == expected

    inside, source = _core.Snapshot.search, ~denied

    def overwritten(*given: Any) -> _core.Answer:
        source[:] = True
        gc.collect()
        return inside(*given)

    monkeypatch.setattr(_core.Snapshot, "search", overwritten)
    assert index.search(ORIGIN, 5, allow=source).ids.tolist() == expected
    assert source.all()
    assert index.search(ORIGIN, 5, allow=~denied).ids.tolist() == expected


def test_ids_out_of_bounds_are_typed_errors(guarded: DenseIndex) -> None:  # case A6
    """Seen red: negative ids let through, and unknown ones, by a mask of an open index."""
    n = 2000
    index = line(n)
    for ids in ([0, n, 10**9, -1], [-1], [2**70]):
        with pytest.raises(InvalidInput, match="ids: expected integers from 0"):
            AllowMask.from_ids(index, ids)
    for unknown in (n, 10**9, 2**63 - 1):
        with pytest.raises(InvalidInput, match=f"ids: {unknown} is not stored"):
            AllowMask.from_ids(index, [0, unknown])
    assert AllowMask.from_ids(guarded, [10, 40, 10**9, 2**63 - 1]).bits.count == 1


@LINUX
def test_repeated_masks_leak_nothing() -> None:  # case A6
    """Resident memory stays flat over 2,000 calls. Seen red: the bits of every mask used kept in a list."""
    grown = run(
        """
        import os
        import numpy as np
        from evidex import AllowMask, DenseIndex
        index = DenseIndex(4, metric="l2")
        index.add(None, np.ones((100_000, 4), np.float32))
        query, allow = np.zeros(4, np.float32), np.ones(100_000, bool)
        def resident(rounds):
            for _ in range(rounds):
                index.search(query, 5, allow=~allow)
                index.search(query, 5, allow=AllowMask.from_bools(index, allow))
            return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        before = resident(100)
        print(resident(2000) - before)
        """
    )
    assert int(grown) < 5e6  # a leaked mask a round would be 25 MB


MALFORMED: list[Any] = [
    lambda i: True,
    True,
    "all",
    {"ids": [1]},
    {1, 2},
    [0, 1],
    [[True]],
    [None, None, None],
    np.ones(3),
    np.ones(3, np.int8),
    np.ones(4, bool),
    np.ones((1, 3), np.uint8),
    np.ones((2, 3), bool),
    np.ones(3, object),
    np.array([True, True, True], object),
    np.ones(3, "m8[s]"),
    AllowMask,
    object(),
    [line(3)],
]


@pytest.mark.parametrize("number", range(len(MALFORMED)))
@pytest.mark.parametrize("name", ["search", "radius", "explain", "neighbours"])
def test_malformed_filters_admit_nothing(name: str, number: int) -> None:  # case A13
    """Each raises. Seen red: what is no AllowMask and no row of bools taken for no filter."""
    index = line(3)
    calls: dict[str, Callable[[Any], object]] = {
        "search": lambda allow: index.search(ORIGIN, 3, allow=allow),
        "radius": lambda allow: index.radius(ORIGIN, -1e9, allow=allow),
        "explain": lambda allow: index.explain(ORIGIN, 3, allow=allow),
        "neighbours": lambda allow: index.neighbours([1], 3, allow=allow),
    }
    with pytest.raises(EvidexError, match="allow"):
        calls[name](MALFORMED[number])


def test_no_filter_admits_more_than_it_has(path: tuple[Any, Make]) -> None:  # case A13
    """Seen red: a mask left out where it meets what may be read."""
    options, make = path
    rng = np.random.default_rng(7)
    for n in (1, 63, 64, 65, 300):
        index = line(n)
        for size in {0, 1, n // 2, n}:
            allowed = set(rng.choice(n, size, replace=False).tolist())
            allow = make(index, sorted(allowed))
            for hits in (
                index.search(ORIGIN, n + 5, allow=allow, **options),
                index.radius(ORIGIN, -1e12, allow=allow, **options),
                index.neighbours([0], n + 5, allow=allow, **options),
            ):
                assert hits.counts.tolist() == [size]
                assert set(hits[0].ids.tolist()) == allowed


def counted(monkeypatch: pytest.MonkeyPatch, *places: tuple[Any, str]) -> Counter[str]:
    """How often each of these functions is called from now on."""
    calls: Counter[str] = Counter()
    for owner, name in places:
        inside = getattr(owner, name)

        def stand_in(*given: Any, inside: Any = inside, name: str = name) -> Any:
            calls[name] += 1
            return inside(*given)

        monkeypatch.setattr(owner, name, staticmethod(stand_in) if isinstance(owner, type) else stand_in)
    return calls


def test_a_million_rows_and_half_a_million_ids(monkeypatch: pytest.MonkeyPatch) -> None:  # case A15
    """An id list, unordered and with repeats, is the bitmap, and a mask that was made is converted no more.
    Seen red: a mask that makes its bits again for each search."""
    n, rng = 1_000_000, np.random.default_rng(2)
    index = DenseIndex(1, metric="ip")
    index.add(None, rng.random((n, 1), dtype=np.float32))
    once = rng.permutation(n)[:500_000]
    ids = rng.permutation(np.concatenate([once, once[:1000]]))
    bools = np.zeros(n, bool)
    bools[ids] = True
    calls = counted(
        monkeypatch,
        *((_core.Bitmask, name) for name in ("from_rows", "from_packed")),
        *((_arrays, name) for name in ("ids", "packed_bools", "bool_bytes")),
    )
    mask = AllowMask.from_ids(index, ids)
    assert (mask.bits.count, calls) == (500_000, {"ids": 1, "from_rows": 1})
    queries = np.array([[1.0], [-1.0]])
    wanted = index.search(queries, 1000, allow=bools)
    assert calls == {"ids": 1, "from_rows": 1, "packed_bools": 1, "from_packed": 1}
    for allow in (mask, mask, [mask, mask]):
        hits = index.search(queries, 1000, allow=allow)
        assert hits.ids.tobytes() == wanted.ids.tobytes() and hits.scores.tobytes() == wanted.scores.tobytes()
        assert index.explain(queries[0], allow=mask).permitted == 500_000
    assert calls == {"ids": 1, "from_rows": 1, "packed_bools": 1, "from_packed": 1}
