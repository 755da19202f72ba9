"""The work of a turn, put into a checkpoint: what changed, who wrote it, what was said."""

from __future__ import annotations

import time

from gitcp.core import json
from gitcp.core.decide import omission, stream_rules
from gitcp.core.message import prompts
from gitcp.errors import Error, Moved
from gitcp.start import late
from gitcp.store.git.tree import Lookup, compare_trees, find_tree
from gitcp.store.journal import turn_look
from gitcp.store.journal.work import Work
from gitcp.store.session import phase, turn_log
from gitcp.store.snapshot import blobs, snapshot
from gitcp.store.stream import branches, checkpoint, shadow_refs
from gitcp.store.v1 import transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gitcp.core.record_types import Entry, State
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.turn import tasks

# Events in the middle of a turn that get a checkpoint of what it did so far.
MIDDLE = ("subagent-end", "todo", "compact")


class Turn:
    """What a session's turn did so far: one scan of the worktree, and whose work it is."""

    def __init__(self, repo: Repo, objects: Objects, state: State) -> None:
        self.began, self.look = time.time_ns(), turn_look.Look(repo)
        self.base = turn_log.read_baseline(repo, state["session_id"])
        self.scan = snapshot.scan_worktree(repo)
        self.look.end_scan()
        self.head = self.scan.head or shadow_refs.get_zeros(repo)
        self.tip = branches.find_current(repo, objects, state, self.head)
        known = _look_up_tip(objects, self.tip["tree"]) if self.tip else None
        self.entries = blobs.resolve_changes(objects, self.scan, write=True, head=known)
        self.stored = transcript.store_session(repo, objects, state)
        lines = self.look.take(objects, self.head, self.entries, state)
        self.work = Work(lines, state["session_id"])
        self._divide_work(objects, {p for stream in state["streams"] for p in stream["files"]})

    def _divide_work(self, objects: Objects, recorded: set[str]) -> None:
        """What changed in the turn; what of it this session wrote, undid, or put away."""
        start = self.base["dirty"] if self.base else {}
        since = int(self.base.get("at", 0)) if self.base else 0
        out = _list_committed(objects, self.base["head"] if self.base else self.head, self.head)
        wrote = self.work.list_written(since)
        changed = stream_rules.list_changed_paths(start, self.entries, out)
        # What a call of an earlier turn wrote after that turn's end.
        unrecorded = {
            p for p in self.work.list_paths() if p not in recorded and self.work.is_present(p)
        }
        wrote |= unrecorded & set(self.entries)
        changed |= unrecorded & set(self.entries)
        self.changed = changed - (self.work.list_foreign(since) - wrote)
        self.mine = wrote & changed
        gone = (changed & recorded) - self.entries.keys()
        self.undone = {p for p in gone if self.work.is_undone(p, since)}
        away = self.work.map_away(self.entries)
        self.away = {path: entry for path, entry in away.items() if path in wrote}

    def end_turn(self, repo: Repo, objects: Objects, state: State, event: dict[str, Any]) -> None:
        """The turn is over: what is dirty now is what a later one, or its rest, begins with."""
        phase.clear_verdict(state)
        state["over_limit"] = omission.find_limit_settings(self.scan.omitted)
        if not state["over_limit"]:
            del state["over_limit"]
        at = self.look.at
        if state.get("visits") or not state.get("tool_events"):
            late.visits.end_turn(repo, state, format_subject(state))
        turn_log.begin(repo, state, self.head, self.entries, self.began, at)
        tasks = [str(task.get("id", "")) for task in event.get("background_tasks", ())]
        turn_look.end_turn(repo, objects, state, at, tasks, format_subject(state))


def _look_up_tip(objects: Objects, tree: str) -> Callable[[str], Entry | None] | None:
    try:
        return Lookup(objects, tree)
    except Error:
        return None  # an unreadable stream, about to be reset, keeps no blob for us


