"""Commits that HEAD lost and that may be made again: their ids come back with their content.

A reset leaves them in ORIG_HEAD, an amend that leaves content out names what it replaced, and a
stash that was applied and kept can be applied on another branch.  While content of theirs is still
to be committed, <git-dir>/gitcp/taken-back lists them, so that the sh guard starts us although no
session is open; <git-dir>/gitcp/orig-head is the very file (a hard link) of the ORIG_HEAD that was
looked at last: git never writes into one, but makes another to say something else
(doc/behaviour.md "Ids in a message").
"""

from __future__ import annotations

import os

from gitcp import trace
from gitcp.core.decide.difference import ABSENT
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

_MOST = 50  # commits that are looked at
_RECENT = 50  # entries of HEAD's reflog


def find_lost(repo: Repo, objects: Objects, head: str) -> list[Commit]:
    """The commits with an id that HEAD, at head, has lost, oldest first, as they were listed or a
    reset since has left them."""
    listed = private.read_words(repo.join_own("taken-back"), is_object_name)
    lost = [*listed, *_list_reset(repo, objects, head)]
    if not lost:
        return []
    return late.candidates.select_linked(objects, dict.fromkeys(lost))


def keep_pending(
    repo: Repo, objects: Objects, search: Search | None, head: str, changes: Changes
) -> None:
    """List those commits of a search of which something may still come once a commit with these
    changes is made on head; the others can never come back."""
    pending: list[str] = []
    if search and search.commits:
        still = _Pending(repo, objects, head, changes)
        for commit in search.commits:
            # What there is no time for is for the next hook.
            if search.is_late() or any(map(still.comes, search.read_edits(commit).values())):
                pending.append(commit["oid"])
    path = repo.join_own("taken-back")
    if pending:
        trace.append_note("commit", f"taken back, and still to come: {pending}")
        private.write_words(repo, path, pending[-_MOST:])
    else:
        private.remove_private(repo, path)


class _Pending:
    """Whether recorded work may still be committed, once HEAD has some changes more."""

    def __init__(self, repo: Repo, objects: Objects, head: str, changes: Changes) -> None:
        self._repo, self._objects, self._changes = repo, objects, changes
        self._look = Lookup(objects, find_tree(objects, head))
        self._stash = reflog.Stash(repo, objects).list_entries()
        self._now: dict[str, Version] = {}

    def _find_after(self, path: str) -> Version:
        if path not in self._changes:
            return self._look(path)
        mode, oid = self._changes[path][2:]
        return (mode, oid) if oid else None

    def comes(self, record: Sequence[Recorded]) -> bool:
        """Whether the worktree or an entry of the stash brings work that HEAD has not; or a stash
        that was applied brings it once more, on another branch."""
        open_ = [e for e in record if (self._find_after(e["path"]) or ("", None))[1] != e["oid"]]
        fresh = [e["path"] for e in open_ if e["path"] not in self._now]
        if fresh:
            self._now |= late.blobs.read_paths(self._repo, self._objects, sorted(fresh), write=True)
        steps = [(path, self._find_after(path), self._now.get(path)) for path in _list_paths(open_)]
        if _has_work(self._objects, open_, steps):
            return True
        stash = (entry.list_steps(_list_paths(record)) for entry in self._stash)
        return any(_has_work(self._objects, record, steps) for steps in stash)


def _has_work(
    objects: Objects, record: Sequence[Recorded], steps: Iterable[tuple[str, Version, Version]]
) -> bool:
    """Whether steps, from one content of a path to another, have some of the recorded work."""
    none = (ABSENT, None)
    changes = {p: (*(was or none), *(now or none)) for p, was, now in steps if was != now}
    if not changes:
        return False
    return bool(late.candidates.match_edits(objects, list(record), changes))


def _list_paths(record: Iterable[Recorded]) -> list[str]:
    return [entry["path"] for entry in record]


def add_commits(repo: Repo, commits: Iterable[str]) -> None:
    """Content of these commits may be committed again: it is looked for."""
    path = repo.join_own("taken-back")
    private.write_words(
        repo, path, list(dict.fromkeys([*private.read_words(path, is_object_name), *commits]))
    )


def add_stashed(repo: Repo, objects: Objects, oid: str) -> None:
    """Look for the work of a commit again where an entry of the stash has it as well: that may be
    applied once more, on another branch."""
    commit = need_commit(objects, oid)
    paths = commit_changes.read_changes(objects, commit)[1]
    stash = [e for e in reflog.Stash(repo, objects).list_entries() if any(map(e.changes, paths))]
    for one in late.find_commits.list_linked(objects, oid) if stash else ():
        record = late.candidates.read_edits(repo, objects, one, commit)
        if any(
            _has_work(objects, record, entry.list_steps(_list_paths(record))) for entry in stash
        ):
            add_commits(repo, [oid])
            return


def _get_orig_head(repo: Repo) -> str:
    return os.path.join(repo.git_dir, "ORIG_HEAD")


def _was_looked_at(repo: Repo) -> bool:
    """Whether ORIG_HEAD is the file that was looked at last."""
    try:
        return os.path.samefile(_get_orig_head(repo), repo.join_own("orig-head"))
    except OSError:
        return False


def look_again(repo: Repo, head: str) -> None:
    """Where HEAD is what ORIG_HEAD names, a reset from there leaves that file: look at it then."""
    if private.read_words(_get_orig_head(repo), is_object_name) == [head]:
        private.remove_private(repo, repo.join_own("orig-head"))


def _mark_looked(repo: Repo, *, seen: bool) -> None:
    """ORIG_HEAD as it is now has been looked at, or is to be looked at again.  Where the file
    system has no hard links, it always is."""
    mark = repo.join_own("orig-head")
    private.remove_private(repo, mark)
    if seen:
        try:
            repo.make_folder(os.path.dirname(mark))
            os.link(_get_orig_head(repo), mark)
        except OSError as e:
            trace.append_note("commit", f"ORIG_HEAD cannot be marked: {e}")


def _list_reset(repo: Repo, objects: Objects, head: str) -> list[str]:
    """The commits that only ORIG_HEAD has, oldest first; looked at once.  One whose ids are on
    commits that took its place, as after a rebase, is not lost."""
    orig = "".join(private.read_words(_get_orig_head(repo), is_object_name))
    # At HEAD nothing is taken back yet, but it may be, and git leave the file that says so.
    if not orig or (orig != head and _was_looked_at(repo)):
        return []
    _mark_looked(repo, seen=orig != head)
    # A stash, too, ends in a reset: the reflog tells of those before it.
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
    there = {one for oid in fresh for one in late.find_commits.list_linked(objects, oid)}
    return [
        oid for oid in lost if not there.issuperset(late.find_commits.list_linked(objects, oid))
    ]
