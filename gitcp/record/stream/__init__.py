"""Streams: their refs and tips, what a tip keeps of its session, and where a turn continues.

A stream's id (trailer Gitcp-Stream) stays when its ref moves.  A stream of the original program
has no id; the first 12 digits of its tip are used instead.
"""

from __future__ import annotations

import os

from gitcp import git, memory
from gitcp.errors import Error, Foreign
from gitcp.git import decode_name, gitdir, refs
from gitcp.git.files import Damaged, exclusive, parse_checked, read_file, read_words, write_words
from gitcp.git.objects import (
    TREE,
    Lookup,
    compare_trees,
    find_tree,
    need_commit,
    parse_commit,
    parse_ident,
)
from gitcp.record import journal, session
from gitcp.text import ids, shapes, value_class
from gitcp.text.ids import SESSION_KEY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Any, TypedDict

    from gitcp.git import refs
    from gitcp.git.objects import Objects
    from gitcp.git.objects.cat_file import Object
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Entry, Marker, State, Tip

    class StreamPlace(TypedDict):
        """The place of a checkpoint.  parent: the tip that it continues.  before: the ref updates
        before the branch's own, as to archive the old stream; after: those that follow."""

        ref: str
        old: str | None
        parent: Tip | None
        stream: str
        suffix: int | None
        reset: bool
        before: list[refs.Update]
        after: list[refs.Update]


# The refs and tips of streams: the shadow branches, visible or hidden, and their archives.
ARCHIVE = ids.ARCHIVE
PREFIXES = (ids.BRANCHES, ids.HIDDEN)
METADATA = ".entire/metadata/"
_FOREIGN: dict[str, frozenset[str]] = memory.get_table("foreign")
# Subjects of checkpoints that no turn made: the first after a commit, and that of a rewind.
CARRIED = "carry forward: uncommitted session files"
FOLLOWED = "rewind: the files as they are now"
_FEW_STEPS = 50  # checkpoints that are read for whose they are


def get_prefix(repo: Repo) -> str:
    """The prefix of new streams' refs, by gitcp.streams-hidden.  By default they are hidden in a
    repository of jj, which would make bookmarks of branches."""
    hidden = repo.config.get_option("gitcp.streams-hidden")
    if hidden is None:
        hidden = bool(repo.jj_root)
    return ids.HIDDEN if hidden else ids.BRANCHES


def read_foreign(repo: Repo) -> frozenset[str]:
    """The person's branches that are named like streams."""
    if repo.common not in _FOREIGN:
        _FOREIGN[repo.common] = frozenset(read_words(repo.join_shared("foreign"), shapes.is_ref))
    return _FOREIGN[repo.common]


def add_foreign(repo: Repo, ref: str) -> None:
    """Note a branch as the person's: <common>/gitcp/foreign has a full ref on each line."""
    _FOREIGN[repo.common] = read_foreign(repo) | {ref}
    write_words(repo, repo.join_shared("foreign"), sorted(_FOREIGN[repo.common]))


def build_ref(repo: Repo, base: str, suffix: int | None = None, worktree: str = "") -> str:
    """The full ref of the stream of base; worktree: its hash, by default this one's.

    It has seven digits of the base, and more if the person has a branch of that name.  A ref with
    a suffix always has seven.
    """
    if suffix is None:
        foreign = read_foreign(repo)
    else:
        foreign = frozenset[str]()
    for digits in range(7, len(base) + 1):
        name = ids.format_stream_name(base, worktree or repo.worktree_hash, suffix, digits)
        if foreign.isdisjoint(prefix + name for prefix in PREFIXES):
            break
    return get_prefix(repo) + name


def get_lock_name(repo: Repo, ref: str) -> str:
    """The name of the lock for the streams of a ref's worktree; of this one if the ref names
    none."""
    parsed = ids.parse_shadow(ref)
    return f"stream-{(parsed and parsed['worktree']) or repo.worktree_hash}"


