# SPDX-License-Identifier: Apache-2.0
"""The page as a text, with a stand-in for plotly: what is in it, and that records cannot put anything else there."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import report_examples as examples
from evidex import InvalidInput
from evidex.bench import groups, page, results, tables
from evidex.bench.markdown import markdown
from evidex.bench.records import Record

RUN = examples.run()
VOID = {"meta", "input"}


class Elements(HTMLParser):
    """Tags with the names of their attributes, in order; text by the element it stands in. Fails on a wrong nesting."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self._begins = True
        self.feed(source)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.attributes += [(tag, name, value) for name, value in attrs]
        self._begins = True
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag
        self._begins = True

    def handle_data(self, data: str) -> None:
        if self._begins:
            self.texts.append((self._open[-1] if self._open else "", data))
        else:
            where, text = self.texts.pop()
            self.texts.append((where, text + data))
        self._begins = False

    def of(self, tag: str) -> list[str]:
        return [text for where, text in self.texts if where == tag]

    def values(self, name: str) -> list[str | None]:
        return [value for _, attribute, value in self.attributes if attribute == name]


@pytest.fixture(autouse=True)
def _no_plotly(monkeypatch: pytest.MonkeyPatch) -> None:
    examples.without_plotly(monkeypatch)


def read(path: Path, records: list[Any], *broken: str) -> results.Results:
    lines = [json.dumps(one.to_dict() if isinstance(one, Record) else one) for one in records]
    path.write_text("\n".join([*lines, *broken]), encoding="utf-8")
    return results.read([path])


def made(found: results.Results, older: int = 0, target: float = 0.95) -> str:
    return page.page(groups.group(found.records), found, older, target)


def test_the_same_records_give_the_same_bytes(tmp_path: Path) -> None:
    found = read(tmp_path / "r.jsonl", RUN, "broken")
    assert made(found) == made(results.read([tmp_path / "r.jsonl"]))


def test_everything_is_in_the_page(tmp_path: Path) -> None:
    elements = Elements(made(read(tmp_path / "r.jsonl", RUN, "broken"), older=3))
    text = " ".join(data for where, data in elements.texts if where not in ("script", "style"))
    for what in ("sentences", "2026-03-01T10:00:00Z", "Example Processor 3000", "100000 x 384", "0123456789abcdef",
                 "cosine, k=10, batch 1, 1 thread", "reads GB/s", "11.50", "m: 16, 32; ef_search: 20, 40, 80, 160, 320",
                 "scann takes no masks", "ended with code 3 at 'build'\nlast words", "0 to 499", "500 to 999",
                 "3 older records were left out", "1 broken line was", "r.jsonl:240", "no JSON: Expecting value",
                 "random mask of 0.001: 100 of 100000 rows", "calls itself", "hnswlib index", "threads=1",
                 "All figures come from one machine", "Plots need JavaScript"):  # fmt: skip
        assert what in text, what
    (group,) = groups.group(RUN)
    cells = elements.of("td") + elements.of("th")
    for scope in group.scopes:
        for row in (*tables.points(group, scope).rows, *tables.others(group, scope).rows):
            assert set(row) <= set(cells)


def test_every_plot_has_its_figure(tmp_path: Path) -> None:
    """Two of recall and two of building, and two for each kind of mask; the first have a figure for each setting."""
    elements = Elements(made(read(tmp_path / "r.jsonl", RUN)))
    drawn = json.loads(elements.of("script")[0])
    asked = [str(name) for name in elements.values("data-figure")]
    assert len(asked) == 2 + 2 * 2 + 2
    wanted = [one.replace("*", str(at)) for one in asked for at in (range(9) if "*" in one else (0,))]
    assert sorted(wanted) == sorted(drawn)
    assert elements.values("data-controls") == ["g0-controls", "g0-controls"]
    assert "g0-controls" in elements.values("id")
    options = [value for tag, name, value in elements.attributes if (tag, name) == ("option", "value")]
    assert options == [str(at) for at in range(9)]


def test_groups_stand_apart(tmp_path: Path) -> None:
    other = [json.loads(json.dumps(one.to_dict()).replace('"batch": 1,', '"batch": 8,')) for one in RUN[:12]]
    elements = Elements(made(read(tmp_path / "r.jsonl", [*RUN, *other])))
    assert elements.tags.count(("section", ("id",))) == 2
    assert elements.values("href") == ["#g0", "#g1"]
    ids = elements.values("id")
    assert len(ids) == len(set(ids))


def test_records_cannot_add_anything_to_the_page(tmp_path: Path) -> None:
    """The page of records full of markup has the elements of the page of harmless ones, and shows the markup as text.

    Seen red: with cells, with captions or with options not escaped, each alone.
    """
    harmless = Elements(
        made(read(tmp_path / "a", [examples.spoilt(one, "x" * len(examples.HOSTILE)) for one in RUN], "{"))
    )
    source = made(read(tmp_path / "b", [examples.spoilt(one, examples.HOSTILE) for one in RUN], examples.HOSTILE))
    hostile = Elements(source)
    assert hostile.tags == harmless.tags
    shown = [text for where, text in hostile.texts if where not in ("script", "style")]
    assert sum(examples.HOSTILE in text for text in shown) > 100
    assert source.count("<script>") == 2
    assert json.loads(hostile.of("script")[0]).keys() == json.loads(harmless.of("script")[0]).keys()


