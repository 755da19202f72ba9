"""Where HEAD is, told from the files of git, whichever way they tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitcp.git import gitdir, refs
from gitcp.git.repo import Repo
from tests.support.checkpoints import git


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("way", ["branch", "branch/below", "detached", "worktree", "unborn"])
def test_head_is_what_git_says(repo: Path, tmp_path: Path, way: str, packed: bool) -> None:
    at = repo
    git("branch", "x-main")  # a name that ends like another one
    if way == "branch/below":
        git("switch", "-q", "-c", "a/main")
    elif way == "detached":
        git("checkout", "-q", "--detach", "HEAD~1")
    elif way == "worktree":
        git("worktree", "add", "-q", str(tmp_path / "wt"), "HEAD~1", "-b", "other")
        at = tmp_path / "wt"
    elif way == "unborn":
        git("switch", "-q", "--orphan", "new")
    if packed:
        git("pack-refs", "--all")
    said = git("rev-parse", "-q", "--verify", "HEAD", cwd=at) if way != "unborn" else ""
    assert refs.read_head(Repo.find(str(at))) == (said or None)


def test_a_loose_ref_stands_before_a_packed_one(repo: Path) -> None:
    git("pack-refs", "--all")
    git("commit", "-q", "--allow-empty", "-m", "newer")
    assert refs.read_head(Repo.find()) == git("rev-parse", "HEAD")


@pytest.mark.parametrize("how", ["move", "delete"])
def test_a_ref_that_is_symbolic_is_changed_itself_and_never_what_it_names(
    repo: Path, how: str
) -> None:
    git("symbolic-ref", "refs/heads/entire/x", "refs/heads/main")
    before, other = git("rev-parse", "main"), git("rev-parse", "main~1")
    new = other if how == "move" else None
    refs.update_refs(Repo.find(), [("refs/heads/entire/x", new, before)], "test")
    assert git("rev-parse", "main") == before
    assert refs.read_ref(Repo.find(), "refs/heads/entire/x") == new


@pytest.mark.thorough
@pytest.mark.parametrize("is_sorted", [True, False])
def test_a_ref_among_thousands_is_found_in_packed_refs_without_git(
    repo: Path, monkeypatch: pytest.MonkeyPatch, is_sorted: bool
) -> None:
    git("tag", "-a", "-m", "x", "annotated")
    head, tag = git("rev-parse", "main"), git("rev-parse", "annotated")
    present = [f"heads/{n:x}/topic" for n in range(2000)] + [f"gitcp/{n}/x" for n in range(999)]
    present += ["heads/entire/packed", "gitcp/streams/one", "notes/z", "remotes/a/b/entire/v1"]
    oids = {f"refs/{name}": head if name.startswith("heads") else tag for name in present}
    orders = "".join(f"create {name} {oid}\n" for name, oid in oids.items())
    git("update-ref", "--stdin", stdin=orders)
    git("pack-refs", "--all")
    packed = repo / ".git" / "packed-refs"
    packed.chmod(0o644)
    if not is_sorted:
        packed.write_text(packed.read_text().replace(" sorted ", " ", 1))
    assert packed.stat().st_size > 3 * gitdir._LONG
    monkeypatch.setattr(gitdir, "_LONG", 1 << 12)
    here, form = Repo.find(), "--format=%(refname) %(objectname)"
    said = dict(line.split() for line in git("for-each-ref", form, *FOLDERS).splitlines())
    assert len(said) == 2 and here.config.get("extensions.refstorage", "files") == "files"
    with monkeypatch.context() as without_git:
        without_git.setenv("PATH", str(repo))
        for name, oid in [*oids.items()][:-1]:
            assert refs.read_ref(here, name) == oid
            assert refs.read_ref(here, f"{name}0") is None
        assert refs.list_refs(here, *FOLDERS) == said
        assert refs.list_refs(here, "refs/remotes/**/entire/v2") == {}
        assert not gitdir.may_be_below(here, "refs/heads/zzz/")
    assert refs.list_refs(here, "refs/remotes/**/entire/v1") == {"refs/remotes/a/b/entire/v1": tag}
    git("update-ref", "refs/remotes/c/entire/v2", tag)
    assert refs.list_refs(here, "refs/remotes/**/entire/v2") == {"refs/remotes/c/entire/v2": tag}


FOLDERS = ("refs/heads/entire/", "refs/gitcp/streams/")


def test_refs_in_few_folders_are_listed_without_git_as_git_lists_them(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, last = git("rev-parse", "main~1"), git("rev-parse", "main")
    for name in ("entire/packed", "entire/both", "entire/below/packed", "other"):
        git("update-ref", f"refs/heads/{name}", first)
    git("pack-refs", "--all")
    for name in ("heads/entire/both", "heads/entire/below/loose", "gitcp/streams/a-é"):
        git("update-ref", f"refs/{name}", last)
    folder = repo / ".git" / "refs" / "heads" / "entire"
    (folder / "made.lock").write_text("")
    (folder / "empty").mkdir()
    form = "--format=%(refname) %(objectname)"
    said = dict(line.split() for line in git("for-each-ref", form, *FOLDERS).splitlines())
    assert len(said) == 5
    here = Repo.find()
    assert here.config.get("extensions.refstorage", "files") == "files"
    with monkeypatch.context() as without_git:
        without_git.setenv("PATH", str(repo))
        assert refs.list_refs(here, *FOLDERS) == said
    for name, content in {
        "symbolic": "ref: refs/heads/main\n",
        "damaged": last[:20],
        "bad..name": f"{last}\n",
        ".hidden": "words\n",
    }.items():
        (folder / name).write_text(content)
        more = {f"refs/heads/entire/{name}": last} if name == "symbolic" else {}
        assert refs.list_refs(Repo.find(), *FOLDERS) == said | more, name
        (folder / name).unlink()


def test_all_moves_of_head_count_if_the_reflog_does_not_have_the_mark(repo: Path) -> None:
    for name in "ab":
        git("commit", "-q", "--allow-empty", "-m", name)
    place = Repo.find()
    moves = refs.list_head_moves(place)
    assert [reason.split(b": ")[1] for *_, reason in moves[-2:]] == [b"a", b"b"]
    assert refs.list_moves_since(place, refs.HeadMark("f" * 40)) == moves
    now = refs.mark_head(place, refs.read_base(place))
    assert refs.list_moves_since(place, refs.HeadMark("f" * 40, now.size + 1), now) == moves
    assert refs.find_committed_head(place, "f" * 40) is None


def test_each_move_of_head_is_a_commit_made_here_or_one_brought_or_left(repo: Path) -> None:
    moved, place = dict[str, str](), Repo.find()

    def move(*command: str) -> None:
        mark = refs.mark_head(place, refs.read_base(place))
        git(*command)
        moves = refs.list_moves_since(place, mark, refs.mark_head(place, refs.read_base(place)))
        assert moves == refs.list_moves_since(place, refs.HeadMark(mark.oid)), command
        moved[" ".join(command)] = " ".join(refs.tell_move(reason) for *_, reason in moves)

    def commit(name: str, *options: str) -> None:
        (repo / name).write_text(name)
        git("add", name)
        move("commit", "-q", "-m", name, *options)

    commit("a")
    commit("b", "--amend")
    move("switch", "-q", "-c", "topic", "HEAD~1")
    commit("c")
    move("merge", "-q", "main", "-m", "m")
    move("revert", "--no-edit", "HEAD^")
    move("checkout", "-q", "main")
    move("cherry-pick", "topic~2")
    move("reset", "-q", "--hard", "HEAD~1")
    move("merge", "-q", "topic")
    move("reset", "-q", "--hard", "HEAD~1")
    move("pull", "-q", "--ff-only", ".", "topic")
    assert moved == {
        "commit -q -m a": "made",
        "commit -q -m b --amend": "made",
        "switch -q -c topic HEAD~1": "left",
        "commit -q -m c": "made",
        "merge -q main -m m": "made",
        "revert --no-edit HEAD^": "made",
        "checkout -q main": "left",
        "cherry-pick topic~2": "brought",
        "reset -q --hard HEAD~1": "left",
        "merge -q topic": "brought",
        "pull -q --ff-only . topic": "brought",
    }
