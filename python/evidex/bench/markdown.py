# SPDX-License-Identifier: Apache-2.0
"""A report as Markdown: the tables of the page, for a README, an issue or a notebook."""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import report, tables
from .caveats import caveats
from .groups import Group
from .tables import Table

__all__ = ["markdown"]

# What Markdown, or HTML inside it, takes for more than text; an underscore inside a word is none of that.
_SPECIAL = re.compile(r"[\\`*\[\]<>&|~$#!]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])")


def markdown(groups: list[Group], target: float) -> str:
    """Headings and tables of each group; text from records is escaped.

    Args:
        groups: Of records that may be compared.
        target: Recall at which systems are compared, above 0, at most 1.
    """
    return "\n".join(line for group in groups for line in _group(group, target))


def _group(group: Group, target: float) -> Iterator[str]:
    yield f"## {_text(tables.title(group))}\n"
    yield from (f"- {name}: {_text(what)}" for name, what in tables.facts(group))
    yield from _section(f"At recall of at least {target:g}", tables.reached(group, group.scopes, target))
    for scope in group.scopes:
        yield from _section(f"Figures, {report.mask_of(scope.records[0])}", tables.points(group, scope))
    yield from _section("Building", tables.builds(group))
    yield from _section("Systems", tables.systems(group))
    yield from _section("Failed or left out", tables.unfinished(group))
    yield from _section("Machine", tables.machines(group))
    yield "\n### What these figures do not say\n"
    yield from (f"- {_text(sentence)}" for sentence in caveats(group, target))
    yield ""


def _section(heading: str, table: Table) -> Iterator[str]:
    if table.rows:
        yield f"\n### {_text(heading)}\n"
        yield _row(table.header)
        yield "|" + "|".join("---" if at < table.words else "---:" for at in range(len(table.header))) + "|"
        yield from map(_row, table.rows)


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(map(_text, cells))} |"


def _text(text: str) -> str:
    """One line without markup."""
    return _SPECIAL.sub(r"\\\g<0>", " ".join(tables.visible(text).split()))
