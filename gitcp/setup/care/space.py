"""The disk space that gitcp takes; each object counts once, for the oldest commit with it."""

from __future__ import annotations

import os
from itertools import islice
from typing import NamedTuple

from gitcp.agents import transcripts
from gitcp.checkpoints import listing, notes, stored
from gitcp.checkpoints.format import orphan_rules
from gitcp.checkpoints.share import summaries
from gitcp.checkpoints.transcripts import locate_copy
from gitcp.errors import Busy
from gitcp.git import decode_name, files, private_files, refs
from gitcp.git.files import exclusive
from gitcp.git.gitdir import packs
from gitcp.git.objects import pack_care
from gitcp.git.private_files import COMMON, WORKTREE
from gitcp.git.records import encode_lines
from gitcp.git.refs import MEMORY
from gitcp.record.journal import held_lines
from gitcp.record.session import lacks_transcript, others
from gitcp.record.session.others import list_marked_ids
from gitcp.record.session.process import is_alive
from gitcp.record.stream import ARCHIVE
from gitcp.record.turn.sessions import read_state
from gitcp.setup.care.space_sums import Item
from gitcp.text.ids import CHECKPOINTS, EDITS, NOTES, SESSION_KEY, parse_checkpoint_ref
from gitcp.text.times import parse_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gitcp.git.private_files import PrivateFile
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import State

    Owner = tuple[str, str, float]  # kind, session id or '', time
    Sessions = dict[str, tuple[str, float]]  # <xx>/<rest>/<n> -> session id, time

OURS = ("refs/heads/entire", "refs/gitcp", NOTES, "refs/entire")
_WINDOW = 20_000  # objects that one process of git is asked the sizes of
_SHARED = ("/entire/checkpoints/v1", "/entire/sessions")
_SMALL = (notes.REF, summaries.REF)
# Objects of the person's own commits do not count: the trees of all branches and of the bases of
# streams are excluded.
_WALK = ("rev-list", "--objects-edge-aggressive", "--in-commit-order", "--reverse", "--stdin")
_LIST_EDITS = ("for-each-ref", "--format=%(refname)", EDITS)
_BRANCHES = ("for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags", "refs/remotes")
_LOG = (
    "log",
    "--no-show-signature",
    "--no-notes",
    "-z",
    f"--format=%H%x00%S%x00%ct%x00%(trailers:key={SESSION_KEY},valueonly,separator=%x2C)"
    "%x00%(trailers:key=Base-Commit,valueonly,separator=%x2C)",
    "--stdin",
)


def list_items(repo: Repo, skip_sessions: bool = False) -> Iterator[Item]:
    """Every object that only gitcp's refs reach or gitcp's packs keep, then every file of gitcp.

    skip_sessions: leave out the session and time of checkpoints.  An object's size is that on disk,
    packed or not; a missing one does not count.  The ids of commits, checkpoints and the objects of
    gitcp's packs are kept in memory, not those of all objects.
    """
    pinned = dict(pack_care.list_objects(repo))

    def list_reached() -> Iterator[tuple[str, Owner]]:
        for oid, owner in _list_objects(repo, skip_sessions):
            pinned.pop(oid, None)
            yield oid, owner

    yield from _measure_objects(repo, list_reached())
    yield from _measure_objects(repo, ((oid, ("packs", "", time)) for oid, time in pinned.items()))
    yield from _list_files(repo)


def list_edits(repo: Repo) -> Iterator[Item]:
    """Every object that only the edits of sessions reach, and neither HEAD nor a branch."""
    ours = [decode_name(line) for line in repo.git.read_records(*_LIST_EDITS, sep=b"\n")]
    theirs = [decode_name(line) for line in repo.git.read_records(*_BRANCHES, sep=b"\n")]
    if ours:
        owners, _ = _read_commits(repo, ours)
        yield from _measure_objects(
            repo, _name_owners(_walk(repo, ours, ["HEAD", *theirs]), owners, {})
        )


