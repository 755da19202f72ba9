"""The disk space that gitcp takes; each object counts once, for the oldest commit with it."""

from __future__ import annotations

import os
import time
from itertools import islice
from typing import NamedTuple

from gitcp import files
from gitcp.core import formats, orphan_rules, transcripts
from gitcp.core.formats import CHECKPOINTS, parse_checkpoint_ref
from gitcp.core.orphan_rules import build_finding, format_days
from gitcp.errors import Busy, Error, Moved
from gitcp.git import decode_name
from gitcp.lock import exclusive
from gitcp.record import encode_lines
from gitcp.store import journal, notes, pack_care, packs, private, refs, repair, undo
from gitcp.store.care.case import OURS, Case
from gitcp.store.care.stored import list_leftovers
from gitcp.store.journal import edits, open_edits
from gitcp.store.objects import Objects, parse_ident, read_commit
from gitcp.store.refs import MEMORY
from gitcp.store.repair import SCRATCH_AGE
from gitcp.store.session import (
    RESTING,
    forget_marker,
    is_alive,
    lacks_transcript,
    list_marked_ids,
    load_state,
    others,
)
from gitcp.store.stream import ARCHIVE, read_changes, stream_list
from gitcp.store.turn import sessions as turn_sessions
from gitcp.store.turn.sessions import parse_time
from gitcp.store.v1 import checkpoint_list, checkpoints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gitcp.core.findings import Item
    from gitcp.core.orphan_rules import Ages
    from gitcp.core.record_types import Finding, Record, State, Tip
    from gitcp.repo import Repo
    from gitcp.store.care.case import Survey

    Owner = tuple[str, str, float]  # kind, session id or '', time
    Place = dict[str, tuple[str, float]]  # <xx>/<rest>/<n> -> session id, time

_WINDOW = 20_000  # objects that one process of git is asked the sizes of
_SHARED = ("/entire/checkpoints/v1", "/entire/sessions")
# Objects of the person's own commits do not count: the trees of all branches and of the bases of
# streams are excluded.
_WALK = ("rev-list", "--objects-edge-aggressive", "--in-commit-order", "--reverse", "--stdin")
_EDITS = ("for-each-ref", "--format=%(refname)", journal.PREFIX)
_BRANCHES = ("for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags", "refs/remotes")
_LOG = (
    "log",
    "--no-show-signature",
    "--no-notes",
    "-z",
    "--format=%H%x00%S%x00%ct%x00%(trailers:key=Entire-Session,valueonly,separator=%x2C)"
    "%x00%(trailers:key=Base-Commit,valueonly,separator=%x2C)",
    "--stdin",
)


def list_items(repo: Repo, brief: bool = False) -> Iterator[Item]:
    """Every object that only gitcp's refs reach or gitcp's packs keep, then every file of gitcp.

    brief: leave out the session and time of checkpoints.  An object's size is that on disk, packed
    or not; a missing one does not count.  It keeps the ids of commits, checkpoints and the objects
    of gitcp's packs in memory, not those of all objects.
    """
    pinned = dict(pack_care.list_objects(repo))

    def list_owned() -> Iterator[tuple[str, Owner]]:
        for oid, owner in _list_objects(repo, brief):
            pinned.pop(oid, None)
            yield oid, owner

    yield from _measure_objects(repo, list_owned())
    yield from _measure_objects(repo, ((oid, ("packs", "", time)) for oid, time in pinned.items()))
    yield from _list_files(repo)


def list_edits(repo: Repo) -> Iterator[Item]:
    """Every object that only the edits of sessions reach, and neither HEAD nor a branch."""
    ours = [decode_name(line) for line in repo.git.read_records(*_EDITS, sep=b"\n")]
    theirs = [decode_name(line) for line in repo.git.read_records(*_BRANCHES, sep=b"\n")]
    if ours:
        owners, _ = _read_commits(repo, ours)
        yield from _measure_objects(
            repo, _name_owners(_walk(repo, ours, ["HEAD", *theirs]), owners, {})
        )


