"""The state of a session: one JSON file, changed under its lock, never half written; its marker,
and the process of its agent.
"""

from __future__ import annotations

import os

from gitcp import VERSION, git, memory
from gitcp.errors import Error
from gitcp.git import files, format_now
from gitcp.git.files import Damaged, read_file
from gitcp.record.journal import credit
from gitcp.text import ids as ids_
from gitcp.text import json, shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, TypedDict

    from gitcp.git.repo import Repo
    from gitcp.record.journal.line_kinds import JournalLine
    from gitcp.text.record_types import Entry, Marker, Process, State

    Baseline = dict[str, Any]  # the keys above

    class CommitIntent(TypedDict):
        """An auto-commit while it is made, as Plan of steps/commits/auto_commit describes it."""

        session_id: str
        checkpoint_id: str
        tool_use_id: str
        expected: str
        tree: str
        tip: str
        dirty: dict[str, Entry | None]
        stash: str
        commit: str
        mark: list[int]
        noted: bool
        entries: dict[str, Entry | None]


_MANY = 1000  # files and turns: indenting more costs more than the rest of a hook


def locate_auto(repo: Repo, *name: str) -> str:
    """A file of an automatic commit under way, or the directory of all."""
    return repo.join_own("auto", *name)


def make_id() -> str:
    """A new id for a stream, a turn or a checkpoint: 12 hex digits."""
    return os.urandom(6).hex()


def get_folder(repo: Repo) -> str:
    """The directory of the states, one for all worktrees of a repository."""
    return os.path.join(repo.common, "entire-sessions")


def load_state(repo: Repo, session_id: str) -> State | None:
    """The state of a session, with legacy fields and phases updated; None without one.

    A damaged file is moved to <common>/gitcp/corrupt and reported on standard error; the caller
    rebuilds the state from the stream.
    """
    git.append_trace("state", f"load '{session_id}'")
    try:
        return read_state(repo, session_id)
    except Damaged as e:
        files.set_aside(repo, e)
        return None


def read_state(repo: Repo, session_id: str) -> State | None:
    """Read a state as load_state() does, but change nothing: raises Damaged."""
    file = get_state_path(repo, session_id)
    state: State | None = files.load_json(file, shapes.STATE)
    if state is not None and state["session_id"] != session_id:
        raise Damaged(file, f"it is the state of '{state['session_id'][:60]}'")
    if state is not None:
        return update_fields(state)
    return None


def find_revision(data: bytes) -> int | None:
    """The revision in the bytes of a state, without a look at the rest; None if they have not
    exactly one."""
    _, key, rest = data.partition(b'"revision":')
    digits = rest[:24].lstrip().partition(b",")[0].rstrip(b"\n }")
    if not key or b'"revision":' in rest or not digits.isdigit():
        return None
    return int(digits)


def update_fields(state: State) -> State:
    """Rename legacy fields and drop nulls; unknown keys stay (doc/formats.md "Session state")."""
    fields: dict[str, Any] = state  # type: ignore[assignment]  # legacy keys, too
    for key in [key for key, value in fields.items() if value is None]:
        del fields[key]
    for old in ("condensed_transcript_lines", "transcript_lines_at_start"):
        lines = fields.pop(old, 0)
        if lines and not state.get("checkpoint_transcript_start"):
            state["checkpoint_transcript_start"] = lines
    phase = state.get("phase", "")
    if phase not in ("active", "idle", "ended"):
        if phase == "active_committed":
            state["phase"] = "active"
        else:
            state["phase"] = "idle"
    for stream in state.setdefault("streams", []):
        stream.setdefault("files", {})
    state.setdefault("checkpoint_count", 0)
    state.setdefault("base_commit", "")
    return state


def make_state(repo: Repo, session_id: str, agent_type: str, head: str) -> State:
    """A new state of a session in this worktree, on the base commit head."""
    state: State = {
        "session_id": session_id,
        "cli_version": VERSION,
        "base_commit": head,
        "attribution_base_commit": head,
        "worktree_path": repo.worktree,
        "started_at": format_now(),
        "phase": "idle",
        "checkpoint_count": 0,
        "agent_type": agent_type,
        "streams": [],
        "turns": {},
    }
    if repo.worktree_id:
        state["worktree_id"] = repo.worktree_id
    return state


