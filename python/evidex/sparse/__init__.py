# SPDX-License-Identifier: Apache-2.0
"""The sparse leg: exact top-k by words, or by sparse vectors, under the rules of everybody else."""

from .index import SparseIndex

__all__ = ["SparseIndex"]
