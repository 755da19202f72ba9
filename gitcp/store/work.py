"""The work of a turn, put into a checkpoint: what changed, who wrote it, what was said."""

from __future__ import annotations

import time

from gitcp.core import prompts, streams
from gitcp.errors import InputError
from gitcp.store import (
    blobs,
    checkpoint,
    opened,
    place,
    redaction,
    shadow,
    snapshot,
    tasks,
    transcript,
    turn,
)
from gitcp.store.tree import Lookup, diff_trees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gitcp.repo import Repo
    from gitcp.store.objects import Objects
    from gitcp.store.snapshot import Scan
    from gitcp.store.state import State
    from gitcp.store.transcript import Stored
    from gitcp.store.tree import Entry

# Events in the middle of a turn that get a checkpoint of what it did so far.
MIDDLE = ("subagent-end", "todo", "compact")


def base_tree(objects: Objects, head: str | None) -> str | None:
    """The tree of a commit; None for one that does not exist yet."""
    found = objects.read(head + "^{tree}") if head and head.strip("0") else None
    return found[0] if found else None


def checkpoint_turn(
    repo: Repo, objects: Objects, state: State, event: dict[str, Any]
) -> str | None:
    """Write the checkpoint of the turn so far, if some path changed in it; return its oid.

    Without a change the flag is cleared: the next checkpoint or condensation takes the
    transcript.  At the turn's end its baseline becomes what is dirty then, so that a turn
    that goes on after its Stop is measured from there; the end of a task, and compaction,
    come in the middle and write nothing where nothing is new since the last of them.
    """
    began, session_id = time.time_ns(), state["session_id"]
    base = turn.baseline(repo, session_id)
    scan = snapshot.scan(repo)
    head = scan.head or "0" * len(repo.empty_tree)
    tip = place.current(repo, objects, state, head)
    known = Lookup(objects, tip["tree"] if tip else None)
    entries = blobs.resolve(repo, objects, scan, write=True, known=known)
    stored = said(repo, objects, state)
    changed, mine = _whose(repo, objects, state, base, head, entries, stored)
    middle = event["event"] in MIDDLE
    if middle and turn.middle(repo, session_id) == entries:
        changed = set()
    step = None
    if event["event"] in ("subagent-end", "todo"):
        step = tasks.step(repo, objects, state, event, tip)
        changed = changed if step else set()
    oid = None
    if changed:
        content: checkpoint.Content = {
            "head": head,
            "head_tree": base_tree(objects, head),
            "entries": entries,
            "seen": tip["oid"] if tip else None,
            "mine": {path: entries[path] for path in mine if path in entries},
            "undone": mine - set(entries),
            "metadata": metadata(repo, objects, state, stored, scan, step),
            "subject": step["subject"] if step else _subject(state),
            "trailers": _task_trailers(session_id, step),
        }
        oid = checkpoint.write(repo, objects, state, content)
        if middle:
            turn.reach_middle(repo, session_id, entries)
    if not middle:
        checkpoint.clear_verdict(state)
        turn.begin(repo, session_id, head, entries, began)
    return oid


def _task_trailers(session_id: str, step: tasks.Step | None) -> list[str]:
    if step is None:
        return []
    return [f"Entire-Metadata-Task: {shadow.METADATA}{session_id}/tasks/{step['tool_use_id']}"]


def dirty_among(
    repo: Repo, objects: Objects, paths: Iterable[str], head: str
) -> dict[str, Entry | None]:
    """Those of paths that differ from the commit head in the worktree; O(paths), no scan."""
    before = Lookup(objects, base_tree(objects, head))
    now = blobs.at(repo, objects, list(paths), write=True)
    return {path: entry for path, entry in now.items() if entry != before(path)}


def _subject(state: State) -> str:
    told = state.get("turns", {}).get(state.get("turn_id"), {}).get("prompt", "")
    return prompts.subject(told, state.get("agent_type") or "Claude Code")


def _whose(
    repo: Repo,
    objects: Objects,
    state: State,
    base: turn.Baseline | None,
    head: str,
    entries: dict[str, Entry | None],
    stored: Stored | None,
) -> tuple[set[str], set[str]]:
    lines = turn.logged(repo, state["session_id"])
    tools: streams.Tools | None = None
    if lines or state.get("tool_events"):
        windows = turn.windows(lines, time.time_ns())
        tools = {
            "paths": turn.told(lines),
            "inside": lambda path: turn.inside(repo, path, windows),
        }
    words = stored.scan["written"] if stored and stored.scan and tools is None else []
    return streams.written(
        base["dirty"] if base else {},
        entries,
        committed=_committed(objects, base["head"] if base else head, head),
        foreign=_foreign(repo, state["session_id"], entries),
        said=[inside for path in words if (inside := turn.relative(repo, path))],
        tools=tools,
    )


def _committed(objects: Objects, old: str, new: str) -> set[str]:
    if old == new:
        return set()
    trees = base_tree(objects, old), base_tree(objects, new)
    return {path for path, _, _ in diff_trees(objects, *trees)}


def _foreign(repo: Repo, session_id: str, entries: dict[str, Entry | None]) -> set[str]:
    """Paths that other live sessions' tool events explain: of their turn that runs, and of
    what they recorded and is still so."""
    found: set[str] = set()
    for other in opened.here(repo):
        if other["session_id"] == session_id or not other.get("tool_events"):
            continue
        if other["phase"] == "active":
            found |= turn.told(turn.logged(repo, other["session_id"]))
        for stream in other["streams"]:
            for path, (mode, oid) in stream["files"].items():
                now = entries.get(path)
                if (now or ("000000", "")) == (mode, oid):
                    found.add(path)
    return found


def said(repo: Repo, objects: Objects, state: State, whole: bool = False) -> Stored | None:
    """The session's transcript as far as it is on disk, redacted and stored; None without."""
    from gitcp.agents import adapter

    try:
        scan = adapter(state.get("agent_type", "")).scan
    except InputError:
        scan = None  # a session of an agent we do not know: kept, not understood
    path, redactor = state.get("transcript_path"), redaction.Lazy(repo)
    return transcript.stored(repo, objects, state["session_id"], path, redactor, scan, whole=whole)


def spoken(repo: Repo, state: State, stored: Stored | None) -> list[str]:
    """The session's prompts, redacted: of its transcript, and those the turns have that are
    not in it yet."""
    told: list[str] = []
    if stored and stored.scan:
        told = list(stored.scan["prompts"])
    for one in state.get("turns", {}).values():
        prompt = one["prompt"]
        if prompt and not any(p[: len(prompt)] == prompt for p in told):
            told.append(prompt)
    return told


def metadata(
    repo: Repo,
    objects: Objects,
    state: State,
    stored: Stored | None,
    scan: Scan,
    step: tasks.Step | None,
) -> dict[str, Entry]:
    """The files of the session's metadata directory on its stream: path -> entry."""
    told = spoken(repo, state, stored)
    files = {
        "prompt.txt": prompts.prompt_txt(told).encode("utf-8", "surrogateescape"),
        "context.md": prompts.context_md(told).encode("utf-8", "surrogateescape"),
    }
    files |= step["files"] if step else {}
    if scan.omitted:
        import json

        files["omitted.json"] = json.dumps(scan.omitted, indent=2).encode() + b"\n"
    found = {path: ("100644", objects.write("blob", data)) for path, data in files.items() if data}
    if stored:
        for number, oid in enumerate(stored.chunks):
            name = "full.jsonl" + (f".{number:03d}" if number else "")
            found[name] = ("100644", oid)
    return found
