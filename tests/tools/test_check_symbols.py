# SPDX-License-Identifier: Apache-2.0
"""The symbol check finds planted faults, and finds nothing in our own arch files."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import check_symbols

from evidex import _core

ROOT = Path(__file__).resolve().parents[2]
COMPILER = shutil.which("g++")

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="no g++"),
    pytest.mark.skipif(bool(check_symbols.missing_tools()), reason="no binutils"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the planted faults are for x86-64"),
]

KERNEL = """
namespace evidex::kernels::avx2 {
__attribute__((target("avx2,fma"))) void add(const float* a, float* out) {
  const __m256 v = _mm256_loadu_ps(a);
  _mm256_storeu_ps(out, _mm256_fmadd_ps(v, v, v));
}
}
"""


WIDE_KERNEL = """
namespace evidex::kernels::avx512 {
__attribute__((target("avx512f"))) void add(const float* a, float* out) {
  const __m512 v = _mm512_loadu_ps(a);
  _mm512_storeu_ps(out, _mm512_fmadd_ps(v, v, v));
}
}
"""


def compile_text(folder: Path, name: str, text: str, *flags: str) -> Path:
    source = folder / f"{name}.cpp"
    source.write_text("#include <immintrin.h>\n" + text)
    return compile_file(folder, source, *flags)


def compile_file(folder: Path, source: Path, *flags: str) -> Path:
    target = folder / f"{source.stem}.cpp.o"
    command = [str(COMPILER), "-std=c++20", "-O2", "-fPIC", *flags, "-c", str(source), "-o", str(target)]
    subprocess.run(command, check=True)
    return target


@pytest.mark.parametrize(("isa", "text"), [("avx2", KERNEL), ("avx512", WIDE_KERNEL)])
def test_a_kernel_in_its_namespace_is_fine(tmp_path: Path, isa: str, text: str) -> None:
    assert check_symbols.problems_of(compile_text(tmp_path, isa, text)) == []


def test_avx512_in_the_namespace_of_avx2_is_reported(tmp_path: Path) -> None:
    """Instructions that only the larger set has; the other way round they are welcome."""
    text = KERNEL + WIDE_KERNEL.replace("kernels::avx512", "kernels::avx2").replace("add(", "wider(")
    found = check_symbols.problems_of(compile_text(tmp_path, "avx2", text))
    assert len(found) == 1
    assert "avx25wider" in found[0]
    assert "processor with avx2 alone lacks" in found[0]
    narrow = WIDE_KERNEL + KERNEL.replace("kernels::avx2", "kernels::avx512").replace("add(", "narrower(")
    assert check_symbols.problems_of(compile_text(tmp_path, "avx512", narrow)) == []


def test_avx_outside_the_namespace_is_reported(tmp_path: Path) -> None:
    outside = "void leak(const float* a, float* b) { for (int i = 0; i < 8; ++i) b[i] = a[i] + 1; }"
    found = check_symbols.problems_of(compile_text(tmp_path, "outside", outside, "-mavx2", "-O3"))
    assert len(found) == 1
    assert "_Z4leakPKfPf" in found[0]


def test_a_scalar_vex_instruction_is_enough(tmp_path: Path) -> None:
    found = check_symbols.problems_of(
        compile_text(tmp_path, "scalar", "float leak(float a) { return a * a; }", "-mavx")
    )
    assert len(found) == 1
    assert "vmulss" in found[0]


def test_bit_manipulation_with_a_vex_prefix_is_reported(tmp_path: Path) -> None:
    text = "unsigned long leak(unsigned long a, unsigned long b) { return ~a & b; }"
    found = check_symbols.problems_of(compile_text(tmp_path, "bits", text, "-mbmi"))
    assert len(found) == 1
    assert "andn" in found[0]


def test_a_template_named_after_the_namespace_is_not_inside_it(tmp_path: Path) -> None:
    text = """
    namespace evidex::kernels::avx2 { struct Lanes { float v[8]; }; }
    template <class L> struct Box { static void twice(L& l) { for (float& x : l.v) x += x; } };
    template struct Box<evidex::kernels::avx2::Lanes>;
    """
    found = check_symbols.problems_of(compile_text(tmp_path, "avx2", text, "-mavx2", "-O3"))
    assert any("holds 'v" in problem for problem in found)
    assert any("defines _ZN3Box" in problem for problem in found)


@pytest.mark.parametrize(
    ("isa", "text"),
    [
        ("avx2", "namespace evidex::kernels::avx2 { float dot(float a, float b) { return a * b; } }"),
        ("avx512", KERNEL.replace("kernels::avx2", "kernels::avx512")),
    ],
)
def test_a_set_that_runs_generic_code_is_reported(tmp_path: Path, isa: str, text: str) -> None:
    found = check_symbols.problems_of(compile_text(tmp_path, isa, text))
    assert found == [f"{isa}.cpp.o: no function of {isa} uses its own multiply-add"]


def test_an_inline_function_of_an_arch_object_is_reported(tmp_path: Path) -> None:
    text = KERNEL + "inline int shared(int x) { return x + 1; }\nint (*keep)(int) = &shared;"
    found = check_symbols.problems_of(compile_text(tmp_path, "avx2", text))
    assert {problem.split()[2] for problem in found} == {"_Z6sharedi", "keep"}


@pytest.mark.parametrize("archive", [False, True])
def test_a_dynamic_initialiser_is_reported(tmp_path: Path, archive: bool) -> None:
    text = KERNEL + "namespace evidex::kernels::avx2 { int f(); extern int kept; int kept = f(); }"
    path = compile_text(tmp_path, "avx2", text)
    if archive:
        subprocess.run(["ar", "rcs", str(tmp_path / "lib.a"), str(path)], check=True)
        path = tmp_path / "lib.a"
    found = check_symbols.problems_of(path)
    assert [problem.split(":")[0] for problem in found] == ["avx2.cpp.o", "avx2.cpp.o"]
    assert "_GLOBAL__sub_I" in found[0]
    assert "section of dynamic initialisers" in found[1]


def test_needed_libraries(tmp_path: Path) -> None:
    plain = compile_text(tmp_path, "plain", "int one() { return 1; }")
    good = tmp_path / "good.so"
    subprocess.run([str(COMPILER), "-shared", str(plain), "-o", str(good)], check=True)
    assert check_symbols.problems_of(good) == []
    bad = tmp_path / "bad.so"
    built = subprocess.run(
        [str(COMPILER), "-shared", "-fopenmp", "-Wl,--no-as-needed", str(plain), "-o", str(bad)], check=False
    )
    if built.returncode != 0:
        pytest.skip("no libgomp")
    assert check_symbols.problems_of(bad) == ["bad.so: needs libgomp.so.1"]
    subprocess.run(["strip", str(bad)], check=True)
    assert check_symbols.problems_of(bad) == ["bad.so: needs libgomp.so.1"]


def test_a_missing_file_is_a_problem(tmp_path: Path) -> None:
    assert check_symbols.problems_of(tmp_path / "none.o") == [f"{tmp_path / 'none.o'}: no such file"]


@pytest.mark.parametrize(
    ("mnemonic", "operands", "expected"),
    [
        ("vaddps", "%ymm0,%ymm1,%ymm2", True),
        ("vmovss", "(%rax),%xmm0", True),
        ("vzeroupper", "", True),
        ("kmovw", "%k1,%eax", True),
        ("shlx", "%rax,%rbx,%rcx", True),
        ("verr", "%ax", False),
        ("vmcall", "", False),
        ("vmread", "%rax,%rbx", False),
        ("addps", "%xmm0,%xmm1", False),
        ("shl", "%rax", False),
        ("tzcnt", "%rax,%rbx", False),
    ],
)
def test_which_instructions_count(mnemonic: str, operands: str, expected: bool) -> None:
    assert check_symbols.is_vex(mnemonic, operands) is expected


@pytest.mark.parametrize(
    ("mnemonic", "operands", "expected"),
    [
        ("vaddps", "%zmm0,%zmm1,%zmm2", True),
        ("vaddps", "%ymm16,%ymm1,%ymm2", True),
        ("vaddps", "(%rax){1to8},%ymm1,%ymm2", True),
        ("vmovups", "(%rax),%ymm0{%k1}{z}", True),
        ("vpternlogd", "$0xff,%ymm0,%ymm1,%ymm2", True),
        ("vmovdqu8", "(%rax),%xmm0", True),
        ("vpdpbusd", "%ymm0,%ymm1,%ymm2", True),
        ("{vex}", "vpdpbusd %ymm0,%ymm1,%ymm2", True),
        ("vcvtps2udq", "%ymm0,%ymm1", True),
        ("vaddps", "%ymm15,%ymm1,%ymm2", False),
        ("vmovdqu", "(%rax),%ymm0", False),
        ("vextractf128", "$0x1,%ymm0,%xmm0", False),
        ("vpmaddubsw", "%ymm0,%ymm1,%ymm2", False),
        ("vpmovsxwd", "%xmm0,%ymm0", False),
        ("vpermq", "$0xd8,%ymm0,%ymm0", False),
        ("vcvtps2ph", "$0x0,%ymm0,%xmm0", False),
    ],
)
def test_which_instructions_an_avx2_processor_lacks(mnemonic: str, operands: str, expected: bool) -> None:
    assert check_symbols.is_beyond_avx2(mnemonic, operands) is expected


@pytest.mark.parametrize(
    ("symbol", "home"),
    [
        ("_ZN6evidex7kernels4avx212_GLOBAL__N_15reachEPKff", "avx2"),
        ("_ZN6evidex7kernels4avx212_GLOBAL__N_1L4scanINS2_6CosineEEEvPKfS6_mmmPf.constprop.0", "avx2"),
        ("_ZN6evidex7kernels4avx25helpEv.part.0.isra.0", "avx2"),
        ("_ZN6evidex7kernels4avx26kTableE", "avx2"),
        ("_ZN6evidex7kernels6avx51212_GLOBAL__N_15reachEPKff", "avx512"),
        ("_ZN6evidex7kernels6avx5126kTableE", "avx512"),
        ("_ZN6evidex7kernels6scalar6kTableE", None),
        ("_ZN6evidex7kernels8avx2_foo3barEv", None),
        ("_ZNSt5arrayIN6evidex7kernels4avx25LanesELm4EE4dataEv", None),
        ("_Z3addN6evidex7kernels4avx25LanesE", None),
        ("main", None),
    ],
)
def test_whose_a_symbol_is(symbol: str, home: str | None) -> None:
    assert check_symbols.home_of(symbol) == home


@pytest.mark.parametrize("flags", [("-O3",), ("-O0",)])
@pytest.mark.parametrize("isa", ["avx512", "avx2", "scalar"])
def test_our_own_arch_files(tmp_path: Path, isa: str, flags: tuple[str, ...]) -> None:
    source = ROOT / "cpp" / "kernels" / "arch" / f"{isa}.cpp"
    path = compile_file(tmp_path, source, "-I", str(ROOT / "cpp"), "-ffp-contract=off", *flags)
    assert check_symbols.problems_of(path) == []


def test_the_module_in_use() -> None:  # cases C5, C7
    """P11: no AVX outside its namespace, no initialiser, no OpenMP. Seen red: -mavx2 for one more file of the core."""
    path = Path(_core.__file__)
    assert not check_symbols.is_stripped(path), "install with install.strip = false, as pyproject.toml says"
    assert check_symbols.problems_of(path) == []
