"""gitcp forget: content goes out of all that is here, and no other clone brings it back."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from gitcp.git.jj import add_workspace
from gitcp.setup.care.forgetting import ForgetChoice
from tests.support.harness import V1, Agent, World
from tests.support.paths import BIN
from tests.support.scenes import Scenes
from tests.support.terminal import talk

if TYPE_CHECKING:
    from gitcp.checkpoints.stored import SessionEntry

WORD = "xylophone"  # what nobody may read any more


def record_sessions(world: World, store: str) -> World:
    """A repository in which a session said a word, and another one did not."""
    world.git("config", "gitcp.store", store)
    world.remote("origin")
    for name, prompt in (("secret", f"a {WORD} please"), ("open", "a drum please")):
        agent = world.agent(f"s-{name}")
        agent.turn(prompt, {f"{name}.py": f"{name}\n"})
        world.commit(f"{name}.py")
        agent.end()
    return world


STORES = {store: partial(record_sessions, store=store) for store in ("branch", "refs")}


@pytest.fixture(params=STORES)
def recorded(
    scenes: Scenes, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[World]:
    yield from scenes.play(STORES[request.param], monkeypatch)


def shared(world: World) -> Path:
    """Its remote, which has the store from now on."""
    world.git("config", "gitcp.remote", "origin")
    return Path(world.git("config", "remote.origin.url"))


def held(world: World, word: str = WORD, cwd: Path | None = None) -> list[str]:
    """Where a word stands: objects of a repository, and files of ours in it."""
    at = cwd or world.path
    git = Path(world.git("rev-parse", "--absolute-git-dir", cwd=at))
    command = ["git", "cat-file", "--batch-all-objects", "--batch"]
    objects = subprocess.check_output(command, cwd=at)
    found = [
        line.decode(errors="replace") for line in objects.splitlines() if word.encode() in line
    ]
    for folder in (git / "gitcp", git / "entire-sessions"):
        files = [p for p in folder.rglob("*") if p.is_file()] if folder.exists() else []
        found += [str(p) for p in files if word.encode() in p.read_bytes()]
    return found


def tried(world: World, *args: str) -> subprocess.CompletedProcess[str]:
    command = [str(BIN / f"gitcp-{args[0]}"), *args[1:]]
    env = {**os.environ, **world.env}
    return subprocess.run(command, cwd=world.path, env=env, capture_output=True, text=True)


def clone(world: World, bare: Path, name: str) -> World:
    at = world.path.parent / name
    world.git("clone", "-q", str(bare), str(at))
    there = World(at, world.home, world.env)
    there.git("config", "gitcp.remote", "origin")
    there.git("config", "gitcp.store", world.git("config", "gitcp.store"))
    there.gitcp("fetch")
    return there


@pytest.mark.parametrize("choice", ["--all", "s-secret", "--before=2030-01-01"])
def test_a_dry_run_counts_what_would_be_forgotten_and_forgets_nothing(
    recorded: World, choice: str
) -> None:
    before = held(recorded), recorded.git("for-each-ref")
    said = recorded.gitcp("forget", "-n", choice)
    assert (held(recorded), recorded.git("for-each-ref")) == before
    done = recorded.gitcp("forget", "--yes", choice).splitlines()[0]
    assert said == f"would forget: {done.removeprefix('forgotten: ')}\n"
    assert "2 checkpoint parts" in said or "1 checkpoint part," in said
    assert recorded.gitcp("forget", "--dry-run", choice) == "there is nothing to forget here\n"


def test_nothing_of_a_forgotten_session_is_left_here(recorded: World) -> None:
    recorded.gitcp("search", WORD)
    assert held(recorded)
    said = recorded.gitcp("forget", "--yes", "s-secret")
    assert "forgotten" in said
    recorded.git("gc", "-q", "--prune=now")
    assert held(recorded) == []
    assert WORD not in recorded.gitcp("log")
    assert "a drum please" in recorded.gitcp("log")
    assert recorded.gitcp("fsck") == ""
    assert "s-open" in recorded.gitcp("list-checkpoints")


def test_what_stands_in_its_place_says_so(recorded: World) -> None:
    recorded.gitcp("forget", "--yes", "s-secret")
    assert "forgotten" in recorded.gitcp("show", "HEAD~1")
    assert "forgotten" in recorded.gitcp("log")
    assert tried(recorded, "doctor").stdout.count("forgotten") == 0


def test_a_checkpoint_alone_can_be_forgotten(recorded: World) -> None:
    [checkpoint_id] = recorded.ids("HEAD~1")
    recorded.gitcp("forget", "--yes", checkpoint_id)
    assert WORD not in recorded.gitcp("log")
    assert "a drum please" in recorded.gitcp("show", "HEAD")
    assert recorded.gitcp("fsck") == ""


def test_all_can_be_forgotten(recorded: World) -> None:
    recorded.gitcp("forget", "--yes", "--all")
    recorded.git("gc", "-q", "--prune=now")
    assert held(recorded) == [] and held(recorded, "a drum please") == []
    assert recorded.gitcp("fsck") == ""


def test_what_is_younger_than_a_day_stays(recorded: World) -> None:
    said = recorded.gitcp("forget", "--yes", "--before", "2000-01-01")
    assert "nothing to forget" in said
    recorded.gitcp("forget", "--yes", "--before", "2999-01-01")
    assert WORD not in recorded.gitcp("log")


def test_a_session_at_work_is_not_forgotten(world: World, a: Agent) -> None:
    a.prompt(f"a {WORD} please")
    done = tried(world, "forget", "--yes", a.sid)
    assert done.returncode == 128 and "is at work" in done.stderr
    assert held(world)


def test_without_a_terminal_it_has_to_be_agreed_to(recorded: World) -> None:
    done = tried(recorded, "forget", "s-secret")
    assert done.returncode == 128 and "--yes" in done.stderr
    assert WORD in recorded.gitcp("log")


def test_at_a_terminal_it_is_asked_and_only_yes_forgets(recorded: World) -> None:
    ask = "forget it? [y/N] "
    assert "forgotten" not in talk(recorded, ["forget", "s-secret"], (ask, "\n"))
    assert held(recorded)
    assert "forgotten: " in talk(recorded, ["forget", "s-secret"], (ask, "y\n"))
    assert WORD not in recorded.gitcp("log")


def test_what_cannot_be_chosen_is_an_error_that_names_it(world: World) -> None:
    for words, why in (
        (["--before", "22.11.2026"], "not a day such as 2026-11-22: '22.11.2026'"),
        ([], "name a session or a checkpoint, or give --before or --all"),
        (["nobody"], "no such checkpoint or session: 'nobody'"),
    ):
        done = tried(world, "forget", "--yes", *words)
        assert (done.returncode, why in done.stderr) == (128, True), done


def test_the_destination_is_told_on_request(recorded: World) -> None:
    bare = shared(recorded)
    recorded.git("push", "-q", "origin", "main")
    assert held(recorded, cwd=bare)
    said = recorded.gitcp("forget", "--yes", "--remote", "s-secret")
    assert "'origin' does not have it any more" in said and "cannot be deleted from here" in said
    recorded.git("gc", "-q", "--prune=now", cwd=bare)
    assert held(recorded, cwd=bare) == []
    assert "a drum please" in recorded.gitcp("log")


def test_the_destination_can_be_told_later(recorded: World) -> None:
    bare = shared(recorded)
    recorded.git("push", "-q", "origin", "main")
    recorded.gitcp("forget", "--yes", "s-secret")
    said = recorded.gitcp("forget", "--yes", "--remote", "s-secret")
    assert "nothing to forget here" in said and "'origin' does not have it any more" in said
    assert "'origin' has nothing of it" in recorded.gitcp("forget", "--yes", "--remote", "s-secret")
    for at in (bare, recorded.path):
        recorded.git("gc", "-q", "--prune=now", cwd=at)
        assert held(recorded, cwd=at) == [], at
    assert "a drum please" in recorded.gitcp("log")


def test_a_destination_that_changes_meanwhile_is_left_as_it_is(recorded: World) -> None:
    bare = shared(recorded)
    recorded.git("push", "-q", "origin", "main")
    hook = bare / "hooks" / "pre-receive"
    hook.write_text(
        "#!/bin/sh\nunset GIT_QUARANTINE_PATH\nread old new ref\n"
        "git update-ref $ref $(git commit-tree -p $old -m theirs $old^{tree})\n"
    )
    hook.chmod(0o755)
    refused = tried(recorded, "forget", "--yes", "--remote", "s-secret")
    assert refused.returncode == 128
    assert "fatal: 'origin' has changed meanwhile: refs/" in refused.stderr
    assert refused.stderr.endswith("; run this again\n") and held(recorded, cwd=bare)
    hook.unlink()
    assert "does not have it any more" in recorded.gitcp("forget", "--yes", "--remote", "s-secret")
    recorded.git("gc", "-q", "--prune=now", cwd=bare)
    assert held(recorded, cwd=bare) == []


def test_a_push_that_was_refused_is_no_finding_once_the_destination_agrees(recorded: World) -> None:
    shared(recorded)
    recorded.git("push", "-q", "origin", "main")
    recorded.gitcp("forget", "--yes", "s-secret")
    recorded.git("push", "-q", "origin", "main", warns="still has what was forgotten")
    assert "pre-push failed" in tried(recorded, "doctor").stdout
    recorded.gitcp("forget", "--yes", "--remote", "s-secret")
    assert "pre-push failed" not in tried(recorded, "doctor").stdout


def test_the_branch_of_a_converted_store_is_forgotten_there(recorded: World) -> None:
    bare = shared(recorded)
    recorded.git("push", "-q", "origin", "main")
    recorded.git("config", "gitcp.store", "refs")
    recorded.gitcp("convert-store")
    recorded.gitcp("push")
    recorded.gitcp("forget", "--yes", "--remote", "s-secret")
    recorded.git("gc", "-q", "--prune=now", cwd=bare)
    assert held(recorded, cwd=bare) == []
    there = clone(recorded, bare, "there")
    assert WORD not in there.gitcp("log", "--all") and "a drum please" in there.gitcp("log")


def test_the_branch_of_the_others_is_forgotten_there_from_beside_jj(recorded: World) -> None:
    bare = shared(recorded)
    recorded.git("push", "-q", "origin", "main")
    there = clone(recorded, bare, "there")
    there.git("config", "--unset", "gitcp.store")
    (there.path / ".jj").mkdir()
    store = str(there.path / ".git")
    add_workspace({"root": str(there.path), "jj": "/gone/jj", "store": store, "name": ""})
    there.git("update-ref", "-d", V1)
    there.gitcp("fetch")
    assert there.git("for-each-ref", V1) == ""
    there.gitcp("forget", "--yes", "--remote", "s-secret")
    there.git("gc", "-q", "--prune=now", cwd=bare)
    assert held(there, cwd=bare) == []
    assert there.git("for-each-ref", V1) == ""


def test_the_page_that_was_made_of_it_goes_too(recorded: World, tmp_path: Path) -> None:
    recorded.git("worktree", "add", "-q", str(tmp_path / "beside"))
    beside = World(tmp_path / "beside", recorded.home, recorded.env)
    made = [Path(at.gitcp("page").strip()) for at in (recorded, beside)]
    assert all(path.exists() for path in made) and made[0] != made[1]
    recorded.gitcp("forget", "--yes", "s-secret")
    assert not any(path.exists() for path in made)


def test_what_is_before_the_first_day_is_nothing(recorded: World) -> None:
    recorded.env["TZ"] = "UTC"
    assert "nothing to forget" in recorded.gitcp("forget", "--yes", "--before", "1970-01-01")
    assert WORD in recorded.gitcp("log")


def test_a_part_whose_time_is_unknown_is_before_no_day() -> None:
    entry = cast("SessionEntry", {"session_id": "s", "metadata": {}})
    assert not ForgetChoice(before=1e10).has("0123456789ab", entry)
    assert ForgetChoice().has("0123456789ab", entry)


def test_the_beginning_of_two_sessions_ids_names_neither(recorded: World) -> None:
    recorded.gitcp("clean", "--force", "--older-than", "0")
    agent = recorded.agent("s-opens")
    agent.turn("a cello please", {"cello.py": "cello\n"})
    agent.end()
    done = tried(recorded, "forget", "--yes", "s-ope")
    assert done.returncode == 128 and "s-open s-opens" in done.stderr
    assert "a drum please" in recorded.gitcp("log")


def test_a_search_after_it_finds_nothing_where_another_clone_forgot(recorded: World) -> None:
    bare = shared(recorded)
    recorded.git("push", "-q", "origin", "main")
    there = clone(recorded, bare, "there")
    assert WORD in there.gitcp("search", WORD)
    recorded.gitcp("forget", "--yes", "--remote", "s-secret")
    there.gitcp("fetch")
    assert tried(there, "search", WORD).returncode == 1
    assert WORD.encode() not in b"".join(
        p.read_bytes() for p in (there.path / ".git/gitcp").rglob("search*") if p.is_file()
    )


def test_another_clone_that_pushes_does_not_bring_it_back(recorded: World) -> None:
    bare = shared(recorded)
    recorded.git("push", "-q", "origin", "main")
    there = clone(recorded, bare, "there")
    there.gitcp("enable")
    there.agent("s-there").turn("a flute please", {"flute.py": "flute\n"})
    there.commit("flute.py")
    recorded.gitcp("forget", "--yes", "--remote", "s-secret")
    there.gitcp("push")
    there.close()
    recorded.gitcp("fetch")
    recorded.git("fetch", "-q", str(there.path), "main:refs/heads/theirs")
    for world in (recorded, there):
        told_of = world.gitcp("log", "--all")
        assert WORD not in told_of and "a flute please" in told_of, world
        assert world.gitcp("fsck") == ""
    for at in (bare, recorded.path, there.path):
        recorded.git("reflog", "expire", "--expire=now", "--all", cwd=at)
        recorded.git("gc", "-q", "--prune=now", cwd=at)
        assert held(recorded, cwd=at) == [], at


def test_a_destination_that_still_has_it_is_named(recorded: World) -> None:
    shared(recorded)
    recorded.git("push", "-q", "origin", "main")
    recorded.gitcp("forget", "--yes", "s-secret")
    done = tried(recorded, "push")
    assert done.returncode == 128 and "'gitcp forget --remote'" in done.stderr
    assert WORD not in recorded.gitcp("log")


def test_streams_edits_and_steps_of_the_session_go_too(world: World, a: Agent) -> None:
    a.turn(f"a {WORD} please", {"one.py": f"{WORD}\n"})
    world.gitcp("rewind", "--to", world.git("rev-parse", f"refs/heads/{world.branch()}"), "-f")
    a.end()
    (world.path / "one.py").unlink(missing_ok=True)
    world.gitcp("forget", "--yes", a.sid)
    assert (
        world.git("for-each-ref", "refs/heads/entire", "refs/gitcp/edits", "refs/gitcp/undo") == ""
    )
    world.git("gc", "-q", "--prune=now")
    assert held(world) == []
    assert world.git("for-each-ref", V1) == ""


def test_a_damaged_file_that_was_set_aside_goes_too(recorded: World) -> None:
    state = recorded.path / ".git" / "entire-sessions" / "s-secret.json"
    state.write_bytes(state.read_bytes()[:-2])
    recorded.gitcp("doctor", "--fix")
    assert any("/corrupt/" in place for place in held(recorded))
    recorded.gitcp("forget", "--yes", "s-secret")
    recorded.git("gc", "-q", "--prune=now")
    assert held(recorded) == []


def test_the_record_of_it_has_the_numbers_that_are_said(recorded: World) -> None:
    shared(recorded)
    recorded.gitcp("push")
    would = json.loads(recorded.gitcp("forget", "-n", "--json", "s-secret"))
    did = json.loads(recorded.gitcp("forget", "--yes", "--remote", "--json", "s-secret"))
    counts = ("type", "checkpoint_parts", "sessions", "streams")
    assert [would[key] for key in counts] == [did[key] for key in counts]
    assert would["checkpoint_parts"] and (would["done"], did["done"]) == (False, True)
    assert (would["remote"], did["remote"]) == ("", "origin") and did["remote_refs"] == 1
