"""The auto-commit strategy: the end of a turn or of a task makes a commit on the person's branch of
its work, or says why it makes none.

First it makes a temporary checkpoint, as every strategy does, which holds the content while the
person's hooks run.  Then it makes the commit, one at a time in a worktree, stores it, and settles
the streams.  If no commit can be made, the reason is reported, and the checkpoint remains.
"""

from __future__ import annotations

import time

from gitcp import git, link
from gitcp.checkpoints import notes
from gitcp.checkpoints.stored import list_session_ids
from gitcp.errors import Busy, Error, Moved
from gitcp.git.commit_message import KEY
from gitcp.git.config_table import AUTO
from gitcp.git.files import exclusive
from gitcp.git.objects import TREE, Lookup, find_tree, need_commit
from gitcp.lines import edit_lines
from gitcp.link import condense, disclosure
from gitcp.record import journal, session
from gitcp.record.journal import edits
from gitcp.record.session import make_id, others
from gitcp.record.snapshot.index import list_staged, list_under_way
from gitcp.record.stream import (
    find_current,
    find_trailer,
    read_changes,
    read_tip,
    set_streams,
    writing,
)
from gitcp.steps.commits.auto_commit import (
    AutoCommitPlan,
    make_commit,
    put_back,
    read_plan,
    settle_commit,
)
from gitcp.steps.commits.person_hooks import Refused, list_paths, run_person_hook
from gitcp.text import value_class
from gitcp.text.ids import TASK_KEY, UNKNOWN, build_change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.git.objects import Changes
    from gitcp.git.repo import Repo
    from gitcp.record import Context
    from gitcp.text.line_credit import PathCredit
    from gitcp.text.record_types import (
        Commit,
        Entry,
        Event,
        Linked,
        Message,
        Passed,
        State,
        Tip,
        WrittenCheckpoint,
    )

    Blocked = dict[str, set[str]]  # why -> paths


@value_class
class WorkToCommit:
    """The work to commit.  entries: path -> entry, None if deleted.  current: the paths that the
    ending turn wrote.  mixed: the paths with lines of other authors.  recorded: the entries of the
    newest checkpoint."""

    entries: dict[str, Entry | None]
    current: set[str]
    mixed: set[str]
    recorded: dict[str, Entry | None]


_STAGED = "is staged by hand"
_MIXED = "holds changes that are not the session's"
_WAIT = 45.0  # seconds to wait for the commits of other sessions, whose hooks may be slow


def save_work(ctx: Context, event: Event) -> list[Passed]:
    """Checkpoint the work of an event's session, then commit it; the records of the result.

    Raises Error as a checkpoint does.  A record reports that no commit could be made.
    """
    state = ctx.read_state(event["session_id"])
    if state is None:
        return []
    oid = link.write_checkpoint(ctx.repo, state, event, ctx.head)
    ctx.keep(state)
    if oid is None:
        if not state["streams"]:
            return []
        tree = find_tree(ctx.repo.objects, ctx.head)
        recorded = _read_recorded(ctx.repo, find_current(ctx.repo, state, ctx.head))
        work = find_work(ctx.repo, state, tree, recorded)
        return [*_tell_waiting(_list_blocked(ctx.repo, tree, work))]
    ctx.leave()  # hold no session's lock while the person's hooks run
    held = False
    try:
        with exclusive(ctx.repo, f"auto-{ctx.repo.worktree_hash}", _WAIT):
            held = True
            settle_killed(ctx)
            return _try_commit(ctx, event["session_id"], oid)
    except (Busy, Refused) as e:
        why = "another session's commit is not done"
        if held:
            why = str(e)
        return [_tell_why(why)]


def _read_recorded(repo: Repo, tip: Tip | None) -> dict[str, Entry | None]:
    """The entries that a checkpoint has and its base has not; none without one."""
    if tip is None:
        return {}
    return read_changes(repo.objects, tip)


def _tell_why(why: str) -> Message:
    message = f"gitcp: not committed, {why}; what it changed is saved"
    return {"type": "say", "message": message}


def _tell_waiting(blocked: Blocked) -> list[Message]:
    if not blocked:
        return []
    paths = "; ".join(list_paths(paths, what) for what, paths in blocked.items())
    return [{"type": "say", "message": f"gitcp: not committed yet: {paths}"}]