def find_trailer(message: str, key: str) -> str:
    """The last value of a trailer in a checkpoint's message; '' without one."""
    _, separator, tail = message.rpartition(f"\n{key}: ")
    if separator:
        return tail.partition("\n")[0].strip()
    return ""


def read_tip(objects: Objects, ref: str) -> Tip | None:
    """The tip of ref, visible or hidden; None if neither exists.

    Raises Foreign if ref is not a stream: it is the person's.
    """
    git.append_trace("tip", ref)
    obj = objects.read(ref)
    if obj:
        return parse_tip(ref, obj)
    if not ref.startswith(PREFIXES):
        return None
    if ref.startswith(ids.HIDDEN):
        prefix = ids.BRANCHES
    else:
        prefix = ids.HIDDEN
    moved_ref = prefix + ids.parse_stream_name(ref)
    try:
        obj = objects.read(moved_ref)
        if obj:
            return parse_tip(moved_ref, obj)
        return None
    except Foreign:
        return None


def peek_tip(objects: Objects, ref: str) -> Tip | None:
    """read_tip(); None also if it cannot be read, or is the person's."""
    try:
        return read_tip(objects, ref)
    except Error:
        return None


def parse_tip(ref: str, obj: Object) -> Tip:
    """The tip of ref from its object; raises Foreign as read_tip() does."""
    oid, kind, data = obj
    message = ""
    if kind == "commit":
        message = decode_name(data)
    session_id = find_trailer(message, SESSION_KEY)
    if not session_id:
        raise Foreign(f"'{ref}' is not a stream of checkpoints")
    commit = parse_commit(oid, data)
    return {
        "ref": ref,
        "oid": oid,
        "tree": commit["tree"],
        "stream": find_trailer(message, "Gitcp-Stream") or oid[:12],
        "base": find_trailer(message, "Base-Commit")
        or ids.parse_stream_name(ref).partition("-")[0],
        "session_id": session_id,
        "time": parse_ident(commit["committer"])[1],
    }


def list_tips(repo: Repo, *patterns: str) -> list[Tip]:
    """The tips of the streams below the patterns, by default of all, newest first."""
    return read_tips(repo.objects, list_refs(repo, *patterns))


def list_refs(repo: Repo, *patterns: str, newest_first: bool = False) -> list[str]:
    """The refs below the patterns that are named like streams.  newest_first: sort them by their
    commits, if git has all of these."""
    folders = patterns or (*PREFIXES, ARCHIVE)
    if newest_first:
        stored = None
    else:
        stored = gitdir.list_stored(repo, folders)
    if stored is not None:
        names = [*stored]
    else:
        names = _ask_refs(repo, folders, newest_first)
    return list(filter(_is_stream, names))


def _is_stream(ref: str) -> bool:
    """Whether a ref is named like a stream."""
    return ref.startswith(ARCHIVE) or ids.parse_shadow(ref) is not None


def _ask_refs(repo: Repo, patterns: Iterable[str], newest_first: bool) -> list[str]:
    """The refs that git lists; newest_first: as list_refs() has it."""
    existing = refs.drop_empty_patterns(repo, patterns)
    if not existing:
        return []
    argv = ["for-each-ref", "--format=%(refname)", *existing]
    sort = ["--sort=-committerdate"] if newest_first else []
    status, out = repo.git.run(argv[0], *sort, *argv[1:], ok=(0, 128))
    if status:
        _, out = repo.git.run(*argv)

    from gitcp.git.records import decode_lines

    return decode_lines(out)


def read_tips(objects: Objects, names: Iterable[str]) -> list[Tip]:
    """The tips of the refs that are streams, newest first."""
    tips = []
    for ref in names:
        tip = peek_tip(objects, ref)
        if tip:
            tips.append(tip)
    return sorted(tips, key=lambda t: (t["time"], t["ref"]), reverse=True)


