# SPDX-License-Identifier: Apache-2.0
"""What is shipped: the contents of the sdist and of the wheel, and the metadata of the installed package."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
JUNK = re.compile(r"(^|/)(\.|build|dist|tests|benchmarks|tools|__pycache__)|\.(so|pyc|log)$")


def package_files() -> set[str]:
    """The package's sources, relative to python/: all of them are shipped."""
    folder = ROOT / "python"
    found = (path.relative_to(folder).as_posix() for path in (folder / "evidex").rglob("*") if path.is_file())
    return {name for name in found if not JUNK.search(name)}


def build(command: str, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", command, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    build("import sys; from scikit_build_core.build import build_sdist as b; b(sys.argv[1])", str(folder))
    (made,) = folder.iterdir()
    return made


def test_sdist_holds_what_a_build_needs_and_no_junk(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "cpp").rglob("*.[ch]pp")}
    files = {f"python/{name}" for name in package_files()}
    assert {"CMakeLists.txt", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"} | sources | files <= names
    assert sorted(filter(JUNK.search, names)) == []


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    arguments = ["wheel", "-q", "--no-build-isolation", "--no-deps", "-w", str(folder), str(sdist)]
    build("import runpy, sys; sys.argv[0] = 'pip'; runpy.run_module('pip', run_name='__main__')", *arguments)
    (made,) = folder.iterdir()
    return made


@pytest.mark.long
def test_an_empty_environment_needs_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:  # cases E1, E2
    """Whatever the package imports, its metadata must bring along; no compiler is on the PATH."""
    program = "import evidex; print(evidex.DenseIndex(2).search([1.0, 0.0], 1).counts)"
    python = tmp_path / "empty" / "bin" / "python"
    for command in (
        [sys.executable, "-m", "venv", str(tmp_path / "empty")],
        [str(python), "-m", "pip", "install", "-q", "--only-binary", ":all:", str(wheel)],
        [str(python), "-W", "error", "-c", program],
    ):
        environment = {**os.environ, "PATH": str(tmp_path)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert done.stdout == "[0]\n"


@pytest.mark.long
def test_the_wheel_holds_the_whole_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    compiled = {name for name in names if name.endswith(".so")}
    assert len(compiled) == 1
    assert all(name.startswith("evidex/_core.") for name in compiled)
    shipped = {name for name in names - compiled if not re.match(r"evidex-[^/]*\.dist-info/", name)}
    assert shipped == package_files()
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_installed_package_needs_numpy_and_nothing_else() -> None:  # case E2
    """Guards DESIGN section 9: everything else is an extra."""
    required = [line for line in metadata.requires("evidex") or [] if "extra ==" not in line]
    assert [re.match(r"[\w-]+", line)[0] for line in required] == ["numpy"]  # type: ignore[index]


def test_package_data_is_there() -> None:
    names = package_files()
    assert {"evidex/py.typed", "evidex/_core.pyi", "evidex/handbook/manifest.json"} <= names
    assert sum(name.startswith("evidex/handbook/documents/") for name in names) > 20


def test_console_script_is_installed() -> None:
    (script,) = [entry for entry in metadata.entry_points(group="console_scripts") if entry.name == "evidex"]
    assert script.value == "evidex.cli:main"
    assert callable(script.load())
    assert Path(sys.executable).with_name("evidex").is_file()
