# SPDX-License-Identifier: Apache-2.0
"""How much the property tests try: little and always the same by default, much and new with EVIDEX_LONG=1."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# A loaded machine is slow at times: that is no finding.
settings.register_profile(
    "short",
    max_examples=50,
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "long",
    max_examples=1000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("long" if os.environ.get("EVIDEX_LONG") == "1" else "short")
