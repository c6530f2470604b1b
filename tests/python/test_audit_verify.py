# SPDX-License-Identifier: Apache-2.0
"""verify finds what was done to a log, says where, and says what it cannot know."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from audit_logs import KEY, OTHER, add, lines_of, resealed, rotated, sha, three_files, write
from evidex import InvalidInput, RetrievalLog
from evidex.audit import Problem, verify

Change = Callable[[list[bytes]], list[bytes]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "reads.log"


def change(path: Path, how: Change) -> None:
    path.write_bytes(b"".join(how(lines_of(path))))


def found(path: Path, key: bytes | None = KEY, head: str | None = None) -> list[str]:
    report = verify(path, key, head)
    assert report.ok == (not report.problems)
    return [str(problem) for problem in report.problems]


def test_a_whole_log_is_ok(path: Path) -> None:
    head = three_files(path)
    report = verify(path, KEY, head)
    assert (report.ok, report.records, report.files, report.first, report.last) == (True, 9, 3, 0, 8)
    assert (report.head, report.keyed, report.problems, report.notes) == (head, True, (), ())
    assert report.since == json.loads(lines_of(rotated(path, 1))[0])["time"]
    assert report.until == json.loads(lines_of(path)[-1])["time"]
    assert report.to_dict() == {
        **{"ok": True, "records": 9, "files": 3, "first": 0, "last": 8, "since": report.since, "until": report.until},
        **{"head": head, "keyed": True, "problems": (), "notes": ()},
    }
    assert verify(str(path), KEY, f" {head.upper()}\n") == report


SEAL = "the seal does not fit"
MISSING = "records 2 to 2, which belong before it, are missing"


@pytest.mark.parametrize(
    ("how", "problems"),
    [
        (
            lambda at: [at[0], at[1].replace(b'"ids":[[0,7]]', b'"ids":[[9,7]]'), *at[2:]],
            {2: SEAL, 3: "records 1 to 1"},
        ),
        (lambda at: [*at[:2], at[2].replace(b"alice", b"clara"), *at[3:]], {3: SEAL, 4: MISSING}),
        (lambda at: [*at[:-1], at[-1].replace(b"0.75", b"0.76")], {6: SEAL}),
        (lambda at: [*at[:2], at[2].replace(b'"seq"', b'"seq" '), *at[3:]], {3: SEAL, 4: MISSING}),
        (lambda at: [*at[:2], *at[3:]], {3: MISSING}),
        (lambda at: at[1:], {1: "first record of a file is no opening"}),
        (lambda at: [*at[:2], at[3], at[2], *at[4:]], {3: MISSING, 4: "record 2 stands after record 3"}),
        (lambda at: [*at[:4], at[2], *at[4:]], {5: "record 2 stands after record 3"}),
        (lambda at: [*at[:3], at[2], *at[3:]], {4: "record 2 stands after record 2"}),
        (lambda at: [*at, at[0]], {7: "an opening line within a file"}),
        (lambda at: [*at[:2], b"\n", *at[2:]], {3: "no seal stands at its end"}),
        (lambda at: [*at[:2], b'{"note":"mine"}\n', *at[2:]], {3: "no seal stands at its end"}),
        (lambda at: [*at[:2], resealed(at[2]), *at[3:]], {3: SEAL, 4: MISSING}),
        (lambda at: [*at, resealed(at[-1], sha(at[-1]), seq=6)], {7: SEAL}),
        (lambda at: [*at, b"{"], {7: "torn: it does not end with a newline"}),
        (lambda at: [*at[:-1], at[-1][:-1]], {6: "torn"}),
        (lambda at: [*at[:-1], at[-1][:40]], {6: "torn"}),
        (lambda at: [*at[:2], at[2][:40] + at[3], *at[4:]], {3: SEAL, 4: "records 2 to 3"}),
    ],
)
def test_what_was_done_to_lines_is_found(path: Path, how: Change, problems: dict[int, str]) -> None:
    head = write(path)
    change(path, how)
    for expected in (None, head):
        told = verify(path, KEY, expected).problems
        for line, what in problems.items():
            assert [one for one in told if one.line == line and what in one.what]
        assert not [one for one in told if one.line is not None and one.line < min(problems)]


def test_an_exchange_by_the_holder_of_the_key_breaks_the_chain(path: Path) -> None:
    """What a seal alone would let pass. Seen red: prev not compared."""
    write(path)
    change(path, lambda at: [*at[:2], resealed(at[2], key=KEY, ids=[[8, 8]]), *at[3:]])
    assert found(path) == ["'reads.log', line 4: it does not hold the digest of the record before it, which was edited "
                           "or exchanged"]  # fmt: skip
    change(path, lambda at: [resealed(at[0], "1" * 64, KEY), *at[1:]])
    assert "a first record has seq 0 and a prev of zeros" in found(path)[0]


def test_a_cut_end_shows_with_the_head(path: Path) -> None:
    head = write(path)
    change(path, lambda at: at[:-2])
    assert found(path) == []
    assert found(path, KEY, head) == [
        "'reads.log': no record has the expected head: records were cut from the end, or retention took it"
    ]
    write(path, 4)  # goes on, and it is longer than it was
    assert found(path) == [] and len(found(path, KEY, head)) == 1


def test_another_key_is_one_problem(path: Path) -> None:
    for key in (KEY, None):
        write(path, key=key)
        shown = found(path, OTHER)
        assert "no line is sealed with this key: it is another one, or all lines were edited" in shown[0]
        assert [one for one in shown if SEAL in one] == []
        path.unlink()


def test_files_that_are_missing_or_exchanged_are_found(path: Path) -> None:
    def without(*numbers: int) -> list[str]:
        shutil.rmtree(path.parent)
        path.parent.mkdir()
        write(path, 10, most_bytes=800)
        for number in numbers:
            rotated(path, number).unlink()
        return found(path)

    path.touch()
    assert without() == []
    for numbers, missing in (((2,), "file 2 is"), ((2, 3), "files 2 to 3 are"), ((4,), "file 4 is")):
        shown = without(*numbers)
        assert len(shown) == 2 and f"{missing} missing, which retention has not taken" in shown[1]
        assert "which belong before it, are missing" in shown[0]
    assert without(1) == ["'reads.log': file 1 is missing, which retention has not taken"]
    assert without(1, 2, 3, 4) == ["'reads.log': files 1 to 4 are missing, which retention has not taken"]
    without()
    rotated(path, 2).rename(rotated(path, 9))
    assert "it opens file 2, not 9" in "\n".join(found(path))
    without()
    rotated(path, 2).rename(path.with_name("aside"))
    rotated(path, 3).rename(rotated(path, 2))
    path.with_name("aside").rename(rotated(path, 3))
    assert [one for one in found(path) if "was renamed or exchanged" in one and "reads.log.00000" in one]
    without()
    path.unlink()
    assert found(path) == ["'reads.log': cannot be read (No such file or directory)"]


def test_retention_is_no_gap_but_deleting_more_is(path: Path) -> None:
    write(path, 10, most_bytes=800, keep=2)
    report = verify(path, KEY)
    assert (report.ok, report.first) == (True, 6)
    assert [str(note) for note in report.notes] == [
        "'reads.log.000003', line 1: the chain is checked from record 6 on; older ones are not here"
    ]
    rotated(path, 3).unlink()
    assert found(path) == ["'reads.log': file 3 is missing, which retention has not taken"]


def test_a_file_without_a_record_is_a_problem(path: Path) -> None:
    head = three_files(path)
    for content in (b"", b"\n", b"a text\n"):
        path.write_bytes(content)
        assert "holds no record of the log" in found(path)[-1]
        assert "no record has the expected head" in found(path, KEY, head)[-1]


def test_torn_bytes_are_safe_once_they_are_accounted_for(path: Path) -> None:
    """Seen red: only their number compared."""
    write(path, 2)
    path.write_bytes(path.read_bytes()[:-30])
    write(path, 2)
    whole = lines_of(path)
    assert found(path) == []
    other = whole[2].replace(b"alice", b"clara")
    for torn in ([other], [], [whole[2], b"\n"]):
        path.write_bytes(b"".join([*whole[:2], *torn, *whole[3:]]))
        assert "torn bytes before it, and they are not there as they were" in "\n".join(found(path))


def test_without_a_key_an_edit_of_a_keyed_log_shows_unless_it_is_the_last_or_hidden(path: Path) -> None:
    """What the documentation of verify says that a check without a key cannot see, and that a head makes up for."""
    head = write(path)
    assert "seals were not checked" in verify(path).notes[0].what
    whole = lines_of(path)
    change(path, lambda at: [*at[:2], at[2].replace(b"alice", b"clara"), *at[3:]])
    assert len(found(path, None)) == 1 and "line 4: it does not hold the digest" in found(path, None)[0]
    path.write_bytes(b"".join([*whole[:-1], whole[-1].replace(b"alice", b"clara")]))
    assert found(path, None) == []
    assert len(found(path, KEY)) == len(found(path, None, head)) == 1
    change(path, lambda at: [*at[:2], resealed(at[2], ids=[[8, 8]]), *at[3:]])
    for number in range(3, 6):
        change(path, lambda at, n=number: [*at[:n], resealed(at[n], sha(at[n - 1])), *at[n + 1 :]])  # type: ignore[misc]
    assert found(path, None) == []
    assert len(found(path, None, head)) == 1 and len(found(path)) > 1


def test_a_log_without_a_key_shows_accidents_and_a_rewriting_only_with_a_head(path: Path) -> None:
    head = write(path, key=None)
    assert "can write all of it anew" in verify(path).notes[0].what
    whole = path.read_bytes()
    for number in range(0, len(whole), 7):
        path.write_bytes(whole[:number] + bytes([whole[number] ^ 1]) + whole[number + 1 :])
        assert found(path, None) != []
    path.unlink()
    assert write(path, key=None) != head
    assert found(path, None) == []
    assert len(found(path, None, head)) == 1


def test_a_file_that_is_put_away_meanwhile_is_read_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen red: its records were found twice."""
    from evidex.audit import checking

    numbers = checking._numbers
    three_files(path)
    with RetrievalLog(path, key=KEY, most_bytes=1500) as log:

        def later(*arguments: object) -> list[int]:
            if not rotated(path, 3).exists():
                add(log, 1)
                add(log, 1)
            return numbers(*arguments)  # type: ignore[arg-type]

        add(log, 1)
        monkeypatch.setattr(checking, "_numbers", later)
        report = verify(path, KEY)
        assert rotated(path, 3).exists()
        assert (report.ok, report.files) == (True, 3)
        assert (verify(path, KEY).ok, verify(path, KEY).files) == (True, 4)


@pytest.mark.parametrize("head", [b"0" * 64, "0" * 63, "g" * 64, "", 0])
def test_wrong_arguments_are_typed_errors(path: Path, head: object) -> None:
    with pytest.raises(InvalidInput, match="expect_head: expected"):
        verify(path, KEY, head)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="key: expected at least 16 bytes"):
        verify(path, b"")
    with pytest.raises(InvalidInput, match="path: expected a path"):
        verify(b"reads.log", KEY)  # type: ignore[arg-type]


def test_problems_are_shown_with_their_place() -> None:
    assert str(Problem("a\x1b\n", 3, "torn")) == r"'a\x1b\n', line 3: torn"
    assert str(Problem("a", None, "gone")) == "'a': gone"
