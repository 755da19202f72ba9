"""Temporary checkpoints: a commit onto the stream that the turn's verdict chose.

Blobs are written before the stream's lock is taken.  Under it the tip is read, trees and the
commit are written, and the refs move in one transaction.  The state is saved last.
"""

from __future__ import annotations

from gitcp import git
from gitcp.errors import Error, Moved
from gitcp.git import refs
from gitcp.git.files import exclusive
from gitcp.git.objects import (
    Lookup,
    compare_trees,
    edit_tree,
    need_commit,
    parse_ident,
    write_commit,
)
from gitcp.record import journal, session
from gitcp.record.journal import Journal, edits
from gitcp.record.journal.edits import list_withdrawn
from gitcp.record.session import make_id
from gitcp.record.stream import (
    ARCHIVE,
    CARRIED,
    METADATA,
    NAME,
    PREFIXES,
    TURNS,
    archive_stream,
    build_ref,
    find_current,
    find_trailer,
    get_mode,
    holds_lost_work,
    list_branches,
    list_sessions,
    map_named_paths,
    map_suffixes,
    parse_tip,
    read_metadata,
    read_tip,
    set_streams,
    should_follow,
)
from gitcp.text import ids, json
from gitcp.text.ids import SESSION_KEY, STRATEGY_KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypedDict

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.record.stream import StreamPlace
    from gitcp.text.record_types import Commit, Entry, State, Stream, Tip, Verdict

    class Content(TypedDict):
        """The content of a checkpoint.

        head, head_tree: the base commit and its tree (None for an unborn HEAD).  entries: the
        paths that differ from it in the worktree.  seen: the tip when the worktree was scanned.
        mine: the session's own entries of the turn.  undone: the paths that it put back to HEAD's
        content.  away: its entries that are kept elsewhere, as in a stash.  start: the dirty
        entries at the turn's start.  metadata: path below its metadata directory -> entry.
        """

        head: str
        head_tree: str | None
        entries: dict[str, Entry | None]
        seen: str | None
        mine: dict[str, Entry | None]
        undone: set[str]
        away: dict[str, Entry | None]
        start: dict[str, Entry | None]
        metadata: dict[str, Entry]
        subject: str
        trailers: list[str]


_ADDED_TO = ("tasks", TURNS)


def write_checkpoint(repo: Repo, state: State, content: Content, edits_subject: str = "") -> str:
    """Write a checkpoint, update the state in memory, and return the checkpoint's oid.

    edits_subject: the subject under which the session's ref takes the journal's edits in the same
    transaction; '' to leave them.  The caller holds the session's lock and saves the state.
    Raises Moved, with nothing changed, if HEAD is not where the content was read.
    """
    with Journal(repo) as held, exclusive(repo, f"stream-{repo.worktree_hash}"):
        # HEAD and the tip are read again under the lock: the ref moves from this tip.
        head = refs.read_base(repo)
        if head != content["head"]:
            raise Moved("HEAD", content["head"], head)
        place = find_place(repo, state, content["head"])
        _refresh_entries(repo, place, content)
        _record_files(held, state, place, content)
        held_update = edits_subject and journal.write_edits(
            repo, held, state["session_id"], edits_subject
        )
        tree = _write_tree(repo.objects, state, place, content)
        parent = place["parent"]
        arguments = (state["session_id"], content["head"], place["stream"], content["trailers"])
        message = build_message(content["subject"], *arguments)
        parents = [parent["oid"]] if parent else []
        oid = write_commit(repo, tree, parents, message)
        updates = [*place["before"], (place["ref"], oid, place["old"]), *place["after"]]
        if held_update:
            updates.append(held_update)
        held.write_waiting()
        refs.update_refs(repo, updates, "gitcp: checkpoint")
        if held_update:
            held.note_held(held_update[1])
    return oid


def _refresh_entries(repo: Repo, place: StreamPlace, content: Content) -> None:
    # Another session has written a checkpoint since the scan: read the paths that differ again,
    # so that the tip does not return to an older worktree.
    tip = place["parent"]
    if tip is None or tip["oid"] == content["seen"]:
        return
    scanned_tree = edit_tree(repo.objects, content["head_tree"], content["entries"])
    stale = [
        path
        for path, _, _ in compare_trees(repo.objects, tip["tree"], scanned_tree)
        if not path.startswith(".entire/")
    ]
    head = Lookup(repo.objects, content["head_tree"])

    from gitcp.record.snapshot import scan

    for path, entry in scan.read_paths(repo, stale, write=True).items():
        if entry == head(path):
            content["entries"].pop(path, None)
        else:
            content["entries"][path] = entry