def _list_objects(repo: Repo, brief: bool) -> Iterator[tuple[str, Owner]]:
    """(oid, owner) of every object that only gitcp's refs reach."""
    lines = repo.git.read_records("for-each-ref", "--format=%(refname) %(objectname)", sep=b"\n")
    refs = dict(decode_name(line).split(" ") for line in lines)
    present = _read_sizes(repo, list(refs.values()))
    refs = {ref: oid for ref, oid in refs.items() if oid in present and ref != MEMORY}
    sources = [ref for ref in checkpoints.list_sources(repo) if ref in refs]
    sources += [ref for ref in refs if parse_checkpoint_ref(ref)]
    ours = [ref for ref in refs if ref.startswith(OURS) or ref in sources]
    if not ours:
        return
    owners, bases = _read_commits(repo, ours)
    theirs = [ref for ref in refs if ref not in ours and not ref.endswith(_SHARED)]
    permanent = [ref for ref in ours if ref in sources or ref == notes.REF]
    places: Place = {} if brief else _map_places(repo)
    without = ["HEAD", *theirs, *bases]
    temporary = [ref for ref in ours if ref not in permanent]
    # An object that a checkpoint has too counts as the checkpoint's.
    remaining = dict(_name_owners(_walk(repo, temporary, without), owners, places))
    # Checkpoints share no history with the person's commits; excluding those would take long.
    for oid, owner in _name_owners(_walk(repo, permanent, []), owners, places):
        remaining.pop(oid, None)
        yield oid, owner
    yield from remaining.items()


def _name_owners(
    objects: Iterable[tuple[str, str]], owners: Mapping[str, Owner], places: Place
) -> Iterator[tuple[str, Owner]]:
    """(oid, owner) of objects and their paths, each after the commit that first had it."""
    owner: Owner = ("", "", 0.0)
    for oid, path in objects:
        owner = owners.get(oid, owner)
        yield oid, _choose_owner(owner, path, places)


def _measure_objects(repo: Repo, owned: Iterable[tuple[str, Owner]]) -> Iterator[Item]:
    pairs = iter(owned)
    while window := dict(islice(pairs, _WINDOW)):
        for oid, size in _read_sizes(repo, list(window)).items():
            kind, session_id, time = window[oid]
            yield {"kind": kind, "session_id": session_id, "time": time, "bytes": size}


def _read_commits(repo: Repo, refs: list[str]) -> tuple[dict[str, Owner], list[str]]:
    """(commit -> its owner, for the commits of gitcp's refs; the base commits of streams)."""
    _, out = repo.git.run(*_LOG, stdin=encode_lines(refs))
    owners, bases, known = {}, set(), frozenset(others.list_state_ids(repo))
    fields = iter(decode_name(out).split("\0"))
    for oid, ref, when, sessions, base in zip(fields, fields, fields, fields, fields, strict=False):
        session = journal.find_session(ref, known)
        session = session or ("" if "," in sessions else sessions)
        owners[oid] = (_choose_kind(ref), session, float(when or 0))
        if base.strip("0"):
            bases.add(base)
    return owners, sorted(bases)


def _choose_kind(ref: str) -> str:
    if ref == notes.REF:
        return "notes"
    if ref.startswith(journal.PREFIX):
        return "edits"
    if ref.startswith(ARCHIVE):
        return "archives"
    own = ref.startswith(CHECKPOINTS)
    return "checkpoints" if own or ref.endswith(_SHARED) else "streams"


def _walk(repo: Repo, ours: list[str], without: list[str]) -> Iterator[tuple[str, str]]:
    """(oid, path) of each object that ours reach and without do not, after the oldest commit that
    has it."""
    if not ours:
        return
    present = _read_sizes(repo, without)
    names = [*ours, *(f"^{name}" for name in without if name in present)]
    args = (*_WALK, "--missing=allow-any")
    for line in repo.git.stream_records(*args, sep=b"\n", stdin=encode_lines(names)):
        oid, _, path = decode_name(line).partition(" ")
        yield oid, path


def _choose_owner(owner: Owner, path: str, places: Place) -> Owner:
    kind, session_id, time = owner
    if kind != "checkpoints":
        return owner
    parts = path.split("/")
    if len(parts) > 1 and transcripts.parse_number(parts[-1]) is not None:
        kind = "transcripts"
    entry = places and (places.get("/".join(parts[:3])) or places.get("/".join(parts[:2])))
    return (kind, *entry) if entry else (kind, session_id, time)


