"""The file of the journal: torn, lost, long, with very many paths, and its contents kept."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gitcp import memory
from gitcp.errors import Error
from gitcp.git.files import exclusive
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.guard import reports
from gitcp.record import journal
from gitcp.record.journal import credit
from gitcp.record.journal.line_kinds import Edit, LookLine, build_edit, parse_lines
from gitcp.setup.care import mend_states
from gitcp.text import ids
from tests.record.journal.lines import lengthen, shares, text
from tests.support import warm
from tests.support.checkpoints import forget
from tests.support.clients.calls import edit, run
from tests.support.harness import Agent, World


def list_told(world: World) -> list[str]:
    """The paths of the journal's edits, in order."""
    repo = Repo.find(str(world.path))
    return [edit.path for edit in credit.list_edits(journal.read_journal(repo))]


def locate_checked(world: World) -> Path:
    """The file that says how much of the journal no hook checks again."""
    return world.path / ".git/gitcp/journal-checked"


def count_checked(world: World) -> int:
    """The bytes of the journal that no hook checks again."""
    _version, size, _crc = locate_checked(world).read_bytes().split()
    return int(size)


def test_a_line_that_a_kill_cut_short_stays_alone(world: World, a: Agent) -> None:
    a.prompt("write")
    edit(a, "a.py", text(1))
    path = world.path / ".git/gitcp/journal"
    path.write_bytes(path.read_bytes() + b'{"path":"b.py","bef')
    edit(a, "c.py", text(2))
    a.stop()
    assert list_told(world) == ["a.py", "c.py"]
    world.commit("a.py", "c.py")
    assert shares(world) == {a.sid: 2}


def _empty(journal: Path) -> None:
    journal.write_bytes(b"")


def _cut_short(journal: Path) -> None:
    first = journal.read_bytes().splitlines()[0]
    journal.write_bytes(first[: len(first) // 2])


def _cut_out_the_middle(journal: Path) -> None:
    lines = journal.read_bytes().splitlines(keepends=True)
    first = next(n for n, line in enumerate(lines) if b'"path":"f.txt"' in line)
    journal.write_bytes(b"".join(lines[:first] + lines[first + 1 :]))


def _cut_off_the_end(journal: Path) -> None:
    lines = journal.read_bytes().splitlines(keepends=True)
    last = max(n for n, line in enumerate(lines) if b'"path":"f.txt"' in line)
    journal.write_bytes(b"".join(lines[:last]))


def _zero_the_middle(journal: Path) -> None:
    data = journal.read_bytes()
    third = len(data) // 3
    journal.write_bytes(data[:third] + bytes(third) + data[2 * third :])


def _remove_the_folder(journal: Path) -> None:
    shutil.rmtree(journal.parent)


LOSSES = (
    _empty, _cut_short, _cut_out_the_middle, _cut_off_the_end, _zero_the_middle, _remove_the_folder,
)  # fmt: skip


@pytest.mark.parametrize("lose", LOSSES)
def test_a_journal_that_is_lost_is_built_anew_from_the_sessions_refs(
    world: World, a: Agent, b: Agent, lose: Callable[[Path], None]
) -> None:
    a.prompt("six lines")
    edit(a, "f.txt", text(*range(6)))
    a.stop()
    world.write("f.txt", text(*range(7)))
    b.prompt("two more")
    edit(b, "f.txt", text(*range(9)))
    b.stop()
    lose(world.path / ".git/gitcp/journal")
    assert "(Claude Code" in world.gitcp("blame", "-L1,1", "f.txt")
    assert "not committed\n" in world.gitcp("status")
    warm.run("doctor", "--fix", cwd=world.path)  # a folder that is gone needs the hooks, too
    world.git("worktree", "add", "-q", "-b", "topic", str(world.path.parent / "there"))
    world.commit("f.txt")
    assert shares(world) == {a.sid: 6, b.sid: 2, "person": 1}


def test_what_is_left_of_a_journal_stays_beside_what_the_refs_put_back(
    world: World, a: Agent
) -> None:
    a.prompt("one")
    edit(a, "a.txt", text(1))
    a.stop()
    a.prompt("two")
    edit(a, "b.txt", text(2))
    path = world.path / ".git/gitcp/journal"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for line in lines if b'"path":"a.txt"' not in line))
    edit(a, "c.txt", text(3))
    assert list_told(world) == ["a.txt", "b.txt", "c.txt"]
    assert path.read_bytes().count(b'"path"') == 3, "it is put back once"
    world.commit()
    assert shares(world) == {a.sid: 3}


