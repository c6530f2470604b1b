# SPDX-License-Identifier: Apache-2.0
"""docs/kernels.md says what the sources do, and a page that does not is found out."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import kernels_doc
from kernels_doc import Counted, Listing

from evidex import _core

ROOT = kernels_doc.ROOT
COMPILER = shutil.which("g++") or shutil.which("c++")

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="no compiler"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the page is about the sets of x86-64"),
]


@pytest.fixture(scope="module")
def listing(tmp_path_factory: pytest.TempPathFactory) -> Listing:
    """From a quick build, not optimised: what it lists is the same."""
    folder = tmp_path_factory.mktemp("kernel_counts")
    sources = [ROOT / "benchmarks" / "kernel_counts.cpp", ROOT / "cpp" / "cpu" / "features.cpp"]
    sources += sorted((ROOT / "cpp" / "kernels" / "arch").glob("*.cpp"))

    def compiled(source: Path) -> Path:
        target = folder / f"{source.stem}.o"
        options = ["-std=c++20", "-O0", "-w", "-I", str(ROOT / "cpp")]
        subprocess.run([str(COMPILER), *options, "-c", str(source), "-o", str(target)], check=True)
        return target

    with ThreadPoolExecutor() as pool:
        objects = list(pool.map(compiled, sources))
    subprocess.run([str(COMPILER), *objects, "-o", folder / "kernel_counts"], check=True)
    return kernels_doc.listing_of(folder / "kernel_counts")


@pytest.fixture
def page() -> str:
    return kernels_doc.PAGE.read_text(encoding="utf-8")


def test_the_page_says_what_the_sources_do(page: str, listing: Listing) -> None:
    """Slots, native or generic, bytes. `python tools/kernels_doc.py` writes the page anew."""
    assert kernels_doc.structure_diff(page, listing) == ""


def test_the_page_lists_what_evidex_info_prints(listing: Listing) -> None:
    isas = _core.isas()
    assert [isa["name"] for isa in isas] == list(listing.sets)
    for i, isa in enumerate(isas):
        assert isa["slots"] == {slot.name: slot.kinds[i] for slot in listing.slots}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("| reach | which scores reach a threshold | native |", "| reach | which scores reach a threshold | generic |"),
        ("| nibble scan | one plane | 64 |", "| nibble scan | one plane | 128 |"),
        ("| unpack | the facts | 8 | 8 | 8 |\n", ""),
        ("### `avx512`\n", "### `avx`\n"),
        ("| reach | row |", "| reached | row |"),
        ("| reach | row |", "| reach | pair |"),
        ("blocks of 64 rows", "blocks of 32 rows"),
        ("\nCounted with ", "\nCounted by "),
    ],
)
def test_a_page_that_is_behind_is_found(page: str, listing: Listing, old: str, new: str) -> None:
    assert old in page
    assert kernels_doc.structure_diff(page.replace(old, new), listing) != ""


def test_a_slot_that_the_page_has_no_numbers_of_is_found(page: str, listing: Listing) -> None:
    novel = replace(listing, slots=[*listing.slots, replace(listing.slots[-1], name="novel")])
    assert kernels_doc.structure_diff(page, novel).count("+| novel |") == 4  # two tables, and two sets with counts
    written = kernels_doc.render(novel, kernels_doc.parse(page))
    assert "novel" in kernels_doc.structure_diff(written, novel)


def test_only_counts_beyond_the_tolerance_are_problems() -> None:
    def counted(number: str, flags: str = "-O3") -> Counted:
        return Counted("GCC 1", flags, "3", {"avx2": {"reach": [number] * 3}, "avx512": "not counted: no valgrind"})

    page = counted("100")
    assert kernels_doc.count_problems(page, counted("101.9")) == []
    assert kernels_doc.count_problems(page, counted("98.1")) == []
    assert len(kernels_doc.count_problems(page, counted("102.1"))) == 3
    assert len(kernels_doc.count_problems(page, counted("97.9"))) == 3
    assert kernels_doc.count_problems(page, counted("100", "-O2")) == ["flags: the page has `-O3`, the build `-O2`"]
    nowhere = replace(page, sets={"avx2": "not counted: the machine had no AVX2"})
    assert kernels_doc.count_problems(page, nowhere) == []
    assert len(kernels_doc.count_problems(nowhere, page)) == 1


@pytest.mark.long
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="no valgrind")
def test_the_instructions_are_as_the_page_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Builds as the wheel is built and counts; says so where another compiler than the page's is in use."""
    status = kernels_doc.main(["--check", "--build", str(tmp_path / "build")])
    said = capsys.readouterr().out
    assert (status, said if "not compared" not in said else "") == (0, "")