def _map_places(repo: Repo) -> Place:
    places: Place = {}
    for checkpoint in checkpoint_list.list_checkpoints(repo, brief=True):
        cid = checkpoint["checkpoint_id"]
        for entry in checkpoint["sessions"]:
            path = f"{cid[:2]}/{cid[2:]}/{entry['directory']}".rstrip("/")
            places[path] = entry["session_id"], parse_time(entry["metadata"].get("created_at"))
    return places


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
            for name in sorted(names):
                session = ""
                if os.path.basename(folder) in ("transcript", "turn", "open", RESTING):
                    session = min(orphan_rules.list_possible_owners(name), key=len)
                yield from _measure_file(os.path.join(folder, name), "caches", session)


def _measure_file(path: str, kind: str, session_id: str) -> Iterator[Item]:
    try:
        st = os.lstat(path)
    except OSError:
        return  # gone meanwhile
    yield {"kind": kind, "session_id": session_id, "time": st.st_mtime, "bytes": st.st_size}


def list_surplus(repo: Repo) -> list[str]:
    """The settled sessions whose edits exceed gitcp.max-edits, the oldest first."""
    ceiling = repo.config.get_option("gitcp.max-edits")
    if _count_pinned(repo) <= ceiling:
        return []
    sizes: dict[str, int] = {}
    for item in list_edits(repo):
        sizes[item["session_id"]] = sizes.get(item["session_id"], 0) + item["bytes"]
    return orphan_rules.choose_surplus(sizes, _list_settled(repo, sizes), ceiling)


def enforce_ceiling(repo: Repo) -> None:
    """Delete the edits of the sessions of list_surplus(), except of one that is at work again."""
    tips = refs.list_refs(repo, journal.PREFIX)
    known, gone = set(others.list_state_ids(repo)), list[str]()
    for session_id in list_surplus(repo):
        doomed = [ref for ref in tips if journal.find_session(ref, known) == session_id]
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
    known, copies = set(others.list_state_ids(repo)), dict[str, list[str]]()
    sizes: dict[str, int] = {}
    for name in files.list_names(repo.join_shared("transcript")):
        path = repo.join_shared("transcript", name)
        owners = orphan_rules.list_possible_owners(name)
        session_id = min(owners & known or owners, key=len)
        copies.setdefault(session_id, []).append(path)
        size = os.lstat(path).st_size if os.path.lexists(path) else 0
        sizes[session_id] = sizes.get(session_id, 0) + size
    settled = _list_settled(repo, sizes) if sum(sizes.values()) > _COPIED else []
    for session_id in orphan_rules.choose_surplus(sizes, settled, _COPIED):
        try:
            with exclusive(repo, f"transcript-{session_id}", 0):
                state = others.peek_state(repo, session_id)
                if is_settled(repo, session_id) and not (state and lacks_transcript(state)):
                    for path in copies[session_id]:
                        private.remove_private(repo, path)
        except Busy:
            continue


def is_settled(repo: Repo, session_id: str) -> bool:
    """Whether a session has no open work, or neither a state nor a marker."""
    if session_id in others.list_state_ids(repo):
        return orphan_rules.is_settled(turn_sessions.read_state(repo, session_id))
    return session_id not in list_marked_ids(repo)


def get_last_seen(state: State) -> float:
    """The time of a session's last event, in seconds since 1970; 0 if unknown."""
    keys = ("last_interaction_time", "ended_at", "started_at")
    return max(turn_sessions.parse_time(state.get(key)) for key in keys)


def _list_settled(repo: Repo, sessions: Iterable[str]) -> list[str]:
    """The settled sessions, the oldest first; those whose agent still runs come last."""
    order: list[tuple[bool, float, str]] = []
    known = set(others.list_state_ids(repo))
    for session_id in filter(None, sessions):
        if is_settled(repo, session_id):
            state = turn_sessions.read_state(repo, session_id) if session_id in known else None
            runs = bool(state and is_alive(state.get("agent_process")))
            order.append((runs, get_last_seen(state) if state else 0.0, session_id))
    return [session_id for _, _, session_id in sorted(order)]


