# SPDX-License-Identifier: Apache-2.0
"""Looks into built objects for what the sources promise but only the machine code can show.

* Instructions of an optional instruction set occur in that set's own namespace and nowhere else, so a
  processor without it never meets one (no AVX at all in baseline code, no AVX-512 encoding in what
  AVX2 processors run); and the set's functions do use it (a set that silently ran generic code would
  still give right answers).
* An arch object defines no symbol outside its own namespace: the linker could otherwise keep its copy
  of an inline function, compiled for the better processor, for everyone.
* Nothing runs when the library is loaded: no dynamic initialisers.
* The library needs the C and C++ run time and nothing else; no OpenMP.

Use: ``python tests/tools/check_symbols.py build/libevidex_core.a python/evidex/_core*.so``.
Give it objects, archives or shared libraries of an optimised build without sanitizers. In a stripped
library instructions cannot be told apart by function: check its archive too.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

#: Optional instruction sets with a namespace and an arch file of their own, and what each must use.
SETS = {"avx2": re.compile(r"\tvfmadd\w+ .*%ymm"), "avx512": re.compile(r"\tvfmadd\w+ .*%zmm")}
#: Sets whose functions may hold EVEX encodings; others only VEX.
EVEX_SETS = {"avx512"}

ALLOWED_LIBRARIES = re.compile(r"(libstdc\+\+|libgcc_s|libm|libc|libpthread|ld-linux[\w-]*)\.so(\.\d+)*")

TOOLS = ("nm", "objdump", "readelf")

_REGISTERS = re.compile(r"%[yz]mm|%k[0-7]")
_EVEX_OPERANDS = re.compile(r"%zmm|%[xy]mm(1[6-9]|2\d|3[01])\b|%k[0-7]|\{1to\d+\}")
# Have no VEX form, whatever their registers.
_EVEX_MNEMONIC = re.compile(
    r"vp?(ternlog|ro[lr]v?[dq]|conflict|lzcnt|popcnt|compress|expand|align[dq]|blendm|testn?m|permt2|permi2)\w*"
    r"|v(scalef|getexp|getmant|rndscale|range|reduce|fixupimm|fpclass|rcp14|rsqrt14|mov(dqa|dqu)(8|16|32|64))\w*"
    r"|vp(abs|max[su]|min[su]|mull|sra|srav)q|vp(srav|srlv|sllv)w|vperm[bw]|vpdp(bu|ws)s?ds?"
    r"|vpmov(u?s?[wdq][bwd]|[bwdq]2m|m2[bwdq])|v(broadcast|extract|insert|shuf)[fi](32|64)x\d|vcvt\w*(2u|u\w+2|qq)\w*"
)
# Begin with v and are no vector instructions.
_OTHER_V = re.compile(
    r"ver[rw]|vm(call|launch|resume|xo[nf]f?|read|write|ptrld|ptrst|clear|func|mcall|load|save|run)[bwlq]?"
)
# General-purpose instructions with a VEX prefix (BMI1, BMI2).
_VEX_GENERAL = re.compile(r"(andn|bextr|blsi|blsmsk|blsr|bzhi|mulx|pdep|pext|rorx|sarx|shlx|shrx)[lq]?")
_FUNCTION = re.compile(r"[0-9a-f]+ <(?P<name>.+)>:")
_INSTRUCTION = re.compile(r"\s*[0-9a-f]+:\t(?P<mnemonic>\S+)\s*(?P<operands>[^#<]*)")
# nm writes "member.o:", objdump "member.o:     file format ...", readelf "File: archive(member.o)".
_ARCHIVE_MEMBER = re.compile(r"File: .*\((?P<inner>[^()]+)\)|(?P<outer>[^():]+\.o):(\s+file format.*)?")


def missing_tools() -> list[str]:
    """Names of the binutils programs that are not installed."""
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def _lines(*command: str) -> Iterator[str]:
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return iter(done.stdout.splitlines())


def is_vex(mnemonic: str, operands: str) -> bool:
    """Whether an instruction, as objdump prints it, needs more than the baseline's registers or encoding."""
    if _REGISTERS.search(operands):
        return True
    if mnemonic.startswith("{"):  # objdump's encoding hints, as in {vex} vpdpbusd
        return True
    if _VEX_GENERAL.fullmatch(mnemonic):
        return True
    return mnemonic.startswith("v") and not _OTHER_V.fullmatch(mnemonic)


def is_beyond_avx2(mnemonic: str, operands: str) -> bool:
    """Whether a vector instruction has an encoding that processors with AVX2 alone lack."""
    if mnemonic.startswith("{"):  # also {vex}, of instructions that came with AVX-512 first
        return True
    return bool(_EVEX_OPERANDS.search(operands) or _EVEX_MNEMONIC.fullmatch(mnemonic))


