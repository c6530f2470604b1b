# SPDX-License-Identifier: Apache-2.0
"""Encoders: the same bits everywhere, unit rows, and sane retrieval."""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidex import encoders
from evidex.encoders import Encoder, HashingEncoder, WordLlamaEncoder, get_encoder
from evidex.errors import InvalidInput

DOCS = [
    "Refunds are paid within fourteen days after the parcel came back to our warehouse.",
    "The AX-2207 pump shows error E4012 when its inlet filter is blocked.",
    "The AX-2208 pump shows error E4013 when its outlet valve is closed.",
    "Travel expenses need a receipt and the signature of your manager.",
    "Passwords have at least sixteen characters and are never shared.",
]


def best(question: str, encoder: Encoder) -> int:
    return int(np.argmax(encoder.encode(DOCS) @ encoder.encode([question])[0]))


@pytest.mark.parametrize(
    ("question", "doc"),
    [
        ("refunds parcel", 0),
        ("What about the signature of a manager?", 3),
        ("shared passwords", 4),
        ("AX-2207", 1),
        ("ax-2208 pump", 2),
        ("error E4012", 1),
        ("the pump with error E4013", 2),
        ("reimbursing travelling expense", 3),
    ],
)
def test_the_document_that_holds_the_words_ranks_first(question: str, doc: int) -> None:
    for dim in (256, 1024):
        assert best(question, HashingEncoder(dim)) == doc


def test_identifiers_weigh_more_than_words() -> None:
    """Guards "a high weight"; dropping the identifier terms turned this red."""
    rows = HashingEncoder(4096).encode(["pump AX-2207", "pump", "AX-2207"])
    assert rows[0] @ rows[2] > 0.8
    assert rows[0] @ rows[1] < 0.5


def test_stop_words_are_dropped_unless_alone() -> None:
    encoder = HashingEncoder()
    assert np.array_equal(*encoder.encode(["the refund of a parcel", "refund parcel"]))
    assert np.linalg.norm(encoder.encode(["what is the"])) == pytest.approx(1)


def test_case_and_compatibility_forms_are_one() -> None:
    first, *others = HashingEncoder().encode(["caf\u00e9 menu", "CAFE\u0301 Menu", "\uff43\uff41\uff46\u00e9 menu"])
    assert all(np.array_equal(first, other) for other in others)


