# SPDX-License-Identifier: Apache-2.0
"""``python -m evidex.cli`` where the ``evidex`` script is not on the PATH."""

import sys

from . import main

sys.exit(main())
