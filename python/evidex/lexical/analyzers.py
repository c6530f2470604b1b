# SPDX-License-Identifier: Apache-2.0
"""The analyser that belongs to what is stored: documents and queries are analysed alike."""

from __future__ import annotations

import json

from ..errors import CorruptFile, InvalidInput
from ..text import Analyzer

__all__ = ["analyzer_of"]

_KIND = "evidex.text.Analyzer"  # what every identity says


def analyzer_of(said: str | None, given: object) -> Analyzer | None:
    """The analyser of what was stored, which the one that was given must be; None where nothing was said.

    Raises:
        InvalidInput: If it is another one, or needs a stemmer that is not installed.
        VersionMismatch: If it is of another version.
        CorruptFile: If what was stored is no analyser's identity.
    """
    if given is None:
        return None if said is None else _made_again(said)
    if not isinstance(given, Analyzer) or given.identity != said:
        raise InvalidInput(
            f"analyzer: got {given.identity if isinstance(given, Analyzer) else given!r}, but what is stored "
            f"was made with {said or 'none'}; pass that one or leave it out, or store the documents anew with this one"
        )
    return given


def _made_again(said: str) -> Analyzer:
    try:
        return Analyzer.from_identity(said)
    except InvalidInput as error:
        if _is_identity(said):
            raise  # such as a stemmer that is not installed
        raise CorruptFile(f"what was saved of the analyser is {said!r}; restore the folder from a copy") from error


def _is_identity(said: str) -> bool:
    try:
        found = json.loads(said)
    except ValueError:
        return False
    return isinstance(found, dict) and found.get("kind") == _KIND
