"""The stored verdict of a commit: what prepare-commit-msg decided, for post-commit to obey.

One file a worktree, replaced by the next commit's: a commit may still fail after the hook.
"""

from __future__ import annotations

import os

from gitcp.core import json
from gitcp.core.message import trailers
from gitcp.core.upkeep import shapes
from gitcp.record import encode_name
from gitcp.store.git import private
from gitcp.store.git.commit import read_commit
from gitcp.store.match import commit_memory
from gitcp.store.session import process
from gitcp.store.v1 import committed_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import NotRequired, TypedDict

    from gitcp.context import Context
    from gitcp.core.record_types import Commit, Process
    from gitcp.repo import Repo
    from gitcp.store.link.commit_match import Linked

    class Verdict(TypedDict):
        """id: '' when nothing is linked; head: HEAD when it was taken; parent: the first
        parent the commit will have (zeros: none); ids: all that the message is to have; told:
        they were put into it, or the person would not have them there; commented: only as
        comments, for git would not let us check the message; picked: the commit that a
        cherry-pick replays; maker: the git that commits."""

        id: str
        head: str
        parent: str
        sessions: dict[str, Linked]
        ids: NotRequired[list[str]]
        told: NotRequired[bool]
        maker: NotRequired[Process | None]
        commented: NotRequired[bool]
        picked: NotRequired[str]


_COPY = "copy"  # the hook's script looks for it


def save(repo: Repo, verdict: Verdict) -> None:
    """Replace the worktree's stored verdict."""
    private.write_private(repo, repo.join_own("verdict"), json.dumps(verdict).encode())


def tell(repo: Repo, commented: bool = False) -> None:
    """Note that the message has had the verdict's ids: if it lacks one later, that was the
    person.  Killed before this, nobody took anything out."""
    verdict = load(repo)
    if verdict and (verdict["sessions"] or verdict.get("ids")):
        save(repo, {**verdict, "told": True, "commented": commented})


def refused(repo: Repo, head: str, commit: Commit) -> set[str]:
    """The ids that the person took out of the message of a commit made when HEAD was head."""
    verdict = load(repo)
    parents = [*commit["parents"], "0" * len(commit["oid"])]
    if not verdict or (verdict["head"], verdict["parent"]) != (head, parents[0]):
        return set()
    if not verdict.get("told") or verdict.get("commented") or not commit["message"].strip():
        return set()
    return set(verdict.get("ids", ())).difference(trailers.read(encode_name(commit["message"])))


def load(repo: Repo) -> Verdict | None:
    """The worktree's stored verdict; None when there is none that can be read."""
    verdict: Verdict | None = private.load_cache(repo.join_own("verdict"), shapes.COMMIT_VERDICT)
    return verdict


def pending(repo: Repo, ids: Container[str], parent: str) -> bool:
    """Whether a commit with these ids on parent is the verdict's, and the git that makes it
    still runs: then its post-commit condenses, nobody else."""
    verdict = load(repo)
    if not verdict or not verdict["sessions"] or verdict["parent"] != parent:
        return False
    taken = os.stat(repo.join_own("verdict")).st_mtime
    return verdict["id"] in ids and process.at_work(verdict.get("maker"), taken)


def unkept(ctx: Context) -> bool:
    """Whether HEAD has the id that was decided for it, and no checkpoint of that id is stored."""
    verdict = load(ctx.repo)
    if not verdict or not verdict["id"] or ctx.head in commit_memory.read_judged(ctx.repo):
        return False
    commit = read_commit(ctx.objects, ctx.head)
    if commit is None or verdict["id"] not in trailers.read(encode_name(commit["message"])):
        return False
    return committed_refs.find(ctx.repo, ctx.objects, verdict["id"]) is None


def forget(repo: Repo) -> None:
    """Remove the stored verdict: nothing is decided about the commit that comes."""
    private.remove_private(repo, repo.join_own("verdict"))


def expect_copy(repo: Repo) -> None:
    """Let the post-commit hook of the commit that comes start though no session is open: it
    has lines of others, and git has removed by then what tells so."""
    private.write_private(repo, repo.join_own(_COPY), b"")


def copy_made(repo: Repo) -> None:
    """Nothing is expected any more."""
    private.remove_private(repo, repo.join_own(_COPY))
