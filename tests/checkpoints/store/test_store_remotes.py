"""Remotes that are gone, silent, unwilling, many: what a push does then."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from gitcp.checkpoints.share import sync
from gitcp.errors import Error
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from tests.checkpoints.store.conftest import clone, push, write
from tests.support.checkpoints import V1, find_place, git, tree
from tests.support.paths import TOP

A, B = "aa0000000000", "ab0000000000"


def ids(at: Path | str | None) -> set[str]:
    return {p[:13].replace("/", "") for p in tree(V1, at) if p.count("/") == 2}


def unpushed(repo: Repo) -> bool:
    return Path(repo.join_shared("unpushed")).exists()


@pytest.mark.parametrize(
    ("break_it", "says"),
    [
        ("gone", "'origin': '{bare}' does not appear to be a git repository"),
        ("declines", "'origin' refuses 'refs/heads/entire/checkpoints/v1': "),
        ("protocol", "'origin': git: 'remote-nothing' is not a git command"),
    ],
)
def test_a_remote_that_cannot_or_will_not_is_one_line(bare: Path, break_it: str, says: str) -> None:
    r = clone(bare, "a")
    write(r, A)
    if break_it == "gone":
        bare.rename(bare.parent / "elsewhere")
    elif break_it == "declines":
        hook = bare / "hooks" / "pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\nexit 1\n")
        hook.chmod(0o755)
    else:
        git("remote", "set-url", "origin", "nothing://nowhere", cwd=r.top)
        r = Repo.find(r.top)
    with pytest.raises(Error) as e:
        push(r)
    assert str(e.value).startswith(says.format(bare=bare))
    assert "\n" not in str(e.value)
    assert unpushed(r)


def test_a_remote_that_does_not_answer_is_left_in_time(bare: Path, tmp_path: Path) -> None:
    r = clone(bare, "a")
    write(r, A)
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexec cat\n")
    silent.chmod(0o755)
    git("remote", "set-url", "origin", f"ext::{silent}", cwd=r.top)
    git("config", "protocol.ext.allow", "always", cwd=r.top)
    r = Repo.find(r.top)
    with (
        Objects(r),
        pytest.raises(Error, match=r"'origin' did not answer in 0\.2 seconds"),
    ):
        sync.push_store(r, find_place(r, "origin"), 0.2)


def test_the_marker_stays_while_the_destination_lacks_something(bare: Path, tmp_path: Path) -> None:
    r = clone(bare, "a")
    other = tmp_path / "other.git"
    git("init", "-q", "--bare", str(other))
    git("remote", "add", "fork/two", str(other), cwd=r.top)
    write(r, A)
    push(r, "fork/two")
    assert unpushed(r)
    push(r)
    assert not unpushed(r)
    assert ids(other) == ids(bare) == {A}


def test_the_marker_stays_for_what_was_written_during_the_push(bare: Path) -> None:
    r = clone(bare, "a")
    write(r, A)
    line = json.dumps({"type": "session", "checkpoint_id": B, "session_id": "s"})
    hook = bare / "hooks" / "post-receive"
    hook.parent.mkdir(exist_ok=True)
    command = f"{sys.executable} {TOP}/bin/gitcp write-committed"
    clear = "unset $(git rev-parse --local-env-vars)"
    hook.write_text(f"#!/bin/sh\n{clear}\ncd {r.top}\necho '{line}' | {command}\n")
    hook.chmod(0o755)
    push(r)
    assert ids(bare) == {A}
    assert ids(r.top) == {A, B}
    assert unpushed(r)


def test_what_the_remote_has_is_not_sent_again(bare: Path) -> None:
    r = clone(bare, "a")
    write(r, A)
    push(r)
    bare.rename(bare.parent / "unreachable")
    push(r, again=False)
    with pytest.raises(Error):
        push(r)


def test_a_mirror_with_a_push_url_is_pushed_where_it_pushes(bare: Path, tmp_path: Path) -> None:
    r, b = clone(bare, "a"), clone(bare, "b")
    write(b, B)
    push(b)
    git("config", "remote.origin.mirror", "true", cwd=r.top)
    git("config", "remote.origin.url", "/nowhere", cwd=r.top)
    git("config", "remote.origin.pushurl", str(bare), cwd=r.top)
    r = Repo.find(r.top)
    write(r, A)
    push(r)
    assert ids(bare) == {A, B}


def test_without_checkpoints_nothing_is_pushed(bare: Path) -> None:
    r = clone(bare, "a")
    push(r, "no such remote", again=False)
    with pytest.raises(Error):
        push(r, "no such remote")
    assert git("for-each-ref", V1, cwd=bare) == ""


def test_a_push_that_goes_elsewhere_than_a_fetch_is_merged_with_what_is_there(
    bare: Path, tmp_path: Path
) -> None:
    r, b = clone(bare, "a"), clone(bare, "b")
    old = tmp_path / "old.git"
    git("clone", "-q", "--mirror", str(bare), str(old))
    write(b, B)
    push(b)
    git("config", "remote.origin.url", str(old), cwd=r.top)
    git("config", f"url.{bare}.pushInsteadOf", str(old), cwd=r.top)
    r = Repo.find(r.top)
    write(r, A)
    push(r)
    assert ids(bare) == {A, B}


def test_each_of_several_push_urls_gets_everything(bare: Path, tmp_path: Path) -> None:
    r, b = clone(bare, "a"), clone(bare, "b")
    second = tmp_path / "second.git"
    git("clone", "-q", "--mirror", str(bare), str(second))
    write(b, B)
    push(b)
    for url in (bare, second):
        git("config", "--add", "remote.origin.pushurl", str(url), cwd=r.top)
    r = Repo.find(r.top)
    write(r, A)
    push(r)
    assert ids(bare) == ids(second) == {A, B}


def test_a_remote_that_shows_no_ref_that_it_refuses_is_named(bare: Path) -> None:
    r, b = clone(bare, "a"), clone(bare, "b")
    write(b, B)
    push(b)
    git("config", "uploadpack.hideRefs", "refs/heads/entire", cwd=bare)
    write(r, A)
    with pytest.raises(Error, match=r"'origin' refuses '.*/v1' each time: .*fetch first"):
        push(r)
