# SPDX-License-Identifier: Apache-2.0
"""Turning texts into vectors: a built-in encoder without weights, and an optional small word-vector model."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ._checks import refuse, text, texts, utf8, whole
from ._stop_words import STOP_WORDS
from .errors import InvalidInput

__all__ = ["Encoder", "HashingEncoder", "WordLlamaEncoder", "get_encoder"]

_Vectors = npt.NDArray[np.float32]
_Features = tuple[npt.NDArray[np.uint64], npt.NDArray[np.float64]]

_WORD = re.compile(r"\w+")
_IDENTIFIER = re.compile(r"(?<!\w)[^\W\d_]\w*(?:[-.]\w+)*")
_IDENTIFIER_WEIGHT = 3.0
_LONGEST_CACHED = 32


class Encoder(Protocol):
    """Anything that turns texts into vectors of one dimension."""

    @property
    def name(self) -> str:
        """Names the encoder in a stored collection; another encoder must have another name."""

    @property
    def dim(self) -> int:
        """Components per vector."""

    def encode(self, texts: Sequence[str]) -> _Vectors:
        """One float32 row of ``dim`` components per text."""


@dataclass(frozen=True, slots=True)
class HashingEncoder:
    """Words, their character n-grams and identifiers, hashed with a sign into ``dim`` components. No weights.

    Finds shared words and word parts, not meaning: a baseline that needs no model. The text is NFKC-normalised
    and lower-cased; English stop words are dropped unless nothing else is there. The n-grams of a word, 3 to 5
    characters long and aware of its ends, together weigh as much as the word; a term counts with the square root
    of its frequency; tokens such as ``AX-2207`` or ``E4012`` (a letter first, a digit later) count three times as
    much as a word. Hashes come from the standard library and every operation is correctly rounded, so rows have
    the same bits in every process and on every machine.

    Source: Weinberger, Dasgupta, Langford, Smola and Attenberg, "Feature Hashing for Large Scale Multitask
    Learning", ICML 2009.

    Attributes:
        dim: Components per vector, from 1 to 65536.

    Raises:
        InvalidInput: For another ``dim``.
    """

    dim: int = 256

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", whole(self.dim, "dim", least=1, most=65_536))

    @property
    def name(self) -> str:
        """Always ``"hashing"``."""
        return "hashing"

    def encode(self, texts: Sequence[str]) -> _Vectors:
        """One row of unit length per text.

        Args:
            texts: Texts with at least one character that is not white space.

        Raises:
            InvalidInput: For anything else, naming the position.
        """
        return _rows(texts, self.dim, self._sums)

    def _sums(self, text: str) -> npt.NDArray[np.float64]:
        words, identifiers = _terms(text)
        parts = [(_word_features(word), count) for word, count in words.items()]
        parts += [
            ((_hashes(["i" + name]), np.array([_IDENTIFIER_WEIGHT])), count) for name, count in identifiers.items()
        ]
        hashes = np.concatenate([features[0] for features, _ in parts])
        # A square root is rounded alike on every machine; the customary logarithm is not.
        weights = np.concatenate([features[1] * math.sqrt(count) for features, count in parts])
        signs = np.where(hashes & np.uint64(1), 1.0, -1.0)
        buckets = ((hashes >> np.uint64(1)) % np.uint64(self.dim)).astype(np.intp)
        return np.bincount(buckets, weights * signs, minlength=self.dim).astype(np.float64, copy=False)


class WordLlamaEncoder:
    """The 256-dimensional word vectors of the package ``wordllama`` (extra ``demo``), averaged over a text's tokens.

    The model is read from the files inside the installed package: nothing is downloaded, and the package
    itself is not imported, since that would set up logging for the whole process. Each text is encoded on
    its own, so a row does not depend on the batch it came in.

    Raises:
        InvalidInput: When the package or one of its files is missing.
    """

    name = "wordllama"
    dim = 256

    def __init__(self) -> None:
        weights, tokenizer = (
            _wordllama_file(part)
            for part in ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json")
        )
        self._tokenizer: Any = _import_demo("tokenizers").Tokenizer.from_file(str(tokenizer))
        with _import_demo("safetensors").safe_open(str(weights), framework="np") as tensors:
            self._table: npt.NDArray[np.floating[Any]] = tensors.get_tensor("embedding.weight")

    def encode(self, texts: Sequence[str]) -> _Vectors:
        """One row of unit length per text.

        Args:
            texts: Texts with at least one character that is not white space.

        Raises:
            InvalidInput: For anything else, naming the position.
        """
        return _rows(texts, self.dim, self._sums)

    def _sums(self, text: str) -> npt.NDArray[np.float64]:
        tokens = self._tokenizer.encode(text, add_special_tokens=False).ids
        # Sums of half-precision numbers are exact in double precision, so their order cannot matter.
        return np.asarray(self._table[tokens].astype(np.float64).sum(axis=0))


_ENCODERS: dict[str, type[HashingEncoder | WordLlamaEncoder]] = {
    "hashing": HashingEncoder,
    "wordllama": WordLlamaEncoder,
}


def get_encoder(name: str) -> Encoder:
    """The built-in encoder of that name, with its default settings.

    Args:
        name: ``"hashing"`` or ``"wordllama"``.

    Raises:
        InvalidInput: For another name, listing the known ones, and when ``"wordllama"`` is not installed.
    """
    if text(name, "name") not in _ENCODERS:
        refuse("name", name, f"one of {', '.join(_ENCODERS)}", "or pass an encoder object of your own")
    return _ENCODERS[name]()


def _rows(given: Iterable[str], dim: int, sums: Callable[[str], npt.NDArray[np.float64]]) -> _Vectors:
    checked = texts(given, "texts")
    for place, one in enumerate(checked):
        if not utf8(one, f"texts[{place}]").strip():
            refuse(f"texts[{place}]", one, "a text with something to encode", "leave blank texts out")
    rows = np.empty((len(checked), dim), dtype=np.float32)
    for row, one in zip(rows, checked, strict=True):
        vector = sums(one)
        # fsum is correctly rounded; numpy's norm goes through BLAS, whose order of additions varies.
        norm = math.sqrt(math.fsum(vector * vector))
        if norm == 0:  # every feature met its opposite: a small dim can do that
            vector[int(_hashes(["t" + one])[0]) % dim] = norm = 1.0
        row[:] = vector / norm
    return rows


def _terms(raw: str) -> tuple[Counter[str], Counter[str]]:
    normal = unicodedata.normalize("NFKC", raw).lower()
    words = _WORD.findall(normal)
    kept = [word for word in words if word not in STOP_WORDS] or words or normal.split()
    identifiers = [name for name in _IDENTIFIER.findall(normal) if any(map(str.isdigit, name))]
    return Counter(kept), Counter(identifiers)


def _word_features(word: str) -> _Features:
    # A long word is a blob or unspaced script: rarely met again, and it would crowd the others out.
    return _cached_features(word) if len(word) <= _LONGEST_CACHED else _features(word)


def _features(word: str) -> _Features:
    marked = f"<{word}>"
    grams = [marked[at : at + size] for size in (3, 4, 5) for at in range(len(marked) - size + 1)]
    weights = np.full(1 + len(grams), 1 / math.sqrt(len(grams)))  # together they weigh as much as the word
    weights[0] = 1.0
    return _hashes(["w" + word, *("g" + gram for gram in grams)]), weights


_cached_features = lru_cache(maxsize=16_384)(_features)


def _hashes(terms: Iterable[str]) -> npt.NDArray[np.uint64]:
    digests = (hashlib.blake2b(term.encode(), digest_size=8).digest() for term in terms)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def _import_demo(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise _demo_missing(module) from error


def _wordllama_file(part: str) -> Path:
    spec = importlib.util.find_spec("wordllama")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (path := Path(folder, part)).is_file():
            return path
    raise _demo_missing(f"wordllama with its file {part}")


def _demo_missing(what: str) -> InvalidInput:
    return InvalidInput(f"the wordllama encoder needs {what}, which is not installed: pip install evidex[demo]")
