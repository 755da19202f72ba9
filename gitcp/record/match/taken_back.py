"""Commits that HEAD lost and that may be made again: their ids come back with their content
(doc/behaviour.md "Ids in a message").

A reset leaves them in ORIG_HEAD.  An amend that leaves content out replaces one.  A stash that
was applied and kept can be applied on another branch.  <git-dir>/gitcp/taken-back lists the lost
commits while some of their content may still be committed; the hooks' script starts us if the
file is there, although no session is open.  <git-dir>/gitcp/orig-head is a hard link to the
ORIG_HEAD that was read last: git replaces that file and never writes into it.
"""

from __future__ import annotations

import os

from gitcp import git
from gitcp.checkpoints import listing
from gitcp.git import files, refs
from gitcp.git.objects import Lookup, find_tree, need_commit, read_changes, read_commit
from gitcp.git.objects.object_lists import list_commits
from gitcp.record import match
from gitcp.record.match import candidates, holding
from gitcp.record.match.change import Change
from gitcp.record.snapshot import scan
from gitcp.text.ids import build_change
from gitcp.text.shapes import is_object_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitcp.git.objects import Changes, Objects
    from gitcp.git.repo import Repo
    from gitcp.record.match.candidates import Search, Work
    from gitcp.text.record_types import Commit, Recorded, Staged, Version

_MOST_LOST = 50  # commits
_RECENT = 50  # entries of HEAD's reflog


def list_lost(repo: Repo, head: str) -> list[Commit]:
    """The linked commits that HEAD, at head, has lost: those listed, then those that a reset
    left since, oldest first."""
    listed = files.read_words(match.locate_taken_back(repo), is_object_name)
    lost = dict.fromkeys([*listed, *_list_reset(repo, head)])
    return candidates.select_linked(repo.objects, lost)


def keep_pending(
    repo: Repo, search: Search | None, commits: Sequence[Commit], head: str, changes: Changes
) -> None:
    """Write down those of the commits, which are in a search, whose work may still be committed
    after a commit with these changes on head.  The work of the others can never come back."""
    pending: list[str] = []
    if search and commits:
        check = _Pending(repo, head, changes)
        for commit in commits:
            # The next hook checks what this one has no time for.
            if search.is_late() or check.is_any_left(search.read_works(commit)):
                pending.append(commit["oid"])
    path = match.locate_taken_back(repo)
    if pending:
        git.append_trace("commit", f"taken back, and still to come: {pending}")
        files.write_words(repo, path, pending[-_MOST_LOST:])
    else:
        files.remove_private(repo, path)


class _Pending:
    """Tells whether edits may still be committed after a commit with these changes on head."""

    def __init__(self, repo: Repo, head: str, changes: Changes) -> None:
        self._repo = repo
        self._changes = changes
        self._lookup = Lookup(repo.objects, find_tree(repo.objects, head))
        self._stash = refs.Stash(repo).list_entries()
        self._worktree: dict[str, Version] = {}

    def is_any_left(self, works: Iterable[Work]) -> bool:
        """Whether work may still be committed: it is somewhere, or the commit has a part of it in
        other files, and the other part may be in another one."""
        return any(self._may_return(work.edits) or self._has_moved_part(work) for work in works)

    def _has_moved_part(self, work: Work) -> bool:
        blob = self._repo.objects.read_blob
        held = work.hold(Change(self._changes, blob, find_old=self._lookup))
        paths = {edit["path"] for edit in work.edits}
        return not held.is_all_work and any(path not in paths for path, _ in held.common)

    def _find_after(self, path: str) -> Version:
        """What the commit has at a path."""
        if path not in self._changes:
            return self._lookup(path)
        _, _, mode, oid = self._changes[path]
        return (mode, oid) if oid else None

    def _may_return(self, edits: Sequence[Recorded]) -> bool:
        """Whether the worktree has work of edits that the commit lacks, or an entry of the stash
        has some, which may be applied on another branch."""
        open_edits: list[Recorded] = []
        for edit in edits:
            after = self._find_after(edit["path"])
            oid = after[1] if after else None
            if oid != edit["oid"]:
                open_edits.append(edit)
        self._read_worktree([edit["path"] for edit in open_edits])
        changes: dict[str, Staged] = {}
        for edit in open_edits:
            path = edit["path"]
            after = self._find_after(path)
            present = self._worktree.get(path)
            if after != present:
                changes[path] = build_change(after, present)
        objects_here = self._repo.objects
        if _has_work(objects_here, open_edits, changes):
            return True
        return is_in_stash(objects_here, edits, self._stash)

    def _read_worktree(self, paths: Iterable[str]) -> None:
        """Have these paths of the worktree read."""
        unread = sorted(path for path in paths if path not in self._worktree)
        if unread:
            self._worktree |= scan.read_paths(self._repo, unread, write=True)


