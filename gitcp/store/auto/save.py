"""The auto-commit strategy: the end of a turn, or of a task, makes a real commit of its work.

First it makes the temporary checkpoint of every strategy, which holds the content while the
person's hooks run, and remains if no commit can be made, which is reported with the reason.  Then
it makes the commit, one at a time in a worktree, stores it, and settles the streams.
"""

from __future__ import annotations

import time

from gitcp import trace
from gitcp.core.credit.entries import UNKNOWN
from gitcp.core.decide import difference
from gitcp.core.message.trailers import KEY
from gitcp.errors import Busy, Moved
from gitcp.lock import exclusive
from gitcp.store.auto import commit, index_files, person_hooks, refusal, settling
from gitcp.store.auto.refusal import Refused
from gitcp.store.git.commit import need_commit
from gitcp.store.git.tree import TREE, Lookup, find_tree
from gitcp.store.journal import journal
from gitcp.store.lines import edit_lines
from gitcp.store.link import disclosure
from gitcp.store.relink import catch_up
from gitcp.store.session import intent
from gitcp.store.session.state import make_id
from gitcp.store.stream import branches, shadow_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypedDict

    from gitcp.context import Context
    from gitcp.core.lines.attribution import PathCredit
    from gitcp.core.record_types import Entry, Record, State
    from gitcp.repo import Repo
    from gitcp.store.git.commit_changes import Changes
    from gitcp.store.git.objects import Objects
    from gitcp.store.session.intent import Intent

    class Work(TypedDict):
        """The work to commit.  entries: path -> entry, None if deleted.  current: the paths that
        the ending turn wrote.  mixed: the paths with lines of other authors."""

        entries: dict[str, Entry | None]
        current: set[str]
        mixed: set[str]

    Blocked = dict[str, set[str]]  # why -> paths


_STAGED, _MIXED = "is staged by hand", "holds changes that are not the session's"
_WAIT = 45.0  # seconds to wait for the commits of other sessions, whose hooks may be slow


def save_work(ctx: Context, event: dict[str, Any]) -> list[Record]:
    """Checkpoint the work of an event's session, then commit it; the records of the result.

    Raises Error as a checkpoint does.  A record reports that no commit could be made.
    """
    state = ctx.read_state(event["session_id"])
    if state is None:
        return []
    oid = catch_up.write_checkpoint(ctx.repo, ctx.objects, state, event, ctx.head)
    ctx.keep(state)
    if oid is None:
        if not state["streams"]:
            return []
        tree = find_tree(ctx.objects, ctx.head)
        tip = branches.find_current(ctx.repo, ctx.objects, state, ctx.head)
        recorded = shadow_refs.read_changes(ctx.objects, tip) if tip else {}
        work = find_work(ctx.repo, ctx.objects, state, tree, recorded)
        return _tell_waiting(_list_blocked(ctx.repo, tree, work))
    ctx.leave()  # hold no session's lock while the person's hooks run
    held = False
    try:
        with exclusive(ctx.repo, f"auto-{ctx.repo.worktree_hash}", _WAIT):
            held = True
            settling.settle(ctx)
            return _try_commit(ctx, event["session_id"], oid)
    except (Busy, Refused) as e:
        return [_tell_why(str(e) if held else "another session's commit is not done")]


def _tell_why(why: str) -> Record:
    message = f"gitcp: not committed, {why}; the turn is kept as a temporary checkpoint"
    return {"type": "say", "message": message}


def _tell_waiting(blocked: Blocked) -> list[Record]:
    if not blocked:
        return []
    paths = "; ".join(refusal.list_paths(paths, what) for what, paths in blocked.items())
    return [{"type": "say", "message": f"gitcp: not committed yet: {paths}"}]


def _try_commit(ctx: Context, session_id: str, oid: str) -> list[Record]:
    until = time.monotonic() + _WAIT
    while time.monotonic() < until:
        try:
            return _commit_once(ctx, session_id, oid)
        except Moved as e:
            trace.append_note("auto", f"again: {e}")
            intent.drop(ctx.repo)
        except Refused as e:
            intent.drop(ctx.repo)
            return [_tell_why(str(e))]
    return [_tell_why("HEAD moves faster than the hooks judge a commit")]


def _format_message(repo: Repo, subject: str, checkpoint_id: str, session_id: str) -> str:
    """The message of an auto-commit, with the configured trailers."""
    key = repo.config.get_option("gitcp.disclose")
    lines = [] if repo.config.get_option("gitcp.link") == "note" else [f"{KEY}: {checkpoint_id}"]
    if key:
        lines += disclosure.format_lines(repo, key, [session_id])
    return "\n".join([subject, *([""] if lines else []), *lines]) + "\n"