def test_json_cannot_end_the_element_it_stands_in() -> None:
    """Labels in it are escaped once more, for plotly; this holds whatever they are.

    Seen red: with plain JSON.
    """
    text = page._json({"a": "</script><!--<script>&\u2028"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"a": "</script><!--<script>&\u2028"}


def test_nothing_is_fetched_and_only_its_own_scripts_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy lists the digests of both scripts as the parser sees them, whatever ends of lines plotly has.

    Seen red: with the digest of what plotly gave.
    """
    examples.without_plotly(monkeypatch, "var Plotly = {};\r\nvar end = '</script>';\r")
    elements = Elements(made(read(tmp_path / "r.jsonl", RUN)))
    policy = next(str(value) for value in elements.values("content") if value and value.startswith("default-src"))
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert parts["default-src"] == "'none'"
    assert (parts["style-src"], parts["img-src"]) == ("'unsafe-inline'", "data: blob:")
    _, *scripts = elements.of("script")
    assert scripts[0] == "var Plotly = {};\nvar end = '<\\/script>';\n"
    digests = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts]
    assert parts["script-src"].split() == [f"'sha256-{digest}'" for digest in digests]
    names = {name for _, name, _ in elements.attributes}
    assert not names & {"src", "srcset", "style", "action", "formaction"} and not any(
        name[:2] == "on" for name in names
    )
    assert not {tag for tag, _ in elements.tags} & {"link", "img", "iframe", "object", "embed", "base", "form"}
    assert not re.search(r"url\(|@import", "".join(elements.of("style")))


def test_tables_are_marked_up_as_such(tmp_path: Path) -> None:
    """Seen red: with rows that start with a plain cell."""
    elements = Elements(made(read(tmp_path / "r.jsonl", RUN)))
    count = elements.tags.count(("table", ()))
    assert count > 20
    for tag in ("caption", "thead", "tbody"):
        assert elements.tags.count((tag, ())) == count
    (group,) = groups.group(RUN)
    rows = sum(value == "row" for value in elements.values("scope"))
    assert rows >= sum(len(tables.points(group, scope).rows) for scope in group.scopes)
    assert ("html", ("lang",)) in elements.tags
    labelled = [names for tag, names in elements.tags if tag == "div" and "data-figure" in names]
    assert labelled and all({"role", "aria-label"} <= set(names) for names in labelled)


def test_folders_of_files_are_not_published(tmp_path: Path) -> None:
    source = made(read(tmp_path / "r.jsonl", RUN, "broken"))
    assert "r.jsonl" in source and str(tmp_path) not in source


def test_many_broken_lines_are_counted(tmp_path: Path) -> None:
    source = made(read(tmp_path / "r.jsonl", RUN[:1], *["{"] * (results.MOST_TOLD + 7)))
    assert f"{results.MOST_TOLD + 7} broken lines were" in source and "And 7 more." in source


def test_without_plotly_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples.without_plotly(monkeypatch, None)
    with pytest.raises(InvalidInput, match=r"plots need plotly, which is not installed .* pip install evidex\[bench\]"):
        made(read(tmp_path / "r.jsonl", RUN[:1]))


def test_markdown_has_the_tables_of_the_page(tmp_path: Path) -> None:
    text = markdown(groups.group(RUN), 0.95)
    assert text == markdown(groups.group(RUN), 0.95)
    assert text.startswith("## sentences: 100000 x 384, cosine, k=10, batch 1, 1 thread\n")
    assert text.count("\n### Figures, ") == 9
    (group,) = groups.group(RUN)
    row = tables.points(group, group.scopes[0]).rows[0]
    assert f"| {' | '.join(row)} |" in text
    for heading in ("At recall of at least 0.95", "Building", "Systems", "Failed or left out", "Machine"):
        assert f"\n### {heading}\n" in text


def test_records_cannot_break_out_of_a_markdown_table(tmp_path: Path) -> None:
    """Every row of a table has the cells of its header, and no character of markup is left unescaped.

    Seen red: with bars, or with newlines, let through.
    """
    text = "a|b\n\n# c <img src=x> [l](u) *s* `q` ~x~ $y$ _z_ \\"
    found = read(tmp_path / "r.jsonl", [examples.spoilt(one, text) for one in RUN])
    source = markdown(groups.group(found.records), 0.95)
    bars = re.compile(r"(?<!\\)(?:\\\\)*\|")
    width = 0
    for line in source.split("\n"):
        if not line.startswith("|"):
            width = 0
            assert not line or re.match(r"#{2,3} |- ", line), line
            continue
        width = width or len(bars.findall(line))
        assert len(bars.findall(line)) == width, line
    plain = re.sub(r"\\.", "", re.sub(r"^#+ ", "", source, flags=re.M))
    assert not re.search(r"[<>`*$~\[\]#]", plain)