def _write_tree(objects: Objects, state: State, place: StreamPlace, content: Content) -> str:
    entries: dict[str, Entry | None] = dict(content["entries"])
    folder = METADATA + state["session_id"]
    previous = None
    if place["parent"]:
        entries |= read_metadata(objects, place["parent"]["tree"])
        # Of the session's own metadata only tasks and turns are kept.
        if entries.pop(folder, None):
            previous = Lookup(objects, place["parent"]["tree"])
            entries |= {f"{folder}/{name}": previous(f"{folder}/{name}") for name in _ADDED_TO}
    # The next commit often has this tree, which is then read from a pack of gitcp.
    tree = edit_tree(objects, content["head_tree"], entries)
    files = content["metadata"] | write_files(objects, state, previous, folder)
    return edit_tree(objects, tree, {f"{folder}/{p}": e for p, e in files.items()})


def _record_files(held: Journal, state: State, place: StreamPlace, content: Content) -> None:
    streams = state["streams"]
    stream = next((s for s in streams if s["id"] == place["stream"]), None)
    if stream is None:
        stream = {"id": place["stream"], "ref": "", "base_commit": "", "files": {}}
    else:
        streams.remove(stream)
    streams.append(stream)  # the last one is where the session is
    stream["ref"] = place["ref"]
    stream["base_commit"] = content["head"]
    left_streams = {other["id"]: _list_superseded(other, content) for other in streams[:-1]}
    left_streams[stream["id"]] = content["undone"] & stream["files"].keys()
    turn_id = state.get("turn_id", "")
    files = {**content["mine"], **content["away"]}
    edits.record_checkpoint(held, state, stream["id"], files, turn_id, left_streams, waiting=True)
    set_streams(held.repo, state)
    state["streams"] = [s for s in state["streams"] if s["files"] or s["id"] == stream["id"]]
    if place["reset"]:
        state["checkpoint_count"] = 0
    state["checkpoint_count"] = state.get("checkpoint_count", 0) + 1
    state["shadow_ref"] = place["ref"]
    state.pop("shadow_branch_suffix", None)
    if place["suffix"] is not None:
        state["shadow_branch_suffix"] = place["suffix"]
    state["revision"] = state.get("revision", 0) + 1  # newer than the file
    session.clear_verdict(state)


def _list_superseded(stream: Stream, content: Content) -> set[str]:
    """The paths of a stream whose entries the turn found in the worktree and changed."""
    paths = content["mine"].keys() | content["undone"]
    start = {path: entry or ("000000", "") for path, entry in content["start"].items()}
    return {
        path
        for path, file in stream["files"].items()
        if path in paths and (file["mode"], file["oid"]) == start.get(path)
    }


def carry_streams(
    repo: Repo, old: str, commit: Commit, condensed: set[str] | None
) -> list[refs.Update]:
    """Move the streams of base old to the commit made on it; return the ref updates.

    condensed: the sessions that the commit is linked to, whose states are saved; None without a
    link.
    """
    updates: list[refs.Update] = []
    with exclusive(repo, f"stream-{repo.worktree_hash}"):
        for tip in list_moving_streams(repo, old, commit["oid"]):
            if condensed is None:
                moved = rename_stream(repo, tip, commit["oid"])
            else:
                moved = _settle_stream(repo, tip, commit, condensed)
            refs.update_refs(repo, moved, "gitcp: carry forward")
            updates += moved
    return updates


def list_moving_streams(repo: Repo, base: str, new: str) -> list[Tip]:
    """The tips of the streams that a commit new on base moves, in either mode.

    These are the streams of base, and those of other bases (after a pull or cherry-pick) whose
    work is here or settled.  The others stay until HEAD returns to their base.
    """
    candidates = refs.list_refs(repo, *PREFIXES)
    here: list[str] = []
    for ref in candidates:
        parts = ids.parse_shadow(ref)
        if parts and parts["worktree"] == repo.worktree_hash:
            here.append(ref)
    tips = []
    at_base = list_branches(repo, base, candidates)
    at_new = list_branches(repo, new, candidates)
    for ref in dict.fromkeys([*at_base, *here]):
        if ref in at_new:
            continue  # moved by a session's event between the commit and this hook
        try:
            obj = repo.objects.read(candidates[ref])
            tip = parse_tip(ref, obj) if obj else None
        except Error as e:
            git.append_trace("stream", str(e))  # the person's branch: never touched
            continue
        if tip and (ref in at_base or _is_here(repo, tip, new)):
            tips.append(tip)
    return tips


