"""What comes back is exactly what was there, and what is not gitcp's stays untouched."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gitcp.steps.back import carrying_out
from tests.record.snapshot.test_snapshot_omitted import UNPRIVILEGED, needs_a_limit
from tests.steps.rewind.going import done, files, plan, points, run, temporary
from tests.support.harness import Agent, World
from tests.support.paths import BIN


def back_and_forth(world: World, a: Agent, before: dict[str, tuple[str, bytes]]) -> None:
    """To the oldest point, where before was, and to where we came from again."""
    after = files(world.path)
    done(world, "rewind", "--to", temporary(world)[-1])
    assert files(world.path) == before
    done(world, "undo")
    assert files(world.path) == after


def test_modes_links_and_files_that_became_directories_note_return(world: World, a: Agent) -> None:
    top = world.path
    a.turn("one", {"run.sh": "#!/bin/sh\n", "both": "a file\n", "dir/in/x": "x\n"})
    os.symlink("run.sh", top / "link")
    os.symlink("dir", top / "folder-link")
    (top / "run.sh").chmod(0o755)
    a.turn("links", {"touched": "1\n"})
    before = files(top)
    a.prompt("two")
    (top / "run.sh").chmod(0o644)
    (top / "link").unlink()
    a.write("link/now/a/directory", "d\n")
    (top / "both").unlink()
    a.write("both/inside", "i\n")
    subprocess.run(["rm", "-r", "dir", "folder-link"], cwd=top, check=True)
    a.write("dir", "a file now\n")
    a.write("folder-link", "no link any more\n")
    a.stop()
    after = files(top)
    done(world, "rewind", "--to", temporary(world)[1])
    assert files(top) == before
    done(world, "undo")
    assert files(top) == after


def test_undo_makes_directories_with_the_permissions_that_they_had(world: World, a: Agent) -> None:
    top = world.path
    a.turn("one", {"x": "x\n"})
    a.turn("two", {"d/e/private": "p\n", "d/open": "o\n"})
    modes = {"d": 0o2770, "d/e": 0o700, "d/e/private": 0o600}
    for path, mode in modes.items():
        (top / path).chmod(mode)
    for _ in range(2):
        done(world, "rewind", "--to", temporary(world)[-1])
        assert not (top / "d").exists()
        done(world, "undo")
        assert {path: os.lstat(top / path).st_mode & 0o7777 for path in modes} == modes


def test_undo_of_two_steps_restores_what_either_kept(world: World, a: Agent) -> None:
    top = world.path
    a.turn("one", {"x": "x\n"})
    a.turn("two", {"private": "p\n"})
    a.turn("three", {"touched": "1\n"})
    (top / "private").chmod(0o600)
    for point in temporary(world)[1:]:
        done(world, "rewind", "--to", point)
    done(world, "undo", "2")
    assert os.lstat(top / "private").st_mode & 0o777 == 0o600


def test_redo_restores_what_a_later_step_kept(world: World, a: Agent) -> None:
    private = world.path / "private"
    a.turn("one", {"x": "x\n"})
    a.turn("two", {"private": "p\n"})
    private.chmod(0o600)
    oldest = temporary(world)[-1]
    done(world, "rewind", "--to", oldest)
    [before] = [p["id"] for p in points(world) if p["kind"] == "safety"]
    done(world, "rewind", "--to", before)
    assert private.lstat().st_mode & 0o777 == 0o600
    done(world, "rewind", "--to", oldest)
    done(world, "undo", "2")
    assert not private.exists()
    done(world, "redo")
    assert private.lstat().st_mode & 0o777 == 0o600


def test_without_core_symlinks_a_link_is_what_git_reads_as_one(world: World, a: Agent) -> None:
    top = world.path
    os.symlink("README.md", top / "tracked")
    world.commit()
    world.git("config", "core.symlinks", "false")
    (top / "tracked").unlink()
    world.git("checkout", "--", "tracked")
    a.turn("one", {"touched": "1\n"})
    a.prompt("two")
    os.symlink("touched", top / "made")
    a.ran("ln -s touched made")
    a.write("tracked", "src/app.py")
    a.stop()
    back_and_forth(
        world,
        a,
        {k: v for k, v in files(top).items() if k != "made"} | {"tracked": ("0", b"README.md")},
    )


def test_a_link_that_became_a_directory_is_never_written_through(
    world: World, a: Agent, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    a.turn("one", {"d/f.txt": "one\n"})
    a.turn("two", {"d/f.txt": "two\n"})
    (world.path / "d" / "f.txt").unlink()
    (world.path / "d").rmdir()
    (outside / "f.txt").write_text("theirs\n")
    os.symlink(outside, world.path / "d")
    ended = run(world, "rewind", "--to", temporary(world)[-1])
    assert (outside / "f.txt").read_text() == "theirs\n"
    assert ended.returncode == 128
    assert "'d' is in its way, a file that no session made" in ended.stderr
    assert os.path.islink(world.path / "d")


def test_a_link_that_leads_to_itself_or_to_a_twin_gives_way_to_the_directory_that_was_there(
    world: World, a: Agent, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f.txt").write_text("theirs\n")
    a.turn("one", {"d/f.txt": "one\n", "loop/in": "one\n"})
    before = files(world.path)
    a.prompt("two")
    for name, target in (("d", outside), ("loop", "loop")):
        subprocess.run(["rm", "-r", name], cwd=world.path, check=True)
        os.symlink(target, world.path / name)
    a.write("x", "2\n")
    a.stop()
    back_and_forth(world, a, before)
    assert (outside / "f.txt").read_text() == "theirs\n"


def test_names_that_are_not_utf8_or_have_odd_characters_note_return(world: World, a: Agent) -> None:
    names = [b"caf\xe9.txt", b"new\nline", b'quo"te', b"back\\slash", b"-dash", b"*.glob", b" sp "]
    top = os.fsencode(world.path)
    a.prompt("one")
    for name in names:
        with open(os.path.join(top, name), "w") as f:
            f.write("one\n")
    a.write("x", "1\n")
    a.stop()
    before = files(world.path)
    a.prompt("two")
    for name in names:
        with open(os.path.join(top, name), "a") as f:
            f.write("two\n")
    a.write("x", "2\n")
    a.stop()
    back_and_forth(world, a, before)


def test_filters_line_ends_and_attributes_are_gits(world: World, a: Agent) -> None:
    world.git("config", "filter.rot.clean", "tr a-z n-za-m")
    world.git("config", "filter.rot.smudge", "tr a-z n-za-m")
    world.write(".gitattributes", "*.rot filter=rot\n*.crlf text eol=crlf\n*.id ident\n")
    world.commit(".gitattributes")
    a.prompt("one")
    a.write("a.rot", "secret\n")
    (world.path / "b.crlf").write_bytes(b"one\r\ntwo\r\n")
    a.write("plain", "1\n")
    a.stop()
    before = files(world.path)
    a.prompt("two")
    a.write("a.rot", "other\n")
    (world.path / "b.crlf").write_bytes(b"three\r\n")
    a.write(".gitattributes", "*.txt text\n")
    a.stop()
    done(world, "rewind", "--to", temporary(world)[-1])
    assert files(world.path) == before


def test_autocrlf_gives_the_line_ends_it_took(world: World, a: Agent) -> None:
    world.git("config", "core.autocrlf", "true")
    a.prompt("one")
    (world.path / "w.txt").write_bytes(b"one\r\n")
    a.write("x", "1\r\n")
    a.stop()
    before = files(world.path)
    a.prompt("two")
    (world.path / "w.txt").write_bytes(b"two\r\n")
    a.write("x", "2\r\n")
    a.stop()
    done(world, "rewind", "--to", temporary(world)[-1])
    assert (world.path / "w.txt").read_bytes() == b"one\r\n"
    assert files(world.path)["w.txt"] == before["w.txt"]


def test_ignored_omitted_and_foreign_files_are_never_touched(
    world: World, a: Agent, tmp_path: Path
) -> None:
    world.git("config", "gitcp.max-file-size", "10")
    world.write(".gitignore", "*.log\nsecret.env\n")
    world.commit(".gitignore")
    a.turn("one", {"a.py": "1\n"})
    world.write("secret.env", "KEY\n")
    world.write("big.bin", "x" * 100)
    subprocess.run(["git", "init", "-q", "nested"], cwd=world.path, check=True)
    (world.path / "nested" / "own.txt").write_text("own\n")
    os.mkfifo(world.path / "pipe")
    a.turn("two", {"a.py": "2\n"})
    before = files(world.path)
    incomplete = next(p for p in points(world) if p["session_prompt"] == "two")
    assert incomplete["incomplete"]
    done(world, "rewind", "--to", temporary(world)[-1])
    assert files(world.path) == {**before, "a.py": ("0", b"1\n")}
    refused = run(world, "rewind", "--to", incomplete["id"])
    assert "--force goes there anyway" in refused.stderr
    done(world, "rewind", "--force", "--to", incomplete["id"])
    assert files(world.path) == before


def test_what_became_ignored_since_is_kept_and_the_plan_says_so(world: World, a: Agent) -> None:
    a.turn("one", {"x.log": "one\n", "a.py": "1\n"})
    a.turn("two", {".gitignore": "*.log\n", "a.py": "2\n"})
    world.write("x.log", "precious\n")
    told = plan(world, "--to", temporary(world)[-1])
    assert told["x.log"] == ("keep", "something stands there (ignored by git)")
    done(world, "rewind", "--to", temporary(world)[-1])
    assert world.read("x.log") == "precious\n"


def test_a_directory_with_ignored_content_is_no_room_for_a_file(world: World, a: Agent) -> None:
    world.write(".gitignore", "*.log\n")
    world.commit(".gitignore")
    a.turn("one", {"thing": "file\n", "a.py": "1\n"})
    a.turn("two", {"thing": None, "a.py": "2\n"})
    a.turn("three", {"thing/code.py": "c\n"})
    world.write("thing/debug.log", "precious\n")
    before = files(world.path)
    ended = run(world, "rewind", "--to", temporary(world)[-1])
    assert ended.returncode == 128
    assert "'thing/debug.log' would be lost with its directory" in ended.stderr
    assert files(world.path) == before


def test_submodules_stay_as_they_are(world: World, a: Agent, tmp_path: Path) -> None:
    sub = tmp_path / "sub"
    subprocess.run(["git", "init", "-q", str(sub)], check=True)
    commit = ["git", "commit", "-q", "--allow-empty", "-m"]
    subprocess.run([*commit, "one"], cwd=sub, check=True)
    allow = ("-c", "protocol.file.allow=always")
    world.git(*allow, "submodule", "--quiet", "add", str(sub), "sub")
    world.git("commit", "-q", "-m", "sub")
    a.turn("one", {"a.py": "1\n"})
    subprocess.run([*commit, "two"], cwd=world.path / "sub", check=True)
    a.turn("two", {"a.py": "2\n"})
    head = world.git("rev-parse", "HEAD", cwd=world.path / "sub")
    told = plan(world, "--to", temporary(world)[-1])
    assert told["sub"] == ("keep", "a submodule or a repository of its own")
    done(world, "rewind", "--to", temporary(world)[-1])
    assert world.read("a.py") == "1\n"
    assert world.git("rev-parse", "HEAD", cwd=world.path / "sub") == head


def test_a_sparse_checkout_stays_sparse(world: World, a: Agent) -> None:
    a.turn("one", {"src/app.py": "changed\n", "a.py": "1\n"})
    a.turn("two", {"src/app.py": "print('app')\n", "a.py": "2\n"})
    world.git("update-index", "-q", "--refresh", ok=False)
    world.git("sparse-checkout", "set", "--no-cone", "/*", "!/src/")
    assert not (world.path / "src").exists()
    told = plan(world, "--to", temporary(world)[-1])
    assert told["src/app.py"] == ("keep", "not in the sparse checkout")
    done(world, "rewind", "--to", temporary(world)[-1])
    assert not (world.path / "src").exists()
    assert world.read("a.py") == "1\n"


def test_undo_restores_bytes_whose_attributes_a_sparse_checkout_left_out(
    world: World, a: Agent
) -> None:
    world.write("d/.gitattributes", "*.txt text eol=crlf\n")
    world.write("d/e/f.txt", "one\n")
    world.git("add", ".", warns=".")
    world.git("commit", "-qm", "attributes")
    world.git("sparse-checkout", "set", "--no-cone", "/d/e/*")
    a.turn("one", {"d/e/f.txt": "one\n\ttwo\n"})
    a.turn("two", {"d/e/f.txt": "one\n\tthree\n"})
    before = files(world.path)
    run(world, "rewind", "--files-only", "--force", "--to", temporary(world)[-1])
    assert world.read("d/e/f.txt").split() == ["one", "two"]
    done(world, "undo")
    assert files(world.path) == before


def test_names_that_differ_in_case_alone_are_refused_where_case_is_not_told(
    world: World, a: Agent
) -> None:
    a.turn("one", {"File.txt": "one\n", "a.py": "1\n"})
    a.turn("two", {"File.txt": None, "a.py": "2\n"})
    world.write("file.txt", "the person's\n")
    world.git("config", "core.ignorecase", "true")
    before = files(world.path)
    ended = run(world, "rewind", "--to", temporary(world)[-1])
    assert "cannot stand beside 'file.txt' here" in ended.stderr
    assert files(world.path) == before


@needs_a_limit
def test_a_read_only_folder_in_the_middle_leaves_everything_as_it_was(
    world: World, a: Agent
) -> None:
    a.turn("one", {"a.py": "1\n", "ro/b.py": "1\n", "z.py": "1\n"})
    a.turn("two", {"a.py": "2\n", "ro/b.py": "2\n", "z.py": "2\n"})
    before = files(world.path)
    (world.path / "ro").chmod(0o555)
    argv = [*UNPRIVILEGED, sys.executable, str(BIN / "gitcp-rewind"), "--to", temporary(world)[-1]]
    ended = subprocess.run(argv, cwd=world.path, capture_output=True, stdin=subprocess.DEVNULL)
    (world.path / "ro").chmod(0o755)
    assert ended.returncode == 128
    assert files(world.path) == before


def test_the_directory_one_stands_in_stays(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n"})
    a.turn("two", {"here/deep/b.py": "1\n"})
    done(world, "rewind", "--to", temporary(world)[-1], cwd=world.path / "here" / "deep")
    assert (world.path / "here" / "deep").is_dir()
    assert not (world.path / "here" / "deep" / "b.py").exists()


def test_an_unborn_head_and_a_linked_worktree_have_their_own_points(
    world: World, a: Agent, tmp_path: Path
) -> None:
    world.git("worktree", "add", "-q", str(tmp_path / "linked"))
    b = world.agent("22222222-bbbb-4a87-9186-848bdd83d62e", tmp_path / "linked")
    b.turn("one", {"b.py": "1\n"})
    b.turn("two", {"b.py": "2\n"})
    assert temporary(world) == []
    told = done(world, "rewind", "--list", "--json", cwd=tmp_path / "linked").splitlines()
    here = [p["id"] for p in map(json.loads, told) if p["kind"] == "temporary"]
    oldest = here[-1]
    done(world, "rewind", "--to", oldest, cwd=tmp_path / "linked")
    assert (tmp_path / "linked" / "b.py").read_text() == "1\n"
    world.git("checkout", "-q", "--orphan", "fresh")
    a.turn("one", {"a.py": "1\n"})
    a.turn("two", {"a.py": "2\n"})
    done(world, "rewind", "--to", temporary(world)[-1])
    assert world.read("a.py") == "1\n"


@pytest.mark.parametrize("content", ["a link", "a program"])
def test_a_file_is_placed_from_another_file_system_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    there, staged = tmp_path / "worktree", tmp_path / "staged"
    there.mkdir()
    if content == "a link":
        staged.symlink_to("target")
    else:
        staged.write_text("new\n")
        staged.chmod(0o755)
    (there / "file").write_text("old\n")
    rename = os.rename

    def elsewhere(source: Any, target: Any, **folders: int) -> None:
        if "src_dir_fd" not in folders:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        rename(source, target, **folders)

    monkeypatch.setattr(os, "rename", elsewhere)
    folder = os.open(there, os.O_RDONLY)
    carrying_out._place_file(os.fsencode(staged), folder, b"file")
    os.close(folder)
    assert [path.name for path in there.iterdir()] == ["file"]
    if content == "a link":
        assert os.readlink(there / "file") == "target"
    else:
        assert (there / "file").read_text() == "new\n" and os.access(there / "file", os.X_OK)