def _count_pinned(repo: Repo) -> int:
    """The bytes of gitcp's own packs, which hold the edits until git packs them."""
    folder, total = packs.locate_folder(repo), 0
    for name in packs.list_packs(repo):
        try:
            total += os.stat(os.path.join(folder, f"{name}.pack")).st_size
        except OSError:
            continue  # merged into another pack meanwhile
    return total


# Finding what no session and no commit needs.  Nothing is changed.
LOG, STEPS, KEPT = "expired-undo", "expired-steps", "kept-file"


def find_ages(repo: Repo, age: int | None = None, edits: bool = False) -> Ages:
    """The ages by gitcp.archive-expire and gitcp.state-expire; age: days for both instead.

    edits: the edits of settled sessions expire at once."""
    archive = repo.config.get_option("gitcp.archive-expire")
    state = repo.config.get_option("gitcp.state-expire")
    if age is not None:
        archive = state = age
    day = orphan_rules.DAY
    return orphan_rules.Ages(time.time(), archive * day, state * day, edits)


def look_at_orphans(case: Case) -> Iterator[Finding]:
    """Findings of the kinds of orphan_rules, in its order.  `settled` is false for a stream without
    a state until it is as old as an expired archive."""
    survey, ages = case.survey, case.ages or find_ages(case.repo)
    expired = {state["session_id"]: state for state in survey.states if is_expired(state, ages)}
    lasting = {state["session_id"] for state in survey.states} | set(survey.markers)
    lasting -= set(expired)
    yield from _find_streams(survey, ages)
    yield from _find_lost(survey, ages)
    yield from _find_edits(survey, ages, lasting)
    for name, state in expired.items():
        last = get_last_seen(state)
        reason = f"{state['phase']} and settled, not used for {format_days(ages.now - last)}"
        revision = state.get("revision", 0)
        yield build_finding("settled-state", name, reason, time=int(last), revision=revision)
    for kind, path, owners in _list_session_files(survey):
        # A new session may write its files before its state.
        is_old = not owners.isdisjoint(expired) or files.is_older(path, SCRATCH_AGE)
        if owners.isdisjoint(lasting) and is_old:
            yield build_finding(kind, path, "its session has no state that lasts")
    for path in list_leftovers(survey):
        yield build_finding("leftover", path, "nothing has touched it for an hour")
    yield from _find_steps(survey, ages)


def _find_edits(survey: Survey, ages: Ages, lasting: set[str]) -> Iterator[Finding]:
    """The edits of sessions without a state that lasts, and those of settled sessions if
    gitcp.max-edits is exceeded or ages.edits is set."""
    surplus = set(list_surplus(survey.repo))
    revisions = {state["session_id"]: state.get("revision", 0) for state in survey.states}
    for ref, oid in survey.refs.items():
        session_id, why = journal.find_session(ref, lasting | set(revisions)), ""
        if not session_id:
            continue
        if session_id not in lasting:
            is_old = ages.now - _read_time(survey, oid) >= ages.archive
            why = "no state of its session lasts" if is_old or ages.edits else ""
        elif session_id in surplus:
            why = "all take more than gitcp.max-edits"
        elif ages.edits and is_settled(survey.repo, session_id):
            why = "its session is settled"
        if why:
            facts = {"session_id": session_id, "revision": revisions.get(session_id)}
            yield build_finding("orphan-edits", ref, why, oid=oid, ref=ref, **facts)


def _read_time(survey: Survey, oid: str) -> float:
    """The date of a commit, in seconds since 1970; 0 if it is missing."""
    commit = read_commit(survey.repo.objects, oid)
    return float(parse_ident(commit["committer"])[1]) if commit else 0.0


def is_expired(state: State, ages: Ages) -> bool:
    """Whether a state is settled, its agent does not run, and it is older than ages.state."""
    if not orphan_rules.is_settled(state) or is_alive(state.get("agent_process")):
        return False
    return ages.now - get_last_seen(state) >= ages.state


