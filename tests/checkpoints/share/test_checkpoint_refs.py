"""Checkpoints with refs of their own: written, read beside a branch, sent, fetched, converted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from gitcp.checkpoints.share import sync
from gitcp.checkpoints.share.remote import Remote
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.text.short_ids import shorten_id
from tests.checkpoints.share.original_refs import ULID, own_ref, stored_by_the_original
from tests.support.checkpoints import find_place, forget, unbundle
from tests.support.harness import OWN, V1, World
from tests.support.paths import BIN


def refs(world: World, *patterns: str, cwd: Path | None = None) -> list[str]:
    names = patterns or (OWN, V1)
    return world.git("for-each-ref", "--format=%(refname)", *names, cwd=cwd).split()


def tips(world: World, cwd: Path | None = None) -> dict[str, str]:
    lines = world.git("for-each-ref", "--format=%(refname) %(objectname)", OWN, cwd=cwd)
    return dict(line.split(" ", 1) for line in lines.splitlines())


def linked(world: World, name: str) -> str:
    """A turn that writes a file, committed; the checkpoint's id."""
    world.agent(f"s-{name}").turn(f"write {name}", {f"{name}.py": f"{name}\n"})
    [checkpoint_id] = world.commit(f"{name}.py")
    return checkpoint_id


def clone(world: World, bare: Path, name: str) -> World:
    at = world.path.parent / name
    world.git("clone", "-q", str(bare), str(at))
    there = World(at, world.home, world.env)
    there.git("config", "gitcp.remote", "origin")
    return there


@pytest.fixture
def own(world: World) -> World:
    """A repository whose new checkpoints get refs of their own."""
    world.git("config", "gitcp.store", "refs")
    return world


def test_a_new_checkpoint_gets_a_ref_of_its_own_and_no_branch(own: World) -> None:
    checkpoint_id = linked(own, "one")
    assert refs(own) == [own_ref(checkpoint_id)]
    names = own.git("ls-tree", "--name-only", own_ref(checkpoint_id)).split()
    assert names == ["0", "metadata.json"]
    assert own.git("log", "--format=%P", own_ref(checkpoint_id)) == ""
    assert own.gitcp("fsck") == ""


def test_a_checkpoint_written_again_stands_on_its_first_commit(own: World) -> None:
    agent = own.agent("s-one")
    agent.prompt("write")
    agent.write("one.py", "one\n")
    [checkpoint_id] = own.commit("one.py")
    first = own.git("rev-parse", own_ref(checkpoint_id))
    agent.stop()
    assert own.git("rev-parse", f"{own_ref(checkpoint_id)}^") == first
    assert own.git("log", "-1", "--format=%s", own_ref(checkpoint_id)).startswith("Finalize")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("log",), "write one"),
        (("log", "--json"), "s-one"),
        (("show", "HEAD"), "write one"),
        (("show", "s-one"), "write one"),
        (("explain", "HEAD"), "write one"),
        (("blame", "one.py"), shorten_id("s-one")),
        (("why", "one.py:1"), "write one"),
        (("stats", "--json", "HEAD~1..HEAD"), "s-one"),
        (("du",), "checkpoints"),
        (("search", "write"), "write one"),
        (("list-sessions",), "s-one"),
        (("list-checkpoints",), OWN),
        (("resume", "--json", "HEAD"), "s-one"),
    ],
)
def test_a_command_reads_a_checkpoint_of_a_ref(
    own: World, command: tuple[str, ...], expected: str
) -> None:
    linked(own, "one")
    assert expected in own.gitcp(*command)


@pytest.mark.parametrize("checkpoint_id", [ULID, "0123456789ab"])
def test_what_todays_original_wrote_is_read(world: World, checkpoint_id: str) -> None:
    stored_by_the_original(world, checkpoint_id)
    assert "make a parrot" in world.gitcp("log")
    shown = world.gitcp("show", "HEAD")
    assert "the parrot is there" in shown and shorten_id("their-session") in shown
    assert shorten_id("their-session") in world.gitcp("show", checkpoint_id[:8])
    [record] = map(json.loads, world.gitcp("list-checkpoints").splitlines())
    assert record["checkpoint_id"] == checkpoint_id and record["ref"] == own_ref(checkpoint_id)
    assert "parrot" in world.gitcp("search", "parrot")
    assert world.gitcp("fsck") == ""


