"""The stream verdict of a turn's start: what take_verdict() needs, gathered; what it says, kept."""

from __future__ import annotations

import os

from gitcp import trace
from gitcp.console import notice
from gitcp.core.credit import entries
from gitcp.core.decide import stream_rules
from gitcp.errors import Error
from gitcp.record import encode_name
from gitcp.start import late
from gitcp.store.git.tree import Lookup, find_tree
from gitcp.store.journal import journal, work
from gitcp.store.session import markers
from gitcp.store.stream import branches, recall, shadow_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.decide.stream_rules import View
    from gitcp.core.record_types import Entries, Entry, State, Tip, Verdict
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def take_verdict(
    repo: Repo, objects: Objects, state: State, head: str, dirty: dict[str, Entry | None]
) -> Verdict:
    """Take the verdict for a turn that starts with dirty; keep it in state
    (doc/behaviour.md "Which stream a turn continues")."""
    tip = branches.find_current(repo, objects, state, head)
    named = _collect_streams(repo, objects, state, dirty, tip)
    current = _build_current_view(repo, objects, tip, named)
    alternatives = [
        view
        for stream, (ref, files) in named.items()
        if (current is None or stream != current["id"]) and not dirty.keys().isdisjoint(files)
        if (view := _resolve_stream(repo, objects, stream, ref, files))
    ]
    mode = branches.get_mode(repo)

    def is_left(view: View) -> bool:
        return _is_work_left(repo, objects, view, dirty)

    verdict = stream_rules.choose_stream(mode, current, alternatives, dirty, is_left)
    if verdict["reason"] == stream_rules.UNREADABLE:
        notice.warn(f"'{verdict['ref']}': {stream_rules.UNREADABLE}")
    state["should_reset_shadow_branch"] = verdict["verdict"] in ("reset", "new")
    state["verdict"] = verdict
    state["last_verdict"] = verdict.copy()
    trace.append_note("stream", f"{verdict['verdict']} {verdict['ref']}: {verdict['reason']}")
    return verdict


def _collect_streams(
    repo: Repo, objects: Objects, state: State, dirty: dict[str, Entry | None], tip: Tip | None
) -> dict[str, tuple[str, Entries]]:
    """The streams that unsettled states of this worktree name, as far as tip or what is dirty
    concerns them: id -> (ref, their files)."""
    named: dict[str, tuple[str, Entries]] = {}
    writers = entries.list_writers(journal.read(repo), dirty)
    writers |= shadow_refs.list_sessions(objects, tip) if tip else set()
    near = [m for m in markers.read_concerned(repo, writers) if markers.is_home(repo, m)]
    foreign = [m for m in near if m["session_id"] != state["session_id"]]
    for marker in [*foreign, markers.build_marker(state)]:
        for stream in work.list_open_streams(repo, marker):
            _, files = named.setdefault(stream["id"], (stream["ref"], {}))
            for path, file in stream["files"].items():
                files[path] = (file["mode"], file["oid"]) if file["oid"] else None
    return named


def _build_current_view(
    repo: Repo, objects: Objects, tip: Tip | None, trees: dict[str, tuple[str, Entries]]
) -> View | None:
    if tip is None:
        return None
    orphan = False
    files: Entries | None
    try:
        files = _list_files(objects, tip, trees)
        orphan = tip["stream"] not in trees and recall.is_orphaned(repo, objects, tip)
    except Error as e:
        trace.append_note("stream", f"'{tip['ref']}': {e}")
        files = None
    return _make_view(tip, files, orphan)


def _list_files(objects: Objects, tip: Tip, trees: dict[str, tuple[str, Entries]]) -> Entries:
    """Whose work it is, the states tell; what of it the tip still has, the tip does."""
    files = shadow_refs.read_recorded(objects, tip)
    if tip["stream"] not in trees:
        return files
    ours = trees[tip["stream"]][1]
    return {path: files.get(path, ours[path]) for path in ours}


def _make_view(tip: Tip, files: Entries | None, orphan: bool = False) -> View:
    return {
        "id": tip["stream"],
        "ref": tip["ref"],
        "tip": tip["oid"],
        "time": tip["time"],
        "files": files,
        "orphan": orphan,
    }


def _resolve_stream(
    repo: Repo, objects: Objects, stream: str, ref: str, files: Entries
) -> View | None:
    tip = find_tip(repo, objects, stream, ref)
    if tip is None:
        return None
    try:
        return _make_view(tip, _list_files(objects, tip, {stream: (ref, files)}))
    except Error as e:
        trace.append_note("stream", f"'{tip['ref']}': {e}")
        return None


def find_tip(repo: Repo, objects: Objects, stream: str, ref: str) -> Tip | None:
    """The tip of a stream by its id: where its state last saw it, else wherever it is now."""
    try:
        tip = shadow_refs.read_tip(objects, ref)
    except Error:
        tip = None
    if tip and tip["stream"] == stream:
        return tip
    return next((t for t in shadow_refs.list_tips(repo, objects) if t["stream"] == stream), None)


def _is_work_left(repo: Repo, objects: Objects, view: View, dirty: dict[str, Entry | None]) -> bool:
    """Whether lines of the agent survive in the files that the stream and the worktree share."""
    rule = repo.config.get_option("gitcp.suffix-match")
    tip = shadow_refs.read_tip(objects, view["ref"])
    before = Lookup(objects, find_tree(objects, tip["base"] if tip else None))
    for path, entry in (view["files"] or {}).items():
        if path in dirty:
            was, now = before(path), dirty[path]
            if late.line_evidence.is_change_left(
                _read_blob(objects, was),
                _read_blob(objects, entry),
                _read_worktree(repo, objects, path, now),
                rule,
            ):
                return True
    return False


def _read_worktree(repo: Repo, objects: Objects, path: str, entry: Entry | None) -> bytes | None:
    # What was hashed at the turn's start is not stored: then the file itself has to tell.
    stored = _read_blob(objects, entry)
    if stored is not None or entry is None:
        return stored
    try:
        with open(os.path.join(os.fsencode(repo.worktree), encode_name(path)), "rb") as f:
            return f.read()
    except OSError:
        return None


def _read_blob(objects: Objects, entry: Entry | None) -> bytes | None:
    obj = objects.read(entry[1]) if entry and entry[0] != "160000" else None
    return obj[2] if obj else None
