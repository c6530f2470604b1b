# SPDX-License-Identifier: Apache-2.0
"""P11, a quiet guest: threads, GIL, signals, fork, instruction sets (cases A16, C5, C7, C8, C9)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from evidex import DenseIndex, _core
from scripts import LINUX, run
from strategies import ISAS

COUNT_THREADS = """
    import os
    def threads():
        return len(os.listdir("/proc/self/task"))
"""


@LINUX
def test_no_thread_before_it_is_asked_for() -> None:  # case C8
    """Seen red: a pool created by a static initialiser. OpenBLAS, which numpy starts, is told to stay single."""
    out = run(
        COUNT_THREADS
        + """
    import numpy as np
    before = threads()
    import evidex
    index = evidex.DenseIndex(512, metric="ip")
    index.add(None, np.ones((20000, 512), np.float32))
    after_import = threads()
    index.search(np.ones((4, 512), np.float32), threads=1)
    single = threads()
    index.search(np.ones((4, 512), np.float32), threads=4)
    print(after_import - before, single - before, threads() - before)
    """,
        OPENBLAS_NUM_THREADS="1",
    )
    assert out == "0 0 3"


@LINUX
def test_idle_workers_burn_nothing() -> None:  # case C8
    index = DenseIndex(512, metric="ip")
    index.add(None, np.ones((20000, 512), np.float32))
    index.search(np.ones((4, 512), np.float32), threads=4)
    before = time.process_time()
    time.sleep(1)
    assert time.process_time() - before < 0.2


def test_quota_limits_the_default(tmp_path: Path) -> None:  # case C8
    membership = tmp_path / "cgroup"
    membership.write_text("0::/box/inner\n")
    inner = tmp_path / "fs" / "box" / "inner"
    inner.mkdir(parents=True)
    (inner / "cpu.max").write_text("150000 100000\n")
    limit = _core._testing.cgroup_limit
    assert limit(str(membership), str(tmp_path / "fs")) == 2
    (inner.parent / "cpu.max").write_text("50000 100000\n")
    assert limit(str(membership), str(tmp_path / "fs")) == 1
    (inner.parent / "cpu.max").write_text("max 100000\n")
    (inner / "cpu.max").write_text("max 100000\n")
    assert limit(str(membership), str(tmp_path / "fs")) == 0
    assert limit(str(tmp_path / "absent"), str(tmp_path)) == 0
    assert 1 <= _core.default_threads() <= (os.cpu_count() or 1)


def test_other_threads_run_during_a_search() -> None:  # case C9
    """Seen red: gil_scoped_release taken out of the search binding."""
    index = DenseIndex(256, metric="ip")
    index.add(None, np.ones((40000, 256), np.float32))
    queries = np.ones((1500, 256), np.float32)
    ticks = 0
    stop = threading.Event()

    def count() -> None:
        nonlocal ticks
        while not stop.wait(0.005):
            ticks += 1

    counter = threading.Thread(target=count)
    counter.start()
    began = time.monotonic()
    index.search(queries, 1, threads=1)
    lasted = time.monotonic() - began
    stop.set()
    counter.join()
    assert lasted > 0.1, "the search must last long enough to show anything"
    assert ticks >= 0.2 * lasted / 0.005


@pytest.mark.parametrize("rows", [500, 2500])
def test_each_instruction_set_can_be_chosen(rows: int) -> None:  # case C7
    """With the larger number the codes are read first."""
    script = f"""
        import numpy as np, evidex
        from evidex import _core
        index = evidex.DenseIndex(77)
        index.add(None, np.random.default_rng(0).standard_normal(({rows}, 77)))
        print(_core.active_isa(), index.search(np.ones(77), 20).scores.tobytes().hex())
    """
    answers = dict(run(script, EVIDEX_ISA=isa).split() for isa in ISAS)
    assert set(answers) == set(ISAS)
    assert len(set(answers.values())) == 1


@pytest.mark.long
@pytest.mark.skipif(shutil.which("qemu-x86_64") is None, reason="needs qemu-user to play older processors")
@pytest.mark.parametrize(("cpu", "isa"), [("Nehalem", "scalar"), ("Haswell", "avx2")])
def test_older_processors_run_what_they_can(cpu: str, isa: str) -> None:  # cases C7, E6
    script = """
        import numpy as np, evidex
        from evidex import _core
        index = evidex.DenseIndex(77)
        index.add(None, np.random.default_rng(0).standard_normal((300, 77)))
        print(_core.active_isa(), index.search(np.ones(77), 20).scores.tobytes().hex())
    """
    # A virtual environment's interpreter may be a link that the emulator does not follow.
    command = ["qemu-x86_64", "-cpu", cpu, os.path.realpath(sys.executable), "-c", textwrap.dedent(script)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "EVIDEX_ISA": ""}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=True)
    assert done.stdout.split() == [isa, run(script).split()[1]]


@pytest.mark.parametrize("name", ["avx10", "AVX2", "nonsense"])
def test_an_unknown_instruction_set_is_refused(name: str) -> None:  # case C7
    out = run(
        """
        import evidex
        index = evidex.DenseIndex(2)
        try:
            index.add([1], [[1.0, 0.0]])
        except evidex.InvalidInput as error:
            print(len(index), error)
        """,
        EVIDEX_ISA=name,
    )
    assert out.startswith(f"0 EVIDEX_ISA: unknown instruction set '{name}'; this build knows")


@pytest.mark.parametrize(("rows", "dim", "steps"), [(50, 16, 150), (1100, 32, 60)])
def test_a_search_beside_a_writer_sees_whole_states(rows: int, dim: int, steps: int) -> None:  # case D5
    """Each batch has one value, so a hit list that mixes an unfinished batch would show. Two of the larger batches
    are enough rows for codes, which come and are read while the writer goes on."""
    index = DenseIndex(dim, metric="ip")
    index.add(np.arange(rows), np.full((rows, dim), 1.0))
    failures: list[str] = []
    stop = threading.Event()

    def read(near: bool) -> None:
        while not stop.is_set():
            query = np.ones(dim)
            hits = index.radius(query, -1e30, threads=2) if near else index.search(query, 10_000, threads=2)
            count = int(hits.counts[0])
            values, counts = np.unique(hits.scores[0, :count], return_counts=True)
            if count % rows or (counts % rows).any() or len(values) not in (1, 2):
                failures.append(f"{count} hits, values {values}")

    readers = [threading.Thread(target=read, args=(near,)) for near in (False, True, True)]
    for reader in readers:
        reader.start()
    for step in range(1, steps):
        batch, other = np.arange(rows) + rows * (step % 2), np.arange(rows) + rows * ((step + 1) % 2)
        if step >= 2:
            index.upsert(batch, np.full((rows, dim), float(step)))
            if step % 7 == 0:
                index.remove(other)
            index.upsert(other, np.full((rows, dim), float(step)))
        else:
            index.add(batch, np.full((rows, dim), 1.0))
    stop.set()
    for reader in readers:
        reader.join()
    assert not failures, failures[:3]
    assert index.explain(np.ones(dim), 1).plan == ("exact pre-scan" if rows > 1000 else "exact scan")
