# SPDX-License-Identifier: Apache-2.0
"""Fixtures: an open and a guarded index, and "on every path" (instruction sets, threads, ways to make a mask)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

import reference
from evidex import ANY_IN_TENANT, DenseIndex, Policy
from examples import EYE, Make, as_bools, as_ids, as_mask
from strategies import ISAS, forced_isa


@pytest.fixture(params=list(itertools.product(ISAS, (1, 2), (as_bools, as_ids, as_mask))), ids=str)
def path(request: pytest.FixtureRequest) -> Iterator[tuple[Any, Make]]:
    isa, threads, make = request.param
    with forced_isa(isa):
        yield {"threads": threads}, make


@pytest.fixture(params=reference.CODECS)
def codec(request: pytest.FixtureRequest) -> str:
    """How rows are stored."""
    return str(request.param)


@pytest.fixture
def index() -> DenseIndex:
    """Open: the unit vectors as 10, 20, 30."""
    index = DenseIndex(3)
    index.add([10, 20, 30], EYE)
    return index


@pytest.fixture
def guarded() -> DenseIndex:
    """The same, of which alice of acme in group a may read 10 and 20."""
    policy = Policy()
    index = DenseIndex(3, policy=policy)
    rules = [policy.rule("acme", {"a"}), policy.rule("acme", ANY_IN_TENANT), policy.rule("z", {"a"})]
    index.add([10, 20, 30], EYE, rules)
    return index
