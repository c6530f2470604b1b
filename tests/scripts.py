# SPDX-License-Identifier: Apache-2.0
"""Runs scripts in fresh interpreters, for what cannot be seen from inside a running one."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
HANG = 60  # seconds; every script below needs about one


def run(script: str, **environment: str) -> str:
    """Output of a script in a fresh interpreter; fails on a non-zero exit or a hang."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=HANG,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
