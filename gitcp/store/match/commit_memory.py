"""What hooks remember of commits, in three files and no more (doc/behaviour.md "Three memories").

`<git-dir>/gitcp/verdict`: what prepare-commit-msg decided, for post-commit to obey; replaced by the
next commit's, for a commit may still fail after the hook.  `<git-dir>/gitcp/looked`: where HEAD was
when no commit up to there was left to be judged, so that a look there costs nothing; then the
commits that were judged, each when everything that follows from it was done: one that is not there
was made without our hooks, or they were killed.  `<common>/gitcp/dismissed`: the ids that a person
took off a commit.
"""

from __future__ import annotations

import os

from gitcp.core import json
from gitcp.core.decide import phases
from gitcp.core.message import trailers
from gitcp.core.upkeep import shapes
from gitcp.record import encode_name
from gitcp.start import late
from gitcp.store.git import private
from gitcp.store.git.commit import read_commit
from gitcp.store.session import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable
    from typing import NotRequired, TypedDict

    from gitcp.context import Context
    from gitcp.core.decide.overlap import Linked
    from gitcp.core.record_types import Commit, Process
    from gitcp.repo import Repo

    class Verdict(TypedDict):
        """id: '' when nothing is linked; head: HEAD when it was taken; parent: the first
        parent the commit will have (zeros: none); ids: all that the message is to have; told:
        they were put into it, or the person would not have them there; commented: only as
        comments, for git would not let us check the message; picked: the commit that a
        cherry-pick replays; maker: the git that commits; brings: it has lines of others, and
        git has removed by post-commit what tells so: that is to start though no session is
        open, which its script finds here."""

        id: str
        head: str
        parent: str
        sessions: dict[str, Linked]
        ids: NotRequired[list[str]]
        told: NotRequired[bool]
        maker: NotRequired[Process | None]
        commented: NotRequired[bool]
        picked: NotRequired[str]
        brings: NotRequired[bool]


_MOST = 200  # commits remembered


def is_replaying(repo: Repo) -> bool:
    """Whether a rebase, cherry-pick or am replays commits here."""
    return any(os.path.exists(os.path.join(repo.git_dir, name)) for name in phases.REWRITING)


def save_verdict(repo: Repo, verdict: Verdict) -> None:
    """Replace the worktree's stored verdict."""
    private.write_private(repo, repo.join_own("verdict"), json.dumps(verdict).encode())


def mark_told(repo: Repo, commented: bool = False) -> None:
    """Note that the message has had the verdict's ids: if it lacks one later, that was the
    person.  Killed before this, nobody took anything out."""
    verdict = load_verdict(repo)
    if verdict and (verdict["sessions"] or verdict.get("ids")):
        save_verdict(repo, {**verdict, "told": True, "commented": commented})


def read_left_out(repo: Repo, head: str, commit: Commit) -> set[str]:
    """The ids that the person took out of the message of a commit made when HEAD was head."""
    verdict = load_verdict(repo)
    parents = [*commit["parents"], "0" * len(commit["oid"])]
    if not verdict or (verdict["head"], verdict["parent"]) != (head, parents[0]):
        return set()
    if not verdict.get("told") or verdict.get("commented") or not commit["message"].strip():
        return set()
    return set(verdict.get("ids", ())).difference(trailers.read(encode_name(commit["message"])))


def load_verdict(repo: Repo) -> Verdict | None:
    """The worktree's stored verdict; None when there is none that can be read."""
    verdict: Verdict | None = private.load_cache(repo.join_own("verdict"), shapes.COMMIT_VERDICT)
    return verdict


def is_pending(repo: Repo, ids: Container[str], parent: str) -> bool:
    """Whether a commit with these ids on parent is the verdict's, and the git that makes it
    still runs: then its post-commit condenses, nobody else."""
    verdict = load_verdict(repo)
    if not verdict or not verdict["sessions"] or verdict["parent"] != parent:
        return False
    taken = os.stat(repo.join_own("verdict")).st_mtime
    return verdict["id"] in ids and process.is_at_work(verdict.get("maker"), taken)


def lacks_checkpoint(ctx: Context) -> bool:
    """Whether HEAD has the id that was decided for it, and no checkpoint of that id is stored."""
    verdict = load_verdict(ctx.repo)
    if not verdict or not verdict["id"] or ctx.head in read_judged(ctx.repo):
        return False
    commit = read_commit(ctx.objects, ctx.head)
    if commit is None or verdict["id"] not in trailers.read(encode_name(commit["message"])):
        return False
    return late.committed_refs.find_checkpoint(ctx.repo, ctx.objects, verdict["id"]) is None


def forget_verdict(repo: Repo) -> None:
    """Remove the stored verdict: nothing is decided about the commit that comes."""
    private.remove_private(repo, repo.join_own("verdict"))


def clear_brought(repo: Repo) -> None:
    """Let nothing be expected of the next post-commit hook."""
    verdict = load_verdict(repo)
    if verdict and verdict.pop("brings", False):
        save_verdict(repo, verdict)


def _read(repo: Repo) -> tuple[str, list[str]]:
    """Where HEAD was looked at last, '' if that is not known, and the commits judged."""
    head, *judged = private.read_words(repo.join_own("looked"), shapes.is_object_name) or [""]
    judged += private.read_words(repo.join_own("judged"), shapes.is_object_name)  # as before
    return head if head.strip("0") else "", judged


def _write(repo: Repo, head: str, judged: list[str]) -> None:
    private.write_words(repo, repo.join_own("looked"), [head or "0", *judged[-_MOST:]])
    private.remove_private(repo, repo.join_own("judged"))


def read_judged(repo: Repo) -> list[str]:
    """The oids of the commits judged in this worktree, oldest first."""
    return _read(repo)[1]


def add_judged(repo: Repo, commit: str, parent: str) -> None:
    """Remember that everything that follows from this commit is done."""
    head, judged = _read(repo)
    judged = [*(oid for oid in judged if oid != commit), commit]
    _write(repo, commit if head == parent else head, judged)


def read_looked(repo: Repo) -> str:
    """Where HEAD was when no commit here was left to be judged, '' when that is not known."""
    return _read(repo)[0]


def write_looked(repo: Repo, head: str) -> None:
    """Remember that no commit up to head is left to be judged, for any session not at work."""
    _write(repo, head, read_judged(repo))


def is_unseen(repo: Repo, head: str) -> bool:
    """Whether HEAD is where nobody has looked yet."""
    return bool(head.strip("0")) and read_looked(repo) != head


def read_refused(repo: Repo) -> set[str]:
    """The ids that a person refused in this repository: nothing but `gitcp link` links them."""
    return set(private.read_words(repo.join_shared("dismissed"), shapes.is_short_id))


def write_refused(repo: Repo, ids: Iterable[str], allowed: str = "") -> None:
    """Remember that the person refuses these as well, and no longer the one that is allowed."""
    refused = {*read_refused(repo), *ids} - {allowed}
    private.write_words(repo, repo.join_shared("dismissed"), sorted(refused))
