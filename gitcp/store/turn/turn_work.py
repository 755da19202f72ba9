"""The work of a turn and its checkpoint: what changed, who wrote it, and the transcript."""

from __future__ import annotations

from gitcp.core import json
from gitcp.core.decide import omission, stream_rules
from gitcp.core.message import prompts
from gitcp.errors import Error, Moved
from gitcp.start import late
from gitcp.store.git import refs
from gitcp.store.git.tree import Lookup, compare_trees, find_tree
from gitcp.store.journal import turn_look
from gitcp.store.journal.work import Work
from gitcp.store.session import phase, turn_log
from gitcp.store.snapshot import blobs
from gitcp.store.stream import branches, checkpoint, shadow_refs
from gitcp.store.v1 import transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gitcp.core.record_types import Entry, State
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.journal.turn_look import Look
    from gitcp.store.turn import tasks

# Events in the middle of a turn that get a checkpoint of what it did so far.
MIDDLE = ("subagent-end", "todo", "compact")


class Turn:
    """A session's turn so far: one scan of the worktree, and the authors of its changes.

    changed: the paths changed in the turn.  mine: those that the session wrote.  undone: those
    whose work it took back.  away: path -> its content of those that were put away.
    """

    def __init__(self, repo: Repo, objects: Objects, state: State, look: Look | None) -> None:
        self.look = look or turn_look.Look(repo)
        self.base, self.scan = turn_log.read_baseline(repo, state["session_id"]), self.look.scan
        self.head = self.scan.head or refs.get_zeros(repo)
        self.tip = branches.find_current(repo, objects, state, self.head)
        tip_lookup = _look_up_tip(objects, self.tip["tree"]) if self.tip else None
        self.entries = blobs.resolve_changes(objects, self.scan, write=True, head=tip_lookup)
        self.stored = transcript.store_session(repo, objects, state)
        lines = self.look.take(objects, self.head, self.entries, state)
        self.work = Work(lines, state["session_id"])
        self._divide_work(objects, {p for stream in state["streams"] for p in stream["files"]})

    def _divide_work(self, objects: Objects, recorded: set[str]) -> None:
        """Set changed, mine, undone and away.  recorded: the paths on the session's streams."""
        base = self.base or {"dirty": {}, "head": self.head}
        since = int(base.get("at", 0))
        committed = _list_committed(objects, base["head"], self.head)
        written = self.work.list_written(since)
        changed = stream_rules.list_changed_paths(base["dirty"], self.entries, committed)
        # A call of an earlier turn may write after that turn's end.
        unrecorded = self.entries.keys() & {*self.work.list_paths()} - recorded
        late_paths = {path for path in unrecorded if self.work.is_present(path)}
        written |= late_paths
        changed |= late_paths
        self.changed = changed - (self.work.list_foreign(since) - written)
        self.mine = written & changed
        cleaned = (changed & recorded) - self.entries.keys()
        self.undone = {path for path in cleaned if self.work.is_undone(path, since)}
        put_away = self.work.map_away(self.entries)
        self.away = {path: entry for path, entry in put_away.items() if path in written}

    def end_turn(self, repo: Repo, objects: Objects, state: State, event: dict[str, Any]) -> None:
        """End the turn: the dirty files of now become the baseline of the next, or of its
        continuation."""
        phase.clear_verdict(state)
        state["over_limit"] = omission.find_limit_settings(self.scan.omitted)
        if not state["over_limit"]:
            del state["over_limit"]
        if state.get("visits") or not state.get("tool_events"):
            late.visits.end_turn(repo, state, format_subject(state))
        look = self.look
        turn_log.begin(repo, state, self.head, self.entries, look.began, look.at)
        tasks = [str(task.get("id", "")) for task in event.get("background_tasks", ())]
        turn_look.end_turn(repo, objects, state, look.at, tasks, format_subject(state))


def _look_up_tip(objects: Objects, tree: str) -> Callable[[str], Entry | None] | None:
    try:
        return Lookup(objects, tree)
    except Error:
        return None  # an unreadable stream, about to be reset, holds no blobs