def lacks_transcript(state: State) -> bool:
    """Whether committed checkpoints of the last turn may lack parts of its transcript, or tasks
    that ended since."""
    pending = state.get("pending_finalize")
    if not pending or state.get("turn_checkpoint_ids") or state.get("ended_tasks"):
        return bool(pending or state.get("turn_checkpoint_ids"))
    live = files.read_stamp(state.get("transcript_path") or "")
    return not live or pending.get("live") != live


def encode_state(state: State) -> bytes:
    """The bytes of a state's file, with the files of its streams united in files_touched."""
    touched: set[str] = set()
    bare: list[dict[str, object]] = []
    for stream in state["streams"]:
        touched.update(stream["files"])
        bare.append({key: value for key, value in stream.items() if key != "files"})
    state["files_touched"] = sorted(touched)
    if not touched:
        del state["files_touched"]
    return dump_state({**state, "streams": bare})  # type: ignore[typeddict-item]


def dump_state(state: State) -> bytes:
    """The JSON of a state, indented unless it has very many files or turns."""
    many = len(state.get("files_touched", ())) + len(state.get("turns", ())) > _MANY
    return json.dumps(state, None if many else 2).encode() + b"\n"


def put_state(repo: Repo, session_id: str, data: bytes) -> None:
    """Write encoded data durably as the state of a session."""
    git.append_trace("state", f"save '{session_id}'")
    files.write_private(repo, get_state_path(repo, session_id), data, durable=True)


def get_state_path(repo: Repo, session_id: str) -> str:
    """The path of a session's state; raises InputError for an id that cannot name a file."""
    return os.path.join(get_folder(repo), ids_.check_session_id(session_id) + ".json")


# Markers of open sessions, by which a commit finds what it could match without loading states.
#
# <common>/gitcp/open/<session id> exists while a session is active or has unsettled work.  The sh
# hooks test for it and commit hooks read it.  It is renamed into place under the session's lock,
# before the state that it announces.
#
# If there are many, the markers of sessions with unsettled work that are not at work rest in the
# directory <common>/gitcp/open/~aside, which is no session id and which the sh hooks see.
# read_recent() leaves these out; read_concerned() and others.read_markers() see them.
RESTING = "~aside"
MOST = 32  # markers that do not rest
# path -> (inode, size, ctime) of the file, its marker
_PARSED: dict[str, tuple[tuple[int, int, int], Marker]] = memory.get_table("markers")


def build_marker(state: State) -> Marker:
    """The marker of a state: the parts that a commit hook needs."""
    return {
        "session_id": state["session_id"],
        "agent_type": state.get("agent_type", ""),
        "worktree_path": state.get("worktree_path", ""),
        "worktree_id": state.get("worktree_id", ""),
        "phase": state.get("phase", "idle"),
        "base_commit": state.get("base_commit", ""),
        "agent_process": state.get("agent_process"),
        "prompt": state.get("first_prompt", ""),
        "count": state.get("checkpoint_count", 0),
        "tool_events": bool(state.get("tool_events")),
        "visits": list(state.get("visits", ())),
        "streams": [{"id": s["id"], "ref": s["ref"]} for s in state["streams"] if s["files"]],
    }


def is_unsettled(state: State) -> bool:
    """Whether a session can still matter to a commit."""
    if state.get("phase") == "active" or state.get("late_calls") or state.get("visits"):
        return True
    if state.get("unstored"):
        return True
    return any(s["files"] for s in state["streams"])


def note_unstored(state: State, lines: Iterable[JournalLine]) -> None:
    """Note which files of its session no commit and no stream has yet, by the journal of its home:
    those over a limit, and those that were noted and still have open edits."""

    lines = [*lines]
    session_id = state["session_id"]
    paths = {*credit.list_large_paths(lines, session_id)}
    noted = {*state.get("over_limit", ()), *state.get("unstored", ())}
    if noted:
        edits = [line for line in credit.list_open_edits(lines) if line.path in noted]
        paths |= {line.path for line in edits if line.author[0] == session_id}
    state["unstored"] = sorted(paths)
    if not paths:
        del state["unstored"]


