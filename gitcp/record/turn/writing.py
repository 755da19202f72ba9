"""The work of a turn and its checkpoint: what changed, who wrote it, and the transcript."""

from __future__ import annotations

from gitcp.checkpoints import transcripts
from gitcp.errors import Error, Moved
from gitcp.git import refs
from gitcp.git.objects import Lookup, compare_trees, find_tree
from gitcp.record import looks, session
from gitcp.record.journal.stretches import SessionWork, collect_work
from gitcp.record.session import (
    clear_verdict,
    reach_middle,
    read_baseline,
    read_middle,
    stream_choice,
)
from gitcp.record.snapshot import limits, scan
from gitcp.record.stream import METADATA, find_current, writing
from gitcp.text import json, prompt_text
from gitcp.text.ids import TASK_KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gitcp.checkpoints.transcripts import StoredTranscript
    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.record.looks import Look
    from gitcp.record.session import Baseline
    from gitcp.record.stream import tasks
    from gitcp.text.record_types import Entries, Entry, Event, State, Tip


# Events in the middle of a turn that get a checkpoint of what it did so far.
MIDDLE = ("subagent-end", "todo", "compact")


class Shares:
    """The changes of a turn, by author.

    changed: the paths changed in the turn.  mine: those that the session wrote.  undone: those
    where it took its own work back.  away: path -> the session's content, for paths where its work
    was put away, as by a stash.
    """

    def __init__(self, changed: set[str], mine: set[str], undone: set[str], away: Entries) -> None:
        self.changed = changed
        self.mine = mine
        self.undone = undone
        self.away = away


class TurnWork:
    """A session's turn so far: one look at the worktree, and the authors of its changes.

    base: the baseline at its start, None if it is lost.  head: HEAD now.  tip: of the session's
    stream.  entries: the dirty files of now.  stored: the session's transcript.
    """

    def __init__(
        self,
        look: Look,
        base: Baseline | None,
        head: str,
        tip: Tip | None,
        entries: Entries,
        stored: StoredTranscript | None,
        shares: Shares,
    ) -> None:
        self.look = look
        self.base = base
        self.head = head
        self.tip = tip
        self.entries = entries
        self.stored = stored
        self.shares = shares

    def end_turn(self, repo: Repo, state: State, event: Event) -> None:
        """End the turn: the dirty files of now become the baseline of the next, or of its
        continuation."""
        clear_verdict(state)
        state["over_limit"] = limits.find_limit_settings(self.look.scan.omitted)
        if not state["over_limit"]:
            del state["over_limit"]
        running = [str(task.get("id", "")) for task in event.get("background_tasks", ())]
        if state.get("visits") or not state.get("tool_events"):
            from gitcp.record.journal import worktrees

            worktrees.end_turn(repo, state, format_subject(state), running)
        look = self.look
        session.begin_turn(repo, state, self.head, self.entries, look.began, look.at)
        looks.end_turn(repo, state, look.at, running, format_subject(state))


def read_turn(repo: Repo, state: State, look: Look | None) -> TurnWork:
    """Scan and hash the worktree, store the transcript, record the changes and divide them.

    look: the caller's look at the worktree, None to take one."""
    look = look or looks.look_at_worktree(repo)
    base = read_baseline(repo, state["session_id"])
    head = look.scan.head or refs.get_zeros(repo)
    tip = find_current(repo, state, head)
    tip_lookup = None
    if tip:
        tip_lookup = _look_up_tip(repo.objects, tip["tree"])
    entries = scan.resolve_changes(repo.objects, look.scan, write=True, find_held=tip_lookup)
    stored = transcripts.store_session(repo, state, most=transcripts.AT_ONCE)
    work = collect_work(look.take(head, entries, state), state["session_id"])
    recorded: set[str] = set()
    for stream in state["streams"]:
        recorded.update(stream["files"])
    start = base or {"dirty": {}, "head": head}
    committed = _list_committed(repo.objects, start["head"], head)
    changed = stream_choice.list_changed_paths(start["dirty"], entries, committed)
    shares = _divide(work, changed, entries, recorded, int(start.get("at", 0)))
    return TurnWork(look, base, head, tip, entries, stored, shares)


def _divide(
    work: SessionWork, changed: set[str], entries: Entries, recorded: set[str], since: int
) -> Shares:
    """Whose the changes are.  recorded: the paths on the session's streams."""
    written = work.list_written(since)
    # A call of an earlier turn may write after that turn's end.
    unrecorded = entries.keys() & {*work.list_paths()} - recorded
    late_paths = {path for path in unrecorded if work.is_present(path)}
    written |= late_paths
    changed = (changed | late_paths) - (work.list_foreign(since) - written)
    cleaned = (changed & recorded) - entries.keys()
    undone = {path for path in cleaned if work.is_undone(path, since)}
    away = {path: e for path, e in work.map_away(entries).items() if path in written}
    return Shares(changed, written & changed, undone, away)


