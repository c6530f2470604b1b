# SPDX-License-Identifier: Apache-2.0
"""P11: Ctrl-C, signal handlers and fork (case C9)."""

from __future__ import annotations

import signal

import pytest

from scripts import LINUX, run


@pytest.mark.parametrize("prescan", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_interrupting_a_search_leaves_a_usable_index(threads: int, prescan: bool) -> None:  # case C9
    """Seen red: stop_on_signal() replaced by a Stop that never asks."""
    out = run(
        f"""
        import os, signal, threading, time
        import numpy as np, evidex
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job's parent may ignore it
        rng = np.random.default_rng(0)
        index = evidex.DenseIndex(256, metric="ip", prescan={prescan})
        index.add(None, rng.standard_normal((100000, 256), np.float32))
        queries = rng.standard_normal((20000, 256), np.float32)
        assert index.explain(queries[0], 1).plan == "exact " + ("pre-scan" if {prescan} else "scan")
        assert not index.explain(queries[0], 1).operator["abandoned"]
        sent = []
        def interrupt():
            time.sleep(0.3)
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt).start()
        try:
            index.search(queries, 1, threads={threads})
            print("finished")
        except KeyboardInterrupt:
            waited = time.monotonic() - sent[0]
            print("interrupted", waited < 5, index.search(queries[0], 1).counts[0])
        """
    )
    assert out == "interrupted True 1"


def test_interrupting_an_add_changes_nothing() -> None:  # case C9
    out = run(
        """
        import os, signal, threading, time
        import numpy as np, evidex
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job's parent may ignore it
        index = evidex.DenseIndex(1024)
        index.add([1], np.ones((1, 1024)))
        rows = np.random.default_rng(0).standard_normal((50000, 1024), dtype=np.float32)
        def interrupt():
            time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGINT)
        try:
            threading.Thread(target=interrupt).start()
            index.add(np.arange(10, 50010), rows)
            print("finished")
        except KeyboardInterrupt:
            print("interrupted", len(index), index.add(np.arange(10, 20), rows[:10]).tolist()[0], len(index))
        """
    )
    assert out == "interrupted 1 10 11"


def test_writing_from_a_signal_handler_is_an_error_not_a_deadlock() -> None:
    """Seen red (a hang): a plain mutex around writes."""
    out = run(
        """
        import os, signal, threading, time
        import numpy as np, evidex
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job's parent may ignore it
        index = evidex.DenseIndex(1024)
        rows = np.random.default_rng(0).standard_normal((50000, 1024), dtype=np.float32)
        signal.signal(signal.SIGUSR1, lambda *_: index.add(None, rows[:1]))
        def interrupt():
            time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGUSR1)
        threading.Thread(target=interrupt).start()
        try:
            index.add(None, rows)
            print("finished")
        except evidex.InvalidInput as error:
            print(len(index), index.add(None, rows[:2]).tolist(), error)
        """
    )
    assert out.startswith("0 [0, 1] a write to this index is running on this thread already")


@LINUX
@pytest.mark.parametrize("prescan", [False, True])
def test_a_forked_child_searches_on_its_own_pool(prescan: bool) -> None:
    """Seen red: the pool found by a plain static, whose threads do not exist in the child."""
    out = run(
        f"""
        import os, warnings
        import numpy as np, evidex
        from evidex import _core
        warnings.simplefilter("ignore", DeprecationWarning)
        rng = np.random.default_rng(0)
        index = evidex.DenseIndex(512, metric="ip", prescan={prescan})
        index.add(None, rng.standard_normal((20000, 512), dtype=np.float32))
        queries = rng.standard_normal((4, 512), dtype=np.float32)
        def answer():
            return index.search(queries, 5, threads=3).ids.tobytes().hex()
        mine = answer()
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            theirs = answer()
            facts = theirs, _core._testing.pool_threads(), len(os.listdir("/proc/self/task"))
            os.write(write, " ".join(map(str, facts)).encode())
            os._exit(0)
        os.waitpid(child, 0)
        theirs, pool, threads = os.read(read, 10000).decode().split()
        print(theirs == mine == answer(), pool, threads)
        """
    )
    assert out == "True 2 3"


def test_signals_reach_the_application() -> None:
    """Pool workers must not swallow signals meant for the main thread."""
    out = run(
        """
        import signal, os, time
        import numpy as np, evidex
        index = evidex.DenseIndex(512, metric="ip")
        index.add(None, np.ones((20000, 512), np.float32))
        index.search(np.ones((4, 512), np.float32), threads=4)
        got = []
        signal.signal(signal.SIGUSR1, lambda *_: got.append(1))
        for _ in range(20):
            os.kill(os.getpid(), signal.SIGUSR1)
            time.sleep(0.001)
        print(len(got))
        """
    )
    assert out == "20"
    assert signal.getsignal(signal.SIGINT) is not None
