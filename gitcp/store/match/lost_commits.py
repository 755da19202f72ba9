"""Commits that HEAD lost and that may be made again: their ids come back with their content.

A reset leaves them in ORIG_HEAD.  An amend that leaves content out replaces one.  A stash that was
applied and kept can be applied on another branch.  <git-dir>/gitcp/taken-back lists the lost
commits while some of their content may still be committed; the hooks' script starts us if the file
is there, although no session is open.  <git-dir>/gitcp/orig-head is a hard link to the ORIG_HEAD
that was read last: git replaces that file and never writes into it
(doc/behaviour.md "Ids in a message").
"""

from __future__ import annotations

import os

from gitcp import trace
from gitcp.core.decide.difference import build_change
from gitcp.core.upkeep.shapes import is_object_name
from gitcp.start import late
from gitcp.store.git import commit_changes, private, reflog
from gitcp.store.git.commit import list_commits, need_commit, read_commit
from gitcp.store.git.tree import Lookup, find_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitcp.core.decide.difference import Recorded
    from gitcp.core.record_types import Commit, Version
    from gitcp.repo import Repo
    from gitcp.store.git.commit_changes import Changes
    from gitcp.store.git.objects import Objects
    from gitcp.store.match.candidates import Search

_MOST = 50  # commits
_RECENT = 50  # entries of HEAD's reflog


def find_lost(repo: Repo, objects: Objects, head: str) -> list[Commit]:
    """The linked commits that HEAD, at head, has lost: those listed, then those that a reset
    left since, oldest first."""
    listed = private.read_words(repo.join_own("taken-back"), is_object_name)
    lost = [*listed, *_list_reset(repo, objects, head)]
    return late.candidates.select_linked(objects, dict.fromkeys(lost)) if lost else []


def keep_pending(
    repo: Repo, objects: Objects, search: Search | None, head: str, changes: Changes
) -> None:
    """Write down the commits of a search whose work may still be committed after a commit with
    these changes on head.  The work of the others can never come back."""
    pending: list[str] = []
    if search and search.commits:
        check = _Pending(repo, objects, head, changes)
        for commit in search.commits:
            # The next hook checks what this one has no time for.
            if search.is_late() or any(map(check.may_return, search.read_edits(commit).values())):
                pending.append(commit["oid"])
    path = repo.join_own("taken-back")
    if pending:
        trace.append_note("commit", f"taken back, and still to come: {pending}")
        private.write_words(repo, path, pending[-_MOST:])
    else:
        private.remove_private(repo, path)


class _Pending:
    """Tells whether edits may still be committed after a commit with these changes on head."""

    def __init__(self, repo: Repo, objects: Objects, head: str, changes: Changes) -> None:
        self._repo, self._objects, self._changes = repo, objects, changes
        self._lookup = Lookup(objects, find_tree(objects, head))
        self._stash = reflog.Stash(repo, objects).list_entries()
        self._worktree: dict[str, Version] = {}

    def _find_after(self, path: str) -> Version:
        """What the commit has at a path."""
        if path not in self._changes:
            return self._lookup(path)
        mode, oid = self._changes[path][2:]
        return (mode, oid) if oid else None

    def may_return(self, edits: Sequence[Recorded]) -> bool:
        """Whether the worktree has work of edits that the commit lacks, or an entry of the stash
        has some, which may be applied on another branch."""
        open_ = [e for e in edits if (self._find_after(e["path"]) or ("", None))[1] != e["oid"]]
        paths = [edit["path"] for edit in open_]
        unread = sorted(path for path in paths if path not in self._worktree)
        if unread:
            self._worktree |= late.blobs.read_paths(self._repo, self._objects, unread, write=True)
        steps = [(path, self._find_after(path), self._worktree.get(path)) for path in paths]
        return _has_work(self._objects, open_, steps) or _is_in_stash(
            self._objects, edits, self._stash
        )


def _is_in_stash(
    objects: Objects, edits: Sequence[Recorded], stash: Iterable[reflog.Stashed]
) -> bool:
    paths = [edit["path"] for edit in edits]
    return any(_has_work(objects, edits, entry.list_steps(paths)) for entry in stash)


