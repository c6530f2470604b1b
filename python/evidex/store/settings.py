# SPDX-License-Identifier: Apache-2.0
"""What a collection is as a whole, decided when it is made: how vectors are kept, which encoder they are from."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from datetime import date
from typing import Any

from .. import _arrays, _checks, _core
from ..columns import Columns
from ..encoders import Encoder
from ..errors import CorruptFile, EncoderMismatch, InvalidInput
from ..text import Analyzer

__all__ = ["EncoderIdentity", "Settings", "identity_of"]

_METRICS = {name: full for full, alias, *_ in _core.metrics() for name in (full, alias)}
_METRIC_NUMBERS: dict[str, int] = {name: number for name, _, number, _ in _core.metrics()}
_CODECS: dict[str, int] = {**dict(_core.codecs())}
_TYPES: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool, "date": date}


@dataclass(frozen=True, slots=True)
class EncoderIdentity:
    """All that decides what vector a text gets. Two encoders with the same identity are the same.

    Attributes:
        name: Of the model.
        dim: Components per vector.
        revision: Version of its weights.
        pooling: How token vectors become one, such as ``"mean"`` or ``"cls"``.
        normalised: Whether vectors have unit length.
        query_prefix, document_prefix: What is put before texts.
        truncation: Most tokens that are read, None for all.
        tokenizer: Name and version of it.
    """

    name: str
    dim: int
    revision: str = ""
    pooling: str = ""
    normalised: bool = True
    query_prefix: str = ""
    document_prefix: str = ""
    truncation: int | None = None
    tokenizer: str = ""


def identity_of(encoder: Encoder) -> EncoderIdentity:
    """What an encoder says it is: its ``identity``, or its name and dim where it has none.

    Raises:
        InvalidInput: If it does not have the methods of an Encoder.
    """
    if not callable(getattr(encoder, "encode", None)):
        _checks.refuse("encoder", encoder, "an Encoder or its name", "it needs name, dim and encode(texts)")
    identity = getattr(encoder, "identity", None)
    if isinstance(identity, EncoderIdentity):
        return identity
    name = _checks.utf8(getattr(encoder, "name", None), "encoder.name")
    return EncoderIdentity(name, _checks.whole(getattr(encoder, "dim", None), "encoder.dim", least=1))


@dataclass(frozen=True, slots=True)
class Settings:
    """How rows are kept; ``analyzer`` is the identity of what cuts texts into words, where those are kept."""

    dim: int
    metric: str
    codec: str
    guarded: bool
    columns: dict[str, str]
    encoder: EncoderIdentity | None
    analyzer: str | None = None

    @classmethod
    def of(
        cls,
        dim: object,
        metric: object,
        codec: object,
        guarded: bool,
        columns: Columns | None,
        identity: EncoderIdentity | None,
        analyzer: Analyzer | None = None,
    ) -> Settings:
        """Those of a new collection.

        Raises:
            InvalidInput: For an unknown metric or codec, or where nothing tells the dimension.
        """
        if not isinstance(metric, str) or metric not in _METRICS:
            raise InvalidInput(f"metric: expected one of {', '.join(_METRICS)}, got {metric!r}")
        if not isinstance(codec, str) or codec not in _CODECS:
            raise InvalidInput(f"codec: expected one of {', '.join(_CODECS)}, got {codec!r}")
        if columns is not None and (not isinstance(columns, Columns) or columns.rows > 0):
            raise InvalidInput(f"columns: expected Columns without rows, or None, got {columns!r}")
        if analyzer is not None and not isinstance(analyzer, Analyzer):
            _checks.refuse("analyzer", analyzer, "an Analyzer, or None", "see evidex.text.Analyzer")
        if dim is None and identity is None:
            raise InvalidInput("dim: a new collection needs an encoder, or the dim of the vectors it will be given")
        number = identity.dim if identity is not None else _checks.whole(dim, "dim", least=1, most=2**20)
        if dim is not None and _checks.whole(dim, "dim", least=1) != number:
            raise InvalidInput(f"dim: {dim} was given, but the encoder's vectors have {number} components")
        types = {} if columns is None else {name: kind.__name__ for name, kind in columns.types.items()}
        words = None if analyzer is None else analyzer.identity
        return cls(number, _METRICS[metric], codec, guarded, types, identity, words)

    @classmethod
    def without_vectors(cls, guarded: bool, columns: Columns | None, analyzer: Analyzer | None) -> Settings:
        """Those of rows that have none.

        Raises:
            InvalidInput: As :meth:`of`, for columns and analyzer.
        """
        return replace(cls.of(1, "inner_product", "float32", guarded, columns, None, analyzer), dim=0)

    @property
    def unit_rows(self) -> bool:
        """Whether rows are divided by their norm."""
        return self.metric == "cosine"

    def require_encoder(self, identity: EncoderIdentity) -> None:
        """Refuses an encoder that did not make the vectors.

        Raises:
            EncoderMismatch: Naming every part that differs.
        """
        if self.encoder is None:
            raise EncoderMismatch(
                "encoder: this collection was made without one and holds vectors of unknown origin; open it without"
            )
        differ = [
            f"{one.name} {getattr(self.encoder, one.name)!r} stored, {getattr(identity, one.name)!r} given"
            for one in fields(EncoderIdentity)
            if getattr(self.encoder, one.name) != getattr(identity, one.name)
        ]
        if differ:
            raise EncoderMismatch(
                f"encoder: not the one this collection was made with ({'; '.join(differ)}); pass that one, or make a "
                "new collection"
            )

    def require_same(self, dim: object, metric: object, codec: object, columns: Columns | None) -> None:
        """Refuses arguments that were given and are not what is stored.

        Raises:
            InvalidInput: Naming the first.
        """
        given = Settings.of(
            self.dim if dim is None else dim,
            metric or self.metric,
            codec or self.codec,
            self.guarded,
            self.new_columns() if columns is None else columns,
            None,
        )
        for what in ("dim", "metric", "codec", "columns"):
            if getattr(given, what) != getattr(self, what):
                raise InvalidInput(
                    f"{what}: this collection was made with {getattr(self, what)!r}, not {getattr(given, what)!r}; "
                    "leave it out"
                )

    def new_store(self, prescan: bool, reference: _arrays.Floats | None) -> _core.RowStore:
        """A store for such rows; codes refer to ``reference``, if that is decided."""
        return _core.RowStore(self.dim, _METRIC_NUMBERS[self.metric], _CODECS[self.codec], prescan, reference)

    def new_columns(self) -> Columns | None:
        """Columns without rows, None where there are none."""
        return Columns({name: _TYPES[kind] for name, kind in self.columns.items()}) if self.columns else None

    def to_json(self) -> str:
        """For the catalog."""
        encoder = (
            None
            if self.encoder is None
            else {one.name: getattr(self.encoder, one.name) for one in fields(self.encoder)}
        )
        return json.dumps(
            {
                "dim": self.dim,
                "metric": self.metric,
                "codec": self.codec,
                "guarded": self.guarded,
                "columns": self.columns,
                "encoder": encoder,
                **({} if self.analyzer is None else {"analyzer": self.analyzer}),
            }
        )

    @classmethod
    def from_json(cls, given: Any, path: str, *, vectors: bool = True) -> Settings:
        """From the catalog; without ``vectors`` those of rows that have none.

        Raises:
            CorruptFile: If it is not what :meth:`to_json` makes.
        """
        try:
            encoder = None if given["encoder"] is None else EncoderIdentity(**given["encoder"])
            found = cls(given["dim"], given["metric"], given["codec"], given["guarded"], given["columns"], encoder)
            found = replace(found, analyzer=given.get("analyzer"))
            sound = (
                type(found.dim) is int
                and (1 if vectors else 0) <= found.dim <= (2**20 if vectors else 0)
                and found.metric in _METRICS
                and found.codec in _CODECS
                and isinstance(found.guarded, bool)
                and all(kind in _TYPES for kind in found.columns.values())
                and (encoder is None or encoder.dim == found.dim)
                and (found.analyzer is None or (isinstance(found.analyzer, str) and found.analyzer != ""))
            )
        except (TypeError, KeyError, AttributeError) as error:
            raise CorruptFile(f"{path}: its settings: {error!r}; restore the file from a copy") from error
        if not sound:
            raise CorruptFile(f"{path}: its settings are {given!r}; restore the file from a copy")
        return found
