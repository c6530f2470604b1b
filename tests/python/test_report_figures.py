# SPDX-License-Identifier: Apache-2.0
"""Plots as data: which points are where, joined, faint or hollow, on both axes of recall."""

from __future__ import annotations

import html
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

import report_examples as examples
from evidex.bench import figures, groups, results
from evidex.bench.figures import Figure
from evidex.bench.groups import Group

RUN = examples.run()


def whole() -> Group:
    (found,) = groups.group(RUN)
    return found


def of(figure: Figure, name: str) -> list[dict[str, Any]]:
    return [trace for trace in figure["data"] if trace["name"] == name]


def test_every_finished_point_is_drawn_once() -> None:
    """Seen red: with the points that were not chosen left out."""
    group = whole()
    for scope in group.scopes:
        for speed, figure in figures.recall_plots(group, scope).items():
            drawn = sorted((x, y) for trace in figure["data"] for x, y in zip(trace["x"], trace["y"], strict=True))
            wanted = [
                (figures._rounded(one.answers.recall), figures._rounded(getattr(one.latency, speed)))
                for one in scope.records
                if one.answers is not None
            ]
            assert drawn == sorted(wanted)


def test_chosen_points_are_a_line_and_others_faint() -> None:
    """Seen red: with every point of a grid joined."""
    group = whole()
    figure = figures.recall_plots(group, group.scopes[0])["queries_per_s"]
    faint, line = of(figure, "hnswlib 0.8.0")
    assert (line["mode"], faint["mode"], faint["opacity"]) == ("lines+markers", "markers", 0.4)
    records = [one for one in group.scopes[0].records if groups.series(one) == "hnswlib 0.8.0"]
    chosen = sorted(one.answers.recall for one in records if one.answers and one.sweep and one.sweep.chosen)
    assert line["x"] == chosen
    assert len(faint["x"]) == 10 - len(chosen)
    (single,) = of(figure, "numpy 0.1.0")
    assert (single["mode"], single["x"], single["y"]) == ("markers", [1.0], [80.0])


def test_a_system_has_one_name_colour_and_group_in_the_legend() -> None:
    group = whole()
    for figure in figures.recall_plots(group, group.scopes[0]).values():
        for name in ("evidex 0.1.0", "hnswlib 0.8.0"):
            traces = of(figure, name)
            assert sum(bool(trace["showlegend"]) for trace in traces) == 1
            assert len({trace["marker"]["color"] for trace in traces}) == 1
            assert len({trace["legendgroup"] for trace in traces}) == 1
    with_masks = figures.filters(group, "random", 0.95)["recall"]
    (curve,), (_, line) = of(with_masks, "hnswlib 0.8.0"), traces
    assert curve["marker"]["color"] == line["marker"]["color"]


def test_the_axis_of_what_is_missed() -> None:
    """1 - recall where there is some, and recall 1 at the edge, which is labelled so: a logarithm has no 0.

    Seen red: with recall 1 put at 1 - recall.
    """
    group = whole()
    figure = figures.recall_plots(group, group.scopes[0])["p50_ms"]
    linear, missed = figure["views"]["linear"], figure["views"]["missed"]
    assert [trace["x"] for trace in figure["data"]] == linear["x"]
    assert figure["layout"]["xaxis"] == linear["xaxis"]
    places = [x for trace in missed["x"] for x in trace]
    recalls = [x for trace in linear["x"] for x in trace]
    edge = missed["xaxis"]["tickvals"][-1]
    assert missed["xaxis"]["ticktext"][-1] == "1"
    for place, recall in zip(places, recalls, strict=True):
        assert place == (pytest.approx(1 - recall, rel=1e-4) if recall < 1 else edge)
    low, high = missed["xaxis"]["range"]
    assert low > high  # right is better
    assert all(high < math.log10(place) < low for place in places)
    assert {"0.9", "0.99", "1"} <= set(missed["xaxis"]["ticktext"])
    assert min(place for place in places if place != edge) > edge


