# SPDX-License-Identifier: Apache-2.0
"""The house rules that a reader of the code relies on, each with a planted breach that it must find.

A rule is a function of (path, text) that yields what is wrong; paths are relative to the project, with slashes.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from layers import CPP_MAY_INCLUDE, KERNEL_HEADERS, PYTHON_MAY_IMPORT, PYTHON_MAY_IMPORT_TOO

ROOT = Path(__file__).resolve().parent.parent
Rule = Callable[[str, str], Iterator[str]]

MOST_LINES = 300
MOST_LINES_WITH_REASON = 500
ALLOWED_LONGER = {
    "tests/python/test_handbook.py": "one handbook: its facts, questions and rules are checked against each other",
}


def code_of(text: str) -> str:
    """C++ without comments and without what stands inside string literals, line by line."""
    skipped = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"'
    return re.sub(skipped, lambda match: "\n" * match[0].count("\n"), text, flags=re.S)


def includes(text: str) -> list[str]:
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', text, flags=re.M)


def cpp_edges(path: str, text: str) -> Iterator[str]:
    folder = path.split("/")[1]
    for header in includes(text):
        target = header.split("/")[0]
        if target in CPP_MAY_INCLUDE and "/" in header and target not in CPP_MAY_INCLUDE[folder] | {folder}:
            yield f"{folder} includes {header}"
        if folder != "bindings" and (target == "pybind11" or header == "Python.h"):
            yield f"{folder} includes {header}: only bindings know Python"


def cpp_kernels(path: str, text: str) -> Iterator[str]:
    if path.startswith("cpp/kernels/arch/") or path.endswith(".inl.hpp"):
        yield from (f"a kernel includes <{header}>" for header in includes(text) if header not in KERNEL_HEADERS)
        banned = r"\b(?:throw|try|catch|new|delete|malloc|std::(?:vector|string|function|mutex|thread))\b"
        yield from (f"a kernel says {word}" for word in re.findall(banned, code_of(text)))


def cpp_form(path: str, text: str) -> Iterator[str]:
    """`long` has another size on other systems (case A5); a guard in a file included many times would be a mistake."""
    for number, line in enumerate(code_of(text).splitlines(), 1):
        if re.search(r"\blong\b", line):
            yield f"line {number}: say std::int64_t or std::size_t instead of long"
    if path.endswith(".hpp") and (not path.endswith(".inl.hpp")) != ("#pragma once" in text):
        yield "a header starts with #pragma once, an .inl.hpp has none"


def spdx_and_ascii(path: str, text: str) -> Iterator[str]:
    mark = "//" if path.endswith((".cpp", ".hpp")) else "#"
    if text.strip() and not text.startswith(f"{mark} SPDX-License-Identifier: Apache-2.0\n"):
        yield "the first line is no SPDX line"
    for number, line in enumerate(text.splitlines(), 1):
        if not line.isascii() and path.endswith((".cpp", ".hpp")):
            yield f"line {number}: not ASCII"


def length(path: str, text: str) -> Iterator[str]:
    most = MOST_LINES_WITH_REASON if path in ALLOWED_LONGER else MOST_LINES
    if (lines := text.count("\n")) > most:
        yield f"{lines} lines, at most {most}; a longer file needs a reason in ALLOWED_LONGER"


def module_of(path: str) -> str:
    """The module or folder directly below evidex; "" for the package itself."""
    first = path.removeprefix("python/evidex/").split("/")[0].split(".")[0]
    return "" if first == "__init__" else first


def imported(path: str, node: ast.AST) -> Iterator[str]:
    """Full names of what one statement imports; relative ones resolved."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        package = ["evidex", *path.removeprefix("python/evidex/").split("/")[:-1]]
        start = package[: len(package) + 1 - node.level] if node.level else []
        base = ".".join([*start, *([node.module] if node.module else [])])
        # `from . import a` names modules, `from .a import b` a module and something inside it.
        yield from (f"{base}.{alias.name}" for alias in node.names) if base == "evidex" else (base,)


