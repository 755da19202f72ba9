"""The changes that an agent's events make to the state of their session, and a turn's work.

Every function here runs under the session's lock and changes the state in memory; the caller
saves it.
"""

from __future__ import annotations

import os

from gitcp import files
from gitcp.core import commit_message, json, stream_rules
from gitcp.errors import Error, Moved
from gitcp.store import redaction, refs
from gitcp.store import session as store_session
from gitcp.store.journal import calls, edits
from gitcp.store.journal.edits import Work
from gitcp.store.objects import Lookup, compare_trees, find_tree
from gitcp.store.session import (
    clear_verdict,
    find_agent,
    is_home,
    make_id,
    reach_middle,
    read_baseline,
    read_middle,
    take_event,
)
from gitcp.store.snapshot import scan
from gitcp.store.stream import METADATA, find_current, find_live

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gitcp.core.record_types import Entries, Entry, Marker, Record, State
    from gitcp.repo import Repo
    from gitcp.store import tasks
    from gitcp.store.journal.calls import Look
    from gitcp.store.objects import Objects
    from gitcp.store.stream import writing

_PROMPT = 4000  # characters of a prompt that a state keeps; the transcript has all


class SessionIDConflictError(Error):
    """The session is active in another worktree."""

    def __init__(self, session_id: str, active_path: str, path: str) -> None:
        super().__init__(
            f"SessionIDConflictError: session '{session_id}' is active in worktree '{active_path}';"
            f" it cannot also work in '{path}'"
        )


def begin_turn(
    repo: Repo, state: State, event: Record, head: str, dirty: Entries, time_ns: int, at: int
) -> None:
    """TurnStart: set a new turn id, its prompt and its baseline
    (doc/behaviour.md "Temporary checkpoints").  time_ns: now; at: now by the worktree's clock."""
    take_event(state, stream_rules.TURN_START)
    state["turn_id"] = make_id()
    state["base_commit"] = head
    state.pop("last_checkpoint_id", None)
    state.pop("turn_checkpoint_ids", None)
    state.pop("pending_finalize", None)
    if event.get("turn"):
        state["prompt_id"] = event["turn"]
    turns = state.setdefault("turns", {})
    number = max((turn.get("number", 0) for turn in turns.values()), default=0) + 1
    turns[state["turn_id"]] = {"number": number}
    take_prompt(repo, state, event.get("prompt") or "")
    if event.get("model"):
        turns[state["turn_id"]]["model"] = event["model"]
    state.pop("resumed", None)
    note_process(repo, state, event)
    store_session.begin_turn(repo, state, head, dirty, time_ns, at)


def take_prompt(repo: Repo, state: State, text: str) -> None:
    """Set the prompt of a session's turn."""
    prompt = redaction.redact_text(repo, commit_message.clean_prompt(text), state["session_id"])
    if (name := commit_message.name_prompt(prompt)) and not state.get("first_prompt"):
        state["first_prompt"] = commit_message.shorten_prompt(name)
    state["turns"][state["turn_id"]]["prompt"] = prompt[:_PROMPT]


def note_process(repo: Repo, state: State, event: Record) -> None:
    """Note the agent's process and transcript, which every event names."""
    if event.get("transcript_path") and not event.get("agent_id") and not state.get("guest"):
        state["transcript_path"] = event["transcript_path"]
    agent_process = find_agent(repo.git.env)
    if agent_process:
        state["agent_process"] = agent_process


def refuse_elsewhere(repo: Repo, state: State) -> None:
    """Raise SessionIDConflictError if the session is active in another worktree in a live process
    other than this hook's agent (doc/behaviour.md "Conflicts and warnings")."""
    active_path, path = state.get("worktree_path", ""), repo.worktree
    if is_home(repo, state) or state.get("phase") != stream_rules.ACTIVE:
        return
    if not os.path.isdir(active_path):
        return
    agent = state.get("agent_process")
    from gitcp.store.session.process import is_alive

    if is_alive(agent) and agent != find_agent(repo.git.env):
        raise SessionIDConflictError(state["session_id"], active_path, path)