def _try_commit(ctx: Context, session_id: str, oid: str) -> list[Passed]:
    until = time.monotonic() + _WAIT
    while time.monotonic() < until:
        try:
            return _commit_once(ctx, session_id, oid)
        except Moved as e:
            git.append_trace("auto", f"again: {e}")
            others.drop_intent(ctx.repo)
        except Refused as e:
            others.drop_intent(ctx.repo)
            return [_tell_why(str(e))]
    return [_tell_why("HEAD moves faster than the hooks judge a commit")]


def _format_message(repo: Repo, subject: str, checkpoint_id: str, session_id: str) -> str:
    """The message of an auto-commit, with the configured trailers."""
    lines: list[str] = []
    if repo.config.get_option("gitcp.link") != "note":
        lines.append(f"{KEY}: {checkpoint_id}")
    key = repo.config.get_option("gitcp.disclose")
    if key:
        lines += disclosure.format_lines(repo, key, [session_id])
    message = f"{subject}\n"
    if lines:
        message += "\n" + "".join(f"{line}\n" for line in lines)
    return message


def _commit_once(ctx: Context, session_id: str, oid: str) -> list[Passed]:
    repo = ctx.repo
    state = ctx.read_state(session_id)
    head = ctx.head
    if state is None:
        return []
    link.follow_head(repo, state, head)
    ctx.keep(state)
    recorded = _read_recorded(repo, read_tip(repo.objects, oid))
    tree = find_tree(repo.objects, head)
    work = find_work(repo, state, tree, recorded)
    blocked = _list_blocked(repo, tree, work)
    plan = _make_plan(ctx, state, oid, work, blocked)
    notices = _tell_waiting(blocked)
    if not plan.entries:
        return [*notices]
    subject = need_commit(repo.objects, oid)["message"].partition("\n")[0]
    message = _format_message(repo, subject, plan.checkpoint_id, session_id)
    ctx.leave()
    paths = make_commit(repo, plan, message)
    if not paths:
        others.drop_intent(repo)
        return [*notices]
    store_commit(ctx, plan)
    others.drop_intent(repo)
    try:
        run_person_hook(repo, "post-commit")
    except Refused as e:
        git.append_trace("auto", str(e))  # the commit exists already
    written: WrittenCheckpoint = {
        "type": "checkpoint",
        "commit": plan.commit,
        "checkpoint_id": plan.checkpoint_id,
        "session_id": session_id,
    }
    return [written, *notices]


def _list_blocked(repo: Repo, tree: str | None, work: WorkToCommit) -> Blocked:
    """reason -> paths of the work that cannot be committed now."""
    if not work.entries:
        return {}
    staged: set[str] = set()
    for path, entry in list_staged(repo, tree or repo.empty_tree).items():
        if path in work.entries and entry != work.entries[path]:
            staged.add(path)
    reasons = {_STAGED: staged, _MIXED: work.mixed - staged}
    return {why: paths for why, paths in reasons.items() if paths}


def _make_plan(
    ctx: Context, state: State, oid: str, work: WorkToCommit, blocked: Blocked
) -> AutoCommitPlan:
    """The plan of a commit.  oid: of the checkpoint of the work.  Raises Refused if work of this
    turn is blocked."""
    repo = ctx.repo
    if work.entries:
        for operation in list_under_way(repo):
            raise Refused(f"{operation} is in progress")
    blocked_paths = set[str]().union(*blocked.values())
    if blocked_paths & work.current:
        raise Refused("; ".join(list_paths(paths, why) for why, paths in blocked.items()))
    entries: dict[str, Entry | None] = {}
    for path in sorted(work.entries.keys() - blocked_paths):
        entries[path] = work.entries[path]
    task = find_trailer(need_commit(repo.objects, oid)["message"], TASK_KEY)
    tree = find_tree(repo.objects, ctx.head) or repo.empty_tree
    return AutoCommitPlan(
        state["session_id"],
        make_id(),
        task.rpartition("/tasks/")[2],
        ctx.head,
        tree,
        oid,
        work.recorded,
        entries,
    )