def encode_marker(state: State) -> bytes | None:
    """The bytes of a state's marker; None if nothing is unsettled."""
    if not is_unsettled(state):
        return None
    return json.dumps(build_marker(state), separators=(",", ":")).encode()


def put_marker(repo: Repo, session_id: str, state: bytes, marker: bytes | None) -> None:
    """Write an encoded state and its marker.  A marker is written before the state and removed
    after it, so that no commit misses the state's work."""
    if marker is not None:
        _announce(repo, session_id, marker)
    put_state(repo, session_id, state)
    if marker is None:
        forget_marker(repo, session_id)


def write_marker(repo: Repo, state: State) -> None:
    """Update the marker of a state; remove it if nothing is unsettled."""
    data = encode_marker(state)
    if data is None:
        forget_marker(repo, state["session_id"])
    else:
        _announce(repo, state["session_id"], data)


def forget_marker(repo: Repo, session_id: str) -> None:
    """Remove a session's marker, if there is one."""
    files.remove_private(repo, repo.join_shared("open", session_id))
    _take_rested(repo, session_id)


def _announce(repo: Repo, session_id: str, data: bytes) -> None:
    path = repo.join_shared("open", session_id)
    if files.read_cache(path) == data:
        return
    new = not os.path.lexists(path)
    files.write_private(repo, path, data)
    if new:
        _take_rested(repo, session_id)


def get_resting_folder(repo: Repo) -> str:
    """The directory of the markers that rest."""
    return repo.join_shared("open", RESTING)


def list_recent_ids(repo: Repo) -> list[str]:
    """The sessions whose markers do not rest, sorted."""
    folder = repo.join_shared("open")
    listed: list[str] = files.read_once(folder, lambda: files.list_names(folder), [])
    return [session_id for session_id in listed if session_id != RESTING]


def list_places(repo: Repo, session_id: str) -> tuple[str, ...]:
    """The paths to look for a session's marker, in order: it may move back meanwhile."""
    path = repo.join_shared("open", session_id)
    return path, os.path.join(get_resting_folder(repo), session_id), path


def _take_rested(repo: Repo, session_id: str) -> None:
    """Remove a session's resting marker, if there is one, and the directory if it is empty."""
    try:
        os.unlink(os.path.join(get_resting_folder(repo), session_id))
        os.rmdir(get_resting_folder(repo))
    except OSError:
        pass  # there is none, or it is not the last


def read_concerned(repo: Repo, sessions: Iterable[str] = ()) -> list[Marker]:
    """The markers that do not rest, and those of the sessions given, by session id."""
    ids = sorted({*list_recent_ids(repo), *sessions})
    found: list[Marker] = []
    for session_id in ids:
        marker = find_marker(repo, session_id)
        if marker:
            found.append(marker)
    return found


def find_marker(repo: Repo, session_id: str) -> Marker | None:
    """The marker of a session; None without one.  A damaged marker is built from the state, so
    that no commit misses its work."""
    try:
        return read_stored(repo, session_id)
    except Damaged as e:
        git.append_trace("marker", str(e))
    try:
        state = read_state(repo, session_id)
    except Error:
        return None
    if not state or not (is_unsettled(state) or state.get("files_touched")):
        return None
    streams = [{"id": stream["id"], "ref": stream["ref"]} for stream in state["streams"]]
    return {**build_marker(state), "streams": streams}


def read_stored(repo: Repo, session_id: str) -> Marker | None:
    """The marker of a session as its file has it; None without one.  Raises Damaged."""
    for path in list_places(repo, session_id):
        try:
            st = os.stat(path)
            break
        except OSError:
            st = None
    stamp = None
    if st:
        stamp = (st.st_ino, st.st_size, st.st_ctime_ns)
    if stamp and _PARSED.get(path, (None, None))[0] == stamp:
        return _PARSED[path][1]
    marker: Marker | None = files.load_json(path, shapes.MARKER)
    if marker and marker["session_id"] != session_id:
        raise Damaged(path, f"it is the marker of '{marker['session_id'][:60]}'")
    if stamp and marker:
        _PARSED[path] = stamp, marker
    return marker


