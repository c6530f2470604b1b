# SPDX-License-Identifier: Apache-2.0
"""Plots as plain dicts for plotly: traces in ``data``, ``layout``, and for a choice of axis ``views``.

A view is what replaces ``x`` of each trace and ``layout.xaxis``. Text from records is escaped here, since plotly takes
labels for markup of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any, TypeAlias

from . import report, tables
from .groups import Group, Scope, parameters
from .records import Record

__all__ = ["VIEWS", "Figure", "bars", "filters", "label", "recall_plots"]

Figure: TypeAlias = dict[str, Any]

VIEWS = {"linear": "linear", "missed": "1 - recall, logarithmic"}
"""The choice of recall axis."""

_LONGEST = 80
# Readable on white and on black, and apart for most who see few colours; the symbols differ too.
_COLOURS = (
    "#1f78d1",
    "#e0662b",
    "#169c75",
    "#c75b9b",
    "#c99a00",
    "#45a9d9",
    "#8a6fd0",
    "#8b8b8b",
    "#a9623b",
    "#7f9a1e",
)
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "star", "pentagon", "hexagram")
_SPEEDS = {"p50_ms": "p50 of a call, ms", "queries_per_s": "queries/s"}
_FEW = 1e-4  # what the logarithmic axis shows as missed where nothing is
_ROOM = 2.5  # between the least that was missed and where recall 1 is drawn


def label(text: str) -> str:
    """Text from outside as a label: one line, not too long, no markup."""
    line = " ".join(tables.visible(text).split())
    return escape(line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "...", quote=False)


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def _style(group: Group, name: str) -> dict[str, Any]:
    at = group.series.index(name)
    return {"color": _COLOURS[at % len(_COLOURS)], "symbol": _SYMBOLS[at % len(_SYMBOLS)]}


def recall_plots(group: Group, scope: Scope) -> dict[str, Figure]:
    """Recall against ``p50_ms`` and against ``queries_per_s``: chosen points joined, the others of a grid faint."""
    return {speed: _recall_plot(group, scope, speed) for speed in _SPEEDS}


def _recall_plot(group: Group, scope: Scope, speed: str) -> Figure:
    traces = []
    for name, of in tables.by_series(group, scope.records):
        done = [one for one in of if one.status == "ok"]
        swept = [one for one in done if one.sweep is not None]
        traces += [
            _trace(group, name, speed, [one for one in swept if not tables.shown(one)], "faint"),
            _trace(group, name, speed, [one for one in swept if tables.shown(one)], "line"),
            _trace(group, name, speed, [one for one in done if one.sweep is None], "single"),
        ]
    traces = [one for one in traces if one["x"]]
    named: set[str] = set()
    for trace in sorted(traces, key=lambda one: one["meta"] == "faint"):  # one entry per system, faint if nothing else
        trace["showlegend"] = trace["legendgroup"] not in named
        named.add(trace["legendgroup"])
    recalls = [recall for trace in traces for recall in trace["x"]]
    views = {name: _view(name, group.first.setting.k, recalls, traces) for name in VIEWS}
    layout = {
        "xaxis": views["linear"]["xaxis"],
        "yaxis": _speed_axis(speed, traces),
    }
    return {"data": traces, "layout": layout, "views": views}


def _speed_axis(speed: str, traces: Sequence[dict[str, Any]]) -> dict[str, Any]:
    values = [value for trace in traces for value in trace["y"]]
    axis = {"type": "log", "title": {"text": _SPEEDS[speed]}}
    wide = values and max(values) > 5 * min(values)
    return {**axis, "dtick": "D2"} if wide else axis  # 1, 2 and 5 of each power of ten


def _trace(group: Group, name: str, speed: str, records: Sequence[Record], kind: str) -> dict[str, Any]:
    points = [(one.answers, one.latency, one) for one in records]
    found = sorted(
        (_rounded(answers.recall), _rounded(getattr(latency, speed)), _hover(name, one))
        for answers, latency, one in points
        if answers is not None and latency is not None
    )
    style = _style(group, name)
    trace: dict[str, Any] = {
        "type": "scatter",
        "meta": kind,
        "mode": "lines+markers" if kind == "line" else "markers",
        "name": label(name),
        "legendgroup": str(group.series.index(name)),
        "x": [recall for recall, _, _ in found],
        "y": [value for _, value, _ in found],
        "hovertext": [text for _, _, text in found],
        "hoverinfo": "text",
        "marker": {**style, "size": {"faint": 6, "line": 8, "single": 12}[kind]},
    }
    if kind == "faint":
        trace["opacity"] = 0.4
    if kind == "line":
        trace["line"] = {"color": style["color"], "width": 2}
    return trace


def _hover(name: str, record: Record) -> str:
    assert record.answers is not None and record.latency is not None
    got = [
        f"recall {report.floored(record.answers.recall)}",
        f"{tables.figure(record.latency.queries_per_s)} queries/s, p50 {tables.figure(record.latency.p50_ms)} ms",
    ]
    sweep = record.sweep
    if sweep is not None and sweep.tuned_recall is not None:
        chosen = "chosen" if sweep.chosen else "not chosen"
        got.append(f"tuned recall {report.floored(sweep.tuned_recall)}, {chosen}")
    given = [f"<b>{label(name)}</b>", *(label(part) for part in parameters(record).split("; ") if part)]
    return "<br>".join([*given, *got])


def _view(name: str, k: int, recalls: Sequence[float], traces: Sequence[dict[str, Any]]) -> dict[str, Any]:
    if name == "linear":
        low = min(recalls, default=0.0)
        pad = max(1 - low, 0.01) * 0.05
        axis = {"type": "linear", "title": {"text": f"recall@{k}"}, "range": [_rounded(low - pad), _rounded(1 + pad)]}
        return {"x": [trace["x"] for trace in traces], "xaxis": axis}
    missed = [_rounded(1 - recall) for recall in recalls if recall < 1]
    least = min(missed, default=_FEW) / _ROOM
    ticks = _ticks(least * _ROOM**0.5, max(missed, default=_FEW))
    axis = {
        "type": "log",
        "title": {"text": f"recall@{k} (scale: logarithm of 1 - recall)"},
        "range": [_rounded(math.log10(max([*missed, _FEW]) * 1.3)), _rounded(math.log10(least / 1.3))],
        "tickvals": [*ticks, _rounded(least)],
        "ticktext": [*(f"{1 - tick:.12g}" for tick in ticks), "1"],
    }
    placed = [[_rounded(1 - recall) if recall < 1 else _rounded(least) for recall in trace["x"]] for trace in traces]
    return {"x": placed, "xaxis": axis}


def _ticks(low: float, high: float) -> list[float]:
    """Powers of ten between the two; over few of them also 2 and 5 times those."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (5, 2, 1) if last - first <= 3 else (1,)
    ticks = [_rounded(step * 10.0**power) for power in range(last, first - 1, -1) for step in steps]
    return [tick for tick in ticks if low <= tick <= min(high * 1.3, 1.0)]