def _is_here(repo: Repo, tip: Tip, new: str) -> bool:
    paths_by_session = map_named_paths(repo, tip["stream"], list_sessions(repo.objects, tip))
    if any(paths_by_session.values()):
        return should_follow(repo, tip, new)
    return not holds_lost_work(repo, tip)


def _settle_stream(repo: Repo, tip: Tip, commit: Commit, condensed: set[str]) -> list[refs.Update]:
    """The ref updates that start the stream again, under the same id, with the files that a linked
    commit left."""
    paths_by_session = map_named_paths(repo, tip["stream"], list_sessions(repo.objects, tip))
    unsettled = set().union(*paths_by_session.values())
    present: dict[str, Entry | None] = {}
    if unsettled:
        from gitcp.record.snapshot import scan

        present = scan.list_dirty(repo, unsettled, commit["oid"])
    updates: list[refs.Update] = []
    if present:
        target = rename_stream(repo, tip, commit["oid"])[0]
        metadata = {
            path: entry
            for path, entry in read_metadata(repo.objects, tip["tree"]).items()
            if path.rpartition("/")[2] in paths_by_session
        }
        tree = edit_tree(repo.objects, commit["tree"], {**present, **metadata})
        owner = tip["session_id"]
        if owner not in paths_by_session:
            owner = min(paths_by_session)
        about = (owner, commit["oid"], tip["stream"])
        message = build_message(CARRIED, *about)
        oid = write_commit(repo, tree, [], message)
        if not target[0].startswith(ARCHIVE):
            updates.append((target[0], oid, None))
        else:
            present = {}  # the name is taken: everything stays in the archive
    if (
        unsettled - set(present)
        or holds_lost_work(repo, tip, condensed)
        or _holds_withdrawn_work(repo, tip)
    ):
        updates.insert(0, archive_stream(repo, tip))
    return [*updates, (tip["ref"], None, tip["oid"])]


def _holds_withdrawn_work(repo: Repo, tip: Tip) -> bool:
    """Whether checkpoints of a stream have work that was taken back before a commit took it."""
    sessions = list_sessions(repo.objects, tip)
    lines = journal.read_journal(repo)
    if not any(list_withdrawn(repo, lines, name, tip["stream"]) for name in sessions):
        return False
    first = commit = need_commit(repo.objects, tip["oid"])
    while find_trailer(commit["message"], SESSION_KEY):
        first = commit
        if not commit["parents"]:
            break
        commit = need_commit(repo.objects, commit["parents"][0])
    # The archive of an earlier commit has what came before the stream was carried forward.
    is_carried = first["message"].startswith(CARRIED)
    since = 0
    if is_carried:
        since = parse_ident(first["committer"])[1] * 1_000_000_000
    return any(list_withdrawn(repo, lines, name, tip["stream"], since) for name in sessions)


# Streams: their refs and tips, what a tip keeps of its session, and where a turn continues.
#
# A stream's id (trailer Gitcp-Stream) stays when its ref moves.  A stream of the original program
# has no id; the first 12 digits of its tip are used instead.


def build_message(
    subject: str, session_id: str, base: str, stream: str, trailers: Sequence[str] = ()
) -> str:
    """The message of a session's checkpoint on a stream, made on the commit base (full oid).

    trailers: used instead of Entire-Metadata."""
    lines = [
        *(trailers or [f"Entire-Metadata: {METADATA}{session_id}"]),
        f"{SESSION_KEY}: {session_id}",
        f"{STRATEGY_KEY}: manual-commit",
        f"Base-Commit: {base}",
        f"Gitcp-Stream: {stream}",
    ]
    return "\n".join([subject, "", *lines])


_TURNS_PER_FOLDER = 50


def write_files(
    objects: Objects, state: State, previous: Lookup | None, folder: str
) -> dict[str, Entry]:
    """path below folder -> entry of the files that copy a state, without those that the previous
    tree has.  folder: the session's metadata directory."""
    turn_id = state.get("turn_id", "")
    turns = state.get("turns", {})
    if turn_id in turns:
        last_turn = {turn_id: turns[turn_id]}
    else:
        last_turn = {}
    brief: Any = {**state, "turns": last_turn}
    finished: dict[str, bytes] = {}
    for turn, facts in reversed(turns.items()):
        path = _get_path(facts)
        if turn == turn_id:
            continue
        if previous and previous(f"{folder}/{path}"):
            break  # the turns before it are there, too
        finished[path] = json.dumps({turn: facts}).encode()
    if finished:
        oids = objects.write_blobs([*finished.values()])
    else:
        oids = []
    entries = {path: ("100644", oid) for path, oid in zip(finished, oids, strict=True)}
    return {NAME: ("100644", objects.write("blob", session.dump_state(brief))), **entries}