def is_home(repo: Repo, session: Mapping[str, Any]) -> bool:
    """Whether this worktree is the home of a session, by its state or marker.

    Git's name of the worktree decides, because the path changes when the worktree is moved.
    """
    return (session.get("worktree_id") or "") == repo.worktree_id


def read_recent(repo: Repo) -> list[Marker]:
    """The markers of read_here() that do not rest: those of all sessions that may be in a turn."""
    found: list[Marker] = []
    for session_id in list_recent_ids(repo):
        marker = find_marker(repo, session_id)
        if marker and is_home(repo, marker):
            found.append(marker)
    return found


def list_abandoned(repo: Repo, session_id: str) -> list[str]:
    """The other sessions of this worktree that are in a turn though their agent is gone."""

    return [
        marker["session_id"]
        for marker in read_recent(repo)
        if marker["session_id"] != session_id
        and marker["phase"] == "active"
        and is_gone(marker["agent_process"])
    ]


def take_event(state: State, event: str, *, files_touched: bool = True) -> tuple[str, ...]:
    """Change the phase of a state by an event; return all its actions."""
    before = state.get("phase")

    from gitcp.record.session import phases

    state["phase"], actions = phases.find_transition(before, event, files_touched=files_touched)
    if phases.CLEAR_ENDED_AT in actions:
        state.pop("ended_at", None)
    if phases.UPDATE_LAST_INTERACTION in actions:
        state["last_interaction_time"] = format_now()
    if state["phase"] == phases.ENDED and before != phases.ENDED:
        state["ended_at"] = format_now()
    if phases.WARN_STALE_SESSION in actions:
        git.append_trace("session", f"'{state['session_id']}' starts in the middle of a turn")
    return actions


def take_commit(state: State, paths: object) -> bool:
    """Change the phase by a commit that is linked to the session by these paths; return whether
    to condense the session's work."""

    from gitcp.record.session import phases

    actions = take_event(state, phases.GIT_COMMIT, files_touched=bool(paths))
    return phases.CONDENSE in actions or phases.CONDENSE_IF_FILES_TOUCHED in actions


def clear_verdict(state: State) -> None:
    """Clear the verdict on the stream: it holds for one prompt."""
    state["should_reset_shadow_branch"] = False
    state.pop("verdict", None)


def begin_turn(
    repo: Repo, state: State, head: str, dirty: Mapping[str, Entry | None], time_ns: int, at: int
) -> None:
    """Write the baseline of a turn, or of its continuation after its Stop."""
    files.remove_private(repo, repo.join_own("turn", f"{state['session_id']}.middle"))
    offset = read_size(state.get("transcript_path"))
    write_baseline(
        repo, state, {"head": head, "time_ns": time_ns, "at": at, "dirty": dirty}, offset
    )


def read_size(transcript: str | None) -> int:
    """The size of a transcript in bytes; 0 without one."""
    try:
        return os.stat(transcript or "").st_size
    except (OSError, ValueError):
        return 0


def write_baseline(repo: Repo, state: State, baseline: Baseline, offset: int) -> None:
    """Write the baseline of a turn; offset: where its part of the transcript begins, in bytes."""
    transcript = state.get("transcript_path")
    turn = state.get("turn_id", "")
    data = {**baseline, "turn": turn, "transcript": transcript, "offset": offset}
    files.write_private(repo, repo.join_own("turn", state["session_id"]), json.dumps(data).encode())


def read_baseline(repo: Repo, session_id: str, git_dir: str | None = None) -> Baseline | None:
    """The baseline of a session's turn; None if it is absent or damaged.

    git_dir: that of the session's home; by default this worktree's.
    """
    path = os.path.join(git_dir or repo.git_dir, "gitcp", "turn", session_id)
    return files.read_once(path, lambda: _load_baseline(path), None)


def _load_baseline(path: str) -> Baseline | None:
    baseline: Baseline | None = files.load_cache(path, shapes.BASELINE)
    if baseline is not None:
        baseline["dirty"] = _make_tuples(baseline["dirty"])
    return baseline


def _make_tuples(entries: Mapping[str, Sequence[str] | None]) -> dict[str, Entry | None]:
    return {path: (entry[0], entry[1]) if entry else None for path, entry in entries.items()}