def _list_objects(repo: Repo, skip_sessions: bool) -> Iterator[tuple[str, Owner]]:
    """(oid, owner) of every object that only gitcp's refs reach."""
    lines = repo.git.read_records("for-each-ref", "--format=%(refname) %(objectname)", sep=b"\n")
    tips = dict(decode_name(line).split(" ") for line in lines)
    tips.pop(MEMORY, None)
    present = _read_sizes(repo, list(tips.values()))
    names = [ref for ref, oid in tips.items() if oid in present]
    sources = {ref for ref in stored.list_sources(repo) if ref in names}
    sources |= {ref for ref in names if parse_checkpoint_ref(ref)}
    own = {ref for ref in names if ref.startswith(OURS)}
    ours = [ref for ref in names if ref in own | sources]
    if not ours:
        return
    owners, bases = _read_commits(repo, ours)
    others_refs = [ref for ref in names if ref not in ours]
    theirs = [ref for ref in others_refs if not ref.endswith(_SHARED)]
    lasting = sources.union(_SMALL)
    permanent = [ref for ref in ours if ref in lasting]
    sessions: Sessions = {}
    if not skip_sessions:
        sessions = _map_sessions(repo)
    without = ["HEAD", *theirs, *bases]
    temporary = [ref for ref in ours if ref not in permanent]
    # An object that a checkpoint has too counts as the checkpoint's.
    remaining = dict(_name_owners(_walk(repo, temporary, without), owners, sessions))
    # Checkpoints share no history with the person's commits; excluding those would take long.
    for oid, owner in _name_owners(_walk(repo, permanent, []), owners, sessions):
        remaining.pop(oid, None)
        yield oid, owner
    yield from remaining.items()


def _name_owners(
    objects: Iterable[tuple[str, str]], owners: Mapping[str, Owner], sessions: Sessions
) -> Iterator[tuple[str, Owner]]:
    """(oid, owner) of objects, which are (oid, path), each after the commit that first had it."""
    owner: Owner = ("", "", 0.0)
    for oid, path in objects:
        owner = owners.get(oid, owner)
        yield oid, _choose_owner(owner, path, sessions)


def _measure_objects(repo: Repo, owned: Iterable[tuple[str, Owner]]) -> Iterator[Item]:
    pairs = iter(owned)
    while True:
        window = dict(islice(pairs, _WINDOW))
        if not window:
            break
        for oid, size in _read_sizes(repo, list(window)).items():
            kind, session_id, time = window[oid]
            yield Item(kind, session_id, time, size)


class _Commits(NamedTuple):
    """The commits of gitcp's refs."""

    owners: dict[str, Owner]
    bases: list[str]  # the base commits of streams


def _read_commits(repo: Repo, names: list[str]) -> _Commits:
    _, out = repo.git.run(*_LOG, stdin=encode_lines(names))
    owners: dict[str, Owner] = {}
    bases: set[str] = set()
    known = frozenset(others.list_state_ids(repo))
    fields = iter(decode_name(out).split("\0"))
    for oid, ref, when, sessions, base in zip(fields, fields, fields, fields, fields, strict=False):
        session = held_lines.find_session(ref, known)
        if not session and "," not in sessions:
            session = sessions
        owners[oid] = (_choose_kind(ref), session, float(when or 0))
        if base.strip("0"):
            bases.add(base)
    return _Commits(owners, sorted(bases))


def _choose_kind(ref: str) -> str:
    if ref in _SMALL:
        return "notes"
    if ref.startswith(EDITS):
        return "edits"
    if ref.startswith(ARCHIVE):
        return "archives"
    is_checkpoint = ref.startswith(CHECKPOINTS)
    if is_checkpoint or ref.endswith(_SHARED):
        return "checkpoints"
    return "streams"


