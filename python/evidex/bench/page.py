# SPDX-License-Identifier: Apache-2.0
"""A report as one HTML file that needs nothing else: tables that are read without JavaScript, plots by plotly inside.

Whatever comes from records is escaped, and only scripts whose digests the page's policy lists may run, so that markup
that got through could do nothing either. The same records give the same bytes, with the same version of plotly.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from .. import __version__
from ..errors import InvalidInput
from . import figures, report, tables
from .caveats import caveats
from .figures import Figure
from .groups import Group
from .results import Results
from .tables import Table

__all__ = ["page"]

_SHORT = 48  # characters


def page(groups: Sequence[Group], results: Results, older: int, target: float) -> str:
    """The document.

    Args:
        groups: Of records that may be compared, at least one.
        results: What was read, for the lines that were left out.
        older: Records left out because a later run has the same point.
        target: Recall at which systems are compared, above 0, at most 1.

    Raises:
        InvalidInput: If plotly is not installed.
    """
    drawn: dict[str, Figure] = {}
    sections = [_section(group, f"g{number}", target, drawn) for number, group in enumerate(groups)]
    scripts = [_plotly(), _asset("page.js")]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_text(_title(groups))}</title>",
            f"<style>\n{_asset('page.css')}</style>",
            "</head>",
            "<body>",
            *_head(groups, results, older),
            "<main>",
            *sections,
            "</main>",
            *_left_out(results),
            f'<script type="application/json" id="figures">{_json(drawn)}</script>',
            *(f"<script>{script}</script>" for script in scripts),
            "</body>",
            "</html>",
            "",
        ]
    )


def _policy(scripts: Sequence[str]) -> str:
    """Nothing from anywhere but these scripts, styles (plotly makes some) and the images that it exports."""
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _plotly() -> str:
    try:
        source = importlib.import_module("plotly.offline").get_plotlyjs()
    except ImportError as error:
        raise InvalidInput(
            f"out: plots need plotly, which is not installed or does not load ({error}): pip install evidex[bench], or "
            "ask for --markdown alone"
        ) from error
    return _script(source)


def _asset(name: str) -> str:
    return _script(files(__package__).joinpath(name).read_text(encoding="utf-8"))


def _script(source: str) -> str:
    """As a parser of HTML will hand it on: it ends lines its own way, and a script at its end tag."""
    return source.replace("\r\n", "\n").replace("\r", "\n").replace("</script", "<\\/script")


def _json(value: Any) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _text(text: str) -> str:
    return escape(tables.visible(text))


def _title(groups: Sequence[Group]) -> str:
    names = list(dict.fromkeys(group.first.data.name for group in groups))
    return f"evidex benchmark report: {', '.join(names[:3])}{' and more' if len(names) > 3 else ''}"


def _head(groups: Sequence[Group], results: Results, older: int) -> Iterator[str]:
    records = [record for group in groups for record in group.records]
    count = f"{len(records)} record{'s' * (len(records) != 1)}"
    yield f"<header><h1>{_text(_title(groups))}</h1>"
    yield f'<p class="soft">{count} from {_text(_names(results.files))}, read by evidex {__version__}. '
    yield f"Runs: {_text(tables.dates(records))}, UTC."
    if older:
        yield f"{older} older record{'s' * (older != 1)} {_were(older)} left out: a later run measured the point again."
    if results.broken:
        yield f"{results.broken} broken line{'s' * (results.broken != 1)} {_were(results.broken)} "
        yield '<a href="#left-out">left out</a>.'
    yield "</p>"
    if len(groups) > 1:
        yield "<p>What was measured on another machine or data, or asked otherwise, stands apart:</p><nav><ul>"
        yield from (f'<li><a href="#g{at}">{_text(tables.title(one))}</a></li>' for at, one in enumerate(groups))
        yield "</ul></nav>"
    yield "<noscript><p>Plots need JavaScript; the tables hold every figure without.</p></noscript></header>"


def _names(paths: Iterable[str]) -> str:
    """Without their folders, which are nobody's business where a page is published."""
    return ", ".join(os.path.basename(path) for path in paths)


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _section(group: Group, name: str, target: float, drawn: dict[str, Figure]) -> str:
    return "\n".join(
        [
            f'<section id="{name}">',
            f"<h2>{_text(tables.title(group))}</h2>",
            f"<dl>{''.join(f'<dt>{word}</dt><dd>{_text(what)}</dd>' for word, what in tables.facts(group))}</dl>",
            *_recall(group, name, target, drawn),
            *_filters(group, name, target, drawn),
            *_building(group, name, drawn),
            *_figures(group),
            "<h3>Systems and what was tried</h3>",
            *_table(tables.systems(group), "Configuration"),
            *_table(tables.unfinished(group), "Failed or left out"),
            "<h3>Machine</h3>",
            *_table(tables.machines(group), "As measured at the start of each run, by numpy"),
            "<h3>What these figures do not say</h3>",
            f"<ul>{''.join(f'<li>{_text(sentence)}</li>' for sentence in caveats(group, target))}</ul>",
            "</section>",
        ]
    )


_RECALL_PLOTS = {
    "p50_ms": "Recall against latency: lower right is better.",
    "queries_per_s": "Recall against throughput: upper right is better.",
}


