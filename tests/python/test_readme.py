# SPDX-License-Identifier: Apache-2.0
"""The README's examples run and print what it says they print (case E3)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_example(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    promised = [
        line.split("  # ")[1] for line in block.splitlines() if line.lstrip().startswith("print(") and "  # " in line
    ]
    assert promised
    exec(compile(block, "README.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == promised
