# SPDX-License-Identifier: Apache-2.0
"""The page in a browser: what it says to the console, what it asks of the network, what is drawn."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest

import report_examples as examples
from evidex.cli import main

CHROMIUM = next((found for name in ("chromium", "chromium-browser") if (found := shutil.which(name))), None)
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH (Debian has it in the package chromium)"),
    pytest.mark.skipif(find_spec("plotly") is None, reason="plotly is not installed (extras test and bench have it)"),
]
PATIENCE = 180  # seconds; a page takes about 5
# A browser of its own: none of what it does in the background, nothing kept, no address resolved.
QUIET = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"),
    *("--no-first-run", "--no-default-browser-check", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--disable-extensions", "--disable-default-apps", "--disable-domain-reliability"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--v=0", "--virtual-time-budget=20000"),
)


class Seen:
    """What a page did: console lines, addresses asked for, and the document in the end."""

    def __init__(self, page: Path, folder: Path) -> None:
        log, profile = folder / "net.json", folder / "profile"
        done = subprocess.run(
            [
                *(str(CHROMIUM), *QUIET, f"--user-data-dir={profile}", f"--log-net-log={log}"),
                *("--net-log-capture-mode=Everything", "--window-size=1400,1000", "--dump-dom", page.as_uri()),
            ],
            capture_output=True,
            timeout=PATIENCE,
            env={**os.environ, "HOME": str(folder)},
            check=False,
        )
        errors = done.stderr.decode(errors="replace")
        assert done.returncode == 0, errors
        self.console = re.findall(r":CONSOLE[^\]]*\] (.*)", errors)
        self.document = done.stdout.decode()
        self.asked = set(_asked(log))


def _asked(log: Path) -> Iterator[str]:
    """Addresses of requests that a document began; the browser's own are of no origin, and find no host."""
    for event in json.loads(log.read_text(encoding="utf-8"))["events"]:
        given = event.get("params", {})
        if given.get("initiator", "not an origin") != "not an origin":
            yield given["url"]


class Plots(HTMLParser):
    """By name of its figure, how many marks each plot of a document has: points, bars and lines."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.marks: dict[str, int] = {}
        self._inside: list[str] = []
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "div":
            name = given.get("data-figure")
            self._inside.append(name or (self._inside[-1] if self._inside else ""))
            if name:
                self.marks[name] = 0
        kinds = (given.get("class") or "").split()
        if tag in ("path", "g") and self._inside and self._inside[-1] and {"point", "js-line"} & set(kinds):
            self.marks[self._inside[-1]] += 1

    def handle_endtag(self, tag: str) -> None:
        if tag == "div":
            self._inside.pop()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page of a run, and that of a run full of markup."""
    folder = tmp_path_factory.mktemp("pages")
    run = examples.run()
    examples.write(folder / "r.jsonl", run)
    lines = [json.dumps(examples.spoilt(one, examples.HOSTILE)) for one in run]
    (folder / "hostile.jsonl").write_text("\n".join(lines), encoding="utf-8")
    for name in ("r", "hostile"):
        assert main(["report", str(folder / f"{name}.jsonl"), "-o", str(folder / f"{name}.html")]) == 0
    return folder


@pytest.mark.parametrize("name", ["r", "hostile"])
def test_it_draws_every_plot_in_silence(pages: Path, tmp_path: Path, name: str) -> None:
    """Seen red: with a policy that lacks the digest of the page's script, with a script that throws, with bars without
    data, and with the buttons that plotly chooses.
    """
    seen = Seen(pages / f"{name}.html", tmp_path)
    assert seen.console == []
    assert seen.asked == set()
    marks = Plots(seen.document).marks
    assert set(marks) == {"g0-s*-p50_ms", "g0-s*-queries_per_s", "g0-m0-recall", "g0-m0-queries_per_s",
                          "g0-m1-recall", "g0-m1-queries_per_s", "g0-b-seconds", "g0-b-bytes_per_row"}  # fmt: skip
    assert marks["g0-s*-p50_ms"] > 28
    assert min(marks.values()) >= 9
    assert seen.document.count(">Copy table</button>") > 20
    buttons = {"Download plot as a PNG", "Zoom", "Pan", "Zoom in", "Zoom out", "Reset axes"}
    assert set(re.findall(r'data-title="([^"]*)"', seen.document)) == buttons  # none that sends the data anywhere


def test_the_choices_change_what_is_drawn(pages: Path, tmp_path: Path) -> None:
    """The controls as the page has them when it opens, set otherwise."""
    source = (pages / "r.html").read_text(encoding="utf-8")
    for old, new in (
        ('value="linear" checked', 'value="linear"'),
        ('value="missed"', 'value="missed" checked'),
        ('<option value="8">', '<option value="8" selected>'),
    ):
        assert source.count(old) == 1
        source = source.replace(old, new)
    (tmp_path / "other.html").write_text(source, encoding="utf-8")
    first, second = Seen(pages / "r.html", tmp_path), Seen(tmp_path / "other.html", tmp_path)
    assert second.console == [] and second.asked == set()
    assert "scale: logarithm of 1 - recall" in second.document.split("<main>")[1].split("application/json")[0]
    assert "scale: logarithm of 1 - recall" not in first.document.split("<main>")[1].split("application/json")[0]
    marks = [Plots(seen.document).marks["g0-s*-p50_ms"] for seen in (first, second)]
    assert 0 < marks[1] < marks[0]  # scann takes no masks


def test_what_a_page_must_not_do_is_noticed(tmp_path: Path) -> None:
    """The test itself: errors, and requests, of a page that has both."""
    bad = "<img src='http://127.0.0.1:9/x.png'><script>console.error('told'); throw new Error('thrown')</script>"
    (tmp_path / "bad.html").write_text(bad, encoding="utf-8")
    seen = Seen(tmp_path / "bad.html", tmp_path)
    assert any("told" in line for line in seen.console) and any("thrown" in line for line in seen.console)
    assert "http://127.0.0.1:9/x.png" in seen.asked