def test_both_kinds_live_in_one_repository(world: World) -> None:
    on_branch = linked(world, "one")
    world.git("config", "gitcp.store", "refs")
    in_ref = linked(world, "two")
    stored_by_the_original(world)
    listed = [json.loads(line) for line in world.gitcp("list-checkpoints").splitlines()]
    assert {r["checkpoint_id"] for r in listed} == {on_branch, in_ref, ULID}
    assert {r["ref"] for r in listed} == {V1, own_ref(in_ref), own_ref(ULID)}
    told = world.gitcp("log")
    assert all(words in told for words in ("write one", "write two", "make a parrot"))
    assert world.gitcp("fsck") == ""


def test_what_is_on_a_branch_that_is_not_sent_is_said_to_be_lacking_until_it_is_converted(
    world: World, tmp_path: Path
) -> None:
    world.git("init", "-q", "--bare", str(tmp_path / "there"))
    world.git("config", "gitcp.remote", str(tmp_path / "there"))
    linked(world, "one")
    world.git("config", "gitcp.store", "refs")
    linked(world, "two")
    told = world.gitcp("push")
    assert "sent 1 checkpoint" in told and "not sent: 1 checkpoint on the branch" in told
    assert "; 1 is not sent yet: 'gitcp push'" in world.gitcp("status")
    world.gitcp("convert-store")
    assert "sent 1 checkpoint" in world.gitcp("push")
    assert "; all are sent" in world.gitcp("status")


def test_twelve_digits_are_looked_for_in_refs_before_the_branch(world: World) -> None:
    checkpoint_id = linked(world, "one")
    stored_by_the_original(world, checkpoint_id)
    [record] = map(json.loads, world.gitcp("list-checkpoints").splitlines())
    assert record["sessions"] == ["their-session"]


def test_a_checkpoint_of_the_branch_that_is_written_again_is_copied_to_its_ref(
    world: World,
) -> None:
    agent = world.agent("s-one")
    agent.prompt("write")
    agent.write("one.py", "one\n")
    [checkpoint_id] = world.commit("one.py")
    before = world.git("rev-parse", V1)
    world.git("config", "gitcp.store", "refs")
    agent.stop()
    assert world.git("rev-parse", V1) == before
    assert refs(world, OWN) == [own_ref(checkpoint_id)]
    assert "done" in world.gitcp("show", checkpoint_id)


def test_where_checkpoints_have_refs_and_nothing_is_set_new_ones_get_one(world: World) -> None:
    stored_by_the_original(world)
    checkpoint_id = linked(world, "one")
    assert set(refs(world)) == {own_ref(ULID), own_ref(checkpoint_id)}


@pytest.mark.parametrize("name", ["01/0123456789ab", "ab/0123456789ab/x", "YZ/not-an-id"])
def test_a_ref_whose_name_does_not_fit_is_no_checkpoint(world: World, name: str) -> None:
    world.git("update-ref", f"{OWN}/{name}", "HEAD")
    assert world.gitcp("list-checkpoints") == ""
    done = subprocess.run(
        [BIN / "gitcp-fsck"], cwd=world.path, capture_output=True, text=True, check=False
    )
    assert f"{OWN}/{name}" in done.stdout + done.stderr


def test_refs_go_to_the_destination_and_come_back_in_a_clone(own: World) -> None:
    bare, one = own.share(), linked(own, "one")
    own.git("push", "-q", "origin", "main")
    assert refs(own, cwd=bare) == [own_ref(one)]
    there = clone(own, bare, "there")
    there.gitcp("fetch")
    assert tips(there) == tips(own)
    assert "write one" in there.gitcp("log")


