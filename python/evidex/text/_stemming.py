# SPDX-License-Identifier: Apache-2.0
"""The Snowball stemmers of PyStemmer (extra ``text``), imported when one is wanted."""

from __future__ import annotations

import importlib
import threading
from typing import Any

from .._checks import refuse
from ..errors import InvalidInput

__all__ = ["Stemmer", "snowball_version"]


def snowball_version() -> str:
    """Version of the installed algorithms, such as ``"3.0.1"``; they change between versions, the English one too.

    PyStemmer numbers its releases after them; a fourth number is its own and says nothing about stems.

    Raises:
        InvalidInput: When PyStemmer is not installed.
    """
    return ".".join(str(_package().version()).split(".")[:3])


class Stemmer:
    """One algorithm. An object of the package must not be used by two threads at once, so each has its own."""

    def __init__(self, language: str) -> None:
        """Prepares the algorithm of a language.

        Raises:
            InvalidInput: When PyStemmer is not installed, or has no such algorithm.
        """
        known = _package().algorithms()
        if language not in known:
            refuse("language", language, f"one of {', '.join(known)}", "or pass stem=False")
        self._language = language
        self._own = threading.local()

    def __call__(self, word: str) -> str:
        """The stem of a folded word."""
        own = self._own
        if not hasattr(own, "stem"):
            own.stem = _package().Stemmer(self._language, 0).stemWord  # 0: the analyser remembers, not the stemmer
        return str(own.stem(word))


def _package() -> Any:
    try:
        return importlib.import_module("Stemmer")
    except ImportError as error:
        raise InvalidInput(
            f"stemming needs PyStemmer, which is not installed or does not load ({error}): pip install evidex[text], "
            "or pass stem=False"
        ) from error
