# SPDX-License-Identifier: Apache-2.0
"""The fixture behind "on every path": each instruction set, one and two threads, each way to make a mask."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from paths import Make, as_bools, as_ids, as_mask
from strategies import ISAS, forced_isa


@pytest.fixture(params=list(itertools.product(ISAS, (1, 2), (as_bools, as_ids, as_mask))), ids=str)
def path(request: pytest.FixtureRequest) -> Iterator[tuple[Any, Make]]:
    isa, threads, make = request.param
    with forced_isa(isa):
        yield {"threads": threads}, make
