# SPDX-License-Identifier: Apache-2.0
"""The way from the catalog to rows: what a reader or the writer sees next."""

from __future__ import annotations

from .catalog import Catalog
from .entries import living_segments, reference
from .family import Family, View
from .rights import Rights
from .segments import Segments
from .settings import Settings

__all__ = ["newest_view"]


def newest_view(before: View | None, settings: Settings, catalog: Catalog, segments: Segments, rights: Rights) -> View:
    """The newest state. Rows of ``before`` are taken over unless segments were rewritten since.

    Args:
        before: The state seen so far, if there is one.
        settings: How rows are kept.
        catalog: Where the state is read, in one transaction.
        segments: Where rows are.
        rights: Whose rules new rows come under.
    """
    with catalog.reading():
        generation = catalog.counter("generation")
        if before is not None and before.generation == generation:
            return before
        rights.sync()
        components = reference(catalog, settings.dim)
        living = {number for (number,) in catalog.all("SELECT number FROM segments WHERE died IS NULL", (), "i")}
        if before is not None and not set(before.family.begin) <= living:
            before = None
        family = Family(settings, catalog, rights, components) if before is None else before.family
        there = set(family.begin)
        for one in living_segments(catalog, above=max(there, default=0)):
            family.attach(segments, one, components)
        changed = _changed_places(catalog, None if before is None else before.generation, max(there, default=0))
        family.mark([place[:3] for place in changed if not place[3]], dead=True)
        family.mark([place[:3] for place in changed if place[3] and place[0] in there], dead=False)
        return family.view(generation)


def _changed_places(catalog: Catalog, since: int | None, newest: int) -> list[tuple[int, int, int, int]]:
    """``(segment, first, rows, visible)`` of what went since a generation, or of all that ever went.

    And of what came back since in segments up to ``newest``: rows of later ones are there from the beginning.
    """
    which = "died IS NOT NULL" if since is None else "died > ? OR (born > ? AND segment <= ?)"
    found = catalog.all(
        "SELECT segment, first, rows, max(died IS NULL) FROM places JOIN revisions ON number = revision "
        f"WHERE (segment, first) IN (SELECT segment, first FROM places WHERE {which}) GROUP BY segment, first",
        () if since is None else (since, since, newest),
        "iiii",
    )
    return [(segment, first, rows, visible) for segment, first, rows, visible in found]
