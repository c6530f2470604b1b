# SPDX-License-Identifier: Apache-2.0
"""What ``evidex bench`` runs: data, masks, systems in processes of their own, checked answers, records.

The parent (:mod:`.harness`) starts one child (:mod:`.worker`) per system (:mod:`.peers`), so that thread pools and
memory of different libraries never mix, times them in turns, checks what they answered (:mod:`.truth`), and writes
one record (:mod:`.records`) per system and setting. :mod:`.ann` does the same over grids of parameters. What both share
is in :mod:`.systems`.
"""