class _SessionFile(NamedTuple):
    """A file of a session."""

    kind: str
    path: str
    owners: set[str]  # the sessions to which it may belong


def _list_session_files(survey: Survey) -> Iterator[_SessionFile]:
    """The files of sessions, whether there is such a session or not."""
    repo = survey.repo
    folders = [("transcript-cache", repo.join_shared("transcript"))]
    folders += [("turn-file", os.path.join(folder, "turn")) for folder in repo.list_folders()]
    for kind, folder in folders:
        for name in files.list_names(folder):
            owners = orphan_rules.list_possible_owners(name)
            yield _SessionFile(kind, os.path.join(folder, name), owners)
    for name in files.list_names(repo.join_shared("lock")):
        lock, _, session_id = name.partition("-")
        if lock in ("session", "transcript"):
            yield _SessionFile("session-lock", repo.join_shared("lock", name), {session_id})


def _find_streams(survey: Survey, ages: Ages) -> Iterator[Finding]:
    """The streams that no state names, and old ones: archives, and branches of a base that no
    worktree is on.  A stream of an active session is not listed.

    `alone`: session -> the paths of its state that only this stream records; they are settled
    with it.
    """
    doomed: list[tuple[str, Tip, str]] = []
    for tip in survey.tips:
        kind, lifetime, why = _judge_stream(survey, tip, ages)
        age = ages.now - _read_change_time(survey.repo, tip)
        reason = f"{why}; {format_days(age)} old"
        if kind and age >= lifetime and tip["ref"] not in survey.held:
            doomed.append((kind, tip, reason))
        elif kind in ("orphan-stream", "settled-stream"):
            yield build_finding(kind, tip["ref"], reason, settled=False, **_list_facts(tip))
    doomed_refs = {tip["ref"] for _, tip, _ in doomed}
    for kind, tip, reason in doomed:
        alone = _map_unshared(survey, tip, doomed_refs)
        words = f"{reason}; settles {_format_paths(alone)}" if alone else reason
        yield build_finding(kind, tip["ref"], words, alone=alone, **_list_facts(tip))


class _Expiry(NamedTuple):
    """When a stream expires."""

    kind: str = ""  # '' if it does not
    lifetime: float = 0  # seconds
    why: str = ""


def _judge_stream(survey: Survey, tip: Tip, ages: Ages) -> _Expiry:
    """Whether a stream expires, and after how long."""
    archived = tip["ref"].startswith(ARCHIVE)
    if survey.is_orphaned(tip):
        if survey.is_settled(tip):
            return _Expiry("settled-stream", ages.state, "commits have settled it")
        return _Expiry("orphan-stream", ages.archive, "no state names it")
    parsed = None if archived else formats.parse_shadow(tip["ref"])
    left = parsed and not any(head.startswith(parsed["base7"]) for head in survey.list_heads())
    naming = survey.list_states(tip) if archived or left else []
    # An unreadable state has no phase: it may name any stream.
    if not naming or any(state["phase"] not in ("idle", "ended") for state in naming):
        return _Expiry()
    if left:
        return _Expiry("left-stream", ages.archive, "no worktree is on its base")
    return _Expiry("expired-archive", ages.archive, "archived")


def _find_lost(survey: Survey, ages: Ages) -> Iterator[Finding]:
    """The streams that states name and no ref has, when the state is older than ages.archive."""
    existing = {tip["stream"] for tip in survey.tips}
    for state in survey.states:
        if state.get("unreadable") or state["phase"] not in ("idle", "ended"):
            continue
        age = ages.now - get_last_seen(state)
        for stream in state["streams"]:
            paths = sorted(stream["files"])
            if paths and stream["id"] not in existing and age >= ages.archive:
                alone = {state["session_id"]: paths}
                words = f"no ref has stream '{stream['id']}'; {format_days(age)} old; settles"
                facts = {"stream": stream["id"], "alone": alone}
                yield build_finding(
                    "lost-stream", state["session_id"], f"{words} {_format_paths(alone)}", **facts
                )


def _list_facts(tip: Tip) -> dict[str, object]:
    return {"ref": tip["ref"], "oid": tip["oid"], "time": tip["time"], "stream": tip["stream"]}


