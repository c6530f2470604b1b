# SPDX-License-Identifier: Apache-2.0
"""Functions that processes of every start method can import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from store_examples import content, opened


def read(folder: str, answers: Any) -> None:
    """Opens a collection, reads all of it, and says what there is."""
    with opened(Path(folder)) as collection:
        answers.put((content(collection), collection.generation))


def search(collection: Any, query: Any, principal: Any, answers: Any) -> None:
    """Searches what the parent opened and searched."""
    answers.put(collection.search(query, 5, principal=principal, threads=2).ids.tolist())