def find_work(
    repo: Repo,
    state: State,
    tree: str | None,
    recorded: dict[str, Entry | None],
) -> WorkToCommit:
    """The session's uncommitted work in the worktree, against HEAD's tree.

    recorded: the entries of its newest checkpoint.
    """
    tree_lookup = Lookup(repo.objects, tree)
    changes: Changes = {}
    current: set[str] = set()
    for stream in state["streams"]:
        for path, file in stream["files"].items():
            old = tree_lookup(path)
            entry = recorded.get(path)
            if path not in recorded or entry == old:
                continue
            if entry and entry[0] == TREE:
                entry = None  # a directory has replaced the file
            changes[path] = build_change(old, entry)
            if file["turn_id"] == state.get("turn_id"):
                current.add(path)
    credited = edit_lines.Edits(repo.objects, journal.read_journal(repo)).credit_paths(changes)
    entries: dict[str, Entry | None] = {}
    for path, (_, _, mode, oid) in changes.items():
        entries[path] = None
        if oid:
            entries[path] = mode, oid
    mixed: set[str] = set()
    for path, authors in credited.items():
        if _is_shared(authors, state["session_id"]):
            mixed.add(path)
    return WorkToCommit(entries, current, mixed, recorded)


def _is_shared(credited: PathCredit, session_id: str) -> bool:
    """Whether another author has a line among those that a path gains or loses.  Lines of unknown
    authors do not count."""
    authors = {*(who for _, who in credited.added), *credited.removed}
    return any(who[0] != session_id and who != UNKNOWN for who in authors)


def settle_left_over(ctx: Context) -> None:
    """Settle a killed commit of this worktree, unless its process still runs.

    A failure is traced, and the next event tries again.
    """
    try:
        with ctx:
            ctx.leave()
            with exclusive(ctx.repo, f"auto-{ctx.repo.worktree_hash}", 0):
                settle_killed(ctx)
    except Error as e:
        git.append_trace("auto", f"what was left of a commit waits: {e}")


def settle_killed(ctx: Context) -> None:
    """Settle a killed commit; the caller holds the lock of this worktree's commits."""
    repo = ctx.repo
    plan = read_plan(repo)
    if plan is None:
        others.drop_intent(repo)
        return
    stands = settle_commit(repo, plan)
    if stands:
        git.append_trace("auto", f"'{plan.commit}' was killed, and stands")
        store_commit(ctx, plan)
    else:
        git.append_trace("auto", f"'{plan.commit}' was killed, and is not")
        put_back(repo, plan)
    others.drop_intent(repo)


def store_commit(ctx: Context, plan: AutoCommitPlan) -> None:
    """Store the session of a commit that exists, once, and move its streams on."""
    repo = ctx.repo
    commit = need_commit(repo.objects, plan.commit)
    state = ctx.read_state(plan.session_id)
    if state is None:
        return
    stored = list_session_ids(repo, plan.checkpoint_id)
    if plan.session_id not in stored:
        _condense(ctx, state, commit, plan)
    _settle_streams(repo, state, plan)
    ctx.keep(state)
    ctx.leave()  # carry_streams() reads the states from disk
    writing.carry_streams(repo, plan.expected, commit, {plan.session_id})


def _condense(ctx: Context, state: State, commit: Commit, plan: AutoCommitPlan) -> None:
    repo = ctx.repo
    paths = sorted(plan.entries)
    linked: Linked = {"how": "environment", "paths": paths, "reasons": {}}
    extra: dict[str, Any] = {"strategy": AUTO}
    if plan.tool_use_id:
        extra |= {"is_task": True, "tool_use_id": plan.tool_use_id}
    session.take_commit(state, paths)
    if plan.noted:
        notes.add_link(repo, commit["oid"], plan.checkpoint_id)
    pair = [(state, linked)]
    condense.condense_sessions(repo, commit, plan.checkpoint_id, pair, plan.noted, extra=extra)


def _settle_streams(repo: Repo, state: State, plan: AutoCommitPlan) -> None:
    """Settle the paths that the commit took, even if a hook has changed their content."""
    edits.let_edits_go(repo, state["session_id"], plan.entries)
    set_streams(repo, state)
    if not state["streams"]:
        state["checkpoint_count"] = 0
    state["base_commit"] = state["attribution_base_commit"] = plan.commit
