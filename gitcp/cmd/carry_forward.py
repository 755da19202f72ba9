"""gitcp-carry-forward - move streams on to a new commit"""

from __future__ import annotations

from gitcp.console import stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.core.record_types import Record
    from gitcp.store.git.refs import Edit


def _forward(records: Iterable[Record]) -> Iterator[Record]:
    """After a match record's commit the streams of its old base move on; each ref edit is
    passed on as a ref record."""
    for record in records:
        yield record
        if record.get("type") == "match" and record.get("commit") and "old" in record:
            for ref, new, old in _moves(record):
                yield {"type": "ref", "ref": ref, "oid": new, "old_oid": old}


def _moves(match: Record) -> list[Edit]:
    from gitcp import context
    from gitcp.store.git.commit import need_commit
    from gitcp.store.journal import open_edits
    from gitcp.store.link import commit_changes, commit_hooks
    from gitcp.store.relink import judged
    from gitcp.store.stream import carry_forward

    with context.here() as ctx:
        if commit_hooks.rewriting(ctx.repo):
            return []  # a replayed commit is not the last one: the next event moves them
        commit = need_commit(ctx.objects, match["commit"])
        changes = commit_changes.of_commit(ctx.objects, commit)[1]
        waiting = match.get("left_out", ())
        open_edits.settle(ctx.repo, ctx.objects, commit, changes, but=waiting)
        settled = set(match["sessions"]) if match["linked"] else None
        edits = carry_forward.forward(ctx.repo, ctx.objects, match["old"], commit, settled)
        if not match.get("left_out"):
            judged.add(ctx.repo, match["commit"], match["old"])
        return edits


parser, bind, main = stage.plain("carry-forward", _forward)
