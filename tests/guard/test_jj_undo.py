"""`jj undo` in a directory that git shares rolls git's branches back, and branches become refs,
maybe killed at it: the store loses nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.guard.working_copies import Copy
from tests.support import warm
from tests.support.harness import V1, Agent
from tests.support.paths import ENTRY

NewCopy = Callable[[str], Copy]

# What stands in place of git: at the transaction it kills the hook above it ($PPID) and git itself.
# A hook of git's is run with all locks held; a log that is a pipe without a reader stops git after
# the first ref, whose file tells when.
WRAPPER = """#!/bin/sh
case "$*" in
*"gitcp: beside jj"*) ;;
*) exec {git} "$@" ;;
esac
export OURS=$PPID
for word; do
	shift
	[ "$word" != core.hooksPath=/dev/null ] || word=core.hooksPath={home}
	set -- "$@" "$word"
done
case {when} in
before) kill -9 $OURS; exit 1 ;;
prepared) exec {git} "$@" ;;
half)
	mkdir -p {log_folder}
	mkfifo {log}
	(while kill -0 $$ && [ ! -e {first} ]; do :; done; kill -9 $OURS $$) &
	exec {git} "$@" ;;
after) {git} "$@"; kill -9 $OURS ;;
esac
"""
HOOK = """#!/bin/sh
[ "$1" != prepared ] || kill -9 $OURS $PPID
"""


@pytest.fixture
def shared(new_copy: NewCopy) -> Copy:
    """A colocated working copy in which two commits are linked, their checkpoints on the branch."""
    copy = new_copy("colocated")
    copy.set("gitcp.store", "branch")
    return copy


@pytest.fixture
def agent(shared: Copy) -> Agent:
    a, _ = shared.pair()
    for name in ("one", "two"):
        work(shared, a, name)
    return a


def work(copy: Copy, agent: Agent, name: str) -> None:
    """A file by the agent, which the person commits with jj, and the event that links it."""
    agent.write(f"{name}.txt", "by A\n")
    agent.stop()
    copy.jj("commit", "-m", name)
    agent.prompt(f"after {name}")


def stored(copy: Copy) -> set[str]:
    out = warm.run("list-checkpoints", cwd=copy.path).stdout
    return {line.split('"checkpoint_id":"')[1][:12] for line in out.splitlines()}


def undo_until_it_moves(copy: Copy) -> str:
    """Undo operations of jj until the store's branch is another; where it is then."""
    before = copy.ref(V1)
    for _ in range(9):
        copy.jj("undo")
        if copy.ref(V1) != before:
            return copy.ref(V1)
    raise AssertionError("the branch has not moved")


def test_a_store_that_jj_rolled_back_is_whole_at_the_next_event(shared: Copy, agent: Agent) -> None:
    every, tip = stored(shared), shared.ref(V1)
    assert len(every) == 2
    shared.jj("status")
    assert undo_until_it_moves(shared)
    assert stored(shared) < every
    agent.stop()
    agent.prompt("go on")
    assert stored(shared) == every and shared.ref(V1) == tip


def test_a_store_that_jj_took_away_is_there_again(shared: Copy, agent: Agent) -> None:
    every = stored(shared)
    shared.jj("status")
    while shared.ref(V1):
        undo_until_it_moves(shared)
    agent.stop()
    agent.prompt("go on")
    assert stored(shared) == every


def test_what_is_stored_after_an_undo_stands_beside_what_was_before(
    shared: Copy, agent: Agent
) -> None:
    every = stored(shared)
    shared.jj("status")
    undo_until_it_moves(shared)
    shared.jj("new", "root()+")
    env = {**os.environ, **shared.env}
    line = '{"type":"session","checkpoint_id":"abcdefabcdef","session_id":"s"}\n'
    done = warm.command("write-committed", [], shared.path, env, line.encode())
    assert done.returncode == 0, done
    assert stored(shared) == {*every, "abcdefabcdef"}


def test_an_undo_after_an_undo_loses_nothing_either(shared: Copy, agent: Agent) -> None:
    shared.jj("status")
    undo_until_it_moves(shared)
    agent.stop()
    agent.prompt("go on")
    work(shared, agent, "three")
    every = stored(shared)
    assert len(every) >= 3
    shared.jj("status")
    undo_until_it_moves(shared)
    agent.stop()
    agent.prompt("go on")
    assert stored(shared) == every


@pytest.mark.parametrize("how", ["git", "jj"])
def test_a_store_that_a_person_deletes_stays_deleted(shared: Copy, agent: Agent, how: str) -> None:
    shared.jj("status")
    if how == "git":
        shared.git("branch", "-q", "-D", "entire/checkpoints/v1")
        shared.jj("status")
    else:
        shared.jj("bookmark", "delete", "entire/checkpoints/v1")
    agent.stop()
    agent.prompt("go on")
    assert not shared.ref(V1)


def test_beside_jj_checkpoints_get_refs_that_are_no_bookmarks(new_copy: NewCopy) -> None:
    copy = new_copy("colocated")
    a, _ = copy.pair()
    work(copy, a, "one")
    [checkpoint_id] = stored(copy)
    assert not copy.ref(V1)
    assert copy.ref(f"refs/entire/checkpoints/{checkpoint_id[-2:]}/{checkpoint_id}")
    assert "checkpoints" not in copy.jj("bookmark", "list", "--all-remotes")
    copy.jj("undo")
    a.stop()
    assert stored(copy) == {checkpoint_id}


