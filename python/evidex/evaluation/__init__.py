# SPDX-License-Identifier: Apache-2.0
"""Measuring retrieval on labelled questions."""

from .calibration import Calibration, calibrate_floor
from .metrics import MeanMetrics, Metrics, mean_metrics, metrics
from .overlap import jaccard, token_overlap

__all__ = [
    "Calibration",
    "MeanMetrics",
    "Metrics",
    "calibrate_floor",
    "jaccard",
    "mean_metrics",
    "metrics",
    "token_overlap",
]