def test_a_checkpoint_that_two_clones_wrote_to_has_both_sessions(own: World) -> None:
    bare, one = own.share(), linked(own, "one")
    own.gitcp("push")
    there = clone(own, bare, "there")
    there.gitcp("fetch")
    for world, session in ((own, "mine"), (there, "theirs")):
        given = {"type": "session", "session_id": session, "checkpoint_id": one, "prompts": ["x"]}
        world.gitcp("write-committed", stdin=json.dumps(given) + "\n")
    there.gitcp("push")
    assert "merged with what others had pushed" in own.gitcp("push")
    [record] = map(json.loads, own.gitcp("list-checkpoints").splitlines())
    assert set(record["sessions"]) == {"s-one", "mine", "theirs"}
    assert tips(own, bare) == tips(own)
    there.gitcp("fetch")
    assert tips(there) == tips(own)


def many(world: World, count: int) -> None:
    """So many checkpoints with refs of their own."""
    given = [
        {"type": "session", "session_id": f"s{n}", "checkpoint_id": f"{n:012x}", "prompts": ["x"]}
        for n in range(count)
    ]
    world.gitcp("write-committed", stdin="".join(json.dumps(one) + "\n" for one in given))


class Cut(Exception):
    """The process ends here."""


def test_a_push_that_is_cut_short_goes_on_where_it_was(
    own: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = own.share()
    many(own, 450)
    sent: list[int] = []
    push = Remote.push_refs

    def counted(remote: Remote, tips: dict[str, str]) -> dict[str, str]:
        if len(sent) == 2:
            sent.append(0)
            raise Cut
        sent.append(len(tips))
        return push(remote, tips)

    monkeypatch.setattr(Remote, "push_refs", counted)
    repo = Repo.find(str(own.path))
    with Objects(repo):
        with pytest.raises(Cut):
            sync.push_store(repo, find_place(repo, "origin"), 60, again=False)
        assert len(tips(own, bare)) == 400
        sync.push_store(repo, find_place(repo, "origin"), 60, again=False)
    assert sent == [200, 200, 0, 50]
    assert tips(own, bare) == tips(own)


def test_a_push_that_is_killed_loses_nothing(own: World) -> None:
    bare = own.share()
    many(own, 450)
    hook = bare / "hooks/post-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntest -e once && kill -9 $PUSHER\n: >once\n")
    hook.chmod(0o755)
    script = f'PUSHER=$$ exec "{BIN}/gitcp-push" origin'
    env = {**os.environ, **own.env}
    done = subprocess.run(["sh", "-c", script], cwd=own.path, env=env, capture_output=True)
    assert done.returncode == -signal.SIGKILL
    hook.unlink()
    assert len(tips(own, bare)) > 0
    own.gitcp("push")
    assert tips(own, bare) == tips(own)


def test_showing_one_checkpoint_fetches_that_one_alone(own: World) -> None:
    bare, one, two = own.share(), linked(own, "one"), linked(own, "two")
    own.git("push", "-q", "origin", "main")
    assert len(tips(own, bare)) == 2
    there = clone(own, bare, "there")
    assert "write one" in there.gitcp("show", "HEAD~1")
    assert refs(there) == [own_ref(one)]
    assert "write two" in there.gitcp("show", two)


def test_what_the_destination_has_is_listed_and_not_fetched(own: World) -> None:
    ids = [linked(own, "one"), linked(own, "two")]
    bare = own.share()
    own.gitcp("push")
    there = clone(own, bare, "clone")
    there.gitcp("show", ids[0])
    listed = there.gitcp("fetch", "--list").splitlines()
    assert {line for line in listed if "refs/" not in line} == {
        f"{ids[0]}  here",
        f"{ids[1]}  only at the remote",
    }
    assert refs(there) == [own_ref(ids[0])]
    assert tips(own) == {
        one["ref"]: one["oid"]
        for one in map(json.loads, there.gitcp("fetch", "--list", "--json").splitlines())
        if one["ref"].startswith(OWN)
    }