def test_the_axis_where_nothing_is_missed_and_where_all_is() -> None:
    for recall in (1.0, 0.0):
        (group,) = groups.group([examples.single("evidex", recall, 10.0)])
        for figure in figures.recall_plots(group, group.scopes[0]).values():
            for view in figure["views"].values():
                first, last = view["xaxis"]["range"]
                place = view["x"][0][0] if view["xaxis"]["type"] == "linear" else math.log10(view["x"][0][0])
                assert min(first, last) < place < max(first, last)


def test_nothing_to_draw_is_an_empty_plot() -> None:
    (group,) = groups.group([examples.stopped("a", "failed", "why", "random", 0.5)])
    plots = [figures.recall_plots(group, group.scopes[0]), figures.filters(group, "random", 0.9)]
    for figure in (figure for pair in plots for figure in pair.values()):
        assert figure["data"] == []
    assert [len(figure["data"][0]["x"]) for figure in figures.bars(group).values()] == [0, 0]


def test_curves_under_masks_are_of_the_best_points() -> None:
    """Hollow where the target was not reached.

    Seen red: with the symbol of what reached it everywhere.
    """
    group = whole()
    plots = figures.filters(group, "random", 0.99)
    assert set(plots) == {"recall", "queries_per_s"}
    for what, figure in plots.items():
        traces = {trace["name"]: trace for trace in figure["data"]}
        assert "scann 1.4.2" not in traces
        for name, trace in traces.items():
            assert trace["x"] == [0.001, 0.01, 0.1, 0.5]
            for share, got, symbol in zip(trace["x"], trace["y"], trace["marker"]["symbol"], strict=True):
                (scope,) = [one for one in group.under("random") if one.selectivity == share]
                best = groups.best([one for one in scope.records if groups.series(one) == name], 0.99)
                assert best is not None
                assert got == figures.what_of(best.record, what)
                assert symbol.endswith("-open") == (not best.reached)
    assert plots["recall"]["layout"]["shapes"][0]["y0"] == 0.99
    symbols = [symbol for trace in plots["recall"]["data"] for symbol in trace["marker"]["symbol"]]
    assert "circle" in symbols and "triangle-up-open" in symbols


def test_bars_have_a_bar_for_each_build() -> None:
    group = whole()
    plots = figures.bars(group)
    for figure in plots.values():
        (bar,) = figure["data"]
        assert len(bar["x"]) == len(bar["y"]) == len(figure["layout"]["yaxis"]["ticktext"]) == 9
    assert plots["seconds"]["layout"]["yaxis"]["ticktext"][0] == "evidex 0.1.0"
    assert plots["bytes_per_row"]["data"][0]["x"][0] == 2000.0
    assert plots["bytes_per_row"]["layout"]["shapes"][0]["x0"] == 4 * examples.DIM


def test_figures_are_plain_json() -> None:
    group = whole()
    everything = [figures.recall_plots(group, scope) for scope in group.scopes]
    everything += [figures.filters(group, mask, 0.95) for mask in group.masks] + [figures.bars(group)]
    assert json.loads(json.dumps(everything, allow_nan=False)) == everything


def test_labels_are_no_markup(tmp_path: Path) -> None:
    """plotly takes labels for markup of its own, links included.

    Seen red: with labels not escaped.
    """
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join(json.dumps(examples.spoilt(one, "<a href='x'>&<b>")) for one in RUN), encoding="utf-8")
    (group,) = groups.group(results.read([path]).records)
    everything = [figures.recall_plots(group, scope) for scope in group.scopes]
    everything += [figures.filters(group, mask, 0.95) for mask in group.masks] + [figures.bars(group)]
    texts: list[str] = []

    def gather(value: object) -> None:
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, (list, dict)):
            for part in value.values() if isinstance(value, dict) else value:
                gather(part)

    gather(everything)
    assert sum("&lt;a href='x'&gt;&amp;&lt;b&gt;" in text for text in texts) > 100
    for text in texts:
        assert "<" not in re.sub(r"</?b>|<br>", "", text)
    assert figures.label("two\nlines <b>") == "two lines &lt;b&gt;"
    assert html.unescape(figures.label("&" * 500)) == "&" * 77 + "..."
