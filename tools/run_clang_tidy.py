# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over every file of a compilation database, a few at a time, and prints only what it finds.

python tools/run_clang_tidy.py BUILD_DIRECTORY JOBS

The clang-tidy wheel brings Clang's own headers; those of the C++ library come from the compiler that the database
names, found by asking it.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def arguments_for(compiler: str) -> list[str]:
    """Tells Clang where the GCC installation lies whose library headers the build uses; nothing for Clang itself."""
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    if "clang" in version:
        return []
    library = subprocess.run([compiler, "-print-libgcc-file-name"], capture_output=True, text=True, check=True).stdout
    return [f"--extra-arg=--gcc-install-dir={Path(library.strip()).resolve().parent}"]


def main() -> int:
    build, jobs = Path(sys.argv[1]), int(sys.argv[2])
    entries = json.loads((build / "compile_commands.json").read_text())
    tidy: list[str | Path] = [Path(sys.executable).with_name("clang-tidy"), "--quiet", "-p", build]
    tidy += arguments_for(shlex.split(entries[0]["command"])[0])

    def check(file: str) -> tuple[int, str]:
        done = subprocess.run([*tidy, file], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout or (done.stderr if done.returncode else "")

    # The files that include pybind11 take longest: they go first.
    files = sorted({entry["file"] for entry in entries}, key=lambda file: ("bindings" not in file, file))
    with ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(check, files))
    for status, output in results:
        if status:
            print(output, end="")
    return max(status for status, _ in results)


if __name__ == "__main__":
    sys.exit(main())
