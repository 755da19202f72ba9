"""A checkpoint that a commit names and the store has not: promised, and still to be kept."""

from __future__ import annotations

from gitcp.core.message import trailers
from gitcp.record import raw
from gitcp.store.git.commit import read_commit
from gitcp.store.link import commit_verdict
from gitcp.store.relink import judged
from gitcp.store.v1 import committed_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.context import Context


def pending(ctx: Context) -> bool:
    """Whether HEAD has the id that was decided for it, and that is not stored."""
    verdict = commit_verdict.load(ctx.repo)
    if not verdict or not verdict["id"] or ctx.head in judged.read(ctx.repo):
        return False
    commit = read_commit(ctx.objects, ctx.head)
    if commit is None or verdict["id"] not in trailers.read(raw(commit["message"])):
        return False
    return committed_refs.find(ctx.repo, ctx.objects, verdict["id"]) is None