def _look_up_tip(objects: Objects, tree: str) -> Callable[[str], Entry | None] | None:
    try:
        return Lookup(objects, tree)
    except Error:
        return None  # an unreadable stream, about to be reset, holds no blobs


def write_turn(repo: Repo, state: State, event: Event, look: Look | None = None) -> str | None:
    """Write the checkpoint of the turn so far if some path changed; return its oid.

    look: the caller's look at the worktree, None to take one.
    The events of MIDDLE write nothing without a change since the last of them.  Other events end
    the turn, and its next changes are measured from there.  Raises Moved if HEAD has moved since
    the caller read it.
    """
    session_id = state["session_id"]
    middle = event["event"] in MIDDLE
    turn = read_turn(repo, state, look)
    step = None
    oid = None
    if turn.head != state["base_commit"]:
        # A commit made since the caller looked is not linked yet.
        raise Moved("HEAD", state["base_commit"], turn.head)
    has_news = bool(turn.shares.changed or turn.shares.away)
    if middle and read_middle(repo, session_id) == turn.entries:
        has_news = False
    if event["event"] in ("subagent-end", "todo"):
        from gitcp.record.stream import tasks

        step = tasks.build_step(repo, state, event, turn.tip)
        if step and not has_news:
            tasks.store_step(repo, state, step)
        has_news = has_news and step is not None
    if has_news:
        content = _build_content(repo.objects, state, turn, step)
        subject = "" if middle else format_subject(state)
        oid = writing.write_checkpoint(repo, state, content, subject)
        if step:
            from gitcp.record.stream import tasks

            tasks.forget_tasks(repo, state, [step["tool_use_id"]])
        if middle:
            reach_middle(repo, session_id, turn.entries)
    if not middle:
        turn.end_turn(repo, state, event)
    return oid


def _build_content(
    objects: Objects, state: State, turn: TurnWork, step: tasks.Step | None
) -> writing.Content:
    shares = turn.shares
    return {
        "head": turn.head,
        "head_tree": find_tree(objects, turn.head),
        "entries": turn.entries,
        "seen": turn.tip["oid"] if turn.tip else None,
        "mine": {path: turn.entries[path] for path in shares.mine if path in turn.entries},
        "away": shares.away,
        "undone": shares.undone,
        "start": turn.base["dirty"] if turn.base else {},
        "metadata": write_metadata(objects, state, turn, step),
        "subject": step["subject"] if step else format_subject(state),
        "trailers": _build_trailers(state["session_id"], step),
    }


def _build_trailers(session_id: str, step: tasks.Step | None) -> list[str]:
    if step is None:
        return []
    return [f"{TASK_KEY}: {METADATA}{session_id}/tasks/{step['tool_use_id']}"]


def format_subject(state: State) -> str:
    """The subject of a turn's commit, from its redacted prompt."""
    prompt = state.get("turns", {}).get(state.get("turn_id", ""), {}).get("prompt", "")
    return prompt_text.make_subject(prompt, state.get("agent_type") or "Claude Code")


def _list_committed(objects: Objects, old: str, new: str) -> set[str]:
    if old == new:
        return set()
    trees = find_tree(objects, old), find_tree(objects, new)
    return {path for path, _, _ in compare_trees(objects, *trees)}


def write_metadata(
    objects: Objects, state: State, turn: TurnWork, step: tasks.Step | None
) -> dict[str, Entry]:
    """The files of the session's metadata directory on its stream: path -> entry."""
    scanned_prompts = []
    chunks: Sequence[str] = ()
    if turn.stored:
        chunks = turn.stored.chunks
        if turn.stored.scan:
            scanned_prompts = turn.stored.scan["prompts"]
    prompt = state.get("turns", {}).get(state.get("turn_id", ""), {}).get("prompt", "")
    text = prompt_text.join_prompts(prompt_text.list_turn_prompts(scanned_prompts, prompt))
    files = {"prompt.txt": text.encode("utf-8", "surrogateescape")}
    if step:
        files |= step["files"]
    if turn.look.scan.omitted:
        files["omitted.json"] = json.dumps(turn.look.scan.omitted, indent=2).encode() + b"\n"
    entries = {
        path: ("100644", objects.write("blob", data)) for path, data in files.items() if data
    }
    for number, oid in enumerate(chunks):
        name = f"full.jsonl.{number:03d}"
        if number == 0:
            name = "full.jsonl"
        entries[name] = ("100644", oid)
    return entries
