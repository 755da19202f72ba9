"""The verdict on a stream at a prompt: whether the session's turn continues it."""

from __future__ import annotations

import os

from gitcp import git
from gitcp.errors import Error, InputError
from gitcp.git import encode_name
from gitcp.git.objects import Lookup, find_tree
from gitcp.record import journal, session
from gitcp.record.journal import credit
from gitcp.record.session import stream_choice
from gitcp.record.stream import (
    find_current,
    get_mode,
    list_sessions,
    list_tips,
    peek_tip,
    read_changes,
    read_copy,
    read_tip,
)
from gitcp.text import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.record.session.stream_choice import View
    from gitcp.text.record_types import Entries, Entry, State, Tip, Verdict


def is_orphaned(repo: Repo, tip: Tip) -> bool:
    """Whether no state names a stream (doc/behaviour.md "Conflicts and warnings").

    A state that is behind the stream or unreadable counts as naming it, and so does one of the
    original program with its base.
    """
    owners = list_sessions(repo.objects, tip)
    concerned = session.read_concerned(repo, owners)
    for marker in concerned:
        if any(stream["id"] == tip["stream"] for stream in marker["streams"]):
            return False
    return not any(_is_named(repo, tip, session_id) for session_id in owners)


def _is_named(repo: Repo, tip: Tip, session_id: str) -> bool:
    try:
        from gitcp.record.session import others

        state = others.peek_state(repo, ids.check_session_id(session_id))
    except InputError:
        return False
    if state is None:
        return False
    if any(stream["id"] == tip["stream"] for stream in state["streams"]):
        return True
    copy = read_copy(repo.objects, tip, session_id)
    if copy is None:
        return bool(state["base_commit"]) and tip["base"].startswith(state["base_commit"][:7])
    return bool(copy.get("revision", 0) > state.get("revision", 0))


def _is_change_left(
    base: bytes | None, tip: bytes | None, worktree: bytes | None, rule: str
) -> bool:
    """remains.is_change_left(), whose module is imported where a stream is asked."""

    from gitcp.record.match import remains

    return remains.is_change_left(base, tip, worktree, rule)


def take_verdict(repo: Repo, state: State, head: str, dirty: dict[str, Entry | None]) -> Verdict:
    """Choose the stream of a turn that starts with these dirty files, and set the verdict in the
    state (doc/behaviour.md "Which stream a turn continues")."""
    tip = find_current(repo, state, head)
    streams = _collect_streams(repo, state, dirty, tip)
    current = _build_current_view(repo, tip, streams)
    alternatives: list[View] = []
    for stream, (ref, files) in streams.items():
        is_current = current is not None and stream == current["id"]
        if is_current or dirty.keys().isdisjoint(files):
            continue
        view = _resolve_stream(repo, stream, ref, files)
        if view:
            alternatives.append(view)
    mode = get_mode(repo)

    def is_left(view: View) -> bool:
        """Whether agent lines survive in the files that the stream and the worktree share."""
        rule = repo.config.get_option("gitcp.suffix-match")
        tip = read_tip(repo.objects, view["ref"])
        base = tip["base"] if tip else None
        base_lookup = Lookup(repo.objects, find_tree(repo.objects, base))
        for path, entry in (view["files"] or {}).items():
            if path not in dirty:
                continue
            before = _read_blob(repo.objects, base_lookup(path))
            after = _read_blob(repo.objects, entry)
            present = _read_worktree(repo, path, dirty[path])
            if _is_change_left(before, after, present, rule):
                return True
        return False

    verdict = stream_choice.choose_stream(mode, current, alternatives, dirty, is_left)
    if verdict["reason"] == stream_choice.UNREADABLE:
        from gitcp.text import console

        console.warn(f"'{verdict['ref']}': {stream_choice.UNREADABLE}")
    state["should_reset_shadow_branch"] = verdict["verdict"] in ("reset", "new")
    state["verdict"] = verdict
    state["last_verdict"] = verdict.copy()
    git.append_trace("stream", f"{verdict['verdict']} {verdict['ref']}: {verdict['reason']}")
    return verdict


def _collect_streams(
    repo: Repo, state: State, dirty: dict[str, Entry | None], tip: Tip | None
) -> dict[str, tuple[str, Entries]]:
    """id -> (ref, files) of the streams that this worktree's unsettled sessions name, of those on
    the tip or with dirty files."""
    streams: dict[str, tuple[str, Entries]] = {}
    writers = credit.list_writers(journal.read_journal(repo), dirty)
    if tip:
        writers |= list_sessions(repo.objects, tip)
    concerned = [m for m in session.read_concerned(repo, writers) if session.is_home(repo, m)]
    foreign = [m for m in concerned if m["session_id"] != state["session_id"]]
    for marker in [*foreign, session.build_marker(state)]:
        if not marker["streams"]:
            continue

        from gitcp.record.journal import edits

        for stream in edits.list_open_streams(repo, marker):
            _, files = streams.setdefault(stream["id"], (stream["ref"], {}))
            for path, file in stream["files"].items():
                if file["oid"]:
                    files[path] = (file["mode"], file["oid"])
                else:
                    files[path] = None
    return streams


def _build_current_view(
    repo: Repo, tip: Tip | None, streams: dict[str, tuple[str, Entries]]
) -> View | None:
    if tip is None:
        return None
    orphan = False
    files: Entries | None
    try:
        files = _list_files(repo.objects, tip, streams)
        orphan = tip["stream"] not in streams and is_orphaned(repo, tip)
    except Error as e:
        git.append_trace("stream", f"'{tip['ref']}': {e}")
        files = None
    return _make_view(tip, files, orphan)


def _list_files(objects: Objects, tip: Tip, streams: dict[str, tuple[str, Entries]]) -> Entries:
    """The files of a stream: the paths that states name, else all; their entries on its tip."""
    files = read_changes(objects, tip)
    if tip["stream"] not in streams:
        return files
    session_files = streams[tip["stream"]][1]
    return {path: files.get(path, session_files[path]) for path in session_files}


def _make_view(tip: Tip, files: Entries | None, orphan: bool = False) -> View:
    return {
        "id": tip["stream"],
        "ref": tip["ref"],
        "tip": tip["oid"],
        "time": tip["time"],
        "files": files,
        "orphan": orphan,
    }


def _resolve_stream(repo: Repo, stream: str, ref: str, files: Entries) -> View | None:
    tip = find_tip(repo, stream, ref)
    if tip is None:
        return None
    try:
        return _make_view(tip, _list_files(repo.objects, tip, {stream: (ref, files)}))
    except Error as e:
        git.append_trace("stream", f"'{tip['ref']}': {e}")
        return None


def find_tip(repo: Repo, stream: str, ref: str) -> Tip | None:
    """The tip of a stream by its id, at ref or else at any ref; None without one."""
    tip = peek_tip(repo.objects, ref)
    if tip and tip["stream"] == stream:
        return tip
    return next((t for t in list_tips(repo) if t["stream"] == stream), None)


def _read_worktree(repo: Repo, path: str, entry: Entry | None) -> bytes | None:
    # The blobs of a turn's start are hashed but not stored: read the file instead.
    stored = _read_blob(repo.objects, entry)
    if stored is not None or entry is None:
        return stored
    try:
        with open(os.path.join(os.fsencode(repo.worktree), encode_name(path)), "rb") as f:
            return f.read()
    except OSError:
        return None


def _read_blob(objects: Objects, entry: Entry | None) -> bytes | None:
    return objects.read_blob(entry[1] if entry else None)