def _recall(group: Group, name: str, target: float, drawn: dict[str, Figure]) -> Iterator[str]:
    for at, scope in enumerate(group.scopes):
        for speed, figure in figures.recall_plots(group, scope).items():
            drawn[f"{name}-s{at}-{speed}"] = figure
    yield "<h3>Recall against speed</h3>"
    yield from _table(
        tables.reached(group, group.scopes[:1], target),
        f"The fastest point of each system with a recall of at least {target:g} on the queries for choosing, "
        "or its best recall; and what it got",
    )
    yield f'<div class="controls" id="{name}-controls" hidden>'
    yield '<label>Rows: <select autocomplete="off">'
    for at, scope in enumerate(group.scopes):
        yield f'<option value="{at}">{_text(report.mask_of(scope.records[0]))}</option>'
    yield "</select></label><fieldset><legend>Recall axis:</legend>"
    for at, (view, what) in enumerate(figures.VIEWS.items()):
        checked = ' checked autocomplete="off"' if at == 0 else ' autocomplete="off"'
        yield f'<label><input type="radio" name="{name}-view" value="{view}"{checked}> {what}</label>'
    yield '</fieldset></div><div class="pair">'
    for speed, says in _RECALL_PLOTS.items():
        yield _plot(f"{name}-s*-{speed}", says, f"{name}-controls")
    yield "</div>"
    yield '<p class="soft">Joined: points chosen on the queries held for it. Faint: the other points of the grids. '
    yield "Large: systems with nothing to choose. A name in the legend hides and shows its system.</p>"


def _filters(group: Group, name: str, target: float, drawn: dict[str, Figure]) -> Iterator[str]:
    if group.masks:
        yield "<h3>Under masks</h3>"
        yield f'<p class="soft">Each system at its fastest point with a recall of at least {target:g} on the queries '
        yield "for choosing. Hollow: none reached it, so the one with the best recall.</p>"
    for at, mask in enumerate(group.masks):
        yield f'<h4>Mask: {_text(mask)}</h4><div class="pair">'
        for what, figure in figures.filters(group, mask, target).items():
            drawn[f"{name}-m{at}-{what}"] = figure
            says = "Recall" if what == "recall" else "Throughput"
            yield _plot(f"{name}-m{at}-{what}", f"{says} against the share of rows permitted.")
        yield "</div>"
        yield from _table(tables.reached(group, group.under(mask), target), f"What each system got, mask {mask}")


def _building(group: Group, name: str, drawn: dict[str, Figure]) -> Iterator[str]:
    table = tables.builds(group)
    if not table.rows:
        return
    yield '<h3>Building and memory</h3><div class="pair">'
    for what, figure in figures.bars(group).items():
        drawn[f"{name}-b-{what}"] = figure
        says = "Seconds to build." if what == "seconds" else "Memory per row; the line is float32 rows alone."
        yield _plot(f"{name}-b-{what}", says, low=True)
    yield "</div>"
    yield from _table(table, "What building took")


def _figures(group: Group) -> Iterator[str]:
    yield "<h3>All figures</h3>"
    for at, scope in enumerate(group.scopes):
        calls = tables.span([record.setting.calls for record in scope.records])
        where = report.mask_of(scope.records[0])
        yield f"<details{' open' * (at == 0)}><summary>{_text(where)}, {calls} calls</summary>"
        yield from _table(tables.points(group, scope), f"Chosen points and systems with nothing to choose, {where}")
        rest = tables.others(group, scope)
        if rest.rows:
            yield f"<details><summary>{len(rest.rows)} points that were not chosen</summary>"
            yield from _table(rest, f"Other points of the grids, {where}")
            yield "</details>"
        yield "</details>"


def _plot(figure: str, says: str, controls: str = "", low: bool = False) -> str:
    held = f' data-controls="{controls}"' if controls else ""
    return (
        f'<figure><figcaption>{says}</figcaption><div class="plot{" low" * low}" role="img" aria-label="{says}" '
        f'data-figure="{figure}"{held}></div></figure>'
    )


def _table(table: Table, caption: str) -> Iterator[str]:
    if not table.rows:
        return
    yield f'<div class="table" role="region" tabindex="0" aria-label="{_text(caption)}"><table>'
    yield f"<caption>{_text(caption)}</caption><thead><tr>"
    yield "".join(f'<th scope="col"{_kind(at, table)}>{_text(cell)}</th>' for at, cell in enumerate(table.header))
    yield "</tr></thead><tbody>"
    for first, *rest in table.rows:
        cells = "".join(f"<td{_kind(at, table, cell)}>{_text(cell)}</td>" for at, cell in enumerate(rest, 1))
        yield f'<tr><th scope="row"{_kind(0, table, first)}>{_text(first)}</th>{cells}</tr>'
    yield "</tbody></table></div>"


def _kind(column: int, table: Table, cell: str = "") -> str:
    """Figures stand to the right; text that is short stays on one line."""
    if column >= table.words:
        return ' class="figure"'
    return ' class="short"' if 0 < len(cell) <= _SHORT else ""


def _left_out(results: Results) -> Iterator[str]:
    if results.broken:
        yield '<section id="left-out"><h2>Broken lines</h2>'
        rows = tuple((f"{_names([one.file])}:{one.line}", one.why) for one in results.skipped)
        more = results.broken - len(rows)
        yield from _table(Table(("line", "why"), rows, words=2), "Lines that are no records, left out")
        yield f"<p>And {more} more.</p></section>" if more else "</section>"
