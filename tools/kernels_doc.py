# SPDX-License-Identifier: Apache-2.0
"""Writes docs/kernels.md: the kernel slots of each instruction set, what they read and how many instructions they take.

    python tools/kernels_doc.py            builds benchmarks/kernel_counts.cpp, counts with valgrind, writes the page
    python tools/kernels_doc.py --check    fails with a diff where the page no longer says what the sources do

What the compiler has no part in (slots, native or generic, bytes) is always compared. Instructions are compared when
valgrind is installed and the compiler is the one the page names.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "kernels.md"
DIMS = (128, 384, 1536)
BLOCKS = (1, 5)  # what starting takes, and what the first block does for all, is the same in both
TOLERANCE = 0.02
NOT_HERE = 3  # kernel_counts: the set does not run here

INTRODUCTION = """\
# Kernels

Written by `python tools/kernels_doc.py`, which needs valgrind and takes about two minutes; change that, not this
page. `python tools/kernels_doc.py --check` tells whether the page still holds; `make test` compares all but the
instructions, `make test-long` those too.

A kernel is a small function that does the arithmetic of a search. For every instruction set there is a table with the
same places for kernels, the *slots* (`cpp/kernels/table.hpp`). Which table runs is decided when the library is first
used, and `evidex info` tells. All give the same bits, so a table is a matter of time only.

## Slots

*native*: written with the registers of that set, or a plain loop that the compiler turns into its instructions.
*generic*: plain C++ for any processor.
"""

BYTES = """
## Bytes read per row

Of one row, as it is stored; each byte once, also where a kernel passes over it twice. Not counted is what rows share
(the query, the reference), the pointers to rows that lie anywhere, and what is written.
"""

INSTRUCTIONS = """
## Instructions per row

What the processor executes, counted by valgrind's callgrind in runs of `benchmarks/kernel_counts.cpp`, which calls one
kernel over blocks of {rows} rows, as a search does, and a tile with {queries} queries. A run of {few} block is taken
from a run of {many}, and what is left divided by the rows of {more} blocks, for a tile by the pairs of query and row;
the call itself is part of it. The numbers depend on the compiler, not on the processor. They are no times: an
instruction of a larger set does more, and where rows come from memory the bytes decide.

Counted with {compiler} and valgrind {valgrind}, flags
`{flags}`.
"""

MADE_WITH = re.compile(
    r"^Counted with (?P<compiler>.+) and valgrind (?P<valgrind>\S+), flags\n`(?P<flags>.*)`\.$", re.M
)
NEVER = "never counted"  # what a page gets for a slot it has no numbers of


@dataclass(frozen=True)
class Slot:
    name: str
    does: str
    reads: str
    tile: bool
    kinds: list[str]  # native or generic, in the order of the sets
    bytes: list[int]  # of a row, in the order of DIMS

    @property
    def knows_dim(self) -> bool:
        """Whether its work depends on the dimension; otherwise counting once is enough."""
        return len(set(self.bytes)) > 1


@dataclass(frozen=True)
class Listing:
    """What the program says of itself."""

    compiler: str
    rows: int
    queries: int
    sets: dict[str, bool]  # whether it runs on this machine
    slots: list[Slot]


@dataclass(frozen=True)
class Counted:
    """What depends on the compiler, as the page has it: for each set its slots' numbers, or why there are none."""

    compiler: str
    flags: str
    valgrind: str
    sets: dict[str, dict[str, list[str]] | str]


def listing_of(program: Path) -> Listing:
    dims = [str(dim) for dim in DIMS]
    done = subprocess.run([program, "--list", *dims], capture_output=True, text=True, check=True)
    listed = json.loads(done.stdout)
    sets = {one["name"]: one["runs"] for one in listed["sets"]}
    slots = [Slot(**slot) for slot in listed["slots"]]
    return Listing(listed["compiler"], listed["rows"], listed["queries"], sets, slots)


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |\n" for row in [head, *rows]]
    return "".join([lines[0], "|" + "---|" * len(head) + "\n", *lines[1:]])


def render(listing: Listing, counted: Counted) -> str:
    dims = [f"dim {dim}" for dim in DIMS]
    sets = [f"`{name}`" for name in listing.sets]
    page = INTRODUCTION + "\n"
    page += table(["slot", "gives", *sets], [[slot.name, slot.does, *slot.kinds] for slot in listing.slots])
    page += BYTES + "\n"
    reads = [[slot.name, slot.reads, *map(str, slot.bytes)] for slot in listing.slots]
    page += table(["slot", "reads", *dims], reads)
    page += INSTRUCTIONS.format(
        rows=listing.rows,
        queries=listing.queries,
        few=BLOCKS[0],
        many=BLOCKS[1],
        more=BLOCKS[1] - BLOCKS[0],
        compiler=counted.compiler,
        flags=counted.flags,
        valgrind=counted.valgrind,
    )
    for name in listing.sets:
        page += f"\n### `{name}`\n\n"
        counts = counted.sets.get(name, {})
        if isinstance(counts, str):
            page += counts + "\n"
        else:
            none = [NEVER] * len(DIMS)
            rows = [[slot.name, "pair" if slot.tile else "row", *counts.get(slot.name, none)] for slot in listing.slots]
            page += table(["slot", "per", *dims], rows)
    return page


def parse(page: str) -> Counted:
    """What render() was given; what a page does not say comes back empty."""
    made = MADE_WITH.search(page)
    compiler, flags, valgrind = made.group("compiler", "flags", "valgrind") if made else ("", "", "")
    sets: dict[str, dict[str, list[str]] | str] = {}
    for section in re.split(r"^### ", page, flags=re.M)[1:]:
        name, body = section.lstrip("`").split("`", maxsplit=1)
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in re.findall(r"^\| .*\|$", body, flags=re.M)]
        sets[name] = {row[0]: row[2:] for row in rows[1:]} if rows else body.strip()
    return Counted(compiler, flags, valgrind, sets)