def _walk(repo: Repo, ours: list[str], without: list[str]) -> Iterator[tuple[str, str]]:
    """(oid, path) of each object that ours reach and without do not, after the oldest commit that
    has it."""
    if not ours:
        return
    present = _read_sizes(repo, without)
    names = [*ours, *(f"^{name}" for name in present)]
    args = (*_WALK, "--missing=allow-any")
    for line in repo.git.stream_records(*args, sep=b"\n", stdin=encode_lines(names)):
        oid, _, path = decode_name(line).partition(" ")
        yield oid, path


def _choose_owner(owner: Owner, path: str, sessions: Sessions) -> Owner:
    kind, session_id, time = owner
    if kind != "checkpoints":
        return owner
    parts = path.split("/")
    if len(parts) > 1 and transcripts.parse_number(parts[-1]) is not None:
        kind = "transcripts"
    entry = sessions and (sessions.get("/".join(parts[:3])) or sessions.get("/".join(parts[:2])))
    if entry:
        return (kind, *entry)
    return (kind, session_id, time)


def _map_sessions(repo: Repo) -> Sessions:
    sessions: Sessions = {}
    for checkpoint in listing.list_checkpoints(repo, skip_summary=True):
        cid = checkpoint["checkpoint_id"]
        for entry in checkpoint["sessions"]:
            path = f"{cid[:2]}/{cid[2:]}/{entry['directory']}".rstrip("/")
            sessions[path] = entry["session_id"], parse_time(entry["metadata"].get("created_at"))
    return sessions


def _read_sizes(repo: Repo, oids: list[str]) -> dict[str, int]:
    """name -> bytes on disk, of each object that exists."""
    if not oids:
        return {}
    form = "--batch-check=%(objectsize:disk)"
    _, out = repo.git.run("cat-file", form, stdin=encode_lines(oids))
    pairs = zip(oids, out.splitlines(), strict=True)
    return {name: int(size) for name, size in pairs if size.isdigit()}


def _list_files(repo: Repo) -> Iterator[Item]:
    """Every file of gitcp outside the object database."""
    for name in files.list_names(os.path.join(repo.common, "entire-sessions")):
        path = os.path.join(repo.common, "entire-sessions", name)
        yield from _measure_file(path, "states", name.removesuffix(".json"))
    for top in repo.list_folders():
        for folder, _, names in os.walk(top):
            for path in (os.path.join(folder, name) for name in sorted(names)):
                yield from _measure_file(path, "caches", _find_owner(os.path.relpath(path, top)))


def _find_owner(path: str) -> str:
    """The session of a private file, by its path below gitcp's directory; '' if it has none."""
    file = private_files.find_file(path, COMMON, WORKTREE)
    owners = orphan_rules.list_possible_owners(os.path.basename(path))
    if file and file.is_of_session:
        return min(owners, key=len)
    return ""


class Owned(NamedTuple):
    """A private file of a session."""

    file: PrivateFile
    path: str
    owners: set[str]  # the sessions to which it may belong


def list_owned(repo: Repo, word: str) -> Iterator[Owned]:
    """The private files of sessions to which the table gives this word (git/private_files)."""
    for file in filter(lambda file: file.is_of_session, private_files.list_files(word)):
        paths = [repo.join_shared()]
        if file.place == WORKTREE:
            paths = repo.list_folders()
        for name in file.name.split("/"):
            paths = [*_list_below(paths, name)]
        for path in paths:
            yield Owned(file, path, orphan_rules.list_possible_owners(os.path.basename(path)))


def _list_below(folders: Iterable[str], name: str) -> Iterator[str]:
    """The paths of a name in folders; of `<anything>` those of all that is there."""
    for folder in folders:
        names = [name]
        if name.startswith("<"):
            names = files.list_names(folder)
        for each in names:
            yield os.path.join(folder, each)


def _measure_file(path: str, kind: str, session_id: str) -> Iterator[Item]:
    try:
        st = os.lstat(path)
    except OSError:
        return  # gone meanwhile
    yield Item(kind, session_id, st.st_mtime, st.st_size)


