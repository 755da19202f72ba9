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
from gitcp.text import json, shapes, value_class
from gitcp.text.shapes import is_object_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Sequence
    from typing import Any

    from gitcp.git.objects import Changes, Objects
    from gitcp.git.repo import Repo
    from gitcp.record import Context
    from gitcp.record.match.change import Change
    from gitcp.text.record_types import Commit, Linked, Process


@value_class
class Verdict:
    """What was decided about a commit that is being made.  git's hooks in sh look for exposed and
    brings in its file."""

    id: str  # of its checkpoint; '' if no session is linked
    head: str  # HEAD when it was decided
    parent: str  # the first parent of the coming commit, zeros for none
    sessions: dict[str, Linked]
    ids: Sequence[str] = ()  # all ids that the message gets
    told: bool = False  # whether they were written into it
    # Whether they were written as comments, because git skips the check of the message, or where
    # no person saw them and a later hook may have dropped them.
    commented: bool = False
    # Whether a configured hook wrote them, before other hooks had the message.
    exposed: bool = False
    picked: str = ""  # the commit that a cherry-pick replays
    merged: Sequence[str] = ()  # the commits that a squash is made of
    unmade: Sequence[str] = ()  # ids decided before, for commits that may never have been made
    maker: Process | None = None  # the git that commits
    brings: bool = False  # whether the commit takes over lines of others

    def encode(self) -> bytes:
        """The JSON of its file."""
        stored: dict[str, Any] = {name: getattr(self, name) for name in _NEEDED}
        for name in _OPTIONAL:
            value = getattr(self, name)
            if value:
                stored[name] = value
        return json.dumps(stored).encode()


_NEEDED = ("id", "head", "parent", "sessions")
_OPTIONAL = tuple(name for name in Verdict.__annotations__ if name not in _NEEDED)
_MOST = 200  # commits remembered
_MOST_UNMADE = 20  # ids remembered


def is_replaying(repo: Repo) -> bool:
    """Return whether a rebase, cherry-pick or am replays commits here."""
    return any(os.path.exists(os.path.join(repo.git_dir, name)) for name in phases.REWRITING)


def save_verdict(repo: Repo, verdict: Verdict) -> None:
    """Replace the worktree's stored verdict."""
    files.write_private(repo, repo.join_own("verdict"), verdict.encode())


def mark_told(repo: Repo, commented: bool = False, exposed: bool = False) -> None:
    """Note that the verdict's ids were written into the message; commented, exposed: as in Verdict.

    From here on an id that the message lacks was removed by the person, unless it was commented."""
    verdict = load_verdict(repo)
    if verdict and (verdict.sessions or verdict.ids):
        verdict.told = True
        verdict.commented = commented
        verdict.exposed = verdict.exposed or exposed
        save_verdict(repo, verdict)


def read_left_out(repo: Repo, head: str, commit: Commit) -> set[str]:
    """Return the ids that the person removed from the message of commit; head: HEAD before it."""
    verdict = load_verdict(repo)
    parents = [*commit["parents"], "0" * len(commit["oid"])]
    if verdict is None or verdict.head != head or verdict.parent != parents[0]:
        return set()
    if not verdict.told or verdict.commented or not commit["message"].strip():
        return set()
    return set(verdict.ids).difference(_list_trailers(commit))


def _list_trailers(commit: Commit) -> list[str]:
    """The ids in the trailers of a commit."""
    from gitcp.git import commit_message

    return commit_message.read_trailers(encode_name(commit["message"]))


def load_verdict(repo: Repo) -> Verdict | None:
    """Return the worktree's stored verdict; None if there is none or it is unreadable."""
    stored = files.load_cache(repo.join_own("verdict"), shapes.COMMIT_VERDICT)
    if stored is None:
        return None
    fields = {name: stored[name] for name in (*_NEEDED, *_OPTIONAL) if name in stored}
    return Verdict(**fields)


def is_pending(repo: Repo, ids: Container[str], parent: str) -> bool:
    """Return whether a commit with these ids on parent is the verdict's, and its git still runs.

    Its own post-commit condenses such a commit."""
    verdict = load_verdict(repo)
    if verdict is None or not verdict.sessions or verdict.parent != parent:
        return False
    decided = os.stat(repo.join_own("verdict")).st_mtime

    from gitcp.record.session import process

    return verdict.id in ids and process.is_agent_working(verdict.maker, decided)


def lacks_checkpoint(ctx: Context) -> bool:
    """Return whether HEAD carries the id decided for it and no checkpoint of that id is stored."""
    verdict = load_verdict(ctx.repo)
    if verdict is None or not verdict.id or ctx.head in read_judged(ctx.repo):
        return False
    commit = read_commit(ctx.repo.objects, ctx.head)
    if commit is None or verdict.id not in _list_trailers(commit):
        return False

    from gitcp.checkpoints import stored

    return stored.find_checkpoint(ctx.repo, verdict.id) is None


def list_unmade(repo: Repo) -> list[str]:
    """Return the ids that were decided here last, oldest first; their commits may not exist."""
    verdict = load_verdict(repo)
    if verdict is None:
        return []
    ids = [*verdict.unmade]
    if verdict.id:
        ids.append(verdict.id)
    return list(dict.fromkeys(ids))[-_MOST_UNMADE:]