def reach_middle(repo: Repo, session_id: str, dirty: dict[str, Entry | None]) -> None:
    """Store the dirty files of the last checkpoint within the turn."""
    path = repo.join_own("turn", f"{session_id}.middle")
    files.write_private(repo, path, json.dumps(dirty).encode())


def read_middle(repo: Repo, session_id: str) -> dict[str, Entry | None] | None:
    """The dirty files of the last checkpoint within this turn; None without one."""
    entries = files.load_cache(repo.join_own("turn", f"{session_id}.middle"), shapes.is_entries)
    if entries is None:
        return None
    return _make_tuples(entries)


def resolve_paths(repo: Repo, paths: Iterable[str]) -> list[str]:
    """What a tool writes if it is given these paths, relative to the worktree's root: also the
    targets of links."""
    resolved: dict[str, None] = {}
    for path in paths:
        for target in list_targets(os.path.join(repo.worktree, path)):
            relative = find_relative_path(repo, target)
            if relative:
                resolved[relative] = None
    return [*resolved]


def list_targets(path: str) -> list[str]:
    """The path, and the target if it is a symbolic link: most tools write through a link, but some
    replace it."""
    if os.path.islink(path):
        return [path, os.path.realpath(path)]
    return [path]


def find_relative_path(repo: Repo, path: str) -> str | None:
    """A path that a tool named, relative to the worktree's root; None if it is outside.

    Symbolic links are followed except the last component: git tracks the link.
    """
    if not os.path.isabs(path):
        path = os.path.join(repo.worktree, path)
    folder, name = os.path.split(os.path.normpath(path))
    full_path = os.path.join(os.path.realpath(folder), name)
    if has_many_names(repo):
        from gitcp.git.objects import reading

        return reading.find_relative(repo, full_path)
    above = os.path.realpath(repo.worktree) + os.sep
    if full_path.startswith(above):
        return full_path.removeprefix(above)
    return None


def has_many_names(repo: Repo) -> bool:
    """Whether the file system finds a file by names that differ from git's."""
    flags = ("core.ignorecase", "core.precomposeunicode")
    return any(map(repo.config.get_flag, flags))


def take_message(repo: Repo, session_id: str) -> str:
    """Remove and return the texts that wait; '' for none."""
    path = locate_message(repo, session_id)
    data = files.read_or_set_aside(repo, lambda: read_file(path))
    files.remove_private(repo, path)
    return (data or b"").decode("utf-8", "replace").strip()


def locate_message(repo: Repo, session_id: str) -> str:
    """The file of the texts that wait for a session's next prompt in this worktree."""
    return repo.join_own("turn", f"{session_id}.tell")


_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "env"})
_LINES: dict[int, list[tuple[int, str]]] = memory.get_table("processes above")
_COMMANDS: dict[int, bytes] = memory.get_table("commands")  # of processes above this one


def describe(pid: int, start: str = "") -> Process:
    """The identity of a process on this machine.  start: the start of the process, if known."""
    return {
        "pid": pid,
        "start": start or stat_process(pid)[2],
        "boot_id": _read_boot_id(),
        "host": get_machine_id(),
    }


def find_agent(env: Mapping[str, str]) -> Process | None:
    """The agent that runs this hook, by its variable, else the nearest ancestor that is not a
    shell; None if none is seen."""
    claude_pid = env.get("CLAUDE_PID", "")
    pid = int(claude_pid) if claude_pid.isdecimal() else 0
    parent, _, start = stat_process(pid) if pid > 1 else (0, "", "")
    if pid > 1 and (parent or not can_see_processes()):
        return describe(pid, start)
    return next((describe(p) for p, name in _list_above() if name and name not in _SHELLS), None)


def find_git() -> Process | None:
    """The nearest git above this process; None if none is seen."""
    return next((describe(pid) for pid, name in _list_above() if name == "git"), None)


def is_gone(process: Process | None) -> bool:
    """Whether exactly this process is known not to run any more."""
    return is_running(process) is False