def move_home(repo: Repo, state: State) -> str | None:
    """Move the session to this worktree if its home is another; the message that says so."""
    old_path, new_path = state.get("worktree_path", ""), repo.worktree
    stays = is_home(repo, state)
    state["worktree_path"] = new_path
    if stays:
        return None
    old_id = state.pop("worktree_id", "")
    visits = [visit for visit in state.get("visits", ()) if visit not in (old_id, repo.worktree_id)]
    state["visits"] = [*visits, old_id]  # the end of a turn removes those without open edits
    if repo.worktree_id:
        state["worktree_id"] = repo.worktree_id
    return f"session '{state['session_id']}' moves from worktree '{old_path}' to '{new_path}'"


def is_repeated(state: State, event: Record) -> bool:
    """Whether this prompt was reported before: two settings files may both call the hook."""
    turn_id = event.get("turn")
    is_known = bool(turn_id) and turn_id == state.get("prompt_id")
    return is_known and not event.get("notification") and state.get("phase") == stream_rules.ACTIVE


def continue_turn(repo: Repo, state: State, event: Record) -> None:
    """Continue the same turn, with its baseline and verdict (doc/behaviour.md "Events")."""
    keep_verdict(state)
    take_event(state, stream_rules.TURN_START)
    note_process(repo, state, event)


def keep_verdict(state: State) -> None:
    """Restore the verdict of a turn that has ended.  One that was used is void: its tip has
    moved."""
    if state.get("phase") != stream_rules.ACTIVE and state.get("last_verdict"):
        verdict = state["verdict"] = state["last_verdict"].copy()
        state["should_reset_shadow_branch"] = verdict["verdict"] in ("reset", "new")


def end_turn(repo: Repo, state: State, event: Record) -> None:
    """TurnEnd: idle, without a verdict on the stream."""
    take_event(state, stream_rules.TURN_END)
    clear_verdict(state)
    note_process(repo, state, event)


def end_session(repo: Repo, state: State, event: Record) -> None:
    """SessionStop: ended."""
    take_event(state, stream_rules.SESSION_END)
    note_process(repo, state, event)


def start_session(repo: Repo, state: State, event: Record) -> None:
    """SessionStart of a known session: resumed, or its transcript compacted."""
    take_event(state, stream_rules.SESSION_START)
    if event.get("source") != "compact":
        state["resumed"] = True  # until its next prompt
    note_process(repo, state, event)


# The work of a turn and its checkpoint: what changed, who wrote it, and the transcript.
# Events in the middle of a turn that get a checkpoint of what it did so far.
MIDDLE = ("subagent-end", "todo", "compact")


class Turn:
    """A session's turn so far: one scan of the worktree, and the authors of its changes.

    changed: the paths changed in the turn.  mine: those that the session wrote.  undone: those
    whose work it took back.  away: path -> its content of those that were put away.
    """

    def __init__(self, repo: Repo, state: State, look: Look | None) -> None:
        self.look = look or calls.Look(repo)
        self.base, self.scan = read_baseline(repo, state["session_id"]), self.look.scan
        self.head = self.scan.head or refs.get_zeros(repo)
        self.tip = find_current(repo, state, self.head)
        tip_lookup = _look_up_tip(repo.objects, self.tip["tree"]) if self.tip else None
        self.entries = scan.resolve_changes(repo.objects, self.scan, write=True, head=tip_lookup)

        from gitcp.store.v1 import stored_transcripts

        self.stored = stored_transcripts.store_session(repo, state)
        lines = self.look.take(self.head, self.entries, state)
        self.work = Work(lines, state["session_id"])
        self._divide_work(repo.objects, {p for stream in state["streams"] for p in stream["files"]})

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

    def end_turn(self, repo: Repo, state: State, event: dict[str, Any]) -> None:
        """End the turn: the dirty files of now become the baseline of the next, or of its
        continuation."""
        clear_verdict(state)
        state["over_limit"] = stream_rules.find_limit_settings(self.scan.omitted)
        if not state["over_limit"]:
            del state["over_limit"]
        if state.get("visits") or not state.get("tool_events"):
            from gitcp.store.journal import elsewhere

            elsewhere.end_turn(repo, state, format_subject(state))
        look = self.look
        store_session.begin_turn(repo, state, self.head, self.entries, look.began, look.at)
        tasks = [str(task.get("id", "")) for task in event.get("background_tasks", ())]
        calls.end_turn(repo, state, look.at, tasks, format_subject(state))