def test_the_same_bits_in_every_process_and_release() -> None:
    """Guards P5 and every stored collection; ``hash()`` in place of blake2b turned this red."""
    texts = [*DOCS, "Gr\u00fc\u00dfe \U0001f600!", "?!", "the"]
    digest = hashlib.sha256(HashingEncoder(64).encode(texts).astype("<f4").tobytes()).hexdigest()
    code = (
        "import hashlib, sys; from evidex.encoders import HashingEncoder\n"
        f"print(hashlib.sha256(HashingEncoder(64).encode({texts!r}).astype('<f4').tobytes()).hexdigest())"
    )
    other = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", code],
        env={"PYTHONHASHSEED": "7", "PYTHONPATH": str(Path(encoders.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout.strip() == digest
    assert digest == "4f25b428b07d8b501deff1ec031daae4dd2d2fdda8d3c3920f78b0085823482b"


def test_a_row_does_not_depend_on_its_batch() -> None:
    encoder = HashingEncoder()
    together = encoder.encode(DOCS)
    assert all(np.array_equal(row, encoder.encode([text])[0]) for row, text in zip(together, DOCS, strict=True))


def test_shape_and_type() -> None:
    rows = HashingEncoder(100).encode(tuple(DOCS))
    assert rows.shape == (5, 100) and rows.dtype == np.float32
    assert HashingEncoder(100).encode([]).shape == (0, 100)
    assert HashingEncoder().dim == 256


@given(st.text(min_size=1, max_size=40).filter(str.strip), st.sampled_from([1, 2, 16, 256]))
def test_rows_have_unit_length(text: str, dim: int) -> None:
    row = HashingEncoder(dim).encode([text])[0].astype(np.float64)
    assert np.isfinite(row).all() and row @ row == pytest.approx(1, abs=1e-6)


def test_features_that_cancel_still_give_a_unit_row() -> None:
    """Guards "unit length"; without the fallback some of these one-component rows were NaN."""
    letters = [f"{one} {two}" for one in "bcdefgh" for two in "jklmnpq"]
    assert set(HashingEncoder(1).encode(letters).ravel()) == {-1.0, 1.0}
    sums = HashingEncoder(1)._sums
    assert any(sums(pair)[0] == 0 for pair in letters), "no pair cancels: choose others, or this test is empty"


def test_long_words_are_not_cached() -> None:
    encoders._cached_features.cache_clear()
    HashingEncoder().encode(["x" * 33, "short"])
    assert encoders._cached_features.cache_info().currsize == 1


@pytest.mark.parametrize("dim", [0, -1, True, 2.0, "256", None, 65_537])
def test_dims_refused(dim: Any) -> None:
    with pytest.raises(InvalidInput, match="dim"):
        HashingEncoder(dim)


@pytest.mark.parametrize("bad", ["", " \n\u3000", None, 3, b"x", "a\ud800"])
def test_texts_refused_by_position(bad: Any) -> None:
    with pytest.raises(InvalidInput, match=r"texts\[1\]"):
        HashingEncoder().encode(["fine", bad])


def test_a_single_text_must_be_wrapped() -> None:
    with pytest.raises(InvalidInput, match="wrap a single item"):
        HashingEncoder().encode("refund")


def test_get_encoder() -> None:
    assert get_encoder("hashing") == HashingEncoder()
    assert get_encoder("hashing").name == "hashing"
    with pytest.raises(InvalidInput, match="one of hashing, wordllama, got 'bert'"):
        get_encoder("bert")
    with pytest.raises(InvalidInput, match="name"):
        get_encoder(None)  # type: ignore[arg-type]


def test_wordllama_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InvalidInput, match=r"pip install evidex\[demo\]"):
        get_encoder("wordllama")


def _stand_in(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    for part in ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"):
        (folder / part).parent.mkdir()
        (folder / part).touch()
    spec = SimpleNamespace(submodule_search_locations=[str(folder)])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)


def test_wordllama_of_another_layout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _stand_in(monkeypatch, tmp_path)
    (tmp_path / "weights/l2_supercat_256.safetensors").unlink()
    with pytest.raises(InvalidInput, match=r"its file weights/l2_supercat_256.safetensors.*pip install evidex\[demo\]"):
        WordLlamaEncoder()


def test_wordllama_dependency_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _stand_in(monkeypatch, tmp_path)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(InvalidInput, match=r"needs tokenizers.*pip install evidex\[demo\]"):
        WordLlamaEncoder()


def test_wordllama_averages_token_vectors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With stand-ins for the two libraries, so that our own arithmetic is checked everywhere."""
    _stand_in(monkeypatch, tmp_path)
    table = np.zeros((3, 256), dtype=np.float16)
    table[0, 0], table[1, 1], table[2, :2] = 3, 4, (-3, -4)

    class Tensors:
        def get_tensor(self, key: str) -> Any:
            return {"embedding.weight": table}[key]

    class Tokenizer:
        @staticmethod
        def from_file(path: str) -> Tokenizer:
            assert path.endswith("tokenizer_config.json")
            return Tokenizer()

        def encode(self, text: str, add_special_tokens: bool) -> Any:
            assert not add_special_tokens
            return SimpleNamespace(ids=[int(char) for char in text])

    tokenizers, safetensors = ModuleType("tokenizers"), ModuleType("safetensors")
    tokenizers.Tokenizer = Tokenizer  # type: ignore[attr-defined]
    safetensors.safe_open = lambda path, framework: nullcontext(Tensors())  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tokenizers", tokenizers)
    monkeypatch.setitem(sys.modules, "safetensors", safetensors)
    rows = WordLlamaEncoder().encode(["01", "0", "012"])
    assert rows.dtype == np.float32 and rows.shape == (3, 256)
    assert rows[0, :2].tolist() == [np.float32(0.6), np.float32(0.8)]
    assert rows[1, 0] == 1 and np.linalg.norm(rows[2]) == 1


@pytest.mark.skipif(
    importlib.util.find_spec("wordllama") is None,
    reason="the extra 'demo' is not installed: pip install evidex[demo]",
)
def test_wordllama_for_real() -> None:
    level = logging.getLogger().level
    encoder = get_encoder("wordllama")
    assert logging.getLogger().level == level and "wordllama" not in sys.modules
    assert (encoder.name, encoder.dim) == ("wordllama", 256)
    rows = encoder.encode(DOCS)
    assert rows.shape == (5, 256) and rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert best("How long until I get my money back for a returned package?", encoder) == 0
    with pytest.raises(InvalidInput, match=r"texts\[0\]"):
        encoder.encode([""])