def test_a_branch_beside_jj_is_moved_into_refs_once_and_said_once(
    shared: Copy, agent: Agent
) -> None:
    every = stored(shared)
    shared.git("config", "--unset", "gitcp.store")
    shared.jj("status")
    assert "'entire/checkpoints/v1' is gone" in agent.prompt("go on").said
    assert stored(shared) == every and len(every) == 2
    assert not shared.ref(V1) and not shared.ref("refs/gitcp/store")
    assert "entire" not in shared.jj("bookmark", "list", "--all-remotes")
    while not shared.ref(V1):
        shared.jj("undo")  # jj makes the branch again
    assert "is gone" not in agent.prompt("again").said
    assert not shared.ref(V1) and stored(shared) == every
    assert warm.run("fsck", cwd=shared.path).stdout == ""


def kill_prompt(copy: Copy, agent: Agent, when: str, ids: list[str]) -> None:
    """A prompt of the session that is killed at its transaction."""
    first, last = (copy.store / f"refs/entire/checkpoints/{i[-2:]}/{i}" for i in (ids[0], ids[-1]))
    log = copy.store / "logs" / last.relative_to(copy.store)
    folder = copy.home / "bin"
    folder.mkdir()
    places = {"git": shutil.which("git"), "home": folder, "first": first, "log": log}
    for name, text in {
        "git": WRAPPER.format(**places, when=when, log_folder=log.parent),
        "reference-transaction": HOOK if when == "prepared" else "",
    }.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755 if text else 0o644)
    payload = {
        "session_id": agent.sid,
        "transcript_path": str(agent.transcript),
        "cwd": str(copy.path),
        "hook_event_name": "UserPromptSubmit",
        "prompt": "killed",
    }
    path = f"{folder}:{copy.env.get('PATH', os.environ['PATH'])}"
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(ENTRY), "claude-code", "UserPromptSubmit"],
        cwd=copy.path,
        env={**os.environ, **copy.env, "PATH": path, "CLAUDE_PID": str(agent.pid)},
        input=json.dumps(payload).encode(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert done.returncode == -9
    if when == "half":
        assert first.exists() and not last.exists()
        log.unlink()


@pytest.mark.parametrize("when", ["before", "prepared", "half", "after"])
def test_killed_while_its_branch_becomes_refs_the_store_is_whole_and_the_next_prompt_ends_it(
    new_copy: NewCopy, when: str
) -> None:
    copy = new_copy("colocated")
    copy.set("gitcp.store", "branch")
    agent, _ = copy.pair()
    for name in ("one", "two"):
        work(copy, agent, name)
    every = stored(copy)
    copy.git("config", "--unset", "gitcp.store")
    kill_prompt(copy, agent, when, sorted(every))
    assert bool(copy.ref(V1)) is (when != "after")
    assert stored(copy) == every, "whatever is read in between"
    lock = copy.store / "packed-refs.lock"
    assert lock.exists() is (when in ("prepared", "half"))
    if lock.exists():  # git's own: it is named, and the person takes it away
        os.utime(lock, (0, 0))
        assert str(lock) in warm.run("doctor", cwd=copy.path).stdout
        lock.unlink()
    agent.prompt("go on")
    assert stored(copy) == every
    assert not copy.ref(V1) and not copy.ref("refs/gitcp/store")
    refs = copy.git("for-each-ref", "--format=%(refname:lstrip=4)", "refs/entire/checkpoints")
    assert set(refs.split()) == every
    assert not [*Path(copy.store).rglob("refs/**/*.lock")]
    assert warm.run("fsck", cwd=copy.path).stdout == ""
    work(copy, agent, "three")
    assert len(stored(copy)) == 3


def test_a_branch_with_other_things_than_checkpoints_stays_beside_jj(
    shared: Copy, agent: Agent
) -> None:
    shared.git("config", "--unset", "gitcp.store")
    readme = shared.git("hash-object", "-w", "README.md").strip()
    listed = shared.git("ls-tree", V1) + f"100644 blob {readme}\tREADME.md\n"
    tree = subprocess.run(
        ["git", "mktree"], cwd=shared.path, input=listed, text=True, capture_output=True, check=True
    ).stdout.strip()
    tip = shared.git("commit-tree", "-p", V1, "-m", "a page for it", tree).strip()
    shared.git("update-ref", V1, tip)
    assert "is gone" not in agent.prompt("go on").said
    assert shared.ref(V1) == tip


def test_a_branch_that_others_send_is_not_one_here_beside_jj(
    shared: Copy, agent: Agent, tmp_path: Path
) -> None:
    every, bare = stored(shared), tmp_path / "bare.git"
    shared.git("init", "-q", "--bare", str(bare))
    shared.git("push", "-q", "--no-verify", str(bare), V1)
    shared.git("config", "--unset", "gitcp.store")
    shared.git("update-ref", "-d", V1)
    shared.git("update-ref", "-d", "refs/gitcp/store")
    assert stored(shared) == set()
    done = warm.run("fetch", str(bare), cwd=shared.path)
    assert done.returncode == 0, done
    assert stored(shared) == every and not shared.ref(V1)


def test_a_worktree_of_git_beside_jj_is_covered_too(
    shared: Copy, agent: Agent, tmp_path: Path
) -> None:
    there = tmp_path / "linked"
    shared.git("worktree", "add", "-q", str(there))
    line = '{"type":"session","checkpoint_id":"abcdefabcdef","session_id":"s"}\n'
    env = {**os.environ, **shared.env}
    done = warm.command("write-committed", [], there, env, line.encode())
    assert done.returncode == 0, done
    every = stored(shared)
    shared.jj("status")
    undo_until_it_moves(shared)
    agent.stop()
    agent.prompt("go on")
    assert stored(shared) == every
    subprocess.run(["git", "fsck", "--connectivity-only"], cwd=shared.path, check=True)