def read_changes(objects: Objects, tip: Tip) -> dict[str, Entry | None]:
    """path -> entry, None if deleted, of what the tip's tree changed of its base; without
    `.entire/`."""
    base = find_tree(objects, tip["base"])
    changes = compare_trees(objects, base, tip["tree"], without=".entire")
    return {path: entry for path, _, entry in changes}


def read_metadata(objects: Objects, tree: str) -> dict[str, Entry]:
    """path -> tree entry of each session's metadata directory on a stream."""
    folder = Lookup(objects, tree).read_folder(METADATA.rstrip("/"))
    return {METADATA + name: e for name, e in folder.items() if e[0] == TREE}


def list_sessions(objects: Objects, tip: Tip) -> set[str]:
    """The sessions on a stream."""
    try:
        folders = read_metadata(objects, tip["tree"])
    except Error:
        folders = {}  # the tree is gone
    return {tip["session_id"], *(path.rpartition("/")[2] for path in folders)}


def get_mode(repo: Repo) -> str:
    """The value of gitcp.streams: 'overlap' (default) or 'suffix'."""
    return str(repo.config.get_option("gitcp.streams"))


def map_suffixes(repo: Repo, base: str) -> dict[int, str]:
    """number -> ref of the suffix branches of base in this worktree."""
    by_number = {}
    # Old names without a worktree are shorter and come first: the new ones replace them.
    for ref in sorted(list_branches(repo, base), key=lambda ref: len(ids.parse_stream_name(ref))):
        parsed = ids.parse_shadow(ref)
        if parsed and parsed["suffix"] is not None:
            by_number[parsed["suffix"]] = ref
    return by_number


def list_branches(repo: Repo, base: str, candidates: Iterable[str] | None = None) -> list[str]:
    """The shadow branches of base in this worktree, in any mode and by either program.

    candidates: the refs to choose from; by default all.
    """
    plain = ids.parse_stream_name(build_ref(repo, base))
    patterns = [f"{prefix}{base[:7]}*" for prefix in PREFIXES]
    matching = []
    if candidates is None:
        candidates = refs.list_refs(repo, *patterns)
    for ref in candidates:
        parsed = ids.parse_shadow(ref)
        name = ids.parse_stream_name(ref)
        if not parsed or not base.startswith(parsed["base7"]):
            continue
        if parsed["worktree"] is None or name == plain or name.startswith(plain + "-"):
            matching.append(ref)
    return matching


def set_streams(repo: Repo, state: State) -> None:
    """Set the streams of a state, with their open files, and its large files, by the journal."""
    if state["streams"]:
        from gitcp.record.journal import edits

        state["streams"] = edits.list_open_streams(repo, state)
    if state.get("unstored"):
        session.note_unstored(state, journal.read_journal(repo, journal.get_home(repo, state)))


def save_work(repo: Repo, state: State) -> None:
    """Save a state as its next revision, and its marker."""
    state["revision"] = state.get("revision", 0) + 1
    set_streams(repo, state)
    session.put_marker(
        repo, state["session_id"], session.encode_state(state), session.encode_marker(state)
    )


def map_named_paths(repo: Repo, stream_id: str, candidates: Iterable[str]) -> dict[str, set[str]]:
    """session -> its unsettled paths on a stream, for the sessions of this worktree on it.
    candidates: sessions to read though their markers rest."""
    from gitcp.record.journal import edits

    found: dict[str, set[str]] = {}
    for marker in session.read_concerned(repo, candidates):
        if session.is_home(repo, marker) and any(
            named["id"] == stream_id for named in marker["streams"]
        ):
            for stream in edits.list_open_streams(repo, marker):
                if stream["id"] == stream_id:
                    found[marker["session_id"]] = set(stream["files"])
    return found


def _read_own(repo: Repo, base: str) -> Tip | None:
    """The stream of base.  If the person has a branch of that name, warn and take the next name
    for base."""
    while True:
        ref = build_ref(repo, base)
        tip = _read(repo, ref)
        next_ref = build_ref(repo, base)
        if next_ref == ref:
            return tip

        from gitcp.text import console

        console.warn(f"'{ref}' is a branch of yours: gitcp uses '{next_ref}' instead")


