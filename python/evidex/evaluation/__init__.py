# SPDX-License-Identifier: Apache-2.0
"""Measuring retrieval on labelled questions."""

from .calibration import Calibration, calibrate_floor
from .metrics import MeanMetrics, Metrics, mean_metrics, metrics

__all__ = ["Calibration", "MeanMetrics", "Metrics", "calibrate_floor", "mean_metrics", "metrics"]