def test_converting_keeps_every_checkpoint_as_it_was(world: World) -> None:
    for name in ("one", "two", "three"):
        linked(world, name)
    before = world.gitcp("log", "--json")
    branch = world.git("rev-parse", V1)
    records = map(json.loads, world.gitcp("convert-store", "--json").splitlines())
    assert {one["ref"]: one["oid"] for one in records} == tips(world)
    assert world.gitcp("log", "--json") == before
    assert len(tips(world)) == 3 and world.git("rev-parse", V1) == branch
    moved = tips(world)
    assert world.gitcp("convert-store").startswith("0 of 3")
    assert tips(world) == moved
    world.git("branch", "-q", "-D", "entire/checkpoints/v1")
    assert world.gitcp("log", "--json") == before
    assert world.gitcp("fsck") == ""


def test_two_clones_that_convert_make_the_same_commits(world: World) -> None:
    bare = world.share()
    linked(world, "one")
    world.git("push", "-q", "origin", "main")
    there = clone(world, bare, "there")
    there.gitcp("fetch")
    for each in (world, there):
        each.gitcp("convert-store")
    assert tips(there) == tips(world)


def test_what_was_written_to_a_ref_since_stays_when_the_branch_is_converted_again(
    world: World,
) -> None:
    one = linked(world, "one")
    world.gitcp("convert-store")
    given = {"type": "session", "session_id": "more", "checkpoint_id": one, "prompts": ["x"]}
    world.gitcp("write-committed", stdin=json.dumps(given) + "\n")
    before = tips(world)
    assert world.gitcp("convert-store").startswith("0 of 1")
    assert tips(world) == before


def test_the_branch_is_sent_no_more_once_it_is_converted(world: World) -> None:
    bare, one = world.share(), linked(world, "one")
    world.gitcp("convert-store")
    assert "1 is not sent yet" in world.gitcp("status")
    world.git("push", "-q", "origin", "main")
    assert refs(world, cwd=bare) == [own_ref(one)]
    assert world.git("config", "gitcp.store") == "refs"


def test_the_checkpoints_of_the_original_are_converted_as_they_are(tmp_path: Path) -> None:
    repo = unbundle("v1-sample", tmp_path / "theirs")
    world = World(tmp_path / "theirs", tmp_path / "home")
    before = world.gitcp("list-checkpoints")
    assert world.gitcp("convert-store").startswith("24 of 24")
    after = [json.loads(line) for line in world.gitcp("list-checkpoints").splitlines()]
    assert all(r["ref"] == own_ref(r["checkpoint_id"]) for r in after)
    for record in after:
        record["ref"] = V1
    expected = [json.loads(line) for line in before.splitlines()]
    by_id = {r["checkpoint_id"]: {**r, "ref": V1} for r in expected}
    assert {r["checkpoint_id"]: r for r in after} == by_id
    assert repo.top


def test_a_push_that_would_carry_the_refs_elsewhere_is_refused(own: World) -> None:
    own.share()
    linked(own, "one")
    deploy = own.remote("deploy")
    done = subprocess.run(
        ["git", "push", "deploy", f"{OWN}/*:{OWN}/*"],
        cwd=own.path,
        env={**os.environ, **own.env, "PATH": f"{BIN}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode and f"transcripts to '{deploy}'" in done.stderr


def test_fsck_mends_a_ref_that_lacks_an_object_and_keeps_what_can_be_read(own: World) -> None:
    broken, whole = linked(own, "one"), linked(own, "two")
    ref, before = own_ref(broken), tips(own)
    gone = own.git("rev-parse", f"{ref}:0/prompt.txt")
    forget(own.path / ".git", gone)
    done = subprocess.run([str(BIN / "gitcp-fsck")], cwd=own.path, capture_output=True, text=True)
    assert done.returncode == 1 and f"(broken-store)\n  {ref}: " in done.stdout
    own.gitcp("fsck", "--repair")
    assert tips(own)[own_ref(whole)] == before[own_ref(whole)]
    assert own.git("rev-list", "--objects", ref) and "write one" in own.gitcp("show", broken)
    assert "0/prompt.txt" not in own.git("ls-tree", "-r", "--name-only", ref).split()
    own.gitcp("fsck")