def python_edges(path: str, text: str) -> Iterator[str]:
    own = module_of(path)
    if own not in PYTHON_MAY_IMPORT:
        yield f"{own} is not in PYTHON_MAY_IMPORT: say there what it may import"
        return
    allowed = {own} | PYTHON_MAY_IMPORT[own] | PYTHON_MAY_IMPORT_TOO.get(path, set())
    for node in ast.walk(ast.parse(text)):
        for name in imported(path, node):
            top, second = [*name.split("."), ""][:2]
            target = second if second in PYTHON_MAY_IMPORT else ""
            if top == "evidex" and target not in allowed:
                yield f"{own or 'the package'} imports {name}"


def lazy_imports(path: str, text: str) -> Iterator[str]:
    """At module level only the standard library, numpy and evidex: other packages are optional and may be slow."""
    pending: list[ast.AST] = [ast.parse(text)]
    while pending:
        node = pending.pop()
        for name in imported(path, node):
            if name.split(".")[0] not in sys.stdlib_module_names | {"numpy", "evidex", "__future__"}:
                yield f"imports {name} at module level"
        function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        pending += [] if function or for_types else ast.iter_child_nodes(node)


RULES: list[tuple[Rule, str]] = [
    (cpp_edges, r"cpp/"),
    (cpp_kernels, r"cpp/kernels/"),
    (cpp_form, r"cpp/"),
    (python_edges, r"python/evidex/.*\.py$"),
    (lazy_imports, r"python/evidex/.*\.py$"),
    (spdx_and_ascii, ""),
    (length, ""),
]
SOURCES = [
    (path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
    for folder in ("cpp", "python/evidex", "tests", "benchmarks", "tools")
    for path in sorted((ROOT / folder).rglob("*.*"))
    if path.suffix in (".cpp", ".hpp", ".py", ".pyi")
]

BREACHES: list[tuple[Rule, str, str]] = [
    (cpp_edges, "cpp/base/a.hpp", '#include "cpu/features.hpp"\n'),
    (cpp_edges, "cpp/kernels/a.hpp", '#include "search/top_k.hpp"\n'),
    (cpp_edges, "cpp/search/a.hpp", '#include "access/grant.hpp"\n'),
    (cpp_edges, "cpp/access/a.hpp", '#include "index/flat.hpp"\n'),
    (cpp_edges, "cpp/index/a.hpp", '#include "bindings/arrays.hpp"\n'),
    (cpp_edges, "cpp/index/a.hpp", "#include <pybind11/pybind11.h>\n"),
    (cpp_kernels, "cpp/kernels/arch/a.cpp", "#include <vector>\n"),
    (cpp_kernels, "cpp/kernels/arch/a.cpp", "# include <thread>\n"),
    (cpp_kernels, "cpp/kernels/a.inl.hpp", "float* p = new float[3];\n"),
    (cpp_kernels, "cpp/kernels/a.inl.hpp", "if (n == 0) throw 1;\n"),
    (cpp_form, "cpp/base/a.cpp", "/* long */ unsigned long bits = 1; // long\n"),
    (cpp_form, "cpp/base/a.hpp", "int a;\n"),
    (cpp_form, "cpp/kernels/a.inl.hpp", "#pragma once\n"),
    (python_edges, "python/evidex/fusion.py", "from . import _core\n"),
    (python_edges, "python/evidex/text/a.py", "from .. import index\n"),
    (python_edges, "python/evidex/text/a.py", "from ..access import Policy\n"),
    (python_edges, "python/evidex/errors.py", "import evidex.types\n"),
    (python_edges, "python/evidex/handbook/__init__.py", "def f():\n    from evidex import DenseIndex\n"),
    (python_edges, "python/evidex/packing.py", "import evidex\n"),
    (python_edges, "python/evidex/access.py", "from .index import DenseIndex\n"),
    (python_edges, "python/evidex/cli/a.py", "from .._core import isas\n"),
    (python_edges, "python/evidex/integrations/a.py", "from .. import _core\n"),
    (python_edges, "python/evidex/index.py", "from .integrations import hnswlib\n"),
    (python_edges, "python/evidex/novel.py", ""),
    (lazy_imports, "python/evidex/a.py", "import wordllama\n"),
    (lazy_imports, "python/evidex/a.py", "try:\n    from faiss import IndexFlat\nexcept ImportError:\n    pass\n"),
    (lazy_imports, "python/evidex/a.py", "class A:\n    import torch\n"),
    (lazy_imports, "python/evidex/integrations/a.py", "import hnswlib\n"),
    (spdx_and_ascii, "cpp/base/a.cpp", "int a;\n"),
    (spdx_and_ascii, "tests/a.py", "import re\n# SPDX-License-Identifier: Apache-2.0\n"),
    (spdx_and_ascii, "cpp/base/a.cpp", "// SPDX-License-Identifier: Apache-2.0\n// na\u00efve\n"),
    (length, "cpp/base/a.cpp", "\n" * 301),
    (length, next(iter(ALLOWED_LONGER)), "\n" * 501),
]

ALLOWED: list[tuple[Rule, str, str]] = [
    (cpp_edges, "cpp/index/a.hpp", '#include <span>\n#include "kernels/table.hpp"\n#include "index/flat.hpp"\n'),
    (cpp_form, "cpp/base/a.cpp", '// as long as it takes\nint longest = f("too long"); /* long\nlong */\n'),
    (cpp_kernels, "cpp/kernels/arch/a.cpp", "#include <immintrin.h>\n// no new throw\n"),
    (
        python_edges,
        "python/evidex/text/__init__.py",
        "from .identity import chunk_id\nfrom ..types import Chunk\n",
    ),
    (python_edges, "python/evidex/cli/a.py", "import evidex\nfrom evidex import DenseIndex, handbook\n"),
    (lazy_imports, "python/evidex/a.py", "import numpy.typing\ndef f():\n    import faiss\n"),
    (length, "cpp/base/a.cpp", "\n" * 300),
]


@pytest.mark.parametrize(("rule", "applies_to"), RULES, ids=lambda value: getattr(value, "__name__", ""))
def test_the_sources_keep_the_rule(rule: Rule, applies_to: str) -> None:
    files = [source for source in SOURCES if re.match(applies_to, source[0])]
    assert files
    assert [f"{path}: {what}" for path, text in files for what in rule(path, text)] == []


@pytest.mark.parametrize(("rule", "path", "text"), BREACHES)
def test_a_planted_breach_is_found(rule: Rule, path: str, text: str) -> None:
    assert list(rule(path, text)) != []


@pytest.mark.parametrize(("rule", "path", "text"), ALLOWED)
def test_what_is_allowed_passes(rule: Rule, path: str, text: str) -> None:
    assert list(rule(path, text)) == []


def test_long_files_have_a_reason_and_need_it() -> None:
    lines = {path: text.count("\n") for path, text in SOURCES}
    assert {path for path in ALLOWED_LONGER if lines.get(path, 0) <= MOST_LINES} == set()


def test_the_stub_names_every_metric_and_instruction_set() -> None:
    """stubtest compares names and signatures; it cannot see what strings a function returns."""
    sources = dict(SOURCES)
    stub, metrics = sources["python/evidex/_core.pyi"], sources["cpp/kernels/metrics.inl.hpp"]

    def literals(name: str) -> list[str]:
        found = re.search(rf"^{name}: TypeAlias = Literal\[(.*)\]$", stub, flags=re.M)
        return re.findall(r'"(\w+)"', found[1]) if found else []

    assert literals("_MetricName") == re.findall(r'name = "(\w+)"', metrics) != []
    assert literals("_MetricAlias") == re.findall(r'alias = "(\w+)"', metrics) != []
    assert literals("_IsaName") == re.findall(r'Isa\{"(\w+)"', sources["cpp/cpu/isa.hpp"]) != []


def test_import_is_quiet() -> None:
    """Guards P11: no threads and no optional package at import. numpy comes first, since its BLAS starts threads."""
    program = """
import os, sys, numpy
before = os.listdir("/proc/self/task") if os.path.isdir("/proc/self/task") else []
import evidex
after = os.listdir("/proc/self/task") if before else []
optional = {"Stemmer", "faiss", "hnswlib", "safetensors", "sentence_transformers", "tokenizers", "torch", "wordllama"}
print(after == before, sorted(optional & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True []\n", "")