def write_turn(
    repo: Repo, objects: Objects, state: State, event: dict[str, Any], look: Look | None = None
) -> str | None:
    """Write the checkpoint of the turn so far if some path changed; return its oid.

    look: the caller's look at the worktree, None to take one.
    The events of MIDDLE write nothing without a change since the last of them.  Other events end
    the turn, and its next changes are measured from there.  Raises Moved if HEAD has moved since
    the caller read it.
    """
    session_id, middle = state["session_id"], event["event"] in MIDDLE
    turn, step, oid = Turn(repo, objects, state, look), None, None
    if turn.head != state["base_commit"]:
        # A commit made since the caller looked is not linked yet.
        raise Moved("HEAD", state["base_commit"], turn.head)
    has_news = bool(turn.changed or turn.away)
    if middle and turn_log.read_middle(repo, session_id) == turn.entries:
        has_news = False
    if event["event"] in ("subagent-end", "todo"):
        step = late.tasks.build_step(repo, objects, state, event, turn.tip)
        if step and not has_news:
            late.tasks.store_step(repo, objects, state, step)
        has_news = has_news and step is not None
    if has_news:
        content = _build_content(objects, state, turn, step)
        oid = checkpoint.write(
            repo, objects, state, content, "" if middle else format_subject(state)
        )
        if step:
            late.tasks.forget_tasks(repo, state, [step["tool_use_id"]])
        if middle:
            turn_log.reach_middle(repo, session_id, turn.entries)
    if not middle:
        turn.end_turn(repo, objects, state, event)
    return oid


def _build_content(
    objects: Objects, state: State, turn: Turn, step: tasks.Step | None
) -> checkpoint.Content:
    return {
        "head": turn.head,
        "head_tree": find_tree(objects, turn.head),
        "entries": turn.entries,
        "seen": turn.tip["oid"] if turn.tip else None,
        "mine": {path: turn.entries[path] for path in turn.mine if path in turn.entries},
        "away": turn.away,
        "undone": turn.undone,
        "start": turn.base["dirty"] if turn.base else {},
        "metadata": write_metadata(objects, state, turn, step),
        "subject": step["subject"] if step else format_subject(state),
        "trailers": _build_trailers(state["session_id"], step),
    }


def _build_trailers(session_id: str, step: tasks.Step | None) -> list[str]:
    if step is None:
        return []
    return [f"Entire-Metadata-Task: {shadow_refs.METADATA}{session_id}/tasks/{step['tool_use_id']}"]


def format_subject(state: State) -> str:
    """The subject of a turn's commit, from its redacted prompt."""
    prompt = state.get("turns", {}).get(state.get("turn_id", ""), {}).get("prompt", "")
    return prompts.make_subject(prompt, state.get("agent_type") or "Claude Code")


def _list_committed(objects: Objects, old: str, new: str) -> set[str]:
    if old == new:
        return set()
    trees = find_tree(objects, old), find_tree(objects, new)
    return {path for path, _, _ in compare_trees(objects, *trees)}


def write_metadata(
    objects: Objects, state: State, turn: Turn, step: tasks.Step | None
) -> dict[str, Entry]:
    """The files of the session's metadata directory on its stream: path -> entry."""
    scanned_prompts = turn.stored.scan["prompts"] if turn.stored and turn.stored.scan else []
    prompt = state.get("turns", {}).get(state.get("turn_id", ""), {}).get("prompt", "")
    prompt_text = prompts.join_prompts(prompts.list_turn_prompts(scanned_prompts, prompt))
    files = {"prompt.txt": prompt_text.encode("utf-8", "surrogateescape")}
    files |= step["files"] if step else {}
    if turn.scan.omitted:
        files["omitted.json"] = json.dumps(turn.scan.omitted, indent=2).encode() + b"\n"
    entries = {
        path: ("100644", objects.write("blob", data)) for path, data in files.items() if data
    }
    for number, oid in enumerate(turn.stored.chunks if turn.stored else ()):
        entries["full.jsonl" + (f".{number:03d}" if number else "")] = ("100644", oid)
    return entries
