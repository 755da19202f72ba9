"""Giving the checkpoints of a branch refs of their own (doc/formats.md "Checkpoints as refs")."""

from __future__ import annotations

from functools import partial

from gitcp import git
from gitcp.checkpoints import format, listing, merging, writing
from gitcp.checkpoints.format import merge_rules
from gitcp.checkpoints.merging import Union
from gitcp.checkpoints.stored import (
    STORE_KEY,
    is_branch_sent,
    list_places,
    list_tips,
    read_directory,
)
from gitcp.errors import Error, InputError
from gitcp.git import decode_name, encode_name, refs
from gitcp.git.objects import Objects, need_commit
from gitcp.git.refs import MEMORY, REF
from gitcp.text import ids
from gitcp.text.spans import abbreviate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.git.repo import Repo

    Authors = dict[str, str]  # checkpoint id -> `Name <mail> seconds zone` of its first commit

_NOBODY = "Unknown <unknown@local> 0 +0000"
_SUBJECT = "Checkpoint: "
_GONE = "gitcp: '{}' is gone (it was {}): its checkpoints have refs that jj makes no bookmark of"
_LOG = ("log", "--reverse", "--no-show-signature", "-z", "--date=raw")


def convert_store(repo: Repo) -> dict[str, str]:
    """Give every checkpoint of our branch and the remotes' branches a ref of its own, and set
    gitcp.store, so that new ones get one; return the refs that moved, with their tips.

    The branch stays.  A checkpoint that has a ref is united with the branch's, so a second
    conversion moves nothing.  Every clone of the branch makes the same commits.
    """
    if not repo.config.get_all(STORE_KEY) or repo.config.get_option(STORE_KEY) != "refs":
        with Objects(repo):
            writing.restore_branch(repo)
        repo.git.run("config", "--local", STORE_KEY, "refs")
    return refs.retry_moved(repo, "v1", partial(_move_refs, repo, "gitcp: convert-store"))


def unite_places(repo: Repo) -> None:
    """Make refs of checkpoints and branches agree: each ref gets what a branch has of its
    checkpoint, and our branch forgets what the refs have forgotten.

    They differ if a clone knew only the ref or only the branch when it added or forgot something.
    """
    if list_tips(repo):
        refs.retry_moved(repo, "v1", partial(_move_refs, repo, "gitcp: merge", create=False))


def _move_refs(repo: Repo, reason: str, *, create: bool = True) -> dict[str, str]:
    """Make the updates of _list_updates(), then those of our branch; return the refs of checkpoints
    that moved, with their tips."""
    with Objects(repo):
        updates = _list_updates(repo, create)
        if updates:
            writing.move_refs(repo, updates, reason)
        forgotten = _forget_on_branch(repo)
        if forgotten:
            writing.move_refs(repo, forgotten, "gitcp: forget")
    merging.drop_replaced(repo, [*updates, *forgotten])
    return {ref: str(new) for ref, new, _ in updates}


def _forget_on_branch(repo: Repo) -> list[refs.Update]:
    """The update that forgets on our branch what a checkpoint's ref has forgotten."""
    if not refs.read_ref(repo, REF):
        return []
    ref_trees = dict(listing.list_trees(repo, ids.CHECKPOINTS, ""))
    gone: dict[str, set[object]] = {}
    for checkpoint_id, tree in listing.list_trees(repo, REF, ""):
        if ref_trees.get(checkpoint_id, tree) != tree:
            on_ref = read_directory(repo.objects, ref_trees[checkpoint_id], lenient=True)
            on_branch = read_directory(repo.objects, tree, lenient=True)
            if 1 in merge_rules.find_lost_sides(on_ref, on_branch):  # 1: the branch
                parts = [session["metadata"] or {} for session in on_ref["sessions"]]
                gone[checkpoint_id] = {m.get("session_id") for m in parts if format.is_forgotten(m)}
    if not gone:
        return []
    forgetting = merging.write_forgetting(
        repo, lambda checkpoint_id, part: part["session_id"] in gone.get(checkpoint_id, ())
    )
    return forgetting.updates


def leave_branch(repo: Repo) -> str:
    """Convert our branch and delete it if jj would make a bookmark of it; return a message, '' if
    nothing was done.

    The refs are written first: a kill leaves the branch for the next time.  A branch that has
    other files than checkpoints, is damaged or checked out stays.
    """
    if not repo.jj_root or is_branch_sent(repo) or not refs.read_ref(repo, REF):
        return ""

    def attempt_move() -> str:
        tip = refs.read_ref(repo, REF)
        memory = refs.read_ref(repo, MEMORY)
        with Objects(repo):
            tree = need_commit(repo.objects, REF)["tree"]
            stray = Union(repo.objects).drop_strays(tree, None) != tree
            if (
                not tip
                or stray
                or repo.git.read_line("for-each-ref", "--format=%(worktreepath)", REF)
            ):
                return ""
            moved = _list_updates(repo)
        deleted = [(ref, None, oid) for ref, oid in ((REF, tip), (MEMORY, memory)) if oid]
        refs.set_markers(repo)
        refs.update_refs(repo, [*moved, *deleted], "gitcp: beside jj checkpoints have refs")
        if moved:
            return _GONE.format(REF.removeprefix("refs/heads/"), abbreviate(tip))
        return ""

    try:
        return refs.retry_moved(repo, "v1", attempt_move)
    except Error as e:
        git.append_trace("store", f"'{REF}' stays: {e}")
        return ""


def _list_updates(repo: Repo, create: bool = True) -> list[refs.Update]:
    """The updates of refs: one for each checkpoint whose ref lacks something that a branch has.

    create: also for one that has no ref.
    """
    stored = list_tips(repo)
    tips = dict[str, str]()
    repo.objects.read_ahead(stored.values())
    for place in list_places(repo):
        if place == ids.CHECKPOINTS or place.endswith("/sessions"):
            continue
        authors: Authors = {}
        for checkpoint_id, tree in listing.list_trees(repo, place, ""):
            try:
                ref = ids.build_checkpoint_ref(ids.check_checkpoint_id(checkpoint_id))
            except InputError:
                continue
            old = tips.get(ref) or stored.get(ref)
            before = ""
            if old:
                before = need_commit(repo.objects, old)["tree"]
            if before == tree or not (old or create):
                continue
            authors = authors or _read_authors(repo, place)
            root = _write_root(repo.objects, checkpoint_id, tree, authors)
            merged = merging.merge_histories(repo, old, root, checkpoint_id=checkpoint_id)
            if need_commit(repo.objects, merged)["tree"] != before:
                tips[ref] = merged
    return [(ref, new, stored.get(ref)) for ref, new in tips.items()]


def _write_root(objects: Objects, checkpoint_id: str, tree: str, authors: Authors) -> str:
    """Write a commit without parents, the same in every clone; return its oid."""
    author = authors.get(checkpoint_id, _NOBODY)
    text = f"tree {tree}\nauthor {author}\ncommitter {author}\n\n{_SUBJECT}{checkpoint_id}\n"
    return objects.write("commit", encode_name(text))


def _read_authors(repo: Repo, branch: str) -> Authors:
    """The author and time of each checkpoint's first commit on a branch."""
    authors: Authors = {}
    for item in repo.git.read_records(*_LOG, "--format=%s%n%an <%ae> %ad", branch):
        subject, _, author = decode_name(item).partition("\n")
        if subject.startswith(_SUBJECT):
            authors.setdefault(subject.removeprefix(_SUBJECT), author)
    return authors