def _read(repo: Repo, ref: str) -> Tip | None:
    try:
        return read_tip(repo.objects, ref)
    except Foreign as e:
        git.append_trace("stream", str(e))
        add_foreign(repo, ref)
        return None


def find_current(repo: Repo, state: State, base: str) -> Tip | None:
    """The stream that a session is on at base: its own last one, else the newest."""
    if get_mode(repo) == "overlap":
        tip = _read_own(repo, base)
        return tip or _read(repo, ids.BRANCHES + base[:7])
    tips = {}
    for number, ref in map_suffixes(repo, base).items():
        tip = _read(repo, ref)
        if tip:
            tips[number] = tip
    own_ids = [s["id"] for s in state["streams"]]
    own_tips = [(own_ids.index(t["stream"]), t) for t in tips.values() if t["stream"] in own_ids]
    if own_tips:
        return max(own_tips, key=lambda pair: pair[0])[1]
    return tips[max(tips)] if tips else None


def should_follow(repo: Repo, tip: Tip, base: str) -> bool:
    """Whether a stream of another base moves to base (doc/behaviour.md "When HEAD moves").

    It moves if a session on it still has the old base, and some dirty file is as the stream
    recorded it.  A file with other changes may be the person's.
    """
    parsed = ids.parse_shadow(tip["ref"])
    old_base = parsed["base7"] if parsed else ""
    paths_by_session = map_named_paths(repo, tip["stream"], list_sessions(repo.objects, tip))
    stored = (session.find_marker(repo, session_id) for session_id in paths_by_session)
    bases = (marker["base_commit"] for marker in stored if marker)
    if not old_base or not any(commit.startswith(old_base) for commit in bases):
        return False
    paths = set[str]().union(*paths_by_session.values())

    from gitcp.record.snapshot import scan

    present = scan.list_dirty(repo, paths, base)
    recorded = Lookup(repo.objects, tip["tree"])
    return any(entry == recorded(path) for path, entry in present.items())


def find_live(repo: Repo, base: str, stream_id: str, ref: str = "") -> Tip | None:
    """The tip of a stream that is live at a base: on the base's branch, or on ref if its work is
    here and no event has moved it yet; None otherwise."""
    branch = build_ref(repo, base)
    for candidate in filter(None, dict.fromkeys((branch, ref))):
        if candidate.startswith(ARCHIVE):
            continue
        tip = peek_tip(repo.objects, candidate)
        if tip is None or tip["stream"] != stream_id:
            continue
        is_at_base = candidate == branch or candidate.startswith(branch + "-")
        if is_at_base or should_follow(repo, tip, base):
            return tip
    return None


# The copy of a state in every checkpoint, from which a lost state is rebuilt.
#
# `state.json` has everything except the finished turns.  Each of those is a file below `turns/`,
# written once, so that a checkpoint stores only what is new.
NAME = "state.json"
TURNS = "turns"


def read_copy(
    objects: Objects, tip: Tip, session_id: str, lookup: Lookup | None = None
) -> State | None:
    """The copy of a session's state on a stream's tip, with its last turn; None without one.

    lookup: of the tip's tree, where several are read.
    """
    lookup = lookup or Lookup(objects, tip["tree"])
    entry = lookup(f"{METADATA}{session_id}/{NAME}")
    if entry is None:
        return None
    try:
        copy: State = parse_checked(tip["ref"], objects.need(entry[1], "blob"), shapes.STATE)
    except Damaged:
        return None
    if copy["session_id"] == session_id:
        return copy
    return None


