# SPDX-License-Identifier: Apache-2.0
"""benchmarks/ann_benchmarks, driven as the runner of ann-benchmarks does, which is not installed.

Its interface: ``ann_benchmarks/runner.py``, ``definitions.py`` and ``algorithms/base/module.py`` of
https://github.com/erikbern/ann-benchmarks.
"""

from __future__ import annotations

import importlib
import json
import re
import shutil
import sys
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from evidex import DenseIndex
from evidex.bench import worker

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "ann_benchmarks"
RNG = np.random.default_rng(0)
TRAIN = RNG.standard_normal((300, 12)).astype(np.float32)
TEST = RNG.standard_normal((9, 12)).astype(np.float32)


class Base:
    """What a module may expect of the class it extends."""

    def done(self) -> None: ...

    def get_memory_usage(self) -> float | None:
        return 17.0

    def get_additional(self) -> dict[str, Any]:
        return {}


@pytest.fixture
def constructor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class that config.yml names, imported from where it tells people to copy it."""
    shutil.copytree(FOLDER, tmp_path / "evidex")
    for name in ("ann_benchmarks", "ann_benchmarks.algorithms", "ann_benchmarks.algorithms.base"):
        package = ModuleType(name)
        package.__path__ = [str(tmp_path)]
        monkeypatch.setitem(sys.modules, name, package)
    base = ModuleType("ann_benchmarks.algorithms.base.module")
    base.BaseANN = Base  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, base.__name__, base)
    monkeypatch.delitem(sys.modules, "ann_benchmarks.algorithms.evidex", raising=False)
    monkeypatch.delitem(sys.modules, "ann_benchmarks.algorithms.evidex.module", raising=False)
    module = importlib.import_module(f"{configured('module')}.module")
    return getattr(module, configured("constructor"))


def configured(name: str) -> str:
    found = re.search(rf"^ +(?:- )?{name}: (\S+)$", (FOLDER / "config.yml").read_text(encoding="utf-8"), flags=re.M)
    assert found, name
    return found[1]


def groups() -> list[tuple[list[Any], list[Any]]]:
    """Arguments and query arguments of every run group, expanded as ann-benchmarks does for lists."""
    text = (FOLDER / "config.yml").read_text(encoding="utf-8")
    found = re.findall(r"^ +args: (\[.*\])\n +query_args: (\[.*\])$", text, flags=re.M)
    return [
        (list(arguments), [list(one) for one in product(*json.loads(asked))] if json.loads(asked) else [])
        for written, asked in found
        for arguments in product(*json.loads(written))
    ]


def drive(algo: Any, queried: list[Any], count: int, *, batch: bool) -> list[list[int]]:
    """Builds and asks; every answer becomes int, and no answer is longer than count."""
    before = algo.get_memory_usage()
    algo.fit(TRAIN.copy())
    assert isinstance(algo.get_memory_usage() - before, float)
    answers: list[list[int]] = []
    for arguments in queried or [[]]:
        if arguments:
            algo.set_query_arguments(*arguments)
        if batch:
            algo.batch_query(TEST.copy(), count)
            results = algo.get_batch_results()
        else:
            results = [algo.query(query.copy(), count) for query in TEST]
        answers = [[int(index) for index in one] for one in results]
        assert str(algo)
    assert algo.get_additional() == {}
    algo.done()
    return answers


def test_the_groups_are_exact_and_codes() -> None:
    assert groups() == [([{}], []), ([{"codec": "int8"}], [])]
    assert (configured("name"), configured("docker_tag")) == ("evidex", "ann-benchmarks-evidex")


@pytest.mark.parametrize(("metric", "ours"), [("angular", "cosine"), ("euclidean", "l2"), ("ip", "ip")])
@pytest.mark.parametrize("batch", [False, True])
def test_it_answers_what_the_index_answers(constructor: Any, metric: str, ours: str, batch: bool) -> None:
    """Seen red: ids of rows in the order of scores ascending, and the metric of another name."""
    for arguments, queried in groups():
        right = DenseIndex(12, metric=ours, **arguments[0])
        right.add(np.arange(300), TRAIN)
        algo = constructor(metric, *arguments)
        assert drive(algo, queried, 7, batch=batch) == right.search(TEST, 7).ids.tolist()


def test_its_name_tells_the_parameters(constructor: Any) -> None:
    algo = constructor("angular", {"codec": "int8"})
    assert str(constructor("angular", {})) == "evidex(exact)"
    assert str(algo) == "evidex(codec=int8)"
    assert drive(algo, [[{"threads": 2}]], 3, batch=False)
    assert str(algo) == "evidex(codec=int8, threads=2)"


def test_fewer_rows_than_asked_for_are_not_padded(constructor: Any) -> None:
    """Seen red: -1 where an answer ends, which a runner takes for the last row."""
    algo = constructor("euclidean", {})
    for batch in (False, True):
        assert {len(answer) for answer in drive(algo, [], 400, batch=batch)} == {300}


def test_rows_without_a_direction_are_left_out(constructor: Any) -> None:
    algo = constructor("angular", {})
    rows = TRAIN.copy()
    rows[5] = 0
    algo.fit(rows)
    assert sorted(algo.query(TEST[0], 300).tolist()) == [row for row in range(300) if row != 5]


def test_memory_is_in_kilobytes(constructor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    algo = constructor("angular", {})
    module = sys.modules[type(algo).__module__]
    monkeypatch.setattr(module, "resident_bytes", lambda: 4096)
    assert algo.get_memory_usage() == 4.0
    monkeypatch.setattr(module, "resident_bytes", lambda: None)
    assert algo.get_memory_usage() == 17.0
    assert worker.resident_bytes() is None or worker.resident_bytes() > 2**20  # type: ignore[operator]


def test_another_metric_is_refused(constructor: Any) -> None:
    with pytest.raises(ValueError, match="metric: expected one of angular, euclidean, ip, got 'hamming'"):
        constructor("hamming", {})