def filters(group: Group, mask: str, target: float) -> dict[str, Figure]:
    """For one kind of mask ``recall`` and ``queries_per_s`` against selectivity, each system at its best point.

    Points that did not reach the target where they were chosen are hollow.
    """
    scopes = [scope for scope in group.under(mask) if scope.selectivity is not None]
    found = [(scope, name, one) for scope in scopes for name, one in tables.bests(group, scope, target)]
    shares = sorted({_rounded(scope.selectivity) for scope in scopes if scope.selectivity is not None})
    axis = {
        "type": "log",
        "title": {"text": f"rows permitted ({label(mask)})"},
        "tickvals": shares,
        "ticktext": [f"{share * 100:g} %" for share in shares],
    }
    plots: dict[str, Figure] = {}
    for what in ("recall", "queries_per_s"):
        traces = []
        for name in group.series:
            own = sorted(
                (_rounded(scope.selectivity or 1.0), what_of(one.record, what), one.reached, _hover(name, one.record))
                for scope, of, one in found
                if of == name
            )
            if own:
                traces.append(_curve(group, name, own))
        plots[what] = {"data": traces, "layout": {"xaxis": axis, "yaxis": _filter_axis(what, group, traces, target)}}
    plots["recall"]["layout"]["shapes"] = [_target_line(target)]
    return plots


def what_of(record: Record, what: str) -> float:
    """Recall or queries per second of a record that has both."""
    assert record.answers is not None and record.latency is not None
    return _rounded(record.answers.recall if what == "recall" else record.latency.queries_per_s)


def _curve(group: Group, name: str, own: Sequence[tuple[float, float, bool, str]]) -> dict[str, Any]:
    style = _style(group, name)
    symbols = [style["symbol"] if reached else f"{style['symbol']}-open" for _, _, reached, _ in own]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": label(name),
        "x": [share for share, _, _, _ in own],
        "y": [value for _, value, _, _ in own],
        "hovertext": [text for _, _, _, text in own],
        "hoverinfo": "text",
        "marker": {"color": style["color"], "symbol": symbols, "size": 9},
        "line": {"color": style["color"], "width": 2},
    }


def _filter_axis(what: str, group: Group, traces: Sequence[dict[str, Any]], target: float) -> dict[str, Any]:
    if what != "recall":
        return _speed_axis("queries_per_s", traces)
    low = min([target, *(value for trace in traces for value in trace["y"])])
    pad = max(1 - low, 0.01) * 0.05
    return {"title": {"text": f"recall@{group.first.setting.k}"}, "range": [_rounded(low - pad), _rounded(1 + pad)]}


def _target_line(target: float) -> dict[str, Any]:
    line = {"dash": "dot", "width": 1, "color": "#888888"}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": target, "y1": target, "line": line}


def bars(group: Group) -> dict[str, Figure]:
    """``seconds`` of building and ``bytes_per_row`` of what was built, a bar for each; float32 rows as a line."""
    built = tables.built(group)
    names = [label(f"{name} ({how})" if how else name) for name, how, _ in built]
    colours = [_style(group, name)["color"] for name, _, _ in built]
    plots: dict[str, Figure] = {}
    for what, title in (("seconds", "seconds to build"), ("bytes_per_row", "bytes/row, growth of resident memory")):
        values = [getattr(build, what) for _, _, build in built]
        bar = {
            "type": "bar",
            "orientation": "h",
            "x": [None if value is None else _rounded(value) for value in values],
            "y": list(range(len(built))),
            "hovertext": [f"{name}: {tables.figure(value)}" for name, value in zip(names, values, strict=True)],
            "hoverinfo": "text",
            "text": [tables.figure(value) for value in values],
            "marker": {"color": colours},
        }
        rows = {"tickvals": list(range(len(built))), "ticktext": names, "autorange": "reversed", "automargin": True}
        layout = {"xaxis": {"title": {"text": title}}, "yaxis": rows, "height": 130 + 28 * len(built)}
        plots[what] = {"data": [bar], "layout": {**layout, "showlegend": False}}
    plots["bytes_per_row"]["layout"]["shapes"] = [_float32_line(4 * group.first.data.dim)]
    return plots


def _float32_line(size: int) -> dict[str, Any]:
    line = {"dash": "dot", "width": 1, "color": "#888888"}
    name = {"text": "float32", "textposition": "end", "textangle": 0, "xanchor": "left", "font": {"size": 11}}
    place = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": size, "x1": size}
    return {**place, "line": line, "label": name}