def forget_verdict(repo: Repo) -> None:
    """Remove the stored verdict."""
    files.remove_private(repo, repo.join_own("verdict"))


def clear_brought(repo: Repo) -> None:
    """Remove the verdict's mark that post-commit starts although no session is open."""
    verdict = load_verdict(repo)
    if verdict and verdict.brings:
        verdict.brings = False
        save_verdict(repo, verdict)


@value_class
class _Looked:
    """The HEAD up to which all commits are judged, '' if that is unknown, and judged commits,
    oldest first."""

    head: str
    judged: list[str]


_UNKNOWN = "0"  # the HEAD in the file, if it is unknown


def _read_looked(repo: Repo) -> _Looked:
    head, *judged = files.read_words(repo.join_own("looked"), is_object_name) or [_UNKNOWN]
    return _Looked(head if head.strip("0") else "", judged)


def _write_looked(repo: Repo, head: str, judged: Sequence[str]) -> None:
    files.write_words(repo, repo.join_own("looked"), [head or _UNKNOWN, *judged[-_MOST:]])


def read_judged(repo: Repo) -> list[str]:
    """Return the oids of the commits judged in this worktree, oldest first."""
    return _read_looked(repo).judged


def add_judged(repo: Repo, commit: str, old: str) -> None:
    """Note that everything that follows from this commit is done.  old: the HEAD that it replaced,
    '' if it brought other commits too."""
    looked = _read_looked(repo)
    judged = [oid for oid in looked.judged if oid != commit]
    _write_looked(repo, commit if looked.head == old else looked.head, [*judged, commit])


def read_looked(repo: Repo) -> str:
    """Return the HEAD up to which every commit has been judged, '' if that is unknown."""
    return _read_looked(repo).head


def write_looked(repo: Repo, head: str) -> None:
    """Note that every commit up to head has been judged for all sessions that are not at work."""
    _write_looked(repo, head, read_judged(repo))


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


def has_links(repo: Repo) -> bool:
    """Return whether some commit is linked with a checkpoint here."""
    return os.path.exists(repo.join_shared("linked"))


def locate_orig_head(repo: Repo) -> str:
    """The file that names the commit which a reset left."""
    return os.path.join(repo.git_dir, "ORIG_HEAD")


def locate_taken_back(repo: Repo) -> str:
    """The list of commits that HEAD lost and that may be made again."""
    return repo.join_own("taken-back")


def locate_read(repo: Repo) -> str:
    """The hard link to the ORIG_HEAD that was read last."""
    return repo.join_own("orig-head")


def read_left(repo: Repo, head: str) -> str:
    """Return the commit that a reset may have left, which ORIG_HEAD names; '' if that was read
    before, unless it is HEAD: a reset from there does not replace the file."""
    path = locate_orig_head(repo)
    if not os.path.exists(path):
        return ""
    orig = "".join(files.read_words(path, is_object_name))
    if orig != head and _was_read(repo):
        return ""
    return orig


def _was_read(repo: Repo) -> bool:
    """Whether ORIG_HEAD is the file that was read last."""
    try:
        return os.path.samefile(locate_orig_head(repo), locate_read(repo))
    except OSError:
        return False


def may_have_lost(repo: Repo, head: str) -> bool:
    """Return whether HEAD may have lost commits that may be made again."""
    return os.path.exists(locate_taken_back(repo)) or bool(read_left(repo, head))


def reread_orig_head(repo: Repo, head: str) -> None:
    """Have ORIG_HEAD read again if it names head: a reset from there does not replace the file."""
    if files.read_words(locate_orig_head(repo), is_object_name) == [head]:
        files.remove_private(repo, locate_read(repo))


def build_change(objects: Objects, parent: str, changes: Changes) -> Change:
    """Return what a commit changes from its parent, zeros for none, to be compared with work."""
    from gitcp.record.match.change import Change

    find_old = build_finder(objects, parent)
    return Change(changes, objects.read_blob, lambda path: find_old(path) is None, find_old)


class Target:
    """A commit that may lack links.

    oid: '' while the commit is being made; then parent and changes describe it."""

    __slots__ = ("_changes", "_objects", "_read", "oid", "parent")

    def __init__(
        self,
        objects: Objects,
        oid: str = "",
        parent: str = "",
        read: Callable[[], Changes] | None = None,
    ) -> None:
        """read: lists what a commit that is being made changes."""
        self._objects = objects
        self.oid = oid
        self.parent = parent
        self._read = read
        self._changes: Changes | None = None

    @property
    def changes(self) -> Changes:
        """What the commit changes from its parent."""
        if self._changes is None:
            if self._read:
                self._changes = self._read()
            else:
                commit = need_commit(self._objects, self.oid)
                self.parent, self._changes = read_changes(self._objects, commit)
        return self._changes

    def build_change(self) -> Change:
        """Return what the commit changes, to be compared with work."""
        changes = self.changes  # finds the parent, too
        return build_change(self._objects, self.parent, changes)

    def list_ids(self) -> Collection[str]:
        """Return the ids of the checkpoints that it is linked to."""
        if not self.oid:
            return ()

        from gitcp.checkpoints import listing

        return listing.list_linked(self._objects, self.oid)