def read_with_turns(objects: Objects, tip: Tip, session_id: str) -> State | None:
    """The copy of a state as read_copy() reads it, with all turns."""
    copy = read_copy(objects, tip, session_id)
    folder = Lookup(objects, tip["tree"])(f"{METADATA}{session_id}/{TURNS}")
    if copy is None or folder is None:
        return copy
    turns: dict[str, Any] = {}

    from gitcp.git.objects.object_lists import list_files

    for _, (_, oid) in list_files(objects, folder[1]):
        try:
            turns |= parse_checked(tip["ref"], objects.need(oid, "blob"), shapes.STATE_TURNS)
        except Damaged:
            continue
    turns |= copy.get("turns", {})
    copy["turns"] = dict(sorted(turns.items(), key=lambda turn: int(turn[1].get("number", 0))))
    return copy


def catch_up_state(repo: Repo, session_id: str, state: State | None, head: str) -> State | None:
    """recall_state() for a loaded state, None if it has no file.  head: HEAD's commit."""
    if state is None:
        return _rebuild_state(repo, session_id)
    set_streams(repo, state)
    newest = _find_newest(repo.objects, session_id, _list_near(repo, state, head))
    copy = None
    if newest and newest.revision > state.get("revision", 0):
        copy = read_with_turns(repo.objects, newest.tip, session_id)
    if copy:
        git.append_trace("state", f"'{session_id}' is behind its stream: taking the copy there")
        state = session.update_fields(copy)
        set_streams(repo, state)
    return state


def holds_lost_work(repo: Repo, tip: Tip, saved: Collection[str] = frozenset()) -> bool:
    """Whether a stream has work that no state has: it was lost, or its process was killed.

    saved: the sessions whose states were just saved with everything on the stream.
    """
    try:
        lookup = Lookup(repo.objects, tip["tree"])
        sessions = list_sessions(repo.objects, tip).difference(saved)
        writers = _list_writers(repo.objects, tip) if len(sessions) > 1 else None
        for session_id in sessions:
            if writers is not None and session_id not in writers:
                if not os.path.exists(session.get_state_path(repo, session_id)):
                    return True
            elif _is_ahead(repo, tip, session_id, lookup):
                return True
    except Error:
        return True  # an unreadable stream may be unsettled
    return False


def _list_writers(objects: Objects, tip: Tip) -> set[str] | None:
    """The sessions that wrote on a stream since a commit carried it forward, which compared the
    copies of all others with their states; None if it was not carried, or long ago."""
    writers: set[str] = set()
    oid = tip["oid"]
    for _ in range(_FEW_STEPS):
        commit = need_commit(objects, oid)
        writer = find_trailer(commit["message"], SESSION_KEY)
        if not writer:
            return None  # a commit of the person's, on which the original program begins a stream
        writers.add(writer)
        if not commit["parents"]:
            return writers if commit["message"].startswith(CARRIED) else None
        oid = commit["parents"][0]
    return None


def _is_ahead(repo: Repo, tip: Tip, session_id: str, lookup: Lookup) -> bool:
    """Whether a stream has a newer state of a session than its file, or the file is gone.  Of most,
    and there may be hundreds, only the revisions are read."""
    data = read_file(session.get_state_path(repo, session_id))
    if data is None:
        return True
    entry = lookup(f"{METADATA}{session_id}/{NAME}")
    if entry is None:
        return False
    kept = session.find_revision(data)
    there = session.find_revision(repo.objects.need(entry[1], "blob"))
    if kept is not None and there is not None:
        return there > kept

    from gitcp.record.session import others

    state = others.peek_state(repo, session_id)
    copy = read_copy(repo.objects, tip, session_id, lookup)
    return state is None or bool(copy and copy.get("revision", 0) > state.get("revision", 0))


def _list_near(repo: Repo, state: State, head: str) -> list[Tip]:
    """The streams that may have a checkpoint of the session made after its state was saved."""
    home = ids.hash_worktree(str(state.get("worktree_id") or ""))
    tips = []
    for base in dict.fromkeys((state["base_commit"], head)):
        if not base:
            continue
        candidates = [build_ref(repo, base, worktree=home)]
        if get_mode(repo) == "suffix":
            candidates += refs.list_refs(repo, f"{candidates[0]}-*")
        for ref in candidates:
            tip = peek_tip(repo.objects, ref)
            if tip:
                tips.append(tip)
    return tips


