"""Sharing: push and fetch with a union merge."""

from __future__ import annotations

from pathlib import Path

from gitcp.checkpoints import conversion, listing, notes, stored
from gitcp.checkpoints.share import sync
from gitcp.git.objects import Objects
from gitcp.text.ids import build_checkpoint_ref
from tests.checkpoints.store.conftest import clone, push, write
from tests.support.checkpoints import V1, find_place, git, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.git.repo import Repo

A, B = "aa0000000000", "ab0000000000"
NOTES = "refs/notes/gitcp"


def fetch(repo: Repo) -> None:
    with Objects(repo):
        sync.fetch_store(repo, find_place(repo, "origin"), 30)


def ids(at: Path | str | None) -> set[str]:
    return {p[:13].replace("/", "") for p in tree(V1, at) if p.count("/") == 2}


def unpushed(repo: Repo) -> bool:
    return Path(repo.join_shared("unpushed")).exists()


def test_only_checkpoints_and_notes_are_sent(bare: Path) -> None:
    r = clone(bare, "a")
    git("branch", "secret", cwd=r.top)
    git("tag", "mine", cwd=r.top)
    write(r, A)
    with Objects(r):
        notes.add_link(r, git("rev-parse", "HEAD", cwd=r.top), A)
    assert unpushed(r)
    push(r)
    assert not unpushed(r)
    refs = git("for-each-ref", "--format=%(refname)", cwd=bare).split()
    assert refs == [V1, "refs/heads/main", NOTES]


def test_two_clones_without_a_common_root_are_united(bare: Path) -> None:
    a, b = clone(bare, "a"), clone(bare, "b")
    write(a, A)
    write(b, B)
    assert push(a) == 0
    assert push(b) == 1
    assert ids(bare) == {A, B}
    tip = git("log", "-1", "--format=%s%n%P", V1, cwd=bare).split("\n")
    assert tip[0] == "Merge remote session logs"
    assert len(tip[1].split()) == 2
    assert git("rev-list", "--max-parents=0", "--count", V1, cwd=bare) == "2"
    fetch(a)
    assert git("rev-parse", V1, cwd=a.top) == git("rev-parse", V1, cwd=bare)


def test_the_same_checkpoint_extended_on_both_sides_has_both_sessions(bare: Path) -> None:
    a, b = clone(bare, "a"), clone(bare, "b")
    write(a, A, "first", created_at="2026-01-01T00:00:00Z")
    push(a)
    fetch(b)
    write(a, A, "mine", created_at="2026-01-01T00:02:00Z")
    write(b, A, "theirs", created_at="2026-01-01T00:01:00Z")
    push(a)
    push(b)
    names = [p for p in tree(V1, bare) if p.endswith("metadata.json")]
    assert names == [f"aa/0000000000/{n}/metadata.json" for n in range(3)] + [
        "aa/0000000000/metadata.json"
    ]


def test_fetching_twice_changes_nothing(bare: Path) -> None:
    a, b = clone(bare, "a"), clone(bare, "b")
    write(a, A)
    push(a)
    write(b, B)
    fetch(b)
    before = git("rev-parse", V1, cwd=b.top)
    fetch(b)
    assert git("rev-parse", V1, cwd=b.top) == before
    assert ids(b.top) == {A, B}
    assert git("for-each-ref", "refs/gitcp/fetch", cwd=b.top) == ""


def test_notes_of_both_sides_stay_and_lead_to_the_commits(bare: Path) -> None:
    a, b = clone(bare, "a"), clone(bare, "b")
    head = git("rev-parse", "HEAD", cwd=a.top)
    for r, cid in ((a, A), (b, B)):
        write(r, cid)
        with Objects(r):
            for _ in range(2):
                notes.add_link(r, head, cid)
        assert git("notes", "--ref=gitcp", "show", head, cwd=r.top).count(cid) == 1
        push(r)
    fetch(a)
    with Objects(a):
        assert notes.parse_note(notes.read_note(a.objects, head) or b"") == [A, B]
        assert listing.find_carriers(a, [A, B]) == {A: [head], B: [head]}
    shown = git("log", "-1", "--format=%N", "--notes=gitcp", cwd=a.top)
    assert shown == f"Entire-Checkpoint: {A}\nEntire-Checkpoint: {B}"


def test_a_note_of_gits_own_hand_is_read_and_kept(bare: Path) -> None:
    r = clone(bare, "a")
    git("notes", "--ref=gitcp", "add", "-m", "a person's words", "HEAD", cwd=r.top)
    head = git("rev-parse", "HEAD", cwd=r.top)
    with Objects(r):
        notes.add_link(r, head, A)
        assert notes.parse_note(notes.read_note(r.objects, head) or b"") == [A]
    shown = git("notes", "--ref=gitcp", "show", "HEAD", cwd=r.top)
    assert shown == f"a person's words\n\nEntire-Checkpoint: {A}"


def test_history_on_the_remote_is_never_rewritten(bare: Path) -> None:
    a, b = clone(bare, "a"), clone(bare, "b")
    git("config", "receive.denyNonFastForwards", "true", cwd=bare)
    for n in range(3):
        write(a, f"a{n}0000000000")
        write(b, f"b{n}0000000000")
        old = git("for-each-ref", "--format=%(objectname)", V1, cwd=bare)
        push(a)
        push(b)
        if old:
            git("merge-base", "--is-ancestor", old, V1, cwd=bare)
    assert len(ids(bare)) == 6


def test_what_a_clone_adds_to_the_branch_reaches_the_ref_that_another_has_made(bare: Path) -> None:
    mine, yours = clone(bare, "mine"), clone(bare, "yours")
    write(mine, A)
    push(mine)
    fetch(yours)
    conversion.convert_store(yours)
    push(yours)
    write(mine, A, "late")
    for repo in (mine, yours, mine):
        fetch(repo)
        push(repo)
    tips = {git("rev-parse", build_checkpoint_ref(A), cwd=repo.worktree) for repo in (mine, yours)}
    assert len(tips) == 1
    with Objects(yours):
        assert sorted(stored.list_session_ids(yours, A)) == ["late", "s"]