def test_a_journal_that_cannot_be_built_anew_keeps_nobody_waiting(world: World, a: Agent) -> None:
    a.prompt("one line")
    edit(a, "f.txt", text(1))
    a.stop()
    (world.path / ".git/gitcp/journal").unlink()
    forget(world.path / ".git", world.git("rev-parse", f"refs/gitcp/edits/{a.sid}:entries"))
    repo = Repo.find(str(world.path))
    for _ in range(2):
        with pytest.raises(Error, match="missing blob"), journal.Journal(repo):
            pass
    with exclusive(repo, f"journal-{repo.worktree_hash}", timeout=0):
        pass


def test_contents_that_were_superseded_outlive_a_prune(world: World, a: Agent) -> None:
    a.prompt("twice")
    edit(a, "f.txt", text(1, 2))
    first = world.git("hash-object", "f.txt")
    edit(a, "f.txt", text(3))
    a.stop()
    world.git("gc", "-q", "--prune=now")
    assert world.git("cat-file", "-t", first) == "blob"
    [ref] = world.refs("refs/gitcp/edits")
    assert world.git("log", "-1", "--format=%B", ref).splitlines()[-1] == (
        f"Claude-Session-Id: {a.sid}"
    )


def test_a_content_that_is_gone_makes_lines_unknown_and_is_no_error(world: World, a: Agent) -> None:
    a.prompt("write")
    edit(a, "f.txt", text(1, 2))
    oid = world.git("hash-object", "f.txt")
    edit(a, "f.txt", text(1, 2, 3))
    forget(world.path / ".git", oid)
    a.stop()
    world.commit("f.txt")
    assert shares(world) == {"unknown": 3}


@pytest.mark.thorough
def test_a_call_that_touches_very_many_paths_is_one_line(world: World, a: Agent) -> None:
    a.prompt("generate")
    many = journal.MANY + 10
    run(a, f"mkdir gen; i=0; while [ $i -lt {many} ]; do echo generated >gen/$i; i=$((i+1)); done")
    a.stop()
    lines = (world.path / ".git/gitcp/journal").read_text().splitlines()
    assert len(lines) < 20
    assert sum("trees" in json.loads(line) for line in lines) == 1
    assert len(list_told(world)) == many
    world.commit()
    assert shares(world) == {a.sid: many}


@pytest.mark.thorough
def test_a_long_journal_is_cut_back_at_a_commit(world: World, a: Agent) -> None:
    a.prompt("write")
    edit(a, "left.txt", text(5))
    for number in range(5):
        edit(a, f"{number}.txt", text(number))
        a.stop()
        world.commit(f"{number}.txt")
    path = world.path / ".git/gitcp/journal"
    lengthen(path)
    edit(a, "last.txt", text(6))
    a.stop()
    world.commit("last.txt")
    assert path.stat().st_size < journal.LARGEST
    assert "left.txt" in list_told(world) and "0.txt" not in list_told(world)
    world.commit("left.txt")
    assert shares(world) == {a.sid: 1}


def test_after_a_cut_in_mid_turn_the_persons_edit_is_the_persons(world: World, a: Agent) -> None:
    """The transcript tells of the session's write, and the journal of its call."""
    a.prompt("write")
    edit(a, "f.txt", text(1))
    for number in range(5):
        world.write(f"{number}.txt", text(number))
        world.commit()
        path = world.path / ".git/gitcp/journal"
        lengthen(path)
    world.write("f.txt", text(1, 2))
    assert world.commit() == []


def test_a_turn_that_ends_leaves_no_line_in_a_long_journal_that_others_repeat(
    world: World, a: Agent
) -> None:
    a.prompt("begin")
    edit(a, "f.txt", text(1))
    a.stop()
    path, head = world.path / ".git/gitcp/journal", world.git("rev-parse", "HEAD")
    told = path.read_bytes()
    looks = (LookLine({"look": at, "base": head}).dump() for at in range(1, 2000))
    path.write_bytes(b"".join(looks) + told)
    locate_checked(world).unlink()
    a.prompt("go on")
    edit(a, "f.txt", text(1, 2))
    assert path.stat().st_size > journal.LARGEST
    a.stop()
    lines = parse_lines(path.read_bytes())
    assert path.stat().st_size < 3 * len(told)
    assert next(line.time for line in lines if isinstance(line, LookLine)) == 1
    assert [edit.path for edit in credit.list_edits(lines)] == ["f.txt", "f.txt"]
    assert count_checked(world) == path.stat().st_size, "no hook has to check it again"
    world.commit("f.txt")
    assert shares(world) == {a.sid: 2}


