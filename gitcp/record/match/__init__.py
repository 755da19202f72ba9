"""What hooks remember of commits, in three files and no more (doc/behaviour.md "Three memories").

`<git-dir>/gitcp/verdict` holds what prepare-commit-msg decided and post-commit obeys.  The next
commit replaces it, since a commit may still fail after the hook.  `<git-dir>/gitcp/looked` holds
the HEAD up to which every commit has been judged, then the judged commits.  A commit is judged when
everything that follows from it is done; one that is not listed was made without our hooks, or they
were killed.  `<common>/gitcp/dismissed` holds the ids that a person removed from a commit.
"""

from __future__ import annotations

import os

from gitcp.git import encode_name, files
from gitcp.git.objects import build_finder, need_commit, read_changes, read_commit
from gitcp.record.session import phases
from gitcp.text import json, shapes
from gitcp.text.shapes import is_object_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable
    from typing import NotRequired, TypedDict

    from gitcp.git.objects import Changes, Objects
    from gitcp.git.repo import Repo
    from gitcp.record import Context
    from gitcp.record.match import holding
    from gitcp.text.record_types import Commit, Linked, Process

    class Verdict(TypedDict):
        """id: '' if no session is linked; head: HEAD when it was decided; parent: the first
        parent of the coming commit, zeros for none; ids: all ids that the message gets; told:
        whether they were written into it; commented: whether as comments, because git skips the
        check of the message, or where no person saw them and a later hook may have dropped them;
        exposed: whether they were written by a configured hook, before other hooks had the
        message; picked: the commit that a cherry-pick replays; merged: those
        that a squash is made of; unmade: ids decided before, for commits that may never have been
        made; maker: the git that commits; brings: whether the commit takes over
        lines of others.  git's hooks in sh look for exposed and brings."""

        id: str
        head: str
        parent: str
        sessions: dict[str, Linked]
        ids: NotRequired[list[str]]
        told: NotRequired[bool]
        maker: NotRequired[Process | None]
        commented: NotRequired[bool]
        exposed: NotRequired[bool]
        picked: NotRequired[str]
        merged: NotRequired[list[str]]
        unmade: NotRequired[list[str]]
        brings: NotRequired[bool]


_MOST = 200  # commits remembered
_MOST_UNMADE = 20  # ids remembered


def is_replaying(repo: Repo) -> bool:
    """Return whether a rebase, cherry-pick or am replays commits here."""
    return any(os.path.exists(os.path.join(repo.git_dir, name)) for name in phases.REWRITING)


def save_verdict(repo: Repo, verdict: Verdict) -> None:
    """Replace the worktree's stored verdict."""
    files.write_private(repo, repo.join_own("verdict"), json.dumps(verdict).encode())


def mark_told(repo: Repo, commented: bool = False, exposed: bool = False) -> None:
    """Note that the verdict's ids were written into the message; commented, exposed: as in Verdict.

    From here on an id that the message lacks was removed by the person, unless it was commented."""
    verdict = load_verdict(repo)
    if verdict and (verdict["sessions"] or verdict.get("ids")):
        told: Verdict = {**verdict, "told": True, "commented": commented}
        if exposed:
            told["exposed"] = True
        save_verdict(repo, told)


def read_left_out(repo: Repo, head: str, commit: Commit) -> set[str]:
    """Return the ids that the person removed from the message of commit; head: HEAD before it."""
    verdict = load_verdict(repo)
    parents = [*commit["parents"], "0" * len(commit["oid"])]
    if not verdict or (verdict["head"], verdict["parent"]) != (head, parents[0]):
        return set()
    if not verdict.get("told") or verdict.get("commented") or not commit["message"].strip():
        return set()

    from gitcp.git import commit_message

    return set(verdict.get("ids", ())).difference(
        commit_message.read_trailers(encode_name(commit["message"]))
    )


def load_verdict(repo: Repo) -> Verdict | None:
    """Return the worktree's stored verdict; None if there is none or it is unreadable."""
    verdict: Verdict | None = files.load_cache(repo.join_own("verdict"), shapes.COMMIT_VERDICT)
    return verdict


def is_pending(repo: Repo, ids: Container[str], parent: str) -> bool:
    """Return whether a commit with these ids on parent is the verdict's, and its git still runs.

    Its own post-commit condenses such a commit."""
    verdict = load_verdict(repo)
    if not verdict or not verdict["sessions"] or verdict["parent"] != parent:
        return False
    decided = os.stat(repo.join_own("verdict")).st_mtime

    from gitcp.record.session import process

    return verdict["id"] in ids and process.is_agent_working(verdict.get("maker"), decided)


def lacks_checkpoint(ctx: Context) -> bool:
    """Return whether HEAD carries the id decided for it and no checkpoint of that id is stored."""
    verdict = load_verdict(ctx.repo)
    if not verdict or not verdict["id"] or ctx.head in read_judged(ctx.repo):
        return False

    from gitcp.git import commit_message

    commit = read_commit(ctx.repo.objects, ctx.head)
    if commit is None or verdict["id"] not in commit_message.read_trailers(
        encode_name(commit["message"])
    ):
        return False

    from gitcp.checkpoints import stored

    return stored.find_checkpoint(ctx.repo, verdict["id"]) is None