@value_class
class _Copy:
    """The revision of a copy of a session's state, and the tip that has it."""

    revision: int
    tip: Tip


def _find_newest(objects: Objects, session_id: str, tips: Iterable[Tip]) -> _Copy | None:
    """The newest copy of a session's state; None without one."""
    newest: _Copy | None = None
    for tip in tips:
        try:
            copy = read_copy(objects, tip, session_id)
        except Error as e:
            git.append_trace("state", f"'{tip['ref']}': {e}")
            continue
        if copy is None:
            continue
        revision = int(copy.get("revision", 0))
        if newest is None or revision > newest.revision:
            newest = _Copy(revision, tip)
    return newest


def _rebuild_state(repo: Repo, session_id: str) -> State | None:
    marker = session.find_marker(repo, session_id)
    newest = _find_newest(repo.objects, session_id, list_tips(repo))
    copy = None
    if newest:
        copy = read_with_turns(repo.objects, newest.tip, session_id)
    if copy is None and marker is None:
        return None
    git.append_trace("state", f"'{session_id}' has no state: rebuilt from its stream and marker")
    state = session.update_fields(copy or session.make_state(repo, session_id, "", ""))
    if marker:
        _follow_marker(state, marker)
    set_streams(repo, state)
    return state


def _follow_marker(state: State, marker: Marker) -> None:
    """Update a rebuilt state from the marker, which is newer than the last checkpoint's copy."""
    streams = {stream["id"]: stream for stream in state["streams"]}
    for key in ("agent_type", "worktree_path", "phase", "base_commit", "agent_process"):
        state[key] = marker[key]
    state.pop("worktree_id", None)
    if marker.get("worktree_id"):
        state["worktree_id"] = marker["worktree_id"]
    state["checkpoint_count"] = marker["count"]
    state["streams"] = [
        {
            "id": stream["id"],
            "ref": stream["ref"],
            "base_commit": streams.get(stream["id"], marker)["base_commit"],
            "files": {},
        }
        for stream in marker["streams"]
    ]


def archive_stream(repo: Repo, tip: Tip) -> refs.Update:
    """The ref update that archives a stream."""
    name = ids.parse_stream_name(tip["ref"])
    archived = refs.list_refs(repo, f"{ARCHIVE}{name}/")
    for ref, oid in archived.items():
        if oid == tip["oid"]:  # archived by a process that was killed then
            return (ref, tip["oid"], oid)
    numbers = [
        int(ref.rpartition("/")[2]) for ref in archived if ref.rpartition("/")[2].isdecimal()
    ]
    return (f"{ARCHIVE}{name}/{max([0, *numbers]) + 1}", tip["oid"], None)


def move_home(repo: Repo) -> None:
    """Move the streams to the place that gitcp.streams-hidden says."""
    home = get_prefix(repo)
    [other] = {*PREFIXES} - {home}
    for ref in refs.list_refs(repo, other):
        if ids.parse_shadow(ref):
            with exclusive(repo, get_lock_name(repo, ref)):
                _move_home(repo, ref, home + ids.parse_stream_name(ref))


def _move_home(repo: Repo, ref: str, new_ref: str) -> None:
    try:
        tip = read_tip(repo.objects, ref)
        if tip and tip["ref"] == ref:
            exists = refs.read_ref(repo, new_ref)
            if exists:
                update = archive_stream(repo, tip)
            else:
                update = (new_ref, tip["oid"], None)
            refs.update_refs(repo, [update, (ref, None, tip["oid"])], "gitcp: streams-hidden")
    except Error as e:
        # It is the person's, or is being written to.
        git.append_trace("stream", f"'{ref}' stays: {e}")