def write_turn(repo: Repo, objects: Objects, state: State, event: dict[str, Any]) -> str | None:
    """Write the checkpoint of the turn so far, if some path changed in it; return its oid.

    Without a change the flag is cleared: the next checkpoint or condensation takes the
    transcript.  At the turn's end its baseline becomes what is dirty then, so that a turn
    that goes on after its Stop is measured from there; the end of a task, and compaction,
    come in the middle and write nothing where nothing is new since the last of them.
    """
    session_id, middle = state["session_id"], event["event"] in MIDDLE
    now, step, oid = Turn(repo, objects, state), None, None
    if now.head != state["base_commit"]:
        # What came into HEAD since the caller looked is neither dirty nor linked yet.
        raise Moved("HEAD", state["base_commit"], now.head)
    new = bool(now.changed or now.away)
    if middle and turn_log.read_middle(repo, session_id) == now.entries:
        new = False
    if event["event"] in ("subagent-end", "todo"):
        step = late.tasks.build_step(repo, objects, state, event, now.tip)
        if step and not new:
            late.tasks.store_step(repo, objects, state, step)
        new = new and step is not None
    if new:
        content = _build_content(objects, state, now, step)
        oid = checkpoint.write(
            repo, objects, state, content, "" if middle else format_subject(state)
        )
        if step:
            late.tasks.forget_tasks(repo, state, [step["tool_use_id"]])
        if middle:
            turn_log.reach_middle(repo, session_id, now.entries)
    if not middle:
        now.end_turn(repo, objects, state, event)
    return oid


def _build_content(
    objects: Objects, state: State, now: Turn, step: tasks.Step | None
) -> checkpoint.Content:
    return {
        "head": now.head,
        "head_tree": find_tree(objects, now.head),
        "entries": now.entries,
        "seen": now.tip["oid"] if now.tip else None,
        "mine": {path: now.entries[path] for path in now.mine if path in now.entries},
        "away": now.away,
        "undone": now.undone,
        "start": now.base["dirty"] if now.base else {},
        "metadata": write_metadata(objects, state, now, step),
        "subject": step["subject"] if step else format_subject(state),
        "trailers": _build_trailers(state["session_id"], step),
    }


def _build_trailers(session_id: str, step: tasks.Step | None) -> list[str]:
    if step is None:
        return []
    return [f"Entire-Metadata-Task: {shadow_refs.METADATA}{session_id}/tasks/{step['tool_use_id']}"]


def format_subject(state: State) -> str:
    """The subject of a turn's commit, from its prompt, which is redacted."""
    prompt = state.get("turns", {}).get(state.get("turn_id", ""), {}).get("prompt", "")
    return prompts.make_subject(prompt, state.get("agent_type") or "Claude Code")


def _list_committed(objects: Objects, old: str, new: str) -> set[str]:
    if old == new:
        return set()
    trees = find_tree(objects, old), find_tree(objects, new)
    return {path for path, _, _ in compare_trees(objects, *trees)}


def write_metadata(
    objects: Objects, state: State, now: Turn, step: tasks.Step | None
) -> dict[str, Entry]:
    """The files of the session's metadata directory on its stream: path -> entry."""
    words = now.stored.scan["prompts"] if now.stored and now.stored.scan else []
    prompt = state.get("turns", {}).get(state.get("turn_id", ""), {}).get("prompt", "")
    asked = prompts.join_prompts(prompts.list_turn_prompts(words, prompt))
    files = {"prompt.txt": asked.encode("utf-8", "surrogateescape")}
    files |= step["files"] if step else {}
    if now.scan.omitted:
        files["omitted.json"] = json.dumps(now.scan.omitted, indent=2).encode() + b"\n"
    entries = {
        path: ("100644", objects.write("blob", data)) for path, data in files.items() if data
    }
    for number, oid in enumerate(now.stored.chunks if now.stored else ()):
        entries["full.jsonl" + (f".{number:03d}" if number else "")] = ("100644", oid)
    return entries