def list_unmade(repo: Repo) -> list[str]:
    """Return the ids that were decided here last, oldest first; their commits may not exist."""
    verdict = load_verdict(repo)
    if verdict is None:
        return []
    ids = [*verdict.get("unmade", ()), *filter(None, [verdict["id"]])]
    return list(dict.fromkeys(ids))[-_MOST_UNMADE:]


def forget_verdict(repo: Repo) -> None:
    """Remove the stored verdict."""
    files.remove_private(repo, repo.join_own("verdict"))


def clear_brought(repo: Repo) -> None:
    """Remove the verdict's mark that post-commit starts although no session is open."""
    verdict = load_verdict(repo)
    if verdict and verdict.pop("brings", False):
        save_verdict(repo, verdict)


def _read(repo: Repo) -> tuple[str, list[str]]:
    """Return (the HEAD up to which all commits are judged, '' if unknown; the judged commits)."""
    head, *judged = files.read_words(repo.join_own("looked"), shapes.is_object_name) or [""]
    return head if head.strip("0") else "", judged


def _write(repo: Repo, head: str, judged: list[str]) -> None:
    files.write_words(repo, repo.join_own("looked"), [head or "0", *judged[-_MOST:]])


def read_judged(repo: Repo) -> list[str]:
    """Return the oids of the commits judged in this worktree, oldest first."""
    return _read(repo)[1]


def add_judged(repo: Repo, commit: str, old: str) -> None:
    """Note that everything that follows from this commit is done.  old: the HEAD that it replaced,
    '' if it brought other commits too."""
    head, judged = _read(repo)
    judged = [*(oid for oid in judged if oid != commit), commit]
    _write(repo, commit if head == old else head, judged)


def read_looked(repo: Repo) -> str:
    """Return the HEAD up to which every commit has been judged, '' if that is unknown."""
    return _read(repo)[0]


def write_looked(repo: Repo, head: str) -> None:
    """Note that every commit up to head has been judged for all sessions that are not at work."""
    _write(repo, head, read_judged(repo))


def is_unseen(repo: Repo, head: str) -> bool:
    """Return whether commits up to head may not have been judged yet."""
    return bool(head.strip("0")) and read_looked(repo) != head


def read_refused(repo: Repo) -> set[str]:
    """Return the ids that a person refused in this repository; only `gitcp link` links them."""
    return set(files.read_words(repo.join_shared("dismissed"), shapes.is_short_id))


def write_refused(repo: Repo, ids: Iterable[str], allowed: str = "") -> None:
    """Add ids to those that a person refused, and take out the one that is allowed again."""
    refused = {*read_refused(repo), *ids} - {allowed}
    files.write_words(repo, repo.join_shared("dismissed"), sorted(refused))


def get_orig_head(repo: Repo) -> str:
    """The file that names the commit which a reset left."""
    return os.path.join(repo.git_dir, "ORIG_HEAD")


def look_again(repo: Repo, head: str) -> None:
    """Have ORIG_HEAD read again if it names head: a reset from there does not replace the file."""
    if files.read_words(get_orig_head(repo), is_object_name) == [head]:
        files.remove_private(repo, repo.join_own("orig-head"))


def build_change(objects: Objects, parent: str, changes: Changes) -> holding.Change:
    """Return what a commit changes from its parent, zeros for none, to be compared with work."""
    from gitcp.record.match import holding

    find_old = build_finder(objects, parent)
    return holding.Change(changes, objects.read_blob, lambda path: find_old(path) is None, find_old)


# What is asked about: a commit that may lack links.
class Target:
    """A commit that may lack links.

    oid: '' while the commit is being made; then parent and changes describe it."""

    __slots__ = ("_changes", "_objects", "oid", "parent")

    def __init__(
        self,
        objects: Objects,
        oid: str = "",
        parent: str = "",
        changes: Callable[[], Changes] | None = None,
    ) -> None:
        self._objects = objects
        self.oid = oid
        self.parent = parent
        self._changes: Callable[[], Changes] = changes or self._read

    def _read(self) -> Changes:
        self.parent, changes = read_changes(self._objects, need_commit(self._objects, self.oid))
        return changes

    def read(self) -> tuple[str, Changes]:
        """Return the commit's parent, and what it changes."""
        changes = self._changes()
        self._changes = lambda: changes
        return self.parent, changes

    def build_change(self) -> holding.Change:
        """Return what the commit changes, to be compared with work."""
        parent, changes = self.read()
        return build_change(self._objects, parent, changes)

    def list_ids(self) -> Collection[str]:
        """Return the ids of the checkpoints that it is linked to."""
        if not self.oid:
            return ()

        from gitcp.checkpoints import listing

        return listing.list_linked(self._objects, self.oid)
