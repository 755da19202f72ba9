"""What jj does only beside a git of 2.42 or later: it fetches, and makes workspaces in a directory
that git shares."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guard.test_jj_everyday import NewCopy, links, share, work_and_forget
from tests.guard.working_copies import run


@pytest.mark.parametrize("kind", ["colocated", "non-colocated"])
def test_what_a_fetch_brings_is_nobodys_and_our_links_stay(
    new_copy: NewCopy, tmp_path: Path, kind: str
) -> None:
    copy, theirs = new_copy(kind), tmp_path / "theirs"
    bare = share(copy, tmp_path)
    a, _ = copy.pair()
    a.turn("one", {"one.txt": "by A\n"})
    copy.jj("commit", "-m", "one")
    a.prompt("after one")
    copy.jj("bookmark", "create", "main", "-r", "@-")
    copy.jj("git", "push", "--all")
    run(["git", "clone", "-q", "-b", "main", str(bare), str(theirs)], tmp_path)
    (theirs / "two.txt").write_text("theirs\n")
    who = ["-c", "user.name=C", "-c", "user.email=c@example.com"]
    run(["git", "add", "two.txt"], theirs)
    run(["git", *who, "commit", "-q", "-m", "two"], theirs)
    run(["git", "push", "-q", "origin", "main"], theirs)
    copy.jj("git", "fetch")
    copy.jj("new", "main")
    a.prompt("after the fetch")
    a.stop()
    assert links(copy) == {"two": False, "one": True, "initial": False}
    assert "entire" not in copy.jj("bookmark", "list", "--all-remotes")


def test_a_workspace_of_a_shared_directory_comes_and_goes(new_copy: NewCopy) -> None:
    copy = new_copy("colocated")
    work_and_forget(copy)
    copy.jj("new", "description(substring:'there')")
    a, _ = copy.pair()
    a.turn("here", {"a.txt": "by A\n"})
    assert links(copy)["there"] and a.state["files_touched"] == ["a.txt"]