def structure_diff(page: str, listing: Listing) -> str:
    """Where the page differs from what the sources say, its own counts taken as right."""
    expected = render(listing, parse(page))
    old, new = page.splitlines(), expected.splitlines()
    diff = list(difflib.unified_diff(old, new, "docs/kernels.md", "the sources", lineterm=""))
    return "\n".join(diff + [f"docs/kernels.md: {line}" for line in old if NEVER in line])


def count_problems(page: Counted, now: Counted) -> list[str]:
    """Counts that left the tolerance around the page's. A set that cannot be counted here is passed over."""
    if page.flags != now.flags:
        return [f"flags: the page has `{page.flags}`, the build `{now.flags}`"]
    problems = []
    for name, counts in now.sets.items():
        stated = page.sets.get(name, {})
        if isinstance(counts, str):
            continue
        if isinstance(stated, str):
            problems.append(f"{name}: the page says '{stated}', but here it was counted")
            continue
        for slot, numbers in counts.items():
            for dim, number, old in zip(DIMS, numbers, stated[slot], strict=True):
                if abs(float(number) - float(old)) > TOLERANCE * float(old):
                    problems.append(f"{name}, {slot}, dim {dim}: the page has {old} instructions, counted {number}")
    return problems


def callgrind(program: Path, *arguments: str) -> int | None:
    """Instructions of a run; nothing where the set does not run under valgrind."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == NOT_HERE:
        return None
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        raise RuntimeError(f"{shlex.join(command)} failed:\n{done.stderr}")
    return int(found[1])


def per_unit(program: Path, listing: Listing, set_name: str, slot: Slot, dim: int) -> str:
    few, many = (callgrind(program, set_name, slot.name, str(dim), str(blocks)) for blocks in BLOCKS)
    assert few is not None
    assert many is not None
    units = (BLOCKS[1] - BLOCKS[0]) * listing.rows * (listing.queries if slot.tile else 1)
    number = (many - few) / units
    return f"{number:.2f}" if number < 100 else f"{number:.0f}"


def counts_of(program: Path, listing: Listing, jobs: int) -> dict[str, dict[str, list[str]] | str]:
    sets: dict[str, dict[str, list[str]] | str] = {}
    with ThreadPoolExecutor(jobs) as pool:
        for name, runs in listing.sets.items():
            shown = name.upper().replace("AVX512", "AVX-512")
            if not runs:
                sets[name] = f"not counted: the machine had no {shown}"
            elif callgrind(program, name, listing.slots[0].name, str(DIMS[0]), "1") is None:
                sets[name] = f"not counted: valgrind has no {shown}"
            else:
                wanted = [(slot, dim) for slot in listing.slots for dim in (DIMS if slot.knows_dim else DIMS[:1])]
                found = pool.map(lambda one, name=name: per_unit(program, listing, name, *one), wanted)
                numbers: dict[str, list[str]] = {}
                for (slot, _), number in zip(wanted, found, strict=True):
                    numbers.setdefault(slot.name, []).append(number)
                sets[name] = {slot: of * (len(DIMS) // len(of)) for slot, of in numbers.items()}
    return sets


def build(folder: Path, jobs: int) -> tuple[Path, str]:
    """The program, and the flags its kernels were compiled with: those of the wheel."""
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    cmake = shutil.which("cmake", path=beside) or "cmake"
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DEVIDEX_PYTHON=OFF", "-DEVIDEX_TESTS=ON"]
    for command in (
        [cmake, "-S", str(ROOT), "-B", str(folder), *options],
        [cmake, "--build", str(folder), "--target", "kernel_counts", "-j", str(jobs)],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{shlex.join(command)} failed:\n{done.stdout}{done.stderr}")
    for entry in json.loads((folder / "compile_commands.json").read_text()):
        if entry["file"].endswith("kernels/arch/scalar.cpp"):
            words = shlex.split(entry["command"])
            flags = [word for word in words if re.match(r"-(?:O|D|f|m|std)", word)]
            return folder / "kernel_counts", " ".join(flags)
    raise RuntimeError("compile_commands.json names no kernels/arch/scalar.cpp")


def counted(program: Path, flags: str, listing: Listing, jobs: int) -> Counted:
    version = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=True).stdout
    return Counted(
        listing.compiler, flags, version.strip().removeprefix("valgrind-"), counts_of(program, listing, jobs)
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the page instead of writing it")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "kernels", help="build folder (%(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time (%(default)s)")
    options = parser.parse_args(arguments)
    program, flags = build(options.build, options.jobs)
    listing = listing_of(program)
    can_count = shutil.which("valgrind") is not None
    if not options.check:
        if not can_count:
            parser.error("valgrind is not installed, and only it can count")
        PAGE.write_text(render(listing, counted(program, flags, listing, options.jobs)), encoding="utf-8")
        return 0
    page = PAGE.read_text(encoding="utf-8")
    stated = parse(page)
    if diff := structure_diff(page, listing):
        print(diff)
    problems = []
    if diff:
        pass
    elif can_count and stated.compiler == listing.compiler:
        problems = count_problems(stated, counted(program, flags, listing, options.jobs))
    else:
        why = f"the page is {stated.compiler}'s, this is {listing.compiler}" if can_count else "no valgrind"
        print(f"instructions not compared: {why}")
    print(*problems, sep="\n", end="\n" if problems else "")
    if diff or problems:
        print("python tools/kernels_doc.py writes the page anew")
    return 1 if diff or problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