def _map_unshared(survey: Survey, tip: Tip, doomed: set[str]) -> dict[str, list[str]]:
    """session -> the paths of its state on a stream that no ref outside doomed records."""
    stream_id, states = tip["stream"], survey.list_states(tip)
    recorded = _list_recorded(survey, stream_id, doomed) if states else set()
    unshared = {}
    for state in states:
        paths = {p for s in state["streams"] if s["id"] == stream_id for p in s["files"]}
        if paths - recorded:
            unshared[state["session_id"]] = sorted(paths - recorded)
    return unshared


def _format_paths(alone: dict[str, list[str]]) -> str:
    return "; ".join(f"{' '.join(paths)} of '{name}'" for name, paths in alone.items())


def _read_change_time(repo: Repo, tip: Tip) -> float:
    """The time of a stream's last change: an old one may have been archived just now."""
    try:
        return max(tip["time"], os.stat(os.path.join(repo.common, tip["ref"])).st_mtime)
    except OSError:
        return tip["time"]  # a packed ref has no file


def _list_recorded(survey: Survey, stream_id: str, doomed: set[str]) -> set[str]:
    """The paths that the refs of a stream record, except the doomed refs."""
    paths: set[str] = set()
    for tip in survey.tips:
        if tip["stream"] == stream_id and tip["ref"] not in doomed:
            try:
                paths.update(read_changes(survey.repo.objects, tip))
            except Error:  # objects are missing: it may record any path of its states
                states = survey.list_states(tip)
                paths.update(p for s in states for stream in s["streams"] for p in stream["files"])
    return paths


def _find_steps(survey: Survey, ages: Ages) -> Iterator[Finding]:
    """Undo logs with expired steps, and kept files that no other step needs.  A step expires like
    an archive."""
    repo, before = survey.repo, ages.now - ages.archive
    needed: set[str] = set()
    for ref, oid in survey.refs.items():
        if not ref.startswith(undo.PREFIX):
            continue
        steps = undo.read_steps(repo, ref)
        left = undo.list_young(steps, before)
        needed |= undo.list_contents(left)
        if steps and not left:
            age = format_days(ages.now - steps[-1]["time"])
            yield build_finding(LOG, ref, f"its last step is {age} old", oid=oid, ref=ref)
        elif len(left) < len(steps):
            count = f"{len(steps) - len(left)} of {len(steps)} steps are"
            reason = f"{count} older than {format_days(ages.archive)}"
            yield build_finding(STEPS, ref, reason, oid=oid, before=int(before))
    for name in files.list_names(repo.join_shared("kept")):
        path = repo.join_shared("kept", name)
        if name not in needed and files.is_older(path, SCRATCH_AGE):
            yield build_finding(KEPT, path, "no step of an undo log needs it")


def find_orphans(repo: Repo, ages: Ages) -> list[Finding]:
    """The findings that gitcp-clean(1) shows."""
    with Case(repo, ages=ages) as case:
        return list(look_at_orphans(case))


# Deleting what is settled: first what states name, then refs with their exact old values.
#
# After a kill in between there is an archive that no state names; the next run deletes it.
_RELEASED = 3600.0  # seconds; objects of younger packs may not have their ref yet
_FILES = ("transcript-cache", "turn-file", "session-lock", "leftover")


def delete_settled(repo: Repo, ages: Ages, findings: Iterable[Finding]) -> list[Finding]:
    """Delete the settled findings of find_orphans(); return those that were deleted.

    What has changed since, or belongs to a session that is active now, stays.  Raises Busy when a
    session is locked.
    """
    doomed = [finding for finding in findings if finding["settled"]]
    done = _delete_refs(repo, [finding for finding in doomed if "ref" in finding])
    for finding in doomed:
        if finding["kind"] == "settled-state" and _delete_state(repo, finding, ages):
            done.append(finding)
        if finding["kind"] == "lost-stream" and _let_go(repo, finding):
            done.append(finding)
    if doomed:
        packs.release_packs(repo, age=_RELEASED)  # git may prune the deleted objects
        pack_care.unpin_tips(repo, [finding["oid"] for finding in done if "ref" in finding])
    sessions = set(others.list_state_ids(repo)) | set(list_marked_ids(repo))
    done += [f for f in doomed if f["kind"] in _FILES and _delete_file(repo, f, sessions)]
    return done + [finding for finding in doomed if _clean_undo(repo, finding)]


