"""gitcp-condense - write the sessions of a commit to the permanent store"""

from __future__ import annotations

from gitcp.console import stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.core.record_types import Record


def _condense(records: Iterable[Record]) -> Iterator[Record]:
    """A match record of post-commit is condensed onto v1, or dismissed, and passed on."""
    for record in records:
        if record.get("type") == "match" and record.get("commit") and "old" in record:
            _one(record)
        yield record


def _one(match: Record) -> None:
    from gitcp import context

    if match["id"] or match["dismissed"]:
        _settle(match)
    with context.here() as ctx:  # what it copies from another commit is kept up alike
        if match["carried"]:
            from gitcp.store.link import carried_lines

            carried_lines.follow(ctx.repo, ctx.objects, [match["commit"]])
        if not match["id"]:
            from gitcp.store.blame import ai_notes

            ai_notes.keep(ctx.repo, [match["commit"]])


def _settle(match: Record) -> None:
    from gitcp import context
    from gitcp.store.git.commit import need_commit
    from gitcp.store.link import commit_sessions

    with context.here() as ctx:
        commit, old = need_commit(ctx.objects, match["commit"]), match["old"]
        states = ctx.states(match["sessions"])
        if match["dismissed"]:
            commit_sessions.dismiss(ctx.repo, ctx.objects, commit, states.values(), old)
        else:
            pairs = [(state, match["sessions"][one]) for one, state in states.items()]
            about = (commit, match["id"], pairs, old, match["noted"])
            commit_sessions.store(ctx.repo, ctx.objects, *about)
        for state in states.values():
            ctx.keep(state)
        ctx.leave()  # streams move on from what the states on disk say


parser, bind, main = stage.plain("condense", _condense)