def _look_up_tip(objects: Objects, tree: str) -> Callable[[str], Entry | None] | None:
    try:
        return Lookup(objects, tree)
    except Error:
        return None  # an unreadable stream, about to be reset, holds no blobs


def write_turn(
    repo: Repo, state: State, event: dict[str, Any], look: Look | None = None
) -> str | None:
    """Write the checkpoint of the turn so far if some path changed; return its oid.

    look: the caller's look at the worktree, None to take one.
    The events of MIDDLE write nothing without a change since the last of them.  Other events end
    the turn, and its next changes are measured from there.  Raises Moved if HEAD has moved since
    the caller read it.
    """
    session_id, middle = state["session_id"], event["event"] in MIDDLE
    turn, step, oid = Turn(repo, state, look), None, None
    if turn.head != state["base_commit"]:
        # A commit made since the caller looked is not linked yet.
        raise Moved("HEAD", state["base_commit"], turn.head)
    has_news = bool(turn.changed or turn.away)
    if middle and read_middle(repo, session_id) == turn.entries:
        has_news = False
    if event["event"] in ("subagent-end", "todo"):
        from gitcp.store import tasks

        step = tasks.build_step(repo, state, event, turn.tip)
        if step and not has_news:
            tasks.store_step(repo, state, step)
        has_news = has_news and step is not None
    if has_news:
        from gitcp.store.stream import writing

        content = _build_content(repo.objects, state, turn, step)
        subject = "" if middle else format_subject(state)
        oid = writing.write_checkpoint(repo, state, content, subject)
        if step:
            tasks.forget_tasks(repo, state, [step["tool_use_id"]])
        if middle:
            reach_middle(repo, session_id, turn.entries)
    if not middle:
        turn.end_turn(repo, state, event)
    return oid


def _build_content(
    objects: Objects, state: State, turn: Turn, step: tasks.Step | None
) -> writing.Content:
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
    return [f"Entire-Metadata-Task: {METADATA}{session_id}/tasks/{step['tool_use_id']}"]


def format_subject(state: State) -> str:
    """The subject of a turn's commit, from its redacted prompt."""
    prompt = state.get("turns", {}).get(state.get("turn_id", ""), {}).get("prompt", "")
    return commit_message.make_subject(prompt, state.get("agent_type") or "Claude Code")


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
    prompt_text = commit_message.join_prompts(
        commit_message.list_turn_prompts(scanned_prompts, prompt)
    )
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


# The messages at a session's start: that it is recorded, and that other sessions work here.
_OLD, _NEW = "disable-multisession-warning", "enable-multisession-warning"


def format_greeting(repo: Repo, session_id: str, head: str) -> str:
    """One line, and a second if other sessions of this base and worktree have checkpoints."""
    lines = ["gitcp: this conversation will be linked to your next commit."]
    company = list_company(repo, session_id, head)
    if company:
        have = "conversation has" if len(company) == 1 else "conversations have"
        lines.append(f"{len(company)} other {have} uncommitted work here; see 'gitcp status'.")
    return "\n".join(lines)


def list_company(repo: Repo, session_id: str, head: str) -> list[Marker]:
    """The markers of other sessions of this base and worktree that have checkpoints.

    The marker of a session whose stream a commit carried to this base may have an older base.
    """
    from gitcp.store.session.others import read_here

    return [
        m
        for m in read_here(repo)
        if m["session_id"] != session_id and m["count"] > 0
        if m["base_commit"] == head or any(find_live(repo, head, s["id"]) for s in m["streams"])
    ]


