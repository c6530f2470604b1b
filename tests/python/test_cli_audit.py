# SPDX-License-Identifier: Apache-2.0
"""``evidex audit verify`` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from audit_logs import KEY, OTHER, lines_of, three_files, write
from evidex.cli import main


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "reads.log"


@pytest.fixture
def key(tmp_path: Path) -> str:
    (tmp_path / "key").write_bytes(KEY)
    return str(tmp_path / "key")


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main(["audit", "verify", *map(str, arguments)])
    return (code, *capsys.readouterr())


def test_a_whole_log(path: Path, key: str, capsys: pytest.CaptureFixture[str]) -> None:
    head = three_files(path)
    code, out, err = run(capsys, path, "--key-file", key, "--expect-head", head)
    assert (code, err) == (0, "")
    assert out.startswith("records 0 to 8, 20") and "in 3 files\n" in out
    assert out.endswith(f"head: {head}\nseals: checked with the key\nok\n")
    code, out, err = run(capsys, path)
    assert (code, err) == (0, "")
    assert "seals: no key given\nnote: 'reads.log': seals were not checked" in out


def test_what_is_wrong_is_listed(path: Path, key: str, capsys: pytest.CaptureFixture[str]) -> None:
    head = write(path)
    path.write_bytes(b"".join(lines_of(path)[:-1]))
    assert run(capsys, path, "--key-file", key)[0] == 0
    code, out, err = run(capsys, path, "--key-file", key, "--expect-head", head)
    assert code == 1
    assert "problem: 'reads.log': no record has the expected head" in out and out.endswith("not ok\n")
    assert err == f"evidex: audit: {str(path)!r} is not the log that was written; what is wrong is listed above\n"
    code, out, _ = run(capsys, path.with_name("missing"), "--key-file", key)
    assert code == 1
    assert (
        out == "seals: checked with the key\nproblem: 'missing': cannot be read (No such file or directory)\nnot ok\n"
    )


def test_json(path: Path, key: str, capsys: pytest.CaptureFixture[str]) -> None:
    head = write(path)
    code, out, _ = run(capsys, path, "--key-file", key, "--json")
    report = json.loads(out)
    assert code == 0
    assert (report["ok"], report["records"], report["head"], report["problems"]) == (True, 6, head, [])
    path.write_bytes(path.read_bytes().replace(b"alice", b"clara"))
    code, out, err = run(capsys, path, "--key-file", key, "--json")
    assert code == 1 and err.count("\n") == 1
    assert json.loads(out)["problems"][0]["line"] == 2


def test_the_key_is_every_byte_of_its_file(path: Path, key: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(path, key=KEY + b"\n")
    assert run(capsys, path, "--key-file", key)[0] == 1
    Path(key).write_bytes(KEY + b"\n")
    assert run(capsys, path, "--key-file", key)[0] == 0
    Path(key).write_bytes(OTHER)
    code, out, _ = run(capsys, path, "--key-file", key)
    assert code == 1 and "no line is sealed with this key" in out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "key-file: .* cannot be read \\(No such file or directory\\); pass a file of key bytes"),
        (b"short", "key: expected at least 16 bytes, .* got 5 bytes"),
        (b"x" * 65537, "key-file: .* has more than 65536 bytes"),
    ],
)
def test_a_wrong_key_file_is_an_error(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, message: str
) -> None:
    import re

    write(path)
    if content is not None:
        (tmp_path / "wrong").write_bytes(content)
    code, out, err = run(capsys, path, "--key-file", tmp_path / "wrong")
    assert (code, out) == (1, "")
    assert re.match(f"evidex: {message}", err)


def test_a_wrong_head_is_an_error(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "expect_head: expected 64 hex digits" in run(capsys, path, "--expect-head", "abc")[2]


@pytest.mark.parametrize("arguments", [["audit"], ["audit", "verify"], ["audit", "verify", "f", "--key", "secret"]])
def test_wrong_usage_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A key on the command line would be seen by every process."""
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "usage: evidex" in capsys.readouterr().err
