# SPDX-License-Identifier: Apache-2.0
"""An optional log of what was read, by whom: append-only JSON lines with a keyed hash chain.

It holds ids and scores, never text or vectors. A line is one JSON object in ASCII without spaces, its keys in this
order; what an action does not have is null.

Every line
    version     int, of this format: 1
    seq         int, 0 for the first line ever, then one more each
    time        UTC, ISO 8601 to the microsecond, when it was written
    prev        SHA-256 of the line before, newline included (across files too): 64 hex digits, 64 zeros at seq 0
    action      ``open``, ``resume``, or a read: ``search``, ``radius``, ``explain``, ``get``, ``ids``, ``count``,
                ``items`` (each batch)
    seal        the last key. HMAC-SHA256 under the key (without a key SHA-256) of the object without it: the bytes of
                the line with ``,"seal":"..."`` and the newline left out. As ``prev`` is among them, a seal stands for
                all that came before

Open: the first line of every file
    file        int, numbers files from 1
    oldest      int, the first file that retention has not taken
    keyed       bool, whether seals are made with a key
    torn        as in resume, if the file began with a torn line; else null

Resume: written by the process that found a torn end
    torn        what lies between the line before and this one: object of ``bytes`` and ``sha256``. A line that was not
                ended was ended by ``~`` and a newline, both counted

Read
    who         ``{"id", "tenant", "groups"}``, groups sorted; ``"UNRESTRICTED"``; null on an open index
    layout, generation    of the snapshot that was read
    plan        how it was searched, or null
    k           hits asked for per query, or null
    count       what ``count`` returned, or null
    part, parts    a read that is too long for one line (1 MiB) goes on in the next: part 0 to parts - 1. One whose last
                part is not there was interrupted and returned nothing
    query       number of the query that the first list belongs to; if the part before ended with the same query, the
                list goes on with it
    ids         a list per query, best first; ``get``, ``ids`` and ``items`` have one list; or null
    scores      a list per query; the numbers are float32 values, exactly; or null

``PATH`` is the newest file. Full ones are renamed to ``PATH.000001``, ``PATH.000002`` and so on, oldest first, and
``PATH.lock`` is held by the one process that writes. ``tail -n 1 PATH | sha256sum`` prints the head, which commits to
every line: note it where those who can write the log cannot, and give it to :func:`verify`.
"""

from __future__ import annotations

from .checking import verify
from .log import RetrievalLog
from .report import Problem, Report

__all__ = ["Problem", "Report", "RetrievalLog", "verify"]