def find_refusal(repo: Repo, state: State, event: dict[str, Any], head: str) -> str | None:
    """The warning that refuses a prompt because other sessions have uncommitted work here.

    It is enabled by wants_warning(), noted in the state, and shown once for each set of sessions.
    None for a session at work here: only a new or resumed one is refused.
    """
    has_work = any(stream["files"] for stream in state["streams"])
    has_begun = state.get("turns") and not state.get("resumed")
    if (is_home(repo, state) and (has_begun or has_work)) or not wants_warning(repo):
        return None
    conflicting = list_company(repo, state["session_id"], head)
    session_ids = sorted(m["session_id"] for m in conflicting)
    last_warning = state.get("multisession_warned") or {}
    # Two settings files may both call the hook for one prompt.
    is_repeated = event.get("turn") and event["turn"] == last_warning.get("prompt")
    if not session_ids or (session_ids == last_warning.get("sessions") and not is_repeated):
        return None
    state["multisession_warned"] = {"sessions": session_ids, "prompt": event.get("turn")}
    return format_warning(repo, conflicting)


def wants_warning(repo: Repo) -> bool:
    """The value of gitcp.enable-multisession-warning; false, with a warning, if it is no boolean.

    If it is not set, the old, inverted setting of this repository's configuration or of
    .entire/settings.json is migrated to it.  The old one is removed from the configuration, but
    the person's files stay as they are (doc/behaviour.md "Conflicts and warnings").
    """
    try:
        if repo.config.get_all(f"gitcp.{_NEW}"):
            return bool(repo.config.get_option(f"gitcp.{_NEW}"))
        old = repo.config.get_option(f"gitcp.{_OLD}")
        enabled = _read_settings(repo) if old is None else not old
        if enabled is not None:
            scope = ("config", "--local")
            repo.git.run(*scope, f"gitcp.{_NEW}", "true" if enabled else "false")
            repo.git.run(*scope, "--unset-all", f"gitcp.{_OLD}", ok=(0, 5))
    except Error as e:
        from gitcp import console

        console.warn(str(e))
        return False
    return bool(enabled)


def _read_settings(repo: Repo) -> bool | None:
    """The setting in .entire/settings.json, by the new name or the old; None without one."""
    settings: dict[str, Any] = {}
    for name in ("settings.json", "settings.local.json"):
        try:
            document = json.loads(files.peek(os.path.join(repo.worktree, ".entire", name)))
        except ValueError:
            continue
        if isinstance(document, dict):
            options = document.get("strategy_options")
            settings |= {**(options if isinstance(options, dict) else {}), **document}
    if isinstance(settings.get(_NEW), bool):
        return bool(settings[_NEW])
    return not settings[_OLD] if isinstance(settings.get(_OLD), bool) else None


def format_warning(repo: Repo, sessions: list[Marker]) -> str:
    """The text of the warning, three lines for each session."""
    is_single = len(sessions) == 1
    parts = [
        "Warning: An existing session has uncommitted work on this branch.\n"
        if is_single
        else "Warning: Existing session(s) with uncommitted work:\n"
    ]
    for session in sessions:
        streams = edits.list_open_streams(repo, session)
        files = sorted({path for stream in streams for path in stream["files"]})
        parts.append(f"Session ID: {session['session_id']}")
        parts.append(f"Checkpoints: {session['count']} uncommitted")
        if files:
            parts.append(f"Files touched: {', '.join(files)}")
        parts.append("")
    parts += [
        "Starting a new session will merge with the existing session.",
        "- If files overlap: Continue on same shadow branch",
        "- If no overlap: Reset shadow branch (old session data will be archived)",
        "",
        "Options:",
        "1. Cancel and commit existing work first",
        "2. Continue (merge sessions): submit the prompt again",
    ]
    return "\n".join(parts)
