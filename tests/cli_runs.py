# SPDX-License-Identifier: Apache-2.0
"""Running commands about collections in this process, and what they are run on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evidex.cli import main

SUPPORT = ("--tenant", "acme", "--allow", "support")
ALICE = ("--principal", "alice", "--tenant", "acme", "--group", "support")
MALLORY = ("--principal", "mallory", "--tenant", "acme", "--group", "interns")


class Shell:
    """Runs commands on one collection, ``kb`` in a folder of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys
        self.kb = folder / "kb"
        self.docs = folder / "docs"

    def run(self, *arguments: object, code: int = 0) -> tuple[str, str]:
        """Output and errors of a command that exits with ``code``."""
        self._capsys.readouterr()
        try:
            got = main([str(one) for one in arguments])
        except SystemExit as stopped:
            got = int(stopped.code or 0)
        out, err = self._capsys.readouterr()
        assert got == code, (got, out, err)
        assert "Traceback" not in err
        return out, err

    def json(self, *arguments: object, code: int = 0) -> dict[str, Any]:
        """The one JSON object that a command prints."""
        return dict(json.loads(self.run(*arguments, "--json", code=code)[0]))

    def ingest(self, source: object, *options: object, code: int = 0) -> dict[str, Any]:
        return self.json("ingest", source, self.kb, *options, code=code)

    def search(self, question: str, *options: object) -> list[str]:
        """Sources found, best first."""
        return [hit["source"] for hit in self.json("search", self.kb, question, *options)["hits"]]

    def write(self, **texts: str) -> Path:
        """Text files in a folder; ``__`` in a name stands for a slash."""
        for name, text in texts.items():
            path = self.docs / f"{name.replace('__', '/')}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return self.docs

    def lines(self, *documents: object, name: str = "docs.jsonl") -> Path:
        """JSON lines; bytes are written as they are."""
        path = self.folder / name
        path.write_bytes(b"\n".join(one if isinstance(one, bytes) else json.dumps(one).encode() for one in documents))
        return path