def is_in_stash(objects: Objects, edits: Sequence[Recorded], stash: Iterable[refs.Stashed]) -> bool:
    """Whether one of these entries of the stash has some of the work of edits."""
    paths = [edit["path"] for edit in edits]
    for entry in stash:
        changes: dict[str, Staged] = {}
        for path, old, new in entry.list_steps(paths):
            if old != new:
                changes[path] = build_change(old, new)
        if _has_work(objects, edits, changes):
            return True
    return False


def _has_work(objects: Objects, edits: Sequence[Recorded], changes: Changes) -> bool:
    """Whether changes have some of the work of edits."""
    return holding.is_any(holding.hold(edits, Change(changes, objects.read_blob)))


def add_commits(repo: Repo, commits: Iterable[str]) -> None:
    """List commits as lost: their content may be committed again."""
    path = match.locate_taken_back(repo)
    listed = dict.fromkeys(files.read_words(path, is_object_name))
    files.write_words(repo, path, listed | dict.fromkeys(commits))


def add_stashed(repo: Repo, oid: str) -> None:
    """List a commit as lost if an entry of the stash has some of its work as well: that may be
    applied once more, on another branch."""
    commit = need_commit(repo.objects, oid)
    paths = read_changes(repo.objects, commit)[1]
    stash = [entry for entry in refs.Stash(repo).list_entries() if any(map(entry.changes, paths))]
    if not stash:
        return
    for checkpoint_id in listing.list_linked(repo.objects, oid):
        edits = candidates.read_edits(repo, checkpoint_id, commit)
        if is_in_stash(repo.objects, edits, stash):
            add_commits(repo, [oid])
            return


def _mark_read(repo: Repo) -> None:
    """Note that ORIG_HEAD was read.  A file system without hard links has it read every time."""
    mark = match.locate_read(repo)
    files.remove_private(repo, mark)
    try:
        repo.make_folder(os.path.dirname(mark))
        os.link(match.locate_orig_head(repo), mark)
    except OSError as e:
        git.append_trace("commit", f"ORIG_HEAD cannot be marked: {e}")


def _list_reset(repo: Repo, head: str) -> list[str]:
    """The commits that only ORIG_HEAD and resets of the reflog reach, oldest first; [] if
    ORIG_HEAD was read before.  A commit whose ids are on commits that replaced it, as after a
    rebase, is not lost."""
    orig = match.read_left(repo, head)
    if not orig:
        return []
    if orig == head:  # nothing is lost yet
        files.remove_private(repo, match.locate_read(repo))
    else:
        _mark_read(repo)
    tips = _list_reset_tips(repo, orig)
    if not tips:
        return []
    args = ["--first-parent", f"--max-count={_MOST_LOST}", *tips]
    if not head.strip("0"):
        return list_commits(repo, *args)[::-1]
    lost = list_commits(repo, *args, f"^{head}")[::-1]
    if lost:
        return _drop_replaced(repo, lost, head, tips)
    return []


def _list_reset_tips(repo: Repo, orig: str) -> list[str]:
    """Where HEAD was before resets, as far as these commits exist."""
    # A stash ends in a reset too and overwrites ORIG_HEAD; the reflog has the resets before it.
    moves = refs.list_head_moves(repo)[-_RECENT:]
    resets = [old for old, _, why in moves if why.startswith(b"reset:")]
    return [oid for oid in dict.fromkeys([*resets, orig]) if read_commit(repo.objects, oid)]


def _drop_replaced(repo: Repo, lost: list[str], head: str, tips: Iterable[str]) -> list[str]:
    """The lost commits without those whose ids are on commits that are new at head."""
    fresh = list_commits(repo, f"--max-count={_MOST_LOST}", head, *(f"^{oid}" for oid in tips))
    ids: set[str] = set()
    for oid in fresh:
        ids.update(listing.list_linked(repo.objects, oid))
    return [oid for oid in lost if not ids.issuperset(listing.list_linked(repo.objects, oid))]