def _has_work(
    objects: Objects, edits: Sequence[Recorded], steps: Iterable[tuple[str, Version, Version]]
) -> bool:
    """Whether steps (path, old, new) have some of the work of edits."""
    changes = {path: build_change(old, new) for path, old, new in steps if old != new}
    return bool(changes and late.candidates.has_work(objects, edits, changes))


def add_commits(repo: Repo, commits: Iterable[str]) -> None:
    """List commits as lost: their content may be committed again."""
    path = repo.join_own("taken-back")
    private.write_words(
        repo, path, list(dict.fromkeys([*private.read_words(path, is_object_name), *commits]))
    )


def add_stashed(repo: Repo, objects: Objects, oid: str) -> None:
    """List a commit as lost if an entry of the stash has some of its work as well: that may be
    applied once more, on another branch."""
    commit = need_commit(objects, oid)
    paths = commit_changes.read_changes(objects, commit)[1]
    stash = [e for e in reflog.Stash(repo, objects).list_entries() if any(map(e.changes, paths))]
    for checkpoint_id in late.find_commits.list_linked(objects, oid) if stash else ():
        edits = late.candidates.read_edits(repo, objects, checkpoint_id, commit)
        if _is_in_stash(objects, edits, stash):
            add_commits(repo, [oid])
            return


def _get_orig_head(repo: Repo) -> str:
    return os.path.join(repo.git_dir, "ORIG_HEAD")


def look_again(repo: Repo, head: str) -> None:
    """Have ORIG_HEAD read again if it names head: a reset from there does not replace the file."""
    if private.read_words(_get_orig_head(repo), is_object_name) == [head]:
        private.remove_private(repo, repo.join_own("orig-head"))


def _mark_read(repo: Repo) -> None:
    """Note that ORIG_HEAD was read.  A file system without hard links has it read every time."""
    mark = repo.join_own("orig-head")
    private.remove_private(repo, mark)
    try:
        repo.make_folder(os.path.dirname(mark))
        os.link(_get_orig_head(repo), mark)
    except OSError as e:
        trace.append_note("commit", f"ORIG_HEAD cannot be marked: {e}")


def _was_read(repo: Repo) -> bool:
    """Whether ORIG_HEAD is the file that was read last."""
    try:
        return os.path.samefile(_get_orig_head(repo), repo.join_own("orig-head"))
    except OSError:
        return False


def _list_reset(repo: Repo, objects: Objects, head: str) -> list[str]:
    """The commits that only ORIG_HEAD and resets of the reflog reach, oldest first; [] if
    ORIG_HEAD was read before.  A commit whose ids are on commits that replaced it, as after a
    rebase, is not lost."""
    orig = "".join(private.read_words(_get_orig_head(repo), is_object_name))
    if not orig or (orig != head and _was_read(repo)):
        return []
    if orig == head:  # nothing is lost yet; a reset from here does not replace the file
        private.remove_private(repo, repo.join_own("orig-head"))
    else:
        _mark_read(repo)
    # A stash ends in a reset too and overwrites ORIG_HEAD; the reflog has the resets before it.
    resets = [
        old for old, _, why in reflog.list_head_moves(repo)[-_RECENT:] if why.startswith(b"reset:")
    ]
    tips = [oid for oid in dict.fromkeys([*resets, orig]) if read_commit(objects, oid)]
    if not tips:
        return []
    args = ["--first-parent", f"--max-count={_MOST}", *tips]
    born = head.strip("0")
    lost = list_commits(repo, *args, *([f"^{head}"] if born else []))[::-1]
    return _drop_replaced(repo, objects, lost, head, tips) if lost and born else lost


def _drop_replaced(
    repo: Repo, objects: Objects, lost: list[str], head: str, tips: Iterable[str]
) -> list[str]:
    fresh = list_commits(repo, f"--max-count={_MOST}", head, *(f"^{oid}" for oid in tips))
    list_linked = late.find_commits.list_linked
    ids = {checkpoint_id for oid in fresh for checkpoint_id in list_linked(objects, oid)}
    return [oid for oid in lost if not ids.issuperset(list_linked(objects, oid))]