def home_of(symbol: str) -> str | None:
    """The instruction set in whose namespace a mangled name lies; its template arguments do not count.

    The compiler's own pieces of a function (``.constprop.0``, ``.isra.0``, ``.part.0``, ``.cold``) carry
    its name in front and belong to it, as do the guard and static variables of a function (``_ZGVZ``, ``_ZZ``).
    """
    for name in SETS:
        if re.match(rf"_Z(GV|T[VISH])?Z?N[rVK]*[RO]?6evidex7kernels{len(name)}{name}(?=\d|L|_|S|C|D|[a-z])", symbol):
            return name
    return None


def _members(lines: Iterator[str], default: str) -> Iterator[tuple[str, str]]:
    """(object file, line) for a tool's output on an object or on an archive of them."""
    member = default
    for line in lines:
        found = _ARCHIVE_MEMBER.fullmatch(line)
        if found:
            member = Path(found["inner"] or found["outer"]).name
        else:
            yield member, line


def _set_of_object(member: str) -> str | None:
    stem = member.split(".", maxsplit=1)[0]
    return stem if stem in SETS else None


def instruction_problems(path: Path) -> list[str]:
    """Vector instructions outside their set's namespace, and sets whose functions do not use them."""
    problems: list[str] = []
    present: set[str] = set()
    used: set[str] = set()
    reported: set[tuple[str, str]] = set()
    function = "(no symbol)"
    for member, line in _members(_lines("objdump", "-d", "--no-show-raw-insn", str(path)), path.name):
        if isa := _set_of_object(member):
            present.add(isa)
        start = _FUNCTION.fullmatch(line)
        if start:
            function = start["name"]
            home = home_of(function)
            if home:
                present.add(home)
            continue
        found = _INSTRUCTION.match(line)
        if not found:
            continue
        home = home_of(function)
        if home and SETS[home].search(line):
            used.add(home)
        if home in EVEX_SETS or (member, function) in reported:
            continue
        if (is_beyond_avx2 if home else is_vex)(found["mnemonic"], found["operands"]):
            reported.add((member, function))
            lacks = f"processor with {home} alone" if home else "baseline processor"
            problems.append(f"{member}: {function} holds '{' '.join(line.split()[1:])}', which a {lacks} lacks")
    problems += [f"{path.name}: no function of {name} uses its own multiply-add" for name in sorted(present - used)]
    return problems


def symbol_problems(path: Path) -> list[str]:
    """Weak and global symbols that an arch object defines outside its namespace."""
    problems = []
    for member, line in _members(_lines("nm", "--defined-only", str(path)), path.name):
        fields = line.split()
        if len(fields) != 3:
            continue
        _, kind, symbol = fields
        isa = _set_of_object(member)
        if isa is None or not (kind.isupper() or kind in "iuvw"):
            continue
        if home_of(symbol) != isa and not symbol.startswith("DW.ref."):  # the unwinder's, data of every C++ object
            problems.append(f"{member}: defines {symbol} ({kind}) outside namespace evidex::kernels::{isa}")
    return problems


def initialiser_problems(path: Path) -> list[str]:
    """Code that would run when the library is loaded."""
    problems = []
    for member, line in _members(_lines("nm", str(path)), path.name):
        if "_GLOBAL__sub_I" in line or "_GLOBAL__I" in line:
            problems.append(f"{member}: has the dynamic initialiser {line.split()[-1]}")
    for member, line in _members(_lines("readelf", "-S", "-W", str(path)), path.name):
        if member.endswith(".o") and re.search(r"\s\.(init_array|ctors|preinit_array)\b", line):
            problems.append(f"{member}: has a section of dynamic initialisers")
    return problems


def needed_problems(path: Path) -> list[str]:
    """Shared libraries that the library would bring along."""
    problems = []
    for line in _lines("readelf", "-d", "-W", str(path)):
        found = re.search(r"\(NEEDED\).*\[(.+)\]", line)
        if found and not ALLOWED_LIBRARIES.fullmatch(found[1]):
            problems.append(f"{path.name}: needs {found[1]}")
    return problems


def is_stripped(path: Path) -> bool:
    """Whether functions can no longer be told apart."""
    return not any(" .symtab" in line for line in _lines("readelf", "-S", "-W", str(path)))


def problems_of(path: Path) -> list[str]:
    """Everything found wrong with one object, archive or shared library."""
    if missing := missing_tools():
        raise RuntimeError("binutils programs are missing: " + ", ".join(missing))
    if not path.is_file():
        return [f"{path}: no such file"]
    shared = ".so" in path.name
    found = needed_problems(path) if shared else []
    if is_stripped(path):
        return found
    return found + instruction_problems(path) + symbol_problems(path) + initialiser_problems(path)


def main(arguments: list[str]) -> int:
    """Checks each file named; 0 when nothing is wrong."""
    if not arguments:
        print(__doc__)
        return 2
    if missing := missing_tools():
        print("skipped: binutils programs are missing: " + ", ".join(missing))
        return 0
    problems = []
    for name in arguments:
        path = Path(name)
        problems += problems_of(path)
        if path.is_file() and is_stripped(path):
            print(f"{path.name}: stripped, so only the libraries it needs were checked")
    for problem in problems:
        print(problem)
    print(f"{len(arguments)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