def _clean_undo(repo: Repo, item: Finding) -> bool:
    """Cut an undo log, or remove a file that no log needs; return whether that was done."""
    if item["kind"] == KEPT:
        is_old = files.is_older(item["subject"], repair.SCRATCH_AGE)  # no new step needs it
        if is_old:
            os.unlink(item["subject"])
        return is_old
    if item["kind"] != STEPS:
        return False
    with Objects(repo):
        gone = undo.shorten_log(repo, item["subject"], item["oid"], item["before"])
    stream_list.add_records(repo, gone or [])
    return gone is not None


def _delete_refs(repo: Repo, doomed: list[Finding]) -> list[Finding]:
    doomed = [finding for finding in doomed if _let_go(repo, finding)]
    points = _list_points(repo, doomed)
    while doomed:
        try:
            updates = [(finding["ref"], None, finding["oid"]) for finding in doomed]
            refs.update_refs(repo, updates, "gitcp: clean")
        except Moved as e:
            left = [finding for finding in doomed if finding["ref"] != e.ref]
            if len(left) == len(doomed):
                raise
            doomed = left
        else:
            stream_list.add_records(repo, [p for f in doomed for p in points.get(f["ref"], ())])
            return doomed
    return []


def _list_points(repo: Repo, doomed: Iterable[Finding]) -> dict[str, list[Record]]:
    """ref -> the points that are deleted with it."""
    streams = [_build_tip(finding) for finding in doomed if "stream" in finding]
    points = stream_list.list_expiring(repo, streams) if streams else {}
    for ref in [finding["ref"] for finding in doomed if finding["kind"] == LOG]:
        with Objects(repo):
            points[ref] = undo.list_points(repo.objects, ref, undo.read_steps(repo, ref))
    return points


def _build_tip(item: Finding) -> Tip:
    known: Tip = {"ref": item["ref"], "oid": item["oid"], "stream": item["stream"]}  # type: ignore[typeddict-item]
    return {**known, "time": item["time"], "base": "", "tree": "", "session_id": ""}


def _let_go(repo: Repo, finding: Finding) -> bool:
    """Settle the work that only this stream has; return whether the finding may be deleted.

    False when a session with such work is active now, or a session whose edits are to be deleted
    was used since."""
    if "revision" in finding:
        state = others.peek_state(repo, finding["session_id"])
        return bool((state.get("revision", 0) if state else 0) == (finding["revision"] or 0))
    alone: dict[str, list[str]] = finding.get("alone") or {}
    with others.held_state(repo, list(alone)):
        loaded = [state for name in alone if (state := load_state(repo, name))]
        if any(state["phase"] == "active" for state in loaded):
            return False
        for state in loaded:
            open_edits.let_edits_go(repo, state["session_id"], alone[state["session_id"]])
            edits.save_work(repo, state)
    return True


def _delete_state(repo: Repo, finding: Finding, ages: Ages) -> bool:
    name = finding["subject"]
    with others.held_state(repo, [name]):
        state = load_state(repo, name)
        if state is None or state.get("revision", 0) != finding["revision"]:
            return False
        if not is_expired(state, ages):
            return False
        others.forget_state(repo, name)
        forget_marker(repo, name)
    return True


def _delete_file(repo: Repo, finding: Finding, sessions: set[str]) -> bool:
    path = finding["subject"]
    if finding["kind"] == "leftover":
        return bool(repair.remove_leftover(repo, path, repair.SCRATCH_AGE))
    name = os.path.basename(path)
    if finding["kind"] == "session-lock":
        if name.partition("-")[2] in sessions:
            return False
        with exclusive(repo, name, 0):  # a process that waits sees that the file was replaced
            os.unlink(path)
        return True
    if orphan_rules.list_possible_owners(name) & sessions:
        return False
    files.remove_file(path)
    return True