def is_running(process: Process | None) -> bool | None:
    """Whether a process runs; None if unknown, as on another machine."""
    if not process or process.get("host") != get_machine_id():
        return None
    boot = _read_boot_id()
    if process.get("boot_id") != boot:
        if boot and process.get("boot_id"):
            return False
        return None
    try:
        if process["pid"] < 1:
            return False  # kill() would signal a group
        os.kill(process["pid"], 0)
    except PermissionError:
        pass
    except (OSError, OverflowError, TypeError):
        return False
    start = stat_process(process["pid"])[2]
    return not start or process.get("start") in ("", start)


def read_git_arguments(repo: Repo, command: str) -> list[str] | None:
    """The arguments of the git command that runs this hook, with aliases expanded; None if they
    are unseen, or ambiguous because ps does not separate the words of a message."""
    for pid in list_ancestors()[:6]:
        if pid not in _COMMANDS:
            _COMMANDS[pid] = read_proc(pid, "cmdline")
        words = _COMMANDS[pid].decode("utf-8", "surrogateescape").split("\0")[:-1]
        if not words or os.path.basename(words[0]) != "git":
            continue
        if command not in words:
            words = _expand_aliases(repo, words)
        if command not in words:
            return None
        words = words[words.index(command) + 1 :]
        if command == "commit" and not has_proc() and _is_confused(words):
            return None
        return words[: words.index("--") if "--" in words else None]
    return None


def _expand_aliases(repo: Repo, words: list[str]) -> list[str]:
    """The words of a command line of git, with those of its aliases in their place."""
    expanded: list[str] = []
    for word in words:
        expanded += repo.config.get(f"alias.{word}", word).split()
    return expanded


def _is_confused(words: list[str]) -> bool:
    """Whether an option follows a word that is not one: it may be a word of the message."""
    positions = [position for position, word in enumerate(words) if word[:1] != "-"]
    return any(word[:1] == "-" for word in words[min(positions, default=len(words)) :])


def can_see_processes() -> bool:
    """Whether processes can be seen here."""
    return bool(stat_process(os.getpid())[1])


def list_ancestors(pid: int = 0) -> list[int]:
    """The pids above a process, by default this one, nearest first; only the parent if no others
    are seen."""
    return [
        ancestor for ancestor, _ in (_trace_lineage(stat_process(pid)[0]) if pid else _list_above())
    ]


def _list_above() -> list[tuple[int, str]]:
    """(pid, name) of each process above this one, nearest first; read once."""
    parent = os.getppid()
    if parent not in _LINES:
        _LINES[parent] = _trace_lineage(parent)
    return _LINES[parent]


def _trace_lineage(pid: int) -> list[tuple[int, str]]:
    seen = dict[int, str]()
    while pid > 1 and pid not in seen:
        parent, seen[pid], _ = stat_process(pid)
        pid = parent
    return [*seen.items()]


def get_machine_id() -> str:
    """The id of this machine among those that see the same files."""
    if has_proc():
        return os.uname().nodename
    from gitcp.record.session import ps

    return ps.read_hardware_id()  # a name changes with the network there


def _read_boot_id() -> str:
    """The id of this boot; '' on systems where the start time alone identifies a process."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as f:
            return f.read().strip()
    except OSError:
        return ""


def has_proc() -> bool:
    return os.path.exists("/proc/self/stat")


def stat_process(pid: int) -> tuple[int, str, str]:
    """(parent, name, start) of a process; 0 and '' if unseen."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            line = f.read()
    except OSError:
        if has_proc():
            return 0, "", ""
        from gitcp.record.session import ps

        return ps.list_by_ps().get(pid, (0, "", ""))
    name, _, tail = line.rpartition(")")  # the name itself may hold brackets and spaces
    fields = tail.split()
    return int(fields[1]), name.partition("(")[2], fields[19]


def read_proc(pid: int, file: str) -> bytes:
    """The words of a process's cmdline or environ, each ended by NUL; b"" if unseen.  By ps, words
    are split at their blanks, too, and the environ begins with the command line."""
    try:
        with open(f"/proc/{pid}/{file}", "rb") as f:
            return f.read()
    except OSError:
        if has_proc():
            return b""
        from gitcp.record.session import ps

        words = ps.read_command_by_ps(pid, environment=file == "environ").split(" ")
        return "".join(f"{word}\0" for word in words if word).encode("utf-8", "surrogateescape")