def _get_path(facts: Any) -> str:
    number = int(facts.get("number", 0))
    return f"{TURNS}/{number // _TURNS_PER_FOLDER}/{number}.json"


# The place of a session's next checkpoint, by its verdict unless that is void.
#
# Nothing is written here: the writer of the checkpoint makes the ref updates that are returned.
NO_VERDICT: Verdict = {"verdict": "none", "ref": "", "tip": "", "reason": ""}


def find_place(repo: Repo, state: State, base: str) -> StreamPlace:
    """The place by the verdict that the turn began with (doc/behaviour.md "Streams")."""
    current = find_current(repo, state, base)
    suffixed = get_mode(repo) == "suffix"
    parent = _choose_parent(repo, state, current, suffixed)
    branch = build_ref(repo, base)
    moved: list[refs.Update] = []
    if parent:
        is_numbered = parent is current or parent["ref"].startswith(branch + "-")
        if parent["ref"] == branch or (suffixed and is_numbered):
            return _build_place(parent["ref"], parent["oid"], parent)
        moved = [(parent["ref"], None, parent["oid"])]
    if suffixed:
        number = max([0, *map_suffixes(repo, base)]) + 1
        return _build_place(build_ref(repo, base, number), None, parent, after=moved)
    if current is None or current is parent:
        # A branch whose commit is missing can be neither read nor archived.
        return _build_place(branch, refs.read_ref(repo, branch), parent, after=moved)
    archived = [archive_stream(repo, current)]
    if current["ref"] == branch:
        return _build_place(branch, current["oid"], parent, archived, moved)
    # An old name without a worktree.
    return _build_place(
        branch, None, parent, archived, [(current["ref"], None, current["oid"]), *moved]
    )


def _choose_parent(repo: Repo, state: State, current: Tip | None, suffixed: bool) -> Tip | None:
    """The tip that the verdict continues: current, or that of the stream that it restores; None to
    start a new stream.  A void verdict continues the current one."""
    verdict = state.get("verdict") or NO_VERDICT
    action = verdict["verdict"]
    replaces = action in ("reset", "restore") and not suffixed
    if current and replaces and _is_busy(repo, state, current["stream"]):
        git.append_trace("stream", f"'{current['ref']}' stays: another session is active on it")
        return current
    if action == "restore":
        restored = read_tip(repo.objects, verdict["ref"])
        is_current = current and restored and current["ref"] == restored["ref"]
        if restored and restored["oid"] == verdict["tip"] and not is_current:
            return restored  # else it moved on, or HEAD is at its base again
    if action in ("reset", "new") and current:
        if current["oid"] == verdict["tip"]:
            return None
        git.append_trace("stream", f"verdict '{action}' is void: '{current['ref']}' moved on")
    return current


def _build_place(
    ref: str,
    old: str | None,
    parent: Tip | None,
    before: Sequence[refs.Update] = (),
    after: Sequence[refs.Update] = (),
) -> StreamPlace:
    parsed = ids.parse_shadow(ref)
    if parent:
        stream_id = parent["stream"]
    else:
        stream_id = make_id()
    return {
        "ref": ref,
        "old": old,
        "parent": parent,
        "stream": stream_id,
        "suffix": parsed["suffix"] if parsed else None,
        "reset": parent is None,
        "before": [*before],
        "after": [*after],
    }


def rename_stream(repo: Repo, tip: Tip, base: str) -> list[refs.Update]:
    """The ref updates that rename a stream to a new base, or archive it if that name is taken."""
    parsed = ids.parse_shadow(tip["ref"])
    number = parsed["suffix"] if parsed else None
    ref = build_ref(repo, base, number)
    if number is not None and repo.objects.read(ref):
        number = max(map_suffixes(repo, base)) + 1
        ref = build_ref(repo, base, number)
    if ref == tip["ref"]:
        return [(ref, tip["oid"], tip["oid"])]
    if repo.objects.read(ref):
        update = archive_stream(repo, tip)
    else:
        update = (ref, tip["oid"], None)
    return [update, (tip["ref"], None, tip["oid"])]


def _is_busy(repo: Repo, state: State, stream: str) -> bool:
    """Whether another session, in a turn, has work on the stream."""
    for marker in session.read_recent(repo):
        if marker["phase"] != "active" or marker["session_id"] == state["session_id"]:
            continue
        is_on_stream = any(one["id"] == stream for one in marker["streams"])
        if is_on_stream and not session.is_gone(marker["agent_process"]):
            return True
    return False