def test_a_checked_part_of_the_journal_is_checked_again_where_it_is_another(world: World) -> None:
    repo = Repo.find(str(world.path))
    path = world.path / ".git" / "gitcp" / "journal"
    mark = locate_checked(world)
    path.parent.mkdir(exist_ok=True)
    line, wrong = b'{"path":"a","at":1}\n', b'{"path":777,"at":1}\n'

    def count_lines(data: bytes) -> int:
        path.write_bytes(data)
        memory.forget()
        return len(journal.read_journal(repo))

    assert count_lines(line * 500) == 500
    good = mark.read_bytes()
    assert count_checked(world) == len(line) * 500
    assert count_lines(wrong + line * 600) == 600, "another beginning"
    assert count_lines(line * 500 + wrong + line) == 501, "one behind it"
    for spoilt in (
        b"",
        b"\0" * 80,
        b"0.1.0",
        b"0.1.0 -5 0",
        good[:-3],
        b"0.1.0 9999999999999999 0\n",
    ):
        mark.write_bytes(spoilt)
        assert count_lines(line * 100 + wrong) == 100
    assert mark.read_bytes() == spoilt, "what is short, or has a wrong line, is not noted"
    mark.unlink()
    mark.mkdir()
    assert count_lines(line * 500) == 500


def test_reading_on_gives_what_a_first_reading_gives(world: World) -> None:
    repo = Repo.find(str(world.path))
    path = world.path / ".git" / "gitcp" / "journal"
    path.parent.mkdir(exist_ok=True)
    lines = [Edit({"path": name, "at": at}).dump() for at, name in enumerate("abcdef")]
    steps = [lines[0] + lines[1][:9], lines[1][9:], lines[2] + b"{torn", b"\n" + lines[3]]
    data = b""
    for step in steps:
        data += step
        with path.open("ab") as f:
            f.write(step)
        assert journal.read_journal(repo) == parse_lines(data)
    (path.parent / "new").write_bytes(lines[4] * 20)
    (path.parent / "new").rename(path)
    assert journal.read_journal(repo) == parse_lines(lines[4]) * 20
    path.write_bytes(lines[5])
    assert journal.read_journal(repo) == parse_lines(lines[5])


def test_a_line_that_a_repair_leaves_out_comes_back_from_the_ref_of_its_session(
    world: World, a: Agent
) -> None:
    a.prompt("begin")
    edit(a, "f.txt", text(1))
    edit(a, "g.txt", text(2))
    a.stop()
    repo, path = Repo.find(str(world.path)), world.path / ".git/gitcp/journal"
    before = credit.list_edits(journal.read_journal(repo))
    assert before and count_checked(world) == path.stat().st_size
    path.write_bytes(path.read_bytes().replace(b'"path"', b'"path', 1))
    memory.forget()
    with Objects(repo):
        assert mend_states.mend_journal(repo, str(path)).startswith("kept ")
    memory.forget()
    with journal.Journal(repo) as mended:
        assert credit.list_edits(mended.lines) == before
    assert count_checked(world) == path.stat().st_size


def test_each_commit_of_a_sessions_ref_has_the_lines_since_the_last_one(world: World) -> None:
    repo = Repo.find(str(world.path))

    def hold(*paths: str) -> list[str]:
        """The paths in the new commit of the ref after edits of these paths; [] without one."""
        with Objects(repo), journal.Journal(repo) as held:
            before = world.git("for-each-ref", "--format=%(objectname)", ids.EDITS)
            after = ("100644", repo.objects.write("blob", b"1\n"))
            author = ("s", "turn", "call")
            made = [
                build_edit(path, None, after, author, credit.STATED, at)
                for at, path in enumerate(paths, 1)
            ]
            held.append(made)
            journal.hold_edits(repo, held, "s", "a turn")
            if world.git("for-each-ref", "--format=%(objectname)", ids.EDITS) == before:
                return []
            assert held.lines[-1].keys["held"] == world.git("rev-parse", f"{ids.EDITS}s").strip()
            lines = world.git("cat-file", "blob", f"{ids.EDITS}s:entries").splitlines()
            return [json.loads(line)["path"] for line in lines]

    assert hold("a", "b") == ["a", "b"]
    assert hold() == []
    assert hold("c") == ["c"]
    assert hold("d", "e") == ["d", "e"]


@pytest.mark.parametrize(
    ("ref", "number"),
    [("s", 1), ("s.2", 2), ("s.10", 10), ("s.", 0), ("s.x", 0), ("s/2", 0), ("s2", 0), ("t.2", 0)],
)
def test_a_ref_tells_which_part_of_a_sessions_edits_it_holds(ref: str, number: int) -> None:
    assert reports.parse_part_number(ids.EDITS + ref, ids.EDITS + "s") == number