def _commit_once(ctx: Context, session_id: str, oid: str) -> list[Record]:
    repo, objects = ctx.repo, ctx.objects
    state, head = ctx.read_state(session_id), ctx.head
    if state is None:
        return []
    catch_up.follow_head(repo, objects, state, head)
    ctx.keep(state)
    tip = shadow_refs.read_tip(objects, oid)
    recorded = shadow_refs.read_changes(objects, tip) if tip else {}
    tree = find_tree(objects, head)
    work = find_work(repo, objects, state, tree, recorded)
    blocked = _list_blocked(repo, tree, work)
    plan = _make_intent(ctx, state, head, oid, recorded, work, blocked)
    notices = _tell_waiting(blocked)
    if not plan["entries"]:
        return notices
    subject = need_commit(objects, oid)["message"].partition("\n")[0]
    message = _format_message(repo, subject, plan["checkpoint_id"], session_id)
    ctx.leave()
    paths = commit.make_commit(repo, objects, plan, message)
    if not paths:
        intent.drop(repo)
        return notices
    settling.store_commit(ctx, plan)
    intent.drop(repo)
    try:
        person_hooks.run(repo, "post-commit")
    except Refused as e:
        trace.append_note("auto", str(e))  # the commit exists already
    ids = {"checkpoint_id": plan["checkpoint_id"], "session_id": session_id}
    return [{"type": "checkpoint", "commit": plan["commit"], **ids}, *notices]


def _list_blocked(repo: Repo, tree: str | None, work: Work) -> Blocked:
    """reason -> paths of the work that cannot be committed now."""
    if not work["entries"]:
        return {}
    staged = {
        path
        for path, entry in index_files.list_staged(repo, tree or repo.empty_tree).items()
        if path in work["entries"] and entry != work["entries"][path]
    }
    reasons = {_STAGED: staged, _MIXED: work["mixed"] - staged}
    return {why: paths for why, paths in reasons.items() if paths}


def _make_intent(
    ctx: Context,
    state: State,
    head: str,
    oid: str,
    recorded: dict[str, Entry | None],
    work: Work,
    blocked: Blocked,
) -> Intent:
    """The intent of a commit.  recorded: the entries of its checkpoint oid.  Raises Refused if
    work of this turn is blocked."""
    repo, objects = ctx.repo, ctx.objects
    for operation in refusal.list_under_way(repo) if work["entries"] else ():
        raise Refused(f"{operation} is in progress")
    blocked_paths = set().union(*blocked.values())
    if blocked_paths & work["current"]:
        raise Refused("; ".join(refusal.list_paths(paths, why) for why, paths in blocked.items()))
    entries = work["entries"].keys() - blocked_paths
    task = shadow_refs.find_trailer(need_commit(objects, oid)["message"], "Entire-Metadata-Task")
    return {
        "session_id": state["session_id"],
        "checkpoint_id": make_id(),
        "tool_use_id": task.rpartition("/tasks/")[2],
        "expected": head,
        "tree": find_tree(objects, head) or repo.empty_tree,
        "tip": oid,
        "dirty": recorded,
        "stash": "",
        "commit": "",
        "mark": [],
        "noted": False,
        "entries": {path: work["entries"][path] for path in sorted(entries)},
    }


def find_work(
    repo: Repo,
    objects: Objects,
    state: State,
    tree: str | None,
    recorded: Mapping[str, Entry | None],
) -> Work:
    """The session's uncommitted work in the worktree, against HEAD's tree.

    recorded: the entries of its newest checkpoint.
    """
    tree_lookup = Lookup(objects, tree)
    changes: Changes = {}
    current: set[str] = set()
    for stream in state["streams"]:
        for path, file in stream["files"].items():
            old, entry = tree_lookup(path), recorded.get(path)
            if path not in recorded or entry == old:
                continue
            if entry and entry[0] == TREE:
                entry = None  # a directory has replaced the file
            changes[path] = difference.build_change(old, entry)
            if file["turn_id"] == state.get("turn_id"):
                current.add(path)
    credit = edit_lines.Edits(objects, journal.read(repo)).credit_paths(changes)
    return {
        "entries": {p: (mode, oid) if oid else None for p, (_, _, mode, oid) in changes.items()},
        "current": current,
        "mixed": {path for path in credit if _is_shared(credit[path], state["session_id"])},
    }


def _is_shared(credit: PathCredit, session_id: str) -> bool:
    """Whether another author has a line among those that a path gains or loses.  Lines of unknown
    authors do not count."""
    authors = {*(who for _, who in credit["added"]), *credit["removed"]}
    return any(who[0] != session_id and who != UNKNOWN for who in authors)
