"""gitcp-condense - write the sessions of a commit to the permanent store"""

from __future__ import annotations

import sys

from gitcp.console import stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gitcp.core.record_types import Record


def _condense(records: Iterable[Record]) -> Iterator[Record]:
    """A match record of post-commit is condensed onto v1, or dismissed, and passed on."""
    for record in records:
        if record.get("type") == "match" and record.get("commit") and "old" in record:
            _one(record)
        yield record


def _one(match: Record) -> None:
    from gitcp import context
    from gitcp.store.git import reflog

    if match["id"] or match["dismissed"]:
        _settle(match)
    with context.here() as ctx:  # what it copies from another commit is kept up alike
        if match["carried"]:
            from gitcp.store.lines import carried
            from gitcp.store.link import commit_sessions

            olds = commit_sessions.taken_back(ctx.repo, match["old"])
            replaced = {match["commit"]: olds if len(olds) < commit_sessions.MOST else ()}
            carried.follow(ctx.repo, ctx.objects, [match["commit"]], replaced)
        if (match["id"] or match["carried"]) and reflog.stashes(ctx.repo):
            from gitcp.store.relink import lost_commits

            lost_commits.add_stashed(ctx.repo, ctx.objects, match["commit"])
        if not match["id"]:
            from gitcp.store.lines import ai_notes

            ai_notes.keep(ctx.repo, [match["commit"]])


def _settle(match: Record) -> None:
    from gitcp import context
    from gitcp.store.git.commit import need_commit
    from gitcp.store.link import commit_sessions

    failed: dict[str, Exception] = {}
    with context.here() as ctx:
        commit, old = need_commit(ctx.objects, match["commit"]), match["old"]
        states = ctx.states(match["sessions"])
        if match["dismissed"]:
            commit_sessions.dismiss(ctx.repo, ctx.objects, commit, states.values(), old)
        else:
            pairs = [(state, match["sessions"][one]) for one, state in states.items()]
            about = (commit, match["id"], pairs, old, match["noted"])
            failed = commit_sessions.store(ctx.repo, ctx.objects, *about)
        for session_id, state in states.items():
            if session_id not in failed:
                ctx.keep(state)
        ctx.leave()  # streams move on from what the states on disk say
    _leave_out(match, failed)


def _leave_out(match: Record, failed: Mapping[str, Exception]) -> None:
    """These sessions are no part of the match any more: their own next events store them."""
    from gitcp.errors import sentence

    for session_id, error in failed.items():
        from gitcp.store.setup import heard

        message = f"session '{session_id}' is left out of its commit for now: {sentence(error)}"
        print("warning:", message, file=sys.stderr)
        heard.failed(message)
    if failed:
        left = {one: why for one, why in match["sessions"].items() if one not in failed}
        match |= {"sessions": left, "left_out": sorted(failed)}


parser, bind, main = stage.plain("condense", _condense)