def list_surplus(repo: Repo) -> list[str]:
    """The settled sessions whose edits exceed gitcp.max-edits, the oldest first."""
    ceiling = repo.config.get_option("gitcp.max-edits")
    if _count_pinned(repo) <= ceiling:
        return []
    sizes: dict[str, int] = {}
    for item in list_edits(repo):
        sizes[item.session_id] = sizes.get(item.session_id, 0) + item.size
    return orphan_rules.choose_surplus(sizes, _list_settled(repo, sizes), ceiling)


def enforce_ceiling(repo: Repo) -> None:
    """Delete the edits of the sessions of list_surplus(), except of one that is at work again."""
    tips = refs.list_refs(repo, EDITS)
    known = set(others.list_state_ids(repo))
    gone = list[str]()
    for session_id in list_surplus(repo):
        doomed = [ref for ref in tips if held_lines.find_session(ref, known) == session_id]
        try:
            with exclusive(repo, f"session-{session_id}", 0):
                if is_settled(repo, session_id):
                    updates = [(ref, None, tips[ref]) for ref in doomed]
                    refs.update_refs(repo, updates, "gitcp: max-edits")
                    gone += [tips[ref] for ref in doomed]
        except Busy:
            continue
    pack_care.unpin_tips(repo, gone)


_COPIED = 8 << 20  # bytes of the copies of transcripts that settled sessions may keep


def limit_copies(repo: Repo) -> None:
    """Remove copies of the transcripts of settled sessions, the oldest first, until all copies take
    at most _COPIED bytes.  A session that goes on copies its transcript again."""
    known = set(others.list_state_ids(repo))
    copies = dict[str, list[str]]()
    sizes: dict[str, int] = {}
    for name in files.list_names(locate_copy(repo)):
        path = locate_copy(repo, name)
        owners = orphan_rules.list_possible_owners(name)
        session_id = min(owners & known or owners, key=len)
        copies.setdefault(session_id, []).append(path)
        size = 0
        if os.path.lexists(path):
            size = os.lstat(path).st_size
        sizes[session_id] = sizes.get(session_id, 0) + size
    if sum(sizes.values()) > _COPIED:
        settled = _list_settled(repo, sizes)
    else:
        settled = []
    for session_id in orphan_rules.choose_surplus(sizes, settled, _COPIED):
        try:
            with exclusive(repo, f"transcript-{session_id}", 0):
                state = others.peek_state(repo, session_id)
                if is_settled(repo, session_id) and not (state and lacks_transcript(state)):
                    for path in copies[session_id]:
                        files.remove_private(repo, path)
        except Busy:
            continue


def is_settled(repo: Repo, session_id: str) -> bool:
    """Whether a session has no open work, or neither a state nor a marker."""
    if session_id in others.list_state_ids(repo):
        return orphan_rules.is_settled(read_state(repo, session_id))
    return session_id not in list_marked_ids(repo)


def get_last_seen(state: State) -> float:
    """The time of a session's last event, in seconds since 1970; 0 if unknown."""
    keys = ("last_interaction_time", "ended_at", "started_at")
    return max(parse_time(state.get(key)) for key in keys)


def _list_settled(repo: Repo, sessions: Iterable[str]) -> list[str]:
    """The settled sessions, the oldest first; those whose agent still runs come last."""
    order: list[tuple[bool, float, str]] = []
    known = set(others.list_state_ids(repo))
    for session_id in filter(None, sessions):
        if is_settled(repo, session_id):
            runs = False
            last = 0.0
            if session_id in known:
                state = read_state(repo, session_id)
                runs = is_alive(state.get("agent_process"))
                last = get_last_seen(state)
            order.append((runs, last, session_id))
    return [session_id for _, _, session_id in sorted(order)]


def _count_pinned(repo: Repo) -> int:
    """The bytes of gitcp's own packs, which hold the edits until git packs them."""
    folder = packs.locate_folder(repo)
    total = 0
    for name in packs.list_packs(repo):
        try:
            total += os.stat(os.path.join(folder, f"{name}.pack")).st_size
        except OSError:
            continue  # merged into another pack meanwhile
    return total
